// Bodies of requests and answers, stored with the request log if the operator has enabled it: in a separate file next to SQLite, or
// in PostgreSQL. They are redacted, encrypted if there is a key, and kept for their own period. A request never waits for them, and
// they must not be visible anywhere else.

import type { BodyLimits } from '../config/log'
import type { Db, Statement } from '../db/db'
import type { Log } from '../lib/system'
import { nextTurn } from './page-search'
import { type RedactionRules, redactionRules } from './redaction'
import type { RequestLogRow } from './row'

/** Bodies of a request and its answer. Null if there was nothing to store. */
export interface KeptBodies {
  request: string | null
  answer: string | null
}

const FLUSH_MS = 250
const FLUSH_BODIES = 64
/** Bytes of all bodies that are being collected or wait to be stored. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024
/** Number of bodies that are dropped at once, and how often per run. */
const TRIM_BODIES = 500
const TRIM_TURNS = 40

/** `total` is the running sum of bytes up to a row, so that the oldest bodies beyond a limit are found at once. */
const TABLES = [
  `create table if not exists request_bodies (id text primary key, at bigint not null, total bigint not null,
    request text, answer text)`,
  'create index if not exists request_bodies_by_time on request_bodies (at)',
  'create index if not exists request_bodies_by_total on request_bodies (total)',
]
/** Nodes add to the total one after another. */
const LOCK: Statement = { sql: `select pg_advisory_xact_lock(hashtext('request_bodies'))` }

export class BodyLog {
  readonly rules: RedactionRules
  private waiting: Statement[] = []
  private waitingBytes = 0
  private gatheredBytes = 0
  private timer: Timer | undefined
  private storing = Promise.resolve()

  private constructor(
    private readonly db: Db,
    private readonly limits: BodyLimits,
    private readonly log: Log,
  ) {
    this.rules = redactionRules(limits.redact, limits.maxBodyBytes)
  }

  static async open(db: Db, limits: BodyLimits, log: Log): Promise<BodyLog> {
    const statements = TABLES.map((sql) => ({ sql }))
    // Nodes that start at the same time can collide here despite `if not exists`. The second try then finds the tables.
    await db.batch(statements).catch(() => db.batch(statements))
    return new BodyLog(db, limits, log)
  }

  /** Whether bodies of a key are stored. */
  isKeyWanted({ id, name }: { id: string; name: string }): boolean {
    const { keys } = this.limits
    return keys === undefined || keys.includes(id) || keys.includes(name)
  }

  /** Reserves memory for a part of a body; false if there is too little, and the part must be discarded. */
  takeMemory(bytes: number): boolean {
    if (this.gatheredBytes + this.waitingBytes + bytes > MAX_MEMORY_BYTES) return false
    this.gatheredBytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.gatheredBytes -= bytes
  }

  /** Stores the bodies of an ended request, soon after. */
  write({ id, at, model }: RequestLogRow, { request, answer }: KeptBodies): void {
    const { models } = this.limits
    if (models !== undefined && !(model !== null && models.includes(model))) return
    const [asked, answered] = [this.stored(id, 'request', request), this.stored(id, 'answer', answer)]
    const bytes = (asked?.length ?? 0) + (answered?.length ?? 0)
    if (this.waitingBytes + bytes > MAX_MEMORY_BYTES) {
      this.lose(1, 'the store is too slow')
      return
    }
    this.waitingBytes += bytes
    this.waiting.push({
      sql: `insert into request_bodies (id, at, total, request, answer) values ($1, $2,
        coalesce((select max(total) from request_bodies), 0) + cast($3 as bigint), $4, $5) on conflict (id) do nothing`,
      parameters: [id, at, bytes, asked, answered],
    })
    if (this.waiting.length >= FLUSH_BODIES) void this.flush()
    else this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
  }

  /** Resolves when all bodies so far are stored. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const { waiting, waitingBytes } = this
    if (waiting.length === 0) return this.storing
    this.waiting = []
    this.storing = this.storing.then(async () => {
      try {
        await this.db.batch(this.db.kind === 'postgres' ? [LOCK, ...waiting] : waiting)
      } catch (error) {
        this.lose(waiting.length, String(error))
      } finally {
        this.waitingBytes -= waitingBytes
      }
    })
    return this.storing
  }

  /** Drops bodies that are too old, and the oldest ones beyond the limit. */
  async trim(now: number): Promise<void> {
    const { keepMs, maxBytes } = this.limits
    for (let turn = 0; turn < TRIM_TURNS; turn++) {
      const result = await this.db.batch([
        {
          sql: `delete from request_bodies where id in (
            select id from request_bodies where at < $1 order by at limit ${TRIM_BODIES}) returning id`,
          parameters: [now - keepMs],
        },
        {
          sql: `delete from request_bodies where id in (select id from request_bodies where total <=
            (select max(total) from request_bodies) - cast($1 as bigint) order by total limit ${TRIM_BODIES}) returning id`,
          parameters: [maxBytes],
        },
      ])
      if ('missed' in result || result.rows.every((rows) => rows.length < TRIM_BODIES)) return
      await nextTurn()
    }
  }

  async close(): Promise<void> {
    await this.flush()
    // Next to SQLite they have a separate file; PostgreSQL belongs to the gateway.
    if (this.db.kind === 'sqlite') await this.db.close()
  }

  private stored(id: string, column: string, text: string | null): string | null {
    return text === null ? null : this.db.codec.encode(text, placeOf(id, column))
  }

  private lose(bodies: number, reason: string): void {
    this.log('request_bodies_lost', { bodies, reason })
  }
}

/**
 * The bodies of a request; undefined if none are stored. The table may not exist. Throws UnreadableText if their key is unknown.
 */
export async function findBodies(db: Db, id: string): Promise<KeptBodies | undefined> {
  const known =
    db.kind === 'postgres'
      ? `select 1 where to_regclass('request_bodies') is not null`
      : `select 1 from sqlite_master where name = 'request_bodies'`
  if ((await db.query({ sql: known })).length === 0) return undefined
  const sql = 'select request, answer from request_bodies where id = $1'
  const [row] = await db.query({ sql, parameters: [id] })
  if (!row) return undefined
  const textOf = (column: 'request' | 'answer') =>
    typeof row[column] === 'string' ? db.codec.decode(row[column], placeOf(id, column)) : null
  return { request: textOf('request'), answer: textOf('answer') }
}

function placeOf(id: string, column: string): string {
  return `request_bodies.${column} ${id}`
}
