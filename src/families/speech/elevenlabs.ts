// Speech of ElevenLabs. The vendor makes the file, which must pass unchanged, and bills the caller's own characters. Source:
// `StreamTextToSpeechRequest` of @elevenlabs/elevenlabs-js 2.73.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type { Call, SpeechFamily } from '../../contract/family'
import { isErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'
import { clonedVoices } from '../vendor-state'
import {
  checkInput,
  countCharacters,
  eventsOf,
  FILE_WANTED,
  fileFormatOf,
  formatsOf,
  mediaTypeOf,
  plainSpeech,
  refuseInstructions,
  spokenFields,
  voiceOf,
} from './caller-side'

const SpeechBody = Type.Object(
  { ...spokenFields, ...formatsOf('mp3', 'opus', 'pcm') },
  { additionalProperties: true },
)
type SpeechBody = Static<typeof SpeechBody>

/** Formats by the vendor's names: `TextToSpeechStreamRequestOutputFormat`. Samples are like OpenAI's, at 24 kHz. */
const OUTPUT_FORMATS: Readonly<Record<string, string>> = {
  mp3: 'mp3_44100_128',
  opus: 'opus_48000_128',
  pcm: 'pcm_24000',
}

/** Voices that every account has, by the ids that public repositories on GitHub list in November 2026. */
const VOICES: Readonly<Record<string, string>> = {
  George: 'JBFqnCBsd6RMkjVDRZzb',
  Sarah: 'EXAVITQu4vr4xnSDxMaL',
  Roger: 'CwhRBWXzGAHq8TQ4Fs17',
  Laura: 'FGY2WhTYpPnrIDTdsKH5',
  Charlie: 'IKne3meq5aSn9XLyUdCD',
  Callum: 'N2lVS1w4EtoT3dr4eOWO',
  Liam: 'TX3LPaxmHKxFdv7VOQHJ',
  Alice: 'Xb7hH8MSUJpSbSDYk0k2',
  Matilda: 'XrExE9yKIg1WjnnlVkGX',
  Will: 'bIHbv24MWmeRgasZH58o',
  Jessica: 'cgSgspJ2msm6clMCkdW9',
  Eric: 'cjVigY5qzO86Huf0OWal',
  Bella: 'hpp4J3VqNfWAUOO0d1Us',
  Daniel: 'onwK4e9ZLuTAKqWW03F9',
  Lily: 'pFZP5JQG7iQjIQuC4Bku',
  Adam: 'pNInz6obpgDQGcFmaJgB',
  Bill: 'pqHfZKP75CvOlQylNhV4',
  Harry: 'SOYHLrjzK2X1ezoPC6cr',
}
const PRESETS = new Map(Object.entries(VOICES).map(([name, id]) => [name.toLowerCase(), id]))
const VOICE_ID = /^[A-Za-z0-9]{20}$/
/** Names, and the ids of these voices. Others belong to the account, or to the library, where some cost several times as much. */
const VOICE_FOR_ALL = new RegExp(`^(?![A-Za-z0-9]{20}$)|^(?:${[...PRESETS.values()].join('|')})$`)
/** The vendor's own fields, for callers who know them, except those that name stored data of its account. */
const NATIVE_FIELDS = ['language_code', 'seed', 'apply_text_normalization'] as const

export const elevenlabsSpeech: SpeechFamily<SpeechBody> = {
  kind: 'speech',
  name: 'elevenlabs-speech',
  operation: 'speech',
  units: [['character']],
  dialect: 'openai',
  body: SpeechBody,
  // A voice that another API identifies by an object is unknown here; the default voice speaks.
  fieldRules: [clonedVoices('voice', VOICE_FOR_ALL)],
  fields: [...NATIVE_FIELDS, 'voice_settings'],

  check(body, model) {
    checkInput(body)
    refuseInstructions(body, model)
  },

  quote: ({ body }) => ({ character: countCharacters(body.input) }),

  call({ body }, model): Call {
    const given = body as Readonly<Record<string, unknown>>
    const json: Record<string, unknown> = { text: body.input, model_id: model.upstreamModel }
    for (const field of NATIVE_FIELDS) if (field in given) json[field] = given[field]
    const settings = { ...asObject(given.voice_settings), ...(body.speed && { speed: body.speed }) }
    if (Object.keys(settings).length > 0) json.voice_settings = settings
    const format = OUTPUT_FORMATS[fileFormatOf(body)]
    return nativeCall(
      `/text-to-speech/${encodeURIComponent(voiceIdOf(body))}/stream?output_format=${format}`,
      { json },
      { headers: FILE_WANTED },
    )
  },

  // Audio arrives as bytes: JSON is an error, or empty.
  read: (reply) => (isErrorShape(reply) ? { end: 'failed' } : {}),

  audio: { kind: 'file', type: mediaTypeOf, read: () => undefined, events: eventsOf },

  voices: () => Object.keys(VOICES),

  plain: plainSpeech,
}

function voiceIdOf(body: SpeechBody): string {
  const { voice } = body
  return typeof voice === 'string' && VOICE_ID.test(voice) ? voice : voiceOf(body, PRESETS)
}
