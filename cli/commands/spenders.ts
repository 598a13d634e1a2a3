// gateway spenders: tokens that act for keys, and the spenders that requests name: the spending, the limits and the name of each.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { WrongUsage } from '../lib/errors'
import { gatewayCommand } from '../lib/gateway'
import { givesSettings, keySettingArgs, readSettings } from '../lib/key-settings'
import { limitArg, parseLimit } from '../lib/values'
import { dollarsOf } from '../view/balance'
import { print, printJson, say } from '../view/output'
import { printTable, type Shown } from '../view/table'
import { shortTime } from '../view/times'

const DEFAULT_LIMIT = 50

const list = gatewayCommand({
  name: 'list',
  description: 'List spenders, newest first: tokens of keys, and users named in requests.',
  examples: ['gateway spenders list', 'gateway spenders list --key alice --json | jq .[0].budget_used_usd'],
  args: {
    key: { type: 'string', valueHint: 'KEY', description: 'Only those of this key' },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const rows = await gateway.rows('listSpenders', { query: { key: args.key } }, limit)
      if (args.json) return printJson(rows)
      if (rows.length === 0)
        return say(
          'There are no spenders. POST /v1/tokens creates tokens; `keys update --spenders` lets requests name spenders.',
        )
      printTable(rows, columns)
    }
  },
})

const columns: readonly Shown<ReplyOf<'revokeSpender'>>[] = [
  ['SPENDER', ({ id }) => id, { isId: true }],
  ['KEY', ({ key }) => key],
  ['KIND', ({ kind }) => kind],
  ['NAME', ({ name }) => name ?? '', { flexible: true }],
  ['STATUS', ({ status }) => status],
  ['USED', ({ budget_used_usd: used }) => (used === null ? '' : dollarsOf(used))],
  ['BUDGET', ({ budget_usd: usd }) => (usd === null ? 'none' : dollarsOf(usd))],
  ['EXPIRES (UTC)', ({ expires_at: at }) => (at === null ? 'never' : shortTime(Date.parse(at)))],
]

const spenderArg = { type: 'positional', required: true, description: 'The id of the spender' } as const

const show = gatewayCommand({
  name: 'show',
  description: 'Show one spender: its limits and the use of its budget.',
  examples: ['gateway spenders show spn_019a…'],
  args: { spender: spenderArg },
  run: (args) => async (gateway) => {
    const spender = await gateway.call('getSpender', { params: { spender: args.spender } })
    if (args.json) printJson(spender)
    else printTable([spender], columns)
  },
})

const update = gatewayCommand({
  name: 'update',
  description: "Change the limits of a spender. The word none restores the limit of its key's rule.",
  examples: [
    'gateway spenders update spn_019a… --budget 10 --per month',
    'gateway spenders update spn_019a… --rpm none',
  ],
  args: {
    spender: spenderArg,
    models: keySettingArgs.models,
    rpm: keySettingArgs.rpm,
    budget: keySettingArgs.budget,
    per: keySettingArgs.per,
  },
  run(args) {
    const { models, rpm, budget, per } = args
    const flags = { models, rpm, budget, per }
    if (!givesSettings(flags)) throw new WrongUsage('Nothing to change: give at least one setting.')
    return async (gateway) => {
      const { models, requests_per_minute, budget_usd, budget_period } = readSettings(
        flags,
        gateway,
        Date.now(),
      )
      const body = { models, requests_per_minute, budget_usd, budget_period }
      const spender = await gateway.call('updateSpender', { params: { spender: args.spender }, body })
      if (args.json) printJson(spender)
      else printTable([spender], columns)
    }
  },
})

const forget = gatewayCommand({
  name: 'forget',
  description: "Erase a spender's name. Its sums stay with its id; a token is revoked.",
  examples: ['gateway spenders forget spn_019a…'],
  args: { spender: spenderArg },
  run: (args) => async (gateway) => {
    const spender = await gateway.call('forgetSpender', { params: { spender: args.spender } })
    if (args.json) printJson(spender)
    else print(`${spender.id} is forgotten: its sums stay, its name is erased.`)
  },
})

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'Revoke a token permanently, within a second.',
  examples: ['gateway spenders revoke tok_019a…'],
  args: {
    spender: { type: 'positional', required: true, description: 'The id of the token' },
  },
  run: (args) => async (gateway) => {
    const token = await gateway.call('revokeSpender', { params: { spender: args.spender } })
    if (args.json) return printJson(token)
    print(`The token of key ${token.key} is revoked: it is refused within a second.`)
  },
})

export const spenders = defineCommand({
  meta: { name: 'spenders', description: 'Manage spenders below a key: tokens, end users and tags.' },
  subCommands: { list, show, update, forget, revoke },
})
