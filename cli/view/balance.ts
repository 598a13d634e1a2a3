// Shows the money of an account. Amounts must be decimal strings of dollars, never floating-point numbers.

import { entryJson, type LedgerEntry } from '../../src/billing/account-ledger'
import { type Balance, balanceJson } from '../../src/billing/balances'
import { formatUsd } from '../../src/lib/money'
import { type Column, renderTable } from './table'
import { shortTime } from './times'

/** Dollars for sentences: `$5.00`, `-$1.50`. */
export function dollars(amountNano: number | bigint): string {
  return `${amountNano < 0 ? '-' : ''}$${formatUsd(amountNano < 0 ? -amountNano : amountNano)}`
}

export function balanceTable(balances: readonly Balance[]): string {
  const columns: Column[] = [
    { title: 'ACCOUNT', flexible: true },
    { title: 'BALANCE', align: 'decimal' },
    { title: 'HELD', align: 'decimal' },
    { title: 'AVAILABLE', align: 'decimal' },
  ]
  return renderTable(
    columns,
    balances.map((balance) => Object.values(balanceJson(balance))),
  )
}

export function entriesTable(entries: readonly LedgerEntry[]): string {
  const columns: Column[] = [
    { title: 'TIME (UTC)' },
    { title: 'KIND' },
    { title: 'AMOUNT', align: 'decimal' },
    { title: 'BALANCE', align: 'decimal' },
    { title: 'NOTE OR REQUEST', flexible: true },
  ]
  return renderTable(
    columns,
    entries.map((entry) => [
      shortTime(entry.at),
      entry.kind,
      formatUsd(entry.amountNano),
      formatUsd(entry.balanceAfterNano),
      entry.note ?? entry.charge ?? '',
    ]),
  )
}

/** The title line of entries as comma-separated values. */
export const CSV_TITLES = 'id,at,kind,amount_usd,balance_after_usd,charge,note'

/** Entries as lines of comma-separated values. */
export function entriesCsv(entries: readonly LedgerEntry[]): string {
  return entries.map((entry) => Object.values(entryJson(entry)).map(csvField).join(',')).join('\n')
}

function csvField(value: string | null): string {
  if (value === null) return ''
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
