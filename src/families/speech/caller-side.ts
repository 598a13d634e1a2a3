// The caller's side of POST /v1/audio/speech, for all vendors: the text, its characters, presets of voices, and the events of
// `stream_format: sse`. It must never count characters other than the caller's own.

import { Type } from '@sinclair/typebox'
import type { AudioEvents } from '../../contract/audio'
import type { Model, PlainForm } from '../../contract/family'
import { inputTokensOf, outputTokensOf, type Quantities } from '../../contract/units'
import { invalidRequest } from '../../lib/errors'
import { optionalField } from '../shared-schemas'
import { isForeignVoice } from './foreign-voices'

const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))

/** File formats with their media types, including those of Speaches and Kokoro-FastAPI, which name them in their answers. */
const MEDIA_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const
export type FileFormat = keyof typeof MEDIA_TYPES

/** The format field, for a vendor that makes these. */
export const formatsOf = (...formats: FileFormat[]) => ({ response_format: optionalField(words(...formats)) })

/** Fields that the vendors of whole files have in common, except their formats. */
export const spokenFields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  input: Type.String({ minLength: 1, description: 'The text to speak.' }),
  voice: optionalField(
    Type.Union([
      Type.String({ description: 'A voice from GET /v1/audio/voices.' }),
      Type.Object({ id: Type.String() }, { additionalProperties: true }),
    ]),
  ),
  instructions: optionalField(
    Type.String({ description: 'How to speak: tone, speed, emotion. Only for models that take it.' }),
  ),
  speed: optionalField(Type.Number({ minimum: 0.25, maximum: 4 })),
  stream_format: optionalField(words('audio', 'sse')),
}

/** Headers of a request for a file, as the SDK of OpenAI sends them. */
export const FILE_WANTED = { accept: 'application/octet-stream' }

export interface SpokenBody {
  input: string
  instructions?: string | null
  voice?: string | Readonly<Record<string, unknown>> | null
  response_format?: string | null
  stream_format?: string | null
}

/** Throws 400 for a text that contains nothing to speak. */
export function checkInput({ input }: SpokenBody): void {
  if (input.trim() !== '') return
  throw invalidRequest('input', "Invalid 'input': it contains nothing to speak. Send a text.", 'empty_string')
}

/** Throws 400 for instructions if the model supports none. */
export function refuseInstructions({ instructions }: SpokenBody, { id }: Pick<Model, 'id'>): void {
  if (!instructions) return
  throw invalidRequest(
    'instructions',
    `Invalid 'instructions': ${id} does not support them. Leave them out, or choose a model that does.`,
  )
}

/** The characters of a text. Each counts once, however it is encoded: 😀 is one. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export function fileFormatOf({ response_format: format }: SpokenBody): FileFormat {
  return (format ?? 'mp3') as FileFormat
}

export function mediaTypeOf(body: SpokenBody): string {
  return MEDIA_TYPES[fileFormatOf(body)]
}

/**
 * The vendor's voice for a request. The first of `presets` speaks if the request names none, names it by an object, or names
 * another provider's voice; an unknown name goes to the vendor, which knows its own voices.
 */
export function voiceOf({ voice }: SpokenBody, presets: ReadonlyMap<string, string>): string {
  const [[, usual] = ['', '']] = presets
  if (typeof voice !== 'string' || voice === '') return usual
  return presets.get(voice.toLowerCase()) ?? (isForeignVoice(voice) ? usual : voice)
}

/** Presets by name, in lower case. */
export function presetsOf(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name.toLowerCase(), name]))
}

// Events and their figures: `SpeechAudioDeltaEvent` and `SpeechAudioDoneEvent` of OpenAI's OpenAPI document 2.3.
const events: AudioEvents = {
  piece: (bytes) => eventOf({ type: 'speech.audio.delta', audio: Buffer.from(bytes).toString('base64') }),
  end: (usage) => eventOf({ type: 'speech.audio.done', usage: shownUsage(usage) }),
}

/** The events for a caller that requests them. */
export function eventsOf({ stream_format: format }: SpokenBody): AudioEvents | undefined {
  return format === 'sse' ? events : undefined
}

/** Tokens are always reported, as clients expect them; speech that is priced by the character has none. */
function shownUsage(figures: Quantities) {
  const [input, output] = [inputTokensOf(figures), outputTokensOf(figures)]
  return { input_tokens: input, output_tokens: output, total_tokens: input + output }
}

function eventOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export const plainSpeech: PlainForm = { fields: [], body: ({ text }) => ({ input: text }) }
