// The flags that set what a key may do. An absent flag must never change anything; the word `none` removes a limit.

import type { SpenderRule } from '../../src/accounts/spender-rule'
import type { CacheRule } from '../../src/config/models/response-cache'
import type { Config } from '../../src/config/schema'
import { BUDGET_PERIODS } from '../../src/contract/budgets'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { noModel } from '../configuration/catalogue'
import { parseDurationMs } from '../view/times'
import { WrongUsage } from './errors'
import type { Gateway } from './gateway'
import { parseCount, parseNetworks, parsePositiveNano, parseWord, unlessNone } from './values'

export const keySettingArgs = {
  models: { type: 'string', valueHint: 'A,B', description: 'The only models it may use (none: all)' },
  from: {
    type: 'string',
    valueHint: 'NET,NET',
    description: 'The only addresses and networks that may use it (none: all)',
  },
  expires: {
    type: 'string',
    valueHint: '30d',
    description: 'It expires after this time, such as 45m, 12h, 30d or 2w (none: never)',
  },
  rpm: { type: 'string', valueHint: 'N', description: 'Requests per minute (none: no limit)' },
  tpm: { type: 'string', valueHint: 'N', description: 'Tokens per minute (none: no limit)' },
  concurrency: {
    type: 'string',
    valueHint: 'N',
    description: 'Concurrent requests (none: no limit)',
  },
  spenders: {
    type: 'string',
    valueHint: 'JSON',
    description: 'Rule to count and limit the spenders named in requests (none: off)',
  },
  cache: {
    type: 'string',
    valueHint: 'TTL[:PRICE]|off',
    description: 'Cache answers to equal requests, such as 1h:0.1 (none: rule of plan or model)',
  },
  budget: { type: 'string', valueHint: 'USD', description: 'Spending limit per period (none: no limit)' },
  per: {
    type: 'string',
    valueHint: BUDGET_PERIODS.join('|'),
    description: 'The calendar period of the budget, in UTC',
  },
} as const

type KeySettingFlags = { [flag in keyof typeof keySettingArgs]?: string | undefined }

export function givesSettings(flags: KeySettingFlags): boolean {
  return Object.keys(keySettingArgs).some((flag) => flags[flag as keyof KeySettingFlags] !== undefined)
}

/** Settings in the form of operations: absent ones do not change, null removes a limit. */
export function readSettings(flags: KeySettingFlags, { local }: Pick<Gateway, 'local'>, now: number) {
  const read = <Value>(flag: keyof KeySettingFlags, parse: (text: string) => Value) => {
    const text = flags[flag]
    return text === undefined ? undefined : unlessNone(text, parse)
  }
  return {
    models: read('models', (text) => parseModels(text, local?.config)),
    addresses: read('from', parseNetworks),
    requests_per_minute: read('rpm', (text) => parseCount('rpm', text)),
    tokens_per_minute: read('tpm', (text) => parseCount('tpm', text)),
    concurrency: read('concurrency', (text) => parseCount('concurrency', text)),
    spenders: read('spenders', parseSpenders),
    cache: read('cache', parseCache),
    ...readBudget(flags),
    expires_at: read('expires', (text) => isoTime(now + parseDurationMs('expires', text))),
  }
}

/** The rule of a key for its spenders. The gateway checks its content. */
function parseSpenders(text: string): SpenderRule {
  try {
    return JSON.parse(text)
  } catch {
    throw new WrongUsage(
      '--spenders takes JSON, such as \'{"from": ["user"], "budget_usd": "5", "budget_period": "day"}\'.',
    )
  }
}

/** The response cache of a key: `1h`, `1h:0.1` or `off`. The gateway checks the values. */
function parseCache(text: string): CacheRule {
  if (text === 'off') return false
  const [ttl = '', price] = text.split(':', 2)
  return { ttl, ...(price !== undefined && { price }) }
}

function readBudget({ budget, per }: KeySettingFlags) {
  if (budget === 'none') return { budget_usd: null, budget_period: null }
  if (budget === undefined && per === undefined) return {}
  if (budget === undefined) throw new WrongUsage('--per needs --budget USD.')
  if (per === undefined) throw new WrongUsage(`--budget needs --per ${BUDGET_PERIODS.join('|')}.`)
  return {
    budget_usd: formatUsd(parsePositiveNano('--budget', budget)),
    budget_period: parseWord('per', per, BUDGET_PERIODS),
  }
}

/** Ids of models. With a database of this machine they are checked here, where similar names are known. */
function parseModels(text: string, config: Config | undefined): string[] {
  const ids = [...new Set(text.split(',').map((id) => id.trim()))].filter((id) => id !== '')
  if (ids.length === 0) throw new WrongUsage('--models takes the ids of models, separated by commas.')
  const unknown = config ? ids.filter((id) => !Object.hasOwn(config.models, id)) : []
  if (config && unknown.length > 0) throw noModel(config, unknown)
  return ids
}
