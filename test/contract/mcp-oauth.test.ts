// Programs that connect to /mcp with OAuth: the official client from its first 401 to a refreshed token, and attempts
// to get a token without permission. The real gateway at a public address, on both databases.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { audit } from '../../src/billing/proofs/audit'
import { faultsOf } from '../../src/config/schema'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { postMessage, toolMessage } from '../support/mcp'
import {
  allow,
  authorizeUrl,
  CHALLENGE,
  decide,
  exchange,
  fetchBehind,
  form,
  granted,
  officialClient,
  Program,
  PUBLIC_URL,
  REDIRECT,
  refresh,
  register,
  signInHolder,
} from '../support/oauth'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const HOUR_MS = 3_600_000
const settings = { server: { publicUrl: PUBLIC_URL, mcpSignIn: true }, console: { allowRemote: true } }
const gateways = new Map<DatabaseKind, TestGateway>()
let clock = Date.now()

beforeAll(async () => {
  for (const database of databaseKinds)
    gateways.set(
      database,
      await startTestGateway({ database, balance: '100', config: settings, outside: { now: () => clock } }),
    )
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
}, 180_000)

const at = (database: DatabaseKind) => gateways.get(database) as TestGateway
const chat = toolMessage('chat', { model: 'test-chat', prompt: 'Hi', max_tokens: 20 })
const statusWith = async (gateway: TestGateway, token: string) =>
  (await postMessage(gateway.url, token, { jsonrpc: '2.0', id: 1, method: 'ping' })).status

for (const database of databaseKinds)
  test(`the official client connects, spends within its limit, refreshes and is revoked (${database})`, async () => {
    const gateway = at(database)
    const program = new Program()
    const first = officialClient(gateway, program)
    expect(await rejection(first.connect())).toBeInstanceOf(UnauthorizedError)
    const asked = program.authorizationUrl as URL
    expect(asked.searchParams.get('resource')).toBe(`${PUBLIC_URL}/mcp`)
    const led = await allow(gateway, asked, { limit: '0.5' })
    expect(`${led.origin}${led.pathname}`).toBe(REDIRECT)
    expect(led.searchParams.get('state')).toBe('state of the program')
    expect(led.searchParams.get('iss')).toBe(PUBLIC_URL)
    await first.transport.finishAuth(led.searchParams.get('code') ?? '')

    const { client, connect } = officialClient(gateway, program)
    await connect()
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    const before = program.saved?.access_token ?? ''
    expect(before).toStartWith('sk-tok-')
    // The token is valid only for the tools.
    for (const path of ['/v1/models', '/v1/me', '/v1/tokens', '/v1/usage'])
      expect([path, (await fetch(`${gateway.url}${path}`, bearer(before))).status]).toEqual([path, 403])
    const direct = { ...bearer(before), method: 'POST', body: '{"model":"pgt-6-luna","messages":[]}' }
    direct.headers = { ...direct.headers, 'content-type': 'application/json' }
    expect((await fetch(`${gateway.url}/v1/chat/completions`, direct)).status).toBe(403)

    clock += HOUR_MS
    expect(await statusWith(gateway, before)).toBe(401)
    expect((await client.callTool({ name: 'get_balance', arguments: {} })).isError).not.toBe(true)
    const after = program.saved?.access_token ?? ''
    expect(after).not.toBe(before)
    const [connection] = (await list(gateway)).filter(({ name }: Json) => name === 'Claude')
    expect(connection).toMatchObject({
      kind: 'mcp',
      status: 'active',
      budget_usd: '0.50',
      budget_period: null,
    })

    const { status } = await form(gateway, '/oauth/revoke', { token: after, client_id: program.clientId })
    expect(status).toBe(200)
    clock += 1_000
    expect(await statusWith(gateway, after)).toBe(401)
    expect((await refresh(gateway, program.clientId, program.saved?.refresh_token ?? '')).body.error).toBe(
      'invalid_grant',
    )
    await client.close()
  })

const bearer = (token: string) => ({
  headers: { authorization: `Bearer ${token}` } as Record<string, string>,
})
const list = async ({ url, secret }: TestGateway) =>
  ((await (await fetch(`${url}/v1/tokens`, bearer(secret))).json()) as Json).data

test('a program spends no more than its limit, however many requests it sends at once', async () => {
  const gateway = at('sqlite')
  const { body } = await exchange(gateway, await granted(gateway, '0.0005'))
  const answers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await postMessage(gateway.url, body.access_token, chat)
      return (await response.text()).includes('"isError":true')
    }),
  )
  expect(answers.filter((isRefused) => isRefused).length).toBeGreaterThan(0)
  expect(answers.filter((isRefused) => !isRefused).length).toBeGreaterThan(0)
  const [token] = await list(gateway)
  expect(Number(token.budget_used_usd)).toBeLessThanOrEqual(0.0005)
  expect((await audit(gateway.server.world.db, clock)).problems).toEqual([])
})

test('a 401 says where to connect, and metadata name only the public address', async () => {
  const gateway = at('sqlite')
  const without = await fetch(`${gateway.url}/mcp`, { method: 'POST' })
  expect(without.headers.get('www-authenticate')).toBe(
    `Bearer resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
  )
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  for (const path of [
    'oauth-protected-resource',
    'oauth-protected-resource/v1/mcp',
    'oauth-authorization-server',
  ]) {
    const response = await fetch(`${gateway.url}/.well-known/${path}`, { headers })
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const text = await response.text()
    expect(text).toContain(PUBLIC_URL)
    expect(text).not.toContain('evil')
  }
})

test('without the setting, OAuth is not available, and the setting requires a safe URL', async () => {
  const gateway = await startTestGateway({})
  for (const [path, method] of [
    ['/.well-known/oauth-protected-resource', 'GET'],
    ['/.well-known/oauth-authorization-server', 'GET'],
    ['/oauth/authorize', 'GET'],
    ['/oauth/register', 'POST'],
    ['/oauth/token', 'POST'],
  ] as const)
    expect((await fetch(`${gateway.url}${path}`, { method })).status).toBe(404)
  const refused = await fetch(`${gateway.url}/mcp`, { method: 'POST' })
  expect(refused.headers.get('www-authenticate')).toBe('Bearer')
  await gateway.close()
  const faults = (server: object, console: object = { allowRemote: true }) =>
    faultsOf({ ...gateway.server.world.config, server: { mcpSignIn: true, ...server }, console })
  expect(faults({ publicUrl: PUBLIC_URL })).toEqual([])
  expect(faults({ publicUrl: 'http://127.0.0.1:8080' }, {})).toEqual([])
  for (const publicUrl of [undefined, 'http://ai.example.com', `${PUBLIC_URL}/gateway`])
    expect(faults({ publicUrl }).join()).toContain('needs server.publicUrl with https://')
  expect(faults({ publicUrl: PUBLIC_URL }, {}).join()).toContain('needs console.allowRemote')
})

describe('a program gets no access', () => {
  const evil = 'https://evil.example/steal'
  const asks: Record<string, Record<string, string | null>> = {
    'with an address that it did not register': { redirect_uri: evil },
    'with a longer address': { redirect_uri: `${REDIRECT}/../steal` },
    'with another query': { redirect_uri: `${REDIRECT}?next=evil` },
    'without PKCE': { code_challenge: null, code_challenge_method: null },
    'with PKCE by plain text': { code_challenge_method: 'plain' },
    'with PKCE without a method': { code_challenge_method: null },
    'for a token in the address': { response_type: 'token' },
    'for another resource': { resource: 'https://other.example/mcp' },
    'for the API': { resource: `${PUBLIC_URL}/v1` },
    'for more than the tools': { scope: 'mcp admin' },
    'under another id': { client_id: 'cli_unknown' },
  }
  for (const [title, changes] of Object.entries(asks))
    test(title, async () => {
      const gateway = at('sqlite')
      const clientId = (await register(gateway)).body.client_id as string
      const url = authorizeUrl(clientId, changes)
      const response = await fetchBehind(gateway)(url)
      // A page without a link onwards: anybody may register an address.
      expect([400, 401]).toContain(response.status)
      expect(response.headers.get('location')).toBeNull()
      expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      // The console checks again what its page sends.
      const holder = await signInHolder(gateway)
      const query = url.searchParams.toString()
      const decided = await decide(gateway, holder, { query, allow: true, limit_usd: '1', days: 1 })
      expect(decided.status).toBe(400)
      expect(JSON.stringify(decided.body)).not.toContain('location')
      const refused = await decide(gateway, holder, { query, allow: false })
      expect(refused.body.location).toBeUndefined()
    })

  test('with a repeated parameter', async () => {
    const gateway = at('sqlite')
    clock += 60_000
    const url = authorizeUrl((await register(gateway)).body.client_id)
    url.searchParams.append('redirect_uri', evil)
    const response = await fetchBehind(gateway)(url)
    expect([response.status, response.headers.get('location')]).toEqual([400, null])
  })

  const registrations: Record<string, object> = {
    'no address': { redirect_uris: [] },
    'an address without TLS': { redirect_uris: ['http://app.example/callback'] },
    'a script': { redirect_uris: ['javascript:alert(1)'] },
    'a fragment': { redirect_uris: ['https://app.example/#x'] },
    'a password': { redirect_uris: ['https://a:b@app.example/'] },
    'too many addresses': {
      redirect_uris: Array.from({ length: 11 }, (_, index) => `https://a.example/${index}`),
    },
    'a long address': { redirect_uris: [`https://a.example/${'x'.repeat(1_000)}`] },
  }
  for (const [title, body] of Object.entries(registrations))
    test(`by registering ${title}`, async () => {
      clock += 60_000
      expect(await register(at('sqlite'), body)).toMatchObject({
        status: 400,
        body: { error: 'invalid_redirect_uri' },
      })
    })
})

test('a port on this machine may differ, and nothing else of the address', async () => {
  const gateway = at('sqlite')
  clock += 60_000
  const registered = await register(gateway, { redirect_uris: ['http://127.0.0.1:1234/callback'] })
  const ask = async (redirectUri: string) =>
    (await fetchBehind(gateway)(authorizeUrl(registered.body.client_id, { redirect_uri: redirectUri })))
      .status
  expect(await ask('http://127.0.0.1:9/callback')).toBe(302)
  for (const other of [
    'http://127.0.0.1:9/other',
    'http://localhost:9/callback',
    'https://127.0.0.1:9/callback',
  ])
    expect(await ask(other)).toBe(400)
})

for (const database of databaseKinds)
  describe(`on ${database}`, () => {
    const valid = async (gateway: TestGateway, token: string) => (await statusWith(gateway, token)) === 200

    test('a code is valid once: a second use revokes its tokens', async () => {
      const gateway = at(database)
      const grant = await granted(gateway)
      const { body } = await exchange(gateway, grant)
      expect(await valid(gateway, body.access_token)).toBe(true)
      expect((await exchange(gateway, grant)).body.error).toBe('invalid_grant')
      clock += 1_000
      expect(await valid(gateway, body.access_token)).toBe(false)
      expect((await refresh(gateway, grant.clientId, body.refresh_token)).body.error).toBe('invalid_grant')
    })

    test('of twenty who use one code at once, at most one gets tokens', async () => {
      const gateway = at(database)
      const grant = await granted(gateway)
      const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(gateway, grant)))
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    })

    test('a code is not good for another program, another address, another proof or later', async () => {
      const gateway = at(database)
      const grant = await granted(gateway)
      const other = (await register(gateway)).body.client_id
      for (const changes of [
        { client_id: other },
        { redirect_uri: 'https://evil.example/steal' },
        { code_verifier: CHALLENGE },
        { code_verifier: '' },
      ])
        expect(await exchange(gateway, grant, changes)).toMatchObject({
          status: 400,
          body: { error: 'invalid_grant' },
        })
      expect((await exchange(gateway, grant, { resource: 'https://other.example/mcp' })).body.error).toBe(
        'invalid_target',
      )
      expect((await exchange(gateway, grant, { scope: 'admin' })).body.error).toBe('invalid_scope')
      clock += 61_000
      expect((await exchange(gateway, grant)).body.error).toBe('invalid_grant')
    })

    test('a refresh token is valid once: using it again ends the grant', async () => {
      const gateway = at(database)
      const grant = await granted(gateway)
      const first = (await exchange(gateway, grant)).body
      const other = (await register(gateway)).body.client_id
      expect((await refresh(gateway, other, first.refresh_token)).body.error).toBe('invalid_grant')
      const second = (await refresh(gateway, grant.clientId, first.refresh_token)).body
      clock += 1_000
      expect(await valid(gateway, first.access_token)).toBe(false)
      expect(await valid(gateway, second.access_token)).toBe(true)
      expect((await refresh(gateway, grant.clientId, first.refresh_token)).body.error).toBe('invalid_grant')
      clock += 1_000
      expect(await valid(gateway, second.access_token)).toBe(false)
      expect((await refresh(gateway, grant.clientId, second.refresh_token)).body.error).toBe('invalid_grant')
    })

    test('a holder ends a connection, and a program cannot end that of another', async () => {
      const gateway = at(database)
      const grant = await granted(gateway)
      const { body } = await exchange(gateway, grant)
      const other = (await register(gateway)).body.client_id
      for (const token of [body.access_token, body.refresh_token, 'unknown'])
        expect((await form(gateway, '/oauth/revoke', { token, client_id: other })).status).toBe(200)
      expect(await valid(gateway, body.access_token)).toBe(true)
      const [{ id }] = await list(gateway)
      await fetch(`${gateway.url}/v1/tokens/${id}`, { ...bearer(gateway.secret), method: 'DELETE' })
      clock += 1_000
      expect(await valid(gateway, body.access_token)).toBe(false)
      expect((await refresh(gateway, grant.clientId, body.refresh_token)).body.error).toBe('invalid_grant')
    })

    test('each decision and each end is in the audit trail', async () => {
      const gateway = at(database)
      const rows = await gateway.server.world.db.query({
        sql: "select actor, action, before, after from audit_trail where action like 'token.%' order by id",
      })
      const text = JSON.stringify(rows)
      for (const words of [
        'token.create',
        'claude.example',
        'code_used_twice',
        'refresh_token_used_twice',
        'revoked_by_program',
      ])
        expect(text).toContain(words)
      expect(text).not.toContain('sk-tok-0')
      const secrets = await gateway.server.world.db.query({ sql: 'select * from oauth_grants' })
      expect(JSON.stringify(secrets)).not.toMatch(/rt-|sk-tok-/)
    })
  })

test('only the console’s page decides, for a person who has signed in with a key', async () => {
  const gateway = at('sqlite')
  clock += 60_000
  const clientId = (await register(gateway)).body.client_id
  const query = authorizeUrl(clientId).searchParams.toString()
  const yes = { query, allow: true, limit_usd: '1', days: 1 }
  const holder = await signInHolder(gateway)
  const statuses = await Promise.all([
    decide(gateway, null, yes),
    decide(gateway, holder, yes, { origin: 'https://evil.example' }),
    decide(gateway, holder, yes, { 'sec-fetch-site': 'cross-site' }),
    decide(gateway, { ...holder, csrf: '' }, yes),
    decide(gateway, { ...holder, csrf: 'x'.repeat(43) }, yes),
    decide(gateway, null, yes, { authorization: `Bearer ${gateway.secret}` }),
  ])
  expect(statuses.map(({ status }) => status)).toEqual([401, 403, 403, 403, 403, 401])
  for (const [changes, status] of [
    [{ limit_usd: '0' }, 400],
    [{ limit_usd: '-1' }, 400],
    [{ limit_usd: 5 }, 400],
    [{ days: 0 }, 400],
    [{ days: 366 }, 400],
    [{ days: 1.5 }, 400],
  ] as const)
    expect([changes, (await decide(gateway, holder, { ...yes, ...changes })).status]).toEqual([
      changes,
      status,
    ])
  const refused = await decide(gateway, holder, { query, allow: false })
  expect(new URL(refused.body.location).searchParams.get('error')).toBe('access_denied')
  const page = await fetch(`${gateway.url}/console`)
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
})

test('a flood of registrations is slowed down, and removes only programs that nobody has allowed', async () => {
  const gateway = at('sqlite')
  clock += 60_000
  const grant = await granted(gateway)
  const statuses: number[] = []
  for (let count = 0; count < 12; count++) statuses.push((await register(gateway)).status)
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
  const { db } = gateway.server.world
  const { storeClient } = await import('../../src/oauth/clients')
  for (let count = 0; count < 1_100; count++)
    await storeClient(db, {
      id: `cli_${count}`,
      name: 'x',
      redirectUris: [REDIRECT],
      createdAt: clock + count,
    })
  const [row] = await db.query({ sql: 'select count(*) as count from oauth_clients' })
  expect(Number(row?.count)).toBeLessThan(1_100)
  expect((await exchange(gateway, grant)).status).toBe(200)
  const large = await register(gateway, { client_name: 'x'.repeat(20_000) })
  expect([413, 429]).toContain(large.status)
})
