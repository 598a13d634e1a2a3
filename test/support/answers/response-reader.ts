// The response that the official client assembles from events with its own code.

import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import type { Json } from '../scenario'

/** The client's final response. Rejects if the client rejects an event. */
export async function accumulatedResponse(events: readonly Json[]): Promise<Json> {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const stream = new Response(lines).body
  if (!stream) throw new Error('no stream')
  return await ResponseStream.fromReadableStream(stream).finalResponse()
}
