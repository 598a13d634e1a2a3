// A configuration is reloaded while requests run: they keep the configuration of their admission, later requests get the new one,
// and a configuration with faults changes nothing.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { listAudit } from '../../src/admin/audit-trail'
import { randomBytes } from '../../src/app/world'
import type { Config, ModelConfig } from '../../src/config/schema'
import { BREAKER_FAILURES } from '../../src/upstreams/breaker'
import { say, startTestGateway, type TestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'

setDefaultTimeout(60_000)

type Edit = (config: Config) => Config

/** A gateway whose configuration a test edits and reloads. */
async function start(options: TestGatewayOptions = {}) {
  let written: Config | undefined
  let faults: string[] = []
  const gateway = await startTestGateway({
    ...options,
    readConfig: async () =>
      faults.length > 0 ? { faults } : { config: written ?? gateway.server.world.config },
  })
  const reload = (edit: Edit) => {
    written = edit(gateway.server.world.config)
    return gateway.server.reload('test')
  }
  const fail = (...reasons: string[]) => {
    faults = reasons
  }
  return { gateway, reload, fail }
}

const withModel =
  (id: string, model: Partial<ModelConfig>): Edit =>
  (config) => ({
    ...config,
    models: { ...config.models, [id]: { ...config.models[id], ...model } as ModelConfig },
  })

const withoutModel =
  (id: string): Edit =>
  (config) => ({
    ...config,
    models: Object.fromEntries(Object.entries(config.models).filter(([name]) => name !== id)),
  })

const withServer =
  (server: Config['server']): Edit =>
  (config) => ({ ...config, server: { ...config.server, ...server } })

const dear = { price: { per_1m_input_tokens: '10.00', per_1m_output_tokens: '20.00' } }

async function paidBy(gateway: TestGateway, response: Response): Promise<number> {
  await response.text()
  const id = response.headers.get('x-request-id') ?? ''
  await waitFor(async () => (await gateway.charges()).some((row) => row.id === id && row.state !== 'held'))
  return Number((await gateway.charge(id))?.amount)
}

test('a running stream pays the prices of its admission and ends, though its model is gone; the next request gets the new ones', async () => {
  const { gateway, reload } = await start({ tokenDelayMs: 20 })
  const first = await gateway.chat({ stream: true, messages: say('[sandbox tokens=20] Hello!') })
  await reload(withModel('test-chat', dear))
  const second = await gateway.chat({ stream: true, messages: say('[sandbox tokens=20] Hello!') })
  await reload(withoutModel('test-chat'))
  expect((await gateway.chat()).status).toBe(400)
  const [cheap, expensive] = await Promise.all([paidBy(gateway, first), paidBy(gateway, second)])
  expect(cheap).toBeGreaterThan(0)
  expect(expensive).toBe(10 * cheap)
  await gateway.close()
})

test('a configuration with faults, or one that cannot be put in force, changes nothing and says why', async () => {
  const { gateway, reload, fail } = await start()
  const taken = await freePort()
  const other = Bun.serve({ hostname: '127.0.0.1', port: taken, fetch: () => new Response() })
  const before = gateway.server.world.catalogue
  const refused = await reload((config) => withServer({ port: taken })(withModel('test-chat', dear)(config)))
  expect(refused).toHaveProperty('faults')
  await other.stop()
  fail('models.x.price: missing')
  expect(await gateway.server.reload('test')).toEqual({ faults: ['models.x.price: missing'] })
  expect(gateway.server.world.catalogue).toBe(before)
  expect((await gateway.chat()).status).toBe(200)
  expect(gateway.log.filter(({ event }) => event === 'config_not_reloaded')).toHaveLength(2)
  await gateway.close()
})

test('an admin who reloads is in the audit trail, and in the log where the configuration has faults: then nothing has changed', async () => {
  const { gateway, fail } = await start()
  const { db } = gateway.server.world
  const token = makeToken(randomBytes)
  await createAdmin(db, { id: 'adm_1', name: 'ada', role: 'owner', token, expiresAt: null, createdAt: 1 })
  const reload = async () => {
    const headers = { authorization: `Bearer ${token}` }
    const url = `${gateway.url}/admin/v1/configuration/reload`
    return (await fetch(url, { method: 'POST', headers })).json()
  }
  fail('models.x.price: missing')
  expect(await reload()).toEqual({ ok: false, faults: ['models.x.price: missing'], changes: [] })
  expect(gateway.log.at(-1)).toMatchObject({ event: 'config_not_reloaded', fields: { cause: 'admin ada' } })
  expect(await listAudit(db, { limit: 10 })).toEqual([])
  fail()
  expect(await reload()).toEqual({ ok: true, faults: [], changes: [] })
  expect(await listAudit(db, { limit: 10 })).toMatchObject([
    { actor: 'ada', action: 'configuration.reload', after: { changes: [] } },
  ])
  await gateway.close()
})

test('an upstream keeps its breaker and connections unless its settings change', async () => {
  const dead = { kind: 'openai', apiKey: 'none', baseUrl: `http://127.0.0.1:${await freePort()}/v1` }
  const { gateway, reload } = await start({
    upstreams: { dead },
    models: {
      'test-dead': {
        family: 'openai-chat',
        upstream: 'dead',
        upstreamModel: 'gpt-5-mini',
        price: dear.price,
      },
    },
  })
  const ask = async () =>
    (await gateway.chat({ model: 'test-dead' })).json() as Promise<{ error: { code: string } }>
  for (let failures = 0; failures < BREAKER_FAILURES; failures++) await ask()
  const open = (await ask()).error.code
  const before = new Map(gateway.server.world.catalogue.upstreams)
  await reload(withModel('test-chat', dear))
  expect(new Map(gateway.server.world.catalogue.upstreams)).toEqual(before)
  expect((await ask()).error.code).toBe(open)
  const { baseUrl, apiKey } = gateway.server.world.config.upstreams.openai ?? {}
  await reload((config) => ({
    ...config,
    upstreams: {
      ...config.upstreams,
      dead: { ...dead, ...(baseUrl && { baseUrl }), ...(apiKey && { apiKey }) },
    },
  }))
  expect((await gateway.chat({ model: 'test-dead' })).status).toBe(200)
  expect(gateway.server.world.catalogue.upstreams.get('openai')).toBe(before.get('openai') as never)
  await gateway.close()
})

test('a setting read only at the start is named, and does not change', async () => {
  const { gateway, reload } = await start()
  const reloaded = await reload((config) => ({
    ...config,
    limitToBalance: true,
    database: 'postgres://gateway:secret@db/gateway',
    secrets: { key: 'a'.repeat(64) },
    artifacts: { keep: '1d' },
  }))
  expect(reloaded).toEqual({
    changes: [
      { setting: 'limitToBalance', kind: 'added', before: null, after: 'true', needsRestart: false },
      { setting: 'database', kind: 'added', before: null, after: null, needsRestart: true },
      { setting: 'secrets', kind: 'added', before: null, after: null, needsRestart: true },
      { setting: 'artifacts', kind: 'added', before: null, after: null, needsRestart: true },
    ],
  } as never)
  const { config } = gateway.server.world
  expect(config).toMatchObject({ limitToBalance: true })
  expect(Object.keys(config)).not.toContain('database')
  expect(JSON.stringify(gateway.log)).not.toContain('secret@')
  await gateway.close()
})

describe('every setting that a request reads is in force for the next request', () => {
  const get = (gateway: TestGateway, path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${gateway.secret}`, ...headers } })
  const page = { origin: 'https://app.example.com' }
  const isAllowed = async (gateway: TestGateway) =>
    (await get(gateway, '/v1/models', page)).headers.get('access-control-allow-origin')
  const listed = async (gateway: TestGateway, path: string, id: string) =>
    (await (await get(gateway, path)).text()).includes(`"${id}"`)
  const rows: [
    name: string,
    edit: Edit,
    look: (gateway: TestGateway) => Promise<unknown>,
    before: unknown,
    after: unknown,
  ][] = [
    [
      'a model in the list',
      withModel('new-model', { family: 'openai-chat', upstream: 'openai', ...dear }),
      (gateway) => listed(gateway, '/v1/models', 'new-model'),
      false,
      true,
    ],
    [
      'a model in the API documentation',
      withModel('new-model', { family: 'openai-chat', upstream: 'openai', ...dear }),
      (gateway) => listed(gateway, '/openapi.json', 'new-model'),
      false,
      true,
    ],
    [
      'a card of a model',
      withModel('test-chat', { contextTokens: 4321 }),
      async (gateway) =>
        ((await (await get(gateway, '/v1/models/test-chat')).json()) as { context_length?: number })
          .context_length === 4321,
      false,
      true,
    ],
    [
      'an alias',
      (config) => ({ ...config, aliases: { quick: 'test-chat' } }),
      async (gateway) => (await gateway.chat({ model: 'quick' })).status,
      400,
      200,
    ],
    [
      'realNames',
      (config) => ({ ...config, realNames: false }),
      async (gateway) => (await gateway.chat({ model: 'grok-4.3' })).status,
      200,
      400,
    ],
    ['server.corsOrigins', withServer({ corsOrigins: [] }), isAllowed, '*', null],
    [
      'server.maxBodyBytes',
      withServer({ maxBodyBytes: { chat: 10 } }),
      async (gateway) => (await gateway.chat()).status,
      200,
      413,
    ],
    [
      'server.acceptXApiKey',
      withServer({ acceptXApiKey: true }),
      async (gateway) =>
        (await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': gateway.secret } })).status,
      401,
      200,
    ],
    [
      'server.acceptKeyInAddress',
      withServer({ acceptKeyInAddress: true }),
      async (gateway) => (await fetch(`${gateway.url}/v1beta/models?key=${gateway.secret}`)).status,
      401,
      200,
    ],
    [
      'server.allowedOrigins',
      withServer({ allowedOrigins: [page.origin] }),
      async (gateway) => (await fetch(`${gateway.url}/mcp`, { method: 'OPTIONS', headers: page })).status,
      403,
      204,
    ],
    [
      'responses.keep',
      (config) => ({ ...config, responses: { keep: 'off' } }),
      async (gateway) => (await gateway.post('/v1/conversations', {})).status,
      200,
      400,
    ],
  ]
  for (const [name, edit, look, before, after] of rows) {
    test(name, async () => {
      const { gateway, reload } = await start()
      expect(await look(gateway)).toEqual(before)
      await reload(edit)
      expect(await look(gateway)).toEqual(after)
      await gateway.close()
    })
  }

  test('server.maxRequestsPerKey', async () => {
    const { gateway, reload } = await start({ tokenDelayMs: 50 })
    const running = await gateway.chat({ stream: true, messages: say('[sandbox tokens=40] Hello!') })
    await reload(withServer({ maxRequestsPerKey: 1 }))
    expect((await gateway.chat()).status).toBe(429)
    await running.text()
    expect((await gateway.chat()).status).toBe(200)
    await gateway.close()
  })

  test('server.port: connections move, running answers end where they began', async () => {
    const { gateway, reload } = await start({ tokenDelayMs: 20 })
    const { url } = gateway.server
    const running = await gateway.chat({ stream: true, messages: say('[sandbox tokens=20] Hello!') })
    const port = await freePort()
    await reload(withServer({ port }))
    expect(gateway.server.url).toBe(`http://127.0.0.1:${port}`)
    expect((await fetch(`${gateway.server.url}/health`)).status).toBe(200)
    expect(await running.text()).toContain('[DONE]')
    await waitFor(() =>
      fetch(`${url}/health`).then(
        () => false,
        () => true,
      ),
    )
    await gateway.close()
  })
})

test('the tasks of an upstream that a reload brings are followed', async () => {
  const { gateway, reload } = await start()
  const { dashscope } = gateway.server.world.config.upstreams
  if (!dashscope) throw new Error('no upstream of videos')
  await reload((config) => ({
    ...config,
    upstreams: { ...config.upstreams, films: dashscope },
    models: {
      ...config.models,
      'new-video': { ...(config.models['vidw2.6-t2v'] as ModelConfig), upstream: 'films' },
    },
  }))
  const submitted = await gateway.post('/v1/videos/generations?wait=true', {
    model: 'new-video',
    input: { prompt: 'A cat' },
  })
  expect(await submitted.json()).toMatchObject({ status: 'succeeded' })
  await gateway.close()
})
