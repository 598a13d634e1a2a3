// Prepares a request of an operation that stores its answers: the conversation that it continues is read from the database and
// becomes part of its input, and its answer gets an id. The rest of the line must see a whole conversation and no ids.

import { isToken, type Key } from '../accounts/keys'
import type { AnswerContext } from '../contract/family'
import { SUMMARY_REQUEST_BYTES, summaryRequestOf } from '../families/responses/compaction'
import { continuedItems, userMessagesOf, withReadableSummaries } from '../kept-responses/compaction'
import type { Item } from '../kept-responses/content'
import {
  type ConversationToContinue,
  conversationIn,
  recallConversation,
} from '../kept-responses/conversations'
import { makeRoomForResponse } from '../kept-responses/keep'
import { itemsOfInput, recall } from '../kept-responses/recall'
import { type GatewayError, invalidRequest } from '../lib/errors'
import type { CheckedRequest, ReadRequest } from './check'
import { checkSealed, openFor, sealFor } from './sealed-items'
import type { RequestWorld } from './world'

/** Random bytes of an id: it cannot be guessed. */
const ID_BYTES = 16

/** The fields that decide what is loaded and stored. They are not checked yet. */
interface Body extends Record<string, unknown> {
  input?: string | readonly Item[] | null
  previous_response_id?: string | null
  store?: boolean | null
}

/** The parts of a request that decide whether its answer is stored, and for whom it is made. */
type KeptAnswer = Pick<CheckedRequest, 'toKeep' | 'background'>

/**
 * Completes a request, and gives it the context of its answer. Throws 400 or 404 if it refers to something that is not stored, and
 * 400 for a background request that is not stored.
 */
export async function beginAnswer(
  world: RequestWorld,
  read: ReadRequest,
  idempotencyKey: string | null,
): Promise<KeptAnswer> {
  const { key, given } = read
  const { account } = key
  const body = wellFormed(given.body)
  const isInBackground = given.body.background === true
  if (read.operation.compacts) return beginCompaction(world, read)
  const isKept = body.store !== false && !isToken(key) && fits(world, given.byteLength)
  if (!isKept && conversationIn(given.body) !== undefined) throw notAppended()
  const { conversation } = await completeInput(world, read)
  if (isInBackground) checkBackground(isKept, idempotencyKey)
  // A response of a conversation is written twice, so that it can also be read by its own id.
  const bytes = conversation ? 2 * given.byteLength : given.byteLength
  if (isKept) await makeRoomForResponse(world, account, bytes, conversation?.id)
  const id = newAnswerId(world)
  read.answer = contextOf(world, account, { id, isKept, isInBackground })
  if (conversation) read.answer.conversationId = conversation.id
  if (isInBackground)
    read.given = { ...read.given, body: { ...read.given.body, background: null, stream: true } }
  if (!isKept) return {}
  const previousId = body.previous_response_id ?? null
  const input = itemsOfInput(body.input)
  const toKeep = { id, account, previousId, input, answer: undefined, ...(conversation && { conversation }) }
  return { toKeep, ...(isInBackground && { background: { isFollowed: given.body.stream === true } }) }
}

/** Turns a request for a compaction into one for a summary of its conversation. */
async function beginCompaction(world: RequestWorld, read: ReadRequest): Promise<KeptAnswer> {
  for (const field of ['stream', 'background'] as const) {
    if (read.given.body[field] !== true) continue
    throw invalidRequest(
      field,
      `A compaction is returned immediately and as a whole: leave out '${field}'.`,
      'unsupported_parameter',
    )
  }
  const compacted = userMessagesOf((await completeInput(world, read)).whole)
  const { body, byteLength } = read.given
  const items = itemsOfInput(wellFormed(body).input)
  // Anything that is not a conversation is refused by the check.
  if (items.length > 0) {
    const asked = summaryRequestOf(body, items)
    read.given = { ...read.given, body: asked, byteLength: byteLength + SUMMARY_REQUEST_BYTES }
  }
  const facts = { id: newAnswerId(world), isKept: false, isInBackground: false }
  read.answer = { ...contextOf(world, read.key.account, facts), compacted }
  return {}
}

function notAppended(): GatewayError {
  return invalidRequest(
    'conversation',
    "Only a response that is kept can be appended to a conversation: leave out 'store', or 'conversation'. This gateway may be configured to keep none, or none of this size.",
    'unsupported_parameter',
  )
}

function checkBackground(isKept: boolean, idempotencyKey: string | null): void {
  if (!isKept) {
    throw invalidRequest(
      'background',
      "A response in the background must be kept: leave out 'store', or 'background'. This gateway may be configured to keep none.",
      'unsupported_parameter',
    )
  }
  if (idempotencyKey === null) return
  throw invalidRequest(
    'background',
    'A request in the background takes no Idempotency-Key: its answer is read by its id. Leave out one of them.',
    'unsupported_parameter',
  )
}

/** Lets a request of any other operation seal content that only this caller may send back. */
export function beginSealing(world: RequestWorld, { key, parsed, model, others }: CheckedRequest): void {
  if (!model.family.seals && !others.some(({ family }) => family.seals)) return
  parsed.answer = contextOf(world, key.account, {
    id: newAnswerId(world),
    isKept: false,
    isInBackground: false,
  })
}

function newAnswerId({ randomBytes }: Pick<RequestWorld, 'randomBytes'>): string {
  return `resp_${Buffer.from(randomBytes(ID_BYTES)).toString('hex')}`
}

/**
 * Inserts the conversation that a request continues into its input, and sealed summaries as texts. Returns the whole input with the
 * original summaries, and the items that the request adds to a conversation, if it continues one. Throws 400 or 404 if it refers to
 * something that is not stored.
 */
export async function completeInput(
  world: Parameters<typeof recall>[0] & Pick<RequestWorld, 'sealer'>,
  read: Pick<ReadRequest, 'key' | 'given' | 'operation' | 'recalledItems' | 'recalledBy'>,
): Promise<{ whole: readonly Item[]; conversation?: ConversationToContinue }> {
  const { given, key, operation } = read
  const keeper = keeperOf(key)
  const owner = { sealer: world.sealer, account: key.account }
  checkSealed(owner, operation, given.body)
  const body = wellFormed(given.body)
  const conversationId = conversationIn(given.body)
  const recalled = await recall(world, keeper, body)
  const own = recalled.input ?? itemsOfInput(body.input)
  const earlier =
    conversationId === undefined ? undefined : await recallConversation(world, keeper, conversationId, own)
  const found = earlier ? [...earlier.items, ...own] : own
  const open = (sealed: string) => openFor(owner, sealed)
  const ownLength = itemsOfInput(body.input).length
  const kept = found.slice(0, found.length - ownLength)
  const continued = continuedItems(kept, open)
  const whole = continued === kept ? found : [...continued, ...found.slice(kept.length)]
  const readable = withReadableSummaries(whole, open)
  if (!recalled.input && !earlier && readable.items === whole) return { whole }
  const keptBytes =
    continued === kept
      ? recalled.addedBytes + (earlier?.bytes ?? 0)
      : Buffer.byteLength(JSON.stringify(whole))
  read.recalledItems = continued.length
  read.given = {
    ...given,
    body: { ...given.body, input: readable.items, ...(earlier && { conversation: null }) },
    byteLength: given.byteLength + keptBytes + readable.addedBytes,
  }
  if (conversationId === undefined) return { whole }
  read.recalledBy = 'conversation'
  return { whole, conversation: { id: conversationId, input: own } }
}

/** The fields that have a valid form; the check refuses the others. */
function wellFormed({ input, previous_response_id: previousId, store }: Body): Body {
  return {
    input: typeof input === 'string' || Array.isArray(input) ? input : null,
    previous_response_id: typeof previousId === 'string' ? previousId : null,
    store: store === false ? false : null,
  }
}

/**
 * The owner of the stored responses that a request may continue. A token in a browser may continue none: they may belong to other
 * people.
 */
function keeperOf(key: Key): string {
  return isToken(key) ? `token:${key.spender?.id}` : key.account
}

function fits({ keptResponses }: RequestWorld, byteLength: number): boolean {
  return keptResponses.keepMs !== undefined && byteLength <= keptResponses.maxResponseBytes
}

function contextOf(
  { sealer, now }: RequestWorld,
  account: string,
  facts: Pick<AnswerContext, 'id' | 'isKept' | 'isInBackground'>,
): AnswerContext {
  return {
    ...facts,
    now,
    seal: (text) => sealFor({ sealer, account }, text),
    open: (sealed) => openFor({ sealer, account }, sealed),
  }
}
