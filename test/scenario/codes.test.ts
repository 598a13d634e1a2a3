// Top-up codes through the whole gateway: each is credited once, however many concurrent attempts are made, on every database and
// with both ways in which PostgreSQL moves money. Wrong codes are counted, and no part of a code is stored as plain text.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ledgerOf } from '../../src/billing/ledger/account-ledger'
import { CODE_ATTEMPTS, createCodes, makeCode, revokeCode } from '../../src/billing/selling/codes'
import { MOVE_MONEY } from '../../src/db/movements/records'
import { MAX_NANO, NANO_PER_USD } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))

const settings = [
  ...databaseKinds.map((database) => ({ database, name: `${database}`, isGrouped: true })),
  ...databaseKinds
    .filter((database) => database === 'postgres')
    .map((database) => ({
      database,
      name: `${database} without its function for movements`,
      isGrouped: false,
    })),
]

for (const { database, name, isGrouped } of settings) {
  describe(`codes on ${name}`, () => {
    let gateway: TestGateway
    // The middle of a minute: attempts are counted by the minute.
    let now = Math.floor(Date.now() / 60_000) * 60_000 + 30_000
    beforeAll(async () => {
      gateway = await startTestGateway({ database, outside: { now: () => now } })
      if (!isGrouped) await gateway.server.world.db.batch([{ sql: `drop function ${MOVE_MONEY}` }])
    })
    afterAll(() => gateway.close())

    async function makeCodeOf(usd: number, more: { expiresAt?: number; note?: string } = {}) {
      const id = `code_${crypto.randomUUID()}`
      const code = makeCode(randomBytes)
      const amountNano = usd * NANO_PER_USD
      const { expiresAt = null, note = null } = more
      await createCodes(gateway.server.world.db, [{ id, code, amountNano, note, createdAt: now, expiresAt }])
      return { id, code }
    }

    const redeem = (code: unknown, secret = gateway.secret) =>
      gateway.post('/v1/codes/redeem', { code }, { authorization: `Bearer ${secret}` })

    async function refusalOf(code: unknown, secret?: string) {
      const response = await redeem(code, secret)
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      return { status: response.status, code: error.code, message: error.message }
    }

    test('add what they are worth, with an entry of their own in the ledger', async () => {
      const { secret } = await gateway.makeKey('bob', '1')
      const { id, code } = await makeCodeOf(5, { note: 'spring' })
      now += 1
      const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `
      const response = await redeem(typed, secret)
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 200,
        body: {
          object: 'code_redemption',
          id,
          amount_usd: '5.00',
          account: 'bob',
          balance_usd: '6.00',
          available_usd: '6.00',
        },
      })
      const entries = (await Array.fromAsync(ledgerOf(gateway.server.world.db, 'bob'))).flat()
      expect(entries.at(-1)).toMatchObject({
        id,
        kind: 'code',
        amountNano: 5 * NANO_PER_USD,
        note: `code …${code.slice(-5)}, spring`,
      })
      const rows = await gateway.server.world.db.query({ sql: 'select * from top_up_codes' })
      expect(JSON.stringify(rows)).not.toContain(code.slice(0, 17))
      expect(JSON.stringify(rows)).not.toContain(code.replaceAll('-', '').slice(0, 20))
    })

    test('are credited once, though many keys redeem them at once during paid requests', async () => {
      const holders = await Promise.all(
        Array.from({ length: 8 }, (_, index) => gateway.makeKey(`holder-${index}`, '1')),
      )
      const made = await Promise.all([makeCodeOf(3), makeCodeOf(4)])
      const answers = await Promise.all(
        holders.flatMap(({ secret }) => [
          ...made.flatMap(({ code }) => [redeem(code, secret), redeem(code, secret)]),
          gateway.chat({}, { authorization: `Bearer ${secret}` }),
        ]),
      )
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 409)).toHaveLength(8 * 4 - 2)
      expect(statuses.filter((status) => status === 200)).toHaveLength(8 + 2)
      const rows = await gateway.server.world.db.query({
        sql: `select sum(amount) as credited from transfers where kind = 'code' and to_book like 'account:holder%'`,
      })
      expect(Number(rows[0]?.credited)).toBe(7 * NANO_PER_USD)
    })

    test('are refused with their reason', async () => {
      const { secret } = await gateway.makeKey('carol', '0')
      const { secret: other } = await gateway.makeKey('dave', '0')
      const { secret: rich } = await gateway.makeKey('rich', String(Math.floor(MAX_NANO / NANO_PER_USD)))
      const used = await makeCodeOf(1)
      const [revoked, expired, large] = [
        await makeCodeOf(1),
        await makeCodeOf(1, { expiresAt: now + 1_000 }),
        await makeCodeOf(1),
      ]
      expect((await redeem(used.code, secret)).status).toBe(200)
      expect(await revokeCode(gateway.server.world.db, revoked.id, now)).toBe(true)
      expect(await revokeCode(gateway.server.world.db, used.id, now)).toBe(false)
      now += 2_000
      const rows = [
        [used.code, secret, 409, 'code_redeemed', 'for this account: $1.00 are on it'],
        [used.code, other, 409, 'code_redeemed', 'Each code can be redeemed once.'],
        [revoked.code, secret, 410, 'code_revoked', 'Ask where it came from'],
        [expired.code, secret, 410, 'code_expired', 'Ask where it came from'],
        [makeCode(randomBytes), secret, 404, 'code_not_found', 'typing error'],
        ['AAAAA-BBBBB', secret, 404, 'code_not_found', 'typing error'],
        [large.code, rich, 409, 'balance_too_large', 'can have at most'],
        [7, secret, 400, 'missing_required_parameter', 'code'],
        ['', other, 400, 'missing_required_parameter', 'code'],
      ] as const
      for (const [code, key, status, word, text] of rows)
        expect(await refusalOf(code, key)).toEqual({
          status,
          code: word,
          message: expect.stringContaining(text),
        })
      expect((await redeem(large.code, 'sk-wrong')).status).toBe(401)
      expect((await redeem('A'.repeat(10_000), other)).status).toBe(413)
      expect(await gateway.balance('dave')).toMatchObject({ balanceNano: 0 })
      // A code refused because of its account keeps its value.
      expect((await redeem(large.code, other)).status).toBe(200)
      expect(await gateway.balance('dave')).toMatchObject({ balanceNano: NANO_PER_USD })
    })

    test('may be tried a few times per minute with a key, and other keys are not affected', async () => {
      const { secret } = await gateway.makeKey('guesser', '0')
      const { code } = await makeCodeOf(2)
      now += 60_000
      const guesses = await Promise.all(
        Array.from({ length: CODE_ATTEMPTS.ofKey + 5 }, () => redeem(makeCode(randomBytes), secret)),
      )
      const statuses = guesses.map(({ status }) => status)
      expect(statuses.filter((status) => status === 404)).toHaveLength(CODE_ATTEMPTS.ofKey)
      expect(statuses.filter((status) => status === 429)).toHaveLength(5)
      const late = await redeem(code, secret)
      expect({ status: late.status, wait: late.headers.get('retry-after') }).toEqual({
        status: 429,
        wait: '28',
      })
      const { secret: patient } = await gateway.makeKey('patient', '0')
      expect((await redeem(code, patient)).status).toBe(200)
    })

    test('may be tried only a limited number of times by all keys together', async () => {
      now += 60_000
      const { db } = gateway.server.world
      const sql = `insert into rate_windows (key_id, minute, requests, tokens) values ('code attempts', $1, $2, 0)`
      await db.batch([{ sql, parameters: [Math.floor(now / 60_000), CODE_ATTEMPTS.ofAll - 1] }])
      const { secret } = await gateway.makeKey('last', '0')
      expect((await refusalOf(makeCode(randomBytes), secret)).status).toBe(404)
      expect((await refusalOf(makeCode(randomBytes), secret)).status).toBe(429)
    })
  })
}
