// One connection to a server, which serves one request after another (RFC 9112, section 9.3). It must never send a byte before a
// server has proved its identity, send a request twice, be reused after anything was left unread on it, or give a request bytes
// that arrived before it was sent.

import type { Socket } from 'bun'
import type { CancelSignal } from '../lib/cancel-token'
import { decoded } from './decoding'
import { type Flow, HttpBody, HttpResponse } from './response'
import { type ResponseHead, ResponseParser, type ResponseSink } from './response-parser'

/** A request to send, and the receiver of its answer. */
export interface Exchange {
  /** The request line and all fields, with the empty line after them. */
  head: string
  /** Text is sent with the head; pieces one after another. */
  body: string | AsyncIterable<Uint8Array> | null
  signal: CancelSignal
  partition: string | undefined
  decompress?: boolean | undefined
  resolve(response: HttpResponse): void
  reject(error: unknown): void
}

/** The owner of a connection, which is notified of its state. */
export interface ConnectionOwner {
  /** Reports that the connection is ready for another request. */
  free(connection: Connection): void
  closed(connection: Connection): void
}

/** Thrown if the server closed the connection, or sent something that is not HTTP, after the request was sent. */
export class ConnectionBroken extends Error {}

const TOO_EARLY = 'the server answered before it had been sent the request'

export class Connection implements ResponseSink, Flow {
  /** How long the connection may wait for another request, if the server has stated it, in milliseconds. */
  idleMs: number | undefined
  /** When the connection became free, by performance.now(). */
  idleSince = 0
  /** Partition of the last request. */
  partition: string | undefined
  private readonly owner: ConnectionOwner
  private readonly socket: Socket<Connection>
  private readonly parser = new ResponseParser(this)
  private exchange: Exchange | undefined
  private body: HttpBody | undefined
  private unsent: Uint8Array | undefined
  private whenSent: (() => void) | undefined
  private isSending = false
  private isPaused = false
  /** True after the first answer: bytes that come too early may belong to it. */
  private hasServed = false
  private readonly cut = () => this.fail(this.exchange?.signal.reason)

  constructor(socket: Socket<Connection>, owner: ConnectionOwner) {
    this.socket = socket
    this.owner = owner
  }

  get isOpen(): boolean {
    return this.socket.readyState > 0
  }

  begin(exchange: Exchange): void {
    this.partition = exchange.partition
    const reason = exchange.signal.tooLate?.()
    if (reason !== undefined) {
      this.owner.free(this)
      exchange.reject(reason)
      return
    }
    this.exchange = exchange
    exchange.signal.addEventListener('abort', this.cut)
    if (exchange.body === null || typeof exchange.body === 'string') {
      this.write(exchange.body === null ? exchange.head : exchange.head + exchange.body)
    } else {
      this.isSending = true
      this.write(exchange.head)
      void this.upload(exchange, exchange.body)
    }
  }

  /** Closes the connection, even during a request. */
  close(): void {
    this.socket.terminate()
  }

  // Events of the socket.

  received(bytes: Buffer): void {
    try {
      // Unsolicited bytes.
      if (!this.exchange) this.close()
      else if (this.hasServed && (this.isSending || this.unsent)) throw new ConnectionBroken(TOO_EARLY)
      else this.parser.push(bytes)
    } catch (error) {
      this.fail(error)
    }
  }

  drained(): void {
    const { unsent } = this
    this.unsent = undefined
    if (unsent) this.writeBytes(unsent)
    if (!this.unsent) this.whenSent?.()
  }

  /**
   * Handles the end. With an error the connection was cut: then an answer that is delimited only by the end of the connection is
   * incomplete.
   */
  ended(error?: unknown): void {
    this.whenSent?.()
    if (this.exchange && (error || !this.parser.close())) {
      this.fail(error ?? new ConnectionBroken('the server closed the connection before its answer was whole'))
    }
    this.owner.closed(this)
  }

  // Events of the parser.

  head(head: ResponseHead): void {
    const { exchange } = this
    if (!exchange) return
    const seconds = /\btimeout=(\d+)/i.exec(head.get('keep-alive') ?? '')
    if (seconds) this.idleMs = (Number(seconds[1]) - 1) * 1000
    this.body = new HttpBody(this)
    const coding = exchange.decompress === false ? null : head.get('content-encoding')
    exchange.resolve(new HttpResponse(head, decoded(this.body, coding)))
  }

  data(bytes: Buffer): void {
    this.body?.push(bytes)
  }

  end(reusable: boolean): void {
    const { body } = this
    if (!this.exchange) return
    this.release()
    this.hasServed = true
    // The answer arrived before the whole request was sent: the rest of the request is not needed.
    if (reusable && !this.isSending && !this.unsent) this.owner.free(this)
    else this.close()
    body?.end()
  }

  // Events of the body's reader.

  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.socket.resume()
  }

  cancel(): void {
    this.release()
    this.close()
  }

  private fail(error: unknown): void {
    const { exchange, body } = this
    if (!exchange) return
    this.cancel()
    if (body) body.fail(error)
    else exchange.reject(error)
  }

  /** Ends the exchange: it receives nothing more. */
  private release(): void {
    this.exchange?.signal.removeEventListener('abort', this.cut)
    this.exchange = undefined
    this.body = undefined
    this.resume()
  }

  private write(text: string): void {
    const written = this.socket.write(text)
    if (written < 0) return
    // Nearly always everything is sent at once; the bytes are copied only if a part is left.
    const byteLength = Buffer.byteLength(text)
    if (written < byteLength) this.unsent = Buffer.from(text).subarray(written)
  }

  private writeBytes(bytes: Uint8Array): void {
    const written = this.socket.write(bytes)
    if (written >= 0 && written < bytes.length) this.unsent = bytes.subarray(written)
  }

  private async upload(exchange: Exchange, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of pieces) {
        await this.sent()
        if (this.exchange !== exchange) return
        this.writeBytes(piece)
      }
      this.isSending = false
    } catch (error) {
      if (this.exchange === exchange) this.fail(error)
    }
  }

  private async sent(): Promise<void> {
    while (this.unsent && this.isOpen) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.whenSent = resolve
      await promise
      this.whenSent = undefined
    }
  }
}
