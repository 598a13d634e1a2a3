// Reads balances. It must never write.

import type { Db, Row } from '../../db/db'
import { formatUsd } from '../../lib/money'

export type Balance = ReturnType<typeof balanceOfRow>

export function balanceOfRow(row: Row) {
  const balanceNano = row.balance as number
  const heldNano = row.held as number
  return { account: row.name as string, balanceNano, heldNano, availableNano: balanceNano - heldNano }
}

export async function balanceOf(db: Db, account: string): Promise<Balance | undefined> {
  const rows = await db.query({ sql: 'select * from accounts where name = $1', parameters: [account] })
  return rows[0] && balanceOfRow(rows[0])
}

export async function balances(db: Db): Promise<Balance[]> {
  return (await db.query({ sql: 'select * from accounts order by name' })).map(balanceOfRow)
}

/** A balance in dollars, as text. */
export function balanceJson(balance: Balance) {
  return {
    account: balance.account,
    balance_usd: formatUsd(balance.balanceNano),
    held_usd: formatUsd(balance.heldNano),
    available_usd: formatUsd(balance.availableNano),
  }
}

/** The book of an account. */
export function bookOf(account: string): string {
  return `account:${account}`
}
