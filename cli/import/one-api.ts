// Reads the database of One API or of New API, whose tables are of one family: users, tokens, channels, options. Tokens
// stand there in clear text without their `sk-`, and money as quota, of which 500,000 are a dollar.

import { hashSecret, hintOf, importedSecretOf, unlimited } from '../../src/accounts/keys'
import { hashCode } from '../../src/billing/selling/codes'
import type { PriceConfig } from '../../src/config/models/prices'
import { MAX_NANO, NANO_PER_USD } from '../../src/lib/money'
import { asObject } from '../../src/lib/objects'
import { builtInOutputRatio, builtInPrice } from './built-in-prices'
import { type ChannelKind, familyOf, newApiChannels, oneApiChannels } from './channels'
import {
  budgetOfRest,
  type Found,
  type FoundAccount,
  type FoundBudget,
  idsOfModels,
  Names,
  nothingFound,
  priceText,
  tokenPrice,
} from './found'
import { carryOffers, type Offer, variableOf } from './offers'
import {
  isIn,
  jsonIn,
  listIn,
  numberIn,
  type SourceDatabase,
  type SourceRow,
  secondsIn,
  textIn,
} from './source'

const ENABLED = 1
const USER_DELETED = 3
const DEFAULT_QUOTA_PER_USD = 500_000

export async function readOneApi(database: SourceDatabase, flavor: 'one-api' | 'new-api'): Promise<Found> {
  const [users, tokens, channels, options, redemptions] = [
    await database.rows('users', 'id', 'needed'),
    await database.rows('tokens', 'id', 'needed'),
    await database.rows('channels', 'id', 'needed'),
    await database.rows('options', 'key'),
    await database.rows('redemptions', 'id'),
  ]
  const found = nothingFound()
  const settings = new Map(options.map((row) => [textIn(row, 'key'), textIn(row, 'value')]))
  const quotaPerUsd = Number(settings.get('QuotaPerUnit')) || DEFAULT_QUOTA_PER_USD
  const plans = readGroups(users, mapOf(settings.get('GroupRatio')), found)
  const accounts = readUsers(users, quotaPerUsd, plans, found)
  const ids = readChannels(channels, flavor === 'one-api' ? oneApiChannels : newApiChannels, found, {
    quotaPerUsd,
    modelRatio: mapOf(settings.get('ModelRatio')),
    completionRatio: mapOf(settings.get('CompletionRatio')),
    cacheRatio: mapOf(settings.get('CacheRatio')),
    writeRatio: mapOf(settings.get('CreateCacheRatio')),
    modelPrice: mapOf(settings.get('ModelPrice')),
  })
  readTokens(tokens, accounts, ids, quotaPerUsd, found)
  readCodes(redemptions, quotaPerUsd, found)
  return found
}

function mapOf(json: string | undefined): ReadonlyMap<string, number> {
  const value = jsonIn({ json }, 'json')
  return new Map(Object.entries(asObject(value)).map(([name, number]) => [name, Number(number)]))
}

/** Nano-dollars of a quota, rounded down; undefined for more than can be counted. */
function nanoOf(quota: number, quotaPerUsd: number): number | undefined {
  const nano =
    Number.isInteger(quota) && Number.isInteger(quotaPerUsd)
      ? Number((BigInt(quota) * BigInt(NANO_PER_USD)) / BigInt(quotaPerUsd))
      : Math.floor((quota / quotaPerUsd) * NANO_PER_USD)
  return nano <= MAX_NANO ? nano : undefined
}

function isDeleted(row: SourceRow): boolean {
  return textIn(row, 'deleted_at') !== ''
}

/** The accounts of users that were not deleted, by their ids. */
function readUsers(
  rows: SourceRow[],
  quotaPerUsd: number,
  plans: ReadonlyMap<string, string>,
  found: Found,
): Map<string, FoundAccount> {
  const names = new Names()
  const accounts = new Map<string, FoundAccount>()
  for (const row of rows) {
    const id = textIn(row, 'id')
    const username = textIn(row, 'username')
    const what = `user ${username || id}`
    if (isDeleted(row) || numberIn(row, 'status') === USER_DELETED) {
      found.left.push({ what, why: 'was deleted there' })
      continue
    }
    const balanceNano = nanoOf(numberIn(row, 'quota') ?? 0, quotaPerUsd)
    if (balanceNano === undefined) found.left.push({ what, why: 'has more money than an account can have' })
    else if (balanceNano < 0)
      found.left.push({ what, why: `owes money there (quota ${textIn(row, 'quota')}): begins with nothing` })
    const displayName = textIn(row, 'display_name')
    accounts.set(id, {
      id: `user ${id}`,
      name: names.take(username, `user-${id}`),
      displayName: displayName === '' || displayName === username ? null : displayName.slice(0, 128),
      balanceNano: Math.max(balanceNano ?? 0, 0),
      isFrozen: numberIn(row, 'status') !== ENABLED,
      plan: plans.get(textIn(row, 'group')) ?? null,
    })
  }
  found.accounts.push(...accounts.values())
  return accounts
}

function readTokens(
  rows: SourceRow[],
  accounts: ReadonlyMap<string, FoundAccount>,
  ids: ReadonlyMap<string, string>,
  quotaPerUsd: number,
  found: Found,
): void {
  const names = new Names()
  for (const row of rows) {
    const title = textIn(row, 'name')
    const account = accounts.get(textIn(row, 'user_id'))
    const what = `token ${title || textIn(row, 'id')} of ${account?.name ?? `user ${textIn(row, 'user_id')}`}`
    const leave = (why: string) => found.left.push({ what, why })
    const secret = `sk-${textIn(row, 'key')}`
    if (isDeleted(row)) leave('was deleted there')
    else if (!account) leave('its user is not carried over')
    else if (importedSecretOf(secret) === undefined)
      leave('its secret is too short to be safe: make a new key')
    else {
      const restriction = textIn(row, 'subnet') || textIn(row, 'allow_ips')
      if (restriction !== '')
        leave('its restriction to networks is not carried: the key works from everywhere')
      if (textIn(row, 'group') !== '') leave(`its group ${textIn(row, 'group')} is not carried`)
      const budget = budgetOf(row, quotaPerUsd)
      if (budget.why !== undefined) leave(budget.why)
      found.keys.push({
        name: names.take(`${account.name}.${title || textIn(row, 'id')}`, `token-${textIn(row, 'id')}`),
        account: account.name,
        hash: hashSecret(secret),
        hint: hintOf(secret),
        isPaused: budget.isSpent || ![ENABLED, 3].includes(numberIn(row, 'status') ?? ENABLED),
        createdAt: secondsIn(row, 'created_time'),
        settings: {
          ...unlimited,
          ...budget.settings,
          models: modelsOf(row, ids, leave),
          expiresAt: secondsIn(row, 'expired_time'),
        },
      })
    }
  }
}

/** The budget of a token; one of more than can be counted is none. */
function budgetOf(row: SourceRow, quotaPerUsd: number): FoundBudget {
  const left = isIn(row, 'unlimited_quota')
    ? undefined
    : nanoOf(numberIn(row, 'remain_quota') ?? 0, quotaPerUsd)
  return left === undefined ? { isSpent: false, settings: {} } : budgetOfRest(left)
}

function modelsOf(
  row: SourceRow,
  ids: ReadonlyMap<string, string>,
  leave: (why: string) => void,
): string[] | null {
  const names = isIn(row, 'model_limits_enabled') ? listIn(row, 'model_limits') : listIn(row, 'models')
  return names.length === 0 ? null : idsOfModels(names, ids, leave)
}

/** Reads redemption codes that are still worth money, which both gateways keep in clear text. */
function readCodes(rows: readonly SourceRow[], quotaPerUsd: number, found: Found): void {
  const isOpen = (row: SourceRow) => !isDeleted(row) && numberIn(row, 'status') === ENABLED
  const open = rows.filter(isOpen)
  if (open.length < rows.length)
    found.left.push({
      what: `${rows.length - open.length} redemption codes`,
      why: 'were redeemed, switched off or deleted there',
    })
  for (const row of open) {
    const code = textIn(row, 'key')
    const amountNano = nanoOf(numberIn(row, 'quota') ?? 0, quotaPerUsd)
    const leave = (why: string) => found.left.push({ what: `redemption code ${textIn(row, 'id')}`, why })
    if (hashCode(code) === undefined) leave('is not of 32 hexadecimal digits: it could be guessed')
    else if (amountNano === undefined || amountNano <= 0) leave('is worth no amount that an account can have')
    else
      found.codes.push({
        code,
        amountNano,
        note: textIn(row, 'name').slice(0, 100) || null,
        createdAt: secondsIn(row, 'created_time'),
        expiresAt: secondsIn(row, 'expired_time'),
      })
  }
}

interface Ratios {
  quotaPerUsd: number
  modelRatio: ReadonlyMap<string, number>
  completionRatio: ReadonlyMap<string, number>
  cacheRatio: ReadonlyMap<string, number>
  writeRatio: ReadonlyMap<string, number>
  modelPrice: ReadonlyMap<string, number>
}

/** Reads channels with their models. Answers the ids of models by the names that callers ask for. */
function readChannels(
  rows: SourceRow[],
  kinds: Readonly<Record<number, ChannelKind>>,
  found: Found,
  ratios: Ratios,
): Map<string, string> {
  const names = new Names()
  const offers = new Map<string, Offer[]>()
  for (const row of rows) {
    const upstream = readChannel(row, kinds, names, found)
    if (!upstream) continue
    const mapping = asObject(jsonIn(row, 'model_mapping'))
    for (const name of listIn(row, 'models')) {
      const family = familyOf(name, upstream.kind)
      if (!family) {
        const why = 'is paid in another way than by tokens of a chat or an embedding: add it by hand'
        found.left.push({ what: `model ${name} of channel ${upstream.title}`, why })
        continue
      }
      const upstreamModel = typeof mapping[name] === 'string' ? (mapping[name] as string) : name
      const priority = numberIn(row, 'priority') ?? 0
      const weight = numberIn(row, 'weight') ?? 0
      const priced = priceOf(name, upstreamModel, family, ratios)
      const offer = { upstream: upstream.name, family, upstreamModel, priority, weight, ...priced }
      offers.set(name, [...(offers.get(name) ?? []), offer])
    }
  }
  return carryOffers(offers, found)
}

function readChannel(
  row: SourceRow,
  kinds: Readonly<Record<number, ChannelKind>>,
  names: Names,
  found: Found,
): { name: string; kind: string; title: string } | undefined {
  const title = textIn(row, 'name') || textIn(row, 'id')
  const leave = (why: string) => {
    found.left.push({ what: `channel ${title}`, why })
    return undefined
  }
  const type = numberIn(row, 'type') ?? 0
  const kind = kinds[type]
  if (numberIn(row, 'status') !== ENABLED) return leave('is switched off there')
  if (!kind) return leave(`its type ${type} is not known here, or needs more than a key: add it by hand`)
  const { keys, disabled } = keysOf(row)
  if (keys.length === 0 && disabled > 0) return leave('all of its keys are switched off there')
  if (disabled > 0) leave(`keys that are switched off there are not carried: ${disabled}`)
  const own = textIn(row, 'base_url').replace(/\/+$/, '')
  const address = (own || (kind.base ?? '')).replace(/\/chat\/completions$/, '')
  if (!URL.canParse(address)) return leave('has no address')
  for (const column of ['system_prompt', 'param_override', 'header_override', 'status_code_mapping'])
    if (!['', '{}', 'null'].includes(textIn(row, column))) leave(`its ${column} is not carried`)
  const name = names.take(title, `channel-${textIn(row, 'id')}`).toLowerCase()
  const path = kind.path ?? ''
  const apiVersion = kind.kind === 'azure' ? textIn(row, 'other') : ''
  found.upstreams.push({
    name,
    kind: kind.kind,
    baseUrl: address.endsWith(path) ? address : `${address}${path}`,
    ...(/^[A-Za-z0-9._-]+$/.test(apiVersion) && { apiVersion }),
    keys: keys.map((value, index) => ({ variable: variableOf(name, index, keys.length), value })),
  })
  return { name, kind: kind.kind, title }
}

/**
 * The keys of a channel that are in use, and how many are switched off. New API numbers the keys of a channel by their lines and
 * keeps the states of those that it switched off (ChannelInfo of model/channel.go).
 */
function keysOf(row: SourceRow): { keys: string[]; disabled: number } {
  const info = asObject(jsonIn(row, 'channel_info'))
  const states = info.is_multi_key === true ? asObject(info.multi_key_status_list) : {}
  const lines = textIn(row, 'key').split('\n')
  const inUse = lines.filter((_, index) => Number(states[index] ?? ENABLED) === ENABLED)
  return {
    keys: inUse.map((key) => key.trim()).filter((key) => key !== ''),
    disabled: lines.length - inUse.length,
  }
}

/** The price of a model: that of one call, else ratios, else what the built-in catalogue says; or why it has none. */
function priceOf(
  name: string,
  upstreamModel: string,
  family: string,
  ratios: Ratios,
): Pick<Offer, 'price' | 'unpriced'> {
  const fixed = priceText(ratios.modelPrice.get(name) ?? Number.NaN)
  if (fixed !== undefined) {
    const none = tokenPrice(family, { input: 1, output: 1 }) as PriceConfig
    const amounts = Object.keys(none).map((key) => [key, '0.00'])
    return { price: { ...Object.fromEntries(amounts), per_request: fixed } }
  }
  const ratio = ratios.modelRatio.get(name)
  if (ratio === undefined) return { price: builtInPrice(upstreamModel, family) }
  const input = (ratio * 1_000_000) / ratios.quotaPerUsd
  const times = (map: ReadonlyMap<string, number>) => {
    const factor = map.get(name)
    return factor === undefined ? undefined : input * factor
  }
  const dearer = ratios.completionRatio.get(name) ?? builtInOutputRatio(upstreamModel, family)
  if (dearer === undefined && !family.endsWith('-embeddings') && input > 0)
    return {
      price: undefined,
      unpriced:
        'its price of input is there, its completion ratio neither there nor in the built-in catalogue: add it by hand',
    }
  const price = tokenPrice(family, {
    input,
    output: input * (dearer ?? 1),
    cached: times(ratios.cacheRatio),
    written: times(ratios.writeRatio),
  })
  return price === undefined
    ? { price, unpriced: 'its ratios there are not a price: a number is missing, negative or too large' }
    : { price }
}

/**
 * Reads groups, which have factors on all prices there, as plans. Answers the plan of each group; none for those that pay
 * the prices as they are.
 */
function readGroups(
  users: readonly SourceRow[],
  ratios: ReadonlyMap<string, number>,
  found: Found,
): Map<string, string> {
  const used = new Set(users.map((row) => textIn(row, 'group')))
  const names = new Names()
  const plans = new Map<string, string>()
  for (const [group, factor] of ratios) {
    if (factor === 1 || !used.has(group)) continue
    const priceFactor = String(factor)
    if (!/^\d{1,3}(\.\d{1,6})?$/.test(priceFactor) || factor === 0) {
      found.left.push({
        what: `group ${group}`,
        why: `pays ${factor} times the prices there: no plan can say so`,
      })
      continue
    }
    const name = names
      .take(group, 'group')
      .toLowerCase()
      .replace(/^[^a-z0-9]+/, 'group-')
    plans.set(group, name)
    found.plans[name] = priceFactor
  }
  return plans
}
