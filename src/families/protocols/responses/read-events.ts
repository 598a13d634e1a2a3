// Reads the events of a response into a writer. Items may arrive mixed, and some arrive whole. It must never throw, and never lose
// or repeat a piece; events and items of unknown kinds are omitted.

import { asObject, asText, isObject } from '../../../lib/objects'
import type {
  AnswerReader,
  AnswerStop,
  AnswerWriter,
  CallItem,
  TextItem,
  ThinkingItem,
} from '../../conversation/answer'

type Fields = Record<string, unknown>

/** An open item of the vendor. */
interface Open {
  item: ThinkingItem | TextItem | CallItem
  /** The vendor's id; a message may become several items. */
  id: unknown
  /** True once a piece of the item has arrived. */
  hasPieces: boolean
}

export class ResponseReader implements AnswerReader {
  /** Open items by output index. */
  private readonly items = new Map<unknown, Open>()
  /** Items that have ended, by index and id: later events about them are ignored. */
  private readonly ended = new Set<string>()
  /** The text with which the model refused. */
  private refusal = ''

  constructor(private readonly writer: AnswerWriter) {}

  push(event: object): void {
    const { type, response, item, item_id, output_index, delta, logprobs } = event as Fields
    const id = item_id ?? asObject(item).id
    if (this.hasEnded(output_index, id)) return
    const place = type === 'response.output_item.added' ? output_index : this.placeOf(output_index, id)
    switch (type) {
      case 'response.created':
        this.begin(asObject(response))
        break
      case 'response.output_item.added':
        this.openItem(place, asObject(item))
        break
      case 'response.output_text.delta':
        this.say({ place, id }, 'text', asText(delta), listOf(logprobs))
        break
      case 'response.refusal.delta':
        this.say({ place, id }, 'refusal', asText(delta))
        break
      case 'response.reasoning_summary_part.added':
        this.beginThought(place)
        break
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.add(this.items.get(place), asText(delta))
        break
      case 'response.output_item.done':
        this.done(place, asObject(item))
        break
      case 'response.completed':
      case 'response.incomplete':
        this.end(asObject(response))
    }
  }

  finish(): void {
    for (const { item } of this.items.values()) this.writer.close(item)
    this.items.clear()
  }

  begin({ id }: Fields): void {
    this.writer.begin(asText(id))
  }

  /** Receives an item that has ended, and adds the parts that did not arrive in pieces. */
  done(place: unknown, item: Fields): void {
    this.ended.add(`${place} ${item.id}`)
    const open = this.openItem(place, item)
    if (!open) return
    if (open.item.kind === 'thinking') this.endThinking(open, open.item, item)
    else if (open.item.kind === 'call') this.endCall(open, open.item, item)
    else this.endMessage(place, open, item)
    const last = this.items.get(place)
    if (last) this.writer.close(last.item)
    this.items.delete(place)
  }

  /** Some servers number the events of an item wrongly: then its id identifies it. */
  private placeOf(index: unknown, id: unknown): unknown {
    if (this.items.has(index) || typeof id !== 'string') return index
    for (const [place, open] of this.items) if (open.id === id) return place
    return index
  }

  private hasEnded(place: unknown, id: unknown): boolean {
    return typeof id === 'string' && this.ended.has(`${place} ${id}`)
  }

  end(response: Fields): void {
    const { service_tier: tier, status, incomplete_details: details } = response
    const { reason } = asObject(details)
    const isFiltered = status === 'incomplete' && reason === 'content_filter'
    const stop: AnswerStop = isFiltered ? 'filter' : status === 'incomplete' ? 'limit' : 'stop'
    this.writer.end({
      stop,
      thinkingTokens: tokensOfThinking(response),
      ...(typeof tier === 'string' && { serviceTier: tier }),
      ...(this.refusal !== '' && { explanation: this.refusal }),
    })
  }

  /** The item at an index, begun at its first event; undefined for one of an unknown kind. */
  private openItem(place: unknown, { type, id, call_id: call, name }: Fields): Open | undefined {
    const known = this.items.get(place)
    if (known) return known
    switch (type) {
      case 'reasoning':
        return this.open(place, id, { kind: 'thinking' })
      case 'message':
        return this.open(place, id, { kind: 'text' })
      case 'function_call':
      case 'custom_tool_call': {
        const form = type === 'function_call' ? 'function' : 'custom'
        return this.open(place, id, { kind: 'call', id: asText(call), name: asText(name), form })
      }
    }
    return undefined
  }

  private open(place: unknown, id: unknown, item: Open['item']): Open {
    const open = { item, id, hasPieces: false }
    this.items.set(place, open)
    this.writer.open(item)
    return open
  }

  private add(open: Open | undefined, piece: string, logprobs?: readonly Fields[]): void {
    if (!open || piece === '') return
    open.hasPieces = true
    this.writer.add(open.item, piece, logprobs)
  }

  /** A message may have texts and refusals, which become separate items. */
  private say(
    { place, id }: Fields,
    kind: TextItem['kind'],
    piece: string,
    logprobs?: readonly Fields[],
  ): void {
    if (piece === '') return
    let open = this.openItem(place, { type: 'message', id })
    if (!open) return
    if (open.item.kind !== kind) {
      const { hasPieces } = open
      this.writer.close(open.item)
      open = this.open(place, id, { kind })
      open.hasPieces = hasPieces
    }
    if (kind === 'refusal') this.refusal += piece
    this.add(open, piece, logprobs)
  }

  /** Each thought is a part, even the first: the writer knows whether another precedes it. */
  private beginThought(place: unknown): void {
    const open = this.openItem(place, { type: 'reasoning' })
    if (open) this.writer.nextPart(open.item)
  }

  private endThinking(open: Open, thinking: ThinkingItem, item: Fields): void {
    if (!open.hasPieces) {
      for (const thought of thoughtsOf(item)) {
        this.writer.nextPart(thinking)
        this.add(open, thought)
      }
    }
    const { id, type, summary, encrypted_content: sealed } = item
    if (typeof sealed !== 'string') return
    thinking.kept = { kind: 'responses', item: { type, id, summary, encrypted_content: sealed } }
  }

  private endCall(open: Open, call: CallItem, item: Fields): void {
    call.name ||= asText(item.name)
    if (open.hasPieces) return
    this.add(open, call.form === 'function' ? argumentsOf(item.arguments) : asText(item.input))
  }

  private endMessage(place: unknown, { id, hasPieces }: Open, { content }: Fields): void {
    const parts = listOf(content)
    if (!hasPieces) {
      for (const { text, refusal, logprobs } of parts) {
        this.say({ place, id }, 'text', asText(text), listOf(logprobs))
        this.say({ place, id }, 'refusal', asText(refusal))
      }
    }
    const sources = parts.flatMap(({ annotations }) => listOf(annotations).flatMap(annotationOf))
    const open = this.items.get(place)
    if (open && sources.length > 0) this.writer.cite(open.item, sources)
  }
}

/** The text of reasoning: its summary, otherwise its content. */
function thoughtsOf({ summary, content }: Fields): string[] {
  const shown = [listOf(summary), listOf(content)].find((parts) => parts.length > 0) ?? []
  return shown.flatMap(({ text }) => (typeof text === 'string' && text !== '' ? [text] : []))
}

/** Arguments as text; empty if missing. Some servers send them as an object. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : ''
}

/** A citation, in the form of chat; undefined for other marks. */
function annotationOf({ type, ...fields }: Fields): Fields[] {
  return type === 'url_citation' ? [{ type, url_citation: fields }] : []
}

/** Thinking tokens in the output of a response, if the vendor reports them. */
function tokensOfThinking({ usage }: Fields): number {
  const { reasoning_tokens: tokens } = asObject(asObject(asObject(usage)).output_tokens_details)
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Reads a whole response as a stream whose items have no pieces. Throws if the vendor sent no answer. */
export function readResponseAnswer(reply: unknown, writer: AnswerWriter): void {
  const response = asObject(reply)
  const { output } = response
  if (!Array.isArray(output)) throw new Error('the vendor sent no output')
  const reader = new ResponseReader(writer)
  reader.begin(response)
  for (const [place, item] of output.entries()) if (isObject(item)) reader.done(place, item)
  reader.end(response)
  reader.finish()
}
