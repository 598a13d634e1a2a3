// Requests of responses as data, beyond those of the tables of fields and of known clients: each field with the values that make a
// difference, tools and choices of all kinds, reasoning that was sealed, and items in any order. They must never be chosen by the
// rules of a model or a translation.

import { agents, aiSdk, codex, langchain, newestCodex } from '../answers/response-requests'
import {
  responsesOnChatSamples,
  responsesOnConverseSamples,
  responsesOnMessagesSamples,
} from '../answers/response-samples'
import type { Random } from '../random'
import type { Json } from '../scenario'
import { each, many, PDF, PICTURE, type RequestSamples, schema, sometimes, words } from './request-samples'
import { sealedKinds, sealedMark } from './sealed'

const fn = { type: 'function', name: 'look', description: 'Looks.', parameters: schema, strict: true }
const custom = { type: 'custom', name: 'note', description: 'Notes.' }
const space = {
  type: 'namespace',
  name: 'files',
  description: 'Of files.',
  tools: [fn, { ...custom, name: 'edit' }],
}
const builtIns = [
  { type: 'tool_search', execution: 'client' },
  { type: 'local_shell' },
  { type: 'shell', environment: { type: 'local', skills: [{ name: 's', description: 'd', path: '/s' }] } },
  { type: 'apply_patch' },
]
const all = [fn, custom, space, ...builtIns]
const user = (content: Json): Json => ({ role: 'user', content })
const input = (...items: Json[]): Json => ({ input: [user('Hi'), ...items] })
const call = (more: Json = {}): Json => ({
  type: 'function_call',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"place":"x"}',
  ...more,
})
const output = (value: Json, more: Json = {}): Json => ({
  type: 'function_call_output',
  call_id: 'call_1',
  output: value,
  ...more,
})
const reasoning = (more: Json): Json => ({ type: 'reasoning', id: 'rs_1', summary: [], ...more })

const parts: readonly Json[] = [
  { type: 'input_text', text: 'Look' },
  { type: 'input_text', text: '' },
  { type: 'output_text', text: 'Yes' },
  { type: 'refusal', refusal: 'No.' },
  { type: 'input_image', image_url: PICTURE, detail: 'low' },
  { type: 'input_image', image_url: 'https://example.com/a.png' },
  { type: 'input_image', image_url: 'http://127.0.0.1/a.png' },
  { type: 'input_image', image_url: 'oss://a.png' },
  { type: 'input_file', filename: 'a.pdf', file_data: 'gs://a.pdf' },
  { type: 'input_file', file_url: 'gs://a.pdf' },
  { type: 'input_text', text: 'See fileid://a' },
  { type: 'input_image', file_id: 'file_1' },
  { type: 'input_file', filename: 'a.pdf', file_data: PDF },
  { type: 'input_file', file_url: 'https://example.com/a.pdf' },
  { type: 'input_file', file_id: 'file_1' },
  { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  { type: 'input_image', image_url: 'data:audio/wav;base64,AAAA' },
  { type: 'input_file', filename: 'a.wav', file_data: 'data:audio/wav;base64,AAAA' },
  { type: 'summary_text', text: 'x' },
]

const calls: readonly Json[] = [
  call(),
  call({ arguments: '' }),
  call({ arguments: 'not json' }),
  call({ arguments: '[1]' }),
  call({ arguments: undefined }),
  call({ name: '' }),
  call({ name: 'unknown tool!' }),
  call({ name: 'look', namespace: 'files' }),
  call({ call_id: 'functions.look:0' }),
  call({ call_id: '' }),
  call({ type: 'custom_tool_call', name: 'note', input: 'raw\ntext', arguments: undefined }),
  call({ type: 'custom_tool_call', name: 'edit', namespace: 'files', input: '', arguments: undefined }),
  call({ type: 'tool_search_call', arguments: { query: 'x' } }),
  call({ type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {} } }),
  call({ type: 'shell_call', action: { commands: ['ls'], timeout_ms: null } }),
  call({ type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } }),
]
const outputTypes: Record<string, Json> = {
  function_call: { output: 'there' },
  custom_tool_call: { output: 'noted' },
  tool_search_call: { output: undefined, tools: [space] },
  local_shell_call: { output: 'a' },
  shell_call: { output: [{ stdout: 'a', stderr: '' }] },
  apply_patch_call: { output: 'done', status: 'completed' },
}
const outputOf = ({ type, call_id }: Json): Json => ({
  ...output('there', { call_id }),
  ...outputTypes[type],
  type: type === 'tool_search_call' ? 'tool_search_output' : `${type}_output`,
})

const listed = [responsesOnChatSamples, responsesOnMessagesSamples, responsesOnConverseSamples]
/** Omitted here: their models belong to the tests that use a gateway. */
const ofTables = listed.flatMap((samples) =>
  Object.values(samples).flatMap((sample) => {
    if (!sample) return []
    const { model: _, ...body } = sample
    return [body]
  }),
)
const ofClients = [
  ...['chat-text', 'messages-signed', 'responses'].flatMap((kind) =>
    [codex, newestCodex, aiSdk].map((client) => client(sealedMark(kind))),
  ),
  agents(),
  langchain(),
]

const fields: readonly Json[] = [
  ...ofClients,
  ...ofTables,
  ...each('input', 'Good day', '', [], null, undefined, [{}], [null], 7),
  ...each('instructions', 'Be brief.', '', 'See fileid://a', null),
  ...each('max_output_tokens', 1, 15, 16, 300, 5_000, 50_000, 100_000_000, 0, null),
  ...each('temperature', 0, 0.5, 1, 1.5, 3, null),
  ...each('top_p', 0, 0.5, 1, null),
  { temperature: 0.5, top_p: 0.5 },
  ...each('stream', true, false, null),
  ...each('store', true, false, null),
  ...each('background', true, false, null),
  ...each('previous_response_id', 'resp_1', null),
  ...each('conversation', 'conv_1', { id: 'conv_1' }, null),
  ...each('include', [], ['reasoning.encrypted_content'], ['message.output_text.logprobs'], ['other'], null),
  ...each('top_logprobs', 0, 2, null),
  ...each('truncation', 'auto', 'disabled', null),
  ...each(
    'metadata',
    { a: 'b' },
    Object.fromEntries(Array.from({ length: 17 }, (_, place) => [`n${place}`, 'x'])),
    { a: 7 },
    { ['n'.repeat(65)]: 'x' },
    {},
    null,
  ),
  ...each('service_tier', 'auto', 'default', 'flex', 'priority', null),
  ...each('prompt_cache_key', 'k', null),
  ...each('user', 'ann', null),
  { user: 'ann', safety_identifier: 'bob' },
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'much', '', null].flatMap((effort) => [
    { reasoning: { effort } },
    { reasoning: { effort, summary: 'auto' }, max_output_tokens: 9_000 },
    { reasoning: { effort }, max_output_tokens: 40_000, tools: [fn] },
    input({ type: 'configuration_update', reasoning: { effort } }),
  ]),
  ...each('reasoning', {}, null, { summary: 'none' }, { summary: 'detailed' }, { effort: 7 }, 'high'),
  ...each(
    'text',
    {},
    null,
    { verbosity: 'low' },
    { verbosity: 'medium' },
    { verbosity: 'chatty' },
    { format: { type: 'text' } },
    { format: { type: 'json_object' } },
    { format: { type: 'json_schema', name: 'place', schema } },
    { format: { type: 'json_schema', name: 'place', schema, strict: true, description: 'A place.' } },
    { format: { type: 'json_schema', schema } },
    { format: { type: 'json_schema', name: 'place' } },
    { format: { type: 'xml' } },
    { format: {} },
  ),
  ...each('tools', [], null, all, [fn, fn], [fn, { ...custom, name: 'look' }], [{ type: 'mcp' }], [{}]),
  { tools: [space, { ...space, name: 'f'.repeat(70) }, { ...fn, name: 'files__look' }] },
  {
    tools: [
      { ...fn, name: 'a b' },
      { ...fn, name: 'a.b' },
      { ...fn, parameters: null, strict: null },
    ],
  },
  { tools: [{ ...fn, name: '' }] },
  { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
  { tools: [{ type: 'tool_search' }, fn] },
  { tools: [{ type: 'web_search' }, fn], tool_choice: { type: 'web_search' } },
  { tools: [{ type: 'web_search' }], tool_choice: 'required' },
  ...(
    [
      'auto',
      'none',
      'required',
      'any',
      '',
      null,
      { type: 'function', name: 'look' },
      { type: 'function', name: 'absent' },
      { type: 'function' },
      { type: 'custom', name: 'note' },
      { type: 'function', name: 'look', namespace: 'files' },
      { type: 'namespace', name: 'files' },
      { type: 'shell' },
      { type: 'apply_patch' },
      { type: 'file_search' },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'namespace', name: 'files' }, { type: 'shell' }],
      },
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] },
      { type: 'allowed_tools', mode: 'required', tools: [] },
      { type: 'allowed_tools', tools: [{ type: 'web_search' }] },
      { type: 'allowed_tools' },
      {},
    ] as Json[]
  ).flatMap((tool_choice) => [{ tools: all, tool_choice }, { tool_choice }]),
  ...[true, false, null].map((parallel_tool_calls) => ({ tools: [fn], parallel_tool_calls })),
  { parallel_tool_calls: false },
  ...each('x_unknown', 1, null),
  ...parts.flatMap((part) => [
    input(user([part])),
    input({ role: 'assistant', content: [part] }, user('And?')),
    input({ role: 'system', content: [part] }),
    input(call(), output([part])),
  ]),
  ...calls.flatMap((item) => [
    input(item, outputOf(item)),
    { ...input(item, outputOf(item)), tools: all },
    { ...input({ ...item, id: 'it_1', status: 'completed' }, outputOf(item), user('And?')), tools: [space] },
    input(item),
  ]),
  ...sealedKinds.flatMap((kind) => [
    input(
      reasoning({ encrypted_content: sealedMark(kind) }),
      { role: 'assistant', content: 'Yes.' },
      user('And?'),
    ),
    input(reasoning({ encrypted_content: sealedMark(kind) }), call(), output('there')),
    input(
      reasoning({ encrypted_content: sealedMark(kind), summary: [{ type: 'summary_text', text: 'Hm.' }] }),
      reasoning({ id: 'rs_2', encrypted_content: sealedMark('chat-text') }),
      user('And?'),
    ),
  ]),
  input(reasoning({ content: [{ type: 'reasoning_text', text: 'Hm.' }] }), user('And?')),
  input(
    reasoning({ encrypted_content: 'foreign', summary: [{ type: 'summary_text', text: 'Hm.' }] }),
    call(),
    output('x'),
  ),
  input(reasoning({}), reasoning({}), user('And?')),
  input(output('there')),
  input(call(), call(), output('a'), output('b')),
  input(call(), call({ call_id: 'call_2' }), output('b', { call_id: 'call_2' }), output('a')),
  input(call(), user('Wait.'), output('a'), { role: 'assistant', content: 'Done.' }, user('And?')),
  input(
    call(),
    { role: 'assistant', content: 'while' },
    call({ call_id: 'call_2' }),
    output('a'),
    output('b', { call_id: 'call_2' }),
  ),
  input({ role: 'developer', content: 'Be brief.' }, user('And?'), { role: 'system', content: 'Be kind.' }),
  { input: [{ role: 'system', content: 'Be brief.' }], instructions: 'Be kind.' },
  { input: [{ role: 'assistant', content: 'I begin.' }] },
  input({ role: 'assistant', content: 'The place is' }),
  input({ role: 'robot', content: 'x' }),
  input({ type: 'message', content: 'x' }),
  input({ id: 'item_1' }),
  input({ type: 'item_reference', id: 'item_1' }),
  input({ type: 'additional_tools', role: 'developer', tools: all }),
  input({ type: 'additional_tools', role: 'developer' }),
  input({ type: 'compaction_trigger' }, user('And?')),
  input(
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'call_1', action: { type: 'exec', command: ['ls'] } },
    { type: 'local_shell_call_output', id: 'lsh_1', output: 'a' },
  ),
  { tools: [{ ...space, tools: [{ name: 'look' }] }] },
  {
    tools: [
      { ...space, tools: [] },
      { type: 'namespace', tools: [fn] },
    ],
  },
  input({ type: 'configuration_update', text: { format: { type: 'json_schema', name: 'p', schema } } }),
  input({ type: 'compaction', encrypted_content: sealedMark('something else') }),
  {
    ...input(call(), output('x'), { type: 'compaction_trigger' }),
    tools: all,
    text: { format: { type: 'json_object' } },
  },
]

export const responsesRequests: RequestSamples = {
  base: { input: 'Hi' },
  fields,
  conversation: (random) => ({ input: items(random) }),
}

function items(random: Random): Json[] {
  const made: Json[] = random.chance(0.9) ? [user(words(random))] : []
  const isOrderly = random.chance(0.7)
  for (let count = random.below(8); count > 0; count--) {
    const kind = random.pick(['system', 'user', 'assistant', 'calls', 'calls', 'reasoning', 'output'])
    if (kind === 'system') made.push({ role: random.pick(['system', 'developer']), content: words(random) })
    else if (kind === 'user') made.push(user(content(random)))
    else if (kind === 'assistant') made.push({ role: 'assistant', content: words(random) })
    else if (kind === 'reasoning') made.push(thought(random, made.length))
    else if (kind === 'calls') made.push(...called(random, isOrderly, made.length))
    else if (!isOrderly) made.push(output(content(random), { call_id: `call_${random.below(3)}` }))
  }
  return made
}

function content(random: Random): Json {
  if (random.chance(0.5)) return words(random)
  const usual = parts.filter((_, place) => place < 2 || [4, 5, 12].includes(place))
  return many(random, 3, () => random.pick(random.chance(0.9) ? usual : parts))
}

function thought(random: Random, place: number): Json {
  const sealed = random.chance(0.8) ? sealedMark(random.pick(sealedKinds)) : 'foreign'
  const summary = random.chance(0.3) ? [{ type: 'summary_text', text: words(random) }] : []
  return { type: 'reasoning', id: `rs_${place}`, summary, encrypted_content: sealed }
}

/** Calls and their outputs: in order, or some late, repeated, or missing. */
function called(random: Random, isOrderly: boolean, place: number): Json[] {
  const made = many(random, 3, (index) => ({
    ...random.pick(isOrderly ? calls.filter((each) => each.call_id === 'call_1') : calls),
    call_id: isOrderly ? `call_${place}_${index}` : `call_${random.below(3)}`,
    ...sometimes(random, 0.3, { id: `item_${place}_${index}` }),
  }))
  const outputs = made.map(outputOf)
  if (random.chance(0.3)) outputs.reverse()
  if (!isOrderly && random.chance(0.4)) outputs.pop()
  return random.chance(0.3) && outputs.length === made.length
    ? made.flatMap((each, index) => [each, outputs[made.length - 1 - index] as Json]).filter(isAnswered())
    : [...made, ...outputs]
}

/** Omits outputs before their calls. */
function isAnswered(): (item: Json) => boolean {
  const ids = new Set<unknown>()
  return ({ type, call_id }) => {
    if (!type.endsWith('_output')) ids.add(call_id)
    return ids.has(call_id)
  }
}
