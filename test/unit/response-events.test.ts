// The independent parser of streamed responses: it accepts a correct stream, and refuses one with a missing, repeated
// or changed part.

import { describe, expect, test } from 'bun:test'
import { bridgedModel, responseStream, responsesRequest } from '../support/answers/response-bridges'
import { readResponse, responseEventsOf } from '../support/answers/response-events'
import type { Json } from '../support/scenario'

const piece = (index: number, text: string, name?: string) => ({
  tool_calls: [
    { index, ...(name && { id: `call_${name}` }), function: { ...(name && { name }), arguments: text } },
  ],
})
const deltas = [
  { reasoning_content: 'Hm' },
  { content: 'a' },
  { content: 'b' },
  { refusal: 'No' },
  piece(0, '{"a"', 'f'),
  piece(1, '{"input":"x"}', 'exec'),
  piece(0, ':1}'),
]
const chunks = [
  ...deltas.map((delta) => ({ choices: [{ delta }] })),
  { choices: [{ delta: {}, finish_reason: 'stop' }] },
]
const { events: good } = responseStream(
  bridgedModel('chat', 'deepseek'),
  responsesRequest({ tools: [{ type: 'custom', name: 'exec' }] }),
  [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
)
const events = responseEventsOf(good)

function streamOf(list: readonly Json[]): string {
  const frames = list.map((event, index) => {
    const numbered = { ...event, sequence_number: index }
    return `event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`
  })
  return `${frames.join('')}data: [DONE]\n\n`
}

const named = events.map(({ type }, index) => [`${index} ${type}`, index] as const)

describe('the parser of responses', () => {
  test('accepts a correct stream, also with keep-alives', () => {
    expect(readResponse(streamOf(events)).items.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'custom_tool_call',
    ])
    readResponse(
      streamOf(events.flatMap((event, index) => (index === 0 ? [event] : [{ type: 'keepalive' }, event]))),
    )
  })

  test.each(named)('refuses a stream without event %s', (_, index) => {
    expect(() => readResponse(streamOf(events.toSpliced(index, 1)))).toThrow()
  })

  test.each(named)('refuses a stream with event %s twice', (_, index) => {
    expect(() => readResponse(streamOf(events.toSpliced(index, 0, events[index])))).toThrow()
  })

  test.each(named)('refuses another id, place or text in event %s', (_, index) => {
    const { response, item, ...event } = events[index]
    for (const member of [
      'item_id',
      'output_index',
      'content_index',
      'summary_index',
      'delta',
      'text',
      'part',
    ]) {
      if (event[member] === undefined) continue
      const changed = { ...event, [member]: typeof event[member] === 'number' ? 7 : 'other' }
      expect(() => readResponse(streamOf(events.with(index, changed)))).toThrow()
    }
    for (const [member, whole] of Object.entries({ response, item })) {
      if (whole === undefined) continue
      for (const id of ['id', 'status', 'output', 'content', 'summary', 'arguments', 'input'])
        if (whole[id] !== undefined)
          expect(() =>
            readResponse(streamOf(events.with(index, { ...event, [member]: { ...whole, [id]: 'other' } }))),
          ).toThrow()
    }
  })

  test.each([
    ['a sequence number is skipped', good.replace('"sequence_number":5', '"sequence_number":6')],
    ['an event has another name', good.replace('event: response.created', 'event: response.made')],
    ['the end is missing', good.replace('data: [DONE]\n\n', '')],
    ['the last event is cut off', good.slice(0, -40)],
    ['an event follows the end', `${good}event: ping\ndata: {"type":"ping"}\n\n`],
    ['an event is unknown', streamOf(events.toSpliced(5, 0, { type: 'response.cost' }))],
  ])('refuses a stream where %s', (_, stream) => {
    expect(() => readResponse(stream)).toThrow()
  })
})
