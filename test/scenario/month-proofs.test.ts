// Proofs of months: every charge of an account is in its seal once, a holder of a key sees only the texts of that key, and every
// change after the sealing of the month is found, by our check and by the program of docs/receipts.md.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hold, release, settle } from '../../src/billing/ledger/ledger'
import { verify } from '../../src/billing/proofs/verify'
import { publicKeysIn, SEED_BYTES, signingKeyOf } from '../../src/billing/receipts/jws'
import { checkReceipts } from '../../src/billing/receipts/receipt-file'
import { rotateReceiptKey } from '../../src/billing/receipts/receipt-keys'
import { faultsOfSeals, MonthSeals } from '../../src/billing/receipts/sealed-months'
import { draftStatements, issueStatement } from '../../src/billing/reports/statements'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import { apply } from '../../src/db/db'
import { formatUsd } from '../../src/lib/money'
import { databaseKinds, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { named, pythonWithCryptography } from '../support/processes/python-packages'
import { createRandom, seedOf } from '../support/random'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const SEED = seedOf('PROOFS_SEED')
const MONTH = '2026-03'
const BEGIN = Date.UTC(2026, 2)
const END = Date.UTC(2026, 3)
const HOUR_MS = 3_600_000
const CHARGES = 240
const python = await pythonWithCryptography()
const program = /```python\n([\s\S]*?)```/.exec(readFileSync('docs/receipts.md', 'utf8'))?.[1] ?? ''

describe.each(databaseKinds.map((kind) => [kind] as const))('proofs of months on %s', (database) => {
  let gateway: TestGateway
  let keys: string
  const clock = { now: BEGIN }
  const own: { secret: string; id: string }[] = []
  /** Nano-dollars that the second book has for each account in the month, and how many charges. */
  const book = new Map<string, { charges: number; amountNano: number }>()

  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      config: { receipts: true },
      outside: { now: () => clock.now },
    })
    own.push(await gateway.makeKey('mine', '100'), await gateway.makeKey('mine', '0'))
    own.push(await gateway.makeKey('other', '100'))
    await writeHistory()
    // Those of the last moment wait for the hour.
    clock.now = END + 60_000
    await new MonthSeals(gateway.server.world).beat()
    expect(await sealedAccounts()).toEqual([])
    clock.now = END + HOUR_MS
    await addToTotals(gateway.server.world.db)
    await new MonthSeals(gateway.server.world).beat()
    keys = await (await fetch(`${gateway.url}/v1/receipts/keys`)).text()
  })
  afterAll(() => gateway.close())

  async function sealedAccounts(): Promise<string[]> {
    const rows = await gateway.server.world.db.query({
      sql: 'select account from sealed_months order by account',
    })
    return rows.map(({ account }) => account as string)
  }

  /** Charges of three keys of two accounts from before the month to after it, settled and released. */
  async function writeHistory(): Promise<void> {
    const random = createRandom(SEED)
    const { db } = gateway.server.world
    for (let index = 0; index < CHARGES; index++) {
      const endedAt = BEGIN - 6 * HOUR_MS + Math.floor((index / CHARGES) * (END - BEGIN + 12 * HOUR_MS))
      const keyIndex = random.below(3)
      const account = keyIndex === 2 ? 'other' : 'mine'
      const amountNano = random.pick([0, 1, 999_999_999, 12_345])
      const id = `req_${(endedAt - 5).toString(16).padStart(12, '0')}${index.toString(16).padStart(20, '0')}`
      const charge = makeCharge(1_000_000_000, {
        id,
        account,
        keyId: own[keyIndex]?.id as string,
        createdAt: endedAt - 5,
        model: random.pick(['fast', 'large']),
      })
      await hold(db, charge)
      const isPaid = random.below(4) > 0
      if (isPaid) await settle(db, charge, makeSettlement(amountNano, { endedAt }))
      else await release(db, charge, { endedBy: 'upstream', endedAt })
      if (endedAt < BEGIN || endedAt >= END) continue
      const line = book.get(account) ?? { charges: 0, amountNano: 0 }
      book.set(account, {
        charges: line.charges + 1,
        amountNano: line.amountNano + (isPaid ? amountNano : 0),
      })
    }
    await addToTotals(db)
  }

  async function ask(query: string, secret = own[0]?.secret): Promise<{ status: number; body: Json }> {
    const response = await fetch(`${gateway.url}/v1/me/proof?${query}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    return { status: response.status, body: await response.json() }
  }

  async function pagesOf(secret?: string, limit = 50): Promise<Json[]> {
    const pages: Json[] = []
    for (let next: string | null = '0'; next !== null; ) {
      const { status, body } = await ask(`period=${MONTH}&limit=${limit}&after=${next}`, secret)
      expect(status).toBe(200)
      pages.push(body)
      next = body.next
    }
    return pages
  }

  const sealFaults = () => faultsOfSeals(gateway.server.world.db, null)

  const check = (pages: readonly object[], more = '') =>
    checkReceipts(`${pages.map((page) => JSON.stringify(page)).join('\n')}\n${more}`, publicKeysIn(keys))

  test(`each charge is sealed once, with the sums of a second book (PROOFS_SEED=${SEED})`, async () => {
    expect(await sealedAccounts()).toEqual(['mine', 'other'])
    for (const [account, index] of [
      ['mine', 0],
      ['other', 2],
    ] as const) {
      const { charges = 0, amountNano = 0 } = book.get(account) ?? {}
      const expected = { account, month: MONTH, charges, amount_usd: formatUsd(amountNano) }
      for (const limit of [7, 1_000])
        expect(check(await pagesOf(own[index]?.secret, limit))).toEqual({
          receipts: [],
          months: [expected],
          faults: [],
        })
    }
  })

  test('a key reads the texts of its own charges, and of the other keys of its account the amounts only', async () => {
    const lines = (await pagesOf()).flatMap(({ data }) => data)
    const texts = lines.flatMap(({ receipt }: Json) => (receipt === null ? [] : [JSON.parse(receipt)]))
    expect(texts.length).toBeGreaterThan(10)
    expect(texts.length).toBeLessThan(lines.length)
    for (const { key } of texts) expect(key).toBe(own[0]?.id as string)
    const shown = JSON.stringify(await pagesOf())
    for (const hidden of [own[1]?.id, own[2]?.id]) expect(shown).not.toContain(hidden as string)
    // A seal of another account does not fit to these lines.
    const [foreign] = await pagesOf(own[2]?.secret)
    const mixed = (await pagesOf()).map((page) => ({ ...page, seal: foreign.seal }))
    expect(check(mixed).faults).toEqual([expect.stringContaining('that were sealed')])
  })

  test('the figure of the statement is the sum that was sealed', async () => {
    const { db, config, now } = gateway.server.world
    for (const content of await draftStatements(db, MONTH, config, 'mine'))
      await issueStatement(db, content, now())
    const pages = await pagesOf()
    expect(pages[0].statement.used_usd).toBe(formatUsd(book.get('mine')?.amountNano ?? 0))
    expect(check(pages).faults).toEqual([])
    const wrong = pages.map((page) => ({ ...page, statement: { ...page.statement, used_usd: '1.00' } }))
    expect(check(wrong).faults).toEqual([expect.stringContaining('says $1.00, the seal $')])
  })

  test('a receipt is among the lines of its month, and one that was left out is named', async () => {
    const [line] = (await pagesOf())
      .flatMap(({ data }) => data)
      .filter(({ receipt }: Json) => receipt !== null)
    const { request } = JSON.parse(line.receipt)
    const response = await fetch(`${gateway.url}/v1/requests/${request}/receipt`, {
      headers: { authorization: `Bearer ${own[0]?.secret}` },
    })
    const { receipt } = (await response.json()) as Json
    expect(check(await pagesOf(), receipt).faults).toEqual([])
    const without = (await pagesOf()).map((page) => ({
      ...page,
      data: page.data.filter(({ sha256 }: Json) => sha256 !== line.sha256),
    }))
    expect(check(without, receipt).faults).toContainEqual(
      `mine in ${MONTH}: the receipt of ${request} is not among its charges`,
    )
  })

  test('the pages do not count more than the seal: each change of a line is found', async () => {
    const pages = await pagesOf(undefined, 1_000)
    const [page] = pages
    const index = page.data.findIndex(({ receipt }: Json) => receipt !== null)
    const line = page.data[index]
    const changes: Json[][] = [
      page.data.slice(1),
      [...page.data, page.data[0]],
      page.data.toReversed(),
      page.data.with(index, { ...line, amount_usd: '5.00' }),
      page.data.with(index, {
        ...line,
        receipt: line.receipt.replace('"fast"', '"slow"').replace('"large"', '"slow"'),
      }),
      page.data.with(index, { ...line, sha256: '0'.repeat(64), receipt: null }),
    ]
    for (const data of changes) expect(check([{ ...page, data }]).faults).not.toEqual([])
  })

  test.skipIf(python.fault !== undefined)(
    named('the program of the document agrees, in Python', python),
    async () => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'check.py'), program)
      writeFileSync(join(folder, 'keys.json'), keys)
      const run = (pages: readonly object[]) =>
        Bun.spawnSync([python.program ?? '', 'check.py', 'keys.json'], {
          cwd: folder,
          stdin: Buffer.from(pages.map((page) => `${JSON.stringify(page)}\n`).join('')),
        })
      const pages = await pagesOf()
      const good = run(pages)
      expect(good.stderr.toString()).toBe('')
      expect(JSON.parse(good.stdout.toString())).toMatchObject({ account: 'mine', month: MONTH })
      expect(run(pages.slice(1)).exitCode).not.toBe(0)
    },
  )

  test('periods that are not a month, not over, or without a seal are refused', async () => {
    expect((await ask('period=2026-13')).status).toBe(400)
    expect((await ask('')).status).toBe(400)
    expect((await ask(`period=${MONTH}&after=x`)).status).toBe(400)
    for (const period of ['2026-04', '2026-02'])
      expect(await ask(`period=${period}`)).toMatchObject({
        status: 409,
        body: { error: { code: 'receipt_not_ready' } },
      })
  })

  test('a charge that is changed in the ledger after the seal is found', async () => {
    const { db } = gateway.server.world
    const [last] = await db.query({
      sql: `select position, amount from charge_history where account = 'mine' and ended_at >= $1 and ended_at < $2
        and amount > 0 order by position desc limit 1`,
      parameters: [BEGIN, END],
    })
    const table = database === 'postgres' ? 'stored_charges' : 'ended_charges'
    const set = (amount: unknown) =>
      apply(db, [
        {
          sql: `update ${table} set amount = $1 where position = $2`,
          parameters: [amount as number, last?.position as number],
        },
      ])
    await set((last?.amount as number) + 1)
    expect(check(await pagesOf()).faults).toEqual([expect.stringContaining('a charge was changed since')])
    expect(await sealFaults()).toEqual([
      expect.stringMatching(/^the seal of mine for 2026-03: it says .*, and the ledger has others: /),
    ])
    await set(last?.amount)
    expect(check(await pagesOf()).faults).toEqual([])
    expect(await sealFaults()).toEqual([])
  })

  test('a seal that is changed in the database is found, whatever is changed of it', async () => {
    const { db } = gateway.server.world
    const [row] = await db.query({
      sql: `select month, seal from sealed_months where account = 'mine' order by month limit 1`,
    })
    const { month, seal } = row as { month: string; seal: string }
    const set = (text: string) =>
      apply(db, [
        {
          sql: `update sealed_months set seal = $1 where account = 'mine' and month = $2`,
          parameters: [text, month],
        },
      ])
    const [head = '', content = '', signature = ''] = seal.split('.')
    const claims = JSON.parse(Buffer.from(content, 'base64url').toString())
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const changed = Object.keys(claims).map((name) => encoded({ ...claims, [name]: `${claims[name]}1` }))
    const forged = [
      ...changed.map((each) => `${head}.${each}.${signature}`),
      `${head}.${content}.${flipped(signature)}`,
    ]
    for (const text of forged) {
      await set(text)
      expect(check(await pagesOf()).faults.length).toBeGreaterThan(0)
      expect(await sealFaults()).toEqual([`the seal of mine for ${month}: this gateway has not signed it`])
    }
    // One that this gateway has signed for somebody else, and one that a key of somebody else has signed.
    const [other] = await db.query({ sql: `select seal from sealed_months where account = 'other'` })
    await set(other?.seal as string)
    expect(await sealFaults()).toEqual([
      `the seal of mine for ${month}: it was signed for other and ${month}`,
    ])
    const stranger = signingKeyOf(new Uint8Array(SEED_BYTES))
    await set(stranger.sign('gateway-month', Buffer.from(content, 'base64url').toString()))
    expect(await sealFaults()).toEqual([`the seal of mine for ${month}: this gateway has not signed it`])
    await set(seal)
    expect(check(await pagesOf()).faults).toEqual([])
    expect(await sealFaults()).toEqual([])
  })

  test('the next verification of the books reads the seals since the one before it, and one after a rotation all', async () => {
    const { world } = gateway.server
    const options = { now: clock.now, key: 'checkpoints', onProgress() {} }
    expect(await verify(world.db, { ...options, whole: true })).toMatchObject({ problems: [], since: null })
    const seal = async (text: string, sealedAt: number) =>
      apply(world.db, [
        {
          sql: `insert into sealed_months (account, month, position, seal, sealed_at) values ('third', '2026-03', 1, $1, $2)`,
          parameters: [text, sealedAt],
        },
      ])
    await seal('forged', clock.now + 1)
    expect((await verify(world.db, { ...options, whole: false })).problems).toEqual([
      'the seal of third for 2026-03: this gateway has not signed it',
    ])
    await apply(world.db, [{ sql: `delete from sealed_months where account = 'third'` }])
    expect(await rotateReceiptKey(world, world.db)).toBe(true)
    expect(await sealFaults()).toEqual([])
  })
})

/** A signature with another first character. */
function flipped(signature: string): string {
  return `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
}
