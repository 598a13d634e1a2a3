// Translates a response to a message: its blocks, end reason and usage. It must never throw or lose text, whatever items
// a vendor sends; those of kinds that a message has no place for are left out.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { asObject, isObject } from '../../../lib/objects'
import { callInput } from '../../chat/answer-parts'
import {
  argumentsOf,
  BETWEEN_THOUGHTS,
  listOf,
  textOr,
  thoughtsOf,
  tokensOfThinking,
} from '../../chat/via-responses/reply'
import { sealReasoning } from '../../sealed-reasoning'
import type { MessagesBody } from '../caller-side'
import { messageUsage } from '../usage'

type Fields = Record<string, unknown>

/** The whole message; `usage` is its measured usage. Throws if the vendor sent none. */
export function messageOfResponse(
  reply: unknown,
  parsed: ParsedRequest<MessagesBody>,
  model: Model,
  usage: Quantities,
): unknown {
  const response = asObject(reply)
  if (!Array.isArray(response.output)) throw new Error('the vendor sent no output')
  const items = response.output.filter(isObject)
  const refusal = items.map(refusalIn).join('')
  const isCalling = items.some(({ type }) => type === 'function_call')
  return {
    id: idOfMessage(response, parsed),
    type: 'message',
    role: 'assistant',
    model: model.id,
    content: items.flatMap((item) => blocksOf(item, parsed, model)),
    ...endOf(response, { refusal, isCalling }),
    usage: messageUsage(usage, tokensOfThinking(response)),
  }
}

function blocksOf(item: Fields, parsed: ParsedRequest<MessagesBody>, model: Model): object[] {
  switch (item.type) {
    case 'reasoning': {
      const thinking = thoughtsOf(item).join(BETWEEN_THOUGHTS)
      const signature = signatureOf(item, parsed, model)
      return thinking === '' && signature === '' ? [] : [{ type: 'thinking', thinking, signature }]
    }
    case 'message': {
      const texts = listOf(item.content).map(({ text, refusal }) => textOr(text) || textOr(refusal))
      return texts.filter((text) => text !== '').map((text) => ({ type: 'text', text }))
    }
    case 'function_call': {
      const input = callInput(argumentsOf(item.arguments))
      return [{ type: 'tool_use', id: textOr(item.call_id), name: textOr(item.name), input }]
    }
  }
  return []
}

/** The signature of a block for an item of reasoning; empty for one that the vendor would not take back. */
export function signatureOf(item: Fields, parsed: ParsedRequest, model: Model): string {
  if (typeof item.encrypted_content !== 'string') return ''
  const { id, type, summary, encrypted_content } = item
  const kept = { type, id, summary, encrypted_content }
  return sealReasoning(parsed, model, { kind: 'responses', item: kept }) ?? ''
}

export function refusalIn({ type, content }: Fields): string {
  if (type !== 'message') return ''
  return listOf(content)
    .map(({ refusal }) => textOr(refusal))
    .join('')
}

/** Why the message ended. A call of a tool is to be made, even beside a text. */
export function endOf(
  { status, incomplete_details: details }: Fields,
  { refusal, isCalling }: { refusal: string; isCalling: boolean },
) {
  const { reason } = asObject(details)
  const isRefused = refusal !== '' || reason === 'content_filter'
  const isCut = status === 'incomplete' && !isRefused
  const stop = isRefused ? 'refusal' : isCut ? 'max_tokens' : isCalling ? 'tool_use' : 'end_turn'
  return {
    stop_reason: stop,
    stop_sequence: null,
    stop_details: isRefused ? { type: 'refusal', category: null, explanation: refusal || null } : null,
  }
}

/** The vendor's own id, in the form of a message's. */
export function idOfMessage(response: unknown, { at }: ParsedRequest): string {
  return `msg_${textOr(asObject(response).id).replace(/^resp_/, '') || at.toString(36)}`
}
