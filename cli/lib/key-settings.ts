// The flags that set what a key may do. An absent flag must never change anything; the word `none` removes a limit.

import type { KeySettings } from '../../src/accounts/keys'
import type { BudgetPeriod } from '../../src/billing/limits'
import type { Config } from '../../src/config/schema'
import { parseDurationMs } from '../view/times'
import { noModel } from './catalogue'
import { WrongUsage } from './errors'
import { parseCount, parsePositiveNano, parseWord, unlessNone } from './values'

const PERIODS: readonly BudgetPeriod[] = ['day', 'week', 'month']

export const keySettingArgs = {
  models: { type: 'string', valueHint: 'A,B', description: 'The only models it may use (none: all)' },
  expires: {
    type: 'string',
    valueHint: '30d',
    description: 'Refuse it after 45m, 12h, 30d or 2w (none: never)',
  },
  rpm: { type: 'string', valueHint: 'N', description: 'Most requests a minute (none: no limit)' },
  tpm: { type: 'string', valueHint: 'N', description: 'Most tokens a minute (none: no limit)' },
  concurrency: {
    type: 'string',
    valueHint: 'N',
    description: 'Most requests running at a time (none: no limit)',
  },
  budget: { type: 'string', valueHint: 'USD', description: 'Most it may spend in a period (none: no limit)' },
  per: {
    type: 'string',
    valueHint: PERIODS.join('|'),
    description: 'The period of the budget, by the calendar in UTC',
  },
} as const

type KeySettingFlags = { [flag in keyof typeof keySettingArgs]?: string | undefined }

export function givesSettings(flags: KeySettingFlags): boolean {
  return Object.keys(keySettingArgs).some((flag) => flags[flag as keyof KeySettingFlags] !== undefined)
}

/** The settings of a key after the flags are applied. */
export function readSettings(
  flags: KeySettingFlags,
  current: KeySettings,
  config: Config,
  now: number,
): KeySettings {
  const read = <Value>(flag: keyof KeySettingFlags, old: Value | null, parse: (text: string) => Value) => {
    const text = flags[flag]
    return text === undefined ? old : unlessNone(text, parse)
  }
  return {
    models: read('models', current.models, (text) => parseModels(text, config)),
    requestsPerMinute: read('rpm', current.requestsPerMinute, (text) => parseCount('rpm', text)),
    tokensPerMinute: read('tpm', current.tokensPerMinute, (text) => parseCount('tpm', text)),
    concurrency: read('concurrency', current.concurrency, (text) => parseCount('concurrency', text)),
    ...readBudget(flags, current),
    expiresAt: read('expires', current.expiresAt, (text) => now + parseDurationMs('expires', text)),
  }
}

function readBudget(
  { budget, per }: KeySettingFlags,
  current: KeySettings,
): Pick<KeySettings, 'budgetNano' | 'budgetPeriod'> {
  if (budget === 'none' && per === undefined) return { budgetNano: null, budgetPeriod: null }
  if (budget === undefined && per === undefined) {
    return { budgetNano: current.budgetNano, budgetPeriod: current.budgetPeriod }
  }
  if (budget === undefined) throw new WrongUsage('--per needs --budget USD.')
  if (per === undefined) throw new WrongUsage(`--budget needs --per ${PERIODS.join('|')}.`)
  return { budgetNano: parsePositiveNano('--budget', budget), budgetPeriod: parseWord('per', per, PERIODS) }
}

function parseModels(text: string, config: Config): string[] {
  const ids = [...new Set(text.split(',').map((id) => id.trim()))].filter((id) => id !== '')
  if (ids.length === 0) throw new WrongUsage('--models takes the ids of models, separated by commas.')
  const unknown = ids.filter((id) => !Object.hasOwn(config.models, id))
  if (unknown.length > 0) throw noModel(config, unknown)
  return ids
}
