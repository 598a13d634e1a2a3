// Google's official SDK against simulated Gemini, in its default mode: every answer is read by the SDK itself.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ApiError, type Content, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai'
import { type Sandbox, startSandbox } from '../../sandbox'
import { picture } from '../../sandbox/pictures'

let sandbox: Sandbox
let models: GoogleGenAI['models']
let client: GoogleGenAI

beforeAll(() => {
  sandbox = startSandbox({ record: true })
  client = clientWith(sandbox.secrets.google)
  models = client.models
})
afterAll(() => sandbox.stop())

function clientWith(apiKey: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: sandbox.baseUrls.google.replace('/v1beta', '') } })
}

const SECOND = 'gemini-2.5-flash'
const THIRD = 'gemini-3.8-flash'
const SAID = 'You said: Hello\n\nThis is the sandbox: no vendor was called.'
const schema = {
  type: 'object',
  properties: { place: { type: 'string' }, days: { type: 'integer', exclusiveMinimum: 1 } },
  required: ['place', 'days'],
  additionalProperties: false,
}
const weather = { name: 'weather', description: 'The weather.', parametersJsonSchema: schema }
const clock = { name: 'clock', description: 'The time.' }
const tools = [{ functionDeclarations: [weather, clock] }]

async function refusal(asked: Promise<unknown>): Promise<{ status: number; error: Record<string, unknown> }> {
  const thrown = await asked.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ApiError)
  const { status, message } = thrown as ApiError
  return { status, error: JSON.parse(message.slice(message.indexOf('{'))).error }
}

async function chunksOf<T>(stream: Promise<AsyncGenerator<T>>): Promise<T[]> {
  return Array.fromAsync(await stream)
}

describe('answers', () => {
  test('a text with its usage', async () => {
    const answer = await models.generateContent({ model: SECOND, contents: 'Hello' })
    expect(answer.text).toBe(SAID)
    expect(answer.candidates).toEqual([
      { content: { parts: [{ text: SAID }], role: 'model' }, finishReason: 'STOP' as never, index: 0 },
    ])
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount } = answer.usageMetadata ?? {}
    expect(answer.usageMetadata as object).toEqual({
      serviceTier: 'standard',
      promptTokenCount,
      candidatesTokenCount,
      thoughtsTokenCount: 16,
      totalTokenCount: promptTokenCount + candidatesTokenCount + (thoughtsTokenCount ?? 0),
      promptTokensDetails: [{ modality: 'TEXT' as never, tokenCount: promptTokenCount }],
    })
    expect([answer.modelVersion, typeof answer.responseId]).toEqual([SECOND, 'string'])
  })

  test('a stream with growing usage and a last chunk with a signature and no text', async () => {
    const chunks = await chunksOf(models.generateContentStream({ model: THIRD, contents: 'Hello' }))
    expect(chunks.map(({ text }) => text).join('')).toBe(SAID)
    const totals = chunks.map(({ usageMetadata }) => usageMetadata?.totalTokenCount ?? 0)
    expect(totals).toEqual(totals.toSorted((one, other) => one - other))
    const [candidate] = chunks.at(-1)?.candidates ?? []
    expect(candidate).toMatchObject({
      content: { parts: [{ text: '', thoughtSignature: expect.any(String) }] },
      finishReason: 'STOP',
    })
    expect(chunks.slice(0, -1).some(({ candidates }) => candidates?.[0]?.finishReason)).toBe(false)
  })

  test('thoughts in separate parts, on request', async () => {
    const thinkingConfig = { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW }
    const answer = await models.generateContent({
      model: THIRD,
      contents: 'Hello',
      config: { thinkingConfig },
    })
    const [thought, text] = answer.candidates?.[0]?.content?.parts ?? []
    expect([thought?.thought, text?.text, answer.usageMetadata?.thoughtsTokenCount]).toEqual([true, SAID, 8])
    expect(text?.thoughtSignature).toBeString()
    const budget = { includeThoughts: true, thinkingBudget: 0 }
    const without = await models.generateContent({
      model: SECOND,
      contents: 'Hello',
      config: { thinkingConfig: budget },
    })
    expect(without.candidates?.[0]?.content?.parts).toEqual([{ text: SAID }])
    expect(without.usageMetadata?.thoughtsTokenCount).toBeUndefined()
  })

  test('a JSON answer by either kind of schema', async () => {
    const own = {
      type: 'OBJECT' as never,
      properties: { place: { type: 'STRING' as never } },
      required: ['place'],
    }
    for (const config of [{ responseJsonSchema: schema }, { responseSchema: own }]) {
      const answer = await models.generateContent({
        model: SECOND,
        contents: 'Where?',
        config: { responseMimeType: 'application/json', ...config },
      })
      expect(JSON.parse(answer.text ?? '')).toMatchObject({ place: 'place' })
    }
  })

  test('input images, counted by modality, and output images', async () => {
    const data = Buffer.from(picture('png').bytes).toString('base64')
    const contents = [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data } }]
    const seen = await models.generateContent({ model: SECOND, contents })
    expect(seen.usageMetadata?.promptTokensDetails?.map(({ modality }) => String(modality))).toEqual([
      'TEXT',
      'IMAGE',
    ])
    const made = await models.generateContent({ model: 'gemini-3.1-flash-image', contents: 'Draw' })
    expect(made.data).toBe(data)
    expect(made.usageMetadata?.candidatesTokensDetails).toContainEqual({
      modality: 'IMAGE' as never,
      tokenCount: 1_120,
    })
  })

  test('the effects of directives', async () => {
    const ask = (contents: string, config = {}) => models.generateContent({ model: SECOND, contents, config })
    const blocked = await ask('[sandbox block=PROHIBITED_CONTENT]')
    expect([blocked.text, blocked.candidates, String(blocked.promptFeedback?.blockReason)]).toEqual([
      undefined,
      undefined,
      'PROHIBITED_CONTENT',
    ])
    const unsafe = await ask('[sandbox finish=SAFETY]')
    expect(unsafe.candidates).toMatchObject([{ content: {}, finishReason: 'SAFETY' }])
    const cut = await ask('Hello', { maxOutputTokens: 20 })
    expect(String(cut.candidates?.[0]?.finishReason)).toBe('MAX_TOKENS')
    const counted = await ask('[sandbox cached=40 searches=2]')
    expect(counted.usageMetadata).toMatchObject({
      promptTokenCount: 40,
      cachedContentTokenCount: 40,
      toolUsePromptTokenCount: 200,
    })
  })

  test('token counts and vectors', async () => {
    const { totalTokens } = await models.countTokens({ model: SECOND, contents: 'Hello' })
    expect(totalTokens).toBeGreaterThan(0)
    const { embeddings } = await models.embedContent({ model: 'gemini-embedding-001', contents: ['a', 'b'] })
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([3_072, 3_072])
  })
})

describe('functions', () => {
  test('a conversation of two turns, whose signatures the SDK returns', async () => {
    const chat = client.chats.create({ model: THIRD, config: { tools } })
    const asked = await chat.sendMessage({ message: '[sandbox tool=2]' })
    expect(asked.functionCalls).toEqual([
      { id: expect.any(String), name: 'weather', args: { place: 'place', days: 2 } },
      { id: expect.any(String), name: 'clock', args: {} },
    ])
    const [first, second] = asked.candidates?.[0]?.content?.parts ?? []
    expect([typeof first?.thoughtSignature, typeof second?.thoughtSignature]).toEqual(['string', 'undefined'])
    const results = (asked.functionCalls ?? []).map(({ id, name }) => ({
      functionResponse: { id, name, response: { output: `sunny ${name}` } },
    }))
    const reported = await chat.sendMessage({ message: results as never })
    expect(reported.text).toStartWith('The tool answered: sunny weather\nsunny clock')
    const history = chat.getHistory()
    expect((await chat.sendMessage({ message: 'Hello' })).text).toBe(SAID)
    const unsigned = history.map(({ role, parts }) => ({
      role,
      parts: parts?.map(({ thoughtSignature: _, ...part }) => part),
    })) as Content[]
    // The simulator checks only the current turn.
    const again = { role: 'user', parts: [{ text: 'Hello' }] }
    expect((await models.generateContent({ model: THIRD, contents: [...unsigned, again] })).text).toBe(SAID)
    const { status, error } = await refusal(
      models.generateContent({ model: THIRD, contents: unsigned.slice(0, 3) }),
    )
    expect([status, error.status, String(error.message)]).toEqual([
      400,
      'INVALID_ARGUMENT',
      expect.stringContaining('function call `default_api:weather` , position 2.'),
    ])
    const filled = structuredClone(unsigned.slice(0, 3))
    Object.assign(filled[1]?.parts?.[0] ?? {}, { thoughtSignature: 'skip_thought_signature_validator' })
    expect((await models.generateContent({ model: THIRD, contents: filled })).text).toContain('sunny')
  })

  test('whole in a stream, chosen by the mode', async () => {
    const calls = async (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]) => {
      const config = {
        tools,
        toolConfig: {
          functionCallingConfig: { mode, ...(allowedFunctionNames && { allowedFunctionNames }) },
        },
      }
      const stream = models.generateContentStream({ model: SECOND, contents: 'Hello', config })
      return (await chunksOf(stream)).flatMap(({ functionCalls = [] }) => functionCalls)
    }
    expect(await calls(FunctionCallingConfigMode.ANY, ['clock'])).toEqual([{ name: 'clock', args: {} }])
    expect(await calls(FunctionCallingConfigMode.NONE)).toEqual([])
    expect(await calls(FunctionCallingConfigMode.VALIDATED)).toEqual([])
  })
})

describe('errors', () => {
  test('an invalid key', async () => {
    const asked = clientWith('nonsense').models.generateContent({ model: SECOND, contents: 'Hello' })
    const { status, error } = await refusal(asked)
    expect([status, error.status, error.message]).toEqual([
      400,
      'INVALID_ARGUMENT',
      'API key not valid. Please pass a valid API key.',
    ])
    expect(error.details).toMatchObject([{ reason: 'API_KEY_INVALID' }])
  })

  test('unknown fields, each with its path', async () => {
    // The SDK removes from a schema what Google would reject.
    const parameters = { ...schema, properties: { ...schema.properties, tag: { type: ['string', 'null'] } } }
    const response = await fetch(`${sandbox.baseUrls.google}/models/${SECOND}:generateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': sandbox.secrets.google },
      body: JSON.stringify({
        contents: [{ parts: [{ text: 'Hello' }] }],
        tools: [{ function_declarations: [{ name: 'look', parameters }] }],
        generation_config: { min_p: 1 },
      }),
    })
    const { error } = (await response.json()) as { error: { message: string } }
    const at = 'tools[0].function_declarations[0].parameters'
    expect(error.message.split('\n')).toEqual([
      `Invalid JSON payload received. Unknown name "exclusiveMinimum" at '${at}.properties[1].value': Cannot find field.`,
      `Invalid JSON payload received. Unknown name "type" at '${at}.properties[2].value': Proto field is not repeating, cannot start list.`,
      `Invalid JSON payload received. Unknown name "additionalProperties" at '${at}': Cannot find field.`,
      `Invalid JSON payload received. Unknown name "min_p" at 'generation_config': Cannot find field.`,
    ])
  })

  test('an unknown model, and an error within a stream', async () => {
    const unknown = await refusal(models.generateContent({ model: 'gpt-4o', contents: 'Hello' }))
    expect([unknown.status, unknown.error.status]).toEqual([404, 'NOT_FOUND'])
    const broken = chunksOf(
      models.generateContentStream({ model: SECOND, contents: 'Hello [sandbox error_after=2]' }),
    )
    expect((await refusal(broken)).error.status).toBe('INTERNAL')
  })
})
