// The turns of a conversation for vendors that know only two sides: consecutive parts of one side are one turn, with the results
// of calls first, and later instructions are texts of the user. Nothing here must know a dialect or a protocol.

import type { Model } from '../../contract/family'
import { nothingToAnswer } from '../traits/refusals'
import type { AssistantTurn, Conversation, InstructionTurn, TextPart, Turn, UserTurn } from './conversation'

/** Functions that write the parts of a turn as blocks of a protocol. */
export interface SideWriter<Block> {
  /** Results of calls, which come first in a turn. */
  results(turn: UserTurn): Block[]
  user(turn: UserTurn): Block[]
  /** A later instruction; `text` marks it as such. */
  instruction(text: string, part: TextPart): Block[]
  assistant(turn: AssistantTurn): Block[]
}

export interface Side<Block> {
  isAssistant: boolean
  blocks: Block[]
}

/** Instructions that apply from the beginning: all of them, or those before the first turn. */
export function leadingOf({ turns, instructionsHold }: Conversation): InstructionTurn[] {
  const end = turns.findIndex(({ side }) => side !== 'system')
  const leading = instructionsHold === 'everywhere' || end === -1 ? turns : turns.slice(0, end)
  return leading.filter((turn) => turn.side === 'system')
}

/** The turns of both sides, after the leading instructions. Throws 400 if there is no turn. */
export function sidesOf<Block>(
  conversation: Conversation,
  model: Model,
  writer: SideWriter<Block>,
): Side<Block>[] {
  const leading = new Set<Turn>(leadingOf(conversation))
  const sides: { isAssistant: boolean; results: Block[]; blocks: Block[] }[] = []
  for (const turn of conversation.turns) {
    if (leading.has(turn)) continue
    const isAssistant = turn.side === 'assistant'
    const results = turn.side === 'user' ? writer.results(turn) : []
    const blocks = blocksOf(turn, writer)
    const last = sides.at(-1)
    if (last?.isAssistant === isAssistant) {
      for (const block of results) last.results.push(block)
      for (const block of blocks) last.blocks.push(block)
    } else if (results.length + blocks.length > 0) sides.push({ isAssistant, results, blocks })
  }
  if (sides.length === 0) throw nothingToAnswer(model)
  return sides.map(({ isAssistant, results, blocks }) => ({ isAssistant, blocks: [...results, ...blocks] }))
}

function blocksOf<Block>(turn: Turn, writer: SideWriter<Block>): Block[] {
  if (turn.side === 'user') return writer.user(turn)
  if (turn.side === 'assistant') return writer.assistant(turn)
  return turn.parts.flatMap((part) => writer.instruction(`<system>\n${part.text}\n</system>`, part))
}
