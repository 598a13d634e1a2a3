// Sends the answer of streamGenerateContent in the form that its URL requests: as events, or as a JSON array that grows with them.
// It must hold no more than one event. https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent

import { createEventSplitter, dataIn, splitEvents } from '../../lib/sse'
import type { Backlog } from '../../request/stream/backlog'
import { wholeAnswer } from '../../request/stream/paced-body'

const EVENTS = 'text/event-stream'

/** The answer as events or as an array. A model that does not stream answers whole, which is one event. */
export async function inStreamForm(backlog: Backlog, answer: Response, asEvents: boolean): Promise<Response> {
  const headers = new Headers(answer.headers)
  const isStream = headers.get('content-type')?.startsWith(EVENTS) === true
  if (isStream && asEvents) return answer
  if (asEvents) {
    headers.set('content-type', `${EVENTS}; charset=utf-8`)
    return wholeAnswer(backlog, `data: ${await answer.text()}\n\n`, { headers })
  }
  if (!isStream || !answer.body) return wholeAnswer(backlog, `[${await answer.text()}]`, { headers })
  headers.set('content-type', 'application/json; charset=UTF-8')
  return new Response(arrayOf(answer.body), { headers })
}

/** The events of a stream as the items of an array. Comments, which keep a connection alive, become white space. */
function arrayOf(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = events.getReader()
  const splitter = createEventSplitter()
  let before = '['
  const itemsIn = (whole: Buffer): string => {
    let written = ''
    for (const event of splitEvents(whole.toString())) {
      const data = dataIn(event)
      written += data === undefined ? '\n' : `${before}${data}`
      if (data !== undefined) before = ',\r\n'
    }
    return written
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(output) {
        for (;;) {
          const { done, value } = await reader.read()
          const items = itemsIn(done ? splitter.rest() : splitter.push(value))
          if (done) {
            output.enqueue(Buffer.from(`${items}${before === '[' ? '[' : ''}]`))
            return output.close()
          }
          if (items !== '') return output.enqueue(Buffer.from(items))
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
