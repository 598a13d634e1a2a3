// Translates a chat completion request to a request of responses: messages become items, tools and formats become flat.
// It must never drop a field silently: what cannot be said is refused, and what is left out is in the table of fields.

import type { Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import { reasoningSettings, responsesTool, type SentPart, servedLimit } from '../../responses/input'
import { edited } from '../../traits/edit'
import { checkEffort } from '../../traits/efforts'
import { responsesEdit } from '../../traits/responses'
import { translatedOnce } from '../../translation'
import type { ChatBody } from '../caller-side'

type Fields = Record<string, unknown>

/** The body for the vendor. Throws 400 for what cannot be translated, with the field named. */
export const responsesRequest = translatedOnce((body: ChatBody, model): Fields => {
  const { max_completion_tokens: limit, max_tokens: older } = body
  const field = limit ? 'max_completion_tokens' : 'max_tokens'
  const wantsProbabilities = body.logprobs === true
  const request = withoutGaps({
    model: model.upstreamModel,
    input: itemsOf(body),
    store: false,
    stream: body.stream === true ? true : undefined,
    max_output_tokens: servedLimit(limit ?? older, field, model),
    temperature: body.temperature,
    top_p: body.top_p,
    ...(wantsProbabilities && { include: [PROBABILITIES], top_logprobs: body.top_logprobs ?? 0 }),
    ...toolsOf(body),
    text: textOf(body),
    reasoning: reasoningOf(body, model),
    ...passed(body as Fields),
  })
  return edited(request, responsesEdit(request, model))
})

const PROBABILITIES = 'message.output_text.logprobs'

/** Fields of the same name and meaning. */
const PASSED = [
  'service_tier',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
] as const

function passed(body: Fields): Fields {
  return Object.fromEntries(PASSED.map((name) => [name, body[name]]))
}

function textOf({ response_format: format, verbosity }: ChatBody): Fields | undefined {
  const text = withoutGaps({ format: formatOf(format), verbosity })
  return Object.keys(text).length > 0 ? text : undefined
}

function formatOf(format: ChatBody['response_format']): Fields | undefined {
  const { type, json_schema: named } = asObject(format)
  if (type !== 'json_schema') return type === 'json_object' ? { type } : undefined
  const { name, schema, strict, description } = asObject(named)
  if (!isObject(schema)) {
    const field = 'response_format.json_schema.schema'
    throw invalidRequest(field, `Missing required parameter: '${field}'.`, 'missing_required_parameter')
  }
  return withoutGaps({ type, name: name ?? 'output', schema, strict: strict === true, description })
}

/** How long to think, and whether to show a summary of it. */
function reasoningOf(body: ChatBody, model: Model): object | undefined {
  const { reasoning_effort: effort, include_reasoning: isShown } = body as ChatBody & Fields
  if (effort) checkEffort(model, effort, 'reasoning_effort')
  return reasoningSettings(effort ?? undefined, isShown === true)
}

function itemsOf({ messages }: ChatBody): Fields[] {
  /** The ids of calls of custom tools, whose results have an item of their own. */
  const custom = new Set<unknown>()
  return messages.flatMap((message, index) => {
    const at = `messages[${index}]`
    const { role, content, tool_call_id: id, name } = message
    if (role === 'function') {
      const field = `${at}.role`
      throw invalidRequest(
        field,
        `Invalid value for '${field}': use 'tool' and 'tools' in the place of functions.`,
      )
    }
    if (role === 'assistant') return assistantItems(message, at, custom)
    const parts = partsOf(content, `${at}.content`)
    if (role === 'tool') {
      const type = custom.has(id) ? 'custom_tool_call_output' : 'function_call_output'
      return [{ type, call_id: id, output: plainOf(parts) }]
    }
    const speaker = role === 'user' && name ? [{ type: 'input_text', text: `${name}:` } as const] : []
    return [{ role, content: plainOf([...speaker, ...parts]) }]
  })
}

/** A plain string if there is nothing but one text. */
function plainOf(parts: SentPart[]): string | SentPart[] {
  const [only, ...others] = parts
  if (!only) return ''
  return others.length === 0 && only.type === 'input_text' ? only.text : parts
}

function partsOf(content: unknown, at: string): SentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'input_text', text: content }]
  if (!Array.isArray(content)) return []
  return content.map((part, index) => partOf(asObject(part), `${at}[${index}]`))
}

function partOf({ type, text, image_url: image, file }: Fields, at: string): SentPart {
  if (type === 'text') return { type: 'input_text', text: stringAt(text, `${at}.text`) }
  if (type === 'image_url') {
    const { url, detail } = isObject(image) ? image : { url: image }
    const seen = typeof detail === 'string' && { detail }
    return { type: 'input_image', image_url: stringAt(url, `${at}.image_url.url`), ...seen }
  }
  if (type === 'file') {
    const { filename, file_data: data } = asObject(file)
    const named = typeof filename === 'string' && { filename }
    return { type: 'input_file', ...named, file_data: stringAt(data, `${at}.file.file_data`) }
  }
  throw invalidRequest(
    `${at}.type`,
    `Invalid value for '${at}.type': this model takes text, image_url and file parts, not ${type}.`,
  )
}

function assistantItems(message: ChatBody['messages'][number], at: string, custom: Set<unknown>): Fields[] {
  const { content, tool_calls: calls, refusal } = message as Fields
  const texts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const said = (Array.isArray(texts) ? texts : []).map((part, index) =>
    saidPart(asObject(part), `${at}.content[${index}]`),
  )
  if (typeof refusal === 'string' && refusal !== '') said.push({ type: 'refusal', refusal })
  const parts = said.filter((part) => part.text !== '')
  const called = (Array.isArray(calls) ? calls : []).map((call, index) =>
    callItem(asObject(call), `${at}.tool_calls[${index}]`, custom),
  )
  return [...(parts.length > 0 ? [{ type: 'message', role: 'assistant', content: parts }] : []), ...called]
}

function saidPart({ type, text, refusal }: Fields, at: string): Fields {
  if (type === 'refusal') return { type, refusal: stringAt(refusal, `${at}.refusal`) }
  if (type === 'text') return { type: 'output_text', text: stringAt(text, `${at}.text`) }
  throw invalidRequest(`${at}.type`, `Invalid value for '${at}.type': the assistant's parts are texts.`)
}

/**
 * The item of a call, without an id: an item with its id is refused without the reasoning that led to it
 * (continuedev/continue#10018), which chat clients do not send back, and one without an id is accepted (nodetool-ai/nodetool#4252,
 * jin-bo/agentao#321).
 */
function callItem({ id, type, function: called, custom: own }: Fields, at: string, custom: Set<unknown>) {
  const { name, arguments: text, input } = asObject(type === 'custom' ? own : called)
  if (typeof id !== 'string' || typeof name !== 'string') {
    throw invalidRequest(at, `Invalid '${at}': expected an 'id', and a 'function' with its 'name'.`)
  }
  if (type !== 'custom') {
    return { type: 'function_call', call_id: id, name, arguments: typeof text === 'string' ? text : '{}' }
  }
  custom.add(id)
  return { type: 'custom_tool_call', call_id: id, name, input: typeof input === 'string' ? input : '' }
}

function toolsOf({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatBody): Fields {
  if (!tools || tools.length === 0) return {}
  return {
    tools: tools.map((tool, index) => toolOf(asObject(tool), `tools[${index}]`)),
    tool_choice: choiceOf(choice),
    parallel_tool_calls: parallel,
  }
}

function toolOf({ type, function: called, custom }: Fields, at: string): Fields {
  if (type === 'custom' && typeof asObject(custom).name === 'string') {
    const { name, description, format } = asObject(custom)
    const { type: kind, grammar } = asObject(format)
    return withoutGaps({
      type,
      name,
      description,
      format: kind === 'grammar' ? { type: kind, ...asObject(grammar) } : format,
    })
  }
  if (type === 'function' && typeof asObject(called).name === 'string') {
    const { name, description, parameters, strict } = asObject(called)
    return responsesTool({ name: name as string, description, parameters, isStrict: strict === true })
  }
  throw invalidRequest(at, `Invalid '${at}': this model takes functions and custom tools with a name.`)
}

function choiceOf(choice: ChatBody['tool_choice']): unknown {
  if (choice === undefined || choice === null || typeof choice === 'string') return choice
  const { type, function: called, custom, allowed_tools: allowed } = choice as Fields
  if (type === 'allowed_tools') {
    const { mode, tools } = asObject(allowed)
    const named = (Array.isArray(tools) ? tools : []).map((tool) => choiceOf(tool as object))
    return { type, mode, tools: named }
  }
  const { name } = asObject(type === 'custom' ? custom : called)
  if (typeof name === 'string') return { type, name }
  throw invalidRequest('tool_choice', "Invalid 'tool_choice': expected a tool with its name.")
}

function stringAt(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) {
    throw invalidRequest(field, `Missing required parameter: '${field}'.`, 'missing_required_parameter')
  }
  throw invalidRequest(field, `Invalid type for '${field}': expected a string.`, 'invalid_type')
}

/** The fields without null, which means the same as no value. */
function withoutGaps(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}
