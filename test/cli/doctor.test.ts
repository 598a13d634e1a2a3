// `gateway doctor` and `gateway health`: every problem is found with its place and a remedy, and the health check queries the
// running server.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { examineCertificate, examineClock, examineFiles } from '../../cli/doctor/machine'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { migrate } from '../../src/db/migrations'
import { openAddress, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { createCommandLine } from '../support/processes/command-line'
import { freePort } from '../support/processes/free-port'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const { call } = createCommandLine(folder, dataDir)
let vendor: { url: string; stop(): Promise<void> | void }

beforeAll(async () => {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () =>
      Response.json({ object: 'list', data: [] }, { headers: { date: new Date(0).toUTCString() } }),
  })
  vendor = { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
  mkdirSync(dataDir, { mode: 0o700 })
})
afterAll(() => vendor.stop())

/** Runs the doctor on a configuration, and returns its findings by check. */
async function examine(
  config: object,
): Promise<{ code: number; ok: boolean; findings: Record<string, Json> }> {
  const file = join(folder, 'gateway.config.json')
  writeFileSync(file, JSON.stringify(config))
  const { code, stdout } = await call(['doctor', '--json', '--data-dir', dataDir])
  const { ok, findings } = JSON.parse(stdout)
  return { code, ok, findings: Object.fromEntries(findings.map((each: Json) => [each.check, each])) }
}

const models = { m: { family: 'openai-chat', upstream: 'near', free: true } }

describe('gateway doctor', () => {
  test('finds each problem, with a remedy, and fails', async () => {
    const config = {
      server: { port: Number(new URL(vendor.url).port) },
      database: `postgres://gateway:the-password@127.0.0.1:${await freePort()}/gateway`,
      upstreams: {
        near: { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: null },
        short: { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: 'k' },
        gone: { kind: 'openai', baseUrl: `http://127.0.0.1:${await freePort()}/v1`, apiKey: 'the-secret' },
      },
      models,
    }
    chmodSync(dataDir, 0o755)
    const { code, ok, findings } = await examine(config)
    chmodSync(dataDir, 0o700)
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    const states = Object.fromEntries(Object.entries(findings).map(([check, { state }]) => [check, state]))
    expect(states).toMatchObject({
      configuration: 'ok',
      database: 'broken',
      server: 'broken',
      'upstream near': 'ok',
      'upstream gone': 'broken',
      // The vendor says that it is 1970.
      clock: 'broken',
      permissions: 'warning',
      log: 'ok',
    })
    expect(findings['upstream near']?.found).not.toContain('masked')
    expect(findings['upstream short']?.found).toContain('it is not masked in answers and logs')
    for (const { state, cure } of Object.values(findings)) {
      if (state === 'ok') expect(cure).toBeNull()
      else expect(cure).toMatch(/\w/)
    }
    expect(findings.server).toMatchObject({ cure: expect.stringContaining('server.port') })
    expect(findings.permissions).toMatchObject({ cure: expect.stringContaining('chmod 700') })
    expect(JSON.stringify(findings)).not.toMatch(/the-password|the-secret/)
  })

  test('reports how many errors the configuration has, and still checks the machine', async () => {
    const { code, findings } = await examine({ upstreams: {}, models: { m: {} }, aliases: { 'a*b': 'm' } })
    expect(code).toBe(1)
    expect(findings.configuration).toMatchObject({
      state: 'broken',
      found: expect.stringMatching(/and \d more/),
    })
    expect(Object.keys(findings)).toContain('disk')
  })

  test('passes if the gateway can serve', async () => {
    const config = {
      server: { port: await freePort() },
      upstreams: { near: { kind: 'openai', baseUrl: `http://127.0.0.1:1/v1` } },
      models,
    }
    writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify(config))
    const { code, stderr, stdout } = await call(['doctor', '--sandbox', '--data-dir', dataDir])
    expect({ code, stderr, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 of 1 models'),
    })
  })

  test('reports if a vendor advises another host', async () => {
    const found = async (settings: object) => {
      const upstreams = { near: { kind: 'dashscope', ...settings } }
      const config = { server: { port: await freePort() }, upstreams, models }
      writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify(config))
      const { stdout } = await call(['doctor', '--sandbox', '--json', '--data-dir', dataDir])
      const { findings } = JSON.parse(stdout) as { findings: Json[] }
      return findings.find(({ check }) => check === 'upstream near')
    }
    expect(await found({})).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('not proved; a host that all workspaces share'),
    })
    expect((await found({ project: 'llm-abc1' })).found).not.toContain('share')
  })

  test('reports clocks, limits of files and certificates', () => {
    const clock = (offMs: number) => examineClock([{ name: 'x', oursMs: 1e12 + offMs, theirsMs: 1e12 }])
    expect([0, 6_000, -61_000].map((offMs) => clock(offMs).state)).toEqual(['ok', 'warning', 'broken'])
    expect(clock(-61_000).found).toBe('61 s behind x')
    expect([1_000, 4_096, 65_536].map((limit) => examineFiles(limit).state)).toEqual([
      'broken',
      'warning',
      'ok',
    ])
    const missing = { server: { tls: { certFile: '/missing.pem', keyFile: '/missing.key' } } }
    expect(examineCertificate({ upstreams: {}, models: {}, ...missing }, 0)).toMatchObject({
      state: 'broken',
    })
  })
})

describe('gateway health', () => {
  test('calls the configured address, and fails if nothing listens there', async () => {
    const port = await freePort()
    const env = { GATEWAY_PORT: String(port), HTTP_PROXY: 'http://127.0.0.1:1' }
    writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify({ upstreams: {}, models: {} }))
    const { code, stdout, stderr } = await call(['health', '--json', '--data-dir', dataDir], { env })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `http://127.0.0.1:${port}/health: nothing listens there.\n`,
    })
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, status: null })
  })

  test('says why a gateway is not ready', async () => {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) =>
        url.endsWith('/health/ready')
          ? Response.json(
              { status: 'not ready', checks: { database: 'ok', disk: 'nearly full' } },
              { status: 503 },
            )
          : Response.json({ status: 'ok' }),
    })
    const url = `http://127.0.0.1:${server.port}`
    expect(await call(['health', '--url', url])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(': ok'),
    })
    expect(await call(['health', '--ready', '--url', `${url}/`])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${url}/health/ready: not ready; disk: nearly full.\n`,
    })
    await server.stop(true)
  })
})

describe('gateway doctor --on', () => {
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '1' }
  const config = {
    upstreams: { near: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null } },
    models: {
      early: { family: 'openai-chat', upstream: 'near', price, retires: '2030-01-01', successor: 'late' },
      late: { family: 'openai-chat', upstream: 'near', price, retires: '2030-02-01', successor: 'nobody' },
      staying: { family: 'openai-chat', upstream: 'near', price },
    },
  }
  const ending = async (day: string) => {
    writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify(config))
    return call(['doctor', '--on', day, '--json', '--data-dir', dataDir])
  }

  test('lists models that end by that day, with their replacements', async () => {
    const { code, stdout } = await ending('2030-01-31')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual([
      {
        model: 'early',
        retires: '2030-01-01',
        hands_over: false,
        successor: 'late',
        successor_model: 'late',
        successor_price: price,
        requests_30d: 0,
        paid_30d_usd: '0.00',
        accounts_30d: [],
        successor_paid_30d_usd: '0.00',
        not_priced_30d: 0,
      },
    ])
    expect(JSON.parse((await ending('2029-12-31')).stdout)).toEqual([])
    const last = JSON.parse((await ending('2030-02-01')).stdout)
    expect(last.map(({ model, successor_model }: Json) => [model, successor_model])).toEqual([
      ['early', 'late'],
      ['late', null],
    ])
  })

  test('shows who used it in 30 days, and what that use costs at the successor', async () => {
    await migrate(openAddress(join(dataDir, 'gateway.sqlite')))
    const db = openAddress(join(dataDir, 'gateway.sqlite'))
    const endedAt = Date.now() - 86_400_000
    for (const [account, tokens] of [
      ['ann', 1_000],
      ['bob', 500],
    ] as const) {
      await addCredit(db, { id: account, account, amountNano: 10 ** 9, now: endedAt, note: null })
      const pricesJson = JSON.stringify([{ pico: { input_token: 1_000_000, output_token: 1_000_000 } }])
      const priceNano = tokens * 1_000
      const charge = makeCharge(priceNano, { account, model: 'old', createdAt: endedAt, pricesJson })
      await hold(db, charge)
      const usageJson = JSON.stringify({ prompt_tokens: tokens - 100, completion_tokens: 100 })
      await settle(db, charge, makeSettlement(priceNano, { endedAt, usageJson }))
    }
    await db.close()
    const dear = { per_1m_input_tokens: '1', per_1m_output_tokens: '6' }
    const old = { family: 'openai-chat', upstream: 'near', price, retires: '2029-01-01', successor: 'dear' }
    config.models = {
      ...config.models,
      old,
      dear: { family: 'openai-chat', upstream: 'near', price: dear },
    } as never
    const { stdout } = await ending('2029-01-01')
    expect(JSON.parse(stdout)).toMatchObject([
      {
        model: 'old',
        requests_30d: 2,
        paid_30d_usd: '0.0015',
        accounts_30d: ['ann', 'bob'],
        successor_model: 'dear',
        successor_paid_30d_usd: '0.0025',
        not_priced_30d: 0,
      },
    ])
    const shown = await call(['doctor', '--on', '2029-01-01', '--data-dir', dataDir])
    expect(shown.stdout).toMatch(/old +2029-01-01 +2 +0\.0015 +0\.0025 +dear/)
    expect(shown.stdout).toContain('used by ann, bob')
  })

  test('rejects a text that is not a day', async () => {
    const { code, stderr } = await ending('soon')
    expect(code).toBe(1)
    expect(stderr).toContain('--on: "soon" is not a day such as 2026-12-11.')
  })
})
