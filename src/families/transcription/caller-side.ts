// Shared by transcription and translation of audio: the request's fields, the cost by the duration of its file, and reading texts,
// subtitles, JSON and events. Durations were detected when the file arrived: nothing here must read its bytes.

import { Type } from '@sinclair/typebox'
import type { Model, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { type Reading, SHOWN, shownText, usageReading } from '../../contract/reading'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { isErrorShape, isUntypedError } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { uploadsIn } from '../forms'
import { countedFigure, figureOf, optionalField } from '../shared-schemas'
import { otherModels } from '../surcharges'
import { addresses } from '../vendor-state'

const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))

/** Fields of both operations. */
export const audioFields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  file: Type.Unknown({ description: 'The audio: WAV, MP3, M4A, MP4, Ogg, FLAC or WebM.' }),
  prompt: optionalField(
    Type.String({ description: 'Words that the text may begin after, or that it uses.' }),
  ),
  response_format: optionalField(words('json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json')),
  temperature: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
}

interface AudioBody {
  response_format?: string | null
  known_speaker_references?: readonly string[] | null
}

/** Price units: minutes or tokens. */
export const audioUnits = [['audio_second'], ['input_token', 'input_audio_token', 'output_token']] as const

/** Rules for audio outside the form, whose duration is unknown here. */
export const audioRules = [
  ...otherModels,
  ...['url', 'file_url', 'audio_url', 'cloud_storage_url'].map((field) => ({
    field,
    why: 'the price depends on the length of the audio, which is unknown here',
    instead: "Send the audio as 'file'.",
    always: true as const,
  })),
  ...addresses('known_speaker_references[]'),
]

/**
 * Minimum number of bytes per second of audio, for a file of unknown length: 8 kbit/s is the lowest bit rate of speech in use.
 */
const MIN_BYTES_PER_SECOND = 1_000
/** Tokens per minute of audio, by the vendor's price list. */
const TOKENS_PER_MINUTE = 1_000
/** Maximum number of output tokens per second of audio: as fast as a person can speak. */
const OUTPUT_TOKENS_PER_SECOND = 15
const MIN_OUTPUT_TOKENS = 2_000
/** Maximum number of letters per second of audio: a longer text means that the file is longer than it declares. */
const LETTERS_PER_SECOND = 30
/** Maximum length of each sample of a known speaker, in seconds. */
const REFERENCE_SECONDS = 10

/** Throws 400 unless there is exactly one audio file, and for a text whose price is unknown. */
export function checkAudio(body: AudioBody, model: Model): void {
  const [file, ...others] = uploadsIn(body, 'file', 'speech.mp3')
  if (!file) {
    throw invalidRequest(
      'file',
      "Missing required parameter: 'file'. Send the audio as `curl -F file=@speech.mp3` does.",
      'missing_required_parameter',
    )
  }
  if (others.length > 0)
    throw invalidRequest('file', `Invalid 'file': send one file, not ${others.length + 1}.`)
  if (file.picture) {
    throw invalidRequest(
      'file',
      "Unsupported audio format: 'file' is a picture. Send WAV, MP3, M4A, Ogg, FLAC or WebM.",
      'unsupported_audio_format',
    )
  }
  if (file.audio?.seconds !== undefined || !textType(body) || !isPricedByTime(model)) return
  throw invalidRequest(
    'response_format',
    `Unsupported 'response_format': the length of this file cannot be read, and '${body.response_format}' does not contain it either, but the price depends on it. Request json or verbose_json, or send the audio as WAV, MP3 or M4A.`,
    'unreadable_audio',
  )
}

export function isPricedByTime({ priceList }: Model): boolean {
  return hasPrice(priceList, 'audio_second')
}

export function quoteAudio({ body, byteLength }: ParsedRequest<AudioBody>, model: Model): Quantities {
  const seconds = secondsOf(body)
  if (isPricedByTime(model)) return { audio_second: seconds }
  return {
    input_token: byteLength,
    input_audio_token: Math.ceil((seconds * TOKENS_PER_MINUTE) / 60),
    output_token: Math.max(MIN_OUTPUT_TOKENS, seconds * OUTPUT_TOKENS_PER_SECOND),
  }
}

/** Seconds, rounded up. */
function secondsOf(body: AudioBody): number {
  const [file] = uploadsIn(body, 'file')
  const own = file?.audio?.seconds ?? (file?.bytes.size ?? 0) / MIN_BYTES_PER_SECOND
  return Math.max(1, Math.ceil(own)) + (body.known_speaker_references?.length ?? 0) * REFERENCE_SECONDS
}

/** The media type of an answer that is not JSON. */
export function textType({ response_format: format }: AudioBody): string | undefined {
  if (format === 'text') return 'text/plain; charset=utf-8'
  if (format === 'srt') return 'application/x-subrip; charset=utf-8'
  return format === 'vtt' ? 'text/vtt; charset=utf-8' : undefined
}

/** Reads a text, which has no usage. Its subtitles, or else its letters, show the duration if the file declares less. */
export function readTranscript(text: string, { body }: ParsedRequest<AudioBody>): Reading {
  const cues = [...text.matchAll(/--> *(?:(\d+):)?(\d\d):(\d\d)[.,](\d{3})/g)]
  const ends = cues.map(([, hours = '0', ...rest]) => {
    const [minutes, seconds, milliseconds] = rest.map(Number) as [number, number, number]
    return Number(hours) * 3_600 + minutes * 60 + seconds + milliseconds / 1_000
  })
  const spoken = text
    .replace(/^WEBVTT.*$/m, '')
    .replaceAll(/^\d+$|^.*-->.*$/gm, '')
    .trim()
  const audioSeconds = ends.reduce((most, end) => Math.max(most, end), 0)
  return { output: shownText(spoken, false), usage: usageReading(audioFor(audioSeconds, spoken, body)) }
}

export function readAudioReply(reply: unknown, { body }: ParsedRequest<AudioBody>): Reading {
  const { text, usage, duration, error } = reply as Reply
  if (isObject(error) || (typeof text !== 'string' && isErrorShape(reply))) return { end: 'failed' }
  const spoken = typeof text === 'string' ? text.trim() : ''
  return {
    output: shownText(spoken, false),
    usage: usageReading(usageOf(usage, duration) ?? audioFor(0, spoken, body)),
    end: 'finished',
  }
}

/** Reads an event. Some servers send chat events instead of the vendor's own. */
export function readAudioEvent(event: unknown): Reading {
  const { type, delta, text, usage, error, choices } = event as Event
  if (isObject(error)) return { end: 'failed' }
  const isOfChat = choices !== undefined
  if (type === 'error' || (!isOfChat && isUntypedError(event))) return { end: 'failed-disguised' }
  const written = type === 'transcript.text.delta' ? delta : choices?.[0]?.delta?.content
  if (typeof written === 'string') return { output: shownText(written, false) }
  // The text of other events has already arrived in pieces.
  const output = typeof text === 'string' && text !== '' ? SHOWN : undefined
  if (type === 'transcript.text.segment') return { output }
  const finished = type === 'transcript.text.done' || typeof choices?.[0]?.finish_reason === 'string'
  const reported = usageReading(usageOf(usage, undefined))
  return finished ? { output, usage: reported, end: 'finished' } : { usage: reported }
}

/** The usage for callers: seconds for a model that is priced by time, otherwise tokens. */
export function shownAudioUsage(
  figures: Quantities,
  reported?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (reported) return reported
  const { audio_second: seconds, input_audio_token: audio = 0 } = figures
  if (seconds !== undefined) return { type: 'duration', seconds }
  const [input, output] = [inputTokensOf(figures), outputTokensOf(figures)]
  const details = { text_tokens: input - audio, audio_tokens: audio }
  const tokens = { input_tokens: input, input_token_details: details, output_tokens: output }
  return { type: 'tokens', ...tokens, total_tokens: input + output }
}

export const plainAudio: PlainForm = {
  fields: ['duration'],
  body: ({ text, uploads, duration = 60 }) => ({
    ...(text !== '' && { prompt: text }),
    file: uploads ?? [
      {
        filename: 'speech.mp3',
        contentType: 'audio/mpeg',
        bytes: new Blob([]),
        audio: { format: 'mp3', seconds: duration },
      },
    ],
  }),
}

interface Reply {
  text?: unknown
  usage?: unknown
  duration?: unknown
  error?: unknown
}

interface Event extends Reply {
  type?: unknown
  delta?: unknown
  choices?: { delta?: { content?: unknown }; finish_reason?: unknown }[]
}

/** The duration by the text; undefined if the file declares at least as much: then the file's counts. */
function audioFor(seconds: number, text: string, body: AudioBody): Quantities | undefined {
  const audioSeconds = Math.ceil(Math.max(seconds, text.length / LETTERS_PER_SECOND))
  return audioSeconds > secondsOf(body) ? { audio_second: audioSeconds } : undefined
}

/**
 * Tokens or seconds, whichever the vendor bills; otherwise the duration of the audio. Zeros mean that a server does not count.
 */
function usageOf(usage: unknown, duration: unknown): Quantities | 'invalid' | undefined {
  const reported = isObject(usage) ? usage : { seconds: duration }
  // Mistral counts in a field of its own: UsageInfo of @mistralai/mistralai 2.7.
  const seconds = Math.ceil(figureOf(reported.seconds ?? reported.prompt_audio_seconds))
  const input = countedFigure(reported.input_tokens)
  const output = countedFigure(reported.output_tokens)
  const details = isObject(reported.input_token_details) ? reported.input_token_details : {}
  const text = countedFigure(details.text_tokens)
  const figures = [seconds, input, output, text]
  if (figures.some(Number.isNaN) || text > input) return 'invalid'
  const quantities: Quantities = {
    // Tokens of an unspecified kind are audio.
    ...(input + output > 0
      ? { input_token: text, input_audio_token: input - text, output_token: output }
      : seconds > 0 && { audio_second: seconds }),
  }
  return Object.keys(quantities).length > 0 ? quantities : undefined
}
