// The table of each chat completion field, for models that speak messages. The translation, the documentation and its
// test are made from it. A top-level field, part type or tool type that it does not name must be refused. Deeper fields
// mean nothing to another vendor and are left out.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { longCache } from '../../surcharges'
import { addresses, fileIds } from '../../vendor-state'

const HINT = 'a hint of how words are chosen; what is asked is the same'
const WHERE_CACHED = 'where a cache is looked for; the answer is the same'

const translated = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model"],
  [
    'messages[].role',
    '`user`, `assistant`; `system` and `developer` stand together in `system`, wherever they were',
  ],
  ['messages[].content', 'blocks of text; messages of one side in a row are one'],
  ['messages[].content[] text', 'text'],
  ['messages[].content[] refusal', 'text'],
  ['messages[].content[] image_url', 'image'],
  ['messages[].content[] file', 'document with its `filename` as title; by `file_id` it is refused'],
  ['messages[].name', 'of a user: a text in front of what they say'],
  ['messages[].tool_calls', '`tool_use`'],
  [
    'messages[].reasoning_content',
    '`thinking`, for vendors that demand it back; others take back only what they have signed',
  ],
  ['messages[].tool_call_id', '`tool_result`'],
  ['messages[].refusal', 'text'],
  ['messages[].content[].cache_control', '`cache_control`'],
  ['max_completion_tokens', '`max_tokens`'],
  ['max_tokens', '`max_tokens`, where there is no `max_completion_tokens`'],
  ['temperature', '`temperature`, at most 1; omitted if a trait of the model forbids it'],
  ['top_p', '`top_p`, where no temperature is set; omitted if a trait of the model forbids it'],
  ['top_k', '`top_k`'],
  ['stop', '`stop_sequences`'],
  ['stream', '`stream`'],
  ['stream_options', 'the chunk with the usage, where it is asked for'],
  ['n', 'as many calls side by side'],
  ['tools', '`tools`, of type `function`'],
  ['tool_choice', '`tool_choice`, with `required` as `any`'],
  ['parallel_tool_calls', '`disable_parallel_tool_use`'],
  ['response_format', '`output_config.format` for a schema; for `json_object` a sentence in `system`'],
  [
    'reasoning_effort',
    '`output_config.effort`, with `minimal` as `low`, or a budget for models that take one; `none` disables thinking',
  ],
  ['thinking', '`thinking`, in the form that the model accepts'],
  ['verbosity', 'for `low` and `high` a sentence in `system`'],
  ['user', '`metadata.user_id`'],
  ['safety_identifier', '`metadata.user_id`, where there is no `user`'],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].content[].image_url.detail', 'the vendor has one way to look at a picture'],
  ['seed', 'answers are reproducible where possible, and there it is not'],
  ['frequency_penalty', HINT],
  ['presence_penalty', HINT],
  ['repetition_penalty', HINT],
  ['min_p', HINT],
  ['prediction', 'it makes the same answer come faster'],
  ['store', 'nothing is kept at the vendor'],
  ['metadata', 'labels of what is kept'],
  ['prompt_cache_key', WHERE_CACHED],
  ['prompt_cache_retention', WHERE_CACHED],
  ['prompt_cache_options', WHERE_CACHED],
  ['usage', 'usage is always returned'],
  ['include_reasoning', 'thinking that the model shows is always returned'],
  ['response_format.json_schema.strict', 'answers always fit the schema'],
)

const refused = bridgedFields(
  'refused',
  ['logit_bias', 'it weighs words by the numbers of another vocabulary', ['{}']],
  ['logprobs', 'this model does not return probabilities', [false]],
  ['top_logprobs', 'this model does not return probabilities', [0]],
  ['modalities[]', 'this model answers in text', ['text']],
  ['audio', 'this model answers in text'],
  ['functions', "tools have their place in 'tools'", ['[]']],
  ['function_call', "tools are chosen by 'tool_choice'", ['auto', 'none']],
  ['service_tier', 'there are no such tiers behind this model', ['auto', 'default', 'standard', 'flex']],
  ['web_search_options', 'this model does not search'],
  ['search_parameters', 'this model does not search', ['{"mode":"off"}']],
  ['enable_search', 'this model does not search', [false]],
  ['moderation', 'requests to this model cannot ask for moderation'],
  ['plugins', 'this model has none', ['[]']],
  ['models', 'it names other models; name one, or have a route of models configured'],
  ['fallbacks', 'it names other models; name one, or have a route of models configured'],
  ['reasoning', "how long to think is said by 'reasoning_effort', or by 'thinking'"],
  ['enable_thinking', "how long to think is said by 'reasoning_effort', or by 'thinking'", [false]],
  ['thinking_budget', "how long to think is said by 'reasoning_effort', or by 'thinking'"],
  ['chat_template_kwargs', 'this model has no template of that kind'],
  ['tools[].type', 'this model calls functions of the caller', ['function']],
  ['tool_choice.type', 'one tool can be chosen, by its name', ['function']],
  ['response_format.type', 'formats are text, JSON and JSON schemas', ['text', 'json_object', 'json_schema']],
  ['messages[].function_call', "calls stand in 'tool_calls'"],
  ['messages[].audio', 'this model reads text, pictures and documents'],
  [
    'messages[].content[].type',
    'this model takes text, image_url and file parts',
    ['text', 'refusal', 'image_url', 'file'],
  ],
)

export const chatOnMessagesFields: readonly BridgedField[] = [...translated, ...ignored, ...refused]

/** Rules for translated fields that cost more, or name another's property. */
export const chatOnMessagesFieldRules: readonly FieldRule[] = [
  ...fileIds('messages[].content[].file.file_id'),
  ...addresses('messages[].content[].image_url.url', 'messages[].content[].file.file_data'),
  longCache('messages[].content[].cache_control.ttl', 'cache_write_1h_token'),
  longCache('tools[].cache_control.ttl', 'cache_write_1h_token'),
]
