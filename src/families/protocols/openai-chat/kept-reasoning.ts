// Gathers the parts of a chat vendor's answer that must come back with the next request: the text of its thinking, details of it, and
// signatures of texts and calls. Which vendors ask for them is said where they are given back. It must never keep a part twice.

import type { Model } from '../../../contract/family'
import type { AnswerPart } from '../../chat/answer-parts'
import { wantsText } from '../../chat/returned-reasoning'
import type { ChatReasoning } from '../../sealed-reasoning'

type Fields = Record<string, unknown>

/** The parts as far as they have arrived. A caller keeps them with an item of thinking: the carrier. */
export class KeptReasoning {
  private text = ''
  private details: Fields[] = []
  private extra: Fields = {}
  private readonly calls = new Map<string, Fields>()
  private readonly keepsText: boolean
  private hasText = false
  private hasCalls = false

  constructor(model: Model) {
    this.keepsText = wantsText(model)
  }

  /**
   * Takes a part of the answer. True if a carrier is needed before what the part says, though it may have no thinking.
   * Signatures that come after a text wait for a call: clients look for the answer at the end, and no vendor requires them
   * of an answer without calls.
   */
  take({ thinking, text, refusal, calls, details, extra }: AnswerPart): boolean {
    if (this.keepsText) this.text += thinking
    for (const detail of details) this.addDetail(detail)
    if (extra) this.extra = { ...this.extra, ...extra }
    this.hasCalls ||= calls.length > 0
    const isDue = this.isDue || calls.some((call) => call.extra !== undefined)
    this.hasText ||= text !== '' || refusal !== ''
    return isDue
  }

  /** Takes the `extra_content` of a call, by the id that the caller knows. */
  takeCall(id: string, extra: Fields): void {
    this.calls.set(id, extra)
  }

  /** Whether a carrier is needed for more than thinking that has been shown. */
  get isDue(): boolean {
    const isSigned = this.details.length > 0 || this.calls.size > 0 || Object.keys(this.extra).length > 0
    return isSigned && (this.hasCalls || !this.hasText)
  }

  /** The parts since the last time; undefined if nothing must come back. The next ones go to another carrier. */
  give(): ChatReasoning | undefined {
    const { soFar } = this
    this.text = ''
    this.details = []
    this.extra = {}
    this.calls.clear()
    return soFar
  }

  /** The parts that have arrived since the last time, which may still grow; undefined if nothing must be sent back. */
  get soFar(): ChatReasoning | undefined {
    const { text, details, extra } = this
    const calls = Object.fromEntries(this.calls)
    const hasExtra = Object.keys(extra).length > 0
    const hasCalls = Object.keys(calls).length > 0
    if (text === '' && details.length === 0 && !hasExtra && !hasCalls) return undefined
    return {
      kind: 'chat',
      text,
      ...(details.length > 0 && { details }),
      ...(hasExtra && { extra }),
      ...(hasCalls && { calls }),
    }
  }

  /** Adds a detail, or a piece of one: texts of one place come in pieces. */
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
