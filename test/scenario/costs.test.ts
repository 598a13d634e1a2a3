// Costs at vendors in addition to prices, through the whole gateway: stored with each charge for the upstream that answered, exact
// to the nano-dollar, summed up for operators, and never shown to a holder of a key.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { verify } from '../../src/billing/proofs/verify'
import { usageBy } from '../../src/billing/reports/usage-report'
import { addToTotals, rebuildTotals } from '../../src/billing/reports/usage-totals'
import { tariffOfJson } from '../../src/contract/prices'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { chunk, completion, DONE, eventStream, startVendor, usageChunk } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

/** Figures that no other amount of these tests has, to be searched for in answers to callers. */
const COST = { per_1m_input_tokens: '0.314159', per_1m_output_tokens: '0.271828' }
const WEST = { per_1m_input_tokens: '0.161803', per_1m_output_tokens: '0.577215' }
const SECRETS = /314159|271828|161803|577215|0\.0077/
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
/** Whole nano-dollars for ten tokens in and twenty out, rounded up. */
const ofTenAndTwenty = ({ per_1m_input_tokens: input, per_1m_output_tokens: output }: typeof COST) =>
  Math.ceil((10 * Number(input.slice(2)) + 20 * Number(output.slice(2))) / 1_000)

const vendors = { east: startVendor(), west: startVendor() }
afterAll(async () => {
  for (const vendor of Object.values(vendors)) await vendor.stop()
})
const chat = { family: 'openai-chat', upstream: 'east', price }

describe.each(databaseKinds)('costs on %s', (database) => {
  let gateway: TestGateway
  let now = Date.now()
  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      outside: { now: () => now },
      upstreams: { east: vendors.east.upstream, west: vendors.west.upstream },
      models: {
        known: { ...chat, cost: COST },
        unknown: chat,
        given: { family: 'openai-chat', upstream: 'east', free: true, cost: COST },
        both: { ...chat, upstream: { east: 1, west: 1 }, cost: { upstreams: { east: COST, west: WEST } } },
        tiered: {
          ...chat,
          price: { ...price, service_tiers: { flex: '0.5' } },
          cost: { ...COST, service_tiers: { flex: '0.5' }, minimum: '0.00005' },
        },
        routed: { route: ['known', 'both'] },
        'vidw2.6-t2v': {
          family: 'dashscope-video',
          upstream: 'dashscope',
          upstreamModel: 'wan2.6-t2v',
          durations: { min: 2, max: 15, default: 5 },
          price: { per_second: { '720p': '0.01', '1080p': '0.02' } },
          cost: { per_second: { '720p': '0.0077', '1080p': '0.0154' } },
        },
      },
    })
  })
  afterAll(() => gateway.close())

  /** Sends a request to a model whose vendors answer with ten tokens in and twenty out, and returns its charge. */
  async function ask(model: string, fields: object = {}, headers: Record<string, string> = {}) {
    const before = (await gateway.charges()).length
    const response = await gateway.chat({ model, ...fields }, headers)
    await response.text()
    await waitFor(async () => (await gateway.charges()).length > before)
    return (await gateway.newestCharge()) ?? {}
  }
  for (const vendor of Object.values(vendors)) vendor.answer = () => Response.json(completion('Hi', 10, 20))

  test('the cost of the same usage is stored next to the price', async () => {
    for (const vendor of Object.values(vendors)) vendor.answer = () => Response.json(completion('Hi', 10, 20))
    const charge = await ask('known')
    expect(charge).toMatchObject({ amount: 50_000, cost: ofTenAndTwenty(COST), state: 'settled' })
    // It can be computed again from the stored values.
    const { cost } = tariffOfJson(charge.prices as string)
    expect(cost?.tables[0].listed).toEqual({ input_token: 314_159, output_token: 271_828 })
    expect(await ask('unknown')).toMatchObject({ amount: 50_000, cost: null })
    expect(await ask('given')).toMatchObject({ amount: 0, cost: ofTenAndTwenty(COST) })
  })

  test('the cost is that of the upstream that answered', async () => {
    const refuse = () => Response.json({ error: { message: 'busy' } }, { status: 503 })
    vendors.east.answer = refuse
    vendors.west.answer = () => Response.json(completion('Hi', 10, 20))
    for (const model of ['both', 'routed'])
      expect(await ask(model)).toMatchObject({ model: 'both', cost: ofTenAndTwenty(WEST) })
    ;[vendors.east.answer, vendors.west.answer] = [vendors.west.answer, refuse]
    expect(await ask('both')).toMatchObject({ model: 'both', cost: ofTenAndTwenty(COST) })
    expect(await ask('routed')).toMatchObject({ model: 'known', cost: ofTenAndTwenty(COST) })
  })

  test('the reported tier applies to price and cost, and so does its minimum', async () => {
    const answer = (tier: string, tokens: number) => () =>
      Response.json({ ...(completion('Hi', tokens, tokens) as object), service_tier: tier })
    vendors.east.answer = answer('flex', 1_000)
    expect(await ask('tiered')).toMatchObject({
      amount: 1_500_000,
      cost: Math.ceil((1_000 * Math.ceil(314_159 / 2) + 1_000 * 135_914) / 1_000),
    })
    vendors.east.answer = answer('default', 10)
    expect(await ask('tiered')).toMatchObject({ amount: 30_000, cost: 50_000 })
  })

  test('streams have a cost, and usage reported for a failed stream is a cost without a price', async () => {
    vendors.east.answer = () => eventStream(`${chunk('Hi')}${chunk('', 'stop')}${usageChunk(10, 20)}${DONE}`)
    expect(await ask('known', { stream: true })).toMatchObject({ cost: ofTenAndTwenty(COST) })
    vendors.east.answer = () => eventStream(`${usageChunk(10, 20)}data: {"error":{"message":"broken"}}\n\n`)
    expect(await ask('known', { stream: true })).toMatchObject({
      state: 'released',
      amount: 0,
      cost: ofTenAndTwenty(COST),
    })
  })

  test('an answer that the account cannot pay for has a cost and no price', async () => {
    vendors.east.answer = () => Response.json(completion('Hi', 10, 20_000))
    const { secret } = await gateway.makeKey('poor', '0.0005')
    const charge = await ask('known', { max_tokens: 50 }, { authorization: `Bearer ${secret}` })
    expect(charge).toMatchObject({ state: 'released', ended_by: 'balance', amount: 0, shortfall: 0 })
    expect(charge.cost).toBe(Math.ceil((10 * 314_159 + 20_000 * 271_828) / 1_000))
  })

  test('a video costs its seconds, at the prices of its hold', async () => {
    const before = (await gateway.charges()).length
    const body = { model: 'vidw2.6-t2v', duration: 3, resolution: '1080p', input: { prompt: 'x' } }
    expect((await gateway.post('/v1/videos/generations', body)).status).toBe(202)
    await waitFor(async () => {
      now += 5_000
      const charges = await gateway.charges()
      return charges.length > before && charges.at(-1)?.state === 'settled'
    })
    expect(await gateway.newestCharge()).toMatchObject({ amount: 60_000_000, cost: 46_200_000 })
  })

  test('usage sums up costs, and the books are correct', async () => {
    const { db, now } = gateway.server.world
    const charges = await gateway.charges()
    const sum = (figure: (row: (typeof charges)[number]) => number) =>
      charges.reduce((all, row) => all + figure(row), 0)
    const costNano = sum(({ cost }) => (cost ?? 0) as number)
    const costedNano = sum(({ cost, amount }) => (cost === null ? 0 : (amount as number)))
    expect(costNano).toBeGreaterThan(50_000_000)
    for (const work of [() => {}, () => addToTotals(db), () => rebuildTotals(db, () => {})]) {
      await work()
      for (const by of ['model', 'account', 'day'] as const) {
        const used = await usageBy(db, by, { since: 0 })
        const total = (field: 'costNano' | 'costedNano') => used.reduce((all, each) => all + each[field], 0)
        expect([total('costNano'), total('costedNano')]).toEqual([costNano, costedNano])
      }
    }
    const options = { now: now(), key: 'ab', whole: false, onProgress: () => {} }
    expect((await verify(db, options)).problems).toEqual([])
    expect((await verify(db, { ...options, whole: true })).problems).toEqual([])
    // A cost that was changed outside the gateway is found.
    await db.batch([{ sql: 'update ended_charges set cost = cost + 1 where cost > 0' }])
    expect((await verify(db, { ...options, whole: true })).problems.join()).toContain(
      'are not those that were verified',
    )
    await db.batch([{ sql: 'update ended_charges set cost = cost - 1 where cost > 0' }])
    expect((await verify(db, { ...options, whole: true })).problems).toEqual([])
  })

  test('operators see costs, and key holders do not', async () => {
    const [charge] = await gateway.charges()
    const shown: string[] = []
    for (const path of [
      'me',
      'usage',
      'usage?by=day',
      'prices',
      'models',
      'models/known',
      'models/both',
      'key',
      'credits',
    ]) {
      const response = await fetch(`${gateway.url}/v1/${path}`, {
        headers: { authorization: `Bearer ${gateway.secret}` },
      })
      shown.push(await response.text())
    }
    vendors.east.answer = () => Response.json(completion('Hi', 10, 20))
    const answered = await gateway.chat({ model: 'known' })
    shown.push(JSON.stringify(Object.fromEntries(answered.headers)), await answered.text())
    expect(shown.join()).toContain('1.00')
    expect(shown.join()).not.toMatch(SECRETS)
    expect(shown.join()).not.toMatch(/margin|"cost|markup/)

    const token = makeToken(randomBytes)
    const admin = {
      id: newId('adm'),
      name: 'ann',
      role: 'viewer',
      token,
      expiresAt: null,
      createdAt: 1,
    } as const
    expect(await createAdmin(gateway.server.world.db, admin)).toBe(true)
    const look = async (path: string) => {
      const response = await fetch(`${gateway.url}/admin/v1/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return (await response.json()) as Record<string, object> & { charges: object[]; rows: object[] }
    }
    expect((await look(`requests/${charge?.id}`)).charges[0]).toMatchObject({
      cost_usd: '0.000008579',
      margin_usd: '0.000041421',
    })
    expect((await look('usage?by=model')).rows).toContainEqual(
      expect.objectContaining({ model: 'unknown', cost_usd: null, margin_usd: null }),
    )
    expect((await look('models/both')).cost).toEqual({ east: COST, west: WEST })
    expect((await look('models/unknown')).cost).toBeNull()
  })
})
