// Finds the few events in the bytes of a stream that must be read as text: nearly all pass unchanged. It must never miss one that
// may matter; false positives are allowed.

/**
 * Every error contains one of these words, whatever its form: `{error}`, `{code, message}`, `{detail}`, a state, or a reason for
 * the end. Quotes within texts are escaped, so that what a model writes has none of them, except a text that ends in such a state.
 */
const ERROR_WORDS = [
  '"error"',
  '"message"',
  '"code"',
  '"detail"',
  'failed"',
  'cancelled"',
  'finish_reason":"',
]
const ERRORS = ERROR_WORDS.map((word) => Buffer.from(word))
/** Content that is a list, which callers of chat see as text: Mistral writes JSON without spaces. */
const LIST_WORD = '"content":['
const USAGE_WORD = '"usage"'
const USAGE = Buffer.from(USAGE_WORD)
const ID = Buffer.from('_id"')
const ACCOUNT = /(organi[sz]ation|org|project|account|team|tenant|workspace)$/i
const MAX_ACCOUNT_LENGTH = 'organization'.length
const NULL = Buffer.from(':null')
const BLANK_LINE = Buffer.from('\n\n')

/** Whether an event may report usage or an error, or have content that is a list. */
export function mayReport(event: string): boolean {
  return event.includes(USAGE_WORD) || ERROR_WORDS.some((word) => event.includes(word)) || hasList(event)
}

/** Whether an event, or a part of a stream, may have content that is a list. */
export function hasList(events: string | Buffer): boolean {
  return events.includes(LIST_WORD)
}

/** Index of the first event that may have usage, an error or the operator's account; -1 if none may. */
export function startOfReport(whole: Buffer, from: number): number {
  const first = indexOfReport(whole, from)
  if (first === -1) return -1
  return Math.max(from, startOfEvent(whole, first))
}

/** Index at which the event around an index begins. */
export function startOfEvent(whole: Buffer, at: number): number {
  const blank = whole.lastIndexOf(BLANK_LINE, at)
  return blank === -1 ? 0 : blank + BLANK_LINE.length
}

/** Index of the first event that may have usage or an error. Most vendors send `"usage":null` with every event. */
function indexOfReport(bytes: Buffer, from: number): number {
  let first = indexOfAccount(bytes, from)
  for (const word of ERRORS) first = firstOf(first, bytes.indexOf(word, from))
  for (let at = bytes.indexOf(USAGE, from); at !== -1; at = bytes.indexOf(USAGE, at + USAGE.length)) {
    if (!isNull(bytes, at + USAGE.length)) return firstOf(first, at)
  }
  return first
}

/** Index of the operator's account id, which some vendors put into any event and no caller may see. */
function indexOfAccount(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(ID, from); at !== -1; at = bytes.indexOf(ID, at + ID.length)) {
    if (ACCOUNT.test(bytes.toString('latin1', Math.max(from, at - MAX_ACCOUNT_LENGTH), at))) return at
  }
  return -1
}

function isNull(bytes: Buffer, at: number): boolean {
  if (bytes[at] === NULL[0] && bytes[at + 1] === NULL[1]) return true
  return /^\s*:\s*null/.test(bytes.toString('latin1', at, at + 16))
}

/** The smaller index that is not -1, or -1. */
function firstOf(one: number, other: number): number {
  if (one === -1 || other === -1) return Math.max(one, other)
  return Math.min(one, other)
}

/** Whether a text contains usage, even if it is not JSON. */
export function reportsUsage(text: string): boolean {
  return /"usage"\s*:\s*(?!null)/.test(text)
}

/** Whether there is more than blank lines. */
export function hasText(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte !== 10 && byte !== 13 && byte !== 32)
}
