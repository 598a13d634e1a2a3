// The events of a vendor that serves responses, as a caller gets them: complete whatever the vendor omits, properly
// ended wherever they break off, and the same however the network splits them.

import { describe, expect, test } from 'bun:test'
import type { Model, ParsedRequest, Translator } from '../../src/contract/family'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { createNativeEvents } from '../../src/families/responses/native-events'
import { GatewayError } from '../../src/lib/errors'
import { fixtures } from '../support/answers/fixtures'
import { readResponse } from '../support/answers/response-events'
import type { Json } from '../support/scenario'

const model = { id: 'known-here' } as Model
const asked: ParsedRequest<ResponsesBody> = {
  body: { model: 'known-here', input: 'Hi', store: false },
  byteLength: 50,
  at: 1_770_000_000_000,
}

/** A caller's stream for a vendor's events, after it has ended. */
function translated(
  events: readonly Json[],
  end: (of: Translator) => string = (of) => of.finish({}),
): string {
  const translator = createNativeEvents(asked, model)
  const pieces = structuredClone(events).map((event) => translator.push(event, 0, {}))
  return pieces.join('') + end(translator)
}

const ADDED = 'response.output_item.added'

// The recorded vendor sends an encrypted value at the beginning of an item, which is not valid yet, and reasoning
// without a status, which strict clients refuse.
const streams = fixtures
  .filter(({ family, events }) => family === 'openai-responses' && events)
  .map(({ name, events = [] }) => {
    const plain = structuredClone(events)
    for (const { type, item } of plain) {
      if (type === ADDED) delete item.encrypted_content
      if (item?.type === 'reasoning') item.status ??= type === ADDED ? 'in_progress' : 'completed'
    }
    return [name, plain] as const
  })

const WHOLE = new Set(['response.output_item.done', 'response.completed', 'response.incomplete'])

describe.each(streams)('%s', (_, events) => {
  const whole = readResponse(translated(events))

  test('passes unchanged, except sequence numbers, padding and the gateway’s own fields', () => {
    const seen = whole.events.map(({ sequence_number: _, response, ...rest }) => [rest, response?.status])
    const came = events.map(({ sequence_number: _, obfuscation: _padding, response, ...rest }) => [
      rest,
      response?.status,
    ])
    expect(seen).toEqual(came)
    expect(whole.response).toMatchObject({ model: 'known-here', store: false, object: 'response' })
  })

  test('is complete without any one of its events', () => {
    for (const [place, { type }] of events.entries()) {
      // A call is added when its name is known: at its end, after other items.
      if (WHOLE.has(type) || (type === ADDED && events[place]?.item.call_id)) continue
      // A piece that is followed by another one is lost.
      const isFollowed = events.slice(place + 1).some((later) => later.type === type)
      if (type.endsWith('.delta') && isFollowed) continue
      const { items, response } = readResponse(translated(events.toSpliced(place, 1)))
      expect({ place, type, items, output: response.output }).toEqual({
        place,
        type,
        items: whole.items,
        output: whole.response.output,
      })
    }
  })

  test('is complete if the vendor sends only whole items', () => {
    const few = events.filter(({ type }) => WHOLE.has(type) || type === 'response.created')
    const { items, deltas } = readResponse(translated(few))
    expect({ items, deltas }).toEqual({ items: whole.items, deltas: whole.deltas })
  })

  test('is the same if each event has other ids or none', () => {
    const other = (id: (event: number) => string | undefined) =>
      structuredClone(events).map((event, index) => {
        if (event.item) event.item.id = id(index)
        if (event.item_id) event.item_id = id(index)
        for (const item of event.response?.output ?? []) item.id = id(index)
        return event
      })
    for (const changed of [other((index) => `x_${index}`), other(() => undefined)]) {
      const { items } = readResponse(translated(changed))
      expect(items.map(({ id: _, ...item }) => item)).toEqual(whole.items.map(({ id: _, ...item }) => item))
    }
  })

  test('ends properly wherever a limit cuts it, and reports the limit', () => {
    for (let length = 0; length < events.length; length++) {
      const cut = translated(events.slice(0, length), (of) => of.cut({ input_token: 5, output_token: 3 }))
      const { response } = readResponse(cut)
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        usage: { input_tokens: 5, output_tokens: 3, total_tokens: 8 },
      })
      for (const item of response.output) {
        const isAsItWas = whole.items.some((each) => JSON.stringify(each) === JSON.stringify(item))
        expect({
          length,
          item,
          fine: isAsItWas || ['incomplete', 'completed', undefined].includes(item.status),
        }).toEqual({ length, item, fine: true })
      }
    }
  })

  test('fails with both forms of an error wherever it breaks', () => {
    const error = new GatewayError(502, { code: 'upstream_error', message: 'It broke.' })
    for (let length = 0; length < events.length; length++) {
      const broken = translated(events.slice(0, length), (of) => of.fail?.(error) ?? '')
      const { response } = readResponse(broken)
      expect(response).toMatchObject({
        status: 'failed',
        error: { code: 'server_error', message: 'It broke.' },
      })
    }
  })
})

test('events unknown to clients are removed, and renamed events get the usual name', () => {
  const created = { type: 'response.created', response: { id: 'resp_1' } }
  const item = { type: 'reasoning', id: 'rs_1', summary: [] }
  const added = { type: 'response.output_item.added', output_index: 0, item }
  const strange = ['ping', 'response.mood', 'response.queued', '', 7].map((type) => ({ type }))
  const reported = {
    type: 'response.reasoning.delta',
    output_index: 0,
    item_id: 'rs_1',
    content_index: 0,
    delta: 'Hm.',
  }
  const types = translated([created, ...strange, added, ...strange, reported])
    .split('\n')
    .filter((line) => line.startsWith('event: '))
  expect(types.map((line) => line.slice(7))).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.reasoning_text.delta',
    'response.reasoning_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
})

test('a vendor that sends only the last event results in a complete stream', () => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }]
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const end = { type: 'response.completed', response: { status: 'completed', output, usage } }
  const { items, deltas } = readResponse(translated([end]))
  expect({ text: items[0].content[0].text, deltas }).toEqual({ text: 'Hi', deltas: ['Hi'] })
})

test('missing indexes of parts and items are added to a server’s events', () => {
  // As llama.cpp's server sent them in 2026: without output_index and content_index (ggml-org/llama.cpp,
  // tools/server/server-task.cpp).
  const part = { type: 'output_text', text: '', annotations: [] }
  const reported = { type: 'output_text', text: 'Hi', annotations: [] }
  const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [] }
  const text = translated([
    { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress' } },
    { type: ADDED, item: { ...item, status: 'in_progress' } },
    { type: 'response.content_part.added', item_id: 'msg_1', part },
    { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'H' },
    { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'i' },
    { type: 'response.output_text.done', item_id: 'msg_1', text: 'Hi' },
    { type: 'response.content_part.done', item_id: 'msg_1', part: reported },
    { type: 'response.output_item.done', item: { ...item, status: 'completed', content: [reported] } },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } },
  ])
  const { events } = readResponse(text)
  const places = events
    .filter(({ type }) => /content_part|output_text|output_item/.test(type))
    .map(({ type, output_index, content_index }) => [
      type.replace('response.', ''),
      output_index,
      content_index,
    ])
  expect(places).toEqual([
    ['output_item.added', 0, undefined],
    ['content_part.added', 0, 0],
    ['output_text.delta', 0, 0],
    ['output_text.delta', 0, 0],
    ['output_text.done', 0, 0],
    ['content_part.done', 0, 0],
    ['output_item.done', 0, undefined],
  ])
})
