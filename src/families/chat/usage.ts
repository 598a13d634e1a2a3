// Writes the usage of a chat completion as callers read it.

import type { Quantities } from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { isObject } from '../../lib/objects'

/** Usage in terms of chat completions: the prompt includes cached and written tokens, and the completion includes thinking. */
export function chatUsage(usage: Quantities, thinkingTokens = 0) {
  const cached = (usage.cached_input_token ?? 0) + (usage.cached_input_audio_token ?? 0)
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

/**
 * The usage of a vendor's completion or chunk for its caller. Some vendors leave thinking out of `completion_tokens` and bill it:
 * xAI's documentation of reasoning says so, and Gemini's OpenAI-compatible API does the same.
 */
export function shownChatUsage(
  figures: Quantities,
  reported?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!reported) return chatUsage(figures)
  const [prompt, completion] = [inputTokensOf(figures), outputTokensOf(figures)]
  const { prompt_tokens: reportedPrompt, completion_tokens: reportedCompletion = 0 } = reported
  if (reportedPrompt === prompt && reportedCompletion === completion) return reported
  const total = { total_tokens: prompt + completion }
  return { ...reported, prompt_tokens: prompt, completion_tokens: completion, ...total }
}

/** A chunk of a stream with these figures, or without figures; unchanged if it already is. */
export function withChatUsage(chunk: object, figures: Quantities | undefined): object {
  const { usage } = chunk as { usage?: unknown }
  if (!isObject(usage)) return chunk
  const shown = figures ? shownChatUsage(figures, usage) : null
  return shown === usage ? chunk : { ...chunk, usage: shown }
}
