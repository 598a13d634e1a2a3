// Translates a chat completion to a message: its blocks, end reason and usage. It must never throw or lose text:
// whatever a vendor leaves out or misspells, the message has the right form.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { isObject } from '../../../lib/objects'
import { callInput, choiceOf, partIn, reasoningTokens } from '../../chat/answer-parts'
import { ReturnedReasoning } from '../../chat/returned-reasoning'
import type { MessagesBody } from '../caller-side'
import { messageUsage } from '../usage'

type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }

/** The whole message; `usage` is its measured usage. Throws if the vendor sent none. */
export function messageOf(
  reply: unknown,
  parsed: ParsedRequest<MessagesBody>,
  model: Model,
  usage: Quantities,
): unknown {
  const choice = choiceOf(reply)
  if (!choice) throw new Error('the vendor sent no choice')
  const part = partIn(choice.message)
  const { thinking, text, refusal, calls } = part
  const returned = new ReturnedReasoning(parsed, model)
  returned.take(part)
  for (const [index, { id, extra }] of calls.entries()) {
    if (extra) returned.takeCall(id || generatedCallId(parsed, index), extra)
  }
  const signature = returned.seal() ?? ''
  const isSilent = thinking === '' && signature === ''
  const content: Block[] = [
    ...(isSilent ? [] : [{ type: 'thinking' as const, thinking, signature }]),
    ...[text, refusal].filter((each) => each !== '').map((each) => ({ type: 'text' as const, text: each })),
    ...calls.map(({ id, name, arguments: input }, index) => ({
      type: 'tool_use' as const,
      id: id || generatedCallId(parsed, index),
      name,
      input: callInput(input),
    })),
  ]
  return {
    id: messageId(reply, parsed),
    type: 'message',
    role: 'assistant',
    model: model.id,
    content,
    ...stopOf(choice, { refusal, calls: calls.length, stops: parsed.body.stop_sequences }),
    usage: messageUsage(usage, reasoningTokens(reply)),
  }
}

const stopReasons: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

/**
 * Why the message ended. Tool use is decided by the calls themselves: many servers report `stop` then, and a client
 * that is told of calls without any would wait forever.
 */
export function stopOf(
  { finish_reason: finish, stop_reason: matched }: Record<string, unknown>,
  seen: { refusal: string; calls: number; stops: readonly string[] | null | undefined },
) {
  const named = stopReasons[textOf(finish)] ?? 'end_turn'
  const byCalls = named === 'end_turn' || named === 'tool_use'
  const reason = seen.refusal !== '' ? 'refusal' : !byCalls ? named : seen.calls > 0 ? 'tool_use' : 'end_turn'
  // Some servers name the text that they stopped at.
  const sequence = reason === 'end_turn' && seen.stops?.includes(textOf(matched)) ? textOf(matched) : null
  return {
    stop_reason: sequence === null ? reason : 'stop_sequence',
    stop_sequence: sequence,
    stop_details:
      reason === 'refusal' ? { type: 'refusal', category: null, explanation: seen.refusal || null } : null,
  }
}

/** The vendor's own id, in the form of a message's. */
export function messageId(completion: unknown, parsed: ParsedRequest): string {
  const id = isObject(completion) ? textOf(completion.id) : ''
  return `msg_${id.replace(/^chatcmpl-/, '') || parsed.at.toString(36)}`
}

/** An id for a call without one. The time distinguishes it from those of earlier turns. */
export function generatedCallId(parsed: ParsedRequest, index: number): string {
  return `toolu_${parsed.at.toString(36)}_${index}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
