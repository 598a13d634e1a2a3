// The fields of a chat completion that the schema does not name: those that vendors bill separately, and others that they accept.
// Data only: the families must decide what is done with a field.

import type { FieldRule } from '../../contract/family'
import { soundParts } from '../media-parts'
import {
  ANOTHER_MODEL,
  dearerModes,
  laterAnswers,
  localServerFields,
  longCache,
  otherModels,
  serviceTier,
  speed,
} from '../surcharges'
import {
  addresses,
  clonedVoices,
  documentStores,
  earlierAnswers,
  fileIds,
  filesInText,
  namedCaches,
  VOICE_OF_ALL,
} from '../vendor-state'

/** The rule for searches: answers of this API do not say how many searches and tool calls there were. */
const SEARCHES = {
  why: 'web searches are billed each, and answers of this API do not count them',
  instead: 'Leave it out, and give the model your own function for searching.',
}
const RUN_BY_VENDOR = {
  why: 'tools that the vendor runs are billed per use, and answers of this API do not count uses',
  instead: 'Leave it out, and give the model your own function for this.',
}
/** Models with which the fields of spoken output have no effect. */
const isSilent: FieldRule['unless'] = ({ traits }) => !traits.speech

const toolTypes: readonly FieldRule[] = [
  { field: 'tools[].type', plain: /^(?!.*live_search)/, why: 'searches are billed per source' },
  { field: 'tools[].type', plain: /^(?!.*(web|google)_search)/, ...SEARCHES },
  { field: 'tools[].type', plain: /^(function|custom|.*(web|google|live)_search.*)$/, ...RUN_BY_VENDOR },
  ...['google_search', 'googleSearch', 'google_search_retrieval', 'web_search', 'google_maps'].map(
    (name): FieldRule => ({ field: `tools[].${name}`, ...SEARCHES }),
  ),
  {
    field: 'tools[].model',
    why: ANOTHER_MODEL,
    always: true,
  },
]

const media: readonly FieldRule[] = [
  ...soundParts(
    'messages[].content[].type',
    'messages[].content[].file.file_data',
    'messages[].content[].image_url.url',
  ),
  { field: 'messages[].audio', why: 'audio has its own price', price: 'input_audio_token' },
  {
    field: 'modalities[]',
    plain: ['text', 'image'],
    why: 'spoken output has its own price',
    price: 'output_audio_token',
    unless: isSilent,
  },
  {
    field: 'modalities[]',
    plain: ['text', 'audio'],
    why: 'this kind of output is not billed in text tokens',
    unless: isSilent,
  },
  {
    field: 'audio',
    why: 'spoken output has its own price',
    price: 'output_audio_token',
    unless: isSilent,
  },
]

/** Fields that name data in a vendor's account. Several vendors accept the contents of another's `extra_body` as they are. */
const state: readonly FieldRule[] = [
  ...fileIds(
    'messages[].content[].file.file_id',
    'messages[].content[].file_id',
    'messages[].content[].file_ids',
    'messages[].content[].image_file.file_id',
    'messages[].content[].image_url.file_id',
    'messages[].file_ids',
    'messages[].attachments[].file_id',
    'file_ids',
  ),
  ...addresses(
    ...['image_url', 'video_url', 'audio_url', 'file_url', 'document_url'].flatMap((kind) => [
      `messages[].content[].${kind}`,
      `messages[].content[].${kind}.url`,
    ]),
    'messages[].content[].input_audio.data',
    'messages[].content[].file.file_data',
    'messages[].content[].image',
    'messages[].content[].video',
    'messages[].content[].video[]',
  ),
  ...filesInText('messages[].content', 'messages[].content[].text'),
  {
    field: 'messages[].audio.id',
    why: "it names an earlier answer in the vendor's account",
    instead: "Leave 'audio' out, and send its transcript as 'content'.",
    state: true,
  },
  { ...clonedVoices('audio.voice.id'), unless: isSilent },
  { ...clonedVoices('audio.voice', VOICE_OF_ALL), unless: isSilent },
  ...earlierAnswers(
    'previous_response_id',
    'previous_interaction_id',
    'conversation',
    'conversation_id',
    'thread_id',
    'context_id',
  ),
  ...namedCaches(
    ...['', 'google.', 'extra_body.google.', 'extra_body.'].flatMap((place) => [
      `${place}cached_content`,
      `${place}cachedContent`,
    ]),
  ),
  ...documentStores(
    'vector_store_ids',
    'tools[].vector_store_ids',
    'tools[].collection_ids',
    'tools[].file_search_store_names',
    'tools[].file_search',
    'tools[].retrieval',
    'tools[].container',
    'tools[].knowledge_base',
  ),
]

/** Searches and tools of the vendor that a separate field of the request switches on. */
export const SEARCHES_AND_TOOLS: readonly FieldRule[] = [
  { field: 'web_search_options', ...SEARCHES },
  {
    field: 'search_parameters',
    plain: ['{"mode":"off"}'],
    why: 'searches are billed per source',
    price: 'search_source',
  },
  { field: 'enable_search', plain: [false], ...SEARCHES },
  { field: 'search_options', ...SEARCHES },
  { field: 'enable_code_interpreter', plain: [false], ...RUN_BY_VENDOR },
  { field: 'plugins', ...RUN_BY_VENDOR, why: 'plugins of the vendor are billed per use' },
]

/**
 * The rules for fields. Predicted output (`prediction`) is left out: its wrong parts count as output, and are held with
 * it.
 */
export const chatFieldRules: readonly FieldRule[] = [
  serviceTier,
  speed,
  ...dearerModes,
  ...otherModels,
  ...laterAnswers,
  ...toolTypes,
  ...media,
  ...state,
  ...SEARCHES_AND_TOOLS,
  ...localServerFields([]),
  {
    field: 'moderation',
    why: ANOTHER_MODEL,
    always: true,
  },
  {
    field: 'prompt_cache_options.ttl',
    plain: ['30m'],
    why: 'longer caching costs more',
  },
  longCache('cache_control.ttl'),
  longCache('tools[].cache_control.ttl'),
  longCache('messages[].cache_control.ttl'),
  longCache('messages[].content[].cache_control.ttl'),
]

/**
 * Fields of this API and its vendors that the schema does not name. Names below `parameters` and `schema` are the
 * caller's own.
 */
export const chatFields: readonly string[] = [
  'chat_template_kwargs',
  'enable_thinking',
  'function_call',
  'functions',
  'min_p',
  'prompt_cache_options',
  'reasoning',
  'repetition_penalty',
  'safety_identifier',
  'thinking',
  'thinking_budget',
  'top_k',
  'messages[].content[].image_url.detail',
  'messages[].content[].image_url.url',
  'messages[].content[].input_audio.data',
  'messages[].content[].text',
  'messages[].extra_content',
  'messages[].reasoning_content',
  'messages[].reasoning_details',
  'messages[].tool_calls[].extra_content',
  'messages[].tool_calls[].function.arguments',
  'messages[].tool_calls[].function.name',
  'messages[].tool_calls[].id',
  'messages[].tool_calls[].type',
  'prediction.content',
  'response_format.json_schema.schema',
  'response_format.type',
  'tools[].function.description',
  'tools[].function.name',
  'tools[].function.parameters',
]
