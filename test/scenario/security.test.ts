// Attacks, and information that must never leak: invalid keys, requests that name another vendor, vendors that redirect us
// elsewhere, operators' problems, and secrets in answers and logs. Rows are named after the danger.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import { makeSecret, rollKey } from '../../src/accounts/keys'
import type { ModelConfig } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

const VENDOR_KEY = 'sk-vendor-canary-8c4f2a'
const WRONG_KEY = 'sk-wrong-canary-77aa01'
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const vendors: VendorName[] = ['openai', 'dashscope', 'google', 'voyage', 'xai']

let sandbox: Sandbox
let vendor: OddVendor
/** The server of an attacker: nothing may ever reach it. */
let thief: OddVendor
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  vendor = startVendor()
  thief = startVendor()
  const upstreams: Record<string, UpstreamConfig> = {
    odd: { ...vendor.upstream, apiKey: VENDOR_KEY },
    // Nobody listens on port 1, which is reserved.
    unreachable: { kind: 'openai', baseUrl: 'http://127.0.0.1:1/v1', apiKey: VENDOR_KEY },
  }
  const models: Record<string, ModelConfig> = {
    'odd-chat': { family: 'openai-chat', upstream: 'odd', price },
    'odd-embedding': { family: 'openai-embeddings', upstream: 'odd', price, batchSize: 1 },
    'unreachable-chat': { family: 'openai-chat', upstream: 'unreachable', price },
    'badkey-openai': { family: 'openai-chat', upstream: 'badkey-openai', price },
    'badkey-dashscope': { family: 'openai-chat', upstream: 'badkey-dashscope', price },
    'badkey-google': { family: 'gemini-embeddings', upstream: 'badkey-google', price },
    'badkey-xai': { family: 'openai-chat', upstream: 'badkey-xai', price },
    'badkey-voyage': { family: 'voyage-embeddings', upstream: 'badkey-voyage', price },
  }
  for (const kind of vendors) {
    upstreams[`badkey-${kind}`] = { kind, baseUrl: sandbox.baseUrls[kind], apiKey: WRONG_KEY }
  }
  const config = { server: { trustedProxies: ['127.0.0.0/8'] } }
  gateway = await startTestGateway({ sandbox, upstreams, models, config })
})
afterAll(async () => {
  await gateway.close()
  await Promise.all([sandbox.stop(), vendor.stop(), thief.stop()])
})

function newSecret(): string {
  return makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))
}

/** Headers of a caller of its own: one caller without a known key has few rows in the request log. */
let callers = 0
const fromElsewhere = () => ({ 'x-forwarded-for': `192.0.2.${++callers}` })

const hello = { model: 'test-chat', messages: say('Hello!') }

describe('S1: keys that are not keys (CVE-2026-42208, CVE-2024-5225)', () => {
  /** How often a key is looked up meanwhile; whether keys were imported is checked at most every ten seconds, whoever calls. */
  async function lookUps(work: () => Promise<unknown>): Promise<number> {
    const { db } = gateway.server.world
    const query = db.query
    let count = 0
    db.query = ((statement) => {
      if (/from keys\b(?! where imported = 1)/.test(statement.sql)) count++
      return query.call(db, statement)
    }) satisfies Db['query']
    await work().finally(() => {
      db.query = query
    })
    return count
  }

  const attempts = [
    "' OR '1'='1",
    "sk-'OR'1'='1",
    "sk-x'/**/union/**/select/**/*/**/from/**/keys--",
    'sk-%',
    `sk-${'%'.repeat(39)}`,
    `sk-${'_'.repeat(39)}`,
    `sk-${'0'.repeat(39)}`,
    'sk-\\x00',
    'sk-$1',
    'sk-ключ'.replace(/[^\x20-\x7e]/g, 'é'),
    `sk-${'a'.repeat(8_000)}`,
    'null',
    'undefined',
    '__proto__',
  ]
  for (const attempt of attempts) {
    test(`${attempt.slice(0, 50)} is refused without a look at the database`, async () => {
      const looks = await lookUps(() =>
        play(gateway, {
          name: attempt,
          key: attempt,
          headers: fromElsewhere(),
          body: hello,
          status: 401,
          error: { code: 'invalid_api_key', type: 'invalid_request_error' },
          answers: { 'www-authenticate': 'Bearer' },
        }),
      )
      expect(looks).toBe(0)
    })
  }

  test('only texts in the form of a key are looked up', async () => {
    const key = newSecret()
    const headers = fromElsewhere()
    const looks = await lookUps(() =>
      play(gateway, { name: 'unknown', key, headers, body: hello, status: 401 }),
    )
    expect(looks).toBe(1)
  })

  const raw: [what: string, key: string, status: string][] = [
    ['a key with a NUL', 'sk-\0abc', '400'],
    ['a key of a megabyte', `sk-${'a'.repeat(1_000_000)}`, '431'],
  ]
  for (const [what, key, status] of raw) {
    test(`${what} does not get into the program`, async () => {
      const calls = sandbox.calls.length
      const caller = await RawCaller.connect(gateway.url)
      caller.send(chatRequest(key, hello))
      await waitFor(() => caller.closed || caller.head().includes('\r\n\r\n'))
      expect(caller.head()).toStartWith(`HTTP/1.1 ${status}`)
      caller.leave('fin')
      expect(sandbox.calls.length).toBe(calls)
      expect((await gateway.chat()).status).toBe(200)
    })
  }
})

describe('S2: keys that are alike (CVE-2026-35030)', () => {
  /** Secrets whose first 20 characters are the same and whose checksums are right. */
  function alike(last: number): string {
    return makeSecret((count) => new Uint8Array(count).map((_, index) => (index < 17 ? index : last)))
  }

  test('keys with the same first 20 characters are never mixed up, in turn and all at once', async () => {
    const secrets = [alike(1), alike(2), alike(3)] as const
    expect(new Set(secrets.map((secret) => secret.slice(0, 20))).size).toBe(1)
    const { db } = gateway.server.world
    const ids: string[] = []
    for (const [index, model] of ['test-chat', 'test-xai'].entries()) {
      const made = await gateway.makeKey(`twin-${index}`, '1', { models: [model] })
      expect(await rollKey(db, made.id, secrets[index] as string, Date.now())).toBe(true)
      ids.push(made.id)
    }
    const statusOf = async (secret: string, model: string) =>
      (await gateway.chat({ model }, { authorization: `Bearer ${secret}` })).status
    const rounds = Array.from({ length: 10 }, () =>
      Promise.all([
        statusOf(secrets[0], 'test-chat'),
        statusOf(secrets[1], 'test-xai'),
        statusOf(secrets[0], 'test-xai'),
        statusOf(secrets[1], 'test-chat'),
        statusOf(secrets[2], 'test-chat'),
      ]),
    )
    for (const statuses of await Promise.all(rounds)) expect(statuses).toEqual([200, 200, 400, 400, 401])
    const paid = (await gateway.charges()).filter(({ key_id }) => ids.includes(String(key_id)))
    expect(new Set(paid.map(({ account, model }) => `${account} ${model}`))).toEqual(
      new Set(['twin-0 test-chat', 'twin-1 test-xai']),
    )
    expect(paid).toHaveLength(20)
  })

  test('a key is its whole text, not a prefix of it', async () => {
    const { secret } = gateway
    const near = [
      `${secret}${'x'.repeat(30)}`,
      secret.slice(0, -1),
      secret.slice(0, 20),
      secret.slice(3),
      secret.toLowerCase(),
      secret.toUpperCase(),
      `${secret},`,
    ].filter((key) => key !== secret)
    for (const key of near) {
      const headers = fromElsewhere()
      const error = { code: 'invalid_api_key' }
      await play(gateway, { name: key, key, headers, body: hello, status: 401, error })
    }
  })
})

describe('S3: requests that name another vendor (CVE-2024-6587, CVE-2025-66405)', () => {
  const headersToVendor = [
    'accept',
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
  ]

  test('fields and headers with a host or a key choose nothing and are not passed on as headers', async () => {
    const { url } = thief
    const { host } = new URL(url)
    const fields = {
      api_base: url,
      base_url: url,
      api_key: WRONG_KEY,
      custom_llm_provider: 'openai',
      extra_headers: { authorization: `Bearer ${WRONG_KEY}` },
      upstream: 'odd',
      litellm_params: { api_base: url },
    }
    const { calls } = await play(gateway, {
      name: 'S3',
      body: { model: 'test-local', messages: say('Hello!'), ...fields },
      headers: {
        host,
        'x-forwarded-host': host,
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'https',
        'x-real-ip': '127.0.0.1',
        forwarded: `host=${host}`,
        'x-original-url': '/health',
        'x-rewrite-url': '/health',
        'x-portkey-custom-host': url,
        'x-api-base': url,
        'x-api-key': WRONG_KEY,
        'openai-organization': 'org-1',
        'proxy-authorization': `Bearer ${WRONG_KEY}`,
        'x-http-method-override': 'GET',
        cookie: 'session=1',
        'user-agent': 'caller/1.0',
      },
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
    const call = calls[0]
    expect(call?.vendor).toBe('openai')
    expect(call?.headers.host).toBe(new URL(sandbox.baseUrls.openai).host)
    expect(call?.headers.authorization).toBe(`Bearer ${sandbox.secrets.openai}`)
    expect(Object.keys(call?.headers ?? {}).filter((name) => !headersToVendor.includes(name))).toEqual([])
    expect(call?.headers['user-agent']).not.toBe('caller/1.0')
    // As data they are passed to the vendor.
    expect(JSON.parse(call?.body ?? '')).toMatchObject(fields)
    expect(thief.requests).toBe(0)
  })

  test('a model id with a path in it is only an unknown model', async () => {
    for (const model of ['../../x', `${thief.url}/v1`, 'test-chat/../test-xai', 'test-chat?x=1']) {
      await play(gateway, {
        name: model,
        body: { ...hello, model },
        status: 400,
        error: { code: 'model_not_found' },
      })
    }
    expect(thief.requests).toBe(0)
  })
})

describe('S4: vendors that send us elsewhere (CVE-2025-62155)', () => {
  const places = ['http://HOST/steal', '//HOST/steal', '/v1/other']
  for (const status of [301, 302, 303, 307, 308]) {
    test(`a redirect by ${status} is not followed`, async () => {
      for (const place of places) {
        const location = place.replace('HOST', new URL(thief.url).host)
        for (const row of [
          { body: { ...hello, model: 'odd-chat' } },
          { body: { ...hello, model: 'odd-chat', stream: true } },
          { path: '/v1/embeddings', body: { model: 'odd-embedding', input: 'Hello!' } },
        ]) {
          const before = vendor.requests
          vendor.answer = () => new Response('moved', { status, headers: { location } })
          const { text, charges } = await play(gateway, {
            name: `${status}`,
            ...row,
            status: 502,
            charges: 1,
            error: { code: 'upstream_redirect', type: 'server_error' },
            answers: { location: null },
          })
          expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
          expect(text).not.toContain('steal')
          expect(vendor.requests).toBe(before + 1)
        }
      }
      expect(thief.requests).toBe(0)
    })
  }

  test('neither is one of a simulated vendor, in the middle of a batch', async () => {
    const input = Array(25).fill('text')
    input[12] = `[sandbox redirect=${thief.url}/steal]`
    const response = await gateway.post('/v1/embeddings', { model: 'text-embedding-v4', input })
    expect(response.status).toBe(502)
    expect(thief.requests).toBe(0)
  })
})

describe('errors of the operator are not shown to callers', () => {
  const rows: [what: string, model: string, prompt: string][] = [
    ...vendors.map((kind): [string, string, string] => [`a bad key for ${kind}`, `badkey-${kind}`, 'Hello!']),
    ['no quota left at OpenAI', 'test-chat', '[sandbox quota]'],
    ['arrears at DashScope', 'test-dashscope', '[sandbox quota]'],
    ['no billing at Google', 'test-google', '[sandbox quota]'],
    ['no billing at Google, embeddings', 'gmx-embedding-001', '[sandbox quota]'],
    ['no credits at xAI', 'test-xai', '[sandbox quota]'],
    ['no payment method at Voyage', 'vgx-4', '[sandbox quota]'],
    ['a vendor’s 401', 'test-chat', '[sandbox status=401]'],
    ['a vendor’s 402', 'test-chat', '[sandbox status=402 error_text="Insufficient Balance"]'],
    ['a vendor’s 402, embeddings', 'vgx-4', '[sandbox status=402]'],
    ['a vendor’s 403', 'test-chat', '[sandbox status=403]'],
  ]
  for (const [what, model, prompt] of rows) {
    test(`${what} is a 503 with the reason in the log`, async () => {
      const isChat = !/embedding|voyage|google|vgx/.test(model) || model === 'test-google'
      const body = isChat ? { model, messages: say(prompt) } : { model, input: prompt }
      for (const stream of isChat ? [false, true] : [false]) {
        const lines = gateway.log.length
        const { charges } = await play(gateway, {
          name: what,
          ...(isChat ? {} : { path: '/v1/embeddings' }),
          body: { ...body, ...(stream ? { stream } : {}) },
          status: 503,
          vendorCalls: 1,
          charges: 1,
          error: { code: 'upstream_unavailable', type: 'server_error', param: null },
          words: ['does not serve this gateway now. Its operator can see why in the log.'],
          absent: ['uota', 'illing', 'redit', 'API key', 'alance', 'payment', WRONG_KEY.slice(0, 6)],
          answers: { 'www-authenticate': null, 'retry-after': /^\d+$/ },
        })
        expect(charges).toMatchObject([{ state: 'released', amount: 0, ended_by: 'upstream' }])
        expect(gateway.log.slice(lines).map(({ event }) => event)).toContain('upstream_refused_operator')
        expect(JSON.stringify(gateway.log)).not.toContain(WRONG_KEY)
      }
      // The failure is not counted against the vendor: the operator may have paid meanwhile.
      if (!model.startsWith('badkey-')) {
        const good = isChat ? { model, messages: say('Hello!') } : { model, input: 'Hello!' }
        const path = isChat ? '/v1/chat/completions' : '/v1/embeddings'
        expect((await gateway.post(path, good)).status).toBe(200)
      }
    })
  }

  test('a vendor that repeats our key in its complaint: neither the caller nor the log reads it', async () => {
    const message = `Incorrect API key provided: ${VENDOR_KEY}. Do not use ${VENDOR_KEY}.`
    for (const [vendorStatus, status, words] of [
      [400, 400, ['Incorrect API key provided: …. Do not use ….']],
      [429, 429, ['Incorrect API key provided: …. Do not use ….']],
      [500, 502, ['HTTP 500', 'Incorrect API key provided: ….']],
      [401, 503, ['does not serve this gateway now']],
    ] as const) {
      vendor.answer = () => Response.json({ error: { message } }, { status: vendorStatus })
      await play(gateway, {
        name: 'echo',
        body: { ...hello, model: 'odd-chat' },
        status,
        charges: 1,
        words: [...words],
        absent: [VENDOR_KEY],
      })
    }
    expect(gateway.log.at(-1)?.fields.message).toContain('Incorrect API key provided: ….')
    expect(JSON.stringify(gateway.log)).not.toContain(VENDOR_KEY)
  })
})

describe('S11: canaries', () => {
  const CANARY = 'canaryprompt5f1d'
  const chat = (directive: string, more: object = {}): Scenario['body'] => ({
    model: 'test-chat',
    messages: say(`${directive} ${CANARY}`),
    ...more,
  })
  const odd = { ...(chat('') as object), model: 'odd-chat' }

  /** Requests of every kind of end, all with the canary in them; those with a status of 200 may repeat it. */
  const requests: {
    path?: string
    key?: 'poor' | 'wrong'
    headers?: Record<string, string>
    body: unknown
    status: number
  }[] = [
    { body: chat(''), status: 200 },
    { body: chat('', { stream: true }), status: 200 },
    { path: '/v1/embeddings', body: { model: 'gmx-embedding-001', input: CANARY }, status: 200 },
    { body: chat('', { temperature: 3 }), status: 400 },
    { body: chat('', { messages: [{ role: CANARY, content: CANARY }] }), status: 400 },
    { body: chat('', { messages: [{ role: 'user', content: { text: CANARY } }] }), status: 400 },
    { body: chat('', { stop: [5, CANARY] }), status: 400 },
    { path: '/v1/embeddings', body: { model: 'vgx-4', input: [CANARY, 5] }, status: 400 },
    { body: chat('', { x: JSON.parse(`${'['.repeat(200)}"${CANARY}"${']'.repeat(200)}`) }), status: 400 },
    { body: `{"model":"test-chat","messages":${CANARY}}`, status: 400 },
    { body: `${CANARY}`, status: 400 },
    { body: chat('', { model: 'nothing' }), status: 400 },
    { body: chat('', { model: 'vgx-4' }), status: 400 },
    { body: chat(''), key: 'wrong', status: 401 },
    { body: chat(''), key: 'poor', status: 402 },
    { path: '/v1/embeddings', body: CANARY.repeat(1_100_000), status: 413 },
    { body: chat(''), headers: { 'content-encoding': 'br' }, status: 415 },
    { body: chat('[sandbox status=400]'), status: 400 },
    { body: chat('[sandbox status=429]'), status: 429 },
    { body: chat('[sandbox status=500]'), status: 502 },
    { body: chat('[sandbox status=503]'), status: 503 },
    { body: chat('[sandbox quota]'), status: 503 },
    { body: chat('', { nobody_knows_this: CANARY }), status: 400 },
    { body: chat('[sandbox garbage]'), status: 502 },
    { body: chat('[sandbox cut_after=1]'), status: 502 },
    { body: chat('[sandbox tokens=20 cut_after=5]', { stream: true }), status: 200 },
    { body: chat('[sandbox tokens=20 error_after=5]', { stream: true }), status: 200 },
    { body: chat('[sandbox usage=negative]'), status: 200 },
    { body: { ...odd, model: 'unreachable-chat' }, status: 502 },
    { body: odd, status: 502 },
    { body: { ...odd, stream: true }, status: 200 },
  ]

  /** Everything that the gateway has written into its folder, whatever the form. */
  function filesOf(folder: string): string {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n')
  }

  test('neither a prompt, nor a caller’s key, nor a vendor’s key is in any error, header, log line, log row or file', async () => {
    const poor = await gateway.makeKey('poor', '0')
    const wrong = newSecret()
    // A vendor whose answer is the prompt itself, as text that is not JSON.
    vendor.answer = () => new Response(`${CANARY} ${CANARY}`, { headers: { 'content-type': 'text/plain' } })
    const shown: string[] = []
    for (const { path = '/v1/chat/completions', key, headers = {}, body, status } of requests) {
      if (status === 200 && (body as Json).model === 'odd-chat') {
        vendor.answer = () =>
          new Response(`data: ${CANARY}\n\n`, { headers: { 'content-type': 'text/event-stream' } })
      }
      const secret = key === 'poor' ? poor.secret : key === 'wrong' ? wrong : gateway.secret
      const response = await gateway.post(path, body, { authorization: `Bearer ${secret}`, ...headers })
      const text = await response.text()
      const what = typeof body === 'string' ? body.slice(0, 80) : JSON.stringify(body).slice(0, 200)
      expect({ what, status: response.status }).toEqual({ what, status })
      shown.push(JSON.stringify([...response.headers]), status === 200 ? '' : text)
    }
    shown.push(await internalError())
    shown.push(await (await fetch(`${gateway.url}/health`)).text())

    const logRows = await gateway.requestLog()
    expect(logRows.length).toBeGreaterThan(requests.length)
    const traces = {
      answers: shown.join('\n'),
      log: JSON.stringify(gateway.log),
      logRows: JSON.stringify(logRows),
      files: filesOf(gateway.dataDir),
    }
    // The places are the right ones: what belongs there is there.
    expect(traces.answers).toContain('The body is not a JSON object.')
    expect(traces.log).toContain('internal_error')
    expect(traces.files).toContain('test-chat')
    const secrets = [
      CANARY,
      gateway.secret,
      poor.secret,
      wrong,
      VENDOR_KEY,
      ...Object.values(sandbox.secrets),
    ]
    for (const [place, text] of Object.entries(traces)) {
      for (const secret of secrets) {
        expect({ place, secret, found: text.includes(secret) }).toEqual({ place, secret, found: false })
      }
    }
  })

  /** The answer to a request that meets a fault of the gateway itself: a table is not there. */
  async function internalError(): Promise<string> {
    const { db } = gateway.server.world
    await db.batch([{ sql: 'alter table accounts rename to hidden_accounts' }])
    try {
      const { text } = await play(gateway, {
        name: 'internal',
        body: chat(''),
        status: 500,
        error: { code: 'internal_error', type: 'server_error', param: null },
        words: ['Its operator can find the reason in the log under req_'],
        absent: ['accounts', 'SQL', 'at ', '.ts'],
      })
      return text
    } finally {
      await db.batch([{ sql: 'alter table hidden_accounts rename to accounts' }])
    }
  }
})
