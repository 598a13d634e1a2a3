// Transcription and translation of audio by OpenAI, and by servers that speak its API. The caller's form is sent field
// by field; the vendor's JSON, text, subtitles or events must never be changed. Source: the official SDK's types of
// `audio.transcriptions` and `audio.translations`.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, JsonFamily, Model, ParsedRequest } from '../../contract/family'
import { fileParts, textParts } from '../forms'
import { optionalField } from '../shared-schemas'
import {
  audioFields,
  audioRules,
  audioUnits,
  checkAudio,
  isPricedByTime,
  plainAudio,
  quoteAudio,
  readAudioEvent,
  readAudioReply,
  readTranscript,
  shownAudioUsage,
  textType,
} from './caller-side'

const TranscriptionBody = Type.Object(
  {
    ...audioFields,
    language: optionalField(Type.String({ description: 'That is spoken, as ISO 639-1: `en`.' })),
    languages: optionalField(Type.Array(Type.String())),
    keywords: optionalField(Type.Array(Type.String())),
    timestamp_granularities: optionalField(
      Type.Array(Type.Union([Type.Literal('word'), Type.Literal('segment')])),
    ),
    include: optionalField(Type.Array(Type.String())),
    stream: optionalField(Type.Boolean()),
    chunking_strategy: optionalField(
      Type.Union([Type.String(), Type.Object({}, { additionalProperties: true })]),
    ),
    known_speaker_names: optionalField(Type.Array(Type.String())),
    known_speaker_references: optionalField(Type.Array(Type.String({ description: 'Data URLs.' }))),
  },
  { additionalProperties: true },
)
type TranscriptionBody = Static<typeof TranscriptionBody>

const TranslationBody = Type.Object(audioFields, { additionalProperties: true })
type TranslationBody = Static<typeof TranslationBody>

const shared = {
  kind: 'json',
  units: audioUnits,
  dialect: 'openai',
  fieldRules: audioRules,
  check: checkAudio,
  quote: quoteAudio,
  read: readAudioReply,
  text: { type: textType, read: readTranscript },
  usage: shownAudioUsage,
  // Audio is not text; the tokens of the transcript are counted.
  texts: (_: unknown, model: Model) => (isPricedByTime(model) ? undefined : []),
  plain: plainAudio,
} as const

export const openaiTranscriptions: JsonFamily<TranscriptionBody> = {
  ...shared,
  name: 'openai-transcriptions',
  operation: 'transcription',
  body: TranscriptionBody,
  call: (parsed, model) => callOf('/audio/transcriptions', parsed, model, parsed.body.stream === true),
  stream: { end: null, showsUsage: () => true, read: readAudioEvent },
}

export const openaiTranslations: JsonFamily<TranslationBody> = {
  ...shared,
  name: 'openai-translations',
  operation: 'translation',
  body: TranslationBody,
  call: (parsed, model) => callOf('/audio/translations', parsed, model, false),
}

/** The call. Texts come before the file, because some servers read the form once, in order. */
function callOf(
  path: string,
  { body }: ParsedRequest<object>,
  { upstreamModel }: Model,
  stream: boolean,
): Call {
  const form = [...textParts({ ...body, model: upstreamModel }), ...fileParts({ ...body })]
  return { path, protocol: 'openai', body: { form }, stream }
}
