// The cost of a stream, whatever happens: a vendor that counts, miscounts, stops early, stalls or is faster than its caller, each
// with the exact charge.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { ModelConfig } from '../../src/config/schema'
import type { Quantities } from '../../src/contract/family'
import { DatabaseUnavailable, type Row } from '../../src/db/db'
import { HttpBody } from '../../src/http-client/response'
import { formatUsd } from '../../src/lib/money'
import { MAX_EVENT_BYTES } from '../../src/lib/sse'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import {
  createHandClock,
  earlyEnd,
  modelForRelay,
  readAll,
  sourceOf,
  startRelaying,
} from '../support/relaying'
import type { Json } from '../support/scenario'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { startHeldVendor } from '../support/vendors/held'
import { chunk, completion, DONE, eventStream, startVendor, usageChunk } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

// The prices of the test models, in nano-dollars.
const INPUT = 1_000
const CACHED = 100
const OUTPUT = 2_000

function price({ input_token = 0, cached_input_token = 0, output_token = 0 }: Quantities): number {
  return input_token * INPUT + cached_input_token * CACHED + output_token * OUTPUT
}

/** The tokenizer itself, not the gateway's worker. */
function tokensIn(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() })
}

function promptOf(words: string): string {
  return `[sandbox ${words}] What is it?`
}

/** The settled or released charge of a request. */
async function chargeOf(gateway: TestGateway, id: string | null): Promise<Row> {
  expect(id).toMatch(/^req_/)
  const read = () => gateway.charge(id)
  await waitFor(async () => (await read())?.state !== 'held')
  return (await read()) as Row
}

interface Answer {
  id: string | null
  status: number
  /** JSON of every event, or of the whole reply; texts that are not JSON stay as they are. */
  events: Json[]
  /** Everything that the model wrote, in all candidates. */
  text: string
}

async function ask(gateway: TestGateway, body: Record<string, unknown>): Promise<Answer> {
  const response = await gateway.chat(body)
  const id = response.headers.get('x-request-id')
  const { status } = response
  const type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  const events = type.startsWith('text/event-stream') ? eventsOf(text) : [JSON.parse(text)]
  return { id, status, events, text: textIn(events) }
}

function eventsOf(text: string): Json[] {
  const events = text.split(/\r\n\r\n|\n\n/).filter((event) => event.startsWith('data: '))
  return events.map((event) => {
    const data = event.slice('data: '.length)
    try {
      return JSON.parse(data)
    } catch {
      return data
    }
  })
}

function textIn(events: Json[]): string {
  return events
    .flatMap((event) => event.choices ?? [])
    .map((choice: Json) => {
      const made = choice.delta ?? choice.message
      const calls = made.tool_calls?.map(
        (call: Json) => `${call.function.name ?? ''}${call.function.arguments}`,
      )
      return `${made.content ?? ''}${made.reasoning_content ?? ''}${calls?.join('') ?? ''}`
    })
    .join('')
}

interface Case {
  name: string
  words: string
  model?: string
  body?: Record<string, unknown>
  /** Requested as a stream, as one reply, or both. */
  as?: ('stream' | 'whole')[]
  state?: 'settled' | 'released'
  endedBy?: string
  source: 'upstream' | 'counted' | 'estimated' | null
  /** The paid quantities: the counted text of prompt and answer if the vendor reported no usage. */
  paid: Quantities | 'counted'
  /** The code of the error event that ends a stream; absent: the stream is complete. */
  error?: string | null
  closingEvent?: boolean
  /** The vendor's figures were absurd, and the log says so. */
  logged?: boolean
  /** The vendor's figures are more than the request can have used, and the log says so. */
  isAbove?: boolean
}

const cases: readonly Case[] = [
  {
    name: 'usage of the vendor',
    words: 'prompt_tokens=100 tokens=20',
    source: 'upstream',
    paid: { input_token: 100, output_token: 20 },
  },
  {
    name: 'usage missing: the text is counted',
    words: 'usage=missing wide tokens=40',
    source: 'counted',
    paid: 'counted',
  },
  {
    name: 'usage missing, a tool called: its name and arguments are counted',
    words: 'usage=missing tool',
    body: {
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
    },
    source: 'counted',
    paid: 'counted',
  },
  {
    name: 'negative usage',
    words: 'usage=negative tokens=9',
    source: 'estimated',
    paid: 'counted',
    logged: true,
  },
  {
    name: 'usage as strings',
    words: 'usage=string tokens=9',
    source: 'estimated',
    paid: 'counted',
    logged: true,
  },
  {
    name: 'usage of 2^53+1',
    words: 'usage=huge tokens=9',
    source: 'estimated',
    paid: 'counted',
    logged: true,
  },
  {
    name: 'usage of 1e308',
    words: 'usage=overflow tokens=9',
    source: 'estimated',
    paid: 'counted',
    logged: true,
  },
  {
    name: 'usage that is not JSON',
    words: 'usage=nan tokens=9',
    as: ['stream'],
    source: 'estimated',
    paid: 'counted',
    logged: true,
  },
  {
    name: 'three candidates: the total of all',
    words: 'prompt_tokens=100 tokens=20',
    body: { n: 3, max_tokens: 30 },
    source: 'upstream',
    paid: { input_token: 100, output_token: 60 },
  },
  {
    name: 'three candidates, usage missing: the text of all',
    words: 'usage=missing tokens=20',
    body: { n: 3, max_tokens: 30 },
    source: 'counted',
    paid: 'counted',
  },
  {
    name: 'cached input inside the prompt',
    words: 'prompt_tokens=100 cached=60 tokens=20',
    source: 'upstream',
    paid: { input_token: 40, cached_input_token: 60, output_token: 20 },
  },
  {
    name: 'more cached input than prompt tokens were counted',
    words: 'cached=500 tokens=2',
    source: 'upstream',
    isAbove: true,
    paid: { input_token: 0, cached_input_token: 500, output_token: 2 },
  },
  {
    name: 'thinking inside the completion',
    words: 'prompt_tokens=100 reasoning=7 tokens=5',
    model: 'test-reasoning',
    source: 'upstream',
    paid: { input_token: 100, output_token: 12 },
  },
  {
    name: 'thinking next to the completion',
    words: 'prompt_tokens=100 reasoning=7 tokens=5',
    model: 'test-xai',
    source: 'upstream',
    paid: { input_token: 100, output_token: 12 },
  },
  {
    name: 'thinking only in the total',
    words: 'prompt_tokens=100 reasoning=7 tokens=5',
    model: 'test-google',
    source: 'upstream',
    paid: { input_token: 100, output_token: 12 },
  },
  {
    name: 'thinking that is shown',
    words: 'prompt_tokens=100 reasoning=7 tokens=5',
    model: 'test-dashscope',
    source: 'upstream',
    paid: { input_token: 100, output_token: 12 },
  },
  {
    name: 'running totals on every chunk: the last one counts',
    words: 'usage=every_chunk prompt_tokens=100 tokens=20',
    as: ['stream'],
    source: 'upstream',
    paid: { input_token: 100, output_token: 20 },
  },
  {
    name: 'no output, though the answer is complete, is free',
    words: 'prompt_tokens=100 empty',
    state: 'released',
    source: null,
    paid: {},
  },
  {
    name: 'an error before any output is free',
    words: 'error_after=1 tokens=20',
    as: ['stream'],
    state: 'released',
    endedBy: 'upstream',
    source: null,
    paid: {},
    error: null,
  },
  {
    name: 'an error before any output is free, whatever the vendor counted for thinking',
    words: 'usage=every_chunk reasoning=50 error_after=1',
    model: 'test-reasoning',
    as: ['stream'],
    state: 'released',
    endedBy: 'upstream',
    source: null,
    paid: {},
    error: null,
  },
  {
    name: 'an error in the middle: what was delivered, and not the text of the error',
    words: 'error_after=9 tokens=20',
    as: ['stream'],
    endedBy: 'upstream',
    source: 'counted',
    paid: 'counted',
    error: null,
  },
  {
    name: 'a cut in the middle: what was delivered',
    words: 'cut_after=9 tokens=20',
    as: ['stream'],
    endedBy: 'upstream',
    source: 'counted',
    paid: 'counted',
    error: 'upstream_cut',
  },
  {
    name: 'a cut in the middle after running totals: the last figures',
    words: 'usage=every_chunk prompt_tokens=100 cut_after=9 tokens=20',
    as: ['stream'],
    endedBy: 'upstream',
    source: 'upstream',
    paid: { input_token: 100, output_token: 8 },
    error: 'upstream_cut',
  },
  {
    name: 'a cut before any output is free',
    words: 'cut_after=1 tokens=20',
    as: ['stream'],
    state: 'released',
    endedBy: 'upstream',
    source: null,
    paid: {},
    error: 'upstream_cut',
  },
  {
    name: 'no closing event',
    words: 'no_done prompt_tokens=100 tokens=20',
    as: ['stream'],
    source: 'upstream',
    paid: { input_token: 100, output_token: 20 },
    closingEvent: false,
  },
  {
    name: 'no closing event and no usage',
    words: 'no_done usage=missing tokens=20',
    as: ['stream'],
    source: 'counted',
    paid: 'counted',
    closingEvent: false,
  },
  {
    name: 'lines that end by CR LF',
    words: 'crlf prompt_tokens=100 tokens=20',
    as: ['stream'],
    source: 'upstream',
    paid: { input_token: 100, output_token: 20 },
  },
  {
    name: 'pieces cut inside letters',
    words: 'split wide usage=missing tokens=30',
    as: ['stream'],
    source: 'counted',
    paid: 'counted',
  },
  {
    name: 'events without sense',
    words: 'garbage',
    as: ['stream'],
    state: 'released',
    endedBy: 'upstream',
    source: null,
    paid: {},
    error: 'upstream_cut',
  },
]

for (const database of databaseKinds) {
  describe(`the charge on ${database} for`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      gateway = await startTestGateway({ database })
    })
    afterAll(() => gateway.close())

    for (const row of cases) {
      for (const as of row.as ?? ['stream', 'whole']) {
        test(`${row.name} (${as})`, () => playCase(gateway, row, as === 'stream'))
      }
    }

    test('a stream is settled when its last byte arrives, every time', async () => {
      for (let round = 0; round < 60; round++) {
        const words = round % 3 === 0 ? 'usage=missing tokens=3' : 'tokens=3'
        const response = await gateway.chat({ stream: true, messages: say(promptOf(words)) })
        let text = ''
        for await (const piece of response.body as ReadableStream<Uint8Array>) {
          text += Buffer.from(piece).toString()
          if (!text.includes('[DONE]')) continue
          const id = response.headers.get('x-request-id')
          expect((await gateway.charge(id))?.state).toBe('settled')
        }
        expect(text).toEndWith('data: [DONE]\n\n')
      }
    })
  })
}

async function playCase(gateway: TestGateway, row: Case, stream: boolean): Promise<void> {
  const callsBefore = gateway.sandbox.calls.length
  const logBefore = gateway.log.length
  const body = { model: row.model ?? 'test-chat', messages: say(promptOf(row.words)), ...row.body, stream }
  const answer = await ask(gateway, body)
  expect(answer.status).toBe(200)
  // Whatever fails after the first byte, the request is not sent to a vendor again.
  expect(gateway.sandbox.calls.length - callsBefore).toBe(1)
  if (stream) expectEnd(answer.events, row)
  const charge = await chargeOf(gateway, answer.id)
  const paid = row.paid === 'counted' ? countedFor(body, answer.text) : row.paid
  expect({
    state: charge.state,
    endedBy: charge.ended_by,
    source: charge.usage_source,
    amount: charge.amount,
    shortfall: charge.shortfall,
  }).toEqual({
    state: row.state ?? 'settled',
    endedBy: row.endedBy ?? 'done',
    source: row.source,
    amount: price(paid),
    shortfall: 0,
  })
  const logged = gateway.log.slice(logBefore).map(({ event }) => event)
  expect(logged).toEqual([
    ...(row.isAbove ? ['usage_above_quote'] : []),
    ...(row.logged ? ['upstream_usage_invalid'] : []),
  ])
  const [entry] = (await gateway.requestLog()).filter(({ id }) => id === answer.id)
  expect(entry).toMatchObject({
    status: 200,
    // An error of the vendor's own is logged as such.
    error_code: row.error === undefined ? null : (row.error ?? 'upstream_error'),
    amount: price(paid),
    ended_by: row.endedBy ?? 'done',
  })
}

/** Complete streams end with their closing event, the others with the reason; usage is shown only on request. */
function expectEnd(events: Json[], { error, closingEvent = true, words }: Case): void {
  if (error === undefined) expect(events.includes('[DONE]')).toBe(closingEvent)
  else {
    expect(events.includes('[DONE]')).toBe(false)
    const errors = events.filter((event) => event.error)
    expect(errors.length).toBe(1)
    expect(events.at(-1)).toBe(errors[0])
    if (error === null) expect(errors[0].error.message).toContain('error')
    else expect(errors[0].error).toMatchObject({ code: error, type: 'server_error' })
  }
  if (!words.includes('every_chunk')) expect(events.filter((event) => event.usage)).toEqual([])
}

function countedFor(body: { messages: { content: string }[]; tools?: unknown }, text: string): Quantities {
  const prompt = [
    ...body.messages.map(({ content }) => content),
    ...(body.tools ? [JSON.stringify(body.tools)] : []),
  ]
  return { input_token: tokensIn(prompt.join('\n')), output_token: tokensIn(text) }
}

describe('a price beyond the hold', () => {
  // Hidden thinking: nobody sees it before the vendor reports it. 250,000 held for a prompt of 170 bytes, 300,000 to be paid.
  const words = 'prompt_tokens=100 reasoning=98 tokens=2'
  const trueNano = price({ input_token: 100, output_token: 100 })
  const body = JSON.stringify({ model: 'test-short', stream: true, messages: say(promptOf(words)) })
  const heldNano = price({ input_token: body.length, output_token: 40 })
  const vendor = startHeldVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    const model = { ...testModels['test-chat'], reserveOutputTokens: 40 }
    const held = { ...(testModels['test-chat'] as ModelConfig), upstream: 'held' }
    gateway = await startTestGateway({
      models: { 'test-short': model, 'test-held': held },
      upstreams: { held: vendor.upstream },
    })
    expect(trueNano).toBeGreaterThan(heldNano)
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  async function play(account: string, balanceNano: number): Promise<Row> {
    const { secret } = await gateway.makeKey(account, formatUsd(balanceNano))
    const response = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${secret}` })
    // Whatever is missing, the answer is complete, because the caller has obeyed the rules.
    expect(await response.text()).toEndWith('data: [DONE]\n\n')
    return chargeOf(gateway, response.headers.get('x-request-id'))
  }

  test('is taken from the balance as far as it is available', async () => {
    const charge = await play('enough', heldNano * 3)
    expect(charge).toMatchObject({ held: heldNano, amount: trueNano, shortfall: 0 })
    expect((await gateway.balance('enough')).balanceNano).toBe(heldNano * 3 - trueNano)
  })

  test('never takes a balance below zero: the operator bears the difference', async () => {
    const balanceNano = heldNano + 5_000
    const charge = await play('short', balanceNano)
    expect(charge).toMatchObject({ amount: balanceNano, shortfall: trueNano - balanceNano })
    expect(await gateway.balance('short')).toMatchObject({ balanceNano: 0, heldNano: 0 })
  })

  test('never takes what other running requests hold', async () => {
    const other = { model: 'test-held', messages: say('Hi'), max_tokens: 2 }
    const otherHeldNano = price({ input_token: JSON.stringify(other).length, output_token: 2 })
    const { secret } = await gateway.makeKey('busy', formatUsd(otherHeldNano + heldNano))
    const headers = { authorization: `Bearer ${secret}` }
    const running = gateway.post('/v1/chat/completions', other, headers)
    await waitFor(async () => (await gateway.balance('busy')).heldNano > 0)
    const response = await gateway.post('/v1/chat/completions', body, headers)
    await response.text()
    const charge = await chargeOf(gateway, response.headers.get('x-request-id'))
    expect(charge).toMatchObject({ amount: heldNano, shortfall: trueNano - heldNano })
    vendor.letGo()
    expect((await running).status).toBe(200)
  })

  test('the hold of several candidates is that of one, times their number', async () => {
    const several = { model: 'test-chat', messages: say('Hi'), n: 3, max_tokens: 30, stream: true }
    const { id } = await ask(gateway, several)
    const input = JSON.stringify(several).length
    expect((await chargeOf(gateway, id)).held).toBe(price({ input_token: input, output_token: 90 }))
  })
})

describe('usage in streams', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({
      upstreams: { openai: { streamUsage: true }, dashscope: { streamUsage: false } },
    })
  })
  afterAll(() => gateway.close())

  const sent = () => JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')

  test('is always requested, and shown only to callers who requested it', async () => {
    const hidden = await ask(gateway, { stream: true })
    expect(sent().stream_options).toEqual({ include_usage: true })
    expect(hidden.events.some((event) => event.usage)).toBe(false)
    const asked = await ask(gateway, { stream: true, stream_options: { include_usage: true } })
    const shown = asked.events.filter((event) => event.usage)
    expect(shown).toHaveLength(1)
    const { prompt_tokens, completion_tokens } = shown[0].usage
    const charge = await chargeOf(gateway, asked.id)
    expect(charge.amount).toBe(price({ input_token: prompt_tokens, output_token: completion_tokens }))
    expect(JSON.parse(charge.usage as string)).toEqual(shown[0].usage)
  })

  test('leaves the other stream options of the caller as they are', async () => {
    await ask(gateway, { stream: true, stream_options: { include_obfuscation: false } })
    expect(sent().stream_options).toEqual({ include_obfuscation: false, include_usage: true })
    await ask(gateway, { stream: true, stream_options: { include_usage: false } })
    expect(sent().stream_options).toEqual({ include_usage: true })
    await ask(gateway, {})
    expect(sent().stream_options).toBeUndefined()
  })

  test('is not requested from a vendor that refuses the field, and is counted instead', async () => {
    const { id } = await ask(gateway, { model: 'test-dashscope', stream: true })
    expect(sent().stream_options).toBeUndefined()
    expect((await chargeOf(gateway, id)).usage_source).toBe('counted')
  })
})

describe('an unusual vendor', () => {
  const vendor = startVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({
      upstreams: { odd: { ...vendor.upstream, idleTimeoutMs: 600, maxDurationMs: 60_000 } },
      models: { 'test-odd': { ...testModels['test-chat'], upstream: 'odd' } },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  async function play(body: object = {}) {
    const response = await gateway.chat({ model: 'test-odd', stream: true, ...body })
    const text = await response.text()
    return { response, text, charge: await chargeOf(gateway, response.headers.get('x-request-id')) }
  }

  test('answers JSON to a stream: the caller gets it, and it is paid for', async () => {
    vendor.answer = () => Response.json(completion('Whole', 7, 3))
    const { response, text, charge } = await play()
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(text)).toMatchObject({
      model: 'test-odd',
      choices: [{ message: { content: 'Whole' } }],
    })
    expect(charge).toMatchObject({
      usage_source: 'upstream',
      amount: price({ input_token: 7, output_token: 3 }),
    })
  })

  test('keeps the connection open after its last event: the caller does not wait for it', async () => {
    let cancelled = false
    vendor.answer = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(chunk('A', 'stop') + usageChunk(7, 1) + DONE)),
        cancel() {
          cancelled = true
        },
      })
      return eventStream(body)
    }
    const { text, charge } = await play()
    expect(text).toEndWith(DONE)
    expect(charge).toMatchObject({ ended_by: 'done', usage_source: 'upstream' })
    await waitFor(() => cancelled)
    expect(cancelled).toBe(true)
  })

  test('sends comments, fields and spaces of its own: they pass byte for byte', async () => {
    const odd = `: PROCESSING\n\nevent: delta\nid: 7\nretry: 10\n${chunk('Grüße 世界')}data:{"choices":[ ]}\n\n: bye\n\n`
    vendor.answer = () => eventStream(odd + chunk('!', 'stop') + usageChunk(7, 2) + DONE)
    const { text, charge } = await play({ stream_options: { include_usage: true } })
    const sent = odd + chunk('!', 'stop') + usageChunk(7, 2) + DONE
    expect(text).toBe(sent.replaceAll('odd-model-2026', 'test-odd'))
    expect(charge.amount).toBe(price({ input_token: 7, output_token: 2 }))
  })

  test('answers, and then the database fails: 503, nothing is charged, and the call ends', async () => {
    let cancelled = false
    vendor.answer = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(chunk('Hello'))),
        cancel() {
          cancelled = true
        },
      })
      return eventStream(body)
    }
    const { secret } = await gateway.makeKey('limited', '5', { requestsPerMinute: 100 })
    const { db, ticker } = gateway.server.world
    const { query } = db
    const { watch } = ticker
    let watched = 0
    ticker.watch = (beat) => {
      watched++
      return watch.call(ticker, beat)
    }
    // The one thing that is read between the vendor's answer and the caller's first byte.
    db.query = (statement) =>
      statement.sql.includes('rate_windows')
        ? Promise.reject(new DatabaseUnavailable('gone'))
        : query.call(db, statement)
    const headers = { authorization: `Bearer ${secret}` }
    const response = await gateway.chat({ model: 'test-odd', stream: true }, headers)
    db.query = query
    ticker.watch = watch
    // A begun stream would be watched forever.
    expect(watched).toBe(0)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'database_unavailable' } })
    expect(await gateway.balance('limited')).toMatchObject({ heldNano: 0, balanceNano: 5_000_000_000 })
    await waitFor(() => cancelled)
    expect(cancelled).toBe(true)
  })

  test('leaves out the blank line of the last event: it counts, and the caller gets it whole', async () => {
    vendor.answer = () => eventStream(chunk('A', 'stop') + usageChunk(7, 2).trimEnd())
    const { text, charge } = await play({ stream_options: { include_usage: true } })
    expect(text).toEndWith('"completion_tokens":2}}\n\n')
    expect(charge.amount).toBe(price({ input_token: 7, output_token: 2 }))
  })

  test.each([
    ['more', [7, 2], [9, 9], [9, 9]],
    ['less', [9, 9], [7, 2], [9, 9]],
    ['less output', [7, 9], [9, 2], [9, 9]],
    ['less input', [9, 2], [7, 9], [9, 9]],
    ['nothing', [9, 9], [0, 0], [9, 9]],
  ] as const)(
    'reports usage twice, %s at last: never less, and never the sum',
    async (_, one, other, paid) => {
      const [first, last] = [usageChunk(one[0], one[1]), usageChunk(other[0], other[1])]
      vendor.answer = () => eventStream(chunk('A') + first + chunk('B', 'stop') + last + DONE)
      const { charge } = await play()
      const [input, output] = paid
      expect(charge.amount).toBe(price({ input_token: input, output_token: output }))
    },
  )

  test('claims more tokens than any model has: the text is counted', async () => {
    vendor.answer = () => eventStream(chunk('Hello', 'stop') + usageChunk(7, 100_000_001) + DONE)
    const { charge } = await play()
    const paid = { input_token: tokensIn('Hello!'), output_token: tokensIn('Hello') }
    expect(charge).toMatchObject({ usage_source: 'estimated', amount: price(paid) })
  })

  const errors = { object: '{"message":"No luck","code":"x"}', sentence: '"No luck"' }
  for (const [form, error] of Object.entries(errors)) {
    test(`fails by an ${form} and still sends its closing event: free when nothing was delivered`, async () => {
      vendor.answer = () => eventStream(`data: {"error":${error}}\n\n${DONE}`)
      const { text, charge } = await play()
      expect(text).toBe(`data: {"error":${error}}\n\n${DONE}`)
      expect(charge).toMatchObject({ state: 'released', amount: 0 })
    })

    test(`answers 200 with an error ${form}: the caller gets an error, free`, async () => {
      vendor.answer = () =>
        new Response(`{"error":${error}}`, { headers: { 'content-type': 'application/json' } })
      const { response, text, charge } = await play({ stream: false })
      expect(response.status).toBe(400)
      expect(JSON.parse(text).error.message).toBe('No luck')
      expect(charge).toMatchObject({ state: 'released', amount: 0 })
    })
  }

  test('fails by an event that has figures too: the caller who did not ask for them sees the error', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 1 }
    vendor.answer = () =>
      eventStream(`${chunk('A')}data: ${JSON.stringify({ error: { message: 'No luck' }, usage })}\n\n`)
    const { text, charge } = await play()
    expect(eventsOf(text).at(-1).error).toEqual({ message: 'No luck' })
    expect(charge).toMatchObject({
      state: 'settled',
      amount: price({ input_token: 7, output_token: 1 }),
    })
  })

  test('falls silent inside a stream: it is cut, the caller learns why, the delivered part is paid', async () => {
    let cancelled = false
    vendor.answer = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(chunk('Hello'))),
        cancel() {
          cancelled = true
        },
      })
      return eventStream(body)
    }
    const { text, charge } = await play()
    const events = eventsOf(text)
    expect(textIn(events)).toBe('Hello')
    expect(events.at(-1).error).toMatchObject({ code: 'upstream_timeout', type: 'server_error' })
    const paid = { input_token: tokensIn('Hello!'), output_token: tokensIn('Hello') }
    expect(charge).toMatchObject({ ended_by: 'timeout', usage_source: 'counted', amount: price(paid) })
    await waitFor(() => cancelled)
    expect(cancelled).toBe(true)
  })

  test('sends faster than the caller reads: it has to wait, and not a byte is lost', async () => {
    const event = Buffer.from(chunk('x'.repeat(16_000)))
    const events = 4_000
    let made = 0
    vendor.answer = () => {
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (made++ < events) return controller.enqueue(event)
          controller.enqueue(Buffer.from(chunk('', 'stop') + usageChunk(1, 1) + DONE))
          controller.close()
        },
      })
      return eventStream(body)
    }
    const caller = await RawCaller.connect(gateway.url)
    caller.pause()
    // With a limit that is held from the start, because nobody could pay for so much.
    const body = { model: 'test-odd', stream: true, max_tokens: 10, messages: say('Hi') }
    caller.send(chatRequest(gateway.secret, body))
    let before = -1
    await waitFor(async () => {
      const stands = made > 0 && made === before
      before = made
      await Bun.sleep(1_000)
      return stands
    })
    // The kernel's buffers of three connections take some; the gateway itself keeps next to nothing.
    expect(made).toBeLessThan(events / 2)
    caller.resume()
    await waitFor(() => caller.tail().includes('[DONE]'))
    expect(caller.bytes).toBeGreaterThan((event.length - 'odd-model-2026'.length) * events)
    caller.leave('fin')
    const [charge] = (await gateway.charges()).slice(-1)
    expect(charge).toMatchObject({ state: 'settled', amount: price({ input_token: 1, output_token: 1 }) })
  })
})

describe('time in a stream', () => {
  const KEEP_ALIVE = ': keep-alive\n\n'

  /** A vendor that sends its pieces when the test says so. */
  function startByHand(
    options: Parameters<typeof startRelaying>[1] & { upstream?: Partial<UpstreamConfig> } = {},
  ) {
    const { upstream = {}, ...rest } = options
    const clock = createHandClock()
    let vendor: ReadableStreamDefaultController<Uint8Array> | undefined
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        vendor = controller
      },
      cancel() {
        cancelled = true
      },
    })
    const relaying = startRelaying(body, { clock, model: modelForRelay('test-chat', upstream), ...rest })
    const text = async () => {
      const { value } = await relaying.reader.read()
      return value && Buffer.from(value).toString()
    }
    return {
      ...relaying,
      clock,
      say: (words: string) => vendor?.enqueue(Buffer.from(words)),
      cancelled: () => cancelled,
      text,
    }
  }

  test('a comment every 15 seconds keeps a silent stream alive, and none is sent while events flow', async () => {
    const stream = startByHand()
    const first = stream.text()
    await stream.clock.pass(14_999)
    stream.say(chunk('A'))
    expect(await first).toContain('"A"')
    const second = stream.text()
    await stream.clock.pass(14_000)
    await stream.clock.pass(1_000)
    expect(await second).toBe(KEEP_ALIVE)
    const third = stream.text()
    await stream.clock.pass(15_000)
    expect(await third).toBe(KEEP_ALIVE)
    const fourth = stream.text()
    stream.say(chunk('B', 'stop') + DONE)
    expect(await fourth).toContain('[DONE]')
    // Saved answers are without them.
    expect(stream.captured()).not.toContain(KEEP_ALIVE)
    expect(stream.captured()).toContain('[DONE]')
  })

  test('a comment is never inside an event', async () => {
    const stream = startByHand()
    const [begin, end] = [chunk('A').slice(0, 30), chunk('A').slice(30)]
    const first = stream.text()
    stream.say(begin)
    await stream.clock.pass(15_000)
    expect(await first).toBe(KEEP_ALIVE)
    const second = stream.text()
    stream.say(end)
    expect(await second).toBe(chunk('A').replace('odd-model-2026', 'test-chat'))
  })

  test('a vendor that is silent for too long is stopped, once, with a reason', async () => {
    const stream = startByHand({ upstream: { idleTimeoutMs: 10_000 } })
    const first = stream.text()
    stream.say(chunk('A'))
    await first
    const second = stream.text()
    await stream.clock.pass(10_000)
    expect(stream.outcomes).toEqual([])
    await stream.clock.pass(1)
    expect(await second).toBe(earlyEnd('timeout'))
    expect(await stream.text()).toBeUndefined()
    expect(stream.outcomes).toMatchObject([{ endedBy: 'timeout', text: 'A' }])
    expect({ aborts: stream.aborts() > 0, cancelled: stream.cancelled() }).toEqual({
      aborts: true,
      cancelled: true,
    })
    expect(stream.clock.watchers()).toBe(0)
  })

  test('parts of an event count as activity', async () => {
    const stream = startByHand({ upstream: { idleTimeoutMs: 10_000 } })
    const whole = stream.text()
    for (const letter of chunk('A')) {
      stream.say(letter)
      await stream.clock.pass(9_000 / 4)
    }
    const pieces = [await whole]
    while (pieces.at(-1) === KEEP_ALIVE) pieces.push(await stream.text())
    expect(pieces.at(-1)).toContain('"A"')
    expect(stream.outcomes).toEqual([])
  })

  test('a request beyond the maximum duration is stopped even if events flow', async () => {
    const stream = startByHand({ upstream: { maxDurationMs: 60_000 } })
    for (let seconds = 0; seconds <= 60; seconds += 10) {
      const next = stream.text()
      stream.say(chunk('A'))
      expect(await next).toContain('"A"')
      await stream.clock.pass(10_000)
    }
    expect(await stream.text()).toBe(earlyEnd('timeout'))
    expect(stream.outcomes).toMatchObject([{ endedBy: 'timeout', text: 'AAAAAAA' }])
  })

  test('a caller who reads nothing for five minutes counts as gone: the vendor is stopped and the rest is not paid', async () => {
    const stream = startByHand()
    const first = stream.text()
    stream.say(chunk('A'))
    await first
    stream.say(chunk('B'))
    await stream.clock.pass(300_000)
    expect(stream.outcomes).toEqual([])
    await stream.clock.pass(1_000)
    expect(stream.outcomes).toMatchObject([{ endedBy: 'client', text: 'A' }])
    expect(stream.cancelled()).toBe(true)
    expect((await rejection(stream.reader.read())).message).toContain('stopped reading')
  })

  test('the time of a slow caller does not count for the vendor’s time limit', async () => {
    const stream = startByHand({ upstream: { idleTimeoutMs: 10_000 } })
    const first = stream.text()
    stream.say(chunk('A'))
    await first
    await stream.clock.pass(200_000)
    const second = stream.text()
    await stream.clock.pass(1_000)
    stream.say(chunk('B'))
    let answer = await second
    while (answer === KEEP_ALIVE) answer = await stream.text()
    expect(answer).toContain('"B"')
  })

  test('a vendor that was silent for long does not make its caller a slow one', async () => {
    const stream = startByHand({ upstream: { idleTimeoutMs: 1_000_000 } })
    const first = stream.text()
    await stream.clock.pass(400_000)
    expect(await first).toBe(KEEP_ALIVE)
    stream.say(chunk('A'))
    await stream.clock.pass(1_000)
    expect(await stream.text()).toContain('"A"')
    expect(stream.outcomes).toEqual([])
  })

  test('little is read from a vendor before the caller reads', async () => {
    const pieces = Array.from({ length: 100 }, () => Buffer.from(chunk('x'.repeat(100_000))))
    const source = sourceOf(pieces)
    const relaying = startRelaying(source.body)
    await Bun.sleep(5)
    expect(source.taken()).toBeLessThan(5)
    for (let wanted = 1; wanted <= 50; wanted++) {
      await relaying.reader.read()
      expect(source.taken()).toBeLessThan(wanted + 5)
    }
  })

  test('a vendor whose event never ends is stopped, and the caller gets an error', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const most = MAX_EVENT_BYTES / piece.length
    const source = sourceOf([Buffer.from(chunk('A')), ...Array.from({ length: 3 * most }, () => piece)])
    const relaying = startRelaying(source.body)
    const output = (await readAll(relaying.reader)).toString()
    expect(eventsOf(output).at(-1)).toEqual({ error: { code: 'ended_by_upstream' } })
    expect(output.length).toBeLessThan(1_000)
    expect(source.taken()).toBeLessThan(most + 4)
    expect({ aborts: relaying.aborts(), cancelled: source.cancelled() }).toEqual({
      aborts: 1,
      cancelled: true,
    })
    expect(relaying.outcomes).toMatchObject([{ endedBy: 'upstream', text: 'A' }])
  })

  test('a stream that is still read after its caller disconnected ends at the maximum duration too', async () => {
    const stream = startByHand({ drain: true, upstream: { maxDurationMs: 60_000 } })
    const first = stream.text()
    stream.say(chunk('A'))
    await first
    await stream.reader.cancel()
    stream.say(chunk('B'))
    await Bun.sleep(0)
    expect({ outcomes: stream.outcomes, cancelled: stream.cancelled() }).toEqual({
      outcomes: [],
      cancelled: false,
    })
    await stream.clock.pass(61_000)
    await waitFor(() => stream.outcomes.length > 0)
    expect(stream.outcomes).toMatchObject([{ endedBy: 'client', text: 'AB' }])
    expect(stream.cancelled()).toBe(true)
    expect(stream.clock.watchers()).toBe(0)
  })

  test.each(['leaves', 'stalls', 'takes too long'])(
    'a stream whose vendor has ended while its caller %s is booked anyway',
    async (how) => {
      const clock = createHandClock()
      const maxDurationMs = how === 'takes too long' ? 60_000 : 3_600_000
      const source = new HttpBody({ pause() {}, resume() {}, cancel() {} })
      const relaying = startRelaying(source, { clock, model: modelForRelay('test-chat', { maxDurationMs }) })
      // All of it in one packet, and the caller takes only the first piece.
      const first = relaying.reader.read()
      for (const piece of ['A', 'B', 'C']) source.push(Buffer.from(chunk(piece)))
      source.end()
      await first
      if (how === 'leaves') await relaying.reader.cancel()
      else await clock.pass(301_000)
      await waitFor(() => relaying.outcomes.length > 0)
      expect(relaying.outcomes).toMatchObject([{ endedBy: how === 'takes too long' ? 'timeout' : 'client' }])
      expect(clock.watchers()).toBe(0)
    },
  )

  test('a stream whose end cannot be booked after its caller disconnected affects nothing else', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    for (const drain of [false, true]) {
      const finish = () => Promise.reject(new Error('the books are closed'))
      const stream = startByHand({ drain, finish })
      const first = stream.text()
      stream.say(chunk('A'))
      await first
      await stream.reader.cancel()
      if (drain) stream.say(DONE)
      await Bun.sleep(5)
    }
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})
