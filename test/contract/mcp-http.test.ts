// POST /mcp for clients of every kind and for foreign pages: keys, origins, methods, versions, bodies and streams. The
// real gateway with messages that the official client would not send, and the official conformance suite.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createProgress } from '../../src/mcp/progress'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import {
  dataUrl,
  nano,
  newestHeaders,
  newestMessage,
  postMessage,
  toolMessage,
  toolModels,
} from '../support/mcp'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tests', version: '1' } },
}
const PUBLIC_URL = 'https://ai.example.com/gateway'

let gateway: TestGateway

beforeAll(async () => {
  const server = { publicUrl: PUBLIC_URL, allowedOrigins: ['https://app.example.com'] }
  gateway = await startTestGateway({ models: toolModels, config: { server, artifacts: { keep: '7d' } } })
})

afterAll(() => gateway.close())

const post = (message: unknown, headers: Record<string, string> = {}) =>
  postMessage(gateway.url, gateway.secret, message, headers)

interface Refusal {
  message?: unknown
  /** Null: without a key. */
  secret?: string | null
  headers?: Record<string, string>
  status: number
  code: number
  says: string[]
  answer?: Record<string, string>
}

const refusals: Record<string, Refusal> = {
  'no key': {
    secret: null,
    status: 401,
    code: -32000,
    says: ['invalid_api_key', 'Authorization'],
    answer: { 'www-authenticate': 'Bearer' },
  },
  'a wrong key': {
    secret: 'sk-wrong',
    status: 401,
    code: -32000,
    says: ['Incorrect API key'],
    answer: { 'www-authenticate': 'Bearer' },
  },
  'a foreign page': {
    headers: { origin: 'https://evil.example' },
    status: 403,
    code: -32000,
    says: ['origin_not_allowed', 'server.allowedOrigins'],
  },
  'a page without an origin of its own': {
    headers: { origin: 'null' },
    status: 403,
    code: -32000,
    says: ['origin_not_allowed'],
  },
  'a page whose name only begins like ours': {
    headers: { origin: 'https://ai.example.com.evil.example' },
    status: 403,
    code: -32000,
    says: ['origin_not_allowed'],
  },
  'a page that has itself resolved to this address': {
    headers: { origin: 'http://evil.example', host: 'evil.example' },
    status: 403,
    code: -32000,
    says: ['origin_not_allowed'],
  },
  'a revision that is not spoken here, in the header': {
    headers: { 'mcp-protocol-version': '2099-01-01' },
    status: 400,
    code: -32602,
    says: ['names protocol revision 2099-01-01'],
  },
  'a revision that is not spoken here, in the message': {
    message: newestMessage('server/discover', {}, '2099-01-01'),
    status: 400,
    code: -32022,
    says: ['"supported":["2026-07-28"]', '"requested":"2099-01-01"', '"id":1'],
  },
  'a message that says which revision it is of in its header only': {
    headers: { 'mcp-protocol-version': '2026-07-28' },
    status: 400,
    code: -32602,
    says: ['missing the required per-request envelope'],
  },
  'a message whose header names another revision': {
    message: newestMessage('tools/list'),
    headers: { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'tools/list' },
    status: 400,
    code: -32020,
    says: ['headers and body disagree'],
  },
  'a message whose header names another method': {
    message: newestMessage('tools/list'),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' },
    status: 400,
    code: -32020,
    says: ['headers and body disagree'],
  },
  'a list of messages': {
    message: [PING, PING],
    status: 400,
    code: -32600,
    says: ['one JSON-RPC message'],
  },
  'no JSON': { message: '{"jsonrpc":', status: 400, code: -32700, says: ['not a JSON object'] },
  'an empty body': { message: '', status: 400, code: -32700, says: ['The body is empty'] },
  'an object that is not a message': { message: { hello: 1 }, status: 400, code: -32600, says: ['JSON-RPC'] },
  'deep nesting': {
    message: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`,
    status: 400,
    code: -32600,
    says: ['nests more than 128 levels deep'],
  },
  'a repeated name': {
    message: '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}',
    status: 400,
    code: -32600,
    says: ["has the field 'params.a.b' twice"],
  },
  'more than is read': {
    message: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[${'[],'.repeat(200_000)}1]}`,
    status: 400,
    code: -32600,
    says: ['more than 60,000 objects, arrays and texts'],
  },
  'a client that takes no stream': {
    headers: { accept: 'application/json' },
    status: 406,
    code: -32000,
    says: ['text/event-stream'],
  },
  'another type of body': {
    headers: { 'content-type': 'text/plain' },
    status: 415,
    code: -32000,
    says: ['application/json'],
  },
  'an unsupported compression': {
    headers: { 'content-encoding': 'br' },
    status: 415,
    code: -32000,
    says: ['unsupported_encoding'],
  },
}

describe('rejected', () => {
  for (const [name, { message = PING, secret, headers, status, code, says, answer = {} }] of Object.entries(
    refusals,
  )) {
    test(name, async () => {
      const used = secret === undefined ? gateway.secret : secret
      const response = await postMessage(gateway.url, used, message, headers)
      const text = await response.text()
      expect(response.status).toBe(status)
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', error: { code } })
      for (const word of says) expect(text).toContain(word)
      for (const header in answer) expect(response.headers.get(header)).toBe(answer[header] as string)
      expect(response.headers.get('x-request-id')).toStartWith('req_')
      expect(gateway.sandbox.calls).toEqual([])
    })
  }

  test('a body beyond the limit', async () => {
    const response = await post(`"${'x'.repeat(64 * 1024 * 1024)}"`)
    expect(response.status).toBe(413)
    expect(await response.text()).toContain('body_too_large')
  })

  test('GET and DELETE, because there are no sessions', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const headers = { authorization: `Bearer ${gateway.secret}`, accept: 'text/event-stream' }
      const response = await fetch(`${gateway.url}/mcp`, { method, headers })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
      expect(await response.text()).toContain(`accepts POST, not ${method}`)
    }
  })

  test('a request for OAuth metadata, because only keys are supported', async () => {
    for (const name of [
      'oauth-protected-resource',
      'oauth-protected-resource/mcp',
      'oauth-authorization-server',
    ])
      expect((await fetch(`${gateway.url}/.well-known/${name}`)).status).toBe(404)
  })

  test('a revoked key, immediately for the next message', async () => {
    const { secret, id } = await gateway.makeKey('carol', '1')
    expect((await postMessage(gateway.url, secret, PING)).status).toBe(200)
    await gateway.server.world.db.batch([
      { sql: 'update keys set revoked_at = 1 where id = $1', parameters: [id] },
    ])
    await waitFor(async () => (await postMessage(gateway.url, secret, PING)).status === 401)
    expect((await postMessage(gateway.url, secret, PING)).status).toBe(401)
  })
})

describe('allowed', () => {
  test('pages of this gateway, of this computer, and those that the operator names, may read the answer', async () => {
    const origins = [
      'https://ai.example.com',
      'http://localhost:3000',
      'http://127.0.0.1:1',
      'http://[::1]:9',
    ]
    for (const origin of [...origins, 'https://app.example.com']) {
      const response = await post(PING, { origin })
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBe(origin)
      const asked = await fetch(`${gateway.url}/mcp`, { method: 'OPTIONS', headers: { origin } })
      expect(asked.status).toBe(204)
      expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
    }
    const asked = await fetch(`${gateway.url}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    })
    expect(asked.status).toBe(403)
    expect(asked.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('every revision that begins with initialize; an unknown one is offered the latest', async () => {
    const latest = '2025-11-25'
    for (const [version, offered] of [
      ...['2025-03-26', '2025-06-18', latest].map((known) => [known, known]),
      // One that begins without it, and one that does not exist yet.
      ['2026-07-28', latest],
      ['2099-01-01', latest],
    ]) {
      const message = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: version } }
      const response = await post(message)
      const { result }: Json = await response.json()
      expect(result.protocolVersion).toBe(offered)
      expect(result.capabilities).toEqual({ tools: {} })
      expect(response.headers.get('mcp-session-id')).toBeNull()
    }
  })

  test('a notification, which has no answer', async () => {
    const response = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([response.status, await response.text()]).toEqual([202, ''])
  })

  test('a call without initialize, with an unknown session, below /v1 as well', async () => {
    const message = toolMessage('get_balance', {})
    const response = await fetch(`${gateway.url}/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.secret}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': 'somebody-elses',
      },
      body: JSON.stringify(message),
    })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('"account":"alice"')
  })

  test('no subscription to lists that never change', async () => {
    const message = newestMessage('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const response = await post(message, newestHeaders('subscriptions/listen'))
    expect([response.status, ((await response.json()) as Json).error.code]).toEqual([200, -32603])
  })

  test('a method that does not exist is an error of the protocol', async () => {
    const { error }: Json = await (await post({ ...PING, method: 'resources/list' })).json()
    expect(error.code).toBe(-32601)
  })
})

/** The data of the events of a stream. */
function eventsIn(text: string): Json[] {
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
}

/** Result of a tool call. */
async function resultOf(message: object): Promise<Json> {
  return eventsIn(await (await post(message)).text()).at(-1)?.result
}

describe('the stream of a call', () => {
  const args = { model: 'test-chat', prompt: 'Hello!' }

  test('has progress for those who ask for it, and the answer last', async () => {
    const response = await post(toolMessage('chat', args, { progressToken: 'abc' }))
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const events = eventsIn(await response.text())
    expect(events[0]).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 'abc', progress: 0 },
    })
    expect(events.at(-1)).toMatchObject({ id: 1, result: { structuredContent: { model: 'test-chat' } } })
    const id = events.at(-1)?.result.structuredContent.request_id
    expect(response.headers.get('x-request-id')).toBe(id)
  })

  test('has only the answer for other callers', async () => {
    const events = eventsIn(await (await post(toolMessage('chat', args))).text())
    expect(events.map(({ id }) => id)).toEqual([1])
  })

  test('continues without its caller, and the vendor’s output is charged exactly once', async () => {
    const before = (await gateway.charges()).length
    const controller = new AbortController()
    const calls = gateway.sandbox.calls.length
    const slow = toolMessage('chat', { model: 'test-chat', prompt: '[sandbox delay_ms=300] Hello!' })
    const response = await postMessage(gateway.url, gateway.secret, slow, {}, controller.signal)
    await waitFor(() => gateway.sandbox.calls.length > calls)
    controller.abort()
    await response.text().catch(() => {})
    await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
    const charges = (await gateway.charges()).slice(before)
    expect(charges).toMatchObject([{ state: 'settled', ended_by: 'done' }])
    expect((await gateway.balance()).heldNano).toBe(0)
  })

  test('a wait for a video ends when its caller disconnects, and the task continues', async () => {
    const video = { model: 'gkx-imagine-video', prompt: '[sandbox task_ms=3000] a fox', duration: 2 }
    const { id } = (await resultOf(toolMessage('generate_video', video))).structuredContent
    const controller = new AbortController()
    const waiting = toolMessage('get_video', { id, wait_seconds: 60 }, { progressToken: 1 })
    const response = await postMessage(gateway.url, gateway.secret, waiting, {}, controller.signal)
    await response.body?.getReader().read()
    controller.abort()
    const ended = await resultOf(toolMessage('get_video', { id }))
    expect(ended.structuredContent).toMatchObject({ status: 'succeeded', cost_usd: '0.01' })
  })
})

test('the first progress is 0, even if the process pauses before it is sent', () => {
  let at = 0
  const heard: number[] = []
  const ticker = { watch: () => () => {}, stop() {} }
  const monotonic = () => {
    at += 7
    return at
  }
  createProgress({ monotonic, ticker }, (progress) => heard.push(progress)).report('Later.')
  expect(heard).toEqual([0, 0.007])
})

test('a waiting caller gets progress in every silence, with figures that only rise', () => {
  let at = 0
  let beat = (_now: number) => {}
  const heard: [progress: number, message: string][] = []
  const ticker = {
    watch(watcher: (now: number) => void) {
      beat = watcher
      return () => {
        beat = () => {}
      }
    },
    stop() {},
  }
  const progress = createProgress({ monotonic: () => at, ticker }, (...report) => heard.push(report))
  progress.report('The same moment.')
  for (at = 1_000; at <= 11_000; at += 1_000) beat(at)
  progress.stop()
  for (; at <= 30_000; at += 1_000) beat(at)
  expect(heard).toEqual([
    [0, 'Begun.'],
    [0.001, 'The same moment.'],
    [5, 'Still running after 5 s.'],
    [10, 'Still running after 10 s.'],
  ])
})

describe('results that are kept', () => {
  test('have addresses of this gateway, which need no key', async () => {
    const message = toolMessage('generate_image', { model: 'qnx-image-2.0', prompt: 'a fox' })
    const [, link] = (await resultOf(message)).content
    expect(link.uri).toStartWith(`${PUBLIC_URL}/v1/artifacts/art_`)
    expect((await fetch(link.uri.replace(PUBLIC_URL, gateway.url))).headers.get('content-type')).toBe(
      'image/png',
    )
  })

  test('are linked if they are too large for an answer', async () => {
    const words = { input: 'word '.repeat(120), response_format: 'wav' }
    const long = toolMessage('speak', { model: 'qnx3-tts-flash', ...words })
    const { audio, cost_usd: cost } = (await resultOf(long)).structuredContent
    expect(audio.mime_type).toBe('audio/wav')
    expect(audio.url).toStartWith(`${PUBLIC_URL}/v1/artifacts/art_`)
    expect(nano(cost)).toBe(words.input.length * 1_000)
    const file = await fetch(audio.url.replace(PUBLIC_URL, gateway.url))
    expect(Number(file.headers.get('content-length'))).toBe(audio.bytes)
    expect(audio.bytes).toBeGreaterThan(1024 * 1024)
  })

  test('an edit leaves no files behind', async () => {
    const edit = { model: 'dle-2', prompt: 'a hat', images: [dataUrl('png')] }
    expect((await resultOf(toolMessage('edit_image', edit))).structuredContent.cost_usd).toBe('0.02')
    expect(readdirSync(join(gateway.dataDir, 'uploads'))).toEqual([])
  })
})

describe('the conformance suite of the protocol', () => {
  /** Checks of each scenario that fail by design. Other scenarios ask for a server that was made for the suite. */
  const SCENARIOS: [version: string, scenario: string, failing: string[]][] = [
    ['2025-11-25', 'server-initialize', []],
    ['2025-11-25', 'ping', []],
    ['2025-11-25', 'tools-list', []],
    ['2025-11-25', 'dns-rebinding-protection', []],
    ['2026-07-28', 'tools-list', []],
    ['2026-07-28', 'dns-rebinding-protection', []],
    ['2026-07-28', 'http-header-validation', []],
    // There are no prompts and no resources here.
    ['2026-07-28', 'caching', ['prompts-list', 'resources-list', 'resources-templates-list']],
    [
      '2026-07-28',
      'server-stateless',
      [
        // Tools of the suite, which need an ability of the client, send requests, or write logs.
        ...['server-rejects-undeclared-capability', 'missing-capability-http-400'],
        ...['http-server-no-independent-requests-on-stream', 'server-no-log-without-loglevel'],
        // The tools never change, so there is nothing to subscribe to.
        ...['server-sends-subscription-ack', 'server-tags-subscription-id'],
      ],
    ],
  ]
  const SUITE = join(import.meta.dir, '../..', 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

  for (const [version, scenario, failing] of SCENARIOS) {
    test(`${scenario} of ${version}`, async () => {
      // The suite knows no keys.
      const proxy = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch(request) {
          const headers = new Headers(request.headers)
          headers.set('authorization', `Bearer ${gateway.secret}`)
          const { method, body } = request
          return fetch(`${gateway.url}/mcp`, { method, headers, body })
        },
      })
      const folder = temporaryFolder()
      mkdirSync(folder, { recursive: true })
      const url = `http://localhost:${proxy.port}/mcp`
      const which = ['--scenario', scenario, '--spec-version', version]
      const command = [process.execPath, SUITE, 'server', '--url', url, ...which]
      const suite = Bun.spawn(command, { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
      const output = await new Response(suite.stdout).text()
      const checks = [
        ...output.matchAll(/\[(?:sep-\d+-)?([\w-]+?)(?:-caching-hints)? *\] \S*?(SUCCESS|FAILURE|WARNING)/g),
      ]
      const failed = checks.filter(([, , result]) => result !== 'SUCCESS').map(([, name]) => name)
      expect(failed.sort()).toEqual(failing.toSorted())
      expect(checks.length - failed.length).toBeGreaterThan(0)
      expect(await suite.exited).toBe(failing.length === 0 ? 0 : 1)
      await proxy.stop(true)
    })
  }
})
