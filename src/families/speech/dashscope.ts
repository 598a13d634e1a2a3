// Speech of Alibaba's `qwen3-tts` models, `qnx3-tts-*` in gateway.config.ts: the caller's side of POST /v1/audio/speech
// and the vendor's native call. The vendor streams raw samples as events; the gateway makes the file. It must never bill characters
// other than the caller's own.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, Model, SpeechFamily } from '../../contract/family'
import { isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { optionalField } from '../shared-schemas'
import { clonedVoices, VOICE_OF_ALL } from '../vendor-state'
import {
  checkInput,
  countCharacters,
  plainSpeech,
  presetsOf,
  refuseInstructions,
  voiceOf,
} from './caller-side'

const PATH = '/services/aigc/multimodal-generation/generation'
/** Headers that request events, so that audio starts while the rest is still being made. */
const EVENTS = { 'x-dashscope-sse': 'enable' }

const DEFAULT_VOICE = 'Cherry'
/** Voices of all models. */
const VOICES = [
  ...[
    DEFAULT_VOICE,
    'Serena',
    'Ethan',
    'Chelsie',
    'Momo',
    'Vivian',
    'Moon',
    'Maia',
    'Kai',
    'Nofish',
    'Bella',
  ],
  ...[
    'Eldric Sage',
    'Mia',
    'Mochi',
    'Bellona',
    'Vincent',
    'Bunny',
    'Neil',
    'Elias',
    'Arthur',
    'Nini',
    'Seren',
  ],
  ...['Pip', 'Stella'],
]
/** Voices of models that do not support instructions. */
const PLAIN_VOICES = [
  ...[
    'Jennifer',
    'Ryan',
    'Katerina',
    'Aiden',
    'Jada',
    'Dylan',
    'Li',
    'Marcus',
    'Roy',
    'Peter',
    'Sunny',
    'Eric',
  ],
  ...['Rocky', 'Kiki'],
]
const PRESETS = presetsOf([...VOICES, ...PLAIN_VOICES])
/** DashScope's own fields, for callers who know them. */
const NATIVE_FIELDS = ['language_type', 'optimize_instructions'] as const

const SpeechBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    input: Type.String({ minLength: 1, description: 'The text to speak; each character is paid for.' }),
    voice: optionalField(
      Type.Union([
        Type.String({ description: `A preset voice of the model; default ${DEFAULT_VOICE}.` }),
        Type.Object({ id: Type.String() }, { additionalProperties: true }),
      ]),
    ),
    response_format: optionalField(Type.Union([Type.Literal('mp3'), Type.Literal('wav')])),
    instructions: optionalField(
      Type.String({ description: 'How to speak: tone, speed, emotion. Only for models that take it.' }),
    ),
    speed: optionalField(Type.Number({ description: 'Has no effect; say it in `instructions`.' })),
    stream_format: optionalField(Type.Literal('audio')),
  },
  { additionalProperties: true },
)
type SpeechBody = Static<typeof SpeechBody>

export const dashscopeSpeech: SpeechFamily<SpeechBody> = {
  kind: 'speech',
  name: 'dashscope-speech',
  operation: 'speech',
  units: [['character']],
  dialect: 'openai',
  body: SpeechBody,
  // A voice that another API identifies by an object is unknown here; the default voice speaks.
  fieldRules: [clonedVoices('voice', VOICE_OF_ALL)],
  fields: NATIVE_FIELDS,

  check(body, model) {
    checkInput(body)
    if (body.response_format === 'mp3' && takesInstructions(model)) {
      throw invalidRequest(
        'response_format',
        `Invalid 'response_format': ${model.id} makes wav only. Leave it out, or choose a model without instructions.`,
      )
    }
    if (!takesInstructions(model)) refuseInstructions(body, model)
  },

  quote: ({ body }) => ({ character: countCharacters(body.input) }),

  call({ body }, model): Call {
    const input: Record<string, unknown> = { text: body.input, voice: voiceOf(body, PRESETS) }
    if (body.instructions) input.instructions = body.instructions
    for (const field of NATIVE_FIELDS) {
      if (field in body) input[field] = (body as Record<string, unknown>)[field]
    }
    return {
      path: PATH,
      protocol: 'native',
      body: { json: { model: model.upstreamModel, input } },
      headers: EVENTS,
      stream: true,
    }
  },

  // The price is for the caller's own characters: the vendor counts some of them twice.
  read(reply) {
    const { code, output } = reply as Reply
    if ((typeof code === 'string' && code !== '') || (!output && isErrorShape(reply)))
      return { end: 'failed' }
    return { end: output?.finish_reason === 'stop' || isText(output?.audio?.url) ? 'finished' : undefined }
  },

  audio: {
    kind: 'samples',
    format: (body, model) => body.response_format ?? (takesInstructions(model) ? 'wav' : 'mp3'),
    plain: { sampleRate: 24_000, channels: 1 },
    read(json) {
      const { data, url } = (json as Reply).output?.audio ?? {}
      return {
        ...(isText(data) && { piece: Buffer.from(data, 'base64') }),
        ...(isText(url) && { url }),
      }
    },
    status(json, event) {
      const { status_code: stated } = json as Reply
      const [, reported = stated] = /^: ?HTTP_STATUS\/(\d{3})$/m.exec(event) ?? []
      const status =
        typeof reported === 'string' || typeof reported === 'number' ? Number(reported) : Number.NaN
      return status >= 400 && status <= 599 ? status : undefined
    },
  },

  voices: (model) => (takesInstructions(model) ? VOICES : [...VOICES, ...PLAIN_VOICES]),

  plain: plainSpeech,
}

interface Reply {
  /** Empty means no error; an error may have status 200. */
  code?: unknown
  status_code?: unknown
  output?: { finish_reason?: unknown; audio?: { data?: unknown; url?: unknown } | null } | null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Whether a model supports instructions, which its name at the vendor shows. */
function takesInstructions({ upstreamModel }: Model): boolean {
  return /(^|-)instruct(-|$)/.test(upstreamModel)
}
