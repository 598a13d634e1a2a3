// Webhooks as rows: the receiver of each, the attempts, and when to retry. A row is written in the transaction that ends its task,
// so that no end goes unreported. Events for operators are stored in the same table, and are sent in the same way. Nothing here
// must ever call the network.

import { Conditions } from '../db/conditions'
import { apply, type Db, type Row, type Statement, tryApply, type Value } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'

/** The state of a delivery. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const

export type Webhook = ReturnType<typeof webhookOfRow>

function webhookOfRow(row: Row) {
  return {
    /** Equal in all attempts, so that receivers can drop duplicates. */
    id: row.id as string,
    /** The ended task; empty for an event, as are account, key and URL. */
    task: row.task as string,
    /** The recipient of an event, by its name in the configuration; null for the webhook of a task. */
    recipient: row.recipient as string | null,
    account: row.account as string,
    keyId: row.key_id as string,
    url: row.url as string,
    /** The host of the URL, or the recipient: each gets only a few deliveries at a time. */
    host: row.host as string,
    /** The stored body; `bodyOfWebhook` reads it. */
    storedBody: row.body as string,
    state: row.state as (typeof DELIVERY_STATES)[number],
    /** All attempts. */
    attempts: row.attempts as number,
    /** Failed attempts since the start of the schedule. */
    step: row.step as number,
    nextAt: row.next_at as number,
    leaseUntil: row.lease_until as number,
    fence: row.fence as number,
    createdAt: row.created_at as number,
    endedAt: row.ended_at as number | null,
  }
}

export type Attempt = ReturnType<typeof attemptOfRow>

function attemptOfRow(row: Row) {
  return {
    at: row.at as number,
    /** The HTTP status; null without an answer. */
    status: row.status as number | null,
    /** The beginning of the answer, or why there was none. */
    answer: row.answer as string,
    durationMs: row.duration_ms as number,
  }
}

const VIDEO_EVENT = 'video.generation'

interface EndedTask {
  id: string
  account: string
  keyId: string
  webhookUrl: string
  /** The prefix of its event name, before the state. Default `video.generation`. */
  event?: string
}

/**
 * The statement that adds a webhook; it belongs to the transaction that ends the task. `document` is the task as
 * callers read it.
 */
export function insertWebhook(
  { codec }: Pick<Db, 'codec'>,
  id: string,
  task: EndedTask,
  state: 'succeeded' | 'failed',
  document: string,
  now: number,
): Statement {
  return {
    sql: `insert into webhooks (id, task, account, key_id, url, host, body, state, attempts, step, next_at, lease_until, fence,
        created_at)
      values ($1, $2, $3, $4, $5, $6, $7, 'pending', 0, 0, $8, 0, 0, $8)`,
    parameters: [
      id,
      task.id,
      task.account,
      task.keyId,
      task.webhookUrl,
      // Checked at the submission. If it is invalid after all, the task still ends, and the delivery reports the fault.
      URL.parse(task.webhookUrl)?.host ?? '',
      codec.encode(bodyOf(`${task.event ?? VIDEO_EVENT}.${state}`, document, now), placeOf(id)),
      now,
    ],
  }
}

/** The statement that adds an event for a recipient. */
export function insertEvent(
  { codec }: Pick<Db, 'codec'>,
  { id, recipient, body }: { id: string; recipient: string; body: string },
  now: number,
): Statement {
  return {
    sql: `insert into webhooks (id, task, recipient, account, key_id, url, host, body, state, attempts, step, next_at,
        lease_until, fence, created_at)
      values ($1, '', $2, '', '', '', $2, $3, 'pending', 0, 0, $4, 0, 0, $4)`,
    parameters: [id, recipient, codec.encode(body, placeOf(id)), now],
  }
}

/** The body of a webhook. Read one at a time: an unreadable one must not prevent others from being sent. */
export function bodyOfWebhook({ codec }: Pick<Db, 'codec'>, { id, storedBody }: Webhook): string {
  return codec.decode(storedBody, placeOf(id))
}

function placeOf(id: string): string {
  return `webhooks.body ${id}`
}

export const webhookTexts: EncodedTable = {
  table: 'webhooks',
  primaryKey: ['id'],
  columns: ['body'],
  id: 'id',
  placeOf,
}

/**
 * The body: the task under `data`, byte for byte, and its fields again at the top for receivers that expect a bare
 * task.
 */
function bodyOf(event: string, document: string, now: number): string {
  const type = JSON.stringify(event)
  const timestamp = JSON.stringify(new Date(now).toISOString())
  const { type: _type, timestamp: _timestamp, data: _data, ...fields } = JSON.parse(document)
  const rest = JSON.stringify(fields).slice(1, -1)
  return `{"type":${type},"timestamp":${timestamp},"data":${document}${rest && `,${rest}`}}`
}

/** When the first webhook is due; Infinity if none is pending. */
export async function firstDueAt(db: Db): Promise<number> {
  const [row] = await db.query({
    sql: `select next_at from webhooks where state = 'pending' order by next_at limit 1`,
  })
  return Number(row?.next_at ?? Number.POSITIVE_INFINITY)
}

/** Claims due webhooks, except those of busy hosts and accounts, so that they do not delay the rest. */
export async function claimWebhooks(
  db: Db,
  now: number,
  options: {
    limit: number
    leaseMs: number
    busyHosts: readonly string[]
    busyAccounts: readonly string[]
  },
): Promise<Webhook[]> {
  const parameters: Value[] = [now, now + options.leaseMs, options.limit]
  const without = (column: string, values: readonly string[]) => {
    const places = values.map((value) => `$${parameters.push(value)}`)
    return places.length > 0 ? `and ${column} not in (${places.join(', ')})` : ''
  }
  const others = `${without('host', options.busyHosts)} ${without('account', options.busyAccounts)}`
  const due = `state = 'pending' and next_at <= $1 and lease_until <= $1`
  const [rows = []] = await apply(db, [
    {
      // The conditions are repeated because another node may have taken a row between the choice and the change.
      sql: `update webhooks set lease_until = $2, fence = fence + 1 where id in (
          select id from webhooks where ${due} ${others} order by next_at limit $3)
        and ${due} returning *`,
      parameters,
    },
  ])
  return rows.map(webhookOfRow)
}

/** Ends the leases of a dead process. Only for a database that no other process uses. */
export async function forgetWebhookLeases(db: Db): Promise<void> {
  await apply(db, [
    { sql: `update webhooks set lease_until = 0 where state = 'pending' and lease_until > 0` },
  ])
}

/** The statement that returns a claimed webhook without an attempt. */
export function unclaimWebhook(webhook: Webhook): Statement {
  return {
    sql: `update webhooks set lease_until = 0 where id = $1 and fence = $2 and state = 'pending'`,
    parameters: [webhook.id, webhook.fence],
  }
}

/** Records an attempt and its consequences. False if another node has taken over. */
export async function recordAttempt(
  db: Db,
  webhook: Webhook,
  attempt: Attempt,
  next: { state: Webhook['state']; nextAt: number },
): Promise<boolean> {
  const ended = next.state === 'pending' ? null : attempt.at + attempt.durationMs
  return tryApply(db, [
    {
      sql: `update webhooks set state = $3, attempts = attempts + 1, step = step + 1, next_at = $4, lease_until = 0, ended_at = $5
        where id = $1 and fence = $2 and state = 'pending'`,
      parameters: [webhook.id, webhook.fence, next.state, next.nextAt, ended],
      guard: true,
    },
    {
      sql: `insert into webhook_attempts (webhook, number, at, status, answer, duration_ms) values ($1, $2, $3, $4, $5, $6)`,
      parameters: [
        webhook.id,
        webhook.attempts + 1,
        attempt.at,
        attempt.status,
        attempt.answer,
        attempt.durationMs,
      ],
    },
  ])
}

/** A task that changed from failed to succeeded has two webhooks; the later one has its current state. */
const LAST_OF_TASK = 'select id from webhooks where task = $1 order by created_at desc, id desc limit 1'

/**
 * Sends a task's webhook again from the start of its schedule, which is due at once by any clock. False if the task has
 * none.
 */
export async function redeliver(db: Db, task: string): Promise<boolean> {
  return tryApply(db, [restart(`id = (${LAST_OF_TASK})`, task)])
}

/** Sends an event again from the start of its schedule. False if no event has this id. */
export async function redeliverEvent(db: Db, id: string): Promise<boolean> {
  return tryApply(db, [restart('id = $1 and recipient is not null', id)])
}

function restart(which: string, parameter: string): Statement {
  return {
    sql: `update webhooks set state = 'pending', step = 0, next_at = created_at, lease_until = 0, fence = fence + 1, ended_at = null
      where ${which}`,
    parameters: [parameter],
    guard: true,
  }
}

export async function webhookOf(
  db: Db,
  task: string,
): Promise<{ webhook: Webhook; attempts: Attempt[] } | undefined> {
  const rows = await db.query({
    sql: `select * from webhooks where id = (${LAST_OF_TASK})`,
    parameters: [task],
  })
  if (!rows[0]) return undefined
  const webhook = webhookOfRow(rows[0])
  const attempts = await db.query({
    sql: 'select * from webhook_attempts where webhook = $1 order by number',
    parameters: [webhook.id],
  })
  return { webhook, attempts: attempts.map(attemptOfRow) }
}

/** An event with the answer to its last attempt. */
export interface SentEvent extends Webhook {
  lastStatus: number | null
  lastAnswer: string | null
}

/** Events, newest first, before the one with the id `after`. */
export async function listEvents(
  db: Db,
  {
    state,
    recipient,
    after,
    limit,
  }: {
    state?: string | undefined
    recipient?: string | undefined
    after?: string | undefined
    limit: number
  },
): Promise<SentEvent[]> {
  const list = new Conditions('recipient is not null')
    .where('state = ?', state)
    .where('recipient = ?', recipient)
    .where('id < ?', after)
  const rows = await db.query({
    sql: `select webhooks.*, a.status as last_status, a.answer as last_answer from webhooks
      left join webhook_attempts a on a.webhook = webhooks.id and a.number = webhooks.attempts
      ${list.sql} order by id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map((row) => ({
    ...webhookOfRow(row),
    lastStatus: row.last_status as number | null,
    lastAnswer: row.last_answer as string | null,
  }))
}

/** Webhooks of tasks, newest first, before the one with the id `after`. */
export async function listWebhooks(
  db: Db,
  {
    state,
    account,
    after,
    limit,
  }: { state?: string | undefined; account?: string | undefined; after?: string | undefined; limit: number },
): Promise<Webhook[]> {
  const list = new Conditions('recipient is null')
    .where('state = ?', state)
    .where('account = ?', account)
    .where('id < ?', after)
  const rows = await db.query({
    sql: `select * from webhooks ${list.sql} order by id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(webhookOfRow)
}

/** How long the result of a webhook can be looked up, in milliseconds. */
export const KEEP_WEBHOOKS_MS = 30 * 86_400_000

/** Statements that delete webhooks that ended long ago, with their attempts. */
export function forgetWebhooks(now: number): Statement[] {
  const old = 'select id from webhooks where ended_at < $1'
  return [
    { sql: `delete from webhook_attempts where webhook in (${old})`, parameters: [now - KEEP_WEBHOOKS_MS] },
    { sql: 'delete from webhooks where ended_at < $1', parameters: [now - KEEP_WEBHOOKS_MS] },
  ]
}
