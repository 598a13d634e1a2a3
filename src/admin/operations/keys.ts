// Keys over the admin API: created, shown, changed, paused, replaced and revoked. Only the answer that creates a secret contains
// it; it must never be in another, or in the audit trail.

import { type Static, Type } from '@sinclair/typebox'
import { requireAccount } from '../../accounts/accounts'
import {
  checkCacheRule,
  checkKeySettings,
  draftKey,
  giveNewSecret,
  giveNewWebhookSecret,
  networksOf,
  requireKey,
  requireUsableKey,
  storeKey,
} from '../../accounts/key-changes'
import { keyView, keyWithMoneyJson } from '../../accounts/key-json'
import {
  type Key,
  type KeySettings,
  listKeysAfter,
  type NewKey,
  pauseKey,
  resumeKey,
  revokeKey,
  unlimited,
  updateKey,
} from '../../accounts/keys'
import { NAME_RULE } from '../../accounts/names'
import { checkSpenderRule, SpenderRuleBody } from '../../accounts/spender-rule'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { balanceOf } from '../../billing/ledger/balances'
import { assertRoom } from '../../billing/ledger/transfers'
import { budgetUsedNano } from '../../billing/reports/usage-report'
import { CacheRule } from '../../config/models/response-cache'
import { BUDGET_PERIODS } from '../../contract/budgets'
import { isoTime } from '../../db/iso-time'
import { timeOfQuery } from '../../http/query-time'
import { invalidRequest } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import {
  AddressList,
  changing,
  closedBody,
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  Text,
} from '../operation'
import { amountOf, transfer } from './accounts'

const operation = operationsIn('Keys')
const Limit = Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 })))
/** Limits of a key, in the form of the API. */
export const keySettings = {
  models: Type.Optional(
    Nullable(Type.Array(Text('Id of a model.'), { minItems: 1, maxItems: 1_000, description: 'null: all.' })),
  ),
  addresses: Type.Optional(AddressList),
  requests_per_minute: Limit,
  tokens_per_minute: Limit,
  concurrency: Limit,
  budget_usd: Type.Optional(Nullable(Text('Dollars; needs `budget_period`.'))),
  budget_period: Type.Optional(Nullable(OneOf(BUDGET_PERIODS))),
  spenders: Type.Optional(Nullable(SpenderRuleBody)),
  cache: Type.Optional(Nullable(CacheRule)),
  expires_at: Type.Optional(Nullable(Text('A time in UTC: `2026-12-31T00:00Z`.'))),
}
const Settings = Type.Object(keySettings, closedBody)

const KeyReply = keyView.reply
export const NewKeyReply = Type.Object(
  { key: Type.String({ description: 'The secret, shown only this once.' }), id: Type.String() },
  open,
)

const keyOf = ({ world, params }: OperationContext) => requireKey(world.db, params.key ?? '')
const usableKeyOf = ({ world, params }: OperationContext) => requireUsableKey(world.db, params.key ?? '')
const targetOf = ({ name }: Pick<Key, 'name'>) => `key:${name}`

async function withMoney({ world }: OperationContext, key: Key) {
  const [balance, usedNano] = await Promise.all([
    balanceOf(world.db, key.account),
    budgetUsedNano(world.db, key, world.now()),
  ])
  if (!balance) throw new Error(`key ${key.name} has no account`)
  const budgetUsed = key.budgetNano === null ? null : formatUsd(usedNano)
  return { ...keyWithMoneyJson(key, balance, world.now()), budget_used_usd: budgetUsed }
}

const list = operation({
  id: 'listKeys',
  endpoint: 'GET /keys',
  role: 'viewer',
  summary: 'Keys, newest first',
  query: Type.Object({ ...pageQuery, account: optionalText('Only those of this account.') }),
  reply: PageOf(KeyReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const rows = await listKeysAfter(world.db, {
      after: query.after,
      account: query.account,
      limit: limit + 1,
    })
    return pageOf(
      rows,
      limit,
      (key) => keyView.show({ key, now: world.now() }),
      ({ id }) => id,
    )
  },
})

const show = operation({
  id: 'getKey',
  endpoint: 'GET /keys/{key}',
  role: 'viewer',
  summary: 'One key',
  description: 'By its name or id, with the money of its account.',
  reply: KeyReply,
  run: async (context) => withMoney(context, await keyOf(context)),
})

const create = operation({
  id: 'createKey',
  endpoint: 'POST /keys',
  role: 'operator',
  summary: 'Make a key',
  description: 'Its secret is in this answer only.',
  body: Type.Object(
    {
      name: Text(`Its name: ${NAME_RULE}.`),
      account: optionalText('The account that pays. Default: an account with the name of the key.'),
      balance_usd: optionalText('Dollars to add to the account, such as `5`.'),
      ...keySettings,
    },
    closedBody,
  ),
  reply: NewKeyReply,
  async run(context, _query, { name, account = name, balance_usd: deposit, ...body }) {
    const { db } = context.world
    const payer = await balanceOf(db, account)
    if (payer && deposit !== undefined) assertRoom(payer, amountOf(deposit, 'balance_usd'))
    return makeKey(context, { name, account, deposit, settings: body }, (drafted, settings) => {
      const recorded = changing(context, {
        action: 'key.create',
        target: targetOf(drafted),
        after: { id: drafted.id, account, ...settingsJson(settings) },
      })
      return storeKey(recorded, drafted, settings)
    })
  },
})

interface KeyToMake {
  name: string
  account: string
  /** Dollars to add to the account. */
  deposit: string | undefined
  settings: Static<typeof Settings>
}

/** Makes a key, which `store` keeps, and adds the first money to its account. Its secrets are in the answer only. */
export async function makeKey(
  context: OperationContext,
  { name, account, deposit = '0', settings: given }: KeyToMake,
  store: (drafted: NewKey, settings: KeySettings) => Promise<void>,
) {
  const { world } = context
  const depositNano = amountOf(deposit, 'balance_usd')
  if (depositNano < 0) throw invalidRequest('balance_usd', "Invalid 'balance_usd': expected 0 or more.")
  const drafted = await draftKey(world.db, world, name, account)
  await store(drafted, settingsOf(context, unlimited, given))
  if (depositNano > 0) {
    const of = await requireAccount(world.db, account)
    await transfer(context, of, { kind: 'credit', amountNano: depositNano, note: `with key ${name}` })
  }
  const { secret, webhookSecret } = drafted
  const made = await requireKey(world.db, drafted.id)
  return { key: secret, webhook_secret: webhookSecret, ...(await withMoney(context, made)) }
}

const update = operation({
  id: 'updateKey',
  endpoint: 'PATCH /keys/{key}',
  role: 'operator',
  summary: 'Change a key',
  description: 'What is not named stays; null removes a limit.',
  body: Settings,
  reply: KeyReply,
  async run(context, _query, body) {
    const key = await usableKeyOf(context)
    const after = settingsOf(context, key, body)
    const db = changing(context, {
      action: 'key.update',
      target: targetOf(key),
      before: settingsJson(key),
      after: settingsJson(after),
    })
    await updateKey(db, key.id, after)
    return withMoney(context, await keyOf(context))
  },
})

/** An operation that changes the state of a key, and does nothing if the key already has it. */
function transition<const Name extends 'pause' | 'resume' | 'revoke'>(
  name: Name,
  summary: string,
  change: (db: OperationContext['world']['db'], key: Key, now: number) => Promise<boolean>,
) {
  return operation({
    id: `${name}Key`,
    endpoint: `POST /keys/{key}/${name}`,
    role: 'operator',
    summary,
    reply: KeyReply,
    async run(context) {
      const key = name === 'revoke' ? await keyOf(context) : await usableKeyOf(context)
      const now = context.world.now()
      const { status } = keyView.show({ key, now })
      const db = changing(context, { action: `key.${name}`, target: targetOf(key), before: { status } })
      await change(db, key, now)
      return keyView.show({ key: await keyOf(context), now })
    },
  })
}

const pause = transition('pause', 'Pause a key until it is resumed', (db, { id }, now) =>
  pauseKey(db, id, now),
)
const resume = transition('resume', 'Resume a paused key', (db, { id }) => resumeKey(db, id))
const revoke = transition('revoke', 'Revoke a key permanently', (db, { id }, now) => revokeKey(db, id, now))

const roll = operation({
  id: 'rollKey',
  endpoint: 'POST /keys/{key}/roll',
  role: 'operator',
  summary: 'Replace the secret of a key',
  description: 'The new one is in this answer only; the old one is refused.',
  reply: NewKeyReply,
  async run(context) {
    const key = await usableKeyOf(context)
    const db = changing(context, { action: 'key.roll', target: targetOf(key), before: { hint: key.hint } })
    const secret = await giveNewSecret(db, key, context.world)
    return { key: secret, ...(await withMoney(context, await keyOf(context))) }
  },
})

const rollWebhook = operation({
  id: 'rollWebhookSecret',
  endpoint: 'POST /keys/{key}/roll-webhook',
  role: 'operator',
  summary: 'Replace the secret of webhooks',
  description: 'For a day the old one signs too.',
  reply: Type.Object({ id: Type.String(), webhook_secret: Type.String(), old_until: Type.String() }, open),
  async run(context) {
    const key = await usableKeyOf(context)
    const db = changing(context, { action: 'key.roll_webhook', target: targetOf(key) })
    const { secret, oldUntil } = await giveNewWebhookSecret(db, key, context.world)
    return { id: key.id, name: key.name, webhook_secret: secret, old_until: isoTime(oldUntil) }
  },
})

/** The settings of a key after a body is applied. */
function settingsOf(
  { world }: OperationContext,
  before: KeySettings,
  body: Static<typeof Settings>,
): KeySettings {
  const { models = before.models, addresses } = body
  const budgetNano =
    body.budget_usd === undefined
      ? before.budgetNano
      : body.budget_usd === null
        ? null
        : amountOf(body.budget_usd, 'budget_usd')
  const kept = budgetNano === null ? null : before.budgetPeriod
  const { budget_period: budgetPeriod = kept } = body
  // Models that were removed from the configuration since then stay unchanged.
  checkKeySettings({ models: body.models ?? null, budgetNano, budgetPeriod }, world.config)
  if (body.spenders) checkSpenderRule(body.spenders)
  if (body.cache) checkCacheRule(body.cache)
  return {
    models: models && [...new Set(models)],
    addresses: addresses === undefined ? before.addresses : networksOf(addresses),
    requestsPerMinute: given(body.requests_per_minute, before.requestsPerMinute),
    tokensPerMinute: given(body.tokens_per_minute, before.tokensPerMinute),
    concurrency: given(body.concurrency, before.concurrency),
    budgetNano,
    budgetPeriod,
    spenders: body.spenders === undefined ? before.spenders : body.spenders,
    cache: body.cache === undefined ? before.cache : body.cache,
    expiresAt:
      body.expires_at === undefined
        ? before.expiresAt
        : body.expires_at === null
          ? null
          : (timeOfQuery('expires_at', body.expires_at) ?? null),
  }
}

function given(value: number | null | undefined, before: number | null): number | null {
  return value === undefined ? before : value
}

export function settingsJson(of: KeySettings): object {
  return {
    models: of.models,
    addresses: of.addresses,
    requests_per_minute: of.requestsPerMinute,
    tokens_per_minute: of.tokensPerMinute,
    concurrency: of.concurrency,
    budget_usd: of.budgetNano === null ? null : formatUsd(of.budgetNano),
    budget_period: of.budgetPeriod,
    spenders: of.spenders,
    cache: of.cache,
    expires_at: isoTime(of.expiresAt),
  }
}

export const keyOperations = [list, show, create, update, pause, resume, roll, rollWebhook, revoke]
