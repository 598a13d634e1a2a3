// Fields that have no effect with a model because of its traits. The contract promises that none of them causes an error, whatever
// their values; nothing else may be listed.

import type { Traits } from '../../contract/traits'

type FieldsByTrait = Partial<Record<keyof Traits, readonly string[]>>

/** Fields of a chat completion that have no effect. */
export const ignoredInChat = ignoredBy({
  sampling: ['temperature', 'top_p', 'top_k'],
  stop: ['stop'],
  penalties: ['frequency_penalty', 'presence_penalty'],
  logitBias: ['logit_bias'],
  logprobs: ['logprobs', 'top_logprobs'],
  speech: ['modalities', 'audio'],
  prediction: ['prediction'],
  verbosity: ['verbosity'],
})

/** Fields of a message that have no effect. */
export const ignoredInMessages = ignoredBy({
  sampling: ['temperature', 'top_p', 'top_k'],
  stop: ['stop_sequences'],
})

/** Fields of a response that have no effect. */
export const ignoredInResponses = ignoredBy({
  sampling: ['temperature', 'top_p'],
  logprobs: ['top_logprobs'],
})

/** The fields of the traits that a model lacks. Every request needs the list, so each list is made once. */
function ignoredBy(fields: FieldsByTrait): (traits: Traits) => readonly string[] {
  const made = new WeakMap<Traits, readonly string[]>()
  return (traits) => {
    const known = made.get(traits)
    if (known) return known
    const ignored = Object.entries(fields).flatMap(([trait, names]) => {
      const value = traits[trait as keyof Traits]
      return value === false || value === 'never' ? names : []
    })
    made.set(traits, ignored)
    return ignored
  }
}
