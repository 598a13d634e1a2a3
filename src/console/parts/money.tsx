// Amounts of money. An amount is shown exactly, never rounded: digits below a cent are lighter.

import { formatUsd, parseUsd } from '../../lib/money'
import { afterDollars, beforeDollars, exactDecimalText } from '../language'

interface MoneyProps {
  usd: string | null | undefined
  /** Maximum number of digits below the cent in the column of the amount: shorter amounts are padded. */
  fineDigits?: number
}

/** An amount of dollars as the server wrote it: `12.480000001`. `-` is shown if there is no amount. */
export function Money({ usd, fineDigits = 0 }: MoneyProps) {
  if (usd === null || usd === undefined) return <span class="quiet">–</span>
  const { sign, whole, fine } = partsOf(usd)
  return (
    <span class="money" style={{ '--missing-digits': Math.max(0, fineDigits - fine.length) }}>
      {sign}
      {beforeDollars}
      {whole}
      {fine && <span class="fine">{fine}</span>}
      {afterDollars && <span class="currency">{afterDollars}</span>}
    </span>
  )
}

/** The number of digits below the cent with which an amount is shown. */
export function fineDigitsOf({ usd }: MoneyProps): number {
  return usd ? partsOf(usd).fine.length : 0
}

/** An amount as text, for sentences and labels. */
export function moneyText(usd: string): string {
  const { sign, whole, fine } = partsOf(usd)
  return `${sign}${beforeDollars}${whole}${fine}${afterDollars}`
}

/** An amount cut to cents, for sentences next to the exact figure; smaller ones are shown exactly. */
export function centsText(usd: string): string {
  const cents = usd.replace(/(\.\d\d)\d+$/, '$1')
  return Number(cents) === 0 ? moneyText(usd) : moneyText(cents)
}

/** A number of dollars as text, exact to the nano-dollar: for charts. */
export function dollarsText(dollars: number): string {
  return moneyText(dollars.toFixed(9))
}

function partsOf(usd: string): { sign: string; whole: string; fine: string } {
  const [, minus = '', dollars = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd) ?? []
  return {
    sign: minus && '−',
    whole: exactDecimalText(`${dollars}.${decimals.slice(0, 2).padEnd(2, '0')}`),
    fine: decimals.slice(2).replace(/0+$/, ''),
  }
}

/** The exact sum of amounts. */
export function sumUsd(amounts: readonly (string | null | undefined)[]): string {
  return formatUsd(amounts.reduce((sum, usd) => sum + nanoOf(usd ?? '0'), 0n))
}

/** An amount in nano-dollars; 0 for a text that is not an amount. */
export function nanoOf(usd: string): bigint {
  return BigInt(parseUsd(usd) ?? 0)
}

/** An amount as a number of dollars, only for the height of a bar. */
export function dollarsOf(usd: string): number {
  return Number(usd)
}
