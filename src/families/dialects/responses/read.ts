// Reads a responses request into a conversation. It must never drop a field in silence: what nobody could serve is refused by
// its place, and what is left out is in the table of fields.

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
  // None of the tools that may be called is served.
  const lacksTools = choice?.allowed?.length === 0
  return {
    turns: [...instructionsOf(body), ...input.turns],
    instructionsHold: 'from_their_place',
    tools: lacksTools ? [] : list,
    choice: lacksTools ? undefined : choice,
    // Clients send it with every request. True is what vendors do by themselves.
    parallelCalls: body.parallel_tool_calls === false ? false : undefined,
    settings: responseSettings(body, input),
    // A caller who names a key wants the conversation cached, also by a vendor that caches only on request.
    ...(body.prompt_cache_key && { cache: {} }),
  }
}

function instructionsOf({ instructions }: ResponsesBody): InstructionTurn[] {
  const at = 'instructions'
  return instructions
    ? [{ side: 'system', role: 'system', parts: [{ type: 'text', text: instructions, at }], at }]
    : []
}
