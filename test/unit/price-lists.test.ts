// The lists of models and prices shipped with the gateway, and the tool that makes them: exact amounts, reasons instead of guesses,
// and checks that only a person can override.

import { expect, test } from 'bun:test'
import { shippedKinds, shippedList } from '../../cli/configuration/shipped-lists'
import { amountOf, entriesIn, type Price, Unbillable } from '../../cli/import/litellm-costs'
import builtIn from '../../gateway.config'
import { priceLeaps } from '../../src/config/models/price-leaps'
import { type PriceConfig, priceListOf } from '../../src/config/models/prices'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import { type Config, faultsOf } from '../../src/config/schema'
import { billByTariff, hasPrice, heldNano, tableNano, tariffOfVariant } from '../../src/contract/prices'
import { addQuantities, type Quantities, rowOf, type Unit } from '../../src/contract/units'
import { listOf, type VendorList, withLeastPrices } from '../../tools/prices/entries'
import { disagreements, withoutDisagreements } from '../../tools/prices/guards'
import { type Vendor, vendors } from '../../tools/prices/vendors'
import { createRandom, seedOf } from '../support/random'

const DAY = '2026-11-24'
const openai = vendors.find(({ kind }) => kind === 'openai') as Vendor

/** The list of a vendor for a source with these entries. */
function listFrom(entries: object | string): VendorList {
  return listOf(openai, entriesIn(typeof entries === 'string' ? entries : JSON.stringify(entries)), DAY)
}

const plain = {
  litellm_provider: 'openai',
  mode: 'chat',
  input_cost_per_token: 2.5e-7,
  output_cost_per_token: 0.000002,
}

test('amounts are parsed exactly, to the last digit', () => {
  expect(amountOf('', '1.25e-07', 1_000_000)).toBe('0.125')
  expect(amountOf('', '0.00003', 1_000_000)).toBe('30.00')
  expect(amountOf('', '5E-9', 1_000_000)).toBe('0.005')
  expect(amountOf('', '1.0000000000000001e-07', 1_000_000)).toBe('0.10000000000000001')
  expect(amountOf('', '0.01', 1_000)).toBe('10.00')
  expect(amountOf('', '2', 60)).toBe('120.00')
  expect(amountOf('', '1e3', 1)).toBe('1000.00')
})

test('random amounts are exact', () => {
  const seed = seedOf('PRICE_SEED')
  const random = createRandom(seed)
  for (let run = 0; run < 2_000; run++) {
    const digits = 1 + random.below(1_000_000)
    const exponent = random.below(14)
    const written = `${digits}e-${exponent}`
    // The same amount, written without an exponent.
    const padded = String(digits).padStart(exponent + 1, '0')
    const decimal = exponent === 0 ? padded : `${padded.slice(0, -exponent)}.${padded.slice(-exponent)}`
    const found = amountOf('', written, 1_000_000)
    expect(found, `PRICE_SEED=${seed}: ${written}`).toBe(amountOf('', decimal, 1_000_000))
    const [whole = '', fraction = ''] = found.split('.')
    expect(BigInt(whole + fraction) * 10n ** 20n, `PRICE_SEED=${seed}: ${written}`).toBe(
      BigInt(digits) * 10n ** BigInt(6 + 20 - exponent + fraction.length),
    )
  }
})

for (const text of ['NaN', '-1', '1e400x', '', 'Infinity', '0x10', '1e-4000', null, {}, [1]]) {
  test(`${JSON.stringify(text)} is not an amount`, () => {
    expect(() => amountOf('input_cost_per_token', text, 1)).toThrow(Unbillable)
  })
}

test('each price of a list is read from its field', () => {
  const { models, ends } = listFrom({
    'gpt-x': {
      ...plain,
      cache_read_input_token_cost: 2.5e-8,
      cache_creation_input_token_cost_above_1hr: 5e-7,
      input_cost_per_token_flex: 1.25e-7,
      output_cost_per_token_flex: 0.000001,
      input_cost_per_token_batches: 1.25e-7,
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.01 },
      max_input_tokens: 272_000,
      supports_vision: true,
      deprecation_date: '2026-12-11',
      successor_model: 'gpt-y',
    },
  })
  expect(ends).toEqual({ 'gpt-x': { retires: '2026-12-11', successor: 'gpt-y' } })
  expect(models['gpt-x']).toEqual({
    family: ['openai-chat'],
    contextTokens: 272_000,
    inputModalities: ['image'],
    price: {
      per_1m_input_tokens: '0.25',
      per_1m_output_tokens: '2.00',
      per_1m_cached_input_tokens: '0.025',
      per_1m_cache_write_1h_tokens: '0.50',
      per_1k_web_searches: '10.00',
      // The tier lacks a price of the standard list, so it is not sold.
    },
  })
})

test('prices for longer prompts and for tiers become separate lists', () => {
  const longer = {
    input_cost_per_token_above_200k_tokens: 5e-7,
    output_cost_per_token_above_200k_tokens: 4e-6,
  }
  const flex = { input_cost_per_token_flex: 1e-7, output_cost_per_token_flex: 1e-6 }
  const longFlex = {
    input_cost_per_token_above_200k_tokens_flex: 2e-7,
    output_cost_per_token_above_200k_tokens_flex: 2e-6,
  }
  const { models } = listFrom({ x: { ...plain, ...longer, ...flex, ...longFlex } })
  expect(models.x?.price).toEqual({
    per_1m_input_tokens: '0.25',
    per_1m_output_tokens: '2.00',
    above_200k: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '4.00' },
    service_tiers: {
      flex: {
        per_1m_input_tokens: '0.10',
        per_1m_output_tokens: '1.00',
        above_200k: { per_1m_input_tokens: '0.20', per_1m_output_tokens: '2.00' },
      },
    },
  } as Price)
})

test('a tier whose prices are all the same multiple becomes a factor', () => {
  const half = { input_cost_per_token_flex: 1.25e-7, output_cost_per_token_flex: 1e-6 }
  const third = { input_cost_per_token_priority: 8.3333e-8, output_cost_per_token_priority: 6.66667e-7 }
  const { service_tiers: tiers } = listFrom({ x: { ...plain, ...half, ...third } }).models.x?.price ?? {}
  expect(tiers?.flex).toBe('0.50')
  expect(tiers?.priority).toEqual({ per_1m_input_tokens: '0.083333', per_1m_output_tokens: '0.666667' })
})

for (const [reason, entry] of Object.entries({
  'output_cost_per_song has no unit here': { ...plain, output_cost_per_song: 1 },
  'output_cost_per_reasoning_token differs from output_cost_per_token, and has no unit of its own here': {
    ...plain,
    output_cost_per_reasoning_token: 3e-6,
  },
  'prices above 200k are not of the same units': { ...plain, input_cost_per_token_above_200k_tokens: 1e-6 },
  'ended on 2026-11-24': { ...plain, deprecation_date: DAY },
  'realtime sessions are not served': { ...plain, mode: 'realtime' },
  'the source has no price': { litellm_provider: 'openai', mode: 'chat' },
  'input_cost_per_token is "-1", which is not an amount': { ...plain, input_cost_per_token: -1 },
  'input_cost_per_token is {"a":"1"}, which is not an amount': { ...plain, input_cost_per_token: { a: 1 } },
})) {
  test(`a model is omitted: ${reason}`, () => {
    expect(listFrom({ x: entry })).toMatchObject({ models: {}, refused: { x: reason } })
  })
}

test('a model that has ended is omitted for that reason, whatever its mode', () => {
  const entry = { ...plain, mode: 'realtime', deprecation_date: DAY }
  expect(listFrom({ x: entry }).refused).toEqual({ x: `ended on ${DAY}` })
  // For this model, only the vendor's page has the date.
  const mistral = vendors.find(({ kind }) => kind === 'mistral') as Vendor
  const nemo = { ...plain, litellm_provider: 'mistral' }
  expect(listOf(mistral, entriesIn(JSON.stringify({ 'mistral/open-mistral-nemo': nemo })), DAY)).toEqual({
    models: {},
    ends: { 'open-mistral-nemo': { retires: '2026-07-31', successor: 'ministral-8b-2512' } },
    refused: { 'open-mistral-nemo': 'ended on 2026-07-31' },
  })
})

test('models of pictures are omitted, with a reason that depends on whether the catalogue has them', () => {
  const picture = { ...plain, mode: 'image_generation' }
  const audio = { litellm_provider: 'openai', mode: 'audio_transcription', output_cost_per_second: 1e-4 }
  expect(listFrom({ 'gpt-image-2': picture, 'gpt-image-0': picture, 'whisper-1': audio }).refused).toEqual({
    'gpt-image-2': 'kept by hand in gateway.config.ts',
    'whisper-1': 'kept by hand in gateway.config.ts',
    'gpt-image-0': 'models of its mode are kept by hand in gateway.config.ts, which lacks it',
  })
})

test('an audio model is served if its vendor accepts files, and priced by tokens if those have prices', () => {
  const audio = { litellm_provider: 'openai', mode: 'audio_transcription', input_cost_per_second: 1e-4 }
  const { models, refused } = listFrom({
    minutes: { ...audio, supported_endpoints: ['/v1/audio/transcriptions'] },
    tokens: {
      ...audio,
      input_cost_per_token: 1e-6,
      input_cost_per_audio_token: 1e-6,
      output_cost_per_token: 2e-6,
    },
    live: { ...audio, supported_endpoints: ['/v1/realtime'] },
  })
  expect(models.minutes?.price).toEqual({ per_audio_minute: '0.006' })
  expect(models.tokens?.price).not.toHaveProperty('per_audio_minute')
  expect(refused).toEqual({ live: 'realtime sessions are not served' })
})

test('an embedding model is listed at its price of text', () => {
  const { models } = listFrom({
    x: {
      litellm_provider: 'openai',
      mode: 'embedding',
      input_cost_per_token: 2e-7,
      input_cost_per_image_token: 4.5e-7,
      input_cost_per_audio_token: 6.5e-6,
    },
  })
  expect(models.x?.price).toEqual({ per_1m_input_tokens: '0.20' })
})

test('the minimum price of audio is rounded up to a pico-dollar', () => {
  const priced = (minute: string) => ({ family: [], price: { per_audio_minute: minute } })
  const list = { models: { hour: priced('0.00185'), even: priced('0.006') }, ends: {}, refused: {} }
  expect(withLeastPrices(list, { leastSeconds: 10 }).models).toMatchObject({
    hour: { price: { per_audio_minute: '0.00185', minimum: '0.000308333334' } },
    even: { price: { minimum: '0.001' } },
  })
  expect(withLeastPrices(list, {})).toBe(list)
})

test('hostile names and numbers result in no model', () => {
  const entry = JSON.stringify(plain)
  const list = listFrom(
    `{"__proto__": ${entry}, "constructor": ${entry}, "a b": ${entry}, "ft:gpt": ${entry}, "${'x'.repeat(200)}": ${entry},
      "huge": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e400, "output_cost_per_token": 1e-400}}`,
  )
  expect(Object.keys(list.models)).toEqual(['constructor'])
  expect(({} as Record<string, unknown>).litellm_provider).toBeUndefined()
  expect(list.refused.huge).toStartWith('its price.per_1m_input_tokens: "1000')
})

test('a price that falls to zero or changes by more than three times stops the run', () => {
  const listWith = (price: object) =>
    ({ models: { x: { family: [], price } }, refused: {} }) as unknown as VendorList
  const before = listWith({ per_1m_input_tokens: '0.30', above_200k: { per_1m_input_tokens: '0.60' } })
  const after = (input: string, longer = '0.60') =>
    priceLeaps(
      'openai',
      before,
      listWith({ per_1m_input_tokens: input, above_200k: { per_1m_input_tokens: longer } }),
    )
  expect(after('0.30')).toEqual([])
  expect(after('0.90')).toEqual([])
  expect(after('0.10')).toEqual([])
  expect(after('0.91')).toEqual(['openai/x: per_1m_input_tokens was 0.30 and is 0.91'])
  expect(after('0.09')).toEqual(['openai/x: per_1m_input_tokens was 0.30 and is 0.09'])
  expect(after('0')).toEqual(['openai/x: per_1m_input_tokens was 0.30 and is 0'])
  expect(after('0.30', '0')).toEqual(['openai/x: above_200k.per_1m_input_tokens was 0.60 and is 0'])
})

test('a model on which the sources disagree is omitted until a person has decided', () => {
  const { models, refused } = listFrom({ x: plain })
  const opinion = {
    contextTokens: null,
    prices: { input_mtok: { base: '0.3', tiers: [] }, output_mtok: { base: '2', tiers: [] } },
  }
  const price = models.x?.price as Price
  expect(disagreements(price, opinion)).toEqual({ per_1m_input_tokens: '0.25, or 0.3' })
  const check = (amounts: string) =>
    withoutDisagreements('openai', { models, ends: {}, refused }, new Map([['x', opinion]]), {
      'openai/x': { prices: { per_1m_input_tokens: amounts }, because: 'a page' },
    })
  expect(Object.keys(check('0.25, or 0.3').models)).toEqual(['x'])
  // If the page confirms the second source, its price is used.
  const settled = withoutDisagreements('openai', { models, ends: {}, refused }, new Map([['x', opinion]]), {
    'openai/x': {
      prices: { per_1m_input_tokens: '0.25, or 0.3' },
      take: { per_1m_input_tokens: '0.30' },
      because: 'a page',
    },
  })
  expect(settled.models.x?.price).toEqual({ ...price, per_1m_input_tokens: '0.30' })
  // A price that the first source has rounded is replaced only while it is the one that was checked.
  const rounded = (amount: string) =>
    withoutDisagreements('openai', { models, ends: {}, refused }, new Map(), {
      'openai/x': {
        prices: { per_1m_input_tokens: amount },
        take: { per_1m_input_tokens: '0.2501' },
        because: 'a page',
      },
    })
  expect(rounded('0.25').models.x?.price).toEqual({ ...price, per_1m_input_tokens: '0.2501' })
  expect(rounded('0.24').refused).toEqual({
    x: 'accepted.json replaces another price of it: per_1m_input_tokens',
  })
  // The accepted difference was a different one.
  expect(check('0.25, or 0.4')).toEqual({
    ends: {},
    models: {},
    refused: { x: 'the sources disagree: per_1m_input_tokens 0.25, or 0.3' },
  })
})

for (const kind of shippedKinds) {
  test(`the list of ${kind} is a valid configuration`, () => {
    const upstream = { kind, apiKey: 'sk-for-this-test', listed: true }
    const { value, faults } = withVendorLists({ upstreams: { [kind]: upstream }, models: {} }, shippedList)
    expect(faults).toEqual([])
    expect(faultsOf(value)).toEqual([])
    const list = shippedList(kind)
    expect(Object.keys((value as Config).models).sort()).toEqual(
      Object.keys(list?.models ?? {})
        .map((name) => name.toLowerCase())
        .sort(),
    )
  })
}

test('picture and video models of vendors with lists are in the catalogue, or the list says why not', () => {
  const lacking = shippedKinds.flatMap((kind) =>
    Object.entries((shippedList(kind) as unknown as { refused: Record<string, string> }).refused).filter(
      ([, reason]) => reason.endsWith('which lacks it'),
    ),
  )
  expect(lacking).toEqual([])
})

test('each price of the catalogue names its source page and date', () => {
  const unnamed = Object.entries(builtIn.models as Record<string, { price?: PriceConfig }>).filter(
    ([, { price }]) =>
      price && !(price.source?.startsWith('https://') && /^2026-\d\d(-\d\d)?$/.test(price.as_of ?? '')),
  )
  expect(unnamed.map(([id]) => id)).toEqual([])
})

test('models of the configuration override the list, by id and by the vendor’s name', () => {
  const own = { family: 'openai-chat', upstream: 'openai', free: true, retires: '2030-01-01' }
  const { value } = withVendorLists(
    {
      upstreams: { openai: { kind: 'openai', apiKey: 'k', listed: true } },
      models: { 'gpt-4.1': own, mine: { ...own, upstreamModel: 'gpt-4.1-mini' } },
    },
    shippedList,
  )
  const { models } = value as Config
  expect(models['gpt-4.1']).toEqual(own as never)
  expect(models['gpt-4.1-mini']).toBeUndefined()
  expect(models['gpt-5.5']).toMatchObject({ upstream: 'openai', upstreamModel: 'gpt-5.5' })
})

test('a model of the configuration gets its end from the list unless it sets one', () => {
  const own = { family: 'openai-chat', upstream: 'openai', free: true }
  const dated = Object.entries(shippedList('openai')?.ends ?? {}).find(([, { successor }]) => successor)
  if (!dated) throw new Error('the list has no model that ends')
  const [upstreamModel, { retires, successor }] = dated
  const { value } = withVendorLists(
    {
      upstreams: {
        openai: { kind: 'openai', apiKey: 'k', listed: true },
        other: { kind: 'openai', apiKey: 'k' },
      },
      models: {
        mine: { ...own, upstreamModel },
        later: { ...own, upstreamModel, retires: '2030-01-01' },
        elsewhere: { ...own, upstreamModel, upstream: 'other' },
      },
    },
    shippedList,
  )
  const { mine, later, elsewhere } = (value as Config).models
  expect(mine).toMatchObject({ retires, successor })
  expect(later).toMatchObject({ retires: '2030-01-01' })
  expect(later).not.toHaveProperty('successor')
  expect(elsewhere).not.toHaveProperty('retires')
})

test('a list can have a prefix, and is the cost of models sold with a markup', () => {
  const { value } = withVendorLists(
    { upstreams: { groq: { kind: 'groq', apiKey: 'k', listed: 'fast/*', markup: '20%' } }, models: {} },
    shippedList,
  )
  const models = Object.entries((value as Config).models)
  expect(models.length).toBeGreaterThan(2)
  for (const [id, model] of models) {
    expect(id).toStartWith('fast/')
    expect(model).toHaveProperty('cost')
    expect(model).not.toHaveProperty('price')
  }
})

test('a kind without a list is an error that says so', () => {
  const { faults } = withVendorLists(
    { upstreams: { own: { kind: 'ollama', listed: true } }, models: {} },
    shippedList,
  )
  expect(faults).toEqual([
    'upstreams.own.listed: no list of the kind ollama ships with the gateway; fetch one (`gateway prices fetch`)',
  ])
})

test('a listed model never costs more than its hold, whatever part of a quote is used in whatever units', () => {
  const seed = seedOf('PRICE_SEED')
  const random = createRandom(seed)
  const entries = shippedKinds.flatMap((kind) =>
    Object.entries(shippedList(kind)?.models ?? {}).map(([id, { price }]) => ({
      id: `${kind}/${id}`,
      price,
    })),
  )
  for (const { id, price } of entries) {
    const list = priceListOf({ price: price as PriceConfig })
    const tariff = tariffOfVariant(list, [])
    if (!tariff) throw new Error(`${id} has variants`)
    const tiers = [...new Set(list.tables.flatMap(({ tier }) => tier ?? []))]
    for (let run = 0; run < 20; run++) {
      const asked = random.pick([undefined, 'auto', 'default', ...tiers])
      const quote = Object.fromEntries(
        Object.entries({
          input_token: random.below(1_000_000),
          cache_write_token: random.below(100_000),
          cache_write_1h_token: random.below(100_000),
          output_token: random.below(200_000),
          web_search: random.below(5),
          search: random.below(5),
          audio_second: random.below(4_000),
          character: random.below(10_000),
          ...(hasPrice(list, 'input_audio_token') && { input_audio_token: random.below(10_000) }),
          ...(hasPrice(list, 'output_audio_token') && { output_audio_token: random.below(10_000) }),
        }).filter(([unit]) => hasPrice(list, unit as Unit)),
      ) as Quantities
      const held = heldNano(tariff, quote, asked)
      // The usage is a part of each unit, and some of it is counted in another unit, as the table of units permits.
      const used: Quantities = {}
      for (const [unit, count] of Object.entries(quote) as [Unit, number][]) {
        // A unit without a price is free.
        const others = (rowOf(unit).becomes ?? []).filter(
          (other) => tariff.tables[0].prices[other] !== undefined,
        )
        const turned = random.pick([unit, ...others])
        const [kept, other] = [random.below(count + 1), random.below(2)]
        addQuantities(used, { [unit]: other * kept })
        addQuantities(used, { [turned]: count - kept })
      }
      const reported =
        asked === undefined || asked === 'auto' ? random.pick([undefined, 'default', ...tiers]) : asked
      const { table } = billByTariff(tariff, used, reported, asked)
      const at = `PRICE_SEED=${seed} ${id}: ${JSON.stringify({ quote, used, asked, reported })}`
      expect(tableNano(used, table), at).toBeLessThanOrEqual(held)
    }
  }
})
