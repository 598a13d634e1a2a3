// Speech of OpenAI, and of servers that speak its API: Kokoro-FastAPI, Speaches, LocalAI. The vendor makes the file, which must
// pass unchanged. Source: `SpeechCreateParams` of the official SDK 7.55.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, Model, Quantities, SpeechFamily } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { isUntypedError } from '../../lib/error-shapes'
import { mediaTypeIn } from '../../lib/file-formats/media-types'
import { isObject } from '../../lib/objects'
import { countedFigure } from '../shared-schemas'
import { otherModels } from '../surcharges'
import { addresses, clonedVoices, VOICE_OF_ALL } from '../vendor-state'
import {
  checkInput,
  countCharacters,
  eventsOf,
  FILE_WANTED,
  formatsOf,
  mediaTypeOf,
  plainSpeech,
  presetsOf,
  spokenFields,
  voiceOf,
} from './caller-side'

const SpeechBody = Type.Object(
  { ...spokenFields, ...formatsOf('mp3', 'opus', 'aac', 'flac', 'wav', 'pcm') },
  { additionalProperties: true },
)
type SpeechBody = Static<typeof SpeechBody>

const FIELDS = Object.keys(SpeechBody.properties) as (keyof SpeechBody)[]

/** Models of OpenAI, whose voices are known: developers.openai.com/api/docs/guides/text-to-speech, 2026-11-27. */
const OPENAI_MODEL = /^(tts-1|gpt-4o-mini-tts)(-|$)/
const VOICES = ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer']
/** Voices of the newer model only. */
const NEWER_VOICES = ['ballad', 'cedar', 'marin', 'verse']
const PRESETS = presetsOf([...VOICES, ...NEWER_VOICES])

/**
 * Audio tokens per second: an assistant's audio has one per 50 ms (developers.openai.com/api/docs/guides/realtime-costs), and
 * $0.015 a minute at $12 per million are 21 a second (openai.com/api/pricing).
 */
const TOKENS_PER_SECOND = 20
/**
 * Bytes per second, if known: samples of 16 bits at 24 kHz, and MP3 at 128 kbit/s. 4,096 characters were 268 seconds in 4.3 MB of
 * MP3 on 2025-11-02 (sanand0/blog on GitHub, posts/2025/openai-tts-cost.md).
 */
const BYTES_PER_SECOND: Partial<Record<string, number>> = {
  'audio/pcm': 48_000,
  'audio/wav': 48_000,
  'audio/mpeg': 16_000,
}
/** Characters per second, by the same measurement. */
const CHARACTERS_PER_SECOND = 15
/** Minimum number of characters per second for the hold: for Latin words, and for Chinese or digits, which are read as words. */
const FEWEST_LETTERS_PER_SECOND = 6
const FEWEST_OTHERS_PER_SECOND = 2.5
const LETTER = /[\p{Script=Latin}\s]/gu
/** Seconds that are held in addition, for pauses. */
const PAUSE_SECONDS = 10

export const openaiSpeech: SpeechFamily<SpeechBody> = {
  kind: 'speech',
  name: 'openai-speech',
  operation: 'speech',
  units: [['character'], ['input_token', 'output_audio_token']],
  dialect: 'openai',
  body: SpeechBody,
  fieldRules: [
    ...otherModels,
    clonedVoices('voice', VOICE_OF_ALL),
    clonedVoices('voice.id'),
    // A voice sample may be a URL: docs.vllm.ai/projects/vllm-omni/en/stable/serving/speech_api.
    ...addresses('ref_audio'),
  ],
  check: checkInput,

  quote({ body, byteLength }, model): Quantities {
    const characters = countCharacters(body.input)
    if (!isPricedByTokens(model)) return { character: characters }
    const letters = body.input.match(LETTER)?.length ?? 0
    const spoken = letters / FEWEST_LETTERS_PER_SECOND + (characters - letters) / FEWEST_OTHERS_PER_SECOND
    const seconds = PAUSE_SECONDS + spoken / Math.min(1, body.speed ?? 1)
    return { input_token: byteLength, output_audio_token: Math.ceil(seconds * TOKENS_PER_SECOND) }
  },

  // Usage is reported only in events. Other servers send no events, or other samples in them (src/speaches/routers/speech.py of
  // speaches-ai/speaches): the gateway requests the file from them and makes the caller's events itself. No format is set for a caller
  // who names none: some servers make only WAV, and LocalAI makes it by default (core/http/endpoints/localai/tts.go).
  call({ body }, model): Call {
    const stream = isPricedByTokens(model)
    const set: Record<string, string> = {}
    if (body.model !== model.upstreamModel) set.model = JSON.stringify(model.upstreamModel)
    if (stream) set.stream_format = '"sse"'
    if (OPENAI_MODEL.test(model.upstreamModel) && !isObject(body.voice)) {
      const voice = voiceOf(body, PRESETS)
      if (voice !== body.voice) set.voice = JSON.stringify(voice)
    }
    // Kokoro-FastAPI (api/src/structures/schemas.py) and Speaches (src/speaches/routers/speech.py) refuse null.
    const drop = FIELDS.filter((field) => body[field] === null && !(field in set))
    if (!stream) drop.push('stream_format')
    return {
      path: '/audio/speech',
      protocol: 'openai',
      body: { edit: { set, drop } },
      ...(!stream && { headers: FILE_WANTED }),
      stream,
    }
  },

  read(reply, _, model) {
    const { type, error, usage } = reply as Event
    if (isObject(error) || type === 'error' || isUntypedError(reply)) return { end: 'failed' }
    if (type !== 'speech.audio.done') return {}
    const figures = isPricedByTokens(model) ? figuresOf(usage) : undefined
    return { end: 'finished', usage: figures && { kind: 'total', figures } }
  },

  audio: {
    kind: 'file',
    type: mediaTypeOf,
    read(json) {
      const { audio } = json as Event
      return typeof audio === 'string' && audio !== '' ? Buffer.from(audio, 'base64') : undefined
    },
    isMetered: isPricedByTokens,
    events: eventsOf,
    estimate(bytes, body, model, type = mediaTypeOf(body)) {
      if (!isPricedByTokens(model)) return undefined
      const whole = countCharacters(body.input) / CHARACTERS_PER_SECOND / (body.speed ?? 1)
      const rate = BYTES_PER_SECOND[mediaTypeIn(type)]
      const seconds = rate === undefined ? whole : bytes / rate
      return { output_audio_token: Math.ceil(seconds * TOKENS_PER_SECOND) }
    },
  },

  // The model reads the instructions too. Characters are exact without a report of the vendor.
  texts: ({ input, instructions }, model) =>
    isPricedByTokens(model) ? [input, ...(instructions ? [instructions] : [])] : undefined,

  voices({ upstreamModel }) {
    if (!OPENAI_MODEL.test(upstreamModel)) return []
    return upstreamModel.startsWith('tts-1') ? VOICES : [...VOICES, ...NEWER_VOICES]
  },

  plain: plainSpeech,
}

interface Event {
  type?: unknown
  error?: unknown
  audio?: unknown
  usage?: unknown
}

/** Whether the vendor counts tokens of text and audio; other models are billed by the character. */
function isPricedByTokens({ priceList }: Model): boolean {
  return hasPrice(priceList, 'output_audio_token') && !hasPrice(priceList, 'character')
}

/** Text in, audio out; undefined if the vendor does not count: then it reports zeros for the audio. */
function figuresOf(usage: unknown): Quantities | 'invalid' | undefined {
  if (!isObject(usage)) return undefined
  const [input, output] = [countedFigure(usage.input_tokens), countedFigure(usage.output_tokens)]
  if (Number.isNaN(input) || Number.isNaN(output)) return 'invalid'
  return output > 0 ? { input_token: input, output_audio_token: output } : undefined
}
