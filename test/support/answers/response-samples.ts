// A request for each row of the tables of fields of responses on models of other dialects: with the field, item, part or
// tool of the row, and plain otherwise.

import type { Json } from '../scenario'

type Samples = Record<string, Json | undefined>

const hello = { role: 'user', content: 'Hello' }
const items = (...more: Json[]) => ({ input: [hello, ...more] })
const part = (...content: Json[]) => ({ input: [{ role: 'user', content }, hello] })
const text = { type: 'input_text', text: 'Good day' }
const output = (content: unknown) => ({ type: 'function_call_output', call_id: 'call_1', output: content })
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }
const look = {
  type: 'function',
  name: 'look',
  description: 'Looks',
  parameters: { type: 'object', properties: {} },
}
const withTool = (more: Json) => ({ tools: [{ ...look, ...more }] })
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const strict = { ...schema, required: ['a'], additionalProperties: false }
const pdf = 'data:application/pdf;base64,JVBERi0='
const byAddress = { type: 'input_file', file_url: 'https://example.com/a.pdf' }
const image = { type: 'input_image', image_url: 'https://example.com/a.png' }
const assistant = (content: unknown, more: Json = {}) => items({ role: 'assistant', content, ...more }, hello)

/** A call of a tool that the API names, with its output. */
const builtIn = (type: string, members: Json, answer: Json) =>
  items({ type: `${type}_call`, call_id: 'call_1', ...members }, { call_id: 'call_1', ...answer })

const localShell = builtIn(
  'local_shell',
  { action: { type: 'exec', command: ['ls'], env: {} } },
  { type: 'local_shell_call_output', output: 'a' },
)
const shell = builtIn(
  'shell',
  { action: { commands: ['ls'] } },
  { type: 'shell_call_output', output: [{ stdout: 'a', stderr: '' }] },
)
const patch = builtIn(
  'apply_patch',
  { operation: { type: 'delete_file', path: 'a' } },
  { type: 'apply_patch_call_output', status: 'completed' },
)
const search = builtIn(
  'tool_search',
  { execution: 'client', arguments: {} },
  { type: 'tool_search_output', tools: [look] },
)
const custom = items(
  { type: 'custom_tool_call', call_id: 'call_1', name: 'note', input: 'a' },
  { type: 'custom_tool_call_output', call_id: 'call_1', output: 'fine' },
)

const onBoth: Samples = {
  model: undefined,
  input: { input: 'Good day' },
  'input[] message': items({ type: 'message', role: 'user', content: 'And?' }),
  'input[].role': items({ role: 'developer', content: 'Be kind.' }),
  'input[].content[] input_text': part(text),
  'input[].content[] output_text': assistant([{ type: 'output_text', text: 'Yes?' }]),
  'input[].content[] refusal': assistant([{ type: 'refusal', refusal: 'No.' }]),
  'input[].content[] input_image': part(image),
  'input[].content[] input_file': part({ type: 'input_file', filename: 'a.pdf', file_data: pdf }),
  'input[] function_call': items(call, output('fine')),
  'input[] function_call_output': items(call, output('fine')),
  'input[].output': items(call, output([text, image])),
  'input[] custom_tool_call': custom,
  'input[] custom_tool_call_output': custom,
  'input[] tool_search_call': search,
  'input[] tool_search_output': search,
  'input[] local_shell_call': localShell,
  'input[] local_shell_call_output': localShell,
  'input[] shell_call': shell,
  'input[] shell_call_output': shell,
  'input[] apply_patch_call': patch,
  'input[] apply_patch_call_output': patch,
  'input[] additional_tools': items({ type: 'additional_tools', role: 'developer', tools: [look] }),
  'input[] configuration_update': items({
    type: 'configuration_update',
    text: { format: { type: 'json_object' } },
  }),
  // Stored and sealed items come from answers, which have their own tests.
  'input[] item_reference': undefined,
  'input[] compaction_trigger': items({ type: 'compaction_trigger' }),
  'input[] reasoning': undefined,
  previous_response_id: undefined,
  conversation: undefined,
  background: undefined,
  instructions: { instructions: 'Be kind.' },
  stream: { stream: true },
  max_output_tokens: { max_output_tokens: 77 },
  temperature: { temperature: 0.5 },
  top_p: { top_p: 0.5 },
  tools: withTool({}),
  'tools[] function': withTool({ strict: true }),
  'tools[] custom': {
    tools: [{ type: 'custom', name: 'note', format: { type: 'grammar', syntax: 'regex', definition: 'a+' } }],
  },
  'tools[] namespace': { tools: [{ type: 'namespace', name: 'n', description: 'All', tools: [look] }] },
  'tools[] tool_search': { tools: [{ type: 'tool_search', execution: 'client' }] },
  'tools[] local_shell': { tools: [{ type: 'local_shell' }] },
  'tools[] shell': { tools: [{ type: 'shell' }] },
  'tools[] apply_patch': { tools: [{ type: 'apply_patch' }] },
  tool_choice: { tools: [look], tool_choice: 'required' },
  'tool_choice.tools': {
    tools: [look, { ...look, name: 'hear' }],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
  },
  'tools[].strict': withTool({ parameters: strict, strict: true }),
  'text.format.strict': {
    text: { format: { type: 'json_schema', name: 'a', schema: strict, strict: true } },
  },
  'input[].content[].file_url': part(byAddress),
  'input[].output[].file_url': items(call, output([byAddress])),
  'input[].content[].detail': part({ ...image, detail: 'low' }),
  parallel_tool_calls: { tools: [look], parallel_tool_calls: false },
  'text.format': { text: { format: { type: 'json_schema', name: 'a', schema } } },
  user: { user: 'u' },
  safety_identifier: { safety_identifier: 'u' },
  ...Object.fromEntries(
    [
      'web_search_call',
      'file_search_call',
      'code_interpreter_call',
      'image_generation_call',
      'computer_call',
      'computer_call_output',
      'mcp_list_tools',
      'mcp_call',
      'mcp_approval_request',
      'mcp_approval_response',
      'program',
      'program_output',
      'compaction',
    ].map((type) => [`input[] ${type}`, items({ type, id: 'x_1', call_id: 'call_9' })]),
  ),
  'input[].phase': assistant('Yes?', { phase: 'commentary' }),
  'input[].content[].prompt_cache_breakpoint': part({
    ...text,
    prompt_cache_breakpoint: { mode: 'explicit' },
  }),
  'tools[] web_search': { tools: [look, { type: 'web_search' }] },
  'tools[] web_search_preview': { tools: [look, { type: 'web_search_preview' }] },
  'tools[] image_generation': { tools: [look, { type: 'image_generation' }] },
  'tools[].allowed_callers': withTool({ allowed_callers: ['direct'] }),
  'tools[].async': withTool({ async: true }),
  'tools[].defer_loading': withTool({ defer_loading: true }),
  'tools[].output_schema': withTool({ output_schema: {} }),
  store: { store: false },
  stream_options: { stream_options: { include_obfuscation: true } },
  max_tool_calls: { max_tool_calls: 3 },
  truncation: { truncation: 'auto' },
  metadata: { metadata: { a: 'b' } },
  'reasoning.context': { reasoning: { context: 'all_turns' } },
  'reasoning.mode': { reasoning: { mode: 'pro' } },
  prompt_cache_options: { prompt_cache_options: { mode: 'explicit', ttl: '12h', prewarm: true } },
  prompt_cache_retention: { prompt_cache_retention: '24h' },
  context_management: { context_management: [{ type: 'compaction', compact_threshold: 9 }] },
  moderation: { moderation: { model: 'a' } },
  access_programs: { access_programs: ['a'] },
  image: { image: { size: 'a' } },
  client_metadata: { client_metadata: { a: 'b' } },
  prompt: { prompt: { id: 'pmpt_1' } },
  'tools[].type': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  'tools[].tools[].type': { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] },
  'tools[].environment.type': { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
  'input[].tools[].type': items({ type: 'additional_tools', tools: [{ type: 'mcp' }] }),
  'input[].tools[].tools[].type': items({
    type: 'additional_tools',
    tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }],
  }),
  'tool_choice.type': { tools: [look], tool_choice: { type: 'file_search' } },
  'input[].content[].file_id': part({ type: 'input_image', file_id: 'file_1' }),
  'input[].output[].file_id': items(call, output([{ type: 'input_image', file_id: 'file_1' }])),
}

/** A model of OpenAI itself, which gets more fields. */
const own = { model: 'test-reasoning' }

export const responsesOnChatSamples: Samples = {
  ...onBoth,
  'input[].content[].type': {
    ...part({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }),
    model: 'test-sound',
  },
  top_logprobs: { top_logprobs: 2 },
  include: { include: ['message.output_text.logprobs'] },
  'text.verbosity': { ...own, text: { verbosity: 'low' } },
  'reasoning.effort': { ...own, reasoning: { effort: 'low' } },
  prompt_cache_key: { ...own, prompt_cache_key: 'k' },
  service_tier: { model: 'test-tiers', service_tier: 'priority' },
  'reasoning.summary': { ...own, reasoning: { summary: 'auto' } },
}

export const responsesOnMessagesSamples: Samples = {
  ...onBoth,
  'reasoning.effort': { reasoning: { effort: 'low' }, max_output_tokens: 9_000 },
  'reasoning.summary': { reasoning: { effort: 'low', summary: 'auto' }, max_output_tokens: 9_000 },
  prompt_cache_key: { prompt_cache_key: 'k' },
  include: { include: ['reasoning.encrypted_content'] },
  'text.verbosity': { text: { verbosity: 'low' } },
  service_tier: { service_tier: 'priority' },
  top_logprobs: { top_logprobs: 2 },
  'input[].content[].type': part({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }),
}

const inlined = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
const thinking = { model: 'test-converse-thinker' }

export const responsesOnConverseSamples: Samples = {
  ...responsesOnMessagesSamples,
  // The path alone determines the value.
  stream: undefined,
  'input[].content[] input_image': part(inlined),
  'input[].content[].detail': part({ ...inlined, detail: 'low' }),
  'input[].output': items(call, output([text, inlined])),
  'reasoning.effort': { ...thinking, reasoning: { effort: 'low' } },
  'reasoning.summary': { ...thinking, reasoning: { effort: 'low', summary: 'auto' } },
}
