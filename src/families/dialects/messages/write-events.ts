// Writes an answer as the blocks of a message, which never overlap. It must never throw, and never lose or repeat a piece.

import type { Model, ParsedRequest } from '../../../contract/family'
import type { AnswerEnd, AnswerItem, AnswerWriter, CallItem, ThinkingItem } from '../../conversation/answer'
import { InOrder } from '../../conversation/in-order'
import type { MessagesBody } from '../../messages/caller-side'
import { sealReasoning } from '../../sealed-reasoning'

export type PieceType = 'thinking' | 'text' | 'tool_use' | 'signature'

/** Receives blocks one after another. */
export interface BlockRow {
  begin(): void
  start(block: { type: string; [field: string]: unknown }): void
  piece(type: PieceType, piece: string): void
  stop(): void
}

const TYPES = { thinking: 'thinking', text: 'text', refusal: 'text', call: 'tool_use' } as const
const BETWEEN_THOUGHTS = '\n\n'

export class MessageWriter implements AnswerWriter {
  readonly ending: Partial<AnswerEnd> = {}
  private vendorId = ''
  private refusal = ''
  /** Calls in the order in which they arrived. */
  private readonly calls = new Map<CallItem, number>()
  private readonly spoken = new Set<AnswerItem>()
  private readonly order: InOrder
  private isOpen = false

  constructor(
    private readonly parsed: ParsedRequest<MessagesBody>,
    private readonly model: Model,
    private readonly blocks: BlockRow,
  ) {
    this.order = new InOrder({
      open: (item) => {
        if (item.kind === 'call') this.start(item)
      },
      add: (item, piece) => {
        this.start(item)
        this.blocks.piece(TYPES[item.kind], piece)
      },
      close: (item) => this.endBlock(item),
    })
  }

  begin(id: string): void {
    this.vendorId ||= id
    this.blocks.begin()
  }

  nameCall(item: CallItem): void {
    if (!this.calls.has(item)) this.calls.set(item, this.calls.size)
    // The time distinguishes it from ids of earlier turns.
    item.id ||= `toolu_${this.parsed.at.toString(36)}_${this.calls.get(item)}`
  }

  open(item: AnswerItem): void {
    if (item.kind === 'call' && !this.calls.has(item)) this.calls.set(item, this.calls.size)
    this.order.open(item)
  }

  add(item: AnswerItem, piece: string): void {
    if (piece !== '') this.spoken.add(item)
    if (item.kind === 'refusal') this.refusal += piece
    this.order.add(item, piece)
  }

  nextPart(item: AnswerItem): void {
    if (item.kind === 'thinking' && this.spoken.has(item)) this.order.add(item, BETWEEN_THOUGHTS)
  }

  /** Sources of texts are omitted. */
  cite(): void {}

  close(item: AnswerItem): void {
    this.order.close(item)
  }

  end(end: Partial<AnswerEnd>): void {
    Object.assign(this.ending, end)
  }

  /** The vendor's own id, in the form of a message id. */
  get id(): string {
    return `msg_${this.vendorId.replace(/^(?:chatcmpl-|resp_|msg_)/, '') || this.parsed.at.toString(36)}`
  }

  /**
   * Why the message ended. Tool use is decided by the calls themselves: many servers report `stop` then, and a client would wait
   * forever for a call that was not made.
   */
  get stop(): { stop_reason: string; stop_sequence: string | null; stop_details: object | null } {
    const reason = this.reason()
    const { stopSequence, explanation } = this.ending
    return {
      stop_reason: reason,
      stop_sequence: (reason === 'stop_sequence' && stopSequence) || null,
      stop_details:
        reason === 'refusal'
          ? { type: 'refusal', category: null, explanation: this.refusal || explanation || null }
          : null,
    }
  }

  private reason(): string {
    const { stop, stopSequence, isContextFull } = this.ending
    if (this.refusal !== '' || stop === 'refusal' || stop === 'filter') return 'refusal'
    if (stop === 'limit') return isContextFull ? 'model_context_window_exceeded' : 'max_tokens'
    if (this.calls.size > 0) return 'tool_use'
    if (stop !== 'stop_sequence') return 'end_turn'
    // Some servers report a stop sequence of their own.
    const isAsked = !stopSequence || this.parsed.body.stop_sequences?.includes(stopSequence)
    return isAsked ? 'stop_sequence' : 'end_turn'
  }

  private start(item: AnswerItem): void {
    if (this.isOpen) return
    this.isOpen = true
    this.blocks.begin()
    if (item.kind === 'thinking') this.blocks.start({ type: 'thinking', thinking: '', signature: '' })
    else if (item.kind !== 'call') this.blocks.start({ type: 'text', text: '' })
    else {
      this.nameCall(item)
      this.blocks.start({ type: 'tool_use', id: item.id, name: item.name, input: {} })
      // Messages have an empty delta here, so that a call without arguments has one too.
      this.blocks.piece('tool_use', '')
    }
  }

  private endBlock(item: AnswerItem): void {
    if (item.kind === 'thinking') this.sign(item)
    if (!this.isOpen) return
    this.isOpen = false
    this.blocks.stop()
  }

  private sign(item: ThinkingItem): void {
    const { kept } = item
    if (!kept) return
    // Blocks of messages already have this form: they stay as their vendor signed them.
    const [block] = kept.kind === 'messages' ? kept.blocks : []
    if (block && 'redacted' in block) {
      this.isOpen = true
      this.blocks.begin()
      this.blocks.start({ type: 'redacted_thinking', data: block.redacted })
      return
    }
    const signature = block ? block.signature : sealReasoning(this.parsed, this.model, kept)
    if (!signature) return
    this.start(item)
    this.blocks.piece('signature', signature)
  }
}
