// Writes the usage of a message as callers read it.

import type { Quantities } from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'

/** Usage in the terms of messages: cached tokens are not part of the input, and thinking is part of the output. */
export function messageUsage(usage: Quantities, thinkingTokens = 0) {
  const output = outputTokensOf(usage)
  const cached = usage.cached_input_token ?? 0
  const written = (usage.cache_write_token ?? 0) + (usage.cache_write_1h_token ?? 0)
  return {
    input_tokens: inputTokensOf(usage) - written - cached,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
    ...(thinkingTokens > 0 &&
      thinkingTokens <= output && { output_tokens_details: { thinking_tokens: thinkingTokens } }),
  }
}
