// Writes the events of a streamed response in the order that clients check: each item is added, filled and done, with the same id
// everywhere and a sequence number on each event. It must never throw, leave an item open at the end of a complete answer, or end a
// call so that clients run half of it.

import type { Model, ParsedRequest } from '../../contract/family'
import type { ToolOrigin } from '../dialects/responses/tools'
import type { ResponsesBody } from './caller-side'
import { callPrefix, cutStatusOf, emptyCall, fillCall, hasPieces } from './calls'
import {
  type Fields,
  itemId,
  type NewItem,
  type OutputItem,
  type ResponseEnd,
  responseObject,
} from './response-object'

/** Kinds of text. One item at a time is open: reasoning, or a message with texts and refusals. */
type TextKind = 'reasoning' | 'text' | 'refusal'

/** The open item of reasoning, or the open message. */
interface OpenItem {
  place: number
  item: OutputItem
  /** Finished parts. */
  parts: Fields[]
}

/** The open part. The texts of its events are made once, because most events of a stream are deltas. */
interface OpenPart {
  kind: TextKind
  text: string
  logprobs: Fields[]
  /** Members that identify the part in each of its events. */
  at: Fields
  /** A delta's event up to its sequence number, and from there to its text. */
  beforeNumber: string
  beforeDelta: string
}

/** A call of a tool that is still being written. */
export interface OpenCall {
  place: number
  item: OutputItem
  origin: ToolOrigin
  /** The arguments that have arrived. */
  text: string
  beforeDelta: string
}

/** Members and names of events of a kind of text. */
interface TextForm {
  item: 'reasoning' | 'message'
  partAdded: string
  delta: string
  done: string
  partDone: string
  /** The member with the index of a part. */
  index: string
  /** The member that holds the text, in a part and in the event that ends it. */
  member: string
  part(text: string, logprobs: readonly Fields[]): Fields
}

const message = {
  item: 'message',
  partAdded: 'response.content_part.added',
  partDone: 'response.content_part.done',
  index: 'content_index',
} as const

const forms: Record<TextKind, TextForm> = {
  reasoning: {
    item: 'reasoning',
    partAdded: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    partDone: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    member: 'text',
    part: (text) => ({ type: 'summary_text', text }),
  },
  text: {
    ...message,
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    member: 'text',
    part: (text, logprobs) => ({ type: 'output_text', text, annotations: [], logprobs }),
  },
  refusal: {
    ...message,
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    member: 'refusal',
    part: (refusal) => ({ type: 'refusal', refusal }),
  },
}

const ARGUMENTS_DELTA = 'response.function_call_arguments.delta'
const BEFORE_ARGUMENTS_NUMBER = beforeNumber(ARGUMENTS_DELTA)
const DONE = 'data: [DONE]\n\n'
const NO_LOGPROBS: readonly Fields[] = []

/** An error that ends a response. */
export interface ResponseError {
  code: string | null
  message: string
  type: string | null
  param: string | null
}

export class ResponseEvents {
  private readonly output: OutputItem[] = []
  private readonly calls = new Set<OpenCall>()
  private readonly callIds = new Set<string>()
  /** The last call, if clients must not see it before it is complete. */
  private unseen: OpenCall | undefined
  private written = ''
  private sequence = 0
  private begun: Fields | undefined
  private ended: Fields | undefined
  private item: OpenItem | undefined
  private part: OpenPart | undefined

  constructor(
    private readonly parsed: ParsedRequest<ResponsesBody>,
    private readonly model: Model,
    /** Seals the reasoning of an item that ends, for the caller to keep. */
    private readonly seal: () => string | undefined,
    /** True if only the response is needed, without events. */
    private isSilent = false,
  ) {}

  /** The events since the last call. */
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
    if (this.begun) return
    this.begun = responseObject(this.parsed, this.model)
    if (this.isSilent) return
    const response = JSON.stringify(this.begun)
    this.writeText('response.created', `"response":${response}`)
    this.writeText('response.in_progress', `"response":${response}`)
  }

  /** Appends to the open part of this kind, or to a new one. `logprobs` are those of a text's tokens. */
  append(kind: TextKind, delta: string, logprobs: readonly Fields[] = NO_LOGPROBS): void {
    if (delta === '') return
    const part = this.part?.kind === kind ? this.part : this.openPart(kind)
    part.text += delta
    if (logprobs !== NO_LOGPROBS) part.logprobs.push(...logprobs)
    if (this.isSilent) return
    const end = kind !== 'text' ? '' : logprobs.length === 0 ? ',"logprobs":[]' : withLogprobs(logprobs)
    this.written += `${part.beforeNumber}${this.sequence++}${part.beforeDelta}${jsonText(delta)}${end}}\n\n`
  }

  /** Ends the open part, so that further text of its kind begins another one. */
  closePart(): void {
    const { item, part } = this
    if (!item || !part) return
    this.part = undefined
    const { kind, text, logprobs, at } = part
    const { done, partDone, member, part: partOf } = forms[kind]
    const whole = partOf(text, logprobs)
    this.write(done, { ...at, [member]: text, ...(kind === 'text' && { logprobs }) })
    this.write(partDone, { ...at, part: whole })
    item.parts.push(whole)
  }

  /** Opens an item of reasoning whose text must not be shown. */
  openReasoning(): void {
    this.openItem('reasoning')
  }

  /** Ends the open item of reasoning, or the open message. */
  closeItem(status: 'completed' | 'incomplete' = 'completed'): void {
    this.closePart()
    const { item: open } = this
    if (!open) return
    this.item = undefined
    const { place, item } = open
    if (item.type === 'reasoning') {
      const sealed = this.seal()
      if (sealed !== undefined) item.encrypted_content = sealed
    }
    item.status = status
    this.write('response.output_item.done', { output_index: place, item })
  }

  /** The id of a call, or a new one if the vendor gave none or repeated it: results name their call by it. */
  freeCallId(callId: string): string {
    let id = callId
    for (let place = this.output.length; id === '' || this.callIds.has(id); place++) {
      id = itemId(this.parsed, 'call', place)
    }
    this.callIds.add(id)
    return id
  }

  /** Adds a call of a tool, whose arguments follow in pieces. The open text before it is closed. The id is an unused one. */
  openCall(origin: ToolOrigin, callId: string): OpenCall {
    this.closeItem()
    const empty = { ...emptyCall(origin, callId), status: 'in_progress' }
    const [place, item] = this.place(empty, callPrefix(origin))
    const at = `,"item_id":${JSON.stringify(item.id)},"output_index":${place},"delta":`
    const call = { place, item, origin, text: '', beforeDelta: at }
    this.calls.add(call)
    if (hasPieces(origin)) this.writeAdded(place, item)
    else this.unseen = call
    return call
  }

  /** Appends to the arguments of a call. Only those of a function are shown before they are complete. */
  appendArguments(call: OpenCall, delta: string): void {
    if (delta === '') return
    call.text += delta
    if (this.isSilent || call.origin.kind !== 'function') return
    this.written += `${BEFORE_ARGUMENTS_NUMBER}${this.sequence++}${call.beforeDelta}${jsonText(delta)}}\n\n`
  }

  /** Ends a call. */
  closeCall(call: OpenCall, status: 'completed' | 'incomplete' = 'completed'): void {
    if (!this.calls.delete(call)) return
    const { place, item, origin } = call
    const isFunction = item.type === 'function_call'
    // Clients parse the arguments.
    if (isFunction && status === 'completed' && call.text.trim() === '') this.appendArguments(call, '{}')
    fillCall(origin, item, call.text)
    if (this.unseen === call) this.showUnseen()
    item.status = status
    const at = { item_id: item.id, output_index: place }
    if (isFunction) {
      this.write('response.function_call_arguments.done', { ...at, name: item.name, arguments: call.text })
    } else if (item.type === 'custom_tool_call') {
      if (item.input !== '') this.write('response.custom_tool_call_input.delta', { ...at, delta: item.input })
      this.write('response.custom_tool_call_input.done', { ...at, input: item.input })
    }
    this.write('response.output_item.done', { output_index: place, item })
  }

  /** Adds an item with sealed content, which clients read where it is done. */
  addSealed(fields: NewItem & { encrypted_content: string }, prefix: string): void {
    const [place, item] = this.place(fields, prefix)
    this.writeAdded(place, { ...item, encrypted_content: '' })
    this.write('response.output_item.done', { output_index: place, item })
  }

  /** Ends the response: all items are closed, and the terminal event holds the complete object. */
  finish(end: ResponseEnd): void {
    if (this.ended) return
    this.begin()
    this.closeAll(end.status === 'incomplete')
    this.end(end)
  }

  /**
   * Ends a broken response. Clients read either of the two events, and either form of the first. Open items do not end, because
   * clients run a tool when its item is done.
   */
  fail(error: ResponseError): void {
    if (this.ended) return
    this.begin()
    this.showUnseen()
    this.inSilence(() => this.closeAll(true))
    const fields = errorFields(error)
    this.write('error', fields)
    this.end({ status: 'failed', error: { code: fields.code, message: fields.message } })
  }

  /** A keep-alive event. */
  keepAlive(): void {
    if (this.ended) return
    this.begin()
    this.writeText('keepalive', '')
  }

  private closeAll(isIncomplete: boolean): void {
    const places = [...this.calls, ...(this.item ? [this.item] : [])].sort((a, b) => a.place - b.place)
    for (const open of places) {
      if (!('origin' in open)) this.closeItem(isIncomplete ? 'incomplete' : 'completed')
      else if (isIncomplete && !isJson(open.text)) this.cutCall(open)
      else this.closeCall(open)
    }
  }

  private cutCall(call: OpenCall): void {
    const status = cutStatusOf(call.origin)
    if (status === undefined) {
      this.closeCall(call, 'incomplete')
      return
    }
    this.showUnseen()
    this.inSilence(() => this.closeCall(call, 'incomplete'))
    call.item.status = status
  }

  /** Continues the response without events. */
  private inSilence(change: () => void): void {
    const { isSilent } = this
    this.isSilent = true
    change()
    this.isSilent = isSilent
  }

  private end(end: ResponseEnd): void {
    this.ended = responseObject(this.parsed, this.model, this.output, end, this.begun)
    this.write(`response.${end.status}`, { response: this.ended, ...end.note })
    if (!this.isSilent) this.written += DONE
  }

  private openPart(kind: TextKind): OpenPart {
    this.closePart()
    const form = forms[kind]
    const { place, item, parts } = this.openItem(form.item)
    const at = { item_id: item.id, output_index: place, [form.index]: parts.length }
    this.write(form.partAdded, { ...at, part: form.part('', NO_LOGPROBS) })
    this.part = {
      kind,
      text: '',
      logprobs: [],
      at,
      beforeNumber: beforeNumber(form.delta),
      beforeDelta: `,${JSON.stringify(at).slice(1, -1)},"delta":`,
    }
    return this.part
  }

  /** The open item of this type, or a new one. */
  private openItem(type: TextForm['item']): OpenItem {
    if (this.item?.item.type === type) return this.item
    this.closeItem()
    const parts: Fields[] = []
    const [place, item] =
      type === 'reasoning'
        ? this.add({ type, status: 'in_progress', summary: parts }, 'rs')
        : this.add({ type, status: 'in_progress', role: 'assistant', content: parts }, 'msg')
    this.item = { place, item, parts }
    return this.item
  }

  private add(fields: NewItem, prefix: string): [place: number, item: OutputItem] {
    const [place, item] = this.place(fields, prefix)
    this.writeAdded(place, item)
    return [place, item]
  }

  /** Gives an item its index, from which its id is derived. */
  private place({ type, ...fields }: NewItem, prefix: string): [place: number, item: OutputItem] {
    this.begin()
    // Clients add items in the order of their indexes.
    this.showUnseen()
    const place = this.output.length
    const item = { type, id: itemId(this.parsed, prefix, place), ...fields }
    this.output.push(item)
    return [place, item]
  }

  private showUnseen(): void {
    const { unseen } = this
    this.unseen = undefined
    if (unseen) this.writeAdded(unseen.place, unseen.item)
  }

  private writeAdded(place: number, item: OutputItem): void {
    this.write('response.output_item.added', { output_index: place, item })
  }

  private write(type: string, fields: Fields): void {
    if (!this.isSilent) this.writeText(type, JSON.stringify(fields).slice(1, -1))
  }

  private writeText(type: string, fields: string): void {
    if (this.isSilent) return
    const more = fields === '' ? '' : ','
    this.written += `${beforeNumber(type)}${this.sequence++}${more}${fields}}\n\n`
  }
}

function beforeNumber(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`
}

/** Text that needs no escape, as in most deltas. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/

/** A delta as JSON. Adding the quotes alone takes half the time. */
function jsonText(delta: string): string {
  return PLAIN_TEXT.test(delta) ? `"${delta}"` : JSON.stringify(delta)
}

function withLogprobs(logprobs: readonly Fields[]): string {
  return `,"logprobs":${JSON.stringify(logprobs)}`
}

/** Whether arguments are complete, although they may have been cut. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Codes on which clients act: they wait, give up, or shorten what they send. */
const CODES: ReadonlySet<string> = new Set([
  'server_error',
  'rate_limit_exceeded',
  'server_is_overloaded',
  'context_length_exceeded',
  'invalid_prompt',
])

/** Vendors' words for such a code. */
const codesByWord: Record<string, string> = {
  rate_limit_error: 'rate_limit_exceeded',
  overloaded_error: 'server_is_overloaded',
}

/** The members of an error event, in both forms that clients read. */
export function errorFields({ code: word, message: text, type, param }: ResponseError) {
  const code = codeOf(word, type)
  return { code, message: text, param, error: { type: type ?? 'server_error', code, message: text, param } }
}

function codeOf(...words: readonly (string | null)[]): string {
  for (const word of words) {
    const code = codesByWord[word ?? ''] ?? word
    if (code !== null && CODES.has(code)) return code
  }
  return 'server_error'
}
