// The table of each messages field, for models that are asked by Converse. The translation, the documentation and its test are
// made from it. What it does not name differently is treated as for models that speak chat completions.

import { type BridgedField, bridgedFields, type FieldRule, redefinedFields } from '../../../contract/family'
import { longCache } from '../../surcharges'
import { messagesOnChatFieldRules, messagesOnChatFields } from '../via-chat/fields'

const CACHE = '`cachePoint`, for models that have a price for cached input; left out for others'
const EFFORT = '`outputConfig.effort`; omitted for models that do not think'

const translated = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model, in the path"],
  ['max_tokens', '`inferenceConfig.maxTokens`; 0 is refused'],
  ['system', '`system`; a note for billing in its first block is left out'],
  ['messages[].content[] image', '`image`, of base64; by URL or `file_id` it is refused'],
  [
    'messages[].content[] document',
    '`document` of base64, or text, with `title` and `context`; by URL or `file_id` it is refused',
  ],
  ['messages[].content[] tool_use', '`toolUse`'],
  ['messages[].content[] tool_result', '`toolResult`, with `is_error` as its status'],
  ['stop_sequences', '`inferenceConfig.stopSequences`'],
  ['stream', 'asked of ConverseStream'],
  ['temperature', '`inferenceConfig.temperature`; omitted if a trait of the model forbids it'],
  ['top_p', '`inferenceConfig.topP`; omitted if a trait of the model forbids it'],
  ['tools', '`toolConfig.tools`; `input_examples` stand in the description'],
  ['tool_choice', '`toolConfig.toolChoice`; with `none` the tools are left out, and earlier calls are texts'],
  ['tools[].strict', '`toolSpec.strict`; omitted if a trait of the model forbids it'],
  ['thinking', `by its budget, ${EFFORT}`],
  ['output_config.effort', EFFORT],
  ['output_config.format', '`outputConfig.textFormat`; refused if a trait of the model forbids it'],
  ['output_format', '`outputConfig.textFormat`: the older name of `output_config.format`'],
  ['cache_control', `${CACHE}; at the end of the last message`],
  ['system[].cache_control', `${CACHE}; at the end of the system prompt`],
  ['tools[].cache_control', CACHE],
  ['messages[].content[].cache_control', CACHE],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].content[] thinking', 'only the vendor that made and signed it can read it'],
  ['messages[].content[] redacted_thinking', 'only the vendor that made it can read it'],
  ['metadata', 'the vendor does not learn who the caller is'],
)

const refused = bridgedFields('refused', [
  'tool_choice.disable_parallel_tool_use',
  'the number of calls cannot be limited to one',
  [false],
])

export const converseFields: readonly BridgedField[] = redefinedFields(messagesOnChatFields, [
  ...translated,
  ...ignored,
  ...refused,
])

export const converseFieldRules: readonly FieldRule[] = [
  ...messagesOnChatFieldRules,
  ...['', 'system[].', 'tools[].', 'messages[].content[].'].map((place) =>
    longCache(`${place}cache_control.ttl`, 'cache_write_1h_token'),
  ),
]
