// Requests of messages as data: each field with the values that make a difference, every kind of block, call and result, thinking
// that was sealed or signed, and conversations in any order. They must never be chosen by the rules of a model or a translation.

import type { Random } from '../random'
import type { Json } from '../scenario'
import { each, many, type RequestSamples, schema, sometimes, words } from './request-samples'
import { sealedKinds, sealedMark } from './sealed'

const tool = { name: 'look', description: 'Looks.', input_schema: schema }
const short = { type: 'ephemeral' }
const long = { type: 'ephemeral', ttl: '1h' }
const turn = (...messages: Json[]): Json => ({ messages })
const user = (content: Json, more: Json = {}): Json => ({ role: 'user', content, ...more })
const assistant = (content: Json): Json => ({ role: 'assistant', content })
const use = (more: Json = {}): Json => ({
  type: 'tool_use',
  id: 'toolu_1',
  name: 'look',
  input: { place: 'x' },
  ...more,
})
const result = (content: Json, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: 'toolu_1',
  content,
  ...more,
})
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
const document = (source: Json, more: Json = {}): Json => ({ type: 'document', source, ...more })
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }

const blocks: readonly Json[] = [
  { type: 'text', text: 'Look' },
  { type: 'text', text: '' },
  { type: 'text', text: 'kept', cache_control: short },
  { type: 'text', text: 'kept long', cache_control: long },
  { type: 'text', text: 'cited', citations: null },
  { type: 'text' },
  picture,
  { ...picture, cache_control: short },
  { type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'AAAA' } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png' } },
  { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  { type: 'image', source: { type: 'url', url: 'http://127.0.0.1/a.png' } },
  { type: 'image', source: { type: 'url', url: 'oss://a.png' } },
  document({ type: 'content', content: [{ type: 'image', source: { type: 'url', url: 'oss://a.png' } }] }),
  { type: 'text', text: 'See fileid://a' },
  { type: 'image', source: { type: 'file', file_id: 'file_1' } },
  { type: 'image' },
  document(pdf),
  document(pdf, { title: 'a.pdf', context: 'Old.' }),
  document(pdf, { cache_control: short }),
  document(pdf, { citations: { enabled: true } }),
  document(pdf, { citations: { enabled: false } }),
  document({ type: 'base64', media_type: 'application/zip', data: 'AAAA' }),
  document({ type: 'text', media_type: 'text/plain', data: 'Words' }, { title: 'a.txt', context: 'Old.' }),
  document({ type: 'text', media_type: 'text/plain', data: '' }),
  document({ type: 'content', content: [{ type: 'text', text: 'inside' }, picture] }, { title: 'T' }),
  document({ type: 'content', content: 'inside' }),
  document({ type: 'url', url: 'https://example.com/a.pdf' }),
  document({ type: 'file', file_id: 'file_1' }),
  document({ type: 'base64', media_type: 'audio/wav', data: 'AAAA' }),
  { type: 'document' },
  {
    type: 'search_result',
    source: 'https://example.com',
    title: 'Found',
    content: [{ type: 'text', text: 'It' }],
  },
  { type: 'search_result', content: [], citations: { enabled: true } },
  { type: 'tool_reference', tool_name: 'look' },
  { type: 'compaction', content: 'The story so far.' },
  { type: 'compaction', content: null },
  { type: 'compaction', encrypted_content: 'x' },
  { type: 'fallback', model: 'other' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
  { type: 'container_upload', file_id: 'file_1' },
]

const thoughts: readonly Json[] = [
  { type: 'thinking', thinking: 'Hm.', signature: 'EuYB' },
  { type: 'thinking', thinking: 'Hm.', signature: '' },
  { type: 'thinking', thinking: 'Hm.' },
  { type: 'redacted_thinking', data: 'c2VjcmV0' },
  ...sealedKinds.flatMap((kind) => [
    { type: 'thinking', thinking: 'Hm.', signature: sealedMark(kind) },
    { type: 'redacted_thinking', data: sealedMark(kind) },
  ]),
]

const uses: readonly Json[] = [
  use(),
  use({ input: {} }),
  use({ input: undefined }),
  use({ input: '{"place":"x"}' }),
  use({ input: [1] }),
  use({ id: 'functions.look:0' }),
  use({ id: undefined }),
  use({ name: undefined }),
  use({ name: 'unknown tool' }),
  use({ caller: { type: 'direct' } }),
  use({ cache_control: short }),
]

const results: readonly Json[] = [
  result('there'),
  result(''),
  result(undefined),
  result([]),
  result([{ type: 'text', text: 'there' }, picture]),
  result([picture]),
  result([{ type: 'tool_reference', tool_name: 'look' }]),
  result([document(pdf), { type: 'text', text: 'read' }]),
  result([document({ type: 'text', media_type: 'text/plain', data: 'Words' })]),
  result([{ type: 'search_result', title: 'Found', content: [{ type: 'text', text: 'It' }] }]),
  result([{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }]),
  result([{ type: 'unknown' }]),
  result('failed', { is_error: true }),
  result([picture], { is_error: true }),
  result('fine', { is_error: false }),
  result('kept', { cache_control: short }),
  result('lost', { tool_use_id: 'toolu_9' }),
  result('lost', { tool_use_id: undefined }),
]
const looked = (called: Json, ...answers: Json[]): Json =>
  turn(user('Where?'), assistant([called]), user(answers))

const fields: readonly Json[] = [
  { max_tokens: 0, ...turn(user([{ type: 'unknown' }])) },
  { tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: null } },
  ...each('max_tokens', 0, 1, 15, 16, 300, 1_024, 5_000, 50_000, 100_000_000, undefined, null, '7'),
  ...each('temperature', 0, 0.5, 1, 2, null, 'warm'),
  ...each('top_p', 0, 0.5, 1, null),
  { temperature: 0.5, top_p: 0.5 },
  ...each('top_k', 0, 20, null),
  ...each('stop_sequences', ['END'], ['END', ' '], [], null, 'END'),
  ...each('stream', true, false, null, 'yes'),
  ...each('system', 'Be brief.', '', null, [], [{ type: 'text' }], [{ type: 'image' }], 7),
  {
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: a=1' },
      { type: 'text', text: 'Be brief.', cache_control: short },
      { type: 'text', text: 'Be kind.', cache_control: long },
    ],
  },
  { system: [{ type: 'text', text: 'x-anthropic-billing-header: a=1' }] },
  { system: [{ type: 'text', text: 'See fileid://a' }] },
  { system: 'See fileid://a' },
  turn(user('See fileid://a')),
  ...each('metadata', { user_id: 'ann' }, { user_id: null }, {}, null, 'ann'),
  ...[300, 2_000, 9_000, 40_000].flatMap((max_tokens) =>
    each(
      'thinking',
      { type: 'enabled', budget_tokens: 1_024 },
      { type: 'enabled', budget_tokens: 8_000 },
      { type: 'enabled', budget_tokens: 30_000, display: 'summarized' },
      { type: 'adaptive' },
      { type: 'adaptive', display: 'omitted' },
      { type: 'disabled' },
    ).map((body) => ({ ...body, max_tokens })),
  ),
  ...each(
    'thinking',
    null,
    { type: 'enabled' },
    { type: 'odd' },
    { type: 'enabled', budget_tokens: 'x' },
    true,
  ),
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'much', '', null].flatMap((effort) => [
    { output_config: { effort } },
    { output_config: { effort }, thinking: { type: 'disabled' } },
    { output_config: { effort }, thinking: { type: 'adaptive', display: 'summarized' }, max_tokens: 9_000 },
  ]),
  ...each(
    'output_config',
    { format: { type: 'json_schema', schema } },
    { format: { type: 'json_schema' } },
    { format: { type: 'xml' } },
    { format: null },
    { task_budget: { total: 5 } },
    {},
    null,
    'high',
  ),
  ...each('output_format', { type: 'json_schema', schema }, { type: 'xml' }, null),
  ...each(
    'tools',
    [],
    null,
    [tool],
    [tool, { ...tool, name: 'other', description: undefined }],
    [{}],
    'look',
  ),
  ...(
    [
      { strict: true },
      { type: 'custom' },
      { type: 'web_search_20250305' },
      { cache_control: short },
      { cache_control: long },
      { input_examples: [{ place: 'x' }] },
      { input_examples: [] },
      { defer_loading: true },
      { eager_input_streaming: true },
      { allowed_callers: ['direct'] },
      { allowed_callers: ['code_execution_20250825'] },
      { name: undefined },
      { name: 'not a name' },
      { input_schema: undefined },
      { input_schema: null },
      { input_schema: { ...schema, $schema: 'x', title: 'T', minProperties: 1, examples: [] } },
    ] as Json[]
  ).map((more) => ({ tools: [{ ...tool, ...more }] })),
  ...(
    [
      { type: 'auto' },
      { type: 'any' },
      { type: 'none' },
      { type: 'tool', name: 'look' },
      { type: 'tool' },
      { type: 'tool', name: 'absent' },
      { type: 'some' },
      { type: 'auto', disable_parallel_tool_use: true },
      { type: 'auto', disable_parallel_tool_use: false },
      { type: 'any', disable_parallel_tool_use: true },
      { type: 'none', disable_parallel_tool_use: true },
      null,
      'auto',
    ] as Json[]
  ).flatMap((tool_choice) => [
    { tools: [tool], tool_choice },
    { tools: [tool], tool_choice, thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 3_000 },
    { tool_choice },
  ]),
  ...each('service_tier', 'auto', 'standard_only', 'priority', null),
  ...each('cache_control', short, long, null),
  ...each('container', 'c_1', null),
  ...each('mcp_servers', [], [{ type: 'url', url: 'https://example.com', name: 'a' }]),
  ...each('fallbacks', [{ model: 'other' }]),
  ...each('compaction', { trigger: 5 }),
  ...each(
    'context_management',
    { edits: [{ type: 'clear_tool_uses_20250919' }] },
    { edits: [{ type: 'compact_20260112' }] },
    null,
  ),
  ...each('thread', { id: 't' }),
  ...each('speed', 'standard', 'fast'),
  ...each('inference_geo', 'global', 'us'),
  ...each('billing_policy', { bill_to: 'self' }, { bill_to: 'other' }),
  ...each('diagnostics', { previous_message_id: null }),
  ...each('fallback_credit_token', 'x'),
  ...each('anthropic_version', '2023-06-01'),
  ...each('anthropic_beta', ['a']),
  ...each('x_unknown', 1, null),
  ...blocks.flatMap((block) => [
    turn(user([block])),
    turn(user([{ type: 'text', text: 'See' }, block]), assistant('Yes.'), user('And?')),
    turn(user('Hi'), assistant([block]), user('And?')),
    looked(use(), result([block])),
  ]),
  ...thoughts.flatMap((block) => [
    turn(user('Hi'), assistant([block, { type: 'text', text: 'Yes.' }]), user('And?')),
    turn(user('Hi'), assistant([block]), user('And?')),
    {
      ...turn(
        user('Where?'),
        assistant([block, use({ id: 'call_1' })]),
        user([result('x', { tool_use_id: 'call_1' })]),
      ),
      tools: [tool],
    },
  ]),
  ...uses.flatMap((called) => [
    looked(called, result('there')),
    { ...looked(called, result('there')), tools: [tool] },
  ]),
  ...results.flatMap((answer) => [looked(use(), answer), { ...looked(use(), answer), tools: [tool] }]),
  looked(use()),
  turn(user('Where?'), assistant([use()])),
  turn(user('Where?'), assistant([use()]), user('Never mind.')),
  turn(user('Where?'), assistant([use(), use()]), user([result('a'), result('b')])),
  turn(
    user('Where?'),
    assistant([use(), { type: 'text', text: 'and' }, use({ id: 'toolu_2' })]),
    user([{ type: 'text', text: 'First' }, result('b', { tool_use_id: 'toolu_2' }), result('a')]),
  ),
  turn(user([result('there')])),
  ...(
    [
      { type: 'url', url: 'oss://a.png' },
      { type: 'content', content: [{ type: 'image', source: { type: 'url', url: 'oss://a.png' } }] },
    ] as Json[]
  ).map((source) =>
    turn(
      user([
        { type: 'web_fetch_tool_result', content: { type: 'web_fetch_result', content: document(source) } },
      ]),
    ),
  ),
  turn(user('Hi'), user('Ho'), assistant('A'), assistant('B'), user('C')),
  turn({ role: 'system', content: 'Be brief.' }, user('Hi')),
  turn(user('Hi'), { role: 'system', content: 'Be brief.' }, assistant('Yes.'), user('And?')),
  turn(user('Hi'), { role: 'system', content: [picture] }, user('And?')),
  turn(assistant('I begin.'), user('Hi')),
  turn(user('Hi'), assistant('The place is')),
  turn(user('Hi'), assistant(''), user('Ho')),
  turn(user('')),
  turn(user([])),
  turn({ role: 'robot', content: 'Hi' }),
  turn(user(7)),
  turn(user('Hi', { clear_at: 'never' })),
  turn(user('Hi', { clear_at: 'end' })),
  turn(user('Hi', { output_config: { format: null } })),
  turn(),
]

export const messagesRequests: RequestSamples = {
  base: { max_tokens: 500, messages: [user('Hi')] },
  fields,
  conversation: (random) => ({ messages: conversation(random) }),
}

function conversation(random: Random): Json[] {
  const messages: Json[] = random.chance(0.9) ? [user(words(random))] : []
  const isOrderly = random.chance(0.7)
  for (let count = random.below(7); count > 0; count--) {
    const kind = random.pick(['system', 'user', 'assistant', 'uses', 'uses', 'result'])
    if (kind === 'system') messages.push({ role: 'system', content: words(random) })
    else if (kind === 'user') messages.push(user(content(random)))
    else if (kind === 'assistant') messages.push(assistant(texts(random)))
    else if (kind === 'result' && !isOrderly) messages.push(user([random.pick(results)]))
    else if (kind === 'uses') messages.push(...called(random, isOrderly, messages.length))
  }
  return messages
}

function content(random: Random): Json {
  if (random.chance(0.4)) return words(random)
  const usual = [0, 2, 3, 6, 10, 17, 18, 23, 25, 31].map((place) => blocks[place])
  return many(random, 3, () => random.pick(random.chance(0.9) ? usual : blocks))
}

function texts(random: Random): Json[] {
  return [
    ...(random.chance(0.4) ? [random.pick(thoughts)] : []),
    ...(random.chance(0.8) ? [{ type: 'text', text: words(random) }] : []),
    ...(random.chance(0.1) ? [random.pick(thoughts), { type: 'text', text: 'then' }] : []),
  ]
}

/** Uses of tools and their results: in order, or some late, repeated, or missing. */
function called(random: Random, isOrderly: boolean, place: number): Json[] {
  const made = many(random, 3, (index) => {
    const id = isOrderly ? `toolu_${place}_${index}` : random.pick(['call_1', 'toolu_1', 'toolu_2'])
    return use({ id, input: { place: words(random) }, ...sometimes(random, 0.1, { cache_control: short }) })
  })
  const answers = made.map(({ id }: Json) => ({ ...random.pick(results.slice(0, 12)), tool_use_id: id }))
  if (!isOrderly && random.chance(0.4)) answers.reverse()
  if (!isOrderly && random.chance(0.4)) answers.pop()
  const spoken = random.chance(0.3) ? [{ type: 'text', text: words(random) }] : []
  const blocksOfUser = isOrderly || random.chance(0.7) ? [...answers, ...spoken] : [...spoken, ...answers]
  return [assistant([...texts(random), ...made]), user(blocksOfUser)]
}
