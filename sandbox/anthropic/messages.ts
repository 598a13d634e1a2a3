// The messages form of Anthropic, whole and streamed: content blocks, usage without cached input, named events. It must never check
// a request: it only renders accepted ones.

import { answerTo, type Choice, countOutput, type Question, type Tool, type ToolChoice } from '../answers'
import type { Directives } from '../directives'
import { asNumber, asObject, asObjects, asString, type JsonObject, parseJson } from '../json'
import { countTokens } from '../pieces'
import { hexId, jsonFrame, jsonReply } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'

const mediaTokens = new Map<unknown, number>([
  ['image', 85],
  ['document', 100],
])
const tokensPerMessage = 3
const tokensToBegin = 3
const thinkingTokens = 24
const signature = Buffer.from('signed by the sandbox').toString('base64')

export function countInput(body: JsonObject): number {
  let sum = tokensToBegin + countTokens(textOf(body.system))
  if (asObjects(body.tools).length > 0) sum += countTokens(JSON.stringify(body.tools))
  for (const message of asObjects(body.messages)) {
    sum += tokensPerMessage + countTokens(textOf(message.content))
    for (const block of asObjects(message.content)) sum += mediaTokens.get(block.type) ?? 0
  }
  return sum
}

export function messageReply(request: VendorRequest, headers: Record<string, string>): Reply {
  const body = asObject(request.json) ?? {}
  const { directives } = request
  const [choice] = answerTo(readQuestion(body, request))
  const counted = directives.promptTokens ?? countInput(body)
  const cached = directives.cached ?? 0
  const written = directives.written ?? 0
  const message = new Message(
    asString(body.model) ?? '',
    directives.refusal || !choice ? silence : choice,
    { input: Math.max(counted, cached + written), cached, written, isLong: asksForAnHour(body) },
    directives,
    searchesIn(body, directives),
  )
  const report = (usage: JsonObject) => reportUsage(usage, directives.usage)
  if (body.stream !== true) return jsonReply(200, message.whole(report), headers)
  const stream = {
    frames: message.frames(report),
    last: jsonFrame({ type: 'message_stop' }, 'message_stop'),
    failure: jsonFrame(
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'error',
    ),
  }
  return { status: 200, headers, body: { kind: 'events', stream } }
}

/** Whether the request asks for a cache of one hour. */
function asksForAnHour(body: JsonObject): boolean {
  return JSON.stringify(body).includes('"ttl":"1h"')
}

const silence: Choice = { reasoning: [], pieces: [], calls: [], end: 'stop' }

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return asObjects(content)
    .map((block) => asString(block.text) ?? (block.type === 'tool_result' ? textOf(block.content) : ''))
    .filter((text) => text !== '')
    .join('\n')
}

function readQuestion(body: JsonObject, request: VendorRequest): Question {
  const { directives } = request
  const users = asObjects(body.messages).filter((message) => message.role === 'user')
  const blocks = asObjects(users.at(-1)?.content)
  const results = blocks.filter((block) => block.type === 'tool_result')
  const tools = asObjects(body.tools).filter((tool) => tool.input_schema !== undefined)
  const thinking = asObject(body.thinking)?.type
  const thinks = thinking === 'enabled' || thinking === 'adaptive'
  const schema = asObject(asObject(body.output_config)?.format ?? body.output_format)?.schema
  return {
    said: textOf(users.at(-1)?.content),
    toolResult: results.length > 0 ? textOf(results) : undefined,
    tools: tools.map((tool): Tool => ({ name: asString(tool.name) ?? 'tool', schema: tool.input_schema })),
    toolChoice: readToolChoice(asObject(body.tool_choice)),
    format: schema === undefined ? formatWished(textOf(body.system)) : { schema },
    choices: 1,
    stops: [body.stop_sequences].flat().filter((stop) => typeof stop === 'string'),
    tokenLimit: asNumber(body.max_tokens),
    reasoningTokens: directives.reasoning ?? (thinks ? thinkingTokens : 0),
    directives,
  }
}

/** The format that the instructions ask for: this vendor has no field for JSON without a schema. */
function formatWished(instructions: string): Question['format'] {
  return /\bone JSON object\b/i.test(instructions) ? 'json' : 'text'
}

function readToolChoice(choice: JsonObject | undefined): ToolChoice {
  if (choice?.type === 'tool') return { name: asString(choice.name) ?? '' }
  if (choice?.type === 'any') return 'required'
  return choice?.type === 'none' ? 'none' : 'auto'
}

type Report = (usage: JsonObject) => JsonObject | undefined

/** A block of content: its start, the deltas that fill it, and its final form. */
interface Block {
  start: JsonObject
  deltas: JsonObject[]
  whole: JsonObject
}

/** A kind of block that no client knows yet. */
const unknownBlock: Block = {
  start: { type: 'weather_report', station: 'Bergen', readings: [] },
  deltas: [{ type: 'reading_delta', millimetres: 12 }],
  whole: { type: 'weather_report', station: 'Bergen', readings: [12] },
}

const refused = { type: 'refusal', category: 'cyber', explanation: 'The sandbox was asked to refuse.' }

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use' }

class Message {
  readonly #blocks: Block[]
  readonly #base: JsonObject

  constructor(
    model: string,
    readonly choice: Choice,
    readonly counts: { input: number; cached: number; written: number; isLong: boolean },
    readonly directives: Directives,
    readonly searches: number,
  ) {
    this.#blocks = [
      ...searchBlocks(searches),
      ...blocksOf(choice),
      ...(directives.unknown ? [unknownBlock] : []),
    ]
    this.#base = { model, id: `msg_${hexId(24)}`, type: 'message', role: 'assistant' }
  }

  whole(report: Report): JsonObject {
    const content = this.#blocks.map((block) => block.whole)
    return { ...this.#base, content, ...this.#stop(), usage: report(this.#usage(this.#output())) }
  }

  *frames(report: Report): Generator<EventFrame> {
    const empty = { content: [], stop_reason: null, stop_sequence: null }
    const early = this.directives.usage === 'late' ? { input_tokens: 1, cache_read_input_tokens: 0 } : {}
    const usage = report({ ...this.#usage(1), ...early })
    yield jsonFrame({ type: 'message_start', message: { ...this.#base, ...empty, usage } }, 'message_start')
    if (this.directives.unknown) yield jsonFrame({ type: 'message_mood', mood: 'sunny' }, 'message_mood')
    for (const [index, block] of this.#blocks.entries()) {
      const start = { type: 'content_block_start', index, content_block: block.start }
      yield jsonFrame(start, 'content_block_start')
      if (index === 0) yield jsonFrame({ type: 'ping' }, 'ping')
      for (const delta of block.deltas) {
        yield jsonFrame({ type: 'content_block_delta', index, delta }, 'content_block_delta')
      }
      yield jsonFrame({ type: 'content_block_stop', index }, 'content_block_stop')
    }
    const { stop_reason, stop_sequence, stop_details } = this.#stop()
    const details = stop_details === null ? {} : { stop_details }
    const end = { type: 'message_delta', delta: { stop_reason, stop_sequence, ...details } }
    yield jsonFrame({ ...end, usage: report(this.#finalUsage()) }, 'message_delta')
  }

  #output(): number {
    return countOutput(this.choice) + this.choice.reasoning.length
  }

  #stop() {
    if (this.directives.refusal) return { stop_reason: 'refusal', stop_sequence: null, stop_details: refused }
    const { end, stoppedAt } = this.choice
    if (stoppedAt !== undefined) {
      return { stop_reason: 'stop_sequence', stop_sequence: stoppedAt, stop_details: null }
    }
    return { stop_reason: stopReasons[end], stop_sequence: null, stop_details: null }
  }

  #finalUsage(): JsonObject {
    const { input, cached, written } = this.counts
    return {
      input_tokens: input - cached - written,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: cached,
      output_tokens: this.#output(),
      ...(this.searches > 0 && {
        server_tool_use: { web_search_requests: this.searches, web_fetch_requests: 0 },
      }),
    }
  }

  #usage(output: number): JsonObject {
    const { written, isLong } = this.counts
    return {
      ...this.#finalUsage(),
      cache_creation: {
        ephemeral_5m_input_tokens: isLong ? 0 : written,
        ephemeral_1h_input_tokens: isLong ? written : 0,
      },
      output_tokens: output,
      service_tier: 'standard',
      inference_geo: 'not_available',
    }
  }
}

/** The searches that the request triggers in the sandbox, limited by its tool. */
function searchesIn(body: JsonObject, { searches = 0 }: Directives): number {
  const tool = asObjects(body.tools).find(({ type }) => asString(type)?.startsWith('web_search_'))
  return tool ? Math.min(searches, asNumber(tool.max_uses) ?? searches) : 0
}

/** Searches and what they found: `ServerToolUseBlock` and `WebSearchToolResultBlock` of the SDK @anthropic-ai/sdk. */
function searchBlocks(searches: number): Block[] {
  return Array.from({ length: searches }, (_none, place) => {
    const id = `srvtoolu_${hexId(24)}`
    const query = `query ${place + 1}`
    const use = { type: 'server_tool_use', id, name: 'web_search' }
    const found = {
      type: 'web_search_result',
      url: 'https://example.com/',
      title: 'Example Domain',
      encrypted_content: signature,
      page_age: null,
    }
    const result = { type: 'web_search_tool_result', tool_use_id: id, content: [found] }
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify({ query }) }
    return [
      { start: { ...use, input: {} }, deltas: [delta], whole: { ...use, input: { query } } },
      { start: result, deltas: [], whole: result },
    ]
  }).flat()
}

function blocksOf(choice: Choice): Block[] {
  const blocks: Block[] = []
  if (choice.reasoning.length > 0) {
    const thinking = choice.reasoning.join('')
    blocks.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...choice.reasoning.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature },
      ],
      whole: { type: 'thinking', thinking, signature },
    })
  }
  if (choice.pieces.length > 0) {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: choice.pieces.map((text) => ({ type: 'text_delta', text })),
      whole: { type: 'text', text: choice.pieces.join('') },
    })
  }
  for (const call of choice.calls) {
    const start = { type: 'tool_use', id: `toolu_${hexId(24)}`, name: call.name, input: {} }
    const text = call.pieces.join('')
    blocks.push({
      start,
      deltas: ['', ...(text === '{}' ? [] : call.pieces)].map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
      whole: { ...start, input: parsedInput(text) },
    })
  }
  return blocks
}

/** Arguments as an object. Arguments cut off by max_tokens are not JSON; this simulator then shows an empty object. */
function parsedInput(text: string): unknown {
  return parseJson(text) ?? {}
}
