// Settings of any upstream: an operator's value reaches the vendor, is priced as if the caller had sent it, and is
// never shown.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { faultsOf } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

const KEY = 'sk-the-operators-own-key-0001'
const HEADER = 'header-secret-000002'
const PARAMETER = 'query-secret-000003'

// biome-ignore lint/suspicious/noExplicitAny: bodies of requests, which the tests read by path
type Json = any

interface Received {
  path: string
  headers: Headers
  body: Json
}

let vendor: OddVendor
let gateway: TestGateway
const received: Received[] = []
let fails: (path: string) => boolean = () => false

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

beforeAll(async () => {
  vendor = startVendor({
    async answer(request) {
      const { pathname, search } = new URL(request.url)
      const body = await request.json()
      received.push({ path: pathname + search, headers: request.headers, body })
      if (fails(pathname)) return Response.json({ error: { message: `${KEY} ${HEADER}` } }, { status: 503 })
      if (pathname.endsWith('/messages')) return Response.json(message())
      // Like a server that shows the request that it got.
      const shown = [...request.headers.values(), search].join(' ')
      return Response.json(completion(`said ${shown}`, 10, 5))
    },
  })
  const upstream = (more: Partial<UpstreamConfig>): UpstreamConfig => ({
    kind: 'openai',
    baseUrl: `${vendor.url}/v1`,
    apiKey: KEY,
    ...more,
  })
  const model = (upstreamName: string, family: string | string[] = 'openai-chat') => ({
    family,
    upstream: upstreamName,
    upstreamModel: 'vendor-model',
    price,
  })
  gateway = await startTestGateway({
    upstreams: {
      addressed: upstream({
        baseUrl: `${vendor.url}/v1?first=1`,
        headers: { 'X-Org-Token': HEADER, 'User-Agent': 'mine' },
        query: { 'api-version': '2026 10', token: PARAMETER },
      }),
      keyed: upstream({ auth: { header: 'X-Api-Key', scheme: '' } }),
      schemed: upstream({ auth: { scheme: 'Token' } }),
      messages: upstream({ kind: 'anthropic', auth: {}, forcedBody: { max_tokens: 50, service: 'own' } }),
      forced: upstream({
        defaultBody: { temperature: 0.25, house_style: 'plain' },
        forcedBody: { max_tokens: 100, top_p: 0.5, vendor_field: { deep: [1] } },
      }),
      other: upstream({ baseUrl: `${vendor.url}/other` }),
      alike: upstream({
        baseUrl: `${vendor.url}/alike`,
        defaultBody: { temperature: 0.25, house_style: 'plain' },
        forcedBody: { max_tokens: 100, top_p: 0.5, vendor_field: { deep: [1] } },
      }),
      counted: upstream({ forcedBody: { n: 3 } }),
    },
    models: {
      addressed: model('addressed'),
      keyed: model('keyed'),
      schemed: model('schemed'),
      messages: model('messages', 'anthropic-messages'),
      forced: model('forced'),
      other: model('other'),
      alike: model('alike'),
      counted: model('counted'),
      falls: { route: ['forced', 'other', 'alike'] },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})
beforeEach(() => {
  received.length = 0
  fails = () => false
})

function message() {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'vendor-model',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  }
}

const user = [{ role: 'user', content: 'Hello!' }]

async function ask(body: Record<string, unknown>, path = '/v1/chat/completions'): Promise<Response> {
  const response = await gateway.post(path, { messages: user, ...body })
  const text = await response.text()
  for (const secret of [KEY, HEADER, PARAMETER]) expect(text).not.toContain(secret)
  return new Response(text, response)
}

test('headers, parameters and the URL reach only the vendor', async () => {
  expect((await ask({ model: 'addressed' })).status).toBe(200)
  const [call] = received as [Received]
  expect(call.path).toBe(`/v1/chat/completions?first=1&api-version=2026+10&token=${PARAMETER}`)
  expect(call.headers.get('x-org-token')).toBe(HEADER)
  expect(call.headers.get('user-agent')).toBe('mine')
  expect(call.headers.get('authorization')).toBe(`Bearer ${KEY}`)
  expect(call.headers.get('content-type')).toBe('application/json')
  fails = () => true
  expect((await ask({ model: 'addressed' })).status).toBe(503)
  const shown = JSON.stringify([gateway.log, await gateway.requestLog()])
  for (const secret of [KEY, HEADER, PARAMETER]) expect(shown).not.toContain(secret)
})

test('the key is sent as the operator configures', async () => {
  await ask({ model: 'keyed' })
  expect(received[0]?.headers.get('x-api-key')).toBe(KEY)
  expect(received[0]?.headers.get('authorization')).toBeNull()
  await ask({ model: 'schemed' })
  expect(received[1]?.headers.get('authorization')).toBe(`Token ${KEY}`)
  await ask({ model: 'messages', max_tokens: 20 }, '/v1/messages')
  expect(received[2]?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
  expect(received[2]?.headers.get('x-api-key')).toBeNull()
  // What the kind sends besides its key stays.
  expect(received[2]?.headers.get('anthropic-version')).toBe('2023-06-01')
})

describe('fields of the operator', () => {
  test('are set whatever a request says, and otherwise where it says nothing', async () => {
    const sent = { model: 'forced', max_tokens: 9_000, max_completion_tokens: 8_000, top_p: 1, seed: 12 }
    expect((await ask(sent)).status).toBe(200)
    expect(received[0]?.body).toEqual({
      messages: user,
      model: 'vendor-model',
      max_tokens: 100,
      top_p: 0.5,
      seed: 12,
      temperature: 0.25,
      house_style: 'plain',
      vendor_field: { deep: [1] },
    })
    await ask({ model: 'forced', temperature: 1, house_style: 'loud', vendor_field: 0 })
    expect(received[1]?.body).toMatchObject({
      temperature: 1,
      house_style: 'loud',
      vendor_field: { deep: [1] },
    })
  })

  test('decide what is held', async () => {
    const held = async () => Number((await gateway.newestCharge())?.held)
    await ask({ model: 'forced', max_tokens: 100_000 })
    // 100 tokens of output at 2,000, and not 200 of input at 1,000.
    expect(await held()).toBeLessThan(400_000)
    expect(await held()).toBeGreaterThan(200_000)
    await ask({ model: 'counted', max_tokens: 100 })
    expect(received.at(-1)?.body.n).toBe(3)
    expect(await held()).toBeGreaterThan(600_000)
  })

  test('are checked as those of a caller', async () => {
    expect((await ask({ model: 'forced', max_tokens: 'many' })).status).toBe(200)
    expect((await ask({ model: 'forced', messages: 1 })).status).toBe(400)
  })

  test('reach a vendor whose API is translated, under the name that it knows', async () => {
    const answer = await ask({ model: 'messages', max_completion_tokens: 700 })
    expect(answer.status).toBe(200)
    expect(received[0]?.path).toBe('/v1/messages')
    expect(received[0]?.body).toMatchObject({ max_tokens: 50, service: 'own', model: 'vendor-model' })
  })

  test('take a translation away whose callers cannot be billed for them', async () => {
    // Three answers to a request for messages, which has one.
    const refused = await ask({ model: 'counted', max_tokens: 20 }, '/v1/messages')
    expect(refused.status).toBe(400)
    expect(received).toEqual([])
  })

  test('go to no upstream that does not set the same', async () => {
    fails = (path) => path.startsWith('/v1/')
    expect((await ask({ model: 'falls' })).status).toBe(200)
    expect(received.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/alike/chat/completions'])
    expect(received[1]?.body).toEqual(received[0]?.body)
  })
})

describe('the way to a vendor', () => {
  const fixture = (name: string) => join(import.meta.dir, `../fixtures/tls/${name}.pem`)

  test('an own authority and a client certificate are shown over TLS', async () => {
    const secure = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: {
        cert: readFileSync(fixture('certificate'), 'utf8'),
        key: readFileSync(fixture('key'), 'utf8'),
        ca: readFileSync(fixture('certificate'), 'utf8'),
        requestCert: true,
        rejectUnauthorized: true,
      },
      fetch: () => Response.json(completion('safe', 1, 1)),
    })
    const tls = { caFile: fixture('certificate'), certFile: fixture('certificate'), keyFile: fixture('key') }
    const model = (upstream: string) => ({ family: 'openai-chat', upstream, free: true as const })
    const upstream = (more: object) => ({
      kind: 'openai',
      baseUrl: `https://127.0.0.1:${secure.port}/v1`,
      apiKey: null,
      ...more,
    })
    const own = await startTestGateway({
      upstreams: {
        known: upstream({ tls }),
        stranger: upstream({ tls: { caFile: fixture('certificate') } }),
        doubter: upstream({}),
      },
      models: { known: model('known'), stranger: model('stranger'), doubter: model('doubter') },
    })
    const status = async (name: string) => (await own.chat({ model: name })).status
    expect([await status('known'), await status('stranger'), await status('doubter')]).toEqual([
      200, 502, 502,
    ])
    await own.close()
    await secure.stop(true)
  })

  test('a proxy of one upstream is used for that one only', async () => {
    const proxy = await startProxy()
    const address = `http://me:proxy-secret-4@127.0.0.1:${proxy.port}`
    const model = (upstream: string) => ({ family: 'openai-chat', upstream, free: true as const })
    const upstream = { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: KEY }
    const own = await startTestGateway({
      upstreams: { through: { ...upstream, proxy: address }, past: { ...upstream, proxy: null } },
      models: { through: model('through'), past: model('past') },
    })
    expect((await own.chat({ model: 'past' })).status).toBe(200)
    expect(proxy.heads).toEqual([])
    expect((await own.chat({ model: 'through' })).status).toBe(200)
    expect(proxy.heads.length).toBe(1)
    expect(proxy.heads[0]).toContain(`Basic ${btoa('me:proxy-secret-4')}`)
    proxy.server.close()
    await own.close()
    expect(JSON.stringify(own.log)).not.toContain('proxy-secret')
  })

  test('a key is read from a file, again with each reload', async () => {
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, `${KEY}\n`)
    const own = await startTestGateway({
      upstreams: { filed: { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKeyFile: file } },
      models: { filed: { family: 'openai-chat', upstream: 'filed', free: true } },
      readConfig: async () => ({ config: own.server.world.config }),
    })
    expect((await own.chat({ model: 'filed' })).status).toBe(200)
    expect(received[0]?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
    writeFileSync(file, 'sk-the-next-key-0002')
    expect(await own.server.reload('test')).toEqual({ changes: [] })
    expect((await own.chat({ model: 'filed' })).status).toBe(200)
    expect(received[1]?.headers.get('authorization')).toBe('Bearer sk-the-next-key-0002')
    await own.close()
  })
})

/** A proxy for plain HTTP, which records the heads of forwarded requests. */
async function startProxy(): Promise<{ server: Server; port: number; heads: string[] }> {
  const heads: string[] = []
  const server = createServer((caller: Socket) => {
    caller.once('data', (bytes) => {
      const text = bytes.toString('latin1')
      heads.push(text)
      const url = new URL(text.split(' ', 2)[1] as string)
      const target = connect(Number(url.port), url.hostname)
      target.write(text.replace(url.origin, ''))
      caller.pipe(target).pipe(caller)
    })
    caller.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as { port: number }).port, heads }
}

test.each([
  [{ headers: { 'content-length': '3' } }, 'headers.content-length: the gateway sets this header itself'],
  [{ headers: { 'a b': '3' } }, 'headers.a b: not the name of a header'],
  [
    { forcedBody: { model: 'x' } },
    'forcedBody.model: cannot be set here: it is the upstreamModel of a model',
  ],
  [
    { defaultBody: { stream: true } },
    'defaultBody.stream: cannot be set here: the caller decides how the answer is sent',
  ],
  [
    { omittedFields: ['max_tokens'] },
    'omittedFields: the vendor needs "max_tokens"; name only fields that can be left out',
  ],
  [{ tls: { certFile: '/no/such.pem' } }, 'tls.certFile: /no/such.pem cannot be read (ENOENT)'],
  [{ apiKeyFile: '/no/key' }, 'apiKeyFile: give one of apiKey, apiKeyFile and credentials'],
  [{ proxy: 'http://' }, 'proxy: not an address such as "http://proxy.example.com:3128"'],
] as const)('%j is a fault', (settings, fault) => {
  const config = { upstreams: { one: { kind: 'openai', apiKey: KEY, ...settings } }, models: {} }
  const faults = faultsOf(config)
  expect(faults).toContain(`upstreams.one.${fault}`)
  expect(faults.join()).not.toContain(KEY)
})

test('a header that breaks its line is a fault that does not quote it', () => {
  const headers = { 'x-secret': `${HEADER}\r\nx: y` }
  const faults = faultsOf({ upstreams: { one: { kind: 'openai', apiKey: KEY, headers } }, models: {} })
  expect(faults.length).toBe(1)
  expect(faults.join()).not.toContain(HEADER)
})
