// Translates responses to a chat completion: texts, thoughts, calls, end reason and usage. It must never throw on items
// of kinds that a chat completion has no place for: these are left out.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { asObject, isObject } from '../../../lib/objects'
import type { ChatBody } from '../caller-side'
import { chatUsage } from '../usage'

type Fields = Record<string, unknown>

/** One completion of several responses, one for each candidate. Throws if the vendor sent none. */
export function completionOfResponses(
  replies: readonly unknown[],
  parsed: ParsedRequest<ChatBody>,
  model: Model,
  usage: Quantities,
): unknown {
  const tier = asObject(replies[0]).service_tier
  const thinking = replies.reduce<number>((sum, reply) => sum + tokensOfThinking(reply), 0)
  return {
    id: idOfCompletion(replies[0], parsed),
    object: 'chat.completion',
    created: Math.floor(parsed.at / 1000),
    model: model.id,
    choices: replies.map((reply, index) => choiceOfResponse(asObject(reply), index, parsed)),
    usage: chatUsage(usage, thinking),
    ...(typeof tier === 'string' && { service_tier: tier }),
  }
}

function choiceOfResponse(response: Fields, index: number, { body }: ParsedRequest<ChatBody>): unknown {
  const { output } = response
  if (!Array.isArray(output)) throw new Error('the vendor sent no output')
  const items = output.filter(isObject)
  const parts = items.flatMap(({ type, content }) => (type === 'message' ? listOf(content) : []))
  const text = joined(parts, 'output_text', 'text')
  const refusal = joined(parts, 'refusal', 'refusal')
  const thoughts = items.flatMap((item) => (item.type === 'reasoning' ? thoughtsOf(item) : []))
  const calls = items.flatMap((item) => callOf(item) ?? [])
  const annotations = parts.flatMap(({ annotations }) => listOf(annotations).flatMap(annotationOf))
  return {
    index,
    message: {
      role: 'assistant',
      content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
      refusal: refusal === '' ? null : refusal,
      annotations,
      ...(thoughts.length > 0 && { reasoning_content: thoughts.join(BETWEEN_THOUGHTS) }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs:
      body.logprobs === true
        ? { content: parts.flatMap(({ logprobs }) => listOf(logprobs)), refusal: null }
        : null,
    finish_reason: finishOf(response, calls.length),
  }
}

/** The gap between two thoughts, which are parts of their own. */
export const BETWEEN_THOUGHTS = '\n\n'

/** The texts that tell of reasoning: its summary, else its own text. */
export function thoughtsOf({ summary, content }: Fields): string[] {
  const told = [listOf(summary), listOf(content)].find((parts) => parts.length > 0) ?? []
  return told.flatMap(({ text }) => (typeof text === 'string' && text !== '' ? [text] : []))
}

/** The call of a tool in an item; undefined for any other item. */
function callOf({ type, call_id: id, name, arguments: text, input }: Fields): object | undefined {
  if (type === 'function_call') {
    return {
      id: textOr(id),
      type: 'function',
      function: { name: textOr(name), arguments: argumentsOf(text) },
    }
  }
  if (type !== 'custom_tool_call') return undefined
  return { id: textOr(id), type: 'custom', custom: { name: textOr(name), input: textOr(input) } }
}

/** Arguments as text. Some servers send them parsed, or none. */
export function argumentsOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(isObject(value) ? value : {})
}

/** The mark of a source, in the form of chat; others have none. */
export function annotationOf({ type, ...fields }: Fields): object[] {
  return type === 'url_citation' ? [{ type, url_citation: fields }] : []
}

/** Why a response ended, in the words of chat. A call of a tool beside a text is to be made all the same. */
export function finishOf({ status, incomplete_details: details }: Fields, calls: number): string {
  const { reason } = asObject(details)
  if (status === 'incomplete') return reason === 'content_filter' ? 'content_filter' : 'length'
  return calls > 0 ? 'tool_calls' : 'stop'
}

/** The vendor's own id, in the form of a completion's. */
export function idOfCompletion(response: unknown, { at }: ParsedRequest): string {
  return `chatcmpl-${textOr(asObject(response).id).replace(/^resp_/, '') || at.toString(36)}`
}

/** Thinking tokens in the output of a response, if the vendor reports them. */
export function tokensOfThinking(response: unknown): number {
  const { reasoning_tokens: tokens } = asObject(asObject(asObject(response).usage).output_tokens_details)
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0
}

function joined(parts: readonly Fields[], type: string, member: string): string {
  return parts.flatMap((part) => (part.type === type ? [textOr(part[member])] : [])).join('')
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function textOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
