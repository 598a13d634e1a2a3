// Answers a request in the background: its events are read while no caller waits, and the caller gets the response in
// its current state, or follows its events. Nothing that callers do, except a cancellation, may stop the vendor's work.

import type { ChargeEnd } from '../../billing/ledger/charge-ends'
import type { ParsedRequest } from '../../contract/family'
import type { ResponsesBody } from '../../families/responses/caller-side'
import { responseObject } from '../../families/responses/response-object'
import { guardAbsent } from '../../kept-responses/background-rows'
import type { ResponseToKeep } from '../../kept-responses/keep'
import type { CheckedRequest } from '../check'
import type { Backlog } from '../stream/backlog'
import { pacedStream } from '../stream/paced-body'
import type { RequestWorld } from '../world'
import type { Requester, StreamAnswer } from './answer'

/** A caller that never disconnects. */
export const DETACHED_CALLER: Requester = { signal: () => new AbortController().signal }

/** The body of the caller's answer, and its media type. */
interface BackgroundAnswer {
  contentType: string
  body: string | ReadableStream<Uint8Array>
}

/** The response before any output, as stored from the hold on. */
export function initialResponse({ parsed, model }: Pick<CheckedRequest, 'parsed' | 'model'>) {
  return responseObject(parsed as ParsedRequest<ResponsesBody>, model)
}

/** Continues to read the stream in the background. */
export function answerInBackground(
  { backgroundResponses: responses, backlog }: Pick<RequestWorld, 'backgroundResponses' | 'backlog'>,
  { id, account }: ResponseToKeep,
  response: Record<string, unknown>,
  { body, isFollowed }: { body: StreamAnswer['body']; isFollowed: boolean },
): BackgroundAnswer {
  responses.begin(id, response, body)
  if (!isFollowed) return { contentType: 'application/json', body: JSON.stringify(response) }
  return {
    contentType: 'text/event-stream; charset=utf-8',
    body: streamOfEvents(backlog, responses.events(account, id, -1)),
  }
}

type EndingWorld = Pick<RequestWorld, 'backgroundResponses'>

/**
 * Settles the charge of a response in one batch with its end. A deleted response is charged, and not stored. Nothing is charged if
 * another process has ended the response, because this one was silent for longer than its lease: then the hold is released.
 */
export async function settlementInBackground(
  { backgroundResponses }: EndingWorld,
  { id, answer }: ResponseToKeep,
  end: ChargeEnd,
  release: ChargeEnd,
): Promise<ChargeEnd> {
  const statements = await backgroundResponses.endStatements(id, answer)
  const { charge, settlement, also } = end
  const ofDeleted = { charge, settlement, also: [guardAbsent(id)], orElse: release } as ChargeEnd
  return { ...end, also: [...statements, ...also], orElse: ofDeleted }
}

/** Releases the charge of a response in one batch with its end, unless that has ended already. */
export async function releaseInBackground(
  { backgroundResponses }: EndingWorld,
  { id, answer }: ResponseToKeep,
  end: ChargeEnd,
): Promise<ChargeEnd> {
  const statements = await backgroundResponses.endStatements(id, answer)
  return { ...end, also: [...statements.map((statement) => ({ ...statement, guard: false })), ...end.also] }
}

/** Texts as a stream of bytes. A reader that disconnects ends the polling. */
export function streamOfEvents(backlog: Backlog, events: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const source = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await events.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await events.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return pacedStream(backlog, source)
}
