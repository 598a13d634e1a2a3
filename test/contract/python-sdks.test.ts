// The gateway's translations of other vendors' answers, read by the types of the official Python SDKs: strictly, listing each
// member missing in the types, in every dialect, whole and event by event.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { named, runOverLines, vendorPackages } from '../support/processes/python-packages'

setDefaultTimeout(600_000)

const python = await vendorPackages()
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

/** One model behind each kind of API that a vendor can have. */
const models: Record<string, ModelConfig> = {
  'on-chat': {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    reasoning: true,
    price,
  },
  'on-open-chat': { family: 'openai-chat', upstream: 'groq', upstreamModel: 'openai/gpt-oss-120b', price },
  'on-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-haiku-4-5',
    price,
  },
  'on-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    reasoning: true,
    price,
  },
  'on-converse': {
    family: 'bedrock-converse',
    upstream: 'bedrock',
    upstreamModel: 'us.amazon.nova-lite-v1:0',
    price,
  },
}

/** Models of the other operations. */
const otherModels: Record<string, ModelConfig> = {
  listener: {
    family: ['openai-transcriptions', 'openai-translations'],
    upstream: 'openai',
    upstreamModel: 'whisper-1',
    free: true,
  },
  moderator: {
    family: 'openai-moderation',
    upstream: 'openai',
    upstreamModel: 'omni-moderation-latest',
    free: true,
  },
  painter: { family: 'openai-images', upstream: 'openai', upstreamModel: 'gpt-image-2', free: true },
  completer: {
    family: 'openai-completions',
    upstream: 'openai',
    upstreamModel: 'gpt-3.5-turbo-instruct',
    free: true,
  },
}

/** Members of answers beyond the types, each with the reason; a member that no answer has any more must be removed. */
const beyond = new Map([
  ...'operations architecture context_length max_completion_tokens top_provider pricing prices supported_parameters'
    .split(' ')
    .map((member) => [member, 'a model as this gateway and OpenRouter describe it'] as const),
  ['task', 'OpenAI sends it with verbose transcriptions'],
  ['usage', 'translations report what they cost, as transcriptions do'],
  ['reasoning_content', 'the place of thoughts that clients of other vendors read'],
  ['x_groq', "the vendor's own, passed on as it is"],
  ['store', 'OpenAI sends it, and the Open Responses schema requires it'],
  ['presence_penalty', 'required by the Open Responses schema'],
  ['frequency_penalty', 'required by the Open Responses schema'],
  ['name', 'older versions of the SDK require it where the arguments of a call are done'],
])

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tool = { name: 'get_weather', description: 'Weather of a city', parameters }
const text = '[sandbox reasoning=6 tokens=12] Hello'

/** A value, the type that it must fit, and its description. */
interface Line {
  of: string
  type: string
  value: string
}

interface Dialect {
  path: string
  whole: string
  event: string
  /** Requests by their content. */
  asks: Readonly<Record<string, object>>
}

const dialects: Readonly<Record<string, Dialect>> = {
  chat: {
    path: '/v1/chat/completions',
    whole: 'openai.types.chat.ChatCompletion',
    event: 'openai.types.chat.ChatCompletionChunk',
    asks: {
      'a text': { messages: say(text), stream_options: { include_usage: true } },
      'a tool': {
        messages: say('[sandbox reasoning=6] Weather in Rome?'),
        tools: [{ type: 'function', function: tool }],
        tool_choice: 'required',
      },
    },
  },
  responses: {
    path: '/v1/responses',
    whole: 'openai.types.responses.Response',
    event: 'openai.types.responses.ResponseStreamEvent',
    asks: {
      'a text': { input: text, reasoning: { summary: 'auto' } },
      'a tool': {
        input: '[sandbox reasoning=6] Weather in Rome?',
        tools: [{ type: 'function', ...tool, strict: false }],
        tool_choice: 'required',
      },
    },
  },
  messages: {
    path: '/v1/messages',
    whole: 'anthropic.types.Message',
    event: 'anthropic.types.RawMessageStreamEvent',
    asks: {
      'a text': {
        max_tokens: 3_000,
        messages: say(text),
        thinking: { type: 'enabled', budget_tokens: 1_024 },
      },
      'a tool': {
        max_tokens: 3_000,
        messages: say('Weather in Rome?'),
        tools: [{ name: tool.name, input_schema: parameters }],
        tool_choice: { type: 'any' },
      },
    },
  },
}

/** Other answers, each with its type: a path alone is fetched, and a form is sent as one. */
const others: readonly [type: string, path: string, body?: object | FormData][] = [
  ['openai.types.Model', '/v1/models/test-chat'],
  ['openai.types.CreateEmbeddingResponse', '/v1/embeddings', { model: 'test-embedding', input: ['a', 'b'] }],
  ['openai.types.CreateEmbeddingResponse', '/v1/embeddings', { model: 'vgx-4', input: 'a' }],
  ['openai.types.CreateEmbeddingResponse', '/v1/embeddings', { model: 'gmx-embedding-001', input: 'a' }],
  ['openai.types.ModerationCreateResponse', '/v1/moderations', { model: 'moderator', input: 'Hello' }],
  ['openai.types.Completion', '/v1/completions', { model: 'completer', prompt: 'The sky', max_tokens: 4 }],
  ['openai.types.ImagesResponse', '/v1/images/generations', { model: 'painter', prompt: 'A fox' }],
  ['openai.types.audio.TranscriptionVerbose', '/v1/audio/transcriptions', speechForm('verbose_json')],
  ['openai.types.audio.Transcription', '/v1/audio/transcriptions', speechForm('json')],
  ['openai.types.audio.Translation', '/v1/audio/translations', speechForm('json')],
  [
    'anthropic.types.MessageTokensCount',
    '/v1/messages/count_tokens',
    { model: 'on-messages', messages: say('Hello') },
  ],
]

function speechForm(format: string): FormData {
  const form = new FormData()
  form.set('model', 'listener')
  form.set('response_format', format)
  form.set('file', new File([new Uint8Array(32_044)], 'speech.mp3', { type: 'audio/mpeg' }))
  return form
}

describe('strictly read by the types of the Python SDKs', () => {
  let gateway: TestGateway
  const met = new Set<string>()
  beforeAll(async () => {
    if (python.folder) gateway = await startTestGateway({ models: { ...models, ...otherModels } })
  })
  afterAll(() => gateway?.close())

  for (const [dialect, { path, whole, event, asks }] of Object.entries(dialects)) {
    test.skipIf(!python.folder)(named(dialect, python), async () => {
      const lines: Line[] = []
      for (const model of Object.keys(models)) {
        for (const [name, ask] of Object.entries(asks)) {
          const { stream_options: options, ...rest } = ask as Record<string, unknown>
          const of = `${name} of ${model}`
          const answer = await answerTo(path, { model, ...rest })
          lines.push({ of, type: whole, value: answer })
          const streamed = {
            ...rest,
            ...(options !== undefined && { stream_options: options }),
            stream: true,
          }
          for (const value of eventsIn(await answerTo(path, { model, ...streamed })))
            lines.push({ of: `${of}, streamed`, type: event, value })
        }
      }
      expect(await unwantedIn(lines)).toEqual([])
    })
  }

  test.skipIf(!python.folder)(named('everything else', python), async () => {
    const lines: Line[] = []
    for (const [type, path, body] of others) lines.push({ of: path, type, value: await answerTo(path, body) })
    expect(await unwantedIn(lines)).toEqual([])
  })

  test.skipIf(!python.folder)(named('each member beyond the types is one that an answer has', python), () => {
    expect([...beyond.keys()].filter((member) => !met.has(member))).toEqual([])
  })

  function isWanted(fault: string): boolean {
    const member = /\.(\w+): not in the type$/.exec(fault)?.[1]
    if (member === undefined || !beyond.has(member)) return false
    met.add(member)
    return true
  }

  async function unwantedIn(lines: readonly Line[]): Promise<object[]> {
    const faults = await strictly(lines.map(({ type, value }) => `${type} ${value}`))
    expect(faults).toHaveLength(lines.length)
    return lines.flatMap(({ of, value }, index) => {
      const unwanted = faults[index]?.filter((fault) => !isWanted(fault)) ?? []
      return unwanted.length > 0 ? [{ of, unwanted, value }] : []
    })
  }

  async function answerTo(path: string, body?: object | FormData): Promise<string> {
    const headers = { authorization: `Bearer ${gateway.secret}` }
    const method = body ? 'POST' : 'GET'
    const response =
      body === undefined || body instanceof FormData
        ? await fetch(gateway.url + path, { method, headers, body: body ?? null })
        : await gateway.post(path, body)
    const answer = await response.text()
    if (!response.ok) throw new Error(`${JSON.stringify(body)}: ${answer}`)
    return answer
  }
})

function eventsIn(stream: string): string[] {
  const data = [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => json as string)
  // The types have no ping, which the API documents.
  return data.filter((json) => json !== '[DONE]' && json !== '{"type":"ping"}')
}

/** The faults of each line's value by its type. */
function strictly(lines: readonly string[]): Promise<string[][]> {
  return runOverLines(python.folder ?? '', 'strict_types.py', lines)
}
