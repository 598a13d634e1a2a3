// Random operations on the ledger and on the second bookkeeper, which must agree in every answer and every figure. Accounts are
// used in parallel, each in its own order, so that many transactions run at once and every answer can still be predicted.

import type { Key } from '../../../src/accounts/keys'
import {
  addCredit,
  adjust,
  type Charge,
  extendHold,
  hold,
  openAccount,
  release,
  releaseExpired,
  settle,
} from '../../../src/billing/ledger/ledger'
import { conditionsOf, conditionsToExtend } from '../../../src/billing/ledger/limits'
import { audit } from '../../../src/billing/proofs/audit'
import { createCodes, makeCode, redeemCode } from '../../../src/billing/selling/codes'
import type { Db } from '../../../src/db/db'
import { countersOf, makeCharge, makeKey, makeSettlement, makeSpender } from '../databases/ledger-rows'
import type { Random } from '../random'
import { createBookkeeper, type Sheet } from './bookkeeper'

interface Step {
  what: string
  expected: unknown
  run(): Promise<unknown>
}

interface LedgerFuzz {
  /** Runs some operations on every account, then releases expired holds. Returns the number of operations. */
  wave(): Promise<number>
  /** Throws if a figure in the database differs from the bookkeeper's, or the audit finds a fault. */
  compare(): Promise<void>
  /** Number of answers of each kind, by operation. */
  seen: Map<string, number>
}

const ACCOUNTS = 64
const STEPS_PER_ACCOUNT = 16
/** Small amounts test collisions and bounds; large ones test the sums. */
const AMOUNTS = [1, 2, 999, 1_000, 50_000, 1_000_000, 40_000_000_000]
const PAUSES_MS = [0, 0, 1, 20, 400, 400, 5_000, 61_000, 3_600_000]
const LIFETIMES_MS = [1_000, 600_000, 7_200_000, 86_400_000, 86_400_000, 86_400_000]

export async function createLedgerFuzz(db: Db, random: Random): Promise<LedgerFuzz> {
  const books = createBookkeeper()
  const keys = Array.from({ length: ACCOUNTS }, (_, index) => keyOf(index))
  const seen = new Map<string, number>()
  let now = Date.UTC(2026, 0, 30, 23, 50)
  let ids = 0
  for (const { account } of keys) {
    books.sheet(account)
    await db.batch([openAccount(account, now)])
  }

  const amount = () => random.below(random.pick(AMOUNTS) + 1)

  function holdStep(key: Key): Step {
    const charge = makeCharge(amount(), {
      account: key.account,
      keyId: key.id,
      createdAt: now,
      expiresAt: now + random.pick(LIFETIMES_MS),
      ...countersOf(key, random.below(500), now),
    })
    const expected = books.hold(charge, key)
    return { what: 'hold', expected, run: () => hold(db, charge, conditionsOf(key, charge)) }
  }

  function extendStep(key: Key, charge: Charge): Step {
    const extension = { amountNano: amount() + 1, windowTokens: charge.windowMinute ? random.below(500) : 0 }
    const answer = books.extend(charge, key, extension.amountNano, extension.windowTokens)
    const expected = 'extended' in answer ? { held: true } : answer
    const conditions = conditionsToExtend(key, charge, extension)
    return { what: 'extend', expected, run: () => extendHold(db, charge, extension, conditions) }
  }

  function settleStep(charge: Charge): Step {
    const beyond = random.chance(0.3)
    const priceNano = beyond ? charge.heldNano + amount() : random.below(charge.heldNano + 1)
    const tokens = random.below(800)
    const settlement = makeSettlement(priceNano, { endedAt: now, tokens })
    const expected = books.settle(charge, priceNano, tokens)
    return { what: beyond ? 'settle beyond' : 'settle', expected, run: () => settle(db, charge, settlement) }
  }

  function releaseStep(charge: Charge): Step {
    const expected = books.release(charge)
    const ending = { endedBy: 'upstream', endedAt: now } as const
    return { what: 'release', expected, run: () => release(db, charge, ending) }
  }

  function creditStep(account: string): Step {
    const deposit = { id: `credit-${++ids}`, account, amountNano: amount() + 1, now, note: null }
    books.credit(account, deposit.amountNano)
    if (random.chance(0.3)) return redeemThrice(db, random, deposit)
    return { what: 'credit', expected: true, run: () => addCredit(db, deposit) }
  }

  function adjustStep(account: string): Step {
    const amountNano = (amount() + 1) * (random.chance(0.7) ? -1 : 1)
    const adjustment = { id: `adjust-${++ids}`, account, amountNano, now, note: 'fuzz' }
    return { what: 'adjust', expected: books.adjust(account, amountNano), run: () => adjust(db, adjustment) }
  }

  function nextStep(key: Key): Step {
    const { open, finished } = books.sheet(key.account)
    const dice = random.below(100)
    if (dice < 38) return holdStep(key)
    if (dice < 46) return creditStep(key.account)
    if (dice < 54) return adjustStep(key.account)
    const again = dice < 60 && finished.length > 0
    if (!again && open.size === 0) return holdStep(key)
    const known = random.pick(again ? finished : [...open.values()])
    // A caller that does not know about an extension changes nothing.
    const charge = random.chance(0.05) ? { ...known, heldNano: known.heldNano + 1 } : known
    if (random.chance(0.3)) return extendStep(key, charge)
    return random.chance(0.65) ? settleStep(charge) : releaseStep(charge)
  }

  const perform = (step: Step) => performStep(step, seen)

  return {
    seen,
    async wave() {
      const chains = keys.map((key) => Array.from({ length: STEPS_PER_ACCOUNT }, () => nextStep(key)))
      await Promise.all(
        chains.map(async (chain) => {
          for (const step of chain) await perform(step)
        }),
      )
      now += random.pick(PAUSES_MS)
      await perform({ what: 'expire', expected: books.expire(now), run: () => releaseExpired(db, now) })
      return chains.flat().length + 1
    },
    async compare() {
      const rows = await figuresOf(db)
      const difference = differenceOf(rows, expectedFigures(books.accounts, books.budgets, books.windows))
      if (difference) throw new Error(`the database and the second bookkeeper differ: ${difference}`)
      const { problems } = await audit(db, now)
      if (problems.length > 0) throw new Error(`the audit found: ${problems.join('; ')}`)
    },
  }
}

/** Redeems a code three times at once: one attempt is credited. */
function redeemThrice(
  db: Db,
  random: Random,
  { id, account, amountNano, now }: { id: string; account: string; amountNano: number; now: number },
): Step {
  const text = makeCode((count) => Uint8Array.from({ length: count }, () => random.below(256)))
  return {
    what: 'redeem',
    expected: ['redeemed', 'redeemed', 'redeemed'],
    async run() {
      await createCodes(db, [{ id, code: text, amountNano, note: null, createdAt: now, expiresAt: null }])
      const redeem = () => redeemCode(db, { text, account, keyId: 'key', now })
      const answers = await Promise.all([redeem(), redeem(), redeem()])
      const won = answers.filter((answer) => 'redeemed' in answer)
      if (won.length !== 1) throw new Error(`a code was redeemed ${won.length} times`)
      return answers.map((answer) => ('redeemed' in answer ? 'redeemed' : answer.refusedBy))
    },
  }
}

async function performStep({ what, expected, run }: Step, seen: Map<string, number>): Promise<void> {
  const answer = await run()
  const name = `${what}: ${JSON.stringify(answer)?.replaceAll(/\d+/g, (digits) => (Number(digits) ? 'n' : '0'))}`
  seen.set(name, (seen.get(name) ?? 0) + 1)
  if (Bun.deepEquals(answer, expected)) return
  throw new Error(
    `${what} answered ${JSON.stringify(answer)}, the second bookkeeper says ${JSON.stringify(expected)}`,
  )
}

/** A quarter of the keys have limits low enough to be reached. */
function keyOf(index: number): Key {
  const limited = index % 4 === 0
  const budgeted = limited && index % 3 > 0
  const spends = index % 4 === 2
  return makeKey({
    id: `key-${index}`,
    account: `account-${index}`,
    requestsPerMinute: limited && index % 5 < 2 ? 6 : null,
    tokensPerMinute: limited && index % 5 === 2 ? 1_500 : null,
    concurrency: limited && index % 8 === 0 ? 3 : null,
    budgetNano: budgeted ? 100_000_000_000 : null,
    budgetPeriod: budgeted ? (index % 3 === 1 ? 'day' : 'month') : null,
    accountBudget:
      index % 4 === 1 ? { amountNano: 100_000_000_000, period: index % 3 ? 'day' : 'week' } : null,
    spender: spends
      ? makeSpender({
          id: `spender-${index}`,
          budgetNano: 100_000_000_000,
          budgetPeriod: index % 3 ? 'day' : null,
          requestsPerMinute: index % 8 === 2 ? 6 : null,
        })
      : null,
  })
}

type Figures = Map<string, string>

async function figuresOf(db: Db): Promise<Figures> {
  const figures: Figures = new Map()
  const add = async (sql: string) => {
    for (const { name, figure } of await db.query({ sql })) figures.set(name as string, String(figure))
  }
  await add(`select 'balance ' || name as name, balance as figure from accounts`)
  await add(`select 'held ' || name as name, held as figure from accounts`)
  await add(`select 'budget ' || key_id || ' ' || period as name, committed as figure from budgets`)
  await add(`select 'requests ' || key_id || ' ' || minute as name, requests as figure from rate_windows`)
  await add(`select 'tokens ' || key_id || ' ' || minute as name, tokens as figure from rate_windows`)
  await add(
    `select 'open ' || account as name, count(*) as figure from charges where state = 'held' group by account`,
  )
  await add(
    `select 'ended ' || account as name, count(*) as figure from charges where state <> 'held' group by account`,
  )
  await add(
    `select 'earned ' || account as name, cast(sum(amount) as bigint) as figure from charges group by account`,
  )
  await add(
    `select 'short ' || account as name, cast(sum(shortfall) as bigint) as figure from charges group by account`,
  )
  await add(`select 'paid ' || from_book as name, cast(sum(amount) as bigint) as figure from movements
    where to_book = 'revenue' group by from_book`)
  return figures
}

function expectedFigures(
  accounts: Map<string, Sheet>,
  budgets: Map<string, number>,
  windows: Map<string, { requests: number; tokens: number }>,
): Figures {
  const figures: Figures = new Map()
  let shortfall = 0
  for (const [account, sheet] of accounts) {
    const figure = (name: string, value: number) => figures.set(`${name} ${account}`, String(value))
    figure('balance', sheet.balance)
    figure('held', sheet.held)
    if (sheet.open.size > 0) figure('open', sheet.open.size)
    if (sheet.finished.length > 0) figure('ended', sheet.finished.length)
    if (sheet.open.size + sheet.finished.length > 0) {
      figure('earned', sheet.earned)
      figure('short', sheet.shortfall)
    }
    if (sheet.earned > 0) figures.set(`paid account:${account}`, String(sheet.earned))
    if (sheet.funded !== sheet.balance + sheet.earned) throw new Error('the second bookkeeper cannot count')
    shortfall += sheet.shortfall
  }
  if (shortfall > 0) figures.set('paid shortfall', String(shortfall))
  for (const [name, committed] of budgets) figures.set(`budget ${name}`, String(committed))
  for (const [name, { requests, tokens }] of windows) {
    figures.set(`requests ${name}`, String(requests))
    figures.set(`tokens ${name}`, String(tokens))
  }
  return figures
}

function differenceOf(rows: Figures, expected: Figures): string | undefined {
  for (const name of new Set([...rows.keys(), ...expected.keys()])) {
    if (rows.get(name) !== expected.get(name))
      return `${name} is ${rows.get(name)}, should be ${expected.get(name)}`
  }
  return undefined
}
