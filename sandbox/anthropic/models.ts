// The refusals of single Claude models for a body whose fields are known, in the recorded words of the real service
// (test/vendors/anthropic). It must never use the gateway's knowledge of a model.

import { asObject, asObjects, asString, isGiven, type JsonObject } from '../json'

/** Models that accept neither sampling nor a thinking budget. */
const FROM_4_7 = /^claude-(opus-4-[78]|(?:opus|sonnet|haiku|fable)-[5-9]|mythos)/
/** Models whose thinking cannot be set, and that do not continue a message. */
const FROM_4_6 = /^claude-(opus-4-[678]|sonnet-4-6|(?:opus|sonnet|haiku|fable)-[5-9]|mythos)/
const ALWAYS_THINKS = /^claude-(opus-5-5|sonnet-5-5|fable-5|mythos)/
const NO_EFFORT = /^claude-(haiku|sonnet)-4-5/
const NO_FORCED_CHOICE = /^claude-(opus-5-5|sonnet-5-5|fable-5-1|mythos-5-1)/
const ONE_OF_SAMPLING = /^claude-(opus-4-[156]|sonnet-4-[56]|haiku-4-5)/
/** Models that take these efforts only while they think. */
const THINKS_AT_HIGHEST = /^claude-(opus-5|haiku-5-5)/
const HIGHEST_EFFORTS = ['xhigh', 'max']

const SAMPLING = ['temperature', 'top_p', 'top_k'] as const
const THINKING_PAGE =
  'Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking'
const THINKING_FIRST =
  'When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking'
const INSTEAD = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'

/** The API version without sampling fields. */
export const WITHOUT_SAMPLING = '2026-10-21'

/** Whether Amazon Bedrock serves a model in that version. */
export function isFrom47(model: string): boolean {
  return FROM_4_7.test(model)
}

/** The sampling field that a version of the API does not have. */
export function findVersionFault(version: string | undefined, body: JsonObject): string | undefined {
  const extra = version === WITHOUT_SAMPLING && SAMPLING.find((field) => isGiven(body[field]))
  return extra ? `${extra}: Extra inputs are not permitted` : undefined
}

/** The first fault of a body for its model. */
export function findModelFault(body: JsonObject): string | undefined {
  const model = asString(body.model) ?? ''
  return (
    findThinkingFault(model, body) ??
    findEffortFault(model, body) ??
    findSamplingFault(model, body) ??
    findChoiceFault(model, body) ??
    findPrefillFault(model, body)
  )
}

function thinkingOf({ thinking }: JsonObject): unknown {
  return asObject(thinking)?.type
}

function findThinkingFault(model: string, body: JsonObject): string | undefined {
  const thinking = thinkingOf(body)
  if (thinking === 'adaptive' && !FROM_4_6.test(model)) {
    return 'adaptive thinking is not supported on this model'
  }
  const isRefused =
    (thinking === 'disabled' && ALWAYS_THINKS.test(model)) || (thinking === 'enabled' && FROM_4_7.test(model))
  return isRefused ? `"thinking.type.${thinking}" is not supported for this model. ${INSTEAD}` : undefined
}

function findEffortFault(model: string, body: JsonObject): string | undefined {
  const effort = asObject(body.output_config)?.effort
  if (!isGiven(effort)) return undefined
  if (NO_EFFORT.test(model)) return 'This model does not support the effort parameter.'
  const thinking = thinkingOf(body)
  const isQuiet = model.startsWith('claude-sonnet-5-5')
    ? thinking === 'between_tools'
    : THINKS_AT_HIGHEST.test(model) && thinking === 'disabled'
  return isQuiet && HIGHEST_EFFORTS.includes(String(effort))
    ? `output_config.effort '${String(effort)}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`
    : undefined
}

function findSamplingFault(model: string, body: JsonObject): string | undefined {
  const { temperature, top_p, top_k } = body
  if (FROM_4_7.test(model)) {
    const old = SAMPLING.find((field) => isGiven(body[field]) && (field === 'top_k' || body[field] !== 1))
    if (old) return `\`${old}\` is deprecated for this model.`
  }
  const thinks = ['enabled', 'adaptive'].includes(String(thinkingOf(body)))
  if (thinks && isGiven(temperature) && temperature !== 1) {
    return `\`temperature\` may only be set to 1 when thinking is enabled or in adaptive mode. ${THINKING_PAGE}`
  }
  if (thinks && isGiven(top_k)) return `\`top_k\` must be unset when thinking is enabled. ${THINKING_PAGE}`
  return ONE_OF_SAMPLING.test(model) && isGiven(temperature) && isGiven(top_p)
    ? '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
    : undefined
}

function findChoiceFault(model: string, body: JsonObject): string | undefined {
  const choice = String(asObject(body.tool_choice)?.type)
  if (choice !== 'any' && choice !== 'tool') return undefined
  if (NO_FORCED_CHOICE.test(model)) {
    return 'tool_choice: type "tool" and "any" are not supported for this model.'
  }
  return thinkingOf(body) === 'enabled'
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined
}

function findPrefillFault(model: string, body: JsonObject): string | undefined {
  const messages = asObjects(body.messages)
  const { role, content } = messages.at(-1) ?? {}
  if (role !== 'assistant') return undefined
  if (FROM_4_6.test(model)) {
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  }
  const isText = typeof content === 'string' || asObjects(content)[0]?.type === 'text'
  return isText && thinkingOf(body) === 'enabled'
    ? `messages.${messages.length - 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`text\`. ${THINKING_FIRST}`
    : undefined
}
