// gateway balance: shows balances, takes deposits and corrections, shows the ledger, and checks the books. It must
// never move money without a ledger entry.

import { defineCommand } from 'citty'
import { newId, randomBytes } from '../../src/app/world'
import { endOfLedger, entryJson, ledgerOf } from '../../src/billing/account-ledger'
import type { Audit } from '../../src/billing/audit'
import { balanceJson, balances } from '../../src/billing/balances'
import { makeSigningKey, signingKey } from '../../src/billing/checkpoint'
import { addCredit, adjust as adjustBalance } from '../../src/billing/ledger'
import { type Verification, verify } from '../../src/billing/verify'
import type { Db } from '../../src/db/db'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { requireAccount, requireRoom } from '../lib/account'
import { CommandFailed, failedFor, WrongUsage } from '../lib/errors'
import { commandArgs, withDatabase } from '../lib/settings'
import { parseAmountNano, parseCount, parsePositiveNano } from '../lib/values'
import { commandLineOf } from '../program'
import { balanceTable, CSV_TITLES, dollars, entriesCsv, entriesTable } from '../view/balance'
import { createStatus, paint, print, printJson, printJsonList, say } from '../view/output'
import { renderBlock } from '../view/table'
import { parsePeriod, periodArgs, utcTime } from '../view/times'

const accountArg = { type: 'positional', required: true, description: 'The account' } as const

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show what an account has, or what all of them have.',
    examples: ['gateway balance show', 'gateway balance show alice --json | jq -r .available_usd'],
  },
  args: {
    account: { type: 'positional', required: false, description: 'The account (default: all)' },
    ...commandArgs,
  },
  async run({ args }) {
    await withDatabase(args, async (db) => {
      if (args.account !== undefined) {
        const balance = await requireAccount(db, args.account, args)
        return args.json ? printJson(balanceJson(balance)) : print(balanceTable([balance]))
      }
      const all = await balances(db)
      if (args.json) return printJson(all.map(balanceJson))
      if (all.length === 0)
        return say(
          `There are no accounts. A key makes one: ${commandLineOf('keys create NAME --balance 5', args)}`,
        )
      print(balanceTable(all))
    })
  },
})

const add = defineCommand({
  meta: {
    name: 'add',
    description: 'Add dollars to an account.',
    examples: ['gateway balance add alice 5', 'gateway balance add alice 12.50 --note "invoice 2026-041"'],
  },
  args: {
    account: accountArg,
    usd: { type: 'positional', required: true, description: 'Dollars, such as 5 or 0.25' },
    note: { type: 'string', valueHint: 'TEXT', description: 'What it is for; kept in the ledger' },
    ...commandArgs,
  },
  async run({ args }) {
    const amountNano = parsePositiveNano('The amount', args.usd)
    await withDatabase(args, async (db) => {
      const { account, ...before } = await requireAccount(db, args.account, args)
      requireRoom({ account, ...before }, amountNano)
      const id = newId('tr')
      const note = args.note || null
      await addCredit(db, { id, account, amountNano, now: Date.now(), note })
      const balance = await requireAccount(db, account, args)
      if (args.json)
        return printJson({ id, amount_usd: formatUsd(amountNano), note, ...balanceJson(balance) })
      say(`Added ${dollars(amountNano)} to ${account}.`)
      print(balanceTable([balance]))
    })
  },
})

const adjust = defineCommand({
  meta: {
    name: 'adjust',
    description: 'Correct a balance up or down; down at most by what is available.',
    examples: [
      'gateway balance adjust alice -1.50 --note "refunded in cash"',
      'gateway balance adjust alice 0.25 --note "goodwill"',
    ],
  },
  args: {
    account: accountArg,
    usd: { type: 'positional', required: true, description: 'Dollars, such as -1.50 or 0.25' },
    note: { type: 'string', valueHint: 'TEXT', description: 'Why; kept in the ledger (required)' },
    ...commandArgs,
  },
  async run({ args }) {
    const amountNano = parseAmountNano('The amount', args.usd)
    if (amountNano === 0) throw new WrongUsage('The amount must not be 0.')
    const { note } = args
    if (!note?.trim()) throw new WrongUsage('A correction needs a reason: --note TEXT.')
    await withDatabase(args, async (db) => {
      const { account, ...before } = await requireAccount(db, args.account, args)
      requireRoom({ account, ...before }, amountNano)
      const id = newId('tr')
      const done = await adjustBalance(db, { id, account, amountNano, now: Date.now(), note })
      const balance = await requireAccount(db, account, args)
      if (!done) {
        const available = dollars(balance.availableNano)
        throw new CommandFailed(`Account ${account} has only ${available} available. Nothing was changed.`)
      }
      if (args.json)
        return printJson({ id, amount_usd: formatUsd(amountNano), note, ...balanceJson(balance) })
      say(`Adjusted ${account} by ${dollars(amountNano)}.`)
      print(balanceTable([balance]))
    })
  },
})

/** Charges from which on a verification shows how far it is. */
const SHOWN_FROM = 200_000
/** Most entries of a table, unless more are asked for. */
const DEFAULT_LIMIT = 1_000

const ledger = defineCommand({
  meta: {
    name: 'ledger',
    description: 'Show the movements of an account, oldest first, with the balance after each.',
    examples: [
      'gateway balance ledger alice',
      'gateway balance ledger alice --since 7d --limit 20',
      'gateway balance ledger alice --month 2026-10 --csv > alice.csv',
    ],
  },
  args: {
    account: accountArg,
    ...periodArgs,
    limit: {
      type: 'string',
      valueHint: 'N',
      description: `Only the last N (default: ${DEFAULT_LIMIT} in a table, else all)`,
    },
    csv: { type: 'boolean', description: 'Print comma-separated values with a title line' },
    ...commandArgs,
  },
  async run({ args }) {
    if (args.csv && args.json) throw new WrongUsage('Choose one of --csv and --json.')
    const period = parsePeriod(args, Date.now())
    const limit = args.limit === undefined ? undefined : parseCount('limit', args.limit)
    await withDatabase(args, async (db) => {
      const { account } = await requireAccount(db, args.account, args)
      if (!args.csv && !args.json) {
        const entries = await endOfLedger(db, account, period, limit ?? DEFAULT_LIMIT)
        if (entries.length === 0) return say(`Account ${account} has had no movements.`)
        print(entriesTable(entries))
        if (limit === undefined && entries.length === DEFAULT_LIMIT) {
          say(`\nThese are the last ${DEFAULT_LIMIT}. --csv and --json print all of them.`)
        }
        return
      }
      const pages =
        limit === undefined ? ledgerOf(db, account, period) : [await endOfLedger(db, account, period, limit)]
      if (args.json) return printJsonList(pages, entryJson)
      print(CSV_TITLES)
      for await (const page of pages) if (page.length > 0) print(entriesCsv(page))
    })
  },
})

const verifyBooks = defineCommand({
  meta: {
    name: 'verify',
    description:
      'Check that the books are right, since the last time that they were; exit 1 with a list of problems if they are not.',
    examples: [
      'gateway balance verify',
      'gateway balance verify --whole',
      'gateway balance verify --json | jq .books',
    ],
  },
  args: {
    whole: { type: 'boolean', description: 'Read all charges, also those that were verified before' },
    'sign-anew': {
      type: 'boolean',
      description:
        'Read all charges and, if they are right, sign them with a new key in place of all checkpoints',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const work = async (db: Db) => {
      const now = Date.now()
      const signsAnew = args['sign-anew'] === true
      const key = signsAnew ? makeSigningKey(randomBytes) : await signingKey(db, randomBytes, now)
      const status = createStatus()
      const onProgress = (done: number, of: number) => {
        if (of > SHOWN_FROM) status.show(`Verified ${done} of ${of} charges.`)
      }
      const onCheck = (done: number, of: number, charges: number) => {
        if (charges > SHOWN_FROM) status.show(`Check ${done + 1} of ${of} of ${charges} charges.`)
      }
      const whole = args.whole === true
      const result = await verify(db, { now, key, whole, signsAnew, onProgress, onCheck })
      status.clear()
      if (args.json) printJson(auditJson(result))
      else print(auditBlock(result))
      const { problems } = result
      if (problems.length === 0) return
      const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`
      throw failedFor(`${count} in the books:`, problems)
    }
    await withDatabase(args, work, { silent: true })
  },
})

export const balance = defineCommand({
  meta: { name: 'balance', description: 'Money: balances, deposits, corrections, the ledger.' },
  subCommands: { show, add, adjust, ledger, verify: verifyBooks },
})

function auditJson({ books, problems, since, ...counts }: Verification) {
  return {
    ok: problems.length === 0,
    since: isoTime(since),
    ...counts,
    books: {
      funding_usd: formatUsd(books.fundingNano),
      revenue_usd: formatUsd(books.revenueNano),
      shortfall_usd: formatUsd(books.shortfallNano),
      accounts_usd: formatUsd(onAccounts(books)),
    },
    problems,
  }
}

function auditBlock({ books, problems, accounts, charges, transfers, since, read }: Verification): string {
  const verdict =
    problems.length === 0 ? paint('green', 'The books are right.') : paint('red', 'The books are wrong.')
  const entries: [string, string][] = [
    ['paid in', `${dollars(books.fundingNano)}`],
    ['earned', `${dollars(books.revenueNano)}`],
    ['shortfall', `${dollars(books.shortfallNano)}, earned, but not covered by a balance`],
    ['on accounts', `${dollars(onAccounts(books))}`],
    ['checked', `${accounts} accounts, ${charges} charges, ${transfers} transfers`],
    ['read', since === null ? 'all charges' : `${read} charges, since ${utcTime(since)}`],
  ]
  return `${verdict}\n\n${renderBlock(entries)}`
}

/**
 * Dollars on all accounts, in nano-dollars. All books together are zero, so this is what was paid in and not earned.
 */
function onAccounts({ fundingNano, revenueNano, shortfallNano }: Audit['books']): bigint {
  return fundingNano + shortfallNano - revenueNano
}
