// Writes a conversation as a request of generateContent: turns, tools, formats and thinking. It must never drop anything silently:
// unsupported parts are refused with their place. https://ai.google.dev/api/generate-content.

import type { Call, Model } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import type { WriteOptions } from '../../conversation/bridge'
import type { Conversation, Settings, Tool } from '../../conversation/conversation'
import { leadingOf } from '../../conversation/sides'
import { pricedTier, withoutGaps } from '../../conversation/writing'
import { edited } from '../../traits/edit'
import { checkEffort } from '../../traits/efforts'
import { geminiEdit } from '../../traits/gemini'
import { writtenContents } from './contents'

type Fields = Record<string, unknown>

/** Seeds are 32-bit numbers here. */
const SEEDS = 2 ** 31
/**
 * The header that requests a tier from Vertex AI, which has no field for it (`sharedRequestType` of @ai-sdk/google):
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo.
 */
const VERTEX_TIER = 'x-vertex-ai-llm-shared-request-type'

/** The call. Throws 400, with the name of the field, for anything that cannot be expressed. */
export function writeGemini(conversation: Conversation, model: Model, options: WriteOptions): Call {
  const { settings, extra } = conversation
  const isVertex = model.upstream.kind === 'vertex'
  const tier = pricedTier(settings, model)
  const system = leadingOf(conversation).flatMap(({ parts }) => parts.map(({ text }) => ({ text })))
  const request = withoutGaps({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents: writtenContents(conversation, model, options),
    ...toolsOf(conversation),
    serviceTier: isVertex ? undefined : tier,
    generationConfig: filled(configOf(settings, model, options)),
    ...extra?.gemini,
  })
  return {
    path: geminiPath(model, settings.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    protocol: 'native',
    ...(isVertex && tier !== undefined && { headers: { [VERTEX_TIER]: tier } }),
    body: { json: edited(request, geminiEdit(request, model)) },
    stream: settings.stream,
  }
}

/** The URL of a method. It has the same prefix as other URLs of the model. */
export function geminiPath({ upstreamModel }: Pick<Model, 'upstreamModel'>, method: string): string {
  return `/models/${encodeURIComponent(upstreamModel.replace(/^(?:models|google)\//, ''))}:${method}`
}

function configOf(settings: Settings, model: Model, options: WriteOptions): Fields {
  const { limit, stop, seed, format, logprobs } = settings
  const texts = stop.filter((text) => text !== '')
  return {
    maxOutputTokens: limitOf(limit?.tokens, options),
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    stopSequences: texts.length > 0 ? texts : undefined,
    seed: seed === undefined ? undefined : seed % SEEDS,
    frequencyPenalty: settings.frequencyPenalty,
    presencePenalty: settings.presencePenalty,
    responseMimeType: format && 'application/json',
    responseJsonSchema: format?.type === 'json_schema' ? format.schema : undefined,
    responseLogprobs: logprobs === undefined ? undefined : true,
    logprobs: logprobs || undefined,
    thinkingConfig: filled(thinkingOf(settings, model)),
  }
}

/** The limit includes thinking. */
function limitOf(tokens: number | undefined, { outputTokens }: WriteOptions): number | undefined {
  if (tokens === undefined) return outputTokens
  return Math.min(tokens, outputTokens ?? tokens)
}

/** How long to think; the traits pass converts it for the model. The model must support an effort that the caller wrote. */
function thinkingOf({ reasoning }: Settings, model: Model): Fields {
  const { effort, effortAt, budgetTokens, isShown } = reasoning
  if (effort !== undefined && effortAt !== undefined) checkEffort(model, effort, effortAt)
  return {
    thinkingLevel: effort,
    thinkingBudget: effort === undefined ? budgetTokens : undefined,
    includeThoughts: isShown && effort !== 'none' ? true : undefined,
  }
}

/**
 * The functions as one tool. Their schemas are JSON schemas: `parameters` is a closed message that refuses many keywords
 * (BerriAI/litellm#14330), and Vertex AI accepts them too (`prepareTools` of @ai-sdk/google, 2026-07).
 */
function toolsOf({ tools, choice }: Conversation): Fields {
  if (tools.length === 0) return {}
  const calling = callingOf(tools, choice)
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    toolConfig: calling && { functionCallingConfig: calling },
  }
}

function declarationOf({ name, description, parameters }: Tool): Fields {
  return withoutGaps({ name, description, parametersJsonSchema: parameters })
}

/**
 * Which functions may be called. Names are allowed only with ANY and VALIDATED. VALIDATED leaves the choice to the model as AUTO
 * does, but calls always fit their schemas: https://ai.google.dev/api/caching#FunctionCallingConfig.
 */
function callingOf(tools: readonly Tool[], choice: Conversation['choice']): Fields | undefined {
  const { mode, allowed } = choice ?? {}
  if (mode === 'none') return { mode: 'NONE' }
  const names = allowed && { allowedFunctionNames: allowed }
  if (mode === 'required') return { mode: 'ANY', ...names }
  if (names || tools.every(({ isStrict }) => isStrict)) return { mode: 'VALIDATED', ...names }
  return mode && { mode: 'AUTO' }
}

/** Tokens that a written request reserves for thinking. */
export function thinkingBudgetOf({ body }: Call): number {
  const { generationConfig } = asObject(body && 'json' in body ? body.json : undefined)
  const { thinkingBudget: budget } = asObject(asObject(generationConfig).thinkingConfig)
  return Number.isSafeInteger(budget) && (budget as number) > 0 ? (budget as number) : 0
}

/** The fields that have a value; undefined if no field has one. */
function filled(fields: Fields): Fields | undefined {
  const rest = withoutGaps(fields)
  return Object.keys(rest).length > 0 ? rest : undefined
}
