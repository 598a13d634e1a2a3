// Accounts apart from their money: their names, notes, and whether they are open. The name of an account is in the ledger and must
// never change; its display name may.

import { Nullable, OneOf } from '../api-operation/operation'
import { dollars, maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { balanceOfRow } from '../billing/ledger/balances'
import type { Config } from '../config/schema'
import type { Budget } from '../contract/budgets'
import { Conditions } from '../db/conditions'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'
import { conflict, invalidRequest, notFound } from '../lib/errors'
import { formatUsd, parseUsd } from '../lib/money'
import { endSessionsOfAccount } from './sessions'

export type Account = ReturnType<typeof accountOfRow>

function accountOfRow(row: Row) {
  return {
    ...balanceOfRow(row),
    /** Shown to people instead of the name; null if they see the name. */
    displayName: row.display_name as string | null,
    /** For operators only. */
    note: row.note as string | null,
    frozenAt: row.frozen_at as number | null,
    closedAt: row.closed_at as number | null,
    /** The name of its plan; null if it has no plan. */
    plan: row.plan as string | null,
    /** The budget that is set for the account; null if the budget of its plan applies, if any. */
    budget: accountBudgetOfRow(row),
    createdAt: row.created_at as number,
  }
}

export const MAX_DISPLAY_NAME_LENGTH = 200
export const MAX_NOTE_LENGTH = 2_000

const SELECT_ACCOUNTS = `select accounts.*, display_name, note, frozen_at, closed_at, plan,
    account_budget, account_budget_period from accounts
  left join account_details on account_details.name = accounts.name`

interface AccountFilter {
  /** Only accounts after this one in the list. */
  after?: string
  plan?: string | undefined
  /** Only accounts with a current hold. */
  isHeld?: boolean
  /** Only accounts whose name or display name contains this text. */
  text?: string | undefined
  limit?: number
}

/** Accounts by their names. */
export async function listAccounts(
  db: Db,
  { after, plan, isHeld = false, text, limit = 1_000_000 }: AccountFilter = {},
): Promise<Account[]> {
  const list = new Conditions(...(isHeld ? ['accounts.name in (select account from open_charges)'] : []))
    .where('accounts.name > ?', after)
    .where('plan = ?', plan)
    .where(
      `accounts.name || ' ' || coalesce(display_name, '') ${db.kind === 'postgres' ? 'ilike' : 'like'} ? escape '!'`,
      text && `%${text.replace(/[!%_]/g, '!$&')}%`,
    )
  const rows = await db.query({
    sql: `${SELECT_ACCOUNTS} ${list.sql} order by accounts.name limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(accountOfRow)
}

export async function findAccount(db: Db, name: string): Promise<Account | undefined> {
  const rows = await db.query({ sql: `${SELECT_ACCOUNTS} where accounts.name = $1`, parameters: [name] })
  return rows[0] && accountOfRow(rows[0])
}

/** An account by its name. Rejects with 404: accounts are created only with keys, so that money for a mistyped name is not lost. */
export async function requireAccount(db: Db, name: string): Promise<Account> {
  const account = await findAccount(db, name)
  if (!account) throw notFound('account', name)
  return account
}

/** Throws 409 for a closed account. */
export function assertOpen({ account, closedAt }: Pick<Account, 'account' | 'closedAt'>): void {
  if (closedAt !== null) throw conflict('account_closed', `Account ${account} is closed permanently.`)
}

/** The statement that gives a new account its details; it does not change existing ones. */
export function introduceAccount({
  account,
  displayName,
  note,
  plan,
  frozenAt,
}: Pick<Account, 'account' | 'displayName' | 'note' | 'plan' | 'frozenAt'>): Statement {
  return {
    sql: `insert into account_details (name, display_name, note, plan, frozen_at) values ($1, $2, $3, $4, $5)
      on conflict (name) do nothing`,
    parameters: [account, displayName, note, plan, frozenAt],
  }
}

/** Settings of an account. */
export type AccountDetails = Pick<Account, 'account' | 'displayName' | 'note' | 'plan' | 'budget'>

/** Sets the display name, the note, the plan and the budget of an account. */
export async function describeAccount(
  db: Db,
  details: AccountDetails,
  also: readonly Statement[] = [],
): Promise<void> {
  await tryApply(db, [setDetails(details), ...also])
}

/** The statement that sets the details of an account. */
export function setDetails({ account, displayName, note, plan, budget }: AccountDetails): Statement {
  return {
    sql: `insert into account_details (name, display_name, note, plan, account_budget, account_budget_period)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (name) do update set display_name = excluded.display_name, note = excluded.note, plan = excluded.plan,
        account_budget = excluded.account_budget, account_budget_period = excluded.account_budget_period`,
    parameters: [account, displayName, note, plan, budget?.amountNano ?? null, budget?.period ?? null],
  }
}

/** Throws 400 for a plan that is not configured. */
export function checkPlan(plan: string | null, config: Pick<Config, 'plans'>): void {
  if (plan === null) return
  const { plans = {} } = config
  if (Object.hasOwn(plans, plan)) return
  const known = Object.keys(plans).join(', ') || 'none'
  throw invalidRequest(
    'plan',
    `Invalid 'plan': there is no plan \`${plan}\`. The configuration has: ${known}.`,
  )
}

/** The budget of an account after a change, in which null removes it. Throws 400 for an invalid one. */
export function accountBudget(
  before: Budget | null,
  usd: string | null | undefined,
  period: Budget['period'] | null | undefined,
): Budget | null {
  if (usd === undefined && period === undefined) return before
  if (usd === null) return null
  const amountNano = usd === undefined ? before?.amountNano : parseUsd(usd)
  const per = period ?? before?.period
  if (amountNano === undefined || amountNano <= 0 || per === undefined)
    throw invalidRequest(
      'budget_usd',
      "A budget is an amount of dollars above 0, such as 100, and needs 'budget_period': day, week or month.",
    )
  return { amountNano, period: per }
}

/** Refuses all keys of an account until it is unfrozen. False if it is frozen or closed. */
export async function freezeAccount(
  db: Db,
  account: string,
  now: number,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into account_details (name, frozen_at) values ($1, $2)
        on conflict (name) do update set frozen_at = excluded.frozen_at
        where account_details.frozen_at is null and account_details.closed_at is null`,
      parameters: [account, now],
      guard: true,
    },
    endSessionsOfAccount(account, now),
    ...also,
  ])
}

/** Unfreezes an account: its keys are accepted again. False if it is not frozen. */
export async function unfreezeAccount(
  db: Db,
  account: string,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update account_details set frozen_at = null
        where name = $1 and frozen_at is not null and closed_at is null`,
      parameters: [account],
      guard: true,
    },
    ...also,
  ])
}

/** Refuses all keys of an account permanently. False while anything is held on it, or if it was already closed. */
export async function closeAccount(
  db: Db,
  account: string,
  now: number,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    // A request that begins at this moment waits for this row, and then holds what its key could still hold.
    {
      sql: 'update accounts set held = held where name = $1 and held = 0',
      parameters: [account],
      guard: true,
    },
    {
      sql: `insert into account_details (name, closed_at) values ($1, $2)
        on conflict (name) do update set closed_at = excluded.closed_at where account_details.closed_at is null`,
      parameters: [account, now],
      guard: true,
    },
    endSessionsOfAccount(account, now),
    ...also,
  ])
}

/** Refuses all keys of an account permanently. Rejects with 409 while anything is held on it. */
export async function closeUnused(db: Db, { account }: Pick<Account, 'account'>, now: number): Promise<void> {
  if (await closeAccount(db, account, now)) return
  const { heldNano, closedAt } = await requireAccount(db, account)
  if (closedAt !== null) return
  throw conflict(
    'account_in_use',
    `$${formatUsd(heldNano)} is held on account ${account} for running requests. Freeze it, wait for them to end, and close it then.`,
  )
}

/** Keys of a frozen account are refused until it is unfrozen, those of a closed one permanently. */
export function accountStatusOf({
  frozenAt,
  closedAt,
}: Pick<Account, 'frozenAt' | 'closedAt'>): 'open' | 'frozen' | 'closed' {
  if (closedAt !== null) return 'closed'
  return frozenAt === null ? 'open' : 'frozen'
}

/** An account as operators see it. */
export const accountView = viewOf<Account>()({
  account: [text, ({ account }) => account],
  balance_usd: [dollars, ({ balanceNano }) => formatUsd(balanceNano)],
  held_usd: [dollars, ({ heldNano }) => formatUsd(heldNano)],
  available_usd: [dollars, ({ availableNano }) => formatUsd(availableNano)],
  status: [OneOf(['open', 'frozen', 'closed']), accountStatusOf],
  display_name: [maybeText, ({ displayName }) => displayName],
  note: [maybeText, ({ note }) => note],
  plan: [maybeText, ({ plan }) => plan],
  budget_usd: [Nullable(dollars), ({ budget }) => budget && formatUsd(budget.amountNano)],
  budget_period: [maybeText, ({ budget }) => budget?.period ?? null],
  frozen_at: [maybeText, ({ frozenAt }) => isoTime(frozenAt)],
  closed_at: [maybeText, ({ closedAt }) => isoTime(closedAt)],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
})

/** The budget of an account in a row with its details. */
export function accountBudgetOfRow(row: Row): Budget | null {
  if (row.account_budget === null) return null
  return {
    amountNano: row.account_budget as number,
    period: row.account_budget_period as Budget['period'],
  }
}
