// Reads a request of generateContent into a conversation. It must never drop a field silently: fields that no vendor could serve
// are refused with their place, and omitted ones are in the table of fields.

import type { Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import type {
  AnswerFormat,
  Conversation,
  ReasoningOptions,
  Settings,
  Tool,
  ToolChoice,
} from '../../conversation/conversation'
import { type GeminiBody, memberOf } from './body'
import { PLAIN_TIERS } from './fields'
import { turnsOfContents } from './turns'

type Fields = Record<string, unknown>

const CONFIG = 'generationConfig'
const THINKING = `${CONFIG}.thinkingConfig`

export function readGemini(body: GeminiBody, _model: Model): Conversation {
  const tools = toolsOf(body)
  return {
    turns: turnsOfContents(body),
    instructionsHold: 'from_their_place',
    tools,
    choice: tools.length === 0 ? undefined : choiceOf(body),
    parallelCalls: undefined,
    settings: settingsOf(body, asObject(memberOf(body, CONFIG))),
  }
}

/** The functions of a request, collected from its list of tools. */
export function toolsOf({ tools }: Pick<GeminiBody, 'tools'>): Tool[] {
  return (tools ?? []).flatMap((tool, index) => {
    const declared = memberOf(tool, 'functionDeclarations')
    const at = `tools[${index}].functionDeclarations`
    return (Array.isArray(declared) ? declared : []).map((each, place) =>
      toolOf(asObject(each), `${at}[${place}]`),
    )
  })
}

function toolOf(declaration: Fields, at: string): Tool {
  const { name, description, parameters } = declaration
  if (typeof name !== 'string' || name === '') {
    throw invalidRequest(
      `${at}.name`,
      `Missing required parameter: '${at}.name'.`,
      'missing_required_parameter',
    )
  }
  const schema = memberOf(declaration, 'parametersJsonSchema')
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    parameters: isObject(schema) ? schema : isObject(parameters) ? jsonSchemaOf(parameters) : undefined,
    isStrict: false,
    at,
  }
}

const MODES = {
  auto: 'auto',
  any: 'required',
  none: 'none',
  validated: 'auto',
  mode_unspecified: 'auto',
} as const

function choiceOf(body: GeminiBody): ToolChoice | undefined {
  const config = memberOf(memberOf(body, 'toolConfig'), 'functionCallingConfig')
  const { mode } = asObject(config)
  if (mode === undefined || mode === null) return undefined
  const at = 'toolConfig.functionCallingConfig.mode'
  const word = String(mode).toLowerCase()
  if (!Object.hasOwn(MODES, word)) {
    throw invalidRequest(at, `Invalid value for '${at}'. Supported are AUTO, ANY, NONE and VALIDATED.`)
  }
  const names = memberOf(config, 'allowedFunctionNames')
  const allowed = Array.isArray(names) && names.length > 0 ? names.map(String) : undefined
  return { mode: MODES[word as keyof typeof MODES], ...(allowed && { allowed }) }
}

function settingsOf(body: GeminiBody, config: Fields): Settings {
  const number = (name: string) => numberAt(config, name)
  const tokens = number('maxOutputTokens')
  if (tokens !== undefined && (!Number.isSafeInteger(tokens) || tokens < 1)) {
    const at = `${CONFIG}.maxOutputTokens`
    throw invalidRequest(at, `Invalid '${at}': expected a whole number of at least 1.`)
  }
  const stop = memberOf(config, 'stopSequences')
  return {
    stream: body.stream === true,
    candidates: candidatesOf(config),
    limit: tokens === undefined ? undefined : { tokens, at: `${CONFIG}.maxOutputTokens` },
    temperature: number('temperature'),
    topP: number('topP'),
    topK: number('topK'),
    stop: Array.isArray(stop) ? stop.filter((text) => typeof text === 'string' && text !== '') : [],
    seed: number('seed'),
    frequencyPenalty: number('frequencyPenalty'),
    presencePenalty: number('presencePenalty'),
    format: formatOf(config),
    reasoning: reasoningOf(config),
    verbosity: undefined,
    logprobs: memberOf(config, 'responseLogprobs') === true ? (number('logprobs') ?? 0) : undefined,
    user: undefined,
    cacheKey: undefined,
    serviceTier: tierOf(body),
  }
}

/**
 * The service tier, if it is not the standard one. Throws 400 for a tier in both spellings: the vendor must not choose which of the
 * two is read and charged.
 */
export function tierOf(body: GeminiBody): string | undefined {
  const { serviceTier, service_tier: other } = body as Fields
  if (serviceTier !== undefined && other !== undefined) {
    throw invalidRequest(
      'service_tier',
      "Invalid 'service_tier': 'serviceTier' is the same field. Send one of them.",
    )
  }
  const tier = serviceTier ?? other
  return typeof tier === 'string' && !PLAIN_TIERS.test(tier) ? tier : undefined
}

function numberAt(config: Fields, name: string): number | undefined {
  const value = memberOf(config, name)
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
  throw invalidRequest(
    `${CONFIG}.${name}`,
    `Invalid type for '${CONFIG}.${name}': expected a number.`,
    'invalid_type',
  )
}

const MAX_CANDIDATES = 8

/** https://ai.google.dev/api/generate-content#generationconfig */
export function candidatesOf(config: Fields): number {
  const count = numberAt(config, 'candidateCount') ?? 1
  if (Number.isSafeInteger(count) && count >= 1 && count <= MAX_CANDIDATES) return count
  const at = `${CONFIG}.candidateCount`
  throw invalidRequest(at, `Invalid '${at}': expected a whole number from 1 to ${MAX_CANDIDATES}.`)
}

function formatOf(config: Fields): AnswerFormat | undefined {
  const type = memberOf(config, 'responseMimeType')
  const own = memberOf(config, 'responseSchema')
  const schema = memberOf(config, 'responseJsonSchema') ?? (isObject(own) ? jsonSchemaOf(own) : undefined)
  if (type !== 'application/json') return undefined
  if (!isObject(schema)) return { type: 'json_object' }
  return { type: 'json_schema', name: 'output', description: undefined, schema, isStrict: false }
}

/** How long to think: a level is an effort, and a budget of 0 tokens turns it off. A budget of -1 leaves it to the model. */
function reasoningOf(config: Fields): ReasoningOptions {
  const thinking = memberOf(config, 'thinkingConfig')
  const level = memberOf(thinking, 'thinkingLevel')
  const budget = memberOf(thinking, 'thinkingBudget')
  const isLeft = typeof level !== 'string' || /unspecified$/i.test(level)
  const isOff = isLeft && budget === 0
  return {
    effort: isOff ? 'none' : isLeft ? undefined : level.toLowerCase(),
    effortAt: isOff ? `${THINKING}.thinkingBudget` : isLeft ? undefined : `${THINKING}.thinkingLevel`,
    budgetTokens: typeof budget === 'number' && budget > 0 ? budget : undefined,
    isShown: memberOf(thinking, 'includeThoughts') === true,
    isCarried: true,
  }
}

/** Members that give the order of fields, or an example, and have no effect on what is allowed. */
const HINTS = new Set(['propertyOrdering', 'property_ordering', 'example', 'nullable', 'type'])
/** Numbers that Google writes as strings, because JSON has no 64-bit integers. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])
const MEMBERS: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
}

/**
 * Google's own schemas, a part of OpenAPI 3.0 with types in capitals, as JSON schemas: they allow the same values.
 * https://ai.google.dev/api/caching#Schema.
 */
function jsonSchemaOf(schema: unknown): Fields {
  const { type, nullable, format, ...rest } = asObject(schema)
  const named = typeof type === 'string' && !/^type_unspecified$/i.test(type) ? type.toLowerCase() : undefined
  const members = Object.entries({ ...rest, ...(format !== 'enum' && format !== undefined && { format }) })
  return {
    ...(named !== undefined && { type: nullable === true ? [named, 'null'] : named }),
    ...Object.fromEntries(
      members
        .filter(([name]) => !HINTS.has(name))
        .map(([name, value]) => schemaMember(MEMBERS[name] ?? name, value)),
    ),
  }
}

function schemaMember(name: string, value: unknown): [string, unknown] {
  if (name === 'properties' && isObject(value)) {
    return [name, Object.fromEntries(Object.entries(value).map(([key, each]) => [key, jsonSchemaOf(each)]))]
  }
  if (name === 'items' && isObject(value)) return [name, jsonSchemaOf(value)]
  if (name === 'anyOf' && Array.isArray(value)) return [name, value.map(jsonSchemaOf)]
  return [name, COUNTS.has(name) && typeof value === 'string' ? Number(value) : value]
}
