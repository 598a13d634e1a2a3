// Money as whole nano-dollars (1 USD = 1,000,000,000) in plain numbers: exact up to about 9 million dollars.
// It must never hold, produce or accept a fraction of a nano-dollar.

export const NANO_PER_USD = 1_000_000_000

const ZERO = 48

/** The largest amount that a number holds exactly. */
export const MAX_NANO = Number.MAX_SAFE_INTEGER

/**
 * Nano-dollars of a decimal such as `5`, `0.25` or `-1.5`. Undefined for other text, more than nine decimals, or an amount that is
 * too large.
 */
export function parseUsd(text: string): number | undefined {
  const match = /^(-?)(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text.trim())
  if (!match) return undefined
  const nano = Number(match[2]) * NANO_PER_USD + Number((match[3] ?? '').padEnd(9, '0'))
  if (nano > MAX_NANO) return undefined
  return match[1] && nano > 0 ? -nano : nano
}

/**
 * Dollars as a decimal string with two to nine decimals, such as `4.9993` or `5.00`. Bigints are sums over many
 * accounts.
 */
export function formatUsd(amountNano: number | bigint): string {
  if (typeof amountNano === 'number') assertNano(amountNano)
  const isNegative = amountNano < 0
  const digits = String(amountNano).slice(isNegative ? 1 : 0)
  const padded = digits.length < 10 ? '0000000000'.slice(digits.length) + digits : digits
  const point = padded.length - 9
  let end = padded.length
  while (end > point + 2 && padded.charCodeAt(end - 1) === ZERO) end--
  return `${isNegative ? '-' : ''}${padded.slice(0, point)}.${padded.slice(point, end)}`
}

export function assertNano(amountNano: number): void {
  // Inlined for the hot path: building a message that nobody reads would cost more than the check.
  if (!Number.isSafeInteger(amountNano))
    throw new RangeError(`not a whole amount of nano-dollars: ${amountNano}`)
}

/**
 * Reads a decimal such as `0.25` as whole parts of 10^-decimals, never negative. Undefined for other text; `too fine`
 * if it has more decimals.
 */
export function parseDecimal(text: string, decimals: number): bigint | 'too fine' | undefined {
  const match = /^(\d{1,10})(?:\.(\d{1,18}))?$/.exec(text.trim())
  if (!match) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  if (fraction.length > decimals) return 'too fine'
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

/** Writes units of 10^-decimals as a decimal with at least two decimals: `0.25`, `0.0375`. */
export function formatDecimal(parts: bigint, decimals: number): string {
  const digits = String(parts).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, -decimals)}.${fraction}`
}
