// Closing old charges: closed charges are moved to correct archives, and every report about money stays the same, even if the
// process is killed, several nodes close them at once, or an archive is changed.

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { folderPlace } from '../../src/backup/place'
import { type LedgerPlace, ledgerOf, pageOfLedger } from '../../src/billing/ledger/account-ledger'
import { hold } from '../../src/billing/ledger/ledger'
import { checkpointsOf, makeSigningKey, signingKey } from '../../src/billing/proofs/checkpoint'
import { closedSums, closingsOf } from '../../src/billing/proofs/closings'
import { verify } from '../../src/billing/proofs/verify'
import { usageBy } from '../../src/billing/reports/usage-report'
import { DAY_MS, HOUR_MS, rebuildTotals } from '../../src/billing/reports/usage-totals'
import type { Db } from '../../src/db/db'
import { type ClosingParts, closeMonth } from '../../src/retention/close'
import { monthsToClose } from '../../src/retention/months'
import { faultsOfArchives } from '../../src/retention/prove'
import { removeClosed } from '../../src/retention/remove'
import { runRetention } from '../../src/retention/run'
import {
  type DatabaseKind,
  databaseKinds,
  openTestDatabase,
  temporaryFolder,
} from '../support/databases/databases'
import { ledgerFromItsEnd, makeCharge } from '../support/databases/ledger-rows'
import { ACCOUNTS, LongHistory } from '../support/databases/long-history'
import { createRandom, seedOf } from '../support/random'
import { rejection } from '../support/rejection'

setDefaultTimeout(240_000)

const seed = seedOf('RETENTION_SEED')
const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const open: Db[] = []
afterEach(async () => {
  for (const db of open.splice(0)) await db.close()
})

async function newDatabase(kind: DatabaseKind): Promise<Db> {
  const db = await openTestDatabase(kind)
  open.push(db)
  return db
}

/** Everything for a run at a time, with archives in a folder. */
async function partsAt(db: Db, folder: string, now: number): Promise<ClosingParts> {
  const key = await signingKey(db, randomBytes, now)
  return { db, place: folderPlace(folder), key, scratch: temporaryFolder(), now: () => now }
}

async function problemsOf(
  db: Db,
  now: number,
  options: { whole: boolean; signsAnew?: boolean },
): Promise<string[]> {
  const key = options.signsAnew ? makeSigningKey(randomBytes) : await signingKey(db, randomBytes, now)
  return (await verify(db, { now, key, onProgress: () => {}, ...options })).problems
}

/** Sums of checkpoints that were made while a month was closed are those of all charges up to them. */
async function expectSums(db: Db): Promise<void> {
  const closed = await closedSums(db)
  const rows = await db.query({
    sql: 'select position, account, amount, shortfall from ended_charges join charge_series on charge_series.id = series',
  })
  for (const { position, sums } of await checkpointsOf(db)) {
    const expected = structuredClone(closed)
    for (const row of rows) {
      if ((row.position as number) > position) continue
      const account = row.account as string
      expected.charges++
      expected.paid[account] = String(BigInt(expected.paid[account] ?? 0) + BigInt(row.amount as number))
      expected.shortfall = String(BigInt(expected.shortfall) + BigInt(row.shortfall as number))
    }
    expect(sums).toEqual(expected)
  }
}

const monthAt = (index: number) => Date.UTC(2025, index)
const NOW = monthAt(3)

/** The lines of all archives in a folder. */
function archivedLines(folder: string): Record<string, unknown>[] {
  const names = readdirSync(folder).sort()
  return names.flatMap((name) => {
    const text = zstdDecompressSync(readFileSync(join(folder, name))).toString()
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  })
}

function propertyTests(kind: DatabaseKind): void {
  test(`changes no report about money (RETENTION_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const db = await newDatabase(kind)
    const folder = temporaryFolder()
    const history = new LongHistory(db, random)
    for (let month = 0; month < 6; month++) {
      await history.grow(monthAt(month), 31 * DAY_MS, 60)
      if (random.chance(0.4))
        expect(await problemsOf(db, monthAt(month), { whole: random.chance(0.5) })).toEqual([])
      const now = monthAt(month + 1)
      // Sometimes several months at once.
      const keepMonths = month === 5 ? 1 : random.chance(0.4) ? 4 : 1 + random.below(2)
      const { closed } = await runRetention(await partsAt(db, folder, now), keepMonths)
      await expectSums(db)
      await history.noteClosed()
      await history.compare()
      if (closed.length > 0 && random.chance(0.5)) await rebuildTotals(db, () => {})
      if (random.chance(0.5)) await history.compare()
      expect(await problemsOf(db, now, { whole: random.chance(0.5) })).toEqual([])
      if (random.chance(0.2)) expect(await problemsOf(db, now, { whole: true, signsAnew: true })).toEqual([])
    }
    expect(await problemsOf(db, monthAt(7), { whole: true })).toEqual([])
    expect(await faultsOfArchives(db, folderPlace(folder), { scratch: temporaryFolder() })).toEqual([])
    expect((await closingsOf(db)).length).toBeGreaterThan(2)
    await expectSums(db)
    const lines = archivedLines(folder)
    expect(lines.map(({ id }) => id)).toEqual([...history.closedWith.keys()])
    for (const line of lines) {
      const {
        id,
        account,
        keyId,
        model,
        operation,
        state,
        usageSource,
        usage,
        amount,
        shortfall,
        cost,
        metadata,
        endedAt,
      } = history.charges.get(line.id as string) as never
      const expected = {
        id,
        account,
        key_id: keyId,
        model,
        operation,
        state,
        amount,
        shortfall,
        ended_at: endedAt,
      }
      expect(line).toMatchObject({
        ...(expected as object),
        usage,
        cost,
        metadata,
        usage_source: usageSource,
      })
    }
    const [left] = await db.query({
      sql: 'select count(*) as count from ended_charges where position <= (select max(position) from closings)',
    })
    expect(left?.count).toBe(0)
  })
}

function choiceTests(kind: DatabaseKind): void {
  test('keeps the last charge, and younger or open ones', async () => {
    const db = await newDatabase(kind)
    const folder = temporaryFolder()
    const history = new LongHistory(db, createRandom(7))
    await history.grow(monthAt(0), 20 * DAY_MS, 10)
    expect(await monthsToClose(db, 2, monthAt(3) - 1)).toEqual([])
    const [month] = await monthsToClose(db, 2, monthAt(3))
    expect(month).toMatchObject({ month: '2025-01', after: 0, position: history.charges.size - 1, open: 0 })
    await hold(db, makeCharge(0, { account: 'alice', createdAt: monthAt(1) - 1 }))
    const waiting = await runRetention(await partsAt(db, folder, monthAt(3)), 2)
    expect(waiting).toEqual({ closed: [], waiting: { month: '2025-01', open: 1 } })
    await db.batch([{ sql: 'delete from open_charges' }])
    const { closed } = await runRetention(await partsAt(db, folder, monthAt(3)), 2)
    expect(closed.map(({ month, charges }) => ({ month, charges }))).toEqual([
      { month: '2025-01', charges: history.charges.size - 1 },
    ])
    const [left] = await db.query({ sql: 'select count(*) as count from ended_charges' })
    expect(left?.count).toBe(1)
    expect(await runRetention(await partsAt(db, folder, monthAt(9)), 2)).toEqual({
      closed: [],
      waiting: undefined,
    })
    await history.noteClosed()
    await history.compare()
  })

  test('a page of a ledger whose charges were closed meanwhile is not found', async () => {
    const db = await newDatabase(kind)
    // Always the same history, in which the account has paid something in each month.
    const history = new LongHistory(db, createRandom(1))
    for (const month of [0, 1, 2]) await history.grow(monthAt(month), 28 * DAY_MS, 25)
    const account = ACCOUNTS[0] as string
    const first = await pageOfLedger(db, account, { until: monthAt(2) }, 3)
    const place = first?.next as LedgerPlace
    expect(first?.entries.some(({ kind }) => kind === 'charge')).toBe(true)
    expect((await pageOfLedger(db, account, {}, 1, place))?.entries).toHaveLength(1)
    await runRetention(await partsAt(db, temporaryFolder(), NOW), 1)
    expect(await pageOfLedger(db, account, {}, 1, place)).toBeUndefined()
    // From one closed month to the one before it.
    const all = (await Array.fromAsync(ledgerOf(db, account))).flat()
    expect(all.filter(({ kind }) => kind === 'closing')).toHaveLength(2)
    expect(await ledgerFromItsEnd(db, account, {}, 1)).toEqual(all.toReversed())
  })

  test('usage of parts of a closed hour counts with the whole hour', async () => {
    const { db } = await closedDatabase(kind)
    const [{ name = '', requests = 0 } = {}] = await usageBy(db, 'hour', { since: 0, until: monthAt(1) })
    const hour = Number(name)
    expect(requests).toBeGreaterThan(0)
    const requestsIn = async (since: number, until: number) =>
      (await usageBy(db, 'hour', { since, until })).map((used) => used.requests)
    expect(await requestsIn(hour + 1, hour + HOUR_MS - 1)).toEqual([])
    expect(await requestsIn(hour + 1, hour + HOUR_MS)).toEqual([requests])
  })
}

/** A database with two closed months. */
async function closedDatabase(kind: DatabaseKind) {
  const db = await newDatabase(kind)
  const folder = temporaryFolder()
  const history = new LongHistory(db, createRandom(seed))
  for (let month = 0; month < 3; month++) await history.grow(monthAt(month), 28 * DAY_MS, 25)
  const { closed } = await runRetention(await partsAt(db, folder, NOW), 1)
  expect(closed.map(({ month }) => month)).toEqual(['2025-01', '2025-02'])
  const archive = join(folder, closed[0]?.archive ?? '')
  const faults = () => faultsOfArchives(db, folderPlace(folder), { scratch: temporaryFolder() })
  return { db, folder, archive, faults }
}

function archiveTests(kind: DatabaseKind): void {
  test('an archive that is missing, changed, cut off or replaced is reported', async () => {
    const { folder, archive, faults } = await closedDatabase(kind)
    const bytes = readFileSync(archive)
    expect(await faults()).toEqual([])
    rmSync(archive)
    expect(await faults()).toEqual([
      expect.stringMatching(/^the archive \S+ of 2025-01 cannot be read in .*ENOENT/),
    ])
    const changed = Buffer.from(bytes)
    changed[40] = (changed[40] as number) ^ 1
    for (const content of [changed, bytes.subarray(0, -5), Buffer.alloc(0)]) {
      writeFileSync(archive, content)
      expect(await faults()).toEqual([
        expect.stringContaining('was changed: its hash is not that of its name'),
      ])
    }
    const other = readdirSync(folder).find((name) => name.startsWith('charges-2025-02')) as string
    copyFileSync(join(folder, other), archive)
    expect(await faults()).toEqual([expect.stringContaining('was changed')])
  })

  test('an archive that was rewritten under the hash of its new content is reported', async () => {
    const { db, folder, archive, faults } = await closedDatabase(kind)
    const lines = zstdDecompressSync(readFileSync(archive)).toString().trim().split('\n')
    const forge = async (changed: readonly string[]) => {
      const bytes = zstdCompressSync(Buffer.from(changed.map((line) => `${line}\n`).join('')))
      const name = `charges-2025-01-${createHash('sha256').update(bytes).digest('hex')}.ndjson.zst`
      writeFileSync(join(folder, name), bytes)
      await db.batch([
        { sql: `update closings set archive = $1 where month = '2025-01'`, parameters: [name] },
      ])
    }
    await forge(lines.slice(1))
    expect(await faults()).toEqual([expect.stringMatching(/has \d+ charges, not \d+$/)])
    await forge(
      lines.map((line) => line.replace(/"amount":(\d+)/, (_, amount) => `"amount":${Number(amount) + 1}`)),
    )
    expect(await faults()).toEqual([expect.stringContaining('does not add up to the entries of its month')])
    expect(await problemsOf(db, NOW, { whole: false })).toEqual([
      expect.stringContaining('not as this gateway signed'),
    ])
  })
}

function tamperTests(kind: DatabaseKind): void {
  test('entries, closings and totals that were changed are reported', async () => {
    const { db } = await closedDatabase(kind)
    const spoil = async (change: string, undo: string, problem: string) => {
      await db.batch([{ sql: change }])
      const problems = await problemsOf(db, NOW, { whole: true })
      expect({ change, problems: problems.some((text) => text.includes(problem)) }).toEqual({
        change,
        problems: true,
      })
      await db.batch([{ sql: undo }])
      expect(await problemsOf(db, NOW, { whole: true })).toEqual([])
    }
    // Random histories need not have the first series in the first month.
    const first = `where closing = (select min(position) from closings) and series = (
      select min(series) from closing_entries where closing = (select min(position) from closings))`
    const oldest = 'where series = 1 and start = (select min(start) from usage_totals where series = 1)'
    for (const column of ['amount', 'cost', 'requests', 'counted'])
      await spoil(
        `update closing_entries set ${column} = ${column} + 1 ${first}`,
        `update closing_entries set ${column} = ${column} - 1 ${first}`,
        'the entries of the closed month 2025-01 are not those',
      )
    await spoil(
      `update closings set charges = charges + 1 where month = '2025-02'`,
      `update closings set charges = charges - 1 where month = '2025-02'`,
      'not as this gateway signed them',
    )
    await spoil(
      `update usage_totals set amount = amount + 1 ${oldest}`,
      `update usage_totals set amount = amount - 1 ${oldest}`,
      'is not what its closed and other charges say',
    )
  })

  test('charges without an archive are not removed, and changed charges are not closed', async () => {
    const db = await newDatabase(kind)
    const folder = temporaryFolder()
    const history = new LongHistory(db, createRandom(seed))
    for (let month = 0; month < 3; month++) await history.grow(monthAt(month), 28 * DAY_MS, 25)
    const parts = await partsAt(db, folder, NOW)
    expect(await problemsOf(db, NOW, { whole: false })).toEqual([])
    const change = (by: number) =>
      db.batch([{ sql: `update ended_charges set held = held + ${by} where position = 3` }])
    await change(1)
    expect((await rejection(runRetention(parts, 1))).message).toContain('are not those that were verified on')
    expect(await closingsOf(db)).toEqual([])
    await change(-1)
    const [month] = await monthsToClose(db, 1, NOW)
    await closeMonth(parts, month as never)
    const elsewhere = { ...parts, place: folderPlace(temporaryFolder()) }
    const count = async () =>
      (await db.query({ sql: 'select count(*) as count from ended_charges' }))[0]?.count
    const before = await count()
    expect((await rejection(removeClosed({ ...elsewhere, pause: async () => {} }))).message).toContain(
      'stay in the database',
    )
    expect(await count()).toBe(before as number)
    await removeClosed({ ...parts, pause: async () => {} })
    expect(await count()).toBeLessThan(before as number)
    await history.noteClosed()
    await history.compare()
  })
}

describe.each(databaseKinds)('closing months on %s', (kind) => {
  propertyTests(kind)
  choiceTests(kind)
  archiveTests(kind)
  tamperTests(kind)
})
