// Writes an answer as items and events of a response: each text and each call is an item, and a run of thinking is one item that the
// caller can send back. It must never throw, and never lose or repeat a piece.

import type { Model, ParsedRequest } from '../../../contract/family'
import type { AnswerEnd, AnswerItem, AnswerWriter, CallItem, ThinkingItem } from '../../conversation/answer'
import type { ResponsesBody } from '../../responses/caller-side'
import { isJson, type OpenCall, ResponseEvents } from '../../responses/events'
import type { Fields } from '../../responses/response-object'
import { sealReasoning, together } from '../../sealed-reasoning'
import { PROBABILITIES } from './settings'
import { flatToolsOf, type ToolOrigin } from './tools'

/** Why an answer is incomplete. */
export type Shortfall = 'max_output_tokens' | 'content_filter' | undefined

/** The text for a model that refuses without a reason. */
const REFUSAL = 'The model declined to answer.'

export class ResponseWriter implements AnswerWriter {
  readonly events: ResponseEvents
  readonly ending: Partial<AnswerEnd> = {}
  private readonly showsLogprobs: boolean
  /** Pieces of calls that have no name yet, or never get one. */
  private readonly unnamed = new Map<CallItem, string>()
  private readonly calls = new Map<CallItem, OpenCall>()
  private readonly named = new Set<CallItem>()
  /** Calls without arguments, or with broken ones: they were cut off if nothing follows and the answer is incomplete. */
  private readonly doubtful: OpenCall[] = []
  /** The thoughts in the open item of reasoning. */
  private run: ThinkingItem[] = []
  /** Thoughts that are partly sealed. */
  private readonly sealed = new WeakSet<ThinkingItem>()
  private hasRefused = false
  private last: AnswerItem['kind'] | undefined

  constructor(
    private readonly parsed: ParsedRequest<ResponsesBody>,
    private readonly model: Model,
    isSilent: boolean,
  ) {
    this.showsLogprobs = parsed.body.include?.includes(PROBABILITIES) === true
    this.events = new ResponseEvents(parsed, model, () => this.seal(), isSilent)
  }

  begin(): void {
    this.events.begin()
  }

  nameCall(item: CallItem): void {
    if (this.named.has(item)) return
    this.named.add(item)
    item.id = this.events.freeCallId(item.id)
  }

  open(item: AnswerItem): void {
    for (const call of this.doubtful.splice(0)) this.events.closeCall(call)
    if (item.kind === 'call') {
      if (item.name === '') this.unnamed.set(item, '')
      else this.openCall(item)
    }
    // A refusal and a text next to it are parts of one message, and consecutive thoughts are parts of one item.
    else if (item.kind === 'text') {
      if (this.last === 'text' || this.last === 'thinking') this.events.closeItem()
    } else if (item.kind === 'thinking') {
      if (item.kept) this.carry(item)
      else if (this.run.length > 0) this.events.closePart()
    }
    this.last = item.kind
  }

  add(item: AnswerItem, piece: string, logprobs?: readonly Fields[]): void {
    if (item.kind === 'thinking' && item.kept) this.carry(item)
    // A call may have its name by now.
    if (piece === '' && item.kind !== 'call') return
    switch (item.kind) {
      case 'thinking':
        this.events.append('reasoning', piece)
        this.join(item)
        break
      case 'call':
        this.addArguments(item, piece)
        break
      default:
        this.hasRefused ||= item.kind === 'refusal'
        this.events.append(item.kind, piece, this.showsLogprobs ? logprobs : undefined)
    }
  }

  nextPart(item: AnswerItem): void {
    if (item.kind !== 'thinking' || this.run.length > 0) this.events.closePart()
  }

  /** These answers have no place for sources of texts. */
  cite(): void {}

  /**
   * Texts and thoughts end when the next item begins: until then it is unknown whether they are complete. A call that no vendor has
   * named is shown if the answer ends normally or fails: nobody can make it.
   */
  close(item: AnswerItem): void {
    if (item.kind === 'thinking') {
      if (item.kept && !this.sealed.has(item)) this.carry(item)
    } else if (item.kind === 'call' && item.name !== '') {
      this.closeCall(this.calls.get(item) ?? this.openCall(item))
    }
  }

  end(end: Partial<AnswerEnd>): void {
    Object.assign(this.ending, end)
  }

  /** Writes the parts that are still missing before the end. */
  finish(): void {
    for (const call of this.openUnnamed()) this.closeCall(call)
    if (this.ending.stop !== 'refusal' || this.hasRefused) return
    this.events.append('refusal', this.ending.explanation || REFUSAL)
  }

  /** Begins the calls that never got a name. */
  openUnnamed(): OpenCall[] {
    return [...this.unnamed.keys()].map((item) => this.openCall(item))
  }

  get shortfall(): Shortfall {
    if (this.ending.stop === 'limit') return 'max_output_tokens'
    // The text of a refusal is complete.
    return this.ending.stop === 'filter' && !this.hasRefused ? 'content_filter' : undefined
  }

  private addArguments(item: CallItem, piece: string): void {
    const call = this.calls.get(item)
    if (call) {
      this.events.appendArguments(call, piece)
      return
    }
    this.unnamed.set(item, (this.unnamed.get(item) ?? '') + piece)
    if (item.name !== '') this.openCall(item)
  }

  /** Begins the item of a call, with the part that has arrived. */
  private openCall(item: CallItem): OpenCall {
    this.nameCall(item)
    const call = this.events.openCall(this.originOf(item.name), item.id)
    this.calls.set(item, call)
    this.events.appendArguments(call, this.unnamed.get(item) ?? '')
    this.unnamed.delete(item)
    return call
  }

  private closeCall(call: OpenCall): void {
    if (isJson(call.text)) this.events.closeCall(call)
    else this.doubtful.push(call)
  }

  /** The caller's own tool for the name that a model calls; a function of that name if the caller has no such tool. */
  private originOf(name: string): ToolOrigin {
    return flatToolsOf(this.parsed.body).byFlatName(name)?.origin ?? { kind: 'function', name }
  }

  /** Makes an item for reasoning that must be sent back, even if none of its text may be shown. */
  private carry(item: ThinkingItem): void {
    this.events.openReasoning()
    this.join(item)
  }

  private join(item: ThinkingItem): void {
    if (!this.run.includes(item)) this.run.push(item)
  }

  /** Seals the reasoning of the run that ends, which must be sent back. */
  private seal(): string | undefined {
    const [first, ...others] = this.run.flatMap(({ kept }) => kept ?? [])
    for (const item of this.run) if (item.kept) this.sealed.add(item)
    this.run = []
    return first && sealReasoning(this.parsed, this.model, others.reduce(together, first))
  }
}
