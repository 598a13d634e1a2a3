// Vendors that misbehave: the caller's answer, the number of calls to the vendor and their keys, and that one vendor's failure does
// not affect another. Every failure is free and leaves nothing behind.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { openOrigin } from '../../src/http-client/origin'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { startServing } from '../support/processes/serving'
import { type Played, play, type Scenario } from '../support/scenario'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { startHeldVendor } from '../support/vendors/held'
import { completion, eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'
import { makeClock } from '../support/video-requests'

setDefaultTimeout(180_000)

function chatModel(upstream: string): ModelConfig {
  return { ...(testModels['test-chat'] as ModelConfig), upstream }
}

/** A chat that makes the simulated vendor misbehave. */
function chat(words: string, model = 'test-chat', more: object = {}) {
  return { model, messages: say(`[sandbox ${words}]`), ...more }
}

/** The time limit of vendors that do not answer, by a clock that only a test moves. */
const TIMEOUT_MS = 60_000

function embed(words: string, model: string) {
  return { model, input: `[sandbox ${words}]` }
}

/** Plays a row that reaches the vendor and fails there: it is free and nothing stays held. */
async function playFailure(gateway: TestGateway, scenario: Scenario): Promise<Played> {
  const played = await play(gateway, { vendorCalls: 1, charges: 1, ...scenario })
  expect(played.charges[0]).toMatchObject({ state: 'released', amount: 0 })
  expect((await gateway.balance()).heldNano).toBe(0)
  return played
}

/** Lets a server listen on a free port. */
async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** The answer to callers when the operator has to act. */
const OPERATOR = {
  status: 503,
  error: { code: 'upstream_unavailable', type: 'server_error' },
  words: ['Its operator can see why in the log'],
  answers: { 'retry-after': '30' },
}

const invalid = 'invalid_request_error'
const embeddings = '/v1/embeddings'

const refusals: readonly Scenario[] = [
  {
    name: 'openai: the caller’s mistake, in the vendor’s words',
    body: chat('status=400 error_text="Too many zebras." error_code=zebra_limit'),
    status: 400,
    error: { code: 'zebra_limit', type: invalid },
    words: ['Too many zebras.'],
  },
  {
    name: 'openai: a field that it refuses, with its name',
    body: { ...chat('tokens=1'), zebra: 1 },
    status: 400,
    error: { code: 'unknown_parameter', type: invalid, param: 'zebra' },
    words: ["Unknown parameter: 'zebra'."],
  },
  {
    name: 'openai: too large',
    body: chat('status=413 error_text="A zebra this large?"'),
    status: 413,
    words: ['A zebra this large?'],
  },
  {
    name: 'openai: a body that it cannot process',
    body: chat('status=422 error_text="No zebra."'),
    status: 400,
    words: ['No zebra.'],
  },
  {
    name: 'openai: too many requests',
    body: chat('status=429 retry_after=7 error_text="Slow down, zebra."'),
    status: 429,
    error: { code: 'rate_limit_exceeded', type: 'rate_limit_error' },
    words: ['Slow down, zebra.', '"code":"rate_limit_exceeded","message":"Slow down'],
    answers: { 'retry-after': '7' },
  },
  {
    name: 'openai: too many requests, without a time',
    body: chat('status=429'),
    status: 429,
    answers: { 'retry-after': '1' },
  },
  {
    name: 'openai: an error of its server',
    body: chat('status=500 error_text="Zebra crossing."'),
    status: 502,
    error: { code: 'upstream_error', type: 'server_error' },
    words: ['Zebra crossing.', 'HTTP 500'],
  },
  {
    name: 'openai: overloaded',
    body: chat('status=503 retry_after=9'),
    status: 503,
    error: { code: 'upstream_error' },
    answers: { 'retry-after': '9' },
  },
  {
    name: 'openai: overloaded, in another way',
    body: chat('status=529'),
    status: 503,
    answers: { 'retry-after': '1' },
  },
  { name: 'openai: its own gateway timed out', body: chat('status=504'), status: 504 },
  { name: 'openai: a bad key', body: chat('status=401'), ...OPERATOR, absent: ['Incorrect'] },
  { name: 'openai: not allowed', body: chat('status=403'), ...OPERATOR },
  { name: 'openai: a bill', body: chat('status=402'), ...OPERATOR },
  { name: 'openai: no credit', body: chat('quota'), ...OPERATOR, absent: ['billing'] },
  {
    name: 'openai: no such model',
    body: chat('status=404'),
    status: 502,
    error: { code: 'upstream_model_missing' },
    words: ['GET /v1/models'],
  },
  {
    name: 'openai: a refusal of a stream',
    body: chat('status=400 error_text="Too many zebras."', 'test-chat', { stream: true }),
    status: 400,
    words: ['Too many zebras.'],
    answers: { 'content-type': 'application/json' },
  },
  {
    name: 'google: an error in an array',
    body: chat('status=400 error_text="No zebras here."', 'test-google'),
    status: 400,
    error: { code: 'INVALID_ARGUMENT', type: invalid },
    words: ['No zebras here.'],
  },
  {
    name: 'google: the time to wait is in the body',
    body: chat('status=429 retry_after=11', 'test-google'),
    status: 429,
    error: { code: 'RESOURCE_EXHAUSTED' },
    answers: { 'retry-after': '11' },
  },
  {
    name: 'google: a native error',
    path: embeddings,
    body: embed('status=400 error_text="No zebras here."', 'gmx-embedding-001'),
    status: 400,
    error: { code: 'INVALID_ARGUMENT' },
    words: ['No zebras here.'],
  },
  { name: 'google: billing is off', body: chat('quota', 'test-google'), ...OPERATOR, absent: ['billing'] },
  {
    name: 'voyage: a sentence',
    path: embeddings,
    body: embed('status=400 error_text="No stripes."', 'vgx-4'),
    status: 400,
    error: { type: invalid },
    words: ['No stripes.'],
  },
  {
    name: 'voyage: too many requests',
    path: embeddings,
    body: embed('status=429 retry_after=4 error_text="Slow down."', 'vgx-4'),
    status: 429,
    words: ['Slow down.'],
    answers: { 'retry-after': '4' },
  },
  { name: 'voyage: no payment method', path: embeddings, body: embed('quota', 'vgx-4'), ...OPERATOR },
  {
    name: 'xai: an object',
    body: chat('status=400 error_text="No stripes."', 'test-xai'),
    status: 400,
    error: { type: invalid },
    words: ['No stripes.'],
  },
  {
    name: 'xai: a code and a sentence',
    body: chat('status=429 error_text="Too many stripes."', 'test-xai'),
    status: 429,
    words: ['Too many stripes.'],
  },
  {
    name: 'xai: only a sentence',
    body: chat('status=500 error_text="Stripes everywhere."', 'test-xai'),
    status: 502,
    words: ['Stripes everywhere.'],
  },
  { name: 'xai: no credit', body: chat('quota', 'test-xai'), ...OPERATOR, absent: ['credit'] },
  {
    name: 'dashscope: an object',
    body: chat('status=400 error_text="No stripes." error_code=stripes', 'test-dashscope'),
    status: 400,
    error: { code: 'stripes', type: invalid },
    words: ['No stripes.'],
  },
  { name: 'dashscope: arrears', body: chat('quota', 'test-dashscope'), ...OPERATOR, absent: ['Arrearage'] },
  {
    name: 'dashscope: a refusal of one part of a batch is the refusal of all',
    path: embeddings,
    body: { model: 'text-embedding-v4', input: ['[sandbox status=400 error_text="No stripes."]'] },
    status: 400,
    words: ['No stripes.'],
  },
]

describe('what a caller reads when', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ upstreams: { openai: { timeoutMs: 30_000 } } })
  })
  afterAll(() => gateway.close())

  for (const row of refusals) {
    // There is one key, so whatever the vendor says, it is called once.
    test(row.name, async () => {
      await playFailure(gateway, row)
    })
  }

  test('the operator reads the vendor’s own words in the log', async () => {
    gateway.log.length = 0
    await playFailure(gateway, { name: '', body: chat('status=403 error_text="Not you."'), ...OPERATOR })
    expect(gateway.log).toEqual([
      {
        event: 'upstream_refused_operator',
        fields: expect.objectContaining({ upstream: 'openai', status: 403, message: 'Not you.' }),
      },
    ])
  })

  test.each([
    ['a page', 500, '<!DOCTYPE html><html><head><title>nginx/1.29 at 10.0.0.7</title></head></html>'],
    ['a page of a balancer', 400, '\n<html>\n<center><h1>400 nginx at 10.0.0.7</h1></center>'],
    ['XML', 400, '<?xml version="1.0"?><Error><Host>10.0.0.7</Host></Error>'],
    ['a page in JSON', 400, JSON.stringify({ error: { message: '<html><body>10.0.0.7</body></html>' } })],
    ['a long text', 400, `Traceback at 10.0.0.7 ${'in line 7 '.repeat(100)}`],
  ])('%s of status %i is not quoted', async (_, status, text) => {
    const odd = startVendor()
    odd.answer = () => new Response(text, { status })
    const behind = await startTestGateway({
      upstreams: { odd: odd.upstream },
      models: { 'test-chat': { upstream: 'odd' } },
    })
    const response = await behind.chat()
    const answered = await response.text()
    expect(response.status).toBe(status === 400 ? 400 : 502)
    expect(answered).not.toMatch(/10\.0\.0\.7|<|Traceback/)
    expect(answered).toContain('The upstream gave no reason.')
    await behind.close()
    await odd.stop()
  })

  test('a sentence that is not JSON is quoted, and so are signs that are not a page', async () => {
    const odd = startVendor()
    odd.answer = () => new Response('Expected <width>x<height>, but got 5', { status: 400 })
    const behind = await startTestGateway({
      upstreams: { odd: odd.upstream },
      models: { 'test-chat': { upstream: 'odd' } },
    })
    expect(await (await behind.chat()).text()).toContain('Expected <width>x<height>, but got 5')
    await behind.close()
    await odd.stop()
  })

  const broken: readonly Scenario[] = [
    {
      name: 'the vendor sends no JSON',
      body: chat('garbage'),
      status: 502,
      error: { code: 'upstream_garbage' },
      words: ['not JSON', 'openai'],
      absent: ['<html>'],
    },
    {
      name: 'the vendor breaks off in its reply',
      body: chat('cut_after=1'),
      status: 502,
      error: { code: 'upstream_garbage' },
      words: ['cut off'],
    },
    {
      name: 'the vendor sends no vectors',
      path: embeddings,
      body: embed('empty', 'vgx-4'),
      status: 502,
      error: { code: 'upstream_garbage' },
      words: ['not of the expected form'],
    },
    {
      name: 'one part of a batch breaks off',
      path: embeddings,
      body: { model: 'text-embedding-v4', input: [...Array(10).fill('x'), '[sandbox cut_after=1]'] },
      status: 502,
      error: { code: 'upstream_garbage' },
      vendorCalls: 2,
    },
  ]
  for (const row of broken)
    test(row.name, async () => {
      await playFailure(gateway, row)
    })

  test('the vendor redirects: no request and no key is sent there', async () => {
    const elsewhere = startVendor()
    elsewhere.answer = () => Response.json(completion('Gotcha', 1, 1))
    for (const target of [
      `${elsewhere.url}/v1/chat/completions`,
      'file:///etc/passwd',
      '/v1/chat/completions',
    ]) {
      const row = {
        name: '',
        body: chat(`redirect=${target}`),
        status: 502,
        error: { code: 'upstream_redirect' },
      }
      await playFailure(gateway, { ...row, answers: { location: null }, absent: [target] })
    }
    expect(elsewhere.requests).toBe(0)
    await elsewhere.stop()
  })
})

const ODD_KEY = 'sk-odd-4711'

describe('an unusual vendor', () => {
  const vendor = startVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    const flat = { ...vendor.upstream, kind: 'dashscope' }
    gateway = await startTestGateway({
      upstreams: {
        odd: { ...vendor.upstream, apiKey: ODD_KEY },
        mute: { ...vendor.upstream, timeoutMs: 400, idleTimeoutMs: 400 },
        flat,
      },
      models: {
        'test-odd': chatModel('odd'),
        'test-mute': chatModel('mute'),
        'test-flat': chatModel('flat'),
      },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const json =
    (text: string, status = 200) =>
    () =>
      new Response(text, { status, headers: { 'content-type': 'application/json' } })

  async function playOdd(
    answer: OddVendor['answer'],
    row: Partial<Scenario> & { status: number },
  ): Promise<Played> {
    vendor.answer = answer
    const before = vendor.requests
    const body = { model: 'test-odd', messages: say('Hi') }
    const played = await playFailure(gateway, { name: '', body, vendorCalls: 0, ...row })
    expect(vendor.requests - before).toBe(1)
    return played
  }

  const garbage = { status: 502, error: { code: 'upstream_garbage' } }
  for (const text of ['null', '[]', '[{"error":{}}]', '"fine"', '1', '', '{"choices":', '\u0000', 'true']) {
    test(`replies ${JSON.stringify(text)}: 502`, async () => {
      await playOdd(json(text), garbage)
    })
  }

  test('never ends its reply: 502 when it is larger than any answer', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(32)
    let sent = 0
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += piece.length
          controller.enqueue(piece)
        },
      })
    const headers = { 'content-type': 'application/json' }
    const body = { model: 'test-flat', messages: say('Hi') }
    await playOdd(() => new Response(endless(), { headers }), { ...garbage, body, words: ['too large'] })
    expect(sent).toBeLessThan(400 * 1024 * 1024)
  })

  test('announces a reply that is too large: 502 before it is read', async () => {
    let sent = 0
    const announcing = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        const lines = ['HTTP/1.1 200 OK', 'content-type: application/json', 'content-length: 999999999']
        socket.write(`${lines.join('\r\n')}\r\n\r\n`)
        sent++
      })
    })
    const port = await portOf(announcing)
    const other = await startTestGateway({
      upstreams: { openai: { baseUrl: `http://127.0.0.1:${port}/v1` } },
    })
    const row = { name: '', body: chat('tokens=1'), vendorCalls: 0, words: ['too large'] }
    await playFailure(other, { ...row, ...garbage })
    expect(sent).toBe(1)
    await other.close()
    announcing.close()
  })

  const shapes: readonly { text: string; message: string; code?: string; model?: string }[] = [
    {
      model: 'test-flat',
      text: '{"code":"InvalidParameter","message":"No stripes.","request_id":"r-1"}',
      message: 'No stripes.',
      code: 'InvalidParameter',
    },
    { text: '{"error":"No stripes."}', message: 'No stripes.' },
    { text: '{"message":"No stripes."}', message: 'No stripes.' },
    {
      text: '{"detail":[{"loc":["body","input",0],"msg":"No stripes."}]}',
      message: 'body.input.0: No stripes.',
    },
    { text: 'No stripes.', message: 'No stripes.' },
    { text: '', message: 'The upstream gave no reason.' },
    { text: '{"error":{"message":42}}', message: 'The upstream gave no reason.' },
    { text: 'null', message: 'The upstream gave no reason.' },
    { text: `"${'long '.repeat(10_000)}"`, message: 'long '.repeat(400) },
  ]
  for (const { text, message, code, model = 'test-odd' } of shapes) {
    test(`refuses by ${text.slice(0, 60) || 'an empty body'}`, async () => {
      const body = { model, messages: say('Hi') }
      const { json: reply } = await playOdd(json(text, 400), { status: 400, body })
      expect(reply.error).toMatchObject({
        message,
        code: code ?? 'upstream_refused',
        type: 'invalid_request_error',
      })
    })
  }

  test('quotes the operator’s key in its complaint: the caller does not see it', async () => {
    const text = `{"error":{"message":"The key ${ODD_KEY} is over its limit."}}`
    await playOdd(json(text, 400), { status: 400, words: ['The key … is over'], absent: [ODD_KEY] })
  })

  test('says when to retry by a date', async () => {
    const date = new Date(Date.now() + 90_000).toUTCString()
    const answer = () => new Response('{}', { status: 503, headers: { 'retry-after': date } })
    const { response } = await playOdd(answer, { status: 503 })
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThanOrEqual(90)
  })

  for (const stream of [false, true]) {
    test(`never answers ${stream ? 'a stream' : 'a request'}: 504, and its call is ended`, async () => {
      const reported = Promise.withResolvers<void>()
      const answer = ({ signal }: Request) => {
        signal.addEventListener('abort', () => reported.resolve())
        return new Promise<Response>(() => {})
      }
      const body = { model: 'test-mute', messages: say('Hi'), stream }
      const timeout = {
        status: 504,
        error: { code: 'upstream_timeout' },
        words: ['mute did not answer in time'],
      }
      const { charges } = await playOdd(answer, { ...timeout, body })
      expect(charges[0]?.ended_by).toBe('timeout')
      await reported.promise
    })
  }

  test('falls silent inside a reply: 504', async () => {
    const half = () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"choices":')) }),
        {
          headers: { 'content-type': 'application/json' },
        },
      )
    const body = { model: 'test-mute', messages: say('Hi') }
    await playOdd(half, { status: 504, error: { code: 'upstream_timeout' }, body })
  })

  test('ends an event stream before it begins: an error event, free', async () => {
    vendor.answer = () => eventStream('')
    const response = await gateway.chat({ model: 'test-odd', stream: true })
    expect(await response.text()).toContain('"code":"upstream_cut"')
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
  })
})

describe('connections', () => {
  test('that are refused are tried three times in total, then the answer is 502', async () => {
    const closed = await freePort()
    let attempts = 0
    const gateway = await startTestGateway({
      upstreams: { openai: { baseUrl: `http://127.0.0.1:${closed}/v1` } },
      outside: {
        transport: {
          open(url) {
            const origin = openOrigin(url)
            return {
              close: origin.close,
              send(request) {
                attempts++
                return origin.send(request)
              },
            }
          },
        },
      },
    })
    const row = { name: '', body: chat('tokens=1'), status: 502, error: { code: 'upstream_unreachable' } }
    await playFailure(gateway, { ...row, vendorCalls: 0, words: ['openai cannot be reached'] })
    expect(attempts).toBe(3)
    await gateway.close()
  })

  test('that are refused at first and then accepted have one answer and one charge', async () => {
    const closed = await freePort()
    let attempts = 0
    const gateway = await startTestGateway({
      outside: {
        transport: {
          open(url) {
            const refusing = openOrigin(`http://127.0.0.1:${closed}`)
            const taking = openOrigin(url)
            return { ...taking, send: (request) => (++attempts < 3 ? refusing : taking).send(request) }
          },
        },
      },
    })
    const answer = await gateway.chat()
    expect(answer.status).toBe(200)
    expect({ attempts, calls: gateway.sandbox.calls.length }).toEqual({ attempts: 3, calls: 1 })
    expect(await gateway.charges()).toHaveLength(1)
    await gateway.close()
  })

  test('that break after the request was sent are not tried again: the vendor may have begun', async () => {
    let connections = 0
    const hangsUp = createServer((socket) => {
      connections++
      socket.on('error', () => {})
      socket.once('data', () => socket.resetAndDestroy())
    })
    const port = await portOf(hangsUp)
    const gateway = await startTestGateway({
      upstreams: { openai: { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: ['one', 'two'] } },
    })
    const row = { name: '', body: chat('tokens=1'), status: 502, error: { code: 'upstream_unreachable' } }
    await playFailure(gateway, { ...row, vendorCalls: 0 })
    expect(connections).toBe(1)
    await gateway.close()
    hangsUp.close()
  })
})

describe('several keys of one vendor', () => {
  const vendor = startVendor()
  let gateway: TestGateway
  let shiftMs = 0
  let used: string[] = []
  /** The vendor's answers by key; a key that is absent is served. */
  let verdicts: Record<string, () => Response> = {}

  beforeAll(async () => {
    vendor.answer = ({ headers }) => {
      const key = headers.get('authorization')?.replace('Bearer ', '') ?? ''
      used.push(key)
      return verdicts[key]?.() ?? Response.json(completion(`by ${key}`, 1, 1))
    }
    const upstreams = Object.fromEntries(
      [1, 2, 3, 5].map((count) => {
        const apiKey = ['a', 'b', 'c', 'd', 'e'].slice(0, count)
        return [`keys${count}`, { ...vendor.upstream, apiKey }]
      }),
    )
    gateway = await startTestGateway({
      upstreams,
      models: Object.fromEntries(Object.keys(upstreams).map((name) => [`test-${name}`, chatModel(name)])),
      config: { affinity: false },
      outside: { now: () => Date.now() + shiftMs },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const refuse =
    (status: number, headers: Record<string, string> = {}) =>
    () =>
      Response.json({ error: { message: 'No.' } }, { status, headers })

  /** Sends a request, and returns its answer and the keys used for it. */
  async function send(model: string, answers: typeof verdicts): Promise<{ status: number; keys: string }> {
    used = []
    verdicts = answers
    const { status } = await gateway.chat({ model })
    return { status, keys: used.join('') }
  }

  /** Every key has rested. */
  const nextDay = () => {
    shiftMs += 86_400_000
  }

  test('take turns', async () => {
    nextDay()
    const keys: string[] = []
    for (let count = 0; count < 6; count++) keys.push((await send('test-keys3', {})).keys)
    expect(keys.join('')).toBe('abcabc')
  })

  for (const status of [401, 403, 402]) {
    test(`one that is answered ${status} rests for minutes, and another one serves the same request`, async () => {
      nextDay()
      const answers = { a: refuse(status) }
      const tried: string[] = []
      for (let count = 0; count < 4; count++) tried.push((await send('test-keys2', answers)).keys)
      expect(tried.join(' ')).toMatch(/^(ab b b b|b ab b b)$/)
      // The machine's own time counts too, and a busy one takes seconds for this.
      shiftMs += 270_000
      expect((await send('test-keys2', answers)).keys).toBe('b')
      shiftMs += 31_000
      const again = [await send('test-keys2', answers), await send('test-keys2', answers)]
      expect(again.map(({ status: answered }) => answered)).toEqual([200, 200])
      expect(again.map(({ keys }) => keys).join('')).toContain('a')
    })
  }

  test('have numbers in the log: that of each attempt, and that which was answered; a single one has none', async () => {
    nextDay()
    await gateway.requestLog()
    const answers = Object.fromEntries(['a', 'b', 'c'].map((key) => [key, refuse(401)]))
    const { keys } = await send('test-keys3', answers)
    const numbers = [...keys].map((key) => 'abcde'.indexOf(key) + 1)
    await send('test-keys1', {})
    const [single, last] = (await gateway.requestLog()).toSorted(
      (one, other) => Number(other.at) - Number(one.at),
    )
    const attempts = JSON.parse(last?.attempts as string) as { keyNumber: number }[]
    expect([...attempts.map(({ keyNumber }) => keyNumber), last?.upstream_key as number]).toEqual(numbers)
    expect(single).toMatchObject({ model: 'test-keys1', upstream_key: null })
  })

  test('a key over its rate rests as long as the vendor says', async () => {
    nextDay()
    const answers = { a: refuse(429, { 'retry-after': '20' }) }
    const first = [await send('test-keys2', answers), await send('test-keys2', answers)]
    expect(first.every(({ status }) => status === 200)).toBe(true)
    shiftMs += 18_000
    expect((await send('test-keys2', {})).keys).toBe('b')
    shiftMs += 3_000
    const later = [await send('test-keys2', {}), await send('test-keys2', {})]
    expect(later.map(({ keys }) => keys).sort()).toEqual(['a', 'b'])
  })

  test('that are all over their rate are tried once each, and the answer says when to retry', async () => {
    nextDay()
    const busy = refuse(429, { 'retry-after': '20' })
    expect(await send('test-keys2', { a: busy, b: busy })).toMatchObject({
      status: 429,
      keys: expect.stringMatching(/^(ab|ba)$/),
    })
    const response = await gateway.chat({ model: 'test-keys2' })
    expect(response.headers.get('retry-after')).toBe('20')
    // All keys rest: only the one whose rest ends first is tried.
    expect((await send('test-keys2', { a: busy, b: busy })).keys).toHaveLength(1)
  })

  test('are tried three times in total, however many there are', async () => {
    nextDay()
    const bad = refuse(401)
    const { status, keys } = await send('test-keys5', { a: bad, b: bad, c: bad, d: bad, e: bad })
    expect({ status, tried: new Set(keys).size, calls: keys.length }).toEqual({
      status: 503,
      tried: 3,
      calls: 3,
    })
    // The two that have not been tried are next.
    const next = await send('test-keys5', { a: bad, b: bad, c: bad })
    expect(next).toMatchObject({ status: 200 })
    expect(next.keys).toHaveLength(1)
  })

  test('are not tried if the request itself is at fault, or the vendor has begun', async () => {
    nextDay()
    for (const status of [400, 404, 409, 413, 422, 500, 502, 503, 504, 529]) {
      expect(
        (await send('test-keys3', { a: refuse(status), b: refuse(status), c: refuse(status) })).keys,
      ).toHaveLength(1)
    }
    expect(await send('test-keys3', {})).toMatchObject({ status: 200 })
  })

  test('one alone is never tried twice', async () => {
    nextDay()
    for (const status of [401, 403, 429]) {
      expect((await send('test-keys1', { a: refuse(status) })).keys).toBe('a')
    }
    expect(await send('test-keys1', {})).toEqual({ status: 200, keys: 'a' })
  })

  for (const [kind, model] of [
    ['google', 'test-google'],
    ['xai', 'test-xai'],
  ] as const) {
    test(`one that ${kind} calls bad by a 400 rests too`, async () => {
      const sandbox = startSandbox({ record: true })
      const apiKey = ['bad-key-0001', sandbox.secrets[kind]]
      const rotating = await startTestGateway({ sandbox, upstreams: { [kind]: { apiKey } } })
      for (let count = 0; count < 4; count++) expect((await rotating.chat({ model })).status).toBe(200)
      const keys = sandbox.calls.map(({ headers }) => headers.authorization)
      expect(keys.filter((key) => key === 'Bearer bad-key-0001')).toHaveLength(1)
      await rotating.close()
      await sandbox.stop()
    })
  }
})

describe('the limit on running requests of a vendor', () => {
  const clock = makeClock()
  const held = startHeldVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({
      upstreams: {
        openai: { concurrency: 2, timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
        held: { ...held.upstream, concurrency: 2 },
      },
      models: { 'test-held': chatModel('held') },
      outside: { now: clock.now },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await held.stop()
  })

  test('refuses one more, whole or streamed, and lets it in when one has ended', async () => {
    const ask = (more: Record<string, unknown> = {}) => gateway.chat({ model: 'test-held', ...more })
    const running = [ask(), ask({ stream: true })]
    await waitFor(() => held.requests === 2)
    const response = await ask()
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    const code = 'Throttling.ConcurrencyQuota'
    const message = expect.stringContaining('has reached its limit here of 2 at a time')
    expect(await response.json()).toMatchObject({ code, error: { code, message, type: 'rate_limit_error' } })
    // Another vendor has places of its own.
    expect((await gateway.chat({ model: 'test-xai' })).status).toBe(200)
    held.letGo()
    const answers = await Promise.all(running)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    for (const answer of answers) await answer.text()
    expect((await ask()).status).toBe(200)
  })

  /** Sends a chat, and lets time pass until it has ended. */
  async function outwait(body: Record<string, unknown>): Promise<void> {
    const timer = setInterval(() => clock.pass(TIMEOUT_MS), 50)
    await (await gateway.chat(body)).text()
    clearInterval(timer)
  }

  const failures: readonly [string, object?][] = [
    ['status=400'],
    ['status=429'],
    ['status=500'],
    ['quota'],
    ['garbage'],
    ['cut_after=1'],
    ['hang'],
    ['redirect=http://127.0.0.1:1/'],
    ['cut_after=2', { stream: true }],
    ['error_after=2', { stream: true }],
    ['garbage', { stream: true }],
    ['usage=missing', { stream: true }],
    ['status=500', { stream: true }],
    ['tokens=9 token_delay_ms=60000', { stream: true }],
  ]
  for (const [words, more] of failures) {
    test(`frees a place after ${words}${more ? ', streamed' : ''}`, async () => {
      for (let count = 0; count < 3; count++) await outwait(chat(words, 'test-chat', more))
      expect((await gateway.chat()).status).toBe(200)
    })
  }

  test('frees a place when callers disconnect', async () => {
    for (let count = 0; count < 6; count++) {
      const calls = gateway.sandbox.calls.length
      const caller = await RawCaller.connect(gateway.url)
      const words = count % 2 ? 'hang' : 'tokens=900 token_delay_ms=20'
      caller.send(chatRequest(gateway.secret, chat(words, 'test-chat', { stream: true })))
      await waitFor(() => gateway.sandbox.calls.length > calls)
      caller.leave('rst')
      await waitFor(() => gateway.sandbox.calls.at(-1)?.aborted === true)
    }
    await waitFor(async () => (await gateway.balance()).heldNano === 0)
    expect((await gateway.chat()).status).toBe(200)
  })
})

describe('the breaker', () => {
  const OPEN_MS = 5_000

  test('stops calls to a vendor that does not answer, only for its callers, and tries again automatically', async () => {
    const clock = makeClock()
    const gateway = await startTestGateway({
      upstreams: { openai: { timeoutMs: TIMEOUT_MS } },
      outside: { now: clock.now },
    })
    const statuses = async (requests: Promise<Response>[]) =>
      (await Promise.all(requests)).map(({ status }) => status).sort()
    /** Sends requests that hang, and lets time pass when this number have been refused and the others have been sent. */
    const hang = async (count: number, refused = 0) => {
      const calls = gateway.sandbox.calls.length
      let ended = 0
      const requests = Array.from({ length: count }, () => gateway.chat(chat('hang')).finally(() => ended++))
      await waitFor(() => ended === refused && gateway.sandbox.calls.length === calls + count - refused)
      clock.pass(TIMEOUT_MS)
      return statuses(requests)
    }
    expect(await hang(5)).toEqual([504, 504, 504, 504, 504])
    await playFailure(gateway, {
      name: '',
      body: chat('tokens=1'),
      status: 503,
      error: { code: 'upstream_unavailable' },
      answers: { 'retry-after': '5' },
      vendorCalls: 0,
    })
    expect((await gateway.chat({ model: 'test-dashscope' })).status).toBe(200)
    clock.pass(OPEN_MS)
    // One request may try, and fails; the others are not sent.
    const calls = gateway.sandbox.calls.length
    expect(await hang(3, 2)).toEqual([503, 503, 504])
    expect(gateway.sandbox.calls.length).toBe(calls + 1)
    clock.pass(OPEN_MS)
    expect((await gateway.chat()).status).toBe(200)
    expect(await statuses([gateway.chat(), gateway.chat(), gateway.chat()])).toEqual([200, 200, 200])
    await gateway.close()
  })

  test('is not opened by refusals, not even those of the operator’s account or of one model', async () => {
    const gateway = await startTestGateway()
    for (const words of [
      'status=400',
      'status=429',
      'status=403',
      'status=404',
      'quota',
      'status=500',
      'garbage',
    ]) {
      for (let count = 0; count < 6; count++) await (await gateway.chat(chat(words))).text()
    }
    expect((await gateway.chat()).status).toBe(200)
    await gateway.close()
  })

  test('is neither opened nor closed by callers who disconnect', async () => {
    const clock = makeClock()
    const gateway = await startTestGateway({
      upstreams: { openai: { timeoutMs: TIMEOUT_MS } },
      outside: { now: clock.now },
    })
    const hang = async () => {
      const calls = gateway.sandbox.calls.length
      const request = gateway.chat(chat('hang'))
      await waitFor(() => gateway.sandbox.calls.length > calls)
      clock.pass(TIMEOUT_MS)
      return (await request).status
    }
    const leave = async () => {
      const calls = gateway.sandbox.calls.length
      const caller = await RawCaller.connect(gateway.url)
      caller.send(chatRequest(gateway.secret, chat('hang', 'test-chat', { stream: true })))
      await waitFor(() => gateway.sandbox.calls.length > calls)
      caller.leave('fin')
      await waitFor(() => gateway.sandbox.calls.at(-1)?.aborted === true)
    }
    for (let count = 0; count < 6; count++) await leave()
    for (let count = 0; count < 4; count++) expect(await hang()).toBe(504)
    await leave()
    expect(await hang()).toBe(504)
    expect((await gateway.chat()).status).toBe(503)
    await gateway.close()
  })
})

test('hundreds of requests that hang at one vendor do not delay those of another', async () => {
  const hanging = 400
  const upstream = { apiKey: 'replaced by the sandbox' }
  const gateway = await startServing({
    upstreams: {
      // Long enough for all of them to come on a busy machine.
      slow: { kind: 'openai', ...upstream, timeoutMs: 20_000 },
      fast: { kind: 'dashscope', ...upstream },
    },
    models: {
      'test-slow': { ...chatModel('slow') },
      'test-fast': { ...chatModel('fast'), upstreamModel: 'qwen-plus' },
    },
  })
  const small = { max_tokens: 5 }
  const callers = await Promise.all(Array.from({ length: hanging }, () => RawCaller.connect(gateway.url)))
  for (const caller of callers) caller.send(chatRequest(gateway.key, chat('hang', 'test-slow', small)))
  const held = async () => (await gateway.rows(`select id from charges where state = 'held'`)).length
  await waitFor(async () => (await held()) === hanging)
  expect(await held()).toBe(hanging)

  const ask = async (model: string) => {
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model, messages: say('Hi'), ...small })
    return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
  }
  for (let count = 0; count < 20; count++) expect((await ask('test-fast')).status).toBe(200)
  // All of that happened while the others hung.
  expect(await held()).toBe(hanging)
  await waitFor(() => callers.every((caller) => caller.head().includes('\r\n\r\n{')))
  await waitFor(async () => (await held()) === 0)
  const statuses = new Set(callers.map((caller) => caller.head().slice(0, 'HTTP/1.1 504'.length)))
  expect([...statuses]).toEqual(['HTTP/1.1 504'])
  expect((await ask('test-slow')).status).toBe(503)
  await waitFor(async () => (await ask('test-slow')).status === 200)
  expect((await ask('test-slow')).status).toBe(200)
  for (const caller of callers) caller.socket.destroy()
  await gateway.stop()
})
