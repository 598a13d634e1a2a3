// Translates a messages request to one of Converse: turns, blocks, tools, limits and cache points. It must never drop a field
// silently: what Converse cannot express is refused, and what is left out is in the table of fields.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

import type { Call, Model } from '../../../contract/family'
import { hasPrice } from '../../../contract/prices'
import { invalidRequest } from '../../../lib/errors'
import { isObject } from '../../../lib/objects'
import { isHint, withoutKeywords } from '../../json-schema'
import { converseEdit } from '../../traits/converse'
import { edited } from '../../traits/edit'
import { translatedOnce } from '../../translation'
import type { MessagesBody } from '../caller-side'
import { effortOfThinking, outputConfigOf, withExamples, withoutGaps } from '../via-chat/request'
import {
  instructionsOf,
  isReadable,
  joined,
  type Placed,
  placed,
  stringAt,
  turnsOf,
  unsupported,
  wordsOf,
} from '../via-chat/turns'

type Fields = Record<string, unknown>

const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp'])
/** Formats of documents by their media types. */
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

/** The request for the vendor, without its model, which stands in the path. Throws 400 for what Converse has no form for. */
export const converseRequest = translatedOnce((body: MessagesBody, model): Fields => {
  if (body.max_tokens < 1) {
    throw invalidRequest(
      'max_tokens',
      `Invalid 'max_tokens': integer below minimum value. ${model.id} writes at least 1 token, but got ${body.max_tokens}.`,
      'integer_below_min_value',
    )
  }
  const { temperature, top_p: topP, stop_sequences: stops } = body
  const isCached = hasPrice(model.priceList, 'cached_input_token')
  // Calls cannot be sent without tools, and there is no word for a choice of none.
  const hasTools = (body.tools ?? []).length > 0 && body.tool_choice?.type !== 'none'
  const request = withoutGaps({
    messages: messagesOf(body, isCached, hasTools),
    system: systemOf(body, isCached),
    inferenceConfig: withoutGaps({
      maxTokens: body.max_tokens,
      temperature,
      topP,
      stopSequences: stops && stops.length > 0 ? stops : undefined,
    }),
    toolConfig: hasTools ? toolsOf(body, isCached) : undefined,
    outputConfig: outputOf(body, model),
  })
  return edited(request, converseEdit(request, model))
})

/** The call for a messages request, with a lower limit of output if any. */
export function converseCall(body: MessagesBody, model: Model, outputTokens = body.max_tokens): Call {
  const { inferenceConfig, ...request } = converseRequest(body, model)
  const maxTokens = Math.min(body.max_tokens, outputTokens)
  return {
    path: '/converse',
    protocol: 'native',
    body: { json: { ...request, inferenceConfig: { ...(inferenceConfig as object), maxTokens } } },
    stream: body.stream === true,
  }
}

function systemOf({ system }: MessagesBody, isCached: boolean): Fields[] | undefined {
  const text = instructionsOf(system)
  if (text === '') return undefined
  const marked = Array.isArray(system) ? system.findLast((block) => isMarked(block)) : undefined
  return [{ text }, ...(marked ? cachePoint(marked, isCached) : [])]
}

function messagesOf(
  body: MessagesBody,
  isCached: boolean,
  hasTools: boolean,
): { role: string; content: Fields[] }[] {
  const names = new Set<string>()
  const blocks = hasTools ? blockOf : blocksWithoutCalls
  const messages = turnsOf(body.messages, isReadable).map(({ isAssistant, blocks: placed }) => ({
    role: isAssistant ? 'assistant' : 'user',
    content: placed.flatMap((each) => [...blocks(each, names), ...cachePoint(each.block, isCached)]),
  }))
  messages.at(-1)?.content.push(...cachePoint(body, isCached))
  return messages
}

function isMarked(holder: object): holder is { cache_control: Fields } {
  return 'cache_control' in holder && isObject(holder.cache_control)
}

/** The mark of where a cache ends, which Converse has in blocks of their own. Models without a price for it are sent none. */
function cachePoint(holder: object, isCached: boolean): Fields[] {
  if (!isCached || !isMarked(holder)) return []
  const { ttl } = holder.cache_control
  return [{ cachePoint: { type: 'default', ...(ttl === '1h' && { ttl }) } }]
}

function blockOf({ block, at }: Placed, names: Set<string>): Fields[] {
  switch (block.type) {
    case 'text':
    case 'compaction':
      return textBlocks(wordsOf({ block, at }))
    case 'image':
      return [{ image: { format: imageFormat(block, at), source: { bytes: bytesOf(block, at) } } }]
    case 'document':
      return documentBlocks(block, at, names)
    case 'search_result':
      return textBlocks(
        joined([
          titleOf(block),
          ...placed(block.content, `${at}.content`).map((inner) => stringAt(inner.block, 'text', inner.at)),
        ]),
      )
    case 'tool_reference':
      return textBlocks(stringAt(block, 'tool_name', at))
    case 'tool_use':
      return [
        {
          toolUse: {
            toolUseId: callIdAt(block, 'id', at),
            name: stringAt(block, 'name', at),
            input: block.input ?? {},
          },
        },
      ]
    case 'tool_result': {
      const parts = placed(block.content ?? [], `${at}.content`)
      const content = parts.flatMap((part) => blockOf(part, names))
      const status = block.is_error === true && { status: 'error' }
      return [{ toolResult: { toolUseId: callIdAt(block, 'tool_use_id', at), content, ...status } }]
    }
    default:
      throw unsupported(at, `a block of type '${block.type}'`)
  }
}

/** A call and its result as texts and pictures, which need no tools. */
function blocksWithoutCalls(each: Placed, names: Set<string>): Fields[] {
  return blockOf(each, names).flatMap((block) => {
    if ('toolUse' in block) {
      const { toolUseId, name, input } = block.toolUse as Fields
      return [{ text: `Call ${toolUseId} of ${name}: ${JSON.stringify(input)}` }]
    }
    if (!('toolResult' in block)) return [block]
    const { toolUseId, content, status } = block.toolResult as Fields
    const failed = status === 'error' ? ', which failed' : ''
    return [{ text: `Result of call ${toolUseId}${failed}:` }, ...(content as Fields[])]
  })
}

function textBlocks(text: string): Fields[] {
  // The vendor refuses a text of blanks.
  return text.trim() === '' ? [] : [{ text }]
}

/** The id of a call. Ids of other vendors, in a conversation that began there, may have letters that are refused here. */
function callIdAt(block: Fields, field: string, at: string): string {
  return stringAt(block, field, at)
    .replaceAll(/[^\w-]/g, '_')
    .slice(0, 64)
}

function sourceAt({ source }: Fields, at: string): Fields {
  if (isObject(source)) return source
  throw invalidRequest(`${at}.source`, `Invalid type for '${at}.source': expected an object.`, 'invalid_type')
}

function bytesOf(block: Fields, at: string): string {
  const source = sourceAt(block, at)
  if (source.type === 'base64') return stringAt(source, 'data', `${at}.source`)
  throw unsupported(`${at}.source`, `a file by '${source.type}'; send it as base64`)
}

function imageFormat(block: Fields, at: string): string {
  const source = sourceAt(block, at)
  if (source.type !== 'base64')
    throw unsupported(`${at}.source`, `a picture by '${source.type}'; send it as base64`)
  const type = stringAt(source, 'media_type', `${at}.source`)
  const format = type.toLowerCase().replace('image/', '').replace('jpg', 'jpeg')
  if (IMAGE_FORMATS.has(format)) return format
  throw unsupported(
    `${at}.source.media_type`,
    `a picture of type '${type}'; it takes PNG, JPEG, GIF and WebP`,
  )
}

function documentBlocks(block: Fields, at: string, names: Set<string>): Fields[] {
  const source = sourceAt(block, at)
  if (source.type === 'content') {
    const inner = placed(source.content, `${at}.source.content`).flatMap((part) => blockOf(part, names))
    return [...textBlocks(joined([titleOf(block), contextOf(block)])), ...inner]
  }
  if (source.type === 'text') {
    return textBlocks(joined([titleOf(block), contextOf(block), stringAt(source, 'data', `${at}.source`)]))
  }
  const bytes = bytesOf(block, at)
  const type = stringAt(source, 'media_type', `${at}.source`)
  const format = DOCUMENT_FORMATS[type.toLowerCase()]
  if (format === undefined) throw unsupported(`${at}.source.media_type`, `a document of type '${type}'`)
  const name = documentName(titleOf(block), names)
  return [...textBlocks(contextOf(block)), { document: { format, name, source: { bytes } } }]
}

/** A name of the letters that Converse takes, which no other document of the request has. */
function documentName(title: string, names: Set<string>): string {
  const plain =
    title
      .replaceAll(/[^A-Za-z0-9\s()[\]-]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, 180) || 'document'
  let name = plain
  for (let number = 2; names.has(name); number++) name = `${plain} (${number})`
  names.add(name)
  return name
}

function titleOf({ title }: Fields): string {
  return typeof title === 'string' ? title : ''
}

function contextOf({ context }: Fields): string {
  return typeof context === 'string' ? context : ''
}

function toolsOf({ tools, tool_choice: choice }: MessagesBody, isCached: boolean): Fields {
  return withoutGaps({
    tools: (tools ?? []).flatMap((tool, index) => [
      toolOf(tool as Fields, `tools[${index}]`),
      ...cachePoint(tool as Fields, isCached),
    ]),
    toolChoice: choice ? toolChoiceOf(choice) : undefined,
  })
}

function toolOf(
  { name, description, input_schema: schema, input_examples: examples, strict }: Fields,
  at: string,
): Fields {
  if (typeof name !== 'string') throw invalidRequest(`${at}.name`, `Missing '${at}.name': expected a string.`)
  if (!isObject(schema)) {
    throw invalidRequest(`${at}.input_schema`, `Missing '${at}.input_schema': expected a JSON schema.`)
  }
  const json = withoutKeywords(schema, isHint)
  return {
    toolSpec: withoutGaps({
      name,
      description: withExamples(description, examples),
      inputSchema: { json },
      strict: strict === true ? true : undefined,
    }),
  }
}

function toolChoiceOf(choice: { type: string; name?: unknown }): Fields | undefined {
  // What the vendor does by itself. Not every model takes a choice.
  if (choice.type === 'auto') return undefined
  if (choice.type === 'any') return { any: {} }
  if (choice.type === 'tool' && typeof choice.name === 'string') return { tool: { name: choice.name } }
  throw invalidRequest(
    'tool_choice',
    `Invalid value for 'tool_choice': its type is 'auto', 'any', 'none', or 'tool' with a 'name'.`,
  )
}

/** How hard the model thinks, and the schema of the answer. */
function outputOf(body: MessagesBody, model: Model): Fields | undefined {
  const { effort: asked, format: wanted } = outputConfigOf(body)
  const effort = asked === 'max' ? asked : effortOfThinking(body, model)
  const format = wanted ?? (body as { output_format?: unknown }).output_format
  const jsonSchema = isObject(format) && { schema: JSON.stringify(format.schema), name: 'output' }
  const output = {
    ...(effort !== undefined && { effort }),
    ...(jsonSchema && { textFormat: { type: 'json_schema', structure: { jsonSchema } } }),
  }
  return Object.keys(output).length > 0 ? output : undefined
}
