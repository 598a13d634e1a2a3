// A server, reached over connections that are kept open between requests. Used instead of Bun's fetch, which runs 256 requests at a
// time, keeps 64 connections and takes more processor time (decisions/http-client.md). It must never send a request twice or follow
// a redirect.

import { isIP } from 'node:net'
import { inBrackets, withoutBrackets } from '../lib/url-host'
import { connect, type ServerAddress } from './connect'
import type { Connection, Exchange } from './connection'
import { IdleConnections } from './idle-connections'
import { PROXY_REFUSED, readProxy } from './proxy'
import { RequestHeads } from './request-head'
import type { HttpResponse } from './response'
import { type HttpRequest, NotConnected, type OpenOptions, type Origin, type Transport } from './transport'
import { proxyRefusal } from './tunnel'

export interface OriginOptions extends OpenOptions {
  connectTimeoutMs?: number
  idleMs?: number
}

const CONNECT_TIMEOUT_MS = 10_000
/**
 * How long a connection waits for another request, in milliseconds: less than servers wait, or a request would collide with their
 * closing.
 */
const IDLE_MS = { 'http:': 4_000, 'https:': 30_000 }
/** A longer body uses a new connection, and so does a body in pieces: a server that refuses it may not read it all. */
const MAX_KEPT_LENGTH = 1024 * 1024

/** The transport that uses only the proxies of a server's own settings. */
export const directTransport: Transport = { open: openOrigin }

export function openOrigin(address: string, options: OriginOptions = {}): Origin {
  const url = new URL(address)
  const idleMs = options.idleMs ?? IDLE_MS[url.protocol === 'https:' ? 'https:' : 'http:']
  return new DirectOrigin(url.host, serverOf(url, options), idleMs)
}

function serverOf({ protocol, hostname: host, port }: URL, options: OriginOptions): ServerAddress {
  const isSecure = protocol === 'https:'
  const hostname = withoutBrackets(host)
  // Without the trailing dot of a full name, which certificates lack. An IP address is not a name (RFC 6066, section 3).
  const serverName = isIP(hostname) ? '' : hostname.replace(/\.$/, '')
  const named = options.address ?? hostname
  return {
    hostname: named,
    port: Number(port) || (isSecure ? 443 : 80),
    tls: isSecure ? { serverName, ...options.tls } : undefined,
    certifiedAddress: serverName === '' ? hostname : undefined,
    proxy: options.proxy ? readProxy(options.proxy) : undefined,
    timeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  }
}

/** Whether a proxy reads the requests to a server and passes them on. */
function isPassedOn({ proxy, tls }: ServerAddress): boolean {
  return proxy !== undefined && tls === undefined
}

function proxiedWay(server: ServerAddress) {
  if (!isPassedOn(server)) return undefined
  const { hostname, port, proxy } = server
  return {
    origin: `http://${inBrackets(hostname)}${port === 80 ? '' : `:${port}`}`,
    authorization: proxy?.authorization,
  }
}

/** Treats a 407 as the proxy's own answer to a request that it has not passed on. */
function unlessProxyRefuses(resolve: (response: HttpResponse) => void, reject: (error: unknown) => void) {
  return (response: HttpResponse): void => {
    if (response.status !== 407) {
      resolve(response)
      return
    }
    response.body.cancel()
    reject(new NotConnected(proxyRefusal('407'), PROXY_REFUSED))
  }
}

class DirectOrigin implements Origin {
  private readonly server: ServerAddress
  private readonly heads: RequestHeads
  private readonly idle: IdleConnections

  constructor(host: string, server: ServerAddress, idleMs: number) {
    this.server = server
    this.heads = new RequestHeads(host, proxiedWay(server))
    this.idle = new IdleConnections(idleMs)
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    return new Promise<HttpResponse>((resolve, reject) => {
      const { signal, body, partition, decompress } = request
      if (signal.aborted) return reject(signal.reason)
      const answered = isPassedOn(this.server) ? unlessProxyRefuses(resolve, reject) : resolve
      this.place({
        head: this.heads.of(request),
        body,
        signal,
        partition,
        decompress,
        resolve: answered,
        reject,
      })
    })
  }

  /** Bound to this object, because it is passed on as a function. */
  readonly close = (): void => this.idle.close()

  private place(exchange: Exchange): void {
    const { body, partition } = exchange
    const isLong = typeof body === 'string' ? body.length > MAX_KEPT_LENGTH : body !== null
    const connection = isLong ? undefined : this.idle.take(partition)
    if (connection) this.beginAfterReading(connection, exchange)
    else void connect(exchange, this.server, this.idle)
  }

  /**
   * Sends an exchange on a used connection, after the event loop has read everything that has arrived: the loop may
   * have been idle, and unread bytes belong to an earlier request. If there was anything, the connection is closed and another one
   * is used. The loop reads between two rounds of immediates, and not always before the first.
   */
  private beginAfterReading(connection: Connection, exchange: Exchange): void {
    const begin = () => {
      const { signal } = exchange
      if (!connection.isOpen) this.place(exchange)
      else if (!signal.aborted) connection.begin(exchange)
      else {
        this.idle.free(connection)
        exchange.reject(signal.reason)
      }
    }
    setImmediate(() => setImmediate(begin))
  }
}
