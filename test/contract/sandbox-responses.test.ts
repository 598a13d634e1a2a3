// The simulated responses of OpenAI: as strict as the service about requests, and with events in the recorded order.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import { readResponse } from '../support/answers/response-events'
import type { Json } from '../support/scenario'

let sandbox: Sandbox
beforeAll(() => {
  sandbox = startSandbox()
})
afterAll(() => sandbox.stop())

async function post(body: Json, path = '/responses') {
  const response = await fetch(`${sandbox.baseUrls.openai}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.secrets.openai}` },
    body: JSON.stringify({ model: 'gpt-5-mini', input: 'Hi', store: false, ...body }),
  })
  const text = await response.text()
  return { status: response.status, text, json: body.stream ? undefined : (JSON.parse(text) as Json) }
}

const SEALED = { include: ['reasoning.encrypted_content'] }
const user = (content: string) => ({ role: 'user', content })
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }

describe('rejects', () => {
  test.each<[name: string, body: Json, param: string | null, words: string]>([
    ['no input', { input: null }, 'input', "Missing required parameter: 'input'."],
    ['an unknown field', { max_tokens: 50 }, 'max_tokens', "Unknown parameter: 'max_tokens'."],
    ['a low limit', { max_output_tokens: 15 }, 'max_output_tokens', 'Expected a value >= 16'],
    [
      'a temperature for a reasoning model',
      { temperature: 0.5 },
      'temperature',
      "Unsupported parameter: 'temperature'",
    ],
    [
      'an effort that the model does not support',
      { reasoning: { effort: 'xhigh' } },
      'reasoning.effort',
      "'xhigh' is not supported with the 'gpt-5-mini' model",
    ],
    [
      'encrypted reasoning for a model without reasoning',
      { ...SEALED, model: 'gpt-4.1-mini' },
      'include',
      'not supported',
    ],
    [
      'a schema without a name',
      { text: { format: { type: 'json_schema', schema: {} } } },
      'text.format.name',
      'Missing',
    ],
    ['an item of an unknown type', { input: [{ type: 'mood' }] }, 'input[0].type', "Invalid value: 'mood'."],
    [
      'a duplicate item',
      {
        input: [
          { ...call, id: 'fc_1' },
          { ...call, id: 'fc_1' },
        ],
      },
      'input',
      'Duplicate item found with id fc_1.',
    ],
    [
      'a call without arguments',
      { input: [{ ...call, arguments: undefined }] },
      'input[0].arguments',
      'Missing',
    ],
    [
      'an output without a call',
      { input: [{ type: 'function_call_output', call_id: 'call_9', output: 'x' }] },
      'input',
      'No tool call found for function call output with call_id call_9.',
    ],
    [
      'reasoning without a following item',
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }] },
      'input',
      'without its required following item',
    ],
  ])('%s', async (_, body, param, words) => {
    const { status, json } = await post(body)
    expect({ status, param: json.error.param }).toEqual({ status: 400, param })
    expect(json.error.message).toContain(words)
  })

  test('ids that it has not stored', async () => {
    for (const item of [
      { type: 'item_reference', id: 'rs_1' },
      { type: 'reasoning', id: 'rs_1', summary: [] },
    ]) {
      const { status, json } = await post({ input: [item, call] })
      expect(status).toBe(404)
      expect(json.error.message).toContain("Item with id 'rs_1' not found.")
    }
  })

  test('texts that it encrypted for another item or account', async () => {
    const { json } = await post({ ...SEALED, reasoning: { effort: 'low', summary: 'auto' } })
    const [reasoning, message] = json.output
    expect(reasoning.summary[0].text).toContain('The user wants an answer')
    const turn = (item: Json, words = 'And then?') => ({ input: [item, message, user(words)] })
    expect((await post(turn(reasoning))).status).toBe(200)
    for (const wrong of [
      turn({ ...reasoning, id: 'rs_other' }),
      turn({ ...reasoning, encrypted_content: `${reasoning.encrypted_content}A` }),
      turn(reasoning, '[sandbox account=2] And then?'),
    ]) {
      const { status, json } = await post(wrong)
      expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'invalid_encrypted_content' })
      expect(json.error.message).toContain('could not be verified')
    }
  })
})

describe('sends', () => {
  test('padding unless disabled', async () => {
    expect((await post({ stream: true })).text).toContain('"obfuscation":"x')
    const plain = await post({ stream: true, stream_options: { include_obfuscation: false } })
    expect(plain.text).not.toContain('obfuscation')
  })

  test('valid event sequences, with encrypted reasoning at the end of its item', async () => {
    const { text } = await post({ ...SEALED, stream: true, reasoning: { effort: 'low', summary: 'auto' } })
    // As OpenAI sends it: in its SDK `status` of reasoning is optional.
    const { items, response } = readResponse(`${text}data: [DONE]\n\n`, new Set(['reasoning']))
    expect(items[0].encrypted_content).toMatch(/^gAAAAA/)
    expect(response.usage.output_tokens_details.reasoning_tokens).toBe(8)
  })

  test('calls of functions, custom tools and namespaces, also mixed', async () => {
    const tools = [
      { type: 'function', name: 'look', parameters: { type: 'object' } },
      { type: 'custom', name: 'note' },
      { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
    ]
    const { text } = await post({ stream: true, tools, input: '[sandbox tool=3 interleave reasoning=0] go' })
    const { items, events } = readResponse(`${text}data: [DONE]\n\n`)
    expect(items.map(({ type, name, namespace }) => [type, name, namespace])).toEqual([
      ['function_call', 'look', undefined],
      ['custom_tool_call', 'note', undefined],
      ['function_call', 'read', 'files'],
    ])
    const added = events.flatMap(({ type }, index) => (type === 'response.output_item.added' ? [index] : []))
    expect(added).toEqual([2, 3, 4])
  })

  test('an error and then a failed response', async () => {
    const { text } = await post({ stream: true, input: '[sandbox error_after=3] Hi' })
    const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)
    expect(names.slice(-2)).toEqual(['error', 'response.failed'])
  })

  test('a tier other than the requested one, and the number of searches', async () => {
    const { json } = await post({ input: '[sandbox tier=default searches=3] Hi', service_tier: 'flex' })
    expect(json).toMatchObject({ service_tier: 'default', tool_usage: { web_search: { num_requests: 3 } } })
  })

  test('the number of tokens of a request', async () => {
    const { json } = await post({ store: undefined }, '/responses/input_tokens')
    expect(json).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) })
  })
})
