// The fields of a message that the schema does not name: those that vendors bill separately, and others that they know.
// Data only: the families must decide what is done with a field.

import type { FieldRule } from '../../contract/family'
import {
  ANOTHER_MODEL,
  dearerModes,
  laterAnswers,
  longCache,
  otherModels,
  serviceTier,
  speed,
} from '../surcharges'
import { addresses, earlierAnswers, fileIds } from '../vendor-state'

/**
 * The error details for clients that keep a conversation at the vendor: on this code they continue by sending the whole
 * conversation. A vendor's account holds the conversations of all callers, so none is continued through it.
 */
export const THREAD_DETAILS = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }

const LONG_CACHE = 'cache_write_1h_token'

/** Places of tools: the list, and a conversation that adds one. */
const toolPlaces = ['tools[]', 'messages[].content[].tool.definition'] as const

/** Tools that the caller runs, or that cost only the tokens of their results. */
const PLAIN_TOOLS =
  /^(custom|bash_\d+|text_editor_\d+|computer_\d+|computer_toolset_\d+|browser_toolset_\d+|memory_\d+|tool_search_tool_\w+|web_fetch_\d+|mcp_toolset)$/

const tools: readonly FieldRule[] = toolPlaces.flatMap((place): FieldRule[] => [
  {
    field: `${place}.type`,
    plain: /^(?!web_search)/,
    why: 'each web search is billed',
    price: 'web_search',
  },
  {
    field: `${place}.type`,
    plain: new RegExp(`${PLAIN_TOOLS.source}|^web_search`),
    why: 'tools that the vendor runs are billed per use, and answers do not count uses',
    instead: 'Leave it out, and give the model a tool of yours that does it.',
  },
  {
    field: `${place}.model`,
    why: ANOTHER_MODEL,
    always: true,
  },
])

/** Places of blocks: in a message, in the result of a tool, and in what a tool has fetched. */
const blockPlaces = [
  'messages[].content[]',
  'messages[].content[].content[]',
  'messages[].content[].content.content',
] as const

/** Places of the sources of pictures and documents, including those inside documents. */
const sources = blockPlaces.flatMap((place) => [`${place}.source`, `${place}.source.content[].source`])

/** Addresses at which the vendor reads a picture or a document. */
export const messagesAddresses = addresses(...sources.map((source) => `${source}.url`))

const state: readonly FieldRule[] = [
  ...fileIds(
    ...sources.map((source) => `${source}.file_id`),
    'messages[].content[].file_id',
    'messages[].content[].content[].file_id',
    'messages[].content[].content.content[].file_id',
  ),
  ...messagesAddresses,
  ...addresses('mcp_servers[].url'),
  {
    field: 'container',
    why: "a container in the vendor's account holds files of other requests",
    instead: 'Leave it out, and send the files with the request.',
    state: true,
  },
  {
    field: 'diagnostics.previous_message_id',
    why: "it names an earlier answer in the vendor's account",
    instead: 'Leave it out, or send null.',
    state: true,
  },
  ...earlierAnswers('previous_response_id', 'conversation'),
]

export const messagesFieldRules: readonly FieldRule[] = [
  serviceTier,
  { ...speed, price: 'service_tier' },
  ...dearerModes,
  ...otherModels,
  ...laterAnswers,
  ...tools,
  ...state,
  {
    field: 'thread',
    why: 'conversations are not stored here',
    instead: 'Leave it out, and send the whole conversation with each request.',
    details: THREAD_DETAILS,
    always: true,
  },
  {
    field: 'container',
    why: 'containers are billed per hour and outlive the request',
  },
  {
    field: 'compaction',
    why: 'a summary is a separate request, which is missing from the usage',
    instead: 'Leave it out, and request a summary in a message.',
  },
  {
    field: 'context_management.edits[].type',
    plain: /^clear_/,
    why: 'a summary is a separate request, which is missing from the usage',
    instead: 'Leave that edit out.',
  },
  {
    field: 'billing_policy.bill_to',
    plain: ['self'],
    why: 'it chooses who pays the vendor',
    instead: 'Leave it out.',
    always: true,
  },
  {
    field: 'anthropic-beta',
    in: 'header',
    plain: /^(?!.*context-1m)/,
    why: 'prompts of more than 200,000 tokens have their own prices',
    instead: "Remove 'context-1m' from the header, or choose another model.",
    unless: ({ contextTokens = 0, priceList }) =>
      contextTokens > 200_000 || priceList.tables.some(({ above }) => above > 0),
  },
  longCache('cache_control.ttl', LONG_CACHE),
  longCache('system[].cache_control.ttl', LONG_CACHE),
  longCache('tools[].cache_control.ttl', LONG_CACHE),
  longCache('messages[].content[].cache_control.ttl', LONG_CACHE),
  longCache('messages[].content[].content[].cache_control.ttl', LONG_CACHE),
  longCache('messages[].content[].source.content[].cache_control.ttl', LONG_CACHE),
  longCache('messages[].content[].content[].source.content[].cache_control.ttl', LONG_CACHE),
  longCache('messages[].content[].tool.definition.cache_control.ttl', LONG_CACHE),
]

/** Fields of this API that the schema does not name. Names below `input` and `input_schema` are the caller's own. */
export const messagesFields: readonly string[] = [
  'context_management',
  'diagnostics',
  'fallback_credit_token',
  'mcp_servers',
  'output_config',
  'output_format',
  'messages[].content[].content[].source.data',
  'messages[].content[].content[].text',
  'messages[].content[].content[].type',
  'messages[].content[].input',
  'messages[].content[].source.data',
  'messages[].content[].source.media_type',
  'messages[].content[].source.type',
  'messages[].content[].source.url',
  'messages[].content[].text',
  'messages[].content[].tool_use_id',
  'system[].text',
  'thinking.budget_tokens',
  'tools[].description',
  'tools[].input_schema',
  'tools[].name',
  'tools[].type',
]
