// Networks from which a key and an operator's token may be used, on both databases: every use of either is tested from
// an allowed address, from another one, and without a trustworthy address. No vendor is called for a rejected request.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'

const INSIDE = '203.0.113.7'
const OUTSIDE = '198.51.100.9'
const NETWORKS = ['203.0.113.0/24', '2001:db8::/48']

const gateways = new Map<DatabaseKind, TestGateway>()
const owners = new Map<DatabaseKind, string>()

beforeAll(async () => {
  for (const database of databaseKinds) {
    const server = { trustedProxies: ['127.0.0.1/32', '::1/128'] }
    const remote = { admin: { allowRemote: true }, console: { allowRemote: true } }
    const gateway = await startTestGateway({ database, balance: '10', config: { server, ...remote } })
    gateways.set(database, gateway)
    owners.set(database, await makeAdmin(gateway, null))
  }
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
}, 180_000)

async function makeAdmin({ server }: TestGateway, addresses: string[] | null): Promise<string> {
  const token = makeToken(randomBytes)
  const admin = {
    id: newId('adm'),
    name: newId('ada'),
    role: 'owner' as const,
    expiresAt: null,
    createdAt: 1,
  }
  await createAdmin(server.world.db, { ...admin, token, addresses })
  return token
}

interface UseRequest {
  method?: string
  path: string
  body?: object
  headers?: Record<string, string>
}

async function send(
  { url }: TestGateway,
  token: string,
  from: string,
  { method, path, body, headers }: UseRequest,
) {
  const response = await fetch(`${url}${path}`, {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      'x-forwarded-for': from,
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  const answer: any = text.startsWith('{') ? JSON.parse(text) : text
  return { status: response.status, code: answer.error?.code, answer, headers: response.headers }
}

const messages = [{ role: 'user', content: 'Hello' }]
/** Each use of a key: charged requests, token counts, look-ups, and tools. */
const USES: Record<string, UseRequest> = {
  chat: { path: '/v1/chat/completions', body: { model: 'test-chat', messages } },
  'a stream': { path: '/v1/chat/completions', body: { model: 'test-chat', messages, stream: true } },
  'a count': { path: '/v1/messages/count_tokens', body: { model: 'test-chat', messages } },
  models: { path: '/v1/models' },
  'its own records': { path: '/v1/me' },
  quotes: {
    path: '/v1/quotes',
    body: { path: '/v1/chat/completions', body: { model: 'test-chat', messages } },
  },
  tools: {
    path: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { accept: 'application/json, text/event-stream' },
  },
}

for (const database of databaseKinds) {
  const at = () => gateways.get(database) as TestGateway

  test(`a key is accepted from its networks and rejected from others (${database})`, async () => {
    const gateway = at()
    const { secret } = await gateway.makeKey(newId('key'), '5', { addresses: NETWORKS })
    for (const [use, request] of Object.entries(USES)) {
      expect([use, (await send(gateway, secret, INSIDE, request)).status]).toEqual([use, 200])
      expect([use, (await send(gateway, secret, '2001:db8::7', request)).status]).toEqual([use, 200])
      expect([use, (await send(gateway, secret, '::ffff:203.0.113.7', request)).status]).toEqual([use, 200])
      const { length: charged } = await gateway.charges()
      for (const from of [OUTSIDE, '2001:db9::7', '127.0.0.1']) {
        const refused = await send(gateway, secret, from, request)
        expect([use, from, refused.status]).toEqual([use, from, 403])
        expect(JSON.stringify(refused.answer)).toContain(`may not be used from ${from}`)
      }
      expect(await gateway.charges()).toHaveLength(charged)
    }
  })

  test(`a caller's stated address counts only behind a trusted proxy (${database})`, async () => {
    const gateway = at()
    const { secret } = await gateway.makeKey(newId('key'), '5', { addresses: NETWORKS })
    // The last address is that of the proxy's caller, whatever the caller wrote before it.
    const refused = await send(gateway, secret, `${INSIDE}, ${OUTSIDE}`, USES.chat as UseRequest)
    expect([refused.status, refused.code]).toEqual([403, 'address_not_allowed'])
    expect(refused.answer.error.message).toContain(OUTSIDE)
  })

  test(`a console session is rejected from other networks too (${database})`, async () => {
    const gateway = at()
    const { secret } = await gateway.makeKey(newId('key'), '5', { addresses: NETWORKS })
    const admin = await makeAdmin(gateway, NETWORKS)
    for (const token of [secret, admin]) {
      const own = { origin: gateway.url }
      const body = { token }
      const request = { path: '/console/session', body, headers: own }
      expect((await send(gateway, '', OUTSIDE, request)).code).toBe('address_not_allowed')
      const signedIn = await send(gateway, '', INSIDE, request)
      expect(signedIn.status).toBe(200)
      const cookie = signedIn.headers
        .getSetCookie()
        .filter((each) => !each.includes('Max-Age=0'))
        .map((each) => each.split(';')[0])
        .join('; ')
      const session = { path: '/console/session', headers: { cookie } }
      expect((await send(gateway, '', INSIDE, session)).status).toBe(200)
      expect((await send(gateway, '', OUTSIDE, session)).status).toBe(401)
      const api = { path: token === secret ? '/v1/me' : '/admin/v1/keys', headers: { cookie } }
      expect((await send(gateway, '', INSIDE, api)).status).toBe(200)
      expect((await send(gateway, '', OUTSIDE, api)).code).toBe('address_not_allowed')
    }
  })

  test(`an operator’s token is rejected from other networks, which does not count as a wrong token (${database})`, async () => {
    const gateway = at()
    const owner = owners.get(database) as string
    const made = await send(gateway, owner, OUTSIDE, {
      path: '/admin/v1/admins',
      body: { name: newId('bob'), role: 'viewer', addresses: ['203.0.113.9', '203.0.113.9/32'] },
    })
    expect(made.answer).toMatchObject({ addresses: ['203.0.113.9/32'] })
    const request = { path: '/admin/v1/keys' }
    for (let time = 0; time < 20; time++)
      expect((await send(gateway, made.answer.token, OUTSIDE, request)).code).toBe('address_not_allowed')
    expect((await send(gateway, made.answer.token, '203.0.113.9', request)).status).toBe(200)
  })

  test(`networks are set, shown, audited and removed (${database})`, async () => {
    const gateway = at()
    const owner = owners.get(database) as string
    const name = `office-${database}`
    const made = await send(gateway, owner, INSIDE, {
      path: '/admin/v1/keys',
      body: { name, balance_usd: '5', addresses: ['10.1.2.3/8', '2001:db8::1', '::ffff:192.0.2.0/120'] },
    })
    const networks = ['10.0.0.0/8', '2001:db8::1/128', '192.0.2.0/24']
    expect(made.answer.addresses).toEqual(networks)
    const { key: secret } = made.answer
    expect((await send(gateway, secret, INSIDE, { path: '/v1/me' })).code).toBe('address_not_allowed')
    expect((await send(gateway, secret, '192.0.2.77', { path: '/v1/me' })).answer.addresses).toEqual(networks)
    const change = (addresses: unknown) =>
      send(gateway, owner, INSIDE, {
        method: 'PATCH',
        path: `/admin/v1/keys/${name}`,
        body: { addresses } as object,
      })
    for (const wrong of [
      ['10.0.0.0/33'],
      ['office'],
      ['10.0.0.1:80'],
      [''],
      [],
      '10.0.0.0/8',
      ['fe80::%eth0/10'],
    ])
      expect([wrong, (await change(wrong)).status]).toEqual([wrong, 400])
    expect((await change(['203.0.113.7'])).status).toBe(200)
    await Bun.sleep(600)
    expect((await send(gateway, secret, INSIDE, { path: '/v1/me' })).status).toBe(200)
    expect((await send(gateway, secret, '192.0.2.77', { path: '/v1/me' })).status).toBe(403)
    expect((await change(null)).answer.addresses).toBeNull()
    await Bun.sleep(600)
    expect((await send(gateway, secret, OUTSIDE, { path: '/v1/me' })).status).toBe(200)
    const audit = await send(gateway, owner, INSIDE, { path: `/admin/v1/audit?target=key:${name}` })
    expect(JSON.stringify(audit.answer)).toContain('203.0.113.7/32')
  })
}
