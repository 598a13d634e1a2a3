// A server that requests are sent to, with the connections to it that are kept open in between. Ours and not Bun's fetch,
// which runs 256 requests at a time, keeps 64 connections and takes more processor time. It must never send a request
// twice or follow a redirect.

import { isIP } from 'node:net'
import { Connection, type Exchange } from './connection'
import type { HttpResponse } from './response'
import { type HttpRequest, NotConnected, type OpenOptions, type Origin, type Transport } from './transport'

export interface OriginOptions extends OpenOptions {
  /** Certificates that vouch for the server, in place of the usual authorities. */
  ca?: string
  connectTimeoutMs?: number
  idleMs?: number
}

/** A request that waits for its turn on a connection which has served before. */
interface Start {
  connection: Connection
  exchange: Exchange
}

const CONNECT_TIMEOUT_MS = 10_000
/** How long a connection waits for another request: shorter than servers wait, or a request meets their closing. */
const IDLE_MS = { 'http:': 4_000, 'https:': 30_000 }
const IDLE_MOST = 1024
/** A connection that has been silent for so long after an answer may serve another partition. */
const REST_MS = 100
/** A longer body goes over a new connection, and so does one in pieces: a server that refuses it may not read it all. */
const MOST_KEPT_LENGTH = 1024 * 1024
const SWEEP_MS = 1_000
/** Silence after which the system asks whether the other side is still there. */
const KEEP_ALIVE_MS = 60_000

/** The program's own connections. */
export const directTransport: Transport = { open: openOrigin }

export function openOrigin(address: string, options: OriginOptions = {}): Origin {
  const url = new URL(address)
  const isSecure = url.protocol === 'https:'
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  // Without the dot that ends a full name, which stands in no certificate. An IP address is no name (RFC 6066, section 3).
  const serverName = isIP(hostname) ? '' : hostname.replace(/\.$/, '')
  const port = Number(url.port) || (isSecure ? 443 : 80)
  const idleMs = options.idleMs ?? IDLE_MS[isSecure ? 'https:' : 'http:']
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const fields = new WeakMap<object, string>()
  let idle: Connection[] = []
  let starts: Start[] = []
  let nextStarts: Start[] = []
  let sweeper: Timer | undefined
  let isClosed = false

  const owner = {
    free(connection: Connection) {
      const waitMs = connection.idleMs ?? idleMs
      if (isClosed || waitMs <= 0) return connection.close()
      // The one that has waited longest is needed least.
      if (idle.length >= IDLE_MOST) idle.shift()?.close()
      connection.idleSince = performance.now()
      idle.push(connection)
      sweeper ??= setInterval(sweep, SWEEP_MS).unref()
    },
    closed(connection: Connection) {
      const at = idle.indexOf(connection)
      if (at !== -1) idle.splice(at, 1)
    },
  }

  function sweep(): void {
    const now = performance.now()
    const isOver = ({ idleSince, idleMs: ownMs = idleMs }: Connection) =>
      now - idleSince >= Math.min(ownMs, idleMs) - SWEEP_MS
    const over = idle.filter(isOver)
    idle = idle.filter((connection) => !isOver(connection))
    for (const connection of over) connection.close()
    if (idle.length > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  /** The one that was used last, so that those that are not needed grow old. */
  function takeIdle(partition: string | undefined): Connection | undefined {
    const restedSince = performance.now() - REST_MS
    for (let at = idle.length - 1; at >= 0; at--) {
      const connection = idle[at] as Connection
      if (connection.partition !== partition && connection.idleSince > restedSince) continue
      idle.splice(at, 1)
      return connection
    }
    return undefined
  }

  function place(exchange: Exchange): void {
    const { body, partition } = exchange
    const isLong = typeof body === 'string' ? body.length > MOST_KEPT_LENGTH : body !== null
    const connection = isLong ? undefined : takeIdle(partition)
    if (!connection) {
      void connect(exchange)
      return
    }
    if (starts.length === 0 && nextStarts.length === 0) setImmediate(startNext)
    nextStarts.push({ connection, exchange })
  }

  /**
   * Once in each turn of the event loop. Between being placed and being sent, a request lets one whole turn pass, in which
   * all that has come on its connection is read: had anything come, the connection is closed, and another one is taken.
   */
  function startNext(): void {
    const due = starts
    starts = nextStarts
    nextStarts = []
    if (starts.length > 0) setImmediate(startNext)
    for (const { connection, exchange } of due) {
      const { signal } = exchange
      if (!connection.isOpen) place(exchange)
      else if (!signal.aborted) connection.begin(exchange)
      else {
        owner.free(connection)
        exchange.reject(signal.reason)
      }
    }
  }

  function linesOf(headers: HttpRequest['headers']): string {
    let lines = fields.get(headers)
    if (lines === undefined) {
      lines = `host: ${url.host}\r\n${linesFor(headers)}`
      fields.set(headers, lines)
    }
    return lines
  }

  function headOf({ method, path, headers, body }: HttpRequest): string {
    if (!/^\/[!-~]*$/.test(path)) throw new Error(`not a path: ${JSON.stringify(path)}`)
    const start = `${method} ${path} HTTP/1.1\r\n${linesOf(headers)}`
    if (typeof body === 'string') return `${start}content-length: ${Buffer.byteLength(body)}\r\n\r\n`
    return body === null && method === 'POST' ? `${start}content-length: 0\r\n\r\n` : `${start}\r\n`
  }

  async function connect(exchange: Exchange): Promise<void> {
    const { signal } = exchange
    let waits = true
    const settle = (work: () => void) => {
      if (!waits) return
      waits = false
      clearTimeout(timer)
      signal.removeEventListener('abort', cut)
      work()
    }
    let opened: Connection | undefined
    const fail = (error: unknown) =>
      settle(() => {
        opened?.close()
        exchange.reject(error)
      })
    const cut = () => fail(signal.reason)
    const late = () => fail(new NotConnected(`no connection within ${connectTimeoutMs} ms`, 'ETIMEDOUT'))
    const timer = setTimeout(late, connectTimeoutMs)
    signal.addEventListener('abort', cut)
    const ready = (connection: Connection) => {
      if (!waits) return connection.close()
      settle(() => connection.begin(exchange))
    }
    try {
      await Bun.connect<Connection>({
        hostname: options.address ?? hostname,
        port,
        ...(isSecure && { tls: { serverName, ...(options.ca && { ca: options.ca }) } }),
        socket: {
          open(socket) {
            socket.setNoDelay(true)
            socket.setKeepAlive(true, KEEP_ALIVE_MS)
            opened = new Connection(socket, owner)
            socket.data = opened
            if (!isSecure || !waits) ready(opened)
          },
          handshake(socket, isAuthorized, error) {
            if (isAuthorized) ready(socket.data)
            else fail(notTrusted(error))
          },
          data: (socket, bytes) => socket.data.received(bytes),
          drain: (socket) => socket.data.drained(),
          close(socket, error) {
            fail(new NotConnected('the server closed the connection before a request', 'ECONNRESET'))
            socket.data?.ended(error)
          },
          error(socket, error) {
            socket.data?.ended(error)
            socket.terminate()
          },
        },
      })
    } catch (error) {
      fail(new NotConnected(String(error), String((error as { code?: unknown }).code)))
    }
  }

  return {
    send(request) {
      return new Promise<HttpResponse>((resolve, reject) => {
        const { signal, body, partition, decompress } = request
        if (signal.aborted) return reject(signal.reason)
        place({ head: headOf(request), body, signal, partition, decompress, resolve, reject })
      })
    },
    close() {
      isClosed = true
      const connections = idle
      // First: each that is closed takes itself out of the list.
      idle = []
      for (const connection of connections) connection.close()
      clearInterval(sweeper)
      sweeper = undefined
    },
  }
}

function notTrusted(error: (Error & { code?: string }) | null): NotConnected {
  const reason = error?.message ?? 'no reason given'
  // OpenSSL's own words are about a handshake that did not come as far as a certificate.
  const message = reason.startsWith('error:')
    ? `the TLS handshake failed: ${reason}`
    : `the server's certificate is not trusted: ${reason}`
  return new NotConnected(message, error?.code ?? 'CERT')
}

/** Each field on a line of its own; none may bring its own line break. */
function linesFor(headers: Readonly<Record<string, string>>): string {
  let lines = ''
  for (const [name, text] of Object.entries(headers)) {
    // A key from a file often has a line break behind it.
    const value = text.trim()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a field
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
      throw new Error(`not a header: ${name}`)
    }
    lines += `${name}: ${value}\r\n`
  }
  return lines
}
