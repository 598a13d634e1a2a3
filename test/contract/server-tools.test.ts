// Tools that a vendor runs, in every dialect and for every built-in model: each is sent and has a price, is rejected
// with 400 before anything is held, or is omitted and named in a header. There is no fourth outcome, and no more is
// charged than was held.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { startVendor } from '../support/vendors/vendor'

// biome-ignore lint/suspicious/noExplicitAny: bodies are read by path
type Json = any

const TALKS = /^(openai-(chat|responses)|anthropic-messages|gemini-contents|bedrock-converse)$/
const talking = Object.entries(builtIn.models as Record<string, ModelConfig>).filter(([, { family }]) =>
  [family].flat().some((name) => TALKS.test(name)),
)
const tokens = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
/** Protocols that no built-in model speaks, models without a price of searches, and one model of each kind that uses its list. */
const others: Record<string, ModelConfig> = {
  'on-bedrock': {
    family: 'bedrock-converse',
    upstream: 'bedrock',
    upstreamModel: 'us.anthropic.claude-opus-4-6',
    price: tokens,
  },
  'own-contents': {
    family: 'gemini-contents',
    upstream: 'google',
    upstreamModel: 'gemini-3-flash-preview',
    price: { ...tokens, per_1k_web_searches: '14' },
  },
  'own-prompts': {
    family: 'gemini-contents',
    upstream: 'google',
    upstreamModel: 'gemini-2.5-flash',
    price: { ...tokens, per_1k_grounded_prompts: '35' },
  },
  'bare-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    price: tokens,
  },
  'bare-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    price: tokens,
  },
  'bare-contents': {
    family: 'gemini-contents',
    upstream: 'google',
    upstreamModel: 'gemini-3-flash-preview',
    price: tokens,
  },
  mistral: {
    family: 'openai-chat',
    upstream: 'mistral',
    upstreamModel: 'mistral-large-latest',
    price: tokens,
  },
  groq: { family: 'openai-chat', upstream: 'groq', upstreamModel: 'llama-3.3-70b-versatile', price: tokens },
  zai: { family: 'openai-chat', upstream: 'zai', upstreamModel: 'glm-4.6', price: tokens },
  moonshot: { family: 'openai-chat', upstream: 'moonshot', upstreamModel: 'kimi-k2.6', price: tokens },
  openrouter: {
    family: 'openai-chat',
    upstream: 'openrouter',
    upstreamModel: 'openai/gpt-4.1-mini',
    price: tokens,
  },
}
const names = [...talking.map(([name]) => name), ...Object.keys(others)]

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  const upstreams: Record<string, UpstreamConfig> = {}
  const kinds = [
    ...talking.map(([, { upstream }]) => upstream),
    'mistral',
    'groq',
    'zai',
    'moonshot',
    'openrouter',
  ]
  for (const kind of new Set(kinds as (keyof Sandbox['baseUrls'])[])) {
    upstreams[kind] = {
      kind,
      baseUrl: sandbox.baseUrls[kind],
      apiKey: sandbox.secrets[kind],
    } as UpstreamConfig
  }
  gateway = await startTestGateway({
    sandbox,
    upstreams,
    models: { ...Object.fromEntries(talking), ...others },
    balance: '1000000',
  })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** Types of tools and fields by which each dialect has a vendor run something, as its SDK and its vendors write them. */
const ofResponses = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'file_search',
  'code_interpreter',
  'image_generation',
  'computer_use_preview',
  'x_search',
  'collections_search',
  'tool_search',
  'programmatic_tool_calling',
  'web_extractor',
  'web_fetch',
]
const ofMessages = [
  'web_search_20250305',
  'web_search_20260209',
  'web_fetch_20250910',
  'web_fetch_20260309',
  'code_execution_20250522',
  'code_execution_20260521',
  'tool_search_tool_regex_20251119',
  'advisor_20260301',
  'mcp_toolset',
]
const ofContents = [
  'googleSearch',
  'google_search',
  'googleSearchRetrieval',
  'urlContext',
  'url_context',
  'codeExecution',
  'code_execution',
  'googleMaps',
  'google_maps',
  'fileSearch',
  'computerUse',
  'enterpriseWebSearch',
  'retrieval',
  'mcpServers',
]
const ofChat: Record<string, object> = {
  web_search_options: { web_search_options: {} },
  search_parameters: { search_parameters: { mode: 'on' } },
  enable_search: { enable_search: true },
  search_options: { search_options: { forced_search: true } },
  enable_code_interpreter: { enable_code_interpreter: true },
  plugins: { plugins: [{ id: 'web' }] },
  'tools web_search': { tools: [{ type: 'web_search', web_search: { enable: true } }] },
  'tools web_search_preview': { tools: [{ type: 'web_search_preview' }] },
  'tools live_search': { tools: [{ type: 'live_search' }] },
  'tools x_search': { tools: [{ type: 'x_search' }] },
  'tools browser_search': { tools: [{ type: 'browser_search' }] },
  'tools code_interpreter': { tools: [{ type: 'code_interpreter' }] },
  'tools retrieval': { tools: [{ type: 'retrieval', retrieval: { knowledge_id: '1' } }] },
  'tools builtin_function': { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
  'tools openrouter:web_search': { tools: [{ type: 'openrouter:web_search' }] },
  'tools google_search': { tools: [{ google_search: {} }] },
}

interface Case {
  dialect: string
  tool: string
  path(model: string): string
  body: object
}

const DIRECTIVES = '[sandbox searches=2 reasoning=0] Look it up'
const contentsAt = (model: string) => `/v1beta/models/${model}:generateContent`
const cases: Case[] = [
  ...ofResponses.map((type) => ({
    dialect: 'responses',
    tool: type,
    path: () => '/v1/responses',
    body: { input: DIRECTIVES, tools: [{ type }] },
  })),
  ...ofMessages.map((type) => ({
    dialect: 'messages',
    tool: type,
    path: () => '/v1/messages',
    body: { messages: say(DIRECTIVES), max_tokens: 100, tools: [{ type, name: type.replace(/_\d+$/, '') }] },
  })),
  ...Object.entries(ofChat).map(([tool, fields]) => ({
    dialect: 'chat',
    tool,
    path: () => '/v1/chat/completions',
    body: { messages: say(DIRECTIVES), ...fields },
  })),
  ...ofContents.map((tool) => ({
    dialect: 'contents',
    tool,
    path: contentsAt,
    body: { contents: [{ role: 'user', parts: [{ text: DIRECTIVES }] }], tools: [{ [tool]: {} }] },
  })),
]

/** The name of a tool as a vendor may be sent it: Google reads two spellings. */
const namesOf = ({ tool }: Case) => [
  tool.replace('tools ', ''),
  tool.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
]

/** Tools that cost no more than the tokens of what they find, which the usage reports. */
const BY_TOKENS =
  /^(urlContext|url_context|codeExecution|code_execution|web_fetch_\d+|tool_search\w*|computer_use_preview|mcp_toolset)$/

interface Played {
  status: number
  ignored: string[]
  sent: string[]
  charge: Json
  charges: number
  json: Json
  vendorStatus?: number | undefined
}

async function played({ path, body }: Pick<Case, 'path' | 'body'>, model: string): Promise<Played> {
  const [calls, charges] = [sandbox.calls.length, (await gateway.charges()).length]
  const response = await gateway.post(path(model), { model, ...body })
  const json = await response.json()
  const after = await gateway.charges()
  return {
    status: response.status,
    ignored: (response.headers.get('x-gateway-ignored') ?? '').split(', ').filter((name) => name !== ''),
    sent: sandbox.calls.slice(calls).map(({ body: sent }) => sent ?? ''),
    charge: after[charges],
    charges: after.length - charges,
    json,
  }
}

/** One of the three outcomes, or the fault. */
function outcomeOf(each: Case, { status, ignored, sent, charge, charges, json }: Played): string {
  const text = sent.join('')
  const isSent = namesOf(each).some((name) => text.includes(`"${name}"`))
  if (status === 400 && sent.length === 0) {
    if (charges > 0) return 'refused, with a charge'
    return JSON.stringify(json).includes(`${each.dialect === 'chat' ? each.tool.split(' ')[0] : 'tools'}`)
      ? 'refused'
      : `refused without its name: ${JSON.stringify(json)}`
  }
  // The vendor knows better what it has.
  if (status === 400 && isSent) return Number(charge?.amount ?? 0) === 0 ? 'refused' : 'refused, and charged'
  if (status !== 200) return `status ${status}: ${JSON.stringify(json).slice(0, 200)}`
  const listed = JSON.stringify(json.tools ?? [])
  if (!isSent) {
    if (ignored.length === 0) return 'left out silently'
    return listed.includes(each.tool) ? 'left out, and listed in the answer' : 'ignored'
  }
  if (ignored.length > 0) return 'sent, and said to be ignored'
  const usage = String(charge?.prices ?? '')
  const isPriced = BY_TOKENS.test(each.tool) || /web_search|grounded_prompt|search_source/.test(usage)
  if (!isPriced) return `sent without a price: ${usage}`
  return Number(charge?.amount) <= Number(charge?.held)
    ? 'sent'
    : `charged ${charge?.amount} of ${charge?.held}`
}

describe.each(names)('%s', (model) => {
  test.each(cases.map((each) => [`${each.dialect}: ${each.tool}`, each] as const))(
    'has no fourth outcome for %s',
    async (_name, each) => {
      expect(outcomeOf(each, await played(each, model))).toBeOneOf(['sent', 'refused', 'ignored'])
    },
  )
})

/** Models whose vendor searches for them, in its own dialect, and what two searches cost by their price list. */
const searching: [model: string, nano: number, request: Pick<Case, 'path' | 'body'>][] = [
  ...['pgt-5-mini', 'pgt-5.4-mini', 'pgt-6-luna'].map((model): (typeof searching)[number] => [
    model,
    20_000_000,
    {
      path: () => '/v1/responses',
      // The tool as Codex offers it, with the members of its vendor.
      body: {
        input: DIRECTIVES,
        tools: [{ type: 'web_search', external_web_access: false, search_context_size: 'low' }],
      },
    },
  ]),
  [
    'pgt-4.1-mini',
    50_000_000,
    {
      path: () => '/v1/responses',
      body: { input: DIRECTIVES, tools: [{ type: 'web_search_preview' }], max_tool_calls: 2 },
    },
  ],
  ...['claude-haiku-4-5', 'claude-opus-5-5'].map((model): (typeof searching)[number] => [
    model,
    20_000_000,
    {
      path: () => '/v1/messages',
      body: {
        messages: say('[sandbox searches=2] Look it up'),
        max_tokens: 100,
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2, allowed_domains: ['a.com'] }],
      },
    },
  ]),
  [
    'own-contents',
    28_000_000,
    {
      path: contentsAt,
      body: {
        contents: [{ parts: [{ text: DIRECTIVES }] }],
        tools: [{ googleSearch: { excludeDomains: [] } }],
      },
    },
  ],
  [
    'own-prompts',
    35_000_000,
    {
      path: contentsAt,
      body: { contents: [{ parts: [{ text: DIRECTIVES }] }], tools: [{ googleSearch: {} }] },
    },
  ],
]

test.each(searching)(
  '%s is sent its tool as it came, and the searches are charged',
  async (model, nano, request) => {
    const searched = await played(request, model)
    expect({ status: searched.status, ignored: searched.ignored }).toEqual({ status: 200, ignored: [] })
    const { tools } = request.body as { tools: object[] }
    expect(searched.sent[0]).toContain(JSON.stringify(tools[0]))
    const silent = JSON.parse(JSON.stringify(request.body).replace('searches=2', 'searches=0'))
    const plain = await played({ ...request, body: silent }, model)
    const searchedTokens = /^own-/.test(model) ? 200 * 1_000 : 0
    expect(Number(searched.charge.amount) - Number(plain.charge.amount)).toBe(nano + searchedTokens)
    expect(Number(searched.charge.amount)).toBeLessThanOrEqual(Number(searched.charge.held))
  },
)

test.each(['gmx-3.5-flash-lite', 'claude-haiku-4-5', 'gkx-4.3', 'qnx3.8-flash', 'bare-responses'])(
  'an answer of %s lists only the tools that it got, whole and streamed',
  async (model) => {
    const read = { type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }
    const tools = [{ type: 'web_search' }, read, { type: 'image_generation' }]
    for (const stream of [false, true]) {
      const response = await gateway.post('/v1/responses', { model, input: 'Hello', tools, stream })
      expect(response.headers.get('x-gateway-ignored')).toBe('web_search, image_generation')
      const text = await response.text()
      const events = stream
        ? [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data as string))
        : [{ response: JSON.parse(text) }]
      const shown = events.flatMap(({ response: { tools = undefined } = {} }) => (tools ? [tools] : []))
      expect(shown.length).toBeGreaterThan(0)
      for (const each of shown) expect(each).toEqual([expect.objectContaining({ name: 'read' })])
    }
  },
)

describe('of calls that a vendor reports', () => {
  const vendor = startVendor()
  const price = { ...tokens, per_1k_web_searches: '10', per_1k_grounded_prompts: '35' }
  const families = {
    messages: 'anthropic-messages',
    responses: 'openai-responses',
    contents: 'gemini-contents',
  }
  type Name = keyof typeof families
  let own: TestGateway

  beforeAll(async () => {
    own = await startTestGateway({
      balance: '1000000',
      upstreams: {
        odd: vendor.upstream,
        'odd-google': { ...vendor.upstream, kind: 'google' } as UpstreamConfig,
      },
      models: Object.fromEntries(
        Object.entries(families).map(([name, family]): [string, ModelConfig] => [
          name,
          { family, upstream: name === 'contents' ? 'odd-google' : 'odd', upstreamModel: 'm', price },
        ]),
      ),
    })
  })
  afterAll(async () => {
    await own.close()
    await vendor.stop()
  })

  const said = { type: 'message', id: 'm', role: 'assistant' }
  /** Answers with this number of searches, without any other cost. */
  const answers: Record<Name, (searches: number) => object> = {
    messages: (searches) => ({
      ...said,
      content: [{ type: 'text', text: 'Found.' }],
      usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: searches } },
    }),
    responses: (searches) => ({
      id: 'r',
      status: 'completed',
      output: [{ ...said, content: [{ type: 'output_text', text: 'Found.' }] }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      tool_usage: { web_search: { num_requests: searches } },
    }),
    contents: (searches) => ({
      candidates: [
        {
          content: { parts: [{ text: 'Found.' }] },
          finishReason: 'STOP',
          groundingMetadata: {
            // Empty and repeated queries are not billed.
            webSearchQueries: [
              '',
              ...Array.from({ length: searches }, (_none, place) => `q${place}`),
              'q0',
            ].slice(searches === 0 ? 2 : 0),
          },
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    }),
  }
  const requests: Record<Name, (most: number | undefined) => [path: string, body: object]> = {
    messages: (most) => [
      '/v1/messages',
      {
        messages: say('Hi'),
        max_tokens: 10,
        tools: [
          { type: 'web_search_20250305', name: 'web_search', ...(most !== undefined && { max_uses: most }) },
        ],
      },
    ],
    responses: (most) => [
      '/v1/responses',
      { input: 'Hi', tools: [{ type: 'web_search' }], ...(most !== undefined && { max_tool_calls: most }) },
    ],
    contents: () => [
      contentsAt('contents'),
      { contents: [{ parts: [{ text: 'Hi' }] }], tools: [{ googleSearch: {} }] },
    ],
  }

  /** The held searches if the request does not limit them. */
  const OPEN = 10
  const numbers = [0, 1, 2, 5, 10, 11, 50]
  const rows = (Object.keys(families) as Name[]).flatMap((name) =>
    (name === 'contents' ? [undefined] : [undefined, 1, 3]).flatMap((most) =>
      numbers.map((searches) => [name, most, searches] as const),
    ),
  )
  test.each(rows)(
    'by %s, bound %p, %p are paid up to the hold, and more is logged',
    async (name, most, searches) => {
      vendor.answer = () => Response.json(answers[name](searches))
      const [path, body] = requests[name](most)
      const before = own.log.filter(({ event }) => event === 'usage_above_quote').length
      const response = await own.post(path, { model: name, ...body })
      expect({ status: response.status, text: response.status === 200 || (await response.text()) }).toEqual({
        status: 200,
        text: true,
      })
      await response.text()
      const { held, amount } = (await own.newestCharge()) as Json
      const bound = most ?? OPEN
      const prompt = name === 'contents' && searches > 0 ? 35_000_000 : 0
      expect(Number(amount)).toBe(1_000 + 2_000 + Math.min(searches, bound) * 10_000_000 + prompt)
      expect(Number(amount)).toBeLessThanOrEqual(Number(held))
      const logged = own.log.filter(({ event }) => event === 'usage_above_quote').length - before
      expect(logged).toBe(searches > bound ? 1 : 0)
    },
  )
})

test('a search without a limit is sent with the one that is held', async () => {
  const model = 'claude-haiku-4-5'
  const look = { name: 'look', input_schema: { type: 'object' } }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const body = { messages: say('[sandbox searches=30] Hi'), max_tokens: 50, tools: [look, search] }
  const { sent, charge } = await played({ path: () => '/v1/messages', body }, model)
  expect(JSON.parse(sent[0] as string).tools).toEqual([look, { ...search, max_uses: 10 }])
  expect(Number(charge.amount)).toBeWithin(100_000_000, 110_000_000)
  expect(Number(charge.held)).toBeGreaterThan(Number(charge.amount))
})

test('searches that Codex offers among its tools are left out, and named, where the account cannot hold them', async () => {
  const shell = { type: 'function', name: 'shell', parameters: { type: 'object' } }
  const search = { type: 'web_search', external_web_access: false }
  const body = { model: 'pgt-6-luna', input: 'Hi', tools: [shell, search], tool_choice: 'auto', stream: true }
  const ask = async (secret: string, more: object = {}) => {
    gateway.sandbox.calls.length = 0
    const response = await gateway.post(
      '/v1/responses',
      { ...body, ...more },
      { authorization: `Bearer ${secret}` },
    )
    await response.text()
    const [call] = gateway.sandbox.calls
    const sent = call ? JSON.parse(call.body).tools.map(({ type }: Json) => type) : undefined
    return { status: response.status, ignored: response.headers.get('x-gateway-ignored'), sent }
  }
  const { secret: rich } = await gateway.makeKey('rich', '1')
  expect(await ask(rich)).toEqual({ status: 200, ignored: null, sent: ['function', 'web_search'] })
  const { held } = (await gateway.newestCharge()) as Json
  expect(Number(held)).toBeGreaterThan(300_000_000)
  const { secret: poor } = await gateway.makeKey('poor', '0.05')
  expect(await ask(poor)).toEqual({ status: 200, ignored: 'web_search', sent: ['function'] })
  expect(Number(((await gateway.newestCharge()) as Json).held)).toBeLessThan(50_000_000)
  // A caller who wants to search learns what is missing.
  const refused = { status: 402, ignored: null, sent: undefined }
  expect(await ask(poor, { tools: [search] })).toEqual(refused)
  expect(await ask(poor, { tool_choice: 'required' })).toEqual(refused)
  expect(await ask(poor, { tool_choice: { type: 'web_search' } })).toEqual(refused)
})

test('lists of models and quotes have the prices of searches', async () => {
  const authorization = `Bearer ${gateway.secret}`
  const listed = await fetch(`${gateway.url}/v1/models`, { headers: { authorization } })
  const { data } = (await listed.json()) as Json
  const pricing = (id: string) => data.find((model: Json) => model.id === id).pricing
  expect(pricing('pgt-5-mini').web_search).toBe('0.01')
  expect(pricing('pgt-4.1-mini').web_search).toBe('0.025')
  expect(pricing('gmx-3.5-flash-lite').web_search).toBe('0.014')
  expect(pricing('own-prompts').grounded_prompt).toBe('0.035')
  const held = async (more: object) => {
    const body = { model: 'claude-haiku-4-5', max_tokens: 50, messages: say('Hi'), ...more }
    const response = await gateway.post('/v1/quotes', { path: '/v1/messages', body })
    return Number(((await response.json()) as Json).most_usd)
  }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const [one, three] = [
    await held({ tools: [{ ...search, max_uses: 1 }] }),
    await held({ tools: [{ ...search, max_uses: 3 }] }),
  ]
  expect(three - one).toBeCloseTo(0.02, 6)
})
