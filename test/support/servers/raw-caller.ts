// A caller on a plain socket, which can disconnect in the middle of a request in ways that no HTTP client offers.

import { createConnection, type Socket } from 'node:net'

/** By a normal close, by a reset, or by closing only the sending half. */
export type Leaving = 'fin' | 'rst' | 'half'

/** The number of newest bytes that are kept: enough for the end of an answer. */
const TAIL_LENGTH = 8_192

export class RawCaller {
  /** All received bytes. */
  bytes = 0
  /** The server has closed the connection. */
  closed = false
  /** The code of the error that broke the connection, such as ECONNRESET. */
  error: string | undefined
  #head = ''
  #tail = ''

  private constructor(readonly socket: Socket) {
    socket.on('data', (piece: Buffer) => {
      this.bytes += piece.length
      const text = piece.toString('latin1')
      if (this.#head.length < TAIL_LENGTH) this.#head += text
      this.#tail = (this.#tail + text).slice(-TAIL_LENGTH)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.error = error.code ?? error.message
    })
    socket.on('end', () => {
      this.closed = true
    })
    socket.on('close', () => {
      this.closed = true
    })
  }

  /** Connects to `http://127.0.0.1:8080`, or to `unix:/run/gateway.sock`. */
  static connect(url: string): Promise<RawCaller> {
    const { protocol, hostname, port, pathname } = new URL(url)
    const place = protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) }
    return new Promise((resolve, reject) => {
      const socket = createConnection({ ...place, allowHalfOpen: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new RawCaller(socket))
      })
    })
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes)
  }

  /** The first received bytes, in latin1. */
  head(): string {
    return this.#head
  }

  /** The newest received bytes, in latin1. */
  tail(): string {
    return this.#tail
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  leave(how: Leaving): void {
    if (how === 'fin') this.socket.destroy()
    else if (how === 'rst') this.socket.resetAndDestroy()
    else this.socket.end()
  }
}

/** The bytes of a chat request. */
export function chatRequest(secret: string, body: object, headers: Record<string, string> = {}): string {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: 'gateway',
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}
