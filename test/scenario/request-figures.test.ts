// Figures of requests by hour: counted as requests end, as exact as promised, and the same after a restart and from several
// processes. The overview of the admin API agrees with them and with the charges.

import { expect, test } from 'bun:test'
import { lowBalances } from '../../src/admin/overview-figures'
import { adjust } from '../../src/billing/ledger/ledger'
import { DurationCounts, FigureKeeper, figuresBetween } from '../../src/request-log/figures'
import { newLogRow, type RequestLogRow } from '../../src/request-log/row'
import { makeAdminToken } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { parseMetrics } from '../support/metrics'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

const HOUR_MS = 3_600_000
const START = Date.UTC(2026, 10, 22, 12)

function rowAt(at: number, durationMs: number, more: Partial<RequestLogRow> = {}): RequestLogRow {
  const clock = { now: () => at, monotonic: () => 0 }
  const row = newLogRow({ requestId: `req_${at}`, operation: { name: 'chat' } }, clock)
  return {
    ...row,
    status: 200,
    model: 'm',
    upstream: 'u',
    isSent: true,
    durationMs,
    firstByteMs: durationMs / 2,
    ...more,
  }
}

test('percentiles are accurate to 5 %, from a millisecond to an hour', () => {
  const lengths = Array.from({ length: 2_000 }, (_, index) => Math.exp((index / 2_000) * Math.log(HOUR_MS)))
  const counts = DurationCounts.none()
  for (const length of lengths) counts.add(length)
  const read = DurationCounts.parse(String(counts))
  for (const share of [0.25, 0.5, 0.9, 0.99, 1]) {
    const exact = lengths[Math.ceil(lengths.length * share) - 1] as number
    const found = read.percentile(share) as number
    // The exact value in whole milliseconds; shorter differences do not count.
    expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.05 + 1)
  }
  expect(DurationCounts.none().percentile(0.5)).toBeNull()
})

for (const database of databaseKinds) {
  test(`hours of several processes are summed, and a repeated write is not counted twice (${database})`, async () => {
    const gateway = await startTestGateway({ database })
    const { db } = gateway.server.world
    const [one, other] = [new FigureKeeper(db, 'run_one'), new FigureKeeper(db, 'run_other')]
    one.fold([rowAt(START, 100), rowAt(START, 200), rowAt(START, 50, { status: 500, failedBy: 'vendor' })])
    await one.store(START)
    one.fold([rowAt(START + 5, 300)])
    await one.store(START)
    await one.store(START)
    other.fold([rowAt(START, 100), rowAt(START + HOUR_MS, 100), rowAt(START, HOUR_MS + 1)])
    await other.store(START + HOUR_MS)
    const figures = await figuresBetween(db, START, START + HOUR_MS)
    expect(figures.map(({ requests, failed }) => [requests, failed]).toSorted()).toEqual([
      [1, 0],
      [4, 1],
    ])
    const next = await figuresBetween(db, START + HOUR_MS, START + 2 * HOUR_MS)
    expect(next.map(({ requests }) => requests)).toEqual([2])
    await gateway.close()
  })

  test(`series beyond the most and requests without a model share one row, and none is lost (${database})`, async () => {
    const gateway = await startTestGateway({ database })
    const { db } = gateway.server.world
    const keeper = new FigureKeeper(db, 'run_one')
    const refused = { status: 400, failedBy: 'caller', model: null, upstream: null, isSent: false } as const
    keeper.fold([rowAt(START, 1, refused), rowAt(START, 1, refused)])
    keeper.fold(Array.from({ length: 1_003 }, (_, index) => rowAt(START, 1, { model: `m${index}` })))
    await keeper.store(START)
    const figures = await figuresBetween(db, START, START + HOUR_MS)
    expect(figures.reduce((sum, { requests }) => sum + requests, 0)).toBe(1_005)
    await gateway.close()
  })

  test(`the acknowledgement of a task is not a first byte (${database})`, async () => {
    const gateway = await startTestGateway({ database })
    const { db } = gateway.server.world
    const keeper = new FigureKeeper(db, 'run_one')
    keeper.fold([rowAt(START, 6, { status: 202 }), rowAt(START, 800)])
    await keeper.store(START)
    const [figures] = await figuresBetween(db, START, START + HOUR_MS)
    expect(figures).toMatchObject({ requests: 2, failed: 0 })
    const p50 = figures?.firstBytes.percentile(0.01) as number
    expect(Math.abs(p50 - 400)).toBeLessThanOrEqual(400 * 0.05)
    await gateway.close()
  })

  test(`upstreams and models have only failures of calls sent to them, each call once (${database})`, async () => {
    const vendor = startVendor()
    const broken = startVendor({ answer: () => new Response('{"error":{"message":"no"}}', { status: 500 }) })
    const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
    const modelOf = (upstream: string) =>
      ({ family: 'openai-chat', upstream, upstreamModel: 'x', price }) as const
    const gateway = await startTestGateway({
      database,
      config: { metrics: { port: 0 } },
      upstreams: { good: vendor.upstream, broken: broken.upstream },
      models: { good: modelOf('good'), bad: modelOf('broken'), both: { route: ['bad', 'good'] } },
    })
    const poor = await gateway.makeKey('poor', '0.000001')
    vendor.answer = () => Response.json(completion('hi', 3, 2))
    const statuses: number[] = []
    const ask = async (body: object, headers: Record<string, string> = {}) => {
      const response = await gateway.chat({ model: 'good', ...body }, headers)
      statuses.push(response.status)
      await response.text()
    }
    // The second is the same answer again, without a call to a vendor.
    for (let times = 0; times < 2; times++) await ask({}, { 'idempotency-key': 'once' })
    await ask({}, { authorization: `Bearer ${poor.secret}` })
    await ask({ max_tokens: 'many' })
    await ask({ model: 'both' })
    vendor.answer = () => Response.json({ error: { message: 'Not so.' } }, { status: 400 })
    await ask({})
    expect(statuses).toEqual([200, 200, 402, 400, 200, 400])
    await leaveEarly(gateway, vendor)
    await waitFor(async () => (await gateway.requestLog()).length === 7)
    const authorization = `Bearer ${await makeAdminToken(gateway, 'viewer')}`
    const overview = (await (
      await fetch(`${gateway.url}/admin/v1/overview`, { headers: { authorization } })
    ).json()) as Record<string, object[]>
    expect(overview.total).toMatchObject({ requests: 7, failed: 4 })
    expect(overview.upstreams).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ upstream: 'good', requests: 4, failed: 1 }),
        expect.objectContaining({ upstream: 'broken', requests: 1, failed: 1 }),
      ]),
    )
    expect(overview.models).toHaveLength(2)
    expect(overview.models).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ model: 'good', requests: 4, failed: 1 }),
        expect.objectContaining({ model: 'bad', requests: 1, failed: 1 }),
      ]),
    )
    const { value } = parseMetrics(await (await fetch(gateway.server.metricsUrl ?? '')).text())
    for (const [upstream, failed_by, times] of [
      ['good', 'none', 2],
      ['good', 'vendor', 1],
      ['good', 'caller', 1],
      ['none', 'caller', 2],
    ] as const)
      expect(value('gateway_requests_total', { upstream, failed_by })).toBe(times)
    for (const [upstream, outcome, times] of [
      ['good', 'answered', 2],
      ['good', 'refused', 1],
      ['good', 'cut', 1],
      ['broken', 'failed', 1],
    ] as const)
      expect(value('gateway_upstream_attempts_total', { upstream, outcome })).toBe(times)
    await gateway.close()
    await vendor.stop()
    await broken.stop()
  })

  test(`a low balance lasts as the last hour says, and no guess is made where nothing was spent in it (${database})`, async () => {
    const gateway = await startTestGateway({ database, balance: '1' })
    const { db, now } = gateway.server.world
    await (await gateway.chat()).text()
    const paid = (await gateway.charges())[0]?.amount as number
    const { balanceNano } = await gateway.balance('alice')
    const correction = { id: 'spent', account: 'alice', note: 'spent elsewhere', now: now() }
    await adjust(db, { ...correction, amountNano: 3 * paid - balanceNano })
    const low = { account: 'alice', availableNano: paid }
    // Twice what a day has cost, at the rate of that day, is 48 hours: the limit.
    expect(await lowBalances(db, now())).toEqual([])
    await adjust(db, { ...correction, id: 'more', amountNano: -2 * paid })
    expect(await lowBalances(db, now())).toEqual([{ ...low, hoursLeft: 1 }])
    expect(await lowBalances(db, now() + 2 * HOUR_MS)).toEqual([{ ...low, hoursLeft: null }])
    await gateway.close()
  })

  test(`the overview counts each request once, and its spend is what the ledger says (${database})`, async () => {
    const budgetOf = (usd: string) => ({ budget: { usd, per: 'month' as const } })
    const plans = { wide: budgetOf('1'), tight: budgetOf('0.00014') }
    const gateway = await startTestGateway({ database, balance: '10', config: { plans } })
    const authorization = `Bearer ${await makeAdminToken(gateway, 'owner')}`
    const read = async (path: string) =>
      (await (await fetch(`${gateway.url}/admin/v1${path}`, { headers: { authorization } })).json()) as {
        total: { requests: number; failed: number; amount_usd: string }
        spans: { requests: number }[]
        spend: { model: string; amounts_usd: string[] }[]
        attention: {
          low_balances: { account: string }[]
          keys_at_limit: { key: string; percent: number }[]
          accounts_at_limit: object[]
        }
      }
    const change = async (method: string, path: string, body: object) => {
      const headers = { authorization, 'content-type': 'application/json' }
      const response = await fetch(`${gateway.url}/admin/v1${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      })
      expect(response.status).toBe(200)
    }
    const poor = await gateway.makeKey('poor', '1', { budgetNano: 1_000_000_000, budgetPeriod: 'day' })
    const planned = await gateway.makeKey('planned', '1')
    // Before their first requests, which count in the existing budgets.
    await change('PATCH', '/accounts/poor', { budget_usd: '1', budget_period: 'week' })
    await change('PATCH', '/accounts/planned', { plan: 'wide' })
    for (const { secret } of [poor, planned])
      for (let index = 0; index < 8; index++) {
        const response = await gateway.chat({ max_tokens: 4 }, { authorization: `Bearer ${secret}` })
        expect(response.status).toBe(200)
      }
    await gateway.chat({ max_tokens: 4 })
    await gateway.chat({ model: 'nobody' })
    // Nine tenths of this budget are used already, and the balance of the account lasts for less than a day.
    await change('PATCH', `/keys/${poor.id}`, { budget_usd: '0.00014', budget_period: 'day' })
    await change('PATCH', '/accounts/poor', { budget_usd: '0.00014', budget_period: 'week' })
    await change('PATCH', '/accounts/planned', { plan: 'tight' })
    await change('POST', '/accounts/poor/adjustments', { amount_usd: '-0.9998', note: 'spent elsewhere' })
    const overview = await read('/overview')
    expect(overview.total).toMatchObject({ requests: 18, failed: 1 })
    expect(overview.spans.reduce((sum, { requests }) => sum + requests, 0)).toBe(18)
    const paid = (await gateway.charges()).reduce((sum, { amount }) => sum + (amount as number), 0)
    const nano = (usd: string) => Math.round(Number(usd) * 1e9)
    expect(nano(overview.total.amount_usd)).toBe(paid)
    expect(
      overview.spend.flatMap(({ amounts_usd }) => amounts_usd).reduce((sum, usd) => sum + nano(usd), 0),
    ).toBe(paid)
    expect(await read('/overview')).toMatchObject({ total: { requests: 18 } })
    expect(overview.attention.low_balances.map(({ account }) => account)).toEqual(['poor'])
    expect(overview.attention.keys_at_limit).toMatchObject([{ percent: 91 }])
    expect(overview.attention.accounts_at_limit).toMatchObject([
      { account: 'planned', plan: 'tight', budget_period: 'month', budget_usd: '0.00014', percent: 91 },
      { account: 'poor', plan: null, budget_period: 'week', percent: 91 },
    ])
    // Neither a budget with room again, nor a closed account.
    await change('PATCH', '/accounts/planned', { plan: 'wide' })
    await change('POST', '/accounts/poor/close', {})
    expect((await read('/overview')).attention.accounts_at_limit).toEqual([])
    for (const query of ['since=2026-01-01&until=2025-01-01', 'since=2000-01-01'])
      expect(
        (await fetch(`${gateway.url}/admin/v1/overview?${query}`, { headers: { authorization } })).status,
      ).toBe(400)
    await gateway.close()
  })
}

/** A caller who leaves before the vendor has answered. */
async function leaveEarly(gateway: TestGateway, vendor: OddVendor): Promise<void> {
  const arrived = vendor.requests
  vendor.answer = () => new Promise(() => {})
  const leave = new AbortController()
  const headers = { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'good', stream: true, messages: say('a') })
  const { signal } = leave
  const left = fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal })
  const ended = left.catch(() => {})
  await waitFor(() => vendor.requests > arrived)
  leave.abort()
  await ended
}
