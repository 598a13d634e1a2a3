// Reads replies and events of generateContent: the output, its figures, and how it ended. It must never throw on unknown kinds of
// parts and reasons. Each event has the totals so far.

import { HIDDEN, type Made, type Reading, SHOWN, shownText } from '../../../contract/reading'
import type { Quantities } from '../../../contract/units'
import { isErrorShape, isFailedCandidate } from '../../../lib/error-shapes'
import { asObject, isObject } from '../../../lib/objects'
import type { AnswerStop } from '../../conversation/answer'
import { ABSURD_FIGURE, reportedCount } from '../../shared-schemas'

type Fields = Record<string, unknown>

/** Reasons for which an answer ends, by https://ai.google.dev/api/generate-content#FinishReason. Any other reason is a normal end. */
const STOPS: ReadonlyMap<unknown, AnswerStop> = new Map<unknown, AnswerStop>([
  ['MAX_TOKENS', 'limit'],
  ...[
    'SAFETY',
    'RECITATION',
    'LANGUAGE',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'ESCALATION',
    'MODEL_ARMOR',
    'IMAGE_SAFETY',
    'IMAGE_PROHIBITED_CONTENT',
    'IMAGE_RECITATION',
  ].map((reason): [string, AnswerStop] => [reason, 'filter']),
])
/** Kinds of traffic on Vertex AI that are tiers. */
const TRAFFIC: ReadonlyMap<unknown, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
])

/** The first candidate: each is a call of its own. */
export function candidateIn(reply: unknown): Fields | undefined {
  return candidatesIn(reply).find(({ index }) => (index ?? 0) === 0)
}

/** All candidates. */
function candidatesIn(reply: unknown): Fields[] {
  const { candidates } = asObject(reply)
  return Array.isArray(candidates) ? candidates.filter(isObject) : []
}

/** The parts of a candidate, which may lack them. */
export function partsIn(candidate: Fields | undefined): Fields[] {
  const { parts } = asObject(candidate?.content)
  return Array.isArray(parts) ? parts.filter(isObject) : []
}

/** Why a prompt was not answered; undefined if it was. A reason may be a blank value (`isConfirmedPromptBlockReason`, vercel/ai). */
export function blockIn(reply: unknown): { reason: string; message: string } | undefined {
  const { blockReason: reason, blockReasonMessage: message } = asObject(asObject(reply).promptFeedback)
  if (typeof reason !== 'string' || /^$|UNSPECIFIED$/.test(reason)) return undefined
  return { reason, message: typeof message === 'string' ? message : '' }
}

export function geminiStop(reason: unknown): AnswerStop {
  return STOPS.get(reason) ?? 'stop'
}

/** Thinking tokens, if they are reported. */
export function thinkingTokensIn(reply: unknown): number {
  const { thoughtsTokenCount: tokens } = asObject(asObject(reply).usageMetadata)
  return reportedCount(tokens) || 0
}

/** The tier that served the request: Vertex AI reports it in another member (`TrafficType` of @google/genai 3.3). */
export function serviceTierIn(reply: unknown): string | undefined {
  const { serviceTier: tier, trafficType: traffic } = asObject(asObject(reply).usageMetadata)
  if (typeof tier === 'string') return tier.toLowerCase()
  return TRAFFIC.get(traffic)
}

/**
 * Searches by the vendor, which it reports at the end of the answer. Empty and repeated queries are not billed
 * (ai.google.dev/gemini-api/docs/google-search, quoted in discuss.ai.google.dev/t/168136).
 */
function searchesIn(reply: unknown): number {
  return candidatesIn(reply).reduce((sum, { groundingMetadata }) => {
    const { webSearchQueries: queries } = asObject(groundingMetadata)
    return sum + (Array.isArray(queries) ? new Set(queries.filter((query) => query !== '')).size : 0)
  }, 0)
}

/** Reads a whole reply. */
export function readGeminiReply(reply: unknown): Reading {
  const candidate = candidateIn(reply)
  const isAnswer = candidate ? !isFailedCandidate(candidate) : blockIn(reply) !== undefined
  return {
    output: madeIn(reply),
    ...factsOf(reply, true),
    end: isAnswer ? 'finished' : 'failed',
    ...(isHeldBack(reply) && FILTERED),
  }
}

/** Reads one event of a stream. */
export function readGeminiEvent(event: unknown): Reading {
  const candidate = candidateIn(event)
  const isBlocked = blockIn(event) !== undefined
  if (!candidate && !isBlocked && asObject(event).usageMetadata === undefined && isErrorShape(event)) {
    return { end: 'failed' }
  }
  const { finishReason: reason } = candidate ?? {}
  const isEnd = isBlocked || (typeof reason === 'string' && !/^$|UNSPECIFIED$/.test(reason))
  return {
    output: madeIn(event),
    ...factsOf(event, isEnd),
    ...(isEnd && { end: candidate && isFailedCandidate(candidate) ? 'finished-failed' : 'finished' }),
    ...(isEnd && isHeldBack(event) && FILTERED),
  }
}

/** The output of a reply or an event. An answer that a filter withheld is an answer too. */
function madeIn(reply: unknown): Made | undefined {
  const candidate = candidateIn(reply)
  const parts = candidatesIn(reply).flatMap(partsIn)
  const made = shownText(parts.map(textOf).join(''), parts.some(isShown))
  if (made ?? isHeldBack(reply)) return made ?? SHOWN
  return candidate?.finishReason === 'MAX_TOKENS' || thinkingTokensIn(reply) > 0 ? HIDDEN : undefined
}

const FILTERED = { isFiltered: true }

/** Whether a filter withheld the answer, or the rest of it. */
function isHeldBack(reply: unknown): boolean {
  return blockIn(reply) !== undefined || geminiStop(candidateIn(reply)?.finishReason) === 'filter'
}

/** The text of a part: its words, its thoughts, or the arguments of a call. */
function textOf({ text, functionCall }: Fields): string {
  if (typeof text === 'string') return text
  const { name, args } = asObject(functionCall)
  return typeof name === 'string' ? name + (isObject(args) ? JSON.stringify(args) : '') : ''
}

function isShown(part: Fields): boolean {
  return Object.entries(part).some(([name, value]) => name !== 'thoughtSignature' && isObject(value))
}

/** The vendor's figures, and the tier that decides their prices. Before the end, figures without output do not measure the answer. */
function factsOf(reply: unknown, isEnd: boolean): Pick<Reading, 'usage' | 'serviceTier' | 'calls'> {
  const { usageMetadata: reported } = asObject(reply)
  const searches = isEnd ? searchesIn(reply) : 0
  // Gemini 3 bills each search, and earlier models bill the request: the price list of a model has one of the two.
  const calls = searches > 0 ? { web_search: searches, grounded_prompt: 1 } : undefined
  const tokens = geminiFigures(reported)
  const figures = calls && tokens && tokens !== 'invalid' ? { ...tokens, ...calls } : tokens
  const isMeasured = figures === 'invalid' || (figures?.output_token ?? 0) > 0
  return {
    ...(figures && { usage: { kind: isEnd || isMeasured ? 'total' : 'start', figures, reported } }),
    ...(calls && { calls }),
    serviceTier: serviceTierIn(reply),
  }
}

/**
 * The figures in our units; undefined if there are none, as in the first events from Vertex AI. Cached tokens are part of the
 * prompt; results of the vendor's tools are not part of the prompt, and thinking is not part of the candidates (`UsageMetadata` of
 * @google/genai 3.3).
 */
export function geminiFigures(usage: unknown): Quantities | 'invalid' | undefined {
  if (!isObject(usage)) return undefined
  const { promptTokenCount, candidatesTokenCount, totalTokenCount, thoughtsTokenCount } = usage
  const figures = [promptTokenCount, candidatesTokenCount, totalTokenCount, thoughtsTokenCount]
  if (figures.every((figure) => (figure ?? null) === null)) return undefined
  const prompt = reportedCount(promptTokenCount)
  const cached = reportedCount(usage.cachedContentTokenCount)
  const forTools = reportedCount(usage.toolUsePromptTokenCount)
  const made = reportedCount(candidatesTokenCount) + reportedCount(thoughtsTokenCount)
  // Thinking may be included only in the total.
  const output = Math.max(made, reportedCount(totalTokenCount) - prompt - forTools)
  const audio = tokensOf('AUDIO', usage.promptTokensDetails)
  const spoken = tokensOf('AUDIO', usage.candidatesTokensDetails)
  const drawn = tokensOf('IMAGE', usage.candidatesTokensDetails)
  const cachedAudio = Array.isArray(usage.cacheTokensDetails)
    ? tokensOf('AUDIO', usage.cacheTokensDetails)
    : Math.max(0, audio - (prompt - cached))
  // NaN, which stands for an invalid count, fails these comparisons.
  const isSane =
    Math.max(prompt, cached, forTools, output, audio, spoken, drawn, cachedAudio) <= ABSURD_FIGURE
  const freshText = prompt - cached - (audio - cachedAudio)
  const isWithin = cachedAudio <= Math.min(audio, cached) && spoken + drawn <= output && freshText >= 0
  if (!isSane || !isWithin || cached > prompt || (promptTokenCount ?? null) === null) return 'invalid'
  const quantities: Quantities = { input_token: freshText + forTools, output_token: output - spoken - drawn }
  const rare = {
    cached_input_token: cached - cachedAudio,
    input_audio_token: audio - cachedAudio,
    cached_input_audio_token: cachedAudio,
    output_audio_token: spoken,
    output_image_token: drawn,
  }
  for (const [unit, count] of Object.entries(rare))
    if (count > 0) Object.assign(quantities, { [unit]: count })
  return quantities
}

/** The tokens of a kind; input pictures, videos and documents cost as much as text. */
function tokensOf(kind: string, details: unknown): number {
  return (Array.isArray(details) ? details.filter(isObject) : [])
    .filter(({ modality }) => modality === kind)
    .reduce((sum, { tokenCount }) => sum + reportedCount(tokenCount), 0)
}
