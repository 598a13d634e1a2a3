// Prices as in real price lists: exact to the pico-dollar, by prompt length and service tier, for sound, caches and searches.
// Random lists and usages are compared with an independent calculation, in isolation and through the whole gateway on both
// databases: the charge is exact, and never above the hold.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { describePriceList, type PriceConfig, priceListOf } from '../../src/config/models/prices'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import {
  billedTable,
  hasPrice,
  hasServiceTier,
  heldNano,
  priceNano,
  type Tariff,
  tableNano,
  tariffOfJson,
  tariffOfVariant,
} from '../../src/contract/prices'
import { type Quantities, rowOf, units } from '../../src/contract/units'
import { MAX_NANO } from '../../src/lib/money'
import { costOf, randomPrice } from '../support/bookkeepers/price-lists'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway } from '../support/gateway'
import { createRandom, type Random, seedOf } from '../support/random'
import { expectSamePrices } from '../support/rehearsed-gateway'
import { chunk, completion, DONE, eventStream, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const seed = seedOf('PRICE_SEED')
const ROUNDS = 5_000
const REQUESTS = 120
const tokens = { per_1m_input_tokens: '1.25', per_1m_output_tokens: '10' }

function tariffOf(price: PriceConfig): Tariff {
  const tariff = tariffOfVariant(priceListOf({ price }), [])
  if (!tariff) throw new Error('the list has variants')
  return tariff
}

/** Faults of prices, in the words of `gateway config check`. */
function faultsOfPrice(price: unknown, fields: Partial<ModelConfig> = {}): string[] {
  const model = { family: 'openai-chat', upstream: 'any', price, ...fields }
  return faultsOf({ upstreams: { any: { kind: 'openai', apiKey: 'none' } }, models: { m: model } })
}

describe('a price', () => {
  test.each([
    ['per_1m_input_tokens', '0.0375', 'input_token', 37_500],
    ['per_1m_cached_input_tokens', '0.00875', 'cached_input_token', 8_750],
    ['per_1m_output_tokens', '75', 'output_token', 75_000_000],
    ['per_1m_input_tokens', '0.000001', 'input_token', 1],
    ['per_1k_web_searches', '10.00', 'web_search', 10_000_000_000],
    ['per_request', '0.000000000001', 'request', 1],
    ['per_1k_searches', '2.00', 'search', 2_000_000_000],
    ['per_audio_minute', '0.006', 'audio_second', 100_000_000],
    ['per_audio_minute', '0.0000000006', 'audio_second', 10],
  ] as const)('%s of %p is whole pico-dollars', (key, text, unit, pico) => {
    expect(faultsOfPrice({ ...tokens, [key]: text })).toEqual([])
    expect(tariffOf({ ...tokens, [key]: text }).tables[0].prices[unit]).toBe(pico)
  })

  test.each([
    ['0.00185', 30_833_334],
    ['0.0000000001', 2],
    ['0.0043', 71_666_667],
    ['150.00', 2_500_000_000_000],
  ])(
    'of %p per minute is rounded up to whole pico-dollars per second, and is shown as written',
    (text, pico) => {
      const price = { ...tokens, per_audio_minute: text }
      expect(faultsOfPrice(price)).toEqual([])
      expect(tariffOf(price).tables[0].prices.audio_second).toBe(pico)
      expect(describePriceList(priceListOf({ price })).per_audio_minute).toBe(text)
    },
  )

  test('per minute may not have more decimals than rounding distinguishes', () => {
    expect(faultsOfPrice({ ...tokens, per_audio_minute: '0.00000000001' })).toEqual([
      'models.m.price.per_audio_minute: "0.00000000001" is not a whole number of pico-dollars for one: use at most 10 decimals',
    ])
  })

  test('is rounded up to a nano-dollar, once for all that a request used', () => {
    const prices = { input_token: 37_500, cached_input_token: 8_750, output_token: 1 }
    expect(priceNano({}, prices)).toBe(0)
    expect(priceNano({ output_token: 1 }, prices)).toBe(1)
    expect(priceNano({ input_token: 1 }, prices)).toBe(38)
    expect(priceNano({ input_token: 2 }, prices)).toBe(75)
    expect(priceNano({ input_token: 1, cached_input_token: 1, output_token: 999 }, prices)).toBe(48)
  })

  test('is exact even beyond the precision of numbers', () => {
    const most = Number.MAX_SAFE_INTEGER
    expect(priceNano({ input_token: 1 }, { input_token: most })).toBe(9_007_199_254_741)
    expect(priceNano({ second: 1_000 }, { second: most })).toBe(most)
    expect(priceNano({ second: 999, request: 1 }, { second: most, request: 1 })).toBe(
      Number((999n * BigInt(most) + 1_000n) / 1_000n),
    )
    // More than any account can have.
    expect(priceNano({ second: 1_001 }, { second: most })).toBe(MAX_NANO)
    expect(() => priceNano({ second: 0.3 }, { second: 1 })).toThrow('not a price')
    expect(() => priceNano({ image: 1 }, {})).toThrow('no price for image')
  })

  test('with a typing error is a separate fault', () => {
    const faults = (more: object) => faultsOfPrice({ ...tokens, ...more })
    expect(faults({ per_1m_input_token: '1' })[0]).toStartWith(
      'models.m.price.per_1m_input_token: there is no such price; there are per_request, per_1m_input_tokens',
    )
    expect(faults({ per_1m_input_tokens: '0.0000001' })).toEqual([
      'models.m.price.per_1m_input_tokens: "0.0000001" is not a whole number of pico-dollars for one: use at most 6 decimals',
    ])
    expect(faults({ per_1m_input_tokens: 1.25 })).toEqual([
      'models.m.price.per_1m_input_tokens: expected dollars as a text such as "0.25"',
    ])
    expect(faults({ per_1m_input_tokens: '-1' })).toEqual([
      'models.m.price.per_1m_input_tokens: "-1" is not an amount of dollars such as "0.25"',
    ])
    expect(faults({ per_request: '9008' })).toEqual([
      'models.m.price.per_request: "9008" is more than $9,007 for one',
    ])
    expect(faults({ above_200: { ...tokens }, above: tokens, above_2kk: tokens })).toEqual([
      `models.m.price.above: there is no such price; there are ${units.map((unit) => rowOf(unit).key).join(', ')}, above_200k and the like, service_tiers, minimum, source and as_of`,
      'models.m.price.above_2kk: a number of input tokens such as above_200k or above_1m',
    ])
    expect(faults({ above_200k: { per_1m_input_tokens: '2.50', per_1m_input_audio_tokens: '1' } })).toEqual([
      'models.m.price.above_200k: per_1m_output_tokens is missing, which the prices above have',
      'models.m.price.above_200k.per_1m_input_audio_tokens: the prices above have none',
    ])
    expect(faults({ above_200k: tokens, service_tiers: { flex: '0', default: '1', fast: tokens } })).toEqual([
      'models.m.price.service_tiers.flex: "0" is not a factor such as "0.5"',
      'models.m.price.service_tiers.default: the usual prices go above',
      'models.m.price.service_tiers.fast: above_200k is missing, which the prices above have',
    ])
    expect(faults({ above_200k: tokens, above_200000: tokens })).toEqual([
      'models.m.price.above_200k: says the same as above_200000',
      'models.m.price.above_200000: says the same as above_200k',
    ])
    expect(faults({ minimum: 'little', service_tiers: [] })).toEqual([
      'models.m.price.minimum: "little" is not an amount of dollars such as "0.25"',
      'models.m.price.service_tiers: expected tiers such as { flex: "0.5" }',
    ])
    expect(faultsOfPrice('1.25')).toEqual(['models.m.price: Expected object'])
  })

  test('of a list is read back unchanged', () => {
    const price: PriceConfig = {
      per_1m_input_tokens: '0.0375',
      per_1m_output_tokens: '10.00',
      per_1k_web_searches: '10.00',
      minimum: '0.0005',
      above_200k: { per_1m_input_tokens: '0.075', per_1m_output_tokens: '15.00' },
    }
    // Searches cost the same for longer prompts.
    const longer = {
      per_1m_input_tokens: '0.075',
      per_1m_output_tokens: '15.00',
      per_1k_web_searches: '10.00',
    }
    expect(describePriceList(priceListOf({ price }))).toEqual({ ...price, above_200k: longer })
    const { service_tiers: tiers } = describePriceList(
      priceListOf({ price: { ...price, service_tiers: { flex: '0.5' } } }),
    )
    expect(tiers).toEqual({
      flex: {
        per_1m_input_tokens: '0.01875',
        per_1m_output_tokens: '5.00',
        per_1k_web_searches: '10.00',
        above_200k: {
          per_1m_input_tokens: '0.0375',
          per_1m_output_tokens: '7.50',
          per_1k_web_searches: '10.00',
        },
      },
    })
  })

  test('of every kind is in the documentation', async () => {
    const page = await Bun.file(`${import.meta.dir}/../../docs/configuration.md`).text()
    expect(units.filter((unit) => !page.includes(`\`${rowOf(unit).key}\``))).toEqual([])
  })

  test('can be checked before a request depends on it', () => {
    const list = priceListOf({ price: { ...tokens, service_tiers: { flex: '0.5' } } })
    expect([hasPrice(list, 'output_token'), hasPrice(list, 'web_search')]).toEqual([true, false])
    expect(hasPrice(list, 'cached_input_token')).toBe(false)
    const tiers = ['flex', 'priority', 'auto', 'default', 'standard', 'standard_only']
    expect(tiers.map((tier) => hasServiceTier(list, tier))).toEqual([true, false, true, true, true, true])
    const free = priceListOf({ free: true })
    expect([hasPrice(free, 'web_search'), hasServiceTier(free, 'priority')]).toEqual([true, true])
  })
})

describe('the prices of a request', () => {
  const price: PriceConfig = {
    ...tokens,
    above_200k: { per_1m_input_tokens: '2.50', per_1m_output_tokens: '15' },
    service_tiers: { flex: '0.5', priority: '2' },
  }
  const tariff = tariffOf(price)
  const chosen = (input: number, reported?: string, asked?: string) => {
    const { tier, above } = billedTable(tariff, { input_token: input, output_token: 5 }, reported, asked)
    return `${tier} ${above}`
  }

  test('are those of the reported tier and of the tokens that the vendor counted', () => {
    expect(chosen(200_000)).toBe('null 0')
    expect(chosen(200_001)).toBe('null 200000')
    expect(chosen(1, 'flex', 'flex')).toBe('flex 0')
    expect(chosen(1, 'default', 'priority')).toBe('null 0')
    expect(chosen(200_001, 'priority')).toBe('priority 200000')
    expect(chosen(1, 'unheard')).toBe('null 0')
  })

  test('are the higher ones if the vendor reports no tier', () => {
    expect(chosen(1, undefined, 'flex')).toBe('null 0')
    expect(chosen(1, undefined, 'priority')).toBe('priority 0')
    expect(chosen(1, undefined, 'auto')).toBe('null 0')
  })

  test('are the higher ones if the vendor reports a tier without a price', () => {
    expect(chosen(1, 'turbo', 'priority')).toBe('priority 0')
    expect(chosen(1, 'turbo', 'flex')).toBe('null 0')
    expect(chosen(1, 'standard', 'priority')).toBe('null 0')
  })

  test('are held at the highest that the request can reach', () => {
    const held = (input: number, asked?: string) => heldNano(tariff, { input_token: input }, asked)
    expect(held(1_000, 'default')).toBe(1_250_000)
    expect(held(1_000, 'flex')).toBe(1_250_000)
    expect(held(1_000)).toBe(2_500_000)
    expect(held(300_000, 'default')).toBe(750_000_000)
    expect(held(300_000, 'auto')).toBe(1_500_000_000)
  })

  test('that were stored in nano-dollars are read with the same value', () => {
    const old = tariffOfJson('{"input_token":250,"cached_input_token":25,"second":100000000}')
    const table = billedTable(old, {}, undefined, undefined)
    expect(tableNano({ input_token: 3, cached_input_token: 1, second: 5 }, table)).toBe(500_000_775)
  })

  test(`are exact and never above the hold, for ${ROUNDS} random lists and usages (PRICE_SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < ROUNDS; round++) {
      const list = randomPrice(random)
      const stored = tariffOf(list)
      const { asked, reported } = randomTiers(list, random)
      const most = { input: random.below(4_000), output: random.below(4_000) }
      const usage = randomUsage(list, most, random)
      const quote: Quantities = {
        cache_write_1h_token: most.input,
        input_audio_token: list.per_1m_input_audio_tokens ? most.input : 0,
        output_audio_token: most.output,
        ...(list.per_request && { request: 1 }),
        ...(list.per_1k_web_searches && { web_search: 5 }),
        ...(list.per_1k_grounded_prompts && { grounded_prompt: 1 }),
        ...(list.per_1k_search_sources && { search_source: 5 }),
      }
      const tariff = random.chance(0.5) ? stored : tariffOfJson(stored.json)
      const table = billedTable(tariff, usage, reported, asked)
      const cost = tableNano(usage, table)
      const context = JSON.stringify({ list, asked, reported, most, usage })
      if (reported !== undefined) expect(cost, context).toBe(costOf(list, usage, reported))
      expect(cost, context).toBeLessThanOrEqual(heldNano(stored, quote, asked))
      // The values stored with the charge alone determine the price.
      expect(tableNano(usage, billedTable(tariffOfJson(table.json), usage, undefined, undefined))).toBe(cost)
    }
  })
})

/** A tier that a request asks for, and one that the vendor may then report. */
function randomTiers({ service_tiers: tiers = {} }: PriceConfig, random: Random) {
  const known = Object.keys(tiers)
  const asked = random.pick([undefined, 'auto', 'default', ...known])
  const isOpen = asked === undefined || asked === 'auto'
  const reported = random.pick(isOpen ? [undefined, 'default', ...known] : [undefined, 'default', asked])
  return { asked, reported }
}

/** Up to this number of tokens on each side, split at random. */
function randomUsage(list: PriceConfig, most: { input: number; output: number }, random: Random): Quantities {
  const input = random.below(most.input + 1)
  const audio = list.per_1m_input_audio_tokens ? random.below(input + 1) : 0
  const cachedAudio = random.below(audio + 1)
  const cached = random.below(input - audio + 1)
  const written = random.below(input - audio - cached + 1)
  const long = random.below(written + 1)
  const output = random.below(most.output + 1)
  const spoken = random.below(output + 1)
  return {
    input_token: input - audio - cached - written,
    cached_input_token: cached,
    cache_write_token: written - long,
    cache_write_1h_token: long,
    input_audio_token: audio - cachedAudio,
    cached_input_audio_token: cachedAudio,
    output_token: output - spoken,
    output_audio_token: spoken,
    ...(list.per_request && { request: 1 }),
    ...(list.per_1k_web_searches && { web_search: random.below(6) }),
    ...(list.per_1k_grounded_prompts && { grounded_prompt: random.below(2) }),
    ...(list.per_1k_search_sources && { search_source: random.below(6) }),
  }
}

for (const kind of databaseKinds) {
  describe(`a charge on ${kind}`, () => chargeTests(kind))
}

/** A request, its vendor's answer, and the answer in units. */
interface Round {
  path: string
  body: Record<string, unknown>
  answer: () => Response
  quantities: Record<string, number>
  asked: string | undefined
  reported: string | undefined
}

function chargeTests(kind: DatabaseKind): void {
  test(`is exact and within its hold, for ${REQUESTS} random requests (PRICE_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const vendor = startVendor()
    const lists = Array.from({ length: 24 }, () => randomPrice(random))
    const gateway = await startTestGateway({
      database: kind,
      balance: '100000',
      upstreams: {
        odd: vendor.upstream,
        'odd-messages': { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' },
      },
      models: Object.fromEntries(
        lists.flatMap((price, index) => [
          [`chat-${index}`, { family: 'openai-chat', upstream: 'odd', price }],
          [`messages-${index}`, { family: 'anthropic-messages', upstream: 'odd-messages', price }],
        ]),
      ),
    })
    for (let round = 0; round < REQUESTS; round++) {
      const index = random.below(lists.length)
      const price = lists[index] as PriceConfig
      const make = random.chance(0.5) ? chatRound : messageRound
      const { path, body, answer, quantities, asked, reported } = make(price, index, random)
      vendor.answer = answer
      const response = await gateway.post(path, body)
      const text = await response.text()
      expect(response.status, text).toBe(200)
      const charge = (await gateway.charges()).find(({ id }) => id === response.headers.get('x-request-id'))
      const context = JSON.stringify({ price, body, reported, charge })
      const all = price.per_request === undefined ? quantities : { ...quantities, request: 1 }
      const costs =
        reported === undefined
          ? [costOf(price, all, null), costOf(price, all, asked ?? null)]
          : [costOf(price, all, reported)]
      expect(charge, context).toMatchObject({
        state: 'settled',
        usage_source: 'upstream',
        amount: Math.max(...costs),
      })
      expect(Number(charge?.amount), context).toBeLessThanOrEqual(Number(charge?.held))
    }
    // All charges get the same price again, both from the log and from the stored charges themselves.
    expect(await expectSamePrices(gateway)).toEqual({ priced: REQUESTS, settled: REQUESTS })
    const { priced } = await expectSamePrices(gateway, { withoutLog: true })
    expect(priced).toBeGreaterThan(REQUESTS / 4)
    await gateway.close()
    await vendor.stop()
  })
}

function chatRound(price: PriceConfig, index: number, random: Random): Round {
  const { asked, reported } = randomTiers(price, random)
  const speaks = price.per_1m_output_audio_tokens !== undefined && random.chance(0.5)
  const text = 'x'.repeat(1 + random.below(3_000))
  const limit = 1 + random.below(3_000)
  // A vendor that reports zero tokens for an answer is not believed.
  const prompt = 1 + random.below(text.length)
  const cached = random.below(prompt + 1)
  const written = price.per_1m_cache_write_tokens ? random.below(prompt - cached + 1) : 0
  const output = 1 + random.below(limit)
  const spoken = speaks ? random.below(output + 1) : 0
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, audio_tokens: 0 },
    completion_tokens_details: { audio_tokens: spoken },
  }
  const tier = reported === undefined ? {} : { service_tier: reported }
  const stream = random.chance(0.4)
  const last = `data: ${JSON.stringify({ choices: [], usage, ...tier })}\n\n${DONE}`
  return {
    path: '/v1/chat/completions',
    body: {
      model: `chat-${index}`,
      messages: [{ role: 'user', content: text }],
      max_tokens: limit,
      stream,
      ...(asked !== undefined && { service_tier: asked }),
      ...(speaks && { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }),
    },
    answer: () =>
      stream
        ? eventStream(`${chunk('Hello', 'stop')}${last}`)
        : Response.json({ ...(completion('Hello', 1, 1) as object), usage, ...tier }),
    quantities: {
      input_token: prompt - cached - written,
      cached_input_token: cached,
      cache_write_token: written,
      output_token: output - spoken,
      output_audio_token: spoken,
    },
    asked,
    reported,
  }
}

function messageRound(price: PriceConfig, index: number, random: Random): Round {
  const { asked, reported } = randomTiers(price, random)
  const text = 'x'.repeat(1 + random.below(3_000))
  const limit = 1 + random.below(3_000)
  const ttl = random.pick(price.per_1m_cache_write_1h_tokens ? [undefined, '5m', '1h'] : [undefined, '5m'])
  const searches = price.per_1k_web_searches === undefined ? 0 : random.below(4)
  const prompt = 1 + random.below(text.length)
  const cached = random.below(prompt + 1)
  const written = ttl === undefined ? 0 : random.below(prompt - cached + 1)
  const long = ttl === '1h' ? random.below(written + 1) : 0
  const output = 1 + random.below(limit)
  const made = searches === 0 ? 0 : random.below(searches + 1)
  const usage = {
    input_tokens: prompt - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written - long, ephemeral_1h_input_tokens: long },
    output_tokens: output,
    server_tool_use: searches === 0 ? null : { web_search_requests: made },
    ...(reported !== undefined && { service_tier: reported }),
  }
  const block = { type: 'text', text, ...(ttl && { cache_control: { type: 'ephemeral', ttl } }) }
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: searches }]
  return {
    path: '/v1/messages',
    body: {
      model: `messages-${index}`,
      max_tokens: limit,
      messages: [{ role: 'user', content: [block] }],
      ...(searches > 0 && { tools }),
      ...(asked !== undefined && { service_tier: asked }),
    },
    answer: () =>
      Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'odd',
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage,
      }),
    quantities: {
      input_token: prompt - cached - written,
      cached_input_token: cached,
      cache_write_token: written - long,
      cache_write_1h_token: long,
      output_token: output,
      web_search: made,
    },
    asked,
    reported,
  }
}
