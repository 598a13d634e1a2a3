// The database of the simulation for one process: sometimes unreachable, sometimes slow, and ending the process at one of its
// accesses, before or after the access took effect. Writes to tasks and webhooks are compared with the fences that the process has
// seen: a process whose lease another one has taken over must not write anything.

import {
  type BatchResult,
  batchOf,
  DatabaseUnavailable,
  type Db,
  type Movement,
  type Row,
  type Statement,
} from '../../../src/db/db'
import type { Random } from '../random'
import { type Life, never } from './life'
import type { VirtualTime } from './time'

export interface SharedDatabase {
  db: Db
  /** The time until which no statement is accepted. */
  awayUntil: number
  /** The share of changes whose confirmation is lost. */
  unsureShare: number
  /** From now on no process is ended. */
  isCalm: boolean
  /** Changes so far. */
  changes: number
  /** Violations: actions that no process may ever take. */
  violations: string[]
}

/** Where a process ends: at any access, or only at one with a statement of one class. */
export interface CrashPlan {
  at: number
  class?: number
}

interface Parts {
  name: string
  time: VirtualTime
  random: Random
  database: SharedDatabase
  crash: CrashPlan
  trace(text: string): void
  count(what: string): void
}

/** The number of classes of statements, each equally likely to end a process: most statements are rare. */
export const STATEMENT_CLASSES = 61

/** Rows that were written without a change of their fence. A deferred request is never taken over, only ended. */
const WATCH = [
  'create table simulated_writes (id text not null, fence bigint not null)',
  `create trigger watch_tasks after update of state, document, poll_at, misses, missing, polls, lease_until, ended_at,
    video_url on tasks when new.fence = old.fence and new.operation = 'video' begin insert into simulated_writes values (new.id, old.fence); end`,
  `create trigger watch_webhooks after update of state, attempts, step, next_at, lease_until, ended_at on webhooks
    when new.fence = old.fence begin insert into simulated_writes values (new.id, old.fence); end`,
]
/** Runs in the transaction of each change, so that it finds only the rows written by that change. */
const TAKE_WRITES: Statement = { sql: 'delete from simulated_writes returning *' }
const WATCHED = /update (tasks|webhooks) set/

/** The triggers of PostgreSQL, each of which calls a function. */
const WATCH_POSTGRES = [
  'create table simulated_writes (id text not null, fence bigint not null)',
  `create function note_write() returns trigger language plpgsql as
    $$ begin insert into simulated_writes values (new.id, old.fence); return null; end $$`,
  `create trigger watch_tasks after update of state, document, poll_at, misses, missing, polls, lease_until, ended_at,
    video_url on tasks for each row when (new.fence = old.fence and new.operation = 'video') execute function note_write()`,
  `create trigger watch_webhooks after update of state, attempts, step, next_at, lease_until, ended_at on webhooks
    for each row when (new.fence = old.fence) execute function note_write()`,
]

export async function watchWrites(db: Db): Promise<void> {
  const watch = db.kind === 'sqlite' ? WATCH : WATCH_POSTGRES
  await db.batch(watch.map((sql) => ({ sql })))
}

interface Kind {
  name: string
  /** SQLite parses a statement again for each value of its limit, unless the limit is a sum. That takes longer than running it. */
  sql: string
  class: number
  isWatched: boolean
}

const kinds = new Map<string, Kind>()

/** A statement's text without the parts that differ between calls. */
export function kindOf(sql: string): Kind {
  const known = kinds.get(sql)
  if (known) return known
  const text = sql.replaceAll(/\s+/g, ' ').replaceAll(/\$\d+(, \$\d+)*/g, '$')
  const hash = Number(Bun.hash.crc32(text))
  const name = `${text.slice(0, 60)} #${hash.toString(16)}`
  const kind = {
    name,
    sql: sql.replaceAll(/limit (\$\d+)/g, 'limit $1 + 0'),
    class: classOf(hash),
    isWatched: WATCHED.test(sql),
  }
  kinds.set(sql, kind)
  return kind
}

function classOf(hash: number): number {
  return hash % STATEMENT_CLASSES
}

/** The class of the named statement, or of a crash at one; undefined for any other text. */
export function classInName(name: string): number | undefined {
  const [, hash] = / #([0-9a-f]+)$/.exec(name) ?? []
  return hash === undefined ? undefined : classOf(Number.parseInt(hash, 16))
}

/** The database for users without a lease, such as an operator. */
export function unwatched(db: Db): Db {
  const batch = async (statements: readonly Statement[]) => {
    const result = await db.batch([...statements, TAKE_WRITES])
    return 'rows' in result ? { rows: result.rows.slice(0, -1) } : result
  }
  return { ...db, batch, move: (movement) => batch(batchOf(movement)) }
}

/** The fences of tasks and webhooks seen by a process. */
class FenceWatch {
  private readonly name: string
  private readonly fences = new Map<string, number>()

  constructor(name: string) {
    this.name = name
  }

  see(rows: readonly Row[]): void {
    for (const { id, fence } of rows) if (typeof fence === 'number') this.fences.set(id as string, fence)
  }

  check(writes: readonly Row[], violations: string[]): void {
    for (const { id, fence } of writes) {
      const seen = this.fences.get(id as string)
      if (seen !== undefined && seen < (fence as number))
        violations.push(`${this.name} has written ${id}, which others had taken over`)
    }
  }
}

/** Runs one access at a time, so that every write is attributed to the right process, and a seed is repeatable on a server. */
export function inTurn(db: Db): Db {
  let last: Promise<unknown> = Promise.resolve()
  const next = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  return {
    ...db,
    query: (statement) => next(() => db.query(statement)),
    batch: (statements) => next(() => db.batch(statements)),
    move: (movement) => next(() => db.move(movement)),
  }
}

/** Moves money by the functions of the server, and checks their other writes. */
async function moved(
  { db, violations }: SharedDatabase,
  movement: Movement,
  watch: FenceWatch,
): Promise<BatchResult> {
  const result = await db.move(movement)
  if ('missed' in result || movement.also.length === 0) return result
  const written = await db.batch([TAKE_WRITES])
  if ('rows' in written) watch.check(written.rows[0] ?? [], violations)
  return result
}

/** Makes a change, and checks its writes. */
async function changed(
  { db, violations }: SharedDatabase,
  statements: readonly Statement[],
  watch: FenceWatch,
): Promise<BatchResult> {
  const isWatched = statements.some(({ sql }) => kindOf(sql).isWatched)
  const given = statements.map((each) => ({ ...each, sql: kindOf(each.sql).sql }))
  if (isWatched) given.push(TAKE_WRITES)
  const result = await db.batch(given)
  if ('missed' in result) return result
  if (isWatched) watch.check(result.rows.at(-1) ?? [], violations)
  const rows = isWatched ? result.rows.slice(0, -1) : result.rows
  for (const each of rows) watch.see(each)
  return { rows }
}

function end(crash: () => void): Promise<never> {
  crash()
  return never
}

export function processDatabase(parts: Parts, { crash, alive }: Life): Db {
  const { time, random, database, trace, name, count, crash: plan } = parts
  const { db } = database
  const watch = new FenceWatch(name)
  let accesses = 0

  /** A random wait, often zero. */
  async function pause(): Promise<void> {
    const milliseconds = random.pick([0, 0, 1, 3])
    if (milliseconds > 0) await alive(new Promise<void>((resolve) => void time.after(milliseconds, resolve)))
  }

  async function reached(): Promise<void> {
    await alive(pause())
    if (time.monotonic() < database.awayUntil) throw new DatabaseUnavailable('simulated: away')
  }

  /** Whether the process ends at this access, and when. */
  function crashAt(statements: readonly Statement[]): 'before' | 'after' | undefined {
    if (plan.class === undefined || statements.some(({ sql }) => kindOf(sql).class === plan.class)) accesses++
    if (accesses !== plan.at || database.isCalm) return undefined
    accesses++
    const moment = random.pick(['before', 'after'] as const)
    for (const { sql } of statements) count(`crash ${moment} ${kindOf(sql).name}`)
    return moment
  }

  /** Makes a change, unless the process ends at it or the database is unreachable. */
  async function change(
    statements: readonly Statement[],
    work: () => Promise<BatchResult>,
  ): Promise<BatchResult> {
    await reached()
    for (const { sql } of statements) count(`statement ${kindOf(sql).name}`)
    const moment = crashAt(statements)
    if (moment === 'before') return end(crash)
    trace(`${name} ${statements.map(({ sql, parameters }) => sql.slice(0, 30) + String(parameters)).join()}`)
    database.changes++
    const result = await time.track(work())
    if (moment) return end(crash)
    if (random.chance(database.unsureShare)) {
      for (const { sql } of statements) count(`unsure ${kindOf(sql).name}`)
      throw new DatabaseUnavailable('simulated: confirmation lost')
    }
    await pause()
    return alive(Promise.resolve(result))
  }

  return {
    kind: db.kind,
    codec: db.codec,
    async query(statement) {
      await reached()
      count(`statement ${kindOf(statement.sql).name}`)
      const moment = crashAt([statement])
      if (moment === 'before') return end(crash)
      const rows = await time.track(db.query({ ...statement, sql: kindOf(statement.sql).sql }))
      watch.see(rows)
      return moment ? end(crash) : alive(Promise.resolve(rows))
    },
    batch: (statements) => change(statements, () => changed(database, statements, watch)),
    move(movement) {
      const statements = batchOf(movement)
      if (db.kind === 'sqlite') return this.batch(statements)
      return change(statements, () => moved(database, movement, watch))
    },
    close: async () => {},
  }
}
