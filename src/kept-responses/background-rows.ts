// The rows of background responses: their states and their events. A row must never say that a response still runs when no process
// makes it: the process renews a lease. No statement changes a response that has ended.

import { type Db, type Row, type Statement, tryApply } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'

/** A background response as it was last written. */
export interface BackgroundResponse {
  id: string
  account: string
  hasEnded: boolean
  /** JSON of the response object. */
  answer: string
}

/** Events in their order, as text, by the numbers of the first and the last. */
interface EventPiece {
  first: number
  last: number
  text: string
}

/** Rows read at a time. */
const PAGE = 64

function answerPlace(id: string): string {
  return `background_responses.answer ${id}`
}

function eventsPlace(id: string): string {
  return `background_events.events ${id}`
}

export const backgroundTexts: readonly EncodedTable[] = [
  {
    table: 'background_responses',
    primaryKey: ['id'],
    columns: ['answer'],
    id: 'id',
    placeOf: answerPlace,
  },
  {
    table: 'background_events',
    primaryKey: ['response', 'first'],
    columns: ['events'],
    id: 'response',
    placeOf: eventsPlace,
  },
]

/** Writes the row of a response. It must be in the batch of the hold: a response that cannot be stored is not requested. */
export function insertBackground(
  { codec }: Pick<Db, 'codec'>,
  { id, account, answer }: Pick<BackgroundResponse, 'id' | 'account' | 'answer'>,
  { now, leaseUntil, expiresAt }: { now: number; leaseUntil: number; expiresAt: number },
): Statement {
  return {
    sql: `insert into background_responses
      (id, account, answer, has_ended, is_cancelled, lease_until, created_at, expires_at)
      values ($1, $2, $3, 0, 0, $4, $5, $6)`,
    parameters: [id, account, codec.encode(answer, answerPlace(id)), leaseUntil, now, expiresAt],
  }
}

/**
 * Writes events of a running response. Writes nothing if it has ended or was deleted, so that no events are left behind. An earlier
 * write whose result was lost is replaced.
 */
export function insertEvents(
  { codec, kind }: Pick<Db, 'codec' | 'kind'>,
  id: string,
  { first, last, text }: EventPiece,
): Statement {
  return {
    // A concurrent deletion waits, and then finds them.
    sql: `insert into background_events (response, first, last, events)
      select id, cast($2 as bigint), cast($3 as bigint), cast($4 as text) from background_responses
      where id = $1 and has_ended = 0 ${kind === 'postgres' ? 'for key share' : ''}
      on conflict (response, first) do update set last = excluded.last, events = excluded.events`,
    parameters: [id, first, last, codec.encode(text, eventsPlace(id))],
  }
}

/** Writes the end of a response. Misses if another process has ended it, or it was deleted. */
export function endBackground({ codec }: Pick<Db, 'codec'>, id: string, answer: string): Statement {
  return {
    sql: 'update background_responses set has_ended = 1, answer = $2 where id = $1 and has_ended = 0',
    parameters: [id, codec.encode(answer, answerPlace(id))],
    guard: true,
  }
}

/** Writes the end of a response whose lease has run out. Misses if its process has renewed the lease, or ended it. */
export function endOverdue(
  { codec }: Pick<Db, 'codec'>,
  { id, answer, now }: { id: string; answer: string; now: number },
): Statement {
  return {
    sql: `update background_responses set has_ended = 1, answer = $2
      where id = $1 and has_ended = 0 and lease_until <= $3`,
    parameters: [id, codec.encode(answer, answerPlace(id)), now],
    guard: true,
  }
}

/** Removes a response that has no events. */
export function removeUnfinished(id: string): Statement {
  return { sql: 'delete from background_responses where id = $1 and has_ended = 0', parameters: [id] }
}

/** A guard that misses if a response exists. */
export function guardAbsent(id: string): Statement {
  return {
    sql: 'select 1 as gone where not exists (select 1 from background_responses where id = $1)',
    parameters: [id],
    guard: true,
  }
}

/** Renews the lease of a response that runs. Returns whether it should stop; undefined if another process has ended it. */
export async function renewLease(db: Db, id: string, leaseUntil: number): Promise<boolean | undefined> {
  const isOurs = await tryApply(db, [
    {
      sql: 'update background_responses set lease_until = $2 where id = $1 and has_ended = 0',
      parameters: [id, leaseUntil],
      guard: true,
    },
  ])
  if (!isOurs) return undefined
  const [row] = await db.query({
    sql: 'select is_cancelled from background_responses where id = $1',
    parameters: [id],
  })
  return row?.is_cancelled === 1
}

/** Asks the process that makes a response to stop. */
export async function askToCancel(db: Db, account: string, id: string): Promise<void> {
  await db.batch([
    {
      sql: 'update background_responses set is_cancelled = 1 where id = $1 and account = $2 and has_ended = 0',
      parameters: [id, account],
    },
  ])
}

export async function findBackground(
  db: Db,
  account: string,
  id: string,
  now: number,
): Promise<BackgroundResponse | undefined> {
  const [row] = await db.query({
    sql: 'select * from background_responses where id = $1 and account = $2 and expires_at > $3',
    parameters: [id, account, now],
  })
  return row && backgroundOf(db, row)
}

/** Responses whose process is gone. */
export async function abandonedResponses(db: Db, now: number): Promise<BackgroundResponse[]> {
  const rows = await db.query({
    sql: `select * from background_responses where has_ended = 0 and lease_until <= $1
      order by lease_until limit ${PAGE}`,
    parameters: [now],
  })
  return rows.map((row) => backgroundOf(db, row))
}

/** The next events after a number, a page of them. */
export async function eventsAfter(db: Db, id: string, number: number): Promise<EventPiece[]> {
  const rows = await db.query({
    sql: `select first, last, events from background_events where response = $1 and last > $2
      order by first limit ${PAGE}`,
    parameters: [id, number],
  })
  return rows.map(({ first, last, events }) => ({
    first: first as number,
    last: last as number,
    text: db.codec.decode(events as string, eventsPlace(id)),
  }))
}

/** Deletes a response in the background with its events. False if it did not exist. */
export function deleteBackground(db: Db, account: string, id: string): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'delete from background_responses where id = $1 and account = $2',
      parameters: [id, account],
      guard: true,
    },
    { sql: 'delete from background_events where response = $1', parameters: [id] },
  ])
}

/** The statements that delete old responses. */
export function forgetBackground(now: number): Statement[] {
  return [
    {
      sql: `delete from background_events where response in (
        select id from background_responses where expires_at <= $1)`,
      parameters: [now],
    },
    { sql: 'delete from background_responses where expires_at <= $1', parameters: [now] },
  ]
}

function backgroundOf(db: Db, row: Row): BackgroundResponse {
  const id = row.id as string
  return {
    id,
    account: row.account as string,
    hasEnded: row.has_ended === 1,
    // Decoded on use: an unreadable row must not prevent others from being read.
    get answer() {
      return db.codec.decode(row.answer as string, answerPlace(id))
    },
  }
}
