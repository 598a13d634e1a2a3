// Console sessions on both databases: signing in, the pages and the time for which a session is valid, and what a
// cookie permits; links that work once, on any node and after a restart; and the event stream.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { freezeAccount } from '../../src/accounts/accounts'
import { pauseKey, revokeKey, rollKey } from '../../src/accounts/keys'
import { createLink, makeSessionToken, type SessionKind, subjectOfRole } from '../../src/accounts/sessions'
import { createAdmin, makeToken, revokeAdmin } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import type { Role } from '../../src/contract/roles'
import { OF_OTHERS } from '../support/browser/console-visit'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

const MINUTE_MS = 60_000
const START = Date.UTC(2026, 10, 22, 12)

const gateways = new Map<DatabaseKind, TestGateway>()
/** The set clock of both. */
let clock = START

beforeAll(async () => {
  for (const database of databaseKinds)
    gateways.set(database, await startTestGateway({ database, balance: '10', outside: { now: () => clock } }))
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
}, 180_000)

interface Page {
  cookie: string
  csrf: string
  headers: Headers
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  body: any
}

/** A browser's request from the console's own page. */
async function send(
  gateway: { url: string },
  method: string,
  path: string,
  { page, body, headers = {} }: { page?: Page; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Page> {
  const isSafe = method === 'GET'
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(!isSafe && { origin: gateway.url }),
      ...(page && { cookie: page.cookie }),
      ...(page && !isSafe && { 'x-csrf-token': page.csrf }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const answered = text.startsWith('{') ? JSON.parse(text) : text
  const set = response.headers.getSetCookie().filter((each) => !each.includes('Max-Age=0'))
  return {
    status: response.status,
    headers: response.headers,
    body: answered,
    csrf: answered.csrf ?? '',
    cookie: set[0]?.split(';')[0] ?? '',
  }
}

const signIn = (gateway: { url: string }, credentials: object, headers?: Record<string, string>) =>
  send(gateway, 'POST', '/console/session', { body: credentials, ...(headers && { headers }) })

async function makeAdmin({ server }: TestGateway, role: Role = 'owner', expiresAt: number | null = null) {
  const token = makeToken(randomBytes)
  const admin = { id: newId('adm'), name: newId('ada'), role, expiresAt, createdAt: clock }
  await createAdmin(server.world.db, { ...admin, token })
  return { ...admin, token }
}

async function makeLink(
  { server }: TestGateway,
  subject = subjectOfRole('owner'),
  kind: SessionKind = 'admin',
): Promise<string> {
  const token = makeSessionToken(randomBytes)
  const link = { token, now: clock, expiresAt: clock + 5 * MINUTE_MS }
  return (await createLink(server.world.db, { kind, subject }, link)) ? token : ''
}

const at = (database: DatabaseKind) => gateways.get(database) as TestGateway
const codeOf = ({ status, body }: Page) => [status, body.error?.code]

for (const database of databaseKinds) {
  test(`an admin and a holder of a key sign in, each to their own part, and out (${database})`, async () => {
    const gateway = at(database)
    const { token, name } = await makeAdmin(gateway, 'operator')
    const admin = await signIn(gateway, { token })
    expect(admin).toMatchObject({ status: 200, body: { kind: 'admin', name, role: 'operator' } })
    const cookies = admin.headers.getSetCookie()
    expect(
      cookies.filter((each) => each.startsWith('gateway_admin=') && !each.includes('Max-Age=0')).length,
    ).toBe(2)
    for (const each of cookies) expect(each).toMatch(/; HttpOnly; SameSite=Strict$/)
    expect(cookies.map((each) => /Path=([^;]+)/.exec(each)?.[1]).sort()).toEqual([
      '/admin/v1',
      '/console',
      '/console',
      '/v1',
    ])
    expect(JSON.stringify(admin.body)).not.toContain(admin.cookie.split('=')[1] as string)
    expect((await send(gateway, 'GET', '/admin/v1/me', { page: admin })).body.name).toBe(name)
    expect((await send(gateway, 'GET', '/v1/me', { page: admin })).status).toBe(401)
    expect((await send(gateway, 'GET', '/console/session', { page: admin })).body.csrf).toBe(admin.csrf)

    const holder = await signIn(gateway, { token: ` ${gateway.secret} ` })
    expect(holder).toMatchObject({ status: 200, body: { kind: 'key', account: 'alice' } })
    expect((await send(gateway, 'GET', '/v1/me', { page: holder })).body.account).toBe('alice')
    expect((await send(gateway, 'GET', '/admin/v1/me', { page: holder })).status).toBe(401)
    const body = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello!' }] }
    expect((await send(gateway, 'POST', '/v1/chat/completions', { page: holder, body })).status).toBe(200)

    expect((await send(gateway, 'DELETE', '/console/session', { page: holder })).status).toBe(204)
    expect(codeOf(await send(gateway, 'GET', '/v1/me', { page: holder }))).toEqual([401, 'session_ended'])
    expect(codeOf(await send(gateway, 'GET', '/console/session', { page: holder }))).toEqual([
      401,
      'not_signed_in',
    ])
    const trail = await send(gateway, 'GET', '/admin/v1/audit?limit=3', { page: admin })
    expect(trail.body.data.map(({ action }: { action: string }) => action)).toEqual([
      'session.end',
      'session.begin',
      'session.begin',
    ])
    expect(JSON.stringify(trail.body)).not.toMatch(/sk-|adm-[0-9A-Za-z]{30}/)
  })

  test(`a change requires the session’s own token and the origin of its page (${database})`, async () => {
    const gateway = at(database)
    const holder = await signIn(gateway, { token: gateway.secret })
    const other = await signIn(gateway, { token: (await gateway.makeKey('bob', '1')).secret })
    const admin = await signIn(gateway, { token: (await makeAdmin(gateway)).token })
    const chat = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello!' }] }
    const tries: { why: string; headers: Record<string, string>; code: string }[] = [
      { why: 'no token', headers: { 'x-csrf-token': '' }, code: 'csrf_token_invalid' },
      { why: 'wrong token', headers: { 'x-csrf-token': 'x'.repeat(43) }, code: 'csrf_token_invalid' },
      { why: "another session's", headers: { 'x-csrf-token': other.csrf }, code: 'csrf_token_invalid' },
      { why: 'another origin', headers: { origin: 'https://evil.example.com' }, code: 'cross_origin' },
      { why: 'another port', headers: { origin: 'http://127.0.0.1:1' }, code: 'cross_origin' },
      { why: 'no page', headers: { origin: 'null' }, code: 'cross_origin' },
      {
        why: 'another site by the browser',
        headers: { 'sec-fetch-site': 'same-site' },
        code: 'cross_origin',
      },
    ]
    const charges = (await gateway.charges()).length
    for (const { why, headers, code } of tries) {
      const refused = await send(gateway, 'POST', '/v1/chat/completions', {
        page: holder,
        body: chat,
        headers,
      })
      expect({ why, refused: codeOf(refused) }).toEqual({ why, refused: [403, code] })
      const reload = await send(gateway, 'POST', '/admin/v1/configuration/reload', { page: admin, headers })
      expect({ why, refused: codeOf(reload) }).toEqual({ why, refused: [403, code] })
      const out = await send(gateway, 'DELETE', '/console/session', { page: holder, headers })
      expect({ why, refused: codeOf(out) }).toEqual({ why, refused: [403, code] })
    }
    expect((await gateway.charges()).length).toBe(charges)
    // A page of another origin cannot read an answer, and a header has precedence over a cookie.
    for (const path of ['/v1/me', '/console/session'])
      expect(
        codeOf(await send(gateway, 'GET', path, { page: holder, headers: { origin: 'http://localhost:1' } })),
      ).toEqual([403, 'cross_origin'])
    const named = { authorization: 'Bearer sk-wrong' }
    expect((await send(gateway, 'GET', '/v1/me', { page: holder, headers: named })).status).toBe(401)
    expect((await send(gateway, 'GET', '/admin/v1/me', { page: admin, headers: named })).status).toBe(401)
    // MCP, metrics and other paths ignore cookies.
    const tool = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect((await send(gateway, 'POST', '/mcp', { page: holder, body: tool })).status).toBe(401)
  })

  test(`signing in always creates a new session, and ends the one in the cookie (${database})`, async () => {
    const gateway = at(database)
    const planted = `gateway_key=${'A'.repeat(43)}`
    const first = await signIn(gateway, { token: gateway.secret }, { cookie: planted })
    expect(first.status).toBe(200)
    expect(first.cookie).not.toBe(planted)
    const attacker = { ...first, cookie: planted }
    expect((await send(gateway, 'GET', '/v1/me', { page: attacker })).status).toBe(401)
    const second = await signIn(gateway, { token: gateway.secret }, { cookie: first.cookie })
    expect((await send(gateway, 'GET', '/v1/me', { page: first })).status).toBe(401)
    expect((await send(gateway, 'GET', '/v1/me', { page: second })).status).toBe(200)
    // Behind a proxy with TLS and a path.
    const proxied = await signIn(
      gateway,
      { token: gateway.secret, base: '/ai' },
      {
        origin: gateway.url.replace('http:', 'https:'),
      },
    )
    expect(proxied.headers.getSetCookie().at(-1)).toContain('Path=/ai/v1; ')
    expect(proxied.headers.getSetCookie().at(-1)).toEndWith('; Secure')
    for (const base of ['ai', '/a;Domain=x', '/a b', 7])
      expect((await signIn(gateway, { token: gateway.secret, base })).status).toBe(400)
  })

  test(`a session ends when idle, at its maximum age, and with the key or admin that signed in (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const isOpen = async (page: Page) =>
      (
        await send(gateway, 'GET', page.cookie.startsWith('gateway_key') ? '/v1/me' : '/admin/v1/me', {
          page,
        })
      ).status === 200
    const used = await signIn(gateway, { token: gateway.secret })
    const idle = await signIn(gateway, { token: gateway.secret })
    clock += 59 * MINUTE_MS
    expect(await isOpen(used)).toBe(true)
    clock += 2 * MINUTE_MS
    expect(await isOpen(idle)).toBe(false)
    for (let minutes = 61; minutes < 12 * 60 - 45; minutes += 45) {
      expect(await isOpen(used)).toBe(true)
      clock += 45 * MINUTE_MS
    }
    expect(await isOpen(used)).toBe(true)
    clock += 45 * MINUTE_MS
    expect(await isOpen(used)).toBe(false)

    const endings: [string, (id: string, account: string) => Promise<unknown>][] = [
      ['paused', (id) => pauseKey(db, id, clock)],
      ['revoked', (id) => revokeKey(db, id, clock)],
      ['rolled', (id) => rollKey(db, id, `sk-${'a'.repeat(39)}`, clock)],
      ['frozen', (_id, account) => freezeAccount(db, account, clock)],
    ]
    for (const [how, end] of endings) {
      const account = newId('acc')
      const { secret, id } = await gateway.makeKey(account, '0')
      const page = await signIn(gateway, { token: secret })
      expect({ how, isOpen: await isOpen(page) }).toEqual({ how, isOpen: true })
      await end(id, account)
      expect({ how, isOpen: await isOpen(page) }).toEqual({ how, isOpen: false })
      await db.batch([{ sql: 'update keys set paused_at = null where id = $1', parameters: [id] }])
      expect({ how, isOpen: await isOpen(page) }).toEqual({ how, isOpen: false })
    }
    const admin = await makeAdmin(gateway, 'viewer', clock + 10 * MINUTE_MS)
    const page = await signIn(gateway, { token: admin.token })
    expect(await isOpen(page)).toBe(true)
    clock += 11 * MINUTE_MS
    expect(await isOpen(page)).toBe(false)
    const owner = await makeAdmin(gateway)
    const ownerPage = await signIn(gateway, { token: owner.token })
    await revokeAdmin(db, owner.id, clock)
    expect(await isOpen(ownerPage)).toBe(false)
  })

  test(`a rejected sign-in creates no link, no session and no entry in the audit trail (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const ownerPage = await signIn(gateway, { token: (await makeAdmin(gateway)).token })
    const list = async (path: string) => (await send(gateway, 'GET', path, { page: ownerPage })).body.data
    const admin = async (expiresAt: number | null) => {
      const { id, name, token } = await makeAdmin(gateway, 'owner', expiresAt)
      return { kind: 'admin' as const, id, name, token, account: '' }
    }
    const key = async (settings = {}) => {
      const account = newId('acc')
      const { id, secret } = await gateway.makeKey(account, '0', settings)
      return { kind: 'key' as const, id, name: id, token: secret, account }
    }
    const later = clock + 2 * MINUTE_MS
    const wait = async () => {
      clock = later + MINUTE_MS
    }
    const rows: [
      how: string,
      owner: Awaited<ReturnType<typeof admin | typeof key>>,
      end: (id: string, account: string) => Promise<unknown>,
      status: number,
    ][] = [
      ['a revoked admin', await admin(null), (id) => revokeAdmin(db, id, clock), 401],
      ['a revoked key', await key(), (id) => revokeKey(db, id, clock), 401],
      ['a paused key', await key(), (id) => pauseKey(db, id, clock), 403],
      ['a frozen account', await key(), (_, account) => freezeAccount(db, account, clock), 403],
      ['an expired admin', await admin(later), wait, 401],
      ['an expired key', await key({ expiresAt: clock - MINUTE_MS }), async () => {}, 401],
    ]
    for (const [how, { kind, id, name, token, account }, end, status] of rows) {
      const before = await makeLink(gateway, id, kind)
      const open = await signIn(gateway, { token })
      await end(id, account)
      const entries = (await list('/admin/v1/audit?limit=200')).length
      expect({ how, after: await makeLink(gateway, id, kind) }).toEqual({ how, after: '' })
      if (open.status === 200)
        expect({ how, status: (await signIn(gateway, { link: before })).status }).toEqual({ how, status })
      const sessions = await list(`/admin/v1/sessions?kind=${kind}&limit=200`)
      const states = sessions.flatMap((each: { name: string; status: string }) =>
        each.name === name ? [each.status] : [],
      )
      expect({ how, states }).toEqual({ how, states: open.status === 200 ? ['ended'] : [] })
      expect({ how, entries: (await list('/admin/v1/audit?limit=200')).length }).toEqual({ how, entries })
    }
  })

  test(`an operator lists and ends sessions, and each owner has at most twenty (${database})`, async () => {
    const gateway = at(database)
    const operator = await signIn(gateway, { token: (await makeAdmin(gateway, 'operator')).token })
    const { secret, id } = await gateway.makeKey(newId('acc'), '0')
    const pages: Page[] = []
    for (let index = 0; index < 21; index++) {
      pages.push(await signIn(gateway, { token: secret }, { 'user-agent': '<script>' }))
      clock += 1_000
    }
    const [first, second] = pages as [Page, Page]
    expect((await send(gateway, 'GET', '/v1/me', { page: first })).status).toBe(401)
    expect((await send(gateway, 'GET', '/v1/me', { page: second })).status).toBe(200)
    const { data } = (await send(gateway, 'GET', '/admin/v1/sessions?kind=key&limit=30', { page: operator }))
      .body
    const own = data.filter(({ name }: { name: string }) => name === id)
    expect(own.length).toBe(21)
    expect(own.filter(({ status }: { status: string }) => status === 'active').length).toBe(20)
    expect(own[0]).toMatchObject({ user_agent: '<script>', client_address: '127.0.0.1' })
    const last = pages.at(-1) as Page
    const path = `/admin/v1/sessions/${own[0].id}/revoke`
    const viewer = await signIn(gateway, { token: (await makeAdmin(gateway, 'viewer')).token })
    expect((await send(gateway, 'POST', path, { page: viewer })).status).toBe(403)
    const revoked = await send(gateway, 'POST', path, { page: operator })
    expect(revoked.body.status).toBe('ended')
    const trail = await send(gateway, 'GET', '/admin/v1/audit?limit=1', { page: operator })
    expect(trail.body.data[0]).toMatchObject({ action: 'session.revoke', actor: operator.body.name })
    expect((await send(gateway, 'GET', '/v1/me', { page: last })).status).toBe(401)
  })

  test(`a link signs in once, also after a restart and on another node (${database})`, async () => {
    const gateway = at(database)
    const link = await makeLink(gateway)
    const tries = await Promise.all(Array.from({ length: 5 }, () => signIn(gateway, { link })))
    expect(tries.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
    const page = tries.find(({ status }) => status === 200) as Page
    expect(page.body).toMatchObject({ kind: 'admin', name: 'console link', role: 'owner' })
    expect((await send(gateway, 'GET', '/admin/v1/admins', { page })).status).toBe(200)
    clock += 2 * MINUTE_MS
    const late = await makeLink(gateway, subjectOfRole('viewer'))
    clock += 6 * MINUTE_MS
    expect(codeOf(await signIn(gateway, { link: late }))).toEqual([401, 'link_not_usable'])
    const later = await makeLink(gateway)
    const { databaseUrl, dataDir, sandbox } = gateway
    const node = await startTestGateway({
      sandbox,
      outside: { now: () => clock },
      ...(databaseUrl ? { databaseUrl } : { dataDir }),
    })
    try {
      const there = await signIn(node, { link: later })
      expect(there.status).toBe(200)
      expect((await signIn(gateway, { link: later })).status).toBe(401)
      // A session from one node is valid at the other, and signing out ends it at both.
      const here = { ...there, cookie: there.cookie }
      expect((await send(gateway, 'GET', '/admin/v1/me', { page: here })).status).toBe(200)
      expect((await send(gateway, 'DELETE', '/console/session', { page: here })).status).toBe(204)
      expect((await send(node, 'GET', '/admin/v1/me', { page: there })).status).toBe(401)
    } finally {
      await node.server.stop(0)
    }
    clock += 2 * MINUTE_MS
  })

  test(`attempts are limited by address, and other machines get 404 (${database})`, async () => {
    const gateway = at(database)
    for (const headers of OF_OTHERS) {
      const refused = await signIn(gateway, { token: gateway.secret }, headers)
      expect(codeOf(refused)).toEqual([404, 'unknown_route'])
    }
    expect(
      codeOf(await signIn(gateway, { token: gateway.secret }, { origin: 'https://evil.example.com' })),
    ).toEqual([403, 'cross_origin'])
    for (const body of [{}, { token: 7 }, { token: 'a', link: 'b' }, { token: 'x'.repeat(5_000) }, [], null])
      expect((await signIn(gateway, body as object)).status).toBeOneOf([400, 413])
    const statuses: number[] = []
    for (let index = 0; index < 12; index++)
      statuses.push((await signIn(gateway, { token: makeToken(randomBytes) })).status)
    expect([statuses[0], ...statuses.slice(-2)]).toEqual([401, 429, 429])
    clock += 2 * MINUTE_MS
    expect((await signIn(gateway, { token: gateway.secret })).status).toBe(200)
  })
}

test('admins sign in at the admin API’s listener, and holders of keys at the API’s port', async () => {
  const gateway = await startTestGateway({ config: { admin: { port: 0 } } })
  try {
    const admins = { url: new URL(gateway.server.adminUrl ?? '').origin }
    const { token } = await makeAdmin(gateway)
    expect(codeOf(await signIn(gateway, { token }))).toEqual([403, 'sign_in_not_here'])
    expect(codeOf(await signIn(admins, { token: gateway.secret }))).toEqual([403, 'sign_in_not_here'])
    const page = await signIn(admins, { token })
    expect((await send(admins, 'GET', '/admin/v1/me', { page })).status).toBe(200)
    const holder = await signIn(gateway, { token: gateway.secret })
    expect((await send(gateway, 'GET', '/v1/me', { page: holder })).status).toBe(200)
  } finally {
    await gateway.close()
  }
})

test('holders of keys sign in from other machines if allowed, and nobody signs in without a console', async () => {
  const remote = { 'x-forwarded-for': '203.0.113.7' }
  const open = await startTestGateway({ config: { console: { allowRemote: true, sessionIdle: '5m' } } })
  try {
    expect((await signIn(open, { token: open.secret }, remote)).status).toBe(200)
    expect(codeOf(await signIn(open, { token: (await makeAdmin(open)).token }, remote))).toEqual([
      403,
      'sign_in_not_here',
    ])
  } finally {
    await open.close()
  }
  const none = await startTestGateway({ config: { console: { enabled: false } } })
  try {
    expect((await signIn(none, { token: none.secret })).status).toBe(404)
  } finally {
    await none.close()
  }
})

/** Reads the events of a page, as an EventSource does. */
function watch(gateway: { url: string }, page: Page) {
  const events: { name: string; data: Record<string, unknown> }[] = []
  const abort = new AbortController()
  const state = { events, ended: false, close: () => abort.abort() }
  void (async () => {
    const response = await fetch(`${gateway.url}/console/live`, {
      headers: { cookie: page.cookie },
      signal: abort.signal,
    })
    let text = ''
    for await (const piece of response.body ?? []) {
      text += new TextDecoder().decode(piece)
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(text.slice(0, end)) ?? []
        if (name !== '') events.push({ name, data: JSON.parse(data) })
        text = text.slice(end + 2)
      }
    }
    state.ended = true
  })().catch(() => {
    state.ended = true
  })
  return state
}

for (const database of databaseKinds) {
  test.concurrent(`events of any node reach every permitted session until it ends (${database})`, async () => {
    const gateway = await startTestGateway({ database, balance: '10' })
    const node =
      gateway.databaseUrl === undefined
        ? undefined
        : await startTestGateway({ sandbox: gateway.sandbox, databaseUrl: gateway.databaseUrl })
    try {
      const admin = await signIn(gateway, { token: (await makeAdmin(gateway, 'viewer', null)).token })
      const holder = await signIn(gateway, { token: gateway.secret })
      const bob = await gateway.makeKey('bob', '1')
      const stranger = await signIn(gateway, { token: bob.secret })
      const all = watch(gateway, admin)
      const own = watch(gateway, holder)
      const others = watch(gateway, stranger)
      const overviews = (of: typeof all) => of.events.filter(({ name }) => name === 'overview').length
      await waitFor(() => [all, own, others].every((of) => overviews(of) > 0))
      await gateway.chat()
      await node?.chat({}, { authorization: `Bearer ${gateway.secret}` })
      const prompt = 'A cat [sandbox task_ms=0]'
      await gateway.post('/v1/videos/generations', { model: 'vidw2.6-t2v', input: { prompt } })
      const names = (of: typeof all) => of.events.map(({ name }) => name)
      const requests = (of: typeof all) => names(of).filter((name) => name === 'request').length
      const has = (of: typeof all) => requests(of) >= (node ? 3 : 2) && names(of).includes('task')
      await waitFor(() => has(all) && has(own))
      expect(names(others).filter((name) => name !== 'overview')).toEqual([])
      const reported = JSON.stringify(own.events)
      expect(reported).not.toContain('"upstream":')
      expect(reported).not.toContain('client_address')
      expect(own.events.find(({ name }) => name === 'request')?.data).toMatchObject({
        model: 'test-chat',
        status: 200,
      })
      expect(all.events.find(({ name }) => name === 'request')?.data).toHaveProperty('upstream', 'openai')
      await send(gateway, 'DELETE', '/console/session', { page: holder })
      await waitFor(() => own.ended)
      expect(own.events.at(-1)).toEqual({ name: 'end', data: { code: 'session_ended' } })
      all.close()
      others.close()
    } finally {
      await node?.server.stop(0)
      await gateway.close()
    }
  }, 180_000)
}

test('the number of event streams per session is limited', async () => {
  const gateway = await startTestGateway()
  try {
    const page = await signIn(gateway, { token: gateway.secret })
    const streams = Array.from({ length: 6 }, () => watch(gateway, page))
    await waitFor(() => streams.every(({ events }) => events.length > 0))
    expect(codeOf(await send(gateway, 'GET', '/console/live', { page }))).toEqual([429, 'too_many_watchers'])
    expect((await send(gateway, 'GET', '/console/live')).status).toBe(401)
    expect((await send(gateway, 'POST', '/console/live', { page })).status).toBe(405)
    for (const { close } of streams) close()
    await waitFor(async () => {
      const again = watch(gateway, page)
      await waitFor(() => again.events.length > 0 || again.ended)
      again.close()
      return again.events.length > 0
    })
  } finally {
    await gateway.close()
  }
})
