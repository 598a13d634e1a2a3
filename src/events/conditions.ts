// Conditions that are reported to operators, as rows: each when it begins, again after a while if it lasts, and once
// when it ends, by one of any number of nodes. A condition that comes and goes must not be reported each time: its end counts only
// after a quiet period, which becomes longer with each return.

import { type EventName, type EventState, eventsSentOnce, eventTypes } from '../contract/events'
import { apply, type Db, type Row, type Statement } from '../db/db'
import { jsonOfColumn } from '../db/json-column'

/** The state of something, as it was observed. */
export interface EventCondition {
  type: EventName
  /** The account, key or upstream that it is about, unique within the type. */
  subject: string
  /** The account that it concerns; null if it concerns only the operator. */
  account: string | null
  /** Figures for the message, in the terms of the API. */
  details: Record<string, unknown>
}

/** A condition as stored. */
export interface StoredCondition extends EventCondition {
  beganAt: number
  /** Until when it is assumed to last unless it is seen again. */
  lastsUntil: number
  notifiedAt: number | null
}

/** A condition to report. */
export interface DueCondition extends StoredCondition {
  state: EventState
}

const SENT_ONCE = eventsSentOnce.map((name) => `'${name}'`).join(', ')

/** Lasts until it is reported to be over. */
export const UNTIL_ENDED = Number.MAX_SAFE_INTEGER

/** How long nothing must be seen before an end counts: initially, and at most. */
const CALM_MS = 2 * 60_000
const MAX_CALM_MS = 64 * 60_000
/** How long a vendor must be down before it is reported; other conditions are reported immediately. */
const DOWN_MS = 60_000
/** A condition lasts if it was seen within this time, or until it is over. */
const JUST_NOW_MS = 60_000
/** How long a condition that has come and gone is remembered. */
const REMEMBERED_MS = 86_400_000
/** Maximum number of conditions that are reported at once. */
const MAX_SENT = 200

/** The statement that records a condition, which lasts for some time unless it is seen again. */
export function noteCondition(
  { type, subject, account, details }: EventCondition,
  now: number,
  lastsMs: number,
): Statement {
  const least = lastsMs === UNTIL_ENDED ? UNTIL_ENDED : now + lastsMs
  return {
    sql: `insert into event_conditions (type, subject, account, details, began_at, seen_at, lasts_until, calm_ms)
      values ($1, $2, $3, $4, $5, $5, case when $6 > $5 + $7 then $6 else $5 + $7 end, $7)
      on conflict (type, subject) do update set account = excluded.account, details = excluded.details,
        began_at = case when event_conditions.lasts_until <= $5 and event_conditions.told_at is null
          then excluded.began_at else event_conditions.began_at end,
        seen_at = excluded.seen_at,
        lasts_until = case when $6 > $5 + event_conditions.calm_ms then $6 else $5 + event_conditions.calm_ms end`,
    parameters: [type, subject, account, JSON.stringify(details), now, least, CALM_MS],
  }
}

/** The statement that ends conditions of a type after their quiet period: all except those whose subjects a query returns. */
export function endOthers(type: EventName, now: number, current: Statement): Statement {
  const parameters = [...(current.parameters ?? [])]
  const [ofType, at, forever] = [type, now, UNTIL_ENDED].map((value) => `$${parameters.push(value)}`)
  return {
    sql: `update event_conditions set lasts_until = cast(${at} as bigint) + calm_ms
      where type = ${ofType} and lasts_until = ${forever}
      and subject not in (select subject from (${current.sql}) as still)`,
    parameters,
  }
}

/** The statement that ends a condition after its quiet period, with figures of its end. Its beginning is reported with its own. */
export function endCondition(
  { type, subject, details }: Pick<EventCondition, 'type' | 'subject' | 'details'>,
  now: number,
): Statement {
  return {
    sql: `update event_conditions set lasts_until = $3 + calm_ms,
        details = case when told_at is null then details else $4 end
      where type = $1 and subject = $2 and lasts_until > $3 + calm_ms`,
    parameters: [type, subject, now, JSON.stringify(details)],
  }
}

/**
 * The query of conditions among another query's rows that are new, or soon due to be reported again, so that their figures must be
 * current.
 */
export function newAmong(type: EventName, now: number, repeatMs: number, current: Statement): Statement {
  const parameters = [...(current.parameters ?? [])]
  const [ofType, forever, before] = [type, UNTIL_ENDED, now - repeatMs].map(
    (value) => `$${parameters.push(value)}`,
  )
  return {
    sql: `select * from (${current.sql}) as found where not exists (select 1 from event_conditions c
        where c.type = ${ofType} and c.subject = found.subject and c.lasts_until = ${forever}
        and (c.told_at is null or c.told_at > ${before}))
      limit ${MAX_SENT}`,
    parameters,
  }
}

/** Conditions to report now: beginning, continuing and ended ones. */
export async function dueConditions(db: Db, now: number, repeatMs: number): Promise<DueCondition[]> {
  const rows = await db.query({
    sql: `select * from event_conditions where
      (told_at is null and lasts_until > $1 and (type <> 'upstream.down' or seen_at - began_at >= ${DOWN_MS}))
      or (told_at is not null and lasts_until <= $1)
      or (told_at <= $2 and type not in (${SENT_ONCE}) and (lasts_until = ${UNTIL_ENDED} or seen_at > $1 - ${JUST_NOW_MS}))
      order by type, subject limit ${MAX_SENT}`,
    parameters: [now, now - repeatMs],
  })
  return rows.map(conditionOfRow).map((condition) => ({ ...condition, state: stateOf(condition, now) }))
}

function stateOf({ notifiedAt, lastsUntil }: StoredCondition, now: number): EventState {
  if (lastsUntil <= now) return 'ended'
  return notifiedAt === null ? 'began' : 'continues'
}

/** Whether it is reported at all: the end of some conditions is not. */
export function isNotified({ type, state }: DueCondition): boolean {
  return state !== 'ended' || eventTypes[type].notifiesEnd
}

/** The statement that marks a condition as reported. It affects no row if another node has reported it. */
export function markNotified({ type, subject, state, notifiedAt }: DueCondition, now: number): Statement {
  if (state === 'began')
    return {
      sql: `update event_conditions set told_at = $3
        where type = $1 and subject = $2 and told_at is null and lasts_until > $3`,
      parameters: [type, subject, now],
      guard: true,
    }
  if (state === 'continues')
    return {
      sql: `update event_conditions set told_at = $3
        where type = $1 and subject = $2 and told_at = $4 and lasts_until > $3`,
      parameters: [type, subject, now, notifiedAt],
      guard: true,
    }
  return {
    sql: `update event_conditions set told_at = null,
        calm_ms = case when calm_ms * 2 > ${MAX_CALM_MS} then ${MAX_CALM_MS} else calm_ms * 2 end
      where type = $1 and subject = $2 and told_at = $4 and lasts_until <= $3`,
    parameters: [type, subject, now, notifiedAt],
    guard: true,
  }
}

/** Removes conditions that ended more than a day ago. */
export async function forgetConditions(db: Db, now: number): Promise<void> {
  await apply(db, [
    {
      sql: 'delete from event_conditions where told_at is null and lasts_until < $1',
      parameters: [now - REMEMBERED_MS],
    },
  ])
}

/** Current conditions, oldest first. */
export async function activeConditions(db: Db, now: number, limit: number): Promise<StoredCondition[]> {
  const rows = await db.query({
    sql: `select * from event_conditions where lasts_until > $1 and (told_at is not null or type <> 'upstream.down'
        or seen_at - began_at >= ${DOWN_MS}) order by began_at, type, subject limit $2`,
    parameters: [now, limit],
  })
  return rows.map(conditionOfRow)
}

function conditionOfRow(row: Row): StoredCondition {
  return {
    type: row.type as EventName,
    subject: row.subject as string,
    account: row.account as string | null,
    details: jsonOfColumn(row.details, {}) ?? {},
    beganAt: row.began_at as number,
    lastsUntil: row.lasts_until as number,
    notifiedAt: row.told_at as number | null,
  }
}
