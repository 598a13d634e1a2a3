// Responses on models of chat completions and of messages through the whole gateway, with vendors that check their requests: loops
// of tools in each way in which clients send their history back, thinking that keeps its signatures and the prompt's cache, and
// faults of other gateways, by the number of the report.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import { newestCodex } from '../support/answers/response-requests'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(60_000)

/** A vendor that answers by a function, and keeps its requests. */
interface JudgingVendor {
  url: string
  received: Json[]
  answer(body: Json): Json
  stop(): Promise<void>
}

function startVendor(): JudgingVendor {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      const body = (await request.json()) as Json
      vendor.received.push(body)
      const reply = vendor.answer(body)
      return reply.error ? Response.json(reply, { status: 400 }) : Response.json(reply)
    },
  })
  const vendor: JudgingVendor = {
    url: `http://127.0.0.1:${server.port}`,
    received: [],
    answer: () => ({}),
    stop: () => server.stop(true),
  }
  return vendor
}

const price = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '2' }
const claude: ModelConfig = {
  family: 'anthropic-messages',
  upstream: 'of-messages',
  upstreamModel: 'claude-sonnet-4-5',
  maxOutputTokens: 64_000,
  price: { ...price, per_1m_cache_write_tokens: '1.25' },
}
const deepseek: ModelConfig = {
  family: 'openai-chat',
  upstream: 'of-chat',
  upstreamModel: 'deepseek-v4',
  price,
}

let gateway: TestGateway
let ofChat: JudgingVendor
let ofMessages: JudgingVendor
let client: OpenAI

beforeAll(async () => {
  ofChat = startVendor()
  ofMessages = startVendor()
  gateway = await startTestGateway({
    balance: '1000',
    models: { claude, deepseek, newer: { ...claude, upstreamModel: 'claude-opus-5-5' } },
    upstreams: {
      'of-chat': { kind: 'openai', baseUrl: ofChat.url, apiKey: 'none' },
      'of-messages': { kind: 'anthropic', baseUrl: ofMessages.url, apiKey: 'none' },
    },
  })
  client = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.close()
  await Promise.all([ofChat.stop(), ofMessages.stop()])
})

beforeEach(() => {
  ofChat.received = []
  ofMessages.received = []
  ofChat.answer = () => completion({ content: 'Done.' })
  ofMessages.answer = () => message([{ type: 'text', text: 'Done.' }])
})

function completion(reply: Json): Json {
  return {
    id: 'chatcmpl-1',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...reply }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }
}

function message(content: Json[], usage: Json = {}): Json {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5, ...usage },
  }
}

const look = {
  type: 'function' as const,
  name: 'look',
  parameters: { type: 'object', properties: {} },
  strict: false,
}
const ask = (body: Json): Promise<Json> => client.responses.create(body)

describe('a loop of tools', () => {
  const turns = {
    deepseek: () => {
      ofChat.answer = ({ messages }) => {
        const last = messages.at(-1)
        if (last.role === 'tool') return completion({ content: 'It is fine.', reasoning_content: 'Enough.' })
        return completion({
          content: 'I look.',
          reasoning_content: 'I should look.',
          tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
        })
      }
      return () => ofChat.received.at(-1).messages
    },
    claude: () => {
      ofMessages.answer = ({ messages }) =>
        messages.at(-1).content[0].type === 'tool_result'
          ? message([{ type: 'text', text: 'It is fine.' }])
          : message([
              { type: 'thinking', thinking: 'I should look.', signature: 'sig+/=' },
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 'toolu_7', name: 'look', input: { at: 1 } },
            ])
      return () => ofMessages.received.at(-1).messages
    },
  }
  const expected = {
    deepseek: [
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'I should look.',
        tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_7', content: 'all is well' },
    ],
    claude: [
      { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I should look.', signature: 'sig+/=' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_7', name: 'look', input: { at: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_7',
            content: [{ type: 'text', text: 'all is well' }],
          },
        ],
      },
    ],
  }
  const question = { role: 'user', content: 'Look.' }
  const settings = { tools: [look], reasoning: { effort: 'low' } }
  const outputOf = ({ output }: Json) => ({
    type: 'function_call_output',
    call_id: output.find(({ type }: Json) => type === 'function_call').call_id,
    output: 'all is well',
  })

  describe.each(['deepseek', 'claude'] as const)('on %s', (model) => {
    test('with the items as they came (vllm-project/vllm 33089, maximhq/bifrost 3802, 5410)', async () => {
      const sent = turns[model]()
      const first = await ask({ ...settings, model, input: [question], store: false })
      const second = await ask({
        ...settings,
        model,
        input: [question, ...first.output, outputOf(first)],
        store: false,
      })
      expect(second.output_text).toBe('It is fine.')
      expect(sent()).toEqual(expected[model])
    })

    test('with references to the items (vercel/ai 7543)', async () => {
      const sent = turns[model]()
      const first = await ask({ ...settings, model, input: [question] })
      const references = first.output.map(({ id }: Json) => ({ type: 'item_reference', id }))
      const second = await ask({ ...settings, model, input: [question, ...references, outputOf(first)] })
      expect(second.output_text).toBe('It is fine.')
      expect(sent()).toEqual(expected[model])
    })

    test('with the id of the response before (BerriAI/litellm 12364)', async () => {
      const sent = turns[model]()
      const first = await ask({ ...settings, model, input: 'Look.' })
      const second = await ask({
        ...settings,
        model,
        input: [outputOf(first)],
        previous_response_id: first.id,
      })
      expect(second.output_text).toBe('It is fine.')
      expect(sent()).toEqual(expected[model])
    })

    test('of another account, the reasoning is dropped and the rest is read', async () => {
      const sent = turns[model]()
      const first = await ask({ ...settings, model, input: [question], store: false })
      const { secret } = await gateway.makeKey(`stranger-${model}`, '10')
      const stranger = new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
      await stranger.responses.create({
        ...settings,
        model,
        input: [question, ...first.output, outputOf(first)],
        store: false,
      } as Json)
      expect(JSON.stringify(sent())).not.toContain('I should look.')
      expect(JSON.stringify(sent())).toContain('all is well')
    })
  })
})

describe('a loop of 20 turns with thinking on a vendor that checks signatures and keeps a cache', () => {
  /** Reads earlier input from the cache, and rejects thinking that it has not signed, or that is missing. */
  function judge(turnsMade: number) {
    const cached: string[] = []
    const signatures = new Map<string, string>()
    let turn = 0
    return (body: Json): Json => {
      const { messages, tools, system, thinking, cache_control: control } = body
      const prompt = [
        JSON.stringify({ tools, system, thinking }),
        ...messages.map((each: Json) => JSON.stringify(each)),
      ]
      for (const { role, content } of messages) {
        if (role !== 'assistant') continue
        const [first] = content
        if (first.type !== 'thinking') return refusal('Expected `thinking`, but found `tool_use`.')
        if (signatures.get(first.signature) !== first.thinking) return refusal('Invalid `signature`.')
      }
      let hits = 0
      while (hits < prompt.length && cached[hits] === prompt[hits]) hits++
      const read = tokensOf(prompt.slice(0, hits))
      const written = control ? tokensOf(prompt.slice(hits)) : 0
      if (control) cached.splice(0, cached.length, ...prompt)
      const thought = `Turn ${turn}: look "again" \\ ü`
      const signature = `sig-${turn}+/==`
      signatures.set(signature, thought)
      turn++
      return message(
        [
          { type: 'thinking', thinking: thought, signature },
          ...(turn < turnsMade
            ? [{ type: 'tool_use', id: `toolu_${turn}`, name: 'look', input: { turn } }]
            : [{ type: 'text', text: 'Done.' }]),
        ],
        {
          input_tokens: control ? 0 : tokensOf(prompt.slice(hits)),
          cache_read_input_tokens: read,
          cache_creation_input_tokens: written,
        },
      )
    }
  }
  const tokensOf = (parts: string[]) => parts.join('').length
  const refusal = (text: string) => ({
    type: 'error',
    error: { type: 'invalid_request_error', message: text },
  })

  test.each([
    ['whole items', false],
    ['the id of the response before', true],
  ])('%s', async (_, chained) => {
    ofMessages.answer = judge(20)
    let input: Json[] = [{ role: 'user', content: 'Look twenty times.' }]
    let previous: string | undefined
    let inputBefore = 0
    for (let turn = 0; turn < 20; turn++) {
      const response = await ask({
        model: 'claude',
        instructions: 'You look.',
        input,
        tools: [look],
        reasoning: { effort: 'high' },
        prompt_cache_key: 'thread',
        ...(chained ? { previous_response_id: previous } : { store: false }),
      })
      const { usage, output } = response
      // Everything read in the previous turn comes from the cache.
      expect(usage.input_tokens_details.cached_tokens).toBe(inputBefore)
      inputBefore = usage.input_tokens
      previous = response.id
      const call = output.find(({ type }: Json) => type === 'function_call')
      if (!call) {
        expect(turn).toBe(19)
        break
      }
      const result = { type: 'function_call_output', call_id: call.call_id, output: `seen ${turn}` }
      input = chained ? [result] : [...input, ...output, result]
    }
    expect(ofMessages.received).toHaveLength(20)
    expect(ofMessages.received.every(({ thinking }) => thinking.type === 'enabled')).toBe(true)
  })
})

describe('errors of a request that continues a conversation', () => {
  test('count the items of the request itself, and name the conversation for a fault of its own', async () => {
    const first = await ask({ model: 'deepseek', input: 'Hi' })
    const own = { model: 'deepseek', previous_response_id: first.id }
    const poem = [{ role: 'user', content: 'a' }, { type: 'poem' }]
    const error = await ask({ ...own, input: poem }).catch((error) => error)
    expect(error).toMatchObject({ status: 400, param: 'input[1].type' })
    expect(error.message).toContain("'input[1].type'")
    // Documents by address are for messages only.
    const content = [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }]
    const read = await ask({ model: 'claude', input: [{ role: 'user', content }] })
    const other = { model: 'deepseek', input: 'And?', previous_response_id: read.id }
    expect(await ask(other).catch((error) => error)).toMatchObject({
      status: 400,
      param: 'previous_response_id',
      code: 'unsupported_parameter',
    })
  })
})

describe('faults of other gateways do not occur:', () => {
  const models = ['deepseek', 'claude'] as const
  const received = (model: (typeof models)[number]) =>
    (model === 'claude' ? ofMessages : ofChat).received.at(-1)
  const namesOf = (model: (typeof models)[number]) =>
    received(model).tools.map((tool: Json) => tool.function?.name ?? tool.name)

  /** Has the vendor call a tool by the name that it was sent. */
  function calling(name: string, input: Json): void {
    ofChat.answer = () =>
      completion({
        tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(input) } }],
      })
    ofMessages.answer = () => message([{ type: 'tool_use', id: 'c1', name, input }])
  }

  describe.each(models)('on %s', (model) => {
    test('custom tools are forwarded, or come back as functions (BerriAI/litellm 27276)', async () => {
      calling('apply_patch', { input: '*** Begin Patch' })
      const { output } = await ask({
        model,
        input: 'Hi',
        tools: [
          {
            type: 'custom',
            name: 'apply_patch',
            format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
          },
        ],
      })
      expect(JSON.stringify(received(model).tools)).toContain('start: \\"x\\"')
      expect(output).toMatchObject([
        { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' },
      ])
    })

    test('a namespace is dropped (BerriAI/litellm 35878, openai/codex 32318, 26234, router-for-me/CLIProxyAPI 4850)', async () => {
      calling('mcp__files__list', { at: '/' })
      const tools = [
        { type: 'namespace', name: 'mcp__files', description: '', tools: [{ ...look, name: 'list' }] },
      ]
      const { output } = await ask({ model, input: 'Hi', tools })
      expect(namesOf(model)).toEqual(['mcp__files__list'])
      expect(output).toMatchObject([{ type: 'function_call', name: 'list', namespace: 'mcp__files' }])
      const call = output[0]
      await ask({
        model,
        input: [
          { role: 'user', content: 'Hi' },
          call,
          { type: 'function_call_output', call_id: call.call_id, output: 'a' },
        ],
        tools,
      })
      expect(JSON.stringify(received(model).messages)).toContain('"mcp__files__list"')
    })

    test('additional tools are not seen (openai/codex 37425)', async () => {
      calling('functions__wait', { cmd: 'a' })
      const { output } = await ask({ ...newestCodex('gAAAA_foreign'), model, stream: false })
      expect(namesOf(model)).toEqual(['functions__exec', 'functions__wait', 'clock__sleep', 'tool_search'])
      expect(output).toMatchObject([{ type: 'function_call', name: 'wait', namespace: 'functions' }])
    })

    test('calls of a turn are not one message (BerriAI/litellm 25618)', async () => {
      const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })
      const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: id })
      await ask({
        model,
        input: [{ role: 'user', content: 'Hi' }, call('a'), call('b'), output('b'), output('a')],
        tools: [look],
      })
      const { messages } = received(model)
      expect(messages.filter(({ role }: Json) => role === 'assistant')).toHaveLength(1)
      const results = messages
        .flatMap(
          ({ tool_call_id: id, content }: Json) => id ?? [content].flat().map((block) => block?.tool_use_id),
        )
        .filter((id: unknown) => id !== undefined)
      expect(results).toEqual(['a', 'b'])
    })

    test('an empty list of tools is sent (BerriAI/litellm 30540)', async () => {
      await ask({ model, input: 'Hi', tools: [], tool_choice: 'auto', parallel_tool_calls: true })
      expect(Object.keys(received(model)).filter((name) => /tool/.test(name))).toEqual([])
      await ask({ model, input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'auto' })
      expect(Object.keys(received(model)).filter((name) => /tool/.test(name))).toEqual([])
    })

    test('foreign reasoning and compaction reach a vendor that cannot read them (openai/codex 8145, BerriAI/litellm 41456)', async () => {
      await ask({
        model,
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA_secret' },
          { type: 'compaction', encrypted_content: 'gAAAA_summary' },
          { role: 'assistant', content: 'Yes?' },
          { role: 'user', content: 'Go on.' },
        ],
      })
      expect(JSON.stringify(received(model))).not.toContain('gAAAA')
    })

    test('arguments that are an object pass, and a vendor says so in its own words (QuantumNous/new-api 5800)', async () => {
      const error = await ask({
        model,
        input: [{ type: 'function_call', call_id: 'a', name: 'look', arguments: {} }],
      }).catch((error) => error)
      expect(error).toMatchObject({ status: 400, param: 'input[0].arguments' })
      expect([ofChat.received, ofMessages.received]).toEqual([[], []])
    })

    test('an id that is not known is ignored, and the answer empty (ollama/ollama 18419)', async () => {
      const error = await ask({ model, input: 'Hi', previous_response_id: 'resp_unknown' }).catch(
        (error) => error,
      )
      expect(error).toMatchObject({ status: 400, code: 'previous_response_not_found' })
    })

    test('a call that is written as text becomes a call, or takes words with it (vllm-project/vllm 29725, 36435)', async () => {
      const text = 'I look.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'
      ofChat.answer = () => completion({ content: text })
      ofMessages.answer = () => message([{ type: 'text', text }])
      const { output, output_text } = await ask({ model, input: 'Hi', tools: [look] })
      expect(output.map(({ type }: Json) => type)).toEqual(['message'])
      expect(output_text).toBe(text)
    })

    test('a call next to an end of the turn is lost (maximhq/bifrost 6123)', async () => {
      ofChat.answer = () =>
        completion({
          content: 'I look.',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        })
      ofMessages.answer = () => ({
        ...message([
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'look', input: {} },
        ]),
        stop_reason: 'end_turn',
      })
      const { output } = await ask({ model, input: 'Hi', tools: [look] })
      expect(output.map(({ type }: Json) => type)).toEqual(['message', 'function_call'])
    })
  })
})
