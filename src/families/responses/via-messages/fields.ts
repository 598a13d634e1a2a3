// The table of each responses field, for models that speak messages. The translation, the documentation and its test
// are made from it. A top-level field that it does not name is left out, because clients send notes of their own; an
// item, a part or a tool that it does not name is refused.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { ignoredOnBoth, partAddresses, refusedOnBoth, translatedOnBoth } from '../bridged-fields'

const translated = bridgedFields(
  'translated',
  ['instructions', '`system`, with the first messages of the system and the developer'],
  [
    'input[].role',
    '`user`, `assistant`; `system` and `developer` after those are texts of the user, marked as such',
  ],
  ['input[].content[] input_image', '`image`'],
  ['input[].content[] input_file', '`document` with its `filename` as title; by `file_id` it is refused'],
  ['input[].output', '`tool_result`'],
  [
    'input[] reasoning',
    '`thinking`, as this model signed it; other reasoning is left out, and if the last calls then lack theirs, models that are told a budget do not think',
  ],
  ['max_output_tokens', "`max_tokens`; without it the model's own limit"],
  ['temperature', '`temperature`, at most 1; omitted if a trait of the model forbids it'],
  ['top_p', '`top_p`, where no temperature is set; omitted if a trait of the model forbids it'],
  ['tool_choice', '`tool_choice`, with `required` as `any`; of allowed tools only those are sent'],
  ['parallel_tool_calls', '`disable_parallel_tool_use`'],
  [
    'reasoning.effort',
    '`thinking` and `output_config.effort`, with `minimal` as `low`; models that take one get a budget; `none` disables thinking, and so does a tool that must be called where the two exclude each other',
  ],
  ['reasoning.summary', '`thinking.display`'],
  ['prompt_cache_key', '`cache_control` of the whole request'],
  ['safety_identifier', '`metadata.user_id`: a hash of it'],
  ['user', '`metadata.user_id`: a hash of it, where there is no `safety_identifier`'],
)

const ignored = bridgedFields(
  'ignored',
  ['input[].content[].detail', 'the vendor has one way to look at a picture'],
  ['include', 'reasoning is always returned for the next request, and the rest is of other vendors'],
  ['text.verbosity', 'a wish to the vendor of another model'],
  ['text.format.strict', 'answers always fit the schema'],
  ['service_tier', 'there are no such tiers behind this model'],
)

const refused = bridgedFields(
  'refused',
  ['top_logprobs', 'this model does not return probabilities', [0]],
  ['input[].content[].type', 'this model reads texts, pictures and documents', /^(?!input_audio$)/],
)

export const responsesOnMessagesFields: readonly BridgedField[] = [
  ...translatedOnBoth,
  ...translated,
  ...ignoredOnBoth,
  ...ignored,
  ...refusedOnBoth,
  ...refused,
]

/** Rules for translated fields that name another's property. */
export const responsesOnMessagesFieldRules: readonly FieldRule[] = partAddresses(
  'image_url',
  'file_url',
  'file_data',
)
