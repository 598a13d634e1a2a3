// One streamed reply of the mock vendor, and the wheel that paces many of them. Each frame is an HTTP chunk of its
// own, encoded once for all streams. It must never build bytes per stream, or the mock would be the bottleneck.
import type { Socket } from 'bun'
import { CONTENT_FRAMES, frameContent } from './exchange'

const SLOT_MS = 1
const REPLY_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n' +
  'x-request-id: req_5d8f0c1e\r\nopenai-processing-ms: 12\r\ntransfer-encoding: chunked\r\n\r\n'

/** All bytes of a reply, and where each write of them ends. */
export interface EncodedStream {
  readonly bytes: Buffer
  readonly writeEnds: readonly number[]
}

/** The events before the first text are sent together, and so are those after the last one, as by real vendors. */
export function encodeStream(frames: readonly string[]): EncodedStream {
  const chunks = frames.map((frame) => `${frame.length.toString(16)}\r\n${frame}\r\n`)
  const startsAt = frames.findIndex((frame) => frame.includes(frameContent(0)))
  const endsAt = startsAt + CONTENT_FRAMES
  const writes = [
    REPLY_HEAD + chunks.slice(0, startsAt).join(''),
    ...chunks.slice(startsAt, endsAt),
    `${chunks.slice(endsAt).join('')}0\r\n\r\n`,
  ]
  const writeEnds: number[] = []
  for (const write of writes) writeEnds.push((writeEnds.at(-1) ?? 0) + write.length)
  return { bytes: Buffer.from(writes.join('')), writeEnds }
}

export class VendorStream {
  private written = 0
  private released = 0
  private readonly socket: Socket<unknown>
  private readonly encoded: EncodedStream
  private readonly onFinished: () => void

  constructor(socket: Socket<unknown>, encoded: EncodedStream, onFinished: () => void) {
    this.socket = socket
    this.encoded = encoded
    this.onFinished = onFinished
  }

  /** Releases one more frame; false if that was the last one. */
  advance(): boolean {
    const ends = this.encoded.writeEnds
    if (this.released < ends.length) this.released += 1
    this.flush()
    return this.released < ends.length
  }

  /** Sends the released frames; called again when a full socket accepts bytes again. */
  flush(): void {
    const end = this.encoded.writeEnds[this.released - 1] ?? 0
    if (end === this.written) return
    this.written += Math.max(0, this.socket.write(this.encoded.bytes, this.written, end - this.written))
    if (this.written === this.encoded.bytes.length) this.onFinished()
  }
}

/** Gives every stream a frame per period, spread evenly over the period as independent vendors' streams would be. */
export class PacingWheel {
  private readonly slots: Set<VendorStream>[]
  private nextSlot = 0
  private passedSlots = 0
  private readonly startedAt = performance.now()

  constructor(framesPerSecond: number) {
    const slotCount = Math.max(1, Math.round(1000 / framesPerSecond / SLOT_MS))
    this.slots = Array.from({ length: slotCount }, () => new Set<VendorStream>())
    setInterval(() => this.turn(), SLOT_MS)
  }

  /** Adds a stream. The returned function removes it before its end. */
  add(stream: VendorStream): () => void {
    const slot = this.slots[this.nextSlot++ % this.slots.length] as Set<VendorStream>
    slot.add(stream)
    return () => slot.delete(stream)
  }

  /** Sends the frames that are due. Late timers catch up, so that the rate holds on a busy machine. */
  private turn(): void {
    const due = Math.floor((performance.now() - this.startedAt) / SLOT_MS)
    for (; this.passedSlots < due; this.passedSlots++) {
      const slot = this.slots[this.passedSlots % this.slots.length] as Set<VendorStream>
      for (const stream of slot) if (!stream.advance()) slot.delete(stream)
    }
  }
}
