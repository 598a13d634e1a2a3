// generateContent for models of every protocol, with @google/genai in its default mode: typical requests, the costs,
// and the errors that users catch.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ApiError, type Content, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai'
import type { ModelConfig } from '../../src/config/schema'
import { families } from '../../src/families'
import { startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models = {
  'on-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    price,
  },
  native: { family: 'gemini-contents', upstream: 'google', upstreamModel: 'gemini-3-flash-preview', price },
  'native-2.5': { family: 'gemini-contents', upstream: 'google', upstreamModel: 'gemini-2.5-flash', price },
  'on-vertex': {
    family: 'gemini-contents',
    upstream: 'vertex',
    upstreamModel: 'google/gemini-2.5-pro',
    price,
  },
  thinking: { ...(testModels['test-messages'] as ModelConfig), upstreamModel: 'claude-opus-4-5' },
} satisfies Record<string, ModelConfig>
const served = ['test-chat', 'test-messages', 'on-responses', 'native', 'native-2.5', 'on-vertex']

let gateway: TestGateway
let client: GoogleGenAI
let odd: OddVendor

beforeAll(async () => {
  odd = startVendor()
  gateway = await startTestGateway({
    models: { ...models, odd: { family: 'openai-chat', upstream: 'odd', price } },
    upstreams: { odd: odd.upstream },
  })
  client = clientOf(gateway.secret)
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

function clientOf(apiKey: string, { url } = gateway): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
}

const lastBody = () => JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')
const pathOf = (model: string, method = 'generateContent') => `/v1beta/models/${model}:${method}`
const contentsOf = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })

function ask(body: unknown, expected: Partial<Scenario> = {}) {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'contents', path: pathOf('test-chat'), body, ...rest })
}

async function refused(work: Promise<unknown>): Promise<{ status: number; error: Json }> {
  try {
    await work
  } catch (error) {
    const { status, message } = error as ApiError
    return { status, error: JSON.parse(message).error }
  }
  throw new Error('it was not rejected')
}

const weather = {
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
}
const time = { name: 'get_time', parametersJsonSchema: { type: 'object', properties: {} } }

for (const model of served) {
  describe(model, () => {
    test('a text, whole and streamed', async () => {
      const whole = await client.models.generateContent({ model, contents: 'Hi there' })
      expect(whole.text).toContain('You said: Hi there')
      expect(whole.candidates?.[0]?.finishReason).toBe('STOP' as never)
      expect(whole.modelVersion).toBe(model)
      expect(whole.usageMetadata?.promptTokenCount).toBeGreaterThan(0)
      const seen: string[] = []
      let last: Json
      for await (const chunk of await client.models.generateContentStream({ model, contents: 'Hi there' })) {
        if (chunk.text) seen.push(chunk.text)
        last = chunk
      }
      expect(seen.length).toBeGreaterThan(1)
      expect(seen.join('')).toBe(whole.text as string)
      expect(last.usageMetadata.candidatesTokenCount).toBe(whole.usageMetadata?.candidatesTokenCount)
      expect(last.candidates[0].finishReason).toBe('STOP')
    })

    for (const isStream of [false, true]) {
      test(`tool calls and their results${isStream ? ', streamed' : ''}`, async () => {
        const config = { tools: [{ functionDeclarations: [weather, time] }] }
        const contents: Content[] = [
          { role: 'user', parts: [{ text: '[sandbox tool=2] How is it in Kyiv?' }] },
        ]
        const answer = async () => {
          if (!isStream) {
            const { candidates } = await client.models.generateContent({ model, contents, config })
            return candidates?.[0]?.content?.parts ?? []
          }
          const parts: Json[] = []
          const stream = await client.models.generateContentStream({ model, contents, config })
          for await (const { candidates } of stream) parts.push(...(candidates?.[0]?.content?.parts ?? []))
          return parts.filter(({ text }) => text !== '')
        }
        const parts = await answer()
        const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
        expect(calls.map(({ name }) => name)).toEqual(['get_weather', 'get_time'])
        // Gemini 2.5 returns none.
        const ids = calls.flatMap(({ id }) => id ?? [])
        expect([0, 2]).toContain(new Set(ids).size)
        contents.push({ role: 'model', parts })
        contents.push({
          role: 'user',
          parts: calls.map(({ id, name }, place) => ({
            functionResponse: { id, name, response: { output: `sunny ${place}` } },
          })) as never,
        })
        const texts = (await answer()).map(({ text }) => text ?? '')
        expect(texts.join('')).toContain('sunny 1')
      })
    }

    test('a tool that must be called', async () => {
      const { functionCalls } = await client.models.generateContent({
        model,
        contents: 'Hello',
        config: {
          tools: [{ functionDeclarations: [weather] }],
          toolConfig: {
            functionCallingConfig: {
              mode: FunctionCallingConfigMode.ANY,
              allowedFunctionNames: ['get_weather'],
            },
          },
        },
      })
      expect(functionCalls?.[0]?.name).toBe('get_weather')
    })

    test('a schema, in both forms', async () => {
      const own = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] }
      const json = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
      for (const schema of [{ responseSchema: own }, { responseJsonSchema: json }]) {
        const config = { responseMimeType: 'application/json', ...schema }
        const { text } = await client.models.generateContent({ model, contents: 'A city', config })
        expect(JSON.parse(text ?? '')).toHaveProperty('city')
      }
    })

    test('instructions, an image and settings reach the vendor', async () => {
      const data =
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
      await client.models.generateContent({
        model,
        contents: [{ inlineData: { mimeType: 'image/png', data } }, 'Describe it'],
        config: { systemInstruction: 'Be kind', maxOutputTokens: 99, stopSequences: [] },
      })
      const sent = JSON.stringify(lastBody())
      for (const text of ['Be kind', 'Describe it', data, '99']) expect(sent).toContain(text)
    })
  })
}

describe('thinking', () => {
  for (const isStream of [false, true]) {
    test(`is returned on request, and sent back signed${isStream ? ', streamed' : ''}`, async () => {
      const model = 'thinking'
      const config = {
        thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 },
        maxOutputTokens: 4_000,
      }
      const contents: Content[] = [{ role: 'user', parts: [{ text: '[sandbox reasoning=20] Think' }] }]
      const parts: Json[] = []
      if (isStream) {
        const stream = await client.models.generateContentStream({ model, contents, config })
        for await (const { candidates } of stream) parts.push(...(candidates?.[0]?.content?.parts ?? []))
      } else {
        const { candidates } = await client.models.generateContent({ model, contents, config })
        parts.push(...(candidates?.[0]?.content?.parts ?? []))
      }
      expect(parts.some(({ thought }) => thought)).toBe(true)
      const [signed, ...others] = parts.filter(({ thoughtSignature }) => thoughtSignature)
      expect(others).toEqual([])
      const again = (part: Json) =>
        client.models.generateContent({
          model,
          config,
          contents: [
            ...contents,
            { role: 'model', parts: parts.map((each) => (each === signed ? part : each)) },
            { role: 'user', parts: [{ text: 'And now?' }] },
          ],
        })
      await again(signed)
      expect(lastBody().messages[1].content[0]).toMatchObject({
        type: 'thinking',
        signature: expect.any(String),
      })
      // Clients that decode bytes may encode them as base64url.
      await again({
        ...signed,
        thoughtSignature: Buffer.from(signed.thoughtSignature, 'base64').toString('base64url'),
      })
      expect(lastBody().messages[1].content[0].type).toBe('thinking')
      const text = Buffer.from(signed.thoughtSignature, 'base64').toString('latin1')
      const changed = Buffer.from(`${text.slice(0, -6)}AAAAAA`, 'latin1').toString('base64')
      const { status, error } = await refused(again({ ...signed, thoughtSignature: changed }))
      expect([status, error.status]).toEqual([400, 'INVALID_ARGUMENT'])
      expect(error.message).toContain('contents[1].parts[')
    })
  }
})

describe('the form of a stream', () => {
  const stream = (query: string, text = 'Hello', model = 'test-chat') =>
    fetch(`${gateway.url}${pathOf(model, 'streamGenerateContent')}${query}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': gateway.secret, 'content-type': 'application/json' },
      body: JSON.stringify(contentsOf(text)),
    })
  const textOf = (events: Json[]) =>
    events
      .flatMap(({ candidates }) => candidates?.[0].content.parts.map(({ text }: Json) => text) ?? [])
      .join('')

  test('is an array without alt=sse, whose items arrive one by one', async () => {
    const response = await stream('', '[sandbox tokens=20 token_delay_ms=20] Hello')
    expect(response.headers.get('content-type')).toContain('application/json')
    const pieces: string[] = []
    const decoder = new TextDecoder()
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      pieces.push(decoder.decode(piece, { stream: true }))
    }
    expect(pieces.length).toBeGreaterThan(2)
    const events = JSON.parse(pieces.join('')) as Json[]
    expect(textOf(events)).toContain('You said: Hello')
    expect(events.at(-1).candidates[0].finishReason).toBe('STOP')
  })

  test('is events with alt=sse, without a closing event', async () => {
    const text = await (await stream('?alt=sse')).text()
    const events = text
      .trim()
      .split('\n\n')
      .map((event) => JSON.parse(event.replace(/^data: /, '')))
    expect(textOf(events)).toContain('You said: Hello')
    expect(text).not.toContain('[DONE]')
  })

  test('has an error of the vendor as its last item', async () => {
    const events = (await (await stream('', '[sandbox error_after=3] Hello')).json()) as Json[]
    expect(textOf(events)).not.toBe('')
    expect(events.at(-1).error).toMatchObject({ code: expect.any(Number), status: expect.any(String) })
  })

  test('is one event if the vendor answers with a whole reply', async () => {
    odd.answer = () => Response.json(completion('Hello, whole', 9, 3))
    expect(textOf((await (await stream('', 'Hello', 'odd')).json()) as Json[])).toBe('Hello, whole')
    const response = await stream('?alt=sse', 'Hello', 'odd')
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toMatch(/^data: \{.*\}\n\n$/)
  })

  test('is an error with its status before it begins', async () => {
    const { json, response } = await ask(contentsOf('[sandbox status=429 retry_after=2] Hello'), {
      path: `${pathOf('test-chat', 'streamGenerateContent')}?alt=sse`,
      status: 429,
      charges: 1,
    })
    expect(json.error.status).toBe('RESOURCE_EXHAUSTED')
    expect(response.headers.get('retry-after')).toBe('2')
  })
})

describe('the charge', () => {
  test('is for the tokens that the vendor counted, whole and streamed', async () => {
    for (const path of [pathOf('test-chat'), pathOf('test-chat', 'streamGenerateContent')]) {
      const { charges, json } = await ask(
        contentsOf('[sandbox prompt_tokens=1000 cached=400 tokens=50] Hi'),
        {
          path,
        },
      )
      const { usageMetadata: usage } = Array.isArray(json) ? json.at(-1) : json
      expect(usage).toMatchObject({
        promptTokenCount: 1_000,
        cachedContentTokenCount: 400,
        candidatesTokenCount: 50,
        totalTokenCount: 1_050,
      })
      // 600 at a thousandth of a cent each, 400 at a tenth of that, 50 at twice that.
      expect(Number(charges[0]?.amount)).toBe(600 * 1_000 + 400 * 100 + 50 * 2_000)
    }
  })

  test('is impossible without money: 402, which no client retries', async () => {
    const { secret } = await gateway.makeKey('broke', '0')
    const before = gateway.sandbox.calls.length
    const { status, error } = await refused(
      clientOf(secret).models.generateContent({ model: 'test-chat', contents: 'Hi' }),
    )
    expect([status, error.status]).toEqual([402, 'FAILED_PRECONDITION'])
    expect(gateway.sandbox.calls.length).toBe(before)
  })

  test('is what the balance covers if a stream is cut', async () => {
    const { secret } = await gateway.makeKey('short', '0.0008')
    const stream = await clientOf(secret).models.generateContentStream({
      model: 'test-chat',
      contents: '[sandbox tokens=3000] Hi',
      config: { maxOutputTokens: 20_000 },
    })
    let last: Json
    for await (const chunk of stream) last = chunk
    expect(last.candidates[0].finishReason).toBe('MAX_TOKENS')
    const charge = await gateway.newestCharge()
    const { promptTokenCount: prompt, candidatesTokenCount: output } = last.usageMetadata
    expect(Number(charge?.amount)).toBe(prompt * 1_000 + output * 2_000)
    expect(Number(charge?.amount)).toBeLessThanOrEqual(800_000)
  })
})

describe('both spellings', () => {
  test('of names are accepted', async () => {
    const { json } = await ask({
      system_instruction: { parts: [{ text: 'Be kind' }] },
      contents: [{ role: 'user', parts: [{ text: '[sandbox tool] Hi' }] }],
      tools: [{ function_declarations: [{ name: 'get_weather', parameters: { type: 'OBJECT' } }] }],
      tool_config: { function_calling_config: { mode: 'AUTO' } },
      generation_config: { max_output_tokens: 50, top_p: 0.5, candidate_count: 1 },
      safety_settings: [],
    })
    expect(json.candidates[0].content.parts[0].functionCall.name).toBe('get_weather')
    const sent = lastBody()
    expect(sent.messages[0].content).toBe('Be kind')
    expect([sent.top_p, sent.max_completion_tokens ?? sent.max_tokens]).toEqual([0.5, 50])
  })

  const wrong: [name: string, body: object, field: string][] = [
    ['no contents', {}, 'contents'],
    ['a search', { ...contentsOf('Hi'), tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    [
      'a search in the other spelling',
      { ...contentsOf('Hi'), tools: [{ google_search: {} }] },
      'tools[0].google_search',
    ],
    ['kept content', { ...contentsOf('Hi'), cachedContent: 'cachedContents/x' }, 'cachedContent'],
    [
      'an image as the answer',
      { ...contentsOf('Hi'), generationConfig: { responseModalities: ['IMAGE'] } },
      'generationConfig.responseModalities[0]',
    ],
    ['an unknown field', { ...contentsOf('Hi'), colour: 'red' }, 'colour'],
    [
      'an address of a file that is kept at Google',
      {
        contents: [
          {
            parts: [
              {
                fileData: {
                  mimeType: 'image/png',
                  fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x',
                },
              },
            ],
          },
        ],
      },
      'contents[0].parts[0].fileData.fileUri',
    ],
    [
      'another model',
      { ...contentsOf('Hi'), generation_config: { routingConfig: {} } },
      'generation_config.routingConfig',
    ],
    ['a tier', { ...contentsOf('Hi'), serviceTier: 'flex' }, 'serviceTier'],
    [
      'a part of a film',
      {
        contents: [
          {
            parts: [
              {
                fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' },
                videoMetadata: {},
              },
            ],
          },
        ],
      },
      'contents[0].parts[0].videoMetadata',
    ],
    ['a role', { contents: [{ role: 'system', parts: [{ text: 'Hi' }] }] }, 'contents[0].role'],
  ]
  for (const [name, body, field] of wrong) {
    test(`${name} is rejected with its place`, async () => {
      const { json } = await ask(body, { status: 400, vendorCalls: 0, charges: 0 })
      const { details } = json.error
      const violation = details.find((each: Json) => each['@type'].endsWith('BadRequest'))
      expect(violation?.fieldViolations[0].field).toBe(field)
    })
  }
})

test('an unknown model is 404, and a repeat with the same idempotency key is replayed', async () => {
  const { status, error } = await refused(client.models.generateContent({ model: 'none', contents: 'Hi' }))
  expect([status, error.status]).toEqual([404, 'NOT_FOUND'])
  const headers = { 'idempotency-key': 'once' }
  const first = await ask(contentsOf('Hi'), { headers })
  const again = await ask(contentsOf('Hi'), { headers, vendorCalls: 0, charges: 0 })
  expect(again.text).toBe(first.text)
})

describe('every member of the types of Google is described:', async () => {
  const types = await Bun.file(`${import.meta.dir}/../../node_modules/@google/genai/dist/genai.d.ts`).text()
  const named = (families.get('gemini-on-chat')?.bridge ?? []).map(({ field }) => field)
  test.each([
    ['GenerationConfig', 'generationConfig.'],
    ['Part', 'contents[].parts[].'],
    ['Tool', 'tools[].'],
    ['ToolConfig', 'toolConfig.'],
  ])('%s', (type, place) => {
    const [, body = ''] =
      new RegExp(`export declare (?:interface|class) ${type} \\{\r?\n(.*?)\r?\n\\}`, 's').exec(types) ?? []
    const members = [...body.matchAll(/^ {4}(\w+)\?: /gm)].map(([, member]) => `${place}${member}`)
    expect(members.length).toBeGreaterThan(2)
    const isNamed = (member: string) =>
      named.some(
        (field) => field === member || field.startsWith(`${member}.`) || field.startsWith(`${member}[`),
      )
    expect(members.filter((member) => !isNamed(member))).toEqual([])
  })
})
