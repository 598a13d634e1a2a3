// Many large requests at once without figures of the vendor, through the whole gateway: the worker counts them one
// after the other for seconds, and each is paid by its own count, however soon an idle worker would be stopped.

import { expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { createTokenCounter } from '../../src/media/token-counter'
import { say, startTestGateway, testModels } from '../support/gateway'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const REQUESTS = 14
/** Digits and signs have more tokens than an estimate by their length says. */
const text = (place: number) => `${place} ${'7, 19; {"x": [4.25, -3]} != 88 \n'.repeat(10_000)}`

test('large inputs without figures are all paid by an exact count, at any load', async () => {
  const vendor = startVendor()
  const gateway = await startTestGateway({
    balance: '1000',
    upstreams: { odd: vendor.upstream },
    models: {
      'odd-chat': { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' },
      'odd-embedding': { ...(testModels['test-embedding'] as ModelConfig), upstream: 'odd' },
    },
  })
  const { world } = gateway.server
  const usual = world.tokenCounter
  Object.assign(world, { tokenCounter: createTokenCounter({ idleMs: 1 }) })
  const { usage: _, ...answer } = completion('Done', 1, 1) as Record<string, unknown>
  const vectors = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] }
  vendor.answer = ({ url }) => Response.json(url.includes('embeddings') ? vectors : answer)
  const statuses = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, place) => {
      // The answer of a chat is counted behind its input, and sets the time again; vectors are not.
      if (place % 2 === 0)
        return (await gateway.post('/v1/embeddings', { model: 'odd-embedding', input: text(place) })).status
      const body = { model: 'odd-chat', max_tokens: 10, messages: say(text(place)) }
      return (await gateway.post('/v1/chat/completions', body)).status
    }),
  )
  expect(statuses).toEqual(Array(REQUESTS).fill(200))
  const charges = await gateway.charges()
  const expected = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, place) => (await usual.count(text(place))).tokens),
  )
  expect(charges.map(({ usage_source }) => usage_source)).toEqual(Array(REQUESTS).fill('counted'))
  const amounts = charges.map(({ amount }) => Number(amount)).sort((a, b) => a - b)
  // 1,000 nano-dollars a token of input, and one token of a chat's answer.
  const prices = expected.map((tokens, place) => 1_000 * tokens + (place % 2 === 0 ? 0 : 2_000))
  expect(amounts).toEqual(prices.sort((a, b) => a - b))
  world.tokenCounter.close()
  Object.assign(world, { tokenCounter: usual })
  await gateway.close()
  await vendor.stop()
})
