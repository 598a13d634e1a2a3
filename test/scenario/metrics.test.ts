// Metrics for monitoring systems: every figure agrees with what happened, in both formats; only permitted readers get them; and no
// caller can make them grow without limit.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { readFileSync, renameSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { createReadiness } from '../../src/app/readiness'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { program } from '../../src/db/schema/program'
import { newLogRow, type RequestLogRow } from '../../src/request-log/row'
import { Counter, Histogram, type MetricSample } from '../../src/telemetry/instruments'
import { RequestMetrics } from '../../src/telemetry/request-metrics'
import { startTestGateway, type TestGateway, videoModels, waitFor } from '../support/gateway'
import { toolModels } from '../support/mcp'
import { parseMetrics, type Scraped } from '../support/metrics'
import { startVendor } from '../support/vendors/vendor'
import { endOf, makeClock, requestFor } from '../support/video-requests'

setDefaultTimeout(60_000)

const TOKEN = 'a-token-for-the-readers'

async function scrape(gateway: TestGateway): Promise<Scraped> {
  await gateway.requestLog()
  const { metricsUrl = '' } = gateway.server
  return parseMetrics(await (await fetch(metricsUrl)).text())
}

const ended = { operation: 'chat', model: 'test-chat', upstream: 'openai' }

describe('metrics', () => {
  test('report what happened to requests, and the state of everything else', async () => {
    const gateway = await startTestGateway({ config: { metrics: { port: 0 } } })
    const poor = await gateway.makeKey('poor', '0')
    await (await gateway.chat()).json()
    await (await gateway.chat({ stream: true })).text()
    await gateway.chat({ model: 'invented-by-the-caller' })
    await gateway.chat({}, { authorization: `Bearer ${poor.secret}` })
    const { value, count, names } = await scrape(gateway)
    expect(value('gateway_requests_total', { ...ended, status: '200' })).toBe(2)
    expect(value('gateway_requests_total', { status: '400', model: 'none' })).toBe(1)
    expect(value('gateway_requests_total', { status: '402' })).toBe(1)
    expect(count('gateway_request_duration_seconds', { operation: 'chat', model: 'test-chat' })).toBe(3)
    expect(count('gateway_time_to_first_token_seconds', { model: 'test-chat' })).toBe(1)
    expect(count('gateway_overhead_seconds', { operation: 'chat' })).toBe(2)
    expect(value('gateway_upstream_attempts_total', { upstream: 'openai', outcome: 'answered' })).toBe(2)
    expect(value('gateway_refused_total', { limit: 'balance' })).toBe(1)
    expect(value('gateway_keys_at_limit', { limit: 'balance' })).toBe(1)
    expect(value('gateway_upstream_breaker_state', { upstream: 'openai', state: 'closed' })).toBe(1)
    expect(value('gateway_holds', {})).toBe(0)
    const { version, commit, schema } = program()
    expect(value('gateway_build_info', { version, commit, schema: String(schema) })).toBe(1)
    expect(value('gateway_database_bytes', {})).toBeGreaterThan(4096)
    expect(count('gateway_database_commit_seconds', {})).toBeGreaterThanOrEqual(4)
    const [whole, streamed] = await gateway.requestLog()
    const tokens = (name: string) => Number(whole?.[name]) + Number(streamed?.[name])
    expect(value('gateway_tokens_total', { direction: 'input', model: 'test-chat' })).toBe(
      tokens('input_tokens'),
    )
    expect(value('gateway_tokens_total', { direction: 'output', model: 'test-chat' })).toBe(
      tokens('output_tokens'),
    )
    expect(value('gateway_cost_usd_total', { model: 'test-chat' })).toBeCloseTo(tokens('amount') / 1e9, 9)
    expect([...names].filter((name) => !/^(gateway|process)_[a-z_]+$/.test(name))).toEqual([])
    await gateway.close()
  })

  test('report the disk, the certificate and the newest backup, each if it exists', async () => {
    const fixture = (name: string) => join(import.meta.dir, `../fixtures/tls/${name}.pem`)
    const tls = { certFile: fixture('address'), keyFile: fixture('key') }
    const now = Date.UTC(2026, 10, 22, 9, 30)
    const gateway = await startTestGateway({
      outside: { now: () => now },
      config: { metrics: { port: 0 }, server: { tls }, backup: { every: '6h' } },
    })
    const backup = async () => (await scrape(gateway)).value('gateway_backup_newest_timestamp_seconds', {})
    await waitFor(async () => (await backup()) === now / 1000)
    const { value } = await scrape(gateway)
    expect(value('gateway_backup_interval_seconds', {})).toBe(6 * 3_600)
    const { bavail, bsize } = statfsSync(gateway.dataDir)
    const free = value('gateway_disk_free_bytes', {}) ?? 0
    expect(free / (bavail * bsize)).toBeWithin(0.5, 2)
    const { validTo } = new X509Certificate(readFileSync(tls.certFile))
    expect(value('gateway_certificate_expires_timestamp_seconds', {})).toBe(Date.parse(validTo) / 1000)
    await gateway.close()
    const bare = await startTestGateway({ config: { metrics: { port: 0 } } })
    const plain = await scrape(bare)
    for (const name of ['backup_interval', 'backup_newest_timestamp', 'certificate_expires_timestamp'])
      expect(plain.value(`gateway_${name}_seconds`, {})).toBeUndefined()
    expect(plain.value('gateway_disk_free_bytes', {})).toBeGreaterThan(0)
    await bare.close()
  })

  test('count the vendor that failed before another one of a route answered, and one that broke off', async () => {
    const broken = startVendor()
    broken.answer = () => new Response('{"error":{"message":"no"}}', { status: 500 })
    const gateway = await startTestGateway({
      upstreams: { broken: { kind: 'openai', baseUrl: broken.url, apiKey: null } },
      models: { bad: chatOn('broken'), both: { route: ['bad', 'test-chat'] } },
      config: { metrics: { port: 0 } },
    })
    expect((await gateway.chat({ model: 'both' })).status).toBe(200)
    const [row] = await gateway.requestLog()
    // A stream that breaks has begun with 200.
    const messages = [{ role: 'user', content: '[sandbox cut_after=3]' }]
    await (await gateway.chat({ stream: true, messages })).text()
    const { value } = await scrape(gateway)
    for (const [labels, times] of [
      [{ upstream: 'broken', outcome: 'failed' }, 1],
      [{ upstream: 'openai', outcome: 'answered' }, 1],
      [{ upstream: 'openai', outcome: 'failed' }, 1],
    ] as const)
      expect([labels, value('gateway_upstream_attempts_total', labels)]).toEqual([labels, times])
    expect(JSON.parse(String(row?.attempts))).toMatchObject([
      { model: 'bad', upstream: 'broken', status: 502, error: 'upstream_error' },
    ])
    await gateway.close()
    await broken.stop()
  })

  test('have the cost of pictures and speech at once, and that of a video when its task has ended', async () => {
    const clock = makeClock()
    const video = 'gkx-imagine-video'
    const gateway = await startTestGateway({
      balance: '100',
      models: { ...toolModels, [video]: videoModels[video] as ModelConfig },
      outside: { now: clock.now },
      config: { metrics: { port: 0 } },
    })
    const paid = async (model: string) =>
      (await scrape(gateway)).value('gateway_cost_usd_total', { model }) ?? 0
    const charged = async (model: string) => {
      const rows = (await gateway.charges()).filter((row) => row.model === model && row.state === 'settled')
      return rows.reduce((sum, row) => sum + Number(row.amount), 0) / 1e9
    }
    await (await gateway.post('/v1/audio/speech', { model: 'qnx3-tts-flash', input: 'Hello!' })).arrayBuffer()
    const prompt = 'a cat'
    expect(
      (await gateway.post('/v1/images/generations', { model: 'gkx-imagine-image', prompt })).status,
    ).toBe(200)
    for (const model of ['qnx3-tts-flash', 'gkx-imagine-image']) {
      expect(await paid(model)).toBeGreaterThan(0)
      expect(await paid(model)).toBeCloseTo(await charged(model), 9)
    }
    const submitted = await gateway.post('/v1/videos/generations', requestFor(video))
    const { id } = (await submitted.json()) as { id: string }
    expect(await paid(video)).toBe(0)
    expect((await endOf(gateway, clock, id)).status).toBe('succeeded')
    expect(await paid(video)).toBeGreaterThan(0)
    expect(await paid(video)).toBeCloseTo(await charged(video), 9)
    await gateway.close()
  })

  test('come in the requested form', async () => {
    const gateway = await startTestGateway({ config: { metrics: { port: 0 } } })
    const { metricsUrl = '' } = gateway.server
    const plain = await fetch(metricsUrl)
    expect(plain.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
    expect(await plain.text()).toContain('# TYPE gateway_requests_total counter')
    const open = await fetch(metricsUrl, {
      headers: { accept: 'application/openmetrics-text; version=1.0.0' },
    })
    expect(open.headers.get('content-type')).toStartWith('application/openmetrics-text; version=1.0.0')
    const text = await open.text()
    expect(text).toContain('# TYPE gateway_requests counter')
    expect(text).toEndWith('# EOF\n')
    // The next reader of the other form is not affected.
    expect(await (await fetch(metricsUrl)).text()).toContain('# TYPE gateway_requests_total counter')
    await gateway.close()
  })

  test('are read by nobody without being asked for, and next to the API with the token only', async () => {
    const closed = await startTestGateway()
    expect((await fetch(`${closed.url}/metrics`)).status).toBe(404)
    await closed.close()
    const gateway = await startTestGateway({ config: { metrics: { token: TOKEN } } })
    const statusWith = async (authorization?: string) =>
      (await fetch(`${gateway.url}/metrics`, authorization ? { headers: { authorization } } : {})).status
    expect(gateway.server.metricsUrl).toBeUndefined()
    expect(await statusWith()).toBe(401)
    expect(await statusWith(`Bearer ${TOKEN}x`)).toBe(401)
    expect(await statusWith(`Bearer ${gateway.secret}`)).toBe(401)
    expect(await statusWith(`Bearer ${TOKEN}`)).toBe(200)
    await gateway.close()
  })

  test('need a token where others can reach them', () => {
    const faultsWith = (metrics: object) =>
      faultsOf({ metrics, upstreams: {}, models: {} }).filter((fault) => fault.includes('metrics'))
    expect(faultsWith({ port: 9464 })).toEqual([])
    expect(faultsWith({ port: 9464, host: '::1' })).toEqual([])
    expect(faultsWith({ token: TOKEN })).toEqual([])
    expect(faultsWith({ port: 9464, host: '0.0.0.0', token: TOKEN })).toEqual([])
    expect(faultsWith({})).toHaveLength(1)
    expect(faultsWith({ port: 9464, host: '0.0.0.0' })).toHaveLength(1)
    expect(faultsWith({ token: 'short' })).toHaveLength(1)
  })
})

describe('series', () => {
  test('are bounded, whatever the labels say', () => {
    const counter = new Counter('x', 'x', ['label'])
    const histogram = new Histogram('y', 'y', [1], ['label'])
    for (let index = 0; index < 5_000; index++) {
      counter.of(`hostile ${index}`).value++
      histogram.of(`hostile ${index}`).observe(index)
    }
    const samples = counter.read()
    expect(samples.length).toBeLessThanOrEqual(1_001)
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(5_000)
    expect(samples.find(({ labels }) => labels.label === 'other')?.value).toBe(4_000)
    expect(histogram.read().length).toBeLessThanOrEqual(4 * 1_001)
  })

  test('of rows lose nothing beyond the bound', () => {
    const metrics = new RequestMetrics(() => 0)
    const rows = Array.from({ length: 6_000 }, (_none, index) => rowOf({ model: `model ${index}` }))
    metrics.fold(rows)
    metrics.fold(rows)
    const requests = metrics.all.find(({ name }) => name === 'gateway_requests_total')
    const samples = (requests?.read() ?? []) as MetricSample[]
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(12_000)
  })

  test('of keys at a limit forget a key after a minute', () => {
    let now = 0
    const metrics = new RequestMetrics(() => now)
    const refused = { status: 429, errorCode: 'Throttling.RateQuota', heldNano: null, sentMs: null }
    const keys = () => {
      const gauge = metrics.all.find(({ name }) => name === 'gateway_keys_at_limit')
      const samples = gauge?.read() as MetricSample[]
      return samples.find(({ labels }) => labels.limit === 'rate')?.value
    }
    metrics.fold([
      rowOf({ ...refused, keyId: 'one', at: 0 }),
      rowOf({ ...refused, keyId: 'two', at: 30_000 }),
    ])
    metrics.fold([rowOf({ ...refused, keyId: 'two', at: 30_000 })])
    expect(keys()).toBe(2)
    now = 60_001
    expect(keys()).toBe(1)
    now = 90_001
    expect(keys()).toBe(0)
  })
})

describe('health', () => {
  test('is ready while the database takes changes and a model can be served', async () => {
    const gateway = await startTestGateway()
    const look = async (path: string) => {
      const response = await fetch(`${gateway.url}/health${path}`)
      return { status: response.status, body: await response.json() }
    }
    expect(await look('/live')).toEqual({ status: 200, body: { status: 'ok' } })
    const checks = { database: 'ok', disk: 'ok', configuration: 'ok' }
    expect(await look('/ready')).toEqual({ status: 200, body: { status: 'ready', checks } })
    const { db } = gateway.server.world
    const { batch } = db
    db.batch = () => Promise.reject(new Error('secret detail'))
    let answer = await look('/ready')
    await waitFor(async () => {
      answer = await look('/ready')
      return answer.status === 503
    })
    expect(answer).toEqual({
      status: 503,
      body: { status: 'not ready', checks: { ...checks, database: 'takes no changes' } },
    })
    expect((await look('/live')).status).toBe(200)
    db.batch = batch
    await gateway.close()
  })

  // A file system of Linux that never has room.
  test.skipIf(process.platform !== 'linux')('is not ready on a disk without room, nor on none', async () => {
    const gateway = await startTestGateway()
    const { world } = gateway.server
    const postgres: Db = { ...world.db, kind: 'postgres' }
    const at = (dataDir: string) => createReadiness({ ...world, db: postgres, dataDir })()
    const checks = { database: 'ok', configuration: 'ok' }
    expect(await at('/proc')).toEqual({ isReady: false, checks: { ...checks, disk: 'nearly full' } })
    const missing = 'data directory or database file missing'
    expect(await at('/proc/none')).toEqual({ isReady: false, checks: { ...checks, disk: missing } })
    await gateway.close()
  })

  test('is not well once its database file or its data directory is gone', async () => {
    const gateway = await startTestGateway()
    const look = async () => {
      const response = await fetch(`${gateway.url}/health`)
      return { status: response.status, body: await response.json() }
    }
    expect(await look()).toEqual({ status: 200, body: { status: 'ok', ...program() } })
    renameSync(gateway.dataDir, `${gateway.dataDir}-away`)
    await waitFor(async () => (await look()).status === 503)
    const status = 'disk: data directory or database file missing'
    expect((await look()).body).toEqual({ status, ...program() })
    renameSync(`${gateway.dataDir}-away`, gateway.dataDir)
    await waitFor(async () => (await look()).status === 200)
    await gateway.close()
  })

  test('lets an orchestrator restart a process whose server has been replaced for five minutes', async () => {
    let isReplaced = false
    let now = 0
    const gateway = await startTestGateway({ outside: { monotonic: () => now } })
    gateway.server.world.db.isReplaced = () => isReplaced
    const look = async () => (await fetch(`${gateway.url}/health/live`)).status
    expect(await look()).toBe(200)
    isReplaced = true
    expect(await look()).toBe(200)
    now += 300_000
    expect(await look()).toBe(503)
    isReplaced = false
    expect(await look()).toBe(200)
    await gateway.close()
  })

  test('is not ready without a model that can be served', async () => {
    const gateway = await startTestGateway()
    gateway.server.world.prepare({ upstreams: {}, models: {} })()
    const look = async () => {
      const response = await fetch(`${gateway.url}/health/ready`)
      return { status: response.status, body: await response.json() }
    }
    const checks = { database: 'ok', disk: 'ok', configuration: 'no model can be served' }
    expect(await look()).toEqual({ status: 503, body: { status: 'not ready', checks } })
    await gateway.close()
  })
})

function rowOf(fields: Partial<RequestLogRow>): RequestLogRow {
  const row = newLogRow({ requestId: 'r', operation: { name: 'chat' } }, { now: () => 0, monotonic: () => 0 })
  return { ...row, status: 200, model: 'm', upstream: 'u', keyId: 'k', sentMs: 1, heldNano: 1, ...fields }
}

function chatOn(upstream: string) {
  return {
    family: 'openai-chat',
    upstream,
    price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
  }
}
