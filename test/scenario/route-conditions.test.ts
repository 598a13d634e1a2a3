// Which models of a route are called at all: by header, by metadata, by the size of the prompt and by the limits of a model. Each
// skipped model must be reported, with its reason, to operators and on request to callers.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { faultsOf, type ModelConfig, type RouteConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const names = ['first', 'second', 'third'] as const
const vendors = { first: startVendor(), second: startVendor(), third: startVendor() }
afterAll(async () => {
  for (const vendor of Object.values(vendors)) await vendor.stop()
})
const modelOf = (upstream: string, more: Partial<ModelConfig> = {}): ModelConfig => ({
  family: 'openai-chat',
  upstream,
  price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
  ...more,
})
const route = ['first', 'second', 'third']
const models: Record<string, ModelConfig | RouteConfig> = {
  first: modelOf('first'),
  second: modelOf('second'),
  third: modelOf('third'),
  strict: modelOf('first', { strictFields: true }),
  tiny: modelOf('first', {
    contextTokens: 50,
    price: { per_1m_input_tokens: '900', per_1m_output_tokens: '900' },
  }),
  short: modelOf('second', { contextTokens: 300 }),
  'by-header': { route, when: { first: { header: { 'X-Team': ['legal', 'audit-*'] } } } },
  'by-tag': { route, when: { first: { tag: { project: 'demo' } }, second: { tag: { project: '*' } } } },
  'by-size': {
    route,
    when: { first: { promptTokens: { max: 20 } }, second: { promptTokens: { min: 21, max: 200 } } },
  },
  'by-need': { route: ['strict', 'second'] },
  never: { route: ['first'], when: { first: { header: { 'x-team': 'nobody' } } } },
  'by-context': { route: ['tiny', 'short', 'third'] },
  'too-small': { route: ['tiny', 'short'] },
  asked: { route: ['tiny', 'third'], fallback: { on: [] } },
}

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({
    models,
    upstreams: Object.fromEntries(names.map((name) => [name, vendors[name].upstream])),
  })
})
afterAll(() => gateway.close())
beforeEach(() => {
  for (const vendor of Object.values(vendors)) {
    vendor.requests = 0
    vendor.answer = () => Response.json(completion('Hello!', 10, 20))
  }
})

async function ask(body: Record<string, Json>, headers: Record<string, string> = {}) {
  const before = await gateway.newest()
  const response = await gateway.chat({ messages: say('Hi'), max_tokens: 20, ...body }, headers)
  const text = await response.text()
  const charges = await gateway.charges(before.charge)
  const [row] = await gateway.requestLog(before.logRow)
  const passed = JSON.parse((row?.passed_over as string | null) ?? '[]') as Json[]
  return {
    status: response.status,
    text,
    charges,
    asked: names.filter((name) => vendors[name].requests > 0),
    passed: passed.map(({ model, reason }) => [model, reason]),
    details: passed.map(({ detail }) => detail),
    header: response.headers.get('x-gateway-route'),
  }
}

async function quoteOf(body: Record<string, Json>, headers: Record<string, string> = {}) {
  const request = { messages: say('Hi'), max_tokens: 20, ...body }
  const response = await gateway.post('/v1/quotes', { path: '/v1/chat/completions', body: request }, headers)
  return { status: response.status, quote: (await response.json()) as Json }
}

const words = (count: number) => say(Array.from({ length: count }, () => 'fox').join(' '))

describe('a quote of a route', () => {
  test.each([
    ['by-header', {}, {}, 'second'],
    ['by-header', {}, { 'x-team': 'legal' }, 'first'],
    ['by-tag', {}, { 'x-gateway-metadata': 'project=demo' }, 'first'],
    ['by-tag', { metadata: { project: 'else' } }, {}, 'second'],
    ['by-size', { messages: words(100) }, {}, 'second'],
    ['by-context', { messages: words(40) }, {}, 'short'],
  ] as const)('%s %j %j is that of the model %s', async (model, body, headers, expected) => {
    const { status, quote } = await quoteOf({ ...body, model }, { ...headers })
    expect({ status, model: quote.model }).toEqual({ status: 200, model: expected })
    expect(Object.values(vendors).map(({ requests }) => requests)).toEqual([0, 0, 0])
    const { charges } = await ask({ ...body, model }, { ...headers })
    expect(charges).toMatchObject([{ held: Math.round(Number(quote.most_usd) * 1e9) }])
  })

  test('excludes the price of a skipped model', async () => {
    // The first model of the route costs 900 times as much as the others.
    const { quote } = await quoteOf({ model: 'by-context', messages: words(60) })
    expect(Number(quote.most_usd)).toBeLessThan(0.01)
  })

  test('is refused if the request would be', async () => {
    const { status, quote } = await quoteOf({ model: 'never' })
    expect({ status, code: quote.error.code }).toEqual({ status: 400, code: 'model_not_found' })
  })
})

describe('a route', () => {
  test.each([
    ['by-header', {}, {}, 'second', [['first', 'condition']]],
    ['by-header', {}, { 'x-team': 'Legal' }, 'second', [['first', 'condition']]],
    ['by-header', {}, { 'x-team': 'legal' }, 'first', []],
    ['by-header', {}, { 'x-team': 'audit-9' }, 'first', []],
    ['by-tag', {}, { 'x-gateway-metadata': 'project=demo' }, 'first', []],
    ['by-tag', { metadata: { project: 'else' } }, {}, 'second', [['first', 'condition']]],
    [
      'by-tag',
      {},
      {},
      'third',
      [
        ['first', 'condition'],
        ['second', 'condition'],
      ],
    ],
    ['by-size', { messages: words(5) }, {}, 'first', [['second', 'condition']]],
    ['by-size', { messages: words(100) }, {}, 'second', [['first', 'condition']]],
    [
      'by-size',
      { messages: words(500) },
      {},
      'third',
      [
        ['first', 'condition'],
        ['second', 'condition'],
      ],
    ],
    ['by-need', { odd_field: 1 }, {}, 'second', [['strict', 'request']]],
    ['by-context', { messages: words(10) }, {}, 'first', []],
    ['by-context', { messages: words(10), max_tokens: 45 }, {}, 'second', [['tiny', 'context']]],
    [
      'by-context',
      { messages: words(1_000) },
      {},
      'third',
      [
        ['tiny', 'context'],
        ['short', 'context'],
      ],
    ],
    ['too-small', { messages: words(1_000) }, {}, 'second', [['tiny', 'context']]],
    ['asked', { messages: words(1_000) }, {}, 'first', []],
  ] as [string, Record<string, Json>, Record<string, string>, (typeof names)[number], string[][]][])(
    '%s with %j and %j is answered by %s',
    async (model, body, headers, name, passed) => {
      const seen = await ask({ model, ...body }, headers)
      expect(seen).toMatchObject({ status: 200, asked: [name], passed, header: null })
      expect(seen.charges).toMatchObject([{ state: 'settled' }])
      expect(seen.details.every((detail) => typeof detail === 'string' && detail !== '')).toBe(true)
    },
  )

  test('a skipped model is not part of the hold', async () => {
    const [long] = (await ask({ model: 'by-context', messages: words(1_000) })).charges
    const [third] = (await ask({ model: 'third', messages: words(1_000) })).charges
    expect(Number(long?.held)).toBeLessThan(1.02 * Number(third?.held))
  })

  test('is refused with the reason and for free if no condition is true', async () => {
    const { status, text, asked, charges } = await ask({ model: 'never' })
    expect({ status, asked, charges }).toEqual({ status: 400, asked: [], charges: [] })
    expect(text).toContain('first: header x-team is not nobody')
  })

  test('is explained on request, without the names of upstreams', async () => {
    const headers = { 'x-gateway-explain': 'route' }
    expect((await ask({ model: 'by-tag' }, headers)).header).toBe(
      'first;passed=condition, second;passed=condition, third;answered',
    )
    vendors.first.answer = () => Response.json({ error: { message: 'busy' } }, { status: 503 })
    expect((await ask({ model: 'by-header' }, { ...headers, 'x-team': 'legal' })).header).toBe(
      'first;failed=503, second;answered',
    )
    for (const name of names)
      vendors[name].answer = () => Response.json({ error: { message: 'no' } }, { status: 400 })
    const refused = await ask({ model: 'by-header' }, headers)
    expect(refused).toMatchObject({ status: 400, header: 'first;passed=condition, second;refused' })
    expect((await ask({ model: 'third' }, headers)).header).toBeNull()
  })
})

describe('a configuration is wrong', () => {
  const when = (condition: unknown, id = 'first') => ({
    upstreams: { first: { kind: 'openai' } },
    models: {
      first: modelOf('first', { contextTokens: 1_000 }),
      other: modelOf('first'),
      routed: { route: ['first', 'other'], when: { [id]: condition } },
    },
  })
  test.each([
    [
      'not so',
      when({ header: { 'x-team': 'a' }, tag: { team: ['a', 'b*'] }, promptTokens: { min: 10 } }),
      undefined,
    ],
    ['a model that is not on the route', when({ tag: { team: 'a' } }, 'third'), 'use one of first, other'],
    ['an unknown part', when({ cookie: 'a' }), 'when'],
    ['an empty condition', when({}), 'when'],
    ['a secret', when({ header: { Authorization: 'a' } }), 'use a header of your own'],
    ['no name of a header', when({ header: { 'x team': 'a' } }), 'letters, digits and hyphens'],
    ['no name of metadata', when({ tag: { Team: 'a' } }), 'small letters'],
    ['a star within', when({ tag: { team: 'a*b' } }), 'only at the end'],
    ['bounds that exclude each other', when({ promptTokens: { min: 9, max: 8 } }), 'min is above max'],
    ['more than the model reads', when({ promptTokens: { min: 2_000 } }), 'reads 1000 tokens at most'],
    [
      'an unknown reason',
      {
        ...when({ tag: { team: 'a' } }),
        models: { first: modelOf('first'), r: { route: ['first'], fallback: { on: ['rain'] } } },
      },
      'fallback',
    ],
  ])('%s', (_, config, fault) => {
    const faults = faultsOf(config)
    if (fault === undefined) expect(faults).toEqual([])
    else expect(faults.join(' ')).toContain(fault)
  })
})
