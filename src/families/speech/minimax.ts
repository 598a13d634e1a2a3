// Speech of MiniMax. The vendor makes the file, sends it as hexadecimal digits in events, and reports the characters that it bills.
// Source: the OpenAPI document of `POST /v1/t2a_v2`, platform.minimax.io/docs/api-reference/speech-t2a-http.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, SpeechFamily } from '../../contract/family'
import { isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { asObject, isObject } from '../../lib/objects'
import { countedFigure } from '../shared-schemas'
import {
  checkInput,
  countCharacters,
  eventsOf,
  fileFormatOf,
  formatsOf,
  mediaTypeOf,
  plainSpeech,
  presetsOf,
  refuseInstructions,
  spokenFields,
  voiceOf,
} from './caller-side'

const SpeechBody = Type.Object(
  { ...spokenFields, ...formatsOf('mp3', 'flac', 'wav', 'pcm') },
  { additionalProperties: true },
)
type SpeechBody = Static<typeof SpeechBody>

/** Voices that every account has, the first of several hundred: platform.minimax.io/docs/faq/system-voice-id. */
const VOICES = [
  'English_expressive_narrator',
  'English_radiant_girl',
  'English_magnetic_voiced_man',
  'English_compelling_lady1',
  'English_Aussie_Bloke',
  'English_captivating_female1',
  'English_Upbeat_Woman',
  'English_Trustworth_Man',
  'English_CalmWoman',
  'male-qn-qingse',
  'male-qn-jingying',
  'male-qn-badao',
  'male-qn-daxuesheng',
  'female-shaonv',
  'female-yujie',
  'female-chengshu',
  'female-tianmei',
]
const PRESETS = presetsOf(VOICES)
/** The vendor's own fields, for callers who know them. */
const NATIVE_FIELDS = ['language_boost', 'pronunciation_dict', 'voice_modify'] as const
/** Samples like OpenAI's. */
const SAMPLE_RATE = 24_000
/**
 * The maximum that the vendor bills per character: its example (platform.minimaxi.com/document/t2a_http) bills 26 for 22 characters,
 * including 12 Chinese ones.
 */
const MAX_PER_CHARACTER = 2
const ASCII = /^[\0-\x7f]$/
const FINISHED = 2

/** HTTP statuses of errors in successful answers, by the vendor's code: platform.minimax.io/docs/api-reference/errorcode. */
const STATUSES = new Map([
  [1001, 504],
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1039, 429],
  [1041, 429],
  [1042, 400],
  [2013, 400],
  [2045, 429],
  [2049, 401],
  [2056, 402],
  [20132, 400],
])

export const minimaxSpeech: SpeechFamily<SpeechBody> = {
  kind: 'speech',
  name: 'minimax-speech',
  operation: 'speech',
  units: [['character']],
  dialect: 'openai',
  body: SpeechBody,
  fields: [...NATIVE_FIELDS, 'voice_setting'],

  check(body, model) {
    checkInput(body)
    refuseInstructions(body, model)
    const voice = voiceOf(body, PRESETS)
    // A cloned voice can have any name.
    if (PRESETS.has(voice.toLowerCase()) || model.voices?.includes(voice) || !model.upstream.sharedAccount)
      return
    throw invalidRequest(
      'voice',
      `Invalid 'voice': "${voice}" is not one of the public voices of ${model.id}. GET /v1/audio/voices lists them.`,
    )
  },

  quote({ body }) {
    let most = 0
    for (const character of body.input) most += ASCII.test(character) ? 1 : MAX_PER_CHARACTER
    return { character: most }
  },

  call({ body }, model): Call {
    const given = body as Readonly<Record<string, unknown>>
    const format = fileFormatOf(body)
    // The header of a WAV file contains its length, so the vendor makes it only as a whole.
    const stream = format !== 'wav'
    const voice = { voice_id: voiceOf(body, PRESETS), ...(body.speed && { speed: body.speed }) }
    const json: Record<string, unknown> = {
      model: model.upstreamModel,
      text: body.input,
      stream,
      ...(stream && { stream_options: { exclude_aggregated_audio: true } }),
      voice_setting: { ...asObject(given.voice_setting), ...voice },
      audio_setting: { format, ...(format === 'pcm' && { sample_rate: SAMPLE_RATE, channel: 1 }) },
    }
    for (const field of NATIVE_FIELDS) if (field in given) json[field] = given[field]
    return { path: '/v1/t2a_v2', protocol: 'native', body: { json }, stream }
  },

  read(reply) {
    const { data, extra_info: info } = reply as Reply
    if (statusCodeOf(reply) !== 0 || (!isObject(data) && isErrorShape(reply))) return { end: 'failed' }
    const { usage_characters: billed } = asObject(info)
    const character = countedFigure(billed)
    const figures = Number.isNaN(character) ? ('invalid' as const) : { character }
    return {
      ...(billed !== undefined && { usage: { kind: 'total', figures, reported: info } }),
      end: asObject(data).status === FINISHED ? 'finished' : undefined,
    }
  },

  audio: {
    kind: 'file',
    type: mediaTypeOf,
    read(json, hasBegun) {
      const { audio, status } = asObject((json as Reply).data)
      // The last event of some streams repeats the whole audio.
      if (typeof audio !== 'string' || (status === FINISHED && hasBegun)) return undefined
      const bytes = Buffer.from(audio, 'hex')
      return bytes.length > 0 ? bytes : undefined
    },
    status: (json) => STATUSES.get(statusCodeOf(json)) ?? 500,
    isMetered: () => true,
    events: eventsOf,
    estimate: (_, { input }) => ({ character: countCharacters(input) }),
  },

  voices: () => VOICES,

  plain: plainSpeech,
}

interface Reply {
  data?: unknown
  extra_info?: unknown
  base_resp?: unknown
}

/** The vendor's code: 0 for success, NaN if invalid. */
function statusCodeOf(json: unknown): number {
  const { status_code: code = 0 } = asObject((json as Reply).base_resp)
  return typeof code === 'number' ? code : Number.NaN
}
