// Groq: OpenAI's API, with its own status for a tier without capacity: https://console.groq.com/docs/errors.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { NO_PROBABILITIES, omittedProbabilities, refusedOfAudio } from './refused-fields'

/** The flexible tier has no capacity: the model has not begun. */
const TIER_IS_FULL = 498
const OPERATOR_CODES = new Set([
  'model_not_found',
  'model_decommissioned',
  'model_terms_required',
  'organization_restricted',
])

/** Fields and formats of OpenAI's transcription that TranscriptionCreateParams of groq-sdk 1.6 (November 2026) lacks. */
const ofAudio = refusedOfAudio(
  { field: 'stream', plain: [false], why: 'the vendor of this model does not stream transcripts' },
  {
    field: 'response_format',
    plain: /^(json|text|verbose_json)$/,
    why: 'the vendor of this model returns only JSON or text',
  },
)

export const groq: UpstreamKind = {
  kind: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  secretVariable: 'GROQ_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  // "Currently unsupported" and 400, by https://console.groq.com/docs/openai and the types of groq-sdk 1.6 (November 2026); the
  // refusal of metadata is on record in hass_local_openai_llm#59 on GitHub. That page lists `messages[].name` too, but the types have
  // it, and the vendor's own refusal of another field offers it: "property 'status' is unsupported, did you mean 'name'?"
  // (run-llama/llama_index#14701, 2024-07-11). Therefore names are sent.
  refused: [
    ...NO_PROBABILITIES,
    {
      field: 'reasoning',
      why: 'the vendor of this model refuses it',
      instead: "Use 'reasoning_effort' instead.",
      always: true,
      // In a responses request it is translated.
      unless: ({ family }) => family.operation !== 'chat',
    },
    { field: 'n', plain: [1], why: 'the vendor of this model returns one answer per request', always: true },
    ...ofAudio,
  ],
  renamed: {
    ...omittedProbabilities,
    store: null,
    metadata: null,
    frequency_penalty: null,
    presence_penalty: null,
  },
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || OPERATOR_CODES.has(shape.code ?? '')
    return {
      ...shape,
      whose: operator ? 'operator' : 'caller',
      ...(status === TIER_IS_FULL && { status: 503 }),
    }
  },
}
