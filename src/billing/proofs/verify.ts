// Verifies the books: the entries since the last checkpoint, or all of them. If they are right, a new checkpoint is
// written. It must not use code that moves money.

import type { Db, Row } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { bookOf } from '../ledger/balances'
import { faultsOfSeals } from '../receipts/sealed-months'
import {
  faultsOfClosedTotals,
  faultsOfTotals,
  firstPositionSince,
  HOUR_MS,
  lastPosition,
} from '../reports/usage-totals'
import { type Audit, audit, type Check, HAS_CLOSED_CHARGE, openChecks, violationsOf } from './audit'
import {
  areSigned,
  beginCheckpoints,
  type Checkpoint,
  checkpointsOf,
  readCharges,
  type Sums,
  writeCheckpoint,
} from './checkpoint'
import { type Closing, closedPart, closedSums, closingsOf, entriesOf, hashOfEntries } from './closings'

export interface Verification extends Audit {
  /** The time of the checkpoint after which charges were read, in milliseconds since 1970; null if all were read. */
  since: number | null
  /** Charges that were read. */
  read: number
  /** Charges of closed months, which are in the books as sums. */
  closed: number
}

interface VerifyOptions {
  now: number
  /** The key that signs checkpoints; undefined if none can be trusted. */
  key: string | undefined
  /** Reads all charges, including those that were verified before. */
  whole: boolean
  /** The key is new: if the books are correct, one checkpoint replaces all earlier ones. */
  signsAnew?: boolean
  onProgress(position: number, of: number): void
  /** Called before each check that is one statement over this number of charges. */
  onCheck?(done: number, of: number, charges: number): void
}

export async function verify(db: Db, options: VerifyOptions): Promise<Verification> {
  const { key, signsAnew = false } = options
  const closings = await closingsOf(db)
  const checkpoints = signsAnew ? [] : await checkpointsOf(db)
  const problems: string[] = []
  if (key === undefined) problems.push(CLEAR_KEY)
  else if (!signsAnew && !areSigned(closings, checkpoints, key)) problems.push(NOT_SIGNED)
  const last = checkpoints.at(-1)
  const to = await lastPosition(db)
  const isWhole = options.whole || problems.length > 0
  const result =
    isWhole || !last?.sums
      ? await verifyAll(db, closings, checkpoints, to, options)
      : await verifySince(db, { ...last, sums: last.sums }, to, options)
  // Charges that were closed during the read are missing from it.
  if ((await closedPart(db)).position !== (closings.at(-1)?.position ?? 0)) return verify(db, options)
  const { sums, hash, ...verification } = result
  verification.problems.unshift(...problems)
  verification.problems.push(...(await faultsOfSeals(db, verification.since)))
  if (verification.problems.length === 0 && key !== undefined) {
    const checkpoint = { position: to, at: options.now, hash, sums }
    const before = last ?? closings.at(-1)
    if (signsAnew) await beginCheckpoints(db, checkpoint, closings, key)
    else if (to > (before?.position ?? 0)) await writeCheckpoint(db, checkpoint, before?.signature ?? '', key)
  }
  return verification
}

const SIGN_ANEW = '`gateway balance verify --sign-anew` reads all charges and signs them with a new key'
const NOT_SIGNED = `the checkpoints are not as this gateway signed them: somebody changed them, or their key. If it is known why, ${SIGN_ANEW}`
const CLEAR_KEY = `the key that signs checkpoints is in the database as clear text though secrets.key is set: it is from before that, or somebody replaced it, so it proves nothing. ${SIGN_ANEW}`

type Result = Verification & { sums: Sums; hash: string }

/** Reads everything, and compares it with all checkpoints. */
async function verifyAll(
  db: Db,
  closings: readonly Closing[],
  checkpoints: readonly Checkpoint[],
  to: number,
  { now, onProgress, onCheck }: VerifyOptions,
): Promise<Result> {
  const audited = await audit(db, now, (done, of) => onCheck?.(done, of, to))
  const { problems } = audited
  problems.push(...(await faultsOfClosings(db, closings)))
  let sums: Sums = await closedSums(db)
  let after = closings.at(-1)?.position ?? 0
  const closed = { charges: sums.charges, position: after }
  for (const { position, at, hash, sums: signed } of checkpoints) {
    const found = await readCharges(db, after, position, sums, (_, done) => onProgress(done, to))
    if (found !== hash) {
      const when = isoTime(at)
      problems.push(
        `charges at positions ${after + 1} to ${position} are not those that were verified on ${when}`,
      )
    }
    if (signed) sums = structuredClone(signed)
    after = position
  }
  const hash = await readCharges(db, after, to, sums, (_, done) => onProgress(done, to))
  problems.push(...(await faultsOfTotals(db, closed.position)))
  if (closings.length > 0) problems.push(...(await faultsOfClosedTotals(db, closed.position)))
  const { transfers } = await transfersIn(db)
  return {
    ...audited,
    transfers,
    since: null,
    read: sums.charges - closed.charges,
    closed: closed.charges,
    sums,
    hash,
  }
}

/** One sentence per closing whose entries differ from those it was written with. */
async function faultsOfClosings(db: Db, closings: readonly Closing[]): Promise<string[]> {
  const faults: string[] = []
  for (const closing of closings) {
    const entries = await entriesOf(db, closing)
    if (hashOfEntries(entries) !== closing.entriesHash)
      faults.push(`the entries of the closed month ${closing.month} are not those that it was closed with`)
  }
  return faults
}

/**
 * Number of ids that are compared with each other, twice: duplicates are usually written at the same moment, and `--whole` compares
 * all.
 */
const MAX_IDS = 50_000

/** Remembers the last ids of a range of charges of any length. */
class RecentIds {
  private before = new Set<string>()
  private last = new Set<string>()

  /** False for a repeated id. */
  add(id: string): boolean {
    if (this.last.has(id) || this.before.has(id)) return false
    if (this.last.size >= MAX_IDS) [this.before, this.last] = [this.last, new Set()]
    this.last.add(id)
    return true
  }
}

/** Reads everything after a checkpoint. */
async function verifySince(
  db: Db,
  checkpoint: Checkpoint & { sums: Sums },
  to: number,
  { now, onProgress }: VerifyOptions,
): Promise<Result> {
  const problems: string[] = []
  const sums = structuredClone(checkpoint.sums)
  const ids = new RecentIds()
  let earliest = Number.POSITIVE_INFINITY
  const hash = await readCharges(db, checkpoint.position, to, sums, (rows, done) => {
    for (const row of rows) {
      earliest = Math.min(earliest, row.ended_at as number)
      const fault = ids.add(row.id as string) ? faultOf(row) : 'there more than once'
      if (fault !== undefined) problems.push(`charge ${row.id}: ${fault}`)
    }
    onProgress(done, to)
  })
  for (const check of [
    ...openChecks(now),
    await taskCheck(db, checkpoint.at),
    openTwice(checkpoint.position),
  ])
    problems.push(...(await violationsOf(db, check)))
  const accounts = await accountsAt(db, to)
  for (const row of accounts) {
    const paid = BigInt(sums.paid[row.name as string] ?? 0) + BigInt(row.paid as number)
    const booked = BigInt(row.transferred as number) - paid
    if (booked !== BigInt(row.balance as number))
      problems.push(`account ${row.name}: balance ${row.balance} differs from its ledger ${booked}`)
  }
  const names = new Set(accounts.map(({ name }) => name))
  for (const [account, paid] of Object.entries(sums.paid)) {
    if (paid !== '0' && !names.has(account))
      problems.push(`${bookOf(account)}: the ledger has -${paid} for an account that does not exist`)
  }
  // Later charges belong to the next checkpoint, and may have ended earlier.
  if (earliest !== Number.POSITIVE_INFINITY)
    problems.push(...(await faultsOfTotals(db, checkpoint.position, earliest)))
  const { transfers, fundingNano } = await transfersIn(db)
  const [open] = await db.query({ sql: 'select count(*) as count from open_charges' })
  const paid = Object.values(sums.paid).reduce((sum, nano) => sum + BigInt(nano), 0n)
  const shortfallNano = BigInt(sums.shortfall)
  return {
    accounts: accounts.length,
    charges: sums.charges + (open?.count as number),
    transfers,
    books: {
      fundingNano,
      revenueNano: paid + shortfallNano,
      shortfallNano,
    },
    problems,
    since: checkpoint.at,
    read: sums.charges - checkpoint.sums.charges,
    closed: (await closedSums(db)).charges,
    sums,
    hash,
  }
}

/** The number of deposits and corrections, and the amount that they paid in. */
async function transfersIn(db: Db): Promise<{ transfers: number; fundingNano: bigint }> {
  const [row] = await db.query({
    sql: `select count(*) as transfers, cast(coalesce(sum(case when from_book = 'funding' then amount
        when to_book = 'funding' then -amount else 0 end), 0) as text) as funding from transfers`,
  })
  return { transfers: row?.transfers as number, fundingNano: BigInt(row?.funding as string) }
}

/** The fault in the row of an ended charge, judged by itself. */
function faultOf({ state, amount, shortfall, held }: Row): string | undefined {
  const [paid, short] = [amount as number, shortfall as number]
  const isPossible = state === 1 || (state === 0 && paid === 0 && short === 0)
  if (!isPossible || paid < 0 || short < 0) return `impossible state ${state === 0 ? 'released' : state}`
  // A price below its hold is always covered.
  if (short > 0 && paid < (held as number))
    return `a shortfall of ${short} though only ${paid} of ${held} was taken`
  return undefined
}

/** Accounts with their transfers, and their payments after a position: one snapshot of the database. */
function accountsAt(db: Db, position: number): Promise<Row[]> {
  return db.query({
    sql: `select name, balance, coalesce(transferred, 0) as transferred, coalesce(paid, 0) as paid from accounts
      left join (select book, cast(sum(amount) as bigint) as transferred from (
          select to_book as book, amount from transfers union all select from_book, -amount from transfers) as legs
        group by book) as moved on book = 'account:' || name
      left join (select account, cast(sum(amount) as bigint) as paid
        from ended_charges join charge_series on charge_series.id = series where position > $1 group by account) as after
        on account = name`,
    parameters: [position],
  })
}

function openTwice(position: number): Check {
  return {
    sql: `select o.id from open_charges o join ended_charges e on e.id = o.id where e.position > $1`,
    parameters: [position],
    say: (row) => `charge ${row.id}: there more than once`,
  }
}

/** Tasks that run, or ended since a time: each has its charge, or none if it must not have one. */
async function taskCheck(db: Db, at: number): Promise<Check> {
  const since = at - HOUR_MS
  return {
    sql: `select t.id, t.state, c.state as charge_state from tasks t left join (
        select id, state from charge_history where position >= $1 union all select id, state from held_charges) as c
        on c.id = t.charge
      where (t.state = 'submitted' or t.ended_at > $2) and not (c.id is null and ${HAS_CLOSED_CHARGE}) and coalesce(c.state, 'none') <> case t.state
        when 'submitted' then 'held' when 'succeeded' then 'settled' when 'failed' then 'released' else 'impossible' end`,
    parameters: [await firstPositionSince(db, since - HOUR_MS), since],
    say: (row) => `task ${row.id}: ${row.state}, but its charge is ${row.charge_state ?? 'missing'}`,
  }
}
