// Reasoning that must come back to the model that wrote it: sealed for the caller, who keeps it as the
// `encrypted_content` of an item. It must never be opened for a model of another make, nor for another account.

import type { Model, ParsedRequest } from '../../contract/family'
import { asObject, isObject } from '../../lib/objects'

/** A block of thinking as the vendor of messages signed it, or one that only the vendor can read. */
export type ThinkingBlock = { thinking: string; signature: string } | { redacted: string }

/** Reasoning of one item: signed blocks of a message, or the text of a chat completion. */
export type SealedReasoning =
  | { kind: 'messages'; blocks: readonly ThinkingBlock[] }
  | { kind: 'chat'; text: string }

/** The `encrypted_content` of an item; undefined if the request is of nobody whom it could be sealed for. */
export function sealReasoning(
  { answer }: ParsedRequest,
  model: Model,
  reasoning: SealedReasoning,
): string | undefined {
  return answer?.seal(JSON.stringify({ ...reasoning, writer: writerOf(reasoning.kind, model) }))
}

/** The reasoning in an item's `encrypted_content`; undefined for anything that this model did not write. */
export function openReasoning(
  { answer }: ParsedRequest,
  model: Model,
  sealed: string,
): SealedReasoning | undefined {
  const text = answer?.open(sealed)
  if (text === undefined) return undefined
  const { writer, kind, blocks, text: words } = parsedObject(text)
  if ((kind !== 'chat' && kind !== 'messages') || writer !== writerOf(kind, model)) return undefined
  if (kind === 'chat') return typeof words === 'string' ? { kind, text: words } : undefined
  return Array.isArray(blocks) ? { kind, blocks: blocks.filter(isBlock) } : undefined
}

/** The object in a sealed text; an empty one if it was sealed for something else. */
function parsedObject(text: string): Record<string, unknown> {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Who can read reasoning: a text any model of the make, but signatures only the model that they are of. */
function writerOf(kind: SealedReasoning['kind'], model: Model): string {
  return kind === 'chat' ? makeOf(model) : nameOf(model)
}

/** Whether a chat model wants its reasoning back in the turns that follow a call of a tool. */
export function wantsReasoning(model: Model): boolean {
  return REASONING_MAKES.has(makeOf(model))
}

/** Whether a chat model refuses a turn of the assistant without reasoning, whoever wrote it. */
export function demandsReasoning(model: Model): boolean {
  return DEMANDING_MAKES.has(makeOf(model))
}

const DEMANDING_MAKES: ReadonlySet<string> = new Set(['deepseek', 'kimi'])

/** Makes of chat models whose vendors ask for `reasoning_content` of earlier turns. */
const REASONING_MAKES: ReadonlySet<string> = new Set(['deepseek', 'kimi', 'minimax', 'glm', 'mimo'])

/** The make of a model, by the vendor's name for it: `claude`, `deepseek`, `kimi`. */
function makeOf(model: Model): string {
  const name = nameOf(model)
  return /^[a-z]+/.exec(name)?.[0] ?? name
}

/**
 * The name of a model wherever it is served: without the names of a cloud before it, and without dates and versions of
 * the cloud after it.
 */
function nameOf({ upstreamModel }: Model): string {
  const name = upstreamModel.toLowerCase()
  const part = name.split(/[/.]/).findLast((each) => /^[a-z]/.test(each)) ?? name
  return part.replace(/(?:[-@]\d{8})?(?:-v\d+)?(?:[:@].*)?$/, '')
}

function isBlock(block: unknown): block is ThinkingBlock {
  if (!isObject(block)) return false
  const { thinking, signature, redacted } = block
  return typeof redacted === 'string' || (typeof thinking === 'string' && typeof signature === 'string')
}
