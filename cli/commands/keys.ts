// gateway keys: makes, shows, changes, replaces and revokes keys. A secret is printed when it is made, and must never
// be printed again.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { formatUsd } from '../../src/lib/money'
import { WrongUsage } from '../lib/errors'
import { OperationFailed } from '../lib/failures'
import { type Gateway, gatewayCommand } from '../lib/gateway'
import { givesSettings, keySettingArgs, readSettings } from '../lib/key-settings'
import { parseAmountNano, parseName } from '../lib/values'
import { commandLineOf } from '../program'
import { dollarsOf } from '../view/balance'
import { keyBlock, keyTable } from '../view/key'
import { print, printJson, say } from '../view/output'
import { utcTime } from '../view/times'

const nameArg = { type: 'positional', required: true, description: 'Name or id of the key' } as const

const create = gatewayCommand({
  name: 'create',
  description: 'Create a key and print its secret. It is shown only once.',
  examples: [
    'gateway keys create alice --balance 5',
    'gateway keys create ci --account team --models pgt-6-luna,text-embedding-v4 --expires 30d',
    'gateway keys create intern --balance 20 --budget 1.50 --per day --rpm 60 --concurrency 4',
    'gateway keys create office --account team --from 203.0.113.0/24,2001:db8::/48',
  ],
  args: {
    name: { ...nameArg, description: 'Its name: letters, digits and . _ @ -' },
    account: {
      type: 'string',
      valueHint: 'A',
      description: 'The account that pays (default: one with the name of the key)',
    },
    balance: { type: 'string', valueHint: 'USD', description: 'Dollars to add to the account' },
    ...keySettingArgs,
  },
  run(args) {
    const name = parseName(args.name)
    const account = args.account === undefined ? name : parseName(args.account)
    const depositNano = args.balance === undefined ? 0 : parseAmountNano('--balance', args.balance)
    if (depositNano < 0) throw new WrongUsage(`--balance must not be negative, as ${args.balance} is.`)
    return async (gateway) => {
      const existing = await findAccount(gateway, account)
      const settings = readSettings(args, gateway, Date.now())
      const balance = depositNano === 0 ? undefined : formatUsd(depositNano)
      const key = await gateway.call('createKey', {
        body: { name, account, balance_usd: balance, ...settings },
      })
      if (args.json) return printJson(key)
      print(key.key)
      say(`\nThis is the secret of key ${name}. Keep it: it is shown only this once.`)
      say(`Webhooks of its tasks are signed with this, not shown again either:\n${key.webhook_secret}`)
      say(`${existing ? 'Account' : 'New account'} ${account} has ${dollarsOf(key.available_usd)} to spend.`)
      if (key.available_usd === formatUsd(0))
        say(`Add money: ${commandLineOf(`balance add ${account} 5`, args)}`)
    }
  },
})

const list = gatewayCommand({
  name: 'list',
  description: 'List all keys, newest first.',
  examples: [
    'gateway keys list',
    `gateway keys list --json | jq -r '.[] | select(.status == "active") | .name'`,
  ],
  run: (args) => async (gateway) => {
    const now = Date.now()
    const keys = await gateway.rows('listKeys')
    if (args.json) return printJson(keys)
    if (keys.length === 0)
      return say(`There are no keys. Create one: ${commandLineOf('keys create NAME --balance 5', args)}`)
    print(keyTable(keys, now))
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Show one key: its limits, its account and its state.',
  examples: ['gateway keys show alice', 'gateway keys show alice --json | jq -r .available_usd'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const key = await keyOf(gateway, args.name)
    if (args.json) printJson(key)
    else print(keyBlock(key, Date.now()))
  },
})

const update = gatewayCommand({
  name: 'update',
  description: 'Change the limits of a key. Others stay as they are; the word none removes a limit.',
  examples: [
    'gateway keys update alice --rpm 120 --models none',
    'gateway keys update alice --budget 10 --per month',
    'gateway keys update alice --expires 2w',
  ],
  args: { name: nameArg, ...keySettingArgs },
  run(args) {
    if (!givesSettings(args)) throw new WrongUsage('Nothing to change: give at least one setting.')
    const now = Date.now()
    return async (gateway) => {
      const body = readSettings(args, gateway, now)
      const key = await gateway.call('updateKey', { params: { key: args.name }, body })
      if (args.json) printJson(key)
      else print(keyBlock(key, now))
    }
  },
})

const roll = gatewayCommand({
  name: 'roll',
  description: 'Give a key a new secret and print it; the old one stops working within a second.',
  examples: ['gateway keys roll alice', 'gateway keys roll alice --json | jq -r .key'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const key = await gateway.call('rollKey', { params: { key: args.name } })
    if (args.json) return printJson(key)
    print(key.key)
    say(`\nThis is the new secret of key ${key.name}. Keep it: it is shown only this once.`)
    say('The old secret stops working within a second.')
  },
})

const rollWebhook = gatewayCommand({
  name: 'roll-webhook',
  description: 'Replace the secret that signs webhooks. For a day the old one signs too.',
  examples: [
    'gateway keys roll-webhook alice',
    'gateway keys roll-webhook alice --json | jq -r .webhook_secret',
  ],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const rolled = await gateway.call('rollWebhookSecret', { params: { key: args.name } })
    if (args.json) return printJson(rolled)
    print(rolled.webhook_secret)
    say(`\nThis signs the webhooks of key ${rolled.name}. Keep it: it is shown only this once.`)
    say(`The old secret signs too until ${utcTime(Date.parse(rolled.old_until))}; older ones no longer do.`)
  },
})

const pause = gatewayCommand({
  name: 'pause',
  description: 'Pause a key until it is resumed, within a second. Running requests finish.',
  examples: ['gateway keys pause alice'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const { id, name, paused_at: pausedAt } = await keyOf(gateway, args.name)
    const key = await gateway.call('pauseKey', { params: { key: id } })
    if (args.json) return printJson(key)
    if (pausedAt !== null) return print(`Key ${name} was already paused.`)
    print(`Key ${name} is paused: requests with it are refused within a second.`)
    say(`To accept it again: ${commandLineOf(`keys resume ${name}`, args)}`)
  },
})

const resume = gatewayCommand({
  name: 'resume',
  description: 'Accept a paused key again.',
  examples: ['gateway keys resume alice'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const { id, name, paused_at: pausedAt } = await keyOf(gateway, args.name)
    const key = await gateway.call('resumeKey', { params: { key: id } })
    if (args.json) return printJson(key)
    print(pausedAt === null ? `Key ${name} is not paused.` : `Key ${name} works again within a second.`)
  },
})

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'Revoke a key permanently, within a second. Its account and its history stay.',
  examples: ['gateway keys revoke alice'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const key = await keyOf(gateway, args.name)
    const revoked = await gateway.call('revokeKey', { params: { key: key.id } })
    if (args.json) return printJson(revoked)
    if (key.revoked_at !== null)
      return print(`Key ${key.name} was already revoked, at ${utcTime(Date.parse(key.revoked_at))}.`)
    print(`Key ${key.name} is revoked: requests with it are refused within a second.`)
    say(`Account ${key.account} keeps its balance of ${dollarsOf(key.balance_usd)}.`)
  },
})

export const keys = defineCommand({
  meta: { name: 'keys', description: "Create and manage callers' keys." },
  subCommands: { create, list, show, update, pause, resume, roll, 'roll-webhook': rollWebhook, revoke },
})

function keyOf(gateway: Gateway, key: string): Promise<ReplyOf<'getKey'>> {
  return gateway.call('getKey', { params: { key } })
}

/** An account if it exists: a new key may create it. */
async function findAccount(gateway: Gateway, account: string): Promise<ReplyOf<'getAccount'> | undefined> {
  return gateway.call('getAccount', { params: { account } }).catch((error) => {
    if (error instanceof OperationFailed && error.code === 'account_not_found') return undefined
    throw error
  })
}
