// Allowances: the money that accounts of a plan receive for a period, and the rest that is taken back at its end. Both are ledger
// entries, each made once, however often and on whichever node this runs. It must never take back more than is available, or more
// than was given and not spent.

import type { Budget } from '../../contract/budgets'
import { type Db, type Statement, tryApply } from '../../db/db'
import { MAX_NANO } from '../../lib/money'
import { bookOf } from '../ledger/balances'
import { calendarPeriod } from '../ledger/limits'
import { usageBy } from '../reports/usage-report'

/** How long after its end a period is settled, in milliseconds: by then, everything that was ending has ended, on every node. */
const SETTLE_AFTER_MS = 60_000
/** Number of accounts per run; the rest waits for the next run. */
const MAX_ACCOUNTS = 1_000

interface PlanAllowance {
  name: string
  allowance: Budget | null
}

/** Credits accounts with the allowances of their plans for the current period, and takes back the rest of ended ones. */
export async function renewAllowances(db: Db, plans: Iterable<PlanAllowance>, now: number): Promise<void> {
  const ended = await db.query({
    sql: `select account, period, amount, begins_at, ends_at from allowances
      where ended_at is null and ends_at <= $1 order by ends_at limit ${MAX_ACCOUNTS}`,
    parameters: [now - SETTLE_AFTER_MS],
  })
  for (const row of ended) await takeBack(db, row as unknown as GivenRow, now)
  for (const { name, allowance } of plans) {
    if (!allowance) continue
    const period = calendarPeriod(allowance.period, now)
    const accounts = await db.query({
      sql: `select d.name from account_details d join accounts a on a.name = d.name
        where plan = $1 and closed_at is null and balance <= $3
        and not exists (select 1 from allowances where account = d.name and period = $2) order by d.name limit ${MAX_ACCOUNTS}`,
      parameters: [name, period.name, MAX_NANO - allowance.amountNano],
    })
    for (const row of accounts) await give(db, row.name as string, allowance, now)
  }
}

/** Credits an account with the allowance of the current period, unless it already has it. */
async function give(db: Db, account: string, { amountNano, period }: Budget, now: number): Promise<void> {
  const { name, beginsAt, endsAt } = calendarPeriod(period, now)
  await tryApply(db, [
    {
      sql: `insert into allowances (account, period, amount, begins_at, ends_at) values ($1, $2, $3, $4, $5)
        on conflict (account, period) do nothing`,
      parameters: [account, name, amountNano, beginsAt, endsAt],
      guard: true,
    },
    {
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount, note)
        values ($1, $2, 'allowance', 'funding', $3, $4, $5) on conflict (id) do nothing`,
      parameters: [`allowance:${account}:${name}`, now, bookOf(account), amountNano, `allowance of ${name}`],
      guard: true,
    },
    {
      sql: 'update accounts set balance = balance + $1 where name = $2 and balance <= $3',
      parameters: [amountNano, account, MAX_NANO - amountNano],
      guard: true,
    },
  ])
}

interface GivenRow {
  account: string
  period: string
  amount: number
  begins_at: number
  ends_at: number
}

/** Takes back the unspent part of an account's allowance, as far as it is available. */
async function takeBack(
  db: Db,
  { account, period, amount, begins_at: since, ends_at: until }: GivenRow,
  now: number,
): Promise<void> {
  const [used] = await usageBy(db, 'account', { since, until, account })
  const unspent = Math.max(0, amount - (used?.amountNano ?? 0))
  const end: Statement = {
    sql: 'update allowances set ended_at = $3 where account = $1 and period = $2 and ended_at is null',
    parameters: [account, period, now],
    guard: true,
  }
  if (unspent === 0) return void (await tryApply(db, [end]))
  // If another process does the same, this one changes nothing.
  await tryApply(db, [
    end,
    // Locks the row, so that both statements see one balance.
    { sql: 'update accounts set held = held where name = $1', parameters: [account] },
    {
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount, note)
        select cast($1 as text), cast($2 as bigint), 'allowance_end', cast($3 as text), 'funding', ${TAKEN}, cast($6 as text)
        from accounts where name = $5 and balance > held`,
      parameters: [
        `allowance_end:${account}:${period}`,
        now,
        bookOf(account),
        unspent,
        account,
        `not spent of ${period}`,
      ],
    },
    {
      sql: `update accounts set balance = balance - ${TAKEN.replaceAll('$4', '$1')} where name = $2 and balance > held`,
      parameters: [unspent, account],
    },
  ])
}

/** The part of the unspent $4 that an account has available. */
const TAKEN =
  '(case when balance - held < cast($4 as bigint) then balance - held else cast($4 as bigint) end)'

/** The allowance of an account for a period that has not ended; undefined without one. */
export async function allowanceOf(
  db: Db,
  account: string,
  now: number,
): Promise<{ amountNano: number; beginsAt: number; endsAt: number } | undefined> {
  const [row] = await db.query({
    sql: `select amount, begins_at, ends_at from allowances where account = $1 and ends_at > $2
      order by ends_at limit 1`,
    parameters: [account, now],
  })
  return (
    row && {
      amountNano: row.amount as number,
      beginsAt: row.begins_at as number,
      endsAt: row.ends_at as number,
    }
  )
}
