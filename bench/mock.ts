// The mock vendor, a separate process: chat completions, whole, in a burst or paced, depending on the model name, streams of messages
// and responses, and video tasks. It also records when a stream was cut before its end. It must stay much cheaper than the measured
// programs: raw sockets, prepared bytes, no work that could be attributed to a proxy.
import type { Socket } from 'bun'
import { streamFrames, WHOLE, wholeReply } from './exchange'
import { HttpReader, type HttpSink } from './http-reader'
import { messagesFrames, responsesFrames } from './native-streams'
import { type EncodedStream, encodeStream, PacingWheel, VendorStream } from './vendor-stream'
import { VendorVideos } from './vendor-videos'

/** The answer to `GET /closings`, which is then cleared. */
export interface Closings {
  started: number
  finished: number
  closedEarly: number
  /** Per stream whose request carried a mark: the mark, and when the proxy closed the connection. */
  marked: [mark: string, closedAtMs: number][]
}

interface ChatRequest {
  model?: string
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  user?: string
}

const NOT_FOUND = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
const BAD_REQUEST = Buffer.from('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
const reply = encodeJson(wholeReply())
const streams = {
  plain: encodeStream(streamFrames(false)),
  usage: encodeStream(streamFrames(true)),
  messages: encodeStream(messagesFrames()),
  responses: encodeStream(responsesFrames()),
}
const wheels = new Map<number, PacingWheel>()
const videos = new VendorVideos()
let closings: Closings = { started: 0, finished: 0, closedEarly: 0, marked: [] }

class VendorConnection implements HttpSink {
  readonly reader = new HttpReader(this)
  private readonly socket: Socket<VendorConnection>
  private requestLine = ''
  private requestBody: Buffer | null = null
  private unsent: Buffer | null = null
  private stream: VendorStream | null = null
  private mark: string | undefined
  private leaveWheel: (() => void) | null = null

  constructor(socket: Socket<VendorConnection>) {
    this.socket = socket
  }

  head(text: string): void {
    this.requestLine = text.slice(0, text.indexOf('\r\n'))
    this.requestBody = null
  }

  body(bytes: Buffer): void {
    this.requestBody = this.requestBody === null ? bytes : Buffer.concat([this.requestBody, bytes])
  }

  end(): void {
    const dialect = /^POST \/v1\/(chat\/completions|messages|responses) /.exec(this.requestLine)?.[1]
    if (dialect !== undefined) {
      this.answer(dialect)
    } else if (this.requestLine.startsWith('GET /closings')) {
      this.send(encodeJson(JSON.stringify(closings)))
      closings = { started: 0, finished: 0, closedEarly: 0, marked: [] }
    } else {
      const json = videos.answer(this.requestLine)
      this.send(json === undefined ? NOT_FOUND : encodeJson(json))
    }
  }

  drained(): void {
    this.stream?.flush()
    if (this.unsent !== null) this.send(this.unsent)
  }

  /** Sends bytes. Only the lists of closings and polls can be larger than what a socket takes at once. */
  private send(bytes: Buffer): void {
    const written = Math.max(0, this.socket.write(bytes))
    this.unsent = written < bytes.length ? bytes.subarray(written) : null
  }

  closed(): void {
    if (this.stream === null) return
    this.stream = null
    this.leaveWheel?.()
    closings.closedEarly += 1
    if (this.mark !== undefined) {
      closings.marked.push([this.mark, performance.timeOrigin + performance.now()])
    }
  }

  private answer(dialect: string): void {
    const body = this.requestBody
    // Searching is cheaper than parsing, and there are tens of thousands of whole replies per second.
    if (body?.includes(`"bench-${WHOLE}"`)) {
      this.send(reply)
      return
    }
    const request = JSON.parse(body?.toString('latin1') ?? '{}') as ChatRequest
    const answer = /^bench-(?:\w+-)?(?:burst|paced-(\d+))$/.exec(request.model ?? '')
    if (answer === null || request.stream !== true) {
      this.send(BAD_REQUEST)
    } else {
      this.startStream(
        request,
        encodedOf(dialect, request),
        answer[1] === undefined ? null : Number(answer[1]),
      )
    }
  }

  private startStream(request: ChatRequest, encoded: EncodedStream, framesPerSecond: number | null): void {
    const stream = new VendorStream(this.socket, encoded, () => {
      closings.finished += 1
      this.stream = null
    })
    closings.started += 1
    this.stream = stream
    this.mark = request.user
    if (framesPerSecond === null) {
      while (stream.advance()) {}
    } else {
      stream.advance()
      this.leaveWheel = wheelFor(framesPerSecond).add(stream)
    }
  }
}

function encodedOf(dialect: string, request: ChatRequest): EncodedStream {
  if (dialect === 'messages' || dialect === 'responses') return streams[dialect]
  return request.stream_options?.include_usage === true ? streams.usage : streams.plain
}

function wheelFor(framesPerSecond: number): PacingWheel {
  const wheel = wheels.get(framesPerSecond) ?? new PacingWheel(framesPerSecond)
  wheels.set(framesPerSecond, wheel)
  return wheel
}

function encodeJson(json: string): Buffer {
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_5d8f0c1e\r\nopenai-processing-ms: 12\r\n'
  return Buffer.from(`${head}content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`)
}

Bun.listen<VendorConnection>({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  socket: {
    open(socket) {
      socket.setNoDelay(true)
      socket.data = new VendorConnection(socket)
    },
    data: (socket, bytes) => socket.data.reader.push(bytes),
    drain: (socket) => socket.data.drained(),
    close: (socket) => socket.data.closed(),
    error: (socket) => socket.data.closed(),
  },
})
// The bench keeps a channel open to this process; if that breaks, the bench has ended and nobody else would stop this process.
process.on('disconnect', () => process.exit())
