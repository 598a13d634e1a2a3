// Requests of chat completions as data: each field with the values that make a difference, every kind of part, call and result, and
// conversations in any order. They must never be chosen by the rules of a model or a translation.

import type { Random } from '../random'
import type { Json } from '../scenario'
import { each, many, PDF, PICTURE, type RequestSamples, schema, sometimes, words } from './request-samples'

const tool = { type: 'function', function: { name: 'look', description: 'Looks.', parameters: schema } }
const custom = { type: 'custom', custom: { name: 'note', description: 'Notes.' } }
const grammar = {
  type: 'custom',
  custom: {
    name: 'sum',
    format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: /.+/' } },
  },
}
const tools = [tool, custom, grammar, { type: 'function', function: { name: 'bare' } }]
/** Parts that every protocol can express. */
const functions = [tool, { type: 'function', function: { name: 'bare' } }]
const long = { type: 'ephemeral', ttl: '1h' }
const turn = (...messages: Json[]): Json => ({ messages })
const user = (content: Json, more: Json = {}): Json => ({ role: 'user', content, ...more })
const call = (more: Json = {}): Json => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: '{"place":"x"}' },
  ...more,
})
const afterCalls = (calls: Json, ...results: Json[]): Json =>
  turn(user('Where?'), { role: 'assistant', content: null, tool_calls: calls }, ...results)
const result = (id: Json, content: Json = 'there'): Json => ({ role: 'tool', tool_call_id: id, content })
const format = (json_schema: Json): Json => ({ response_format: { type: 'json_schema', json_schema } })
const signed = { google: { thought_signature: 'c2ln' } }

const parts: readonly Json[] = [
  { type: 'text', text: 'Look' },
  { type: 'text', text: '' },
  { type: 'text', text: 'kept', cache_control: { type: 'ephemeral' } },
  { type: 'text', text: 'kept long', cache_control: long },
  { type: 'text' },
  { type: 'refusal', refusal: 'No.' },
  { type: 'image_url', image_url: { url: PICTURE, detail: 'low' } },
  { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
  { type: 'image_url', image_url: 'https://example.com/b.png' },
  { type: 'image_url', image_url: { url: 'http://127.0.0.1/a.png' } },
  { type: 'image_url', image_url: { url: 'a.png' } },
  { type: 'image_url', image_url: { url: 'oss://a.png' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'gs://a.pdf' } },
  { type: 'text', text: 'See fileid://a' },
  { type: 'image_url' },
  { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: PDF } },
  { type: 'file', file: { file_data: PDF } },
  { type: 'file', file: { filename: 'a.csv', file_data: 'data:text/csv;base64,YSxi' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'https://example.com/a.pdf' } },
  { type: 'file', file: { file_id: 'file_1' } },
  { type: 'image_url', image_url: { url: 'data:audio/wav;base64,AAAA' } },
  { type: 'file', file: { filename: 'a.mp4', file_data: 'data:video/mp4;base64,AAAA' } },
  { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
]

const calls: readonly Json[] = [
  [call()],
  [call(), call({ id: 'call_2' })],
  [call(), call()],
  [call({ id: 'functions.look:0' })],
  [call({ id: '' })],
  [call({ id: undefined })],
  [call({ function: { name: 'look' } })],
  [call({ function: { name: 'look', arguments: '' } })],
  [call({ function: { name: 'look', arguments: 'not json' } })],
  [call({ function: { name: 'look', arguments: '[1]' } })],
  [call({ function: { name: 'look', arguments: { place: 'x' } } })],
  [call({ function: { name: 'unknown tool', arguments: '{"n":12345678901234567890}' } })],
  [call({ function: undefined })],
  [call({ extra_content: signed }), call({ id: 'call_2' })],
  [{ id: 'call_1', type: 'custom', custom: { name: 'note', input: 'raw\ntext' } }],
  [{ id: 'call_1', type: 'custom', custom: { name: 'note' } }],
  [{ id: 'call_1', function: { name: 'look', arguments: '{}' } }],
  [],
  null,
  'call_1',
]

const fields: readonly Json[] = [
  ...each('max_tokens', 1, 15, 16, 77, 100_000_000, 0, null, '7'),
  ...each('max_completion_tokens', 1, 15, 16, 2_000, 100_000_000, 0, null),
  { max_tokens: 50, max_completion_tokens: 20 },
  { max_tokens: 50, max_completion_tokens: null },
  ...each('temperature', 0, 0.5, 1, 1.5, 2, 3, null, 'warm'),
  ...each('top_p', 0, 0.5, 1, null),
  { temperature: 0.5, top_p: 0.5 },
  { temperature: 1, top_p: 0.5 },
  ...each('top_k', 20, null, '20'),
  ...each('stop', 'END', '', ' ', ['END', ' ', 'FIN'], [], null, [7]),
  ...each('seed', 7, null, 1.5),
  ...each('n', 1, 2, 3, 16, 17, 128, 0, null),
  { n: 2, stream: true },
  { n: 17, stream: true },
  ...each('stream', true, false, null, 'yes'),
  ...[true, false, null].map((include_usage) => ({ stream: true, stream_options: { include_usage } })),
  { stream: true, stream_options: null },
  { stream_options: { include_usage: true, include_obfuscation: false } },
  ...each('frequency_penalty', 0, 0.5, 3),
  ...each('presence_penalty', 0, 0.5, null),
  ...each('repetition_penalty', 1.1),
  ...each('min_p', 0.1),
  ...each('logit_bias', {}, { 5: -100 }, null),
  ...each('logprobs', true, false, null),
  { logprobs: true, top_logprobs: 3 },
  ...each('top_logprobs', 0, 3),
  ...each('reasoning_effort', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'much', '', null),
  ...each('verbosity', 'low', 'medium', 'high', 'chatty', 'constructor', null),
  ...each(
    'thinking',
    { type: 'enabled', budget_tokens: 1_024 },
    { type: 'enabled', budget_tokens: 50_000 },
    { type: 'enabled' },
    { type: 'disabled' },
    { type: 'adaptive' },
    { type: 'adaptive', display: 'summarized' },
    true,
    null,
  ),
  { thinking: { type: 'enabled', budget_tokens: 1_024 }, reasoning_effort: 'none' },
  { thinking: { type: 'disabled' }, reasoning_effort: 'high' },
  ...each('enable_thinking', true, false),
  ...each('thinking_budget', 500),
  ...each('reasoning', { effort: 'low' }, null),
  ...each('include_reasoning', true, false, null),
  { include_reasoning: true, reasoning_effort: 'low' },
  ...each('modalities', ['text'], ['text', 'audio'], [], null),
  ...each('audio', { voice: 'alloy', format: 'wav' }, null),
  ...each('prediction', { type: 'content', content: 'Hello' }, null),
  ...each('store', true, false, null),
  ...each('metadata', { team: 'blue' }, {}, null),
  ...each('user', 'ann', '', null, 7),
  ...each('safety_identifier', 'bob', null),
  { user: 'ann', safety_identifier: 'bob' },
  ...each('service_tier', 'auto', 'default', 'flex', 'priority', 'fast', null),
  ...each('prompt_cache_key', 'key', null),
  ...each('prompt_cache_retention', 'in_memory', '24h', null),
  ...each('prompt_cache_options', { ttl: '30m' }, { ttl: '12h' }, {}, null),
  ...each('usage', { include: true }),
  ...each('web_search_options', {}, null),
  ...each('search_parameters', { mode: 'off' }, { mode: 'on' }),
  ...each('enable_search', true, false),
  ...each('moderation', { model: 'a' }),
  ...each('plugins', [], [{ id: 'web' }]),
  ...each('models', ['other']),
  ...each('fallbacks', ['other']),
  ...each('chat_template_kwargs', { enable_thinking: false }),
  ...each('functions', [], [{ name: 'look', parameters: schema }]),
  ...each('function_call', 'auto', 'none', { name: 'look' }),
  ...each('x_unknown', 1, null),
  ...each('Temperature', 1),
  ...each('tools', [], null, [tool], [custom], [grammar], tools, [{ type: 'web_search' }], [{}], [null]),
  { tools: [{ ...tool, function: { ...tool.function, strict: true } }] },
  { tools: [{ ...tool, function: { ...tool.function, strict: false } }] },
  { tools: [{ ...tool, cache_control: { type: 'ephemeral' } }] },
  { tools: [{ ...tool, cache_control: long }] },
  { tools: [{ type: 'function', function: { description: 'No name.' } }] },
  { tools: [{ type: 'function', function: { name: 'look', parameters: null, description: null } }] },
  ...['auto', 'none', 'required', 'any', '', null].flatMap((tool_choice) => [
    { tools, tool_choice },
    { tools: functions, tool_choice },
    { tools: functions, tool_choice, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    { tools: functions, tool_choice, reasoning_effort: 'high' },
  ]),
  { tools: [tool], tool_choice: { type: 'function', function: { name: 'look' } } },
  { tools: [tool], tool_choice: { type: 'function', function: {} } },
  { tools, tool_choice: { type: 'custom', custom: { name: 'note' } } },
  { tools: [tool], tool_choice: { type: 'custom', custom: { name: 'note' } } },
  { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool] } } },
  { tools, tool_choice: { type: 'web_search' } },
  ...['auto', 'required'].map((mode) => ({
    tools,
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools: [tool, custom] } },
  })),
  { tool_choice: 'required' },
  ...[true, false, null].map((parallel_tool_calls) => ({ tools: [tool], parallel_tool_calls })),
  { tools: [tool], parallel_tool_calls: false, tool_choice: 'none' },
  { tools: [tool], parallel_tool_calls: false, tool_choice: 'required' },
  { parallel_tool_calls: false },
  ...each('response_format', { type: 'text' }, { type: 'json_object' }, { type: 'xml' }, {}, null),
  format({ name: 'place', schema }),
  format({ name: 'place', schema, strict: true, description: 'A place.' }),
  format({ schema: { ...schema, $schema: 'x', minProperties: 1 }, strict: false }),
  format({ name: 'place' }),
  format(null),
  ...parts.flatMap((part) => [
    turn(user([part])),
    turn(user('Hi'), { role: 'assistant', content: [part] }, user('And?')),
    turn({ role: 'system', content: [part] }, user('Hi')),
    afterCalls([call()], result('call_1', [part])),
  ]),
  ...calls.map((tool_calls) => afterCalls(tool_calls, result('call_1'))),
  ...calls.flatMap((tool_calls) => [
    { ...afterCalls(tool_calls, result('call_1')), tools },
    { ...afterCalls(tool_calls, result('call_1')), tools: functions },
    { ...afterCalls(tool_calls, result('call_1')), tools: functions, tool_choice: 'none' },
  ]),
  afterCalls([call()]),
  afterCalls([call()], user('Never mind.')),
  afterCalls([call()], result('call_2')),
  afterCalls([call()], result(undefined)),
  afterCalls([call()], result('call_1'), result('call_1')),
  afterCalls([call(), call({ id: 'call_2' })], result('call_2'), result('call_1')),
  afterCalls([call()], user('Wait.'), result('call_1')),
  turn(result('call_1'), user('Hi')),
  turn(user('Hi', { name: 'ann' }), user('Ho', { name: 'bob' })),
  turn(user([], { name: 'ann' }), user('')),
  turn({ role: 'system', content: 'Be brief.', name: 'rules' }, user('Hi')),
  turn(user('Hi'), { role: 'developer', content: 'Be brief.' }, { role: 'system', content: '' }, user('Ho')),
  turn({ role: 'system', content: 'Be brief.' }),
  turn({ role: 'assistant', content: 'I begin.' }),
  turn(user('Hi'), { role: 'assistant', content: 'The place is' }),
  turn(user('Hi'), { role: 'assistant', content: '' }, user('Ho')),
  turn(user('Hi'), { role: 'assistant' }, user('Ho')),
  turn(user('Hi'), { role: 'assistant', content: null, refusal: 'No.' }, user('Ho')),
  turn(user('Hi'), { role: 'assistant', content: 'Hm.', refusal: '' }, user('Ho')),
  turn(user('Hi'), { role: 'assistant', content: null, audio: { id: 'audio_1' } }, user('Ho')),
  turn(user('Hi'), { role: 'assistant', function_call: { name: 'look', arguments: '{}' } }, user('Ho')),
  turn(user('Hi'), { role: 'function', name: 'look', content: 'there' }),
  turn(user(null)),
  turn({ role: 'robot', content: 'Hi' }),
  turn(),
  { messages: 'Hi' },
  ...(
    [
      { reasoning_content: 'A greeting.' },
      { reasoning_content: '' },
      { reasoning: 'A greeting.' },
      { reasoning_details: [{ type: 'reasoning.text', text: 'A greeting.', signature: 's' }] },
      { extra_content: signed },
    ] as Json[]
  ).flatMap((more) => [
    turn(user('Hi'), { role: 'assistant', content: 'Hi', ...more }, user('Where?')),
    afterCalls([call()], result('call_1')),
    turn(user('Hi'), { role: 'assistant', content: null, tool_calls: [call()], ...more }, result('call_1')),
  ]),
]

export const chatRequests: RequestSamples = {
  base: { messages: [user('Hi')] },
  fields,
  conversation: (random) => ({ messages: conversation(random) }),
}

function conversation(random: Random): Json[] {
  const messages: Json[] = random.chance(0.9) ? [user(words(random))] : []
  const isOrderly = random.chance(0.7)
  for (let count = random.below(7); count > 0; count--) {
    const kind = random.pick(['system', 'user', 'assistant', 'calls', 'calls', 'tool'])
    if (kind === 'system')
      messages.push({ role: random.pick(['system', 'developer']), content: content(random) })
    else if (kind === 'user')
      messages.push(user(content(random), sometimes(random, 0.2, { name: random.pick(['ann', 'bob']) })))
    else if (kind === 'assistant') messages.push(assistant(random))
    else if (kind === 'tool' && !isOrderly) messages.push(result(`call_${random.below(4)}`, content(random)))
    else if (kind === 'calls') messages.push(...called(random, isOrderly, messages.length))
  }
  return messages
}

function content(random: Random): Json {
  if (random.chance(0.5)) return words(random)
  const usual = parts.filter((_, place) => place < 8 || place === 16)
  return many(random, 3, () => random.pick(random.chance(0.9) ? usual : parts))
}

function assistant(random: Random): Json {
  return {
    role: 'assistant',
    content: random.pick<Json>([words(random), null, [{ type: 'text', text: words(random) }]]),
    ...sometimes(random, 0.2, { reasoning_content: words(random) }),
    ...sometimes(random, 0.1, { refusal: 'No.' }),
  }
}

/** Calls and their results: in order, or some late, repeated, or missing. */
function called(random: Random, isOrderly: boolean, place: number): Json[] {
  const made = many(random, 3, (index) => {
    const id = isOrderly ? `call_${place}_${index}` : `call_${random.below(4)}`
    return random.chance(0.15)
      ? { id, type: 'custom', custom: { name: 'note', input: words(random) } }
      : call({
          id,
          function: {
            name: random.pick(['look', 'bare']),
            arguments: JSON.stringify({ place: words(random) }),
          },
          ...sometimes(random, 0.2, { extra_content: signed }),
        })
  })
  const results = made.map(({ id }: Json) => result(id, content(random)))
  if (!isOrderly && random.chance(0.4)) results.reverse()
  if (!isOrderly && random.chance(0.4)) results.pop()
  return [{ ...assistant(random), tool_calls: made }, ...results]
}
