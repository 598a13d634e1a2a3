// A vendor that quotes the operator's key wherever it can: in answers, streams, errors, tasks and sound. No caller, log, webhook or
// database may get it. The search itself is compared with the simplest possible one.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelConfig } from '../../src/config/schema'
import { HttpBody, HttpResponse } from '../../src/http-client/response'
import { createMask } from '../../src/upstreams/key-mask'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { createRandom, type Random, seedOf } from '../support/random'
import { RECEIVER_NETWORK, startReceiver } from '../support/servers/webhook-receiver'
import { startTaskVendor, type TaskVendor, taken, videoBody } from '../support/vendors/task'
import { chunk, completion, DONE, type OddVendor, startVendor, usageChunk } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const KEY = 'sk-operator-4f/9c2A_77bd01'
const OTHER_KEY = 'sk-second-key-0b1d55'
const ESCAPED = `sk\\u002Doperator\\u002d4f\\/9c2A\\u005f77bd01`

let vendor: OddVendor
let tasks: TaskVendor & Disposable
let receiver: ReturnType<typeof startReceiver>
let gateway: TestGateway

beforeAll(async () => {
  vendor = startVendor()
  tasks = startTaskVendor()
  receiver = startReceiver()
  const model = (family: string, upstream: string): ModelConfig => ({
    ...(testModels['test-chat'] as ModelConfig),
    family,
    upstream,
  })
  const speech = { family: 'dashscope-speech', upstream: 'sounds', price: { per_1m_characters: '10.00' } }
  gateway = await startTestGateway({
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
    upstreams: {
      odd: { ...vendor.upstream, apiKey: [OTHER_KEY, KEY] },
      // As it comes out of a file.
      native: { kind: 'anthropic', baseUrl: vendor.url, apiKey: `${KEY}\n` },
      sounds: { kind: 'dashscope', baseUrl: vendor.url, apiKey: KEY },
      dashscope: { ...tasks.upstream, apiKey: KEY },
    },
    models: {
      odd: model('openai-chat', 'odd'),
      'odd-native': model('anthropic-messages', 'native'),
      'odd-embedding': { ...(testModels['test-embedding'] as ModelConfig), upstream: 'odd' },
      'odd-speech': speech,
    },
  })
})
afterAll(async () => {
  await nothingHasTheKey()
  await gateway.close()
  await vendor.stop()
  tasks[Symbol.dispose]()
  receiver[Symbol.dispose]()
})

/** In no log line and in no file of the data directory, which holds both databases. */
async function nothingHasTheKey(): Promise<void> {
  await gateway.requestLog()
  expectClean(JSON.stringify(gateway.log))
  for (const name of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
    if (name.isFile()) expectClean(readFileSync(join(name.parentPath, name.name), 'latin1'), name.name)
  }
}

function expectClean(text: string, where = 'the answer'): void {
  const decoded = text
    .replaceAll('\\/', '/')
    .replaceAll(/\\u00([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  for (const key of [KEY, OTHER_KEY])
    expect({ where, has: decoded.includes(key) }).toEqual({ where, has: false })
}

const chat = { model: 'odd', messages: say('Hi') }
const reply = { ...(completion(`My key is ${KEY}!`, 5, 7) as object), id: KEY, system_fingerprint: OTHER_KEY }
const native = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: `It is ${KEY}` }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 2, note: KEY },
}
const error = { error: { message: `Bad ${KEY}`, code: `code ${KEY}`, type: KEY, param: OTHER_KEY } }

interface Row {
  name: string
  path?: string
  body?: object
  text: string
  status?: number
  type?: string
  expected?: number
}

const nativeEvents = [
  { type: 'message_start', message: { ...native, content: [], id: KEY } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `key ${KEY}` } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9, note: KEY } },
  { type: 'message_stop' },
]
const nativeStream = nativeEvents
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('')
const stream = 'text/event-stream'
const chatStream = chunk(`Key ${KEY}`) + chunk(ESCAPED) + usageChunk(3, 4) + DONE
const usageWithKey = { prompt_tokens: 3, completion_tokens: 4, note: KEY }

const rows: readonly Row[] = [
  { name: 'a chat answer, in every field', text: JSON.stringify({ ...reply, usage: { ...usageWithKey } }) },
  { name: 'an answer that escapes it', text: JSON.stringify(reply).replaceAll(KEY, ESCAPED) },
  {
    name: 'an answer as messages',
    path: '/v1/messages',
    body: { ...chat, max_tokens: 9 },
    text: JSON.stringify(reply),
  },
  {
    name: 'a native answer',
    path: '/v1/messages',
    body: { ...chat, model: 'odd-native', max_tokens: 9 },
    text: JSON.stringify(native),
  },
  { name: 'a native answer as chat', body: { ...chat, model: 'odd-native' }, text: JSON.stringify(native) },
  { name: 'a stream', body: { ...chat, stream: true }, text: chatStream, type: stream },
  {
    name: 'a stream with its usage',
    body: { ...chat, stream: true, stream_options: { include_usage: true } },
    text: `${chunk('x')}data: ${JSON.stringify({ choices: [], usage: usageWithKey })}\n\n${DONE}`,
    type: stream,
  },
  {
    name: 'a native stream',
    path: '/v1/messages',
    body: { ...chat, model: 'odd-native', max_tokens: 9, stream: true },
    text: nativeStream,
    type: stream,
  },
  {
    name: 'a native stream as chat',
    body: { ...chat, model: 'odd-native', stream: true },
    text: nativeStream,
    type: stream,
  },
  {
    name: 'a stream as messages',
    path: '/v1/messages',
    body: { ...chat, max_tokens: 9, stream: true },
    text: chatStream,
    type: stream,
  },
  {
    name: 'an error inside a stream',
    body: { ...chat, stream: true },
    text: `${chunk('x')}data: ${JSON.stringify(error)}\n\n`,
    type: stream,
  },
  {
    name: 'an error event that lacks its end',
    body: { ...chat, stream: true },
    text: `${chunk('x')}data: ${JSON.stringify(error)}`,
    type: stream,
  },
  {
    name: 'a stream of comments and names',
    body: { ...chat, stream: true },
    text: `: ${KEY}\nevent: ${KEY}\nid: ${KEY}\n${chatStream}`,
    type: stream,
  },
  { name: 'a refusal, in every field', text: JSON.stringify(error), status: 400, expected: 400 },
  {
    name: 'a refusal that escapes it',
    text: JSON.stringify(error).replaceAll(KEY, ESCAPED),
    status: 400,
    expected: 400,
  },
  {
    name: 'a refusal of the operator, which is logged',
    text: JSON.stringify(error),
    status: 401,
    expected: 503,
  },
  {
    name: 'a failure in plain text',
    text: `Traceback: ${KEY}`,
    status: 500,
    type: 'text/plain',
    expected: 502,
  },
  { name: 'too many requests', text: JSON.stringify(error), status: 429, expected: 429 },
  {
    name: 'an error with status 200',
    path: '/v1/embeddings',
    body: { model: 'odd-embedding', input: 'x' },
    text: JSON.stringify(error),
    expected: 400,
  },
  { name: 'an answer that is not JSON', text: `<html>${KEY}</html>`, expected: 502 },
  {
    name: 'speech',
    path: '/v1/audio/speech',
    body: { model: 'odd-speech', input: 'x' },
    text: JSON.stringify({ code: 'InvalidParameter', message: `Bad ${KEY}`, request_id: KEY }),
    status: 400,
    expected: 400,
  },
]

interface Dialect {
  path?: string
  body?: object
  /** A stream whose text comes in pieces. */
  events(pieces: readonly string[]): string
}

const chatEvents = (pieces: readonly string[]) =>
  pieces.map((piece) => chunk(piece)).join('') + chunk('', 'stop') + usageChunk(3, 4) + DONE
const nativeEvent = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const nativeTexts = (pieces: readonly string[]) =>
  nativeEvents
    .flatMap((event): { type: string }[] =>
      event.type === 'content_block_delta'
        ? pieces.map((text) => ({ ...event, delta: { type: 'text_delta', text } }))
        : [event],
    )
    .map(nativeEvent)
    .join('')
const dialects: readonly Dialect[] = [
  { events: chatEvents },
  { path: '/v1/messages', body: { ...chat, max_tokens: 99 }, events: chatEvents },
  { path: '/v1/responses', body: { model: 'odd', input: 'Hi' }, events: chatEvents },
  { body: { ...chat, model: 'odd-native' }, events: nativeTexts },
  { path: '/v1/messages', body: { ...chat, model: 'odd-native', max_tokens: 99 }, events: nativeTexts },
  { path: '/v1/responses', body: { model: 'odd-native', input: 'Hi' }, events: nativeTexts },
]

/** The text of a stream in any dialect. */
function deltasOf(stream: string): string {
  return stream
    .split('\n\n')
    .flatMap((event) => {
      const data = /^data: ({.*})$/m.exec(event)?.[1]
      if (data === undefined) return []
      const { type, delta, choices } = JSON.parse(data)
      if (type === 'response.output_text.delta') return [delta]
      return [delta?.text ?? choices?.[0]?.delta?.content ?? '']
    })
    .join('')
}

function cutText(text: string, length: () => number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = at + length()
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

describe('the key is masked in', () => {
  for (const {
    name,
    path = '/v1/chat/completions',
    body = chat,
    text,
    status = 200,
    type = 'application/json',
    expected = 200,
  } of rows) {
    test(name, async () => {
      const headers = { 'content-type': type }
      // Whole, and a few bytes at a time, so that every key is cut somewhere.
      for (const pieceBytes of [text.length, 7]) {
        vendor.answer = () => new Response(inPieces(text, pieceBytes), { status, headers })
        const key = crypto.randomUUID()
        const response = await gateway.post(path, body, { 'idempotency-key': key })
        const answered = await response.text()
        expect({ status: response.status, answered }).toMatchObject({ status: expected })
        expectClean(answered + JSON.stringify([...response.headers]))
        if (text.includes('choices') && expected === 200) expect(answered).toContain('…')
        const again = await gateway.post(path, body, { 'idempotency-key': key })
        expectClean(await again.text())
      }
      await nothingHasTheKey()
    })
  }

  test("the vendor's id of an answer, of a stream and of an error", async () => {
    for (const [body, text, status] of [
      [chat, JSON.stringify(completion('Hi', 5, 7)), 200],
      [{ ...chat, stream: true }, chunk('Hi') + usageChunk(3, 4) + DONE, 200],
      [chat, JSON.stringify({ error: { message: 'No' } }), 400],
    ] as const) {
      const type = 'stream' in body ? stream : 'application/json'
      const headers = { 'content-type': type, 'x-request-id': `id-${KEY}`, 'request-id': OTHER_KEY }
      vendor.answer = () => new Response(text, { status, headers })
      const response = await gateway.post('/v1/chat/completions', body)
      expectClean((await response.text()) + JSON.stringify([...response.headers]))
    }
    await nothingHasTheKey()
  })

  test('deltas that share a key, wherever it is cut, passed and translated', async () => {
    const random = createRandom(seedOf('MASK_SEED'))
    for (const { body = chat, path = '/v1/chat/completions', events } of dialects) {
      for (let round = 0; round < 12; round++) {
        const pieces = round < 3 ? cutText(KEY, () => round + 1) : cutText(KEY, () => 1 + random.below(13))
        const text = events(['Key ', ...pieces, ' it is'])
        vendor.answer = () =>
          new Response(inPieces(text, round % 2 === 0 ? text.length : 7), {
            headers: { 'content-type': stream },
          })
        const answered = await (await gateway.post(path, { ...body, stream: true })).text()
        const shown = deltasOf(answered)
        expect({ path, pieces, shown }).toEqual({
          path,
          pieces,
          shown: expect.stringMatching(/^Key .{0,7}… it is$/),
        })
        expect('Key sk-oper… it is').toStartWith(shown.slice(0, shown.indexOf('…')))
      }
    }
  })

  test('a text whose tokens are listed, in an answer that is whole', async () => {
    const tokens = cutText(KEY, () => 2).map((token) => ({ token, logprob: -1, top_logprobs: [] }))
    const whole = completion('Hi', 5, 7) as { choices: object[] }
    const choices = [{ ...whole.choices[0], logprobs: { content: tokens } }]
    vendor.answer = () => Response.json({ ...whole, choices })
    const response = await gateway.post('/v1/chat/completions', chat)
    const answered = (await response.json()) as { choices: { logprobs: { content: { token: string }[] } }[] }
    const shown = answered.choices[0]?.logprobs.content.map(({ token }) => token).join('')
    expect(shown).toBe('…')
  })

  test('an answer that quotes a key of the address', async () => {
    const word = 'AIza-in-the-address-1'
    const upstream = {
      ...vendor.upstream,
      baseUrl: `${vendor.url}/v1?api-key=${word}&api-version=2024-10-21`,
    }
    const other = await startTestGateway({
      upstreams: { odd: upstream },
      models: { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } },
    })
    vendor.answer = ({ url }) => Response.json(completion(`You called ${url}`, 5, 7))
    const answered = await (await other.post('/v1/chat/completions', chat)).text()
    expect(answered).toContain('api-key=…&api-version=2024-10-21')
    expect(answered).not.toContain(word)
    await other.close()
  })

  test('an answer, a stream and an error that quote a short key', async () => {
    const key = 'sk-1234'
    const other = await startTestGateway({
      upstreams: { odd: { ...vendor.upstream, apiKey: key } },
      models: { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } },
    })
    const error = { error: { message: `Bad key ${key}`, code: key, details: [{ key }] } }
    for (const answer of [
      () => Response.json({ ...(completion(`Your key: ${key}`, 5, 7) as object), system_fingerprint: key }),
      () =>
        new Response(chunk(`It is ${key}`) + usageChunk(3, 4) + DONE, {
          headers: { 'content-type': stream },
        }),
      () => Response.json(error, { status: 400 }),
      () => new Response(`data: ${JSON.stringify(error)}\n\n`, { headers: { 'content-type': stream } }),
    ]) {
      vendor.answer = answer
      const response = await other.post('/v1/chat/completions', chat)
      expect(await response.text()).not.toContain(key)
    }
    expect(JSON.stringify([await other.charges(), await other.requestLog(), other.log])).not.toContain(key)
    await other.close()
  })

  test('no error by a key of one letter', async () => {
    const other = await startTestGateway({
      upstreams: { odd: { ...vendor.upstream, apiKey: 'k' } },
      models: { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } },
    })
    const message = 'This model takes 128000 tokens: make it shorter.'
    vendor.answer = () => Response.json({ error: { message } }, { status: 400 })
    const response = await other.post('/v1/chat/completions', chat)
    expect(await response.text()).toContain(message)
    await other.close()
  })

  test('a failed task, its webhook and its row', async () => {
    tasks.answerSubmit = (id) => taken(id)
    tasks.answerPoll = (id) => {
      const output = {
        task_id: id,
        task_status: 'FAILED',
        code: `Code-${KEY}`,
        message: `Bad ${KEY}`,
        extra: KEY,
      }
      return Response.json({ request_id: KEY, output })
    }
    const submitted = await gateway.post(
      '/v1/videos/generations',
      videoBody('x', { webhook_url: receiver.url }),
    )
    const { id } = (await submitted.json()) as { id: string }
    const read = () =>
      fetch(`${gateway.url}/v1/videos/generations/${id}`, {
        headers: { authorization: `Bearer ${gateway.secret}` },
      })
    await waitFor(async () => ((await (await read()).json()) as { status: string }).status === 'failed')
    const answered = await (await read()).text()
    expect(answered).toContain('Bad …')
    expectClean(answered)
    await waitFor(() => receiver.deliveries.length > 0)
    expectClean(JSON.stringify(receiver.deliveries))
    const { db } = gateway.server.world
    const tables = ['tasks', 'webhooks', 'charges', 'saved_answers']
    for (const table of tables)
      expectClean(JSON.stringify(await db.query({ sql: `select * from ${table}` })), table)
    await nothingHasTheKey()
  })
})

function inPieces(text: string, length: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text)
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      if (at > 0) await Bun.sleep(0)
      controller.enqueue(bytes.subarray(at, at + length))
      at += length
      if (at >= bytes.length) controller.close()
    },
  })
}

describe('the search', () => {
  const seed = seedOf('MASK_SEED')

  test(`finds every key wherever the network cuts it, and changes nothing else (seed ${seed})`, () => {
    const random = createRandom(seed)
    const keys = [KEY, OTHER_KEY, 'ab/ab/ab/abc=']
    const mask = createMask(keys)
    const words = [
      's',
      'sk-',
      'sk-operator',
      'ab/',
      '\\u00',
      '\\u0073',
      '\\u00e9',
      '\\',
      '{"a":"',
      'é世',
      '\n\n',
      '"}',
    ]
    for (let round = 0; round < 3_000; round++) {
      let text = ''
      let expected = ''
      for (let count = random.below(8); count >= 0; count--) {
        // A word in between, so that no key begins in the previous text.
        const word = `${random.pick(words)}·`
        const key = random.below(2) === 0 ? random.pick(keys) : ''
        text += word + escaped(key, random)
        expected += word + (key === '' ? '' : '…')
      }
      const pieces = cut(Buffer.from(`${text}|`), random)
      expect({ round, text: Buffer.concat(through(mask, pieces)).toString() }).toEqual({
        round,
        text: `${expected}|`,
      })
    }
  })

  test('delays only text that can be the beginning of a key', () => {
    const mask = createMask([KEY])
    const pieces = ['data: {"a":1}\n\n', 'data: sk-', 'x\n\n', '{"b":2}', 'ends in s']
    expect(texts(mask, pieces)).toEqual([
      'data: {"a":1}\n\n',
      'data: ',
      'sk-x\n\n',
      '{"b":2}',
      'ends in ',
      's',
    ])
  })

  test(`finds a key in any number of strings, and changes and delays no other text (seed ${seed})`, () => {
    const random = createRandom(seed)
    const letters = 'abcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let round = 0; round < 1_500; round++) {
      const keys = Array.from({ length: 1 + random.below(3) }, () => {
        const length = 8 + random.below(random.below(4) === 0 ? 150 : 40)
        return `sk-${Array.from({ length }, () => random.pick([...letters])).join('')}`
      })
      // Candidates of an answer take turns.
      const candidates = [0, 1, 2].slice(0, 1 + random.below(3)).map((index) => {
        let sent = ''
        let expected = ''
        for (let count = random.below(5); count >= 0; count--) {
          const key = random.pick(keys)
          const words = [
            's',
            'sk-',
            'sk',
            `${key.slice(0, random.below(key.length))}|`,
            key.slice(3),
            ' é世 ',
            '\n',
          ]
          const word = `·${random.pick(words)}·`
          const isKey = random.below(2) === 0
          sent += word + (isKey ? key : '')
          expected += word + (isKey ? '…' : '')
        }
        return {
          index,
          pieces: cutText(`${sent}·`, () => 1 + random.below(random.pick([1, 3, 12, 60]))),
          expected: `${expected}·`,
        }
      })
      const events: string[] = []
      const left = candidates.map(({ pieces }) => [...pieces])
      while (left.some(({ length }) => length > 0)) {
        const index = random.below(left.length)
        const content = left[index]?.shift()
        if (content === undefined) continue
        events.push(
          `data: {"choices":[{"index":${index},"delta":{"content":${JSON.stringify(content)}}}]}\n\n`,
        )
      }
      const passed = through(createMask(keys), cut(Buffer.from(events.join('')), random), stream)
      const shown = new Map<number, string>()
      for (const [, data] of Buffer.concat(passed)
        .toString()
        .matchAll(/^data: (.*)$/gm)) {
        const { index, delta } = JSON.parse(data as string).choices[0]
        shown.set(index, (shown.get(index) ?? '') + delta.content)
      }
      for (const { index, expected } of candidates) {
        const text = shown.get(index) as string
        // Only the beginning passed, before it was known to be a key.
        for (const key of keys)
          for (let at = 1; at + 8 <= key.length; at++)
            if (!expected.includes(key.slice(at, at + 8))) expect(text).not.toContain(key.slice(at, at + 8))
        const begun = keys.map((key) => key.slice(0, Math.min(7, Math.floor(key.length / 4))))
        expect({ round, text: withoutBegun(text, begun) }).toEqual({
          round,
          text: withoutBegun(expected, begun),
        })
      }
    }
  })

  test('lets text pass with its own event, or with the next where it ends like the beginning of a key', () => {
    const send = sender(createMask([KEY]), stream)
    const event = (content: string) => `data: {"delta":{"content":"${content}"}}\n\n`
    expect(send(event('Hi s'))).toBe(event('Hi s'))
    expect(send(event('k-'))).toBe(event('k-'))
    expect(send(event('operator-4'))).toBe('')
    expect(send(': ping\n\n')).toBe('')
    expect(send(event('.'))).toBe(`${event('operator-4')}: ping\n\n${event('.')}`)
    expect(send(event('sk-operator'))).toBe('')
    expect(send('data: [DONE]\n\n')).toBe(`${event('sk-operator')}data: [DONE]\n\n`)
  })

  test('masks the larger part of a key in which an answer is cut off', () => {
    expect(texts(createMask([KEY]), [`a ${KEY.slice(0, -1)}`])).toEqual(['a ', '…'])
  })

  test('leaves placeholders, which are part of honest answers', () => {
    const mask = createMask(['none', 'ollama', 'k', null])
    expect(texts(mask, ['none of ollama'])).toEqual(['none of ollama'])
    expect(mask.text('This model takes 128000 tokens.')).toBe('This model takes 128000 tokens.')
    // Numbers and the words of JSON, which would not be JSON any more.
    const figures = ['{"a":1234,"b":1.5e-7,"c":null,"d":true}']
    expect(texts(createMask(['1234', '1.5e-7', 'null', 'true', 'e-7']), figures)).toEqual(figures)
  })

  test('masks a short key that is neither a word nor a number, whole, cut by the network and broken off', () => {
    for (const key of ['sk-1234', 'abc123', 'p4ss/wd']) {
      const mask = createMask([key, KEY])
      expect(texts(mask, [`a ${key} b`, ` ${key.slice(0, 3)}`, `${key.slice(3)} c`]).join('')).toBe(
        'a … b … c',
      )
      expect(texts(mask, [`a ${key.slice(0, -1)}`]).join('')).toBe('a …')
      expect(texts(mask, [`a ${key.slice(0, 3)}`]).join('')).toBe(`a ${key.slice(0, 3)}`)
    }
  })
})

function escaped(key: string, random: Random): string {
  if (random.below(2) === 0) return key
  const hex = (character: string) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  return [...key]
    .map((character) =>
      random.below(3) === 0 ? hex(character) : character === '/' && random.below(2) === 0 ? '\\/' : character,
    )
    .join('')
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(30)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** A text in which a beginning of a key before the mask is left out. */
function withoutBegun(text: string, beginnings: readonly string[]): string {
  const all = beginnings.flatMap((whole) => [...whole].map((_, index) => whole.slice(0, index + 1)))
  const longestFirst = [...new Set(all)].sort((one, other) => other.length - one.length)
  return text.replace(new RegExp(`(?<=·)(${longestFirst.join('|')})(?=…)`, 'g'), '')
}

/** Sends pieces through a mask one by one, and returns what each lets pass. */
function sender(mask: ReturnType<typeof createMask>, type: string): (text: string) => string {
  const body = new HttpBody({ pause() {}, resume() {}, cancel() {} })
  let passed = ''
  const response = mask.response(new HttpResponse({ status: 200, get: () => type }, body))
  response.body.start({
    data(bytes) {
      passed += Buffer.from(bytes).toString()
    },
    end() {},
    fail() {},
  })
  return (text) => {
    passed = ''
    body.push(Buffer.from(text))
    return passed
  }
}

function through(
  mask: ReturnType<typeof createMask>,
  pieces: readonly Uint8Array[],
  type: string | null = null,
): Buffer[] {
  const body = new HttpBody({ pause() {}, resume() {}, cancel() {} })
  const result: Buffer[] = []
  const response = mask.response(new HttpResponse({ status: 200, get: () => type }, body))
  response.body.start({ data: (bytes) => void result.push(Buffer.from(bytes)), end() {}, fail() {} })
  for (const piece of pieces) body.push(piece)
  body.end()
  return result
}

function texts(mask: ReturnType<typeof createMask>, pieces: readonly string[]): string[] {
  return through(
    mask,
    pieces.map((piece) => Buffer.from(piece)),
  ).map(String)
}
