// Writes the events of a streamed response in the order that clients check: each item is added, filled and done, with
// one id everywhere and a sequence number on each event. It must never throw, nor leave an item open at the end.

import type { ParsedRequest } from '../../contract/family'
import type { GatewayError } from '../../lib/errors'
import type { ResponsesBody } from './caller-side'
import {
  type Fields,
  itemId,
  type OutputItem,
  type ResponseEnd,
  type ResponseUsage,
  responseObject,
} from './response-object'

/** Kinds of text, of which one item at a time is open. */
type TextKind = 'reasoning' | 'text' | 'refusal'

/** The item of text that is open, with its text so far. */
interface OpenText {
  kind: TextKind
  place: number
  text: string
}

/** A tool call that is still being written. */
export interface OpenCall {
  place: number
  item: OutputItem
}

export class ResponseEvents {
  readonly output: OutputItem[] = []
  private readonly parsed: ParsedRequest<ResponsesBody>
  private readonly model: string
  private written = ''
  private sequence = 0
  private hasBegun = false
  private ended: Fields | undefined
  private open: OpenText | undefined

  constructor(parsed: ParsedRequest<ResponsesBody>, model: string) {
    this.parsed = parsed
    this.model = model
  }

  /** The events since the last time. */
  take(): string {
    const { written } = this
    this.written = ''
    return written
  }

  get hasEnded(): boolean {
    return this.ended !== undefined
  }

  /** The whole response, once it has ended. */
  get response(): Fields | undefined {
    return this.ended
  }

  begin(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const response = this.snapshot({ status: 'in_progress' })
    this.write('response.created', { response })
    this.write('response.in_progress', { response })
  }

  /** Appends to the item of this kind that is open, or to a new one. */
  append(kind: TextKind, delta: string): void {
    if (delta === '') return
    const open = this.open?.kind === kind ? this.open : this.openText(kind)
    const item = this.output[open.place]
    const at = { item_id: item?.id, output_index: open.place }
    if (kind === 'reasoning') {
      const summary = { ...at, summary_index: 0 }
      // Thinking that stays hidden has no part.
      if (open.text === '') {
        this.write('response.reasoning_summary_part.added', {
          ...summary,
          part: { type: 'summary_text', text: '' },
        })
      }
      this.write('response.reasoning_summary_text.delta', { ...summary, delta })
    } else {
      const part = { ...at, content_index: contentIndexOf(item) }
      if (kind === 'refusal') this.write('response.refusal.delta', { ...part, delta })
      else this.write('response.output_text.delta', { ...part, delta, logprobs: [] })
    }
    open.text += delta
  }

  /**
   * Ends the item of text that is open. `encryptedContent` belongs to an item of reasoning: it opens one if none is
   * open, because thinking may be hidden.
   */
  closeText(encryptedContent?: string): void {
    if (encryptedContent !== undefined && this.open?.kind !== 'reasoning') this.openReasoning()
    const { open } = this
    if (!open) return
    this.open = undefined
    const item = this.output[open.place] as OutputItem
    if (open.kind === 'reasoning') {
      this.closeSummary(item, open)
      if (encryptedContent !== undefined) item.encrypted_content = encryptedContent
    } else this.closePart(item, open)
    item.status = 'completed'
    this.write('response.output_item.done', { output_index: open.place, item })
  }

  /** Adds a call of a tool whose arguments or input follow in pieces. Text before it is closed. */
  openCall(item: OutputItem): OpenCall {
    this.closeText()
    const place = this.add({ ...item, status: 'in_progress' })
    return { place, item: this.output[place] as OutputItem }
  }

  /** Appends to the arguments of a function. */
  appendArguments({ place, item }: OpenCall, delta: string): void {
    if (delta === '') return
    item.arguments = `${item.arguments ?? ''}${delta}`
    this.write('response.function_call_arguments.delta', { item_id: item.id, output_index: place, delta })
  }

  /** Ends a call. `input` is the whole raw text of a custom tool. */
  closeCall({ place, item }: OpenCall, input?: string): void {
    const at = { item_id: item.id, output_index: place }
    if (item.type === 'custom_tool_call') {
      item.input = input ?? ''
      if (item.input !== '') this.write('response.custom_tool_call_input.delta', { ...at, delta: item.input })
      this.write('response.custom_tool_call_input.done', { ...at, input: item.input })
    } else if (item.type === 'function_call') {
      const { arguments: whole = '', name } = item
      this.write('response.function_call_arguments.done', { ...at, arguments: whole, name })
    }
    item.status = 'completed'
    this.write('response.output_item.done', { output_index: place, item })
  }

  /** Adds an item that comes whole. */
  addWhole(item: OutputItem): void {
    this.closeText()
    const place = this.add({ ...item, status: 'in_progress' })
    this.output[place] = item
    this.write('response.output_item.done', { output_index: place, item })
  }

  /** Ends the response: all text is closed, and the terminal event has the whole object. */
  finish(end: ResponseEnd): void {
    if (this.ended) return
    this.begin()
    this.closeText()
    this.ended = this.snapshot(end)
    this.write(`response.${end.status}`, { response: this.ended })
    this.written += 'data: [DONE]\n\n'
  }

  /** Ends a broken response. Clients read either of the two events, and of the first either form. */
  fail({ code, message, type, param }: Pick<GatewayError, 'code' | 'message' | 'type' | 'param'>): void {
    if (this.ended) return
    this.begin()
    this.write('error', { code, message, param, error: { type, code, message, param } })
    this.ended = this.snapshot({ status: 'failed', error: { code, message } })
    this.write('response.failed', { response: this.ended })
    this.written += 'data: [DONE]\n\n'
  }

  /** Ends a response whose output is as long as it may be. Calls that are not whole stay incomplete. */
  cut(usage?: ResponseUsage): void {
    this.closeText()
    this.finish({ status: 'incomplete', incompleteReason: 'max_output_tokens', usage })
  }

  keepAlive(): void {
    this.write('keepalive', {})
  }

  private openText(kind: TextKind): OpenText {
    if (kind === 'reasoning') return this.openReasoning()
    const last = this.open
    const message = last && last.kind !== 'reasoning' ? last : undefined
    if (message) this.closePart(this.output[message.place] as OutputItem, message)
    else this.closeText()
    const place =
      message?.place ?? this.add(this.newItem('message', 'msg', { role: 'assistant', content: [] }))
    const item = this.output[place] as OutputItem
    const part = emptyPart(kind)
    const content = item.content as Fields[]
    this.write('response.content_part.added', {
      item_id: item.id,
      output_index: place,
      content_index: content.length,
      part,
    })
    item.content = [...content, part]
    this.open = { kind, place, text: '' }
    return this.open
  }

  private openReasoning(): OpenText {
    this.closeText()
    const place = this.add(this.newItem('reasoning', 'rs', { summary: [] }))
    this.open = { kind: 'reasoning', place, text: '' }
    return this.open
  }

  private closeSummary(item: OutputItem, { place, text }: OpenText): void {
    if (text === '') return
    const at = { item_id: item.id, output_index: place, summary_index: 0 }
    const part = { type: 'summary_text', text }
    this.write('response.reasoning_summary_text.done', { ...at, text })
    this.write('response.reasoning_summary_part.done', { ...at, part })
    item.summary = [part]
  }

  private closePart(item: OutputItem, { kind, place, text }: OpenText): void {
    const at = { item_id: item.id, output_index: place, content_index: contentIndexOf(item) }
    const part = kind === 'refusal' ? { type: 'refusal', refusal: text } : { ...emptyPart('text'), text }
    if (kind === 'refusal') this.write('response.refusal.done', { ...at, refusal: text })
    else this.write('response.output_text.done', { ...at, text, logprobs: [] })
    this.write('response.content_part.done', { ...at, part })
    item.content = [...(item.content as Fields[]).slice(0, -1), part]
  }

  private newItem(type: string, prefix: string, fields: Fields): OutputItem {
    return { type, id: itemId(this.parsed, prefix, this.output.length), status: 'in_progress', ...fields }
  }

  private add(item: OutputItem): number {
    this.begin()
    const place = this.output.push(item) - 1
    this.write('response.output_item.added', { output_index: place, item })
    return place
  }

  private snapshot(end: ResponseEnd): Fields {
    return responseObject(this.parsed, this.model, this.output, end)
  }

  private write(type: string, fields: Fields): void {
    const event = { type, sequence_number: this.sequence++, ...fields }
    this.written += `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  }
}

function contentIndexOf(item: OutputItem | undefined): number {
  return ((item?.content as unknown[] | undefined)?.length ?? 1) - 1
}

function emptyPart(kind: TextKind): Fields {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: '' }
    : { type: 'output_text', text: '', annotations: [], logprobs: [] }
}
