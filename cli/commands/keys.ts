// gateway keys: makes, shows, changes, replaces and revokes keys. A secret is printed when it is made, and must never
// be printed again.

import { defineCommand } from 'citty'
import { keyJson, keyWithMoneyJson } from '../../src/accounts/key-json'
import {
  createKey,
  findKey,
  type Key,
  type KeySettings,
  listKeys,
  makeSecret,
  pauseKey,
  resumeKey,
  revokeKey,
  rollKey,
  unlimited,
  updateKey,
} from '../../src/accounts/keys'
import { newId, randomBytes } from '../../src/app/world'
import { type Balance, balanceOf } from '../../src/billing/balances'
import { addCredit } from '../../src/billing/ledger'
import { budgetUsedNano } from '../../src/billing/usage-report'
import type { Db } from '../../src/db/db'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { makeWebhookSecret, OVERLAP_MS, rollWebhookSecret } from '../../src/webhooks/secrets'
import { requireRoom } from '../lib/account'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { givesSettings, keySettingArgs, readSettings } from '../lib/key-settings'
import { commandArgs, withDatabase } from '../lib/settings'
import { parseAmountNano, parseName } from '../lib/values'
import { commandLineOf } from '../program'
import { dollars } from '../view/balance'
import { keyBlock, keyColumns, keyRow } from '../view/key'
import { print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'
import { utcTime } from '../view/times'

const nameArg = { type: 'positional', required: true, description: 'Name or id of the key' } as const

const create = defineCommand({
  meta: {
    name: 'create',
    description: 'Make a key and print its secret, which is shown only this once.',
    examples: [
      'gateway keys create alice --balance 5',
      'gateway keys create ci --account team --models pgt-5-mini,text-embedding-v4 --expires 30d',
      'gateway keys create intern --balance 20 --budget 1.50 --per day --rpm 60 --concurrency 4',
    ],
  },
  args: {
    name: { ...nameArg, description: 'Its name: letters, digits and . _ @ -' },
    account: {
      type: 'string',
      valueHint: 'A',
      description: 'The account that pays (default: one of its own name)',
    },
    balance: { type: 'string', valueHint: 'USD', description: 'Dollars to add to the account' },
    ...keySettingArgs,
    ...commandArgs,
  },
  async run({ args }) {
    const name = parseName('A name', args.name)
    const account = args.account === undefined ? name : parseName('An account', args.account)
    const depositNano = args.balance === undefined ? 0 : parseAmountNano('--balance', args.balance)
    if (depositNano < 0) throw new WrongUsage(`--balance must not be negative, as ${args.balance} is.`)
    const now = Date.now()
    const secret = makeSecret(randomBytes)
    const webhookSecret = makeWebhookSecret(randomBytes)
    await withDatabase(args, async (db, config) => {
      const settings = readSettings(args, unlimited, config, now)
      const existing = await balanceOf(db, account)
      if (existing) requireRoom(existing, depositNano)
      const key = await storeKey(db, { name, account, secret, webhookSecret, settings, now })
      if (depositNano > 0) {
        const note = `with key ${name}`
        await addCredit(db, { id: newId('tr'), account, amountNano: depositNano, now, note })
      }
      const balance = await balanceFor(db, key)
      if (args.json) {
        return printJson({
          key: secret,
          webhook_secret: webhookSecret,
          ...keyWithMoneyJson(key, balance, now),
        })
      }
      print(secret)
      say(`\nThis is the secret of key ${name}. Keep it: it is shown only this once.`)
      say(`Webhooks of its tasks are signed with ${webhookSecret}, which is not shown again either.`)
      say(
        `${existing ? 'Account' : 'New account'} ${account} has ${dollars(balance.availableNano)} to spend.`,
      )
      if (balance.availableNano === 0) say(`Add money: ${commandLineOf(`balance add ${account} 5`, args)}`)
    })
  },
})

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List all keys, oldest first.',
    examples: [
      'gateway keys list',
      `gateway keys list --json | jq -r '.[] | select(.status == "active") | .name'`,
    ],
  },
  args: commandArgs,
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const keys = await listKeys(db)
      if (args.json) return printJson(keys.map((key) => keyJson(key, now)))
      if (keys.length === 0)
        return say(`There are no keys. Make one: ${commandLineOf('keys create NAME --balance 5', args)}`)
      print(
        renderTable(
          keyColumns,
          keys.map((key) => keyRow(key, now)),
        ),
      )
    })
  },
})

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show one key: its limits, its account and its state.',
    examples: ['gateway keys show alice', 'gateway keys show alice --json | jq -r .available_usd'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      const balance = await balanceFor(db, key)
      const usedNano = await budgetUsedNano(db, key, now)
      if (!args.json) return print(keyBlock(key, balance, usedNano, now))
      const budgetUsed = key.budgetNano === null ? null : formatUsd(usedNano)
      printJson({ ...keyWithMoneyJson(key, balance, now), budget_used_usd: budgetUsed })
    })
  },
})

const update = defineCommand({
  meta: {
    name: 'update',
    description: 'Change what a key may do. What is not named stays; the word none removes a limit.',
    examples: [
      'gateway keys update alice --rpm 120 --models none',
      'gateway keys update alice --budget 10 --per month',
      'gateway keys update alice --expires 2w',
    ],
  },
  args: { name: nameArg, ...keySettingArgs, ...commandArgs },
  async run({ args }) {
    if (!givesSettings(args)) throw new WrongUsage('Nothing to change: give at least one setting.')
    const now = Date.now()
    await withDatabase(args, async (db, config) => {
      const key = await requireKey(db, args.name)
      refuseRevoked(key)
      await updateKey(db, key.id, readSettings(args, key, config, now))
      const changed = await requireKey(db, key.id)
      const balance = await balanceFor(db, changed)
      if (args.json) return printJson(keyWithMoneyJson(changed, balance, now))
      print(keyBlock(changed, balance, await budgetUsedNano(db, changed, now), now))
    })
  },
})

const roll = defineCommand({
  meta: {
    name: 'roll',
    description: 'Give a key a new secret and print it; the old one is refused within a second.',
    examples: ['gateway keys roll alice', 'gateway keys roll alice --json | jq -r .key'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const secret = makeSecret(randomBytes)
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      refuseRevoked(key)
      if (!(await rollKey(db, key.id, secret)))
        throw new CommandFailed(`Key ${key.name} has just been revoked.`)
      if (args.json) {
        const rolled = await requireKey(db, key.id)
        return printJson({
          key: secret,
          ...keyWithMoneyJson(rolled, await balanceFor(db, rolled), Date.now()),
        })
      }
      print(secret)
      say(`\nThis is the new secret of key ${key.name}. Keep it: it is shown only this once.`)
      say('The old secret stops working within a second.')
    })
  },
})

const rollWebhook = defineCommand({
  meta: {
    name: 'roll-webhook',
    description: 'Replace the secret that signs webhooks; the old one signs too, for a day.',
    examples: [
      'gateway keys roll-webhook alice',
      'gateway keys roll-webhook alice --json | jq -r .webhook_secret',
    ],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const now = Date.now()
    const webhookSecret = makeWebhookSecret(randomBytes)
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      refuseRevoked(key)
      if (!(await rollWebhookSecret(db, key.id, webhookSecret, now)))
        throw new CommandFailed(`Key ${key.name} has just been revoked.`)
      if (args.json) {
        return printJson({
          id: key.id,
          name: key.name,
          webhook_secret: webhookSecret,
          old_until: isoTime(now + OVERLAP_MS),
        })
      }
      print(webhookSecret)
      say(`\nThis signs the webhooks of key ${key.name} from now on. Keep it: it is shown only this once.`)
      say(`The old secret signs too until ${utcTime(now + OVERLAP_MS)}; older ones no longer do.`)
    })
  },
})

const pause = defineCommand({
  meta: {
    name: 'pause',
    description: 'Refuse a key until it is resumed, within a second. Its running requests end as they would.',
    examples: ['gateway keys pause alice'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      refuseRevoked(key)
      const first = await pauseKey(db, key.id, now)
      if (args.json) return printJson(keyJson(await requireKey(db, key.id), now))
      if (!first) return print(`Key ${key.name} was paused before.`)
      print(`Key ${key.name} is paused: requests with it are refused within a second.`)
      say(`To take it again: ${commandLineOf(`keys resume ${key.name}`, args)}`)
    })
  },
})

const resume = defineCommand({
  meta: {
    name: 'resume',
    description: 'Take a paused key again.',
    examples: ['gateway keys resume alice'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      refuseRevoked(key)
      const done = await resumeKey(db, key.id)
      if (args.json) return printJson(keyJson(await requireKey(db, key.id), Date.now()))
      print(done ? `Key ${key.name} is taken again within a second.` : `Key ${key.name} is not paused.`)
    })
  },
})

const revoke = defineCommand({
  meta: {
    name: 'revoke',
    description: 'Refuse a key for ever, within a second. Its account and its history stay.',
    examples: ['gateway keys revoke alice'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const key = await requireKey(db, args.name)
      const first = await revokeKey(db, key.id, now)
      const revoked = await requireKey(db, key.id)
      if (args.json) return printJson(keyJson(revoked, now))
      if (!first) return print(`Key ${key.name} was revoked before, at ${utcTime(revoked.revokedAt ?? now)}.`)
      const balance = await balanceFor(db, revoked)
      print(`Key ${key.name} is revoked: requests with it are refused within a second.`)
      say(`Account ${key.account} keeps its balance of ${dollars(balance.balanceNano)}.`)
    })
  },
})

export const keys = defineCommand({
  meta: { name: 'keys', description: 'Make and manage the keys that callers use.' },
  subCommands: { create, list, show, update, pause, resume, roll, 'roll-webhook': rollWebhook, revoke },
})

async function storeKey(
  db: Db,
  from: {
    name: string
    account: string
    secret: string
    webhookSecret: string
    settings: KeySettings
    now: number
  },
): Promise<Key> {
  const { name, account, secret, webhookSecret, settings, now } = from
  const key = { id: newId('key'), name, account, secret, webhookSecret, createdAt: now, ...settings }
  if (!(await createKey(db, key))) {
    const { revokedAt } = await requireKey(db, name)
    const advice = revokedAt === null ? '' : ' It is revoked, and names are not reused.'
    throw new CommandFailed(`A key named ${name} already exists.${advice}`)
  }
  return requireKey(db, name)
}

async function requireKey(db: Db, nameOrId: string): Promise<Key> {
  const key = await findKey(db, nameOrId)
  if (!key) throw new CommandFailed(`There is no key "${nameOrId}"; \`keys list\` shows all.`)
  return key
}

/** The balance of a key's account. Every key's account was opened with it, so a missing one is a fault. */
async function balanceFor(db: Db, key: Key): Promise<Balance> {
  const balance = await balanceOf(db, key.account)
  if (!balance) throw new Error(`key ${key.name} has no account`)
  return balance
}

function refuseRevoked(key: Key): void {
  if (key.revokedAt === null) return
  throw new CommandFailed(`Key ${key.name} was revoked at ${utcTime(key.revokedAt)}: make another one.`)
}
