// Shows the money of an account. Amounts must be decimal strings of dollars, never floating-point numbers.

import type { entryJson } from '../../src/billing/ledger/account-ledger'
import type { balanceJson } from '../../src/billing/ledger/balances'
import { formatUsd } from '../../src/lib/money'
import { type Column, renderTable } from './table'
import { shortTime } from './times'

/** Dollars for sentences: `$5.00`, `-$1.50`. */
export function dollars(amountNano: number | bigint): string {
  return `${amountNano < 0 ? '-' : ''}$${formatUsd(amountNano < 0 ? -amountNano : amountNano)}`
}

/** Dollars of an answer for sentences: `$5.00`, `-$1.50`. */
export function dollarsOf(usd: string): string {
  return usd.startsWith('-') ? `-$${usd.slice(1)}` : `$${usd}`
}

export function balanceTable(balances: readonly ReturnType<typeof balanceJson>[]): string {
  const columns: Column[] = [
    { title: 'ACCOUNT', flexible: true },
    { title: 'BALANCE', align: 'decimal' },
    { title: 'HELD', align: 'decimal' },
    { title: 'AVAILABLE', align: 'decimal' },
  ]
  return renderTable(
    columns,
    balances.map((balance) => [
      balance.account,
      balance.balance_usd,
      balance.held_usd,
      balance.available_usd,
    ]),
  )
}

export function entriesTable(entries: readonly ReturnType<typeof entryJson>[]): string {
  const columns: Column[] = [
    { title: 'TIME (UTC)' },
    { title: 'KIND' },
    { title: 'AMOUNT', align: 'decimal' },
    { title: 'BALANCE', align: 'decimal' },
    { title: 'NOTE', flexible: true },
    { title: 'REQUEST', isId: true },
  ]
  return renderTable(
    columns,
    entries.map((entry) => [
      shortTime(Date.parse(entry.at)),
      entry.kind,
      entry.amount_usd,
      entry.balance_after_usd,
      entry.note ?? '',
      entry.charge ?? '',
    ]),
  )
}
