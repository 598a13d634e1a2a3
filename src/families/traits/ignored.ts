// Fields of callers that have no effect with a model, because of its traits. The contract says that no error is returned for any of
// them, whatever their values; nothing else must be listed.

import type { Traits } from '../../contract/traits'

/** Fields of a chat completion that have no effect. */
export function ignoredInChat(traits: Traits): string[] {
  return fieldsOf(traits, {
    sampling: ['temperature', 'top_p', 'top_k'],
    stop: ['stop'],
    penalties: ['frequency_penalty', 'presence_penalty'],
    logitBias: ['logit_bias'],
    logprobs: ['logprobs', 'top_logprobs'],
    speech: ['modalities', 'audio'],
    prediction: ['prediction'],
  })
}

/** Fields of a message that have no effect. */
export function ignoredInMessages(traits: Traits): string[] {
  return fieldsOf(traits, { sampling: ['temperature', 'top_p', 'top_k'], stop: ['stop_sequences'] })
}

/** Fields of a response that have no effect. */
export function ignoredInResponses(traits: Traits): string[] {
  return fieldsOf(traits, { sampling: ['temperature', 'top_p'], logprobs: ['top_logprobs'] })
}

function fieldsOf(traits: Traits, fields: Partial<Record<keyof Traits, string[]>>): string[] {
  return Object.entries(fields).flatMap(([trait, names]) => {
    const value = traits[trait as keyof Traits]
    return value === false || value === 'never' ? names : []
  })
}
