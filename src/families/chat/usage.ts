// Writes the usage of a chat completion as its callers read it.

import type { Quantities } from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'

/** Usage in the terms of chat: the prompt has cached and written tokens in it, and the completion has thinking in it. */
export function chatUsage(usage: Quantities, thinkingTokens = 0) {
  const cached = usage.cached_input_token ?? 0
  const written = (usage.cache_write_token ?? 0) + (usage.cache_write_1h_token ?? 0)
  const prompt = inputTokensOf(usage)
  const completion = outputTokensOf(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: Math.min(thinkingTokens, completion) },
  }
}
