// Answers from Gemini's own API as callers of each dialect get them. Their shapes are those of replies and streams
// recorded by vercel/ai (packages/google/src/__fixtures__, 2026), with other content.

import { describe, expect, test } from 'bun:test'
import type { MadeFamily, Model, ParsedRequest } from '../../src/contract/family'
import { bridge } from '../../src/families/conversation/bridge'
import { chatDialect } from '../../src/families/dialects/chat/dialect'
import { messagesDialect } from '../../src/families/dialects/messages/dialect'
import { responsesDialect } from '../../src/families/dialects/responses/dialect'
import { geminiProtocol } from '../../src/families/protocols/gemini/protocol'
import { geminiFigures, readGeminiEvent, readGeminiReply } from '../../src/families/protocols/gemini/read'
import { knownModel, traitsOf } from '../../src/families/traits/known-models'
import { streamOutcome, wordsReadIn } from '../support/bridges/answer-outcome'
import { type AnswerWords, cut } from '../support/bridges/answer-samples'
import { openContext } from '../support/bridges/sealed'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'
import type { Json } from '../support/scenario'

const families = {
  chat: bridge(chatDialect, geminiProtocol),
  messages: bridge(messagesDialect, geminiProtocol),
  responses: bridge(responsesDialect, geminiProtocol),
} as unknown as Readonly<Record<Dialect, MadeFamily>>
type Dialect = 'chat' | 'messages' | 'responses'
const dialects: readonly Dialect[] = ['chat', 'messages', 'responses']

const requests: Readonly<Record<Dialect, Json>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  messages: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi', store: false, include: ['reasoning.encrypted_content'] },
}

const modelOf = (dialect: Dialect): Model =>
  ({
    id: 'm',
    upstreamModel: 'gemini-3-flash-preview',
    upstream: { kind: 'google' },
    family: families[dialect],
    traits: traitsOf({}, knownModel('gemini-3-flash-preview')),
    priceList: { tables: [], isFree: true },
    reserveOutputTokens: 4_096,
  }) as unknown as Model

const parsedOf = (dialect: Dialect, more: Json = {}) =>
  ({
    body: { ...requests[dialect], ...more },
    byteLength: 50,
    at: 1_000,
    answer: openContext,
  }) as ParsedRequest<Json>

const usageMetadata = {
  promptTokenCount: 29,
  candidatesTokenCount: 15,
  totalTokenCount: 48,
  thoughtsTokenCount: 4,
}

const replyOf = (parts: Json[], finishReason = 'STOP', more: Json = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0, ...more }],
  usageMetadata,
  modelVersion: 'gemini-3-flash-preview',
  responseId: 'r1',
})

function answered(dialect: Dialect, reply: Json): Json {
  return families[dialect].reply(
    [reply],
    parsedOf(dialect),
    modelOf(dialect),
    { output_token: 19 },
    new Map(),
  )
}

const call = (name: string, args?: Json, more: Json = {}) => ({ functionCall: { name, args }, ...more })
const thought = (text: string) => ({ text, thought: true })

describe('a whole reply', () => {
  const reply = replyOf([
    thought('Hm.'),
    { text: 'Let me ' },
    { text: 'look.' },
    call('look', { at: 1 }, { thoughtSignature: 's1' }),
    call('hear'),
    { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
  ])

  test('becomes a completion', () => {
    expect(answered('chat', reply).choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look.',
        reasoning_content: 'Hm.',
        tool_calls: [
          { function: { name: 'look', arguments: '{"at":1}' } },
          { function: { name: 'hear', arguments: '{}' } },
        ],
      },
    })
  })

  test('becomes a message, with the signature before its call', () => {
    const { content, stop_reason } = answered('messages', reply)
    expect(stop_reason).toBe('tool_use')
    expect(content.map(({ type }: Json) => type)).toEqual([
      'thinking',
      'text',
      'thinking',
      'tool_use',
      'tool_use',
    ])
    expect(content[2].signature).toContain(`"calls":{"${content[3].id}":"s1"}`)
    expect(content[3].id).not.toBe(content[4].id)
  })

  test('becomes a response, with the signature before its call', () => {
    const { output } = answered('responses', reply)
    expect(output.map(({ type }: Json) => type)).toEqual([
      'reasoning',
      'message',
      'reasoning',
      'function_call',
      'function_call',
    ])
    expect(output[2].encrypted_content).toContain(`"calls":{"${output[3].call_id}":"s1"}`)
  })

  test('keeps the signature of its first text, and drops one after a text without a call', () => {
    const signed = answered('messages', replyOf([{ text: 'Hi', thoughtSignature: 's1' }]))
    expect(signed.content.map(({ type }: Json) => type)).toEqual(['thinking', 'text'])
    const late = answered('messages', replyOf([{ text: 'Hi' }, { text: '', thoughtSignature: 's1' }]))
    expect(late.content.map(({ type }: Json) => type)).toEqual(['text'])
  })

  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_RECITATION', 'content_filter'],
    ['OTHER', 'stop'],
    ['SOME_NEW_REASON', 'stop'],
  ])('that ends with %s has the reason %s', (reason, expected) => {
    expect(answered('chat', replyOf([{ text: 'Hi' }], reason)).choices[0].finish_reason).toBe(expected)
  })

  test('without content is a valid answer', () => {
    const empty = { candidates: [{ finishReason: 'MAX_TOKENS', index: 0 }], usageMetadata }
    expect(answered('chat', empty).choices[0].finish_reason).toBe('length')
    expect(readGeminiReply(empty)).toMatchObject({ output: { kind: 'hidden' }, end: 'finished' })
  })

  test('to a blocked prompt reports the block', () => {
    const blocked = {
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      responseId: 'r1',
    }
    expect(answered('chat', blocked).choices[0].finish_reason).toBe('content_filter')
    expect(answered('messages', blocked)).toMatchObject({
      stop_reason: 'refusal',
      stop_details: { explanation: "The vendor's filter says PROHIBITED_CONTENT." },
    })
    expect(readGeminiReply(blocked)).toMatchObject({
      output: { kind: 'shown' },
      usage: { kind: 'total', figures: { input_token: 9, output_token: 0 } },
      end: 'finished',
    })
  })

  test.each([
    ['without any content', {}],
    ['with an error', { error: { code: 500, message: 'Internal' } }],
    ['with an invalid call', replyOf([], 'MALFORMED_FUNCTION_CALL')],
    [
      'with feedback on a prompt that was not blocked',
      { promptFeedback: { blockReason: 'BLOCK_REASON_UNSPECIFIED' } },
    ],
  ])('%s has failed', (_, reply) => {
    expect(readGeminiReply(reply).end).toBe('failed')
  })

  test('has the sources and the probabilities of its text', () => {
    const more = {
      citationMetadata: { citationSources: [{ uri: 'https://a.example', startIndex: 3, endIndex: 6 }] },
      logprobsResult: {
        chosenCandidates: [{ token: '猫', logProbability: -0.5 }],
        topCandidates: [{ candidates: [{ token: '犬', logProbability: -1 }] }],
      },
    }
    const answer: Json = families.chat.reply(
      [replyOf([{ text: '猫犬' }], 'STOP', more)],
      parsedOf('chat', { logprobs: true, top_logprobs: 1 }),
      modelOf('chat'),
      {},
      new Map(),
    )
    const [choice] = answer.choices
    expect(choice.message.annotations).toEqual([
      {
        type: 'url_citation',
        url_citation: { url: 'https://a.example', title: '', start_index: 1, end_index: 2 },
      },
    ])
    expect(choice.logprobs.content).toMatchObject([
      { token: '猫', logprob: -0.5, top_logprobs: [{ token: '犬', logprob: -1 }] },
    ])
  })
})

describe('figures', () => {
  test.each([
    ['thinking counted next to the output', usageMetadata, { input_token: 29, output_token: 19 }],
    [
      'thinking counted only in the total',
      { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 20 },
      { input_token: 9, output_token: 11 },
    ],
    [
      'results of tools',
      {
        promptTokenCount: 55,
        candidatesTokenCount: 51,
        totalTokenCount: 251,
        toolUsePromptTokenCount: 89,
        thoughtsTokenCount: 56,
      },
      { input_token: 144, output_token: 107 },
    ],
    [
      'a cache',
      { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 5 },
      { input_token: 40, cached_input_token: 60, output_token: 5 },
    ],
    [
      'sound',
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        candidatesTokenCount: 50,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 20 },
          { modality: 'AUDIO', tokenCount: 80 },
        ],
        cacheTokensDetails: [
          { modality: 'AUDIO', tokenCount: 50 },
          { modality: 'TEXT', tokenCount: 10 },
        ],
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }],
      },
      {
        input_token: 10,
        cached_input_token: 10,
        input_audio_token: 30,
        cached_input_audio_token: 50,
        output_token: 10,
        output_audio_token: 40,
      },
    ],
    [
      'sound in a cache without details',
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        candidatesTokenCount: 5,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 50 }],
      },
      {
        input_token: 0,
        cached_input_token: 50,
        input_audio_token: 40,
        cached_input_audio_token: 10,
        output_token: 5,
      },
    ],
    [
      'pictures',
      {
        promptTokenCount: 100,
        candidatesTokenCount: 5,
        promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 90 }],
      },
      { input_token: 100, output_token: 5 },
    ],
    ['only the traffic type', { trafficType: 'ON_DEMAND' }, undefined],
    [
      'more cached than sent',
      { promptTokenCount: 1, cachedContentTokenCount: 2, candidatesTokenCount: 1 },
      'invalid',
    ],
    [
      'more sound than sent',
      {
        promptTokenCount: 1,
        candidatesTokenCount: 1,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 2 }],
      },
      'invalid',
    ],
    ['a text', { promptTokenCount: '1', candidatesTokenCount: 1 }, 'invalid'],
    ['a negative number', { promptTokenCount: 1, candidatesTokenCount: -1 }, 'invalid'],
    ['no prompt', { candidatesTokenCount: 1 }, 'invalid'],
    ['more than any answer has', { promptTokenCount: 1, candidatesTokenCount: 1e12 }, 'invalid'],
  ])('with %s', (_, usage, expected) => {
    expect(geminiFigures(usage)).toEqual(expected as Json)
  })
})

describe('an event', () => {
  const chunk = (parts: Json[], more: Json = {}, usage: Json = usageMetadata) => ({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
    usageMetadata: usage,
  })

  test.each([
    ['a text', chunk([{ text: 'Hi' }]), { output: { kind: 'shown', text: 'Hi' } }],
    ['a call', chunk([call('look', { a: 1 })]), { output: { kind: 'shown', text: 'look{"a":1}' } }],
    ['a signature', chunk([{ text: '', thoughtSignature: 's' }]), { output: { kind: 'hidden' } }],
    [
      'the end',
      chunk([{ text: '' }], { finishReason: 'STOP' }),
      { end: 'finished', usage: { kind: 'total' } },
    ],
    ['an invalid call', chunk([], { finishReason: 'MALFORMED_FUNCTION_CALL' }), { end: 'finished-failed' }],
    [
      'a block',
      { promptFeedback: { blockReason: 'SAFETY' } },
      { end: 'finished', output: { kind: 'shown' } },
    ],
    ['an error', { error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } }, { end: 'failed' }],
    ['a tier', chunk([], {}, { serviceTier: 'priority' }), { serviceTier: 'priority' }],
    [
      'no output yet',
      chunk([], {}, { promptTokenCount: 5, totalTokenCount: 5 }),
      { usage: { kind: 'start' } },
    ],
  ])('with %s', (_, event, reading) => {
    expect(readGeminiEvent(event)).toMatchObject(reading as Json)
  })

  test('without a finish reason is not an answer', () => {
    expect(readGeminiEvent(chunk([{ text: 'Hi' }])).end).toBeUndefined()
    expect(readGeminiEvent(chunk([], { finishReason: 'FINISH_REASON_UNSPECIFIED' })).end).toBeUndefined()
    expect(readGeminiEvent({})).toEqual({})
  })
})

/** The parts of a random answer, and their texts. */
function randomParts(random: Random): { parts: Json[]; reported: AnswerWords } {
  const parts: Json[] = []
  const reported: AnswerWords = { thinking: '', answer: '', calls: [] }
  const signed = () => (random.chance(0.3) ? { thoughtSignature: `s${parts.length}` } : {})
  for (let left = 1 + random.below(5); left > 0; left--) {
    const words = random.pick(['Hi', 'the 猫', '\n\n', '🎉 party', '{"a":1}', ' '])
    const kind = random.below(6)
    if (kind === 0) {
      for (const piece of cut(random, words)) parts.push(thought(piece))
      reported.thinking += words
    } else if (kind <= 2) {
      for (const piece of cut(random, words)) parts.push({ text: piece, ...signed() })
      reported.answer += words
    } else if (kind <= 4) {
      const args = random.pick([undefined, {}, { a: words }, { b: [1, null] }])
      const id = random.chance(0.5) ? { id: `c${random.below(3)}` } : {}
      parts.push({ functionCall: { ...id, name: 'look', args }, ...signed() })
      reported.calls.push({ name: 'look', arguments: JSON.stringify(args ?? {}) })
    } else {
      parts.push(
        random.pick<Json>([
          { text: '', ...signed() },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { executableCode: { code: 'x' } },
          { functionCall: {} },
          'odd',
        ]),
      )
    }
  }
  return { parts, reported }
}

function eventsOf(random: Random, parts: readonly Json[]): Json[] {
  const rest = [...parts]
  const events: Json[] = []
  while (rest.length > 0) {
    const some = rest.splice(0, 1 + random.below(3))
    events.push({
      candidates: [{ content: { parts: some, role: 'model' }, index: 0 }],
      usageMetadata,
      responseId: 'r1',
    })
  }
  const [last] = random.chance(0.3) ? events.splice(-1) : []
  const end = last ?? {
    candidates: [{ content: { parts: [{ text: '' }] } }],
    usageMetadata,
    responseId: 'r1',
  }
  end.candidates[0].finishReason = 'STOP'
  return [...events, end]
}

const withObjects = (reported: AnswerWords) => ({
  ...reported,
  calls: reported.calls.map(({ name, arguments: text }) => ({ name, input: JSON.parse(text || '{}') })),
})

test('1,000 random streams arrive with all of their content and nothing else', () => {
  const seed = seedOf('GEMINI_SEED')
  const random = createRandom(seed)
  for (let place = 0; place < 1_000; place++) {
    const { parts, reported } = randomParts(random)
    const events = eventsOf(random, parts)
    for (const dialect of dialects) {
      const more = { stream: true, ...(dialect === 'responses' && { reasoning: { summary: 'auto' } }) }
      const outcome = streamOutcome(modelOf(dialect), parsedOf(dialect, more), [events], { ending: 'finish' })
      const label = `${dialect}, GEMINI_SEED=${seed}, ${JSON.stringify(events)}`
      expect(withObjects(wordsReadIn(outcome.events)), label).toEqual(withObjects(reported) as Json)
    }
  }
})

/** A model's reply as its caller sends it back. */
const returned: Readonly<Record<'messages' | 'responses', (answer: Json) => Json>> = {
  messages: ({ content }) => {
    const results = content.flatMap(({ type, id }: Json) =>
      type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'seen' }] : [],
    )
    const next = results.length > 0 ? results : 'And?'
    const [first] = requests.messages.messages
    return { messages: [first, { role: 'assistant', content }, { role: 'user', content: next }] }
  },
  responses: ({ output }) => ({
    input: [
      { role: 'user', content: 'Hi' },
      ...output,
      ...output.flatMap(({ type, call_id }: Json) =>
        type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'seen' }] : [],
      ),
      { role: 'user', content: 'And?' },
    ],
  }),
}

test.each(['messages', 'responses'] as const)(
  'signatures are returned with the calls that they came with: %s',
  (dialect) => {
    const seed = seedOf('GEMINI_SEED')
    const random = createRandom(seed)
    for (let place = 0; place < casesOf(1_000); place++) {
      const { parts } = randomParts(random)
      const came = parts.filter((part) => part.functionCall?.name !== undefined)
      if (came.length === 0) continue
      const answer = answered(dialect, replyOf(parts))
      const parsed = parsedOf(dialect, returned[dialect](answer))
      const [sent] = [families[dialect].call(parsed, modelOf(dialect))].flat() as Json
      const model = sent.body.json.contents[1].parts.filter((part: Json) => part.functionCall)
      const signatures = (list: Json[]) => list.map(({ thoughtSignature }) => thoughtSignature)
      const [first, ...others] = signatures(came)
      const label = `GEMINI_SEED=${seed}, ${JSON.stringify(parts)}`
      expect(signatures(model), label).toEqual([first ?? 'skip_thought_signature_validator', ...others])
    }
  },
)
