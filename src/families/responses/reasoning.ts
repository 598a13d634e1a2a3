// Reasoning that must come back to the model that wrote it: sealed for the caller, who keeps it as the
// `encrypted_content` of an item. It must never be opened for a model of another make, nor for another account.

import type { Model, ParsedRequest } from '../../contract/family'
import { isObject } from '../../lib/objects'

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
  return answer?.seal(JSON.stringify({ ...reasoning, make: makeOf(model) }))
}

/** The reasoning in an item's `encrypted_content`; undefined for anything that this model did not write. */
export function openReasoning(
  { answer }: ParsedRequest,
  model: Model,
  sealed: string,
): SealedReasoning | undefined {
  const text = answer?.open(sealed)
  if (text === undefined) return undefined
  const { make, kind, blocks, text: words }: Record<string, unknown> = JSON.parse(text)
  if (make !== makeOf(model)) return undefined
  if (kind === 'chat' && typeof words === 'string') return { kind, text: words }
  if (kind === 'messages' && Array.isArray(blocks)) return { kind, blocks: blocks.filter(isBlock) }
  return undefined
}

/** Whether a chat model wants its reasoning back in the turns that follow a call of a tool. */
export function wantsReasoning(model: Model): boolean {
  return REASONING_MAKES.has(makeOf(model))
}

/** Makes of chat models whose vendors ask for `reasoning_content` of earlier turns. */
const REASONING_MAKES: ReadonlySet<string> = new Set(['deepseek', 'kimi', 'minimax', 'glm', 'mimo'])

/**
 * The make of a model, by the vendor's name for it: `claude`, `deepseek`, `kimi`. Names of the cloud before it, and
 * versions with a dot, are not part of it.
 */
function makeOf({ upstreamModel }: Model): string {
  const name = upstreamModel.toLowerCase()
  const part = name.split(/[/.]/).findLast((each) => /^[a-z]/.test(each)) ?? name
  return /^[a-z]+/.exec(part)?.[0] ?? part
}

function isBlock(block: unknown): block is ThinkingBlock {
  if (!isObject(block)) return false
  const { thinking, signature, redacted } = block
  return typeof redacted === 'string' || (typeof thinking === 'string' && typeof signature === 'string')
}
