// Answers a request in the background: its events are read on while nobody waits, and the caller gets the response as
// it stands, or follows its events. What callers do must not stop what the vendor makes, but for a cancel.

import type { Settled } from '../billing/ledger'
import type { ParsedRequest } from '../contract/family'
import { DatabaseUnavailable, type Statement } from '../db/db'
import type { ResponsesBody } from '../families/responses/caller-side'
import { responseObject } from '../families/responses/response-object'
import type { BackgroundResponses } from '../responses/background'
import { backgroundEnded } from '../responses/background-rows'
import type { ResponseToKeep } from '../responses/keep'
import type { Requester, StreamAnswer } from './answer'
import type { CheckedRequest } from './check'
import type { RequestWorld } from './world'

/** A caller who never leaves. */
export const NOBODY: Requester = { signal: () => new AbortController().signal }

const NOTHING_PAID: Settled = { paidNano: 0, shortfallNano: 0 }

/** The body of the caller's answer, and its type. */
export interface BackgroundAnswer {
  contentType: string
  body: string | ReadableStream<Uint8Array>
}

/** The response before anything of it has come, as its row has it from the hold on. */
export function begunResponse({ parsed, model }: Pick<CheckedRequest, 'parsed' | 'model'>) {
  return responseObject(parsed as ParsedRequest<ResponsesBody>, model.id)
}

/** Reads the stream on in the background. */
export function answerInBackground(
  responses: BackgroundResponses,
  { id, account }: ResponseToKeep,
  response: Record<string, unknown>,
  { body, isFollowed }: { body: StreamAnswer['body']; isFollowed: boolean },
): BackgroundAnswer {
  responses.begin(id, response, body)
  if (!isFollowed) return { contentType: 'application/json', body: JSON.stringify(response) }
  return {
    contentType: 'text/event-stream; charset=utf-8',
    body: streamOfEvents(responses.events(account, id, -1)),
  }
}

interface Settling {
  settle(also: readonly Statement[]): Promise<Settled | undefined>
  release(): Promise<boolean>
  /** Further statements of the batch. */
  also: readonly Statement[]
}

/**
 * Settles the charge of a response in one batch with its end. Nothing is paid if another process has ended the response,
 * because this one was silent for longer than its lease. A response that was deleted is paid, and not kept.
 */
export async function settleInBackground(
  { db, backgroundResponses, log }: Pick<RequestWorld, 'db' | 'backgroundResponses' | 'log'>,
  { id, answer }: ResponseToKeep,
  { settle, release, also }: Settling,
): Promise<Settled | undefined> {
  try {
    let settled = await settle([...(await backgroundResponses.endStatements(id, answer)), ...also])
    const hasEnded = settled ? undefined : await backgroundEnded(db, id)
    // Then it is the charge that is not as it is known here.
    if (hasEnded === false) return undefined
    if (hasEnded && (await release())) log('background_lost', { response: id })
    settled ??= hasEnded ? NOTHING_PAID : await settle([])
    backgroundResponses.forget(id)
    return settled
  } catch (error) {
    // The end is tried again while the database is away.
    if (!(error instanceof DatabaseUnavailable)) backgroundResponses.lose(id)
    throw error
  }
}

/** Releases the charge of a response in one batch with its end, if it has not ended. */
export async function releaseInBackground(
  { backgroundResponses }: Pick<RequestWorld, 'backgroundResponses'>,
  { id, answer }: ResponseToKeep,
  release: (also: readonly Statement[]) => Promise<boolean>,
): Promise<boolean> {
  const statements = await backgroundResponses.endStatements(id, answer)
  const isReleased = await release(statements.map((statement) => ({ ...statement, guard: false })))
  if (isReleased) backgroundResponses.forget(id)
  else backgroundResponses.lose(id)
  return isReleased
}

/** Texts as a stream of bytes. A reader who leaves ends the search for more. */
export function streamOfEvents(events: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await events.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await events.return(undefined)
    },
  })
}
