// Monthly statements: they add up to the ledger to the nano-dollar whatever happened, are numbered without gaps whoever issues
// them, and never change.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { folderPlace } from '../../src/backup/place'
import { pageOfLedger } from '../../src/billing/ledger/account-ledger'
import { balances } from '../../src/billing/ledger/balances'
import { addCredit, adjust, hold, release, releaseExpired, settle } from '../../src/billing/ledger/ledger'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { statementLines } from '../../src/billing/reports/statement-page'
import {
  draftStatements,
  faultsOfStatements,
  findStatement,
  isOver,
  issueStatement,
  listStatements,
  monthOf,
  requireStatement,
  taxOf,
} from '../../src/billing/reports/statements'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import { faultsOf } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { parseUsd } from '../../src/lib/money'
import { runRetention } from '../../src/retention/run'
import { databaseKinds, openTestDatabase, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway } from '../support/gateway'
import { createRandom, type Random, seedOf } from '../support/random'

setDefaultTimeout(120_000)

const seed = seedOf('STATEMENTS_SEED')
const MONTHS = ['2026-01', '2026-02', '2026-03', '2026-04']
const statements = {
  seller: {
    name: 'Gateways & Sons',
    address: ['1 Long Street', 'London'],
    taxId: 'GB 123',
    contact: 'billing@example.com',
  },
  logo: 'G&S',
  tax: { name: 'VAT', percent: '20' },
  note: 'Thank you.\nPrices are those of the day.',
}

const nano = (usd: string) => parseUsd(usd) as number

/** Random movements of four months, some at the first and last millisecond of one. */
async function fill(db: Db, random: Random): Promise<void> {
  const accounts = ['alice', 'bob', 'carol', 'late']
  const [first, last] = [monthOf(MONTHS[0] as string), monthOf(MONTHS.at(-1) as string)]
  const [begin, end] = [first?.since as number, last?.until as number]
  const bounds = MONTHS.flatMap((month) => Object.values(monthOf(month) ?? {}))
    .flatMap((at) => [at - 1, at])
    .filter((at) => at < end)
  for (const account of accounts)
    await addCredit(db, {
      id: `first ${account}`,
      account,
      amountNano: 50_000_000_000,
      now: begin - 1e9,
      note: null,
    })
  for (let count = 0; count < 240; count++) {
    const at = random.chance(0.2) ? random.pick(bounds) : begin + random.below(end - begin)
    const account = random.pick(accounts)
    const dice = random.below(100)
    const id = `move ${count}`
    if (dice < 15)
      await addCredit(db, { id, account, amountNano: 1 + random.below(9_999_999_999), now: at, note: 'x' })
    else if (dice < 25) {
      const amountNano = (1 + random.below(999_999_999)) * (random.chance(0.5) ? 1 : -1)
      await adjust(db, { id, account, amountNano, now: at, note: 'corrected' })
    } else {
      const charge = makeCharge(1_000_000_000, {
        account,
        keyId: account,
        model: random.pick(['m', 'n']),
        createdAt: at - 1,
      })
      if ('refusedBy' in (await hold(db, charge))) continue
      if (random.chance(0.1)) continue
      if (random.chance(0.2)) await release(db, charge, { endedBy: 'upstream', endedAt: at })
      else await settle(db, charge, makeSettlement(random.below(1_500_000_000), { endedAt: at }))
    }
    if (random.chance(0.05)) await addToTotals(db)
  }
}

describe.each(databaseKinds)('statements on %s', (database) => {
  test(`and the balance before them are the ledger (STATEMENTS_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const db = await openTestDatabase(database)
    await fill(db, random)
    for (const month of MONTHS) {
      const drafts = await draftStatements(db, month, { statements })
      // Several operators at once: each statement is issued once.
      const issued = (
        await Promise.all(
          [1, 2, 3].map(async () => {
            const mine = []
            for (const draft of drafts) mine.push(await issueStatement(db, draft, Date.UTC(2026, 5, 1)))
            return mine.filter((statement) => statement !== undefined)
          }),
        )
      ).flat()
      expect(issued.map(({ account }) => account).sort()).toEqual(drafts.map(({ account }) => account))
      expect(await draftStatements(db, month, { statements })).toEqual([])
    }
    const listed = await listStatements(db, { limit: 1_000 })
    const all = await Promise.all(listed.map(({ number }) => requireStatement(db, String(number))))
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1))
    for (const { account, balanceNano } of await balances(db)) {
      const own = all.filter((statement) => statement.account === account)
      let balance = nano(own[0]?.content.opening_usd ?? '')
      for (const statement of own) {
        const { content, month } = statement
        expect(nano(content.opening_usd)).toBe(balance)
        for (const { amount_usd: usd } of content.transfers) balance += nano(usd)
        for (const { amount_usd: usd } of content.usage) balance -= nano(usd)
        expect(nano(content.closing_usd)).toBe(balance)
        // The same from the ledger's own pages, and as a table.
        const page = await pageOfLedger(db, account, { until: monthOf(month)?.until as number }, 1)
        const entry = page?.entries[0]
        expect(entry?.balanceAfterNano).toBe(balance)
        const lines = statementLines(statement).filter(([, , , line]) => line !== 'closing' && line !== 'tax')
        expect(lines.reduce((sum, line) => sum + nano(String(line.at(-1))), 0)).toBe(balance)
      }
      expect(balance).toBe(balanceNano)
    }
    expect(await faultsOfStatements(db)).toEqual({ checked: all.length, faults: [] })
    // The same when the charges of the months are closed and gone, were they made only then.
    const now = Date.UTC(2026, 5, 1)
    await releaseExpired(db, now, { all: true })
    await addToTotals(db)
    const key = await signingKey(db, randomBytes, now)
    const place = folderPlace(temporaryFolder())
    const { closed } = await runRetention({ db, place, key, scratch: temporaryFolder(), now: () => now }, 1)
    expect(closed.length).toBeGreaterThan(0)
    expect(await faultsOfStatements(db)).toEqual({ checked: all.length, faults: [] })
    await db.batch([{ sql: 'delete from statements' }])
    for (const month of MONTHS) {
      const issued = all.filter((statement) => statement.month === month)
      expect(await draftStatements(db, month, { statements })).toEqual(
        issued.map(({ content }) => content).sort((one, other) => (one.account < other.account ? -1 : 1)),
      )
    }
    await db.close()
  })

  test('report late charges with the next month, and never change', async () => {
    const db = await openTestDatabase(database)
    const [january, february] = [Date.UTC(2026, 0, 15), Date.UTC(2026, 1, 15)]
    await addCredit(db, { id: 'a', account: 'alice', amountNano: 5e9, now: january, note: '=1+1' })
    const spend = async (amount: number, at: number) => {
      const charge = makeCharge(amount, { createdAt: at })
      await hold(db, charge)
      await settle(db, charge, makeSettlement(amount, { endedAt: at }))
    }
    await spend(1e9, january)
    const issue = async (month: string, tax: string) => {
      const entry = { ...statements, tax: { name: 'VAT', percent: tax, included: false } }
      for (const draft of await draftStatements(db, month, { statements: entry }))
        await issueStatement(db, draft, Date.UTC(2026, 5, 1))
    }
    await issue('2026-01', '20')
    const first = await findStatement(db, { number: 1 })
    expect(first?.content).toMatchObject({
      opening_usd: '0.00',
      used_usd: '1.00',
      closing_usd: '4.00',
      tax: { included: false, net_usd: '1.00', tax_usd: '0.20', total_usd: '1.20' },
    })
    await spend(2e9, january)
    await spend(1e9, february)
    expect((await faultsOfStatements(db)).faults.join()).toContain('the next one has the difference')
    // Another configuration does not change issued statements.
    await issue('2026-02', '7.7')
    expect(await findStatement(db, { number: 1 })).toEqual(first)
    expect((await findStatement(db, { number: 2 }))?.content).toMatchObject({
      opening_usd: '4.00',
      earlier_usd: '-2.00',
      used_usd: '1.00',
      closing_usd: '1.00',
      tax: { percent: '7.7' },
    })
    for (const [sql, fault] of [
      [
        `update statements set content = replace(content, '4.00', '9.00') where number = 1`,
        'statement 1 is not as it was issued',
      ],
      [`update statements set number = 3 where number = 2`, 'statement 2 is missing'],
    ] as const) {
      await db.batch([{ sql }])
      expect((await faultsOfStatements(db)).faults.join()).toContain(fault)
    }
    await db.close()
  })
})

describe.each(databaseKinds)('statements over the admin API on %s', (database) => {
  test('are issued by operators from months that are over, in the audit trail, and shown in three forms', async () => {
    let now = Date.UTC(2026, 0, 20)
    const gateway = await startTestGateway({
      database,
      outside: { now: () => now },
      config: { statements },
    })
    const token = makeToken(randomBytes)
    const { db } = gateway.server.world
    const admin = { id: newId('adm'), name: 'ann', token, expiresAt: null, createdAt: 1 } as const
    expect(await createAdmin(db, { ...admin, role: 'operator' })).toBe(true)
    const viewer = makeToken(randomBytes)
    expect(
      await createAdmin(db, { ...admin, id: newId('adm'), name: 'eve', token: viewer, role: 'viewer' }),
    ).toBe(true)
    const call = async (path: string, body?: object, by = token) => {
      const response = await fetch(`${gateway.url}/admin/v1/${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        text: await response.text(),
      }
    }
    expect((await gateway.chat()).status).toBe(200)
    now = Date.UTC(2026, 1, 1, 0, 30)
    expect(await call('statements', { month: '2026-01' })).toMatchObject({ status: 400 })
    expect((await call('statements', { month: '2026-01' })).text).toContain('is not over')
    now = Date.UTC(2026, 1, 1, 1)
    expect(await call('statements', { month: '2026-01' }, viewer)).toMatchObject({ status: 403 })
    expect(await call('statements', { month: '2026-1' })).toMatchObject({ status: 400 })
    expect(await call('statements', { month: '2026-01', account: 'nobody' })).toMatchObject({ status: 404 })
    const issued = await call('statements', { month: '2026-01' })
    expect(JSON.parse(issued.text)).toMatchObject({
      data: [{ number: 1, account: 'alice', month: '2026-01' }],
    })
    expect(JSON.parse((await call('statements', { month: '2026-01' })).text)).toEqual({ data: [] })
    expect((await call('audit')).text).toContain('statement.issue')
    const { content } = JSON.parse((await call('statements/1', undefined, viewer)).text)
    const { balanceNano } = await gateway.balance()
    expect(nano(content.closing_usd)).toBe(balanceNano)
    expect(content.usage).toMatchObject([{ model: 'test-chat', requests: 1 }])
    const page = await call('statements/1?format=html')
    expect([page.type, page.text.includes('Gateways &amp; Sons')]).toEqual(['text/html; charset=utf-8', true])
    const table = await call('statements/1?format=csv')
    expect(table.text).toStartWith(
      'number,account,month,line,at,text,requests,amount_usd\r\n1,alice,2026-01,opening',
    )
    expect(JSON.parse((await call('statements/verification')).text)).toEqual({ checked: 1, faults: [] })
    for (const number of ['2', '0', '1e0', '../1', 'x'])
      expect((await call(`statements/${encodeURIComponent(number)}`)).status).toBe(404)
    await gateway.close()
  })
})

test('a month is over an hour after its end', () => {
  const march = monthOf('2026-03') as { since: number; until: number }
  expect(march).toEqual({ since: Date.UTC(2026, 2, 1), until: Date.UTC(2026, 3, 1) })
  expect([3_599_999, 3_600_000].map((after) => isOver(march, march.until + after))).toEqual([false, true])
  expect(['2026-13', '26-01', 'x', '2026-1'].map(monthOf)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('tax and net are the whole, to the nano-dollar', () => {
  const random = createRandom(seed)
  for (let round = 0; round < 2_000; round++) {
    const amount = random.below(9_000_000_000_000)
    const percent = `${random.below(100)}.${1 + random.below(9_999)}`
    const inside = taxOf(amount, { name: 'VAT', percent })
    expect(nano(inside?.net_usd ?? '') + nano(inside?.tax_usd ?? '')).toBe(amount)
    const onTop = taxOf(amount, { name: 'VAT', percent, included: false })
    const exact = (amount * Number(percent)) / 100
    expect(Math.abs(nano(onTop?.tax_usd ?? '') - exact)).toBeLessThan(1.01)
  }
  const faults = (percent: string) =>
    faultsOf({ upstreams: {}, models: {}, statements: { tax: { name: 'VAT', percent } } })
  expect(faults('19')).toEqual([])
  for (const percent of ['0', '101', '-1', 'x', '1.00001'])
    expect(faults(percent).join()).toContain('statements.tax')
})
