// Reads the bodies of requests: no more bytes than the operation accepts, unpacked on the way, and no slower than a
// minimum. A steady upload may take minutes. A caller must never wait forever, and a small compressed body must never become a
// large one in memory.

import type { Config } from '../config/schema'
import { callerLeft } from '../contract/failures'
import { type OperationName, operations } from '../contract/operations'
import { GatewayError } from '../lib/errors'
import { IndexedSet, type Member } from '../lib/indexed-set'
import { BODY_LIMITS, leadingText, tooComplex } from '../lib/json/body'
import { JsonCounter } from '../lib/json/counter'
import { type Ticker, watchWhileNeeded } from '../lib/ticker'
import { type Listener, setBodyTimeout } from './connection'
import { checkJsonType } from './content-type'
import { createUnpacker, type Unpacker, unpacked } from './unpacking'

/** A route that accepts a body: an operation, the messages of tools, a code, a report of a payment service, or OAuth. */
export type Entrance = OperationName | 'mcp' | 'code' | 'payment' | 'connection'

/** The minimum speed of a body. */
interface Pace {
  /** Time for a whole body of at most 64 KiB, in milliseconds. */
  smallMs: number
  /** The window in which `windowBytes` of a larger body must arrive. */
  windowMs: number
  windowBytes: number
  /** Time for any body, however steady, in milliseconds. */
  totalMs: number
}

/** 2 kB a second, which any usable line has, and a quarter of an hour for the largest. */
const PACE: Pace = { smallMs: 30_000, windowMs: 30_000, windowBytes: 64 * 1024, totalMs: 900_000 }

const SMALL_BYTES = 64 * 1024
const MEBIBYTE = 1024 * 1024
/** A body up to this size is counted when it is complete, which takes a few milliseconds. */
const UNCOUNTED_BYTES = MEBIBYTE
/** Bytes that are counted in one turn of the event loop: a few milliseconds, whatever they contain. */
const COUNTED_AT_ONCE_BYTES = 128 * 1024
const MAX_MCP_BYTES = 32 * MEBIBYTE
const MAX_CODE_BYTES = 4 * 1024
const MAX_CONNECTION_BYTES = 16 * 1024

const STANDARD_LIMITS: Record<Entrance, number> = {
  ...(Object.fromEntries(operations.map(({ name, maxBodyBytes }) => [name, maxBodyBytes])) as Record<
    OperationName,
    number
  >),
  mcp: MAX_MCP_BYTES,
  code: MAX_CODE_BYTES,
  payment: MEBIBYTE,
  connection: MAX_CONNECTION_BYTES,
}

/** The maximum body size of each entrance, in bytes, after unpacking. */
export function bodyLimitsOf({ server }: Pick<Config, 'server'>): Record<Entrance, number> {
  return server?.maxBodyBytes ? { ...STANDARD_LIMITS, ...server.maxBodyBytes } : STANDARD_LIMITS
}

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

export class BodyReader {
  readonly #limits: () => Record<Entrance, number>
  readonly #pace: Pace
  readonly #arrivals = new IndexedSet<Arrival>()
  readonly #watch: () => void
  /** Readers of bodies that are incomplete, or were given up half-way. */
  readonly #unread = new WeakMap<Request, Reader>()
  #lastTurn: Promise<void> = Promise.resolve()

  /** Creates a reader. `limits` are the current ones when a body begins, in bytes. */
  constructor(ticker: Ticker, limits: () => Record<Entrance, number>, pace: Pace = PACE) {
    this.#limits = limits
    this.#pace = pace
    this.#watch = watchWhileNeeded(ticker, (at) => {
      for (const arrival of this.#arrivals.all()) arrival.check(at)
      return this.#arrivals.size > 0
    })
  }

  #expect(arrival: Arrival): void {
    this.#arrivals.add(arrival)
    this.#watch()
  }

  /**
   * Reads a whole JSON body. Throws 400, 408, 413, 415, and 499 if the caller disconnects. `exempt` lifts the server's own timeout,
   * which would cut even steady uploads if they are slow. `check` gets the model that a large body names in its beginning, and may
   * throw before the rest has arrived.
   */
  async read(
    request: Request,
    entrance: Entrance,
    exempt: () => void,
    check?: (model: string) => void,
  ): Promise<Uint8Array> {
    checkJsonType(request.headers.get('content-type'))
    if (lengthOf(request) <= SMALL_BYTES && !request.headers.has('content-encoding')) {
      return this.#readSmall(request, entrance, exempt)
    }
    const body = await collect(this.pieces(request, entrance, exempt), check, () => this.#turn())
    // Large bodies that arrive at the same time are processed with a pause in between.
    if (body.byteLength > SMALL_BYTES) await this.#turn()
    return body
  }

  /** Reads a body that arrives with the headers or soon after, as most do: without a timer or a stream for each. */
  async #readSmall(request: Request, entrance: Entrance, exempt: () => void): Promise<Uint8Array> {
    this.#checkLength(request, entrance)
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const arrival = new Arrival(this.#pace, this.#pace.smallMs, reject)
    this.#expect(arrival)
    request.bytes().then(resolve, reject)
    try {
      const body = await promise
      exempt()
      return body
    } catch (error) {
      throw error instanceof GatewayError ? error : brokenOff(request, error)
    } finally {
      this.#arrivals.delete(arrival)
    }
  }

  /** The pieces of a body as they arrive, unpacked, and no faster than they are read. Throws as `read` does. */
  async *pieces(
    request: Request,
    entrance: Entrance,
    exempt: () => void,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const unpacker = createUnpacker(request.headers.get('content-encoding'))
    this.#checkLength(request, entrance)
    const raw = this.#rawPieces(request, exempt)
    const maxBytes = this.#limits()[entrance]
    let bytes = 0
    for await (const piece of unpacker ? this.#unpack(raw, unpacker) : raw) {
      bytes += piece.byteLength
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield piece
    }
  }

  async *#unpack(raw: AsyncGenerator<Uint8Array>, unpacker: Unpacker): AsyncGenerator<Uint8Array> {
    try {
      yield* unpacked(raw, unpacker)
    } catch (error) {
      throw error instanceof GatewayError ? error : notPacked(error)
    }
  }

  async *#rawPieces(request: Request, exempt: () => void): AsyncGenerator<Uint8Array> {
    const reader: Reader | undefined = request.body?.getReader()
    if (!reader) return
    exempt()
    this.#unread.set(request, reader)
    let late: GatewayError | undefined
    const arrival = new Arrival(this.#pace, this.#pace.totalMs, (error) => {
      late = error
      reader.cancel().catch(() => {})
    })
    this.#expect(arrival)
    try {
      for (;;) {
        arrival.isAwaited = true
        const { done, value } = await reader.read()
        arrival.isAwaited = false
        if (done || !value) break
        arrival.bytes += value.byteLength
        yield value
      }
      this.#unread.delete(request)
      if (late) throw late
    } catch (error) {
      throw error instanceof GatewayError ? error : brokenOff(request, error)
    } finally {
      this.#arrivals.delete(arrival)
    }
  }

  /**
   * Sends the answer to a request whose body may be incomplete. The rest of the body is not read: the server discards it, which
   * costs nothing, and soon ends the connection. Ending it at once would keep a sender that is still writing from reading the
   * answer.
   */
  answer(request: Request, response: Response, listener: Listener | null): Response {
    const reader = this.#unread.get(request)
    reader?.cancel().catch(() => {})
    if (reader || (request.body && !request.bodyUsed)) setBodyTimeout(listener, request)
    return response
  }

  #checkLength(request: Request, entrance: Entrance): void {
    const maxBytes = this.#limits()[entrance]
    const length = lengthOf(request)
    if (Number.isFinite(length) && length > maxBytes) throw tooLarge(maxBytes)
  }

  /** Resolves in a separate turn of the event loop. */
  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)))
    return this.#lastTurn
  }
}

/** The pieces, joined. A large body is counted while it arrives, so that one with too much in it ends early. */
async function collect(
  pieces: AsyncIterable<Uint8Array>,
  check: ((model: string) => void) | undefined,
  turn: () => Promise<void>,
): Promise<Uint8Array> {
  const counter = new JsonCounter(BODY_LIMITS)
  const count = async (piece: Uint8Array) => {
    for (let from = 0; from < piece.byteLength; from += COUNTED_AT_ONCE_BYTES) {
      await turn()
      const limit = counter.push(piece.subarray(from, from + COUNTED_AT_ONCE_BYTES))
      if (limit) throw tooComplex(limit)
    }
  }
  const all: Uint8Array[] = []
  let bytes = 0
  let counted = 0
  for await (const piece of pieces) {
    const model = check && bytes === 0 ? leadingText(piece, 'model') : undefined
    if (model !== undefined) check?.(model)
    all.push(piece)
    bytes += piece.byteLength
    for (; bytes > UNCOUNTED_BYTES && counted < all.length; counted++) {
      await count(all[counted] as Uint8Array)
    }
  }
  return Buffer.concat(all)
}

/** An arriving body, whose speed is checked from time to time. */
class Arrival implements Member {
  index = -1
  bytes = 0
  /** False while received bytes are being processed, which is not the sender's fault. */
  isAwaited = true
  /** Undefined until the first check. */
  #startedAt: number | undefined
  #windowAt = 0
  #windowBytes = 0

  constructor(
    readonly pace: Pace,
    readonly totalMs: number,
    readonly fail: (error: GatewayError) => void,
  ) {}

  check(now: number): void {
    if (this.#startedAt === undefined) {
      this.#startedAt = now
      this.#windowAt = now
    }
    if (now - this.#startedAt >= this.totalMs) {
      this.fail(tooSlow(`did not arrive within ${this.totalMs / 1000} s`))
    } else if (!this.isAwaited) {
      this.#windowAt = now
      this.#windowBytes = this.bytes
    } else if (now - this.#windowAt >= this.pace.windowMs) {
      const came = this.bytes - this.#windowBytes
      if (came < this.pace.windowBytes && this.totalMs > this.pace.windowMs) {
        this.fail(tooSlow(`came too slowly: ${came} bytes in the last ${this.pace.windowMs / 1000} s`))
      }
      this.#windowAt = now
      this.#windowBytes = this.bytes
    }
  }
}

function lengthOf(request: Request): number {
  const header = request.headers.get('content-length')
  return header === null ? Number.POSITIVE_INFINITY : Number(header)
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(413, {
    code: 'body_too_large',
    message: `The body is larger than ${maxBytes} bytes, the limit here. Send less, or URLs instead of files; the operator of this gateway sets the limit in server.maxBodyBytes.`,
  })
}

function brokenOff(request: Request, cause: unknown): GatewayError {
  if (request.signal.aborted) return callerLeft()
  return new GatewayError(400, {
    code: 'body_unreadable',
    message: 'The body ended early or is not valid HTTP. Send the request again.',
    cause,
  })
}

function notPacked(cause: unknown): GatewayError {
  return new GatewayError(400, {
    code: 'body_unreadable',
    message:
      'The body does not have the Content-Encoding of its header, or is cut off. Send it again, or unencoded without that header.',
    cause,
  })
}

function tooSlow(what: string): GatewayError {
  return new GatewayError(408, {
    code: 'body_too_slow',
    message: `The body ${what}. Send the request again over a faster connection.`,
    headers: { connection: 'close' },
  })
}
