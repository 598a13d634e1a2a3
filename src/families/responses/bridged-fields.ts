// Rows of the tables of both bridges of responses that are the same for chat and for messages: what of a request means
// nothing behind a bridge, and what is refused there. Data only.

import { type BridgedField, bridgedFields, type FieldRule } from '../../contract/family'
import { OFFERED_TYPES } from '../unasked'
import { addresses } from '../vendor-state'
import { FOREIGN_ITEMS } from './turns'

/** Parts of messages and of outputs of tools. */
const partPlaces = ['input[].content[]', 'input[].output[]'] as const

const OFFERED_SEARCH = 'a search that some clients offer with every request; forced, it is refused'
const WHERE_CACHED = 'where a cache is looked for; the answer is the same'
const FOREIGN_WISH = 'a wish to the vendor of another model'

export const translatedOnBoth = bridgedFields(
  'translated',
  ['model', "the vendor's name of the model"],
  ['input', 'the messages; a text is one of the user'],
  ['input[] message', 'a message, also without `type`; messages of one side in a row are one'],
  ['input[].content[] input_text', 'text'],
  ['input[].content[] output_text', 'text'],
  ['input[].content[] refusal', 'text'],
  ['input[] function_call', 'a call; it needs its output in the input'],
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
  ['stream', '`stream`'],
  ['background', 'a stream, which is followed here; the answer is kept'],
  ['tools', 'functions of the caller'],
  ['tools[] function', 'a function; `strict` only if it is true'],
  ['tools[] custom', 'a function with one text; the description includes its grammar'],
  ['tools[] namespace', 'its tools as functions with its name in front: `<namespace>__<name>`'],
  ['tools[] tool_search', 'a function, if the caller searches; all tools are sent anyway'],
  ['tools[] local_shell', 'a function'],
  ['tools[] shell', 'a function'],
  ['tools[] apply_patch', 'a function'],
  ['text.format', 'the format of the answer'],
)

export const ignoredOnBoth = bridgedFields(
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
  ['reasoning.context', FOREIGN_WISH],
  ['reasoning.mode', FOREIGN_WISH],
  ['prompt_cache_options', WHERE_CACHED],
  ['prompt_cache_retention', WHERE_CACHED],
  ['context_management', 'the vendor of another model makes summaries; this conversation stays whole'],
  ['moderation', FOREIGN_WISH],
  ['access_programs', 'a program of the vendor of another model'],
  ['image', 'settings of a tool that another vendor runs'],
  ['client_metadata', 'notes of a client'],
)

const CALLED_TOOLS = /^(function|custom|namespace|tool_search|local_shell|shell|apply_patch)$/
const SERVED_TOOLS = new RegExp(`${CALLED_TOOLS.source}|${OFFERED_TYPES.source}`)
const RUN_ELSEWHERE = 'this model calls tools of the caller, and runs none itself'

export const refusedOnBoth: readonly BridgedField[] = bridgedFields(
  'refused',
  ['prompt', "it names a template in another account; send its text as 'instructions' and 'input'"],
  ['tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['tools[].tools[].type', 'a namespace has functions and custom tools', ['function', 'custom']],
  ['tools[].environment.type', 'commands run on the machine of the caller', ['local']],
  ['input[].tools[].type', RUN_ELSEWHERE, SERVED_TOOLS],
  ['input[].tools[].tools[].type', 'a namespace has functions and custom tools', ['function', 'custom']],
  ['tool_choice.type', RUN_ELSEWHERE, new RegExp(`^allowed_tools$|^web_search|${CALLED_TOOLS.source}`)],
  ...partPlaces.map((place): [string, string] => [
    `${place}.file_id`,
    'this model knows no files by their ids; send the content as a data URL or by a public address',
  ]),
).map((row) => ({ ...row, code: 'unsupported_parameter' }))

/** Rules for fields of parts that may have an address at which a vendor reads a picture or a file. */
export function partAddresses(...fields: readonly string[]): FieldRule[] {
  return addresses(...partPlaces.flatMap((place) => fields.map((field) => `${place}.${field}`)))
}
