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
  ['system', 'instructions', undefined, 'a note for billing in its first block is left out'],
  ['messages[].role', 'later_instructions', undefined, '`system` after the first message'],
  ['messages[].content[] text', 'text'],
  ['messages[].content[] image', 'image', undefined, 'by `file_id` it is refused'],
  [
    'messages[].content[] document',
    'document',
    undefined,
    'a text, or a file for base64, with `title` and `context`; by URL or `file_id` it is refused',
  ],
  ['messages[].content[] tool_use', 'call'],
  ['messages[].content[] tool_result', 'result'],
  ['messages[].content[] thinking', 'sealed_reasoning'],
  ['messages[].content[] redacted_thinking', 'sealed_reasoning'],
  ['cache_control', 'cache_mark'],
  ['system[].cache_control', 'cache_mark'],
  ['tools[].cache_control', 'cache_mark'],
  ['messages[].content[].cache_control', 'cache_mark'],
  ['max_tokens', 'limit', undefined, '0 is refused'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['stop_sequences', 'stop', ['[]']],
  ['tools', 'functions', undefined, '`input_examples` are in the description'],
  ['tools[].strict', 'strict_functions_of_messages'],
  ['tool_choice', 'choice'],
  ['tool_choice.disable_parallel_tool_use', 'parallel_calls', [false]],
  ['output_config.format', 'format'],
  ['output_format', 'format', undefined, 'the older name of `output_config.format`'],
  ['output_config.effort', 'effort', undefined, '`max` is `xhigh` for models without it'],
  ['thinking', 'budget', undefined, 'where it is disabled, the effort `none`'],
  ['thinking.display', 'shows_thinking'],
  ['metadata', 'user', undefined, 'a hash of `user_id`'],
)

const translated = bridgedFields(
  'translated',
  ['messages[].content[] search_result', 'its title and texts'],
  ['messages[].content[] tool_reference', 'the name of the tool: all tools are sent anyway'],
  ['messages[].content[] compaction', 'its text; one that only the vendor can read is refused'],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].content[] fallback', 'it marks which model has answered'],
  ['tools[].defer_loading', 'all tools are sent at once'],
  ['tools[].eager_input_streaming', 'how the input of a tool is cut into events'],
  ['messages[].content[].caller', 'who called a tool is always the model'],
  ['diagnostics', 'about the cache of another vendor'],
  ['fallback_credit_token', 'a rebate of another vendor'],
  ['anthropic_version', 'the version of the API, which some clients write into the body'],
  ['anthropic_beta', 'the same of its betas; the fields that they allow are judged one by one'],
)

const refused: BridgedField[] = [
  {
    field: 'thread',
    treatment: 'refused',
    note: 'conversations are not kept here: send the whole of it with each request',
    details: THREAD_DETAILS,
  },
  ...bridgedFields(
    'refused',
    ['container', 'this model has no containers'],
    ['mcp_servers', 'its servers are called by the vendor of another model', ['[]']],
    ['fallbacks', 'it names other models; name one, or have a route of models configured'],
    ['compaction', 'summaries are made by the vendor of another model'],
    [
      'context_management.edits[].type',
      'summaries are made by the vendor of another model; clearing is unnecessary: nothing is stored',
      /^clear_/,
    ],
    ['output_config.format.type', 'formats are JSON schemas', ['json_schema']],
    ['output_config.task_budget', 'budgets of a whole task are known to the vendor of another model'],
    ['output_format.type', 'formats are JSON schemas', ['json_schema']],
    ['service_tier', 'this model has no such tiers', ['auto', 'standard_only']],
    ['speed', 'there is one speed behind this model', ['standard']],
    [
      'inference_geo',
      'the place of inference cannot be chosen behind this model',
      ['global', 'not_available'],
    ],
    ['billing_policy.bill_to', 'it chooses who pays another vendor', ['self']],
    [
      'tools[].type',
      'only the vendor of another model knows it, and this model calls tools that have an `input_schema`',
      ['custom'],
    ],
    ['tools[].allowed_callers[]', 'no code runs behind this model that could call tools', ['direct']],
    ['messages[].clear_at', 'nothing is kept from which it could be cleared', ['never']],
    ['messages[].output_config', 'the format of the output cannot change within a conversation'],
    [
      'messages[].content[].citations.enabled',
      'answers without citations are all that this model has',
      [false],
    ],
    [
      'messages[].content[].content[].citations.enabled',
      'answers without citations are all that this model has',
      [false],
    ],
    [
      'messages[].content[].type',
      'other APIs have no form for it',
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
