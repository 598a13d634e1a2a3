// gateway accounts: shows accounts, what they are called and noted as, and freezes and closes them. Their money is that
// of `gateway balance`. An account must never be closed while anything is held on it.

import { defineCommand } from 'citty'
import {
  type Account,
  accountJson,
  accountStatusOf,
  closeAccount,
  describeAccount,
  findAccount,
  freezeAccount,
  listAccounts,
  MAX_DISPLAY_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  unfreezeAccount,
} from '../../src/accounts/accounts'
import type { Db } from '../../src/db/db'
import { formatUsd } from '../../src/lib/money'
import { requireAccount } from '../lib/account'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { commandArgs, type SettingsFlags, withDatabase } from '../lib/settings'
import { unlessNone } from '../lib/values'
import { commandLineOf } from '../program'
import { dollars } from '../view/balance'
import { paint, print, printJson, say } from '../view/output'
import { renderBlock, renderTable } from '../view/table'
import { utcTime } from '../view/times'

const accountArg = { type: 'positional', required: true, description: 'The account' } as const

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List all accounts by their names.',
    examples: ['gateway accounts list', 'gateway accounts list --json | jq -r .[].account'],
  },
  args: commandArgs,
  async run({ args }) {
    await withDatabase(args, async (db) => {
      const accounts = await listAccounts(db)
      if (args.json) return printJson(accounts.map(accountJson))
      if (accounts.length === 0)
        return say(
          `There are no accounts. A key makes one: ${commandLineOf('keys create NAME --balance 5', args)}`,
        )
      print(
        renderTable(
          [
            { title: 'ACCOUNT', flexible: true },
            { title: 'STATUS' },
            { title: 'AVAILABLE', align: 'decimal' },
            { title: 'CALLED', flexible: true },
            { title: 'NOTE', flexible: true },
          ],
          accounts.map((account) => [
            account.account,
            statusText(account),
            formatUsd(account.availableNano),
            account.displayName ?? '',
            account.note ?? '',
          ]),
        ),
      )
    })
  },
})

const show = defineCommand({
  meta: { name: 'show', description: 'Show one account.', examples: ['gateway accounts show alice'] },
  args: { account: accountArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db) => showOne(await requireOne(db, args), args.json === true))
  },
})

const update = defineCommand({
  meta: {
    name: 'update',
    description: 'Say what an account is called, and note something of it; the word none removes it.',
    examples: [
      'gateway accounts update alice --display-name "Alice Smith Ltd" --note "pays by invoice"',
      'gateway accounts update alice --note none',
    ],
  },
  args: {
    account: accountArg,
    'display-name': {
      type: 'string',
      valueHint: 'TEXT',
      description: 'Shown in place of its name, which stays in the ledger',
    },
    note: { type: 'string', valueHint: 'TEXT', description: 'For operators only' },
    ...commandArgs,
  },
  async run({ args }) {
    const { 'display-name': displayName, note } = args
    if (displayName === undefined && note === undefined)
      throw new WrongUsage('Nothing to change: give --display-name or --note.')
    await withDatabase(args, async (db) => {
      const account = await requireOne(db, args)
      await describeAccount(db, {
        account: account.account,
        displayName: textOf('display-name', displayName, account.displayName, MAX_DISPLAY_NAME_LENGTH),
        note: textOf('note', note, account.note, MAX_NOTE_LENGTH),
      })
      showOne(await requireOne(db, args), args.json === true)
    })
  },
})

const freeze = defineCommand({
  meta: {
    name: 'freeze',
    description: 'Refuse all keys of an account until it is unfrozen. Running requests end as they would.',
    examples: ['gateway accounts freeze alice'],
  },
  args: { account: accountArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db) => {
      const { account } = refuseClosed(await requireOne(db, args))
      const first = await freezeAccount(db, account, Date.now())
      if (args.json) return showOne(await requireOne(db, args), true)
      if (!first) return print(`Account ${account} was frozen before.`)
      print(`Account ${account} is frozen: its keys are refused within a second.`)
      say(`To take them again: ${commandLineOf(`accounts unfreeze ${account}`, args)}`)
    })
  },
})

const unfreeze = defineCommand({
  meta: {
    name: 'unfreeze',
    description: 'Take the keys of a frozen account again.',
    examples: ['gateway accounts unfreeze alice'],
  },
  args: { account: accountArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db) => {
      const { account } = refuseClosed(await requireOne(db, args))
      const done = await unfreezeAccount(db, account)
      if (args.json) return showOne(await requireOne(db, args), true)
      print(done ? `The keys of account ${account} are taken again.` : `Account ${account} is not frozen.`)
    })
  },
})

const close = defineCommand({
  meta: {
    name: 'close',
    description: 'Refuse all keys of an account for ever. Only while nothing is held on it.',
    examples: ['gateway accounts close alice --yes'],
  },
  args: {
    account: accountArg,
    yes: { type: 'boolean', description: 'Close it: this cannot be undone' },
    ...commandArgs,
  },
  async run({ args }) {
    await withDatabase(args, async (db) => {
      const { account, balanceNano } = refuseClosed(await requireOne(db, args))
      if (!args.yes) {
        throw new CommandFailed(
          `Account ${account} has ${dollars(balanceNano)}. A closed account cannot be opened again: close it with --yes.`,
        )
      }
      if (!(await closeAccount(db, account, Date.now()))) {
        const { heldNano } = await requireOne(db, args)
        throw new CommandFailed(
          `${dollars(heldNano)} is held on account ${account} for running requests. Freeze it, wait for them to end, and close it then.`,
        )
      }
      if (args.json) return showOne(await requireOne(db, args), true)
      print(`Account ${account} is closed, and keeps its balance of ${dollars(balanceNano)} and its ledger.`)
    })
  },
})

export const accounts = defineCommand({
  meta: { name: 'accounts', description: 'Accounts: what they are called, frozen or closed.' },
  subCommands: { list, show, update, freeze, unfreeze, close },
})

async function requireOne(db: Db, args: SettingsFlags & { account: string }): Promise<Account> {
  await requireAccount(db, args.account, args)
  return (await findAccount(db, args.account)) as Account
}

function refuseClosed(account: Account): Account {
  if (account.closedAt === null) return account
  throw new CommandFailed(`Account ${account.account} was closed at ${utcTime(account.closedAt)}, for ever.`)
}

function textOf(
  flag: string,
  text: string | undefined,
  before: string | null,
  maxLength: number,
): string | null {
  if (text === undefined) return before
  if (text.trim() === '' || text.length > maxLength)
    throw new WrongUsage(`--${flag} takes 1 to ${maxLength} characters.`)
  return unlessNone(text, (each) => each)
}

function showOne(account: Account, asJson: boolean): void {
  if (asJson) {
    printJson(accountJson(account))
    return
  }
  const { displayName, note, balanceNano, availableNano, createdAt, frozenAt, closedAt } = account
  const entries: [string, string][] = [
    ['account', paint('bold', account.account)],
    ['status', statusText(account)],
    ['balance', `${dollars(balanceNano)}, ${dollars(availableNano)} of it available`],
    ['called', displayName ?? 'as its name'],
    ['note', note ?? 'none'],
    ['created', utcTime(createdAt)],
  ]
  if (frozenAt !== null) entries.push(['frozen', utcTime(frozenAt)])
  if (closedAt !== null) entries.push(['closed', utcTime(closedAt)])
  print(renderBlock(entries))
}

function statusText(account: Account): string {
  const status = accountStatusOf(account)
  return paint(status === 'open' ? 'green' : status === 'frozen' ? 'yellow' : 'red', status)
}
