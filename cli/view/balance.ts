// Shows the balance of an account. Amounts must be decimal strings of dollars, never floating-point numbers.

import type { entryView } from '../../src/billing/ledger/account-ledger'
import type { balanceJson } from '../../src/billing/ledger/balances'
import { formatUsd } from '../../src/lib/money'
import { tableOf } from './table'
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
  return tableOf(balances, [
    ['ACCOUNT', (balance) => balance.account, { flexible: true }],
    ['BALANCE', (balance) => balance.balance_usd, { align: 'decimal' }],
    ['HELD', (balance) => balance.held_usd, { align: 'decimal' }],
    ['AVAILABLE', (balance) => balance.available_usd, { align: 'decimal' }],
  ])
}

export function entriesTable(entries: readonly ReturnType<typeof entryView.show>[]): string {
  return tableOf(entries, [
    ['TIME (UTC)', (entry) => shortTime(Date.parse(entry.at))],
    ['KIND', (entry) => entry.kind],
    ['AMOUNT', (entry) => entry.amount_usd, { align: 'decimal' }],
    ['BALANCE', (entry) => entry.balance_after_usd, { align: 'decimal' }],
    ['NOTE', (entry) => entry.note ?? '', { flexible: true }],
    ['REQUEST', (entry) => entry.charge ?? '', { isId: true }],
  ])
}
