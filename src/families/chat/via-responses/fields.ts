// The table of each chat completion field, for models that speak responses. The translation, the documentation and its
// test are made from it. A top-level field, part type or tool type that it does not name must be refused. Deeper fields
// mean nothing to the vendor and are left out.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { serviceTier } from '../../surcharges'
import { addresses, fileIds } from '../../vendor-state'

const HINT = 'a hint of how words are chosen; what is asked is the same'
const CACHED_ANYWAY = 'the vendor keeps caches by itself; the answer is the same'

const translated = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model"],
  ['messages[].role', 'an item of the same role; `tool` is the output of a call'],
  ['messages[].content', 'a text, or parts of the item'],
  ['messages[].content[] text', '`input_text`, or `output_text` of the assistant'],
  ['messages[].content[] refusal', '`refusal`'],
  ['messages[].content[] image_url', '`input_image`'],
  ['messages[].content[] file', '`input_file`; by `file_id` it is refused'],
  ['messages[].content[].image_url.detail', '`detail`'],
  ['messages[].name', 'of a user: a text in front of what they say'],
  ['messages[].tool_calls', '`function_call` and `custom_tool_call`'],
  ['messages[].tool_call_id', '`function_call_output` and `custom_tool_call_output`'],
  ['messages[].refusal', '`refusal`'],
  ['max_completion_tokens', '`max_output_tokens`; at least 16, the fewest that vendors take'],
  [
    'max_tokens',
    '`max_output_tokens`, where there is no `max_completion_tokens`; at least 16, the fewest that vendors take',
  ],
  ['temperature', '`temperature`; omitted if a trait of the model forbids it'],
  ['top_p', '`top_p`; omitted if a trait of the model forbids it'],
  ['logprobs', 'probabilities of the text, in `include`; omitted if a trait of the model forbids it'],
  ['top_logprobs', '`top_logprobs`; omitted if a trait of the model forbids it'],
  ['stream', '`stream`'],
  ['stream_options', 'the chunk with the usage, where it is asked for'],
  ['n', 'as many calls side by side'],
  ['tools', '`tools`, flat; a function is strict only where that is asked for'],
  ['tool_choice', '`tool_choice`, flat'],
  ['parallel_tool_calls', '`parallel_tool_calls`'],
  ['response_format', '`text.format`, flat'],
  ['verbosity', '`text.verbosity`'],
  ['reasoning_effort', '`reasoning.effort`; omitted for models that do not think'],
  [
    'include_reasoning',
    '`reasoning.summary`: a summary of the reasoning, in `reasoning_content`; without it there is none',
  ],
  ['service_tier', '`service_tier`'],
  ['user', '`user`'],
  ['safety_identifier', '`safety_identifier`'],
  ['prompt_cache_key', '`prompt_cache_key`'],
  ['prompt_cache_retention', '`prompt_cache_retention`'],
  ['prompt_cache_options', '`prompt_cache_options`'],
)

const ignored = bridgedFields(
  'ignored',
  ['messages[].reasoning_content', 'thinking that the vendor has not sealed, it does not take back'],
  ['messages[].content[].cache_control', CACHED_ANYWAY],
  ['tools[].cache_control', CACHED_ANYWAY],
  ['seed', 'answers are reproducible where possible, and there it is not'],
  ['frequency_penalty', HINT],
  ['presence_penalty', HINT],
  ['repetition_penalty', HINT],
  ['min_p', HINT],
  ['top_k', HINT],
  ['prediction', 'it makes the same answer come faster'],
  ['store', 'nothing is kept at the vendor'],
  ['metadata', 'labels of what is kept'],
  ['usage', 'usage is always returned'],
)

const refused = bridgedFields(
  'refused',
  ['stop', 'answers of this model do not end at texts', ['[]']],
  ['logit_bias', 'answers of this model cannot be weighed by single words', ['{}']],
  ['modalities[]', 'this model answers in text', ['text']],
  ['audio', 'this model answers in text'],
  ['functions', "tools have their place in 'tools'", ['[]']],
  ['function_call', "tools are chosen by 'tool_choice'", ['auto', 'none']],
  ['web_search_options', 'searches are asked for through responses'],
  ['search_parameters', 'searches are asked for through responses', ['{"mode":"off"}']],
  ['enable_search', 'searches are asked for through responses', [false]],
  ['moderation', 'requests to this model cannot ask for moderation'],
  ['plugins', 'this model has none', ['[]']],
  ['models', 'it names other models; name one, or have a route of models configured'],
  ['fallbacks', 'it names other models; name one, or have a route of models configured'],
  ['reasoning', "how long to think is said by 'reasoning_effort'"],
  ['thinking', "how long to think is said by 'reasoning_effort'"],
  ['enable_thinking', "how long to think is said by 'reasoning_effort'", [false]],
  ['thinking_budget', "how long to think is said by 'reasoning_effort'"],
  ['chat_template_kwargs', 'this model has no template of that kind'],
  ['prompt_cache_options.ttl', 'what is kept for longer costs more to write', ['30m']],
  ['tools[].type', 'this model calls tools of the caller', ['function', 'custom']],
  ['tool_choice.type', 'tools are chosen by their names', ['function', 'custom', 'allowed_tools']],
  ['response_format.type', 'formats are text, JSON and JSON schemas', ['text', 'json_object', 'json_schema']],
  ['messages[].function_call', "calls stand in 'tool_calls'"],
  ['messages[].audio', 'this model reads text, pictures and documents'],
  [
    'messages[].content[].type',
    'this model takes text, image_url and file parts',
    ['text', 'refusal', 'image_url', 'file'],
  ],
)

export const chatOnResponsesFields: readonly BridgedField[] = [...translated, ...ignored, ...refused]

/** Rules for translated fields that cost more, or name another's property. */
export const chatOnResponsesFieldRules: readonly FieldRule[] = [
  serviceTier,
  ...fileIds('messages[].content[].file.file_id'),
  ...addresses('messages[].content[].image_url.url', 'messages[].content[].file.file_data'),
]
