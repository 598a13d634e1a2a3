// Determines whether a vendor refused a request for its length or its content: another vendor may accept it then. Pure. An unknown
// refusal counts as neither, because the next vendor would refuse any other fault too.

/**
 * Codes of prompts that are too long: OpenAI and servers that speak its API (https://platform.openai.com/docs/guides/error-codes),
 * and llama.cpp (`ERROR_TYPE_EXCEED_CONTEXT_SIZE` in tools/server/server-common.cpp).
 */
const TOO_LONG_CODES: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error'])

/** Messages of vendors about prompts that are too long, where there is no code. Each with a refusal that was observed. */
const TOO_LONG: readonly RegExp[] = [
  // Anthropic: "prompt is too long: 213462 tokens > 200000 maximum"
  /prompt is too long/i,
  // Anthropic: "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000" (docker/docker-agent#569)
  /exceeds? (?:the )?context limit/i,
  // OpenAI: "Your input exceeds the context window of this model."; MiniMax: "context window exceeds limit"
  /exceeds the context window|context window exceeds/i,
  // OpenAI, vLLM, DeepSeek, OpenRouter: "This model's maximum context length is 8192 tokens. However, …"; Mistral: "Prompt contains
  // 40960 tokens …, too large for model with 32768 maximum context length"
  /maximum context length/i,
  // Google: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."
  /input token count.* exceeds the maximum/i,
  // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
  /maximum prompt length is \d/i,
  // Groq: "Please reduce the length of the messages or completion."
  /reduce the length of the messages/i,
  // Bedrock: "Input is too long for requested model."
  /input is too long for requested model/i,
  // llama.cpp: "the request exceeds the available context size"; LM Studio: "… is greater than the context length"
  /exceeds the available context size|greater than the context length/i,
  // Moonshot: "Your request exceeded model token limit: 131072 (requested: 140213)"
  /exceeded model token limit/i,
  // DashScope: "Range of input length should be [1, 129024]"
  /range of input length should be/i,
  // Z.ai, with the code 1261: "Prompt exceeds max length"
  /prompt exceeds max length/i,
]

/**
 * Codes for prompts and answers that a filter blocked: `content_filter` of Azure OpenAI
 * (https://learn.microsoft.com/en-us/azure/ai-foundry/openai/concepts/content-filter) and Moonshot, `content_policy_violation` and
 * `moderation_blocked` of OpenAI's images, `data_inspection_failed` of DashScope, 1301 of Z.ai
 * (https://docs.z.ai/api-reference/api-code), `…SensitiveContentDetected` of Ark.
 */
const FILTERED_CODE =
  /^(?:content_filter|content_policy_violation|moderation_blocked|data_?inspection_?failed|1301|\w*SensitiveContentDetected\S*)$/i

/** Messages about content that a filter blocked, where vendors have no code. Each with a refusal that was observed. */
const FILTERED: readonly RegExp[] = [
  // Anthropic: "Output blocked by content filtering policy"
  /blocked by (?:our )?content filtering policy/i,
  // OpenAI: "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
  /flagged as potentially violating/i,
  // DeepSeek: "Content Exists Risk"
  /content exists risk/i,
  // DashScope: "Input text data may contain inappropriate content."
  /may contain inappropriate content/i,
]

/** Why a vendor refused a request that another may accept, from its code and message; null for any other fault. */
export function refusedFor(code: string | null, message: string): 'too_long' | 'filtered' | null {
  if (TOO_LONG_CODES.has(code ?? '') || TOO_LONG.some((words) => words.test(message))) return 'too_long'
  if (FILTERED_CODE.test(code ?? '') || FILTERED.some((words) => words.test(message))) return 'filtered'
  return null
}
