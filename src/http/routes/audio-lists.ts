// GET /v1/audio/models and /v1/audio/voices: what speaks, and with which voices, for clients that offer a choice. A key
// sees what it may use. Such clients send no key with these requests: without one the lists name what the API
// documentation names to everybody, and never more.

import { Elysia } from 'elysia'
import { type Key, mayUse } from '../../accounts/keys'
import type { Catalogue } from '../../catalogue/models'
import type { Model } from '../../contract/family'
import { authorizationOf } from '../authorization'
import { toleratedPaths } from '../paths'
import { answerKeyed, type KeyedWorld } from '../with-key'

/** A choice in a list. */
interface Item {
  id: string
  name: string
}

interface SpeakingModel {
  id: string
  form: Model
}

export function audioListRoutes(world: KeyedWorld & { catalogue: Pick<Catalogue, 'models'> }) {
  function answer(
    request: Request,
    read: (models: SpeakingModel[]) => unknown,
  ): Response | Promise<Response> {
    const show = (key: Key | undefined, requestId: string) =>
      Response.json(read(speakingOf(world.catalogue).filter(({ id }) => !key || mayUse(key, id))), {
        headers: { 'x-request-id': requestId },
      })
    const isKeyed = authorizationOf(request, world.config, 'openai') !== null
    return isKeyed ? answerKeyed(world, request, 'openai', show) : show(undefined, world.newId('req'))
  }

  const models = (request: Request) =>
    answer(request, (usable) => ({ models: usable.map(({ id }): Item => ({ id, name: id })) }))

  const voices = (request: Request) =>
    answer(request, (usable) => {
      const names = new Set(usable.flatMap(({ form }) => voicesOf(form)))
      return { voices: [...names].map((name): Item => ({ id: name, name })) }
    })

  const app = new Elysia({ name: 'audio-lists' })
  for (const path of toleratedPaths('/v1/audio/models')) app.get(path, ({ request }) => models(request))
  for (const path of toleratedPaths('/v1/audio/voices')) app.get(path, ({ request }) => voices(request))
  return app
}

function speakingOf({ models }: Pick<Catalogue, 'models'>): SpeakingModel[] {
  return [...models].flatMap(([id, forms]) => {
    const form = forms.find(({ family }) => family.kind === 'speech')
    return form ? [{ id, form }] : []
  })
}

function voicesOf(model: Model): readonly string[] {
  return model.family.kind === 'speech' ? model.family.voices(model) : []
}
