// The listening side of the application: it can be closed and opened again while requests run, and moved to another
// address or certificate. Bun can only stop accepting by stopping the server, so each opening has its own server. It
// must never cut a running request.

import type { BunRoutes, RouteAnswer } from '../http/bun-routes'
import { inBrackets } from '../lib/url-host'
import type { GuardedServer, Sockets } from './connection-guard'
import {
  isPlaced,
  NO_IDLE_TIMEOUT,
  type PlacedSocket,
  place,
  prepareTemporaryPath,
  remove,
  temporaryPathOf,
} from './unix-socket'

/** The part of an Elysia application that is needed. */
export interface ListenApp {
  server: BunServer | null
  config: { serve?: object | undefined }
  fetch: RouteAnswer
}

type BunServer = Bun.Server<unknown>

export interface ListenSettings {
  hostname: string
  port: number
  /** The path of a socket to listen on instead of the host and the port. */
  unixSocket?: string | undefined
  /** Certificate and key as PEM: listens for HTTPS. */
  tls?: { cert: string; key: string } | undefined
  /** Seconds until the head of a first request must have arrived; without effect on a unix socket. */
  idleTimeout: number
  maxRequestBodySize: number
}

export interface Listening extends GuardedServer {
  /** Where callers reach it: `http://127.0.0.1:8080`, or `unix:/run/gateway.sock`. */
  readonly url: string
  /**
   * Applies other settings; open connections end with their request. Throws if that is impossible, and listens as before.
   */
  move(settings: ListenSettings): void
  /**
   * Leaves its place to another process that listens there: accepts nothing new, and closes no connection that may be about to send
   * a request. Resolves when all connections are closed: idle ones close after a while, others with their last answer.
   */
  leave(): Promise<void>
  /** Takes the path of a unix socket back from an ended process. A port needs no taking back while this side listens. */
  reclaim(): void
  /** Accepts nothing new, and resolves when all connections are closed. */
  stop(): Promise<unknown>
  /** Closes all connections that are left. */
  cut(): void
}

/** Readable and writable for the owner and the group, so that a proxy under another user can connect. */
const SOCKET_MODE = 0o660

interface ListenOptions {
  /**
   * Whether several sockets may listen on one port, as on Linux. Elsewhere the old one is closed before the new one
   * opens.
   */
  canShare: boolean
  /** The name of this process among those that listen at the same place. */
  name: string
  /** The address of another process whose place this one takes. */
  predecessor?: string | undefined
  /** Absent if the system does not say who is connected. */
  sockets?: Pick<Sockets, 'listeners' | 'stopListening' | 'hasCallers'> | undefined
  /** Sends all new connections of a port to the newest socket. */
  steer?(port: number): void
  /** Listens on this socket, regardless of the place in the settings. The socket stays open while nothing is accepted. */
  passed?: PassedSocket | undefined
}

/**
 * How long a replaced socket still accepts connections that were on their way to it, in milliseconds. Bun has Linux hold back those
 * that send nothing, for a second.
 */
export const SETTLE_MS = 1_500
/**
 * How long a connection to a replaced server may wait for its next request, in milliseconds: a connection in use has sent one by
 * then, whose answer says that it is the last.
 */
const IDLE_MS = 5_000
const CHECK_MS = 250

/** A listening socket that another program has opened and passed to this one. */
export interface PassedSocket {
  readonly hostname: string
  readonly port: number
  readonly descriptor: number
  /** Replaces a listening socket of this process with it. False if that is impossible. */
  replace(listener: number): boolean
}

/** Opens the listening side. Throws if the address cannot be used. */
export function listen(app: ListenApp, settings: ListenSettings, options: ListenOptions): Listening {
  return new ListeningServer(app, settings, options)
}

class ListeningServer implements Listening {
  private settings: ListenSettings
  private current: BunServer
  /** Stored here, because a stopped server no longer knows its port. */
  port = 0
  private isOpen = true
  private placed: PlacedSocket | undefined
  /** Every server that still has connections, and a promise for their end. */
  private readonly closing = new Map<BunServer, Promise<void>>()

  constructor(
    private readonly app: ListenApp,
    settings: ListenSettings,
    private readonly options: ListenOptions,
  ) {
    this.settings = settings
    const { predecessor } = options
    const isTaken = predecessor !== undefined && isSamePort(settings, predecessor)
    this.current = this.begin(settings, isTaken)
    if (isTaken) options.steer?.(this.port)
  }

  get url(): string {
    return addressOf(this.settings, this.port)
  }

  closeIdle(): number {
    return this.current.closeIdleConnections()
  }

  shut(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.end(this.current)
  }

  open(): void {
    if (this.isOpen) return
    this.current = this.serve({ ...this.settings, port: this.port })
    this.isOpen = true
  }

  move(settings: ListenSettings): void {
    const { current: before, settings: last, placed, place } = this
    const listeners = this.options.sockets?.listeners(place) ?? []
    const isSamePlace = sameAddress(settings, last)
    // Port 0 stays the port that the system chose.
    const next = isSamePlace ? { ...settings, port: this.port } : settings
    if (isSamePlace && !this.options.canShare && next.unixSocket === undefined) this.shut()
    this.current = this.begin(next, isSamePlace)
    this.settings = next
    if (!isSamePlace && placed) remove(placed)
    if (this.isOpen) {
      const left = isSamePlace ? this.settle(place) : Promise.resolve()
      const ended = left.then(() => this.retire(before, place, listeners))
      this.closing.set(
        before,
        ended.finally(() => this.closing.delete(before)),
      )
    }
    this.isOpen = true
  }

  async leave(): Promise<void> {
    const { current, place } = this
    const { sockets } = this.options
    if (sockets?.stopListening(sockets.listeners(place)))
      await this.idle(current, () => !sockets.hasCallers(place))
  }

  reclaim(): void {
    if (this.placed && this.isOpen && !isPlaced(this.placed)) this.move(this.settings)
  }

  stop(): Promise<unknown> {
    this.shut()
    if (this.placed) remove(this.placed)
    return Promise.all(this.closing.values())
  }

  cut(): void {
    for (const server of this.closing.keys()) void server.stop(true)
  }

  private begin(settings: ListenSettings, takesOver: boolean): BunServer {
    const { canShare, passed } = this.options
    if (!takesOver && canShare && !passed) assertFree(settings)
    const server = this.serve(settings)
    this.port = passed?.port ?? server.port ?? settings.port
    return server
  }

  /** A separate server each time: `listen` of the application keeps every server that it ever created. */
  private serve(settings: ListenSettings): BunServer {
    const { app } = this
    const { canShare, name } = this.options
    const place = optionsOf(this.ownPlace(settings), canShare, name)
    const options = { ...app.config.serve, ...place, fetch: app.fetch }
    const server = Bun.serve(options as Bun.Serve.Options<unknown>)
    app.server = server
    this.usePassed(server)
    this.placed = placedOf(settings, name)
    return server
  }

  /** The settings, with an unknown port instead of that of a passed socket. */
  private ownPlace(settings: ListenSettings): ListenSettings {
    return this.options.passed ? { ...settings, hostname: '127.0.0.1', port: 0 } : settings
  }

  private usePassed(server: BunServer): void {
    const { passed, sockets } = this.options
    if (!passed) return
    const [listener] = sockets?.listeners(server.port ?? 0) ?? []
    if (listener !== undefined && passed.replace(listener)) return
    void server.stop(true)
    throw new Error('the socket that was passed cannot be listened on: mount /proc')
  }

  /** The port, or the path by which the system knows a unix socket. */
  private get place(): number | string {
    const { unixSocket } = this.settings
    return unixSocket === undefined ? this.port : temporaryPathOf(unixSocket, this.options.name)
  }

  /**
   * Lets a server that was replaced at the same place accept connections that were on their way to it: closing it would reset them.
   */
  private async settle(place: number | string): Promise<void> {
    const { canShare, steer } = this.options
    if (!canShare || typeof place === 'string') return
    if (!this.options.passed) steer?.(place)
    await Bun.sleep(SETTLE_MS)
  }

  /** Ends a replaced server, once its connections have had an answer that says so, or time to send a request. */
  private async retire(server: BunServer, place: number | string, listeners: number[]): Promise<void> {
    const { sockets } = this.options
    const stillListening = new Set(sockets?.listeners(place))
    if (sockets?.stopListening(listeners.filter((listener) => stillListening.has(listener)))) {
      server.reload(lastAnswers(this.app))
      await this.idle(server, (waitedMs) => waitedMs >= IDLE_MS && server.pendingRequests === 0)
    }
    await server.stop()
  }

  /** Waits until a server has nothing left to do, or is stopped, and meanwhile closes idle connections. */
  private async idle(server: BunServer, isDone: (waitedMs: number) => boolean): Promise<void> {
    for (let waitedMs = 0; this.isOpen && !isDone(waitedMs); waitedMs += CHECK_MS) {
      if (waitedMs > 0 && waitedMs % IDLE_MS === 0) server.closeIdleConnections()
      await Bun.sleep(CHECK_MS)
    }
  }

  private end(server: BunServer): void {
    const closed = server.stop().finally(() => this.closing.delete(server))
    this.closing.set(server, closed)
  }
}

/** The routes of an application, each of whose answers is the last on its connection. */
function lastAnswers({ config, fetch }: ListenApp) {
  const last = (answer: RouteAnswer) => async (request: Request) => {
    const response = await answer(request)
    response.headers.set('connection', 'close')
    return response
  }
  const { routes: all = {} }: { routes?: BunRoutes } = config.serve ?? {}
  const routes = Object.entries(all).map(([path, answer]) => [
    path,
    typeof answer === 'function'
      ? last(answer)
      : Object.fromEntries(Object.entries(answer).map(([method, each]) => [method, last(each)])),
  ])
  return { routes: Object.fromEntries(routes), fetch: last(fetch) }
}

function optionsOf(
  { unixSocket, hostname, port, tls, ...times }: ListenSettings,
  canShare: boolean,
  name: string,
): object {
  const place =
    unixSocket === undefined
      ? { hostname, port, reusePort: canShare }
      : { unix: prepareTemporaryPath(unixSocket, name), ...NO_IDLE_TIMEOUT }
  return { ...times, ...place, ...(tls && { tls }), development: false }
}

function addressOf({ unixSocket, hostname, tls }: ListenSettings, port: number): string {
  if (unixSocket !== undefined) return `unix:${unixSocket}`
  return `http${tls ? 's' : ''}://${inBrackets(hostname)}:${port}`
}

/** The port of an address: 8080 of `http://127.0.0.1:8080/metrics`. Undefined for a unix socket. */
export function portOfAddress(address: string): number | undefined {
  const port = /^https?:\/\/.*:(\d+)(\/|$)/.exec(address)?.[1]
  return port === undefined ? undefined : Number(port)
}

/** Whether settings have the port of an address, whatever its host: 0.0.0.0 includes the port of 127.0.0.1. */
function isSamePort({ unixSocket, port }: ListenSettings, address: string): boolean {
  return unixSocket === undefined && port === portOfAddress(address)
}

function sameAddress(one: ListenSettings, other: ListenSettings): boolean {
  if (one.unixSocket !== other.unixSocket) return false
  return one.unixSocket !== undefined || (one.hostname === other.hostname && one.port === other.port)
}

/**
 * Throws if another process listens there: sockets of two gateways on one port would each get some of the requests, and only one
 * gateway has the right keys.
 */
export function assertFree({
  unixSocket,
  hostname,
  port,
}: Pick<ListenSettings, 'unixSocket' | 'hostname' | 'port'>): void {
  if (unixSocket !== undefined || port === 0) return
  Bun.listen({ hostname, port, exclusive: true, socket: { data() {} } }).stop(true)
}

/** The unix socket of a started server, at its place; undefined for a server with a port. */
function placedOf({ unixSocket }: ListenSettings, name: string): PlacedSocket | undefined {
  return unixSocket === undefined ? undefined : place(unixSocket, name, SOCKET_MODE)
}
