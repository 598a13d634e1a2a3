// The table of each chat completion field, for models that speak another protocol. The documentation and the check of requests are made
// from it. A top-level field, part type or tool type missing from it must be refused. Deeper fields mean nothing to another vendor
// and are left out. Data only.

import { bridgedFields, type FieldRule } from '../../../contract/family'
import type { Protocol } from '../../conversation/bridge'
import { type DialectField, meanings } from '../../conversation/concepts'
import { soundFiles } from '../../media-parts'
import { longCache, serviceTier } from '../../surcharges'
import { addresses, fileIds } from '../../vendor-state'

const meant = meanings(
  ['model', 'model'],
  ['messages[].role', 'later_instructions', undefined, '`system` and `developer`, at any position'],
  ['messages[].content[] text', 'text'],
  ['messages[].content[] refusal', 'text'],
  ['messages[].content[] image_url', 'image'],
  ['messages[].content[].image_url.detail', 'image_detail'],
  ['messages[].content[] file', 'document', undefined, '`file_id` is refused; other forms'],
  ['messages[].content[].type', 'audio', /^(?!input_audio$)/, '`input_audio`'],
  ['messages[].content[].cache_control', 'cache_mark'],
  ['messages[].name', 'speaker'],
  ['messages[].refusal', 'text'],
  ['messages[].reasoning_content', 'shown_reasoning'],
  ['messages[].tool_calls', 'call'],
  ['messages[].tool_call_id', 'result'],
  ['max_completion_tokens', 'limit'],
  ['max_tokens', 'limit', undefined, 'if `max_completion_tokens` is absent'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['stop', 'stop', ['[]']],
  ['seed', 'seed'],
  ['frequency_penalty', 'penalties'],
  ['presence_penalty', 'penalties'],
  ['logprobs', 'logprobs', [false]],
  ['top_logprobs', 'logprobs', [0]],
  ['stream', 'stream'],
  ['n', 'candidates'],
  ['tools', 'functions'],
  ['tools[].type', 'custom_tools', ['function'], '`custom`'],
  ['tools[].function.strict', 'strict_functions', [false]],
  ['tools[].cache_control', 'cache_mark'],
  ['tool_choice', 'choice'],
  ['tool_choice.type', 'custom_tools', /^(?!custom$)/, '`custom`'],
  ['tool_choice.type', 'allowed_tools', /^(?!allowed_tools$)/, '`allowed_tools`'],
  ['parallel_tool_calls', 'parallel_calls', [true]],
  ['response_format', 'format'],
  ['response_format.json_schema.strict', 'strict_format'],
  ['reasoning_effort', 'effort'],
  ['thinking', 'budget'],
  ['include_reasoning', 'returns_thinking'],
  ['verbosity', 'verbosity'],
  ['user', 'user'],
  ['safety_identifier', 'user', undefined, 'if `user` is absent'],
  ['prompt_cache_key', 'cache_key'],
  ['prompt_cache_options', 'cache_key'],
  ['prompt_cache_retention', 'cache_key'],
  ['service_tier', 'service_tier', ['auto', 'default', 'standard', 'flex']],
)

const HINT = 'a sampling hint; the request means the same without it'

const translated = bridgedFields(
  'translated',
  ['messages[].content', 'texts and parts; consecutive messages of one role are merged'],
  ['stream_options', 'the chunk with the usage, if requested'],
)

const ignored = bridgedFields(
  'ignored',
  ['repetition_penalty', HINT],
  ['min_p', HINT],
  ['prediction', 'it only speeds up the answer'],
  ['store', 'nothing is stored at the vendor'],
  ['metadata', 'labels of stored answers'],
  ['usage', 'usage is always returned'],
)

const refused = bridgedFields(
  'refused',
  ['logit_bias', 'its token ids belong to another vocabulary', ['{}']],
  ['modalities[]', 'this model answers in text', ['text']],
  ['audio', 'this model answers in text'],
  ['functions', "tools belong in 'tools'", ['[]']],
  ['function_call', "tools are chosen with 'tool_choice'", ['auto', 'none']],
  ['web_search_options', 'this model does not search'],
  ['search_parameters', 'this model does not search', ['{"mode":"off"}']],
  ['enable_search', 'this model does not search', [false]],
  ['moderation', 'moderation of this model cannot be configured'],
  ['plugins', 'this model has no plugins', ['[]']],
  ['models', 'it names other models; name one, or ask for a configured route'],
  ['fallbacks', 'it names other models; name one, or ask for a configured route'],
  ['reasoning', "use 'reasoning_effort' or 'thinking' to set how long to think"],
  ['enable_thinking', "use 'reasoning_effort' or 'thinking' to set how long to think", [false]],
  ['thinking_budget', "use 'reasoning_effort' or 'thinking' to set how long to think"],
  ['chat_template_kwargs', 'this model has no chat template'],
  ['tools[].type', 'this model calls only tools of the caller', ['function', 'custom']],
  ['tool_choice.type', 'tools must be chosen by name', ['function', 'custom', 'allowed_tools']],
  [
    'response_format.type',
    'supported formats are text, JSON and JSON schemas',
    ['text', 'json_object', 'json_schema'],
  ],
  ['messages[].function_call', "calls belong in 'tool_calls'"],
  ['messages[].audio', 'this model cannot read earlier spoken answers'],
  [
    'messages[].content[].type',
    'this model takes text, image_url and file parts',
    ['text', 'refusal', 'image_url', 'file', 'input_audio'],
  ],
)

export const chatDialectFields: readonly DialectField[] = [...meant, ...translated, ...ignored, ...refused]

const files = fileIds('messages[].content[].file.file_id')

const publicParts = addresses('messages[].content[].image_url.url', 'messages[].content[].file.file_data')

const sound: readonly FieldRule[] = [
  {
    field: 'messages[].content[].input_audio',
    why: 'audio has its own price',
    price: 'input_audio_token',
  },
  ...soundFiles('messages[].content[].file.file_data', 'messages[].content[].image_url.url'),
]

/** Marks that make vendors of messages keep a cache longer. */
const longMarks = [
  longCache('messages[].content[].cache_control.ttl', 'cache_write_1h_token'),
  longCache('tools[].cache_control.ttl', 'cache_write_1h_token'),
]

/** The responses API has a cache that costs more the longer it is kept. */
const longCaches: readonly FieldRule[] = [
  {
    field: 'prompt_cache_options.ttl',
    plain: ['30m'],
    why: 'longer caching costs more',
    always: true,
  },
]

/** Rules for translated fields that cost more, or refer to property of others. Converse never gets an address. */
export function chatRulesOn({ name, can }: Pick<Protocol, 'name' | 'can'>): readonly FieldRule[] {
  return [
    ...('as' in can.service_tier ? [serviceTier] : []),
    ...(name === 'responses' ? longCaches : []),
    ...files,
    ...(name === 'converse' ? [] : publicParts),
    ...('as' in can.audio ? sound : []),
    ...('as' in can.cache_mark ? longMarks : []),
  ]
}
