// The fields that OpenAI accepts in the body of a chat request, in the order in which it complains. It must never
// repair a request: a wrong one is refused with the sentence of the real service.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'

export interface Fault {
  status: number
  message: string
  param: string | null
  code: string | null
}

type Kind = 'string' | 'integer' | 'decimal' | 'boolean' | 'array' | 'object'

export interface FieldRule {
  kinds: readonly Kind[]
  min?: number
  max?: number
  values?: readonly string[]
}

export const text: FieldRule = { kinds: ['string'] }
export const flag: FieldRule = { kinds: ['boolean'] }
export const object: FieldRule = { kinds: ['object'] }
export const array: FieldRule = { kinds: ['array'] }
const penalty: FieldRule = { kinds: ['decimal'], min: -2, max: 2 }
const positive: FieldRule = { kinds: ['integer'], min: 1 }

const fieldRules: Readonly<Record<string, FieldRule>> = {
  model: text,
  messages: array,
  temperature: { kinds: ['decimal'], min: 0, max: 2 },
  top_p: { kinds: ['decimal'], min: 0, max: 1 },
  n: { kinds: ['integer'], min: 1, max: 128 },
  stream: flag,
  stream_options: object,
  stop: { kinds: ['string', 'array'] },
  max_tokens: positive,
  max_completion_tokens: positive,
  presence_penalty: penalty,
  frequency_penalty: penalty,
  logit_bias: object,
  logprobs: flag,
  top_logprobs: { kinds: ['integer'], min: 0, max: 20 },
  tools: array,
  tool_choice: { kinds: ['string', 'object'] },
  parallel_tool_calls: flag,
  response_format: object,
  seed: { kinds: ['integer'] },
  user: text,
  safety_identifier: text,
  store: flag,
  metadata: object,
  modalities: array,
  audio: object,
  prediction: object,
  reasoning_effort: text,
  verbosity: { kinds: ['string'], values: ['low', 'medium', 'high'] },
  service_tier: { kinds: ['string'], values: ['auto', 'default', 'flex', 'scale', 'priority', 'fast'] },
  web_search_options: object,
  prompt_cache_key: text,
  prompt_cache_retention: text,
  prompt_cache_options: object,
  moderation: object,
  functions: array,
  function_call: { kinds: ['string', 'object'] },
}

const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

export function badRequest(message: string, param: string | null, code: string | null): Fault {
  return { status: 400, message, param, code }
}

export function missingParameter(name: string): Fault {
  return badRequest(`Missing required parameter: '${name}'.`, name, 'missing_required_parameter')
}

/** The first fault of a body, before anything about a particular model. */
export function findBodyFault(body: JsonObject): Fault | undefined {
  if (!isGiven(body.model) || body.model === '') {
    return badRequest('you must provide a model parameter', null, null)
  }
  if (!isGiven(body.messages)) return missingParameter('messages')
  const fault = findFault(body, fieldRules)
  if (fault) return fault
  return findMessageFault(asArray(body.messages) ?? []) ?? findCombinationFault(body)
}

/** The first unknown field, or the first whose value is of a wrong type or out of its range. */
export function findFault(body: JsonObject, rules: Readonly<Record<string, FieldRule>>): Fault | undefined {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(rules, name))
  if (unknown !== undefined) return unknownParameter(unknown, rules)
  for (const [name, value] of Object.entries(body)) {
    const fault = isGiven(value) ? findFieldFault(name, value, rules[name]) : undefined
    if (fault) return fault
  }
  return undefined
}

function unknownParameter(name: string, rules: Readonly<Record<string, FieldRule>>): Fault {
  const close = Object.keys(rules).filter((known) => editDistance(known, name) <= 2)
  const hint = close.length > 0 ? ` Did you mean ${close.map((known) => `'${known}'`).join(' or ')}?` : ''
  return badRequest(`Unknown parameter: '${name}'.${hint}`, name, 'unknown_parameter')
}

export function invalidValue(param: string, value: unknown, values: readonly string[]): Fault {
  const supported = `Supported values are: ${quotedList(values)}.`
  return badRequest(`Invalid value: '${String(value)}'. ${supported}`, param, 'invalid_value')
}

function findFieldFault(name: string, value: unknown, rule: FieldRule | undefined): Fault | undefined {
  if (!rule) return undefined
  if (!rule.kinds.some((kind) => isOfKind(value, kind))) return invalidType(name, value, rule.kinds)
  if (rule.values && !rule.values.includes(String(value))) return invalidValue(name, value, rule.values)
  const kind = rule.kinds[0] === 'integer' ? 'integer' : 'decimal'
  const number = asNumber(value)
  if (number === undefined) return undefined
  if (rule.min !== undefined && number < rule.min)
    return outOfRange(name, kind, 'below_min', rule.min, number)
  if (rule.max !== undefined && number > rule.max)
    return outOfRange(name, kind, 'above_max', rule.max, number)
  return undefined
}

function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'integer':
      return Number.isInteger(value)
    case 'decimal':
      return typeof value === 'number'
    case 'array':
      return Array.isArray(value)
    case 'object':
      return asObject(value) !== undefined
    case 'string':
      return typeof value === 'string'
    case 'boolean':
      return typeof value === 'boolean'
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function invalidType(name: string, value: unknown, kinds: readonly Kind[]): Fault {
  const wanted = kinds.map((kind) => (/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`)).join(' or ')
  const message = `Invalid type for '${name}': expected ${wanted}, but got ${kindOf(value)} instead.`
  return badRequest(message, name, 'invalid_type')
}

function outOfRange(
  name: string,
  kind: 'integer' | 'decimal',
  side: 'below_min' | 'above_max',
  limit: number,
  value: number,
): Fault {
  const words = side === 'below_min' ? 'below minimum value' : 'above maximum value'
  const sign = side === 'below_min' ? '>=' : '<='
  const message = `Invalid '${name}': ${kind} ${words}. Expected a value ${sign} ${limit}, but got ${value} instead.`
  return badRequest(message, name, `${kind}_${side}_value`)
}

function emptyArray(name: string): Fault {
  const message = `Invalid '${name}': empty array. Expected an array with minimum length 1, but got an empty array instead.`
  return badRequest(message, name, 'empty_array')
}

function findMessageFault(messages: readonly unknown[]): Fault | undefined {
  if (messages.length === 0) return emptyArray('messages')
  let callsOpen = false
  for (const [index, item] of messages.entries()) {
    const place = `messages[${index}]`
    const message = asObject(item)
    if (!message) return invalidType(place, item, ['object'])
    if (!isGiven(message.role)) return missingParameter(`${place}.role`)
    const role = asString(message.role) ?? ''
    if (!roles.includes(role)) return invalidValue(`${place}.role`, message.role, roles)
    const hasCalls = asArray(message.tool_calls) !== undefined
    if (role === 'tool' && !callsOpen) {
      const rule = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      return badRequest(`Invalid parameter: ${rule}`, `${place}.role`, null)
    }
    if (role === 'tool' && !isGiven(message.tool_call_id)) return missingParameter(`${place}.tool_call_id`)
    if (role !== 'tool') callsOpen = hasCalls
    const fault = findContentFault(message, index, role === 'assistant')
    if (fault) return fault
  }
  return undefined
}

function findContentFault(message: JsonObject, index: number, mayLack: boolean): Fault | undefined {
  const { content } = message
  if (typeof content === 'string' || Array.isArray(content)) return undefined
  if (mayLack && !isGiven(content)) return undefined
  const param = `messages.[${index}].content`
  if (content === undefined) return missingParameter(`messages[${index}].content`)
  if (content === null)
    return badRequest("Invalid value for 'content': expected a string, got null.", param, null)
  return invalidType(`messages[${index}].content`, content, ['string', 'array'])
}

function findCombinationFault(body: JsonObject): Fault | undefined {
  if (isGiven(body.stream_options) && body.stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return badRequest(message, 'stream_options', null)
  }
  const tools = asArray(body.tools)
  if (tools && tools.length === 0) return emptyArray('tools')
  if (isGiven(body.tool_choice) && !tools) {
    const message =
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    return badRequest(message, 'tool_choice', null)
  }
  if (isGiven(body.top_logprobs) && body.logprobs !== true) {
    const message = "Invalid value for 'top_logprobs': 'logprobs' must be set to true to use 'top_logprobs'."
    return badRequest(message, 'top_logprobs', null)
  }
  const asksForJson = asObject(body.response_format)?.type === 'json_object'
  if (asksForJson && !/json/i.test(JSON.stringify(body.messages))) {
    const message =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return badRequest(message, 'messages', null)
  }
  return undefined
}

export function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`)
  if (quoted.length <= 2) return quoted.join(' and ')
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}

/** Levenshtein's distance, for the hint at a misspelt name. */
function editDistance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3
  let row = Array.from({ length: right.length + 1 }, (_none, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const change = left[i - 1] === right[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change))
    }
    row = next
  }
  return row[right.length] ?? 0
}
