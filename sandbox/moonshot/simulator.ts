// Simulates Moonshot AI: chat completions that report cached tokens at the top of the usage, and messages. It must never report a
// cached token in another way.
//
// While it thinks it refuses calls of tools without the reasoning that led to them, or with an empty one
// (earendil-works/pi#4178, 2026-05-05), in the words of continuedev/continue#11600 (2026-03-18).

import { asObject, isGiven, type JsonObject } from '../json'
import type { TokenCounts } from '../openai/chat'
import { createLookalike, forcedChoice } from '../openai/lookalike'
import { spokenIn, thinkingIsOff } from '../openai/returned-reasoning'

/** Models that think unless a request disables it. */
const NEWER = /^kimi-k(2\.[5-9]|[3-9])/

export const moonshot = createLookalike({
  secret: 'sk-sandbox-moonshot-0001',
  basePath: '',
  chatPath: '/v1/chat/completions',
  messagesPath: '/anthropic/v1/messages',
  models: ['kimi-k2-0905-preview', 'kimi-k2-thinking', 'kimi-k2.5', 'kimi-k2.6', 'kimi-k2.7-code', 'kimi-k3'],
  names: /^kimi-k\d[a-z0-9.-]*$/,
  thinks: (model, body) => (thinks(model, body) ? 16 : 0),
  refusedField: (body, model) => {
    const message = refusedWords(body, model)
    return message === undefined ? undefined : { status: 400, message }
  },
  refusedConversation(body, model) {
    const lost = spokenIn(body).find(({ calls, reasoning }) => calls && reasoning === undefined)
    if (!lost || !thinks(model, body)) return undefined
    return {
      status: 400,
      message: `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${lost.place}`,
    }
  },
  error: ({ message, type = 'invalid_request_error' }) => ({ error: { message, type } }),
  unauthorized: { status: 401, message: 'Invalid Authentication', type: 'invalid_authentication_error' },
  missingModel: (model) => ({
    status: 404,
    message: `Not found the model ${model} or Permission denied`,
    type: 'resource_not_found_error',
  }),
  outOfQuota: {
    status: 429,
    message: 'Your account is suspended, please check your plan and billing details',
    type: 'exceeded_current_quota_error',
  },
  usage({ prompt, cached, output, reasoning }: TokenCounts) {
    const completion = output + reasoning
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      ...(cached > 0 && { cached_tokens: cached }),
    }
  },
})

/** https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model */
function thinks(model: string, body: JsonObject): boolean {
  return model === 'kimi-k2-thinking' || (NEWER.test(model) && !thinkingIsOff(body))
}

/** The words are on record in test/vendors/moonshot. */
function refusedWords(body: JsonObject, model: string): string | undefined {
  const thinking = asObject(body.thinking)?.type
  if (isGiven(body.thinking) && isGiven(body.reasoning_effort)) {
    return "cannot specify both 'thinking' and 'reasoning_effort'"
  }
  if (model === 'kimi-k2.7-code' && thinking === 'disabled') {
    return 'invalid thinking: only type=enabled is allowed for this model'
  }
  if (!thinks(model, body) && !NEWER.test(model)) return undefined
  const only = thinking === 'disabled' ? 0.6 : 1
  if (NEWER.test(model) && isGiven(body.temperature) && body.temperature !== only) {
    return `invalid temperature: only ${only} is allowed for this model`
  }
  const choice = thinks(model, body) ? forcedChoice(body) : undefined
  return choice === undefined || (choice === 'required' && model === 'kimi-k3')
    ? undefined
    : `tool_choice '${choice}' is incompatible with thinking enabled`
}
