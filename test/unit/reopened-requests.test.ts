// Logged requests opened as conversations of the playground: the question is restored from each form of a chat, and
// parts that the playground does not support are named.

import { expect, test } from 'bun:test'
import { reopened } from '../../src/console/playground/from-request'

const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const schema = { type: 'object' }

/** One thread in the three forms: a question, a call of a tool, its result, an answer, and a question with a picture. */
const THREADS: Readonly<Record<string, object>> = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'How is it in Bonn?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      { role: 'assistant', content: 'It rains.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And here?' },
          { type: 'image_url', image_url: { url: PICTURE } },
        ],
      },
    ],
    max_completion_tokens: 50,
    temperature: 0.5,
    tools: [{ type: 'function', function: { name: 'weather', parameters } }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    stream: true,
    user: 'ada',
  },
  messages: {
    model: 'm',
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: 'How is it in Bonn?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Bonn' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'It rains.' }] },
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { type: 'text', text: 'And here?' },
        ],
      },
    ],
    max_tokens: 50,
    temperature: 0.5,
    tools: [{ name: 'weather', input_schema: parameters }],
    output_config: { format: { type: 'json_schema', schema } },
    user: 'ada',
  },
  responses: {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'How is it in Bonn?' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'And here?' },
          { type: 'input_image', image_url: PICTURE },
        ],
      },
    ],
    max_output_tokens: 50,
    temperature: 0.5,
    tools: [{ type: 'function', name: 'weather', parameters }],
    text: { format: { type: 'json_schema', name: 'answer', schema } },
    user: 'ada',
  },
}

for (const [operation, body] of Object.entries(THREADS)) {
  test(`a thread of ${operation} is restored`, () => {
    const found = reopened(operation, JSON.stringify(body), 'm')
    const { conversation, draft, results, leftOut } = found ?? expect.unreachable()
    const call = { id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }
    const turns = conversation.turns.map((turn) => {
      const [reply] = turn.replies
      return { text: turn.text, results: turn.results, said: reply?.text, calls: reply?.calls }
    })
    expect(turns).toEqual([
      { text: 'How is it in Bonn?', results: null, said: '', calls: [call] },
      { text: '', results: { c1: 'rain' }, said: 'It rains.', calls: [] },
    ])
    expect(draft.text).toBe('And here?')
    expect(draft.files).toEqual([{ name: '', type: 'image/png', url: PICTURE }])
    expect(results).toEqual({})
    expect(conversation.kind).toBe('chat')
    expect(conversation.models).toEqual(['m'])
    expect(conversation.values).toEqual({
      ...(operation !== 'chat' && { api: operation }),
      system: 'Be brief.',
      max_tokens: '50',
      temperature: '0.5',
      tools: JSON.stringify([{ name: 'weather', parameters }], null, 2),
      schema: JSON.stringify(schema, null, 2),
    })
    expect(leftOut).toEqual(['user'])
  })
}

test('a request that sends tool results is restored with the results to send', () => {
  const { messages = [], ...rest } = THREADS.chat as { messages?: readonly object[] }
  const body = JSON.stringify({ ...rest, messages: messages.slice(0, 4) })
  const { conversation, draft, results } = reopened('chat', body, 'm') ?? expect.unreachable()
  expect(conversation.turns).toHaveLength(1)
  expect([draft.text, results]).toEqual(['', { c1: 'rain' }])
})

test('other kinds of requests are restored with their text and values', () => {
  const rerank = { model: 'm', query: 'fox', documents: ['one', 'two'], top_n: 1 }
  const found = reopened('rerank', JSON.stringify(rerank), 'm') ?? expect.unreachable()
  expect(found.conversation).toMatchObject({ kind: 'rerank', values: { documents: 'one\ntwo' }, turns: [] })
  expect([found.draft.text, found.leftOut]).toEqual(['fox', ['top_n']])
})

test('a request that does not fit the playground opens nothing', () => {
  expect(reopened('chat', 'no JSON', 'm')).toBeUndefined()
  expect(reopened('chat', '[]', 'm')).toBeUndefined()
  expect(reopened('contents', '{}', 'm')).toBeUndefined()
})
