// The bounds of what is believed of a vendor's figures, at the last figure that passes and the first that does not: four
// times the quote, with 50,000 input tokens and 2,000,000 output tokens on top.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { plausible, quoteOf } from '../../src/billing/metering'
import type { ModelConfig } from '../../src/config/schema'
import type { Quantities } from '../../src/contract/family'
import { say, startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { modelForRelay } from '../support/relaying'
import { completion, type OddVendor, startVendor } from '../support/vendor'

const inputTokensOf = ({ input_token = 0, cached_input_token = 0, cache_write_token = 0 }: Quantities) =>
  input_token + cached_input_token + cache_write_token
const outputTokensOf = ({ output_token = 0 }: Quantities) => output_token

const model = modelForRelay()
const body = { model: 'test-chat', messages: say('word '.repeat(200)), max_tokens: 700 }
const ask = { body, byteLength: JSON.stringify(body).length, at: 0 }
const quote = quoteOf(ask, model)

describe('believed are', () => {
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

describe('a request is paid', () => {
  let vendor: OddVendor
  let gateway: TestGateway
  beforeAll(async () => {
    vendor = startVendor()
    const models = { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } }
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
