// The fields and items that OpenAI accepts in the body of a response. It must never repair a request: a wrong one is
// refused with the sentence of the real service.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import {
  array,
  badRequest,
  type Fault,
  type FieldRule,
  findFault,
  flag,
  missingParameter,
  object,
  text,
} from './fields'
import { findResponseSettingFault } from './model-faults'
import { isLenient } from './models'

const fieldRules: Readonly<Record<string, FieldRule>> = {
  model: text,
  input: { kinds: ['string', 'array'] },
  instructions: text,
  previous_response_id: text,
  conversation: { kinds: ['string', 'object'] },
  prompt: object,
  store: flag,
  background: flag,
  stream: flag,
  stream_options: object,
  include: array,
  max_output_tokens: { kinds: ['integer'], min: 16 },
  max_tool_calls: { kinds: ['integer'], min: 1 },
  temperature: { kinds: ['decimal'], min: 0, max: 2 },
  top_p: { kinds: ['decimal'], min: 0, max: 1 },
  top_logprobs: { kinds: ['integer'], min: 0, max: 20 },
  text: object,
  tools: array,
  tool_choice: { kinds: ['string', 'object'] },
  parallel_tool_calls: flag,
  reasoning: object,
  truncation: { kinds: ['string'], values: ['auto', 'disabled'] },
  metadata: object,
  service_tier: {
    kinds: ['string'],
    values: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
  },
  prompt_cache_key: text,
  prompt_cache_options: object,
  prompt_cache_retention: text,
  safety_identifier: text,
  user: text,
  context_management: array,
  client_metadata: object,
}

const itemTypes = [
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'item_reference',
  'compaction',
  'compaction_trigger',
  'configuration_update',
  'additional_tools',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_call',
  'tool_search_output',
]

/** Beginning of sealed content. */
const SEALED = 'gAAAAA'

/** The sealed content of an item, which only its account can open. */
export function sealedFor(account: string, id: string): string {
  return SEALED + Buffer.from(JSON.stringify({ account, id })).toString('base64url')
}

/** The first fault of a body, before anything about a particular model. */
export function findResponseFault(body: JsonObject): Fault | undefined {
  const model = asString(body.model) ?? ''
  if (model === '') return missingParameter('model')
  if (!isGiven(body.input)) return missingParameter('input')
  if (isLenient(model)) return undefined
  return findFault(body, fieldRules) ?? findItemFault(asArray(body.input) ?? [])
}

/** Account of the vendor whose organization is not verified. */
const UNVERIFIED_ACCOUNT = 'unverified'

/** The refusal of summaries of reasoning, with its words: home-assistant/core#160212, continuedev/continue#9607 (2026-01). */
function findSummaryFault({ reasoning }: JsonObject, account: string): Fault | undefined {
  if (account !== UNVERIFIED_ACCOUNT || !isGiven(asObject(reasoning)?.summary)) return undefined
  const message =
    'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.'
  return badRequest(message, 'reasoning.summary', 'unsupported_value')
}

/** The first fault of a body for a model. `account` is the vendor's account of the key. */
export function findResponseModelFault(model: string, body: JsonObject, account: string): Fault | undefined {
  const fault = isLenient(model)
    ? undefined
    : (findSettingFault(body, model) ?? findSummaryFault(body, account))
  return fault ?? findSealFault(asObjects(body.input), account)
}

function findSettingFault(body: JsonObject, model: string): Fault | undefined {
  const fault = findResponseSettingFault(model, body)
  if (fault) return fault
  const asksForSeal = asArray(body.include)?.includes('reasoning.encrypted_content')
  if (asksForSeal && !/^(o\d|gpt-[5-9]|chat-latest|(gpt-)?daybreak)/.test(model)) {
    return badRequest('Encrypted content is not supported with this model.', 'include', null)
  }
  const format = asObject(asObject(body.text)?.format)
  if (format?.type === 'json_schema' && !isGiven(format.name)) return missingParameter('text.format.name')
  if (asArray(body.tools)?.length === 0 || !isGiven(body.tool_choice) || asArray(body.tools)) return undefined
  return typeof body.tool_choice === 'string'
    ? undefined
    : badRequest("Tool choice must be one of the 'tools'.", 'tool_choice', null)
}

function findItemFault(items: readonly unknown[]): Fault | undefined {
  const ids = new Set<string>()
  const calls = new Set<unknown>()
  for (const [index, entry] of items.entries()) {
    const item = asObject(entry)
    if (!item)
      return badRequest(
        `Invalid type for 'input[${index}]': expected an object.`,
        `input[${index}]`,
        'invalid_type',
      )
    const type = asString(item.type) ?? (isGiven(item.role) ? 'message' : 'item_reference')
    if (!itemTypes.includes(type)) {
      return badRequest(`Invalid value: '${type}'.`, `input[${index}].type`, 'invalid_value')
    }
    const id = asString(item.id)
    if (id !== undefined && ids.has(id)) {
      return badRequest(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        'input',
        null,
      )
    }
    if (id !== undefined) ids.add(id)
    if (type === 'function_call' || type === 'custom_tool_call') {
      const part = type === 'function_call' ? 'arguments' : 'input'
      for (const name of ['call_id', 'name', part]) {
        if (!isGiven(item[name])) return missingParameter(`input[${index}].${name}`)
      }
      calls.add(item.call_id)
    }
    if (/^(function_call|custom_tool_call)_output$/.test(type) && !calls.has(item.call_id)) {
      const message = `No tool call found for function call output with call_id ${item.call_id}.`
      return badRequest(message, 'input', null)
    }
    const follows = asObject(items[index + 1])
    if (type === 'reasoning' && (!follows || follows.role === 'user')) {
      const message = `Item '${id}' of type 'reasoning' was provided without its required following item.`
      return badRequest(message, 'input', null)
    }
  }
  return undefined
}

/** Reasoning that is not stored, or that was sealed for another account or item. */
function findSealFault(items: readonly JsonObject[], account: string): Fault | undefined {
  for (const item of items) {
    const id = asString(item.id) ?? ''
    const isReference = item.type === 'item_reference' || (!isGiven(item.type) && !isGiven(item.role))
    const sealed = asString(item.encrypted_content)
    if (isReference || (item.type === 'reasoning' && id !== '' && sealed === undefined)) {
      const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
      return { status: 404, message, param: 'input', code: null }
    }
    if (item.type !== 'reasoning' || sealed === undefined) continue
    // Clients that omit ids send only the sealed content.
    const isOwn = sealed === sealedFor(account, id) || (id === '' && sealed.startsWith(SEALED))
    if (isOwn) continue
    const shown = sealed.length > 12 ? `${sealed.slice(0, 4)}...${sealed.slice(-4)}` : sealed
    const message = `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
    return badRequest(message, null, 'invalid_encrypted_content')
  }
  return undefined
}

/** Maximum number of output tokens, including thinking. */
export function limitOf(body: JsonObject): number | undefined {
  return asNumber(body.max_output_tokens)
}
