// Finds a smaller hold for a request whose account cannot pay for the usual one: it counts the tokens of the texts, which are
// otherwise held by their bytes, and holds a shorter first part of a stream. It must never change the sent request or the charge.

import { balanceOf } from '../billing/ledger/balances'
import type { Charge } from '../billing/ledger/ledger'
import { budgetLeftNano } from '../billing/ledger/limits'
import { callerLeft } from '../contract/failures'
import type { LeanHold, ParsedRequest } from '../contract/family'
import type { Db } from '../db/db'
import type { TokenCounter } from '../media/token-counter'
import type { CheckedRequest } from './check'
import type { Line } from './ending'

/** Maximum ratio between two tokenizers' counts, in ordinary text. */
export const TOKENS_FOR_ONE = 2
/** A smaller request is held by its bytes: a count of its texts would save a few cents at most. */
const MIN_COUNTED_BYTES = 4_096
/** Maximum share of the bytes that a count may save: there may be text that another tokenizer splits into far more tokens. */
const MAX_SAVED_SHARE = 1 / 2
/** Output tokens per candidate that a stream may hold first, tried in this order. */
const FIRST_STEPS = [Number.POSITIVE_INFINITY, 1_024, 256]
/** Text that tokenizers split into very different numbers of tokens: other scripts, digits, and long runs of one character. */
const UNEVEN_TEXT = /[^\s!-/:-~]+|(.)\1{15,}/gs

/** The tokens of a request's texts; undefined if it has no texts, or they cannot be counted exactly. */
export async function countTexts(
  counter: TokenCounter,
  { family, model, parsed }: Pick<CheckedRequest, 'family' | 'model' | 'parsed'>,
): Promise<{ tokens: number; text: string } | undefined> {
  const texts = family.texts?.(parsed.body, model) ?? []
  if (texts.length === 0) return undefined
  const text = texts.join('\n')
  const { tokens, exact } = await counter.count(text)
  return exact ? { tokens, text } : undefined
}

/**
 * The largest smaller hold that the account and the budgets cover at the moment, or the smallest of all, whose refusal names the
 * minimum. Undefined if no hold is smaller than the refused one. `nanoOf` is the hold of a request.
 */
export async function leanerHold(
  line: Line,
  request: CheckedRequest,
  charge: Charge,
  nanoOf: (parsed: ParsedRequest) => number,
  signal: AbortSignal,
): Promise<LeanHold | undefined> {
  const { parsed, family, key } = request
  // The hold of a task is its price.
  if (family.kind === 'task') return undefined
  const counted = parsed.lean ?? (await countedSize(line, request, signal))
  const holds = FIRST_STEPS.map((firstTokens): LeanHold => ({ ...counted, firstTokens }))
    .map((lean) => ({ lean, nano: nanoOf({ ...parsed, lean }) }))
    .filter(({ nano }) => nano < charge.heldNano)
  if (holds.length === 0) return undefined
  const availableNano = await availableNanoOf(line.world.db, key, charge)
  return (holds.find(({ nano }) => nano <= availableNano) ?? holds.at(-1))?.lean
}

/** Nano-dollars that an account can hold for a charge, within its budget and that of the key. */
export async function availableNanoOf(db: Db, key: CheckedRequest['key'], charge: Charge): Promise<number> {
  const balance = await balanceOf(db, key.account)
  return Math.min(balance?.availableNano ?? 0, await budgetLeftNano(db, key, charge))
}

/** The size by which the request is quoted after a count of its texts, which is never above its bytes. */
async function countedSize(
  { world, textCounts }: Line,
  request: CheckedRequest,
  signal: AbortSignal,
): Promise<Pick<LeanHold, 'byteLength' | 'textTokens'>> {
  const { byteLength } = request.parsed
  const byBytes = { byteLength, textTokens: undefined }
  if (byteLength < MIN_COUNTED_BYTES) return byBytes
  const counted = await textCounts
    .run(signal, () => countTexts(world.tokenCounter, request))
    .catch((error) => {
      throw signal.aborted ? callerLeft() : error
    })
  if (!counted) return byBytes
  const mostTokens = counted.tokens * TOKENS_FOR_ONE
  // Uneven text, pictures and the JSON around the texts still count by their bytes.
  const evenBytes = counted.text.replace(UNEVEN_TEXT, '').length
  const savedTokens = Math.floor(Math.max(0, Math.min(evenBytes - mostTokens, evenBytes * MAX_SAVED_SHARE)))
  const atLeast = Math.min(byteLength, mostTokens)
  return { byteLength: Math.max(atLeast, byteLength - savedTokens), textTokens: counted.tokens }
}
