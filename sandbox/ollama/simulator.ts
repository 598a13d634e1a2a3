// Simulates Ollama: chat completions without a key, and the server's own list of models with their metadata. It must never list
// a model in one API that the other does not have.

import { asObject, asString, type JsonObject } from '../json'
import { createLookalike } from '../openai/lookalike'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'

interface LocalModel {
  architecture: string
  contextLength: number
  parameterCount: number
  /** The number of parameters as the server writes it: `3.2B`. */
  parameterSize: string
  quantization: string
  capabilities: readonly string[]
  parameters?: string
}

const local = new Map<string, LocalModel>([
  [
    'llama3.2:latest',
    {
      architecture: 'llama',
      contextLength: 131_072,
      parameterCount: 3_212_749_888,
      parameterSize: '3.2B',
      quantization: 'Q4_K_M',
      capabilities: ['completion', 'tools'],
    },
  ],
  [
    'hf.co/Bartowski/Gemma-3:Q4_K_M',
    {
      architecture: 'gemma3',
      contextLength: 131_072,
      parameterCount: 4_299_915_632,
      parameterSize: '4.3B',
      quantization: 'Q4_K_M',
      capabilities: ['completion', 'vision'],
      parameters: 'num_ctx                        8192\nstop                           "<end_of_turn>"',
    },
  ],
  [
    'nomic-embed-text:latest',
    {
      architecture: 'nomic-bert',
      contextLength: 2_048,
      parameterCount: 136_727_040,
      parameterSize: '137M',
      quantization: 'F16',
      capabilities: ['embedding'],
    },
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
  const found = local.has(name) ? name : `${name}:latest`
  const model = local.get(found)
  return model ? jsonReply(200, showOf(found, model)) : jsonReply(404, { error: `model '${name}' not found` })
}

const modifiedAt = '2026-10-03T23:34:03Z'

function tagOf([name, model]: [string, LocalModel]): JsonObject {
  return {
    name,
    model: name,
    modified_at: modifiedAt,
    size: 2_019_393_189,
    digest: 'a80c4f17'.repeat(8),
    details: detailsOf(model),
  }
}

/** The server omits none of these, even if they are empty. */
function detailsOf({ architecture, parameterSize, quantization }: LocalModel): JsonObject {
  return {
    parent_model: '',
    format: 'gguf',
    family: architecture,
    families: [architecture],
    parameter_size: parameterSize,
    quantization_level: quantization,
  }
}

function showOf(name: string, model: LocalModel): JsonObject {
  const { architecture, contextLength, parameterCount, capabilities, parameters } = model
  return {
    modelfile: `FROM ${name}`,
    ...(parameters !== undefined && { parameters }),
    template: '{{ .Prompt }}',
    details: detailsOf(model),
    model_info: {
      'general.architecture': architecture,
      'general.parameter_count': parameterCount,
      [`${architecture}.context_length`]: contextLength,
    },
    capabilities,
    modified_at: modifiedAt,
  }
}
