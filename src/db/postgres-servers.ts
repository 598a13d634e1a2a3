// The PostgreSQL servers of one address: `postgres://user@one,two:5433/name?target_session_attrs=read-write` names several,
// of which the first that takes changes is used. When that one fails, or takes no changes any more, they are asked again. The
// connections to one that answers nothing are closed, so that what waits for it fails as with one that is gone. It must
// never repeat what was sent: only who sent it knows whether that can be done twice. `pgbouncer=true` says that a pooler
// gives each transaction a session of its choice: then nothing is kept in sessions. `connection_limit=5` says how many
// connections a process may have; Bun opens all of a pool with its first use.

import type { SQL } from 'bun'
import { SilenceWatch } from './silence'

/** Open connections to one server. */
export interface Connections {
  pool: SQL
  /** One connection for all groups of movements: its plans are made once. */
  groups: SQL
  /** Hears of the server's answers. */
  watch: SilenceWatch
}

export interface ConnectionOptions {
  /** Connections beside that of the groups, where the address sets no limit. */
  poolSize: number
  connectTimeoutSeconds: number
  /** How long a server may answer nothing while something is asked of it. */
  silenceMs: number
  /** Settings of each session. */
  session: Record<string, number>
}

/** Which servers may be used: any, or one that takes changes. */
type Target = 'any' | 'read-write'

const DEFAULT_PORT = '5432'
/** Parameters of an address that servers do not know. */
const OWN_PARAMETERS = ['target_session_attrs', 'pgbouncer', 'connection_limit']

export class PostgresServers {
  /** Whether settings and prepared statements of a session are lost with each transaction. */
  readonly isPooled: boolean
  private readonly urls: string[]
  private readonly target: Target
  private readonly poolSize: number
  private current: Promise<Connections> | undefined
  private isClosed = false

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
    // Where there is no choice nothing is asked, and the address is found wanting by its first use.
    const [only, second] = urls
    if (only !== undefined && second === undefined) this.current = Promise.resolve(this.open(only))
  }

  /** Works with the server that is used now. Rejects as the work does, or if none of several can be used. */
  async use<Result>(work: (connections: Connections) => Promise<Result>): Promise<Result> {
    this.current ??= this.choose()
    const chosen = this.current
    try {
      const connections = await chosen
      return await connections.watch.during(() => work(connections))
    } catch (error) {
      if (this.urls.length > 1 && isServerGone(error)) this.leave(chosen)
      throw error
    }
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.isClosed = true
    const connections = await this.current?.catch(() => undefined)
    if (connections) await close(connections, timeoutSeconds)
  }

  /** The next to use a server chooses one again. What waits for this one fails. */
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
      watch: new SilenceWatch(silenceMs, () => this.leaveSilent(connections)),
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

  /** The first server that can be used, in the order of the address. One alone is not asked. */
  private async choose(): Promise<Connections> {
    const [only, second] = this.urls
    if (only !== undefined && second === undefined) return this.open(only)
    let last: unknown
    for (const url of this.urls) {
      if (this.isClosed) break
      try {
        if (this.target === 'any' || (await this.takesChanges(url))) return this.open(url)
      } catch (error) {
        last = error
      }
    }
    const message = 'no server of the address takes changes'
    throw Object.assign(new Error(message, { cause: last }), { code: 'ECONNREFUSED' })
  }

  private async takesChanges(url: string): Promise<boolean> {
    const { connectTimeoutSeconds, silenceMs } = this.options
    await using probe = new Bun.SQL(url, { max: 1, prepare: false, connectionTimeout: connectTimeoutSeconds })
    const watch = new SilenceWatch(silenceMs, () => void probe.close({ timeout: 0 }))
    const [row] = await watch.during(() => probe.unsafe('show transaction_read_only'))
    return row.transaction_read_only === 'off'
  }
}

/** One URL for each host. Without `target_session_attrs` one of several is used that takes changes. */
function readAddress(address: string): {
  urls: string[]
  target: Target
  isPooled: boolean
  /** Connections that a process may have at most. */
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

/** Whether another server may have to be asked: the connection was lost, or the server stops or takes no changes. */
function isServerGone(error: unknown): boolean {
  const { code = '', errno = '' } = error as { code?: string; errno?: string }
  return /^(ERR_POSTGRES_CONNECTION|ECONN)/.test(code) || /^(08|57P0|25006)/.test(errno)
}

async function close({ pool, groups }: Connections, timeoutSeconds = 0): Promise<void> {
  const closing = [pool, groups].map((each) => each.close({ timeout: timeoutSeconds }))
  await Promise.allSettled(closing)
}
