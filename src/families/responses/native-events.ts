// The events of a vendor of responses for the caller: in the vendor's order, numbered again, each item under one id, without
// padding and without kinds that clients throw on. It must never throw, or send an end before the last event.

import { ENDED_BY_BALANCE } from '../../contract/failures'
import type { Model, ParsedRequest, Quantities, Translator } from '../../contract/family'
import type { GatewayError } from '../../lib/errors'
import { asObject, isObject } from '../../lib/objects'
import type { ResponsesBody } from './caller-side'
import { errorFields, type ResponseError } from './events'
import { idOf, itemsIn, renamedResponse, wholeItem, withUsage } from './native-answer'
import { ITEM_ADDED, ITEM_DONE, itemTypeOf, NativeItem } from './native-items'
import { type Fields, responseUsage, usageObject } from './response-object'

/** Events that clients know; SDKs throw on others. All of them begin with `response.`. */
const KNOWN = new RegExp(
  `^response\\.(${[
    'output_item\\.(added|done)',
    'content_part\\.(added|done)',
    'output_text\\.(delta|done|annotation\\.added)',
    'refusal\\.(delta|done)',
    'function_call_arguments\\.(delta|done)',
    'custom_tool_call_input\\.(delta|done)',
    'reasoning_summary_part\\.(added|done)',
    'reasoning_summary_text\\.(delta|done)',
    'reasoning_text\\.(delta|done)',
    'audio\\.(delta|done)',
    'audio\\.transcript\\.(delta|done)',
    'code_interpreter_call\\.(in_progress|interpreting|completed)',
    'code_interpreter_call_code\\.(delta|done)',
    '(file|web)_search_call\\.(in_progress|searching|completed)',
    'image_generation_call\\.(in_progress|generating|partial_image|completed)',
    'mcp_call\\.(in_progress|completed|failed)',
    'mcp_call_arguments\\.(delta|done)',
    'mcp_list_tools\\.(in_progress|completed|failed)',
    'shell_call_command\\.(added|delta|done)',
    'shell_call_output_content\\.(delta|done)',
    'compaction\\.compacting',
  ].join('|')})$`,
)
/** Other servers' names for the same events. */
const OTHER_NAMES: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    'response.reasoning.delta': 'response.reasoning_text.delta',
    'response.reasoning.done': 'response.reasoning_text.done',
  }),
)
/** Names that were already checked: a look-up is faster than a match, and vendors use few names. */
const known = new Map<string, boolean>()
const MAX_KNOWN_NAMES = 200
const MAX_KNOWN_NAME_LENGTH = 64

function isKnown(type: string): boolean {
  let answer = known.get(type)
  if (answer === undefined) {
    answer = KNOWN.test(type)
    if (known.size < MAX_KNOWN_NAMES && type.length <= MAX_KNOWN_NAME_LENGTH) known.set(type, answer)
  }
  return answer
}

/** Pieces of calls of tools. */
const CALL_PIECES: ReadonlySet<string> = new Set([
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
])

export function createNativeEvents(parsed: ParsedRequest<ResponsesBody>, model: Model): Translator {
  return new NativeEvents(parsed, model)
}

class NativeEvents implements Translator {
  private readonly items = new Map<number, NativeItem>()
  private sequence = 0
  /** How many of the first two events were written, and the response in them. */
  private begun = 0
  private early: Fields = {}
  /** The event that completes the answer. */
  private terminal: Fields | undefined
  private ended: Fields | undefined

  constructor(
    private readonly parsed: ParsedRequest<ResponsesBody>,
    private readonly model: Model,
  ) {}

  push(event: object): string {
    const fields = event as Fields
    const type = OTHER_NAMES.get(fields.type) ?? fields.type
    if (typeof type !== 'string' || this.terminal || this.ended) return ''
    switch (type) {
      case 'response.created':
        return this.begin(1, fields)
      case 'response.in_progress':
        return this.begin(2, fields)
      case 'response.completed':
      case 'response.incomplete':
        // Sent when the answer is settled.
        this.terminal = fields
        return ''
      case 'keepalive':
        return this.keepAlive()
    }
    return isKnown(type) ? this.begin(2) + this.passOn(type, fields) : ''
  }

  finish(usage: Quantities): string {
    if (this.ended) return ''
    const terminal = this.terminal ?? { type: 'response.completed' }
    const response = asObject(terminal.response)
    const begun = this.begin(2, { response })
    const status = String(terminal.type).replace('response.', '')
    const whole = { ...response, status }
    const rest = this.complete(response)
    return (
      begun +
      rest +
      this.end(
        terminal,
        withUsage(renamedResponse(whole, this.output(response), this.parsed, this.model), usage),
      )
    )
  }

  /** The events of items that the vendor has not ended, or reported only at their end. */
  private complete({ output }: Fields): string {
    let written = ''
    for (const [place, item] of placedItems(output)) {
      if (this.items.get(place)?.isDone) continue
      written += this.passOn(ITEM_DONE, { type: ITEM_DONE, output_index: place, item })
    }
    return written + this.closeAll()
  }

  private closeAll(): string {
    const events = this.inOrder().flatMap((item) => item.close())
    return events.map((event) => this.write(event)).join('')
  }

  fail(error: GatewayError): string {
    if (this.ended) return ''
    const sent = isBusy(error) ? { ...shapeOf(error), code: 'server_is_overloaded' } : shapeOf(error)
    const begun = this.begin(2)
    // Clients read either of the two events, and either form of the first.
    const fields = errorFields(sent)
    const event = this.write({ type: 'error', sequence_number: 0, ...fields })
    const { code, message } = fields
    const failed = { ...this.early, status: 'failed', error: { code, message }, output: this.output({}) }
    return begun + event + this.end({ type: 'response.failed' }, failed)
  }

  cut(usage: Quantities): string {
    if (this.ended) return ''
    const begun = this.begin(2)
    const closed = this.closeAll()
    const cut = {
      ...this.early,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: this.output({}),
      usage: usageObject(responseUsage(usage, 0)),
      ...ENDED_BY_BALANCE,
    }
    return begun + closed + this.end({ type: 'response.incomplete', ...ENDED_BY_BALANCE }, cut)
  }

  keepAlive(): string {
    if (this.ended) return ''
    return this.begin(2) + this.write({ type: 'keepalive', sequence_number: 0 })
  }

  answer(): object | undefined {
    return this.ended
  }

  /** The opening events up to this many, each once; `event` is any event of the vendor that has a response. */
  private begin(count: 1 | 2, event: Fields = {}): string {
    if (this.begun >= count) return ''
    if (this.begun === 0) {
      const early = { ...asObject(event.response), status: 'in_progress', completed_at: null, usage: null }
      this.early = renamedResponse(early, [], this.parsed, this.model)
    }
    let written = ''
    while (this.begun < count) {
      const type = this.begun++ === 0 ? 'response.created' : 'response.in_progress'
      const sent = event.type === type ? event : {}
      written += this.write({ ...sent, type, sequence_number: 0, response: this.early })
    }
    return written
  }

  private end(event: Fields, response: Fields): string {
    this.ended = response
    return `${this.write({ ...event, sequence_number: 0, response })}data: [DONE]\n\n`
  }

  /** An event about an item or a part of it, under the item's one id, preceded by those that the vendor omitted. */
  private passOn(type: string, fields: Fields): string {
    const place = this.placeOf(fields)
    const known = this.items.get(place)
    if (known && (known.isDone || type === ITEM_ADDED)) return ''
    const item = known ?? this.itemOf(place, type, fields)
    // A piece of a call whose name is unknown: the call is written when it arrives whole.
    if (!item && CALL_PIECES.has(type)) return ''
    let written = known || !item || type === ITEM_ADDED ? '' : this.write(item.added())
    for (const event of item?.take(type, fields) ?? []) written += this.write(event)
    // Nobody else reads the event: copying it would take as long as copying its text.
    fields.type = type
    fields.output_index = place
    // Random padding against eavesdroppers who measure lengths.
    delete fields.obfuscation
    if (item && isObject(fields.item)) fields.item = item.item
    else if (item) fields.item_id = item.id
    return written + this.write(fields)
  }

  /** The item of an event, made at its first event; undefined if the event does not show its type. */
  private itemOf(place: number, type: string, fields: Fields): NativeItem | undefined {
    if (isObject(fields.item)) return this.newItem(place, fields.item)
    const itemType = itemTypeOf({ ...fields, type })
    return itemType === undefined ? undefined : this.newItem(place, { type: itemType, id: fields.item_id })
  }

  private newItem(place: number, item: Fields): NativeItem {
    const made = new NativeItem(idOf(item, this.parsed, place), place, item)
    this.items.set(place, made)
    return made
  }

  /** The index of an event's item: the vendor's, otherwise by the id, otherwise that of the last item. */
  private placeOf({ output_index: place, item_id: id }: Fields): number {
    if (Number.isSafeInteger(place) && (place as number) >= 0) return place as number
    for (const [known, item] of this.items) if (item.id === id) return known
    return Math.max(0, this.items.size - 1)
  }

  /** The final output: the vendor's, otherwise the items that arrived. */
  private output({ output }: Fields): unknown[] {
    const sent = placedItems(output)
    if (sent.length === 0) return this.inOrder().map(({ item }) => item)
    return sent.map(([place, item]) => {
      const known = this.items.get(place)
      if (!known || known.item.type !== item.type) return wholeItem(item)
      // Sealed content is valid only in the item that is done.
      const { encrypted_content: sealed } = known.item
      return {
        ...wholeItem(item),
        id: known.id,
        ...(typeof sealed === 'string' && { encrypted_content: sealed }),
      }
    })
  }

  private inOrder(): NativeItem[] {
    return [...this.items.values()].sort((a, b) => a.place - b.place)
  }

  private write(event: Fields): string {
    event.sequence_number = this.sequence++
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  }
}

/** The items of a vendor's output by index. */
function placedItems(output: unknown): [place: number, item: Fields][] {
  const items = new Set<unknown>(itemsIn(output))
  return Array.isArray(output) ? [...output.entries()].filter(([, item]) => items.has(item)) : []
}

/** Whether a vendor is too busy, or does not serve this gateway: otherwise clients would repeat the request many times. */
function isBusy({ status, code }: GatewayError): boolean {
  return status === 503 && (code === 'upstream_error' || code === 'upstream_unavailable')
}

function shapeOf({ code, message, type, param }: GatewayError): ResponseError {
  return { code, message, type, param }
}
