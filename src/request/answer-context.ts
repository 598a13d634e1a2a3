// Prepares a request of an operation that keeps its answers: what it continues is read from the database and becomes
// part of its input, and its answer gets an id. The rest of the line must see a whole conversation and no ids.

import type { AnswerContext } from '../contract/family'
import type { Item } from '../responses/content'
import { makeRoomForResponse, type ResponseToKeep } from '../responses/keep'
import { itemsOfInput, recall } from '../responses/recall'
import type { ReadRequest } from './check'
import type { RequestWorld } from './world'

/** Random bytes of an id: nobody guesses one. */
const ID_BYTES = 16

/** The fields that decide what is recalled and kept. They are not checked yet. */
interface Body extends Record<string, unknown> {
  input?: string | readonly Item[] | null
  previous_response_id?: string | null
  store?: boolean | null
}

/**
 * Completes a request, and gives it the context of its answer. Returns what is to be kept at its end; undefined if
 * nothing is. Throws 400 or 404 for what it names and is not kept.
 */
export async function beginAnswer(
  world: RequestWorld,
  read: ReadRequest,
): Promise<ResponseToKeep | undefined> {
  const { key, given } = read
  const { account } = key
  const body = wellFormed(given.body)
  await completeInput(world, read)
  const isKept = body.store !== false && fits(world, given.byteLength)
  if (isKept) await makeRoomForResponse(world, account, given.byteLength)
  const id = `resp_${Buffer.from(world.randomBytes(ID_BYTES)).toString('hex')}`
  read.answer = contextOf(world, account, id, isKept)
  if (!isKept) return undefined
  const previousId = body.previous_response_id ?? null
  return { id, account, previousId, input: itemsOfInput(body.input), answer: undefined }
}

/** Puts what a request continues into its input. Throws 400 or 404 for what it names and is not kept. */
export async function completeInput(
  world: Parameters<typeof recall>[0],
  read: Pick<ReadRequest, 'key' | 'given'>,
): Promise<void> {
  const { given } = read
  const { input, addedBytes } = await recall(world, read.key.account, wellFormed(given.body))
  if (!input) return
  read.given = { ...given, body: { ...given.body, input }, byteLength: given.byteLength + addedBytes }
}

/** The fields as far as they have the right form; the check refuses the others. */
function wellFormed({ input, previous_response_id: previousId, store }: Body): Body {
  return {
    input: typeof input === 'string' || Array.isArray(input) ? input : null,
    previous_response_id: typeof previousId === 'string' ? previousId : null,
    store: store === false ? false : null,
  }
}

function fits({ keptResponses }: RequestWorld, byteLength: number): boolean {
  return keptResponses.keepMs !== undefined && byteLength <= keptResponses.maxResponseBytes
}

function contextOf({ sealer }: RequestWorld, account: string, id: string, isKept: boolean): AnswerContext {
  return {
    id,
    isKept,
    seal: (text) => sealer.seal(text, account),
    open: (sealed) => sealer.open(sealed, account),
  }
}
