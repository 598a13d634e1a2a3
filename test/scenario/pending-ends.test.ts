// Late ends of charges: a hold that was released before its answer ended, and a database that refuses the end. A completely
// delivered answer is paid once, and an unpaid one was not completely delivered.

import { afterEach, describe, expect, mock, setDefaultTimeout, spyOn, test } from 'bun:test'
import { makePendingEnd } from '../../src/app/takeover'
import { balanceOf } from '../../src/billing/ledger/balances'
import { type ChargeEnd, endCharge } from '../../src/billing/ledger/charge-ends'
import { addCredit, hold, releaseExpired } from '../../src/billing/ledger/ledger'
import { budgetPeriodOf, conditionsOf, windowMinuteOf } from '../../src/billing/ledger/limits'
import { audit } from '../../src/billing/proofs/audit'
import { DatabaseUnavailable } from '../../src/db/db'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, makeKey, makeSettlement, START } from '../support/databases/ledger-rows'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'

setDefaultTimeout(120_000)
afterEach(() => mock.restore())

const FUNDS_NANO = 1_000
const chargeOf = (heldNano: number) => makeCharge(heldNano, { id: 'c1' })
const endOf = (priceNano: number, heldNano = 400): ChargeEnd => ({
  charge: chargeOf(heldNano),
  settlement: makeSettlement(priceNano),
  also: [],
})

for (const kind of databaseKinds) {
  describe(`an end of a charge on ${kind}`, () => {
    async function held(heldNano = 400) {
      const db = await openTestDatabase(kind)
      const funds = { id: 'funds', account: 'alice', amountNano: FUNDS_NANO, now: START, note: null }
      await addCredit(db, funds)
      expect(await hold(db, chargeOf(heldNano))).toEqual({ held: true })
      return {
        db,
        release: () => releaseExpired(db, START, { all: true }),
        rows: () => db.query({ sql: 'select id, state, amount, shortfall from charges order by id' }),
        async prove(balanceNano: number) {
          expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano, heldNano: 0 })
          expect((await audit(db, START)).problems).toEqual([])
          await db.close()
        },
      }
    }

    test('that is repeated returns the charged amount, and changes nothing', async () => {
      const { db, prove } = await held()
      for (let time = 0; time < 3; time++)
        expect(await endCharge(db, endOf(300), START + time)).toEqual({
          paidNano: 300,
          shortfallNano: 0,
          isPaid: true,
          ...(time === 0 && { made: endOf(300) }),
        })
      await prove(FUNDS_NANO - 300)
    })

    test('after the release of its hold is one late charge, however many processes settle at once', async () => {
      const { db, release, rows, prove } = await held()
      expect(await release()).toBe(1)
      const made = await Promise.all(Array.from({ length: 8 }, () => endCharge(db, endOf(300), START + 5)))
      expect(made.filter(({ isLate }) => isLate)).toEqual([
        { paidNano: 300, shortfallNano: 0, isLate: true, isPaid: true },
      ])
      expect(made.map(({ paidNano }) => paidNano)).toEqual(Array(8).fill(300))
      expect(await rows()).toEqual([
        { id: 'c1', state: 'released', amount: 0, shortfall: 0 },
        { id: 'c1:late', state: 'settled', amount: 300, shortfall: 0 },
      ])
      await prove(FUNDS_NANO - 300)
    })

    test('that is late counts in the budget and the minute of its key like one in time', async () => {
      const db = await openTestDatabase(kind)
      const funds = { id: 'funds', account: 'alice', amountNano: FUNDS_NANO, now: START, note: null }
      await addCredit(db, funds)
      const key = makeKey({ budgetNano: 900, budgetPeriod: 'day', tokensPerMinute: 1_000 })
      const counted = {
        budgetPeriod: budgetPeriodOf(key, START),
        windowMinute: windowMinuteOf(key, START),
        windowTokens: 50,
      }
      for (const id of ['in time', 'late']) {
        const charge = makeCharge(400, { ...counted, id })
        expect(await hold(db, charge, conditionsOf(key, charge))).toEqual({ held: true })
        if (id === 'late') await releaseExpired(db, START, { all: true })
        const settlement = makeSettlement(300, { tokens: 70 })
        expect((await endCharge(db, { charge, settlement, also: [] })).isLate ?? false).toBe(id === 'late')
      }
      expect(await db.query({ sql: 'select committed from budgets' })).toEqual([{ committed: 600 }])
      expect(await db.query({ sql: 'select tokens from rate_windows' })).toEqual([{ tokens: 140 }])
      expect((await audit(db, START)).problems).toEqual([])
      await db.close()
    })

    test('takes the available balance, and the operator bears the rest', async () => {
      const { db, release, prove } = await held()
      await release()
      expect(await endCharge(db, endOf(1_200))).toEqual({
        paidNano: FUNDS_NANO,
        shortfallNano: 200,
        isLate: true,
        isPaid: true,
      })
      await prove(0)
    })

    test('whose hold is missing in the database, as after a failover, is charged too', async () => {
      const { db, release, prove } = await held()
      await release()
      const end = endOf(100)
      end.charge.id = 'c2'
      expect(await endCharge(db, end)).toMatchObject({ paidNano: 100, isLate: true })
      await prove(FUNDS_NANO - 100)
    })

    test('whose hold is larger than known releases all of it', async () => {
      const { db, prove } = await held(500)
      const end = endOf(450, 400)
      expect(await endCharge(db, end)).toEqual({ paidNano: 450, shortfallNano: 0, isPaid: true, made: end })
      await prove(FUNDS_NANO - 450)
    })

    test('that the database refuses is distinguished from an unreachable database', async () => {
      const { db, release, prove } = await held()
      const log: object[] = []
      const world = {
        db,
        now: () => START,
        followTime: async () => {},
        log: (...line: unknown[]) => log.push(line),
      }
      const faulty = { ...endOf(300), also: [{ sql: 'update nothing set such = 1' }] }
      expect(await makePendingEnd(world, JSON.stringify(faulty))).toBe(false)
      expect(await makePendingEnd(world, 'not JSON')).toBe(false)
      expect(log).toEqual([
        ['charge_not_ended', { request: 'c1', error: expect.any(String) }],
        ['charge_not_ended', { request: null, error: expect.any(String) }],
      ])
      spyOn(db, 'move').mockRejectedValue(new DatabaseUnavailable('away'))
      expect(await rejection(makePendingEnd(world, JSON.stringify(endOf(300))))).toBeInstanceOf(
        DatabaseUnavailable,
      )
      mock.restore()
      await release()
      await prove(FUNDS_NANO)
    })
  })

  describe(`a request on ${kind}`, () => {
    const slow = say('[sandbox tokens=30 token_delay_ms=20]')

    test('whose hold is released while it runs is charged late, and states the price', async () => {
      const gateway = await startTestGateway({ database: kind })
      const { db, now } = gateway.server.world
      const whole = gateway.chat({ messages: say('[sandbox delay_ms=600]') })
      const headers = { 'idempotency-key': 'order-1' }
      const stream = await gateway.chat({ stream: true, messages: slow }, headers)
      await waitFor(async () => (await db.query({ sql: 'select id from open_charges' })).length === 2)
      expect(await releaseExpired(db, now(), { all: true })).toBe(2)
      const text = await stream.text()
      expect(text).toEndWith('data: [DONE]\n\n')
      const shown = (await whole).headers.get('x-gateway-cost-usd')
      const paid = (await gateway.charges()).filter(({ state }) => state === 'settled')
      expect(paid.every(({ id, amount }) => String(id).endsWith(':late') && Number(amount) > 0)).toBe(true)
      const amounts = paid.map(({ amount }) => Number(amount))
      expect(amounts).toContain(Math.round(Number(shown) * 1e9))
      const logged = (await gateway.requestLog()).map(({ amount }) => Number(amount))
      expect(logged.toSorted()).toEqual(amounts.toSorted())
      expect(gateway.log.filter(({ event }) => event === 'charge_late')).toHaveLength(2)
      // The key was freed with the hold, and has its answer all the same.
      const again = await gateway.chat({ stream: true, messages: slow }, headers)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.text()).toBe(text)
      await gateway.close()
    })

    test('that the database refuses is stored on disk before the last byte is sent, until it is settled', async () => {
      const gateway = await startTestGateway({ database: kind })
      const { pendingEnds } = gateway.server.world
      const stream = await gateway.chat({ stream: true, messages: slow })
      const [added, removed] = [spyOn(pendingEnds, 'add'), spyOn(pendingEnds, 'remove')]
      const move = refuse(gateway)
      expect(await stream.text()).toEndWith('data: [DONE]\n\n')
      expect(added).toHaveBeenCalledTimes(1)
      expect((await gateway.charges()).map(({ state }) => state)).toEqual(['held'])
      const [logged] = await gateway.requestLog()
      move.mockRestore()
      await waitFor(async () => (await gateway.charges())[0]?.state === 'settled')
      expect(logged?.amount).toBe((await gateway.charges())[0]?.amount as number)
      await waitFor(() => removed.mock.calls.length === 1)
      expect(removed.mock.calls).toEqual([[added.mock.results[0]?.value as number]])
      await gateway.close()
    })

    test('that neither the database nor the disk accepts sends no last byte, and its hold is released', async () => {
      const gateway = await startTestGateway({ database: kind })
      const stream = await gateway.chat({ stream: true, messages: slow })
      const whole = gateway.chat({ messages: say('[sandbox delay_ms=300]') })
      await waitFor(() => gateway.sandbox.calls.length === 2)
      spyOn(gateway.server.world.pendingEnds, 'add').mockReturnValue(undefined)
      const move = refuse(gateway)
      const reply = await whole
      expect([reply.status, await reply.text()]).toEqual([
        503,
        expect.stringContaining('database_unavailable'),
      ])
      await rejection(stream.text())
      move.mockRestore()
      await waitFor(async () => (await gateway.balance()).heldNano === 0)
      expect((await gateway.charges()).map(({ state, amount }) => [state, amount])).toEqual([
        ['released', 0],
        ['released', 0],
      ])
      expect(gateway.log.filter(({ event }) => event === 'charge_not_ended')).toHaveLength(1)
      await gateway.close()
    })
  })
}

/** Makes the database refuse all movements of money, as if it were unreachable. */
function refuse({ server }: TestGateway) {
  return spyOn(server.world.db, 'move').mockRejectedValue(new DatabaseUnavailable('away'))
}
