// Merges several streams of a vendor into one: the candidates of a chat completion that a vendor makes one by one. A
// comment before each event names its candidate. It must never split an event, or hold more than one unfinished event per source.

import { HttpBody } from '../http-client/response'
import { createEventSplitter, splitEvents } from '../lib/sse'

const MARK = /^: candidate (\d+)\n/

/** One body with the events of all sources, in order of arrival. It breaks off if one of them does. */
export function mergeStreams(sources: readonly HttpBody[]): HttpBody {
  let running = sources.length
  const each = (act: (source: HttpBody) => void) => () => sources.forEach(act)
  const merged = new HttpBody({
    pause: each((source) => source.pause()),
    resume: each((source) => source.resume()),
    cancel: each((source) => source.cancel()),
  })
  for (const [candidate, source] of sources.entries()) {
    const splitter = createEventSplitter()
    const pass = (events: string) => {
      const marked = splitEvents(events).map((event) => `: candidate ${candidate}\n${event}`)
      if (marked.length > 0) merged.push(Buffer.from(marked.join(''), 'latin1'))
    }
    const fail = (error: unknown) => {
      merged.fail(error)
      for (const other of sources) other.cancel()
    }
    source.start({
      data(piece) {
        try {
          pass(splitter.push(piece).toString('latin1'))
        } catch (error) {
          fail(error)
        }
      },
      end() {
        const rest = splitter.rest().toString('latin1').trimEnd()
        if (rest !== '') pass(`${rest}\n\n`)
        if (--running === 0) merged.end()
      },
      fail,
    })
  }
  return merged
}

/** The candidate of an event of a merged stream. */
export function candidateOf(event: string): number {
  return Number(MARK.exec(event)?.[1] ?? 0)
}
