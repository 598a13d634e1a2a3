// Reads balances and the movements behind them. It must never write.

import type { Db, Row } from '../db/db'

export interface Balance {
  account: string
  balanceNano: number
  heldNano: number
  availableNano: number
}

export async function balanceOf(db: Db, account: string): Promise<Balance | undefined> {
  const rows = await db.query({ sql: 'select * from accounts where name = $1', parameters: [account] })
  return rows[0] && balanceOfRow(rows[0])
}

export async function balances(db: Db): Promise<Balance[]> {
  return (await db.query({ sql: 'select * from accounts order by name' })).map(balanceOfRow)
}

export interface LedgerEntry {
  id: string
  at: number
  kind: string
  /** Signed, as the account sees it. */
  amountNano: number
  balanceAfterNano: number
  charge: string | null
  note: string | null
}

/** All movements of an account, oldest first, with the balance after each. */
export async function ledgerOf(db: Db, account: string): Promise<LedgerEntry[]> {
  const rows = await db.query({
    sql: 'select * from movements where from_book = $1 or to_book = $1 order by at, id',
    parameters: [bookOf(account)],
  })
  let balanceAfterNano = 0
  return rows.map((row) => {
    const amountNano = row.to_book === bookOf(account) ? (row.amount as number) : -(row.amount as number)
    balanceAfterNano += amountNano
    return {
      id: row.id as string,
      at: row.at as number,
      kind: row.kind as string,
      amountNano,
      balanceAfterNano,
      charge: row.charge as string | null,
      note: row.note as string | null,
    }
  })
}

/** The book of an account. */
export function bookOf(account: string): string {
  return `account:${account}`
}

function balanceOfRow(row: Row): Balance {
  const balanceNano = row.balance as number
  const heldNano = row.held as number
  return { account: row.name as string, balanceNano, heldNano, availableNano: balanceNano - heldNano }
}
