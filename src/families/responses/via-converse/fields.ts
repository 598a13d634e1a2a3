// The table of each responses field, for models that are asked by Converse. What it does not name differently is treated as for
// models that speak messages.

import { type BridgedField, bridgedFields, redefinedFields } from '../../../contract/family'
import { responsesOnMessagesFields } from '../via-messages/fields'

const PICTURES = 'pictures are taken as data URLs of PNG, JPEG, GIF or WebP'
const ONLY_BYTES = 'files are taken as data URLs'
const PICTURE = /^data:image\/(png|jpe?g|gif|webp)[;,]/i
const NOT_TOLD = 'the vendor does not learn who the caller is'

export const responsesOnConverseFields: readonly BridgedField[] = redefinedFields(responsesOnMessagesFields, [
  ...bridgedFields(
    'translated',
    ['model', "the vendor's name of the model, in the path"],
    ['input[].content[] input_image', '`image`, of a data URL'],
    ['input[].content[] input_file', '`document` with its `filename` as name, or text, of a data URL'],
    ['input[].output', '`toolResult`'],
    ['stream', 'asked of ConverseStream'],
    ['max_output_tokens', "`inferenceConfig.maxTokens`; without it the model's own limit"],
    ['temperature', '`inferenceConfig.temperature`, at most 1; omitted if a trait of the model forbids it'],
    [
      'top_p',
      '`inferenceConfig.topP`, where no temperature is set; omitted if a trait of the model forbids it',
    ],
    [
      'tool_choice',
      '`toolConfig.toolChoice`; of allowed tools only those are sent; with `none` the tools are left out, and earlier calls are texts',
    ],
    ['text.format', '`outputConfig.textFormat` for a schema; for `json_object` a sentence in `system`'],
    [
      'reasoning.effort',
      '`outputConfig.effort`, with `minimal` as the lowest, and `none` too where it cannot be turned off; omitted for models that do not think',
    ],
    [
      'prompt_cache_key',
      '`cachePoint` at the end of the last message, for models that have a price for cached input; left out for others',
    ],
  ),
  ...bridgedFields(
    'ignored',
    ['input[] reasoning', 'earlier thinking is not sent'],
    [
      'parallel_tool_calls',
      'clients send it with every request; this model is not told how many calls it may make',
    ],
    ['reasoning.summary', 'thinking that the model shows is always returned'],
    ['safety_identifier', NOT_TOLD],
    ['user', NOT_TOLD],
  ),
  ...bridgedFields(
    'refused',
    ...['input[].content[]', 'input[].output[]'].flatMap((place): [string, string, RegExp?][] => [
      [`${place}.image_url`, PICTURES, PICTURE],
      [`${place}.file_data`, ONLY_BYTES, /^data:/i],
      [`${place}.file_url`, ONLY_BYTES],
    ]),
  ),
])
