// Reads the parts of a chat vendor's answer, whole or in pieces, for all translations: texts, thinking and calls of
// tools. It must never throw: vendors omit, repeat and misspell what they send.

import { parseForeign } from '../../lib/json/json'
import { asObject, asText, isObject } from '../../lib/objects'

/** A message of a vendor, or a piece of it in a stream. */
export interface AnswerPart {
  thinking: string
  text: string
  refusal: string
  calls: readonly CallPiece[]
  /** Details of the thinking (`reasoning_details`), as OpenRouter sends them. */
  details: readonly Record<string, unknown>[]
  /** The `extra_content` of the message, where Google puts the signature of a text. */
  extra: Record<string, unknown> | undefined
}

/** A call of a tool, or a piece of one. */
export interface CallPiece {
  index: number | undefined
  id: string
  name: string
  arguments: string
  /** The `extra_content` of the call, where Google puts its signature. */
  extra: Record<string, unknown> | undefined
}

/** The part of a call that has arrived. */
export interface PiecedCall extends CallPiece {
  /** Length of the arguments when they were last found incomplete. */
  partLength: number
  /** How many times they looked complete but were not. */
  failedChecks: number
}

/** Maximum number of failed checks per call; each one parses all of its text so far. After that, the call is complete only at its end. */
const MAX_FAILED_CHECKS = 100

const NO_CALLS: readonly CallPiece[] = []
const NO_DETAILS: readonly Record<string, unknown>[] = []

/** The first candidate; other dialects have room for only one. */
export function choiceOf(completion: unknown): Record<string, unknown> | undefined {
  const choices = isObject(completion) && Array.isArray(completion.choices) ? completion.choices : []
  return choices.find((choice) => isObject(choice) && (choice.index ?? 0) === 0)
}

/** The parts of a message, or of a delta. */
export function partIn(message: unknown): AnswerPart {
  const fields = isObject(message) ? message : {}
  const { content, reasoning_details: details, extra_content: extra } = fields
  const isList = Array.isArray(content)
  return {
    thinking:
      asText(fields.reasoning_content ?? fields.reasoning) + (isList ? joined(content, 'thinking') : ''),
    text: isList ? joined(content, 'text') : asText(content),
    refusal: asText(fields.refusal),
    calls: callsIn(fields),
    details: Array.isArray(details) ? details.filter(isObject) : NO_DETAILS,
    extra: isObject(extra) ? extra : undefined,
  }
}

function callsIn({
  tool_calls: calls,
  function_call: called,
}: Record<string, unknown>): readonly CallPiece[] {
  if (Array.isArray(calls)) return calls.filter(isObject).map(pieceOf)
  // The older form: one call without an id.
  return isObject(called) ? [pieceOf({ index: 0, function: called })] : NO_CALLS
}

/** The texts of content that some vendors send as a list; thinking in it is a list itself. */
function joined(parts: readonly unknown[], type: 'text' | 'thinking'): string {
  return parts
    .filter(isObject)
    .map((part) =>
      part.type !== type ? '' : Array.isArray(part[type]) ? joined(part[type], 'text') : asText(part[type]),
    )
    .join('')
}

function pieceOf({ index, id, function: called, extra_content: extra }: Record<string, unknown>): CallPiece {
  const { name, arguments: input } = isObject(called) ? called : {}
  return {
    index: typeof index === 'number' ? index : undefined,
    id: asText(id),
    name: asText(name),
    // Some servers send the arguments as an object instead of JSON text.
    arguments: isObject(input) ? JSON.stringify(input) : asText(input),
    extra: isObject(extra) ? extra : undefined,
  }
}

/**
 * The call that a piece belongs to; undefined if it begins a new one. Servers differ: some repeat the id or send
 * another one with each piece, some leave out the index or give all calls the same.
 */
export function callOf<Call extends PiecedCall>(
  calls: readonly Call[],
  { index, id, name, arguments: text }: CallPiece,
): Call | undefined {
  const sameId = index === undefined && id !== '' ? calls.findLast((call) => call.id === id) : undefined
  const known = sameId ?? calls.findLast((call) => index === undefined || call.index === index)
  if (!known || name === '') return known
  const another = id === '' ? text.trim() !== '' && isWhole(known) : known.id !== '' && known.id !== id
  return another ? undefined : known
}

/** Whether the arguments are a complete JSON object. Checked only if something else follows. */
export function isWhole(call: PiecedCall): boolean {
  const { arguments: text, partLength } = call
  if (text.length === partLength || call.failedChecks === MAX_FAILED_CHECKS) return false
  try {
    if (text.trimEnd().endsWith('}')) return typeof JSON.parse(text) === 'object'
  } catch {
    call.failedChecks++
  }
  call.partLength = text.length
  return false
}

/** The arguments of a call as an object. Invalid arguments, as in a truncated answer, and too deeply nested ones are kept as text. */
export function callInput(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const input = parseForeign(text)
    if (isObject(input)) return input
    if (input === null) return {}
  } catch {}
  return { _raw: text }
}

/** The usage of a completion or a chunk. Moonshot's streams have it in the choice that ends (northes/go-moonshot#17). */
export function usageIn(completion: { usage?: unknown; choices?: unknown }): unknown {
  const { usage, choices } = completion
  if (isObject(usage) || !Array.isArray(choices)) return usage
  return choices.find((choice) => isObject(choice) && isObject(choice.usage))?.usage ?? usage
}

/** Thinking tokens, which are part of the output, if a completion or a chunk with figures reports them. */
export function reasoningTokens(completion: unknown): number {
  const usage = asObject(isObject(completion) ? usageIn(completion) : undefined)
  const details = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  return Number.isSafeInteger(details.reasoning_tokens) ? (details.reasoning_tokens as number) : 0
}
