// Conditions of the books and the keys that are reported to operators: balances that are low, budgets that are used up, keys that
// expire, shortfalls, abandoned webhooks. It reads existing rows; requests must never wait for it.

import { budgetsOfAccounts, budgetsOfKeys, fullAccounts, fullKeys } from '../billing/ledger/full-budgets'
import { DAY_MS, HOUR_MS } from '../billing/reports/usage-totals'
import type { EventSettings } from '../config/events'
import { budgetsOf } from '../config/models/plans'
import type { Config } from '../config/schema'
import type { EventName } from '../contract/events'
import { apply, type Db, type Row, type Statement, type Value } from '../db/db'
import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import { type DueCondition, endOthers, newAmong, noteCondition, UNTIL_ENDED } from './conditions'

/** A state that a query finds: its rows have a subject, an account, and figures for the message. */
interface BookCondition {
  type: EventName
  /** The query of all subjects that are currently in this state. */
  current(settings: EventSettings, now: number, plans: Plans): Statement
  /** The query of the same rows for subjects by name, in this state or not; only if an end is reported. */
  figures?(settings: EventSettings, now: number, plans: Plans, names: readonly string[]): Statement
  details(row: Row): Record<string, unknown>
}

type Plans = NonNullable<Config['plans']>

const usd = (value: Value | undefined) => formatUsd(Number(value))

const bookConditions: readonly BookCondition[] = [
  {
    type: 'balance.low',
    current(settings) {
      const parameters: Value[] = []
      const threshold = thresholdOf(settings, parameters)
      return {
        // An account that never had money is new, not low.
        sql: `select a.name as subject, a.name as account, balance, ${threshold} as threshold
          from accounts a left join account_details d on d.name = a.name
          where balance < ${threshold} and frozen_at is null and closed_at is null
          and exists (select 1 from transfers where to_book = 'account:' || a.name)`,
        parameters,
      }
    },
    figures(settings, _now, _plans, names) {
      const parameters: Value[] = []
      const threshold = thresholdOf(settings, parameters)
      const places = names.map((name) => `$${parameters.push(name)}`)
      return {
        sql: `select a.name as subject, balance, ${threshold} as threshold from accounts a
          where a.name in (${places.join(', ')})`,
        parameters,
      }
    },
    details: ({ balance, threshold }) => ({ balance_usd: usd(balance), threshold_usd: usd(threshold) }),
  },
  {
    type: 'budget.reached',
    current({ budgetPercent: percent }, now) {
      const { sql, parameters = [] } = fullKeys({ percent, now })
      return { sql: `select full_keys.name as subject, full_keys.* from (${sql}) full_keys`, parameters }
    },
    figures: (_settings, now, _plans, names) => budgetsOfKeys({ names, now }),
    details: (row) => ({ key_id: row.id, ...budgetJson(row) }),
  },
  {
    type: 'account_budget.reached',
    current({ budgetPercent: percent }, now, plans) {
      const { sql, parameters = [] } = fullAccounts(budgetsOf(plans), { percent, now })
      return {
        sql: `select name as subject, name as account, full_accounts.* from (${sql}) full_accounts`,
        parameters,
      }
    },
    figures: (_settings, now, plans, names) => budgetsOfAccounts(budgetsOf(plans), { names, now }),
    details: budgetJson,
  },
  {
    type: 'key.expiring',
    current: ({ keyExpiringMs }, now) => ({
      sql: `select name as subject, account, id, expires_at from keys
        where revoked_at is null and expires_at > $1 and expires_at <= $2`,
      parameters: [now, now + keyExpiringMs],
    }),
    details: (row) => ({ key_id: row.id, expires_at: isoTime(row.expires_at as number) }),
  },
  {
    type: 'shortfall',
    current: (_settings, now) => ({
      sql: `select s.account as subject, s.account as account, cast(sum(t.shortfall) as bigint) as shortfall
        from usage_totals t join charge_series s on s.id = t.series
        where t.span = ${HOUR_MS} and t.start >= $1 and t.shortfall > 0 group by s.account`,
      parameters: [lastHour(now)],
    }),
    details: ({ shortfall }) => ({ shortfall_usd: usd(shortfall) }),
  },
  {
    type: 'statement.issued',
    current: (_settings, now) => ({
      sql: `select cast(number as text) as subject, account, month from statements where issued_at > $1`,
      parameters: [now - DAY_MS],
    }),
    details: ({ month }) => ({ month }),
  },
  {
    type: 'webhook.failed',
    current: (_settings, now) => ({
      sql: `select account as subject, account, count(*) as failed from webhooks
        where state = 'failed' and ended_at > $1 and recipient is null group by account`,
      parameters: [now - HOUR_MS],
    }),
    details: ({ failed }) => ({ webhooks: Number(failed) }),
  },
]

/** The expression of the balance below which an account is low. It adds what it needs to the parameters. */
function thresholdOf({ lowBalanceNano, lowBalanceNanoOf }: EventSettings, parameters: Value[]): string {
  const place = (value: Value) => `$${parameters.push(value)}`
  const otherwise = `cast(${place(lowBalanceNano)} as bigint)`
  const single = [...lowBalanceNanoOf].map(
    ([account, nano]) => `when ${place(account)} then cast(${place(nano)} as bigint)`,
  )
  return single.length === 0 ? otherwise : `case a.name ${single.join(' ')} else ${otherwise} end`
}

function budgetJson(row: Row): Record<string, unknown> {
  return {
    used_usd: usd(row.committed),
    budget_usd: usd(row.budget),
    budget_period: row.budget_period,
  }
}

/** The beginning of the hour before this one. */
function lastHour(now: number): number {
  return now - (now % HOUR_MS) - HOUR_MS
}

/** Records the conditions that have begun or ended since the last time. */
export async function checkLedger(
  db: Db,
  settings: EventSettings,
  now: number,
  plans: Plans = {},
): Promise<void> {
  for (const { type, current, details } of bookConditions) {
    const query = current(settings, now, plans)
    const rows = await db.query(newAmong(type, now, settings.repeatMs, query))
    const seen = rows.map((row) =>
      noteCondition(
        { type, subject: row.subject as string, account: row.account as string, details: details(row) },
        now,
        UNTIL_ENDED,
      ),
    )
    await apply(db, [...seen, endOthers(type, now, query)])
  }
}

/** Conditions that are over, with the current figures instead of those from while they lasted. */
export async function withEndFigures(
  db: Db,
  settings: EventSettings,
  now: number,
  plans: Plans,
  due: readonly DueCondition[],
): Promise<DueCondition[]> {
  const found = new Map<string, Record<string, unknown>>()
  for (const { type, figures, details } of bookConditions) {
    const over = due.filter((each) => each.type === type && each.state === 'ended')
    if (!figures || over.length === 0) continue
    const names = over.map(({ subject }) => subject)
    // A subject without a row no longer has figures, such as a key whose budget was removed.
    for (const name of names) found.set(`${type} ${name}`, {})
    for (const row of await db.query(figures(settings, now, plans, names)))
      found.set(`${type} ${row.subject ?? row.name}`, details(row))
  }
  return due.map((condition) => {
    const { type, subject, state, details } = condition
    const figures = state === 'ended' ? found.get(`${type} ${subject}`) : undefined
    return { ...condition, details: figures ?? details }
  })
}
