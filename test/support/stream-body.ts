// Converts a web stream to the body of an answer.

import { ConnectionBroken } from '../../src/http-client/connection'
import { type Flow, HttpBody } from '../../src/http-client/response'

const NO_END = 'the answer does not say where it ends'

/** A stream as a body, read while not paused. A body without a stated end is never complete. */
export function bodyOf(stream: ReadableStream<Uint8Array> | null, isFramed = true): HttpBody {
  const reader = stream?.getReader()
  let isPaused = true
  let isReading = false
  const read = async () => {
    isReading = true
    try {
      while (!isPaused) {
        const next = await reader?.read()
        if (!next || next.done) return isFramed ? body.end() : body.fail(new ConnectionBroken(NO_END))
        body.push(next.value)
      }
    } catch (error) {
      body.fail(error)
    } finally {
      isReading = false
    }
  }
  const flow: Flow = {
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      if (!isReading) void read()
    },
    cancel() {
      isPaused = true
      reader?.cancel().catch(() => {})
    },
  }
  const body = new HttpBody(flow)
  flow.resume()
  return body
}
