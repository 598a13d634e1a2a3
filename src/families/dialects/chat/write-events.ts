// Writes a candidate of an answer as deltas of a chat completion, in which pieces of calls may be mixed. It must never throw, and
// never lose or repeat a piece.

import type { ParsedRequest } from '../../../contract/family'
import type { AnswerEnd, AnswerItem, AnswerWriter, CallItem } from '../../conversation/answer'

type Fields = Readonly<Record<string, unknown>>

/** Receives the deltas of a candidate. */
export interface DeltaRow {
  /** The candidate begins. `id` is the vendor's own, or empty. */
  begin(id: string): void
  delta(delta: Fields, logprobs?: readonly Fields[]): void
}

/** A call of a tool: its index among the calls, and what arrived before its name. */
interface Call {
  place: number
  hasBegun: boolean
  hasInput: boolean
  unsent: string
}

const BETWEEN_THOUGHTS = '\n\n'

export class CompletionWriter implements AnswerWriter {
  readonly ending: Partial<AnswerEnd> = {}
  private readonly calls = new Map<CallItem, Call>()
  /** Complete functions without arguments, if nothing has followed them yet. */
  private readonly bare: CallItem[] = []
  private hasThought = false

  constructor(
    private readonly parsed: ParsedRequest,
    private readonly row: DeltaRow,
  ) {}

  begin(id: string): void {
    this.row.begin(id)
  }

  nameCall(item: CallItem): void {
    // The time distinguishes it from ids of earlier turns.
    item.id ||= `call_${this.parsed.at.toString(36)}_${this.callOf(item).place}`
  }

  open(item: AnswerItem): void {
    this.settle()
    if (item.kind === 'call') this.beginCall(item)
  }

  add(item: AnswerItem, piece: string, logprobs?: readonly Fields[]): void {
    if (piece === '') return
    switch (item.kind) {
      case 'thinking':
        this.hasThought = true
        this.row.delta({ reasoning_content: piece })
        break
      case 'text':
        this.row.delta({ content: piece }, logprobs)
        break
      case 'refusal':
        this.row.delta({ refusal: piece })
        break
      case 'call':
        this.addInput(item, piece)
    }
  }

  nextPart(item: AnswerItem): void {
    if (item.kind === 'thinking' && this.hasThought) this.row.delta({ reasoning_content: BETWEEN_THOUGHTS })
  }

  cite(_item: AnswerItem, annotations: readonly Fields[]): void {
    if (annotations.length > 0) this.row.delta({ annotations })
  }

  close(item: AnswerItem): void {
    if (item.kind !== 'call') return
    const call = this.beginCall(item, true)
    if (!call.hasInput && item.form === 'function') this.bare.push(item)
  }

  /** Gives calls without arguments an empty object: clients parse them. In a truncated answer, they may be lost. */
  settle(): void {
    for (const item of this.bare.splice(0)) this.addInput(item, '{}')
  }

  end(end: Partial<AnswerEnd>): void {
    Object.assign(this.ending, end)
  }

  /** Why the answer ended. Calls of tools must be made even if the vendor reports a normal end. */
  get finishReason(): string {
    const { stop } = this.ending
    if (stop === 'refusal' || stop === 'filter') return 'content_filter'
    if (stop === 'limit') return 'length'
    return this.calls.size > 0 ? 'tool_calls' : 'stop'
  }

  private callOf(item: CallItem): Call {
    const known = this.calls.get(item)
    if (known) return known
    const call = { place: this.calls.size, hasBegun: false, hasInput: false, unsent: '' }
    this.calls.set(item, call)
    return call
  }

  /** Writes the first delta of a call, which contains its name. A call that never got a name is written at its end. */
  private beginCall(item: CallItem, isLast = false): Call {
    const call = this.callOf(item)
    if (call.hasBegun || (item.name === '' && !isLast)) return call
    call.hasBegun = true
    this.nameCall(item)
    const { id, form, name } = item
    const empty = form === 'function' ? { arguments: '' } : { input: '' }
    this.row.delta({ tool_calls: [{ index: call.place, id, type: form, [form]: { name, ...empty } }] })
    const { unsent } = call
    call.unsent = ''
    if (unsent !== '') this.addInput(item, unsent)
    return call
  }

  private addInput(item: CallItem, piece: string): void {
    const call = this.beginCall(item)
    call.hasInput = true
    if (!call.hasBegun) {
      call.unsent += piece
      return
    }
    const { form } = item
    const input = form === 'function' ? { arguments: piece } : { input: piece }
    this.row.delta({ tool_calls: [{ index: call.place, [form]: input }] })
  }
}
