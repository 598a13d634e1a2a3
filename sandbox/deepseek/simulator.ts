// Simulates DeepSeek: chat completions that report cached tokens separately from the rest of the usage, and messages. It must never
// report a cached token in another way.
//
// While it thinks it refuses calls of tools without the reasoning that led to them, in all turns, and any message of the
// assistant without it in the current turn: https://api-docs.deepseek.com/guides/thinking_mode;
// experientiallabs/experiential#890 (2026-09-10). In the words of qwersyk/Newelle#404 (2026-07-04) and
// farion1231/cc-switch#2282 (2026-04-24).

import { asObject, isGiven, type JsonObject } from '../json'
import type { TokenCounts } from '../openai/chat'
import { createLookalike, forcedChoice, type Words } from '../openai/lookalike'
import { spokenIn, thinkingIsOff } from '../openai/returned-reasoning'

export const deepseek = createLookalike({
  secret: 'sk-sandbox-deepseek-0001',
  basePath: '',
  chatPath: '/chat/completions',
  messagesPath: '/anthropic/v1/messages',
  models: ['deepseek-chat', 'deepseek-reasoner', 'deepseek-v4-flash', 'deepseek-v4-pro'],
  names: /^deepseek-(?:v\d|r\d|coder|flash)[a-z0-9.-]*$/,
  thinks: (model, body) => (thinks(model, body) ? 16 : 0),
  refusedField,
  refusedConversation(body, model) {
    const current = spokenIn(body, 'user')
    const isLooping = current.some(({ calls }) => calls === 'chat')
    const lost =
      spokenIn(body).find(({ calls, reasoning }) => calls && reasoning === undefined) ??
      (isLooping ? current.find(({ reasoning }) => reasoning === undefined) : undefined)
    if (!lost || !thinks(model, body)) return undefined
    const member = lost.calls === 'messages' ? 'content[].thinking' : 'reasoning_content'
    return {
      status: 400,
      message: `The \`${member}\` in the thinking mode must be passed back to the API.`,
    }
  },
  error: ({ message, code = null, type = 'invalid_request_error' }) => ({
    error: { message, type, param: null, code: code ?? 'invalid_request_error' },
  }),
  unauthorized: {
    status: 401,
    message: 'Authentication Fails, Your api key is invalid',
    type: 'authentication_error',
  },
  missingModel: () => ({ status: 400, message: 'Model Not Exist' }),
  outOfQuota: { status: 402, message: 'Insufficient Balance', type: 'unknown_error' },
  usage({ prompt, cached, output, reasoning }: TokenCounts) {
    return {
      prompt_tokens: prompt,
      completion_tokens: output + reasoning,
      total_tokens: prompt + output + reasoning,
      prompt_cache_hit_tokens: cached,
      prompt_cache_miss_tokens: prompt - cached,
      ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
    }
  },
  dialect: { envelope: { system_fingerprint: 'fp_sandbox' } },
})

function thinks(model: string, body: JsonObject): boolean {
  return model === 'deepseek-reasoner' || (model.startsWith('deepseek-v4') && !thinkingIsOff(body))
}

/** The words are on record in test/vendors/deepseek. */
function refusedField(body: JsonObject, model: string, isMessages: boolean): Words | undefined {
  const thinking = asObject(body.thinking)?.type
  if (isMessages) {
    const isRefused = thinking === 'disabled' && isGiven(asObject(body.output_config)?.effort)
    return isRefused
      ? {
          status: 400,
          message: 'thinking options type cannot be disabled when reasoning_effort is set',
        }
      : undefined
  }
  if (asObject(body.response_format)?.type === 'json_schema') {
    return { status: 400, message: 'This response_format type is unavailable now' }
  }
  return (thinking === 'enabled' || thinks(model, body)) && forcedChoice(body)
    ? { status: 400, message: 'Thinking mode does not support this tool_choice' }
    : undefined
}
