// The table of each messages field, for models whose vendor speaks another protocol. The documentation and the check of requests are
// made from it. A top-level field, block type or tool type that it does not name is refused. Deeper fields mean nothing to another
// vendor and are left out. Data only.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import type { Protocol } from '../../conversation/bridge'
import { type DialectField, meanings } from '../../conversation/concepts'
import { messagesAddresses, THREAD_DETAILS } from '../../messages/fields'
import { longCache } from '../../surcharges'
import { filesInText } from '../../vendor-state'

const meant = meanings(
  ['model', 'model'],
  ['stream', 'stream'],
  ['system', 'instructions', undefined, 'a billing note in its first block is left out'],
  ['messages[].role', 'later_instructions', undefined, '`system` after the first message'],
  ['messages[].content[] text', 'text'],
  ['messages[].content[] image', 'image', undefined, '`file_id` is refused; other forms'],
  [
    'messages[].content[] document',
    'document',
    undefined,
    'URLs and `file_id` are refused; a text, or a file for base64, with `title` and `context`',
  ],
  ['messages[].content[] tool_use', 'call'],
  ['messages[].content[] tool_result', 'result'],
  ['messages[].content[] thinking', 'sealed_reasoning'],
  ['messages[].content[] redacted_thinking', 'sealed_reasoning'],
  ['cache_control', 'cache_mark'],
  ['system[].cache_control', 'cache_mark'],
  ['tools[].cache_control', 'cache_mark'],
  ['messages[].content[].cache_control', 'cache_mark'],
  ['max_tokens', 'limit', undefined, '0 is refused; other values'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['stop_sequences', 'stop', ['[]']],
  ['tools', 'functions', undefined, '`input_examples` are added to the description'],
  ['tools[].strict', 'strict_functions_of_messages'],
  ['tool_choice', 'choice'],
  ['tool_choice.disable_parallel_tool_use', 'parallel_calls', [false]],
  ['output_config.format', 'format'],
  ['output_format', 'format', undefined, 'older name of `output_config.format`'],
  ['output_config.effort', 'effort', undefined, '`max` becomes `xhigh` for models without `max`'],
  ['thinking', 'budget', undefined, 'effort `none` if disabled; otherwise'],
  ['thinking.display', 'shows_thinking'],
  ['metadata', 'user', undefined, 'a hash of `user_id`'],
)

const translated = bridgedFields(
  'translated',
  ['messages[].content[] search_result', 'its title and texts'],
  ['messages[].content[] tool_reference', 'the name of the tool: all tools are sent anyway'],
  ['messages[].content[] compaction', 'its text; refused if only the vendor can read it'],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].content[] fallback', 'it marks which model answered'],
  ['tools[].defer_loading', 'all tools are sent at once'],
  ['tools[].eager_input_streaming', 'it only affects how tool input is split into events'],
  ['messages[].content[].caller', 'the caller of a tool is always the model'],
  ['diagnostics', 'it concerns the cache of another vendor'],
  ['fallback_credit_token', 'a discount of another vendor'],
  ['anthropic_version', 'the version of the API, which some clients write into the body'],
  ['anthropic_beta', 'beta features of the API; their fields are checked individually'],
)

const refused: BridgedField[] = [
  {
    field: 'thread',
    treatment: 'refused',
    note: 'conversations are not stored here; send the whole conversation with each request',
    details: THREAD_DETAILS,
  },
  ...bridgedFields(
    'refused',
    ['container', 'this model has no containers'],
    ['mcp_servers', 'the vendor of this model does not call MCP servers', ['[]']],
    ['fallbacks', 'it names other models; name one, or ask for a configured route'],
    ['compaction', 'only the vendor of another model makes summaries'],
    [
      'context_management.edits[].type',
      'only the vendor of another model makes summaries; clearing is unnecessary: nothing is stored',
      /^clear_/,
    ],
    ['output_config.format.type', 'the only format is a JSON schema', ['json_schema']],
    ['output_config.task_budget', 'this model has no task budgets'],
    ['output_format.type', 'the only format is a JSON schema', ['json_schema']],
    ['service_tier', 'this model has no such tiers', ['auto', 'standard_only']],
    ['speed', 'this model has only one speed', ['standard']],
    ['inference_geo', 'the inference region of this model cannot be chosen', ['global', 'not_available']],
    ['billing_policy.bill_to', 'it chooses who pays another vendor', ['self']],
    ['tools[].type', 'this model calls only tools that have an `input_schema`', ['custom']],
    ['tools[].allowed_callers[]', 'this model cannot run code that calls tools', ['direct']],
    ['messages[].clear_at', 'nothing is stored that could be cleared', ['never']],
    ['messages[].output_config', 'the format of the output cannot change within a conversation'],
    ['messages[].content[].citations.enabled', 'this model does not cite sources', [false]],
    ['messages[].content[].content[].citations.enabled', 'this model does not cite sources', [false]],
    [
      'messages[].content[].type',
      'other APIs have no equivalent',
      [
        'text',
        'image',
        'document',
        'search_result',
        'tool_use',
        'tool_result',
        'tool_reference',
        'compaction',
        'thinking',
        'redacted_thinking',
        'fallback',
      ],
    ],
  ),
]

export const messagesDialectFields: readonly DialectField[] = [
  ...meant,
  ...translated,
  ...ignored,
  ...refused,
]

const rules: readonly FieldRule[] = [
  ...messagesAddresses,
  ...filesInText('system', 'system[].text', 'messages[].content', 'messages[].content[].text'),
]

/** Places of cache marks, which are sent if the vendor caches on request. */
const marks = ['', 'system[].', 'tools[].', 'messages[].content[].'].map((place) =>
  longCache(`${place}cache_control.ttl`, 'cache_write_1h_token'),
)

/** Rules for translated fields that cost more, or refer to property of others. Ids of files are refused when they are read. */
export function messagesRulesOn({ name, can }: Pick<Protocol, 'name' | 'can'>): readonly FieldRule[] {
  if (name === 'gemini') return messagesAddresses
  return 'as' in can.cache_mark ? [...rules, ...marks] : rules
}
