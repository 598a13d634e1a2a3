// Rules for fields of a request that several vendors refuse though the answer would be another one without them. The
// fields must be refused under the names that each dialect has for them.

import type { FieldRule } from '../../contract/family'

const none = { why: 'the vendor of this model has no probabilities of tokens', always: true } as const

/** Rules for a vendor that neither weighs tokens nor returns their probabilities. Models that ignore the fields never get here. */
export const NO_PROBABILITIES: readonly FieldRule[] = [
  { field: 'logit_bias', plain: ['{}'], ...none },
  { field: 'logprobs', plain: [false], ...none },
  { field: 'top_logprobs', plain: [0], ...none },
  { field: 'include[]', plain: /^(?!message\.output_text\.logprobs$)/, ...none },
]

/** Rules for fields of a transcription that a vendor lacks: they do not judge fields of the same names in other requests. */
export function refusedOfAudio(...rules: readonly Omit<FieldRule, 'always' | 'unless'>[]): FieldRule[] {
  return rules.map((rule) => ({
    ...rule,
    always: true,
    unless: ({ family }) => family.operation !== 'transcription',
  }))
}

/** Fields of `NO_PROBABILITIES` that are left out where their values change nothing: such a vendor refuses those too. */
export const omittedProbabilities = { logit_bias: null, logprobs: null, top_logprobs: null } as const
