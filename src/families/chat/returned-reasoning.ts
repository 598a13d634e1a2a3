// The parts of earlier answers that a vendor of chat completions must get back, for all dialects: the text of its thinking, its
// details, and signatures of calls. It must never send a vendor what another one wrote: lost parts are filled in as the vendor
// accepts them, so that a conversation never fails on its second turn.
//
// Gemini 3 and later refuse a step of the current turn whose first call has no signature; parallel calls have one
// signature, on the first: https://ai.google.dev/gemini-api/docs/thought-signatures (2026-11-24). Its FAQ names the filler
// for calls of other models, which Vertex AI takes too (pydantic/pydantic-ai#3881, 2025-12-29). Earlier turns get it as well, where
// it is harmless: what begins a turn depends on how the endpoint merges messages. Streams carry each call whole, in its own delta,
// without an index (noho/dayu-agent#45, captured 2026-04-26). DeepSeek refuses turns with calls without `reasoning_content`, on
// every message of the assistant in them (https://api-docs.deepseek.com/guides/thinking_mode; experientiallabs/experiential#890,
// 2026-09-10); it ignores it in others. An empty text was refused (NousResearch/hermes-agent#17341, 2026-04-29), a space is
// accepted. Kimi refuses calls without it or with an empty text; a space is accepted (earendil-works/pi#4178, 2026-05-05). GLM asks
// for it and accepts a turn without it (https://docs.z.ai/guides/capabilities/thinking-mode; openai/openai-agents-python#2669,
// 2026-03). OpenRouter asks for `reasoning_details` unchanged
// (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks).

import type { Model, ParsedRequest } from '../../contract/family'
import type { Returned } from '../../contract/traits'
import { asObject, isObject } from '../../lib/objects'
import { type ChatReasoning, nameOf, openReasoning } from '../sealed-reasoning'
import type { ChatBody } from './caller-side'

type Fields = Record<string, unknown>
type Message = ChatBody['messages'][number]

/** A message, with the sealed reasoning of its turn in order. */
export interface SealedMessage {
  message: Message
  sealed: readonly string[]
}

/** Rules by model name; the first match applies. What a vendor signed itself is sent back to it under every rule. */
const BY_NAME: readonly [names: RegExp, returned: Returned][] = [
  [/^(?:deepseek|kimi)(?![a-z])/, 'demanded_reasoning'],
  [/^(?:minimax|glm|mimo)(?![a-z])/, 'reasoning'],
  [/^gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest$)/, 'signatures'],
]

/**
 * Vendors that refuse all reasoning: SimonSchubert/Kai#265 (Groq, 2026-05-16), BerriAI/litellm#30835 and co-l/openfox#220 (Mistral,
 * 2026-06-19 and 2026-08-07).
 */
const REFUSING_KINDS: ReadonlySet<string> = new Set(['groq', 'mistral'])
const REFUSED_MEMBERS: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'extra_content',
]

/** Filler for the reasoning of a turn that has lost its own. */
export const NO_REASONING = ' '
/** The documented signature for a call that has lost its own, or was made by another model. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

/** Whether a vendor asks for the text of earlier reasoning. */
export function wantsText(model: Model): boolean {
  const rule = ruleOf(model)
  return rule === 'reasoning' || rule === 'demanded_reasoning'
}

/** The messages with the reasoning that their vendor gets back, in the form that it accepts. */
export function withReturned(
  sealed: readonly SealedMessage[],
  parsed: Pick<ParsedRequest, 'answer'>,
  model: Model,
): Message[] {
  const messages = sealed.map(({ message, sealed: texts }) => {
    const opened = texts
      .map((text) => openReasoning(parsed, model, text))
      .filter((each): each is ChatReasoning => each?.kind === 'chat')
    return opened.length === 0 ? message : returnedTo(message, opened, wantsText(model))
  })
  return acceptable(messages, model) ?? messages
}

function returnedTo(message: Message, opened: readonly ChatReasoning[], hasText: boolean): Message {
  const text = hasText ? opened.map((each) => each.text).join('') : ''
  const details = opened.flatMap((each) => each.details ?? [])
  const extra: Fields = Object.assign({}, ...opened.map((each) => each.extra))
  const ofCalls: Record<string, Fields> = Object.assign({}, ...opened.map(({ calls }) => calls))
  const calls = callsOf(message).map((call) => {
    const own = typeof call.id === 'string' ? ofCalls[call.id] : undefined
    return own ? { ...call, extra_content: own } : call
  })
  return {
    ...message,
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(Object.keys(extra).length > 0 && { extra_content: extra }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/**
 * The messages with reasoning as their vendor accepts it: filled in where it requires missing reasoning, and omitted where it
 * refuses any. Undefined if nothing changes.
 */
export function acceptable(messages: readonly Message[], model: Model): Message[] | undefined {
  const change = changeFor(messages, model)
  if (!change) return undefined
  const whole = messages.map((message) => (message.role === 'assistant' ? change(message) : message))
  return whole.some((message, place) => message !== messages[place]) ? whole : undefined
}

function ruleOf(model: Model): Returned {
  if (REFUSING_KINDS.has(model.upstream.kind)) return 'nothing'
  if (model.traits.returned) return model.traits.returned
  const name = nameOf(model)
  return BY_NAME.find(([names]) => names.test(name))?.[1] ?? 'nothing'
}

/** Whether a vendor refuses calls without the reasoning that led to them, even if another vendor made them. */
export function demandsReasoning(model: Model): boolean {
  return ruleOf(model) === 'demanded_reasoning'
}

/** Whether a vendor refuses the first of a turn's calls without a signature. */
export function demandsSignatures(model: Model): boolean {
  return ruleOf(model) === 'signatures'
}

/** Changes a message of the assistant, or returns it unchanged. Undefined for models that accept all messages. */
function changeFor(messages: readonly Message[], model: Model): ((message: Message) => Message) | undefined {
  const { kind } = model.upstream
  if (REFUSING_KINDS.has(kind)) return withoutReasoning
  if (!messages.some((message) => callsOf(message).length > 0)) return undefined
  const rule = ruleOf(model)
  if (rule === 'demanded_reasoning') return kind === 'openrouter' ? withDetails : withReasoning
  // OpenRouter documents no filler.
  if (kind === 'openrouter' || rule !== 'signatures') return undefined
  // Vertex AI's endpoint has its own name for the member (earendil-works/pi#6733, 2026-07-16).
  const place = kind === 'vertex' ? 'vertex' : 'google'
  return (message) => withSignature(message, place)
}

function withoutReasoning(message: Message): Message {
  const calls = callsOf(message)
  const hasOwn = REFUSED_MEMBERS.some((name) => name in message)
  if (!hasOwn && !calls.some((call) => 'extra_content' in call)) return message
  const rest = Object.fromEntries(
    Object.entries(message).filter(([name]) => !REFUSED_MEMBERS.includes(name)),
  ) as Message
  return {
    ...rest,
    ...(calls.length > 0 && { tool_calls: calls.map(({ extra_content: _, ...call }) => call) }),
  }
}

function withReasoning(message: Message): Message {
  const { reasoning_content: text } = message as { reasoning_content?: unknown }
  return typeof text === 'string' && text !== ''
    ? message
    : ({ ...message, reasoning_content: NO_REASONING } as Message)
}

/** OpenRouter also takes reasoning in either of its own members. */
function withDetails(message: Message): Message {
  const { reasoning, reasoning_details: details } = message as Fields
  const hasOwn =
    (typeof reasoning === 'string' && reasoning !== '') || (Array.isArray(details) && details.length > 0)
  return hasOwn ? message : withReasoning(message)
}

function withSignature(message: Message, place: string): Message {
  const [first, ...others] = callsOf(message)
  if (!first || isSigned(first)) return message
  const extra = asObject(first.extra_content)
  const own = { ...asObject(extra[place]), thought_signature: NO_SIGNATURE }
  return {
    ...message,
    tool_calls: [{ ...first, extra_content: { ...extra, [place]: own } }, ...others],
  } as Message
}

function isSigned({ extra_content: extra }: Fields): boolean {
  return Object.values(asObject(extra)).some((own) => {
    const { thought_signature: signature } = asObject(own)
    return typeof signature === 'string' && signature !== ''
  })
}

function callsOf(message: object): Fields[] {
  const { tool_calls: calls } = message as { tool_calls?: unknown }
  return Array.isArray(calls) ? calls.filter(isObject) : []
}
