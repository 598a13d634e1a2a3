// Reads the turns of a messages request. Successive messages of one side are one turn, as for the vendor of messages. Anything that
// only that vendor can read is omitted.

import type {
  AssistantStep,
  InstructionTurn,
  Part,
  ToolCall,
  ToolResult,
  Turn,
} from '../../conversation/conversation'
import type { MessagesBody } from '../../messages/caller-side'
import { cacheMarkOf, type Placed, partsOf, placed, stringAt, textPart, unsupported, wordsOf } from './blocks'

/** A coding client's note to its vendor: it changes with each session, so it would prevent sessions from sharing a cache. */
const ATTRIBUTION = 'x-anthropic-billing-header:'

/** Blocks of the assistant with which no answer begins: thinking, and marks of the model that answered. */
const UNSPOKEN = new Set<unknown>(['thinking', 'redacted_thinking', 'fallback'])

/** The turns, with the system prompt as the first. Throws 400 for a block that only Anthropic's API knows. */
export function turnsOf({ system, messages }: MessagesBody): Turn[] {
  const calls = new Map<string, ToolCall>()
  const turns: Turn[] = instructionsOf(system)
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = placed(content, `messages[${index}].content`)
    if (role === 'system') addInstructions(turns, blocks, `messages[${index}]`)
    else if (role === 'assistant') addSteps(turns, blocks, calls)
    else addUserParts(turns, blocks, calls)
  }
  return turns
}

function instructionsOf(system: MessagesBody['system']): InstructionTurn[] {
  const at = 'system'
  const parts = placed(system ?? [], at).flatMap(({ block, at }, index) => {
    const text = stringAt(block, 'text', at)
    const isNote = index === 0 && text.startsWith(ATTRIBUTION)
    return isNote ? [] : textPart(text, at).map((part) => ({ ...part, ...cacheMarkOf(block) }))
  })
  return parts.length > 0 ? [{ side: 'system', role: 'system', parts, at }] : []
}

function addInstructions(turns: Turn[], blocks: readonly Placed[], at: string): void {
  const parts = blocks.flatMap(({ block, at }) =>
    textPart(stringAt(block, 'text', at), at).map((part) => ({ ...part, ...cacheMarkOf(block) })),
  )
  if (parts.length > 0) turns.push({ side: 'system', role: 'system', parts, at })
}

/** A message that contains only thinking is not a turn: it must not separate a user's messages. */
function addSteps(turns: Turn[], blocks: readonly Placed[], calls: Map<string, ToolCall>): void {
  if (blocks.every(({ block }) => UNSPOKEN.has(block.type))) return
  const steps = blocks.flatMap((each) => stepsOf(each, calls))
  const last = turns.at(-1)
  if (last?.side === 'assistant') turns[turns.length - 1] = { ...last, steps: [...last.steps, ...steps] }
  else if (steps.length > 0) turns.push({ side: 'assistant', steps })
}

function stepsOf({ block, at }: Placed, calls: Map<string, ToolCall>): AssistantStep[] {
  switch (block.type) {
    case 'text':
    case 'compaction': {
      const text = wordsOf({ block, at })
      return text === '' ? [] : [{ kind: 'text', text, at, ...cacheMarkOf(block) }]
    }
    case 'thinking':
    case 'redacted_thinking': {
      const { thinking, signature, data } = block
      const sealed = block.type === 'thinking' ? signature : data
      const text = typeof thinking === 'string' ? thinking : ''
      const isSealed = typeof sealed === 'string' && sealed !== ''
      return [{ kind: 'reasoning', text, at, ...(isSealed && { sealed }) }]
    }
    case 'tool_use': {
      const name = stringAt(block, 'name', at)
      const id = stringAt(block, 'id', at)
      const input = JSON.stringify(block.input ?? {})
      const call: ToolCall = { id, name, input, form: 'function', at, ...cacheMarkOf(block) }
      calls.set(id, call)
      return [{ kind: 'call', call }]
    }
    case 'fallback':
      return []
  }
  throw unsupported(at, `a block of type '${block.type}' of the assistant`)
}

function addUserParts(turns: Turn[], blocks: readonly Placed[], calls: Map<string, ToolCall>): void {
  const results: ToolResult[] = []
  const parts: Part[] = []
  for (const each of blocks) {
    if (each.block.type === 'tool_result') results.push(resultOf(each, calls))
    else parts.push(...partsOf(each))
  }
  const last = turns.at(-1)
  if (last?.side === 'user') {
    const all = { results: [...last.results, ...results], parts: [...last.parts, ...parts] }
    turns[turns.length - 1] = { side: 'user', ...all }
  } else if (results.length + parts.length > 0) turns.push({ side: 'user', results, parts })
}

function resultOf({ block, at }: Placed, calls: ReadonlyMap<string, ToolCall>): ToolResult {
  const id = stringAt(block, 'tool_use_id', at)
  const { name = '' } = calls.get(id) ?? {}
  return {
    call: { id, name, form: 'function' },
    parts: placed(block.content ?? [], `${at}.content`).flatMap(partsOf),
    hasFailed: block.is_error === true,
    at,
    ...cacheMarkOf(block),
  }
}
