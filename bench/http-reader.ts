// Reads HTTP/1.1 messages from the pieces that a socket delivers: requests for the mock vendor, and replies for the load generator.
// It understands only lengths and chunks, and must never interpret or keep a body.

const HEAD_END = Buffer.from('\r\n\r\n')
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
const SEMICOLON = 59

export interface HttpSink {
  head(text: string): void
  /** A piece of the body without chunk framing; valid also after the call. */
  body(bytes: Buffer): void
  end(): void
}

type Part = 'head' | 'length' | 'chunk-size' | 'chunk-extension' | 'chunk-data' | 'chunk-data-end' | 'trailer'

export class HttpReader {
  private part: Part = 'head'
  private partialHead = ''
  private remaining = 0
  private lineLength = 0
  private readonly sink: HttpSink

  constructor(sink: HttpSink) {
    this.sink = sink
  }

  push(bytes: Buffer): void {
    let position = 0
    while (position < bytes.length) position = this.step(bytes, position)
  }

  private step(bytes: Buffer, position: number): number {
    switch (this.part) {
      case 'head':
        return this.readHead(bytes, position)
      case 'length':
      case 'chunk-data':
        return this.readBody(bytes, position)
      case 'chunk-size':
      case 'chunk-extension':
        return this.readChunkSize(bytes, position)
      case 'chunk-data-end':
        return this.skipLine(bytes, position, 'chunk-size')
      case 'trailer':
        return this.readTrailer(bytes, position)
    }
  }

  private readHead(bytes: Buffer, position: number): number {
    // A head that is split within its last four bytes is rare, so searching again from its start keeps this code simple.
    if (this.partialHead !== '') {
      const text = this.partialHead + bytes.toString('latin1', position, bytes.length)
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) {
        this.partialHead = text
        return bytes.length
      }
      const consumed = end + 4 - this.partialHead.length
      this.partialHead = ''
      this.startMessage(text.slice(0, end))
      return position + consumed
    }
    const end = bytes.indexOf(HEAD_END, position)
    if (end < 0) {
      this.partialHead = bytes.toString('latin1', position, bytes.length)
      return bytes.length
    }
    this.startMessage(bytes.toString('latin1', position, end))
    return end + 4
  }

  private startMessage(head: string): void {
    const lower = head.toLowerCase()
    const lengthAt = lower.indexOf('\r\ncontent-length:')
    const chunked = lengthAt < 0 && lower.includes('\r\ntransfer-encoding: chunked')
    this.remaining = lengthAt < 0 ? 0 : Number.parseInt(lower.slice(lengthAt + 17, lengthAt + 33), 10)
    this.part = chunked ? 'chunk-size' : this.remaining > 0 ? 'length' : 'head'
    this.sink.head(head)
    if (this.part === 'head') this.sink.end()
  }

  private readBody(bytes: Buffer, position: number): number {
    const end = Math.min(bytes.length, position + this.remaining)
    this.remaining -= end - position
    this.sink.body(position === 0 && end === bytes.length ? bytes : bytes.subarray(position, end))
    if (this.remaining > 0) return end
    if (this.part === 'chunk-data') {
      this.part = 'chunk-data-end'
    } else {
      this.part = 'head'
      this.sink.end()
    }
    return end
  }

  private readChunkSize(bytes: Buffer, position: number): number {
    for (let at = position; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (byte === LINE_FEED) {
        this.lineLength = 0
        this.part = this.remaining > 0 ? 'chunk-data' : 'trailer'
        return at + 1
      }
      if (byte === SEMICOLON) this.part = 'chunk-extension'
      else if (byte !== CARRIAGE_RETURN && this.part === 'chunk-size') {
        this.remaining = this.remaining * 16 + hexDigit(byte)
      }
    }
    return bytes.length
  }

  private skipLine(bytes: Buffer, position: number, next: Part): number {
    const end = bytes.indexOf(LINE_FEED, position)
    if (end < 0) return bytes.length
    this.part = next
    return end + 1
  }

  private readTrailer(bytes: Buffer, position: number): number {
    for (let at = position; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (byte === CARRIAGE_RETURN) continue
      if (byte !== LINE_FEED) {
        this.lineLength += 1
        continue
      }
      if (this.lineLength === 0) {
        this.part = 'head'
        this.sink.end()
        return at + 1
      }
      this.lineLength = 0
    }
    return bytes.length
  }
}

function hexDigit(byte: number): number {
  return byte <= 57 ? byte - 48 : (byte | 32) - 87
}
