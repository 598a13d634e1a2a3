// GET /v1/audio/models and /v1/audio/voices: models that speak, and their voices, for clients that offer a choice. A key sees the
// models that it may use. Such clients send no key with these requests: without one the lists contain the same as the public API
// documentation, and never more.

import { Type } from '@sinclair/typebox'
import { mayUse } from '../../../accounts/keys'
import { list, named, text } from '../../../api-operation/schemas'
import type { Model } from '../../../contract/family'
import { type OpenContext, openOperation } from '../operation'

const choices = list(Type.Object({ id: text, name: text }))
const ofSpeech = { access: 'optional key', tag: 'Speech', answers: 'The list.' } as const

const models = openOperation(
  named(
    'SpeechModelList',
    { models: choices },
    { models: [{ id: 'a-speech-model', name: 'a-speech-model' }] },
  ),
)({
  ...ofSpeech,
  id: 'listSpeechModels',
  forTokens: true,
  endpoint: 'GET /v1/audio/models',
  summary: 'Models that speak',
  description: 'Those that the key may use, or all without a key.',
  run: async (context) => ({ models: speakingOf(context).map(({ id }) => ({ id, name: id })) }),
})

const voices = openOperation(
  named('VoiceList', { voices: choices }, { voices: [{ id: 'Cherry', name: 'Cherry' }] }),
)({
  ...ofSpeech,
  id: 'listVoices',
  forTokens: true,
  endpoint: 'GET /v1/audio/voices',
  summary: 'The voices of these models',
  async run(context) {
    const names = new Set(speakingOf(context).flatMap(({ form }) => voicesOf(form)))
    return { voices: [...names].map((name) => ({ id: name, name })) }
  },
})

function speakingOf({ world: { catalogue }, key }: OpenContext) {
  return [...catalogue.models].flatMap(([id, forms]) => {
    const form = forms.find(({ family }) => family.kind === 'speech')
    return form && (!key || mayUse(key, id)) ? [{ id, form }] : []
  })
}

/** The voices of a model: those of its entry, otherwise those that its family knows; empty for a model that does not speak. */
export function voicesOf(model: Model): readonly string[] {
  return model.family.kind === 'speech' ? (model.voices ?? model.family.voices(model)) : []
}

export const audioListOperations = [models, voices]
