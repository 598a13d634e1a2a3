// Completions with vendors' peculiarities, whole and streamed, in each dialect: the place of usage, content as a list,
// and finish reasons that are failures. The caller gets an answer according to the contract, with the charged usage.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { vendorCostNano } from '../../src/billing/proofs/vendor-cost'
import { findRequest } from '../../src/request-log/look-up'
import { detailsJson } from '../../src/request-log/request-json'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { DONE, eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

let gateway: TestGateway
let odd: OddVendor

beforeAll(async () => {
  odd = startVendor()
  const price = {
    per_1m_input_tokens: '1.00',
    per_1m_cached_input_tokens: '0.10',
    per_1m_output_tokens: '2.00',
  }
  gateway = await startTestGateway({
    balance: '10',
    upstreams: { odd: odd.upstream },
    models: { odd: { family: 'openai-chat', upstream: 'odd', price } },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

interface Answer {
  message: Json
  /** Pieces of the same message. */
  deltas: Json[]
  reason: string
  usage?: Json
  /** Whether the figures are in the choice. */
  inChoice?: true
}

const text = (message: Json): Pick<Answer, 'message' | 'deltas'> => ({
  message: { role: 'assistant', ...message },
  deltas: [{ role: 'assistant', content: '' }, message],
})

function answerWith({ message, deltas, reason, usage, inChoice }: Answer): void {
  const choice = (member: Json, finish: string | null) => ({ index: 0, ...member, finish_reason: finish })
  const last = choice({ delta: {} }, reason)
  const chunks: Json[] = [
    ...deltas.map((delta) => ({ choices: [choice({ delta }, null)] })),
    { choices: [inChoice ? { ...last, usage } : last] },
    ...(usage && !inChoice ? [{ choices: [], usage }] : []),
  ]
  const whole = choice({ message }, reason)
  odd.answer = () =>
    isStreamed
      ? eventStream(chunks.map((one) => `data: ${JSON.stringify({ ...head, ...one })}\n\n`).join('') + DONE)
      : Response.json({
          ...head,
          object: 'chat.completion',
          choices: [inChoice ? { ...whole, usage } : whole],
          ...(usage && !inChoice && { usage }),
        })
}
let isStreamed = false
const head = { id: 'c_1', object: 'chat.completion.chunk', created: 1, model: 'odd' }

interface Seen {
  status: number
  text: string
  thought: string
  /** Input and output tokens, as the caller reads them. */
  usage: [input: number, output: number] | undefined
  error: Json | undefined
  events: Json[]
}

/** The answer as a client of each dialect reads it. */
const dialects: Record<string, { path: string; body: Json; read(events: Json[]): Omit<Seen, 'status'> }> = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: say('Which colour?'), stream_options: { include_usage: true } },
    read(events) {
      const parts = events.flatMap(({ choices = [] }) => choices.map((one: Json) => one.message ?? one.delta))
      const { usage } = events.findLast((event) => event.usage) ?? {}
      for (const { content } of parts) expect(typeof (content ?? '')).toBe('string')
      return {
        text: parts.map(({ content }) => content ?? '').join(''),
        thought: parts.map(({ reasoning_content: thought }) => thought ?? '').join(''),
        usage: usage && [usage.prompt_tokens, usage.completion_tokens],
        error: events.find(({ error }) => error)?.error,
        events,
      }
    },
  },
  messages: {
    path: '/v1/messages',
    body: { messages: say('Which colour?'), max_tokens: 100 },
    read(events) {
      const whole = events.flatMap(({ content = [] }) => content)
      const deltas = events.flatMap(({ delta }) => delta ?? [])
      const usage = Object.assign({}, ...events.flatMap((event) => event.message?.usage ?? event.usage ?? []))
      const input =
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
      return {
        text: [...whole, ...deltas].map((part) => part.text ?? '').join(''),
        thought: [...whole, ...deltas].map((part) => part.thinking ?? '').join(''),
        usage: usage.input_tokens === undefined ? undefined : [input, usage.output_tokens],
        error: events.find(({ error }) => error)?.error,
        events,
      }
    },
  },
  responses: {
    path: '/v1/responses',
    body: { input: 'Which colour?', store: false },
    read(events) {
      const { response = events.at(-1) } = events.findLast((event) => event.response) ?? {}
      const { output = [], usage } = response ?? {}
      const parts = (type: string, member: string) =>
        output
          .filter((item: Json) => item.type === type)
          .flatMap((item: Json) => [...(item.content ?? []), ...(item.summary ?? [])])
          .map((part: Json) => part[member] ?? '')
          .join('')
      return {
        text: parts('message', 'text'),
        thought: parts('reasoning', 'text'),
        usage: usage && [usage.input_tokens, usage.output_tokens],
        error: events.find(({ error }) => error)?.error ?? response?.error ?? undefined,
        events,
      }
    },
  },
}

async function ask(dialect: string, stream: boolean): Promise<Seen & { charge: Json }> {
  const { path, body, read } = dialects[dialect] as (typeof dialects)[string]
  isStreamed = stream
  const { stream_options: options, ...rest } = body
  const response = await gateway.post(path, {
    model: 'odd',
    ...rest,
    ...(stream && { stream, ...(options && { stream_options: options }) }),
  })
  const answered = await response.text()
  const events: Json[] = stream
    ? answered.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    : []
  if (events.length === 0) events.push(JSON.parse(answered))
  return { status: response.status, ...read(events), charge: (await gateway.newestCharge()) as Json }
}

const ways = Object.keys(dialects).flatMap((dialect) =>
  [false, true].map((stream) => [`${dialect}, ${stream ? 'streamed' : 'whole'}`, dialect, stream] as const),
)

describe('cached tokens next to those of the prompt', () => {
  // What xAI reported, as vercel/ai#12485 has it, with an output.
  const prompt = { prompt_tokens: 4142, prompt_tokens_details: { cached_tokens: 4328 } }
  const paid = 4142 * 1_000 + 4328 * 100 + 50 * 2_000
  const totals: Record<string, Json> = {
    'a total without them': { completion_tokens: 50, total_tokens: 4192 },
    'a total with them': { completion_tokens: 50, total_tokens: 8520 },
    'no total': { completion_tokens: 50 },
    'thinking next to the completion': {
      completion_tokens: 20,
      total_tokens: 4192,
      completion_tokens_details: { reasoning_tokens: 30 },
    },
  }
  describe.each(Object.entries(totals))('with %s', (_, total) => {
    test.each(ways)('are paid as cached, and shown as part of the prompt: %s', async (_, dialect, stream) => {
      answerWith({ ...text({ content: 'Red.' }), reason: 'stop', usage: { ...prompt, ...total } })
      const { usage, charge } = await ask(dialect, stream)
      expect({ usage, charge }).toMatchObject({
        usage: [4142 + 4328, 50],
        charge: { amount: paid, usage_source: 'upstream' },
      })
    })
  })
})

describe('figures that are only in the choice, as at Moonshot', () => {
  const usage = { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32, cached_tokens: 9 }
  test.each(ways)('are paid and shown: %s', async (_, dialect, stream) => {
    answerWith({ ...text({ content: 'Red.' }), reason: 'stop', usage, inChoice: true })
    const seen = await ask(dialect, stream)
    expect(seen).toMatchObject({
      text: 'Red.',
      usage: [19, 13],
      charge: { amount: 10 * 1_000 + 9 * 100 + 13 * 2_000, usage_source: 'upstream' },
    })
    expect(JSON.parse(seen.charge.usage)).toEqual(usage)
  })
})

describe('content that is a list of chunks, as of Mistral', () => {
  const chunks = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'A lamp. ' }], closed: true },
    { type: 'text', text: 'Red' },
    { type: 'text', text: ', it seems.' },
  ]
  const usage = { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32 }
  test.each(ways)('is a text, with the thinking apart: %s', async (_, dialect, stream) => {
    answerWith({
      message: { role: 'assistant', content: chunks },
      deltas: [{ role: 'assistant', content: '' }, ...chunks.map((chunk) => ({ content: [chunk] }))],
      reason: 'stop',
      usage,
    })
    expect(await ask(dialect, stream)).toMatchObject({
      text: 'Red, it seems.',
      thought: 'A lamp. ',
      usage: [19, 13],
      charge: { usage_source: 'upstream' },
    })
  })

  test('far into a stream too', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => ({ type: 'text', text: `${index} ` }))
    answerWith({
      message: {},
      deltas: many.map((chunk) => ({ content: [chunk] })),
      reason: 'stop',
      usage,
    })
    expect(await ask('chat', true)).toMatchObject({ text: many.map((chunk) => chunk.text).join('') })
  })
})

describe('the vendor’s own price of the request', () => {
  const counted = { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32 }
  const rows: [name: string, usage: Json, usd: string][] = [
    ['of xAI, in ticks', { ...counted, cost_in_usd_ticks: 12_345_678_901 }, '1.234567891'],
    [
      'of OpenRouter, in dollars',
      { ...counted, cost: 0.00014, cost_details: { upstream_inference_cost: null }, is_byok: false },
      '0.00014',
    ],
    ['of OpenRouter, below a nano-dollar', { ...counted, cost: 1.5e-10 }, '0.000000001'],
  ]
  describe.each(rows)('%s', (_, usage, usd) => {
    test.each(ways)('is kept with the charge, and from the caller: %s', async (_, dialect, stream) => {
      answerWith({ ...text({ content: 'Red.' }), reason: 'stop', usage })
      const { events, charge } = await ask(dialect, stream)
      expect(JSON.stringify(events)).not.toMatch(/cost|ticks|byok/)
      expect(JSON.parse(charge.usage)).toEqual(usage)
      const { db, requestLog: requests } = gateway.server.world
      const found = await findRequest({ db, requests }, String(charge.id))
      if (!found) throw new Error('the request is not found')
      const [shown] = detailsJson(String(charge.id), found, () => 'key').charges
      expect(shown).toMatchObject({ vendor_cost_usd: usd, amount_usd: '0.000045' })
    })
  })

  test.each([
    [{ cost: -1 }, undefined],
    [{ cost: 'much' }, undefined],
    [{ cost: Number.NaN }, undefined],
    [{ cost: 1e300 }, undefined],
    [{ cost_in_usd_ticks: 1.5 }, undefined],
    [{ cost: 2 }, 2_000_000_000],
    [{ cost_in_usd_ticks: 0 }, 0],
    [[{ cost: 1 }, { cost_in_usd_ticks: 11 }], 1_000_000_002],
    [[{ cost: 1 }, null], undefined],
    [[], undefined],
    [null, undefined],
  ])('%p is read as %p', (usage, nano) => {
    expect(vendorCostNano(usage)).toBe(nano)
  })
})

describe('an end that is a failure, as from Z.ai', () => {
  const usage = { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32 }
  const rows = [
    ['network_error', 502, 'upstream_error', 'failed while it made the answer'],
    ['sensitive', 400, 'content_policy_violation', 'blocked'],
  ] as const
  describe.each(rows)('%s', (reason, status, code, words) => {
    test.each(ways.filter(([, , stream]) => !stream))(
      'is an error and free, whatever text there is: %s',
      async (_, dialect, stream) => {
        answerWith({ ...text({ content: 'Re' }), reason, usage })
        const seen = await ask(dialect, stream)
        expect(seen).toMatchObject({ status, text: '', charge: { state: 'released' } })
        expect(seen.error?.message).toContain(words)
        if (dialect !== 'messages') expect(seen.error).toMatchObject({ code })
      },
    )
    test.each(ways.filter(([, , stream]) => stream))(
      'ends a stream with an error, and what was delivered is paid: %s',
      async (_, dialect, stream) => {
        answerWith({ ...text({ content: 'Re' }), reason, usage })
        const seen = await ask(dialect, stream)
        expect(seen.error?.message).toContain(words)
        expect(JSON.stringify(seen.events)).not.toContain(`"finish_reason":"${reason}"`)
        expect(seen.charge).toMatchObject({ state: 'settled', amount: 19 * 1_000 + 13 * 2_000 })
      },
    )
    test.each(ways.filter(([, , stream]) => stream))(
      'ends a stream without text for free: %s',
      async (_, dialect, stream) => {
        answerWith({ message: {}, deltas: [], reason, usage })
        const seen = await ask(dialect, stream)
        expect(seen.error?.message).toContain(words)
        expect(seen.charge).toMatchObject({ state: 'released' })
      },
    )
  })
})
