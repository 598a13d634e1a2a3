// Shared by all families of messages: the caller's side of POST /v1/messages, and the reading of replies and events of
// that form. It must never decide what a vendor is sent: that is in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Model, OutputTokens, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { HIDDEN, type Reading, SHOWN, shownText, type UsageKind } from '../../contract/reading'
import { isUntypedError } from '../../lib/error-shapes'
import { asObject, holdsText, isObject } from '../../lib/objects'
import { ABSURD_FIGURE, optionalField, quotedOutput, USEFUL_OUTPUT_TOKENS } from '../shared-schemas'
import { isWebSearch, OPEN_SEARCHES } from '../surcharges'

const open = { additionalProperties: true }

export const MessagesBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    max_tokens: Type.Integer({ minimum: 0, maximum: 100_000_000 }),
    messages: Type.Array(
      Type.Object(
        {
          role: Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('system')]),
          content: Type.Union([
            Type.String(),
            Type.Array(Type.Object({ type: Type.String() }, open), { maxItems: 16_384 }),
          ]),
        },
        open,
      ),
      { minItems: 1, maxItems: 100_000 },
    ),
    system: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }, open)), Type.Null()]),
    ),
    stream: optionalField(Type.Boolean()),
    temperature: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optionalField(Type.Integer({ minimum: 0 })),
    stop_sequences: optionalField(Type.Array(Type.String())),
    tools: optionalField(Type.Array(Type.Object({}, open))),
    tool_choice: optionalField(Type.Object({ type: Type.String() }, open)),
    thinking: optionalField(Type.Object({ type: Type.String() }, open)),
    metadata: optionalField(Type.Object({}, open)),
  },
  open,
)
export type MessagesBody = Static<typeof MessagesBody>

export function quoteMessages(parsed: ParsedRequest<MessagesBody>, model: Model): Quantities {
  const { body, byteLength } = parsed
  const contents = contentsOf(body)
  // No tokenizer produces more tokens than the text has bytes, and the JSON is never shorter than the text in it.
  const bound = byteLength - contents.pictureBytes + contents.addedTokens
  const input = contents.isOpen
    ? (model.contextTokens ?? bound + OPEN_TOKENS)
    : Math.min(bound, model.contextTokens ?? bound)
  // If the caller requests caching, all of the input may be written to the cache.
  const output = quotedOutput(body.max_tokens, parsed, model)
  const quantities: Quantities = { [contents.inputUnit]: input, output_token: output }
  if (contents.searches > 0) quantities.web_search = contents.searches
  return quantities
}

/** The output of a request: a vendor of messages writes only one candidate. */
export function outputOfMessages(body: MessagesBody): OutputTokens {
  return { most: body.max_tokens, least: leastOutput(body), candidates: 1 }
}

/** Minimum of useful output tokens. A vendor refuses a limit below the thinking budget. */
export function leastOutput({ max_tokens: most, thinking }: Pick<MessagesBody, 'max_tokens' | 'thinking'>) {
  const { budget_tokens: budget } = (thinking ?? {}) as { budget_tokens?: unknown }
  const thought = thinking?.type === 'enabled' && Number.isSafeInteger(budget) ? (budget as number) : 0
  return Math.min(most, thought + USEFUL_OUTPUT_TOKENS)
}

export function readMessage(
  reply: unknown,
  { body }: ParsedRequest<{ max_tokens?: number | null }>,
): Reading {
  const { type, content, usage, stop_reason: reason } = reply as Message
  const reported = usageOf(usage, 'total')
  const figures = reported.usage?.figures
  // Figures without output tokens do not measure the answer.
  const isWhole = figures === 'invalid' || figures?.output_token !== undefined
  // A request that only fills a cache expects no output.
  const isOfWorth = holdsText(content) || reason === 'refusal' || body.max_tokens === 0
  const shown = shownText(blocksIn(content).map(textOfBlock).join(''), isOfWorth)
  return {
    output: shown ?? (isUnseen(reason, usage) ? HIDDEN : undefined),
    ...(isWhole && reported),
    ...searchCalls(blocksIn(content)),
    end: type === 'error' || !Array.isArray(content) ? 'failed' : 'finished',
    ...(reason === 'refusal' && FILTERED),
  }
}

/** `refusal`: https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals. */
const FILTERED = { isFiltered: true }

/** Whether there is output that is not shown: up to the limit, or as hidden thinking. */
function isUnseen(reason: unknown, usage: unknown): boolean {
  if (reason === 'max_tokens') return true
  const details = isObject(usage) && isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  return (details.thinking_tokens as number) > 0
}

/** The texts of a request, counted if the vendor reports no usage. */
export const textsOfMessages = (body: MessagesBody): string[] => [
  ...textsOf(body.system),
  ...body.messages.flatMap(({ content }) => textsOf(content)),
  ...(body.tools ? [JSON.stringify(body.tools)] : []),
]

/** Tokens of a picture or a document of a usual size. */
const USUAL_MEDIA_TOKENS = 1_500
/** A common average of English prose and code; other scripts have more bytes and tokens. */
const BYTES_PER_TOKEN = 4

/** Tokens of the pictures and documents in a request, which have no text to count: an estimate. */
export function mediaTokensOfMessages(body: MessagesBody): number {
  return contentsOf(body).media * USUAL_MEDIA_TOKENS
}

/**
 * Input tokens before anybody has counted them: an estimate from the length of the request, made once when a stream begins. The
 * tokenizer would take milliseconds for a long conversation, which would delay the first event; the exact figure follows at the
 * end.
 */
export function estimateInput({ body, byteLength }: ParsedRequest<MessagesBody>): number {
  const { pictureBytes, media } = contentsOf(body)
  return Math.ceil((byteLength - pictureBytes) / BYTES_PER_TOKEN) + media * USUAL_MEDIA_TOKENS
}

export const plainMessages: PlainForm = {
  fields: [],
  body: ({ text }, model) => ({
    max_tokens: model.reserveOutputTokens,
    messages: [{ role: 'user', content: text }],
  }),
}

/** Tokens of the largest picture. */
const PICTURE_TOKENS = 4_784
/**
 * Maximum number of tokens per base64 character of a document: four for each of its bytes. A page takes at least a kilobyte. It is read as
 * text, compressed to about a third, and as a picture of up to a few thousand tokens.
 */
const TOKENS_PER_DOCUMENT_CHARACTER = 3
/** Sources of a document within the request; a document of any other kind may be as long as the model can read. */
const INLINE_SOURCES = new Set<unknown>(['base64', 'text', 'content'])
/** Sources of a document whose text is counted. */
const TEXT_SOURCES = new Set<unknown>(['text', 'content'])
/** Tokens that a vendor adds before the tools, and for each of its own tools. */
const TOOL_TOKENS = 1_000
/** Tokens held for input from outside the request, if the catalogue has no limit for the model. */
const OPEN_TOKENS = 65_536
/** Tools that the vendor runs itself and whose results the model reads. */
const VENDOR_TOOL = /^(web_|code_execution|mcp_)/

interface Contents {
  /** Bytes of the request that are pictures, which are counted by their size in pixels. */
  pictureBytes: number
  /** Number of pictures and of documents that are not text. */
  media: number
  addedTokens: number
  /** True if the vendor fetches or unpacks content of unknown length: it may fill the model's whole context. */
  isOpen: boolean
  /** The most expensive unit of the input: writing to a cache costs more than reading from it. */
  inputUnit: 'input_token' | 'cache_write_token' | 'cache_write_1h_token'
  /** Web searches that the vendor may run. */
  searches: number
}

function contentsOf(body: MessagesBody): Contents {
  const tools = blocksIn(body.tools).filter(isObject)
  const vendorTools = tools.filter(({ type }) => typeof type === 'string' && type !== 'custom')
  const contents: Contents = {
    pictureBytes: 0,
    media: 0,
    addedTokens: tools.length > 0 ? TOOL_TOKENS * (1 + vendorTools.length) : 0,
    isOpen: vendorTools.some(({ type }) => VENDOR_TOOL.test(type as string)) || 'mcp_servers' in body,
    inputUnit: 'input_token',
    searches: vendorTools.reduce((sum, tool) => sum + searchesOf(tool), 0),
  }
  for (const part of [body, ...tools]) noteCache(contents, part)
  for (const block of nestedIn([body.system, ...body.messages.map(({ content }) => content)])) {
    const source = isObject(block.source) ? block.source : {}
    noteCache(contents, block)
    // A conversation may add a tool later.
    const { definition } = isObject(block.tool) ? block.tool : {}
    if (isObject(definition)) contents.searches += searchesOf(definition)
    // A document within the request is no longer than its bytes allow.
    const isElsewhere = block.type === 'document' && !INLINE_SOURCES.has(source.type)
    contents.isOpen ||= isElsewhere || block.type === 'container_upload'
    if (block.type !== 'image' && block.type !== 'document') continue
    if (block.type === 'image' || !TEXT_SOURCES.has(source.type)) contents.media++
    const inline = source.type === 'base64' && typeof source.data === 'string' ? source.data.length : 0
    contents.pictureBytes += inline
    if (block.type === 'image') contents.addedTokens += PICTURE_TOKENS
    else if (inline > 0) contents.addedTokens += PICTURE_TOKENS + inline * TOKENS_PER_DOCUMENT_CHARACTER
  }
  return contents
}

function noteCache(contents: Contents, part: object): void {
  if (!('cache_control' in part) || !isObject(part.cache_control)) return
  if (part.cache_control.ttl === '1h') contents.inputUnit = 'cache_write_1h_token'
  else if (contents.inputUnit === 'input_token') contents.inputUnit = 'cache_write_token'
}

/** The number of searches that the caller allows. */
function searchesOf({ type, max_uses: most }: Record<string, unknown>): number {
  if (!isWebSearch(type)) return 0
  return Number.isSafeInteger(most) && (most as number) >= 0 ? (most as number) : OPEN_SEARCHES
}

/** All blocks, those in tool results and in documents too. */
function nestedIn(contents: readonly unknown[]): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = []
  const open = [...contents]
  // A list instead of recursion, which would visit deep blocks once for every level above them.
  for (let content = open.pop(); content !== undefined || open.length > 0; content = open.pop()) {
    // Content that a tool of the vendor has fetched is a single block.
    for (const block of isObject(content) ? [content] : blocksIn(content)) {
      if (!isObject(block)) continue
      found.push(block)
      open.push(block.content)
      if (isObject(block.source)) open.push(block.source.content)
    }
  }
  return found
}

interface Message {
  type?: unknown
  stop_reason?: unknown
  content?: unknown
  usage?: unknown
}

/**
 * Reads one event of a stream. The first event reports the input, a later one the output, and perhaps the input again: a stream
 * that ends between the two reports only the input.
 */
export function readMessageEvent(event: unknown): Reading {
  const { type, message, delta, content_block: block, usage } = event as Record<string, unknown>
  switch (type) {
    case 'message_start': {
      const { usage: first, content } = isObject(message) ? message : {}
      return { output: holdsText(content) ? SHOWN : undefined, ...usageOf(first, 'start') }
    }
    case 'content_block_start':
      return { output: shownText(textOfBlock(block), holdsText(block)), ...searchCalls([block]) }
    case 'content_block_delta':
      return { output: shownText(textOfDelta(delta), holdsText(delta)) }
    case 'message_delta': {
      const { stop_reason: reason } = isObject(delta) ? delta : {}
      const output = reason === 'refusal' ? SHOWN : isUnseen(reason, usage) ? HIDDEN : undefined
      return { output, ...usageOf(usage, 'update'), ...(reason === 'refusal' && FILTERED) }
    }
    case 'message_stop':
      return { end: 'finished' }
    case 'error':
      return { end: 'failed' }
  }
  return isUntypedError(event) ? { end: 'failed-disguised' } : {}
}

/** The searches that the vendor ran, by the blocks that report them. */
function searchCalls(blocks: readonly unknown[]): Pick<Reading, 'calls'> {
  const searches = blocks.filter((block) => {
    const { type, name } = asObject(block)
    return type === 'server_tool_use' && name === 'web_search'
  })
  return searches.length > 0 ? { calls: { web_search: searches.length } } : {}
}

/** The vendor's figures and reported tier; nothing for figures that are missing or impossible. */
function usageOf(usage: unknown, kind: UsageKind): Pick<Reading, 'usage' | 'serviceTier'> {
  const figures = messageFigures(usage)
  if (figures === undefined) return {}
  if (figures === 'invalid' || !isObject(usage))
    return { usage: { kind, figures: 'invalid', reported: usage } }
  // A faster mode is billed as its own tier, whatever the capacity.
  const tier = usage.speed === 'fast' ? usage.speed : usage.service_tier
  return {
    usage: { kind, figures, reported: usage },
    serviceTier: typeof tier === 'string' ? tier : undefined,
  }
}

/** The vendor's figures in our units, as many as there are. Cached tokens are not part of input_tokens. */
export function messageFigures(usage: unknown): Quantities | 'invalid' | undefined {
  if (!isObject(usage)) return undefined
  const lifetimes = isObject(usage.cache_creation) ? usage.cache_creation : {}
  const tools = isObject(usage.server_tool_use) ? usage.server_tool_use : {}
  const fields = [
    ['input_token', usage.input_tokens],
    ['cached_input_token', usage.cache_read_input_tokens],
    ['cache_write_token', usage.cache_creation_input_tokens ?? lifetimes.ephemeral_5m_input_tokens],
    ['cache_write_1h_token', lifetimes.ephemeral_1h_input_tokens],
    ['output_token', usage.output_tokens],
    // Zero counts too, if blocks report searches that failed.
    ['web_search', tools.web_search_requests],
  ] as const
  const quantities: Quantities = {}
  for (const [unit, count] of fields) {
    if (count === undefined || count === null) continue
    if (!Number.isSafeInteger(count) || (count as number) < 0 || (count as number) > ABSURD_FIGURE) {
      return 'invalid'
    }
    quantities[unit] = count as number
  }
  const long = quantities.cache_write_1h_token
  if (long !== undefined && (usage.cache_creation_input_tokens ?? null) !== null) {
    // The total includes these tokens too.
    quantities.cache_write_token = (quantities.cache_write_token ?? 0) - long
    if (quantities.cache_write_token < 0) return 'invalid'
  }
  // Figures under unknown names are ignored: they must not make an answer free.
  return Object.keys(quantities).length > 0 ? quantities : undefined
}

function textOfDelta(delta: unknown): string {
  const { text, thinking, partial_json: json } = isObject(delta) ? delta : {}
  return [text, thinking, json].filter((part) => typeof part === 'string').join('')
}

function textsOf(content: unknown): string[] {
  return typeof content === 'string' ? [content] : blocksIn(content).map(textOfBlock)
}

/** The text of a block: its words, the input of a tool, and nested blocks; pictures and files have no text. */
function textOfBlock(block: unknown): string {
  if (!isObject(block)) return ''
  const { text, thinking, name, input, title, content } = block
  const source = isObject(block.source) ? block.source : {}
  const words = [text, thinking, name, title, source.type === 'text' ? source.data : undefined]
  return [
    ...words.filter((word) => typeof word === 'string'),
    ...(isObject(input) ? [JSON.stringify(input)] : []),
    ...textsOf(content),
    ...textsOf(source.content),
  ].join('')
}

function blocksIn(content: unknown): unknown[] {
  return Array.isArray(content) ? content : []
}
