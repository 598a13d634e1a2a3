// The operator's data in answers: costs next to the usage, and ids of organizations, projects, teams or accounts in
// errors. Callers get neither in any kind of answer, and everything else is unchanged.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { callerEvent, callerText, callerView, withoutAccountIds } from '../../src/upstreams/caller-view'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { startTaskVendor, type TaskVendor, videoBody } from '../support/vendors/task'
import { chunk, completion, DONE, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

let vendor: OddVendor
let tasks: TaskVendor & Disposable
let gateway: TestGateway

beforeAll(async () => {
  vendor = startVendor()
  tasks = startTaskVendor()
  const chat = testModels['test-chat'] as ModelConfig
  gateway = await startTestGateway({
    upstreams: {
      odd: vendor.upstream,
      native: { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' },
      dashscope: tasks.upstream,
    },
    models: {
      odd: { ...chat, upstream: 'odd' },
      'odd-native': { ...chat, family: 'anthropic-messages', upstream: 'native' },
      'odd-embedding': { ...(testModels['test-embedding'] as ModelConfig), upstream: 'odd' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
  tasks[Symbol.dispose]()
})

const ORGANIZATION = 'org-Abc123Def456Ghi789'
/** The members that vendors add to their usage, as recorded. */
const COSTS = {
  cost: 0.00012,
  cost_details: { upstream_inference_cost: null, upstream_inference_prompt_cost: 7e-7 },
  is_byok: false,
  cost_in_usd_ticks: 12345,
  estimated_cost: 0.1,
  prompt_tokens_details: { cached_tokens: 1, cost: 9 },
}
const COSTLY = /cost|byok|org_id/

const chat = { model: 'odd', messages: say('Hi') }
const withCosts = (usage: object) => ({ ...usage, ...COSTS })
const reply = (() => {
  const { usage, ...rest } = completion('It costs nothing: {"cost": 5}', 5, 7) as { usage: object }
  return { ...rest, org_id: ORGANIZATION, cost: 1, usage: withCosts(usage) }
})()
const usageEvent = (usage: object) =>
  `data: ${JSON.stringify({ ...reply, object: 'chat.completion.chunk', choices: [], usage })}\n\n`
const stream = chunk('Hello') + usageEvent(withCosts({ prompt_tokens: 3, completion_tokens: 4 })) + DONE
const native = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'tool_use', id: 't', name: 'pay', input: { cost: 5, usage: { cost: 3 } } }],
  stop_reason: 'tool_use',
  usage: withCosts({ input_tokens: 3, output_tokens: 2 }),
}
const nativeStream = [
  { type: 'message_start', message: { ...native, content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: withCosts({ output_tokens: 9 }) },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('')
const messages = { path: '/v1/messages', max_tokens: 9 }
const embedding = { object: 'list', model: 'e', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] }

interface Row {
  name: string
  path?: string
  body?: object
  text: string
}

const answers: readonly Row[] = [
  { name: 'a chat answer', text: JSON.stringify(reply) },
  {
    name: 'one as messages',
    path: messages.path,
    body: { ...chat, max_tokens: 9 },
    text: JSON.stringify(reply),
  },
  {
    name: 'a stream',
    body: { ...chat, stream: true, stream_options: { include_usage: true } },
    text: stream,
  },
  {
    name: 'a stream as messages',
    path: messages.path,
    body: { ...chat, max_tokens: 9, stream: true },
    text: stream,
  },
  {
    name: 'a native stream',
    path: messages.path,
    body: { ...chat, model: 'odd-native', max_tokens: 9, stream: true },
    text: nativeStream,
  },
  {
    name: 'a native stream as chat',
    body: { ...chat, model: 'odd-native', stream: true, stream_options: { include_usage: true } },
    text: nativeStream,
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    body: { model: 'odd-embedding', input: 'x' },
    text: JSON.stringify({ ...embedding, usage: withCosts({ prompt_tokens: 3, total_tokens: 3 }) }),
  },
]

describe('the operator’s costs are removed from', () => {
  for (const { name, path = '/v1/chat/completions', body = chat, text } of answers) {
    test(name, async () => {
      const type = text.startsWith('{') ? 'application/json' : 'text/event-stream'
      const account = { 'openai-organization': ORGANIZATION, 'anthropic-organization-id': ORGANIZATION }
      vendor.answer = () => new Response(text, { headers: { 'content-type': type, ...account } })
      const response = await gateway.post(path, body)
      const answered = await response.text()
      expect({ status: response.status, answered }).toMatchObject({ status: 200 })
      expect(answered.replaceAll('costs nothing: {\\"cost\\": 5}', '')).not.toMatch(COSTLY)
      expect(answered).toContain('tokens')
      expect(JSON.stringify([...response.headers]).replace('x-gateway-cost-usd', '')).not.toMatch(/org|cost/)
    })
  }

  test('every event of a stream, also one with an account but without usage', async () => {
    const piece = (text: string) =>
      `data: ${JSON.stringify({ ...JSON.parse(chunk(text).slice(6)), organization_id: ORGANIZATION })}\n\n`
    const words = ['One', 'of', 'many', 'events']
    const body = `${words.map(piece).join('')}${usageEvent({ prompt_tokens: 3, completion_tokens: 4 })}${DONE}`
    // All together, and each separately.
    for (const pieces of [[body], body.split(/(?<=\n\n)/)]) {
      vendor.answer = () => {
        const source = new ReadableStream({
          async start(controller) {
            for (const each of pieces) {
              controller.enqueue(Buffer.from(each))
              await Bun.sleep(2)
            }
            controller.close()
          },
        })
        return new Response(source, { headers: { 'content-type': 'text/event-stream' } })
      }
      const response = await gateway.post('/v1/chat/completions', { ...chat, stream: true })
      const text = await response.text()
      for (const word of words) expect(text).toContain(`"${word}"`)
      expect(text).toContain('[DONE]')
      expect(text).not.toMatch(/organization|org_id/)
      expect(text).not.toContain(ORGANIZATION)
    }
  })

  test('a native answer, but not from text written by the model', async () => {
    vendor.answer = () => Response.json(native)
    const response = await gateway.post('/v1/messages', { ...chat, model: 'odd-native', max_tokens: 9 })
    const { content, usage } = (await response.json()) as typeof native
    expect(content).toEqual(native.content)
    expect(usage).not.toHaveProperty('cost')
    expect(usage.prompt_tokens_details).toEqual({ cached_tokens: 1 } as never)
  })

  test('a video task, but not from the operator’s books', async () => {
    const response = await gateway.post('/v1/videos/generations?wait=300', {
      model: 'gkx-imagine-video',
      prompt: '[sandbox task_ms=1] x',
      duration: 5,
    })
    const answered = await response.text()
    expect(answered).toContain('succeeded')
    expect(answered).not.toMatch(COSTLY)
    const [charge] = await gateway.server.world.db.query({
      sql: `select usage_shape from charges where model = 'gkx-imagine-video'`,
    })
    expect(charge?.usage_shape).toContain('cost_in_usd_ticks')
  })
})

describe('only the operator’s data is removed from a text', () => {
  const rows: readonly [name: string, before: string, after: string][] = [
    [
      'in the middle',
      '{ "a" : 1.0, "usage":{"x": 12345678901234567890 , "cost":1.50,"y":2} }',
      '{ "a" : 1.0, "usage":{"x": 12345678901234567890,"y":2} }',
    ],
    ['alone', '{"usage":{"cost":1}}', '{"usage":{}}'],
    ['nested', '{"usage":{"d":{"cost_x":[1],"k":1}},"b":1.10}', '{"usage":{"d":{"k":1}},"b":1.10}'],
    ['in a choice', '{"choices":[{"usage":{"cost":1,"n":2}}]}', '{"choices":[{"usage":{"n":2}}]}'],
    [
      'in an object of it',
      '{"x_vendor":{"usage":{"cost":1,"n":2},"z":1.0}}',
      '{"x_vendor":{"usage":{"n":2},"z":1.0}}',
    ],
    ...['organization_id', 'organisationId', 'org_id', 'project_id', 'accountId', 'team_id', 'tenantID'].map(
      (name): [string, string, string] => [
        `an account next to no costs: ${name}`,
        `{"id":"a", "${name}":"x-1","choices":[]}`,
        '{"id":"a","choices":[]}',
      ],
    ),
    ['repeated', '{"usage":{"cost":1,"cost":2,"n":3}}', '{"usage":{"n":3}}'],
    ['nothing', '{"usage":{"n":1.0},"message":{"cost":4}}', '{"usage":{"n":1.0},"message":{"cost":4}}'],
  ]
  for (const [name, before, after] of rows) {
    test(name, () => {
      const json = JSON.parse(before)
      expect(callerText(before, json)).toBe(after)
      if (before === after) expect(callerView(json)).toBe(json)
      const event = (text: string) => `event: e\ndata: ${text}\n\n`
      expect(callerEvent(event(before), false)).toBe(event(after))
    })
  }

  test('in an event whose data is on several lines', () => {
    const event = 'event: e\ndata: {"usage":\ndata: {"cost":1,\ndata: "n":2}}\n\n'
    expect(callerEvent(event, false)).toBe('event: e\ndata: {"usage": {"n":2}}\n\n')
  })
})

/** Errors in the vendors' words. */
const complaints: readonly [reported: string, shown: string][] = [
  [
    `Rate limit reached for gpt-5-mini in organization ${ORGANIZATION} on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. Please try again in 1s.`,
    'Rate limit reached for gpt-5-mini in organization … on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. Please try again in 1s.',
  ],
  [
    'Project `proj_AbCdEf0123456789` does not have access to model `o3`',
    'Project `…` does not have access to model `o3`',
  ],
  [
    'This request would exceed your organization’s rate limit of 30,000 input tokens per minute (org: 1f2e3d4c-aaaa-bbbb-cccc-0123456789ab)',
    'This request would exceed your organization’s rate limit of 30,000 input tokens per minute (org: …)',
  ],
  [
    "Quota exceeded for quota metric 'Generate Content API requests per minute' of service 'x.googleapis.com' for consumer 'project_number:123456789012'.",
    "Quota exceeded for quota metric 'Generate Content API requests per minute' of service 'x.googleapis.com' for consumer 'project_number:…'.",
  ],
  [
    'Permission denied on projects/my-project-77/locations/eu',
    'Permission denied on projects/…/locations/eu',
  ],
  [
    'Your team 1f2e3d4c-aaaa-bbbb-cccc-0123456789ab has used all its credits.',
    'Your team … has used all its credits.',
  ],
  [
    'Your account 2100123456 has reached the set inference limit',
    'Your account … has reached the set inference limit',
  ],
  ['account_id=acct-99881122, wait', 'account_id=…, wait'],
  // These contain no data of the operator.
  [
    'The org-mode file of your organization has 12 projects and 3 accounts.',
    'The org-mode file of your organization has 12 projects and 3 accounts.',
  ],
  [
    'Request 1f2e3d4c-aaaa-bbbb-cccc-0123456789ab failed for model gpt-4.1-mini-2025-04-14.',
    'Request 1f2e3d4c-aaaa-bbbb-cccc-0123456789ab failed for model gpt-4.1-mini-2025-04-14.',
  ],
]

describe('the operator’s account is removed from', () => {
  for (const [reported, shown] of complaints)
    test(reported.slice(0, 70), () => expect(withoutAccountIds(reported)).toBe(shown))

  const [reported, shown] = complaints[0] as [string, string]
  const error = { error: { message: reported, type: 'tokens', param: null, code: 'rate_limit_exceeded' } }

  for (const status of [400, 429, 500, 503]) {
    test(`an error with status ${status}`, async () => {
      vendor.answer = () => Response.json(error, { status, headers: { 'openai-organization': ORGANIZATION } })
      const response = await gateway.post('/v1/chat/completions', chat)
      const text = await response.text()
      expect(text).toContain(shown)
      expect(text + JSON.stringify([...response.headers])).not.toContain(ORGANIZATION)
    })
  }

  test('an error inside a stream, in both dialects', async () => {
    const text = `${chunk('Grüße')}data: ${JSON.stringify(error)}\n\n`
    vendor.answer = () => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    const same = await (await gateway.chat({ model: 'odd', stream: true })).text()
    expect(same).toContain(`"message":"${shown}"`)
    expect(same).toContain('Grüße')
    const other = await (await gateway.post('/v1/messages', { ...chat, max_tokens: 9, stream: true })).text()
    expect(other).toContain(shown)
  })

  test('a failed task', async () => {
    tasks.answerPoll = (id) => {
      const why = { code: 'Throttling', message: reported }
      return Response.json({ request_id: 'r', output: { task_id: id, task_status: 'FAILED', ...why } })
    }
    const submitted = await gateway.post('/v1/videos/generations', videoBody('x'))
    const { id } = (await submitted.json()) as { id: string }
    const read = async () => {
      const headers = { authorization: `Bearer ${gateway.secret}` }
      return (await fetch(`${gateway.url}/v1/videos/generations/${id}`, { headers })).text()
    }
    await waitFor(async () => (await read()).includes('"failed"'))
    expect(await read()).toContain(shown)
    expect(await read()).not.toContain(ORGANIZATION)
    const rows = await gateway.server.world.db.query({ sql: 'select * from tasks' })
    expect(JSON.stringify(rows)).not.toContain(ORGANIZATION)
  })
})
