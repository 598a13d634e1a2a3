// Simulates Ollama: chat completions without a key, and the server's own list of models with their metadata. It must never list
// a model in one API that the other does not have.

import { asObject, asString, type JsonObject } from '../json'
import { createLookalike } from '../openai/lookalike'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'

interface LocalModel {
  architecture: string
  contextLength: number
  capabilities: readonly string[]
  parameters?: string
}

const local = new Map<string, LocalModel>([
  [
    'llama3.2:latest',
    { architecture: 'llama', contextLength: 131_072, capabilities: ['completion', 'tools'] },
  ],
  [
    'hf.co/Bartowski/Gemma-3:Q4_K_M',
    {
      architecture: 'gemma3',
      contextLength: 131_072,
      capabilities: ['completion', 'vision'],
      parameters: 'num_ctx                        8192\nstop                           "<end_of_turn>"',
    },
  ],
  [
    'nomic-embed-text:latest',
    { architecture: 'nomic-bert', contextLength: 2_048, capabilities: ['embedding'] },
  ],
])

export const ollama = createLookalike({
  secret: null,
  basePath: '',
  chatPath: '/v1/chat/completions',
  models: [...local.keys()],
  // The tag is optional and defaults to "latest" (Ollama's docs/api.md, "Model names").
  names: /^(llama3\.2|nomic-embed-text)$/,
  error: ({ message, type = 'api_error' }) => ({ error: { message, type, param: null, code: null } }),
  unauthorized: { status: 401, message: 'unauthorized' },
  missingModel: (model) => ({
    status: 404,
    message: `model "${model}" not found, try pulling it first`,
    type: 'not_found_error',
  }),
  outOfQuota: { status: 402, message: 'this model requires a subscription' },
  other,
})

function other({ method, path, json }: VendorRequest): Reply | undefined {
  if (method === 'GET' && path === '/api/tags') return jsonReply(200, { models: [...local].map(tagOf) })
  if (method !== 'POST' || path !== '/api/show') return undefined
  const name = asString(asObject(json)?.model) ?? ''
  const model = local.get(name) ?? local.get(`${name}:latest`)
  return model ? jsonReply(200, showOf(model)) : jsonReply(404, { error: `model '${name}' not found` })
}

function tagOf([name, { architecture }]: [string, LocalModel]): JsonObject {
  const details = { parent_model: '', format: 'gguf', family: architecture, families: [architecture] }
  return {
    name,
    model: name,
    modified_at: '2026-10-03T23:34:03Z',
    size: 2_019_393_189,
    digest: 'a80c4f17',
    details,
  }
}

function showOf({ architecture, contextLength, capabilities, parameters }: LocalModel): JsonObject {
  return {
    modelfile: '',
    ...(parameters !== undefined && { parameters }),
    template: '{{ .Prompt }}',
    details: { format: 'gguf', family: architecture },
    model_info: {
      'general.architecture': architecture,
      'general.parameter_count': 3_212_749_888,
      [`${architecture}.context_length`]: contextLength,
    },
    capabilities,
  }
}
