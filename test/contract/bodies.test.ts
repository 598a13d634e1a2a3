// Request bodies: supported compression, types, sizes and minimum speed, and that a rejected body uses no memory.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { BodyReader, bodyLimitsOf } from '../../src/http/body'
import { GatewayError } from '../../src/lib/errors'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { createHandClock } from '../support/relaying'
import { play, type Scenario } from '../support/scenario'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { rawForm, typeOf } from '../support/servers/raw-form'

setDefaultTimeout(180_000)

const MEBIBYTE = 1024 * 1024
const LIMIT = 2 * MEBIBYTE

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ config: { server: { maxBodyBytes: { chat: LIMIT, mcp: 1_000 } } } })
})
afterAll(() => gateway.close())

const served = { status: 200, vendorCalls: 1, charges: 1 }
const hello = JSON.stringify({ model: 'test-chat', messages: say('Hello!') })
const large = JSON.stringify({ model: 'test-chat', messages: say('word '.repeat(60_000)) })

function playAll(scenarios: Scenario[]): void {
  for (const scenario of scenarios) test(scenario.name, () => play(gateway, scenario).then(() => {}))
}

function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + 10_000))
      at += 10_000
    },
  })
}

describe('compressed bodies', () => {
  const packed = (
    name: string,
    encoding: string,
    body: unknown,
    more: Partial<Scenario> = served,
  ): Scenario => ({
    name: `${encoding}: ${name}`,
    status: 200,
    headers: { 'content-encoding': encoding },
    body,
    ...more,
  })
  const broken = {
    status: 400,
    error: { code: 'body_unreadable' },
    words: ['does not have the Content-Encoding of its header'],
  }
  const unknown = {
    status: 415,
    error: { code: 'unsupported_encoding' },
    answers: { 'accept-encoding': 'gzip, deflate, identity' },
  }
  const zeros = gzipSync(Buffer.alloc(200 * MEBIBYTE))
  playAll([
    packed('as it is', 'identity', hello),
    packed('empty', '', hello),
    packed('small', 'gzip', gzipSync(hello)),
    packed('large', 'gzip', gzipSync(large)),
    packed('in pieces', 'gzip', () => inPieces(gzipSync(large))),
    packed('in capitals, with what changes nothing', 'Identity, GZIP', gzipSync(hello)),
    packed('by its old name', 'x-gzip', gzipSync(hello)),
    packed(
      'of several members',
      'gzip',
      Buffer.concat([gzipSync(hello.slice(0, 9)), gzipSync(hello.slice(9))]),
    ),
    packed('small', 'deflate', deflateSync(hello)),
    packed('not packed', 'gzip', hello, broken),
    packed('cut off', 'gzip', gzipSync(large).subarray(0, -20), broken),
    packed('spoilt', 'gzip', gzipSync(large).fill(0, 100, 200), broken),
    packed('no JSON inside', 'gzip', gzipSync('hello'), { status: 400, error: { code: 'invalid_json' } }),
    packed('brotli', 'br', hello, unknown),
    packed('twice', 'gzip, gzip', gzipSync(gzipSync(hello)), unknown),
    packed('200 MB of nothing in 200 kB', 'gzip', zeros, { status: 413, error: { code: 'body_too_large' } }),
    packed('the same, of unknown length', 'gzip', () => inPieces(zeros), {
      status: 413,
      error: { code: 'body_too_large' },
    }),
  ])

  test('a small body is never decompressed beyond the limit', async () => {
    Bun.gc(true)
    const before = process.memoryUsage().rss
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        gateway
          .post('/v1/chat/completions', zeros, { 'content-encoding': 'gzip' })
          .then(({ status }) => status),
      ),
    )
    expect(answers).toEqual(Array(8).fill(413))
    // Eight times 200 MB would be far above the limit.
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MEBIBYTE)
  })

  test('a form may be compressed too', async () => {
    const form = rawForm([
      { name: 'model', content: 'nobody' },
      { name: 'prompt', content: 'x' },
    ])
    await play(gateway, {
      name: 'form',
      path: '/v1/images/edits',
      headers: { 'content-encoding': 'gzip', 'content-type': typeOf() },
      body: gzipSync(form),
      status: 400,
      error: { code: 'model_not_found' },
    })
  })
})

describe('types of bodies', () => {
  const typed = (type: string, more: Partial<Scenario> = served): Scenario => ({
    name: `JSON with the type ${type || '(none)'}`,
    status: 200,
    headers: { 'content-type': type },
    body: hello,
    ...more,
  })
  const refused = (type: string, ...words: string[]) =>
    typed(type, {
      status: 415,
      error: { code: 'unsupported_media_type', param: null },
      words: ["Send it with the header 'Content-Type: application/json'", ...words],
    })
  playAll([
    typed('application/json'),
    typed('Application/JSON; charset=utf-8'),
    typed('application/vnd.api+json'),
    typed('text/json'),
    typed(''),
    refused('text/plain;charset=UTF-8', 'not text/plain'),
    refused(
      'application/x-www-form-urlencoded',
      '`curl -d` sends a form',
      "-H 'Content-Type: application/json'",
    ),
    refused('multipart/form-data; boundary=a', 'files in it as addresses or base64'),
    refused('application/octet-stream'),
    { ...refused('text/plain'), path: '/v1/messages', error: {}, name: 'a message as text' },
    { ...refused('text/plain'), path: '/v1/videos', name: 'a video of OpenAI’s API as text' },
    {
      name: 'JSON instead of a form',
      path: '/v1/images/edits',
      body: hello,
      status: 415,
      error: { code: 'unsupported_media_type' },
      words: ['multipart/form-data'],
    },
  ])

  test('a body without a type is accepted', async () => {
    const caller = await RawCaller.connect(gateway.url)
    caller.send(chatRequest(gateway.secret, JSON.parse(hello)).replace(/content-type: .*\r\n/, ''))
    await waitFor(() => caller.head().includes('\r\n'))
    expect(caller.head()).toStartWith('HTTP/1.1 200 ')
    caller.leave('fin')
  })
})

describe('sizes of bodies', () => {
  const tooLarge = { status: 413, error: { code: 'body_too_large' }, words: ['server.maxBodyBytes'] }
  playAll([
    { name: 'of the configured size', body: () => hello.padEnd(LIMIT), ...served },
    { name: 'one byte more', body: () => hello.padEnd(LIMIT + 1), ...tooLarge },
    {
      name: 'one byte more, in pieces',
      body: () => inPieces(Buffer.from(hello.padEnd(LIMIT + 1))),
      ...tooLarge,
    },
    {
      name: 'the limit of another operation is unchanged',
      path: '/v1/messages',
      body: () => JSON.stringify({ model: 'nobody', max_tokens: 1, messages: say('x'.repeat(LIMIT)) }),
      status: 400,
    },
  ])

  test('messages to the MCP server have a separate limit', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'x'.repeat(1_000) } }
    const response = await gateway.post('/mcp', message, { accept: 'application/json, text/event-stream' })
    expect(response.status).toBe(413)
    expect(await response.text()).toContain('larger than 1000 bytes')
  })
})

describe('bodies that are rejected before they have arrived', () => {
  const head = (secret: string, length: number | 'chunked', more = '') =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\ncontent-type: application/json\r\n${more}` +
    `${length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n\r\n`

  const rows: [name: string, request: () => string, status: number][] = [
    ['a wrong key', () => head('wrong', 1_000_000), 401],
    ['a wrong key, of a small body', () => head('wrong', 5_000), 401],
    ['a wrong key, of unknown length', () => `${head('wrong', 'chunked')}5\r\nhello\r\n`, 401],
    ['too large', () => head(gateway.secret, LIMIT + 1), 413],
    [
      'an unsupported type',
      () => head(gateway.secret, 1_000_000).replace('application/json', 'text/plain'),
      415,
    ],
    ['an unsupported coding', () => head(gateway.secret, 1_000_000, 'content-encoding: br\r\n'), 415],
  ]
  for (const [name, request, status] of rows) {
    test.concurrent(`${name}: answered immediately, and the connection is closed while the body is being sent`, async () => {
      const caller = await RawCaller.connect(gateway.url)
      caller.send(request())
      await waitFor(() => caller.head().includes('\r\n\r\n'))
      expect(caller.head()).toStartWith(`HTTP/1.1 ${status} `)
      const dribble = setInterval(() => caller.send('a'), 200)
      await waitFor(() => caller.closed)
      clearInterval(dribble)
      expect(caller.closed).toBe(true)
    })
  }

  test('a model that does not exist: answered before the rest of a large body has arrived', async () => {
    const text = `{"model":"nobody","messages":[{"role":"user","content":"${'x'.repeat(70_000)}`
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens']) {
      const caller = await RawCaller.connect(gateway.url)
      caller.send(head(gateway.secret, 1_000_000).replace('/v1/chat/completions', path) + text)
      await waitFor(() => caller.head().includes('does not exist'))
      expect(caller.head()).toStartWith('HTTP/1.1 400 ')
      expect(caller.head()).toContain('The model `nobody` does not exist')
      caller.leave('rst')
    }
  })

  test('a client that is sending megabytes can read the answer', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer wrong', 'content-type': 'application/json' },
      body: Buffer.alloc(30 * MEBIBYTE, ' '),
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
  })

  const begun: [code: string, length: number, beginning: string][] = [
    ['body_too_large', 30 * MEBIBYTE, `{"messages":[${'[],'.repeat(700_000)}`],
    ['body_too_complex', LIMIT, `{"messages":[${'0,'.repeat(600_000)}`],
  ]
  test.each(begun)(
    'the rest of a rejected body is discarded, and the connection serves the next request: %s',
    async (code, length, beginning) => {
      const caller = await RawCaller.connect(gateway.url)
      caller.send(head(gateway.secret, length))
      caller.send(beginning)
      await waitFor(() => caller.head().includes(code))
      expect(caller.head()).toContain(code)
      caller.send(' '.repeat(length - beginning.length))
      caller.send(chatRequest(gateway.secret, { model: 'test-chat', messages: say('Hello!') }))
      await waitFor(() => caller.tail().includes('chat.completion'))
      expect(caller.tail()).toContain('HTTP/1.1 200 ')
      caller.leave('fin')
    },
  )

  test('a rejected body that has arrived completely does not close the connection', async () => {
    const caller = await RawCaller.connect(gateway.url)
    caller.send(chatRequest(gateway.secret, { model: 'nobody', messages: [] }))
    await waitFor(() => caller.head().includes('model_not_found'))
    caller.send(chatRequest(gateway.secret, { model: 'test-chat', messages: say('Hello!') }))
    await waitFor(() => caller.tail().includes('chat.completion'))
    expect(caller.tail()).toContain('HTTP/1.1 200 ')
    caller.leave('fin')
  })
})

describe('slow bodies', () => {
  const clock = createHandClock()
  const pace = { smallMs: 1_000, windowMs: 1_000, windowBytes: 20_000, totalMs: 4_000 }
  const bodies = new BodyReader(clock.ticker, () => bodyLimitsOf({}), pace)
  const outcomes: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request, server) {
      try {
        const body = await bodies.read(request, 'chat', () => server.timeout(request, 0))
        outcomes.push(`read ${body.length}`)
        return new Response('read')
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        outcomes.push(`${error.status} ${error.code}`)
        return bodies.answer(
          request,
          new Response(error.message, { status: error.status, headers: error.headers }),
          server,
        )
      }
    },
  })
  afterAll(async () => {
    clock.ticker.stop()
    await server.stop(true)
  })

  /** Sends this number of bytes at this interval by the test's clock, until the body is complete or rejected. */
  async function send(length: number | 'chunked', bytes: number, everyMs: number) {
    outcomes.length = 0
    const caller = await RawCaller.connect(server.url.href)
    const framing = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`
    caller.send(`POST / HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`)
    const startedAt = clock.now()
    for (let sent = 0; !caller.closed && sent < (length === 'chunked' ? Infinity : length); sent += bytes) {
      const piece = ' '.repeat(length === 'chunked' ? bytes : Math.min(bytes, length - sent))
      caller.send(length === 'chunked' ? `${bytes.toString(16)}\r\n${piece}\r\n` : piece)
      // Waits until the bytes have reached the server, which runs in this process.
      await Bun.sleep(2)
      await clock.pass(everyMs)
      if (caller.head() !== '') break
    }
    const tookMs = clock.now() - startedAt
    await waitFor(() => caller.head() !== '')
    return { caller, tookMs, outcomes: [...outcomes] }
  }

  const rows: [
    name: string,
    length: number | 'chunked',
    bytes: number,
    everyMs: number,
    outcome: string,
    within: number,
  ][] = [
    ['a small body that arrives too slowly', 5_000, 1, 50, '408 body_too_slow', 2_000],
    ['a large body that arrives too slowly', 1_000_000, 100, 50, '408 body_too_slow', 2_500],
    ['a body of unknown length that arrives too slowly', 'chunked', 10, 50, '408 body_too_slow', 2_500],
    ['a body that never begins', 1_000_000, 1, 600, '408 body_too_slow', 2_500],
    ['a steady body without an end', 100_000_000, 5_000, 50, '413 body_too_large', 1_000],
    ['a steady body that takes too long', 30_000_000, 3_000, 50, '408 body_too_slow', 6_000],
  ]
  for (const [name, length, bytes, everyMs, outcome, within] of rows) {
    test(`${name}: ${outcome}, and the connection ends`, async () => {
      const sent = await send(length, bytes, everyMs)
      expect(sent.outcomes).toEqual([outcome])
      expect(sent.caller.head()).toStartWith(`HTTP/1.1 ${outcome.slice(0, 3)} `)
      expect(sent.tookMs).toBeLessThan(within)
      if (outcome.startsWith('408')) {
        await waitFor(() => sent.caller.closed)
        expect(sent.caller.closed).toBe(true)
      }
      sent.caller.leave('rst')
    })
  }

  test('a body that takes longer than the window but keeps arriving is accepted', async () => {
    const sent = await send(150_000, 2_500, 50)
    expect(sent.outcomes).toEqual(['read 150000'])
    expect(sent.tookMs).toBeGreaterThan(2_500)
    sent.caller.leave('fin')
  })
})
