// Translates the events of a message to those of a response: each block is an item, and a run of thinking is one item
// that the caller can send back. It must never throw, and never lose or repeat a piece; events and blocks of unknown
// kinds are left out.

import type { Model, ParsedRequest, Quantities, Translator } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import { demandsReasoning } from '../../chat/returned-reasoning'
import { textOrEmpty, thinkingTokens } from '../../chat/via-messages/reply'
import { sealReasoning, type ThinkingBlock } from '../../sealed-reasoning'
import type { ResponsesBody } from '../caller-side'
import { isJson, type OpenCall } from '../events'
import type { Fields } from '../response-object'
import { ResponseTranslator, type Shortfall } from '../translator'

export function createEventsOfMessages(parsed: ParsedRequest<ResponsesBody>, model: Model): Translator {
  return new EventsOfMessages(parsed, model)
}

/** A block that has begun. */
type Block =
  | { kind: 'text' }
  | { kind: 'thinking'; signed: { thinking: string; signature: string } }
  | CallBlock

interface CallBlock {
  kind: 'call'
  open: OpenCall
  /** The input that came at the beginning, until pieces of it replace it. */
  whole: string | null
}

const shortfalls: Record<string, Shortfall> = {
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
}

/** Said where a model refuses without a reason. */
const REFUSAL = 'The model declined to answer.'

export class EventsOfMessages extends ResponseTranslator {
  private readonly blocks = new Map<unknown, Block>()
  /** The blocks of the item of reasoning that is open. */
  private run: ThinkingBlock[] = []
  /** Calls without arguments, or with broken ones: cut off if nothing follows and the answer is not whole. */
  private readonly doubtful: OpenCall[] = []
  private stopReason = ''
  private explanation = ''

  /** The response to a whole message. */
  whole(message: Record<string, unknown>, usage: Quantities): Fields {
    this.reasoningTokens = thinkingTokens(message)
    const { service_tier: tier, speed } = asObject(message.usage)
    const reported = speed === 'fast' ? speed : tier
    if (typeof reported === 'string') this.serviceTier = reported
    this.addContent(message.content)
    this.noteStop(message)
    return this.end(usage)
  }

  protected add(event: object): void {
    const { type, message, index, content_block: block, delta } = asObject(event)
    switch (type) {
      case 'message_start':
        this.addContent(asObject(message).content)
        break
      case 'content_block_start':
        this.start(index, asObject(block))
        break
      case 'content_block_delta':
        this.goOn(this.blocks.get(index), asObject(delta))
        break
      case 'content_block_stop':
        this.stop(index)
        break
      case 'message_delta':
        this.reasoningTokens = thinkingTokens(event) || this.reasoningTokens
        this.noteStop(asObject(delta))
    }
  }

  protected close(): void {
    for (const index of [...this.blocks.keys()]) this.stop(index)
    if (this.stopReason === 'refusal') this.events.append('refusal', this.explanation || REFUSAL)
  }

  protected shortfall(): Shortfall {
    return shortfalls[this.stopReason]
  }

  /** Seals the blocks of a run, if any of them is of use to the vendor. */
  protected seal(): string | undefined {
    const blocks = this.run
    this.run = []
    const isOfUse =
      blocks.some((block) => 'redacted' in block || block.signature !== '') ||
      (blocks.length > 0 && demandsReasoning(this.model))
    return isOfUse ? sealReasoning(this.parsed, this.model, { kind: 'messages', blocks }) : undefined
  }

  private noteStop({ stop_reason: reason, stop_details: details }: Record<string, unknown>): void {
    this.stopReason = textOrEmpty(reason) || this.stopReason
    this.explanation = textOrEmpty(asObject(details).explanation) || this.explanation
  }

  private addContent(content: unknown): void {
    if (!Array.isArray(content)) return
    for (const [index, block] of content.entries()) {
      this.start(index, asObject(block))
      this.stop(index)
    }
  }

  private start(index: unknown, block: Record<string, unknown>): void {
    this.stop(index)
    for (const open of this.doubtful.splice(0)) this.events.closeCall(open)
    switch (block.type) {
      case 'text':
        this.events.closeItem()
        this.blocks.set(index, { kind: 'text' })
        this.events.append('text', textOrEmpty(block.text))
        break
      case 'thinking':
        this.startThinking(index, textOrEmpty(block.thinking), textOrEmpty(block.signature))
        break
      case 'redacted_thinking':
        this.events.openReasoning()
        this.run.push({ redacted: textOrEmpty(block.data) })
        break
      case 'tool_use': {
        const open = this.events.openCall(
          this.originOf(textOrEmpty(block.name)),
          this.events.freeCallId(textOrEmpty(block.id)),
        )
        // Some vendors send the whole input at once.
        const input = asObject(block.input)
        const whole = Object.keys(input).length > 0 ? JSON.stringify(input) : null
        this.blocks.set(index, { kind: 'call', open, whole })
      }
    }
  }

  private startThinking(index: unknown, thinking: string, signature: string): void {
    // Each block of a run is a part of its item.
    if (this.run.length > 0) this.events.closePart()
    const signed = { thinking: '', signature: '' }
    const block: Block = { kind: 'thinking', signed }
    this.blocks.set(index, block)
    this.think(signed, thinking)
    this.sign(signed, signature)
  }

  private goOn(block: Block | undefined, piece: Record<string, unknown>): void {
    if (block?.kind === 'text') {
      if (piece.type === 'text_delta') this.events.append('text', textOrEmpty(piece.text))
    } else if (block?.kind === 'thinking') {
      if (piece.type === 'thinking_delta') this.think(block.signed, textOrEmpty(piece.thinking))
      else if (piece.type === 'signature_delta') this.sign(block.signed, textOrEmpty(piece.signature))
    } else if (block && piece.type === 'input_json_delta') {
      const json = textOrEmpty(piece.partial_json)
      if (json !== '') block.whole = null
      this.events.appendArguments(block.open, json)
    }
  }

  private think(signed: { thinking: string; signature: string }, thinking: string): void {
    if (thinking === '') return
    this.events.append('reasoning', thinking)
    this.join(signed)
    signed.thinking += thinking
  }

  /** Adds to the signature, which says that there was thinking even where none is shown. */
  private sign(signed: { thinking: string; signature: string }, signature: string): void {
    if (signature === '') return
    this.events.openReasoning()
    this.join(signed)
    signed.signature += signature
  }

  private join(signed: ThinkingBlock): void {
    if (this.run.at(-1) !== signed) this.run.push(signed)
  }

  private stop(index: unknown): void {
    const block = this.blocks.get(index)
    this.blocks.delete(index)
    if (block?.kind !== 'call') return
    const { open, whole } = block
    if (whole !== null) this.events.appendArguments(open, whole)
    if (isJson(open.text)) this.events.closeCall(open)
    else this.doubtful.push(open)
  }
}
