// The table of each messages field, for models that speak responses. The translation, the documentation and its test are
// made from it. What the vendor of messages alone has is refused or left out as for models of chat completions.

import { type BridgedField, bridgedFields } from '../../../contract/family'
import { messagesOnChatFields } from '../via-chat/fields'

const REASONING = '`reasoning.effort` by the budget, or `none`, else the lowest effort, where it is disabled'
const NOT_SENT = 'omitted if a trait of the model forbids it'

const own = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model"],
  ['max_tokens', '`max_output_tokens`; at least 16, the fewest that vendors take'],
  ['system', '`instructions`; a note for billing in its first block is left out'],
  [
    'messages[].role',
    'items of the same role; a `system` message in between is a text of the user, marked as such',
  ],
  ['messages[].content[] text', '`input_text`, or `output_text` of the assistant'],
  ['messages[].content[] image', '`input_image`, with a data URL for base64; by `file_id` it is refused'],
  [
    'messages[].content[] document',
    '`input_text`, or `input_file` for base64, with `title` and `context`; by URL or `file_id` it is refused',
  ],
  ['messages[].content[] tool_use', '`function_call`'],
  ['messages[].content[] tool_result', '`function_call_output`; `is_error` is said in its text'],
  [
    'messages[].content[] thinking',
    "the model's reasoning, whose signature it is; thinking of other models is left out",
  ],
  [
    'messages[].content[] redacted_thinking',
    "the model's reasoning, if it was sealed for this account; one that was altered is refused, any other is left out",
  ],
  ['stream', '`stream`'],
  ['temperature', `\`temperature\`; ${NOT_SENT}`],
  ['top_p', `\`top_p\`; ${NOT_SENT}`],
  ['tools', '`tools` of type `function`, which are not strict; `input_examples` stand in the description'],
  ['tool_choice', '`tool_choice`, with `any` as `required`, and `parallel_tool_calls`'],
  ['thinking', `${REASONING}; omitted for models that do not think`],
  ['thinking.display', '`reasoning.summary` for `summarized`; otherwise no summary is requested'],
  [
    'output_config.effort',
    '`reasoning.effort`, with `max` as `xhigh` for models without it; omitted for models that do not think',
  ],
  ['output_config.format', '`text.format`'],
  ['output_format', '`text.format`: the older name of `output_config.format`'],
  ['metadata', '`safety_identifier` and `prompt_cache_key`: a hash of `user_id`'],
)

const stop: BridgedField = {
  field: 'stop_sequences',
  treatment: 'refused',
  note: 'answers of this model do not end at texts',
  plain: ['[]'],
}

const ownFields = new Set([...own, stop].map(({ field }) => field))

export const messagesOnResponsesFields: readonly BridgedField[] = [
  ...own,
  stop,
  ...messagesOnChatFields.filter(({ field }) => !ownFields.has(field)),
]
