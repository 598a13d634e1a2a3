// gateway plans: shows the plans of the configuration and the accounts that have them. `gateway accounts update` adds an account to
// a plan.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { gatewayCommand } from '../lib/gateway'
import { commandLineOf } from '../program'
import { dollarsOf } from '../view/balance'
import { cacheText } from '../view/key'
import { paint, print, printJson, say } from '../view/output'
import { printTable, renderBlock, tableOf } from '../view/table'
import { utcTime } from '../view/times'

type Plan = ReplyOf<'getPlan'>
type Member = ReplyOf<'listPlanAccounts'>['data'][number]

const list = gatewayCommand({
  name: 'list',
  description: 'List plans with their numbers of accounts.',
  examples: ['gateway plans list', 'gateway plans list --json | jq -r .[].plan'],
  run: (args) => async (gateway) => {
    const { data } = await gateway.call('listPlans')
    if (args.json) return printJson(data)
    if (data.length === 0) return say('There are no plans. Define them under `plans` in the configuration.')
    printTable(data, [
      ['PLAN', (plan) => plan.plan, { flexible: true }],
      ['ACCOUNTS', (plan) => String(plan.accounts), { align: 'right' }],
      ['PRICE', (plan) => (plan.configured ? plan.price_factor : ''), { align: 'decimal' }],
      ['BUDGET', (plan) => periodic(plan.budget_usd, plan.budget_period)],
      ['ALLOWANCE', (plan) => periodic(plan.allowance_usd, plan.allowance_period)],
      [
        'MODELS',
        (plan) => (plan.configured ? (plan.models?.join(', ') ?? 'all') : 'none: it is not configured'),
        { flexible: true },
      ],
    ])
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Show a plan and its accounts, with the use of their budgets and allowances.',
  examples: ['gateway plans show team', 'gateway plans show team --json | jq -r .members[].account'],
  args: { plan: { type: 'positional', required: true, description: 'The plan' } },
  run: (args) => async (gateway) => {
    const params = { plan: args.plan }
    const plan = await gateway.call('getPlan', { params })
    const members = await gateway.rows('listPlanAccounts', { params })
    if (args.json) return printJson({ ...plan, members })
    print(renderBlock(entriesOf(plan)))
    if (!plan.configured)
      say(
        '\nIt is not configured any more: keys of its accounts are refused until it is, or they have another.',
      )
    const assign = commandLineOf(`accounts update ACCOUNT --plan ${plan.plan}`, args)
    if (members.length === 0) return say(`\nNo account has it: ${assign}`)
    print(`\n${membersTable(members)}`)
  },
})

export const plans = defineCommand({
  meta: { name: 'plans', description: 'Show plans: groups of accounts with their own prices and limits.' },
  subCommands: { list, show },
})

function entriesOf(plan: Plan): [string, string][] {
  const limits = [
    [plan.requests_per_minute, 'requests a minute'],
    [plan.tokens_per_minute, 'tokens a minute'],
    [plan.concurrency, 'at a time'],
  ].flatMap(([count, what]) => (count === null ? [] : [`${count} ${what}`]))
  const factors = Object.entries(plan.price_factors).map(([model, factor]) => `${model} times ${factor}`)
  const entries: [string, string][] = [
    ['plan', paint('bold', plan.plan)],
    ['accounts', String(plan.accounts)],
  ]
  if (!plan.configured) return entries
  return [
    ...entries,
    ['price', [`times ${plan.price_factor}`, ...factors].join(', ')],
    ['models', plan.models?.join(', ') ?? 'all'],
    ['limits', limits.length > 0 ? `${limits.join(', ')}, for each key` : 'none'],
    ['budget', plan.budget_usd === null ? 'none' : periodic(plan.budget_usd, plan.budget_period)],
    ['allowance', plan.allowance_usd === null ? 'none' : periodic(plan.allowance_usd, plan.allowance_period)],
    ...(plan.cache === null ? [] : [['response cache', cacheText(plan.cache)] as [string, string]]),
  ]
}

function membersTable(members: readonly Member[]): string {
  const endsAt = members.find(({ allowance_ends_at }) => allowance_ends_at !== null)?.allowance_ends_at
  const table = tableOf(members, [
    ['ACCOUNT', (member) => member.account, { flexible: true }],
    ['STATUS', (member) => member.status, { optional: true }],
    ['AVAILABLE', (member) => member.available_usd, { align: 'decimal' }],
    [
      'BUDGET',
      (member) => periodic(member.budget_in_force_usd, member.budget_in_force_period),
      { flexible: true },
    ],
    ['USED', (member) => member.budget_used_usd ?? '', { align: 'decimal' }],
    ['ALLOWANCE', (member) => member.allowance_usd ?? '', { align: 'decimal' }],
    ['USED', (member) => member.allowance_used_usd ?? '', { align: 'decimal' }],
  ])
  return endsAt ? `${table}\n\nThe allowance is renewed at ${utcTime(Date.parse(endsAt))}.` : table
}

/** An amount per period: `$5.00 a month`; empty if there is no amount. */
function periodic(usd: string | null, period: string | null): string {
  return usd === null ? '' : `${dollarsOf(usd)} a ${period}`
}
