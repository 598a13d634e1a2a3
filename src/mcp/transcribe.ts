// The tool for audio input: transcribe, which also translates. Its audio is part of the call: nothing is fetched.

import { Type } from '@sinclair/typebox'
import { operationOf } from '../contract/operations'
import { bodyFields, checkedOptions, modelField, optionsField, paidFields } from './fields'
import { formInMemory, uploadOf } from './forms'
import { costOutput, type PaidTool } from './paid-tool'
import { isPresent, optionalArgument } from './tool'

const fields = bodyFields('transcription', ['language', 'prompt', 'response_format'])

export const transcribe: PaidTool = {
  name: 'transcribe',
  title: 'Transcribe audio',
  description:
    'Writes down what is said in audio, in its own language, or in English with translate. Subtitles with response_format srt or vtt.',
  input: Type.Object({
    model: modelField,
    audio: Type.String({ minLength: 1, description: 'Data URL of the audio: data:audio/mpeg;base64,…' }),
    translate: optionalArgument(Type.Boolean({ description: 'Into English, for models that translate.' })),
    ...fields,
    options: optionsField,
    ...paidFields,
  }),
  output: Type.Object({
    text: Type.String(),
    usage: Type.Optional(Type.Object({}, { additionalProperties: true })),
    segments: Type.Optional(Type.Array(Type.Unknown())),
    ...costOutput,
  }),
  async prepare({ audio: source, translate, options, ...own }, { audioReader }, { signal }) {
    const upload = uploadOf('audio', source, 'data:audio/mpeg;base64,…')
    const audio = await audioReader.read(upload.bytes, signal())
    const file = [{ ...upload, filename: `audio.${audio?.format ?? 'bin'}`, audio }]
    const operation = operationOf(translate === true ? 'translation' : 'transcription')
    return { operation, content: formInMemory({ ...checkedOptions(options), ...own }, { file }, source) }
  },
  async answer({ response, facts }) {
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    if (!isJson) return { structured: { text: await response.text(), ...facts } }
    const { text, usage, segments } = (await response.json()) as Record<string, unknown>
    return {
      structured: {
        text: typeof text === 'string' ? text : '',
        ...(isPresent(usage) && { usage }),
        ...(isPresent(segments) && { segments }),
        ...facts,
      },
    }
  },
}
