// Responses made of messages: streams in the manners of many servers, whole replies, thinking that comes back, and what
// official clients make of them.

import { describe, expect, test } from 'bun:test'
import { messageStream } from '../support/message-streams'
import { createRandom, seedOf } from '../support/random'
import { bridgedModel, responseStream, responsesRequest } from '../support/response-bridges'
import { type ReadResponse, readResponse } from '../support/response-events'
import type { Json } from '../support/scenario'

const seed = seedOf('RESPONSES_SEED')
const model = bridgedModel('messages')

const translated = (text: string, cuts: readonly number[] = [], body: Json = {}) =>
  responseStream(model, responsesRequest(body), text, cuts)

describe(`random streams of messages (RESPONSES_SEED=${seed})`, () => {
  test('say the same, call the same and cost the same as a response', () => {
    const random = createRandom(seed)
    for (let round = 0; round < 1_000; round++) {
      const stream = messageStream(random)
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
      const { text } = messageStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).events).toBe(translated(text).events)
    }
  })
})

function expectSame(
  stream: ReturnType<typeof messageStream>,
  { response, items, deltas }: ReadResponse,
): void {
  const { thinking, said, calls, finish, usage } = stream
  const refusal = finish === 'content_filter' ? 'The model declined to answer.' : ''
  const textOf = (type: string) => items.flatMap((item, place) => (item.type === type ? [deltas[place]] : []))
  expect(textOf('reasoning').join('')).toBe(thinking)
  expect(textOf('message').join('')).toBe(said + refusal)
  const made = items.filter(({ type }) => type === 'function_call')
  const isCut = finish === 'length'
  expect(made.map(({ call_id, name, arguments: text }) => ({ id: call_id, name, arguments: text }))).toEqual(
    calls.map((call, index) => {
      const isLast = index === calls.length - 1 && items.at(-1)?.type === 'function_call'
      return {
        ...call,
        arguments: isCut && isLast && call.arguments === '{}' ? expect.any(String) : call.arguments,
      }
    }),
  )
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
  expect(response.incomplete_details).toEqual(isCut ? { reason: 'max_output_tokens' } : null)
  const input = usage.input + usage.cached + usage.written
  expect(response.usage).toEqual({
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking },
    total_tokens: input + usage.output,
  })
}
