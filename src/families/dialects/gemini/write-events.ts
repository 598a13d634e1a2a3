// Writes an answer as parts of a candidate: texts in pieces, and whole calls, one after another. It must never throw, and never
// lose or repeat a piece.

import type { Model, ParsedRequest } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import { callInput } from '../../chat/answer-parts'
import type { AnswerEnd, AnswerItem, AnswerWriter, CallItem } from '../../conversation/answer'
import { InOrder } from '../../conversation/in-order'
import { type SealedReasoning, sealReasoning, together } from '../../sealed-reasoning'
import { type GeminiBody, memberOf } from './body'

type Fields = Readonly<Record<string, unknown>>

/** Receives the parts of one candidate. */
export type TakePart = (part: Fields) => void

export class CandidateWriter implements AnswerWriter {
  readonly ending: Partial<AnswerEnd> = {}
  readonly logprobs: Fields[] = []
  vendorId = ''
  private readonly showsThoughts: boolean
  private readonly order: InOrder
  private readonly inputs = new Map<CallItem, string>()
  private readonly spoken = new Set<AnswerItem>()
  private readonly ids = new Set<string>()
  private readonly named = new Set<CallItem>()
  /** Signatures that must be sent back later, until there is a part to attach them to. */
  private kept: SealedReasoning | undefined

  constructor(
    private readonly parsed: ParsedRequest<GeminiBody>,
    private readonly model: Model,
    private readonly take: TakePart,
  ) {
    const thinking = memberOf(memberOf(parsed.body, 'generationConfig'), 'thinkingConfig')
    this.showsThoughts = memberOf(thinking, 'includeThoughts') === true
    this.order = new InOrder({
      open: () => {},
      add: (item, piece) => this.say(item, piece),
      close: (item) => this.endItem(item),
    })
  }

  begin(id: string): void {
    this.vendorId ||= id
  }

  /** Responses of functions name their call by its id: a repeated id of the vendor is replaced. */
  nameCall(item: CallItem): void {
    if (this.named.has(item)) return
    this.named.add(item)
    let id = item.id
    for (let place = this.ids.size; id === '' || this.ids.has(id); place++) {
      id = `call_${this.parsed.at.toString(36)}_${place}`
    }
    this.ids.add(id)
    item.id = id
  }

  open(item: AnswerItem): void {
    this.order.open(item)
  }

  add(item: AnswerItem, piece: string, logprobs: readonly Fields[] = []): void {
    if (piece !== '') this.spoken.add(item)
    this.logprobs.push(...logprobs)
    this.order.add(item, piece)
  }

  nextPart(item: AnswerItem): void {
    if (item.kind === 'thinking' && this.spoken.has(item)) this.order.add(item, '\n\n')
  }

  /** These answers have no place for sources of texts. */
  cite(): void {}

  close(item: AnswerItem): void {
    this.order.close(item)
  }

  end(end: Partial<AnswerEnd>): void {
    Object.assign(this.ending, end)
  }

  /** Writes a signature that nothing follows as Google does: on an empty text. */
  finish(): void {
    if (this.kept) this.put({ text: '' })
  }

  /** Why the candidate ended, in Google's terms, which have none for calls. */
  get finishReason(): string {
    const { stop } = this.ending
    if (stop === 'limit') return 'MAX_TOKENS'
    return stop === 'refusal' || stop === 'filter' ? 'SAFETY' : 'STOP'
  }

  private say(item: AnswerItem, piece: string): void {
    if (item.kind === 'call') this.inputs.set(item, (this.inputs.get(item) ?? '') + piece)
    else if (item.kind !== 'thinking') this.put({ text: piece })
    else if (this.showsThoughts) this.take({ text: piece, thought: true })
  }

  private endItem(item: AnswerItem): void {
    if (item.kind === 'thinking') {
      const { kept } = item
      if (kept) this.kept = this.kept ? together(this.kept, kept) : kept
    } else if (item.kind === 'call') {
      this.nameCall(item)
      const args = asObject(callInput(this.inputs.get(item) ?? ''))
      this.put({ functionCall: { id: item.id, name: item.name, args } })
    }
  }

  /** A part with the signature of the thinking before it: bytes in base64, which clients decode. */
  private put(part: Fields): void {
    const sealed = this.kept && sealReasoning(this.parsed, this.model, this.kept)
    this.kept = undefined
    this.take(
      sealed === undefined
        ? part
        : { ...part, thoughtSignature: Buffer.from(sealed, 'latin1').toString('base64') },
    )
  }
}
