// Shows a key to people. It must never show the secret: only its hint.

import { keyStatusOf } from '../../src/accounts/key-json'
import type { Key, KeySettings } from '../../src/accounts/keys'
import type { Balance } from '../../src/billing/balances'
import { periodOf } from '../../src/billing/limits'
import { dollars } from './balance'
import { paint } from './output'
import { type Column, renderBlock } from './table'
import { distance, utcTime } from './times'

export const keyColumns: readonly Column[] = [
  { title: 'NAME', flexible: true },
  { title: 'ACCOUNT', flexible: true },
  { title: 'KEY' },
  { title: 'STATUS' },
  { title: 'MAY USE', flexible: true },
]

export function keyRow(key: Key, now: number): string[] {
  const may = [key.models === null ? 'all models' : key.models.join(', '), ...limitsOf(key)]
  return [key.name, key.account, key.hint, statusText(key, now), may.join(', ')]
}

export function keyBlock(key: Key, balance: Balance, budgetUsedNano: number, now: number): string {
  const limits = limitsOf({ ...key, budgetNano: null })
  const moment = (at: number) => `${utcTime(at)} (${distance(at, now)})`
  const entries: [string, string][] = [
    ['name', paint('bold', key.name)],
    ['status', statusText(key, now)],
    ['id', key.id],
    ['key', key.hint],
    ['account', key.account],
    ['balance', `${dollars(balance.balanceNano)}, ${dollars(balance.availableNano)} of it available`],
    ['models', key.models === null ? 'all' : key.models.join(', ')],
    ['limits', limits.join(', ') || 'none'],
    ['budget', key.budgetNano === null ? 'none' : budgetText(key, key.budgetNano, budgetUsedNano, now)],
    ['created', moment(key.createdAt)],
    ['expires', key.expiresAt === null ? 'never' : moment(key.expiresAt)],
  ]
  if (key.pausedAt !== null) entries.push(['paused', moment(key.pausedAt)])
  if (key.revokedAt !== null) entries.push(['revoked', moment(key.revokedAt)])
  return renderBlock(entries)
}

function budgetText(key: Key, budgetNano: number, usedNano: number, now: number): string {
  const { endsAt } = periodOf(key, now)
  return `${dollars(budgetNano)} a ${key.budgetPeriod}, ${dollars(usedNano)} used, renewed ${distance(endsAt, now)}`
}

function statusText(key: Key, now: number): string {
  const status = keyStatusOf(key, now)
  if (status !== 'active') return paint(status === 'paused' ? 'yellow' : 'red', status)
  return paint('green', key.expiresAt === null ? status : `expires ${distance(key.expiresAt, now)}`)
}

function limitsOf(settings: KeySettings): string[] {
  const { requestsPerMinute, tokensPerMinute, concurrency, budgetNano, budgetPeriod } = settings
  return [
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests/min`]),
    ...(tokensPerMinute === null ? [] : [`${tokensPerMinute} tokens/min`]),
    ...(concurrency === null ? [] : [`${concurrency} at a time`]),
    ...(budgetNano === null ? [] : [`${dollars(budgetNano)}/${budgetPeriod}`]),
  ]
}
