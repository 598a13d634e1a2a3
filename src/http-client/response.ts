// A server's answer: its head, and its body as it arrives. The body is pushed to a receiver, because a promise for each
// piece of a stream costs more than the piece. It must never buffer more than a little unread data.

/** The source of a body. */
export interface Flow {
  pause(): void
  resume(): void
  /** Cancels the rest. Nothing is delivered afterwards. */
  cancel(): void
}

export interface BodySink {
  data(bytes: Uint8Array): void
  /** Ends the body: it is complete, or was cancelled. Called once, and then nothing else. */
  end(): void
  /** Breaks the body off. Called once, and then nothing else. */
  fail(error: unknown): void
}

export interface Head {
  readonly status: number
  /** The value of a header, by its name in lower case. */
  get(name: string): string | null
}

/** Thrown for a body with more bytes than allowed. */
export class BodyTooLarge extends Error {}

/** Maximum number of bytes that may arrive before somebody takes them. */
const MAX_WAITING_BYTES = 256 * 1024

export class HttpResponse {
  private readonly head: Head
  readonly body: HttpBody

  constructor(head: Head, body: HttpBody) {
    this.head = head
    this.body = body
  }

  get status(): number {
    return this.head.status
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299
  }

  header(name: string): string | null {
    return this.head.get(name)
  }
}

export class HttpBody implements AsyncIterable<Uint8Array> {
  private flow: Flow | undefined
  private sink: BodySink | undefined
  private waiting: Uint8Array[] = []
  private waitingBytes = 0
  private failed = false
  private error: unknown

  constructor(flow: Flow) {
    this.flow = flow
  }

  /** Starts delivery: first the bytes that have arrived, then the rest. A body is started only once. */
  start(sink: BodySink): void {
    if (this.sink) throw new Error('a body was started twice')
    this.sink = sink
    const { waiting, flow } = this
    this.waiting = []
    if (this.waitingBytes > MAX_WAITING_BYTES) flow?.resume()
    for (const bytes of waiting) {
      // The receiver has cancelled the body.
      if (flow && !this.flow) return
      sink.data(bytes)
    }
    if (flow) return
    if (this.failed) sink.fail(this.error)
    else sink.end()
  }

  /** Pauses delivery. Bytes that have already been read may still be delivered. */
  pause(): void {
    this.flow?.pause()
  }

  resume(): void {
    this.flow?.resume()
  }

  /** Cancels the body in its current state. A complete body stays complete. */
  cancel(): void {
    const { flow } = this
    if (!flow) return
    this.flow = undefined
    flow.cancel()
    this.sink?.end()
  }

  /** All bytes, once they have arrived. Rejects with BodyTooLarge. */
  bytes(mostBytes: number): Promise<Uint8Array> {
    const [whole] = this.waiting
    // A small answer arrives in one piece with its head, and needs no waiting.
    if (whole && this.waiting.length === 1 && !this.flow && !this.failed && whole.length <= mostBytes) {
      return Promise.resolve(whole)
    }
    return new Promise((resolve, reject) => {
      const pieces: Uint8Array[] = []
      let length = 0
      this.start({
        data: (bytes) => {
          length += bytes.length
          if (length <= mostBytes) pieces.push(bytes)
          else if (this.flow) {
            reject(new BodyTooLarge())
            this.cancel()
          }
        },
        end: () => {
          if (length > mostBytes) reject(new BodyTooLarge())
          else resolve(pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces))
        },
        fail: reject,
      })
    })
  }

  /** The pieces, at the reader's pace. Ends early, without an error, if the body is cancelled. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    const pieces: Uint8Array[] = []
    let ended = false
    let failure: { error: unknown } | undefined
    let wake = () => {}
    this.start({
      data: (bytes) => {
        pieces.push(bytes)
        this.pause()
        wake()
      },
      end() {
        ended = true
        wake()
      },
      fail(error) {
        failure = { error }
        wake()
      },
    })
    try {
      for (;;) {
        for (let piece = pieces.shift(); piece; piece = pieces.shift()) yield piece
        if (failure) throw failure.error
        if (ended) return
        const next = Promise.withResolvers<void>()
        wake = next.resolve
        this.resume()
        await next.promise
      }
    } finally {
      this.cancel()
    }
  }

  // The server's side.

  push(bytes: Uint8Array): void {
    if (this.sink) {
      this.sink.data(bytes)
      return
    }
    this.waiting.push(bytes)
    this.waitingBytes += bytes.length
    if (this.waitingBytes > MAX_WAITING_BYTES) this.flow?.pause()
  }

  end(): void {
    if (!this.flow) return
    this.flow = undefined
    this.sink?.end()
  }

  fail(error: unknown): void {
    if (!this.flow) return
    this.flow = undefined
    this.failed = true
    this.error = error
    this.sink?.fail(error)
  }
}
