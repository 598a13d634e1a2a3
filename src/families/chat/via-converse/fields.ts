// The table of each chat completion field, for models that are asked by Converse. What it does not name differently is treated as
// for models that speak messages.

import { type BridgedField, bridgedFields, type FieldRule, redefinedFields } from '../../../contract/family'
import { chatOnMessagesFieldRules, chatOnMessagesFields } from '../via-messages/fields'

const NOT_TOLD = 'the vendor does not learn who the caller is'
const CACHE = '`cachePoint`, for models that have a price for cached input; left out for others'
const ONLY_BYTES = 'files are taken as data URLs'

/** Rules for translated fields that cost more. Files are data URLs, so none is an address. */
export const chatOnConverseFieldRules: readonly FieldRule[] = chatOnMessagesFieldRules.filter(
  ({ address }) => !address,
)

export const chatOnConverseFields: readonly BridgedField[] = redefinedFields(chatOnMessagesFields, [
  ...bridgedFields(
    'translated',
    ['messages[].content[] image_url', '`image`, of a data URL'],
    ['messages[].content[] file', '`document`, of a data URL'],
    ['messages[].tool_calls', '`toolUse`'],
    ['messages[].tool_call_id', '`toolResult`'],
    ['messages[].content[].cache_control', CACHE],
    ['max_completion_tokens', '`inferenceConfig.maxTokens`'],
    ['max_tokens', '`inferenceConfig.maxTokens`, where there is no `max_completion_tokens`'],
    ['temperature', '`inferenceConfig.temperature`, at most 1; omitted if a trait of the model forbids it'],
    [
      'top_p',
      '`inferenceConfig.topP`, where no temperature is set; omitted if a trait of the model forbids it',
    ],
    ['stop', '`inferenceConfig.stopSequences`'],
    ['stream', 'asked of ConverseStream'],
    ['tools', '`toolConfig.tools`, of type `function`'],
    [
      'tool_choice',
      '`toolConfig.toolChoice`; with `none` the tools are left out, and earlier calls are texts',
    ],
    ['response_format', '`outputConfig.textFormat` for a schema; for `json_object` a sentence in `system`'],
    ['reasoning_effort', '`outputConfig.effort`; omitted for models that do not think'],
    ['thinking', 'by its budget, `outputConfig.effort`; omitted for models that do not think'],
  ),
  ...bridgedFields(
    'ignored',
    ['messages[].reasoning_content', 'thinking that the vendor has not signed, it does not take back'],
    ['top_k', 'a hint of how words are chosen; what is asked is the same'],
    ['user', NOT_TOLD],
    ['safety_identifier', NOT_TOLD],
  ),
  ...bridgedFields(
    'refused',
    ['parallel_tool_calls', 'the number of calls cannot be limited to one', [true]],
    ['messages[].content[].image_url.url', ONLY_BYTES, /^data:/i],
    ['messages[].content[].file.file_data', ONLY_BYTES, /^data:/i],
  ),
])
