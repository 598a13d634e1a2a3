// The rule that sends requests with tools to the responses API: on chat completions, some vendors refuse tools while the model
// thinks, or its highest effort if it always thinks. It must never decide for a model whose traits do not say so.

import type { Model } from '../../contract/family'

/**
 * Whether a request must use the responses API although the model serves chat completions too: it has tools, and the model thinks.
 * Both fields are still unchecked; an effort that is not a text counts as none.
 */
export function needsResponses({ traits }: Model, tools: unknown, effort: unknown): boolean {
  if (traits.toolsBesideEffort) return false
  // For gpt-6-astra, chat completions accept `low` to `xhigh`, and responses accept `max` too: BerriAI/litellm-docs#1173
  // (2026-09-03).
  if (effort === 'max' && traits.thinking === 'always') return true
  if (!Array.isArray(tools) || tools.length === 0) return false
  if (traits.thinking !== 'optional') return traits.thinking === 'always'
  return typeof effort === 'string' ? effort !== 'none' : traits.thinksByDefault
}

/** Whether some requests for a model must use the responses API. */
export function needsResponsesForSome({ traits }: Pick<Model, 'traits'>): boolean {
  return !traits.toolsBesideEffort && traits.thinking !== 'never'
}

/** Whether some requests for a model must use the responses API, and its vendor serves it. */
export function canUseBoth(model: Model): boolean {
  return model.upstream.servesResponses && needsResponsesForSome(model)
}
