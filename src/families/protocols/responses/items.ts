// Writes texts, calls and thoughts as the input items of a responses request, in order. Anything that cannot be expressed there is
// refused with its place.

import type { Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import type { WriteOptions } from '../../conversation/bridge'
import type {
  AssistantTurn,
  Conversation,
  InstructionTurn,
  Part,
  ReasoningStep,
  ToolCall,
  ToolResult,
  Turn,
} from '../../conversation/conversation'
import { openReasoning } from '../../sealed-reasoning'

type Fields = Record<string, unknown>

type SentPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail?: string }
  | { type: 'input_file'; filename: string; file_data: string }
  | { type: 'input_file'; file_url: string }

const BLANK_LINE = '\n\n'

/** Leading instructions, which have their own field, unless they apply from any position. */
export function leadingIn({ turns, instructionsHold }: Conversation): InstructionTurn[] {
  if (instructionsHold === 'everywhere') return []
  const end = turns.findIndex(({ side }) => side !== 'system')
  return turns.slice(0, end === -1 ? undefined : end).filter((turn) => turn.side === 'system')
}

/** The text of instructions. */
export function textOfInstructions(turns: readonly InstructionTurn[]): string {
  return turns.flatMap(({ parts }) => parts.map(({ text }) => text)).join(BLANK_LINE)
}

/** The items of turns. Reasoning is opened when a request is sent, and omitted when it is only checked. */
export function itemsOfTurns(
  turns: readonly Turn[],
  { instructionsHold }: Conversation,
  model: Model,
  options: WriteOptions,
): Fields[] {
  const items: Fields[] = []
  /** Parts of the message of the user, including later instructions, marked as such. */
  let said: SentPart[] = []
  const endUser = () => {
    if (said.length > 0) items.push({ role: 'user', content: plainOf(said) })
    said = []
  }
  for (const turn of turns) {
    if (turn.side === 'user') {
      items.push(...turn.results.map(resultItem))
      said.push(...turn.parts.map(partOf))
    } else if (turn.side === 'system' && instructionsHold === 'from_their_place') {
      said.push({ type: 'input_text', text: `<system>\n${textOfInstructions([turn])}\n</system>` })
    } else {
      endUser()
      if (turn.side === 'system') {
        items.push({ role: turn.role, content: plainOf(turn.parts.map(partOf)) })
      } else items.push(...assistantItems(turn, model, options))
    }
  }
  endUser()
  // A request without any input is refused, but an empty text is answered.
  return items.length > 0 ? items : [{ role: 'user', content: '' }]
}

/** A plain string if there is only one text. */
function plainOf(parts: readonly SentPart[]): string | readonly SentPart[] {
  const [only, ...others] = parts
  if (!only) return ''
  return others.length === 0 && only.type === 'input_text' ? only.text : parts
}

function partOf(part: Part): SentPart {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image':
      return {
        type: 'input_image',
        image_url: part.url,
        ...(part.detail !== undefined && { detail: part.detail }),
      }
    case 'document':
      return /^https?:/i.test(part.url)
        ? { type: 'input_file', file_url: part.url }
        : { type: 'input_file', filename: part.filename ?? nameOf(part.url), file_data: part.url }
  }
  const place = `${part.at}.type`
  throw invalidRequest(place, `Invalid value for '${place}': this model takes texts, pictures and files.`)
}

/** A name for a file without one: vendors require a name (laravel/ai#324), and determine the format by its extension. */
function nameOf(url: string): string {
  const [, subtype = 'pdf'] = /^data:\w+\/(\w{2,5})[;,]/.exec(url) ?? []
  return `document.${subtype === 'plain' ? 'txt' : subtype}`
}

/** The output of a call: a plain string if all of it is text. */
function resultItem({ call, parts, hasFailed }: ToolResult): Fields {
  const written = parts.map(partOf)
  if (hasFailed) written.unshift({ type: 'input_text', text: 'Error:' })
  const texts = written.flatMap((part) => (part.type === 'input_text' ? [part.text] : []))
  return {
    type: call.form === 'custom' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: call.id,
    output: texts.length === written.length ? texts.filter((text) => text !== '').join(BLANK_LINE) : written,
  }
}

/**
 * The items of the assistant. A vendor refuses reasoning without the item that followed it, so it is omitted at the end of a turn.
 */
function assistantItems({ steps }: AssistantTurn, model: Model, options: WriteOptions): Fields[] {
  const items: Fields[] = []
  const last = steps.findLastIndex(({ kind }) => kind !== 'reasoning')
  let content: Fields[] | undefined
  for (const step of steps.slice(0, last + 1)) {
    if (step.kind === 'text') {
      if (step.text === '') continue
      if (!content) {
        content = []
        items.push({ type: 'message', role: 'assistant', content })
      }
      content.push(
        step.isRefusal ? { type: 'refusal', refusal: step.text } : { type: 'output_text', text: step.text },
      )
      continue
    }
    const own = step.kind === 'call' ? [callItem(step.call)] : openedItems(step, model, options)
    if (own.length > 0) content = undefined
    items.push(...own)
  }
  return items
}

/** The item of reasoning that was sealed for this account; undefined if it belongs to another account, vendor or model. */
function openedItems({ sealed }: ReasoningStep, model: Model, { answer }: WriteOptions): Fields[] {
  if (sealed === undefined || !answer) return []
  const opened = openReasoning({ answer }, model, sealed)
  return opened?.kind === 'responses' ? [opened.item] : []
}

/**
 * The item of a call, without its id: an item with an id is refused without the reasoning that led to it
 * (continuedev/continue#10018), which callers may not send back, and one without an id is accepted (nodetool-ai/nodetool#4252,
 * jin-bo/agentao#321).
 */
function callItem({ id, name, input, form }: ToolCall): Fields {
  return form === 'custom'
    ? { type: 'custom_tool_call', call_id: id, name, input }
    : { type: 'function_call', call_id: id, name, arguments: input }
}
