// Reasoning that a vendor must get back, in loops of tools through the whole gateway with simulated vendors that reject a turn
// without it: in three dialects, whole and streamed, with the official clients, one call or several at once, and if a client lost
// it, changed it, or had it from another model or account.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import { SEALED_PREFIX } from '../../src/lib/sealing'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(60_000)
globalThis.AI_SDK_LOG_WARNINGS = false

const price = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '2' }
const modelOf = (upstream: string, upstreamModel: string): ModelConfig => ({
  family: 'openai-chat',
  upstream,
  upstreamModel,
  reasoning: upstream === 'google',
  price,
})
const models = {
  gemini: modelOf('google', 'gemini-3-flash-preview'),
  'gemini-pro': modelOf('google', 'gemini-3-pro-preview'),
  'gemini-2': modelOf('google', 'gemini-2.5-flash'),
  deepseek: modelOf('deepseek', 'deepseek-v4-pro'),
  kimi: modelOf('moonshot', 'kimi-k2.6'),
  glm: modelOf('zai', 'glm-5'),
  'deepseek-messages': { ...modelOf('deepseek', 'deepseek-v4-pro'), family: 'anthropic-messages' },
  'kimi-messages': { ...modelOf('moonshot', 'kimi-k2.6'), family: 'anthropic-messages' },
}
type ModelId = keyof typeof models

const FILLED = { type: 'thinking', thinking: ' ' }
const FILLER = 'skip_thought_signature_validator'
const THOUGHTS = 'The user wants an answer, and a simple one will do'
const names = ['get_weather', 'get_time']
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

let gateway: TestGateway
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  gateway = await startTestGateway({ balance: '1000', models })
  openai = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ authToken: gateway.secret, apiKey: null, baseURL: gateway.url, maxRetries: 0 })
})

afterAll(() => gateway.close())

/** One request of a conversation, in a dialect. */
interface Turn {
  history: Json[]
  model: string
  isStreamed: boolean
}

/** A dialect as its official client speaks it. */
interface Speaker {
  ask(turn: Turn): Promise<Json>
  question(text: string): Json
  /** The part of an answer that the client keeps. */
  kept(answer: Json): Json[]
  /** Results for the calls of an answer; empty for an answer without calls. */
  results(answer: Json): Json[]
}

const chat: Speaker = {
  async ask({ history, model, isStreamed }) {
    const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters } }))
    const body = { model, messages: history as OpenAI.ChatCompletionMessageParam[], tools }
    const completion = isStreamed
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.create(body)
    return completion.choices[0]?.message as Json
  },
  question: (content) => ({ role: 'user', content }),
  kept: ({ parsed: _, ...message }) => [message],
  results: ({ tool_calls: calls = [] }) =>
    calls.map(({ id }: Json) => ({ role: 'tool', tool_call_id: id, content: 'fine' })),
}

const messages: Speaker = {
  async ask({ history, model, isStreamed }) {
    const tools = names.map((name) => ({ name, input_schema: parameters as Anthropic.Tool.InputSchema }))
    const body = { model, max_tokens: 1_000, messages: history as Anthropic.MessageParam[], tools }
    return isStreamed
      ? await anthropic.messages.stream(body).finalMessage()
      : await anthropic.messages.create(body)
  },
  question: (content) => ({ role: 'user', content }),
  kept: ({ content }) => [{ role: 'assistant', content }],
  results({ content }) {
    const calls = content.filter(({ type }: Json) => type === 'tool_use')
    const results = calls.map(({ id }: Json) => ({ type: 'tool_result', tool_use_id: id, content: 'fine' }))
    return results.length > 0 ? [{ role: 'user', content: results }] : []
  },
}

const responses: Speaker = {
  async ask({ history, model, isStreamed }) {
    const tools = names.map((name) => ({ type: 'function' as const, name, parameters, strict: false }))
    const body = { model, input: history as unknown as OpenAI.Responses.ResponseInput, tools, store: false }
    return isStreamed
      ? await openai.responses.stream(body).finalResponse()
      : await openai.responses.create(body)
  },
  question: (content) => ({ role: 'user', content }),
  kept: ({ output }) => output,
  results: ({ output }) =>
    output
      .filter(({ type }: Json) => type === 'function_call')
      .map(({ call_id }: Json) => ({ type: 'function_call_output', call_id, output: 'fine' })),
}

const speakers = { chat, messages, responses }
type Dialect = keyof typeof speakers

/** The last request to a vendor. */
const sent = (): Json => JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')
const assistantsOf = (body = sent()): Json[] => body.messages.filter(({ role }: Json) => role === 'assistant')
const signatureOf = (call: Json): string | undefined => call.extra_content?.google?.thought_signature
/** Signatures of all calls, message by message. */
const signatures = (): (string | undefined)[][] =>
  assistantsOf()
    .filter(({ tool_calls: calls }) => calls)
    .map(({ tool_calls: calls }) => calls.map(signatureOf))

interface Loop {
  model?: string
  /** Calls at once. */
  calls?: number
  turns?: number
  isStreamed?: boolean
  /** Further wishes to the simulated vendor. */
  directives?: string
  /** The history that the client sends instead of the answers that it got. */
  lost?(history: Json[]): Json[]
}

/** A conversation of turns, each with calls, their results and an answer. */
async function converse(
  { ask, question, kept, results }: Speaker,
  { model = 'gemini', calls = 1, turns = 2, isStreamed = false, directives = '', lost = (all) => all }: Loop,
): Promise<Json[]> {
  let history: Json[] = []
  const add = async () => {
    const answer = await ask({ history, model, isStreamed })
    history = lost([...history, ...kept(answer)])
    return answer
  }
  for (let turn = 0; turn < turns; turn++) {
    history = [...history, question(`[sandbox tool=${calls} ${directives}] Turn ${turn}`)]
    const results_ = results(await add())
    expect(results_.length).toBeGreaterThan(0)
    history = [...history, ...results_]
    expect(results(await add())).toEqual([])
  }
  return history
}

/** The successive models of a conversation, of every protocol. */
const MOVES = [
  'kimi-messages',
  'deepseek',
  'gemini',
  'test-messages',
  'gemini-pro',
  'kimi',
  'test-chat',
  'glm',
  'gemini-2',
  'deepseek',
]

const dialects = ['chat', 'messages', 'responses'] as const
const ways = dialects.flatMap((dialect) =>
  [false, true].map((isStreamed): [string, Dialect, boolean] => [
    `${dialect}, ${isStreamed ? 'streamed' : 'whole'}`,
    dialect,
    isStreamed,
  ]),
)

describe.each(ways)('%s', (_, dialect, isStreamed) => {
  const speaker = speakers[dialect]

  test.each([1, 2])('signatures of %d calls at once come back in three turns', async (calls) => {
    await converse(speaker, { calls, turns: 3, isStreamed })
    expect(signatures()).toHaveLength(3)
    for (const [first, ...others] of signatures()) {
      expect(atob(first ?? '')).toStartWith('sandbox-signature gemini-3-flash-preview ')
      expect(others).toEqual(Array(calls - 1).fill(undefined))
    }
    expect(new Set(signatures().map(([first]) => first)).size).toBe(3)
  })

  test('a signature of a text comes back', async () => {
    const history = [speaker.question('Hi')]
    history.push(...speaker.kept(await speaker.ask({ history, model: 'gemini', isStreamed })))
    await speaker.ask({ history: [...history, speaker.question('And?')], model: 'gemini', isStreamed })
    expect(atob(signatureOf(assistantsOf()[0]) ?? '')).toStartWith('sandbox-signature gemini-3-flash')
  })

  test.each(['deepseek', 'kimi', 'glm'] as const)(
    'reasoning of %s comes back in three turns',
    async (model) => {
      await converse(speaker, { model, turns: 3, calls: 2, isStreamed })
      const reasoning = assistantsOf().map(({ reasoning_content: text }) => text)
      expect(reasoning).toHaveLength(5)
      // The client of chat keeps the last piece of a member that it does not know.
      const isPiece = dialect === 'chat' && isStreamed
      for (const text of reasoning) expect(text).toMatch(isPiece ? /\S/ : THOUGHTS)
    },
  )

  test.each(['deepseek-messages', 'kimi-messages'] as const)('thinking of %s comes back', async (model) => {
    await converse(speaker, { model, isStreamed, directives: 'reasoning=16' })
    const thinking = assistantsOf().flatMap(({ content }) =>
      content.filter(({ type }: Json) => type === 'thinking'),
    )
    // The client of chat keeps the last piece only of a member that it does not know.
    const isPiece = dialect === 'chat' && isStreamed
    expect(thinking).toHaveLength(2)
    for (const block of thinking) expect(block.thinking).toMatch(isPiece ? /\S/ : THOUGHTS)
  })

  const loses: Record<Dialect, (history: Json[]) => Json[]> = {
    chat: (history) =>
      history.map(({ role, content, tool_calls: calls, tool_call_id }) => ({
        role,
        content,
        ...(calls && {
          tool_calls: calls.map(({ id, type, function: called }: Json) => ({ id, type, function: called })),
        }),
        ...(tool_call_id && { tool_call_id }),
      })),
    messages: (history) =>
      history.map(({ role, content }) => ({
        role,
        content: Array.isArray(content) ? content.filter(({ type }) => type !== 'thinking') : content,
      })),
    responses: (history) => history.filter(({ type }) => type !== 'reasoning'),
  }

  test('a lost signature is filled in, once a step', async () => {
    await converse(speaker, { calls: 2, isStreamed, lost: loses[dialect] })
    expect(signatures()).toEqual([
      [FILLER, undefined],
      [FILLER, undefined],
    ])
  })

  test.each(['deepseek', 'kimi'] as const)('lost reasoning of %s is filled in', async (model) => {
    await converse(speaker, { model, isStreamed, lost: loses[dialect] })
    expect(assistantsOf().map(({ reasoning_content: text }) => text)).toEqual([' ', ' ', ' '])
  })

  test.each(['deepseek-messages', 'kimi-messages'] as const)(
    'lost thinking of %s is filled in',
    async (model) => {
      await converse(speaker, { model, isStreamed, lost: loses[dialect] })
      const blocks = assistantsOf().flatMap(({ content }) => content)
      expect(blocks.filter(({ type }) => type === 'thinking')).toEqual([FILLED, FILLED])
    },
  )

  test('no placeholder is added for a model that does not require reasoning', async () => {
    for (const model of ['glm', 'gemini-2'] as const satisfies ModelId[]) {
      await converse(speaker, { model, isStreamed, lost: loses[dialect] })
      expect(JSON.stringify(sent())).not.toMatch(/reasoning_content|extra_content/)
    }
  })

  test('a conversation moves from model to model', async () => {
    let history: Json[] = []
    for (const model of MOVES) {
      history.push(speaker.question('[sandbox tool=2] Go on'))
      for (const _ of ['calls', 'answers']) {
        const answer = await speaker.ask({ history, model, isStreamed })
        history = [...history, ...speaker.kept(answer), ...speaker.results(answer)]
      }
    }
    expect(assistantsOf()).toHaveLength(2 * MOVES.length - 1)
  })
})

describe.each([
  ['messages', messages, 'signature', 'messages[1].content[0].signature'],
  ['responses', responses, 'encrypted_content', 'input[1].encrypted_content'],
] as const)('reasoning that is sealed in %s', (_, speaker, member, place) => {
  const begin = async (model: ModelId, isStreamed = false) => {
    const history = [speaker.question('[sandbox tool=1] Go')]
    const answer = await speaker.ask({ history, model, isStreamed })
    return [...history, ...speaker.kept(answer), ...speaker.results(answer)]
  }
  const changed = (history: Json[], change: (sealed: string) => string): Json[] =>
    JSON.parse(JSON.stringify(history), (name, value) =>
      name === member && typeof value === 'string' ? change(value) : value,
    )

  test.each(['gemini', 'deepseek', 'kimi', 'glm'] as const)(
    '%s: nothing of it can be read',
    async (model) => {
      const text = JSON.stringify(await begin(model))
      expect(text).toContain(`"${member}":"${SEALED_PREFIX}`)
      expect(text).not.toContain(btoa('sandbox-signature').slice(0, 20))
    },
  )

  test('is rejected with its place if it was changed', async () => {
    const history = changed(await begin('gemini'), (sealed) => `${sealed.slice(0, -8)}AAAAAAAA`)
    const calls = gateway.sandbox.calls.length
    const error: Json = await speaker
      .ask({ history, model: 'gemini', isStreamed: false })
      .catch((each) => each)
    expect(error.status).toBe(400)
    expect(JSON.stringify(error.error ?? error.message)).toContain(place)
    expect(gateway.sandbox.calls).toHaveLength(calls)
  })

  test('of another account is replaced by a placeholder', async () => {
    const { secret } = await gateway.makeKey(`bob-${member}`, '10')
    const history = await begin('gemini')
    const path = speaker === messages ? '/v1/messages' : '/v1/responses'
    const body = speaker === messages ? { max_tokens: 9, messages: history } : { input: history }
    const response = await gateway.post(
      path,
      { model: 'gemini', ...body },
      { authorization: `Bearer ${secret}` },
    )
    expect(response.status).toBe(200)
    expect(signatures()).toEqual([[FILLER]])
  })

  test('of another model is replaced by a placeholder', async () => {
    await speaker.ask({ history: await begin('gemini'), model: 'gemini-pro', isStreamed: false })
    expect(signatures()).toEqual([[FILLER]])
    await speaker.ask({ history: await begin('deepseek'), model: 'kimi', isStreamed: false })
    expect(assistantsOf()[0].reasoning_content).toBe(' ')
  })
})

describe('a toolkit', () => {
  const city = jsonSchema<{ city: string }>({ ...parameters, type: 'object', additionalProperties: false })
  const weather = tool({ description: 'Weather', inputSchema: city, execute: async () => 'fine' })

  test.each([false, true])('loops with tools, streamed: %p', async (isStreamed) => {
    const provider = createOpenAICompatible({
      name: 'gateway',
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.secret,
    })
    for (const id of ['gemini', 'deepseek', 'kimi', 'glm'] satisfies ModelId[]) {
      const options = {
        model: provider(id),
        tools: { get_weather: weather },
        stopWhen: stepCountIs(3),
        prompt: 'What is the weather?',
      }
      const text = isStreamed ? await streamText(options).text : (await generateText(options)).text
      expect(text).toContain('The tool answered: fine')
      const [first] = assistantsOf()
      if (id === 'gemini') expect(first.tool_calls[0].extra_content.google.thought_signature).toBeString()
      else expect(first.reasoning_content).toContain(THOUGHTS)
    }
  })
})
