// Ollama: models on the operator's own machine, free, without a key. Requests have OpenAI's form; models are listed by the server's
// own API: https://github.com/ollama/ollama/blob/main/docs/api.md.

import { nativeCall } from '../../contract/call'
import type { Call } from '../../contract/family'
import type { ListedModels, ListedSettings, UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'

export const ollama: UpstreamKind = {
  kind: 'ollama',
  baseUrl: 'http://127.0.0.1:11434',
  secretVariable: 'OLLAMA_API_KEY',
  keyless: true,
  prefix: { openai: '/v1', native: '/api' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status)
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
  probe: nativeCall('/tags', null, { method: 'GET' }),
  listing: {
    freeFamily: 'openai-chat',
    call: nativeCall('/tags', null, { method: 'GET' }),
    details: (list) => new Map(namesIn(list).map((name) => [name, showCall(name)])),
    read(list, details) {
      const listed: ListedModels = { models: {}, refused: {} }
      for (const name of namesIn(list)) {
        const settings = settingsOf(asObject(details.get(name)))
        if (settings) listed.models[name] = settings
        else listed.refused[name] = 'it does not write text'
      }
      return listed
    },
  },
}

function namesIn(list: unknown): string[] {
  const { models } = asObject(list)
  return (Array.isArray(models) ? models : []).flatMap((model) => {
    const { model: id, name = id } = asObject(model)
    return typeof name === 'string' ? [name] : []
  })
}

function showCall(model: string): Call {
  return nativeCall('/show', { json: { model } })
}

/** The settings of a model, from its metadata; undefined for one that only makes embeddings. */
function settingsOf(about: Record<string, unknown>): ListedSettings | undefined {
  const { capabilities, model_info: info, parameters } = about
  const abilities: unknown[] = Array.isArray(capabilities) ? capabilities : ['completion']
  if (!abilities.includes('completion')) return undefined
  const facts = asObject(info)
  const trained = facts[`${facts['general.architecture']}.context_length`]
  // The context that it runs with, if its file sets one, is smaller than the model's.
  const [, set] = /^num_ctx\s+(\d+)/m.exec(typeof parameters === 'string' ? parameters : '') ?? []
  const context = set === undefined ? trained : Number(set)
  return {
    free: true,
    ...(Number.isInteger(context) && (context as number) > 0 && { contextTokens: context as number }),
    ...(abilities.includes('vision') && { inputModalities: ['image'] }),
  }
}
