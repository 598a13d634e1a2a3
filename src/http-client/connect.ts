// Opens a connection for one request, within a deadline. It must never send a byte before the server has proved its identity, or
// leave a connection open that nobody needs any more.

import { closeSync, openSync } from 'node:fs'
import type { Socket, SocketHandler } from 'bun'
import { inBrackets } from '../lib/url-host'
import { Connection, type ConnectionOwner, type Exchange } from './connection'
import type { HttpProxy } from './proxy'
import { NotConnected, type TlsOptions } from './transport'
import { openTunnel } from './tunnel'

/** The address of a server, and the proof of its identity. */
export interface ServerAddress {
  hostname: string
  port: number
  /** Undefined for a server without TLS. */
  tls: ({ serverName: string } & TlsOptions) | undefined
  /** The IP address that a certificate must be for, if the server has no name. */
  certifiedAddress?: string | undefined
  /** The proxy that the connection goes through; undefined without a proxy. */
  proxy?: HttpProxy | undefined
  /** Maximum time until the connection is ready, in milliseconds. */
  timeoutMs: number
}

/** Silence after which the system checks whether the other side is still there. */
const KEEP_ALIVE_MS = 60_000
/**
 * Pause before another attempt if all descriptors of the process are in use, in milliseconds. Silent callers are disconnected
 * meanwhile to make room.
 */
const FULL_PAUSE_MS = 20

/** Starts the exchange on a new connection, or rejects it with NotConnected or the reason of its signal. */
export async function connect(
  exchange: Exchange,
  address: ServerAddress,
  owner: ConnectionOwner,
): Promise<void> {
  const attempt = new Attempt(exchange, address, owner)
  const { hostname, port, tls, proxy } = address
  const socket = handlersOf(attempt, address)
  const open = () => {
    if (!proxy || !tls) {
      const place = proxy ?? { hostname, port }
      return Bun.connect<Connection>({
        hostname: place.hostname,
        port: place.port,
        ...(tls && { tls }),
        socket,
      })
    }
    return openTunnel(proxy, `${inBrackets(hostname)}:${port}`, {
      connected: (raw) => attempt.passes(raw),
      opened(raw) {
        try {
          raw.upgradeTLS<Connection>({ data: undefined as never, tls, socket })
        } catch (error) {
          // A configured certificate that cannot be used.
          attempt.fail(new NotConnected(`TLS cannot begin: ${error}`, 'TLS'))
        }
      },
      failed: (error) => attempt.fail(error),
    })
  }
  try {
    while (!attempt.isOver && !(await opensOrIsFull(open))) await Bun.sleep(FULL_PAUSE_MS)
  } catch (error) {
    const { message: reason = String(error) } = error as Partial<Error>
    const message = proxy ? `the proxy cannot be reached (${reason})` : String(error)
    attempt.fail(new NotConnected(message, String((error as { code?: unknown }).code)))
  }
}

/** Opens a connection, or returns false if no descriptor is left for it, which the runtime reports as a refusal. */
async function opensOrIsFull(open: () => Promise<unknown>): Promise<boolean> {
  try {
    await open()
    return true
  } catch (error) {
    if (hasNoDescriptor()) return false
    throw error
  }
}

function hasNoDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return false
  } catch (error) {
    return ['EMFILE', 'ENFILE'].includes(String((error as { code?: unknown }).code))
  }
}

function handlersOf(attempt: Attempt, { certifiedAddress, proxy }: ServerAddress): SocketHandler<Connection> {
  return {
    open: (socket) => attempt.opened(socket),
    handshake(socket, isAuthorized, error) {
      if (!isAuthorized) attempt.fail(notTrusted(error))
      // In a tunnel, nobody else knows the address of a server without a name.
      else if (proxy && certifiedAddress && !socket.getPeerX509Certificate().checkIP(certifiedAddress))
        attempt.fail(new NotConnected(`the server's certificate is not of ${certifiedAddress}`, 'CERT'))
      else attempt.ready(socket.data)
    },
    data: (socket, bytes) => socket.data.received(bytes),
    drain: (socket) => socket.data.drained(),
    close(socket, error) {
      attempt.fail(new NotConnected('the server closed the connection before a request', 'ECONNRESET'))
      socket.data?.ended(error)
    },
    error(socket, error) {
      socket.data?.ended(error)
      socket.terminate()
    },
  }
}

/** One attempt: from the call to the ready connection, or to the failure, whichever happens first. */
class Attempt {
  private readonly exchange: Exchange
  private readonly address: ServerAddress
  private readonly owner: ConnectionOwner
  private readonly timer: Timer
  private connection: Connection | undefined
  /** The connection to the proxy, while there is no tunnel through it. */
  private passage: Socket<undefined> | undefined
  /** True once the connection is ready or has failed. No other code may change it. */
  isOver = false
  private readonly cut = () => this.fail(this.exchange.signal.reason)

  constructor(exchange: Exchange, address: ServerAddress, owner: ConnectionOwner) {
    this.exchange = exchange
    this.address = address
    this.owner = owner
    this.timer = setTimeout(() => {
      this.fail(new NotConnected(`no connection within ${address.timeoutMs} ms`, 'ETIMEDOUT'))
    }, address.timeoutMs)
    exchange.signal.addEventListener('abort', this.cut)
  }

  passes(socket: Socket<undefined>): void {
    this.passage = socket
    if (this.isOver) socket.terminate()
  }

  opened(socket: Socket<Connection>): void {
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    const connection = new Connection(socket, this.owner)
    this.connection = connection
    socket.data = connection
    if (!this.address.tls || this.isOver) this.ready(connection)
  }

  ready(connection: Connection): void {
    if (this.isOver) {
      connection.close()
      return
    }
    this.end()
    connection.begin(this.exchange)
  }

  fail(error: unknown): void {
    if (this.isOver) return
    this.end()
    this.connection?.close()
    this.passage?.terminate()
    this.exchange.reject(error)
  }

  private end(): void {
    this.isOver = true
    clearTimeout(this.timer)
    this.exchange.signal.removeEventListener('abort', this.cut)
  }
}

function notTrusted(error: (Error & { code?: string }) | null): NotConnected {
  const reason = error?.message ?? 'no reason given'
  // OpenSSL's own text is about a handshake that never reached a certificate.
  const message = reason.startsWith('error:')
    ? `the TLS handshake failed: ${reason}`
    : `the server's certificate is not trusted: ${reason}`
  return new NotConnected(message, error?.code ?? 'CERT')
}
