// Reads a responses request into a conversation. It must never drop a field silently: fields that no vendor could serve are refused
// with their place, and omitted ones are in the table of fields.

import type { Conversation, InstructionTurn } from '../../conversation/conversation'
import { checkResponses, type ResponsesBody } from '../../responses/caller-side'
import { bodyForModel } from '../../responses/compaction'
import { checkLabels, responseSettings } from './settings'
import { callersChoice, flatToolsOf } from './tools'
import { readInput } from './turns'

export function readResponses(given: ResponsesBody): Conversation {
  checkResponses(given)
  checkLabels(given)
  const body = bodyForModel(given)
  const input = readInput(body)
  const { list } = flatToolsOf(body)
  const choice = callersChoice(body)
  // No tool that may be called is supported.
  const lacksTools = choice?.allowed?.length === 0
  return {
    turns: [...instructionsOf(body), ...input.turns],
    instructionsHold: 'from_their_place',
    tools: lacksTools ? [] : list,
    choice: lacksTools ? undefined : choice,
    // Clients send it with every request. True is the default of vendors.
    parallelCalls: body.parallel_tool_calls === false ? false : undefined,
    settings: responseSettings(body, input),
    // A caller that sends a cache key wants the conversation cached, even by a vendor that caches only on request.
    ...(body.prompt_cache_key && { cache: {} }),
  }
}

function instructionsOf({ instructions }: ResponsesBody): InstructionTurn[] {
  const at = 'instructions'
  return instructions
    ? [{ side: 'system', role: 'system', parts: [{ type: 'text', text: instructions, at }], at }]
    : []
}
