// Converts a logged request with its body, in any supported form, to a conversation, so that it can be tried again, and keeps it
// until the playground opens it. Fields that the playground lacks are omitted, and listed. Nothing here may call the gateway.

import type {
  Attachment,
  Conversation,
  DialectName,
  Draft,
  Kind,
  ToolCall,
  Turn,
  Values,
} from './conversation'
import { DIALECT_NAMES, EMPTY_DRAFT, emptyReply } from './conversation'

/** A conversation as it was before the last turn, which will be sent again. */
export interface Reopened {
  conversation: Conversation
  draft: Draft
  /** Results of tools that the last turn sends, by the ids of their calls. */
  results: Readonly<Record<string, string>>
  /** Fields of the request that are omitted. */
  leftOut: readonly string[]
}

/** The request that another page has passed to the playground. */
let handed: Reopened | null = null

export function hand(request: Reopened): void {
  handed = request
}

/** The passed request, only once. */
export function taken(): Reopened | null {
  const request = handed
  handed = null
  return request
}

type Fields = Readonly<Record<string, unknown>>

/** Fields of a kind of work other than its text, which is in the first of them. */
const FIELDS: Readonly<Partial<Record<Kind, readonly [text: string, ...values: string[]]>>> = {
  image: ['prompt', 'n', 'size', 'quality', 'resolution'],
  video: ['prompt', 'size', 'quality', 'resolution', 'duration'],
  speech: ['input', 'voice', 'instructions'],
  embeddings: ['input', 'dimensions'],
  rerank: ['query', 'documents'],
  moderation: ['input'],
}

/** Fields of a chat that the playground has, or writes itself. */
const CHAT_FIELDS = [
  'model',
  'messages',
  'input',
  'system',
  'instructions',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'temperature',
  'tools',
  'response_format',
  'output_config',
  'text',
  'stream',
  'stream_options',
  'store',
]

/** The conversation of a request; undefined if the playground does not support it. */
export function reopened(operation: string, body: string, model: string): Reopened | undefined {
  const fields = objectOf(parsed(body))
  if (!fields) return undefined
  const conversation = {
    id: crypto.randomUUID(),
    models: [model],
    changedAt: Date.now(),
  }
  const dialect = DIALECT_NAMES.find((each) => each === operation)
  if (dialect) return chatOf(dialect, fields, conversation)
  const kind = operation as Kind
  const own = FIELDS[kind]
  if (!own) return undefined
  const [textField, ...names] = own
  const values = Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, linesOf(fields[name])]])),
  )
  return {
    conversation: { ...conversation, kind, values, turns: [] },
    draft: { ...EMPTY_DRAFT, text: linesOf(fields[textField]) },
    results: {},
    leftOut: Object.keys(fields).filter((name) => name !== 'model' && !own.includes(name)),
  }
}

type Begun = Pick<Conversation, 'id' | 'models' | 'changedAt'>

function chatOf(dialect: DialectName, fields: Fields, begun: Begun): Reopened {
  const input = typeof fields.input === 'string' ? [{ role: 'user', content: fields.input }] : fields.input
  const items = listOf(fields.messages ?? input).map(partOf)
  const systems = [fields.system ?? fields.instructions, ...items.flatMap(({ system }) => system ?? [])]
  const system = systems.flatMap((each) => (each === undefined ? [] : textOf(each))).join('\n\n')
  const sides = exchangesOf(items.filter((item) => item.system === undefined))
  const last = sides.at(-1)
  const isOpen = last !== undefined && last.reply === null
  const turns = sides.slice(0, isOpen ? -1 : undefined).map((each) => turnOf(each, begun.models[0] ?? ''))
  return {
    conversation: { ...begun, kind: 'chat', values: valuesOf(dialect, fields, system), turns },
    draft: isOpen ? { ...EMPTY_DRAFT, text: last.text, files: last.files } : EMPTY_DRAFT,
    results: isOpen ? last.results : {},
    leftOut: Object.keys(fields).filter((name) => !CHAT_FIELDS.includes(name)),
  }
}

/** A message or an item of a thread. */
interface Part {
  side: 'user' | 'assistant'
  text: string
  files: readonly Attachment[]
  calls: readonly ToolCall[]
  results: Readonly<Record<string, string>>
  system?: string
}

const EMPTY_PART: Part = { side: 'user', text: '', files: [], calls: [], results: {} }

function partOf(item: unknown): Part {
  const { role, type, content, ...fields } = objectOf(item) ?? {}
  const text = textOf(content)
  if (role === 'system' || role === 'developer') return { ...EMPTY_PART, system: text }
  if (role === 'tool') return { ...EMPTY_PART, results: { [wordOf(fields.tool_call_id)]: text } }
  if (type === 'function_call_output')
    return { ...EMPTY_PART, results: { [wordOf(fields.call_id)]: textOf(fields.output) } }
  if (type === 'function_call')
    return { ...EMPTY_PART, side: 'assistant', calls: [callOf({ ...fields, id: fields.call_id })] }
  const blocks = listOf(content).flatMap((block): Fields[] => [objectOf(block) ?? {}])
  return {
    side: role === 'assistant' ? 'assistant' : 'user',
    text,
    files: blocks.flatMap(pictureOf),
    calls: [
      ...listOf(fields.tool_calls).map((call) => {
        const { id, function: named } = objectOf(call) ?? {}
        return callOf({ ...objectOf(named), id })
      }),
      ...blocks.filter((block) => block.type === 'tool_use').map(callOf),
    ],
    results: Object.fromEntries(
      blocks
        .filter((block) => block.type === 'tool_result')
        .map((block) => [wordOf(block.tool_use_id), textOf(block.content)]),
    ),
  }
}

interface Exchange extends Omit<Part, 'side' | 'calls'> {
  reply: { text: string; calls: readonly ToolCall[] } | null
}

/** Items as exchanges: consecutive items of one side are merged. */
function exchangesOf(parts: readonly Part[]): Exchange[] {
  const exchanges: Exchange[] = []
  for (const { side, text, files, calls, results } of parts) {
    const last = exchanges.at(-1)
    const before = last?.reply === null || side === 'assistant' ? last : undefined
    const { text: earlier = '', files: sent = [], results: known = {}, reply = null } = before ?? {}
    const next: Exchange =
      side === 'user'
        ? {
            text: joined(earlier, text),
            files: [...sent, ...files],
            results: { ...known, ...results },
            reply,
          }
        : {
            text: earlier,
            files: sent,
            results: known,
            reply: { text: joined(reply?.text ?? '', text), calls: [...(reply?.calls ?? []), ...calls] },
          }
    if (before) exchanges[exchanges.length - 1] = next
    else exchanges.push(next)
  }
  return exchanges
}

function joined(one: string, two: string): string {
  return one === '' || two === '' ? one + two : `${one}\n\n${two}`
}

function turnOf({ text, files, results, reply }: Exchange, model: string): Turn {
  const { text: said = '', calls = [] } = reply ?? {}
  return {
    id: crypto.randomUUID(),
    text,
    files,
    results: Object.keys(results).length > 0 ? results : null,
    replies: [{ ...emptyReply(model, '0'), state: 'done', text: said, calls }],
  }
}

function valuesOf(dialect: DialectName, fields: Fields, system: string): Values {
  const most = fields.max_tokens ?? fields.max_completion_tokens ?? fields.max_output_tokens
  const tools = listOf(fields.tools).flatMap((tool) => functionOf(objectOf(tool) ?? {}))
  const schema = schemaOf(fields)
  return {
    ...(dialect !== 'chat' && { api: dialect }),
    ...(system !== '' && { system }),
    ...(typeof most === 'number' && { max_tokens: String(most) }),
    ...(typeof fields.temperature === 'number' && { temperature: String(fields.temperature) }),
    ...(tools.length > 0 && { tools: JSON.stringify(tools, null, 2) }),
    ...(schema !== undefined && { schema: JSON.stringify(schema, null, 2) }),
  }
}

/** A function in the form of the playground; undefined for a tool that a vendor runs itself. */
function functionOf({ function: inner, ...tool }: Fields): object[] {
  const { name, description, parameters, input_schema: schema } = objectOf(inner) ?? tool
  if (typeof name !== 'string') return []
  const shape = parameters ?? schema
  return [
    {
      name,
      ...(description !== undefined && { description }),
      ...(shape !== undefined && { parameters: shape }),
    },
  ]
}

function schemaOf({ response_format: chat, output_config: messages, text: responses }: Fields): unknown {
  const ofChat = objectOf(objectOf(chat)?.json_schema)
  const format = objectOf(objectOf(messages)?.format) ?? objectOf(objectOf(responses)?.format)
  return ofChat?.schema ?? format?.schema
}

function callOf({ id, name, arguments: json, input }: Fields): ToolCall {
  const given = typeof json === 'string' ? json : JSON.stringify(json ?? input ?? {})
  return { id: wordOf(id), name: wordOf(name), arguments: given }
}

/** A picture in the request itself; one at another URL is not loaded. */
function pictureOf({ image_url: image, source }: Fields): Attachment[] {
  const { data, media_type: type } = objectOf(source) ?? {}
  const named = typeof image === 'string' ? image : objectOf(image)?.url
  const url = typeof data === 'string' ? `data:${wordOf(type)};base64,${data}` : named
  if (typeof url !== 'string' || !url.startsWith('data:image/')) return []
  return [{ name: '', type: /^data:([^;,]+)/.exec(url)?.[1] ?? '', url }]
}

/** The text of content: itself, or that of all its blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap((block) => {
      const { text } = objectOf(block) ?? {}
      return typeof text === 'string' ? [text] : []
    })
    .join('\n\n')
}

/** A value of a field in the form's text: several values are lines. */
function linesOf(value: unknown): string {
  return Array.isArray(value) ? value.map(wordOf).join('\n') : wordOf(value)
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

function objectOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
