// Translates a messages request to a request of responses: blocks become items in their order, reasoning among them. It
// must never drop a field silently: what cannot be said is refused, and what is left out is in the table of fields.

import type { AnswerContext, Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import { reasoningSettings, responsesTool, type SentPart, servedLimit } from '../../responses/input'
import { openReasoning } from '../../sealed-reasoning'
import { edited } from '../../traits/edit'
import { responsesEdit } from '../../traits/responses'
import { translatedOnce } from '../../translation'
import type { MessagesBody } from '../caller-side'
import {
  chatToolChoice,
  effortOfThinking,
  type MessagesExtras,
  outputConfigOf,
  userOf,
  withExamples,
  withoutGaps,
} from '../via-chat/request'
import {
  type ChatPart,
  chatParts,
  instructionsOf,
  joined,
  type Placed,
  placed,
  stringAt,
  turnsOf,
  unsupported,
  wordsOf,
} from '../via-chat/turns'

type Fields = Record<string, unknown>

interface ItemRequest extends Fields {
  input: Fields[]
}

/** The body for the vendor, with sealed reasoning still in it. Throws 400 for what cannot be translated. */
const translated = translatedOnce((body: MessagesBody, model): ItemRequest => {
  const user = userOf(body)
  const instructions = instructionsOf(body.system)
  const request = {
    model: model.upstreamModel,
    store: false,
    input: turnsOf(body.messages, isKept).flatMap(({ isAssistant, blocks }) =>
      isAssistant ? assistantItems(blocks) : userItems(blocks),
    ),
    ...withoutGaps({
      instructions: instructions === '' ? undefined : instructions,
      max_output_tokens: servedLimit(body.max_tokens, 'max_tokens', model),
      stream: body.stream === true ? true : undefined,
      temperature: body.temperature,
      top_p: body.top_p,
      ...toolsOf(body),
      text: textOf(body),
      reasoning: reasoningOf(body, model),
      include: ['reasoning.encrypted_content'],
      safety_identifier: user,
      // One user's turns are looked for in the same cache.
      prompt_cache_key: user,
    }),
  }
  return edited(request, responsesEdit(request, model))
})

/** The body for the vendor. Reasoning that was sealed for this account is in it again, as the vendor wrote it. */
export function requestOfMessages(
  body: MessagesBody,
  model: Model,
  answer: AnswerContext | undefined,
): ItemRequest {
  const request = translated(body, model)
  if (!request.input.some(isSealed)) return request
  const opened = request.input.flatMap((item): Fields[] =>
    isSealed(item) ? openedItems(item[SEALED] as string, model, answer) : [item],
  )
  // A vendor refuses reasoning without the item that followed it.
  const input = opened.filter(({ type }, place) => {
    const next = opened[place + 1]
    return type !== 'reasoning' || (next !== undefined && next.role !== 'user' && !('output' in next))
  })
  return { ...request, input }
}

/** The item in a signature; none for one of another account, vendor or model. */
function openedItems(sealed: string, model: Model, answer: AnswerContext | undefined): Fields[] {
  const opened = answer && openReasoning({ answer }, model, sealed)
  return opened?.kind === 'responses' ? [opened.item] : []
}

/** The member of an item that stands for sealed reasoning until it is opened. */
const SEALED = 'sealed'

function isSealed(item: Fields): boolean {
  return SEALED in item
}

/** Blocks of the assistant that mean something here: all but marks of which model has answered. */
function isKept({ block }: Placed): boolean {
  return block.type === 'text' ? block.text !== '' : block.type !== 'fallback'
}

function assistantItems(blocks: readonly Placed[]): Fields[] {
  return blocks.flatMap(({ block, at }): Fields[] => {
    switch (block.type) {
      case 'text':
      case 'compaction': {
        const content = [{ type: 'output_text', text: wordsOf({ block, at }) }]
        return [{ type: 'message', role: 'assistant', content }]
      }
      case 'tool_use': {
        const name = stringAt(block, 'name', at)
        const call = {
          call_id: stringAt(block, 'id', at),
          name,
          arguments: JSON.stringify(block.input ?? {}),
        }
        return [{ type: 'function_call', ...call }]
      }
      case 'thinking':
      case 'redacted_thinking': {
        const sealed = block.type === 'thinking' ? block.signature : block.data
        return typeof sealed === 'string' ? [{ [SEALED]: sealed }] : []
      }
    }
    throw unsupported(at, `a block of type '${block.type}' of the assistant`)
  })
}

/** The items of a user's turn: results of tools first, then what the user says. */
function userItems(blocks: readonly Placed[]): Fields[] {
  const isResult = ({ block }: Placed) => block.type === 'tool_result'
  const results = blocks.filter(isResult).map(({ block, at }) => {
    const parts = placed(block.content ?? [], `${at}.content`)
      .flatMap(chatParts)
      .map(inputPart)
    const told = block.is_error === true ? [{ type: 'input_text', text: 'Error:' } as const, ...parts] : parts
    return {
      type: 'function_call_output',
      call_id: stringAt(block, 'tool_use_id', at),
      output: plainOutput(told),
    }
  })
  const content = blocks
    .filter((block) => !isResult(block))
    .flatMap(chatParts)
    .map(inputPart)
  return [...results, ...(content.length > 0 ? [{ role: 'user', content }] : [])]
}

/** A plain string, if all parts are texts. */
function plainOutput(parts: readonly SentPart[]): string | readonly SentPart[] {
  const texts = parts.flatMap((part) => (part.type === 'input_text' ? [part.text] : []))
  return texts.length === parts.length ? joined(texts) : parts
}

function inputPart(part: ChatPart): SentPart {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image_url') return { type: 'input_image', image_url: part.image_url.url }
  return { type: 'input_file', ...part.file }
}

function toolsOf({ tools, tool_choice: choice }: MessagesBody): Fields {
  if (!tools || tools.length === 0) return {}
  return {
    tools: tools.map((tool, index) => toolOf(tool as Fields, `tools[${index}]`)),
    tool_choice: choice ? flatChoice(chatToolChoice(choice)) : undefined,
    parallel_tool_calls:
      choice && 'disable_parallel_tool_use' in choice ? !choice.disable_parallel_tool_use : undefined,
  }
}

function toolOf({ name, description, input_schema: schema, input_examples: examples }: Fields, at: string) {
  if (typeof name !== 'string') throw invalidRequest(`${at}.name`, `Missing '${at}.name': expected a string.`)
  if (!isObject(schema)) {
    throw invalidRequest(`${at}.input_schema`, `Missing '${at}.input_schema': expected a JSON schema.`)
  }
  // What strictness asks of a schema differs between vendors.
  return responsesTool({
    name,
    description: withExamples(description, examples),
    parameters: schema,
    isStrict: false,
  })
}

function flatChoice(choice: unknown): unknown {
  const { type, function: called } = asObject(choice)
  return type === 'function' ? { type, name: asObject(called).name } : choice
}

function textOf(body: MessagesBody & MessagesExtras): Fields | undefined {
  const format = outputConfigOf(body).format ?? body.output_format
  if (!isObject(format)) return undefined
  return { format: { type: 'json_schema', name: 'output', schema: format.schema, strict: true } }
}

/**
 * How long to think, and whether to show a summary of it. Without `display` current models of messages show none either:
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
 */
function reasoningOf(body: MessagesBody, model: Model): object | undefined {
  return reasoningSettings(effortOfThinking(body, model), asObject(body.thinking).display === 'summarized')
}
