// Reads the database of One API or of New API, which have the same tables: users, tokens, channels, options. They store
// tokens in clear text without their `sk-`, and money as quota: 500,000 are a dollar.

import { hashSecret, hintOf, importedSecretOf, unlimited } from '../../src/accounts/keys'
import { hashCode } from '../../src/billing/selling/codes'
import { MAX_NANO, NANO_PER_USD } from '../../src/lib/money'
import { networkNamed } from '../../src/lib/network'
import { asObject } from '../../src/lib/objects'
import { counted } from '../view/counted'
import { newApiChannels, oneApiChannels } from './channels'
import {
  budgetOfRest,
  displayNameOf,
  type Found,
  type FoundAccount,
  type FoundBudget,
  Names,
  noteOf,
  nothingFound,
  PlanNames,
} from './found'
import { assignPlans, divideOffers, GroupRules, type Member } from './groups'
import { carryOffers } from './offers'
import { type Ratios, readChannels } from './one-api-channels'
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
import { readSubscriptions } from './subscriptions'

const ENABLED = 1
const USER_DELETED = 3
const DEFAULT_GROUP = 'default'
const DEFAULT_QUOTA_PER_USD = 500_000

export async function readOneApi(
  database: SourceDatabase,
  flavor: 'one-api' | 'new-api',
  now: number,
): Promise<Found> {
  const [users, tokens, channels, options, redemptions, plans, subscriptions] = [
    await database.rows('users', 'id', 'needed'),
    await database.rows('tokens', 'id', 'needed'),
    await database.rows('channels', 'id', 'needed'),
    await database.rows('options', 'key'),
    await database.rows('redemptions', 'id'),
    await database.rows('subscription_plans', 'id'),
    await database.rows('user_subscriptions', 'id'),
  ]
  const found = nothingFound()
  const settings = new Map(options.map((row) => [textIn(row, 'key'), textIn(row, 'value')]))
  const optionOf = (name: string) => jsonIn({ json: settings.get(name) }, 'json')
  const rules = new GroupRules(optionOf)
  const quotaPerUsd = Number(settings.get('QuotaPerUnit')) || DEFAULT_QUOTA_PER_USD
  const members = readUsers(users, quotaPerUsd, found)
  readTokens(tokens, members, { rules, quotaPerUsd, found })
  const kinds = flavor === 'one-api' ? oneApiChannels : newApiChannels
  const offers = readChannels(channels, kinds, found, ratiosOf(optionOf, quotaPerUsd))
  const divided = divideOffers(offers, groupsInUse(members.values()), found)
  const ids = carryOffers(divided.offers, found)
  const names = new PlanNames()
  assignPlans(members.values(), rules, { served: divided.served, ids, names, found })
  const accounts = new Map([...members].map(([id, { account }]) => [id, account]))
  const asNano = (quota: number) => nanoOf(quota, quotaPerUsd)
  readSubscriptions(subscriptions, plans, { accounts, nanoOf: asNano, names, found, now })
  readCodes(redemptions, quotaPerUsd, found)
  return found
}

function ratiosOf(optionOf: (name: string) => unknown, quotaPerUsd: number): Ratios {
  const modes = Object.entries(asObject(optionOf('billing_setting.billing_mode')))
  return {
    quotaPerUsd,
    modelRatio: mapOf(optionOf('ModelRatio')),
    completionRatio: mapOf(optionOf('CompletionRatio')),
    cacheRatio: mapOf(optionOf('CacheRatio')),
    writeRatio: mapOf(optionOf('CreateCacheRatio')),
    modelPrice: mapOf(optionOf('ModelPrice')),
    expressions: new Set(modes.flatMap(([name, mode]) => (mode === 'tiered_expr' ? [name] : []))),
  }
}

/** The groups of users and keys, those with the most keys first. */
function groupsInUse(members: Iterable<Member>): string[] {
  const counts = new Map<string, number>()
  for (const { group, keys } of members)
    for (const each of keys.length > 0 ? keys.flatMap(({ groups }) => groups) : [group])
      counts.set(each, (counts.get(each) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one).map(([group]) => group)
}

function mapOf(value: unknown): ReadonlyMap<string, number> {
  return new Map(Object.entries(asObject(value)).map(([name, number]) => [name, Number(number)]))
}

/** Nano-dollars of a quota, rounded down; undefined if too large to be counted. */
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
function readUsers(rows: SourceRow[], quotaPerUsd: number, found: Found): Map<string, Member> {
  const names = new Names()
  const members = new Map<string, Member>()
  for (const row of rows) {
    const id = textIn(row, 'id')
    const username = textIn(row, 'username')
    const what = `user ${username || id}`
    const leave = (why: string) => found.left.push({ what, why })
    if (isDeleted(row) || numberIn(row, 'status') === USER_DELETED) {
      leave('was deleted there')
      continue
    }
    const balanceNano = nanoOf(numberIn(row, 'quota') ?? 0, quotaPerUsd)
    if (balanceNano === undefined) leave('has more money than an account can have')
    else if (balanceNano < 0) leave(`owes money there (quota ${textIn(row, 'quota')}): begins with nothing`)
    const invited = nanoOf(numberIn(row, 'aff_quota') ?? 0, quotaPerUsd) ?? 0
    if (invited > 0) leave(`its quota for invitations is not carried (aff_quota ${textIn(row, 'aff_quota')})`)
    const name = names.take(username, `user-${id}`)
    const account: FoundAccount = {
      id: `user ${id}`,
      name,
      displayName: displayNameOf(textIn(row, 'display_name') || username, name),
      note: noteOf(textIn(row, 'email'), textIn(row, 'remark')),
      balanceNano: Math.max(balanceNano ?? 0, 0),
      isFrozen: numberIn(row, 'status') !== ENABLED,
      plan: null,
    }
    found.accounts.push(account)
    members.set(id, { account, group: textIn(row, 'group') || DEFAULT_GROUP, keys: [] })
  }
  return members
}

function readTokens(
  rows: SourceRow[],
  members: ReadonlyMap<string, Member>,
  { rules, quotaPerUsd, found }: { rules: GroupRules; quotaPerUsd: number; found: Found },
): void {
  const names = new Names()
  for (const row of rows) {
    const title = textIn(row, 'name')
    const member = members.get(textIn(row, 'user_id'))
    const account = member?.account
    const what = `token ${title || textIn(row, 'id')} of ${account?.name ?? `user ${textIn(row, 'user_id')}`}`
    const leave = (why: string) => found.left.push({ what, why })
    const secret = `sk-${textIn(row, 'key')}`
    if (isDeleted(row)) leave('was deleted there')
    else if (!member || !account) leave('its user is not carried over')
    else if (importedSecretOf(secret) === undefined)
      leave('its secret is too short to be safe: make a new key')
    else {
      const budget = budgetOf(row, quotaPerUsd)
      if (budget.why !== undefined) leave(budget.why)
      const key = {
        name: names.take(`${account.name}.${title || textIn(row, 'id')}`, `token-${textIn(row, 'id')}`),
        account: account.name,
        hash: hashSecret(secret),
        hint: hintOf(secret),
        isPaused: budget.isSpent || ![ENABLED, 3].includes(numberIn(row, 'status') ?? ENABLED),
        createdAt: secondsIn(row, 'created_time'),
        settings: {
          ...unlimited,
          ...budget.settings,
          addresses: addressesOf(row, leave),
          expiresAt: secondsIn(row, 'expired_time'),
        },
      }
      found.keys.push(key)
      const groups = rules.groupsOf(textIn(row, 'group'), member.group)
      member.keys.push({ key, groups, limits: limitsOf(row) })
    }
  }
}

/** The names of models that a token is limited to; empty if it is not limited. */
function limitsOf(row: SourceRow): string[] {
  return isIn(row, 'model_limits_enabled') ? listIn(row, 'model_limits') : listIn(row, 'models')
}

/** The networks from which a token may be used: separated by commas in One API, one per line in New API. */
function addressesOf(row: SourceRow, leave: (why: string) => void): string[] | null {
  const texts = `${textIn(row, 'subnet')}\n${textIn(row, 'allow_ips')}`
    .split(/[\s,]+/)
    .filter((text) => text !== '')
  const networks = texts.flatMap((text) => networkNamed(text) ?? [])
  if (networks.length < texts.length)
    leave('names addresses that are neither an address nor a network: they are left out')
  return texts.length === 0 ? null : [...new Set(networks)]
}

/** The budget of a token; undefined if it is too large to be counted. */
function budgetOf(row: SourceRow, quotaPerUsd: number): FoundBudget {
  const left = isIn(row, 'unlimited_quota')
    ? undefined
    : nanoOf(numberIn(row, 'remain_quota') ?? 0, quotaPerUsd)
  return left === undefined ? { isSpent: false, settings: {} } : budgetOfRest(left)
}

/** Reads unredeemed codes, which both gateways store in clear text. */
function readCodes(rows: readonly SourceRow[], quotaPerUsd: number, found: Found): void {
  const isOpen = (row: SourceRow) => !isDeleted(row) && numberIn(row, 'status') === ENABLED
  const open = rows.filter(isOpen)
  if (open.length < rows.length)
    found.left.push({
      what: counted(rows.length - open.length, 'redemption code'),
      why: 'redeemed, switched off or deleted there',
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
