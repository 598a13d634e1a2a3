// Turns a vendor's framed stream into server-sent events, at the reader's pace. It must never pass on anything of a stream after
// its first fault, or mistake a truncated one for complete.

import type { StreamFraming } from '../contract/upstream'
import { HttpBody, HttpResponse } from '../http-client/response'

/** The answer as server-sent events, if it has this framing; otherwise unchanged. */
export function withoutFraming(response: HttpResponse, framing: StreamFraming): HttpResponse {
  if (!response.header('content-type')?.startsWith(framing.contentType)) return response
  const head = {
    status: response.status,
    get: (name: string) => (name === 'content-type' ? 'text/event-stream' : response.header(name)),
  }
  return new HttpResponse(head, eventsOf(response.body, framing))
}

function eventsOf(source: HttpBody, framing: StreamFraming): HttpBody {
  const decoder = framing.createDecoder()
  let isOver = false
  const events = new HttpBody({
    pause: () => source.pause(),
    resume: () => source.resume(),
    cancel() {
      isOver = true
      source.cancel()
    },
  })
  const fail = (error: unknown) => {
    if (isOver) return
    isOver = true
    events.fail(error)
    source.cancel()
  }
  source.start({
    data(bytes) {
      if (isOver) return
      try {
        const text = decoder.push(bytes)
        if (text !== '') events.push(Buffer.from(text))
      } catch (error) {
        fail(error)
      }
    },
    end() {
      if (isOver) return
      try {
        decoder.end()
        isOver = true
        events.end()
      } catch (error) {
        fail(error)
      }
    },
    fail,
  })
  return events
}
