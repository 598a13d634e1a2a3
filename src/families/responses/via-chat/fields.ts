// The table of each responses field, for models that speak chat completions. The translation, the documentation and its
// test are made from it. A top-level field that it does not name is left out, because clients send notes of their own;
// an item, a part or a tool that it does not name is refused.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { soundParts } from '../../media-parts'
import { filesInText } from '../../vendor-state'
import { ignoredOnBoth, partAddresses, refusedOnBoth, translatedOnBoth } from '../bridged-fields'

const translated = bridgedFields(
  'translated',
  [
    'instructions',
    'the first message, of role `system`, with the first messages of the system and the developer',
  ],
  [
    'input[].role',
    "`user`, `assistant`; `system` and `developer` after those are texts of the user, marked as such, and messages of the developer for OpenAI's own models",
  ],
  ['input[].content[] input_image', '`image_url`, with `original` as `high`'],
  ['input[].content[] input_file', '`file`; by its address or `file_id` it is refused'],
  ['input[].content[] input_audio', '`input_audio`'],
  [
    'input[].output',
    'a message of role `tool`; pictures and files in it follow in the next message of the user',
  ],
  [
    'input[] reasoning',
    '`reasoning_content`, `reasoning_details` and `extra_content` as this model wrote them; other reasoning is left out, and vendors that refuse calls without get a filler',
  ],
  ['max_output_tokens', '`max_tokens`, or `max_completion_tokens` for models that refuse it'],
  ['temperature', '`temperature`; omitted if a trait of the model forbids it'],
  ['top_p', '`top_p`; omitted if a trait of the model forbids it'],
  ['top_logprobs', '`top_logprobs` with `logprobs`; omitted if a trait of the model forbids it'],
  ['include', '`logprobs`, for `message.output_text.logprobs`; the rest is left out'],
  ['text.verbosity', "`verbosity`, for OpenAI's own models; others are not sent it"],
  [
    'tool_choice',
    "`tool_choice`; of allowed tools only those are sent, except to OpenAI's own models, which take the list",
  ],
  ['parallel_tool_calls', '`parallel_tool_calls`, if it is false'],
  ['reasoning.effort', '`reasoning_effort`; omitted for models that do not think'],
  ['prompt_cache_key', "`prompt_cache_key`, for OpenAI's own models; others are not sent it"],
  ['safety_identifier', '`user`: a hash of it'],
  ['user', '`user`: a hash of it, where there is no `safety_identifier`'],
  ['service_tier', '`service_tier`, if the tier has a price; else it is left out'],
)

const ignored = bridgedFields('ignored', [
  'reasoning.summary',
  'thinking that the model shows is always returned',
])

const refused = bridgedFields(
  'refused',
  ['input[].content[].file_url', 'this model takes files as file_data; send the content as a data URL'],
  ['input[].output[].file_url', 'this model takes files as file_data; send the content as a data URL'],
)

export const responsesOnChatFields: readonly BridgedField[] = [
  ...translatedOnBoth,
  ...translated,
  ...ignoredOnBoth,
  ...ignored,
  ...refusedOnBoth,
  ...refused,
]

/** Rules for translated fields that name another's property. */
export const responsesOnChatFieldRules: readonly FieldRule[] = [
  ...partAddresses('image_url', 'file_data'),
  ...['input[].content[]', 'input[].output[]'].flatMap((part) =>
    soundParts(`${part}.type`, `${part}.file_data`, `${part}.image_url`),
  ),
  ...filesInText(
    'instructions',
    'input',
    'input[].content',
    'input[].content[].text',
    'input[].output',
    'input[].output[].text',
  ),
]
