// Valid requests from callers: every optional field of each dialect with its permitted values, and pairs of fields
// where one decides whether a vendor accepts the other. Never choose them by what a model accepts, which callers do not
// know.

import type { JsonObject } from './recorded'

export type Dialect = 'chat' | 'messages' | 'responses'

export interface CallerRequest {
  dialect: Dialect
  path: string
  /** A short description of the request. */
  label: string
  /** The top-level fields under test, without the other fields that they need. */
  fields: readonly string[]
  headers: Record<string, string>
  /** Whether the request combines two options. */
  isPair: boolean
  /** The body without the model. */
  body: JsonObject
}

/** A field's value, with the other fields that it needs. */
interface Option {
  label: string
  fields: readonly string[]
  body: JsonObject
  headers?: Record<string, string>
}

type Groups = Readonly<Record<string, readonly Option[]>>

const option = (body: JsonObject, more: Partial<Option> = {}): Option => ({
  label: JSON.stringify(body).slice(1, 61),
  fields: Object.keys(body),
  body,
  ...more,
})
const each = (field: string, ...values: unknown[]): Option[] =>
  values.map((value) => option({ [field]: value }))
/** An option with additional fields that are present only because its first field needs them. */
const first = (body: JsonObject): Option =>
  option(body, { fields: Object.keys(body).slice(0, 1), label: JSON.stringify(body).slice(1, 61) })

const schema = {
  type: 'object',
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
}
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

// Chat completions.

const chatTool = { type: 'function', function: { name: 'look', parameters: schema } }
const namedChoice = { type: 'function', function: { name: 'look' } }
const inTools = (body: JsonObject): Option => first({ ...body, tools: [chatTool] })

const chatGroups: Groups = {
  temperature: each('temperature', 0, 0.7, 1),
  topP: each('top_p', 0.9, 1),
  topK: each('top_k', 20),
  stop: each('stop', 'END', ['END', 'FIN']),
  penalties: [...each('presence_penalty', 0.5, 0), ...each('frequency_penalty', 0.5, 0)],
  limit: [...each('max_tokens', 2000), ...each('max_completion_tokens', 2000)],
  bias: each('logit_bias', { 50256: -100 }),
  logprobs: [...each('logprobs', true, false), first({ top_logprobs: 3, logprobs: true })],
  effort: each('reasoning_effort', ...efforts),
  verbosity: each('verbosity', 'low', 'medium', 'high'),
  tools: [
    option({ tools: [chatTool] }),
    option({ tools: [{ ...chatTool, function: { ...chatTool.function, strict: true } }] }),
    inTools({ parallel_tool_calls: false }),
    inTools({ parallel_tool_calls: true }),
    inTools({ parallel_tool_calls: true, reasoning_effort: 'minimal' }),
    option({ functions: [{ name: 'look', parameters: schema }] }),
    first({ function_call: { name: 'look' }, functions: [{ name: 'look', parameters: schema }] }),
  ],
  choice: ['auto', 'none', 'required', namedChoice].map((choice) => inTools({ tool_choice: choice })),
  format: [
    option({ response_format: { type: 'text' } }),
    option({ response_format: { type: 'json_object' } }),
    option({
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    }),
  ],
  thinking: [
    ...each('thinking', { type: 'enabled', budget_tokens: 1024 }, { type: 'disabled' }),
    ...each('enable_thinking', true, false),
    ...each('reasoning', { effort: 'low' }),
  ],
  spoken: [option({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } })],
  turns: [
    option({
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'The place is' },
      ],
    }),
    option({
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi', reasoning_content: 'A greeting.' },
        { role: 'user', content: 'Where?' },
      ],
    }),
    option({ messages: [{ role: 'user', name: 'ann', content: 'Hello' }] }),
    option({
      messages: [
        { role: 'system', name: 'rules', content: 'Be short.' },
        { role: 'user', name: 'ann', content: 'Hello' },
        { role: 'assistant', name: 'bob', content: 'Hi' },
        { role: 'user', content: 'Where?' },
      ],
    }),
    option({
      messages: [
        { role: 'developer', content: 'Be short.' },
        { role: 'user', content: 'Hello' },
      ],
    }),
    first({
      messages: [
        { role: 'user', content: 'Where?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"place":"x"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'there' },
      ],
      tools: [chatTool],
    }),
  ],
  others: [
    ...each('n', 2),
    ...each('seed', 7),
    ...each('user', 'ann'),
    ...each('safety_identifier', 'ann'),
    ...each('store', true, false),
    ...each('metadata', { team: 'blue' }),
    ...each('prompt_cache_key', 'key'),
    ...each('prompt_cache_retention', 'in_memory'),
    ...each('modalities', ['text']),
    ...each('prediction', { type: 'content', content: 'Hello' }),
    ...each('service_tier', 'auto', 'default'),
    ...each('min_p', 0.1),
    ...each('repetition_penalty', 1.1),
  ],
}
const chatPairs = [
  ['tools', 'effort'],
  ['choice', 'effort'],
  ['choice', 'thinking'],
  ['turns', 'effort'],
  ['thinking', 'temperature'],
  ['thinking', 'effort'],
  ['effort', 'temperature'],
  ['effort', 'topP'],
  ['effort', 'penalties'],
  ['effort', 'logprobs'],
  ['effort', 'format'],
  ['temperature', 'topP'],
] as const

// Messages.

const messagesTool = { name: 'look', input_schema: schema }
const inMessagesTools = (body: JsonObject): Option => first({ ...body, tools: [messagesTool] })
const noSampling = { 'anthropic-version': '2026-10-21' }

const messagesGroups: Groups = {
  temperature: each('temperature', 0, 0.7, 1),
  topP: each('top_p', 0.9, 1),
  topK: each('top_k', 20),
  stop: each('stop_sequences', ['END']),
  thinking: each(
    'thinking',
    { type: 'enabled', budget_tokens: 1024 },
    { type: 'adaptive' },
    { type: 'adaptive', display: 'summarized' },
    { type: 'disabled' },
  ),
  effort: efforts.slice(2).map((effort) => option({ output_config: { effort } })),
  format: [option({ output_config: { format: { type: 'json_schema', schema } } })],
  olderFormat: [
    option(
      { output_format: { type: 'json_schema', schema } },
      { headers: { 'anthropic-beta': 'structured-outputs-2025-11-13' } },
    ),
  ],
  tools: [option({ tools: [messagesTool] }), option({ tools: [{ ...messagesTool, strict: true }] })],
  choice: [
    ...['auto', 'any', 'none'].map((type) => inMessagesTools({ tool_choice: { type } })),
    inMessagesTools({ tool_choice: { type: 'tool', name: 'look' } }),
    inMessagesTools({ tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
  ],
  turns: [
    option({
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'The place is' },
      ],
    }),
    first({
      messages: [
        { role: 'user', content: 'Where?' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { place: 'x' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'there' }] },
      ],
      tools: [messagesTool],
    }),
  ],
  version: [option({}, { label: 'anthropic-version 2026-10-21', headers: noSampling })],
  others: [
    ...each('system', 'Be short.', [
      { type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } },
    ]),
    ...each('metadata', { user_id: 'ann' }),
    ...each('service_tier', 'auto', 'standard_only'),
    ...each('cache_control', { type: 'ephemeral' }),
  ],
}
const messagesPairs = [
  ['tools', 'effort'],
  ['tools', 'thinking'],
  ['choice', 'effort'],
  ['choice', 'thinking'],
  ['turns', 'thinking'],
  ['turns', 'effort'],
  ['thinking', 'temperature'],
  ['thinking', 'topP'],
  ['thinking', 'topK'],
  ['thinking', 'effort'],
  ['temperature', 'topP'],
  ['effort', 'format'],
  ['effort', 'temperature'],
  ['version', 'thinking'],
  ['version', 'effort'],
  ['version', 'tools'],
] as const

// Responses.

const responsesTool = { type: 'function', name: 'look', parameters: schema, strict: true }
const inResponsesTools = (body: JsonObject): Option => first({ ...body, tools: [responsesTool] })

const responsesGroups: Groups = {
  temperature: each('temperature', 0, 0.7, 1),
  topP: each('top_p', 0.9, 1),
  logprobs: [
    option({ top_logprobs: 3 }),
    option({ include: ['message.output_text.logprobs'] }),
    option({ include: ['reasoning.encrypted_content'] }),
  ],
  effort: efforts.map((effort) => option({ reasoning: { effort } })),
  summary: [option({ reasoning: { summary: 'auto' } })],
  tools: [
    option({ tools: [responsesTool] }),
    inResponsesTools({ parallel_tool_calls: false }),
    inResponsesTools({ parallel_tool_calls: true }),
    inResponsesTools({ parallel_tool_calls: true, reasoning: { effort: 'minimal' } }),
  ],
  choice: ['auto', 'none', 'required', { type: 'function', name: 'look' }].map((choice) =>
    inResponsesTools({ tool_choice: choice }),
  ),
  text: [
    ...['low', 'medium', 'high'].map((verbosity) => option({ text: { verbosity } })),
    option({ text: { format: { type: 'text' } } }),
    option({ text: { format: { type: 'json_object' } } }),
    option({ text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } }),
  ],
  turns: [
    option({
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'The place is' },
      ],
    }),
    first({
      input: [
        { role: 'user', content: 'Where?' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"place":"x"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'there' },
      ],
      tools: [responsesTool],
    }),
  ],
  others: [
    ...each('instructions', 'Be short.'),
    ...each('max_output_tokens', 2000),
    ...each('max_tool_calls', 2),
    ...each('truncation', 'disabled'),
    ...each('metadata', { team: 'blue' }),
    ...each('service_tier', 'auto', 'default'),
    ...each('prompt_cache_key', 'key'),
    ...each('prompt_cache_retention', 'in_memory'),
    ...each('safety_identifier', 'ann'),
    ...each('user', 'ann'),
    ...each('store', true, false),
    ...each('background', false),
  ],
}
const responsesPairs = [
  ['tools', 'effort'],
  ['choice', 'effort'],
  ['turns', 'effort'],
  ['effort', 'temperature'],
  ['effort', 'topP'],
  ['effort', 'summary'],
  ['effort', 'text'],
  ['effort', 'logprobs'],
  ['temperature', 'topP'],
] as const

const dialects = {
  chat: { path: '/v1/chat/completions', groups: chatGroups, pairs: chatPairs },
  messages: { path: '/v1/messages', groups: messagesGroups, pairs: messagesPairs },
  responses: { path: '/v1/responses', groups: responsesGroups, pairs: responsesPairs },
} satisfies Record<Dialect, { path: string; groups: Groups; pairs: readonly (readonly [string, string])[] }>
export const dialectNames = Object.keys(dialects) as Dialect[]

/** Every request in a dialect, with a whole answer and with a stream. */
export function requestsOf(dialect: Dialect): CallerRequest[] {
  const { path, groups, pairs }: (typeof dialects)[Dialect] & { groups: Groups } = dialects[dialect]
  const alone = Object.values(groups).flat()
  const both = pairs.flatMap(([left, right]) =>
    (groups[left] ?? []).flatMap((one) => (groups[right] ?? []).map((other) => together(one, other))),
  )
  return [option({}, { label: 'no optional field' }), ...alone, ...both].flatMap(
    ({ label, fields, body, headers }) =>
      [false, true].map((stream) => ({
        dialect,
        path,
        label: stream ? `${label} (stream)` : label,
        fields,
        headers: headers ?? {},
        isPair: label.includes(' with '),
        body: { ...bodyOf(dialect, body), stream },
      })),
  )
}

function together(one: Option, other: Option): Option {
  return {
    label: [one.label, other.label].join(' with '),
    fields: [...one.fields, ...other.fields],
    body: {
      ...one.body,
      ...other.body,
      ...inOne('output_config', one, other),
      ...inOne('reasoning', one, other),
    },
    headers: { ...one.headers, ...other.headers },
  }
}

function inOne(field: string, { body: one }: Option, { body: other }: Option): JsonObject {
  const isInBoth = field in one && field in other
  return isInBoth ? { [field]: { ...(one[field] as JsonObject), ...(other[field] as JsonObject) } } : {}
}

function bodyOf(dialect: Dialect, given: JsonObject): JsonObject {
  const asksForJson = /"json_object"/.test(JSON.stringify(given))
  const prompt = asksForJson ? 'Where? Answer with JSON.' : 'Where?'
  const messages = [{ role: 'user', content: prompt }]
  if (dialect === 'responses') return { input: prompt, ...given }
  return { ...(dialect === 'messages' && { max_tokens: 3000 }), messages, ...given }
}
