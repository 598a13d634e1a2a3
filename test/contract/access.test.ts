// Access to every operation and path: without a key, with a token, from a page of another site, without a session's
// token, and to objects of another account. An operation or path without a row here fails.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { adminOperations } from '../../src/admin/operations'
import { CONSOLE_PATHS } from '../../src/app/console-entrance'
import { createApp } from '../../src/app/routes'
import { newId, randomBytes } from '../../src/app/world'
import { addCredit } from '../../src/billing/ledger/ledger'
import { draftStatements, issueStatement } from '../../src/billing/reports/statements'
import { operations } from '../../src/contract/operations'
import { callerOperations } from '../../src/http/callers/operations'
import { servedPaths, toleratedPaths } from '../../src/http/paths'
import { createGateway } from '../../src/request/line'
import { imageModel, startTestGateway, type TestGateway, videoModels } from '../support/gateway'
import { granted, PUBLIC_URL } from '../support/oauth'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const EVIL = 'https://evil.example'
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>`
/** Pages of the documentation, which do not depend on the request. */
const PAGES = ['/docs', '/docs/reference']

let gateway: TestGateway
/** Console sessions, as stored by browsers. */
let holder: Session
let admin: Session
/** Secrets of keys of two accounts, and a token of the first. */
let bob: string
let token: string

interface Session {
  cookie: string
  csrf: string
}

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '100',
    models: { ...videoModels, 'test-image': imageModel },
    config: {
      server: { publicUrl: PUBLIC_URL, mcpSignIn: true },
      receipts: true,
      artifacts: { keep: '1h' },
      console: { allowRemote: true },
    },
  })
  bob = (await gateway.makeKey('bob', '10')).secret
  const made = await gateway.post('/v1/tokens', { expires_in_minutes: 60, budget_usd: '1' })
  token = ((await made.json()) as { token: string }).token
  const secret = makeToken(randomBytes)
  const owner = { id: newId('adm'), name: 'owner', role: 'owner' as const, expiresAt: null, createdAt: 1 }
  await createAdmin(gateway.server.world.db, { ...owner, token: secret })
  holder = await signIn(gateway.secret)
  admin = await signIn(secret)
  await makeStatement()
})
afterAll(() => gateway.close())

async function signIn(secret: string): Promise<Session> {
  const { headers, body } = await send('POST', '/console/session', {
    headers: { origin: gateway.url },
    body: { token: secret },
  })
  const cookie = headers.getSetCookie().find((each) => !each.includes('Max-Age=0')) ?? ''
  return { cookie: cookie.split(';')[0] ?? '', csrf: body.csrf }
}

interface Answer {
  status: number
  headers: Headers
  text: string
  body: Json
}

interface Sent {
  headers?: Record<string, string>
  body?: unknown
}

async function send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} }
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

/** Requests with a session's cookie that its own page would never send, each with the refusal that it must get. */
function forgeries(
  { cookie, csrf }: Session,
  method: string,
): [headers: Record<string, string>, code: string][] {
  const foreign: [Record<string, string>, string][] = [
    [{ cookie, 'x-csrf-token': csrf, origin: EVIL }, 'cross_origin'],
    [{ cookie, 'x-csrf-token': csrf, origin: 'null' }, 'cross_origin'],
    [{ cookie, 'x-csrf-token': csrf, origin: gateway.url, 'sec-fetch-site': 'cross-site' }, 'cross_origin'],
  ]
  if (method === 'GET' || method === 'HEAD') return foreign
  const others = [holder, admin].map((each) => each.csrf).filter((each) => each !== csrf)
  const wrong = ['', 'x'.repeat(43), ...others]
  return [
    ...foreign,
    ...wrong.map((each): [Record<string, string>, string] => [
      { cookie, origin: gateway.url, 'x-csrf-token': each },
      'csrf_token_invalid',
    ]),
  ]
}

/** Expects a refusal in the client's form. Errors in Google's and Anthropic's forms have no code of the gateway. */
function expectRefused(what: object, { status, text, body }: Answer, expected: number, code: string) {
  const received =
    text === '' || 'status' in (body.error ?? {}) || body.type === 'error' ? code : body.error?.code
  expect({ ...what, status, code: received }).toEqual({ ...what, status: expected, code })
}

/** A path with ids that do not exist. */
const filled = (path: string) => path.replaceAll(/\{\+?\w+\}/g, 'none_1')

describe('operations of callers', () => {
  for (const { id, method, path, access, forTokens = false, body } of callerOperations) {
    const plain = { ...(body && { body: {} }) }
    test(`${id}: without a key, with a token, and from another site`, async () => {
      const at = filled(path)
      const bare = await send(method, at, plain)
      if (access === undefined) expect([bare.status, id]).toEqual([401, id])
      else expect(bare.status).not.toBe(401)
      if (access === 'no key') return
      const by = await send(method, at, { ...plain, headers: bearer(token) })
      if (forTokens) expect([by.status, id]).not.toEqual([403, id])
      else expectRefused({ id }, by, 403, 'token_not_allowed')
      if (access === 'optional key') return
      for (const [headers, code] of forgeries(holder, method))
        expectRefused({ id, headers }, await send(method, at, { ...plain, headers }), 403, code)
      const byAdmin = await send(method, at, { ...plain, headers: { cookie: admin.cookie } })
      expect([byAdmin.status, id]).toEqual([401, id])
    })
  }

  for (const { path } of operations)
    test(`${path}: without a key, and from another site`, async () => {
      const at = filled(path)
      expect((await send('POST', at, { body: {} })).status).toBe(401)
      for (const [headers, code] of forgeries(holder, 'POST'))
        expectRefused({ at, headers }, await send('POST', at, { body: {}, headers }), 403, code)
    })
})

describe('operations of the admin API', () => {
  for (const { id, method, path } of adminOperations)
    test(`${id}: from another site, and as a holder of a key`, async () => {
      const at = `/admin/v1${filled(path)}`
      for (const [headers, code] of forgeries(admin, method))
        expectRefused({ id, headers }, await send(method, at, { headers }), 403, code)
      const own = { cookie: holder.cookie, origin: gateway.url, 'x-csrf-token': holder.csrf }
      expect((await send(method, at, { headers: own })).status).toBe(401)
    })
})

/** Ids of objects that the first key has created. */
interface Made {
  response: string
  conversation: string
  item: string
  video: string
  picture: string
  request: string
  token: string
}

async function makeAll(): Promise<Made> {
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await send('POST', path, { body, headers: { ...bearer(gateway.secret), ...headers } })
    expect({ path, isOk: answer.status < 300, text: answer.text }).toMatchObject({ path, isOk: true })
    return answer
  }
  const message = { role: 'user', content: 'Hello' }
  const response = await post('/v1/responses', { model: 'test-chat', input: 'Hello' })
  const { id: conversation } = (await post('/v1/conversations', { items: [{ type: 'message', ...message }] }))
    .body
  const items = await send('GET', `/v1/conversations/${conversation}/items`, {
    headers: bearer(gateway.secret),
  })
  const video = {
    model: 'vidw2.6-t2v',
    input: { prompt: 'A fox' },
    parameters: { duration: 5, size: '1280*720' },
  }
  const later = { prefer: 'respond-async' }
  const token = { expires_in_minutes: 60, budget_usd: '1' }
  return {
    response: response.body.id,
    conversation,
    item: items.body.data[0].id,
    video: (await post('/v1/videos/generations', video)).body.id,
    picture: (await post('/v1/images/generations', { model: 'test-image', prompt: 'A fox' }, later)).body.id,
    request: response.headers.get('x-request-id') ?? '',
    token: (await post('/v1/tokens', token)).body.id,
  }
}

/** Issues the first statement, for a month in which the first account had a payment. */
async function makeStatement(): Promise<void> {
  const { db, now } = gateway.server.world
  const [month, at] = ['2024-01', Date.UTC(2024, 0, 15)]
  await addCredit(db, { id: 'paid_early', account: 'alice', amountNano: 1e9, now: at, note: null })
  const [content] = await draftStatements(db, month, {}, 'alice')
  expect(content && (await issueStatement(db, content, now()))).toMatchObject({ number: 1 })
}

/** The path of each operation with an id, with the id of another account. Null if the id is not private to a key. */
const ofOthers: Record<string, ((made: Made) => string) | null> = {
  getModel: null,
  getContentsModel: null,
  // Anyone with the signed URL may read the file: artifacts-http.test.ts.
  getFile: null,
  headFile: null,
  getResponse: ({ response }) => `/v1/responses/${response}`,
  cancelResponse: ({ response }) => `/v1/responses/${response}/cancel`,
  listInputItems: ({ response }) => `/v1/responses/${response}/input_items`,
  deleteResponse: ({ response }) => `/v1/responses/${response}`,
  getConversation: ({ conversation }) => `/v1/conversations/${conversation}`,
  updateConversation: ({ conversation }) => `/v1/conversations/${conversation}`,
  deleteConversation: ({ conversation }) => `/v1/conversations/${conversation}`,
  addItems: ({ conversation }) => `/v1/conversations/${conversation}/items`,
  listItems: ({ conversation }) => `/v1/conversations/${conversation}/items`,
  getItem: ({ conversation, item }) => `/v1/conversations/${conversation}/items/${item}`,
  deleteItem: ({ conversation, item }) => `/v1/conversations/${conversation}/items/${item}`,
  getVideoTask: ({ video }) => `/v1/videos/generations/${video}`,
  getVideo: ({ video }) => `/v1/videos/${video}`,
  deleteVideo: ({ video }) => `/v1/videos/${video}`,
  getVideoContent: ({ video }) => `/v1/videos/${video}/content`,
  getOwnRequest: ({ request }) => `/v1/requests/${request}`,
  getOwnReceipt: ({ request }) => `/v1/requests/${request}/receipt`,
  getOwnStatement: () => '/v1/statements/1',
  getOwnTask: ({ video }) => `/v1/tasks/${video}`,
  getTaskResult: ({ picture }) => `/v1/tasks/${picture}/result`,
  cancelTask: ({ video }) => `/v1/tasks/${video}/cancel`,
  deleteTask: ({ picture }) => `/v1/tasks/${picture}`,
  getImageTask: ({ picture }) => `/v1/images/tasks/${picture}`,
  revokeToken: ({ token }) => `/v1/tokens/${token}`,
}

describe('objects of another account', () => {
  test('each operation with an id has a row', () => {
    const taking = callerOperations.filter(({ path }) => path.includes('{')).map(({ id }) => id)
    expect(Object.keys(ofOthers).toSorted()).toEqual(taking.toSorted())
  })

  test('are not found, and are not changed', async () => {
    const made = await makeAll()
    await gateway.server.world.requestLog.flush()
    const message = { type: 'message', role: 'user', content: 'Mine' }
    const bodies: Record<string, object> = {
      updateConversation: { metadata: { owner: 'bob' } },
      addItems: { items: [message] },
    }
    const own = Object.entries(ofOthers).flatMap(([id, path]) => (path ? [{ id, path: path(made) }] : []))
    const readable = own.filter(({ id }) => /^(get|list)/.test(id) && !/Content|Result/.test(id))
    const seen = async () => {
      const found = []
      for (const { id, path } of readable) {
        const { status, body } = await send('GET', path, { headers: bearer(gateway.secret) })
        // For a running task, everything except its progress.
        found.push({
          id,
          status,
          has: body.id ?? body.number ?? body.receipt ?? body.data?.length ?? body.request?.id,
        })
      }
      return found
    }
    const before = await seen()
    expect(before.filter(({ status, has }) => status !== 200 || has === undefined)).toEqual([])
    for (const { id, path } of own) {
      const { method = 'GET' } = callerOperations.find((each) => each.id === id) ?? {}
      const request = { headers: bearer(bob), ...(bodies[id] && { body: bodies[id] }) }
      const { status, text } = await send(method, path, request)
      expect({ id, status, text }).toMatchObject({
        id,
        status: 404,
        text: expect.not.stringContaining('alice'),
      })
    }
    expect(await seen()).toEqual(before)
    const listed = await send('GET', '/v1/tokens', { headers: bearer(gateway.secret) })
    expect(listed.body.data).toContainEqual(expect.objectContaining({ id: made.token, status: 'active' }))
    // Ids that a request names in its body.
    for (const named of [{ previous_response_id: made.response }, { conversation: made.conversation }]) {
      const body = { model: 'test-chat', input: 'Hello', ...named }
      const { status } = await send('POST', '/v1/responses', { headers: bearer(bob), body })
      expect({ named, isRefused: status === 400 || status === 404 }).toEqual({ named, isRefused: true })
    }
  })

  test('are in no list of another account', async () => {
    const made = await makeAll()
    await gateway.server.world.requestLog.flush()
    const lists = callerOperations.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    for (const { path, query } of lists) {
      const month = query && 'month' in query.properties ? '?month=2026-01' : ''
      const { text } = await send('GET', `${path}${month}`, { headers: bearer(bob) })
      for (const id of [...Object.values(made), 'alice'])
        expect({ path, text }).not.toMatchObject({ text: expect.stringContaining(id) })
    }
  })
})

/** How each path that is not an operation is protected. */
const otherPaths: Record<string, Guard> = {
  '/': 'public',
  '/.well-known/oauth-authorization-server': 'public',
  '/.well-known/oauth-protected-resource': 'public',
  '/.well-known/oauth-protected-resource/mcp': 'public',
  '/.well-known/oauth-protected-resource/v1/mcp': 'public',
  '/console/consent': 'page',
  '/console/live': 'page',
  '/console/session': 'page',
  '/console/sign-in': 'public',
  '/docs': 'public',
  '/docs/json': 'public',
  '/docs/reference': 'public',
  '/docs/viewer.js': 'public',
  '/health': 'public',
  '/health/live': 'public',
  '/health/ready': 'public',
  '/mcp': 'header',
  '/oauth/authorize': 'program',
  '/oauth/register': 'program',
  '/oauth/revoke': 'program',
  '/oauth/token': 'program',
  '/openapi.json': 'public',
  '/v1/images/edits/async': 'key',
  '/v1/images/generations/async': 'key',
  '/v1/mcp': 'header',
  '/v1/responses/compact': 'key',
  '/v1/v1/images/edits/async': 'key',
  '/v1/v1/images/generations/async': 'key',
  '/v1/v1/responses/compact': 'key',
  '/v1/videos/:id/remix': 'key',
}

/** Paths of operations that read their body themselves. */
const rawPaths: Record<string, Guard> = {
  '/messages/count_tokens': 'key',
  '/v1/messages/count_tokens': 'key',
  // Not configured here; with a wrong signature: payments.test.ts.
  '/v1/payments/stripe': 'program',
  '/v1/responses/input_tokens': 'key',
  '/v1/v1/messages/count_tokens': 'key',
  '/v1/v1/responses/input_tokens': 'key',
}

const guards = {
  /** The answer is the same for all callers, and contains no private data. */
  async public(path) {
    const [bare, known] = [
      await send('GET', path),
      await send('GET', path, { headers: { cookie: holder.cookie } }),
    ]
    expect([path, bare.status, known.status]).toEqual([path, 200, 200])
    expect({ path, isSame: known.text === bare.text }).toEqual({ path, isSame: true })
    expect(known.headers.getSetCookie()).toEqual([])
  },
  /** Requires a key, or a request from the console's own page. */
  async key(path) {
    const at = path.replace(':id', 'video_1')
    expect([path, (await send('POST', at, { body: {} })).status]).toEqual([path, 401])
    for (const [headers, code] of forgeries(holder, 'POST'))
      expectRefused({ path, headers }, await send('POST', at, { body: {}, headers }), 403, code)
  },
  /** Requires a key or a token in a header. Cookies are ignored. */
  async header(path) {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const own = { cookie: holder.cookie, origin: gateway.url, 'x-csrf-token': holder.csrf }
    for (const headers of [{}, own, bearer(token)]) {
      const { status } = await send('POST', path, { body: ping, headers })
      expect({ path, isRefused: status === 401 || status === 403 }).toEqual({ path, isRefused: true })
    }
  },
  /** Requires a request from the console's own page. */
  async page(path) {
    for (const method of path === '/console/live' ? ['GET'] : ['GET', 'POST', 'DELETE'])
      for (const [headers, code] of forgeries(holder, method)) {
        const { status, body } = await send(method, path, {
          headers,
          body: method === 'POST' ? {} : undefined,
        })
        // During a sign-in there is no session yet, and therefore no session token.
        if (path === '/console/session' && method === 'POST' && code === 'csrf_token_invalid') continue
        const expected =
          path === '/console/consent' && method === 'DELETE' ? [405, 'method_not_allowed'] : [403, code]
        expect({ path, method, headers, answer: [status, body.error?.code] }).toMatchObject({
          answer: expected,
        })
      }
  },
  /** The program's own proof is required: a person's session is ignored, and a request without proof has no effect. */
  async program(path) {
    const method = path === '/oauth/authorize' ? 'GET' : 'POST'
    const own = { cookie: holder.cookie, origin: gateway.url, 'x-csrf-token': holder.csrf }
    for (const headers of [{}, own, bearer(gateway.secret)]) {
      const { status } = await send(method, path, { headers, ...(method === 'POST' && { body: {} }) })
      expect([path, status >= 400 && status < 500]).toEqual([path, true])
    }
  },
} satisfies Record<string, (path: string) => Promise<void>>
type Guard = keyof typeof guards

describe('all other paths', () => {
  test('have a row', () => {
    const { world } = gateway.server
    const ofOperations = [
      ...operations.flatMap((each) => servedPaths(each)),
      ...callerOperations.flatMap(({ path, aliases }) =>
        aliases ? [path, ...aliases] : toleratedPaths(path),
      ),
    ]
    const known = new Set(
      ofOperations.map((path) => path.replace(/\{\+\w+\}/, '*').replaceAll(/\{(\w+)\}/g, ':$1')),
    )
    const served = createApp(world, createGateway(world)).routes.filter(({ method }) => method !== 'OPTIONS')
    const rest = served.map(({ path }) => path).filter((path) => !known.has(path))
    expect([...new Set([...rest, ...CONSOLE_PATHS])].toSorted()).toEqual(Object.keys(otherPaths).toSorted())
  })

  for (const [path, guard] of Object.entries({ ...otherPaths, ...rawPaths }))
    test(`${path}: ${guard}`, () => guards[guard](path))
})

describe('texts from other users', () => {
  test('are never served as a page of the gateway', async () => {
    const text = encodeURIComponent(HOSTILE)
    const at = (path: string) => path.replaceAll(/\{\+?\w+\}|:id/g, text)
    const requests = [
      ...callerOperations.map(({ method, path }) => [method, at(path)]),
      ...adminOperations
        .filter(({ method }) => method === 'GET')
        .map(({ method, path }) => [method, `/admin/v1${at(path)}`]),
      ...Object.keys({ ...otherPaths, ...rawPaths }).map((path) => ['GET', at(path)]),
      ['GET', `/console/sign-in/${text}`],
      ['GET', `/console/sign-in/${text}/callback`],
      ['GET', `/console/${text}`],
      ['GET', `/${text}`],
    ]
    for (const [method = '', path = ''] of requests) {
      const query = `${path}?error=${text}&error_description=${text}&state=${text}&client_id=${text}&redirect_uri=${text}`
      // One of the operations replaces the key of the request.
      const { secret } = await gateway.makeKey('carol', '1')
      const own = path.startsWith('/admin') ? { cookie: admin.cookie } : bearer(secret)
      const { headers, text: answer } = await send(method, query, { headers: own })
      const isPage = headers.get('content-type')?.startsWith('text/html') ?? false
      expect({ path, isPage, has: isPage && answer.includes('<img src=x') }).toEqual({
        path,
        isPage: PAGES.includes(path),
        has: false,
      })
    }
  })

  test('are shown as data if a program has registered them as its name', async () => {
    const made = await granted(gateway, '1', { client_name: HOSTILE })
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: made.clientId,
      redirect_uri: HOSTILE,
    })
    const refused = await send('GET', `/oauth/authorize?${query}`)
    expect(refused.headers.get('content-type')).toStartWith('text/plain')
    expect(refused.headers.get('content-security-policy')).toStartWith("default-src 'none'")
    expect(refused.headers.get('x-content-type-options')).toBe('nosniff')
  })
})
