// The table of each responses field, for models that speak another protocol. The documentation and the check of requests are made from
// it. A top-level field that it does not name is left out, because clients add their own notes; an item, a part or a tool that it
// does not name is refused. Data only.

import { type BridgedField, bridgedFields, type FieldRule } from '../../../contract/family'
import { OFFERED_TYPES } from '../../client-defaults'
import type { Protocol } from '../../conversation/bridge'
import { type DialectField, meanings } from '../../conversation/concepts'
import { soundParts } from '../../media-parts'
import { addresses, filesInText } from '../../vendor-state'
import { FOREIGN_ITEMS } from './turns'

/** Parts of messages and of outputs of tools. */
const partPlaces = ['input[].content[]', 'input[].output[]'] as const

const meant = meanings(
  ['model', 'model'],
  ['stream', 'stream'],
  ['instructions', 'instructions', undefined, 'together with leading `system` and `developer` messages'],
  ['input[].role', 'later_instructions', undefined, '`system` and `developer` after the first messages'],
  ['input[].content[] input_text', 'text'],
  ['input[].content[] output_text', 'text'],
  ['input[].content[] refusal', 'text'],
  ['input[].content[] input_image', 'image'],
  ['input[].content[].detail', 'image_detail'],
  ['input[].content[] input_file', 'document', undefined, '`file_id` is refused; other forms'],
  ['input[].content[].file_url', 'document_address'],
  ['input[].output[].file_url', 'document_address'],
  ['input[].content[].type', 'audio', /^(?!input_audio$)/, '`input_audio`'],
  ['input[] function_call', 'call', undefined, 'its output must be in the input'],
  ['input[].output', 'result'],
  ['input[] reasoning', 'sealed_reasoning'],
  ['max_output_tokens', 'limit'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_logprobs', 'logprobs', [0]],
  ['tools', 'functions'],
  ['tools[].strict', 'strict_functions', undefined, 'if true'],
  ['tool_choice', 'choice'],
  ['tool_choice.tools', 'allowed_tools'],
  ['text.format', 'format'],
  ['text.format.strict', 'strict_format'],
  ['text.verbosity', 'default_verbosity'],
  ['reasoning.effort', 'effort'],
  ['reasoning.summary', 'shows_thinking'],
  ['prompt_cache_key', 'cached_by_key'],
  ['safety_identifier', 'user', undefined, 'a hash of it'],
  ['user', 'user', undefined, 'a hash of it, if `safety_identifier` is absent'],
)

/** Clients send these with every request. */
const clientDefaults: readonly DialectField[] = [
  ...meanings(
    ['parallel_tool_calls', 'parallel_calls'],
    ['service_tier', 'service_tier'],
    ['include', 'logprobs', undefined, '`message.output_text.logprobs`; the rest is left out'],
  ),
].map((row) => ({ ...row, isClientDefault: true }))

const translated = bridgedFields(
  'translated',
  ['input', 'the messages; a plain text is a user message'],
  ['input[] message', 'a message, also without `type`; consecutive messages of one role are merged'],
  ['input[] function_call_output', 'the result of the call with its `call_id`'],
  ['input[] custom_tool_call', 'a function call with one text argument'],
  ['input[] custom_tool_call_output', 'the result of the call with its `call_id`'],
  ['input[] tool_search_call', 'a call'],
  ['input[] tool_search_output', 'the names of the found tools, which are sent from then on'],
  ['input[] local_shell_call', 'a call'],
  ['input[] local_shell_call_output', 'the result of the call with its `call_id`, or its `id`'],
  ['input[] shell_call', 'a call'],
  ['input[] shell_call_output', 'the result of the call with its `call_id`, as JSON'],
  ['input[] apply_patch_call', 'a call'],
  ['input[] apply_patch_call_output', 'the result of the call with its `call_id`'],
  ['input[] additional_tools', '`tools`'],
  ['input[] configuration_update', 'the settings in it, for the whole request; the last one counts'],
  ['input[] item_reference', 'the item, which is stored here'],
  ['input[] compaction_trigger', 'a request for a summary, which is the answer; it must be the last item'],
  ['previous_response_id', 'the conversation up to that response, which is stored here'],
  ['conversation', 'its stored items, placed before the input'],
  ['background', 'a stream, which the gateway reads to its end; the answer is stored'],
  ['tools[] function', 'a function; `strict` only if true'],
  ['tools[] custom', 'a function with one text argument; its grammar is added to the description'],
  ['tools[] namespace', 'its tools as functions prefixed with its name: `<namespace>__<name>`'],
  ['tools[] tool_search', 'a function, if the caller searches; all tools are sent anyway'],
  ['tools[] local_shell', 'a function'],
  ['tools[] shell', 'a function'],
  ['tools[] apply_patch', 'a function'],
)

const OFFERED_SEARCH = 'a search that some clients offer with every request; refused if forced'
const ONLY_CACHING = 'it only affects caching; the answer is the same'

const ignored = bridgedFields(
  'ignored',
  ...FOREIGN_ITEMS.map((type): [string, string] => [
    `input[] ${type}`,
    'it belongs to a tool that another vendor ran',
  ]),
  ['input[] compaction', 'only the vendor that made it can read it; one made here is read first'],
  ['input[].phase', 'it only affects how another vendor shows a message'],
  ['input[].content[].prompt_cache_breakpoint', 'it only affects caching; the answer is the same'],
  ['tools[] web_search', OFFERED_SEARCH],
  ['tools[] web_search_preview', OFFERED_SEARCH],
  ['tools[] image_generation', 'a tool that some clients offer with every request; refused if forced'],
  ['tools[].allowed_callers', 'this model cannot run code that calls tools'],
  ['tools[].async', 'calls are answered in the next request'],
  ['tools[].defer_loading', 'all tools are sent at once'],
  ['tools[].output_schema', 'output of tools is read as it is'],
  ['store', 'nothing is stored at the vendor'],
  ['stream_options', 'events have no padding'],
  ['max_tool_calls', 'it limits only tools that a vendor runs'],
  ['truncation', 'the vendor refuses input that is too long'],
  ['metadata', 'returned with the response'],
  ['reasoning.context', 'a setting for the vendor of another model'],
  ['reasoning.mode', 'a setting for the vendor of another model'],
  ['prompt_cache_options', ONLY_CACHING],
  ['prompt_cache_retention', ONLY_CACHING],
  ['context_management', 'the vendor of another model makes summaries; this conversation stays whole'],
  ['moderation', 'a setting for the vendor of another model'],
  ['access_programs', 'a program of another vendor'],
  ['image', 'settings of a tool that another vendor runs'],
  ['client_metadata', 'notes of a client'],
)

const CALLED_TOOLS = /^(function|custom|namespace|tool_search|local_shell|shell|apply_patch)$/
const SERVED_TOOLS = new RegExp(`${CALLED_TOOLS.source}|${OFFERED_TYPES.source}`)
const RUN_ELSEWHERE = 'this model calls only tools of the caller and runs none itself'
const IN_NAMESPACE = ['function', 'custom']

const refused: readonly BridgedField[] = bridgedFields(
  'refused',
  ['prompt', "it names a template in another account; send its text as 'instructions' and 'input'"],
  ['tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['tools[].tools[].type', 'a namespace may contain only functions and custom tools', IN_NAMESPACE],
  ['tools[].environment.type', 'commands run only on the machine of the caller', ['local']],
  ['input[].tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['input[].tools[].tools[].type', 'a namespace may contain only functions and custom tools', IN_NAMESPACE],
  ['tool_choice.type', RUN_ELSEWHERE, new RegExp(`^allowed_tools$|^web_search|${CALLED_TOOLS.source}`)],
  ...partPlaces.map((place): [string, string] => [
    `${place}.file_id`,
    'this model does not accept file ids; send the content as a data URL or a public URL',
  ]),
).map((row) => ({ ...row, code: 'unsupported_parameter' }))

export const responsesDialectFields: readonly DialectField[] = [
  ...refused,
  ...meant,
  ...clientDefaults,
  ...translated,
  ...ignored,
]

/** Rules for members of parts that may hold an address from which a vendor reads a picture or a file. */
function publicParts(...members: readonly string[]): FieldRule[] {
  return addresses(...partPlaces.flatMap((place) => members.map((member) => `${place}.${member}`)))
}

const sound = partPlaces.flatMap((part) =>
  soundParts(`${part}.type`, `${part}.file_data`, `${part}.image_url`),
)

/** Texts in which vendors of chat completions read files that they store. */
const texts = filesInText(
  'instructions',
  'input',
  'input[].content',
  'input[].content[].text',
  'input[].output',
  'input[].output[].text',
)

/** Rules for translated fields that refer to property of others. Converse never gets an address. */
export function responsesRulesOn({ name, can }: Pick<Protocol, 'name' | 'can'>): readonly FieldRule[] {
  if (name === 'converse') return []
  const hasAddress = 'as' in can.document_address
  return [
    ...publicParts('image_url', ...(hasAddress ? ['file_url'] : []), 'file_data'),
    ...('as' in can.audio ? sound : []),
    ...(name === 'chat' ? texts : []),
  ]
}
