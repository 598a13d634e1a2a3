// Limits the connections of callers: in total, so that descriptors are left for vendors and the database, and per
// address. If there are too many, silent connections (between requests, or before the first) are closed first; if that
// is not enough, new ones are refused for a while. A running request must never be cut off to keep the total.

import ipaddr from 'ipaddr.js'
import type { Config } from '../config/schema'
import { isInNetworks, networkOf } from '../lib/network'
import type { Log } from '../lib/system'

/** The files and sockets of this process, as the operating system reports them. */
export interface Sockets {
  /** Maximum number of descriptors that the process may have open. */
  readonly limit: number
  /** The number of open descriptors. */
  open(): number
  /** The callers among the descriptors from `from` to before `to`, and how many of these descriptors are open. */
  callers(port: number, from: number, to: number): { callers: Caller[]; open: number }
  /** Whether a caller has never sent a byte. False if the descriptor belongs to something else by now. */
  isSilent(caller: Caller): boolean
  /** Whether any byte of an answer was ever sent to this caller. */
  isAnswered(caller: Caller): boolean
  /** Ends a connection; the server then sees that the caller has disconnected. */
  end(caller: Caller): void
  /**
   * Sends all new connections of a port to the newest of two sockets that listen on it. False if the system cannot.
   */
  steer(port: number): boolean
  /** The sockets of this process that listen at a port, or at the path of a unix socket. */
  listeners(place: number | string): number[]
  /** Closes listening sockets; their connections stay open. False if none was closed. */
  stopListening(listeners: readonly number[]): boolean
  /** Whether anybody is connected at a port or a path. */
  hasCallers(place: number | string): boolean
}

export interface Caller {
  descriptor: number
  address: string
  /** The caller's own port, which distinguishes connections that reuse a descriptor. */
  port: number
}

/** The listening side of the server. */
export interface GuardedServer {
  readonly port: number
  /** Closes connections that wait for their next request, and returns how many. */
  closeIdle(): number
  /** Stops accepting connections; those with a request end after its answer. */
  shut(): void
  /** Accepts connections again. Throws if it cannot. */
  open(): void
}

interface GuardOptions {
  sockets: Sockets
  door: GuardedServer
  config: Config
  log: Log
}

const MAX_CONNECTIONS = 20_000
/** Share of the descriptors that is reserved for vendors, files and the database. */
const RESERVED_SHARE = 1 / 8
const MIN_RESERVE = 16
const MAX_RESERVE = 1_024
const MAX_PER_ADDRESS = 1_000
/** Largest share of all connections for one address. */
const ADDRESS_SHARE = 1 / 4
/** Ranges of proxies and of the operator's own machines. */
const PRIVATE_RANGES = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'])

/** Connections that callers can open within a millisecond: the next check comes before they could use up the rest. */
const OPENED_PER_MS = 20
const MIN_PAUSE_MS = 10
const MAX_PAUSE_MS = 1_000
/** Pause between checks while new connections are refused. */
const REFUSING_PAUSE_MS = 250
/** New connections are accepted again below this share, so that they are not refused again at once. */
const ACCEPT_SHARE = 7 / 8
/** Shortest time for which new connections are refused. */
const REFUSE_MS = 1_000
const SWEEP_MS = 1_000
/** How long a new connection may be silent if there is no room, in milliseconds. */
const SILENCE_MS = 10
/** Number of descriptors per check: about a millisecond. */
const SLICE = 1_000
/** Interval of log lines about closed connections, however many there are. */
const REPORT_MS = 10_000

/** Maximum number of descriptors in use by connections and files; beyond it, connections are closed or refused. */
export function connectionLimit({ server }: Config, limit: number): number {
  const reserve = Math.min(Math.max(Math.floor(limit * RESERVED_SHARE), MIN_RESERVE), MAX_RESERVE)
  return Math.max(1, Math.min(server?.maxConnections ?? MAX_CONNECTIONS, limit - reserve))
}

/** Watches connections until the returned function is called. */
export function guardConnections(options: GuardOptions): () => void {
  const guard = new ConnectionGuard(options)
  guard.check()
  return () => guard.stop()
}

class ConnectionGuard {
  private readonly sockets: Sockets
  private readonly door: GuardedServer
  private readonly log: Log
  private readonly most: number
  private readonly acceptBelow: number
  /** Number of descriptors in use at which there is no time left even for an honest caller's first packet. */
  private readonly lastResort: number
  /** True for a limit that the operator has set, which applies to private addresses too. */
  private readonly isConfigured: boolean
  private readonly mostPerAddress: number
  /** Networks of proxies, which connect for everybody. */
  private readonly trusted: readonly string[]
  private readonly report: ClosingReport
  private refusingSince: number | undefined
  private sweptAt = performance.now()
  /** True while a walk over the descriptors is running. */
  private isWalking = false
  private isStopped = false
  private timer: Timer | undefined

  constructor({ sockets, door, config, log }: GuardOptions) {
    const configured = config.server?.maxConnectionsPerAddress
    this.sockets = sockets
    this.door = door
    this.log = log
    this.most = connectionLimit(config, sockets.limit)
    this.acceptBelow = Math.ceil(this.most * ACCEPT_SHARE)
    this.lastResort = Math.ceil((this.most + sockets.limit) / 2)
    this.isConfigured = configured !== undefined
    this.trusted = config.server?.trustedProxies ?? []
    this.mostPerAddress =
      configured ?? Math.min(MAX_PER_ADDRESS, Math.max(1, Math.floor(this.most * ADDRESS_SHARE)))
    this.report = new ClosingReport(log, this.most, this.mostPerAddress)
  }

  /** Checks once, and plans the next check. */
  check(): void {
    const now = performance.now()
    const open = this.sockets.open()
    if (this.refusingSince !== undefined && now - this.refusingSince >= REFUSE_MS && open < this.acceptBelow)
      this.accept(now, open)
    if (!this.isWalking) {
      if (open >= this.most) void this.relieve()
      else if (now - this.sweptAt >= SWEEP_MS && open > this.mostPerAddress) void this.sweep()
    }
    this.report.write(now)
    const pauseMs = this.refusingSince === undefined ? (this.most - open) / OPENED_PER_MS : REFUSING_PAUSE_MS
    this.timer = setTimeout(() => this.check(), Math.min(Math.max(pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS))
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private refuse(now: number): void {
    this.door.shut()
    this.refusingSince = now
    this.log('connections_refused', { open: this.sockets.open(), most: this.most })
  }

  private accept(now: number, open: number): void {
    try {
      this.door.open()
      const refusedMs = Math.round(now - (this.refusingSince ?? now))
      this.log('connections_accepted', { open, most: this.most, refusedMs })
      this.refusingSince = undefined
    } catch (error) {
      this.log('connections_not_accepted', { reason: String(error) })
      this.refusingSince = now
    }
  }

  /** Makes room: connections without a request are closed, and if that is not enough, no new ones are accepted. */
  private async relieve(): Promise<void> {
    const { sockets, report } = this
    this.isWalking = true
    report.idle += this.door.closeIdle()
    const silent: Caller[] = []
    await this.walk((caller) => {
      if (sockets.isSilent(caller)) silent.push(caller)
    })
    // An honest caller has sent its request with the next packet; it gets that time unless everything is taken.
    if (sockets.open() < this.lastResort) await Bun.sleep(SILENCE_MS)
    for (const caller of silent) {
      if (!this.isStopped && sockets.isSilent(caller)) {
        sockets.end(caller)
        report.idle++
      }
    }
    // The server closes them once it notices.
    await Bun.sleep(1)
    if (!this.isStopped && this.refusingSince === undefined && sockets.open() >= this.most)
      this.refuse(performance.now())
    this.isWalking = false
  }

  /** Closes the excess connections of single addresses. */
  private async sweep(): Promise<void> {
    this.isWalking = true
    const networks = new Map<string, Caller[]>()
    await this.walk((caller) => {
      const network = networkOf(caller.address)
      const known = networks.get(network)
      if (known) known.push(caller)
      else networks.set(network, [caller])
    })
    for (const [network, callers] of networks) {
      const excess = callers.length - this.mostPerAddress
      if (this.isStopped || excess <= 0 || this.isExempt(network)) continue
      for (const caller of leastUseful(this.sockets, callers, excess)) this.sockets.end(caller)
      this.report.excess += excess
      this.report.network = network
    }
    this.sweptAt = performance.now()
    this.isWalking = false
  }

  private isExempt(network: string): boolean {
    return (!this.isConfigured && isPrivate(network)) || isInNetworks(network, this.trusted)
  }

  /** Visits every caller, with a pause after each slice of the descriptors. */
  private async walk(visit: (caller: Caller) => void): Promise<void> {
    const { sockets, door } = this
    const total = sockets.open()
    let seen = 0
    for (let from = 0; from < sockets.limit && !this.isStopped; from += SLICE) {
      const { callers, open } = sockets.callers(door.port, from, Math.min(from + SLICE, sockets.limit))
      for (const caller of callers) visit(caller)
      seen += open
      if (seen >= total) return
      await Bun.sleep(1)
    }
  }
}

/** Callers to close first: those never answered, and of these the newest, which have the highest descriptors. */
function leastUseful(sockets: Sockets, callers: Caller[], count: number): Caller[] {
  const newestFirst = callers.toReversed()
  const answered = new Set(newestFirst.filter((caller) => sockets.isAnswered(caller)))
  const unanswered = newestFirst.filter((caller) => !answered.has(caller))
  return [...unanswered, ...answered].slice(0, count)
}

/** Counts closed connections until they are logged. */
class ClosingReport {
  idle = 0
  excess = 0
  network = ''
  private readonly log: Log
  private readonly most: number
  private readonly mostPerAddress: number
  private writtenAt = Number.NEGATIVE_INFINITY

  constructor(log: Log, most: number, mostPerAddress: number) {
    this.log = log
    this.most = most
    this.mostPerAddress = mostPerAddress
  }

  write(now: number): void {
    const { idle, excess, most, mostPerAddress, network } = this
    if (idle + excess === 0 || now - this.writtenAt < REPORT_MS) return
    if (idle > 0) this.log('connections_closed', { idle, most })
    if (excess > 0) this.log('connections_closed', { excess, address: network, mostPerAddress })
    this.idle = 0
    this.excess = 0
    this.writtenAt = now
  }
}

/**
 * Whether an address is private. Proxies connect from such addresses for everybody, so only a limit set by the operator applies.
 */
function isPrivate(network: string): boolean {
  return PRIVATE_RANGES.has(ipaddr.parse(network).range())
}
