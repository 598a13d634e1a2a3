// Accounts besides their money: what they are called, what is noted of them, and whether they are open. The name of an
// account stands in the ledger and must never change; what it is shown as may.

import { type Balance, balanceJson } from '../billing/balances'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'

export interface Account extends Balance {
  /** Shown to people in place of the name; null for the name. */
  displayName: string | null
  /** For operators only. */
  note: string | null
  frozenAt: number | null
  closedAt: number | null
  createdAt: number
}

export const MAX_DISPLAY_NAME_LENGTH = 200
export const MAX_NOTE_LENGTH = 2_000

const SELECT_ACCOUNTS = `select accounts.*, display_name, note, frozen_at, closed_at from accounts
  left join account_details on account_details.name = accounts.name`

/** Accounts by their names, after a name. */
export async function listAccounts(db: Db, { after = '', limit = 1_000_000 } = {}): Promise<Account[]> {
  const rows = await db.query({
    sql: `${SELECT_ACCOUNTS} where accounts.name > $1 order by accounts.name limit $2`,
    parameters: [after, limit],
  })
  return rows.map(accountOfRow)
}

export async function findAccount(db: Db, name: string): Promise<Account | undefined> {
  const rows = await db.query({ sql: `${SELECT_ACCOUNTS} where accounts.name = $1`, parameters: [name] })
  return rows[0] && accountOfRow(rows[0])
}

/** Sets what an account is shown as, and what is noted of it. */
export async function describeAccount(
  db: Db,
  { account, displayName, note }: Pick<Account, 'account' | 'displayName' | 'note'>,
  also: readonly Statement[] = [],
): Promise<void> {
  await tryApply(db, [
    {
      sql: `insert into account_details (name, display_name, note) values ($1, $2, $3)
        on conflict (name) do update set display_name = excluded.display_name, note = excluded.note`,
      parameters: [account, displayName, note],
    },
    ...also,
  ])
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
    ...also,
  ])
}

/** Takes the keys of a frozen account again. False if it is not frozen. */
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

/** Refuses all keys of an account for ever. False while anything is held on it, and if it was closed before. */
export async function closeAccount(
  db: Db,
  account: string,
  now: number,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    // A request that begins at this moment waits for this row, and then holds what its key could a moment before.
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
    ...also,
  ])
}

export function accountStatusOf({ frozenAt, closedAt }: Account): 'open' | 'frozen' | 'closed' {
  if (closedAt !== null) return 'closed'
  return frozenAt === null ? 'open' : 'frozen'
}

export function accountJson(account: Account) {
  return {
    ...balanceJson(account),
    status: accountStatusOf(account),
    display_name: account.displayName,
    note: account.note,
    frozen_at: isoTime(account.frozenAt),
    closed_at: isoTime(account.closedAt),
    created_at: isoTime(account.createdAt),
  }
}

function accountOfRow(row: Row): Account {
  const balanceNano = row.balance as number
  const heldNano = row.held as number
  return {
    account: row.name as string,
    balanceNano,
    heldNano,
    availableNano: balanceNano - heldNano,
    displayName: row.display_name as string | null,
    note: row.note as string | null,
    frozenAt: row.frozen_at as number | null,
    closedAt: row.closed_at as number | null,
    createdAt: row.created_at as number,
  }
}
