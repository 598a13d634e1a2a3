// The chat completions form of OpenAI, whole and streamed, with the variations of several vendors. It must never name a
// vendor: each difference is a field of ChatDialect.

import {
  answerTo,
  type Choice,
  countOutput,
  type Question,
  type Tool,
  type ToolCall,
  type ToolChoice,
} from '../answers'
import { interleaved } from '../interleaved'
import { asNumber, asObject, asObjects, asString, type JsonObject, printJson } from '../json'
import { countTokens } from '../pieces'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'

export interface TokenCounts {
  prompt: number
  cached: number
  /** Visible output: text and arguments of tool calls. */
  output: number
  reasoning: number
}

export interface ChatDialect {
  /** The name in replies, which may differ from the requested one. */
  replyModel(model: string): string
  /** Members of every reply and chunk. */
  envelope: JsonObject
  /** Members of a complete message, other than role and content. */
  message: JsonObject
  /** Members of the first delta of a choice, other than role and content. */
  firstDelta: JsonObject
  /** True if chunks carry random padding against eavesdroppers who measure lengths. */
  padded: boolean
  showsReasoning: boolean
  /** The form of a streamed tool call: in pieces, in pieces that repeat an empty id, or at once. */
  toolCalls: 'pieces' | 'pieces-with-empty-id' | 'whole'
  /** The `extra_content` of a text, or of the call at a place. Absent: none. */
  extraContent?(of: 'text' | number): JsonObject | undefined
  usage(counts: TokenCounts): JsonObject
  /** True if chunks before the figures have `usage: null`, in a stream that reports usage. */
  nullUsage: boolean
  streamFailure: JsonObject
  headers: Record<string, string>
}

interface Chat {
  request: VendorRequest
  body: JsonObject
  model: string
  question: Question
  promptTokens: number
}

const choicesMax = 128

/** Reads a body that the vendor has already accepted; unreadable values count as absent. */
export function readChat(request: VendorRequest, reasoningTokens: number): Chat {
  const body = asObject(request.json) ?? {}
  const messages = asObjects(body.messages)
  const last = messages.at(-1)
  const tools = asObjects(body.tools)
    .map((tool) => asObject(tool.function))
    .filter((tool) => tool !== undefined)
    .map((tool): Tool => ({ name: asString(tool.name) ?? 'tool', schema: tool.parameters }))
  const { directives } = request
  const question: Question = {
    said: textOf(messages.findLast((message) => message.role === 'user')?.content),
    toolResult: last?.role === 'tool' ? textOf(last.content) : undefined,
    tools,
    toolChoice: readToolChoice(body.tool_choice),
    format: readFormat(asObject(body.response_format)),
    choices: Math.min(Math.max(Math.floor(asNumber(body.n) ?? 1), 1), choicesMax),
    stops: [body.stop].flat().filter((stop) => typeof stop === 'string'),
    tokenLimit: asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens),
    reasoningTokens: directives.reasoning ?? reasoningTokens,
    directives,
  }
  const counted = countPrompt(messages) + (tools.length > 0 ? countTokens(JSON.stringify(body.tools)) : 0)
  const promptTokens = Math.max(directives.promptTokens ?? counted, directives.cached ?? 0)
  return { request, body, model: asString(body.model) ?? '', question, promptTokens }
}

export function chatReply(chat: Chat, dialect: ChatDialect): Reply {
  const choices = answerTo(chat.question)
  const headers = dialect.headers
  const envelope = {
    id: `chatcmpl-${crypto.randomUUID().replaceAll('-', '')}`,
    object: chat.body.stream === true ? 'chat.completion.chunk' : 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: dialect.replyModel(chat.model),
    ...dialect.envelope,
    ...servedTier(chat.body, dialect),
  }
  if (chat.body.stream !== true) {
    return {
      status: 200,
      headers,
      body: { kind: 'json', value: wholeReply(chat, dialect, choices, envelope) },
    }
  }
  const stream = {
    frames: streamFrames(chat, dialect, choices, envelope),
    last: { data: '[DONE]' },
    failure: { data: printJson(dialect.streamFailure) },
  }
  return { status: 200, headers, body: { kind: 'events', stream } }
}

/** The requested service tier, for vendors that have some. */
function servedTier({ service_tier: requested }: JsonObject, { envelope }: ChatDialect): JsonObject {
  const isNamed = typeof requested === 'string' && requested !== 'auto'
  return 'service_tier' in envelope && isNamed ? { service_tier: requested } : {}
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return asObjects(content)
    .map((part) => asString(part.text) ?? '')
    .filter((text) => text !== '')
    .join('\n')
}

// Vendors count media by size; a fixed figure for each kind keeps the sandbox predictable.
const mediaTokens = new Map<unknown, number>([
  ['image_url', 85],
  ['input_audio', 50],
  ['file', 100],
  ['video_url', 300],
  ['video', 300],
])
const tokensPerMessage = 3
const tokensToBegin = 3

function countPrompt(messages: readonly JsonObject[]): number {
  let sum = tokensToBegin
  for (const message of messages) {
    sum += tokensPerMessage + countTokens(textOf(message.content))
    for (const part of asObjects(message.content)) sum += mediaTokens.get(part.type) ?? 0
    for (const call of asObjects(message.tool_calls)) {
      const named = asObject(call.function) ?? {}
      sum += countTokens(`${asString(named.name) ?? ''} ${asString(named.arguments) ?? ''}`)
    }
  }
  return sum
}

function readToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none' || choice === 'required') return choice
  const object = asObject(choice) ?? {}
  const name = asString(asObject(object.function)?.name)
  if (name !== undefined) return { name }
  return asObject(object.allowed_tools)?.mode === 'required' ? 'required' : 'auto'
}

function readFormat(format: JsonObject | undefined): Question['format'] {
  if (format?.type === 'json_object') return 'json'
  return format?.type === 'json_schema' ? { schema: asObject(format.json_schema)?.schema } : 'text'
}

function finishReason(end: Choice['end']): string {
  return end === 'tool' ? 'tool_calls' : end
}

function logProbability(piece: string): JsonObject {
  return { token: piece, logprob: -0.01, bytes: [...new TextEncoder().encode(piece)], top_logprobs: [] }
}

function wholeReply(chat: Chat, dialect: ChatDialect, choices: Choice[], envelope: JsonObject): JsonObject {
  const counts = noTokens(chat)
  const wantsLogprobs = chat.body.logprobs === true
  const items = choices.map((choice, index) => {
    counts.output += countOutput(choice)
    counts.reasoning += choice.reasoning.length
    const message: JsonObject = {
      role: 'assistant',
      content: choice.calls.length > 0 ? null : choice.pieces.join(''),
      ...dialect.message,
      ...(choice.calls.length === 0 && extraOf(dialect, 'text')),
    }
    if (dialect.showsReasoning && choice.reasoning.length > 0) {
      message.reasoning_content = choice.reasoning.join('')
    }
    if (choice.calls.length > 0) {
      message.tool_calls = choice.calls.map((call, place) => ({
        id: callId(),
        type: 'function',
        function: { name: call.name, arguments: call.pieces.join('') },
        ...extraOf(dialect, place),
      }))
    }
    const logprobs = wantsLogprobs ? { content: choice.pieces.map(logProbability), refusal: null } : null
    return { index, message, logprobs, finish_reason: finishReason(choice.end) }
  })
  const usage = reportUsage(dialect.usage(counts), chat.question.directives.usage)
  return { ...envelope, choices: items, usage }
}

function extraOf({ extraContent }: ChatDialect, of: 'text' | number): JsonObject {
  const extra = extraContent?.(of)
  return extra ? { extra_content: extra } : {}
}

function callId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
}

function noTokens(chat: Chat): TokenCounts {
  const cached = chat.question.directives.cached ?? 0
  return { prompt: chat.promptTokens, cached, output: 0, reasoning: 0 }
}

/** One chunk before it is printed: what a choice adds, and its tokens. */
interface Step {
  index: number
  delta: JsonObject
  piece?: string
  finish?: string
  output: number
  reasoning: number
}

function* streamFrames(
  chat: Chat,
  dialect: ChatDialect,
  choices: Choice[],
  envelope: JsonObject,
): Generator<EventFrame> {
  const options = asObject(chat.body.stream_options)
  const fault = chat.question.directives.usage
  const wantsUsage = options?.include_usage === true
  const wantsPadding = dialect.padded && options?.include_obfuscation !== false
  const wantsLogprobs = chat.body.logprobs === true
  const counts = noTokens(chat)
  const chunk = (items: unknown[], usage: JsonObject | null | undefined): JsonObject => ({
    ...envelope,
    choices: items,
    usage,
  })
  for (const step of interleaved(choices.map((choice, index) => choiceSteps(choice, index, dialect)))) {
    counts.output += step.output
    counts.reasoning += step.reasoning
    const { index, delta, piece } = step
    const logprobs =
      wantsLogprobs && piece !== undefined ? { content: [logProbability(piece)], refusal: null } : null
    const items = [{ index, delta, logprobs, finish_reason: step.finish ?? null }]
    const running =
      fault === 'every_chunk' ? dialect.usage(counts) : wantsUsage && dialect.nullUsage ? null : undefined
    const padding = wantsPadding ? { obfuscation: 'x'.repeat(1 + (counts.output % 7)) } : {}
    yield { data: printJson({ ...chunk(items, running), ...padding }) }
  }
  const usage = wantsUsage ? reportUsage(dialect.usage(counts), fault) : undefined
  if (usage) yield { data: printJson(chunk([], usage)) }
}

function* choiceSteps(choice: Choice, index: number, dialect: ChatDialect): Generator<Step> {
  const visible = dialect.showsReasoning ? choice.reasoning : []
  // Hidden thinking shows only in the counts, as soon as the choice begins.
  const hidden = choice.reasoning.length - visible.length
  const hasCalls = choice.calls.length > 0
  const opening = {
    role: 'assistant',
    content: hasCalls ? null : '',
    ...dialect.firstDelta,
    ...(!hasCalls && extraOf(dialect, 'text')),
  }
  // If a tool call comes first, it carries the opening members itself.
  const opensAlone = !hasCalls || visible.length > 0
  if (opensAlone) yield { index, delta: opening, output: 0, reasoning: hidden }
  for (const piece of visible) yield { index, delta: { reasoning_content: piece }, output: 0, reasoning: 1 }
  let carriesOpening = !opensAlone
  for (const { delta, output } of callDeltas(choice.calls, dialect)) {
    if (carriesOpening) yield { index, delta: { ...opening, ...delta }, output, reasoning: hidden }
    else yield { index, delta, output, reasoning: 0 }
    carriesOpening = false
  }
  for (const piece of choice.pieces) {
    yield { index, delta: { content: piece }, piece, output: 1, reasoning: 0 }
  }
  yield { index, delta: {}, finish: finishReason(choice.end), output: 0, reasoning: 0 }
}

function* callDeltas(
  calls: readonly ToolCall[],
  dialect: ChatDialect,
): Generator<{ delta: JsonObject; output: number }> {
  const later = dialect.toolCalls === 'pieces-with-empty-id' ? { id: '', type: 'function' } : {}
  for (const [index, call] of calls.entries()) {
    const whole = dialect.toolCalls === 'whole'
    const head = { name: call.name, arguments: whole ? call.pieces.join('') : '' }
    const first = { index, id: callId(), type: 'function', function: head, ...extraOf(dialect, index) }
    yield { delta: { tool_calls: [first] }, output: whole ? call.pieces.length : 0 }
    if (whole) continue
    for (const piece of call.pieces) {
      yield { delta: { tool_calls: [{ index, ...later, function: { arguments: piece } }] }, output: 1 }
    }
  }
}
