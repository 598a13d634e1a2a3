// The rule that sends requests with tools over responses: some vendors refuse tools on chat completions while the model
// thinks, and its highest effort where it always thinks. It must never decide for a model whose traits do not say so.

import type { Model } from '../../contract/family'

/**
 * Whether a request for a model that serves chat completions too has to go over responses: with tools, if the model thinks.
 * Both fields are as the caller sent them, not yet checked; an effort that is not a text counts as none.
 */
export function needsResponses({ traits }: Model, tools: unknown, effort: unknown): boolean {
  if (traits.toolsBesideEffort) return false
  // Of gpt-6-astra, chat completions take `low` to `xhigh`, and responses `max` too: BerriAI/litellm-docs#1173 (2026-09-03).
  if (effort === 'max' && traits.thinking === 'always') return true
  if (!Array.isArray(tools) || tools.length === 0) return false
  if (traits.thinking !== 'optional') return traits.thinking === 'always'
  return typeof effort === 'string' ? effort !== 'none' : traits.thinksByDefault
}

/** Whether some requests for a model have to go over responses. */
export function needsResponsesForSome({ traits }: Pick<Model, 'traits'>): boolean {
  return !traits.toolsBesideEffort && traits.thinking !== 'never'
}

/** Whether some requests for a model have to go over responses, and its vendor serves them. */
export function canUseBoth(model: Model): boolean {
  return model.upstream.servesResponses && needsResponsesForSome(model)
}
