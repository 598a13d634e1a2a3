// The table of each messages field, for models that speak chat completions. The translation, the documentation and its
// test are made from it. A top-level field, block type or tool type that it does not name must be refused. Deeper
// fields mean nothing to another vendor and are left out.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { filesInText } from '../../vendor-state'
import { messagesAddresses, THREAD_DETAILS } from '../fields'

const CACHED_ANYWAY = 'chat vendors keep caches by themselves; the answer is the same'
const OWN_THINKING =
  '`reasoning_content`, `reasoning_details` and `extra_content` as this model wrote them, sealed in the signature; other thinking is left out, and vendors that refuse calls without get a filler'

const translated = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model"],
  ['max_tokens', '`max_tokens`, or `max_completion_tokens` for models that refuse it; 0 is refused'],
  ['system', 'the first message, of role `system`; a note for billing in its first block is left out'],
  [
    'messages[].role',
    '`user`, `assistant`; a `system` message in between is a text of the user, marked as such',
  ],
  ['messages[].content[] text', 'text'],
  ['messages[].content[] image', '`image_url`, with a data URL for base64; by `file_id` it is refused'],
  [
    'messages[].content[] document',
    'text, or `file` for base64, with `title` and `context` in front; by URL or `file_id` it is refused',
  ],
  ['messages[].content[] search_result', 'its title and texts'],
  ['messages[].content[] tool_use', '`tool_calls`'],
  [
    'messages[].content[] tool_result',
    'a message of role `tool`; its pictures follow in the next message, and `is_error` is said in the text',
  ],
  ['messages[].content[] tool_reference', 'the name of the tool: all tools are sent anyway'],
  ['messages[].content[] compaction', 'its text; one that only the vendor can read is refused'],
  ['messages[].content[] thinking', OWN_THINKING],
  ['messages[].content[] redacted_thinking', OWN_THINKING],
  ['stop_sequences', '`stop`; omitted if a trait of the model forbids it'],
  ['stream', '`stream`, with the usage asked for'],
  ['temperature', '`temperature`; omitted if a trait of the model forbids it'],
  ['top_p', '`top_p`; omitted if a trait of the model forbids it'],
  ['tools', '`tools` of type `function`; `input_examples` stand in the description'],
  ['tool_choice', '`tool_choice`, with `any` as `required`, and `parallel_tool_calls`'],
  [
    'thinking',
    '`reasoning_effort` by the budget, or `none`, else the lowest effort, where it is disabled; omitted for models that do not think',
  ],
  [
    'output_config.effort',
    '`reasoning_effort`, with `max` as `xhigh` for models without it; omitted for models that do not think',
  ],
  ['output_config.format', '`response_format`'],
  ['output_format', '`response_format`: the older name of `output_config.format`'],
  ['metadata', '`user`: a hash of `user_id`'],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].content[] fallback', 'it only says which model answered'],
  ['cache_control', CACHED_ANYWAY],
  ['system[].cache_control', CACHED_ANYWAY],
  ['tools[].cache_control', CACHED_ANYWAY],
  ['messages[].content[].cache_control', CACHED_ANYWAY],
  ['top_k', 'a hint of how words are chosen; what is asked is the same'],
  ['thinking.display', 'thinking that the model shows is always returned'],
  ['tools[].strict', 'the schema is sent; what strictness asks of a schema differs between vendors'],
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
    ['container', 'there is no container behind this model'],
    ['mcp_servers', 'its servers are called by the vendor of another model', ['[]']],
    ['fallbacks', 'it names other models; name one, or have a route of models configured'],
    ['compaction', 'summaries are made by the vendor of another model'],
    [
      'context_management.edits[].type',
      'summaries are made by the vendor of another model; to clear is of no need, for nothing is kept',
      /^clear_/,
    ],
    ['output_config.format.type', 'formats are JSON schemas', ['json_schema']],
    ['output_config.task_budget', 'budgets of a whole task are known to the vendor of another model'],
    ['output_format.type', 'formats are JSON schemas', ['json_schema']],
    ['service_tier', 'there are no such tiers behind this model', ['auto', 'standard_only']],
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
      'chat completions have no form for it',
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

export const messagesOnChatFields: readonly BridgedField[] = [...translated, ...ignored, ...refused]

/** Rules for translated fields that name another's property. Ids of files are refused by the translation. */
export const messagesOnChatFieldRules: readonly FieldRule[] = [
  ...messagesAddresses,
  ...filesInText('system', 'system[].text', 'messages[].content', 'messages[].content[].text'),
]
