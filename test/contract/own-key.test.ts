// What a key may see about itself: limits, money, usage and prices, in our form and in those of other gateways; and what happens to
// a paused key, and to a key of a frozen or closed account.

import { afterAll, expect, test } from 'bun:test'
import { closeAccount, describeAccount, freezeAccount, unfreezeAccount } from '../../src/accounts/accounts'
import { pauseKey, resumeKey } from '../../src/accounts/keys'
import { adjust, hold, release } from '../../src/billing/ledger/ledger'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import { parseUsd } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import { makeCharge } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

interface Answer {
  error: { code: string }
  spend_usd: { today: string; total: string }
  budget_used_usd: string
  balance_usd: string
  total: object
  total_usage: number
  hard_limit_usd: number
  data: Record<string, number> & { id: string; pricing: object }[]
}

const gateways = new Map<string, TestGateway>()
for (const database of databaseKinds)
  gateways.set(database, await startTestGateway({ database, balance: '10' }))
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
})

async function get(gateway: TestGateway, path: string, secret = gateway.secret) {
  const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${secret}` } })
  return { status: response.status, body: (await response.json()) as Answer }
}

/** Nano-dollars of a figure that clients read as a number of dollars. */
const nano = (dollars: number) => Math.round(dollars * 1e9)

for (const [database, gateway] of gateways) {
  test(`a key sees its money in every form, and the forms agree (${database})`, async () => {
    const { secret, id } = await gateway.makeKey('team', '5', {
      budgetNano: 2_000_000_000,
      budgetPeriod: 'day',
      requestsPerMinute: 60,
    })
    for (let index = 0; index < 3; index++)
      expect((await gateway.chat({}, { authorization: `Bearer ${secret}` })).status).toBe(200)
    // Another key of the account, whose spending this key must not see.
    const other = await gateway.makeKey('team', '1')
    expect((await gateway.chat({}, { authorization: `Bearer ${other.secret}` })).status).toBe(200)
    const charges = (await gateway.charges()).filter(({ account }) => account === 'team')
    const ofKey = charges.filter(({ key_id: key }) => key === id)
    const sum = (rows: typeof charges) => rows.reduce((all, { amount }) => all + (amount as number), 0)
    for (const folded of [false, true]) {
      if (folded) await addToTotals(gateway.server.world.db)
      const { body: me } = await get(gateway, '/v1/me', secret)
      expect(me).toMatchObject({ object: 'key', status: 'active', account: 'team', requests_per_minute: 60 })
      expect(me).toMatchObject({ budget_usd: '2.00', budget_period: 'day', account_status: 'open' })
      const { spend_usd: spend } = me
      expect(parseUsd(spend.total)).toBe(sum(ofKey))
      expect(spend.today).toBe(spend.total)
      expect(me.budget_used_usd).toBe(spend.total)
      expect(parseUsd(me.balance_usd)).toBe(6_000_000_000 - sum(charges))
      const { body: usage } = await get(gateway, '/v1/usage?by=model', secret)
      expect(usage.total).toMatchObject({ requests: 3, amount_usd: spend.total })
      const { body: days } = await get(gateway, '/v1/usage?by=day&since=2020-01-01', secret)
      expect(days.total).toEqual(usage.total)
      const { body: subscription } = await get(gateway, '/v1/dashboard/billing/subscription', secret)
      const { body: total } = await get(gateway, '/dashboard/billing/usage?start_date=2026-01-01', secret)
      const left = nano(subscription.hard_limit_usd) - nano(total.total_usage / 100)
      expect(left).toBe(2_000_000_000 - sum(ofKey))
      const { body: credits } = await get(gateway, '/api/v1/credits', secret)
      const { total_credits: given, total_usage: spent } = credits.data
      expect([nano(given ?? 0), nano(spent ?? 0)]).toEqual([6_000_000_000, sum(charges)])
      const { body: key } = await get(gateway, '/api/v1/key', secret)
      expect(key.data).toMatchObject({ limit: 2, limit_reset: 'daily', is_free_tier: false })
      expect(nano(key.data.limit_remaining ?? 0)).toBe(left)
      expect(nano(key.data.usage ?? 0)).toBe(sum(ofKey))
    }
  })

  test(`prices are those of the models that the key may use (${database})`, async () => {
    const { secret } = await gateway.makeKey('narrow', '1', { models: ['test-chat'] })
    const { body } = await get(gateway, '/v1/prices', secret)
    expect(body.data.map(({ id }) => id)).toEqual(['test-chat'])
    const { body: models } = await get(gateway, '/v1/models', secret)
    expect(body.data[0]).toMatchObject({ pricing: models.data[0]?.pricing })
  })

  test(`wrong periods are rejected (${database})`, async () => {
    for (const query of [
      'by=account',
      'by=key',
      'since=yesterday',
      'since=2026-13-01',
      'since=2026-10-02&until=2026-10-01',
      'by=hour&since=2020-01-01',
      'month=2026-10',
      'key=another',
    ])
      expect({ query, status: (await get(gateway, `/v1/usage?${query}`)).status }).toEqual({
        query,
        status: 400,
      })
    for (const path of ['/v1/usage', '/v1/requests'])
      for (const until of ['2026-10-01', '2026-10-02'])
        expect((await get(gateway, `${path}?since=2026-10-02&until=${until}`)).body).toMatchObject({
          error: { param: 'until', message: "Invalid 'until': expected a time after 'since'." },
        })
    expect((await get(gateway, '/v1/me', 'sk-wrong')).status).toBe(401)
  })

  test(`a paused key is rejected with 403 and may see why (${database})`, async () => {
    const { db, now } = gateway.server.world
    const { secret, id } = await gateway.makeKey('resting', '1')
    const chat = async () => {
      // The cache of keys must expire first.
      await Bun.sleep(600)
      const response = await gateway.chat({}, { authorization: `Bearer ${secret}` })
      const { error } = (await response.json()) as Partial<Answer>
      return [response.status, error?.code]
    }
    expect(await chat()).toEqual([200, undefined])
    expect(await pauseKey(db, id, now())).toBe(true)
    expect(await pauseKey(db, id, now())).toBe(false)
    expect(await chat()).toEqual([403, 'key_paused'])
    // The caller is known, and so can be found.
    await waitFor(async () => (await gateway.newestLogged())?.error_code === 'key_paused')
    expect(await gateway.newestLogged()).toMatchObject({ status: 403, account: 'resting', key_id: id })
    expect((await get(gateway, '/v1/models', secret)).body.error.code).toBe('key_paused')
    expect((await get(gateway, '/v1/me', secret)).body).toMatchObject({ status: 'paused' })
    expect(await resumeKey(db, id)).toBe(true)
    expect(await freezeAccount(db, 'resting', now())).toBe(true)
    expect(await freezeAccount(db, 'resting', now())).toBe(false)
    expect(await chat()).toEqual([403, 'account_frozen'])
    await describeAccount(db, {
      account: 'resting',
      displayName: 'Resting Ltd',
      note: 'a note',
      plan: null,
      budget: null,
    })
    const { body: me } = await get(gateway, '/v1/me', secret)
    expect(me).toMatchObject({ account_status: 'frozen', account_display_name: 'Resting Ltd' })
    expect(JSON.stringify(me)).not.toContain('a note')
    expect(await unfreezeAccount(db, 'resting')).toBe(true)
    expect(await chat()).toEqual([200, undefined])
    const { balanceNano } = await gateway.balance('resting')
    expect(await closeAccount(db, 'resting', now())).toBe(true)
    expect(await closeAccount(db, 'resting', now())).toBe(false)
    expect(await freezeAccount(db, 'resting', now())).toBe(false)
    expect(await chat()).toEqual([403, 'account_closed'])
    // The remaining balance can be paid out.
    const payout = {
      id: `tr_${database}`,
      account: 'resting',
      amountNano: -balanceNano,
      now: now(),
      note: 'paid out',
    }
    expect(await adjust(db, payout)).toBe(true)
  })

  test(`an account is not closed while anything is held on it (${database})`, async () => {
    const { db, now } = gateway.server.world
    const { id, secret } = await gateway.makeKey('busy', '5')
    const charge = makeCharge(1_000, {
      id: 'req_busy',
      account: 'busy',
      keyId: id,
      expiresAt: now() + 60_000,
    })
    expect(await hold(db, charge)).toEqual({ held: true })
    expect((await get(gateway, '/v1/me', secret)).body).toMatchObject({
      balance_usd: '5.00',
      held_usd: '0.000001',
      available_usd: '4.999999',
    })
    expect(await closeAccount(db, 'busy', now())).toBe(false)
    expect(await release(db, charge, { endedBy: 'expired', endedAt: now() })).toBe(true)
    expect(await closeAccount(db, 'busy', now())).toBe(true)
  })
}
