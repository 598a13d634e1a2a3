// Reads HTTP/1.1 responses from the bytes of one connection, however they are cut (RFC 9112). It knows no socket.
// It must never take a response that broke off for a whole one, and never keep more in memory than a head.

/** What a response is given to. Each response: one head, any number of pieces, one end. */
export interface ResponseSink {
  head(head: ResponseHead): void
  /** A piece of the body, without the framing of its chunks. It may be kept. */
  data(bytes: Buffer): void
  /** The response is whole. `reusable`: the connection is ready for another request. */
  end(reusable: boolean): void
}

/** What came is no HTTP/1.1 response. */
export class MalformedResponse extends Error {}

const MAX_HEAD_BYTES = 64 * 1024
/** Of what stands around the chunks: extensions of one size line, or the trailers. */
const MAX_FRAMING_BYTES = 16 * 1024
/** Hexadecimal digits of a chunk's size. */
const MAX_SIZE_DIGITS = 12
const MOST_COPIED_BYTES = 4 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?=[ \r])/
const NO_BYTES = Buffer.alloc(0)
const CR = 13
const LF = 10

enum State {
  Head,
  /** Until `left` is zero. */
  Body,
  BodyUntilClose,
  ChunkSize,
  ChunkExtension,
  ChunkSizeLf,
  ChunkData,
  ChunkDataCr,
  ChunkDataLf,
  Trailers,
}

export class ResponseHead {
  readonly status: number
  readonly minorVersion: number
  private readonly text: string
  private readonly lowerCase: string

  /** `text` is the status line and the fields, and ends with their last line break. */
  constructor(text: string) {
    const line = STATUS_LINE.exec(text)
    if (!line) throw new MalformedResponse('the answer does not begin with an HTTP/1.1 status line')
    this.minorVersion = Number(line[1])
    this.status = Number(line[2])
    this.text = text
    this.lowerCase = text.toLowerCase()
  }

  /** The value of the first field of this name, which is written in lower case. */
  get(name: string): string | null {
    const field = `\r\n${name}:`
    const at = this.lowerCase.indexOf(field)
    if (at === -1) return null
    const from = at + field.length
    return this.text.slice(from, this.text.indexOf('\r\n', from)).trim()
  }
}

export class ResponseParser {
  private readonly sink: ResponseSink
  private state = State.Head
  private head: Buffer = NO_BYTES
  /** Bytes of the body or chunk that are still to come. */
  private left = 0
  private sizeDigits = 0
  private framingBytes = 0
  private lineBytes = 0
  private isReusable = false

  constructor(sink: ResponseSink) {
    this.sink = sink
  }

  /** Takes the next bytes, which it may overwrite. Throws MalformedResponse. */
  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.state === State.Head) at = this.readHead(bytes, at)
      else if (this.state >= State.ChunkSize) at = this.readChunks(bytes, at)
      else at = this.readBody(bytes, at)
    }
  }

  /** The connection was closed. False when the response is not whole. */
  close(): boolean {
    if (this.state !== State.BodyUntilClose) return false
    this.state = State.Head
    this.sink.end(false)
    return true
  }

  private readHead(bytes: Buffer, at: number): number {
    const known = this.head.length
    const head = known === 0 ? bytes : Buffer.concat([this.head, bytes])
    const end = head.indexOf(HEAD_END, known === 0 ? at : Math.max(0, known - HEAD_END.length + 1))
    if ((end === -1 ? head.length - at : end - at) > MAX_HEAD_BYTES) {
      throw new MalformedResponse('the head of the answer is too large')
    }
    if (end === -1) {
      this.head = known === 0 ? Buffer.from(bytes.subarray(at)) : head
      return bytes.length
    }
    this.head = NO_BYTES
    const text = head.toString('latin1', known === 0 ? at : 0, end + 2)
    return this.begin(new ResponseHead(text), bytes, end + HEAD_END.length - known)
  }

  /** Decides where the body ends (RFC 9112, section 6.3). Answers where reading goes on. */
  private begin(head: ResponseHead, bytes: Buffer, at: number): number {
    const { status } = head
    // An interim response: the real one follows. Switching protocols was never asked for.
    if (status === 101) throw new MalformedResponse('the answer switches to another protocol')
    if (status < 200) return at
    const connection = head.get('connection') ?? ''
    const length = head.get('content-length')
    const transfer = head.get('transfer-encoding')
    this.isReusable =
      head.minorVersion === 1 ? !/\bclose\b/i.test(connection) : /\bkeep-alive\b/i.test(connection)
    if (transfer !== null) {
      this.state = /\bchunked$/i.test(transfer) ? State.ChunkSize : State.BodyUntilClose
      // With both, somebody on the way may understand it otherwise.
      if (length !== null) this.isReusable = false
    } else if (length !== null) {
      this.left = Number(length)
      if (!/^\d+$/.test(length) || !Number.isSafeInteger(this.left)) {
        throw new MalformedResponse('the answer has no proper length')
      }
      this.state = State.Body
    } else {
      this.state = State.BodyUntilClose
    }
    this.sink.head(head)
    const isEmpty = status === 204 || status === 304 || (this.state === State.Body && this.left === 0)
    return isEmpty ? this.end(bytes, at) : at
  }

  private readBody(bytes: Buffer, at: number): number {
    if (this.state === State.BodyUntilClose) {
      this.sink.data(part(bytes, at, bytes.length))
      return bytes.length
    }
    const until = Math.min(bytes.length, at + this.left)
    this.left -= until - at
    this.sink.data(part(bytes, at, until))
    return this.left === 0 ? this.end(bytes, until) : until
  }

  /** Takes all the chunks that are there, and hands their content on as one piece, moved together in place. */
  private readChunks(bytes: Buffer, from: number): number {
    let at = from
    let start = at
    let end = at
    while (at < bytes.length && this.state !== State.Head) {
      if (this.state === State.ChunkData) {
        const until = Math.min(bytes.length, at + this.left)
        if (end === start) start = end = at
        else bytes.copyWithin(end, at, until)
        end += until - at
        this.left -= until - at
        at = until
        if (this.left === 0) this.state = State.ChunkDataCr
      } else {
        this.readFraming(bytes[at++] as number)
      }
    }
    if (end > start) this.sink.data(part(bytes, start, end))
    return this.state === State.Head ? this.end(bytes, at) : at
  }

  /** One byte of what stands between the contents of chunks. */
  private readFraming(byte: number): void {
    if (this.state === State.ChunkSize) {
      this.readSize(byte)
    } else if (this.state === State.ChunkSizeLf) {
      expect(byte, LF)
      this.sizeDigits = 0
      this.framingBytes = 0
      this.state = this.left === 0 ? State.Trailers : State.ChunkData
    } else if (this.state === State.ChunkDataCr) {
      expect(byte, CR)
      this.state = State.ChunkDataLf
    } else if (this.state === State.ChunkDataLf) {
      expect(byte, LF)
      this.state = State.ChunkSize
    } else if (this.state === State.ChunkExtension) {
      this.countFraming()
      if (byte === CR) this.state = State.ChunkSizeLf
    } else {
      this.readTrailer(byte)
    }
  }

  private readSize(byte: number): void {
    const digit = hexOf(byte)
    if (digit !== -1) {
      this.left = this.left * 16 + digit
      this.sizeDigits++
      if (this.sizeDigits > MAX_SIZE_DIGITS) throw new MalformedResponse('a chunk of the answer is too large')
      return
    }
    if (this.sizeDigits === 0) throw new MalformedResponse('a chunk of the answer has no size')
    this.state = byte === CR ? State.ChunkSizeLf : State.ChunkExtension
  }

  /** Trailers say nothing that is of use here. An empty line ends them, and the response. */
  private readTrailer(byte: number): void {
    this.countFraming()
    if (byte === LF) {
      if (this.lineBytes === 0) this.state = State.Head
      this.lineBytes = 0
    } else if (byte !== CR) {
      this.lineBytes++
    }
  }

  private countFraming(): void {
    this.framingBytes++
    if (this.framingBytes > MAX_FRAMING_BYTES) throw new MalformedResponse('a chunk of the answer has no end')
  }

  /** What comes after the end was not asked for; a connection that says such things is not used again. */
  private end(bytes: Buffer, at: number): number {
    this.state = State.Head
    this.left = 0
    this.framingBytes = 0
    this.sink.end(this.isReusable && at === bytes.length)
    return bytes.length
  }
}

/** A small copy costs half of what a view does, on memory that nothing has had a view on yet. */
function part(bytes: Buffer, start: number, end: number): Buffer {
  if (end - start > MOST_COPIED_BYTES) return bytes.subarray(start, end)
  const copy = Buffer.allocUnsafe(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw new MalformedResponse('a chunk of the answer does not end where it should')
}

function hexOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lowerCase = byte | 32
  return lowerCase >= 97 && lowerCase <= 102 ? lowerCase - 87 : -1
}
