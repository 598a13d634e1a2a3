// Models listed by an operator's own server: they are served free, in addition to those in the configuration, until the server no
// longer lists them.

import { afterAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { faultsOf } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { completion } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

let names: string[] = []
let isAway = false
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (isAway) return new Response('starting', { status: 503 })
    if (pathname === '/api/tags')
      return Response.json({ models: names.map((name) => ({ name, model: name })) })
    const { model } = (await request.json()) as { model: string }
    if (pathname !== '/api/show') return Response.json(completion(`I am ${model}`, 5, 3))
    const info = { 'general.architecture': 'llama', 'llama.context_length': 4_096 }
    const capabilities = model.startsWith('embed') ? ['embedding'] : ['completion', 'vision']
    return Response.json({ capabilities, model_info: info })
  },
})
afterAll(() => server.stop(true))
beforeEach(() => {
  names = ['Llama3:8b', 'embed:latest', 'odd*name']
  isAway = false
})

const home = (more: Partial<UpstreamConfig> = {}): UpstreamConfig => ({
  kind: 'ollama',
  baseUrl: `http://127.0.0.1:${server.port}`,
  discover: true,
  ...more,
})

async function idsOf(gateway: TestGateway): Promise<string[]> {
  const headers = { authorization: `Bearer ${gateway.secret}` }
  const response = await fetch(`${gateway.url}/v1/models`, { headers })
  const { data } = (await response.json()) as { data: { id: string }[] }
  return data.map(({ id }) => id).filter((id) => id.startsWith('home/') || id.startsWith('local/'))
}

test('models appear and disappear with the server, and stay while it is unreachable', async () => {
  const gateway = await startTestGateway({ upstreams: { home: home() } })
  const ids = () => idsOf(gateway)
  await waitFor(async () => (await ids()).length > 0)
  expect(await ids()).toEqual(['home/llama3:8b'])
  const answer = await gateway.chat({ model: 'home/llama3:8b', messages: say('hi') })
  expect(((await answer.json()) as { choices: [{ message: object }] }).choices[0].message).toMatchObject({
    content: 'I am Llama3:8b',
  })
  expect(Number((await gateway.newestCharge())?.amount)).toBe(0)
  const [model] = gateway.server.world.catalogue.models.get('home/llama3:8b') ?? []
  expect(model).toMatchObject({ contextTokens: 4_096, inputModalities: ['image'] })
  // The written configuration is not changed by what is found.
  expect(gateway.server.world.config.models).not.toHaveProperty('home/llama3:8b')
  expect(gateway.server.world.offered.models).toHaveProperty('home/llama3:8b')

  const before = gateway.server.world.catalogue.upstreams.get('home')
  names = ['Llama3:8b', 'qwen3:4b']
  await gateway.server.reload('test')
  await waitFor(async () => (await ids()).length === 2)
  // The connections and the breaker of the server continue.
  expect(gateway.server.world.catalogue.upstreams.get('home')).toBe(before as NonNullable<typeof before>)

  isAway = true
  await gateway.server.reload('test')
  await waitFor(() => gateway.log.some(({ event }) => event === 'models_not_discovered'))
  expect(await ids()).toEqual(['home/llama3:8b', 'home/qwen3:4b'])
  isAway = false
  names = []
  await gateway.server.reload('test')
  await waitFor(async () => (await ids()).length === 0)
  await gateway.close()
})

test('configured names take precedence, a prefix can be set, and a reload can end discovery', async () => {
  names = ['Llama3:8b', 'qwen3:4b']
  let upstreams: Record<string, UpstreamConfig> = { home: home({ discover: 'local/*' }) }
  const own = { family: 'openai-chat', upstream: 'home', upstreamModel: 'mine', free: true as const }
  const gateway: TestGateway = await startTestGateway({
    upstreams,
    models: { 'local/llama3:8b': own },
    readConfig: async () => ({ config: { ...gateway.server.world.config, upstreams } }),
  })
  await waitFor(async () => (await idsOf(gateway)).length === 2)
  const answer = await gateway.chat({ model: 'local/llama3:8b', messages: say('hi') })
  expect(await answer.text()).toContain('I am mine')
  upstreams = { ...gateway.server.world.config.upstreams, home: home({ discover: false }) }
  await gateway.server.reload('test')
  expect(await idsOf(gateway)).toEqual(['local/llama3:8b'])
  await gateway.close()
})

test('discovery is refused for a server with prices', () => {
  const upstreams = { other: { kind: 'openrouter', apiKey: 'x', discover: true } }
  expect(faultsOf({ upstreams, models: {} }).join()).toContain('upstreams.other.discover: only for a kind')
})
