// Drills: for a time, an upstream fails for named keys in the ways its vendor could. A drill must never touch a request of another
// key, and ends by itself. The rows are in the database, so that every node follows them and they survive a restart.

import { apply, type Db, type Row } from '../../db/db'
import { jsonOfColumn, listOfColumn } from '../../db/json-column'
import type { System } from '../../lib/system'

export type DrillFault =
  | { kind: 'status'; status: number }
  /** The call is delayed by this much. */
  | { kind: 'delay'; delayMs: number }
  /** No answer arrives until the time limit of the upstream. */
  | { kind: 'hang' }
  /** The vendor answers, and the answer is cut off. */
  | { kind: 'cut' }

export interface Drill {
  id: string
  upstream: string
  fault: DrillFault
  /** Ids of the affected keys. */
  keyIds: readonly string[]
  /** The share of their requests that it affects, in millionths. */
  shareMillionths: number
  begunAt: number
  endsAt: number
}

/** How long a process uses its cached drills before it reads them again, in milliseconds. */
export const DRILLS_FRESH_MS = 1_000
/** A drill ends after this many requests, because its report looks up each one. */
export const MAX_DRILLED = 1_000
const MILLION = 1_000_000

interface DrillWorld extends Pick<System, 'now' | 'random'> {
  db: Db
}

/** The running drills, as this process knows them. */
export class RunningDrills {
  private running: readonly Drill[] = []

  constructor(private readonly world: DrillWorld) {}

  /** Reads the running drills. */
  async follow(): Promise<void> {
    const { db, now } = this.world
    const rows = await db.query({ sql: 'select * from drills where ends_at > $1', parameters: [now()] })
    this.running = rows.map(drillOfRow)
  }

  /** The fault for a call; undefined for nearly all calls. The request then counts toward those of the drill. */
  faultFor(upstream: string, keyId: string, request: string): undefined | Promise<DrillFault | undefined> {
    if (this.running.length === 0) return undefined
    const { now, random } = this.world
    const drill = this.running.find(
      (each) => each.upstream === upstream && each.endsAt > now() && each.keyIds.includes(keyId),
    )
    if (!drill || random() * MILLION >= drill.shareMillionths) return undefined
    return this.touch(drill, request)
  }

  private async touch({ id, fault }: Drill, request: string): Promise<DrillFault | undefined> {
    const { db } = this.world
    await apply(db, [
      {
        sql: `insert into drilled_requests (drill, request)
          select cast($1 as text), cast($2 as text)
          where (select count(*) from drilled_requests where drill = $1) < ${MAX_DRILLED} on conflict do nothing`,
        parameters: [id, request],
      },
    ])
    const sql = 'select 1 as one from drilled_requests where drill = $1 and request = $2'
    return (await db.query({ sql, parameters: [id, request] })).length > 0 ? fault : undefined
  }
}

/** Begins a drill. `db` is the transaction of the change. */
export async function beginDrill(db: Db, drill: Drill): Promise<void> {
  const { id, upstream, fault, keyIds, shareMillionths, begunAt, endsAt } = drill
  await apply(db, [
    {
      sql: `insert into drills (id, upstream, fault, keys, share, begun_at, ends_at) values ($1, $2, $3, $4, $5, $6, $7)`,
      parameters: [
        id,
        upstream,
        JSON.stringify(fault),
        JSON.stringify(keyIds),
        shareMillionths,
        begunAt,
        endsAt,
      ],
    },
  ])
}

/** Ends a drill now. It has no effect if the drill has ended. */
export async function endDrill(db: Db, id: string, now: number): Promise<void> {
  await apply(db, [
    { sql: 'update drills set ends_at = $1 where id = $2 and ends_at > $1', parameters: [now, id] },
  ])
}

/** Drills, newest first. */
export async function listDrills(db: Db, filter: { before?: string; limit: number }): Promise<Drill[]> {
  const rows = await db.query({
    sql: `select * from drills where id < $1 or cast($1 as text) is null order by id desc limit $2`,
    parameters: [filter.before ?? null, filter.limit],
  })
  return rows.map(drillOfRow)
}

export async function findDrill(db: Db, id: string): Promise<Drill | undefined> {
  const [row] = await db.query({ sql: 'select * from drills where id = $1', parameters: [id] })
  return row && drillOfRow(row)
}

/** The ids of the requests that a drill has affected. */
export async function drilledRequests(db: Db, id: string): Promise<string[]> {
  const rows = await db.query({
    sql: 'select request from drilled_requests where drill = $1 order by request',
    parameters: [id],
  })
  return rows.map(({ request }) => request as string)
}

function drillOfRow(row: Row): Drill {
  return {
    id: row.id as string,
    upstream: row.upstream as string,
    fault: jsonOfColumn<DrillFault>(row.fault, { kind: 'delay', delayMs: 0 }) as DrillFault,
    keyIds: listOfColumn(row.keys) ?? [],
    shareMillionths: row.share as number,
    begunAt: row.begun_at as number,
    endsAt: row.ends_at as number,
  }
}
