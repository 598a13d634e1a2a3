// Rules for fields that several vendors refuse although the answer would differ without them. The fields must be refused under the
// names of each dialect.

import type { FieldRule } from '../../contract/family'

const none = { why: 'the vendor of this model returns no token probabilities', always: true } as const

/**
 * Rules for a vendor that supports neither token biases nor probabilities. Requests to models that ignore the fields are not
 * checked by these rules.
 */
export const NO_PROBABILITIES: readonly FieldRule[] = [
  { field: 'logit_bias', plain: ['{}'], ...none },
  { field: 'logprobs', plain: [false], ...none },
  { field: 'top_logprobs', plain: [0], ...none },
  { field: 'include[]', plain: /^(?!message\.output_text\.logprobs$)/, ...none },
]

/** Rules for transcription fields that a vendor lacks: they do not apply to fields of the same names in other requests. */
export function refusedOfAudio(...rules: readonly Omit<FieldRule, 'always' | 'unless'>[]): FieldRule[] {
  return rules.map((rule) => ({
    ...rule,
    always: true,
    unless: ({ family }) => family.operation !== 'transcription',
  }))
}

/** Fields of `NO_PROBABILITIES` that are omitted if their values have no effect: such a vendor refuses those too. */
export const omittedProbabilities = { logit_bias: null, logprobs: null, top_logprobs: null } as const
