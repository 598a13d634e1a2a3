// Simulates Gemini's own API: generateContent, the same streamed, and countTokens, at Google and on Vertex AI. It must never cut
// a call of a function into pieces: the real service sends each whole.
//
// Answers: https://ai.google.dev/api/generate-content and the types of @google/genai 3.3.0. Signatures:
// https://ai.google.dev/gemini-api/docs/thought-signatures.

import { answerTo, type Choice, type Question, type Tool, type ToolChoice } from '../answers'
import { interleaved } from '../interleaved'
import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { picture } from '../pictures'
import { countTokens } from '../pieces'
import { hexId, jsonFrame, jsonReply } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { googleError, googleHeaders, unreadable } from './errors'
import { generateFault } from './generate-faults'
import { countMessage, generateMessage, inCamelCase, unreadableIn } from './messages'
import { newSignature, signs } from './signatures'

export const generateActions = ['generateContent', 'streamGenerateContent', 'countTokens']

/** Tokens of a part by the first word of its type: figures of the sandbox, not of Google. */
const MEDIA: Readonly<Record<string, readonly [modality: string, tokens: number]>> = {
  image: ['IMAGE', 258],
  audio: ['AUDIO', 50],
  video: ['VIDEO', 300],
  application: ['DOCUMENT', 258],
}
const TOKENS_PER_PICTURE_MADE = 1_120
const TOKENS_PER_SEARCH = 100
const LEVELS: Readonly<Record<string, number>> = { MINIMAL: 4, LOW: 8, MEDIUM: 16, HIGH: 32 }
const MAX_CHOICES = 8

interface GenerateRequest {
  request: VendorRequest
  model: string
  question: Question
  /** Prompt tokens by modality. */
  prompt: Record<string, number>
  showsThoughts: boolean
  /** The member of the usage that names the tier. */
  tier: JsonObject
}

/** Answers a request to a supported model. */
export function generate(request: VendorRequest, model: string, action: string): Reply {
  const sent = asObject(request.json)
  if (!sent) return googleError(request, 400, 'Invalid JSON payload received. Unexpected token.')
  const message = action === 'countTokens' ? countMessage : generateMessage
  const unknown = unreadableIn(sent, message)
  if (unknown.length > 0) return unreadable(request, unknown)
  const given = inCamelCase(sent, message)
  const body = asObject(given.generateContentRequest) ?? given
  const fault = generateFault(body, model, request.path.includes('/publishers/'))
  if (fault !== undefined) return googleError(request, 400, fault)
  const generation = readGenerateRequest(request, body, model)
  if (action === 'countTokens') return counted(generation)
  if (action === 'generateContent') return jsonReply(200, wholeAnswer(generation), googleHeaders)
  const frames = [...pieces(generation)]
  // Without `alt=sse` the stream is one list.
  if (request.query.get('alt') !== 'sse') return jsonReply(200, frames, googleHeaders)
  const failed = googleError(request, 500, 'An internal error has occurred. Please retry.').body
  const stream = {
    frames: frames.map((frame): EventFrame => jsonFrame(frame)),
    failure: jsonFrame(failed.kind === 'json' ? failed.value : {}),
  }
  return { status: 200, headers: googleHeaders, body: { kind: 'events', stream } }
}

function counted({ prompt }: GenerateRequest): Reply {
  return jsonReply(200, { totalTokens: sumOf(prompt), promptTokensDetails: details(prompt) }, googleHeaders)
}

function readGenerateRequest(request: VendorRequest, body: JsonObject, model: string): GenerateRequest {
  const { directives } = request
  const contents = asObjects(body.contents)
  const config = asObject(body.generationConfig) ?? {}
  const calling = asObject(asObject(body.toolConfig)?.functionCallingConfig) ?? {}
  const allowed = asArray(calling.allowedFunctionNames)
  const tools = asObjects(body.tools)
    .flatMap((tool) => asObjects(tool.functionDeclarations))
    .filter(({ name }) => allowed === undefined || allowed.includes(name))
    .map(
      (declared): Tool => ({ name: asString(declared.name) ?? '', schema: schemaOf(declared, 'parameters') }),
    )
  const results = asObjects(contents.at(-1)?.parts).flatMap((part) => asObjects([part.functionResponse]))
  const isUsers = ({ role, parts }: JsonObject) =>
    role !== 'model' && !asObjects(parts).some((part) => isGiven(part.functionResponse))
  const question: Question = {
    said: textOf(contents.findLast(isUsers)),
    toolResult: results.length > 0 ? results.map(resultOf).join('\n') : undefined,
    tools,
    toolChoice: choiceOf(calling.mode),
    format:
      config.responseMimeType !== 'application/json'
        ? 'text'
        : isGiven(config.responseJsonSchema ?? config.responseSchema)
          ? { schema: schemaOf(config, 'response') }
          : 'json',
    choices: Math.min(Math.max(Math.floor(asNumber(config.candidateCount) ?? 1), 1), MAX_CHOICES),
    stops: (asArray(config.stopSequences) ?? []).filter((stop) => typeof stop === 'string'),
    tokenLimit: asNumber(config.maxOutputTokens),
    reasoningTokens: directives.reasoning ?? thoughtsOf(asObject(config.thinkingConfig) ?? {}, model),
    directives,
  }
  const showsThoughts = asObject(config.thinkingConfig)?.includeThoughts === true
  return {
    request,
    model,
    question,
    prompt: promptOf(body, request),
    showsThoughts,
    tier: tierOf(request, body),
  }
}

/** Google names the tier of the request, and Vertex AI the kind of traffic that the header requested. */
function tierOf({ path, headers }: VendorRequest, { serviceTier }: JsonObject): JsonObject {
  if (!path.includes('/publishers/')) return { serviceTier: asString(serviceTier) ?? 'standard' }
  const kind = headers['x-vertex-ai-llm-shared-request-type']
  return { trafficType: kind === undefined ? 'ON_DEMAND' : `ON_DEMAND_${kind.toUpperCase()}` }
}

/** A schema of a declaration or of the answer: JSON schema, or Google's own with types in capitals. */
function schemaOf(from: JsonObject, name: 'parameters' | 'response'): unknown {
  const own = name === 'parameters' ? from.parameters : from.responseSchema
  return from[`${name}JsonSchema`] ?? JSON.parse(JSON.stringify(own ?? {}), inLowerCase)
}

function inLowerCase(name: string, value: unknown): unknown {
  return name === 'type' && typeof value === 'string' ? value.toLowerCase() : value
}

function choiceOf(mode: unknown): ToolChoice {
  if (mode === 'NONE') return 'none'
  return mode === 'ANY' ? 'required' : 'auto'
}

function thoughtsOf({ thinkingBudget: budget, thinkingLevel: level }: JsonObject, model: string): number {
  const tokens = asNumber(budget)
  if (tokens !== undefined && tokens >= 0) return Math.min(tokens, 32)
  const isThinking = signs(model) || /^gemini-2\.5-(?:pro|flash(?!-lite|-image))/.test(model)
  return LEVELS[String(level).toUpperCase()] ?? (isThinking ? 16 : 0)
}

function textOf(content: unknown): string {
  const texts = asObjects(asObject(content)?.parts).map((part) => asString(part.text) ?? '')
  return texts.filter((text) => text !== '').join('\n')
}

function resultOf({ response }: JsonObject): string {
  const { output } = asObject(response) ?? {}
  return asString(output) ?? JSON.stringify(response ?? {})
}

function promptOf({ contents, systemInstruction, tools }: JsonObject, { directives }: VendorRequest) {
  const prompt: Record<string, number> = { TEXT: 0 }
  const add = (modality: string, tokens: number) => {
    prompt[modality] = (prompt[modality] ?? 0) + tokens
  }
  for (const part of [systemInstruction, ...asObjects(contents)].flatMap((one) =>
    asObjects(asObject(one)?.parts),
  )) {
    const { inlineData, fileData, text, functionCall, functionResponse } = part
    const type = asString((asObject(inlineData) ?? asObject(fileData))?.mimeType)
    const [modality, tokens] = MEDIA[type?.split('/')[0] ?? ''] ?? ['TEXT', 0]
    add(modality, tokens)
    add('TEXT', countTokens(asString(text) ?? ''))
    for (const one of [functionCall, functionResponse]) if (one) add('TEXT', countTokens(JSON.stringify(one)))
  }
  if (isGiven(tools)) add('TEXT', countTokens(JSON.stringify(tools)))
  const missing = Math.max(directives.promptTokens ?? sumOf(prompt), directives.cached ?? 0) - sumOf(prompt)
  if (directives.promptTokens !== undefined) return { TEXT: sumOf(prompt) + missing }
  add('TEXT', missing)
  return prompt
}

function sumOf(tokens: Readonly<Record<string, number>>): number {
  return Object.values(tokens).reduce((sum, count) => sum + count, 0)
}

function details(tokens: Readonly<Record<string, number>>): JsonObject[] {
  return Object.entries(tokens).flatMap(([modality, tokenCount]) =>
    tokenCount > 0 ? [{ modality, tokenCount }] : [],
  )
}

/** A part of a candidate, with its tokens. */
interface Step {
  index: number
  parts: JsonObject[]
  /** Members of the candidate that ends. */
  end?: JsonObject
  output: number
  thoughts: number
  pictures: number
}

function wholeAnswer(generation: GenerateRequest): JsonObject {
  const all = [...pieces(generation)]
  const last = all.at(-1) ?? {}
  const candidates = new Map<unknown, JsonObject>()
  for (const candidate of all.flatMap((piece) => asObjects(piece.candidates))) {
    const before = candidates.get(candidate.index)
    const parts = [
      ...asObjects(asObject(before?.content)?.parts),
      ...asObjects(asObject(candidate.content)?.parts),
    ]
    const content = candidate.content ?? before?.content
    const joined = parts.length > 0 ? { content: { parts: joinedParts(parts), role: 'model' } } : { content }
    candidates.set(candidate.index, { ...before, ...candidate, ...joined })
  }
  return { ...last, ...(candidates.size > 0 && { candidates: [...candidates.values()] }) }
}

/** Pieces of a text as one part, with the signature of the last piece. */
function joinedParts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  for (const part of parts) {
    const before = joined.at(-1)
    const isMore =
      'text' in part && before !== undefined && 'text' in before && part.thought === before.thought
    if (isMore) joined[joined.length - 1] = { ...before, ...part, text: `${before.text}${part.text}` }
    else joined.push(part)
  }
  return joined
}

/** The chunks of an answer, each with the figures so far. */
function* pieces(generation: GenerateRequest): Generator<JsonObject> {
  const { question, model } = generation
  const { directives } = question
  const envelope = { modelVersion: model, responseId: hexId(22) }
  const counts = { output: 0, thoughts: 0, pictures: 0 }
  if (directives.block !== undefined) {
    yield { promptFeedback: { blockReason: directives.block }, ...usageOf(generation, counts), ...envelope }
    return
  }
  const choices = answerTo(question)
  // Thoughts that are not shown are in the figures from the first chunk on.
  if (!generation.showsThoughts) for (const { reasoning } of choices) counts.thoughts += reasoning.length
  for (const { index, parts, end, ...added } of interleaved(
    choices.map((choice, index) => stepsOf(generation, choice, index)),
  )) {
    counts.output += added.output
    counts.thoughts += added.thoughts
    counts.pictures += added.pictures
    const content = end?.finishReason === directives.finish ? {} : { role: 'model' }
    const candidate = { content: parts.length > 0 ? { parts, ...content } : content, ...end, index }
    yield { candidates: [candidate], ...usageOf(generation, counts), ...envelope }
  }
}

function* stepsOf(generation: GenerateRequest, choice: Choice, index: number): Generator<Step> {
  const { model, question, showsThoughts } = generation
  const { finish, searches = 0 } = question.directives
  const none = { index, output: 0, thoughts: 0, pictures: 0 }
  const signature = () => (signs(model) ? { thoughtSignature: newSignature(model) } : {})
  if (finish !== undefined) {
    const thoughts = choice.reasoning.length
    yield {
      ...none,
      parts: [],
      end: { finishReason: finish, finishMessage: `Ended by ${finish}.` },
      thoughts,
    }
    return
  }
  if (showsThoughts) {
    for (const text of choice.reasoning) yield { ...none, parts: [{ text, thought: true }], thoughts: 1 }
  }
  for (const text of choice.pieces) yield { ...none, parts: [{ text }], output: 1 }
  if (choice.end !== 'length' && model.includes('-image') && choice.calls.length === 0) {
    const { contentType: mimeType, bytes } = picture('png')
    const inlineData = { mimeType, data: Buffer.from(bytes).toString('base64') }
    yield { ...none, parts: [{ inlineData, ...signature() }], pictures: 1 }
  }
  for (const [place, { name, pieces: text }] of choice.end === 'length' ? [] : choice.calls.entries()) {
    const id = signs(model) ? { id: hexId(8) } : {}
    const call = { functionCall: { name, args: JSON.parse(text.join('')), ...id } }
    yield { ...none, parts: [{ ...call, ...(place === 0 && signature()) }], output: text.length }
  }
  const queries = Array.from({ length: searches }, (_none, place) => `query ${place + 1}`)
  const end = {
    finishReason: choice.end === 'length' ? 'MAX_TOKENS' : 'STOP',
    ...(choice.end === 'tool' && { finishMessage: 'Model generated function call(s).' }),
    ...(queries.length > 0 && { groundingMetadata: { webSearchQueries: queries } }),
  }
  // The signature of a text comes last, in a part without text.
  const isSigned = choice.calls.length === 0 && choice.pieces.length > 0
  yield { ...none, parts: isSigned ? [{ text: '', ...signature() }] : [], end }
}

function usageOf(
  { question: { directives }, prompt, tier }: GenerateRequest,
  { output, thoughts, pictures }: Pick<Step, 'output' | 'thoughts' | 'pictures'>,
): JsonObject {
  const { cached = 0, searches = 0 } = directives
  const made = { TEXT: output, IMAGE: pictures * TOKENS_PER_PICTURE_MADE }
  const searched = searches * TOKENS_PER_SEARCH
  const usage = reportUsage(
    {
      promptTokenCount: sumOf(prompt),
      ...(cached > 0 && { cachedContentTokenCount: cached }),
      ...(sumOf(made) > 0 && { candidatesTokenCount: sumOf(made) }),
      ...(searched > 0 && { toolUsePromptTokenCount: searched }),
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: sumOf(prompt) + sumOf(made) + searched + thoughts,
    },
    directives.usage,
  )
  if (!usage) return {}
  const usageMetadata = {
    ...usage,
    ...tier,
    promptTokensDetails: details(prompt),
    ...(cached > 0 && { cacheTokensDetails: [{ modality: 'TEXT', tokenCount: cached }] }),
    ...(pictures > 0 && { candidatesTokensDetails: details(made) }),
  }
  return { usageMetadata }
}
