// Everything that a vendor bills in addition to the standard price has a price, or is rejected with the name of its
// field before anything is sent: every rule of every family, on every path, and undocumented fields.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { outside } from '../../src/app/world'
import { buildCatalogue } from '../../src/catalogue/models'
import type { ModelConfig } from '../../src/config/schema'
import type { Family, FieldRule, Model } from '../../src/contract/family'
import { callUnits, rowOf } from '../../src/contract/units'
import { families } from '../../src/families'
import { GatewayError } from '../../src/lib/errors'
import { stepsOf } from '../../src/lib/field-names'
import { checkFields } from '../../src/request/fields'
import { familyRows } from '../support/answers/family-rows'
import { fixtures } from '../support/answers/fixtures'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { callTool, connect, dataUrl, toolModels } from '../support/mcp'
import { createRandom, seedOf } from '../support/random'
import { startVendor } from '../support/vendors/vendor'

type Json = Record<string, unknown>

const seed = seedOf('FIELDS_SEED')

const all = [...families.values()]
/** Values of which at least one is next to the plain ones of every rule. */
const samples = [
  'web_search_20250305',
  'live_search',
  'google_search',
  'code_execution_20250825',
  'input_audio',
  'data:audio/wav;base64,AAAA',
  'audio',
  'image',
  'compact_20260112',
  'context-1m-2025-08-07',
  '1h',
  2,
  true,
  { type: 'web_search' },
  'oss://dashscope/a.png',
  'Read fileid://file-fe-1\nand tell',
  'qwen-tts-vc-guanyu-voice-20250812',
  '21m00Tcm4TlvDq8ikWAM',
]

const isPlain = ({ plain, state }: FieldRule, value: unknown) =>
  plain instanceof RegExp
    ? typeof value === 'string'
      ? plain.test(value)
      : state === true
    : plain?.includes(typeof value === 'object' ? JSON.stringify(value) : value) === true

function sampleOf(rule: FieldRule, earlier: readonly FieldRule[]): unknown {
  const fits = (value: unknown) => !isPlain(rule, value) && earlier.every((other) => isPlain(other, value))
  return samples.find(fits) ?? samples.find((value) => !isPlain(rule, value))
}

/** A body with the value at that place, one item in each list. */
function bodyWith(field: string, value: unknown): Json {
  const [step, ...others] = field.replaceAll('[]', '.[]').split('.').reverse()
  const inner = step === '[]' ? [value] : { [step as string]: value }
  return others.length === 0
    ? (inner as Json)
    : bodyWith(others.reverse().join('.').replaceAll('.[]', '[]'), inner)
}

function modelOf(family: Family, more: Partial<ModelConfig>): Model {
  const { kind = 'openai', model } = familyRows[family.name] ?? { model: {} }
  const base = family.over ?? family.name
  // It accepts files by an id in the text, which other families do not parse.
  const isReader =
    base === 'openai-chat' || ['messages-on-responses', 'bedrock-converse'].includes(family.name)
  const reader = isReader && { upstreamModel: 'qwen-long' }
  const entry = { ...model, family: base, upstream: 'u', ...more, ...reader } as ModelConfig
  const upstreams = { u: { kind, apiKey: 'none' } }
  const models = buildCatalogue({ upstreams, models: { m: entry } }, outside).models.get('m') ?? []
  return models.find((each) => each.family === family) as Model
}

/** The rejected field, if there is one. */
function refused(model: Model, rule: FieldRule, value: unknown): GatewayError | undefined {
  const body = rule.in === 'header' ? {} : bodyWith(rule.field, value)
  const headers = rule.in === 'header' ? { [rule.field]: String(value) } : undefined
  try {
    checkFields(model, { body, byteLength: 0, at: 0, ...(headers && { headers }) })
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

const rules = all.flatMap((family) =>
  (family.fieldRules ?? []).map((rule, index) => ({
    name: `${family.name}: ${rule.field}`,
    family,
    rule,
    index,
  })),
)

describe('a URL that the upstream fetches', () => {
  const addressRules = rules.filter(({ rule }) => rule.address)

  test('is a known field of every family whose requests may have one', () => {
    const named = new Set(addressRules.map(({ family }) => family.name))
    const without = all.filter(
      ({ name, operation }) =>
        ['chat', 'messages', 'responses', 'image', 'video', 'moderation'].includes(operation) &&
        !named.has(name),
    )
    // Converse accepts only content, and this model makes images from text.
    expect(without.map(({ name }) => name)).toEqual([
      'chat-on-converse',
      'responses-on-converse',
      'dalle-images',
    ])
  })

  test.each(addressRules.map((row) => [row.name, row] as const))('%s', (_, { family, rule }) => {
    const { price: _price, ...unpriced } = familyRows[family.name]?.model ?? {}
    const free = modelOf(family, { ...unpriced, price: undefined, free: true } as unknown as ModelConfig)
    const withUpstream = (upstream: Partial<Model['upstream']>): Model => {
      return { ...free, upstream: Object.assign(Object.create(free.upstream), upstream) }
    }
    const own = withUpstream({ sharedAccount: false })
    const place = rule.field.replaceAll('[]', '[0]')
    for (const address of ['http://169.254.169.254/latest/meta-data', 'http://localhost/a', '/etc/passwd']) {
      for (const model of [free, own]) {
        const fault = refused(model, rule, address)
        expect(fault).toMatchObject({ status: 400, param: place })
        expect(fault?.message).toContain('points to this machine, to a private network')
      }
      const allowed = withUpstream({ sharedAccount: false, allowPrivateAddresses: true })
      expect(refused(allowed, rule, address)?.message ?? '').not.toContain('private network')
    }
    expect(refused(own, rule, 'https://example.com/cat.png')?.message ?? '').not.toContain('private network')
  })
})

describe('a field that a vendor bills separately', () => {
  test.each(rules.map((row) => [row.name, row] as const))('%s', (_, { family, rule, index }) => {
    const { price: _price, ...unpriced } = familyRows[family.name]?.model ?? {}
    const free = modelOf(family, { ...unpriced, price: undefined, free: true } as unknown as ModelConfig)
    // References to other accounts' objects are rejected whatever the model costs.
    const plainModel = rule.state ? free : modelOf(family, {})
    const earlier = (family.fieldRules ?? []).slice(0, index).filter(({ field }) => field === rule.field)
    const value = sampleOf(rule, earlier)
    const fault = refused(plainModel, rule, value)
    const place = rule.field.replaceAll('[]', '[0]')
    expect(fault).toMatchObject({ status: 400, param: place })
    expect(fault?.message).toContain(`'${place}'`)
    expect(fault?.message.length).toBeGreaterThan(60)

    // Absent, null, and values with the same meaning.
    expect(refused(plainModel, rule, null)).toBeUndefined()
    const plain = Array.isArray(rule.plain) ? rule.plain : []
    const others = (family.fieldRules ?? []).filter(({ field }) => field === rule.field)
    for (const each of plain.filter((value) => others.every((other) => isPlain(other, value)))) {
      expect(refused(plainModel, rule, each)).toBeUndefined()
    }

    // A model with a price for it accepts it.
    if (rule.price) {
      const { price = {} } = familyRows[family.name]?.model ?? {}
      const more =
        rule.price === 'service_tier'
          ? { service_tiers: { [String(value)]: '2' } }
          : { [rowOf(rule.price).key]: '1.5' }
      const priced = modelOf(family, { price: { ...price, ...more } as ModelConfig['price'] & object })
      const after = others.filter((other) => !isPlain(other, value) && other.price !== rule.price)
      expect(refused(priced, rule, value) !== undefined).toBe(after.length > 0)
    }

    // A free model accepts fields that only concern money.
    const matching = others.filter((other) => !isPlain(other, value))
    expect(refused(free, rule, value) !== undefined).toBe(
      matching.some(({ always, state }) => always || state),
    )
  })

  test('is never omitted by a bridge', () => {
    const isWithin = (field: string, holder: string) => field === holder || field.startsWith(`${holder}.`)
    const left = rules.filter(({ family, rule }) =>
      family.bridge?.some(({ field, treatment }) => treatment === 'ignored' && isWithin(rule.field, field)),
    )
    expect(left.map(({ name }) => name)).toEqual([])
  })

  test('that the vendor counts by itself has a unit, and each such unit has a field', () => {
    const priced = all.flatMap(({ fieldRules = [] }) =>
      fieldRules.flatMap(({ price, orPrice }) => [price, orPrice]),
    )
    for (const unit of callUnits) expect(priced).toContain(unit)
  })

  test.each([
    ['web_search_options', { web_search_options: {} }, 'searching'],
    ['enable_search', { enable_search: true }, 'searching'],
    ['search_options', { search_options: { forced_search: true } }, 'searching'],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }, 'searching'],
    ['tools[0].type', { tools: [{ type: 'openrouter:web_search' }] }, 'searching'],
    ['tools[0].google_search', { tools: [{ google_search: {} }] }, 'searching'],
    ['enable_code_interpreter', { enable_code_interpreter: true }, 'this'],
    ['tools[0].type', { tools: [{ type: 'code_interpreter' }] }, 'this'],
    ['plugins', { plugins: [{ id: 'web' }] }, 'this'],
  ])(
    'that no answer counts is rejected with any price list, and an alternative is named: %s',
    (field, more, what) => {
      const family = families.get('openai-chat') as Family
      const price = {
        per_1m_input_tokens: '1',
        per_1m_output_tokens: '2',
        per_1k_web_searches: '10',
        per_1k_search_sources: '25',
      }
      const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...more }
      const check = () => checkFields(modelOf(family, { price }), { body, byteLength: 0, at: 0 })
      expect(check).toThrow(`'${field}'`)
      expect(check).toThrow('a price list has no price for it')
      expect(check).toThrow(`Leave it out, and give the model your own function for ${what}.`)
    },
  )

  test('is in the list of each family once for each reason', () => {
    for (const { fieldRules = [] } of all) {
      const keys = fieldRules.map(
        ({ field, plain, state, in: place }) => `${place} ${field} ${plain} ${state}`,
      )
      expect(new Set(keys).size).toBe(keys.length)
    }
  })

  test('is known to every family that forwards unknown fields', () => {
    const closed = [
      'gemini-embeddings',
      'voyage-embeddings',
      'voyage-rerank',
      'dashscope-speech',
      'minimax-speech',
      'dalle-images',
      'dalle-image-edits',
    ]
    for (const family of all) {
      if (family.over || closed.includes(family.name)) continue
      expect([family.name, (family.fieldRules ?? []).length > 0]).toEqual([family.name, true])
    }
  })
})

describe(`random bodies (FIELDS_SEED=${seed})`, () => {
  /** Every value at the path, computed independently of the program. */
  function* valuesAt(value: unknown, steps: readonly string[]): Generator<unknown> {
    const [step, ...rest] = steps
    if (step === undefined) yield value
    else if (step === '[]') for (const item of Array.isArray(value) ? value : []) yield* valuesAt(item, rest)
    else if (typeof value === 'object' && value && !Array.isArray(value) && step in value) {
      yield* valuesAt((value as Json)[step], rest)
    }
  }

  /** Names of the tier without extra price, which every vendor may report. */
  function isUsualTier({ price }: FieldRule, value: unknown): boolean {
    return (
      price === 'service_tier' && ['auto', 'default', 'standard', 'standard_only'].includes(value as string)
    )
  }

  function isRefused(body: Json, list: readonly FieldRule[]): boolean {
    return list.some((rule) =>
      [...valuesAt(body, stepsOf(rule.field))].some(
        (value) => value !== null && !isPlain(rule, value) && !isUsualTier(rule, value),
      ),
    )
  }

  function merged(a: unknown, b: unknown): unknown {
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b]
    if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) || Array.isArray(b))
      return b
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    const of = (value: object, key: string) => (value as Json)[key]
    return Object.fromEntries(
      keys.map((key) => [
        key,
        key in a && key in b ? merged(of(a, key), of(b, key)) : key in b ? of(b, key) : of(a, key),
      ]),
    )
  }

  test.each(all.filter(({ fieldRules }) => fieldRules).map((family) => [family.name, family] as const))(
    'are rejected by %s if one value is not a default',
    (_, family) => {
      const random = createRandom(seed)
      const model = { ...modelOf(family, {}), contextTokens: undefined }
      const list = (family.fieldRules ?? []).filter((rule) => rule.in === undefined)
      const plainOnes = list.flatMap(({ plain }) =>
        Array.isArray(plain) ? plain : ['custom', 'text', 'clear_x'],
      )
      let count = 0
      for (let round = 0; round < 300; round++) {
        let body: Json = {}
        for (let part = random.below(4); part >= 0; part--) {
          const rule = random.pick(list)
          const other = random.chance(0.5) ? sampleOf(rule, []) : random.pick([...samples, {}, [], 7])
          const value = random.chance(0.85) ? random.pick([...plainOnes, null]) : other
          body = merged(body, bodyWith(rule.field, value)) as Json
        }
        const expected = isRefused(body, list)
        let refusedHere = false
        try {
          checkFields(model, { body, byteLength: 0, at: 0 })
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError)
          refusedHere = true
        }
        expect({ body, refused: refusedHere }).toEqual({ body, refused: expected })
        count += Number(expected)
      }
      expect(count).toBeGreaterThan(5)
    },
  )
})

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '1000',
    models: {
      ...toolModels,
      strict: {
        family: 'openai-chat',
        upstream: 'openai',
        upstreamModel: 'gpt-4.1-mini',
        strictFields: true,
        free: true,
      },
      'strict-messages': {
        family: 'anthropic-messages',
        upstream: 'anthropic',
        upstreamModel: 'claude-sonnet-4-5',
        strictFields: true,
        free: true,
      },
    },
  })
})
afterAll(() => gateway.close())

interface Refused {
  status: number
  json: { error: { message: string; param?: string; type: string; details?: unknown } }
  sent: number
  charges: number
}

async function send(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Refused> {
  const [calls, charges] = [gateway.sandbox.calls.length, (await gateway.charges()).length]
  const response = await gateway.post(path, body, headers)
  return {
    status: response.status,
    json: (await response.json()) as Refused['json'],
    sent: gateway.sandbox.calls.length - calls,
    charges: (await gateway.charges()).length - charges,
  }
}

const chat = (body: Json) =>
  send('/v1/chat/completions', { model: 'test-chat', messages: say('Hi'), ...body })
const message = (body: Json, headers = {}) =>
  send('/v1/messages', { model: 'test-messages', max_tokens: 9, messages: say('Hi'), ...body }, headers)
const inUser = (...content: Json[]) => ({ messages: [{ role: 'user', content }] })

describe('is rejected before anything is sent or held:', () => {
  const rows: [name: string, ask: () => Promise<Refused>, field: string][] = [
    ['a tier', () => chat({ service_tier: 'priority' }), 'service_tier'],
    ['a tier of unknown form', () => chat({ service_tier: ['default'] }), 'service_tier'],
    ['a search', () => chat({ web_search_options: {} }), 'web_search_options'],
    ['a search of another vendor', () => chat({ search_parameters: { mode: 'on' } }), 'search_parameters'],
    ['a search of a third', () => chat({ enable_search: true }), 'enable_search'],
    ['a tool of the vendor', () => chat({ tools: [{ type: 'web_search' }] }), 'tools[0].type'],
    ['other models', () => chat({ models: ['gpt-5-pro'] }), 'models'],
    ['a deferred answer', () => chat({ deferred: true }), 'deferred'],
    [
      'a recording',
      () =>
        chat(
          inUser(
            { type: 'text', text: 'a' },
            { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
          ),
        ),
      'messages[0].content[1].type',
    ],
    [
      'a spoken answer',
      () => chat({ modalities: ['text', 'audio'], audio: { voice: 'ash' } }),
      'modalities[1]',
    ],
    ['a faster mode', () => message({ speed: 'fast' }), 'speed'],
    ['a place', () => message({ inference_geo: 'us' }), 'inference_geo'],
    ['another model', () => message({ fallbacks: [{ model: 'claude-opus-5-5' }] }), 'fallbacks'],
    ['another model by default', () => message({ fallbacks: 'default' }), 'fallbacks'],
    [
      'an adviser',
      () => message({ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' }] }),
      'tools[0].type',
    ],
    [
      'a tool that a conversation adds',
      () =>
        message(
          inUser(
            { type: 'text', text: 'a' },
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { type: 'code_execution_20260521' } },
            },
          ),
        ),
      'messages[0].content[1].tool.definition.type',
    ],
    ['a container', () => message({ container: 'container_01' }), 'container'],
    ['long prompts', () => message({}, { 'anthropic-beta': 'a,context-1m-2025-08-07' }), 'anthropic-beta'],
    [
      'a tool next to an embedding',
      () => send('/v1/embeddings', { model: 'test-embedding', input: 'a', service_tier: 'priority' }),
      'service_tier',
    ],
    [
      'a series of videos',
      () =>
        send('/v1/videos/generations', {
          model: 'vidw2.6-t2v',
          input: { prompt: 'a fox' },
          parameters: { size: '1280*720', duration: 5, n: 4 },
        }),
      'parameters.n',
    ],
  ]
  test.each(rows)('%s', async (_, ask, field) => {
    const { status, json, sent, charges } = await ask()
    expect({ status, sent, charges }).toEqual({ status: 400, sent: 0, charges: 0 })
    expect(json.error.type).toBe('invalid_request_error')
    expect(json.error.message).toContain(`'${field}'`)
  })

  test('in the options of a tool', async () => {
    const client = await connect(gateway.url, gateway.secret)
    try {
      for (const [model, field, value] of [
        ['test-chat', 'service_tier', 'priority'],
        ['test-messages', 'web_search_options', {}],
      ] as const) {
        const args = { model, prompt: 'Hi', options: { [field]: value } }
        const { result, calls, charges } = await callTool(gateway, client, 'chat', args)
        expect(result.isError).toBe(true)
        expect(JSON.stringify(result.content)).toContain(`'${field}'`)
        expect([calls, charges.length]).toEqual([0, 0])
      }
    } finally {
      await client.close()
    }
  })

  test('in a form', async () => {
    const form = new FormData()
    const picture = await (await fetch(dataUrl('png'))).blob()
    form.set('model', Object.keys(toolModels).find((id) => id.startsWith('pgt-image')) ?? '')
    form.set('prompt', 'a hat')
    form.set('service_tier', 'priority')
    form.set('image', picture, 'a.png')
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: form,
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("'service_tier'")
  })
})

describe('long prompts', () => {
  test('are accepted if the model has prices for them, or one price for any length', () => {
    const family = families.get('anthropic-messages') as Family
    const rule = family.fieldRules?.find(({ field }) => field === 'anthropic-beta') as FieldRule
    const value = 'context-1m-2025-08-07,other-beta'
    const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
    const above = { ...price, above_200k: { per_1m_input_tokens: '2', per_1m_output_tokens: '3' } }
    expect(refused(modelOf(family, { price }), rule, value)).toMatchObject({ param: 'anthropic-beta' })
    expect(refused(modelOf(family, { price, contextTokens: 200_000 }), rule, value)).toBeDefined()
    expect(refused(modelOf(family, { price, contextTokens: 1_000_000 }), rule, value)).toBeUndefined()
    expect(refused(modelOf(family, { price: above }), rule, value)).toBeUndefined()
    expect(refused(modelOf(family, { price }), rule, 'other-beta')).toBeUndefined()
  })
})

describe('a faster mode', () => {
  const usage = (speed?: string) => ({ input_tokens: 10, output_tokens: 5, service_tier: 'standard', speed })
  test.each([
    ['fast', 6 * (10 * 1_000 + 5 * 2_000)],
    // The vendor had no capacity for it.
    ['standard', 10 * 1_000 + 5 * 2_000],
  ])('that the vendor reports as %s is charged accordingly', async (speed, amount) => {
    const vendor = startVendor()
    vendor.answer = () =>
      Response.json({ type: 'message', content: [{ type: 'text', text: 'Hi' }], usage: usage(speed) })
    const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2', service_tiers: { fast: '6' } }
    const gateway = await startTestGateway({
      upstreams: { odd: { ...vendor.upstream, kind: 'anthropic' } },
      models: { quick: { family: 'anthropic-messages', upstream: 'odd', upstreamModel: 'any', price } },
    })
    try {
      const body = { model: 'quick', max_tokens: 9, messages: say('Hi'), speed: 'fast' }
      expect((await gateway.post('/v1/messages', body)).status).toBe(200)
      const [charge] = await gateway.charges()
      expect(charge).toMatchObject({ state: 'settled', amount, usage_source: 'upstream' })
      expect(Number(charge?.held)).toBeGreaterThan(6 * 9 * 2_000)
    } finally {
      await gateway.close()
      await vendor.stop()
    }
  })
})

describe('images that a video is made from', () => {
  test('are held and charged if they have a price', () => {
    const family = families.get('xai-video') as Family
    const image = { url: 'https://example.com/a.png' }
    const body = { model: 'm', prompt: 'a fox', duration: 5, reference_images: [image, image, image] }
    const ask = { body, byteLength: 0, at: 0 }
    const price = { per_second: { '480p': '0.05' } }
    expect(family.quote(ask, modelOf(family, { price }))).toEqual({ second: 5 })
    const priced = modelOf(family, { price: { ...price, per_input_image: '0.002' } })
    expect(family.quote(ask, priced)).toEqual({ second: 5, input_image: 3 })
  })
})

describe('a field that a reasoning model ignores', () => {
  test('is not an error, whatever it would cost', async () => {
    const { status } = await chat({
      model: 'test-reasoning',
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'mp3' },
      prediction: { type: 'content', content: 'x' },
    })
    expect(status).toBe(200)
  })
})

describe('a predicted output', () => {
  test('is held as output, because its rejected part is billed as output', async () => {
    const heldFor = async (more: Json) => {
      await chat({ max_tokens: 5, ...more })
      return Number((await gateway.newestCharge())?.held)
    }
    const content = 'word '.repeat(1_000)
    const [plain, predicted] = [
      await heldFor({}),
      await heldFor({ prediction: { type: 'content', content } }),
    ]
    // A byte is at most a token: 1,000 nano-dollars as input, and 2,000 if it is rejected.
    expect(predicted - plain).toBeGreaterThan(5_000 * 3_000)
  })
})

describe('an undocumented field', () => {
  test('is sent to the vendor', async () => {
    const { status, sent } = await chat({ model: 'test-local', field_of_tomorrow: { deep: [1] } })
    expect([status, sent]).toEqual([200, 1])
    expect(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')).toMatchObject({
      field_of_tomorrow: { deep: [1] },
    })
  })

  test.each([
    ['strict', '/v1/chat/completions', {}],
    ['strict-messages', '/v1/messages', { max_tokens: 9 }],
  ])('is rejected by the strict model %s', async (model, path, more) => {
    const plain = { model, messages: say('Hi'), ...more }
    for (const value of [1, null]) {
      const { status, json, sent } = await send(path, { ...plain, field_of_tomorrow: value })
      expect([status, sent]).toEqual([400, 0])
      expect(json.error.message).toContain("'field_of_tomorrow'")
    }
    expect((await send(path, plain)).status).toBe(200)
  })

  test.each(fixtures.map((record) => [`${record.family} ${record.name}`, record] as const))(
    'is in no recorded request: a strict model accepts %s',
    (_, { family, request }) => {
      const model = { ...modelOf(families.get(family) as Family, {}), strictFields: true }
      checkFields(model, { body: request, byteLength: 0, at: 0 })
    },
  )

  test('every field of the spec is described', async () => {
    const { sent } = await chat({
      model: 'strict',
      store: true,
      seed: 7,
      user: 'u',
      metadata: { a: 'b' },
      top_p: 0.5,
    })
    expect(sent).toBe(1)
  })
})
