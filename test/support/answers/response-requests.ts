// Requests for responses as clients of the API send them, in the middle of a tool loop, with the peculiarities of each client.
// `sealed` is the encrypted content of reasoning that the client got from a gateway.

import type { Json } from '../scenario'

const schema = {
  type: 'object',
  properties: { cmd: { type: 'string' } },
  required: ['cmd'],
  additionalProperties: false,
}
const message = (role: string, text: string, type = 'input_text') => ({
  type: 'message',
  role,
  content: [{ type, text }],
})

/** A coding command line with a model of an unknown name. */
export const codex = (sealed: string): Json => ({
  model: 'm',
  instructions: 'You are a coding agent.',
  input: [
    message('developer', '<permissions>Ask first.</permissions>'),
    message('user', '<environment_context>cwd: /src</environment_context>'),
    message('user', 'Fix the test.'),
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: sealed },
    {
      type: 'function_call',
      id: 'fc_1',
      name: 'exec_command',
      arguments: '{"cmd":"bun test"}',
      call_id: 'call_1',
    },
    { type: 'function_call', name: 'list', namespace: 'mcp__files', arguments: '{}', call_id: 'call_2' },
    { type: 'function_call_output', call_id: 'call_1', output: '1 fail' },
    {
      type: 'function_call_output',
      call_id: 'call_2',
      output: [
        { type: 'input_text', text: 'a.ts' },
        { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
      ],
    },
  ],
  tools: [
    {
      type: 'function',
      name: 'exec_command',
      description: 'Runs a command.',
      strict: false,
      parameters: schema,
    },
    {
      type: 'namespace',
      name: 'mcp__files',
      description: 'Files.',
      tools: [
        {
          type: 'function',
          name: 'list',
          strict: false,
          parameters: { type: 'object', properties: { key: { type: 'string', encrypted: true } } },
        },
      ],
    },
    { type: 'web_search', external_web_access: false },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199-thread',
  text: { verbosity: 'low' },
  client_metadata: { 'x-codex-installation-id': 'a' },
})

/** A coding command line with one of the newest models: its tools are in the input, and one accepts raw text. */
export const newestCodex = (sealed: string): Json => ({
  model: 'm',
  input: [
    {
      type: 'additional_tools',
      id: 'at_1',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'functions',
          description: '',
          tools: [
            {
              type: 'custom',
              name: 'exec',
              description: 'Runs code.',
              format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
            },
            { type: 'function', name: 'wait', strict: false, parameters: schema },
          ],
        },
        {
          type: 'namespace',
          name: 'clock',
          description: 'Time.',
          tools: [{ type: 'function', name: 'sleep', strict: false, parameters: schema }],
        },
        { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: schema },
      ],
    },
    message('developer', 'You are a coding agent.'),
    message('user', 'Fix the test.'),
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed },
    {
      type: 'custom_tool_call',
      call_id: 'call_1',
      name: 'exec',
      namespace: 'functions',
      input: 'await run("bun test")',
    },
    { type: 'custom_tool_call_output', call_id: 'call_1', output: '1 fail' },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'xhigh', context: 'all_turns' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
})

/** A toolkit that names earlier items: the gateway has inserted these. */
export const aiSdk = (sealed: string): Json => ({
  model: 'm',
  input: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Weather in Rome?' }] },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Look.' }],
      encrypted_content: sealed,
    },
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      status: 'completed',
      call_id: 'call_1',
      name: 'weather',
      arguments: '{"city":"Rome"}',
    },
    { type: 'function_call_output', call_id: 'call_1', output: '{"degrees":21}' },
  ],
  text: {},
  tools: [{ type: 'function', name: 'weather', description: 'Looks up.', parameters: schema, strict: false }],
  tool_choice: 'auto',
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'low', summary: 'auto' },
})

/** Agents: strict tools, null for unset values, and an assistant without ids. */
export const agents = (): Json => ({
  model: 'm',
  instructions: 'Be brief.',
  input: [
    { role: 'user', content: 'Weather in Rome?' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Sunny.' },
    { role: 'assistant', content: [{ type: 'output_text', text: 'Sunny.' }] },
    { role: 'user', content: 'And tomorrow?' },
  ],
  tools: [{ type: 'function', name: 'weather', description: null, parameters: schema, strict: true }],
  include: [],
  previous_response_id: null,
  conversation: null,
  prompt: null,
  temperature: 0.2,
  top_p: null,
  max_output_tokens: 500,
  truncation: null,
  metadata: { run: 'a' },
  store: null,
  text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
  parallel_tool_calls: false,
})

/** A chain of calls whose tools do not set `strict`. */
export const langchain = (): Json => ({
  model: 'm',
  input: [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { type: 'message', role: 'user', content: 'Hi' },
  ],
  tools: [{ type: 'function', name: 'weather', description: 'Looks up.', parameters: schema, strict: null }],
  tool_choice: { type: 'function', name: 'weather' },
  user: 'u',
  stream: false,
})
