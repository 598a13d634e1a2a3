// Answers a request in the background: its events are read on while nobody waits, and the caller gets the response as
// it stands, or follows its events. What callers do must not stop what the vendor makes, but for a cancel.

import type { BackgroundResponses } from '../responses/background'
import type { ResponseToKeep } from '../responses/keep'
import type { Requester, StreamAnswer } from './answer'

/** A caller who never leaves. */
export const NOBODY: Requester = { signal: () => new AbortController().signal }

/** The body of the caller's answer, and its type. */
export interface BackgroundAnswer {
  contentType: string
  body: string | ReadableStream<Uint8Array>
}

/** Reads the stream on in the background. Resolves when the response can be found by its id. */
export async function answerInBackground(
  responses: BackgroundResponses,
  { id, account }: ResponseToKeep,
  { body }: StreamAnswer,
  isFollowed: boolean,
): Promise<BackgroundAnswer> {
  const response = await responses.begin(id, account, body)
  if (!isFollowed) return { contentType: 'application/json', body: JSON.stringify(response) }
  return {
    contentType: 'text/event-stream; charset=utf-8',
    body: streamOfEvents(responses.events(account, id, -1)),
  }
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
