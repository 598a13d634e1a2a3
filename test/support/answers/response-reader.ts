// What the official client makes of the events of a response, by its own code.

import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import type { Json } from '../scenario'

/** The response that the client has at the end. Rejects where it takes an event for wrong. */
export async function accumulatedResponse(events: readonly Json[]): Promise<Json> {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const stream = new Response(lines).body
  if (!stream) throw new Error('no stream')
  return await ResponseStream.fromReadableStream(stream).finalResponse()
}
