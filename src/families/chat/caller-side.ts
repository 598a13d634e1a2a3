// Shared by all families of chat completions: the caller's side of POST /v1/chat/completions, and the reading of
// replies and events of that form. It must never decide what a vendor is sent: that is in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Model, OutputTokens, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { type Ending, HIDDEN, type Made, type Reading, SHOWN } from '../../contract/reading'
import { failureByReason, isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { holdsText, isObject } from '../../lib/objects'
import {
  ABSURD_FIGURE,
  optionalField,
  outputWithSeparateCache,
  quotedOutput,
  reportedCount,
  USEFUL_OUTPUT_TOKENS,
} from '../shared-schemas'
import { partIn, usageIn } from './answer-parts'

const open = { additionalProperties: true }

const Message = Type.Object(
  {
    role: Type.Union(
      (['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const).map((role) =>
        Type.Literal(role),
      ),
    ),
    content: optionalField(
      Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }, open))]),
    ),
    name: optionalField(Type.String()),
    tool_call_id: optionalField(Type.String()),
  },
  open,
)

export const ChatBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    messages: Type.Array(Message, { minItems: 1, maxItems: 16_384 }),
    stream: optionalField(Type.Boolean()),
    temperature: optionalField(Type.Number({ minimum: 0, maximum: 2 })),
    max_tokens: optionalField(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    max_completion_tokens: optionalField(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    top_p: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
    tools: optionalField(Type.Array(Type.Unknown())),
    tool_choice: optionalField(Type.Union([Type.String(), Type.Object({}, open)])),
    response_format: optionalField(Type.Object({}, open)),
    stop: optionalField(Type.Union([Type.String(), Type.Array(Type.String())])),
    n: optionalField(Type.Integer({ minimum: 1, maximum: 128 })),
    seed: optionalField(Type.Integer()),
    frequency_penalty: optionalField(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: optionalField(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: optionalField(Type.Object({}, open)),
    parallel_tool_calls: optionalField(Type.Boolean()),
    logprobs: optionalField(Type.Boolean()),
    top_logprobs: optionalField(Type.Integer({ minimum: 0, maximum: 20 })),
    reasoning_effort: optionalField(Type.String()),
    verbosity: optionalField(Type.String()),
    modalities: optionalField(Type.Array(Type.String())),
    audio: optionalField(Type.Object({}, open)),
    prediction: optionalField(Type.Object({}, open)),
    stream_options: optionalField(Type.Object({ include_usage: optionalField(Type.Boolean()) }, open)),
    store: optionalField(Type.Boolean()),
    metadata: optionalField(Type.Object({}, open)),
    user: optionalField(Type.String()),
    prompt_cache_key: optionalField(Type.String()),
    prompt_cache_retention: optionalField(Type.String()),
  },
  open,
)
export type ChatBody = Static<typeof ChatBody>

/** Tokens held for a part whose size its text does not show, such as a linked image. */
const IMAGE_TOKENS = 4_096
const MEDIA_TOKENS = 32_768
/**
 * Tokens held for any audio, however short, with one more per number of letters of base64: most vendors count 10 to
 * 32 a second.
 */
const SOUND_TOKENS = 1_024
const SOUND_LENGTH_PER_TOKEN = 16

/** The `data` that closes a stream. */
export const CHAT_END = '[DONE]'

export function checkChat(body: ChatBody): void {
  body.messages.forEach((message, index) => {
    const needsContent = message.role !== 'assistant' && message.role !== 'function'
    if (needsContent && (message.content === undefined || message.content === null)) {
      throw invalidRequest(
        `messages[${index}].content`,
        `Missing 'messages[${index}].content': expected a string or an array of parts.`,
      )
    }
    if (message.role === 'tool' && !message.tool_call_id) {
      throw invalidRequest(
        `messages[${index}].tool_call_id`,
        `Missing 'messages[${index}].tool_call_id': a message of role 'tool' names the call that it answers.`,
      )
    }
  })
}

export function quoteChat(parsed: ParsedRequest<ChatBody>, model: Model): Quantities {
  const { body, byteLength } = parsed
  // No tokenizer produces more tokens than the text has bytes, and the JSON is never shorter than the text in it.
  const most = model.contextTokens ?? Number.POSITIVE_INFINITY
  const media = mediaIn(body, model)
  const input = Math.min(byteLength - media.soundLength + media.tokens, most)
  const each = quotedOutput(outputLimit(body), parsed, model)
  const output = (each + predictedTokens(body, model)) * (body.n ?? 1)
  const speaks = isSpoken(body, model)
  const quantities: Quantities = {
    // A vendor that charges for cache writes also writes prompts to its cache without being asked.
    [hasPrice(model.priceList, 'cache_write_token') ? 'cache_write_token' : 'input_token']: input,
    // All of the output may be spoken.
    [speaks ? 'output_audio_token' : 'output_token']: output,
  }
  if (media.soundTokens > 0) quantities.input_audio_token = Math.min(media.soundTokens, most)
  const sources = sourcesOf(body)
  if (sources > 0) quantities.search_source = sources
  return quantities
}

/** The output of a request, which may be cut between tokens. Spoken output is not counted by the tokens of its text. */
export function outputOfChat(body: ChatBody, model: Model): OutputTokens | undefined {
  if (isSpoken(body, model)) return undefined
  const most = outputLimit(body) ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY
  return { most, least: Math.min(most, USEFUL_OUTPUT_TOKENS), candidates: body.n ?? 1 }
}

export function readCompletion(reply: unknown): Reading {
  const completion = reply as Completion
  const { error, service_tier: tier } = completion
  const choices = choicesIn(completion)
  const usage = usageIn(completion)
  // A reply without a candidate is not a completion, whatever else it contains.
  const failed =
    isError(error) ||
    choices.length === 0 ||
    failureByReason(choices) !== undefined ||
    (endsBy(choices, 'error') && !choices.some(isOfWorth))
  const figures = chatFigures(usage)
  return {
    output: outputOf(choices, 'message', usage),
    usage: figures && { kind: 'total', figures, reported: usage },
    serviceTier: typeof tier === 'string' ? tier : undefined,
    end: failed ? 'failed' : 'finished',
    isFiltered: areFiltered(choices),
  }
}

export function readChunk(event: unknown): Reading {
  const chunk = event as Completion
  const { service_tier: tier } = chunk
  const choices = choicesIn(chunk)
  const usage = usageIn(chunk)
  const figures = chatFigures(usage)
  return {
    output: outputOf(choices, 'delta', usage),
    usage: figures && { kind: choices.every(isSilent) ? 'separate' : 'total', figures, reported: usage },
    serviceTier: typeof tier === 'string' ? tier : undefined,
    end: endingOf(chunk, choices),
    isFiltered: areFiltered(choices),
  }
}

/** Usage in a separate event comes last. */
function endingOf(chunk: Completion, choices: readonly Choice[]): Ending | undefined {
  const { error, usage } = chunk
  const hasUsage = isObject(usage)
  const isLast = choices.length === 0 ? hasUsage : choices.some(({ finish_reason: reason }) => reason)
  if (failureByReason(choices)) return 'failed-disguised'
  if (isError(error) || endsBy(choices, 'error')) return isLast ? 'finished-failed' : 'failed'
  if (isLast) return 'finished'
  return !Array.isArray(chunk.choices) && !hasUsage && isErrorShape(chunk) ? 'failed-disguised' : undefined
}

function outputOf(choices: readonly Choice[], field: 'message' | 'delta', usage: unknown): Made | undefined {
  const text = textOf(choices, field)
  // Most events of a stream are text and need no further inspection.
  if (text !== '') return { kind: 'shown', text }
  if (choices.some(isOfWorth)) return SHOWN
  // The model may have spent the whole limit on thinking.
  return endsBy(choices, 'length') || thinks(usage) ? HIDDEN : undefined
}

/** Output in any of the places where servers put it, or a refusal without further details from the vendor. */
function isOfWorth({ message, delta, text, finish_reason: reason }: Choice): boolean {
  return (
    reason === 'content_filter' ||
    holdsText(message, 'name') ||
    holdsText(delta, 'name') ||
    holdsText(text, 'name')
  )
}

/** Whether a filter blocked each choice. Some servers pass on Google's name for it. */
function areFiltered(choices: readonly Choice[]): boolean {
  return (
    choices.length > 0 &&
    choices.every(({ finish_reason: reason }) => reason === 'content_filter' || reason === 'safety')
  )
}

/** Whether a choice is empty, such as the one that gateways send with the figures at the end of a stream. */
function isSilent({ message, delta, text, finish_reason: reason }: Choice): boolean {
  return !reason && !text && !message && (!isObject(delta) || Object.values(delta).every(isNothing))
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

function endsBy(choices: readonly Choice[], reason: string): boolean {
  for (const choice of choices) if (choice.finish_reason === reason) return true
  return false
}

/** Whether the vendor counts thinking, separately from the rest or as part of it. */
function thinks(usage: unknown): boolean {
  if (!isObject(usage)) return false
  const details = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  const uncounted =
    reportedCount(usage.total_tokens) -
    reportedCount(usage.prompt_tokens) -
    reportedCount(usage.completion_tokens)
  return reportedCount(details.reasoning_tokens) > 0 || uncounted > 0
}

function choicesIn({ choices }: Completion): Choice[] {
  if (!Array.isArray(choices)) return []
  return choices.every(isObject) ? choices : choices.filter(isObject)
}

/** The texts of a request, counted if the vendor reports no usage. */
export const textsOfChat = (body: ChatBody): string[] => [
  ...body.messages.flatMap((message) => textsIn(message)),
  ...(body.tools ? [JSON.stringify(body.tools)] : []),
]

export const plainChat: PlainForm = {
  fields: ['n'],
  body: ({ text, ...options }) => ({ messages: [{ role: 'user', content: text }], ...options }),
}

interface Completion {
  choices?: unknown
  usage?: unknown
  service_tier?: unknown
  error?: unknown
}

interface Choice {
  message?: unknown
  delta?: unknown
  /** The place of text in answers of POST /v1/completions; some servers use it for other answers too. */
  text?: unknown
  finish_reason?: unknown
}

/**
 * The most output tokens of one candidate, if the caller sets a limit. If both limits are given, the larger counts, because a vendor may know only
 * one of them.
 */
function outputLimit(body: ChatBody): number | undefined {
  return Math.max(body.max_completion_tokens ?? 0, body.max_tokens ?? 0) || undefined
}

function isSpoken({ modalities }: ChatBody, { traits }: Model): boolean {
  return modalities?.includes('audio') === true && traits.speech
}

/**
 * Tokens held for a prediction. Its wrong parts are billed as output, in addition to the answer. It is not sent to some models.
 */
function predictedTokens({ prediction }: ChatBody, { traits }: Model): number {
  return prediction && traits.prediction ? Buffer.byteLength(JSON.stringify(prediction)) : 0
}

interface Media {
  tokens: number
  soundTokens: number
  /** Length of the audio in the request's text, in characters. */
  soundLength: number
}

function mediaIn(body: ChatBody, { priceList }: Model): Media {
  const media: Media = { tokens: 0, soundTokens: 0, soundLength: 0 }
  // The audio track of a video may be billed as audio.
  const seen = hasPrice(priceList, 'input_audio_token') ? 'soundTokens' : 'tokens'
  for (const { content, audio } of body.messages as (ChatBody['messages'][number] & { audio?: unknown })[]) {
    // An earlier spoken answer; the request has only its id.
    if (isObject(audio)) media.soundTokens += MEDIA_TOKENS
    if (!Array.isArray(content)) continue
    for (const part of content) {
      if (part.type === 'text') continue
      const data = dataOf(part)
      if (/audio/i.test(part.type) || /^data:audio/i.test(data)) addSound(media, data)
      else if (part.type === 'image_url') media.tokens += IMAGE_TOKENS
      else media[seen] += MEDIA_TOKENS
    }
  }
  return media
}

/** The bytes of a part as text, or their address. */
function dataOf(part: object): string {
  const { input_audio: sound, file, image_url: image } = part as Record<string, unknown>
  const [data] = [detailOf(sound, 'data'), detailOf(file, 'file_data'), detailOf(image, 'url')].filter(
    (value) => typeof value === 'string',
  )
  return (data as string | undefined) ?? ''
}

function addSound(media: Media, data: string): void {
  // A link shows nothing of the size behind it.
  if (data === '' || /^https?:/.test(data)) media.soundTokens += MEDIA_TOKENS
  else {
    media.soundLength += data.length
    media.soundTokens += SOUND_TOKENS + Math.ceil(data.length / SOUND_LENGTH_PER_TOKEN)
  }
}

/** Documents that the model may search for an answer; some vendors bill each. */
const SEARCH_SOURCES = 20

function sourcesOf(body: ChatBody): number {
  const { search_parameters: search } = body as { search_parameters?: unknown }
  if (!isObject(search) || search.mode === 'off') return 0
  const most = search.max_search_results
  return Number.isSafeInteger(most) && (most as number) >= 0 ? (most as number) : SEARCH_SOURCES
}

/**
 * OpenAI's usage in our units. Cached tokens are part of prompt_tokens, or reported in addition if they are more. Some vendors
 * include reasoning in total_tokens but not in completion_tokens, so output is the total without the prompt.
 */
export function chatFigures(usage: unknown): Quantities | 'invalid' | undefined {
  if (!isObject(usage)) return undefined
  const prompt = reportedCount(usage.prompt_tokens)
  const completion = reportedCount(usage.completion_tokens)
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : undefined
  // Some vendors report cached tokens outside of the details, or have no details.
  const cached = reportedCount(details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens)
  const written = reportedCount(details?.cache_write_tokens ?? details?.cache_creation_input_tokens)
  const rest = reportedCount(usage.total_tokens) - prompt
  const isBeside = cached > prompt
  const output = isBeside
    ? outputWithSeparateCache(
        { rest, output: completion, cached },
        detailOf(usage.completion_tokens_details, 'reasoning_tokens'),
      )
    : Math.max(completion, rest)
  // NaN, which stands for an invalid count, fails this comparison.
  const sane = Math.max(prompt, completion, cached, written, output) <= ABSURD_FIGURE
  const fresh = prompt - written - (isBeside ? 0 : cached)
  if (!sane || fresh < 0 || usage.prompt_tokens === undefined) return 'invalid'
  const quantities: Quantities = { input_token: fresh, output_token: output }
  if (cached > 0) quantities.cached_input_token = cached
  if (written > 0) quantities.cache_write_token = written
  return addRare(quantities, usage) ? quantities : 'invalid'
}

/** Adds audio, and the vendor's own tools, which few answers have. False if the figures are impossible. */
function addRare(quantities: Quantities, usage: Record<string, unknown>): boolean {
  const audio = reportedCount(detailOf(usage.prompt_tokens_details, 'audio_tokens'))
  const spoken = reportedCount(detailOf(usage.completion_tokens_details, 'audio_tokens'))
  const sources = reportedCount(usage.num_sources_used)
  if (audio + spoken + sources === 0) return true
  if (!(Math.max(audio, spoken, sources) <= ABSURD_FIGURE)) return false
  if (spoken > (quantities.output_token ?? 0)) return false
  // Audio is part of the prompt. Cached tokens may be audio too: as many as do not fit into the rest.
  const fresh = (quantities.input_token ?? 0) + (quantities.cache_write_token ?? 0)
  const cachedAudio = Math.max(0, audio - fresh)
  let rest = audio
  for (const unit of ['input_token', 'cached_input_token', 'cache_write_token'] as const) {
    const part = Math.min(rest, quantities[unit] ?? 0)
    if (part > 0) quantities[unit] = (quantities[unit] ?? 0) - part
    rest -= part
  }
  if (rest > 0) return false
  if (audio > 0) quantities.input_audio_token = audio - cachedAudio
  if (cachedAudio > 0) quantities.cached_input_audio_token = cachedAudio
  if (spoken > 0) {
    quantities.output_token = (quantities.output_token ?? 0) - spoken
    quantities.output_audio_token = spoken
  }
  if (sources > 0) quantities.search_source = sources
  return true
}

function detailOf(details: unknown, name: string): unknown {
  return isObject(details) ? details[name] : undefined
}

/** All text that the model wrote in a reply or an event, for every candidate. */
function textOf(choices: readonly Choice[], field: 'message' | 'delta'): string {
  let text = ''
  for (const choice of choices) {
    const { thinking, text: words, refusal, calls } = partIn(choice[field])
    if (typeof choice.text === 'string') text += choice.text
    text += thinking + words + refusal
    for (const { name, arguments: input } of calls) text += name + input
  }
  return text
}

/** Strings of a message that a model reads as text; data URLs are left out. */
function textsIn(message: ChatBody['messages'][number]): string[] {
  const { content } = message
  if (typeof content === 'string') return [content]
  const parts = Array.isArray(content) ? content : []
  const texts = parts.flatMap((part) =>
    typeof (part as { text?: unknown }).text === 'string' ? [(part as unknown as { text: string }).text] : [],
  )
  return 'tool_calls' in message ? [...texts, JSON.stringify(message.tool_calls)] : texts
}

/** Whether a body has an error: an object, as OpenAI sends it, or a sentence, as other servers do. */
function isError(error: unknown): boolean {
  return isObject(error) || (typeof error === 'string' && error !== '')
}
