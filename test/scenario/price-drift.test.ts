// Prices that vendors report for requests, compared with our price list, through the whole gateway: one event per model and day,
// none for differences within one percent or senseless figures, and a report whose sums are calculated a second time.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { describeAccount } from '../../src/accounts/accounts'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import type { EventBody } from '../../src/contract/events'
import { watchEvents } from '../../src/events/watch'
import { bodyOfWebhook, listEvents } from '../../src/webhooks/rows'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { SECRET } from '../support/servers/webhook-sending'
import { chunk, DONE, eventStream, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const DAY_MS = 86_400_000
const NOON = Date.UTC(2027, 0, 11, 12)
/** 50,000 nano-dollars for ten tokens in and twenty out. */
const LIST = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const DOUBLE = { per_1m_input_tokens: '2.00', per_1m_output_tokens: '4.00' }
const ofList = (percent: number) => Number((0.00005 * (1 + percent / 100)).toFixed(12))

/** A vendor whose answers read the request. */
const vendor = startVendor({ answer: () => new Response() })
afterAll(() => vendor.stop())

const counted = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
/** Answers with these members of the usage, as JSON text, whole or as a stream. */
function answerWith(members: string): void {
  const usage = `{${JSON.stringify(counted).slice(1, -1)}${members && `,${members}`}}`
  const choices = '[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]'
  vendor.answer = async (request) =>
    ((await request.json()) as { stream?: boolean }).stream
      ? eventStream(
          `${chunk('Hi')}${chunk('', 'stop')}data: {"id":"c","model":"m","choices":[],"usage":${usage}}\n\n${DONE}`,
        )
      : new Response(
          `{"id":"c","object":"chat.completion","model":"m","choices":${choices},"usage":${usage}}`,
          {
            headers: { 'content-type': 'application/json' },
          },
        )
}
const costs = (usd: number) => answerWith(`"cost":${usd},"is_byok":false`)

/** Replies of the admin API: a report, or a request. */
interface Shown {
  models: {
    model: string
    basis: string
    requests: number
    list_usd: string
    vendor_usd: string
    percent: string
    differs: boolean
  }[]
  charges: object[]
}

describe.each(databaseKinds)('prices of vendors on %s', (database) => {
  let gateway: TestGateway
  let now = NOON
  let member = ''
  let token = ''
  beforeAll(async () => {
    const chat = { family: 'openai-chat', upstream: 'router' }
    gateway = await startTestGateway({
      database,
      outside: { now: () => now },
      upstreams: { router: { ...vendor.upstream, kind: 'openrouter' } },
      models: {
        // The price must not count if the cost is known.
        sold: { ...chat, price: DOUBLE, cost: LIST },
        other: { ...chat, price: DOUBLE, cost: LIST },
        listed: { ...chat, price: { ...LIST, source: 'https://example.com/prices' } },
        own: { ...chat, price: LIST },
        given: { ...chat, free: true },
        byok: { ...chat, price: DOUBLE, cost: LIST },
        bad: { ...chat, price: DOUBLE, cost: LIST },
      },
      config: {
        events: { to: { ops: { webhook: 'http://127.0.0.1:1/', secret: SECRET } } },
        plans: { half: { priceFactor: '0.5' } },
      },
    })
    const { db } = gateway.server.world
    member = (await gateway.makeKey('member', '10')).secret
    await describeAccount(db, {
      account: 'member',
      displayName: null,
      note: null,
      plan: 'half',
      budget: null,
    })
    token = makeToken(randomBytes)
    const admin = {
      id: newId('adm'),
      name: 'ann',
      role: 'viewer',
      token,
      expiresAt: null,
      createdAt: 1,
    } as const
    expect(await createAdmin(db, admin)).toBe(true)
  })
  afterAll(() => gateway.close())

  /** Asks a model, and returns its charge. */
  async function ask(model: string, { stream = false, secret = gateway.secret } = {}) {
    const before = await gateway.newest()
    const response = await gateway.chat({ model, stream }, { authorization: `Bearer ${secret}` })
    await response.text()
    expect(response.status).toBe(200)
    await waitFor(async () => (await gateway.charges(before.charge)).length > 0)
    return (await gateway.newestCharge()) ?? {}
  }
  /** All events of prices so far, the oldest first. */
  async function reported() {
    const { world } = gateway.server
    for (let round = 0; round < 3; round++) {
      now += 11_000
      await watchEvents(world)
    }
    const rows = (await listEvents(world.db, { limit: 1_000 })).reverse()
    return rows
      .map((row) => JSON.parse(bodyOfWebhook(world.db, row)) as EventBody)
      .filter(({ type }) => type === 'price.drift')
      .flatMap(({ data }) => data.items.map((item) => ({ ...item, state: data.state })))
  }
  const subjects = async () => (await reported()).map(({ subject, state }) => `${subject} ${state}`)
  const lines = () => gateway.log.filter(({ event }) => event === 'price_drift')
  const look = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await (await fetch(`${gateway.url}/admin/v1/${path}`, { headers })).json()) as Shown
  }

  test('0.9 % apart is not an event, 1.1 % is one event per model and day, streamed or not', async () => {
    for (const percent of [0.9, -0.9, 1]) {
      costs(ofList(percent))
      await ask('sold')
      await ask('sold', { stream: true })
    }
    expect(await subjects()).toEqual([])
    costs(ofList(1.1))
    const charge = await ask('sold', { stream: true })
    for (let round = 0; round < 3; round++) await ask('sold')
    expect(await reported()).toMatchObject([
      {
        subject: 'sold, 2027-01-11',
        state: 'began',
        model: 'sold',
        upstream: 'router',
        request: charge.id,
        list_usd: '0.00005',
        vendor_usd: '0.00005055',
        percent: '+1.10',
        basis: 'cost',
      },
    ])
    costs(ofList(-1.1))
    await ask('other')
    costs(ofList(1.1))
    await ask('other', { stream: true })
    expect(await subjects()).toEqual(['sold, 2027-01-11 began', 'other, 2027-01-11 began'])
    expect(lines()).toHaveLength(2)
  })

  test('the next day has its own event, and the previous day is not reported again', async () => {
    now += DAY_MS
    costs(ofList(50))
    await ask('sold')
    await ask('sold')
    expect((await subjects()).slice(2)).toEqual(['sold, 2027-01-12 began'])
    now += 2 * DAY_MS
    expect((await subjects()).slice(2)).toEqual(['sold, 2027-01-12 began'])
    expect(lines()).toHaveLength(3)
  })

  test('without a cost it is the price before any plan, and only a listed price may be above the vendor’s', async () => {
    const before = (await reported()).length
    costs(ofList(0))
    for (const model of ['listed', 'own']) {
      expect(await ask(model, { secret: member })).toMatchObject({ amount: 25_000, cost: null })
      await ask(model)
    }
    costs(ofList(-20))
    await ask('own')
    await ask('own', { secret: member })
    await ask('given')
    expect((await reported()).slice(before)).toEqual([])
    const charge = await ask('listed', { secret: member })
    costs(ofList(20))
    await ask('own')
    expect((await reported()).slice(before)).toMatchObject([
      { model: 'listed', request: charge.id, list_usd: '0.00005', percent: '-20.00', basis: 'price' },
      { model: 'own', list_usd: '0.00005', percent: '+20.00', basis: 'price' },
    ])
  })

  test('with a key of the operator’s own at the vendor behind, its bill counts too', async () => {
    const before = (await reported()).length
    answerWith('"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":0.00005}')
    await ask('byok')
    answerWith('"cost":0.0000025,"is_byok":true,"cost_details":{"upstream_inference_cost":null}')
    await ask('byok')
    // Without such a key both fields have the same amount.
    answerWith('"cost":0.00005,"is_byok":false,"cost_details":{"upstream_inference_cost":0.00005}')
    await ask('byok', { stream: true })
    expect((await reported()).slice(before)).toEqual([])
    answerWith('"cost":0.0000025,"is_byok":true,"cost_details":{"upstream_inference_cost":0.00005}')
    await ask('byok')
    expect((await reported()).slice(before)).toMatchObject([{ model: 'byok', percent: '+5.00' }])
  })

  test.each([
    '"cost":0',
    '"cost":-0.00005',
    '"cost":"0.00009"',
    '"cost":1e400',
    '"cost":1e300',
    '"cost":null',
    '"cost":true',
    '"cost":[9]',
    '"cost":{"total_cost":9}',
    '"cost":9,"currency":"CNY"',
    '"cost":9,"currency":["USD","EUR"]',
    '"cost_in_usd_ticks":1e400',
    '"cost_in_usd_ticks":0.5',
    '"cost_in_usd_ticks":-5000000',
    '"cost_details":{"upstream_inference_cost":9}',
    '"cost":0,"is_byok":true,"cost_details":9',
    '"note":"\\"cost\\":9"',
    '',
  ])('a senseless figure is not an event, and the answer is served and paid: %s', async (members) => {
    const before = (await reported()).length
    answerWith(members)
    expect(await ask('bad')).toMatchObject({ amount: 100_000, cost: 50_000 })
    expect(await ask('bad', { stream: true })).toMatchObject({ amount: 100_000, cost: 50_000 })
    expect((await reported()).slice(before)).toEqual([])
  })

  test('implausible figures are not compared', async () => {
    const before = (await reported()).length
    vendor.answer = () =>
      new Response(
        '{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"cost":0.5}}',
        { headers: { 'content-type': 'application/json' } },
      )
    expect(await ask('bad')).toMatchObject({ usage_source: 'counted' })
    expect((await reported()).slice(before)).toEqual([])
  })

  test('the report has the sums of all requests, as a second calculation has them', async () => {
    const charges = await gateway.charges()
    // By hand: 50,000 nano-dollars each, whatever was paid, for the requests whose vendor named a price above zero.
    const sums = new Map<string, [requests: number, vendorNano: number]>()
    for (const { model, usage, usage_source } of charges) {
      const figures = JSON.parse(String(usage))
      const { cost, is_byok, currency, cost_details: details } = figures
      const behind = is_byok ? details?.upstream_inference_cost : 0
      const isFigure = typeof cost === 'number' && cost >= 0 && cost < 1e6 && typeof behind === 'number'
      if (!isFigure || cost + behind === 0 || currency || usage_source !== 'upstream' || model === 'given')
        continue
      const [requests, nano] = sums.get(String(model)) ?? [0, 0]
      sums.set(String(model), [requests + 1, nano + Math.round((cost + behind) * 1e9)])
    }
    const report = await look('reconciliation?since=2027-01-01')
    const found = new Map<string, [requests: number, vendorNano: number]>(
      report.models.map((row) => [row.model, [row.requests, Math.round(Number(row.vendor_usd) * 1e9)]]),
    )
    expect(found).toEqual(sums)
    expect(found.size).toBe(5)
    for (const row of report.models) {
      expect(Number(row.list_usd)).toBeCloseTo(row.requests * 0.00005, 12)
      const percent = (Number(row.vendor_usd) / Number(row.list_usd) - 1) * 100
      expect(Math.abs(Number(row.percent) - percent)).toBeLessThan(0.011)
    }
    expect(report.models.map(({ model, basis, differs }) => [model, basis, differs])).toEqual([
      ['byok', 'cost', true],
      ['listed', 'price', true],
      ['other', 'cost', false],
      ['own', 'price', false],
      ['sold', 'cost', true],
    ])
    expect(report).toMatchObject({ ok: false, not_compared: expect.any(Number) })
    const generous = await look('reconciliation?since=2027-01-01&tolerance_percent=50&upstream=router')
    expect(generous).toMatchObject({ ok: true, models: { length: 5 } })
    expect(await look('reconciliation?since=2027-01-01&upstream=openai')).toMatchObject({ models: [] })
    expect(await look('reconciliation?since=2027-01-13&until=2027-01-14')).toMatchObject({ models: [] })
    expect(await look('reconciliation?upstream=nobody')).toMatchObject({
      error: { code: 'upstream_not_found' },
    })
  })

  test('a request shows both amounts', async () => {
    costs(ofList(10))
    const { id } = await ask('sold')
    expect((await look(`requests/${id}`)).charges).toMatchObject([
      { vendor_cost_usd: '0.000055', list_cost_usd: '0.00005', vendor_percent: '+10.00' },
    ])
    const { id: ofMember } = await ask('listed', { secret: member })
    expect((await look(`requests/${ofMember}`)).charges).toMatchObject([
      { amount_usd: '0.000025', list_cost_usd: '0.00005', vendor_percent: '+10.00' },
    ])
    answerWith('')
    const { id: plain } = await ask('sold')
    expect((await look(`requests/${plain}`)).charges).toMatchObject([
      { vendor_cost_usd: null, list_cost_usd: null, vendor_percent: null },
    ])
  })
})

test('simulated vendors charge their list prices, and a different price is one event', async () => {
  const price = {
    per_1m_input_tokens: '0.40',
    per_1m_cached_input_tokens: '0.10',
    source: 'https://example.com',
  }
  const mini = { family: 'openai-chat', upstream: 'openrouter', upstreamModel: 'openai/gpt-4.1-mini' }
  let now = NOON
  const gateway = await startTestGateway({
    outside: { now: () => now },
    models: {
      right: { ...mini, price: { ...price, per_1m_output_tokens: '1.60' } },
      old: { ...mini, price: { ...price, per_1m_output_tokens: '1.50' } },
      grok: {
        family: 'openai-chat',
        upstream: 'xai',
        upstreamModel: 'grok-4-fast-reasoning',
        price: { ...price, per_1m_input_tokens: '1.25', per_1m_output_tokens: '2.50' },
      },
      // Seconds are counted here, and the vendor's price is that of the same seconds.
      clip: {
        family: 'xai-video',
        upstream: 'xai',
        upstreamModel: 'grok-imagine-video',
        durations: { min: 1, max: 15, default: 5 },
        price: { per_second: { '480p': '0.04', '720p': '0.04' }, source: 'https://example.com' },
      },
    },
  })
  const lines = () => gateway.log.filter(({ event }) => event === 'price_drift').map(({ fields }) => fields)
  for (const model of ['right', 'grok'])
    for (const stream of [false, true]) await (await gateway.chat({ model, stream })).text()
  expect(lines()).toEqual([])
  for (const stream of [true, false]) await (await gateway.chat({ model: 'old', stream })).text()
  expect(lines()).toMatchObject([
    { model: 'old', basis: 'price', percent: expect.stringMatching(/^\+[56]\./) },
  ])
  for (let round = 0; round < 2; round++) {
    const body = { model: 'clip', prompt: 'A lamp', seconds: 5 }
    expect((await gateway.post('/v1/videos/generations', body)).ok).toBe(true)
  }
  await waitFor(async () => {
    now += 5_000
    const clips = (await gateway.charges()).filter(({ model }) => model === 'clip')
    return clips.length === 2 && clips.every(({ state }) => state === 'settled')
  })
  expect(lines().slice(1)).toMatchObject([
    { model: 'clip', list_usd: '0.20', vendor_usd: '0.25', percent: '+25.00' },
  ])
  await gateway.close()
})
