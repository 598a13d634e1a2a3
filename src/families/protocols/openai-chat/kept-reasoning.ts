// Gathers the parts of a chat vendor's answer that must be sent back with the next request: the text of its thinking, details of
// it, and signatures of texts and calls. The module that sends them back says which vendors require them. It must never keep a part
// twice.

import type { Model } from '../../../contract/family'
import type { AnswerPart } from '../../chat/answer-parts'
import { wantsText } from '../../chat/returned-reasoning'
import type { ChatReasoning } from '../../sealed-reasoning'

type Fields = Record<string, unknown>

/** The parts that have arrived so far. The caller stores them with an item of thinking: the carrier. */
export class KeptReasoning {
  private text = ''
  private details: Fields[] = []
  private extra: Fields | undefined
  private readonly calls = new Map<string, Fields>()
  private readonly keepsText: boolean
  private hasText = false
  private hasCalls = false

  constructor(model: Model) {
    this.keepsText = wantsText(model)
  }

  /**
   * Receives a part of the answer. True if a carrier is needed before the content of the part, even without any thinking.
   * Signatures after a text wait for a call: clients look for the answer at the end, and no vendor requires them for an answer
   * without calls.
   */
  take({ thinking, text, refusal, calls, details, extra }: AnswerPart): boolean {
    if (this.keepsText) this.text += thinking
    for (const detail of details) this.addDetail(detail)
    if (extra && Object.keys(extra).length > 0) this.extra = { ...this.extra, ...extra }
    this.hasCalls ||= calls.length > 0
    const isDue = this.isDue || calls.some((call) => call.extra !== undefined)
    this.hasText ||= text !== '' || refusal !== ''
    return isDue
  }

  /** Receives the `extra_content` of a call, by the id that the caller knows. */
  takeCall(id: string, extra: Fields): void {
    this.calls.set(id, extra)
  }

  /** Whether a carrier is needed for more than thinking that was already shown. */
  get isDue(): boolean {
    const isSigned = this.details.length > 0 || this.calls.size > 0 || this.extra !== undefined
    return isSigned && (this.hasCalls || !this.hasText)
  }

  /** The parts since the last call; undefined if nothing must be sent back. Later parts are sent to another carrier. */
  give(): ChatReasoning | undefined {
    const { soFar } = this
    this.text = ''
    this.details = []
    this.extra = undefined
    this.calls.clear()
    return soFar
  }

  /** The parts since the last call, which may still grow; undefined if nothing must be sent back. */
  get soFar(): ChatReasoning | undefined {
    const { text, details, extra, calls } = this
    if (text === '' && details.length === 0 && !extra && calls.size === 0) return undefined
    return {
      kind: 'chat',
      text,
      ...(details.length > 0 && { details }),
      ...(extra && { extra }),
      ...(calls.size > 0 && { calls: Object.fromEntries(calls) }),
    }
  }

  /** Adds a detail, or a piece of one: texts with the same index arrive in pieces. */
  private addDetail(detail: Fields): void {
    const last = this.details.at(-1)
    if (last && last.type === detail.type && last.index === detail.index && isText(detail)) {
      for (const member of ['text', 'summary'] as const) {
        const piece = detail[member]
        if (typeof piece === 'string') last[member] = `${last[member] ?? ''}${piece}`
      }
      last.signature = detail.signature ?? last.signature
    } else this.details.push({ ...detail })
  }
}

function isText({ type }: Fields): boolean {
  return type === 'reasoning.text' || type === 'reasoning.summary'
}
