// gateway balance: shows balances, takes deposits and corrections, shows the ledger, and checks the books. It must
// never move money without a ledger entry.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { newId, randomBytes } from '../../src/app/world'
import { openPlace } from '../../src/backup/schedule'
import type { Audit } from '../../src/billing/proofs/audit'
import { makeSigningKey, signingKey } from '../../src/billing/proofs/checkpoint'
import type { Closing } from '../../src/billing/proofs/closings'
import { type Verification, verify } from '../../src/billing/proofs/verify'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { placeOfArchives } from '../../src/retention/archive-place'
import { faultsOfArchives } from '../../src/retention/prove'
import { commandArgs, openDataDir, withDatabase } from '../configuration/settings'
import { auditedDb } from '../lib/actor'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { OperationFailed } from '../lib/failures'
import { type Gateway, gatewayCommand } from '../lib/gateway'
import { parseAmountNano, parseLimit, parsePositiveNano } from '../lib/values'
import { commandLineOf } from '../program'
import { balanceTable, dollars, entriesTable } from '../view/balance'
import { counted } from '../view/counted'
import { createStatus, paint, print, printJson, printJsonList, printStream, say } from '../view/output'
import { renderBlock } from '../view/table'
import { parsePeriod, periodArgs, periodQueryOf, utcTime } from '../view/times'

const accountArg = { type: 'positional', required: true, description: 'The account' } as const

const transferArgs = {
  'idempotency-key': {
    type: 'string',
    valueHint: 'TEXT',
    description: 'Make it once, however often the command is repeated with this text',
  },
} as const

const show = gatewayCommand({
  name: 'show',
  description: 'Show the balance of one account, or of all.',
  examples: ['gateway balance show', 'gateway balance show alice --json | jq -r .available_usd'],
  args: {
    account: { type: 'positional', required: false, description: 'The account (default: all)' },
  },
  run: (args) => async (gateway) => {
    const { account } = args
    if (account !== undefined) {
      const found = balanceJson(await gateway.call('getAccount', { params: { account } }))
      return args.json ? printJson(found) : print(balanceTable([found]))
    }
    const all = (await gateway.rows('listAccounts')).map(balanceJson)
    if (args.json) return printJson(all)
    if (all.length === 0)
      return say(
        `There are no accounts. Creating a key creates one: ${commandLineOf('keys create NAME --balance 5', args)}`,
      )
    print(balanceTable(all))
  },
})

const add = gatewayCommand({
  name: 'add',
  description: 'Add dollars to an account.',
  examples: ['gateway balance add alice 5', 'gateway balance add alice 12.50 --note "invoice 2026-041"'],
  args: {
    account: accountArg,
    usd: { type: 'positional', required: true, description: 'Dollars, such as 5 or 0.25' },
    note: { type: 'string', valueHint: 'TEXT', description: 'The purpose; kept in the ledger' },
    ...transferArgs,
  },
  run(args) {
    const amountNano = parsePositiveNano('The amount', args.usd)
    return async (gateway) => {
      const body = { amount_usd: formatUsd(amountNano), note: args.note || null }
      const done = await once(gateway, 'creditAccount', args, body)
      showTransfer(done, args, `Added ${dollars(amountNano)} to ${args.account}.`)
    }
  },
})

const adjust = gatewayCommand({
  name: 'adjust',
  description: 'Correct a balance up or down; down at most by what is available.',
  examples: [
    'gateway balance adjust alice -1.50 --note "refunded in cash"',
    'gateway balance adjust alice 0.25 --note "goodwill"',
  ],
  args: {
    account: accountArg,
    usd: { type: 'positional', required: true, description: 'Dollars, such as -1.50 or 0.25' },
    note: { type: 'string', valueHint: 'TEXT', description: 'The reason; kept in the ledger (required)' },
    ...transferArgs,
  },
  run(args) {
    const amountNano = parseAmountNano('The amount', args.usd)
    if (amountNano === 0) throw new WrongUsage('The amount must not be 0.')
    const { note } = args
    if (!note?.trim()) throw new WrongUsage('A correction needs a reason: --note TEXT.')
    return async (gateway) => {
      const body = { amount_usd: formatUsd(amountNano), note }
      const done = await once(gateway, 'adjustAccount', args, body)
      showTransfer(done, args, `Adjusted ${args.account} by ${dollars(amountNano)}.`)
    }
  },
})

/** Number of charges from which a verification shows its progress. */
const SHOWN_FROM = 200_000
/** Maximum number of entries in a table, unless more are requested. */
const DEFAULT_LIMIT = 1_000

const ledger = gatewayCommand({
  name: 'ledger',
  description:
    'Show the movements of an account, newest first, with the balance after each. As comma-separated values, oldest first.',
  examples: [
    'gateway balance ledger alice',
    'gateway balance ledger alice --since 7d --limit 20',
    'gateway balance ledger alice --month 2026-10 --csv > alice.csv',
  ],
  args: {
    account: accountArg,
    ...periodArgs,
    limit: {
      type: 'string',
      valueHint: 'N',
      description: `Only the newest N (default: ${DEFAULT_LIMIT} in a table, else all)`,
    },
    csv: { type: 'boolean', description: 'Print comma-separated values with a header line' },
  },
  run(args) {
    if (args.csv && args.json) throw new WrongUsage('Choose one of --csv and --json.')
    const period = parsePeriod(args, Date.now())
    const limit = parseLimit(args, undefined)
    return async (gateway) => {
      const asked = (last: number | undefined) => ({
        params: { account: args.account },
        query: { ...periodQueryOf(period), last },
      })
      if (args.csv) return printStream(await gateway.csv('listLedger', asked(limit)))
      if (args.json) return printJsonList(gateway.pages('listLedger', asked(limit)), (entry) => entry)
      const { data: entries } = await gateway.call('listLedger', asked(limit ?? DEFAULT_LIMIT))
      if (entries.length === 0) return say(`Account ${args.account} has had no movements.`)
      print(entriesTable(entries))
      if (limit === undefined && entries.length === DEFAULT_LIMIT) {
        say(`\nThese are the newest ${DEFAULT_LIMIT}. --csv and --json print all of them.`)
      }
    }
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
      'gateway balance verify --whole --archives',
      'gateway balance verify --json | jq .books',
    ],
  },
  args: {
    whole: { type: 'boolean', description: 'Read all charges, including those verified before' },
    archives: {
      type: 'boolean',
      description: 'Also read the archives of closed months, and compare them with the books',
    },
    'sign-anew': {
      type: 'boolean',
      description:
        'Read all charges and, if they are right, sign them with a new key that replaces all checkpoints',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const work = async (db: Db, config: Config) => {
      const now = Date.now()
      const signsAnew = args['sign-anew'] === true
      const key = signsAnew ? makeSigningKey(randomBytes) : await signingKey(db, randomBytes, now)
      const status = createStatus()
      const onProgress = (done: number, of: number) => {
        if (of > SHOWN_FROM) status.show(`Verified ${done} of ${counted(of, 'charge')}.`)
      }
      const onCheck = (done: number, of: number, charges: number) => {
        if (charges > SHOWN_FROM) status.show(`Check ${done + 1} of ${of} of ${counted(charges, 'charge')}.`)
      }
      const whole = args.whole === true
      // The command makes a change when it signs a verification.
      const change = { action: 'balance.verify', target: 'books', after: { whole, signs_anew: signsAnew } }
      const trail = await auditedDb(db, change)
      const result = await verify(trail, { now, key, whole, signsAnew, onProgress, onCheck })
      if (args.archives) {
        const dataDir = openDataDir(args)
        const place = openPlace(placeOfArchives(config, dataDir))
        const onArchive = ({ month }: Closing) => {
          if (process.stderr.isTTY) status.show(`Reading the archive of ${month}.`)
        }
        result.problems.push(...(await faultsOfArchives(db, place, { scratch: dataDir, onArchive })))
      }
      status.clear()
      if (args.json) printJson(auditJson(result))
      else print(auditBlock(result))
      const { problems } = result
      if (problems.length === 0) return
      const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`
      throw new CommandFailed(`${count} in the books:`, problems)
    }
    await withDatabase(args, work, { silent: true })
  },
})

export const balance = defineCommand({
  meta: { name: 'balance', description: 'Manage money: balances, deposits, corrections, the ledger.' },
  subCommands: { show, add, adjust, ledger, verify: verifyBooks },
})

type BalanceReply = Pick<ReplyOf<'getAccount'>, 'account' | 'balance_usd' | 'held_usd' | 'available_usd'>

function balanceJson({ account, balance_usd, held_usd, available_usd }: BalanceReply): BalanceReply {
  return { account, balance_usd, held_usd, available_usd }
}

/** Moves money, under a new key if the caller gives none: an automatic retry has no further effect. */
async function once(
  gateway: Gateway,
  id: 'creditAccount' | 'adjustAccount',
  { account, 'idempotency-key': given }: { account: string; 'idempotency-key'?: string | undefined },
  body: { amount_usd: string; note: string | null },
): Promise<ReplyOf<'creditAccount'>> {
  const idempotencyKey = given ?? newId('cli')
  const move = gateway.call(id, { params: { account }, body: body as never, idempotencyKey })
  return move.catch((error) => {
    if (!(error instanceof OperationFailed) || error.code !== 'no_answer') throw error
    throw new CommandFailed(
      `${error.message} It may have been done or not. Make it for certain, and once, with the same command and --idempotency-key ${idempotencyKey}`,
    )
  })
}

function showTransfer(
  { id, amount_usd, note, replayed, ...balance }: ReplyOf<'creditAccount'>,
  { json }: { json?: boolean | undefined },
  text: string,
): void {
  if (json) {
    printJson({ id, amount_usd, note, ...balance })
    return
  }
  say(replayed ? `${text} That was done before under this key, and nothing was changed now.` : text)
  print(balanceTable([balance]))
}

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

function auditBlock(verification: Verification): string {
  const { books, problems, accounts, charges, transfers, since, read, closed } = verification
  const verdict =
    problems.length === 0 ? paint('green', 'The books are right.') : paint('red', 'The books are wrong.')
  const entries: [string, string][] = [
    ['paid in', `${dollars(books.fundingNano)}`],
    ['earned', `${dollars(books.revenueNano)}`],
    ['shortfall', `${dollars(books.shortfallNano)}, earned, but not covered by a balance`],
    ['on accounts', `${dollars(onAccounts(books))}`],
    [
      'checked',
      [counted(accounts, 'account'), counted(charges, 'charge'), counted(transfers, 'transfer')].join(', '),
    ],
    ['read', since === null ? 'all charges' : `${counted(read, 'charge')}, since ${utcTime(since)}`],
    ...(closed > 0
      ? [['closed', `${counted(closed, 'charge')}, whose sums are in the books`] as [string, string]]
      : []),
  ]
  return `${verdict}\n\n${renderBlock(entries)}`
}

/**
 * Dollars on all accounts, in nano-dollars. All books together are zero, so this is what was paid in and not earned.
 */
function onAccounts({ fundingNano, revenueNano, shortfallNano }: Audit['books']): bigint {
  return fundingNano + shortfallNano - revenueNano
}
