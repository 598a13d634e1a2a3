// The bounds of plausible vendor figures, at the last figure that passes and the first that does not: everything that the model can
// read, or if that is unknown four times the quote with 50,000 input tokens on top; output likewise, with everything that the model
// can hold on top, or 2,000,000 tokens. Usage above the quote is reported.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { plausible, quoteOf } from '../../src/billing/ledger/metering'
import type { ModelConfig } from '../../src/config/schema'
import type { Quantities } from '../../src/contract/family'
import { Notices } from '../../src/events/notices'
import { findRequest } from '../../src/request-log/look-up'
import { detailsJson } from '../../src/request-log/request-json'
import { say, startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { modelForRelay } from '../support/relaying'
import {
  chunk,
  completion,
  DONE,
  eventStream,
  type OddVendor,
  startVendor,
  usageChunk,
} from '../support/vendors/vendor'

const inputTokensOf = ({ input_token = 0, cached_input_token = 0, cache_write_token = 0 }: Quantities) =>
  input_token + cached_input_token + cache_write_token
const outputTokensOf = ({ output_token = 0 }: Quantities) => output_token

// Nothing is known of its limits.
const model = { ...modelForRelay(), contextTokens: undefined, maxOutputTokens: undefined }
const body = { model: 'test-chat', messages: say('word '.repeat(200)), max_tokens: 700 }
const ask = { body, byteLength: JSON.stringify(body).length, at: 0 }
const quote = quoteOf(ask, model)

describe('plausible are', () => {
  const mostInput = 4 * inputTokensOf(quote) + 50_000
  const mostOutput = 4 * outputTokensOf(quote) + 2_000_000
  const most: Record<string, Quantities> = {
    'input tokens': { input_token: mostInput, output_token: 1 },
    'input tokens of several kinds': {
      input_token: 7,
      cached_input_token: mostInput - 20,
      cache_write_token: 13,
      output_token: 1,
    },
    'output tokens': { input_token: 1, output_token: mostOutput },
    'both at once': { input_token: mostInput, output_token: mostOutput },
  }
  for (const [name, usage] of Object.entries(most)) {
    test(`${name}, up to four times the quote and what is added to it`, () => {
      expect(inputTokensOf(quote)).toBeGreaterThan(100)
      expect(outputTokensOf(quote)).toBe(700)
      expect(plausible(usage, ask, model)).toBe(usage)
      for (const unit of Object.keys(usage) as (keyof Quantities)[]) {
        const isMost =
          unit === 'output_token' ? usage[unit] === mostOutput : inputTokensOf(usage) === mostInput
        const more = { ...usage, [unit]: (usage[unit] ?? 0) + 1 }
        expect({ unit, is: plausible(more, ask, model) }).toEqual({ unit, is: isMost ? 'invalid' : more })
      }
    })
  }
})

describe('with a known context, plausible are', () => {
  const contextTokens = 131_072
  const known = { ...model, contextTokens }
  const row = (usage: Quantities) => plausible(usage, ask, known)

  test('input tokens up to the context, however small the request is', () => {
    const most = { input_token: contextTokens - 10, cached_input_token: 10, output_token: 1 }
    expect(inputTokensOf(quote)).toBeLessThan(2_000)
    expect(row(most)).toBe(most)
    expect(row({ ...most, input_token: contextTokens - 9 })).toBe('invalid')
  })

  test('output tokens up to four times the limit, and the context', () => {
    const most = { input_token: 1, output_token: 4 * 700 + contextTokens }
    expect(row(most)).toBe(most)
    expect(row({ ...most, output_token: most.output_token + 1 })).toBe('invalid')
  })

  test('output tokens of each candidate', () => {
    const several = { ...ask, body: { ...body, n: 3 } }
    const most = { input_token: 1, output_token: 3 * (4 * 700 + contextTokens) }
    expect(plausible(most, several, known)).toBe(most)
    expect(plausible({ ...most, output_token: most.output_token + 1 }, several, known)).toBe('invalid')
  })

  test('and no fewer input tokens than with an unknown one', () => {
    const most = { input_token: 4 * inputTokensOf(quote) + 50_000, output_token: 1 }
    expect(plausible(most, ask, { ...model, contextTokens: 4_096 })).toBe(most)
  })
})

describe('figures above the quote', () => {
  let vendor: OddVendor
  let gateway: TestGateway
  const limits = { contextTokens: 131_072, maxOutputTokens: 4_096 }
  beforeAll(async () => {
    vendor = startVendor()
    const chat = { ...(testModels['test-chat'] as ModelConfig), upstreamModel: 'unknown', upstream: 'odd' }
    const models = { odd: { ...chat, ...limits } }
    gateway = await startTestGateway({ balance: '1000', upstreams: { odd: vendor.upstream }, models })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const tiny = { model: 'odd', messages: say('Hi'), max_tokens: 20 }
  const reported = () => gateway.log.filter(({ event }) => event === 'usage_above_quote')

  /** The charge of an answer with these figures, what the log of requests says of it, and the lines that were logged. */
  async function paid(inputTokens: number, outputTokens: number, stream: boolean) {
    const before = reported().length
    vendor.answer = () =>
      stream
        ? eventStream(chunk('Hello', 'stop') + usageChunk(inputTokens, outputTokens) + DONE)
        : Response.json(completion('Hello', inputTokens, outputTokens))
    const response = await gateway.post('/v1/chat/completions', { ...tiny, stream })
    expect(response.status).toBe(200)
    await response.text()
    const charge = await gateway.newestCharge()
    const { usage_source: said } = (await gateway.newestLogged()) as { usage_source: unknown }
    const lines = reported().slice(before)
    return {
      amount: charge?.amount,
      source: charge?.usage_source,
      said,
      lines: lines.map(({ fields }) => fields),
    }
  }

  test.each([false, true])('of hidden prompts are paid and reported, streamed: %p', async (stream) => {
    const { lines, ...rest } = await paid(90_000, 5, stream)
    const said = 'upstream_above_quote'
    expect(rest).toEqual({ amount: 90_000 * 1_000 + 5 * 2_000, source: 'upstream', said })
    expect(lines).toMatchObject([{ model: 'odd', upstream: 'odd', input_tokens: 90_000, output_tokens: 5 }])
    expect(Number(lines[0]?.quoted_input_tokens)).toBeLessThan(200)
  })

  test.each([false, true])(
    'of output beyond its limit are paid and reported, streamed: %p',
    async (stream) => {
      const { lines, ...rest } = await paid(9, 21, stream)
      const said = 'upstream_above_quote'
      expect(rest).toEqual({ amount: 9 * 1_000 + 21 * 2_000, source: 'upstream', said })
      expect(lines).toMatchObject([{ output_tokens: 21, quoted_output_tokens: 20 }])
    },
  )

  test.each([false, true])('are not those of an answer within its limit, streamed: %p', async (stream) => {
    const { lines, ...rest } = await paid(9, 20, stream)
    expect(rest).toMatchObject({ source: 'upstream', said: 'upstream' })
    expect(lines).toEqual([])
  })

  test('are in what is shown of the request, and operators get them as an event', async () => {
    await paid(90_000, 5, false)
    const { id } = (await gateway.newestLogged()) as { id: string }
    const { db, requestLog: requests } = gateway.server.world
    const found = await findRequest({ db, requests }, id)
    if (!found) throw new Error('the request is not found')
    expect(detailsJson(id, found, () => 'key').charges).toMatchObject([
      { usage_source: 'upstream_above_quote' },
    ])
    const notices = new Notices()
    notices.noticing(() => {})('usage_above_quote', reported().at(-1)?.fields ?? {})
    const details = { request: id, upstream: 'odd', input_tokens: 90_000, output_tokens: 5 }
    expect(notices.take()).toMatchObject([
      { condition: { type: 'usage.above_quote', subject: 'odd', details } },
    ])
  })
})

describe('a request is paid', () => {
  let vendor: OddVendor
  let gateway: TestGateway
  beforeAll(async () => {
    vendor = startVendor()
    const models = {
      odd: { ...(testModels['test-chat'] as ModelConfig), upstreamModel: 'unknown', upstream: 'odd' },
    }
    gateway = await startTestGateway({ balance: '1000', upstreams: { odd: vendor.upstream }, models })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const sent = { ...body, model: 'odd' }
  // As the gateway counts it: by the bytes of the body that it got.
  const quoted = inputTokensOf(quoteOf({ body: sent, byteLength: JSON.stringify(sent).length, at: 0 }, model))
  const rows: [what: string, inputTokens: number, source: string][] = [
    ['by the vendor’s figure at the bound', 4 * quoted + 50_000, 'upstream'],
    ['by a count of its text beyond it', 4 * quoted + 50_001, 'estimated'],
  ]
  for (const [what, inputTokens, source] of rows) {
    test(what, async () => {
      vendor.answer = () => Response.json(completion('Hi', inputTokens, 1))
      expect((await gateway.post('/v1/chat/completions', sent)).status).toBe(200)
      const charge = await gateway.newestCharge()
      expect(charge).toMatchObject({ state: 'settled', usage_source: source })
      const most = 1_000 * inputTokens
      if (source === 'upstream') expect(charge?.amount).toBe(most + 2_000)
      else expect(charge?.amount).toBeLessThan(most / 10)
    })
  }
})
