// Responses made of chat completions: streams in the manners of many servers, whole replies, and what official clients make
// of them.

import { describe, expect, test } from 'bun:test'
import { readCompletion } from '../../src/families/chat/caller-side'
import { responseOfCompletion } from '../../src/families/responses/via-chat/reply'
import { chatStream } from '../support/chat-streams'
import { createRandom, seedOf } from '../support/random'
import { bridgedModel, responseStream, responsesRequest } from '../support/response-bridges'
import { type ReadResponse, readResponse } from '../support/response-events'
import type { Json } from '../support/scenario'

const seed = seedOf('RESPONSES_SEED')
const model = bridgedModel('chat')

const translated = (text: string, cuts: readonly number[] = [], body: Json = {}) =>
  responseStream(model, responsesRequest(body), text, cuts)

describe(`random streams of chat (RESPONSES_SEED=${seed})`, () => {
  test('say the same, call the same and cost the same as a response', () => {
    const random = createRandom(seed)
    for (let round = 0; round < 1_000; round++) {
      const stream = chatStream(random)
      const { events, meter, answer } = translated(stream.text)
      try {
        const read = readResponse(events)
        expectSame(stream, read)
        expect(answer).toEqual(read.response)
        expect(meter.isComplete()).toBe(true)
      } catch (error) {
        throw new Error(`round ${round}: ${error}\n${stream.text}\n${events}`)
      }
    }
  })

  test('are the same wherever the network cuts them', () => {
    const random = createRandom(seed)
    for (let round = 0; round < 200; round++) {
      const { text } = chatStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).events).toBe(translated(text).events)
    }
  })
})

function expectSame(stream: ReturnType<typeof chatStream>, { response, items, deltas }: ReadResponse): void {
  const { thinking, said, calls, stopReason, usage } = stream
  const textOf = (type: string) => items.flatMap((item, place) => (item.type === type ? [deltas[place]] : []))
  expect(textOf('reasoning').join('')).toBe(thinking)
  expect(textOf('message').join('')).toBe(said)
  const made = items.filter(({ type }) => type === 'function_call')
  expect(made.map(({ call_id, name, arguments: text }) => ({ id: call_id, name, arguments: text }))).toEqual(
    calls.map(({ id = expect.stringMatching(/^call_\w+$/), ...call }) => ({ id, ...call })),
  )
  const isCut = stopReason === 'max_tokens'
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
  expect(response.incomplete_details).toEqual(isCut ? { reason: 'max_output_tokens' } : null)
  expect(response.usage).toEqual({
    input_tokens: (usage?.input ?? 0) + (usage?.cached ?? 0),
    input_tokens_details: { cached_tokens: usage?.cached ?? 0, cache_write_tokens: 0 },
    output_tokens: usage?.output ?? 0,
    output_tokens_details: { reasoning_tokens: usage?.thinking ?? 0 },
    total_tokens: usage ? usage.input + usage.cached + usage.output : 0,
  })
}

test('a whole completion is the response of a stream that says the same', () => {
  const message = {
    role: 'assistant',
    reasoning_content: 'Hm.',
    content: 'Hello',
    tool_calls: [
      { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
      { id: 'call_b', type: 'function', function: { name: 'g', arguments: '' } },
    ],
  }
  const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
  const reply = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }
  const chunk = { choices: [{ index: 0, delta: message, finish_reason: 'tool_calls' }], usage }
  const { answer } = translated(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
  const figures = readCompletion(reply).usage?.figures
  if (!figures || figures === 'invalid') throw new Error('no figures')
  expect(responseOfCompletion(reply, responsesRequest(), model, figures)).toEqual(answer)
})
