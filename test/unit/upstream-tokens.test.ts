// Tokens obtained by exchanging a key: one exchange for all waiting requests, none while a token is valid, a new one
// before it expires and after it is revoked, and no key in the message of a failure.

import { afterAll, beforeEach, expect, test } from 'bun:test'
import { startSandbox } from '../../sandbox'
import { takeTokensBack } from '../../sandbox/vertex/tokens'
import type { TokenExchange } from '../../src/contract/upstream'
import { directTransport } from '../../src/http-client/origin'
import { vertex } from '../../src/upstreams/kinds/vertex'
import { exchanged, NoToken, Tokens } from '../../src/upstreams/tokens'
import { type UpstreamKey, UpstreamKeys } from '../../src/upstreams/upstream-keys'
import { say, startTestGateway, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import { completion, startVendor } from '../support/vendors/vendor'

const sandbox = startSandbox({ record: true })
afterAll(() => sandbox.stop())

const exchange = vertex.exchange as TokenExchange
let now = 0
const exchanges = () => sandbox.calls.filter(({ path }) => path === '/token').length

beforeEach(() => {
  sandbox.calls.length = 0
})

function open(secret: string): { tokens: Tokens; key: UpstreamKey } {
  const parts = {
    transport: directTransport,
    options: {},
    wall: () => Date.now(),
    monotonic: () => now,
    hide() {},
  }
  return {
    tokens: new Tokens(exchanged(exchange, parts), parts),
    key: new UpstreamKeys([secret], () => now).choose(undefined).key,
  }
}

test('one exchange serves all waiting requests, until shortly before its token expires', async () => {
  const { tokens, key } = open(sandbox.secrets.vertex)
  const all = await Promise.all(Array.from({ length: 20 }, () => tokens.of(key)))
  expect(new Set(all).size).toBe(1)
  now += 3_000_000
  expect(tokens.of(key)).toBe(all[0] as string)
  expect(exchanges()).toBe(1)
  // Shortly before it expires, the old token is still used while a new one is requested.
  now += 310_000
  expect(tokens.of(key)).toBe(all[0] as string)
  await waitFor(() => tokens.of(key) !== all[0])
  expect(exchanges()).toBe(2)
  // After it has expired, the old token is not used.
  now += 3_600_000
  const last = await tokens.of(key)
  expect(all).not.toContain(last)
  expect(exchanges()).toBe(3)
})

test('a failed exchange reports its reason without the key, and is repeated', async () => {
  const account = JSON.parse(sandbox.secrets.vertex)
  const { tokens, key } = open(JSON.stringify({ ...account, client_email: 'other@example.com' }))
  for (const _ of [1, 2]) {
    const error = (await Promise.resolve(tokens.of(key)).catch((reason) => reason)) as Error
    expect(error).toBeInstanceOf(NoToken)
    expect(error.message).toContain('Invalid JWT: wrong issuer or audience')
    expect(error.message).not.toContain('PRIVATE KEY')
  }
  expect(exchanges()).toBe(2)
  for (const secret of ['{"type":"service_account"}', JSON.stringify({ ...account, private_key: 'none' })]) {
    const other = open(secret)
    expect(await rejection(Promise.resolve(other.tokens.of(other.key)))).toBeInstanceOf(NoToken)
  }
  const nowhere = open(JSON.stringify({ ...account, token_uri: 'http://127.0.0.1:9/token' }))
  expect(await rejection(Promise.resolve(nowhere.tokens.of(nowhere.key)))).toBeInstanceOf(NoToken)
})

test('a key that is a token is sent unchanged', async () => {
  const { tokens, key } = open('ya29.given')
  expect(await tokens.of(key)).toBe('ya29.given')
  expect(exchanges()).toBe(0)
})

test('a revoked token is replaced once, and a refused key is reported as the operator’s problem', async () => {
  const account = JSON.parse(sandbox.secrets.vertex)
  const model = (upstream: string) => ({
    family: ['openai-chat', 'anthropic-messages'],
    upstream,
    upstreamModel: 'google/gemini-2.5-flash',
    free: true as const,
  })
  const gateway = await startTestGateway({
    sandbox,
    upstreams: {
      broken: {
        kind: 'vertex',
        baseUrl: sandbox.baseUrls.vertex,
        apiKey: JSON.stringify({ ...account, client_email: 'other@example.com' }),
      },
    },
    models: {
      gemini: model('vertex'),
      broken: model('broken'),
      claude: {
        ...model('vertex'),
        family: 'anthropic-messages',
        upstreamModel: 'claude-sonnet-4-5@20250929',
      },
    },
  })
  const ask = (name: string) => gateway.chat({ model: name, messages: say('hi') })
  expect([(await ask('gemini')).status, (await ask('gemini')).status, exchanges()]).toEqual([200, 200, 1])
  takeTokensBack()
  expect([(await ask('gemini')).status, exchanges()]).toEqual([200, 2])
  const refused = await ask('broken')
  expect(refused.status).toBe(503)
  const shown = JSON.stringify([gateway.log, await refused.json()])
  expect(shown).toContain('wrong issuer or audience')
  expect(shown).not.toContain('PRIVATE KEY')
  const counted = await gateway.post('/v1/messages/count_tokens', { model: 'claude', messages: say('hi') })
  expect(counted.status).toBe(200)
  expect(sandbox.calls.at(-1)?.path).toEndWith('/publishers/anthropic/models/count-tokens:rawPredict')
  await gateway.close()
})

test('a token that the vendor repeats in an answer is never shown', async () => {
  const token = 'ya29.a-token-of-the-operator-0001'
  const vendor = startVendor({
    async answer(request) {
      if (new URL(request.url).pathname === '/token')
        return Response.json({ access_token: token, expires_in: 3_600 })
      return Response.json(completion(`I was sent ${request.headers.get('authorization')}`, 1, 1))
    },
  })
  const account = JSON.parse(sandbox.secrets.vertex)
  const apiKey = JSON.stringify({ ...account, token_uri: `${vendor.url}/token` })
  const gateway = await startTestGateway({
    sandbox,
    upstreams: { echo: { kind: 'vertex', baseUrl: vendor.url, apiKey } },
    models: { echo: { family: 'openai-chat', upstream: 'echo', free: true } },
  })
  const text = await (await gateway.chat({ model: 'echo', messages: say('hi') })).text()
  expect(text).toContain('I was sent Bearer …')
  expect(text).not.toContain(token)
  await gateway.close()
  await vendor.stop()
})
