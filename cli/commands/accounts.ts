// gateway accounts: shows accounts with their names and notes, and freezes and closes them. `gateway balance` handles their money.
// An account must never be closed while anything is held on it.

import { defineCommand } from 'citty'
import { MAX_DISPLAY_NAME_LENGTH, MAX_NOTE_LENGTH } from '../../src/accounts/accounts'
import type { ReplyOf } from '../../src/admin/client'
import { BUDGET_PERIODS } from '../../src/contract/budgets'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { type Gateway, gatewayCommand } from '../lib/gateway'
import { parsePositiveNano, parseWord, unlessNone } from '../lib/values'
import { commandLineOf } from '../program'
import { dollarsOf } from '../view/balance'
import { paint, print, printJson, say } from '../view/output'
import { printTable, renderBlock } from '../view/table'
import { utcTime } from '../view/times'

const accountArg = { type: 'positional', required: true, description: 'The account' } as const

const list = gatewayCommand({
  name: 'list',
  description: 'List all accounts, sorted by name.',
  examples: ['gateway accounts list', 'gateway accounts list --json | jq -r .[].account'],
  run: (args) => async (gateway) => {
    const accounts = await gateway.rows('listAccounts')
    if (args.json) return printJson(accounts)
    if (accounts.length === 0)
      return say(
        `There are no accounts. Creating a key creates one: ${commandLineOf('keys create NAME --balance 5', args)}`,
      )
    printTable(accounts, [
      ['ACCOUNT', (account) => account.account, { flexible: true }],
      ['STATUS', statusText],
      ['PLAN', (account) => account.plan ?? '', { optional: true }],
      ['AVAILABLE', (account) => account.available_usd, { align: 'decimal' }],
      ['CALLED', (account) => account.display_name ?? '', { flexible: true }],
      ['NOTE', (account) => account.note ?? '', { flexible: true }],
    ])
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Show one account.',
  examples: ['gateway accounts show alice'],
  args: { account: accountArg },
  run: (args) => async (gateway) => showOne(await accountOf(gateway, args.account), args.json === true),
})

const update = gatewayCommand({
  name: 'update',
  description:
    'Say what an account is called, note something of it, give it a plan and a budget; the word none removes it.',
  examples: [
    'gateway accounts update alice --display-name "Alice Smith Ltd" --note "pays by invoice"',
    'gateway accounts update alice --note none',
    'gateway accounts update alice --plan team --budget 100 --per month',
  ],
  args: {
    account: accountArg,
    'display-name': {
      type: 'string',
      valueHint: 'TEXT',
      description: 'A name to show; the ledger keeps the account name',
    },
    note: { type: 'string', valueHint: 'TEXT', description: 'For operators only' },
    plan: { type: 'string', valueHint: 'PLAN', description: 'A plan of the configuration' },
    budget: {
      type: 'string',
      valueHint: 'USD',
      description: "Spending limit of the account per period (none: the plan's limit)",
    },
    per: {
      type: 'string',
      valueHint: BUDGET_PERIODS.join('|'),
      description: 'The calendar period of the budget, in UTC',
    },
  },
  run(args) {
    const { 'display-name': displayName, note, plan } = args
    const budget = readBudget(args)
    if ([displayName, note, plan, args.budget].every((change) => change === undefined))
      throw new WrongUsage('Nothing to change: give --display-name, --note, --plan or --budget.')
    return async (gateway) => {
      const body = {
        display_name: textOf('display-name', displayName, MAX_DISPLAY_NAME_LENGTH),
        note: textOf('note', note, MAX_NOTE_LENGTH),
        ...(plan !== undefined && { plan: unlessNone(plan, (name) => name) }),
        ...budget,
      }
      const { account } = args
      showOne(await gateway.call('updateAccount', { params: { account }, body }), args.json === true)
    }
  },
})

const freeze = gatewayCommand({
  name: 'freeze',
  description: 'Freeze an account and all its keys until it is unfrozen. Running requests finish.',
  examples: ['gateway accounts freeze alice'],
  args: { account: accountArg },
  run: (args) => async (gateway) => {
    const { account, status } = await accountOf(gateway, args.account)
    const after = await gateway.call('freezeAccount', { params: { account } })
    if (args.json) return showOne(after, true)
    if (status === 'frozen') return print(`Account ${account} was already frozen.`)
    print(`Account ${account} is frozen: its keys are refused within a second.`)
    say(`To accept them again: ${commandLineOf(`accounts unfreeze ${account}`, args)}`)
  },
})

const unfreeze = gatewayCommand({
  name: 'unfreeze',
  description: 'Accept the keys of a frozen account again.',
  examples: ['gateway accounts unfreeze alice'],
  args: { account: accountArg },
  run: (args) => async (gateway) => {
    const { account, status } = await accountOf(gateway, args.account)
    const after = await gateway.call('unfreezeAccount', { params: { account } })
    if (args.json) return showOne(after, true)
    const isNew = status === 'frozen'
    print(isNew ? `The keys of account ${account} work again.` : `Account ${account} is not frozen.`)
  },
})

const close = gatewayCommand({
  name: 'close',
  description: 'Close an account and all its keys permanently. Only possible while nothing is held on it.',
  examples: ['gateway accounts close alice --yes'],
  args: {
    account: accountArg,
    yes: { type: 'boolean', description: 'Close it: this cannot be undone' },
  },
  run: (args) => async (gateway) => {
    const { account, status, closed_at: closedAt, ...before } = await accountOf(gateway, args.account)
    if (status === 'closed')
      throw new CommandFailed(
        `Account ${account} was closed at ${utcTime(Date.parse(closedAt ?? ''))}, permanently.`,
      )
    const balance = dollarsOf(before.balance_usd)
    if (!args.yes) {
      throw new CommandFailed(
        `Account ${account} has ${balance}. A closed account cannot be opened again: close it with --yes.`,
      )
    }
    const after = await gateway.call('closeAccount', { params: { account } })
    if (args.json) return showOne(after, true)
    print(`Account ${account} is closed, and keeps its balance of ${balance} and its ledger.`)
  },
})

export const accounts = defineCommand({
  meta: {
    name: 'accounts',
    description: 'Manage accounts: names, plans and budgets; freeze or close them.',
  },
  subCommands: { list, show, update, freeze, unfreeze, close },
})

type AccountReply = ReplyOf<'getAccount'>

function accountOf(gateway: Gateway, account: string): Promise<AccountReply> {
  return gateway.call('getAccount', { params: { account } })
}

/** The budget of the flags; null to remove it. */
function readBudget({ budget, per }: { budget?: string | undefined; per?: string | undefined }) {
  if (budget === undefined && per === undefined) return {}
  if (budget === 'none') return { budget_usd: null }
  if (budget === undefined || per === undefined)
    throw new WrongUsage(`--budget USD needs --per ${BUDGET_PERIODS.join('|')}, and that needs --budget.`)
  parsePositiveNano('--budget', budget)
  return { budget_usd: budget, budget_period: parseWord('per', per, BUDGET_PERIODS) }
}

/** The text of a flag; null for the word `none`, undefined if the flag is absent. */
function textOf(flag: string, text: string | undefined, maxLength: number): string | null | undefined {
  if (text === undefined) return undefined
  if (text.trim() === '' || text.length > maxLength)
    throw new WrongUsage(`--${flag} takes 1 to ${maxLength} characters.`)
  return unlessNone(text, (each) => each)
}

function showOne(account: AccountReply, asJson: boolean): void {
  if (asJson) {
    printJson(account)
    return
  }
  const { balance_usd: balance, available_usd: available, budget_usd: budget } = account
  const { frozen_at: frozenAt, closed_at: closedAt } = account
  const entries: [string, string][] = [
    ['account', paint('bold', account.account)],
    ['status', statusText(account)],
    ['balance', `${dollarsOf(balance)}, ${dollarsOf(available)} of it available`],
    ['called', account.display_name ?? 'as its name'],
    ['note', account.note ?? 'none'],
    ['plan', account.plan ?? 'none'],
    ['budget', budget === null ? 'none of its own' : `${dollarsOf(budget)} a ${account.budget_period}`],
    ['created', utcTime(Date.parse(account.created_at))],
  ]
  if (frozenAt !== null) entries.push(['frozen', utcTime(Date.parse(frozenAt))])
  if (closedAt !== null) entries.push(['closed', utcTime(Date.parse(closedAt))])
  print(renderBlock(entries))
}

function statusText({ status }: AccountReply): string {
  return paint(status === 'open' ? 'green' : status === 'frozen' ? 'yellow' : 'red', status)
}
