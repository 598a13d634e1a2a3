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
  ['instructions', 'instructions', undefined, 'with the first messages of the system and the developer'],
  ['input[].role', 'later_instructions', undefined, '`system` and `developer` after the first messages'],
  ['input[].content[] input_text', 'text'],
  ['input[].content[] output_text', 'text'],
  ['input[].content[] refusal', 'text'],
  ['input[].content[] input_image', 'image'],
  ['input[].content[].detail', 'image_detail'],
  ['input[].content[] input_file', 'document', undefined, 'by `file_id` it is refused'],
  ['input[].content[].file_url', 'document_address'],
  ['input[].output[].file_url', 'document_address'],
  ['input[].content[].type', 'audio', /^(?!input_audio$)/, '`input_audio`'],
  ['input[] function_call', 'call', undefined, 'it needs its output in the input'],
  ['input[].output', 'result'],
  ['input[] reasoning', 'sealed_reasoning'],
  ['max_output_tokens', 'limit'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_logprobs', 'logprobs', [0]],
  ['tools', 'functions'],
  ['tools[].strict', 'strict_functions', undefined, 'if it is true'],
  ['tool_choice', 'choice'],
  ['tool_choice.tools', 'allowed_tools'],
  ['text.format', 'format'],
  ['text.format.strict', 'strict_format'],
  ['text.verbosity', 'default_verbosity'],
  ['reasoning.effort', 'effort'],
  ['reasoning.summary', 'shows_thinking'],
  ['prompt_cache_key', 'cached_by_key'],
  ['safety_identifier', 'user', undefined, 'a hash of it'],
  ['user', 'user', undefined, 'a hash of it, where there is no `safety_identifier`'],
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
  ['input', 'the messages; a text is one of the user'],
  ['input[] message', 'a message, also without `type`; messages of one side in a row are one'],
  ['input[] function_call_output', 'the result of the call with its `call_id`'],
  ['input[] custom_tool_call', 'a call of a function with one text'],
  ['input[] custom_tool_call_output', 'the result of the call with its `call_id`'],
  ['input[] tool_search_call', 'a call'],
  ['input[] tool_search_output', 'the names of the tools that were found, which are sent from then on'],
  ['input[] local_shell_call', 'a call'],
  ['input[] local_shell_call_output', 'the result of the call with its `call_id`, or its `id`'],
  ['input[] shell_call', 'a call'],
  ['input[] shell_call_output', 'the result of the call with its `call_id`, as JSON'],
  ['input[] apply_patch_call', 'a call'],
  ['input[] apply_patch_call_output', 'the result of the call with its `call_id`'],
  ['input[] additional_tools', '`tools`'],
  ['input[] configuration_update', 'the settings in it, for the whole request; the last one counts'],
  ['input[] item_reference', 'the item that is kept here'],
  ['input[] compaction_trigger', 'a request for a summary, which is the answer; it must be the last item'],
  ['previous_response_id', 'the conversation up to that response, which is kept here'],
  ['conversation', 'its items, which are kept here, before the input'],
  ['background', 'a stream, which is followed here; the answer is kept'],
  ['tools[] function', 'a function; `strict` only if it is true'],
  ['tools[] custom', 'a function with one text; its grammar is in the description'],
  ['tools[] namespace', 'its tools as functions with its name in front: `<namespace>__<name>`'],
  ['tools[] tool_search', 'a function, if the caller searches; all tools are sent anyway'],
  ['tools[] local_shell', 'a function'],
  ['tools[] shell', 'a function'],
  ['tools[] apply_patch', 'a function'],
)

const OFFERED_SEARCH = 'a search that some clients offer with every request; forced, it is refused'
const WHERE_CACHED = 'where a cache is looked for; the answer is the same'

const ignored = bridgedFields(
  'ignored',
  ...FOREIGN_ITEMS.map((type): [string, string] => [`input[] ${type}`, 'of a tool that another vendor ran']),
  ['input[] compaction', 'only the vendor that made it can read it; one that was made here is read before'],
  ['input[].phase', 'a mark of how the vendor of another model shows a message'],
  ['input[].content[].prompt_cache_breakpoint', 'where a cache is written; the answer is the same'],
  ['tools[] web_search', OFFERED_SEARCH],
  ['tools[] web_search_preview', OFFERED_SEARCH],
  ['tools[] image_generation', 'a tool that some clients offer with every request; forced, it is refused'],
  ['tools[].allowed_callers', 'no code runs behind this model that could call tools'],
  ['tools[].async', 'calls are answered in the next request'],
  ['tools[].defer_loading', 'all tools are sent at once'],
  ['tools[].output_schema', 'what a tool answers is read as it comes'],
  ['store', 'nothing is kept at the vendor'],
  ['stream_options', 'events have no padding'],
  ['max_tool_calls', 'it bounds tools that a vendor runs'],
  ['truncation', 'what is too long is refused by the vendor'],
  ['metadata', 'given back with the response'],
  ['reasoning.context', 'a setting for the vendor of another model'],
  ['reasoning.mode', 'a setting for the vendor of another model'],
  ['prompt_cache_options', WHERE_CACHED],
  ['prompt_cache_retention', WHERE_CACHED],
  ['context_management', 'the vendor of another model makes summaries; this conversation stays whole'],
  ['moderation', 'a setting for the vendor of another model'],
  ['access_programs', 'a program of the vendor of another model'],
  ['image', 'settings of a tool that another vendor runs'],
  ['client_metadata', 'notes of a client'],
)

const CALLED_TOOLS = /^(function|custom|namespace|tool_search|local_shell|shell|apply_patch)$/
const SERVED_TOOLS = new RegExp(`${CALLED_TOOLS.source}|${OFFERED_TYPES.source}`)
const RUN_ELSEWHERE = 'this model calls tools of the caller, and runs none itself'
const IN_NAMESPACE = ['function', 'custom']

const refused: readonly BridgedField[] = bridgedFields(
  'refused',
  ['prompt', "it names a template in another account; send its text as 'instructions' and 'input'"],
  ['tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['tools[].tools[].type', 'a namespace has functions and custom tools', IN_NAMESPACE],
  ['tools[].environment.type', 'commands run on the machine of the caller', ['local']],
  ['input[].tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['input[].tools[].tools[].type', 'a namespace has functions and custom tools', IN_NAMESPACE],
  ['tool_choice.type', RUN_ELSEWHERE, new RegExp(`^allowed_tools$|^web_search|${CALLED_TOOLS.source}`)],
  ...partPlaces.map((place): [string, string] => [
    `${place}.file_id`,
    'this model knows no files by their ids; send the content as a data URL or by a public address',
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
