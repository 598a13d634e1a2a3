// Splits a server-sent event stream into whole events, wherever the network cut it.
// It must never change a byte, and never keep more than one unfinished event.

/** An event longer than this is refused: no vendor sends one, and it would be held in memory. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024

export interface EventSplitter {
  /**
   * Takes a piece of the stream and gives the part that consists of whole events, in latin1: one character a byte, so
   * searching and cutting in it cannot break a multi-byte letter. Empty when no event ended in this piece.
   */
  push(piece: Uint8Array): string
  /** What came after the last whole event. */
  rest(): string
}

export function createEventSplitter(): EventSplitter {
  let carried = ''
  return {
    push(piece) {
      const text = toLatin1(piece)
      const whole = carried ? carried + text : text
      // Only where the new piece begins can an end be found that was not there before.
      const end = endOfLastEvent(whole, carried.length)
      if (end === whole.length) {
        carried = ''
        return whole
      }
      if (whole.length - end > MAX_EVENT_BYTES) throw new Error('an event of the stream is too long')
      carried = whole.slice(end)
      return whole.slice(0, end)
    },
    rest: () => carried,
  }
}

/** The `data` of one event, its lines joined, as a JavaScript string; undefined for a comment or an empty event. */
export function dataOfEvent(event: string): string | undefined {
  let data: string | undefined
  for (const line of event.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data')) continue
    if (line.length > 4 && line[4] !== ':') continue
    const value = line.slice(line[5] === ' ' ? 6 : 5)
    data = data === undefined ? value : `${data}\n${value}`
  }
  return data === undefined ? undefined : fromLatin1(data)
}

/** Single events of a text that consists of whole ones, each with its closing blank line. */
export function splitEvents(whole: string): string[] {
  return whole.match(/.*?(?:\r\n\r\n|\n\n|\r\r)|.+$/gs) ?? []
}

export function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

export function fromLatin1(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}

/** Index after the last blank line, looking no further back than three characters before `from`. */
function endOfLastEvent(text: string, from: number): number {
  // Nearly always a piece ends where an event does.
  if (text.endsWith('\n\n')) return text.length
  const floor = Math.max(0, from - 3)
  let end = 0
  for (const blank of ['\n\n', '\r\n\r\n', '\r\r']) {
    const at = text.lastIndexOf(blank)
    if (at >= floor && at + blank.length > end) end = at + blank.length
  }
  return end
}
