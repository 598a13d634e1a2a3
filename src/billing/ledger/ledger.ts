// Money: the only file that moves it, with the statements of charge-statements.ts. A request holds its maximum price before the
// vendor is called; a stream holds the first step of it, and more as it continues. It is then settled (pays its true price) or
// released (pays nothing), exactly once. A balance must never be below the amounts held on it. Every movement transfers from one
// book to another and is appended, never changed: a settled charge, or a transfer by the operator. So the sum of all books is
// zero.

import { strict as assert } from 'node:assert'
import type { EndedBy } from '../../contract/failures'
import { append, apply, type Db, type Row, type Statement, tryApply, type Value } from '../../db/db'
import { assertNano, formatUsd, MAX_NANO } from '../../lib/money'
import { firstPositionSince, HOUR_MS } from '../reports/usage-totals'
import { bookOf } from './balances'
import {
  addToWindow,
  closeCharge,
  correctBudget,
  correctSpender,
  correctWindow,
  holdMore,
  insertOpen,
  noteSpender,
  prolong,
  settleBeyond,
  settleCovered,
} from './charge-statements'
import { endedRow, insertEnded } from './ended-charges'
import { freeKey } from './idempotency'
import { divided, endMovement, holdMovement } from './movements'
import { referencesOf } from './shared-rows'

export interface Charge {
  id: string
  account: string
  keyId: string
  model: string
  operation: string
  heldNano: number
  /** The price list at the time of the hold, as JSON: the charge uses it, whatever the catalogue says later. */
  pricesJson: string
  createdAt: number
  /**
   * When the hold expires if nothing ends it: after the longest allowed request and a margin, in milliseconds since 1970.
   */
  expiresAt: number
  /** The budget period that the hold counts toward, for a key with a budget. */
  budgetPeriod: string | null
  /** The period of the account's budget that the hold counts toward; absent or null for an account without a budget. */
  accountPeriod?: string | null
  /** The spender's budget that the hold counts toward; absent or null without a budget. */
  spender?: SpenderPeriod | null
  /** The set of metadata that its usage counts under; absent or 0 if it has no metadata. */
  metadataId?: number
  /** The minute that the request counts toward, for a key with a token limit. */
  windowMinute: number | null
  windowTokens: number
  /** The process that works on it, on SQLite, where another process takes over after a crash; absent if unknown. */
  process?: string | null
}

/** A spender by its id, and the period of its budget. */
export interface SpenderPeriod {
  id: string
  period: string
}

/** An additional condition of a hold, as a guarded statement: a rate limit, a budget, an idempotency key. */
export interface Condition extends Statement {
  guard:
    | 'rate'
    | 'concurrency'
    | 'budget'
    | 'account budget'
    | 'spender rate'
    | 'spender budget'
    | 'idempotency'
}

type HoldResult = { held: true } | { refusedBy: Condition['guard'] | 'balance' }

export type UsageSource = 'upstream' | 'counted' | 'estimated'

export interface Settlement {
  priceNano: number
  /** The vendor's price of the same usage; absent or null if unknown. It may exceed the hold. */
  costNano?: number | null
  usageSource: UsageSource
  /** The vendor's usage object, unchanged, for a later audit. */
  usageJson: string | null
  endedBy: EndedBy
  endedAt: number
  /** All tokens of the request, for the key's token limit. */
  tokens: number
}

/** Holds the maximum price of a request if the account has it available; otherwise changes nothing. */
export async function hold(
  db: Db,
  charge: Charge,
  conditions: readonly Condition[] = [],
  also: readonly Statement[] = [],
): Promise<HoldResult> {
  assertNano(charge.heldNano)
  assert(charge.heldNano >= 0, 'a hold is not negative')
  const known = referencesOf(db).priceListId(charge.pricesJson)
  const priceList = typeof known === 'number' ? known : await known
  // The server's function checks the limits of keys and accounts; other conditions are sent as statements.
  const { inside, others } = divided(conditions)
  const along = append(append(noteSpender(charge), others), also)
  const statements = () => [
    holdMore(charge.account, charge.heldNano),
    ...inside,
    insertOpen(charge, priceList),
  ]
  const result = await db.move(holdMovement(charge, priceList, inside, statements, along))
  if ('rows' in result) return { held: true }
  return { refusedBy: result.missed as Condition['guard'] | 'balance' }
}

/** An additional hold for a charge. */
export interface Extension {
  amountNano: number
  /** Tokens that the charge counts in its key's minute, in addition to those already counted. */
  windowTokens: number
}

/**
 * Extends the hold of an open charge if the account has the amount available; otherwise changes nothing. Fails if the charge has
 * ended, or holds another amount than the caller knows. The caller stores the extension in its charge.
 */
export async function extendHold(
  db: Db,
  charge: Charge,
  { amountNano, windowTokens }: Extension,
  conditions: readonly Condition[] = [],
): Promise<{ held: true } | { refusedBy: Condition['guard'] | 'balance' | 'charge' }> {
  assertNano(amountNano)
  assert(amountNano > 0, 'an extension holds more')
  // Read now: the charge may change before the statements are built.
  const statements: Statement[] = [
    // The charge first, as every end of a charge does, so that no two wait for each other.
    {
      sql: `update open_charges set held = held + $1, window_tokens = window_tokens + $2
        where key_id = $3 and id = $4 and held = $5`,
      parameters: [amountNano, windowTokens, charge.keyId, charge.id, charge.heldNano],
      guard: 'charge',
    },
    holdMore(charge.account, amountNano),
    ...conditions,
    ...addToWindow(charge, windowTokens),
  ]
  const result = await db.move({
    kind: 'other',
    account: charge.account,
    columns: () => ({}),
    statements: () => statements,
    also: [],
  })
  if ('rows' in result) return { held: true }
  return { refusedBy: result.missed as Condition['guard'] | 'balance' | 'charge' }
}

/** Updates what an open charge holds. False if it has ended, or if the caller's amount was correct. */
export async function refreshHold(db: Db, charge: Charge): Promise<boolean> {
  const known = await findOpenCharge(db, charge.keyId, charge.id)
  if (!known || known.heldNano === charge.heldNano) return false
  charge.heldNano = known.heldNano
  charge.windowTokens = known.windowTokens
  return true
}

/** The amount that the account paid, and the amount that it could not pay. */
export interface Settled {
  paidNano: number
  shortfallNano: number
}

/**
 * Ends a charge with its price. Beyond the hold, the rest is taken from the available balance of the account; what is still missing
 * is booked as the operator's shortfall. `first` opens a charge that is not open yet. Returns what the account paid, or undefined
 * if the charge had ended already, or holds another amount.
 */
export async function settle(
  db: Db,
  charge: Charge,
  settlement: Settlement,
  also: readonly Statement[] = [],
  first: readonly Statement[] = [],
): Promise<Settled | undefined> {
  const { priceNano } = settlement
  assertNano(priceNano)
  assert(priceNano >= 0, 'a price is not negative')
  const covered = priceNano <= charge.heldNano
  const found = endedRow(db, charge, 'settled', settlement)
  const row = found instanceof Promise ? await found : found
  const statements = () =>
    covered ? settleCovered(charge, settlement, row) : settleBeyond(charge, settlement, row)
  const along = covered ? append(correctSpender(charge, priceNano), also) : also
  // If the same batch opens the charge, those statements come first. Only these statements know what is paid beyond a hold, which
  // the budget of a spender needs.
  const isAlone = first.length > 0 || (!covered && charge.spender)
  const result = isAlone
    ? await db.batch([...first, ...statements(), ...along])
    : await db.move(endMovement(charge, row, settlement, statements, along))
  if ('missed' in result) return undefined
  if (covered) return { paidNano: priceNano, shortfallNano: 0 }
  const paidNano = result.rows.flat().find((row) => 'amount' in row)?.amount as number
  return { paidNano, shortfallNano: priceNano - paidNano }
}

/** The end of a charge that costs nothing. */
export interface Released extends Pick<Settlement, 'endedBy' | 'endedAt' | 'costNano'> {
  usageJson?: string | null
}

/** Ends a charge that costs nothing: refused, failed, or nothing delivered. False if it had ended already, or holds another amount. */
export async function release(
  db: Db,
  charge: Charge,
  ending: Released,
  also: readonly Statement[] = [],
): Promise<boolean> {
  const found = endedRow(db, charge, 'released', ending)
  // Without waiting where possible: calls at the same moment join one group.
  const row = found instanceof Promise ? await found : found
  const statements = () => [
    closeCharge(charge),
    {
      sql: 'update accounts set held = held - $1 where name = $2',
      parameters: [charge.heldNano, charge.account],
    },
    insertEnded(0, row),
    ...correctBudget(charge, 0),
    ...correctWindow(charge, 0),
  ]
  const along = append(correctSpender(charge, 0), also)
  return 'rows' in (await db.move(endMovement(charge, row, NOTHING_USED, statements, along)))
}

const NOTHING_USED = { priceNano: 0, tokens: 0 }

/**
 * Charges an answer whose hold was released before it ended: an additional charge, named after the first, takes the available
 * balance of the account, and the rest is the operator's shortfall. Undefined if the answer is already paid.
 */
export async function settleLate(
  db: Db,
  charge: Charge,
  settlement: Settlement,
  also: readonly Statement[] = [],
): Promise<Settled | undefined> {
  const late = { ...charge, id: lateId(charge), heldNano: 0, windowTokens: 0 }
  // If two attempts run at once, the second waits for the row of the first, and then finds the answer paid.
  const first = [await openUnheld(db, late), await unlessPaid(db, charge)]
  return settle(db, late, settlement, also, first)
}

/** The amounts that were paid for an answer, by its own charge or by the late one; undefined if nothing was paid. */
export async function findPaid(db: Db, charge: Charge): Promise<Settled | undefined> {
  const [row] = await db.query({
    sql: `select amount, shortfall ${PAID}`,
    parameters: await paidParameters(db, charge),
  })
  return row && { paidNano: row.amount as number, shortfallNano: row.shortfall as number }
}

const PAID = `from charge_history where position >= $1 and id in ($2, $3) and state = 'settled'`

function lateId({ id }: Charge): string {
  return `${id}:late`
}

async function paidParameters(db: Db, charge: Charge): Promise<Value[]> {
  return [await firstPositionSince(db, charge.createdAt), charge.id, lateId(charge)]
}

/** A guard that fails if an answer is already paid. */
async function unlessPaid(db: Db, charge: Charge): Promise<Statement> {
  const parameters = await paidParameters(db, charge)
  return { sql: `select 1 as free where not exists (select 1 ${PAID})`, parameters, guard: true }
}

/**
 * Opens a charge without a hold, for something delivered without one: it can only take the available balance. Misses if the charge
 * is already open.
 */
export async function openUnheld(db: Db, charge: Charge): Promise<Statement> {
  assert(charge.heldNano === 0, 'what is held has to be there')
  const { sql, parameters = [] } = insertOpen(charge, await referencesOf(db).priceListId(charge.pricesJson))
  return { sql: `${sql} on conflict (key_id, id) do nothing`, parameters, guard: true }
}

const SELECT_OPEN =
  'select open_charges.*, prices from open_charges join price_lists on price_lists.id = price_list'

/** A charge that has not ended. */
export async function findOpenCharge(db: Db, keyId: string, id: string): Promise<Charge | undefined> {
  const rows = await db.query({
    sql: `${SELECT_OPEN} where key_id = $1 and open_charges.id = $2`,
    parameters: [keyId, id],
  })
  return rows[0] && chargeOfRow(rows[0])
}

/** A charge that ended at a time or later, without the counters of its key. */
export async function findEndedCharge(db: Db, id: string, since: number): Promise<Charge | undefined> {
  const rows = await db.query({
    sql: `select *, ended_at as expires_at, null as budget_period, null as account_period, null as window_minute, 0 as window_tokens
      from charge_history where position >= $2 and ended_at >= $3 and id = $1`,
    parameters: [id, await firstPositionSince(db, since), since - HOUR_MS],
  })
  return rows[0] && chargeOfRow(rows[0])
}

interface ExpiryOptions {
  /** Releases every hold that no live process works on, however new it is. */
  all?: boolean
  /** The live processes; only with `all`. */
  liveProcesses?: readonly string[]
  /** Whether this process works on a charge. */
  runs?(charge: string): boolean
  /** Whether an expired hold has been observed for long enough without a sign of its process. Absent: immediately. */
  isSilent?(charge: Charge): boolean
}

/** By how long an expired hold of a running request is extended, in milliseconds. */
const PROLONGED_MS = 60_000
const MAX_EXPIRED = 1_000

/**
 * Releases expired charges, such as those of a crashed process, and returns their number. Charges of tasks are excluded: a task
 * outlives processes, and its end ends its charge. Charges of this process are extended, even if they have expired by the clock of
 * another process: a wrong clock must not release running requests.
 */
export async function releaseExpired(db: Db, now: number, options: ExpiryOptions = {}): Promise<number> {
  const { all = false, liveProcesses = [], runs, isSilent } = options
  const places = liveProcesses.map((_name, index) => `$${index + 2}`).join(', ')
  const ofOthers = liveProcesses.length > 0 ? `and (process is null or process not in (${places}))` : ''
  const latest = runs ? Math.max(now, await latestNoted(db)) : now
  const rows = await db.query({
    sql: `${SELECT_OPEN} where expires_at <= $1 ${all ? ofOthers : ''}
      and not exists (select 1 from tasks where tasks.charge = open_charges.id) order by expires_at limit ${MAX_EXPIRED}`,
    parameters: all ? [Number.MAX_SAFE_INTEGER, ...liveProcesses] : [latest],
  })
  let released = 0
  for (const charge of rows.map(chargeOfRow)) {
    if (runs?.(charge.id)) {
      if (!all) await apply(db, [prolong(charge, latest + PROLONGED_MS)])
      continue
    }
    if (!all && (charge.expiresAt > now || isSilent?.(charge) === false)) continue
    if (await release(db, charge, { endedBy: 'expired', endedAt: now }, [freeKey(charge.id)])) released++
  }
  return rows.length === MAX_EXPIRED && released > 0
    ? released + (await releaseExpired(db, now, options))
    : released
}

/** The latest time on which any process of this database bases decisions. */
async function latestNoted(db: Db): Promise<number> {
  const [row] = await db.query({ sql: `select at from times where name = 'latest'` })
  return (row?.at as number | undefined) ?? 0
}

/** The statement that creates an account if absent. */
export function openAccount(account: string, now: number): Statement {
  return {
    sql: 'insert into accounts (name, balance, held, created_at) values ($1, 0, 0, $2) on conflict (name) do nothing',
    parameters: [account, now],
  }
}

/** Money from outside: added by the operator, a code, or a payment service. */
type CreditKind = 'credit' | 'code' | 'payment'

/** The guard for an account that has reached the maximum balance, or is closed. */
const TAKES_NO_MORE = 'account takes no more'

/**
 * Opens an account if absent, and credits it unless it is closed, once for each id. The amount is positive. False if the id was credited before,
 * or a guard of `first` hit no row: then nothing was changed.
 */
export async function addCredit(
  db: Db,
  deposit: {
    id: string
    account: string
    amountNano: number
    now: number
    note: string | null
    kind?: CreditKind
  },
  first: readonly Statement[] = [],
): Promise<boolean> {
  const { id, account, amountNano, now, note, kind = 'credit' } = deposit
  assertNano(amountNano)
  assert(amountNano > 0, 'a credit is positive')
  const result = await db.batch([
    ...first,
    transfer(id, now, kind, 'funding', bookOf(account), amountNano, note),
    openAccount(account, now),
    {
      sql: `update accounts set balance = balance + $1 where name = $2 and balance <= $3 and not exists (
        select 1 from account_details where account_details.name = $2 and closed_at is not null)`,
      parameters: [amountNano, account, MAX_NANO - amountNano],
      guard: TAKES_NO_MORE,
    },
  ])
  if ('rows' in result) return true
  if (result.missed !== TAKES_NO_MORE) return false
  throw new RangeError(
    `An account can have at most $${formatUsd(MAX_NANO)}, and nothing more once it is closed.`,
  )
}

/** Corrects a balance up or down; down by no more than is available. False if more would be taken, or if the id is known. */
export async function adjust(
  db: Db,
  adjustment: { id: string; account: string; amountNano: number; now: number; note: string },
): Promise<boolean> {
  const { id, account, amountNano, now, note } = adjustment
  assertNano(amountNano)
  assert(amountNano !== 0, 'an adjustment changes something')
  return tryApply(db, [
    amountNano > 0
      ? transfer(id, now, 'adjust', 'funding', bookOf(account), amountNano, note)
      : transfer(id, now, 'adjust', bookOf(account), 'funding', -amountNano, note),
    {
      sql: `update accounts set balance = balance + $1
        where name = $2 and balance - held + $1 >= 0 and balance <= $3 - $1`,
      parameters: [amountNano, account, MAX_NANO],
      guard: true,
    },
  ])
}

function transfer(
  id: string,
  at: number,
  kind: string,
  from: string,
  to: string,
  amountNano: number,
  note: string | null,
): Statement {
  return {
    sql: `insert into transfers (id, at, kind, from_book, to_book, amount, note)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
    parameters: [id, at, kind, from, to, amountNano, note],
    guard: true,
  }
}

function chargeOfRow(row: Row): Charge {
  return {
    id: row.id as string,
    account: row.account as string,
    keyId: row.key_id as string,
    model: row.model as string,
    operation: row.operation as string,
    heldNano: row.held as number,
    pricesJson: row.prices as string,
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number,
    budgetPeriod: row.budget_period as string | null,
    accountPeriod: row.account_period as string | null,
    spender: row.spender ? { id: row.spender as string, period: row.spender_period as string } : null,
    metadataId: (row.metadata_id ?? 0) as number,
    windowMinute: row.window_minute as number | null,
    windowTokens: row.window_tokens as number,
  }
}
