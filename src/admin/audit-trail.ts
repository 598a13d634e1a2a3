// The audit trail: who changed what, with the values before and after. An entry is written in the transaction of its change, so
// that neither exists without the other. It must never contain a secret.

import { Type } from '@sinclair/typebox'
import { Nullable, open } from '../api-operation/operation'
import { maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { Conditions } from '../db/conditions'
import type { Db, Row, Statement, Value } from '../db/db'
import { isoTime } from '../db/iso-time'
import { jsonOfColumn } from '../db/json-column'

/** The author of a change, and its request. */
export interface Actor {
  /** The name of an admin, or `cli:USER@HOST` for a command on the database. */
  name: string
  requestId: string | null
  clientAddress: string | null
}

/** One change: `key.update` of `key:alice`, with the changed values as JSON. */
export interface RecordedChange {
  action: string
  target: string
  before?: object | null
  after?: object | null
}

type AuditEntry = ReturnType<typeof entryOfRow>

function entryOfRow(row: Row) {
  const parsed = (text: Value | undefined) => jsonOfColumn<object | null>(text, null)
  return {
    id: row.id as string,
    at: row.at as number,
    actor: row.actor as string,
    action: row.action as string,
    target: row.target as string,
    before: parsed(row.before),
    after: parsed(row.after),
    requestId: row.request_id as string | null,
    clientAddress: row.client_address as string | null,
  }
}

interface TrailWorld {
  db: Db
  now(): number
  newId(prefix: string): string
}

/**
 * The database for one change: an entry is added to its first transaction. If that misses, for example because a key was revoked
 * meanwhile, nothing is written.
 */
export function recording({ db, now, newId }: TrailWorld, actor: Actor, change: RecordedChange): Db {
  let entry: Statement | undefined = entryOf(newId('aud'), now(), actor, change)
  const take = (): readonly Statement[] => {
    const taken = entry
    entry = undefined
    return taken ? [taken] : []
  }
  return {
    ...db,
    batch: (statements) => db.batch([...statements, ...take()]),
    move: (movement) => db.move({ ...movement, also: [...movement.also, ...take()] }),
  }
}

function entryOf(
  id: string,
  at: number,
  actor: Actor,
  { action, target, before, after }: RecordedChange,
): Statement {
  return {
    sql: `insert into audit_trail (id, at, actor, action, target, before, after, request_id, client_address)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    parameters: [
      id,
      at,
      actor.name,
      action,
      target,
      before ? JSON.stringify(before) : null,
      after ? JSON.stringify(after) : null,
      actor.requestId,
      actor.clientAddress,
    ],
  }
}

/** Adds an entry for something that is not a change of the database, such as a reload. */
export async function record(world: TrailWorld, actor: Actor, change: RecordedChange): Promise<void> {
  await recording(world, actor, change).batch([])
}

interface AuditFilter {
  actor?: string | undefined
  action?: string | undefined
  target?: string | undefined
  since?: number | undefined
  /** Entries before the one with this id. */
  before?: string | undefined
  limit: number
}

/** Entries, newest first. */
export async function listAudit(db: Db, filter: AuditFilter): Promise<AuditEntry[]> {
  const list = new Conditions()
    .where('actor = ?', filter.actor)
    .where('action = ?', filter.action)
    .where('target = ?', filter.target)
    .where('at >= ?', filter.since)
    .where('id < ?', filter.before)
  const rows = await db.query({
    sql: `select * from audit_trail ${list.sql} order by id desc limit ${list.place(filter.limit)}`,
    parameters: list.parameters,
  })
  return rows.map(entryOfRow)
}

const Details = Nullable(Type.Unsafe<object>(Type.Object({}, open)))

export const auditView = viewOf<AuditEntry>()({
  id: [text, ({ id }) => id],
  at: [text, ({ at }) => isoTime(at)],
  actor: [text, ({ actor }) => actor],
  action: [text, ({ action }) => action],
  target: [text, ({ target }) => target],
  before: [Details, ({ before }) => before],
  after: [Details, ({ after }) => after],
  request_id: [maybeText, ({ requestId }) => requestId],
  client_address: [maybeText, ({ clientAddress }) => clientAddress],
})
