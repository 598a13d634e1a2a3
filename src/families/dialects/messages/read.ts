// Reads a messages request into a conversation. It must never drop a field silently: fields that no vendor could serve are refused
// with their place, and omitted ones are in the table of fields.

import type { Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import type {
  AnswerFormat,
  Conversation,
  ReasoningOptions,
  Tool,
  ToolChoice,
} from '../../conversation/conversation'
import type { MessagesBody } from '../../messages/caller-side'
import { cacheMarkOf } from './blocks'
import { turnsOf } from './turns'

type Fields = Record<string, unknown>

export function readMessages(body: MessagesBody, model: Model): Conversation {
  if (body.max_tokens < 1) {
    throw invalidRequest(
      'max_tokens',
      `Invalid 'max_tokens': integer below minimum value. ${model.id} writes at least 1 token, but got ${body.max_tokens}.`,
      'integer_below_min_value',
    )
  }
  // If there are several faults, the one in the messages is reported.
  const turns = turnsOf(body)
  const tools = (body.tools ?? []).map((tool, index) => toolOf(tool as Fields, `tools[${index}]`))
  const { tool_choice: choice } = body
  const alone = asObject(choice).disable_parallel_tool_use
  return {
    turns,
    instructionsHold: 'from_their_place',
    tools,
    choice: tools.length > 0 && choice ? choiceOf(choice) : undefined,
    parallelCalls: tools.length > 0 && alone !== undefined && alone !== null ? !alone : undefined,
    settings: settingsOf(body, model),
    ...cacheMarkOf(body),
    // Converse is the only other protocol that has this vendor's highest effort.
    ...(effortIn(body) === 'max' && { extra: { converse: { outputConfig: { effort: 'max' } } } }),
  }
}

function toolOf(tool: Fields, at: string): Tool {
  const { name, description, input_schema: schema, input_examples: examples, strict } = tool
  if (typeof name !== 'string') throw invalidRequest(`${at}.name`, `Missing '${at}.name': expected a string.`)
  if (!isObject(schema)) {
    throw invalidRequest(`${at}.input_schema`, `Missing '${at}.input_schema': expected a JSON schema.`)
  }
  return {
    name,
    description: withExamples(description, examples),
    parameters: schema,
    isStrict: strict === true,
    strictBy: 'messages',
    at,
    ...cacheMarkOf(tool),
  }
}

function withExamples(description: unknown, examples: unknown): string | undefined {
  const texts = typeof description === 'string' ? [description] : []
  if (!Array.isArray(examples) || examples.length === 0) return texts[0]
  const lines = examples.map((example) => JSON.stringify(example))
  return [...texts, ['Examples of its input:', ...lines].join('\n')].join('\n\n')
}

function choiceOf({ type, name }: { type: string; name?: unknown }): ToolChoice {
  if (type === 'auto' || type === 'none') return { mode: type }
  if (type === 'any') return { mode: 'required' }
  if (type === 'tool' && typeof name === 'string') return { mode: 'required', allowed: [name] }
  throw invalidRequest(
    'tool_choice',
    `Invalid value for 'tool_choice': its type is 'auto', 'any', 'none', or 'tool' with a 'name'.`,
  )
}

function settingsOf(body: MessagesBody, model: Model): Conversation['settings'] {
  return {
    stream: body.stream === true,
    candidates: 1,
    limit: { tokens: body.max_tokens, at: 'max_tokens' },
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: body.top_k ?? undefined,
    stop: body.stop_sequences ?? [],
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    format: formatOf(body),
    reasoning: reasoningOf(body, model),
    verbosity: undefined,
    logprobs: undefined,
    user: userOf(body),
    // All turns of one user share a cache.
    cacheKey: userOf(body),
    serviceTier: undefined,
  }
}

function formatOf(body: Readonly<Fields>): AnswerFormat | undefined {
  const format = asObject(body.output_config).format ?? body.output_format
  if (!isObject(format)) return undefined
  // Every vendor that supports schemas gets the caller's schema.
  const schema = format.schema as object
  return { type: 'json_schema', name: 'output', description: undefined, schema, isStrict: true }
}

/**
 * How long to think. Without `display` current models of messages do not show it:
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
 */
function reasoningOf(body: MessagesBody, { traits }: Model): ReasoningOptions {
  const { type, display } = asObject(body.thinking)
  const effort = effortIn(body)
  const isWritten = effort !== undefined && type !== 'disabled'
  // Other vendors rarely have a field for it.
  const word = effort === 'max' && !traits.efforts?.includes(effort) ? 'xhigh' : effort
  return {
    effort: word,
    effortAt: isWritten ? 'output_config.effort' : undefined,
    budgetTokens: budgetIn(body),
    isShown: display === 'summarized',
    isCarried: true,
  }
}

/** The effort that a request names; `none` if it turns thinking off. It is not checked. */
export function effortIn(body: Readonly<Fields>): string | undefined {
  if (asObject(body.thinking).type === 'disabled') return 'none'
  const { effort } = asObject(body.output_config)
  return typeof effort === 'string' ? effort : undefined
}

/** The tokens that a request allows for thinking. */
export function budgetIn(body: Readonly<Fields>): number | undefined {
  const { type, budget_tokens: budget } = asObject(body.thinking)
  return type === 'enabled' && typeof budget === 'number' ? budget : undefined
}

/** The user's id: vendors want to distinguish users, not to know them. */
function userOf({ metadata }: MessagesBody): string | undefined {
  const { user_id: id } = asObject(metadata)
  return typeof id === 'string' ? new Bun.CryptoHasher('sha256').update(id).digest('hex') : undefined
}
