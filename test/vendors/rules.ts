// Requests that vendors refuse, as rules written from the records next to this file. The rules must never be derived
// from the gateway's own table of traits, because they judge it.

import { geminiRules } from './gemini-rules'
import type { JsonObject } from './recorded'

/** A request as received by a vendor. */
export interface Sent {
  /** The kind of the upstream. */
  vendor: string
  /** The path, including the vendor's base path. */
  path: string
  headers: Readonly<Record<string, string>>
  /** The model's name at the vendor, without prefixes and suffixes added by clouds. */
  model: string
  body: JsonObject
}

/** Whether a rule forbids a request. `asked` is the caller's body, if there is one. */
export type Rule = (sent: Sent, asked?: JsonObject) => boolean

const object = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const isGiven = (value: unknown): boolean => value !== undefined && value !== null
const has = ({ body }: Sent, ...names: string[]): boolean => names.some((name) => isGiven(body[name]))
const isChat = ({ path }: Sent): boolean => path.endsWith('/chat/completions')
const isResponse = ({ path }: Sent): boolean => path.endsWith('/responses')
const isMessages = ({ path }: Sent): boolean => path.endsWith('/messages')

/** Whether a `tool_choice` of chat completions forces a call. */
const forces = ({ body }: Sent): boolean =>
  body.tool_choice === 'required' || isGiven(object(body.tool_choice).function)

// OpenAI, and its models on Azure.

const isOpenai = ({ vendor }: Sent): boolean => vendor === 'openai' || vendor === 'azure'
const reasoner = /^(?:gpt-(?:5|6)(?![\w.]*-chat)|o[134](?:-|$))/
/** Models that reason only if an effort is requested. */
const quiet = /^gpt-5\.[124](?:-(?!codex|pro)|$)/
const effortIn = (sent: Sent): unknown =>
  isChat(sent) ? sent.body.reasoning_effort : object(sent.body.reasoning).effort
const doesReason = (sent: Sent): boolean =>
  reasoner.test(sent.model) && (effortIn(sent) ?? (quiet.test(sent.model) ? 'none' : 'medium')) !== 'none'

/** The efforts of a model. Efforts without a record are left to the vendor. */
function effortsOf({ model, path }: Sent): readonly string[] | undefined {
  const most = path.endsWith('/responses') ? ['max'] : []
  if (/^gpt-(3|4|5-chat)/.test(model)) return []
  if (/^gpt-6-astra|^gpt-6\.1-sol/.test(model)) return ['low', 'medium', 'high', 'xhigh', ...most]
  // There is no record of whether these models accept `max` in chat completions.
  if (/^gpt-5\.6|^gpt-6-(sol|luna)/.test(model)) return ['none', 'low', 'medium', 'high', 'xhigh', 'max']
  if (/^gpt-5-pro/.test(model)) return ['high']
  if (/^gpt-5\.\d-pro/.test(model)) return ['medium', 'high', 'xhigh']
  if (/^gpt-5\.\d-chat/.test(model)) return ['medium']
  if (/^gpt-5\.(1-codex-max|2-codex)/.test(model)) return ['low', 'medium', 'high', 'xhigh']
  if (/^gpt-5(\.1)?-codex/.test(model)) return ['low', 'medium', 'high']
  if (/^gpt-5\.1(-|$)/.test(model)) return ['none', 'low', 'medium', 'high']
  if (/^gpt-5\.[2-5]/.test(model)) return ['none', 'low', 'medium', 'high', 'xhigh']
  if (/^gpt-5(-mini|-nano)?(-\d|$)/.test(model)) return ['minimal', 'low', 'medium', 'high']
  return undefined
}

const openai: Record<string, Rule> = {
  'azure/parallel-calls-with-minimal-effort': (sent) =>
    sent.vendor === 'azure' && effortIn(sent) === 'minimal' && has(sent, 'parallel_tool_calls'),
  'openai/tools-on-chat'(sent) {
    if (!isOpenai(sent) || !isChat(sent) || list(sent.body.tools).length === 0) return false
    const effort = sent.body.reasoning_effort
    if (/^gpt-(5\.6|6)/.test(sent.model))
      return effort !== 'none' || /^gpt-6(-astra|\.1-sol)/.test(sent.model)
    if (/^gpt-5\.5/.test(sent.model)) return effort !== 'none'
    return /^gpt-5\.[24]/.test(sent.model) && isGiven(effort) && effort !== 'none'
  },
  'openai/parallel-calls': (sent) =>
    isOpenai(sent) && isChat(sent) && /^o[134]/.test(sent.model) && has(sent, 'parallel_tool_calls'),
  'openai/efforts'(sent) {
    const effort = effortIn(sent)
    if (!isOpenai(sent) || !isGiven(effort)) return false
    const efforts = effortsOf(sent)
    return efforts !== undefined && !efforts.includes(String(effort))
  },
  'openai/sampling'(sent) {
    if (!isOpenai(sent) || !doesReason(sent)) return false
    if (isResponse(sent)) return has(sent, 'temperature', 'top_p')
    return has(sent, 'top_p') || (has(sent, 'temperature') && sent.body.temperature !== 1)
  },
  'openai/reasoning-fields'(sent) {
    if (!isOpenai(sent) || !reasoner.test(sent.model)) return false
    if (isResponse(sent)) {
      const isListed = list(sent.body.include).includes('message.output_text.logprobs')
      return doesReason(sent) && (isListed || has(sent, 'top_logprobs'))
    }
    if (has(sent, 'stop', 'logit_bias', 'prediction', 'modalities', 'audio', 'max_tokens')) return true
    if (!doesReason(sent)) return false
    return has(sent, 'presence_penalty', 'frequency_penalty', 'top_logprobs') || sent.body.logprobs === true
  },
  'openai/verbosity'(sent) {
    const verbosity = sent.body.verbosity ?? object(sent.body.text).verbosity
    return (
      isOpenai(sent) &&
      /^gpt-(4|5-chat|5\.1-codex-max)/.test(sent.model) &&
      isGiven(verbosity) &&
      verbosity !== 'medium'
    )
  },
  'openai/summary'(sent, asked) {
    if (!isOpenai(sent) || !isGiven(object(sent.body.reasoning).summary)) return false
    const wanted = object(asked?.reasoning).summary ?? asked?.include_reasoning
    return !isGiven(wanted) && object(asked?.thinking).display !== 'summarized'
  },
  'openai/search-with-minimal-effort'(sent) {
    const searches = list(sent.body.tools).some((tool) => String(object(tool).type).startsWith('web_search'))
    return isOpenai(sent) && isResponse(sent) && searches && effortIn(sent) === 'minimal'
  },
}

// Claude, at Anthropic and on clouds.

const isClaude = ({ model, vendor }: Sent): boolean =>
  model.startsWith('claude-') && ['anthropic', 'bedrock', 'vertex'].includes(vendor)
const from47 = /^claude-(opus-4-[78]|(?:opus|sonnet|haiku|fable)-[5-9]|mythos)/
const from46 = /^claude-(opus-4-[678]|sonnet-4-6|(?:opus|sonnet|haiku|fable)-[5-9]|mythos)/
const alwaysThinks = /^claude-(opus-5-5|sonnet-5-5|fable-5|mythos)/
const thinkingOf = ({ body }: Sent): unknown => object(body.thinking).type
const forcesTool = ({ body }: Sent): boolean =>
  ['any', 'tool'].includes(String(object(body.tool_choice).type))
const claudeEffort = ({ body }: Sent): unknown => object(body.output_config).effort

const anthropic: Record<string, Rule> = {
  'anthropic/sampling'(sent) {
    if (!isClaude(sent) || !from47.test(sent.model)) return false
    const { temperature, top_p } = sent.body
    const isCool = isGiven(temperature) && temperature !== 1
    return isCool || (isGiven(top_p) && top_p !== 1) || has(sent, 'top_k')
  },
  'anthropic/thinking-disabled': (sent) =>
    isClaude(sent) && alwaysThinks.test(sent.model) && thinkingOf(sent) === 'disabled',
  'anthropic/thinking-budgets': (sent) =>
    isClaude(sent) && from47.test(sent.model) && thinkingOf(sent) === 'enabled',
  'anthropic/adaptive-thinking': (sent) =>
    isClaude(sent) && !from46.test(sent.model) && thinkingOf(sent) === 'adaptive',
  'anthropic/effort': (sent) =>
    isClaude(sent) && /^claude-(haiku|sonnet)-4-5/.test(sent.model) && isGiven(claudeEffort(sent)),
  'anthropic/effort-without-thinking'(sent) {
    if (!isClaude(sent) || !['xhigh', 'max'].includes(String(claudeEffort(sent)))) return false
    const thinking = thinkingOf(sent)
    if (sent.model.startsWith('claude-sonnet-5-5')) return thinking === 'between_tools'
    return /^claude-(opus-5|haiku-5-5)/.test(sent.model) && thinking === 'disabled'
  },
  'anthropic/forced-tool-choice': (sent) =>
    isClaude(sent) &&
    /^claude-(opus-5-5|sonnet-5-5|fable-5-1|mythos-5-1)/.test(sent.model) &&
    forcesTool(sent),
  'anthropic/forced-tool-choice-while-thinking': (sent) =>
    isClaude(sent) && forcesTool(sent) && thinkingOf(sent) === 'enabled',
  'anthropic/sampling-while-thinking'(sent) {
    const thinks = ['enabled', 'adaptive'].includes(String(thinkingOf(sent)))
    const isCool = has(sent, 'temperature') && sent.body.temperature !== 1
    return isClaude(sent) && thinks && (isCool || has(sent, 'top_k'))
  },
  'anthropic/temperature-and-top-p': (sent) =>
    isClaude(sent) &&
    /^claude-(opus-4-[156]|sonnet-4-[56]|haiku-4-5)/.test(sent.model) &&
    has(sent, 'temperature') &&
    has(sent, 'top_p'),
  'anthropic/prefill': (sent) =>
    isClaude(sent) && from46.test(sent.model) && object(list(sent.body.messages).at(-1)).role === 'assistant',
  'anthropic/prefill-while-thinking'(sent) {
    const { role, content } = object(list(sent.body.messages).at(-1))
    const beginsWithText = typeof content === 'string' || object(list(content)[0]).type === 'text'
    return isClaude(sent) && thinkingOf(sent) === 'enabled' && role === 'assistant' && beginsWithText
  },
  'anthropic/version-2026-10-21'(sent) {
    const version = sent.body.anthropic_version ?? sent.headers['anthropic-version']
    return isClaude(sent) && version === '2026-10-21' && has(sent, 'temperature', 'top_p', 'top_k')
  },
  // Clouds have no separate rules: those of Anthropic apply to them too.
  'vertex/claude': (sent) =>
    sent.vendor === 'vertex' && Object.keys(anthropic).some((name) => anthropicRule(name, sent)),
  'bedrock/claude': (sent) =>
    sent.vendor === 'bedrock' && Object.keys(anthropic).some((name) => anthropicRule(name, sent)),
  'bedrock/strict-tools'(sent) {
    const isOlder = sent.vendor === 'bedrock' && /^claude-(haiku-5-5|sonnet-4(-0|-2|$))/.test(sent.model)
    if (!isClaude(sent) || !(isOlder || refusesSchemas(sent))) return false
    const tools = list(isConverse(sent) ? object(sent.body.toolConfig).tools : sent.body.tools)
    return tools.some((tool) => isGiven(object(object(tool).toolSpec ?? tool).strict))
  },
  'bedrock/schemas'(sent) {
    if (!isClaude(sent) || !refusesSchemas(sent)) return false
    const config = object(object(sent.body.additionalModelRequestFields ?? sent.body).output_config)
    return isGiven(config.format) || isGiven(object(sent.body.outputConfig).textFormat)
  },
  'bedrock/converse': (sent) =>
    isConverse(sent) && Object.keys(anthropic).some((name) => anthropicRule(name, asMessages(sent))),
}

/** Models that Bedrock serves with an older schema than Anthropic. */
const refusesSchemas = ({ vendor, model }: Sent): boolean =>
  vendor === 'bedrock' && /^claude-(opus-4-[78]|opus-5|sonnet-5|fable-5)/.test(model)

const isConverse = ({ vendor, path }: Sent): boolean =>
  vendor === 'bedrock' && /\/converse(-stream)?$/.test(path)

/** A Converse request with the field names of messages (API_runtime_Converse, and the types of the AWS SDK). */
function asMessages({ body, ...sent }: Sent): Sent {
  const { temperature, topP } = object(body.inferenceConfig)
  const choice = object(object(body.toolConfig).toolChoice)
  const { effort } = object(body.outputConfig)
  return {
    ...sent,
    body: {
      messages: body.messages,
      temperature,
      top_p: topP,
      tool_choice: { type: Object.keys(choice)[0] },
      output_config: { effort },
      ...object(body.additionalModelRequestFields),
    },
  }
}

const anthropicRule = (name: string, sent: Sent): boolean =>
  name.startsWith('anthropic/') && anthropic[name]?.(sent) === true

// Other vendors that use chat completions.

const unknownToGoogle = [
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'store',
  'metadata',
  'prompt_cache_key',
  'reasoning',
  'top_k',
]
const groqFields = ['store', 'metadata', 'reasoning', 'logprobs', 'logit_bias', 'top_logprobs']
const mistralFields = ['max_completion_tokens', 'store']
const bringsReasoning = ({ body }: Sent): boolean =>
  list(body.messages).some((message) => isGiven(object(message).reasoning_content))

const others: Record<string, Rule> = {
  'google/unknown-fields': (sent) =>
    sent.vendor === 'google' && isChat(sent) && has(sent, ...unknownToGoogle),
  'google/efforts': (sent) =>
    sent.vendor === 'google' &&
    isChat(sent) &&
    /^gemini-(?:2\.5-pro|[3-9])/.test(sent.model) &&
    sent.body.reasoning_effort === 'none',
  'groq/unknown-fields'(sent) {
    if (sent.vendor !== 'groq' || !isChat(sent)) return false
    const { n, reasoning_effort: effort } = sent.body
    if (has(sent, ...groqFields) || bringsReasoning(sent) || (isGiven(n) && n !== 1)) return true
    return /qwen3/.test(sent.model) && isGiven(effort) && !['none', 'default'].includes(String(effort))
  },
  'mistral/unknown-fields': (sent) =>
    sent.vendor === 'mistral' &&
    (has(sent, ...mistralFields) ||
      isGiven(object(sent.body.stream_options).include_usage) ||
      bringsReasoning(sent)),
  'xai/names': (sent) =>
    sent.vendor === 'xai' &&
    isChat(sent) &&
    list(sent.body.messages).some((each) => object(each).role !== 'user' && isGiven(object(each).name)),
  'xai/reasoning-fields'(sent) {
    if (sent.vendor !== 'xai' || !isChat(sent) || !/^grok-(3-mini|[4-9])/.test(sent.model)) return false
    if (has(sent, 'presence_penalty', 'frequency_penalty')) return true
    if (has(sent, 'stop') && !sent.model.includes('non-reasoning')) return true
    return /^grok-4(-0709|-latest|-fast|\.20|$)/.test(sent.model) && has(sent, 'reasoning_effort')
  },
  'dashscope/forced-tool-choice-while-thinking'({ vendor, model, body }) {
    const thinks =
      body.enable_thinking === true || (/^qwen3\.8/.test(model) && body.enable_thinking !== false)
    return vendor === 'dashscope' && thinks && forces({ body } as Sent)
  },
  'dashscope/json-word'({ vendor, body }) {
    const asksForJson = object(body.response_format).type === 'json_object'
    return vendor === 'dashscope' && asksForJson && !/json/i.test(JSON.stringify(body.messages))
  },
  'dashscope/thinking-needs-a-stream': ({ vendor, model, body }) =>
    vendor === 'dashscope' &&
    /^qwen3-\d+b/.test(model) &&
    body.stream !== true &&
    body.enable_thinking !== false,
  'deepseek/forced-tool-choice-while-thinking'(sent) {
    if (sent.vendor !== 'deepseek' || !isChat(sent)) return false
    const thinks = /^deepseek-(v4|flash|pro)/.test(sent.model) && thinkingOf(sent) !== 'disabled'
    return (thinks || thinkingOf(sent) === 'enabled') && forces(sent)
  },
  'deepseek/json-schema': (sent) =>
    sent.vendor === 'deepseek' && isChat(sent) && object(sent.body.response_format).type === 'json_schema',
  'deepseek/effort-without-thinking': (sent) =>
    sent.vendor === 'deepseek' &&
    isMessages(sent) &&
    thinkingOf(sent) === 'disabled' &&
    isGiven(claudeEffort(sent)),
  'moonshot/sampling'(sent) {
    if (sent.vendor !== 'moonshot' || !/^kimi-k(2\.[5-9]|[3-9])/.test(sent.model)) return false
    const only = thinkingOf(sent) === 'disabled' ? 0.6 : 1
    return has(sent, 'temperature') && sent.body.temperature !== only
  },
  'moonshot/forced-tool-choice-while-thinking'(sent) {
    const thinks = /^kimi-k(2\.[5-9]|2-thinking|[3-9])/.test(sent.model) && thinkingOf(sent) !== 'disabled'
    if (sent.vendor !== 'moonshot' || !isChat(sent) || !thinks) return false
    return /^kimi-k[3-9]/.test(sent.model) ? isGiven(object(sent.body.tool_choice).function) : forces(sent)
  },
  'moonshot/effort-and-thinking': (sent) =>
    sent.vendor === 'moonshot' && isChat(sent) && has(sent, 'thinking') && has(sent, 'reasoning_effort'),
  'moonshot/thinking-disabled': (sent) =>
    sent.vendor === 'moonshot' && /^kimi-k2\.7-code/.test(sent.model) && thinkingOf(sent) === 'disabled',
  'zai/forced-tool-choice': (sent) => sent.vendor === 'zai' && isChat(sent) && forces(sent),
  'cohere/unknown-fields': (sent) => sent.vendor === 'cohere' && has(sent, 'top_k'),
}

export const rules: Readonly<Record<string, Rule>> = { ...openai, ...anthropic, ...others, ...geminiRules }

/** The names of all rules that forbid a request. */
export function forbiddenBy(sent: Sent, asked?: JsonObject): string[] {
  return Object.keys(rules).filter((name) => rules[name]?.(sent, asked))
}

const INVOKED = /^\/model\/([^/]+)\//
const PUBLISHED = /\/publishers\/anthropic\/models\/([^/:]+):/
const DEPLOYED = /\/deployments\/([^/]+)\//
const GEMINI = /\/models\/([^/:]+):\w+/

/** Turns a request on the wire into the form that rules read. */
export function readSent(
  vendor: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  text: string,
): Sent {
  const body = object(JSON.parse(text))
  const [, inPath] =
    INVOKED.exec(path) ?? PUBLISHED.exec(path) ?? DEPLOYED.exec(path) ?? GEMINI.exec(path) ?? []
  const named = decodeURIComponent(inPath ?? String(body.model ?? ''))
  const model = named
    .replace(/^(?:(?:us|eu|apac|global)\.)?anthropic\./, '')
    .replace(/@.*$/, '')
    .replace(/^models\//, '')
  return { vendor, path: path.replace(/\?.*$/, ''), headers, model, body }
}
