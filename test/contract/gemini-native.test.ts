// Gemini models with their own API, for callers of every dialect: the vendor's requests, signatures sent back in the
// next turn, the ends of answers, and costs.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'

const price = {
  per_1m_input_tokens: '1.00',
  per_1m_cached_input_tokens: '0.10',
  per_1m_output_tokens: '2.00',
}
const tiered = { ...price, service_tiers: { flex: '0.5', priority: '2' } }
const native = (upstreamModel: string, more: Partial<ModelConfig> = {}): ModelConfig => ({
  family: 'gemini-contents',
  upstream: 'google',
  upstreamModel,
  price,
  ...more,
})

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      g3: native('gemini-3-flash-preview'),
      'g2.5': native('gemini-2.5-flash'),
      searching: native('gemini-3-pro-preview', { price: { ...price, per_1k_web_searches: '14' } }),
      grounding: native('gemini-2.5-flash', { price: { ...price, per_1k_grounded_prompts: '35' } }),
      vertex: native('google/gemini-3-flash-preview', { upstream: 'vertex' }),
      tiers: native('gemini-2.5-flash', { price: tiered }),
      'vertex-tiers': native('google/gemini-2.5-flash', { upstream: 'vertex', price: tiered }),
      drawing: native('gemini-2.5-flash-image', { price: { ...price, per_1m_output_image_tokens: '30' } }),
      hearing: native('gemini-3-flash-preview', { price: { ...price, per_1m_input_audio_tokens: '4.00' } }),
      compatible: { ...(testModels['test-google'] as ModelConfig), upstreamModel: 'gemini-3-flash-preview' },
    },
  })
  // Its key is exchanged for a token first.
  await gateway.post('/v1/chat/completions', { model: 'vertex', messages: say('Hi') })
})
afterAll(() => gateway.close())

const lastCall = () => gateway.sandbox.calls.at(-1)
const lastBody = () => JSON.parse(lastCall()?.body ?? '')
const contentsPath = (model: string, method = 'generateContent') => `/v1beta/models/${model}:${method}`
const said = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })

function ask(path: string, body: unknown, expected: Partial<Scenario> = {}) {
  return play(gateway, { name: 'native', path, body, status: 200, vendorCalls: 1, charges: 1, ...expected })
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const chatTools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: { name, parameters: schema },
}))

describe('chat completions', () => {
  test('instructions, settings, images and a schema in the vendor’s fields', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const { json } = await ask('/v1/chat/completions', {
      model: 'g3',
      messages: [
        { role: 'system', content: 'Be kind' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
      temperature: 0.5,
      top_p: 0.9,
      stop: ['###'],
      max_tokens: 900,
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    })
    expect(lastCall()?.path).toEndWith('/models/gemini-3-flash-preview:generateContent')
    expect(lastBody()).toEqual({
      systemInstruction: { parts: [{ text: 'Be kind' }] },
      contents: [
        {
          role: 'user',
          parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
        },
      ],
      generationConfig: {
        maxOutputTokens: 900,
        temperature: 0.5,
        topP: 0.9,
        stopSequences: ['###'],
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        thinkingConfig: { thinkingLevel: 'LOW' },
      },
    })
    expect(JSON.parse(json.choices[0].message.content)).toHaveProperty('city')
    expect(json.usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  })

  test('an effort becomes a budget for older models', async () => {
    await ask('/v1/chat/completions', { model: 'g2.5', messages: say('Hi'), reasoning_effort: 'none' })
    expect(lastBody().generationConfig.thinkingConfig).toEqual({ thinkingBudget: 0 })
    await ask('/v1/chat/completions', { model: 'g2.5', messages: say('Hi'), reasoning_effort: 'medium' })
    expect(lastBody().generationConfig.thinkingConfig).toEqual({ thinkingBudget: 8_192 })
  })

  for (const model of ['g3', 'g2.5', 'vertex']) {
    for (const stream of [false, true]) {
      test(`two calls and their results on ${model}${stream ? ', streamed' : ''}`, async () => {
        const messages: Json[] = say('[sandbox tool=2] How is it in Kyiv?')
        const { json, text } = await ask('/v1/chat/completions', {
          model,
          messages,
          tools: chatTools,
          stream,
        })
        const calls = stream ? callsIn(text) : json.choices[0].message.tool_calls
        expect(calls.map((call: Json) => call.function.name)).toEqual(['get_weather', 'get_time'])
        expect(new Set(calls.map(({ id }: Json) => id)).size).toBe(2)
        messages.push({ role: 'assistant', content: null, tool_calls: calls })
        for (const { id } of calls.toReversed())
          messages.push({ role: 'tool', tool_call_id: id, content: `sunny ${id}` })
        const second = await ask('/v1/chat/completions', { model, messages, tools: chatTools })
        expect(second.json.choices[0].message.content).toContain('sunny')
        const [, called, answered] = lastBody().contents
        expect(called.parts.map(({ functionCall }: Json) => functionCall.name)).toEqual([
          'get_weather',
          'get_time',
        ])
        // Results are in the order of the calls.
        expect(answered.parts.map(({ functionResponse }: Json) => functionResponse.name)).toEqual([
          'get_weather',
          'get_time',
        ])
        const isSigned = model !== 'g2.5'
        expect(called.parts.map((part: Json) => 'thoughtSignature' in part)).toEqual([isSigned, false])
        expect('id' in called.parts[0].functionCall).toBe(model !== 'vertex')
      })
    }
  }

  test('the vendor’s filter blocks the answer', async () => {
    for (const words of ['block=SAFETY', 'finish=SAFETY']) {
      const { json } = await ask('/v1/chat/completions', {
        model: 'g3',
        messages: say(`[sandbox ${words}] Hi`),
      })
      expect(json.choices[0].finish_reason).toBe('content_filter')
    }
    const failing = { model: 'g3', messages: say('[sandbox finish=MALFORMED_FUNCTION_CALL] Hi') }
    const words = ['Ended by MALFORMED_FUNCTION_CALL.']
    await ask('/v1/chat/completions', failing, { status: 502, words })
    await ask('/v1/chat/completions', { ...failing, stream: true }, { words, reported: 'upstream_error' })
  })

  test('sound needs a separate price, in every dialect', async () => {
    const input_audio = { data: 'UklGRg==', format: 'wav' }
    const none = { status: 400, vendorCalls: 0, charges: 0 }
    const messages = [{ role: 'user', content: [{ type: 'input_audio', input_audio }] }]
    const { json } = await ask('/v1/chat/completions', { model: 'g3', messages }, none)
    expect(json.error.param).toBe('messages[0].content[0].input_audio')
    const input = [{ role: 'user', content: [{ type: 'input_audio', input_audio }] }]
    const { json: other } = await ask('/v1/responses', { model: 'g3', input }, none)
    expect(other.error.param).toBe('input[0].content[0].type')
    const { charges } = await ask('/v1/chat/completions', { model: 'hearing', messages })
    // 50 tokens of the sound at four times the price of text.
    const usage = JSON.parse(String(charges[0]?.usage))
    const text = usage.promptTokenCount - 50
    expect(Number(charges[0]?.amount)).toBe(
      text * 1_000 + 50 * 4_000 + (usage.totalTokenCount - usage.promptTokenCount) * 2_000,
    )
  })

  test('a vendor’s error keeps its message, without the key', async () => {
    const messages = say('[sandbox status=400 error_text="An odd wish"] Hi')
    const { json } = await ask('/v1/chat/completions', { model: 'g3', messages }, { status: 400 })
    expect(json.error.message).toContain('An odd wish')
  })
})

function callsIn(text: string): Json[] {
  const calls: Json[] = []
  for (const line of text.split('\n')) {
    if (!line.startsWith('data: {')) continue
    for (const piece of JSON.parse(line.slice(6)).choices[0]?.delta.tool_calls ?? []) {
      calls[piece.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
      const call = calls[piece.index]
      call.id ||= piece.id ?? ''
      call.function.name ||= piece.function?.name ?? ''
      call.function.arguments += piece.function?.arguments ?? ''
    }
  }
  return calls
}

describe('messages', () => {
  test('thinking is sent back signed, with the part that it belongs to', async () => {
    const tools = [{ name: 'get_weather', input_schema: schema }]
    const ofMessages = {
      model: 'g3',
      max_tokens: 2_000,
      tools,
      thinking: { type: 'adaptive', display: 'summarized' },
    }
    const messages: Json[] = say('[sandbox tool reasoning=9] How is it in Kyiv?')
    const { json } = await ask('/v1/messages', { ...ofMessages, messages })
    expect(json.content.map(({ type }: Json) => type)).toEqual(['thinking', 'tool_use'])
    expect(json.stop_reason).toBe('tool_use')
    const { id } = json.content[1]
    messages.push({ role: 'assistant', content: json.content })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'sunny' }] })
    await ask('/v1/messages', { ...ofMessages, messages })
    const [, called] = lastBody().contents
    expect(called.parts).toHaveLength(1)
    expect(called.parts[0].thoughtSignature).toBeString()
    expect(called.parts[0].thoughtSignature).not.toContain('skip')
    // Another model gets the documented placeholder.
    await ask('/v1/messages', { ...ofMessages, model: 'searching', messages })
    expect(lastBody().contents[1].parts[0].thoughtSignature).toBe('skip_thought_signature_validator')
  })

  test('a refusal, and a limit', async () => {
    const body = { model: 'g3', max_tokens: 2_000, messages: say('[sandbox block=PROHIBITED_CONTENT] Hi') }
    expect((await ask('/v1/messages', body)).json.stop_reason).toBe('refusal')
    const short = { model: 'g3', max_tokens: 3, messages: say('[sandbox tokens=50 reasoning=1] Hi') }
    expect((await ask('/v1/messages', short)).json.stop_reason).toBe('max_tokens')
  })
})

test('responses keep sealed reasoning and function calls', async () => {
  const tools = [{ type: 'function', name: 'get_weather', parameters: schema }]
  const input = [{ role: 'user', content: '[sandbox tool reasoning=9] How is it in Kyiv?' }]
  const { json } = await ask('/v1/responses', { model: 'g3', input, tools, reasoning: { summary: 'auto' } })
  expect(json.output.map(({ type }: Json) => type)).toEqual(['reasoning', 'function_call'])
  const result = { type: 'function_call_output', call_id: json.output[1].call_id, output: 'sunny' }
  const { json: second } = await ask('/v1/responses', {
    model: 'g3',
    previous_response_id: json.id,
    input: [result],
    tools,
  })
  expect(second.output.at(-1).content[0].text).toContain('sunny')
  expect(lastBody().contents[1].parts[0].thoughtSignature).not.toContain('skip')
})

describe('service tiers', () => {
  /** The price of a chat by its usage, in nano-dollars, at the standard tier. */
  const usual = ({ prompt_tokens: input, completion_tokens: output }: Json) => input * 1_000 + output * 2_000

  for (const stream of [false, true]) {
    test(`a tier with a price is requested and charged${stream ? ', streamed' : ''}`, async () => {
      const body = { messages: say('Hi'), stream, ...(stream && { stream_options: { include_usage: true } }) }
      for (const [tier, factor] of [
        ['flex', 0.5],
        ['priority', 2],
        ['default', 1],
      ] as const) {
        const { text, charges } = await ask('/v1/chat/completions', {
          ...body,
          model: 'tiers',
          service_tier: tier,
        })
        expect(lastBody().serviceTier).toBe(tier === 'default' ? undefined : tier)
        const [, input, output] = text.match(/"prompt_tokens":(\d+),"completion_tokens":(\d+)/) ?? []
        const usage = { prompt_tokens: Number(input), completion_tokens: Number(output) }
        expect(Number(charges[0]?.amount)).toBe(usual(usage) * factor)
      }
    })
  }

  test('Vertex AI gets the tier in a header, and reports it as the traffic type', async () => {
    const { json, charges } = await ask('/v1/chat/completions', {
      model: 'vertex-tiers',
      messages: say('Hi'),
      service_tier: 'flex',
    })
    expect(lastBody()).not.toHaveProperty('serviceTier')
    expect(lastCall()?.headers['x-vertex-ai-llm-shared-request-type']).toBe('flex')
    expect(json.service_tier).toBe('flex')
    expect(Number(charges[0]?.amount)).toBe(usual(json.usage) / 2)
  })

  test('a tier without a price is rejected in chat, and omitted in responses', async () => {
    const request = { model: 'g3', service_tier: 'flex' }
    const free = { status: 400, vendorCalls: 0, charges: 0 }
    const { json } = await ask('/v1/chat/completions', { ...request, messages: say('Hi') }, free)
    expect(json.error.param).toBe('service_tier')
    await ask('/v1/responses', { ...request, input: 'Hi' })
    expect(lastBody()).not.toHaveProperty('serviceTier')
  })

  test('callers of Google request a tier in their own field', async () => {
    const { json, charges } = await ask(contentsPath('tiers'), { ...said('Hi'), serviceTier: 'flex' })
    expect(lastBody().serviceTier).toBe('flex')
    const { promptTokenCount: input, totalTokenCount: total } = json.usageMetadata
    expect(Number(charges[0]?.amount)).toBe((input * 1_000 + (total - input) * 2_000) / 2)
  })
})

describe('contents', () => {
  test('pass unchanged, in both spellings, without the members that are in the path', async () => {
    const text =
      '{ "contents": [{"role":"user","parts":[{"text":"Hi"}]}], "safetySettings": [], "generationConfig": {"temperature": 1.0} }'
    await ask(contentsPath('g3'), text, { headers: { 'content-type': 'application/json' } })
    expect(lastCall()?.body).toContain('{"temperature": 1.0}')
    expect(Object.keys(lastBody())).toEqual(['contents', 'safetySettings', 'generationConfig'])
    await ask(contentsPath('g3'), {
      ...said('Hi'),
      system_instruction: { parts: [{ text: 'Be kind' }] },
      generation_config: { max_output_tokens: 90, thinking_config: { thinking_level: 'low' } },
    })
    expect(lastBody()).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be kind' }] },
      generationConfig: { maxOutputTokens: 90, thinkingConfig: { thinkingLevel: 'low' } },
    })
  })

  test('with several candidates are one call, whole and not streamed', async () => {
    const body = { ...said('[sandbox tokens=10] Hi'), generationConfig: { candidateCount: 2 } }
    const { json, charges } = await ask(contentsPath('g3'), body)
    expect(json.candidates).toHaveLength(2)
    const { promptTokenCount: input, totalTokenCount: total } = json.usageMetadata
    expect(Number(charges[0]?.amount)).toBe(input * 1_000 + (total - input) * 2_000)
    await ask(contentsPath('g3', 'streamGenerateContent'), body, { status: 400, vendorCalls: 0, charges: 0 })
  })

  const refused: [name: string, body: object, field: string][] = [
    ['a search without a price', { tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    ['in the other spelling', { tools: [{ google_search: {} }] }, 'tools[0].google_search'],
    ['a map', { tools: [{ googleMaps: {} }] }, 'tools[0].googleMaps'],
    ['what is cached', { cached_content: 'cachedContents/1' }, 'cached_content'],
    ['a tier without a price', { serviceTier: 'flex' }, 'serviceTier'],
    ['a tier in both spellings', { service_tier: 'standard', serviceTier: 'standard' }, 'service_tier'],
    [
      'images, in mixed spelling',
      { generation_config: { responseModalities: ['IMAGE'] } },
      'generation_config.responseModalities[0]',
    ],
    [
      'sound',
      { contents: [{ parts: [{ inline_data: { mimeType: 'audio/wav', data: 'AA==' } }] }] },
      'contents[0].parts[0].inline_data.mimeType',
    ],
    ['another model', { generationConfig: { routingConfig: {} } }, 'generationConfig.routingConfig'],
    [
      'a storage location for the output',
      { outputConfig: { outputUriPrefix: 'gs://bucket/' } },
      'outputConfig',
    ],
    ['an earlier answer', { continuationToken: 'x' }, 'continuationToken'],
    [
      'a file of the account',
      { contents: [{ parts: [{ fileData: { fileUri: 'gs://bucket/x' } }] }] },
      'contents[0].parts[0].fileData.fileUri',
    ],
  ]
  for (const [name, body, field] of refused) {
    test(`${name} is rejected by its place`, async () => {
      const { json } = await ask(
        contentsPath('g3'),
        { ...said('Hi'), ...body },
        { status: 400, vendorCalls: 0, charges: 0 },
      )
      const violation = json.error.details.find((each: Json) => each['@type'].endsWith('BadRequest'))
      expect(violation.fieldViolations[0].field).toBe(field)
    })
  }

  test('a signature sealed for another model is replaced by the placeholder', async () => {
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: schema }] }]
    const contents: Json[] = [{ role: 'user', parts: [{ text: '[sandbox tool] How is it?' }] }]
    const { json } = await ask(contentsPath('compatible'), { contents, tools })
    const { content } = json.candidates[0]
    const signed = content.parts.filter(({ thoughtSignature }: Json) => thoughtSignature)
    expect(signed).toHaveLength(1)
    contents.push(content, {
      role: 'user',
      parts: content.parts.flatMap(({ functionCall }: Json) =>
        functionCall
          ? [{ functionResponse: { ...functionCall, args: undefined, response: { output: 'sunny' } } }]
          : [],
      ),
    })
    await ask(contentsPath('compatible'), { contents, tools })
    await ask(contentsPath('g3'), { contents, tools })
    expect(lastBody().contents[1].parts[0].thoughtSignature).toBe('skip_thought_signature_validator')
  })

  test('are counted by the vendor, for free', async () => {
    for (const model of ['g3', 'vertex']) {
      const { json } = await ask(contentsPath(model, 'countTokens'), said('Hello there'), {
        charges: 0,
        logRows: 0,
      })
      expect(json.totalTokens).toBeGreaterThan(0)
      expect(lastCall()?.path).toContain(':countTokens')
    }
  })
})

describe('what it costs', () => {
  for (const stream of [false, true]) {
    test(`cached tokens and thinking have their prices${stream ? ', streamed' : ''}`, async () => {
      const prompt = '[sandbox prompt_tokens=1000 cached=400 tokens=50 reasoning=20] Hi'
      const paid = 600 * 1_000 + 400 * 100 + 70 * 2_000
      const chat = await ask('/v1/chat/completions', { model: 'g3', messages: say(prompt), stream })
      expect(Number(chat.charges[0]?.amount)).toBe(paid)
      const path = contentsPath('g3', stream ? 'streamGenerateContent' : 'generateContent')
      const own = await ask(path, said(prompt))
      expect(Number(own.charges[0]?.amount)).toBe(paid)
      const { usageMetadata } = stream ? own.json.at(-1) : own.json
      expect(usageMetadata).toMatchObject({ thoughtsTokenCount: 20, cachedContentTokenCount: 400 })
    })
  }

  test('searches are charged by number', async () => {
    const { charges } = await ask(contentsPath('searching'), {
      ...said('[sandbox searches=2 prompt_tokens=100 tokens=10 reasoning=0] Hi'),
      tools: [{ googleSearch: {} }],
    })
    const usage = JSON.parse(String(charges[0]?.usage))
    expect(usage.toolUsePromptTokenCount).toBe(200)
    expect(Number(charges[0]?.amount)).toBe(300 * 1_000 + 10 * 2_000 + 2 * 14_000_000)
  })

  test.each([0, 1, 7])(
    'an older model’s searches are charged once per prompt, for %p searches',
    async (searches) => {
      const { charges } = await ask(contentsPath('grounding'), {
        ...said(`[sandbox searches=${searches} prompt_tokens=100 tokens=10 reasoning=0] Hi`),
        tools: [{ google_search: {} }],
      })
      const billed = searches > 0 ? 35_000_000 : 0
      expect(Number(charges[0]?.amount)).toBe((100 + 100 * searches) * 1_000 + 10 * 2_000 + billed)
      expect(Number(charges[0]?.held)).toBeGreaterThanOrEqual(Number(charges[0]?.amount))
    },
  )

  test.each(['urlContext', 'codeExecution'])(
    'input that %s adds is held as the model’s whole context',
    async (tool) => {
      const { charges } = await ask(contentsPath('g3'), {
        ...said('[sandbox prompt_tokens=100 tokens=10 reasoning=0] Hi'),
        tools: [{ [tool]: {} }],
      })
      const { held, amount } = charges[0] as { held: unknown; amount: unknown }
      expect(Number(amount)).toBe(100 * 1_000 + 10 * 2_000)
      expect(Number(held)).toBeGreaterThan(65_536 * 1_000)
    },
  )

  for (const stream of [false, true]) {
    test(`images are charged by tokens${stream ? ', streamed' : ''}`, async () => {
      const { json, charges } = await ask(
        contentsPath('drawing', stream ? 'streamGenerateContent' : 'generateContent'),
        {
          ...said('[sandbox prompt_tokens=100 tokens=10 reasoning=0] A fox'),
          generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
        },
      )
      const events: Json[] = stream ? json : [json]
      const parts = events.flatMap(({ candidates }) => candidates[0].content.parts ?? [])
      expect(parts.find(({ inlineData }: Json) => inlineData)?.inlineData.mimeType).toBe('image/png')
      expect(Number(charges[0]?.amount)).toBe(100 * 1_000 + 10 * 2_000 + 1_120 * 30_000)
      // All of the output may be images: 4,096 tokens are held without a limit.
      expect(Number(charges[0]?.held)).toBeGreaterThanOrEqual(4_096 * 30_000)
    })
  }

  test('implausible usage is replaced by the gateway’s count', async () => {
    for (const fault of ['missing', 'negative', 'huge', 'string']) {
      const { charges, json } = await ask(contentsPath('g3'), said(`[sandbox usage=${fault} tokens=20] Hi`))
      expect(charges[0]?.usage_source).not.toBe('upstream')
      const { promptTokenCount: input, totalTokenCount: total } = json.usageMetadata
      expect(Number(charges[0]?.amount)).toBe(input * 1_000 + (total - input) * 2_000)
    }
  })

  test('a stream is cut when the balance is used up, with an error', async () => {
    const { secret } = await gateway.makeKey('short', '0.0008')
    const { json, charges } = await ask(
      contentsPath('g3', 'streamGenerateContent'),
      { ...said('[sandbox tokens=3000 reasoning=0] Hi'), generationConfig: { maxOutputTokens: 20_000 } },
      { key: secret },
    )
    const last = json.at(-1)
    expect(last.candidates[0].finishReason).toBe('MAX_TOKENS')
    const { promptTokenCount: input, totalTokenCount: total } = last.usageMetadata
    expect(Number(charges[0]?.amount)).toBe(input * 1_000 + (total - input) * 2_000)
    expect(Number(charges[0]?.amount)).toBeLessThanOrEqual(800_000)
  })

  test('a stream that breaks off is charged for the delivered part', async () => {
    const { json, charges } = await ask(
      contentsPath('g3', 'streamGenerateContent'),
      said('[sandbox tokens=50 cut_after=10] Hi'),
    )
    expect(json.at(-1).error).toMatchObject({ code: expect.any(Number), message: expect.any(String) })
    expect(Number(charges[0]?.amount)).toBeGreaterThan(0)
  })
})
