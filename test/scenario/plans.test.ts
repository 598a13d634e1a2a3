// Plans and budgets of accounts through the whole gateway: the plan's price is quoted, held, charged and shown; a budget of an
// account is exact however many keys spend at once; an allowance is granted once and withdrawn once.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { describeAccount } from '../../src/accounts/accounts'
import { membersOf } from '../../src/accounts/plan-members'
import { outside } from '../../src/app/world'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { allowanceOf, renewAllowances } from '../../src/billing/selling/allowances'
import { buildCatalogue } from '../../src/catalogue/models'
import { plansOf } from '../../src/config/models/plans'
import { faultsOf } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway, waitFor, withinOneMinute } from '../support/gateway'
import { closeNodes, flood, startNodes } from '../support/nodes'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(120_000)

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const vendor = startVendor()
vendor.answer = () => Response.json(completion('Hi', 10, 20))
afterAll(() => vendor.stop())

const models = {
  small: { family: 'openai-chat', upstream: 'odd', price },
  large: { family: 'openai-chat', upstream: 'odd', price: { ...price, minimum: '0.01' } },
  hidden: { family: 'openai-chat', upstream: 'odd', price },
  either: { route: ['hidden', 'small'] },
}
const plans = {
  team: {
    priceFactor: '0.5',
    priceFactors: { 'large*': '1.333333' },
    models: ['small', 'large', 'either'],
    concurrency: 2,
    budget: { usd: '0.05', per: 'month' as const },
  },
  slow: { requestsPerMinute: 1 },
}

describe.each(databaseKinds)('a plan on %s', (database) => {
  let gateway: TestGateway
  let secret: string
  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      upstreams: { odd: vendor.upstream },
      models,
      config: { plans },
    })
    secret = (await gateway.makeKey('acme', '5', { concurrency: 9 })).secret
    await sell('team')
  })
  afterAll(() => gateway.close())

  const sell = (plan: string | null, budget: Parameters<typeof describeAccount>[1]['budget'] = null) =>
    describeAccount(gateway.server.world.db, { account: 'acme', displayName: null, note: null, plan, budget })
  const chat = (body: object) =>
    gateway.chat({ max_tokens: 20, ...body }, { authorization: `Bearer ${secret}` })
  const get = async (path: string) =>
    (await (
      await fetch(`${gateway.url}/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } })
    ).json()) as { data: { id: string; prices: object; pricing: object }[] } & Record<string, unknown>
  /** Keys are read again after half a second. */
  const soon = () => Bun.sleep(600)

  test('decides the price that is quoted, held, charged, returned and shown', async () => {
    const answer = await chat({ model: 'small' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-gateway-cost-usd')).toBe('0.000025')
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ account: 'acme', amount: 25_000 })
    expect(JSON.parse(charge?.prices as string)[0].pico).toEqual({
      input_token: 500_000,
      output_token: 1_000_000,
    })
    // The same by the usual price holds twice as much.
    await gateway.chat({ model: 'small', max_tokens: 20 })
    expect(await gateway.newestCharge()).toMatchObject({
      account: 'alice',
      amount: 50_000,
      held: Number(charge?.held) * 2,
    })
    const { data } = await get('prices')
    expect(data.map(({ id }) => id).sort()).toEqual(['either', 'large', 'small'])
    expect(data.find(({ id }) => id === 'small')).toMatchObject({
      prices: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '1.00' },
      pricing: { prompt: '0.0000005', completion: '0.000001' },
    })
    // Rounded up to a pico-dollar, the minimum too.
    expect(data.find(({ id }) => id === 'large')?.prices).toEqual({
      per_1m_input_tokens: '1.333333',
      per_1m_output_tokens: '2.666666',
      minimum: '0.01333333',
    })
    expect((await get('models')).data.find(({ id }) => id === 'small')).toMatchObject({
      pricing: { prompt: '0.0000005' },
    })
    expect((await (await chat({ model: 'large' })).json()) as object).toMatchObject({
      object: 'chat.completion',
    })
    expect(await gateway.newestCharge()).toMatchObject({ amount: 13_333_330 })
  })

  test('limits the models of its accounts, in addition to the limits of the key', async () => {
    const answer = await chat({ model: 'hidden' })
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      'model_not_found',
    ])
    // A route in the plan leads to its models, at the factor of the model that answers.
    expect((await chat({ model: 'either' })).status).toBe(200)
    expect(await gateway.newestCharge()).toMatchObject({ model: 'hidden', amount: 25_000 })
    expect(await get('me')).toMatchObject({
      plan: 'team',
      models: ['small', 'large', 'either'],
      concurrency: 2,
      account_budget_usd: '0.05',
      account_budget_period: 'month',
      account_budget_used_usd: '0.01338333',
    })
  })

  test('has a shared budget for all keys of an account, and errors say so', async () => {
    const other = (await gateway.makeKey('acme', '0')).secret
    for (let index = 0; index < 2; index++)
      expect(
        (await gateway.chat({ model: 'large', max_tokens: 20 }, { authorization: `Bearer ${other}` })).status,
      ).toBe(200)
    const refused = await chat({ model: 'large' })
    expect(refused.status).toBe(402)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('budget_exceeded')
    expect(error.message).toMatch(/the account's budget of \$0.05 a month has \$0.00995001 left/)
    // Its own one replaces that of the plan.
    await sell('team', { amountNano: 70_000_000, period: 'week' })
    await soon()
    // What was spent before it had one counts in no week.
    expect((await chat({ model: 'large' })).status).toBe(200)
    expect(await get('me')).toMatchObject({
      account_budget_usd: '0.07',
      account_budget_used_usd: '0.01333333',
    })
    const { db, now } = gateway.server.world
    const budget = { amountNano: 50_000_000, period: 'month' as const }
    const members = () => membersOf(db, { name: 'team', budget }, { after: '', limit: 9 }, now())
    expect(await members()).toMatchObject([
      {
        account: 'acme',
        budgetInForce: { amountNano: 70_000_000, period: 'week' },
        committedNano: 13_333_330,
        allowance: null,
      },
    ])
    await sell('team')
    expect(await members()).toMatchObject([{ budgetInForce: budget, committedNano: 40_049_990 }])
  })

  test('limits each key of its accounts whose own limits are higher', async () => {
    const { secret: spender } = await gateway.makeKey('newcomer', '1', { requestsPerMinute: 9 })
    const { db } = gateway.server.world
    const named = { account: 'newcomer', displayName: null, note: null, budget: null }
    await describeAccount(db, { ...named, plan: 'slow' })
    await withinOneMinute(async () => {
      const ask = () =>
        gateway.chat({ model: 'small', max_tokens: 20 }, { authorization: `Bearer ${spender}` })
      expect((await ask()).status).toBe(200)
      const refused = await ask()
      expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
        429,
        'Throttling.RateQuota',
      ])
    })
  })

  test('that is no longer configured blocks its accounts until it is', async () => {
    await sell('gone')
    await soon()
    const answer = await chat({ model: 'small' })
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      403,
      'plan_missing',
    ])
    expect(await get('me')).toMatchObject({ plan: 'gone' })
    await sell(null)
    await soon()
    expect((await chat({ model: 'hidden' })).status).toBe(200)
    expect(await gateway.newestCharge()).toMatchObject({ amount: 50_000 })
  })
})

describe.each(databaseKinds)('a budget of an account on %s', (database) => {
  test('of 10 requests lets 10 of 1,000 through, of all keys and nodes', async () => {
    const nodes = await startNodes(database, 3, {
      upstreams: { odd: vendor.upstream },
      models: { dear: { family: 'openai-chat', upstream: 'odd', price: { ...price, minimum: '1' } } },
    })
    const [first] = nodes
    const secrets = await Promise.all(
      Array.from({ length: 5 }, async () => (await first.makeKey('acme', '1000')).secret),
    )
    await describeAccount(first.server.world.db, {
      account: 'acme',
      displayName: null,
      note: null,
      plan: null,
      budget: { amountNano: 10_500_000_000, period: 'month' },
    })
    const answers = await flood(1_000, (index) =>
      (nodes[index % nodes.length] ?? first).chat(
        { model: 'dear', max_tokens: 20 },
        { authorization: `Bearer ${secrets[index % secrets.length]}` },
      ),
    )
    const statuses = Map.groupBy(answers, ({ status }) => status)
    expect([...statuses].map(([status, { length }]) => [status, length]).sort()).toEqual([
      [200, 10],
      [402, 990],
    ])
    const { balanceNano, heldNano } = await first.balance('acme')
    expect([balanceNano, heldNano]).toEqual([4_990_000_000_000, 0])
    const [row] = await first.server.world.db.query({ sql: 'select * from budgets' })
    expect(row).toMatchObject({ key_id: 'account:acme', committed: 10_000_000_000 })
    await closeNodes(nodes)
  })
})

describe.each(databaseKinds)('an allowance on %s', (database) => {
  const november = Date.UTC(2026, 10, 10)
  const december = Date.UTC(2026, 11, 1)
  const [given] = plansOf({ free: { allowance: { usd: '5', per: 'month' } } }).values()
  const MINUTE_MS = 60_000

  test('is given once per period, spent first, and the unspent part is taken back', async () => {
    const db = await openTestDatabase(database)
    const now = november
    for (const [account, usd] of [
      ['spends', 10],
      ['saves', 10],
      ['beyond', 0],
      ['holds', 0],
      ['none', 10],
    ] as const) {
      await addCredit(db, { id: account, account, amountNano: (usd || 1) * 1e9, now, note: null })
      const plan = account === 'none' ? null : 'free'
      await describeAccount(db, { account, displayName: null, note: null, plan, budget: null })
    }
    const renew = (at: number) =>
      Promise.all([1, 2, 3].map(() => renewAllowances(db, given ? [given] : [], at)))
    const spend = async (account: string, amountNano: number, at: number, isOpen = false) => {
      const charge = makeCharge(amountNano, { account, keyId: account, createdAt: at, expiresAt: at + 1e9 })
      expect(await hold(db, charge)).toEqual({ held: true })
      if (!isOpen) await settle(db, charge, makeSettlement(amountNano, { endedAt: at }))
    }
    const balances = async () =>
      Object.fromEntries(
        (await db.query({ sql: 'select name, balance from accounts' })).map(({ name, balance }) => [
          name,
          Number(balance) / 1e9,
        ]),
      )
    await renew(now)
    await renew(now + MINUTE_MS)
    expect(await balances()).toEqual({ spends: 15, saves: 15, beyond: 6, holds: 6, none: 10 })
    expect(await allowanceOf(db, 'saves', now)).toEqual({
      amountNano: 5e9,
      beginsAt: Date.UTC(2026, 10, 1),
      endsAt: december,
    })
    await spend('spends', 3e9, now)
    await spend('beyond', 5.5e9, now)
    const members = async (after: string, limit: number) =>
      (await membersOf(db, { name: 'free', budget: null }, { after, limit }, now)).map(
        ({ account, allowance: of }) =>
          `${account} ${(of?.usedNano ?? 0) / 1e9} of ${(of?.amountNano ?? 0) / 1e9}`,
      )
    expect(await members('', 2)).toEqual(['beyond 5 of 5', 'holds 0 of 5'])
    expect(await members('holds', 9)).toEqual(['saves 0 of 5', 'spends 3 of 5'])
    // At the end of the month all but a half of it is held.
    await spend('holds', 5.5e9, december - 1, true)
    // The next begins with the month; the last one is settled when what ended in it is sure.
    await renew(december)
    expect(await balances()).toEqual({ spends: 17, saves: 20, beyond: 5.5, holds: 11, none: 10 })
    // Spent of the new one, before the old one is settled.
    await spend('holds', 5e9, december + 1)
    await renew(december + MINUTE_MS)
    await renew(december + 2 * MINUTE_MS)
    expect(await balances()).toEqual({ spends: 15, saves: 15, beyond: 5.5, holds: 5.5, none: 10 })
    const kinds = await db.query({
      sql: `select kind, count(*) as count, cast(sum(amount) as bigint) as sum from transfers
        where kind <> 'credit' group by kind order by kind`,
    })
    expect(kinds).toEqual([
      { kind: 'allowance', count: 8, sum: 40e9 },
      { kind: 'allowance_end', count: 3, sum: 7.5e9 },
    ])
    const { audit } = await import('../../src/billing/proofs/audit')
    expect((await audit(db, december)).problems).toEqual([])
    await db.close()
  })

  test('is given automatically by a running gateway', async () => {
    const hurried: typeof outside.after = (milliseconds, run) => outside.after(milliseconds / 100, run)
    const config = { plans: { free: { allowance: { usd: '5', per: 'month' as const } } } }
    const gateway = await startTestGateway({ database, config, balance: '1', outside: { after: hurried } })
    const named = { account: 'alice', displayName: null, note: null, budget: null }
    await describeAccount(gateway.server.world.db, { ...named, plan: 'free' })
    await waitFor(async () => (await gateway.balance()).balanceNano === 6e9)
    await gateway.close()
  })
})

test('of several names of a plan that match a model, the longest applies, and its own id before all', () => {
  const entry = { family: 'openai-chat', upstream: 'odd', price }
  const ids = ['gpt', 'gpt-5', 'gpt-5-mini', 'gpt-4']
  const catalogue = buildCatalogue(
    { upstreams: { odd: vendor.upstream }, models: Object.fromEntries(ids.map((id) => [id, entry])) },
    outside,
  )
  const factors = { '*': '0.9', 'gpt-5*': '0.5', 'gpt-*': '0.7', 'gpt-5-mini': '0.3', 'gpt-5-mini*': '0.4' }
  // The order in which they stand says nothing.
  for (const names of [Object.entries(factors), Object.entries(factors).reverse()]) {
    const [plan] = plansOf({ team: { priceFactors: Object.fromEntries(names) } }).values()
    const paid = ids.map((id) => {
      const model = plan?.priced(catalogue.models.get(id)?.[0] as Model)
      return [id, Number(model?.priceList.tables[0]?.listed.input_token) / 1_000_000]
    })
    expect(Object.fromEntries(paid)).toEqual({ gpt: 0.9, 'gpt-5': 0.5, 'gpt-5-mini': 0.3, 'gpt-4': 0.7 })
  }
})

test('invalid plans are reported', () => {
  const config = {
    upstreams: { odd: vendor.upstream },
    models,
    plans: {
      Big: {},
      team: {
        priceFactor: '0',
        priceFactors: { 'smal*': '0.5', 'x*': '0.5', small: '-1' },
        models: ['small', 'none'],
        budget: { usd: '0', per: 'month' },
        allowance: { usd: 'much', per: 'year' },
      },
      one: { allowance: { usd: 'much', per: 'day' } },
    },
  }
  expect(faultsOf(config)).toEqual([
    expect.stringContaining('plans.team.allowance.per'),
    'plans.Big: a plan has small letters, digits, dots and dashes',
    'plans.one.allowance.usd: "much" is not an amount of dollars, such as "100"',
  ])
  const { allowance: _, ...team } = config.plans.team
  expect(faultsOf({ ...config, plans: { team } })).toEqual([
    'plans.team.priceFactor: "0" is not a factor such as "0.9", with at most 6 decimals',
    'plans.team.priceFactors.x*: there is no such model',
    'plans.team.priceFactors.small: "-1" is not a factor such as "0.9", with at most 6 decimals',
    'plans.team.models: there is no model "none"',
    'plans.team.budget.usd: "0" is not an amount of dollars, such as "100"',
  ])
})
