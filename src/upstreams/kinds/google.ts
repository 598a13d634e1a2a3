// Google Gemini: the native API with its interactions, and the OpenAI-compatible one below `/openai`.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const google: UpstreamKind = {
  kind: 'google',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  chatFamily: 'gemini-contents',
  secretVariable: 'GEMINI_API_KEY',
  prefix: { openai: '/openai', native: '' },
  fileHosts: [],
  // Videos are files of the API: examples in ai.google.dev/gemini-api/docs/video fetch them with the key.
  keyOpensFiles: true,
  headers: (secret, protocol) =>
    protocol === 'openai' ? { authorization: `Bearer ${secret}` } : { 'x-goog-api-key': secret },
  // The accepted fields are a closed list: each of these was refused with `Unknown name "…": Cannot find field` on the
  // OpenAI-compatible path (page-assist#418, agents#45, openhanako#394, cursor-byok#112 and SkyrimNet-GamePlugin#77 on GitHub).
  // Penalties, `seed` and `top_k` are hints for how words are chosen.
  renamed: {
    store: null,
    metadata: null,
    prompt_cache_key: null,
    seed: null,
    top_k: null,
    frequency_penalty: null,
    presence_penalty: null,
    // There is no report of these, and they have no effect on an answer: Google documents nothing under these names.
    prompt_cache_retention: null,
    safety_identifier: null,
    user: null,
    prediction: null,
  },
  refused: [
    {
      field: 'reasoning',
      why: 'the vendor of this model refuses it',
      instead: "Use 'reasoning_effort' instead.",
      always: true,
      // In a responses request it is translated.
      unless: ({ family }) => family.operation !== 'chat',
    },
  ],
  error(status, body) {
    const shape = readErrorShape(reasonOf(body))
    const { status: word, details } = errorOf(body)
    // A bad key is a 400 here, with the reason in the details.
    const badKey =
      details.some(({ reason }) => reason === 'API_KEY_INVALID') ||
      shape.message.startsWith('API key not valid')
    const operator = badKey || [401, 403, 404].includes(status) || word === 'FAILED_PRECONDITION'
    const delay = details.map(({ retryDelay }) => retryDelay).find((value) => typeof value === 'string')
    const seconds = Number.parseFloat(delay ?? '')
    return {
      ...shape,
      code: word ?? shape.code,
      whose: operator ? 'operator' : 'caller',
      ...(Number.isNaN(seconds) ? {} : { retryAfterSeconds: seconds }),
    }
  },
}

/**
 * The reason of a failed interaction. Its form is not that of an error: the reason is in a list of errors, or in the failed step.
 */
function reasonOf(body: unknown): unknown {
  const { error, errors, steps } = (body ?? {}) as { error?: unknown; errors?: unknown; steps?: unknown }
  if (error) return body
  if (Array.isArray(errors) && errors.length > 0) return { error: errors[0] }
  const failed = Array.isArray(steps) ? steps.findLast((step) => step?.error) : undefined
  return failed ?? body
}

interface GoogleError {
  status?: string
  details: { reason?: string; retryDelay?: string }[]
}

function errorOf(body: unknown): GoogleError {
  const outer = (Array.isArray(body) ? body[0] : body) as { error?: Partial<GoogleError> } | null
  const error =
    outer && typeof outer === 'object' && outer.error && typeof outer.error === 'object' ? outer.error : {}
  return {
    ...(typeof error.status === 'string' ? { status: error.status } : {}),
    details: Array.isArray(error.details)
      ? error.details.filter((detail) => detail && typeof detail === 'object')
      : [],
  }
}
