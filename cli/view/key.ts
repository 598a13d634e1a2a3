// Shows a key to people. It must never show the secret: only its hint.

import type { ReplyOf } from '../../src/admin/client'
import { periodOf } from '../../src/billing/ledger/limits'
import { dollarsOf } from './balance'
import { paint } from './output'
import { renderBlock, tableOf } from './table'
import { distance, utcTime } from './times'

type KeyReply = ReplyOf<'pauseKey'>

export function keyTable(keys: readonly KeyReply[], now: number): string {
  const models = (key: KeyReply) => key.models?.join(', ') ?? 'all models'
  return tableOf(keys, [
    ['NAME', ({ name }) => name, { flexible: true }],
    ['ACCOUNT', ({ account }) => account, { flexible: true }],
    ['KEY', ({ hint }) => hint],
    ['STATUS', (key) => statusText(key, now)],
    ['MAY USE', (key) => [models(key), ...limitsOf(key), ...fromOf(key)].join(', '), { flexible: true }],
  ])
}

export function keyBlock(key: ReplyOf<'getKey'>, now: number): string {
  const limits = limitsOf({ ...key, budget_usd: null })
  const moment = (time: string) => `${utcTime(Date.parse(time))} (${distance(Date.parse(time), now)})`
  const entries: [string, string][] = [
    ['name', paint('bold', key.name)],
    ['status', statusText(key, now)],
    ['id', key.id],
    ['key', key.hint],
    ['account', key.account],
    ['balance', `${dollarsOf(key.balance_usd)}, ${dollarsOf(key.available_usd)} of it available`],
    ['models', key.models === null ? 'all' : key.models.join(', ') || 'none'],
    ['used from', key.addresses === null ? 'anywhere' : key.addresses.join(', ') || 'nowhere'],
    ['limits', limits.join(', ') || 'none'],
    ['budget', budgetText(key, now)],
    ...(key.spenders === null ? [] : [['spenders', spendersText(key.spenders)] as [string, string]]),
    ...(key.cache === null ? [] : [['response cache', cacheText(key.cache)] as [string, string]]),
    ['created', moment(key.created_at)],
    ['expires', key.expires_at === null ? 'never' : moment(key.expires_at)],
  ]
  if (key.paused_at !== null) entries.push(['paused', moment(key.paused_at)])
  if (key.revoked_at !== null) entries.push(['revoked', moment(key.revoked_at)])
  return renderBlock(entries)
}

function budgetText(key: ReplyOf<'getKey'>, now: number): string {
  const { budget_usd: budget, budget_period: budgetPeriod, budget_used_usd: used } = key
  if (budget === null) return 'none'
  const { endsAt } = periodOf({ budgetPeriod }, now)
  return `${dollarsOf(budget)} a ${budgetPeriod}, ${dollarsOf(used ?? '')} used, renewed ${distance(endsAt, now)}`
}

/** The rule by which requests name spenders, such as `by user or x-user-email, each $5.00 a day, 60 requests/min`. */
function spendersText(rule: NonNullable<KeyReply['spenders']>): string {
  const {
    budget_usd: budget,
    budget_period: period,
    requests_per_minute: rate,
    most_new_per_day: most,
  } = rule
  if (rule.from.length === 0) return paint('red', 'unreadable, so requests are refused: set the rule again')
  return [
    `by ${rule.from.join(' or ')}`,
    ...(budget ? [`${dollarsOf(budget)} a ${period} each`] : []),
    ...(rate ? [`${rate} requests/min each`] : []),
    ...(rule.create === false ? ['no new ones'] : most ? [`${most} new ones a day`] : []),
  ].join(', ')
}

export function cacheText(cache: NonNullable<KeyReply['cache']>): string {
  if (cache === false) return 'off'
  const { ttl, price } = cache
  return `for ${ttl}${price === undefined ? '' : `, at ${price} of the price`}`
}

function statusText(key: KeyReply, now: number): string {
  const { status, account_status: accountStatus, expires_at: expiresAt } = key
  if (status !== 'active') return paint(status === 'paused' ? 'yellow' : 'red', status)
  if (accountStatus !== 'open') return paint('red', `account ${accountStatus}`)
  return paint('green', expiresAt === null ? status : `expires ${distance(Date.parse(expiresAt), now)}`)
}

function fromOf({ addresses }: KeyReply): string[] {
  return addresses === null
    ? []
    : [`from ${addresses.length === 1 ? addresses[0] : `${addresses.length} networks`}`]
}

function limitsOf(key: KeyReply): string[] {
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrency } = key
  return [
    ...(requests === null ? [] : [`${requests} requests/min`]),
    ...(tokens === null ? [] : [`${tokens} tokens/min`]),
    ...(concurrency === null ? [] : [`${concurrency} at a time`]),
    ...(key.budget_usd === null ? [] : [`${dollarsOf(key.budget_usd)}/${key.budget_period}`]),
  ]
}
