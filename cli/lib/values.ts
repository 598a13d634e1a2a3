// Reads typed values: names, amounts, counts, one of several words. It must never guess: an unreadable value is wrong
// usage.

import { isName, NAME_RULE } from '../../src/accounts/names'

import { MAX_NANO, NANO_PER_USD, parseUsd } from '../../src/lib/money'
import { networkNamed } from '../../src/lib/network'
import { WrongUsage } from './errors'
import { didYouMean } from './near-names'

/** The name of a key, an account or an admin. */
export function parseName(text: string): string {
  if (!isName(text)) throw new WrongUsage(`"${text}" is not a valid name: use ${NAME_RULE}.`)
  return text
}

/** Nano-dollars of an amount such as `5`, `0.25`, `+5` or `-1.50`. */
export function parseAmountNano(what: string, text: string): number {
  const amountNano = parseUsd(text.replace(/^\+(?=\d)/, ''))
  if (amountNano === undefined) {
    const most = Math.floor(MAX_NANO / NANO_PER_USD)
    throw new WrongUsage(
      `${what} takes dollars up to ${most} with at most nine decimals, such as 5 or 0.25, not "${text}".`,
    )
  }
  return amountNano
}

export function parsePositiveNano(what: string, text: string): number {
  const amountNano = parseAmountNano(what, text)
  if (amountNano <= 0) throw new WrongUsage(`${what} must be more than 0, not ${text}.`)
  return amountNano
}

export function parseCount(flag: string, text: string, least = 1): number {
  const count = Number(text)
  if (!/^\d{1,12}$/.test(text) || count < least) {
    throw new WrongUsage(`--${flag} takes a whole number from ${least}, not "${text}".`)
  }
  return count
}

/** The flag of commands that list a number of rows. */
export const limitArg = (standard: number) =>
  ({ type: 'string', valueHint: 'N', description: `How many (default ${standard})` }) as const

/** The requested number of rows; without the flag, `standard`. */
export function parseLimit<Standard extends number | undefined>(
  { limit }: { limit?: string | undefined },
  standard: Standard,
): number | Standard {
  return limit === undefined ? standard : parseCount('limit', limit)
}

export function parseWord<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text)
  if (word === undefined) {
    throw new WrongUsage(`--${flag} takes ${words.join(', ')}, not "${text}".${didYouMean(text, words)}`)
  }
  return word
}

/** The value; null for the word `none`, which removes a setting. */
export function unlessNone<Value>(text: string, read: (text: string) => Value): Value | null {
  return text === 'none' ? null : read(text)
}

/** Reads addresses and networks: `203.0.113.7,10.0.0.0/8`. */
export function parseNetworks(text: string): string[] {
  const networks = text.split(',').map((network) => network.trim())
  const wrong = networks.find((network) => networkNamed(network) === undefined)
  if (wrong === undefined) return networks
  throw new WrongUsage(`--from takes addresses and networks such as 203.0.113.0/24, not "${wrong}".`)
}

/** Reads pairs: `a=b,c=d`. `form` says in an error what the flag takes. */
export function parsePairs(flag: string, form: string, text: string): [string, string][] {
  return text.split(',').map((pair) => {
    const [, name, value] = /^\s*([^=]+)=(.+?)\s*$/.exec(pair) ?? []
    if (name === undefined || value === undefined)
      throw new WrongUsage(`--${flag} takes ${form}, not "${pair}".`)
    return [name, value]
  })
}
