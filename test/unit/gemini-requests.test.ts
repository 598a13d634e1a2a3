// Callers' requests as Gemini's own API gets them. The models are those of the table of known models; the code names
// the sources for what Google accepts.

import { describe, expect, test } from 'bun:test'
import type { MadeFamily, Model, ParsedRequest } from '../../src/contract/family'
import type { Traits } from '../../src/contract/traits'
import { bridge } from '../../src/families/conversation/bridge'
import { chatDialect } from '../../src/families/dialects/chat/dialect'
import { messagesDialect } from '../../src/families/dialects/messages/dialect'
import { responsesDialect } from '../../src/families/dialects/responses/dialect'
import { geminiProtocol } from '../../src/families/protocols/gemini/protocol'
import { sealReasoning } from '../../src/families/sealed-reasoning'
import { knownModel, traitsOf } from '../../src/families/traits/known-models'
import { refusedPrefill, refusedSchema, refusedToolChoice } from '../../src/families/traits/refusals'
import { GatewayError } from '../../src/lib/errors'
import { openContext } from '../support/bridges/sealed'
import type { Json } from '../support/scenario'

const families = {
  chat: bridge(chatDialect, geminiProtocol),
  messages: bridge(messagesDialect, geminiProtocol),
  responses: bridge(responsesDialect, geminiProtocol),
} as unknown as Readonly<Record<string, MadeFamily>>

interface Given {
  dialect?: 'chat' | 'messages' | 'responses'
  kind?: string
  name?: string
  traits?: Partial<Traits>
}

function modelOf({
  dialect = 'chat',
  kind = 'google',
  name = 'gemini-3-flash-preview',
  traits,
}: Given): Model {
  return {
    id: 'm',
    upstreamModel: name,
    upstream: { kind },
    family: families[dialect],
    traits: { ...traitsOf({}, knownModel(name)), ...traits },
    priceList: { tables: [], isFree: true },
    reserveOutputTokens: 4_096,
  } as unknown as Model
}

const hi = { messages: [{ role: 'user', content: 'Hi' }] }

/** The call to the vendor for a request. */
function callFor(body: Json, given: Given = {}): Json {
  const model = modelOf(given)
  const family = families[given.dialect ?? 'chat'] as MadeFamily
  const whole = { model: 'm', ...(given.dialect === 'responses' ? { input: 'Hi' } : hi), ...body }
  if (given.dialect === 'messages') whole.max_tokens ??= 100
  const parsed = { body: whole, byteLength: 100, at: 0, answer: openContext } as unknown as ParsedRequest
  family.check?.(whole, model)
  return [family.call(parsed, model)].flat()[0]
}

const sent = (body: Json, given: Given = {}): Json => callFor(body, given).body.json
const configOf = (body: Json, given: Given = {}): Json => sent(body, given).generationConfig

function refusal(body: Json, given: Given = {}): GatewayError {
  try {
    sent(body, given)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error(`nothing was refused in ${JSON.stringify(body)}`)
}

describe('the URL', () => {
  test.each([
    ['gemini-3-flash-preview', {}, '/models/gemini-3-flash-preview:generateContent'],
    ['models/gemini-3-pro', { stream: true }, '/models/gemini-3-pro:streamGenerateContent?alt=sse'],
    ['google/gemini-3-pro', {}, '/models/gemini-3-pro:generateContent'],
    ['a b/c', {}, '/models/a%20b%2Fc:generateContent'],
  ])('names the model %s', (name, body, path) => {
    expect(callFor(body, { name })).toMatchObject({ path, protocol: 'native' })
  })
})

describe('turns', () => {
  test('become contents of two roles, and instructions are separate', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'More' },
    ]
    expect(sent({ messages })).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'Hello' }] },
        { role: 'user', parts: [{ text: 'More' }] },
      ],
    })
  })

  test('have later instructions as a user’s text at the same place', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: 'Now in French.' },
      { role: 'user', content: 'Go on' },
    ]
    const { contents } = sent({ instructions: 'Be brief.', input }, { dialect: 'responses' })
    expect(contents).toEqual([
      {
        role: 'user',
        parts: [{ text: 'Hi' }, { text: '<system>\nNow in French.\n</system>' }, { text: 'Go on' }],
      },
    ])
  })

  test('need a turn of the user', () => {
    expect(refusal({ messages: [{ role: 'system', content: 'Hi' }] })).toMatchObject({
      status: 400,
      param: 'messages',
    })
  })
})

describe('files', () => {
  const part = (content: Json, given: Given = {}) =>
    sent({ messages: [{ role: 'user', content: [content] }] }, given).contents[0].parts[0]

  test.each([
    [
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAAA' } },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    ],
    [
      { type: 'image_url', image_url: { url: 'https://a.example/cat.webp?size=2' } },
      { fileData: { mimeType: 'image/webp', fileUri: 'https://a.example/cat.webp?size=2' } },
    ],
    [
      { type: 'image_url', image_url: { url: 'https://a.example/picture' } },
      { fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.example/picture' } },
    ],
    [
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
      { inlineData: { mimeType: 'audio/wav', data: 'UklG' } },
    ],
  ])('%j', (content, expected) => {
    expect(part(content)).toEqual(expected)
  })

  test('are refused if they do not exist', () => {
    const content = [{ type: 'image_url', image_url: { url: 'cat.png' } }]
    expect(refusal({ messages: [{ role: 'user', content }] }).status).toBe(400)
  })
})

const tool = (name: string, more: Json = {}) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', additionalProperties: false }, ...more },
})
const calls = [
  { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
  { id: 'b', type: 'function', function: { name: 'hear', arguments: '' } },
]
const called = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: null, tool_calls: calls },
  { role: 'tool', tool_call_id: 'b', content: '{"x":1}' },
  { role: 'tool', tool_call_id: 'a', content: 'seen' },
  { role: 'user', content: 'And?' },
]
const FILLER = 'skip_thought_signature_validator'

describe('tools', () => {
  test('become functions with JSON schemas', () => {
    expect(sent({ tools: [tool('look', { description: 'Looks.' }), tool('hear')] })).toMatchObject({
      tools: [
        {
          functionDeclarations: [
            {
              name: 'look',
              description: 'Looks.',
              parametersJsonSchema: { type: 'object', additionalProperties: false },
            },
            { name: 'hear' },
          ],
        },
      ],
    })
  })

  test.each([
    [{}, undefined],
    [{ tool_choice: 'auto' }, { mode: 'AUTO' }],
    [{ tool_choice: 'none' }, { mode: 'NONE' }],
    [{ tool_choice: 'required' }, { mode: 'ANY' }],
    [
      { tool_choice: { type: 'function', function: { name: 'look' } } },
      { mode: 'ANY', allowedFunctionNames: ['look'] },
    ],
    [
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tool('look')] } } },
      { mode: 'VALIDATED', allowedFunctionNames: ['look'] },
    ],
    [{ tools: [tool('look', { strict: true })] }, { mode: 'VALIDATED' }],
    [{ tools: [tool('look', { strict: true }), tool('hear')] }, undefined],
  ])('%j', (body, config) => {
    const { toolConfig } = sent({ tools: [tool('look'), tool('hear')], ...body })
    expect(toolConfig?.functionCallingConfig).toEqual(config as Json)
  })

  test('are not called by force where a trait forbids it', () => {
    const body = { tools: [tool('look')], tool_choice: 'required' }
    for (const forcedToolChoice of ['never', 'unless_thinking'] as const) {
      expect(refusal(body, { traits: { forcedToolChoice } }).param).toBe('tool_choice')
    }
    const named = { ...body, tool_choice: { type: 'function', function: { name: 'look' } } }
    expect(refusal(named, { traits: { forcedToolChoice: 'any_tool' } }).param).toBe('tool_choice')
    expect(sent(body, { traits: { forcedToolChoice: 'any_tool' } }).toolConfig).toBeDefined()
  })

  test('of earlier turns may have arguments that are already parsed, but only as an object', () => {
    const asked = (given: unknown) => ({
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: given } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'seen' },
      ],
    })
    const argsOf = (given: unknown) => sent(asked(given)).contents[1]?.parts[0].functionCall.args
    expect(argsOf({ at: 1 })).toEqual({ at: 1 })
    expect(argsOf(null)).toEqual({})
    for (const given of [7, ['a'], true]) {
      expect(refusal(asked(given), {}).param).toBe('messages[1].tool_calls[0].function.arguments')
    }
  })

  test('have their results after the calls, in one content', () => {
    const { contents } = sent({ messages: called, tools: [tool('look'), tool('hear')] })
    expect(contents.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'look', args: { at: 1 } }, thoughtSignature: FILLER },
          { functionCall: { id: 'b', name: 'hear', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'look', response: { output: 'seen' } } },
          { functionResponse: { id: 'b', name: 'hear', response: { output: '{"x":1}' } } },
          { text: 'And?' },
        ],
      },
    ])
  })

  test('have no ids on Vertex AI, and no placeholder signature before Gemini 3', () => {
    const parts = sent({ messages: called }, { kind: 'vertex', name: 'google/gemini-2.5-flash' }).contents[1]
      .parts
    expect(parts).toEqual([
      { functionCall: { name: 'look', args: { at: 1 } } },
      { functionCall: { name: 'hear', args: {} } },
    ])
  })

  const withPicture = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'a',
          is_error: true,
          content: [
            { type: 'text', text: 'dark' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: 'https://a.example/cat.png' } },
          ],
        },
      ],
    },
  ]
  const inline = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const elsewhere = { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/cat.png' } }
  const failed = { id: 'a', name: 'look', response: { error: 'dark' } }
  const behind = { text: 'Files in the result of look:' }

  test.each([
    ['gemini-3.5-flash', [{ functionResponse: { ...failed, parts: [inline] } }, behind, elsewhere]],
    ['gemini-2.5-flash', [{ functionResponse: failed }, behind, inline, elsewhere]],
  ])('have files in their results: %s', (name, parts) => {
    const { contents } = sent({ messages: withPicture }, { dialect: 'messages', name })
    expect(contents[2].parts).toEqual(parts)
  })
})

describe('settings', () => {
  test('are sent in generationConfig', () => {
    const body = {
      max_completion_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      stop: ['END', ''],
      seed: 2 ** 40 + 5,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      logprobs: true,
      top_logprobs: 3,
    }
    // Models since Gemini 2.5 refuse penalties.
    expect(configOf(body)).not.toHaveProperty('presencePenalty')
    expect(configOf(body, { traits: { penalties: true } })).toEqual({
      maxOutputTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      stopSequences: ['END'],
      seed: 5,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      responseLogprobs: true,
      logprobs: 3,
    })
  })

  test('are omitted if a trait forbids them', () => {
    const body = { temperature: 0.5, top_p: 0.9, stop: 'END', presence_penalty: 1, logprobs: true }
    const traits = { sampling: 'never', stop: false, penalties: false, logprobs: false } as const
    expect(configOf(body, { traits })).toEqual({})
    expect(configOf(body, { traits: { ...traits, sampling: 'always', bothSampling: false } })).toEqual({
      temperature: 0.5,
    })
    expect(configOf(body, { traits: { ...traits, sampling: 'unless_thinking', thinking: 'never' } })).toEqual(
      {
        temperature: 0.5,
        topP: 0.9,
      },
    )
  })

  const json_schema = { name: 'o', schema: { type: 'object' }, strict: true }

  test('include the format of the answer', () => {
    expect(configOf({ response_format: { type: 'json_object' } })).toEqual({
      responseMimeType: 'application/json',
    })
    const body = { response_format: { type: 'json_schema', json_schema } }
    expect(configOf(body)).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object' },
    })
    expect(refusal(body, { traits: { schemas: false } }).param).toBe('response_format')
  })

  test('may end with the beginning of the answer if the model accepts that', () => {
    const messages = [...hi.messages, { role: 'assistant', content: 'He' }]
    expect(sent({ messages }).contents).toHaveLength(2)
    expect(refusal({ messages }, { traits: { prefill: 'never' } }).param).toBe('messages[1]')
  })
})

describe('thinking', () => {
  test.each([
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-2.5-flash', 'minimal', { thinkingBudget: 1_024 }],
    ['gemini-2.5-flash-lite', 'medium', { thinkingBudget: 8_192 }],
    ['gemini-2.5-pro', 'high', { thinkingBudget: 24_576 }],
    ['gemini-3-flash-preview', 'minimal', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.5-flash-lite', 'minimal', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.7-flash', 'minimal', { thinkingLevel: 'LOW' }],
    ['gemini-3.1-pro-preview', 'minimal', { thinkingLevel: 'LOW' }],
    ['gemini-3.1-pro-preview', 'medium', { thinkingLevel: 'MEDIUM' }],
    ['gemini-3-pro-preview', 'medium', { thinkingLevel: 'HIGH' }],
    ['gemini-3.8-flash', 'high', { thinkingLevel: 'HIGH' }],
    ['gemini-2.0-flash', 'high', undefined],
  ])('of %s by the effort %s', (name, effort, expected) => {
    expect(configOf({ reasoning_effort: effort }, { name })?.thinkingConfig).toEqual(expected)
  })

  test.each([
    ['gemini-2.5-pro', 40_000, { thinkingBudget: 32_768 }],
    ['gemini-2.5-flash', 40_000, { thinkingBudget: 24_576 }],
    ['gemini-3-flash-preview', 10_000, { thinkingLevel: 'MEDIUM' }],
  ])('of %s by a budget of %d', (name, budget_tokens, expected) => {
    const body = { max_tokens: 60_000, thinking: { type: 'enabled', budget_tokens } }
    expect(configOf(body, { dialect: 'messages', name })?.thinkingConfig).toMatchObject(expected)
  })

  test('has an effort that the model is known to accept', () => {
    expect(refusal({ reasoning_effort: 'none' }).param).toBe('reasoning_effort')
    expect(refusal({ reasoning_effort: 'max' }).param).toBe('reasoning_effort')
  })

  test('is returned to a caller who requests it', () => {
    const body = { reasoning: { effort: 'low', summary: 'auto' } }
    expect(configOf(body, { dialect: 'responses' }).thinkingConfig).toEqual({
      thinkingLevel: 'LOW',
      includeThoughts: true,
    })
  })

  test('has a budget within the limit', () => {
    const body = { model: 'm', max_completion_tokens: 9_000, reasoning_effort: 'medium', ...hi }
    const model = modelOf({ name: 'gemini-2.5-flash' })
    expect(families.chat?.output?.(body as never, model)).toMatchObject({ most: 9_000, least: 8_448 })
  })
})

describe('signatures', () => {
  const given: Given = { dialect: 'messages', name: 'gemini-3-flash-preview' }
  const parsed = { answer: openContext } as ParsedRequest
  const seal = (kept: Json, from: Given = given) =>
    sealReasoning(parsed, modelOf(from), { kind: 'gemini', ...kept })
  const thinking = (kept: Json, from?: Given) => ({
    type: 'thinking',
    thinking: '',
    signature: seal(kept, from),
  })
  const call = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
  const modelParts = (content: Json[]) => {
    const ids = content.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
    const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' }))
    const answer = results.length > 0 ? results : 'And?'
    const messages = [...hi.messages, { role: 'assistant', content }, { role: 'user', content: answer }]
    return sent({ messages }, given).contents[1].parts.map((part: Json) => [
      part.functionCall?.id ?? part.text,
      part.thoughtSignature,
    ])
  }

  test('are sent back with the parts that they came with', () => {
    const text = { type: 'text', text: 'Let me look.' }
    expect(modelParts([thinking({ text: 's1' }), text])).toEqual([['Let me look.', 's1']])
    expect(modelParts([thinking({ calls: { a: 's1' } }), call('a'), call('b')])).toEqual([
      ['a', 's1'],
      ['b', undefined],
    ])
    expect(modelParts([text, thinking({ text: 's1', calls: { a: 's2' } }), call('a')])).toEqual([
      ['Let me look.', undefined],
      ['', 's1'],
      ['a', 's2'],
    ])
  })

  test('of calls whose ids a client has lost are sent back once, in order', () => {
    expect(modelParts([thinking({ calls: { lost: 's1' } }), call('a'), call('b')])).toEqual([
      ['a', 's1'],
      ['b', undefined],
    ])
  })

  test('of another model are omitted, or replaced by a placeholder if one is required', () => {
    const other = { ...given, name: 'gemini-3.1-pro' }
    expect(modelParts([thinking({ calls: { a: 's1' } }, other), call('a'), call('b')])).toEqual([
      ['a', FILLER],
      ['b', undefined],
    ])
    expect(modelParts([thinking({ text: 's1' }, other), { type: 'text', text: 'Hm' }])).toEqual([
      ['Hm', undefined],
    ])
  })
})

test('a thinking field that is not an object is refused', () => {
  for (const thinking of ['x', 7, []]) expect(refusal({ thinking }, {}).param).toBe('thinking')
})

test('a field that the model refuses is named as callers of Google write it', () => {
  const model = { id: 'm', family: { operation: 'contents' } } as unknown as Model
  expect(refusedToolChoice(model)).toMatchObject({ param: 'toolConfig.functionCallingConfig.mode' })
  expect(refusedToolChoice(model).message).toContain("Use 'AUTO'")
  expect(refusedSchema(model)).toMatchObject({ param: 'generationConfig.responseJsonSchema' })
  expect(refusedPrefill(model, 2)).toMatchObject({ param: 'contents[2]' })
})
