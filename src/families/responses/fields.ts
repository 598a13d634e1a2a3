// The fields of a response that the schema does not name: those that vendors bill separately, those that refer to data kept by a
// vendor, and others that they accept. Data only: the families must decide what is done with a field.

import type { FieldRule } from '../../contract/family'
import { OFFERED_TYPES } from '../client-defaults'
import {
  ANOTHER_MODEL,
  dearerModes,
  laterAnswers,
  longCache,
  otherModels,
  serviceTier,
  speed,
} from '../surcharges'
import { addresses, documentStores, earlierAnswers, fileIds } from '../vendor-state'

/** Places of tools: the list, a namespace in it, and the same in an item that adds tools. */
const toolPlaces = ['tools[]', 'tools[].tools[]', 'input[].tools[]', 'input[].tools[].tools[]'] as const

/** Tools that the caller runs, or that cost only the tokens of their results. */
const PLAIN_TOOLS = /^(function|custom|namespace|tool_search|local_shell|shell|apply_patch|mcp|computer\w*)$/

const tools: readonly FieldRule[] = toolPlaces.flatMap((place): FieldRule[] => [
  {
    field: `${place}.type`,
    plain: new RegExp(`${PLAIN_TOOLS.source}|${OFFERED_TYPES.source}`),
    why: 'tools that the vendor runs are billed per use, and answers do not count uses',
    instead: 'Leave it out, and give the model your own function for this.',
  },
  {
    field: `${place}.environment.type`,
    plain: ['local'],
    why: 'containers are billed per session and outlive the request',
    instead: 'Leave it out, and run the commands yourself.',
  },
  { field: `${place}.model`, why: ANOTHER_MODEL, always: true },
])

/**
 * A tool of the vendor that is only offered is omitted if it has no price: some clients offer one with every request. A required
 * one is refused.
 */
const demandedTools: readonly FieldRule[] = [
  {
    field: 'tool_choice.type',
    plain: /^(?!web_search)/,
    why: 'each web search is billed',
    price: 'web_search',
  },
  {
    field: 'tool_choice.type',
    plain: /^(?!image_generation)/,
    why: 'each picture is billed',
    instead: 'Leave it out, and make pictures with POST /v1/images/generations.',
  },
]

/** Places of pictures and files: in a message, and in the output of a tool. */
const parts = ['input[].content[]', 'input[].output[]'] as const

const state: readonly FieldRule[] = [
  ...fileIds(...parts.map((part) => `${part}.file_id`), 'input[].output.file_id'),
  ...addresses(
    ...parts.flatMap((part) => [`${part}.image_url`, `${part}.file_url`, `${part}.file_data`]),
    'input[].output.image_url',
    ...toolPlaces.map((place) => `${place}.server_url`),
  ),
  ...documentStores(
    ...toolPlaces.flatMap((place) => [
      `${place}.vector_store_ids`,
      `${place}.container`,
      `${place}.environment.container_id`,
      `${place}.environment.skills[].skill_id`,
    ]),
  ),
  ...toolPlaces.map(
    (place): FieldRule => ({
      field: `${place}.tunnel_id`,
      why: "it names a tunnel of the vendor's account into a private network",
      instead: "Use 'server_url' with a public URL instead.",
      state: true,
    }),
  ),
  ...earlierAnswers('prompt_cache_options.comparison_response_id'),
]

export const responsesFieldRules: readonly FieldRule[] = [
  serviceTier,
  speed,
  ...dearerModes,
  ...otherModels,
  ...laterAnswers,
  ...tools,
  ...demandedTools,
  ...state,
  {
    field: 'prompt',
    why: "it names a template in the vendor's account",
    instead: "Leave it out, and send its text as 'instructions' and 'input'.",
    always: true,
  },
  { field: 'moderation', why: ANOTHER_MODEL, always: true },
  {
    field: 'reasoning.mode',
    plain: ['standard'],
    why: 'modes that think more have their own prices',
  },
  {
    field: 'prompt_cache_options.ttl',
    plain: ['30m'],
    why: 'longer caching costs more',
    price: 'cache_write_1h_token',
  },
  longCache('cache_control.ttl'),
]

/** Fields of this API that the schema does not name. Names below `parameters` and `schema` are the caller's own. */
export const responsesFields: readonly string[] = [
  'access_programs',
  'client_metadata',
  'context_management',
  'generate',
  'image',
  'prompt_cache_options',
  'prompt_cache_retention',
  'input[].arguments',
  'input[].call_id',
  'input[].content[].image_url',
  'input[].content[].text',
  'input[].content[].type',
  'input[].encrypted_content',
  'input[].name',
  'input[].role',
  'input[].type',
  'text.format.schema',
  'text.format.type',
  'tools[].description',
  'tools[].name',
  'tools[].parameters',
]
