// Bodies that are sent piece by piece, each when the caller has taken the previous one, and counted in the backlog. A caller that
// is given up must never seem to have received everything: its connection breaks.

import type { Backlog, WaitingCaller } from './backlog'

/** Maximum size of a whole answer that is sent at once, in bytes, or in characters of a text. */
const MAX_AT_ONCE = 1024 * 1024
const PIECE_BYTES = 256 * 1024

/** The rest of a body. */
interface Rest {
  /** The next piece; undefined at the end. */
  next(): Uint8Array | undefined | Promise<Uint8Array | undefined>
  /** Number of its bytes in memory. */
  readonly bytes: number
  /** Frees it. */
  cancel(reason?: unknown): void | Promise<void>
  /** Rejects as soon as the body breaks off, even while nobody reads. */
  readonly broken?: Promise<unknown>
}

/**
 * A complete answer. A large one is sent in pieces, without `content-length`: Bun sets none for a stream that is not a file's.
 */
export function wholeAnswer(backlog: Backlog, body: string | Uint8Array, init: ResponseInit): Response {
  if (body.length <= MAX_AT_ONCE) return new Response(body as string | Uint8Array<ArrayBuffer>, init)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return new Response(paced(backlog, new WholeRest(bytes)), init)
}

/** A complete answer of JSON, like `Response.json`. */
export function jsonAnswer(
  backlog: Backlog,
  value: unknown,
  init: { headers?: Headers | Record<string, string> } = {},
): Response {
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json;charset=utf-8')
  return wholeAnswer(backlog, JSON.stringify(value), { headers })
}

/** A stream that produces what its reader asks for. */
export function pacedStream(
  backlog: Backlog,
  source: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  const cancel = (reason?: unknown) => reader.cancel(reason)
  const next = async () => (await reader.read()).value
  return paced(backlog, { next, bytes: 0, cancel, broken: reader.closed })
}

function paced(backlog: Backlog, rest: Rest): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new PacedBody(backlog, rest), { highWaterMark: 0 })
}

/** All of it stays in memory until its last piece is sent. */
class WholeRest implements Rest {
  private sent = 0

  constructor(private whole: Uint8Array) {}

  get bytes(): number {
    return this.whole.length
  }

  next(): Uint8Array | undefined {
    const piece = this.whole.subarray(this.sent, this.sent + PIECE_BYTES)
    this.sent += piece.length
    if (piece.length > 0) return piece
    this.cancel()
    return undefined
  }

  cancel(): void {
    this.whole = new Uint8Array()
  }
}

class PacedBody implements WaitingCaller {
  private output: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(
    private readonly backlog: Backlog,
    private readonly rest: Rest,
  ) {}

  start(output: ReadableStreamDefaultController<Uint8Array>): void {
    this.output = output
    this.rest.broken?.catch((reason) => this.fail(reason))
  }

  async pull(output: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.backlog.forget(this)
    try {
      const piece = await this.rest.next()
      if (!this.output) return
      if (!piece) return output.close()
      output.enqueue(piece)
      this.backlog.note(this, Math.max(piece.length, this.rest.bytes))
    } catch (error) {
      this.fail(error)
    }
  }

  giveUp(): void {
    const reason = new Error('the client stopped reading')
    this.fail(reason)
    void Promise.resolve(this.rest.cancel(reason)).catch(() => {})
  }

  cancel(reason?: unknown): void | Promise<void> {
    this.output = undefined
    this.backlog.forget(this)
    return this.rest.cancel(reason)
  }

  private fail(reason: unknown): void {
    this.backlog.forget(this)
    this.output?.error(reason)
    this.output = undefined
  }
}
