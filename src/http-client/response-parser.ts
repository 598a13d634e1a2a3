// Reads HTTP/1.1 responses from the bytes of one connection, however they are split, strictly by RFC 9110 and 9112: if two readers
// could understand the framing differently, it refuses. It knows no socket. It must never mistake an incomplete response for a
// complete one, or keep more in memory than a head.

/** The receiver of responses. Each response is one head, any number of pieces, and one end. */
export interface ResponseSink {
  head(head: ResponseHead): void
  /** Receives a piece of the body, without the framing of its chunks. It may be kept. */
  data(bytes: Buffer): void
  /**
   * Receives the end of a whole response. `reusable`: nothing about it was unusual, and the connection is ready for
   * another request.
   */
  end(reusable: boolean): void
}

/** Thrown for bytes that are not an HTTP/1.1 response. */
export class MalformedResponse extends Error {}

const MAX_HEAD_BYTES = 64 * 1024
/** Maximum number of bytes around the chunks: extensions of one size line, or the trailers. */
const MAX_FRAMING_BYTES = 16 * 1024
/** Maximum number of hexadecimal digits in a chunk's size. */
const MAX_SIZE_DIGITS = 12
/** Maximum number of responses with a status below 200 before the final one. */
const MAX_INTERIM_RESPONSES = 16
const MAX_COPIED_BYTES = 4 * 1024
const HEAD_START = 'HTTP/1.'
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/
const TOKEN = "[!#$%&'*+.^_`|~\\w-]+"
const QUOTED_TEXT = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const CHUNK_EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED_TEXT}))?)*$`)
const NO_STATUS_LINE = 'the answer does not begin with an HTTP/1.1 status line'
const CONTROL_CHARACTER = 'the head of the answer has a control character'
const NO_BYTES = Buffer.alloc(0)
const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const SEMICOLON = 59

/** Classes of bytes: what each may be part of. */
const IN_NAME = 1
const IN_VALUE = 2
const CLASSES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isName = new RegExp(TOKEN).test(String.fromCharCode(byte))
  const isValue = byte === TAB || (byte >= SPACE && byte !== 127)
  return (isName ? IN_NAME : 0) | (isValue ? IN_VALUE : 0)
})

enum State {
  Head,
  /** Reads until `left` is zero. */
  Body,
  BodyUntilClose,
  ChunkSize,
  ChunkExtension,
  ChunkSizeLf,
  ChunkData,
  ChunkDataCr,
  ChunkDataLf,
  Trailers,
  TrailerLf,
}

export class ResponseHead {
  readonly status: number
  readonly minorVersion: number
  private readonly text: string
  readonly lowerCase: string

  /**
   * Creates a head. `text` is the status line and the fields, which have been checked, and ends with their last line
   * break.
   */
  constructor(text: string) {
    const line = STATUS_LINE.exec(text)
    if (!line) throw new MalformedResponse(NO_STATUS_LINE)
    this.minorVersion = Number(line[1])
    this.status = Number(line[2])
    this.text = text
    this.lowerCase = text.toLowerCase()
  }

  /** The value of a field by its lower-case name; values of several lines are joined by commas. */
  get(name: string): string | null {
    const field = `\r\n${name}:`
    let at = this.lowerCase.indexOf(field)
    if (at === -1) return null
    let value = this.valueAt(at + field.length)
    for (;;) {
      at = this.lowerCase.indexOf(field, at + field.length)
      if (at === -1) return value
      value += `, ${this.valueAt(at + field.length)}`
    }
  }

  private valueAt(from: number): string {
    return trimmed(this.text.slice(from, this.text.indexOf('\r\n', from)))
  }
}

/**
 * Fields that decide where the response and the connection end, in lower case; values of several lines are joined by
 * commas.
 */
interface Framing {
  length: string | undefined
  transfer: string | undefined
  connection: string | undefined
}

export class ResponseParser {
  private readonly sink: ResponseSink
  private state = State.Head
  /** An unfinished head, in a buffer that has room for more. */
  private head: Buffer = NO_BYTES
  private headBytes = 0
  /** Bytes of an unfinished head whose lines have been checked. */
  private checkedBytes = 0
  /** Bytes of the body or chunk that are still to come. */
  private left = 0
  private sizeDigits = 0
  private framingBytes = 0
  /** The extensions or the trailer being read. */
  private line = ''
  private interimResponses = 0
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

  /** Reports a closed connection. False if the response is incomplete. */
  close(): boolean {
    if (this.state !== State.BodyUntilClose) return false
    this.state = State.Head
    this.sink.end(false)
    return true
  }

  private readHead(bytes: Buffer, at: number): number {
    const known = this.headBytes
    const head = known === 0 ? bytes : this.keepHead(bytes)
    const end = head.indexOf(HEAD_END, known === 0 ? at : Math.max(0, known - HEAD_END.length + 1))
    if ((end === -1 ? head.length - at : end - at) > MAX_HEAD_BYTES) {
      throw new MalformedResponse('the head of the answer is too large')
    }
    if (end === -1) {
      const unfinished = known === 0 ? this.keepHead(bytes.subarray(at)) : head
      this.checkedBytes = checkUnfinished(unfinished, this.checkedBytes, known)
      return bytes.length
    }
    this.head = NO_BYTES
    this.headBytes = 0
    this.checkedBytes = 0
    const start = known === 0 ? at : 0
    const text = head.toString('latin1', start, end + LINE_END.length)
    const found = new ResponseHead(text)
    const framing = readFields(head, start, found.lowerCase, text.indexOf('\n') + 1)
    return this.begin(found, framing, bytes, end + HEAD_END.length - known)
  }

  /** Adds bytes to the unfinished head. Its buffer doubles, so that a head that arrives byte by byte is copied only a few times. */
  private keepHead(bytes: Buffer): Buffer {
    const length = this.headBytes + bytes.length
    if (length > this.head.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.head.length))
      this.head.copy(larger, 0, 0, this.headBytes)
      this.head = larger
    }
    bytes.copy(this.head, this.headBytes)
    this.headBytes = length
    return this.head.subarray(0, length)
  }

  /** Decides where the body ends (RFC 9112, section 6.3). Returns the index at which reading continues. */
  private begin(head: ResponseHead, framing: Framing, bytes: Buffer, at: number): number {
    const { status, minorVersion } = head
    const { length, transfer } = framing
    if (status < 200) return this.skipInterim(head, framing, at)
    if (length !== undefined && transfer !== undefined) {
      throw new MalformedResponse('the answer has both a length and a transfer coding')
    }
    if (transfer !== undefined) {
      if (minorVersion === 0 || transfer !== 'chunked') {
        throw new MalformedResponse('the answer has a transfer coding other than chunked')
      }
      this.state = State.ChunkSize
    } else if (length !== undefined) {
      this.left = Number(length)
      if (!/^\d+$/.test(length) || !Number.isSafeInteger(this.left)) {
        throw new MalformedResponse('the answer has no proper length')
      }
      this.state = State.Body
    } else {
      this.state = State.BodyUntilClose
    }
    const isBodiless = status === 204 || status === 304
    const hasOddBody = isBodiless && (transfer !== undefined || this.left > 0)
    this.isReusable = staysOpen(minorVersion, framing) && this.interimResponses === 0 && !hasOddBody
    this.interimResponses = 0
    this.sink.head(head)
    return isBodiless || (this.state === State.Body && this.left === 0) ? this.end(bytes, at) : at
  }

  /** Skips an interim response. Switching protocols was never requested. */
  private skipInterim({ status, minorVersion }: ResponseHead, framing: Framing, at: number): number {
    const { length, transfer, connection } = framing
    if (status === 101) throw new MalformedResponse('the answer switches to another protocol')
    const isFramed = length !== undefined || transfer !== undefined || connection !== undefined
    if (isFramed || minorVersion === 0) {
      throw new MalformedResponse('an interim answer has a body, or closes')
    }
    this.interimResponses++
    if (this.interimResponses > MAX_INTERIM_RESPONSES) {
      throw new MalformedResponse('there are too many interim answers')
    }
    return at
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

  /** Takes all available chunks, and passes their content on as one piece, joined in place. */
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

  /** Reads one byte between the contents of chunks. */
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
      this.readExtension(byte)
    } else if (this.state === State.Trailers) {
      this.readTrailer(byte)
    } else {
      expect(byte, LF)
      this.endTrailer()
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
    if (byte === CR) {
      this.state = State.ChunkSizeLf
    } else if (byte === SEMICOLON) {
      this.line = ';'
      this.state = State.ChunkExtension
    } else {
      throw new MalformedResponse('a chunk of the answer has no proper size')
    }
  }

  private readExtension(byte: number): void {
    if (byte !== CR) {
      this.readText(byte)
    } else if (CHUNK_EXTENSIONS.test(this.line)) {
      this.line = ''
      this.state = State.ChunkSizeLf
    } else {
      throw new MalformedResponse('a chunk of the answer has no proper extension')
    }
  }

  private readTrailer(byte: number): void {
    if (byte === CR) this.state = State.TrailerLf
    else this.readText(byte)
  }

  /** Reads a trailer, which is ignored. An empty line ends the trailers, and the response. */
  private endTrailer(): void {
    const { line } = this
    this.state = line === '' ? State.Head : State.Trailers
    if (line === '') return
    this.line = ''
    this.isReusable = false
    const text = `${line.toLowerCase()}\r\n`
    const { length, transfer, connection } = readFields(Buffer.from(text, 'latin1'), 0, text, 0)
    if (length !== undefined || transfer !== undefined || connection !== undefined) {
      throw new MalformedResponse('the answer is framed again after its body')
    }
  }

  private readText(byte: number): void {
    this.countFraming()
    if (((CLASSES[byte] as number) & IN_VALUE) === 0) {
      throw new MalformedResponse('a line between the chunks of the answer has a control character')
    }
    this.line += String.fromCharCode(byte)
  }

  private countFraming(): void {
    this.framingBytes++
    if (this.framingBytes > MAX_FRAMING_BYTES) throw new MalformedResponse('a chunk of the answer has no end')
  }

  /** Ends the response. Bytes after it were not requested, and the connection is not used again. */
  private end(bytes: Buffer, at: number): number {
    this.state = State.Head
    this.left = 0
    this.framingBytes = 0
    this.sink.end(this.isReusable && at === bytes.length)
    return bytes.length
  }
}

/** A part of the bytes. A small copy costs half as much as a view, on memory without a view so far. */
function part(bytes: Buffer, start: number, end: number): Buffer {
  if (end - start > MAX_COPIED_BYTES) return bytes.subarray(start, end)
  const copy = Buffer.allocUnsafe(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

/** Whether the connection stays open. HTTP/1.0 closes by default. */
function staysOpen(minorVersion: number, { connection }: Framing): boolean {
  return connection === undefined ? minorVersion === 1 : connection === 'keep-alive'
}

/**
 * Checks the fields, each a line with a name, a colon right after it, a value without control characters, and both
 * bytes of the line break. `lowerCase` is the text of the bytes from `start` on, in lower case; its fields begin at
 * `from`.
 */
function readFields(bytes: Buffer, start: number, lowerCase: string, from: number): Framing {
  const framing: Framing = { length: undefined, transfer: undefined, connection: undefined }
  const until = start + lowerCase.length
  let at = start + from
  while (at < until) {
    const name = at
    while ((CLASSES[bytes[at] as number] as number) & IN_NAME) at++
    const colon = at
    if (colon === name || bytes[colon] !== COLON) {
      throw new MalformedResponse('a line of the head is not a field')
    }
    at++
    while ((CLASSES[bytes[at] as number] as number) & IN_VALUE) at++
    if (bytes[at] !== CR || bytes[at + 1] !== LF) {
      throw new MalformedResponse(CONTROL_CHARACTER)
    }
    const kind = framingKindOf(lowerCase, name - start, colon - start)
    if (kind) {
      const value = trimmed(lowerCase.slice(colon - start + 1, at - start))
      framing[kind] = framing[kind] === undefined ? value : `${framing[kind]}, ${value}`
    }
    at += LINE_END.length
  }
  return framing
}

/** The framing field of a name. Most names differ by length alone. */
function framingKindOf(lowerCase: string, from: number, until: number): keyof Framing | undefined {
  switch (until - from) {
    case 10:
      return lowerCase.startsWith('connection', from) ? 'connection' : undefined
    case 14:
      return lowerCase.startsWith('content-length', from) ? 'length' : undefined
    case 16:
      return lowerCase.startsWith('proxy-connection', from) ? 'connection' : undefined
    case 17:
      return lowerCase.startsWith('transfer-encoding', from) ? 'transfer' : undefined
    default:
      return undefined
  }
}

/**
 * Refuses bytes that can never become a head at once, so that nobody waits for their end. Lines are checked up to `checked`, and
 * bytes of the last line up to `known`: each byte is read once, however many pieces the head arrives in. Returns where the last
 * complete line ends.
 */
function checkUnfinished(head: Buffer, checked: number, known: number): number {
  if (known < HEAD_START.length) {
    const start = head.toString('latin1', 0, HEAD_START.length)
    if (!HEAD_START.startsWith(start)) throw new MalformedResponse(NO_STATUS_LINE)
  }
  // The last known byte may have been the first of a line end.
  const last = Math.max(checked, known - 1)
  const lineEnd = head.subarray(last).lastIndexOf(LINE_END)
  const end = lineEnd === -1 ? checked : last + lineEnd + LINE_END.length
  if (end > checked) {
    const text = head.toString('latin1', checked, end)
    const isFirst = checked === 0
    readFields(
      head,
      checked,
      isFirst ? new ResponseHead(text).lowerCase : text,
      isFirst ? text.indexOf('\n') + 1 : 0,
    )
  }
  for (let at = Math.max(end, last); at < head.length; at++) {
    const isLineEnd = head[at] === CR && at === head.length - 1
    if (!isLineEnd && ((CLASSES[head[at] as number] as number) & IN_VALUE) === 0)
      throw new MalformedResponse(CONTROL_CHARACTER)
  }
  return end
}

/** The value without surrounding spaces. A trailing tab stays: other readers do not treat it as space. */
function trimmed(value: string): string {
  let start = 0
  let end = value.length
  while (value.charCodeAt(start) === SPACE || value.charCodeAt(start) === TAB) start++
  while (end > start && value.charCodeAt(end - 1) === SPACE) end--
  return value.slice(start, end)
}

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw new MalformedResponse('a chunk of the answer does not end where it should')
}

function hexOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lowerCase = byte | 32
  return lowerCase >= 97 && lowerCase <= 102 ? lowerCase - 87 : -1
}
