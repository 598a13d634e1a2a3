// The PostgreSQL servers of one address: `postgres://user@one,two:5433/name?target_session_attrs=read-write` names
// several, and the first that accepts changes is used. If it fails, or no longer accepts changes, all are tried again. Connections
// to a server that does not answer, or leaves one change without an answer, are closed, so that pending queries fail as if the server
// were gone. It must never repeat what was sent: only the sender knows whether that is safe. Nor must it return to a server that a
// promoted replica has replaced: payments there would be paid twice. `pgbouncer=true` says that a pooler gives each transaction any
// session: then no state is kept in sessions. `connection_limit=5` limits the connections of a process; Bun opens all connections of
// a pool at its first use.

import type { ReservedSQL, SQL } from 'bun'
import { createSemaphore, type Semaphore } from '../../lib/semaphore'
import { SilenceWatch, watchSilence } from './hang-detector'

/** Open connections to one server. */
interface Connections {
  pool: SQL
  /** One connection for all groups of movements: its plans are made once. */
  groups: SQL
  /** Limits how many connections of the pool changes use at once: otherwise Bun lets reads wait until no change waits. */
  slots: Semaphore
  /** Closes the connections if the server is silent. */
  watch: SilenceWatch
}

interface ConnectionOptions {
  /** Connections in addition to that of the groups, if the address sets no limit. */
  poolSize: number
  connectTimeoutSeconds: number
  /** How long a server may stay silent while a query is pending. */
  silenceMs: number
  /**
   * Called once a server has answered nothing for a second and a half, not even an empty query. Until it answers again, new work is
   * refused. Absent: work waits for `silenceMs`.
   */
  onHang?(): void
  /** Settings of each session. */
  session: Record<string, number>
}

/** Which servers may be used: any, or one that accepts changes. */
type Target = 'any' | 'read-write'

/** The position of a server in the history of its database: a replica begins a new timeline when it is promoted. */
interface Descent {
  /** The identifier that a database keeps in all its replicas. */
  system: string
  timeline: number
}

/** A server that may be used. */
interface Found {
  url: string
  /** Undefined if the server has no timelines, or accepts no changes. */
  descent: Descent | undefined
}

const DEFAULT_PORT = '5432'
/** A server that answers nothing for four checks is probed; without an answer for two more, it hangs. */
const HANG_CHECK_MS = 250
const PROBE_CHECKS = 4
const HANG_CHECKS = 6
const PROBE = 'select 1 as one'
/** The share of a pool that only reads use. */
const SHARE_OF_READS = 1 / 4
/** How long to wait for a newer server after the first usable one has answered. */
const NEWER_MS = 1_000
const DESCENT = `select cast(system_identifier as text) as system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline from pg_control_system()`
/** Parameters of a URL that servers do not know. */
const OWN_PARAMETERS = ['target_session_attrs', 'pgbouncer', 'connection_limit']

export class PostgresServers {
  /** Whether settings and prepared statements of a session are lost after each transaction. */
  readonly isPooled: boolean
  /** How often a server was lost while in use. */
  losses = 0
  /** Whether the only available servers were replaced by one that this process has used. */
  isReplaced = false
  private readonly urls: string[]
  private readonly target: Target
  private readonly poolSize: number
  private current: Promise<Connections> | undefined
  /** The newest server that this process has used. */
  private newest: Descent | undefined
  private isClosed = false
  /** Changes that have not ended, sent or not. */
  private readonly changes = new Set<Promise<unknown>>()
  private readonly hang: SilenceWatch

  constructor(
    address: string,
    private readonly options: ConnectionOptions,
  ) {
    const { urls, target, isPooled, limit } = readAddress(address)
    // One of them is that of the groups.
    this.poolSize = Math.max(1, Math.min(options.poolSize, limit - 1))
    this.isPooled = isPooled
    this.urls = urls
    this.target = target
    this.hang = new SilenceWatch(HANG_CHECK_MS, (quietChecks) => {
      if (quietChecks === PROBE_CHECKS) void this.begin(probe).catch(() => {})
      if (quietChecks === HANG_CHECKS) options.onHang?.()
    })
    // A single server is not probed, so a wrong address is noticed at its first use.
    const [only, second] = urls
    if (only !== undefined && second === undefined) this.current = Promise.resolve(this.open(only))
  }

  /**
   * Works with a connection that nothing else uses meanwhile. Rejects as the work does, if none of several servers can be used, or
   * if the server hangs. The work calls `answered` after each partial answer.
   */
  use<Result>(work: (connection: ReservedSQL, answered: () => void) => Promise<Result>): Promise<Result> {
    const onOwnConnection = async (connections: Connections) => {
      // Only work that was sent can be late: under load, much waits for a connection although the server answers.
      const connection = await connections.pool.reserve()
      try {
        return await this.closeIfLate(connections, (answered) => work(connection, answered))
      } finally {
        connection.release()
      }
    }
    const change = this.begin((connections) =>
      connections.slots.run(undefined, () => onOwnConnection(connections)),
    )
    this.changes.add(change)
    return change.finally(() => this.changes.delete(change))
  }

  /** As `use`, with the connection of groups, which takes one after the other. */
  useForGroup<Result>(work: (connection: SQL) => Promise<Result>): Promise<Result> {
    return this.begin((connections) => this.closeIfLate(connections, () => work(connections.groups)))
  }

  /** As `use`, with any connection, for work that may share it. Late work closes nothing: a pooler gives reads no time limit. */
  read<Result>(work: (pool: SQL) => Promise<Result>): Promise<Result> {
    return this.begin(({ pool, watch }) => watch.during(() => work(pool)))
  }

  private async begin<Result>(work: (connections: Connections) => Promise<Result>): Promise<Result> {
    if (!this.options.onHang) return this.workWith(work)
    if (this.hang.quietChecks >= HANG_CHECKS) throw hangs()
    return this.hang.during(() => this.workWith(work))
  }

  private async workWith<Result>(work: (connections: Connections) => Promise<Result>): Promise<Result> {
    this.current ??= this.choose()
    const chosen = this.current
    try {
      return await work(await chosen)
    } catch (error) {
      if (isServerGone(error)) {
        this.losses++
        if (this.urls.length > 1) this.leave(chosen)
      }
      throw error
    }
  }

  /**
   * Watches sent work. If statements have a time limit, the connections are closed once it has no answer for `silenceMs`, although
   * others are answered.
   */
  private closeIfLate<Result>(
    connections: Connections,
    work: (answered: () => void) => Promise<Result>,
  ): Promise<Result> {
    const onLate = () => this.leaveSilent(connections)
    return connections.watch.during(work, this.options.onHang && onLate)
  }

  /** Closes the connections once all changes have ended, or after that time. */
  async close(timeoutSeconds: number): Promise<void> {
    this.isClosed = true
    const connections = await this.current?.catch(() => undefined)
    if (!connections) return
    // A pool that closes waits for what was sent, and refuses what comes later: changes whose turn has not come.
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => late.resolve('late'), timeoutSeconds * 1_000)
    const isLate = (await Promise.race([Promise.allSettled(this.changes), late.promise])) === 'late'
    clearTimeout(timer)
    await close(connections, isLate ? 0 : timeoutSeconds)
  }

  /** The next use chooses a server again. Work that waits for this one fails. */
  private leave(chosen: Promise<Connections>): void {
    if (this.current !== chosen) return
    this.current = undefined
    void chosen.then(close, () => {})
  }

  private open(url: string): Connections {
    const { connectTimeoutSeconds, silenceMs, session } = this.options
    const kept = this.isPooled ? { prepare: false } : { connection: session }
    const connect = (max: number) =>
      new Bun.SQL(url, { max, bigint: true, connectionTimeout: connectTimeoutSeconds, ...kept })
    const connections: Connections = {
      pool: connect(this.poolSize),
      groups: connect(1),
      slots: createSemaphore(this.poolSize - Math.floor(this.poolSize * SHARE_OF_READS)),
      watch: watchSilence(silenceMs, () => this.leaveSilent(connections)),
    }
    return connections
  }

  private leaveSilent(connections: Connections): void {
    const chosen = this.current
    const leave = (used: Connections) => {
      if (chosen && used === connections) this.leave(chosen)
    }
    void chosen?.then(leave, () => {})
  }

  /** The newest usable server, otherwise the first in the order of the URL. A single one is not probed. */
  private async choose(): Promise<Connections> {
    const [only, second] = this.urls
    if (only !== undefined && second === undefined) return this.open(only)
    const { found, refusal } = await this.askAll()
    const best = found
      .filter(({ descent }) => !isOlder(descent, this.newest))
      .reduce(
        (one, other) => (one && !isOlder(one.descent, other.descent) ? one : other),
        undefined as Found | undefined,
      )
    this.isReplaced = !best && found.length > 0
    if (best && !this.isClosed) {
      this.newest = best.descent ?? this.newest
      return this.open(best.url)
    }
    const message =
      found.length > 0
        ? 'the servers of the address that take changes were replaced by one that was promoted, which does not answer'
        : 'no server of the address takes changes'
    throw Object.assign(new Error(message, { cause: refusal }), { code: 'ECONNREFUSED' })
  }

  /** The usable servers, in the order of the URL, and why another one is unusable. */
  private async askAll(): Promise<{ found: Found[]; refusal: unknown }> {
    const { connectTimeoutSeconds } = this.options
    const found: (Found | undefined)[] = []
    let refusal: unknown
    const enough = Promise.withResolvers<void>()
    let timer: Timer | undefined
    const probes = this.urls.map(
      (url) =>
        new Bun.SQL(url, { max: 1, bigint: true, prepare: false, connectionTimeout: connectTimeoutSeconds }),
    )
    const asked = probes.map(async (probe, place) => {
      try {
        const url = this.urls[place] as string
        const descent = await this.ask(probe)
        if (descent === 'read-only') return
        found[place] = { url, descent }
        timer ??= setTimeout(enough.resolve, NEWER_MS)
      } catch (error) {
        refusal = error
      }
    })
    await Promise.race([Promise.all(asked), enough.promise])
    clearTimeout(timer)
    for (const probe of probes) void probe.close({ timeout: 0 }).catch(() => {})
    return { found: found.filter((each) => each !== undefined), refusal }
  }

  /** The position of a usable server. */
  private async ask(probe: SQL): Promise<Descent | 'read-only' | undefined> {
    const watch = watchSilence(this.options.silenceMs, () => void probe.close({ timeout: 0 }))
    const [row] = await watch.during(() => probe.unsafe('show transaction_read_only'))
    if (row.transaction_read_only !== 'off') return this.target === 'any' ? undefined : 'read-only'
    try {
      const [{ system, timeline }] = await watch.during(() => probe.unsafe(DESCENT))
      return { system, timeline: Number.parseInt(timeline, 16) }
    } catch (error) {
      // Engines that speak PostgreSQL may have no timelines.
      if (isServerGone(error)) throw error
      return undefined
    }
  }
}

/** Resolves at the first answer: slow reads may occupy all connections but the one of groups. */
function probe({ pool, groups, watch }: Connections): Promise<unknown> {
  return watch.during(() => Promise.any([pool, groups].map((each) => each.unsafe(PROBE))))
}

/** The error of work that was not sent to a hanging server, or whose result is unknown. */
export function hangs(): Error {
  return Object.assign(new Error('the server does not answer'), { code: 'ERR_POSTGRES_SILENCE_TIMEOUT' })
}

/** Whether a promoted replica has replaced a server. False if unknown. */
function isOlder(one: Descent | undefined, other: Descent | undefined): boolean {
  return (
    one !== undefined && other !== undefined && one.system === other.system && one.timeline < other.timeline
  )
}

/** One URL for each host. Without `target_session_attrs`, a server that accepts changes is used if there are several. */
function readAddress(address: string): {
  urls: string[]
  target: Target
  isPooled: boolean
  /** Maximum number of connections per process. */
  limit: number
} {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(address)
  const [, before = '', hosts = '', after = ''] = parts ?? []
  const url = new URL(`http://host${after}`)
  const wanted = url.searchParams.get('target_session_attrs')
  const isPooled = url.searchParams.get('pgbouncer') === 'true'
  const list = hosts.split(',')
  const limit = Number(url.searchParams.get('connection_limit') ?? Number.POSITIVE_INFINITY)
  const isPlain = OWN_PARAMETERS.every((name) => !url.searchParams.has(name))
  if (list.length < 2 && isPlain) return { urls: [address], target: 'any', isPooled, limit }
  for (const name of OWN_PARAMETERS) url.searchParams.delete(name)
  const rest = url.pathname + url.search
  const withPort = (host: string) => (/:\d+$/.test(host) ? host : `${host}:${DEFAULT_PORT}`)
  const urls = list.map((host) => `${before}${withPort(host)}${rest}`)
  const isAny = wanted === 'any' || (wanted === null && list.length < 2)
  return { urls, target: isAny ? 'any' : 'read-write', isPooled, limit }
}

/** Whether another server may be needed: the connection was lost, or the server stops or accepts no changes. */
function isServerGone(error: unknown): boolean {
  const { code = '', errno = '' } = error as { code?: string; errno?: string }
  return /^(ERR_POSTGRES_CONNECTION|ECONN)/.test(code) || /^(08|57P0|25006)/.test(errno)
}

async function close({ pool, groups }: Connections, timeoutSeconds = 0): Promise<void> {
  const closing = [pool, groups].map((each) => each.close({ timeout: timeoutSeconds }))
  await Promise.allSettled(closing)
}
