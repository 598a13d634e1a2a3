// The maximum that a conversation can use, and its texts, for any dialect and protocol. It must never be less than what any vendor
// behind a bridge counts.

import type { Model, OutputTokens, ParsedRequest, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { quotedOutput, USEFUL_OUTPUT_TOKENS } from '../shared-schemas'
import type { CacheMark, Conversation, Part } from './conversation'

/** Tokens of the largest picture. */
const PICTURE_TOKENS = 4_784
/**
 * Maximum number of tokens of a picture in addition to those, if it is unknown how a vendor counts: OpenAI's smallest models count 2,833,
 * and 5,667 for each of up to 8 tiles (https://platform.openai.com/docs/guides/images-vision). A picture of fewer bytes counts
 * less.
 */
const EXPENSIVE_PICTURE_TOKENS = 50_000
/**
 * Maximum number of tokens per base64 character of a document: four for each of its bytes. A page takes at least a kilobyte. It is read as
 * text, compressed to about a third, and as a picture of up to a few thousand tokens.
 */
const TOKENS_PER_DOCUMENT_CHARACTER = 3
/** Tokens held for linked audio or video. */
const MEDIA_TOKENS = 32_768
/** Tokens held for any sound, however short, with one more per number of letters of base64: most vendors count 10 to 32 a second. */
const SOUND_TOKENS = 1_024
const SOUND_LENGTH_PER_TOKEN = 16
/** Tokens that a vendor adds before the tools. */
const TOOL_TOKENS = 1_000
/** Tokens held for input from outside the request, if the catalogue has no limit for the model. */
const OPEN_TOKENS = 65_536
/** Tokens of a picture or a document of a usual size. */
const USUAL_MEDIA_TOKENS = 1_500

/** The facts about a protocol that decide what a request can use. */
export interface QuoteRules {
  /** True if the vendor writes prompts to its cache only on request. */
  cachesByMarks?: boolean
  /** True if a picture counts by its pixels, up to those of the largest. */
  countsPixels?: boolean
  /** True if linked audio or video may be hours long, and fill the model's whole context. */
  watchesFilms?: boolean
  /** True if answers may contain pictures, whose tokens the vendor counts. */
  drawsPictures?: boolean
  /** Lowest limit of output tokens that the vendor accepts. */
  leastLimit?: number
  /** True if the vendor requires a limit: if the caller sets none, the model's own is sent. */
  requiresLimit?: boolean
}

/** The most that a request can use. `byteLength` is that of its text, with what a bridge adds. */
export function quoteConversation(
  conversation: Conversation,
  parsed: Pick<ParsedRequest, 'byteLength' | 'outputTokens'>,
  model: Model,
  rules: QuoteRules,
): Quantities {
  const { settings, tools } = conversation
  const media = mediaIn(conversation, model, rules)
  const bound = parsed.byteLength - media.bytes + media.tokens + (tools.length > 0 ? TOOL_TOKENS : 0)
  const most = model.contextTokens ?? Number.POSITIVE_INFINITY
  const input = media.isOpen ? (model.contextTokens ?? bound + OPEN_TOKENS) : Math.min(bound, most)
  const limit = settings.limit && Math.max(settings.limit.tokens, rules.leastLimit ?? 0)
  const each: Quantities = {
    [inputUnit(conversation, model, rules)]: input,
    [draws(model, rules) ? 'output_image_token' : 'output_token']: quotedOutput(limit, parsed, model),
  }
  if (media.soundTokens > 0) each.input_audio_token = Math.min(media.soundTokens, most)
  // Each candidate is a call of its own, and reads the prompt again.
  return Object.fromEntries(Object.entries(each).map(([unit, count]) => [unit, count * settings.candidates]))
}

/** Whether the output may consist of pictures, at a price of their own. */
function draws({ priceList }: Model, { drawsPictures }: QuoteRules): boolean {
  return drawsPictures === true && !priceList.isFree && hasPrice(priceList, 'output_image_token')
}

/**
 * The output of a request; undefined for pictures, which arrive whole. `thinkingTokens` are those reserved for thinking, within the
 * limit.
 */
export function outputOfConversation(
  { settings }: Conversation,
  model: Model,
  rules: QuoteRules,
  thinkingTokens: number,
): OutputTokens | undefined {
  if (draws(model, rules)) return undefined
  const { leastLimit = 0, requiresLimit } = rules
  const { limit, candidates } = settings
  const unlimited =
    model.maxOutputTokens ?? (requiresLimit ? model.reserveOutputTokens : Number.POSITIVE_INFINITY)
  const most = limit ? Math.max(limit.tokens, leastLimit) : unlimited
  return { most, least: Math.min(most, thinkingTokens + USEFUL_OUTPUT_TOKENS), candidates }
}

/** The texts of a request, counted if the vendor reports no usage. */
export function textsOfConversation(conversation: Conversation): string[] {
  const texts: string[] = []
  for (const turn of conversation.turns) {
    if (turn.side === 'assistant') {
      for (const step of turn.steps) {
        if (step.kind === 'call') texts.push(step.call.name, step.call.input)
        else if (step.text !== '') texts.push(step.text)
      }
    }
  }
  for (const part of partsOf(conversation)) if (part.type === 'text') texts.push(part.text)
  const tools = conversation.tools.map(({ name, description, parameters, custom }) => ({
    name,
    description,
    parameters,
    custom,
  }))
  return tools.length > 0 ? [...texts, JSON.stringify(tools)] : texts
}

/** Tokens of the pictures and documents in a request, which have no text to count: an estimate. */
export function mediaTokensOfConversation(conversation: Conversation): number {
  return partsOf(conversation).filter(({ type }) => type !== 'text').length * USUAL_MEDIA_TOKENS
}

/** The most expensive unit of the input: writing to a cache costs more than reading from it. */
function inputUnit(
  conversation: Conversation,
  { priceList }: Model,
  { cachesByMarks }: QuoteRules,
): 'input_token' | 'cache_write_token' | 'cache_write_1h_token' {
  if (!cachesByMarks) return hasPrice(priceList, 'cache_write_token') ? 'cache_write_token' : 'input_token'
  const marks = marksIn(conversation)
  if (marks.some(({ ttl }) => ttl === '1h')) return 'cache_write_1h_token'
  return marks.length > 0 ? 'cache_write_token' : 'input_token'
}

function marksIn(conversation: Conversation): CacheMark[] {
  const { turns, tools, cache } = conversation
  const holders: { cache?: CacheMark }[] = [{ ...(cache && { cache }) }, ...tools, ...partsOf(conversation)]
  for (const turn of turns) {
    if (turn.side === 'user') holders.push(...turn.results)
    else if (turn.side === 'assistant') {
      holders.push(...turn.steps.map((step) => (step.kind === 'call' ? step.call : step)))
    }
  }
  return holders.flatMap(({ cache: mark }) => mark ?? [])
}

interface Media {
  /** Characters of the request that are files, which are counted by their contents. */
  bytes: number
  tokens: number
  soundTokens: number
  /** True if a document is linked: it may fill the model's whole context. */
  isOpen: boolean
}

function mediaIn(conversation: Conversation, model: Model, rules: QuoteRules): Media {
  const { priceList, contextTokens = OPEN_TOKENS } = model
  const elsewhere = rules.watchesFilms ? contextTokens : MEDIA_TOKENS
  const media: Media = { bytes: 0, tokens: 0, soundTokens: 0, isOpen: false }
  // Audio, and video with its audio track, may be billed as audio.
  const soundUnit = hasPrice(priceList, 'input_audio_token') ? 'soundTokens' : 'tokens'
  for (const part of partsOf(conversation)) {
    if (part.type === 'text') continue
    const inline = part.url.startsWith('data:') ? part.url.length - part.url.indexOf(',') - 1 : 0
    if (part.type === 'image') {
      media.bytes += inline
      media.tokens += PICTURE_TOKENS + (rules.countsPixels ? 0 : Math.min(inline, EXPENSIVE_PICTURE_TOKENS))
    } else if (part.type === 'video') media[soundUnit] += inline === 0 ? elsewhere : MEDIA_TOKENS
    else if (part.type === 'audio' || /^data:audio/i.test(part.url)) {
      media.bytes += inline
      media[soundUnit] += inline === 0 ? elsewhere : soundTokens(inline)
    } else {
      media.isOpen ||= inline === 0
      media.bytes += inline
      if (inline > 0) media.tokens += PICTURE_TOKENS + inline * TOKENS_PER_DOCUMENT_CHARACTER
    }
  }
  return media
}

/** Audio within the request counts by its length. */
function soundTokens(inline: number): number {
  return SOUND_TOKENS + Math.ceil(inline / SOUND_LENGTH_PER_TOKEN)
}

/** All parts, including those in instructions and in tool results. */
function partsOf({ turns }: Conversation): Part[] {
  return turns.flatMap((turn): readonly Part[] => {
    if (turn.side === 'system') return turn.parts
    if (turn.side === 'assistant') return []
    return [...turn.results.flatMap(({ parts }) => parts), ...turn.parts]
  })
}
