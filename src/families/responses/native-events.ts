// The events of a vendor of responses for the caller: in the vendor's order, numbered anew, each item under one id,
// without padding and without kinds that clients throw on. It must never throw, nor send an end that is not the last.

import type { Model, ParsedRequest, Quantities, Translator } from '../../contract/family'
import type { GatewayError } from '../../lib/errors'
import { asObject, isObject } from '../../lib/objects'
import type { ResponsesBody } from './caller-side'
import { errorFields, isJson } from './events'
import { renamedResponse } from './native-answer'
import { type Fields, itemId, responseUsage, usageObject } from './response-object'

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
/** Names of other servers for the same events. */
const OTHER_NAMES: Record<string, string> = {
  'response.reasoning.delta': 'response.reasoning_text.delta',
  'response.reasoning.done': 'response.reasoning_text.done',
}
/** Names already checked: a look-up is cheaper than a match, and vendors use few. */
const known = new Map<string, boolean>()
const MOST_KNOWN_NAMES = 200
const LONGEST_KNOWN_NAME = 64

function isKnown(type: string): boolean {
  let answer = known.get(type)
  if (answer === undefined) {
    answer = KNOWN.test(type)
    if (known.size < MOST_KNOWN_NAMES && type.length <= LONGEST_KNOWN_NAME) known.set(type, answer)
  }
  return answer
}

/** Parts that are written in pieces, by the event of a piece. */
interface PartForm {
  done: string
  partDone: string
  index: 'content_index' | 'summary_index'
  member: 'text' | 'refusal'
  part(text: string): Fields
}

const content = { partDone: 'response.content_part.done', index: 'content_index', member: 'text' } as const
const forms: Record<string, PartForm> = {
  'response.output_text.delta': {
    ...content,
    done: 'response.output_text.done',
    part: (text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
  },
  'response.refusal.delta': {
    ...content,
    member: 'refusal',
    done: 'response.refusal.done',
    part: (refusal) => ({ type: 'refusal', refusal }),
  },
  'response.reasoning_text.delta': {
    ...content,
    done: 'response.reasoning_text.done',
    part: (text) => ({ type: 'reasoning_text', text }),
  },
  'response.reasoning_summary_text.delta': {
    done: 'response.reasoning_summary_text.done',
    partDone: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    member: 'text',
    part: (text) => ({ type: 'summary_text', text }),
  },
}
/** Members of calls that are written in pieces, by the event of a piece. */
const callMembers: Record<string, 'arguments' | 'input'> = {
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'input',
}

/** An item of the output. */
interface Item {
  /** The id with which the item came first. */
  id: string
  /** The item as it was added, or when it is done. */
  item: Fields
  isDone: boolean
  /** Parts that are done. */
  parts: Fields[]
  /** The part, or the member of a call, that is being written. */
  open: { form: PartForm; place: unknown; text: string } | { form: string; text: string } | undefined
}

/** Prefixes of ids for items without one. */
const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
}

export function createNativeEvents(parsed: ParsedRequest<ResponsesBody>, model: Model): Translator {
  return new NativeEvents(parsed, model)
}

class NativeEvents implements Translator {
  private readonly items = new Map<number, Item>()
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
    const type = OTHER_NAMES[fields.type as string] ?? fields.type
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

  finish(): string {
    if (this.ended) return ''
    const terminal = this.terminal ?? { type: 'response.completed' }
    const response = asObject(terminal.response)
    const begun = this.begin(2, { response })
    const status = String(terminal.type).replace('response.', '')
    const whole = { ...response, status }
    return begun + this.end(terminal, renamedResponse(whole, this.output(response), this.parsed, this.model))
  }

  fail(error: GatewayError): string {
    if (this.ended) return ''
    const begun = this.begin(2)
    // Clients read either of the two events, and of the first either form.
    const fields = errorFields(error)
    const told = this.write({ type: 'error', sequence_number: 0, ...fields })
    const { code, message } = fields
    const failed = { ...this.early, status: 'failed', error: { code, message }, output: this.output({}) }
    return begun + told + this.end({ type: 'response.failed' }, failed)
  }

  cut(usage: Quantities): string {
    if (this.ended) return ''
    const begun = this.begin(2)
    const closed = [...this.items].sort(byPlace).map(([place, item]) => this.close(place, item))
    const cut = {
      ...this.early,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: this.output({}),
      usage: usageObject(responseUsage(usage, 0)),
    }
    return begun + closed.join('') + this.end({ type: 'response.incomplete' }, cut)
  }

  keepAlive(): string {
    if (this.ended) return ''
    return this.begin(2) + this.write({ type: 'keepalive', sequence_number: 0 })
  }

  answer(): object | undefined {
    return this.ended
  }

  /** The first events up to this many, each once; `event` is one of the vendor's that has a response. */
  private begin(count: 1 | 2, event: Fields = {}): string {
    if (this.begun >= count) return ''
    if (this.begun === 0) {
      const early = { ...asObject(event.response), status: 'in_progress', completed_at: null, usage: null }
      this.early = renamedResponse(early, [], this.parsed, this.model)
    }
    let written = ''
    while (this.begun < count) {
      const type = this.begun++ === 0 ? 'response.created' : 'response.in_progress'
      const told = event.type === type ? event : {}
      written += this.write({ ...told, type, sequence_number: 0, response: this.early })
    }
    return written
  }

  private end(event: Fields, response: Fields): string {
    this.ended = response
    return `${this.write({ ...event, sequence_number: 0, response })}data: [DONE]\n\n`
  }

  /** An event about an item or a part of it, under the item's one id. */
  private passOn(type: string, fields: Fields): string {
    const place = this.placeOf(fields)
    const { item: told } = fields
    if (type === 'response.output_item.added') {
      if (this.items.has(place)) return ''
      this.items.set(place, this.newItem(place, asObject(told)))
    } else if (type === 'response.output_item.done') {
      const item = this.items.get(place) ?? this.newItem(place, asObject(told))
      this.items.set(place, { ...item, item: { ...asObject(told), id: item.id }, isDone: true })
    }
    const item = this.items.get(place)
    if (item) note(item, type, fields)
    const seen: Fields = { ...fields, type, output_index: place }
    // Random padding against eavesdroppers who measure lengths.
    delete seen.obfuscation
    if (isObject(told)) seen.item = { ...told, id: item?.id ?? told.id }
    else if (item) seen.item_id = item.id
    return this.write(seen)
  }

  private newItem(place: number, item: Fields): Item {
    const { id, type } = item
    const own = typeof id === 'string' && id !== '' ? id : undefined
    return {
      id: own ?? itemId(this.parsed, PREFIXES[type as string] ?? 'item', place),
      item,
      isDone: false,
      parts: [],
      open: undefined,
    }
  }

  /** The place of an event's item: as the vendor says, else by the id, else that of the last one. */
  private placeOf({ output_index: place, item_id: id }: Fields): number {
    if (Number.isSafeInteger(place) && (place as number) >= 0) return place as number
    for (const [known, item] of this.items) if (item.id === id) return known
    return Math.max(0, this.items.size - 1)
  }

  /** Ends an item before the vendor does, with what came of it. */
  private close(place: number, item: Item): string {
    if (item.isDone) return ''
    const { id, open, parts } = item
    const at = { item_id: id, output_index: place }
    let written = ''
    let text = ''
    if (open && typeof open.form === 'string') {
      text = open.text
      const type = open.form.replace('.delta', '.done')
      written += this.write({ type, sequence_number: 0, ...at, [callMembers[open.form] as string]: text })
    } else if (open && 'place' in open) {
      const { done, partDone, index, member, part } = open.form as PartForm
      const where = { sequence_number: 0, ...at, [index]: open.place }
      const probabilities = member === 'text' && index === 'content_index' ? { logprobs: [] } : {}
      written += this.write({ type: done, ...where, [member]: open.text, ...probabilities })
      parts.push(part(open.text))
      written += this.write({ type: partDone, ...where, part: part(open.text) })
    }
    item.isDone = true
    item.item = { ...closedItem(item.item, parts, text), id }
    return (
      written +
      this.write({
        type: 'response.output_item.done',
        sequence_number: 0,
        output_index: place,
        item: item.item,
      })
    )
  }

  /** The output of the end: as the vendor says, else the items that came. */
  private output({ output }: Fields): unknown[] {
    if (!Array.isArray(output) || output.length === 0) {
      return [...this.items].sort(byPlace).map(([, { item, id }]) => ({ ...item, id }))
    }
    return output.map((item, place) => {
      const known = this.items.get(place)
      if (!known || !isObject(item) || known.item.type !== item.type) return item
      // What is sealed is valid only in the item that was done.
      const { encrypted_content: sealed } = known.item
      return { ...item, id: known.id, ...(typeof sealed === 'string' && { encrypted_content: sealed }) }
    })
  }

  private write(event: Fields): string {
    event.sequence_number = this.sequence++
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  }
}

function byPlace([a]: [number, Item], [b]: [number, Item]): number {
  return a - b
}

/** Notes what an event adds to an item, for an answer that is cut. */
function note(
  item: Item,
  type: string,
  { delta, part, content_index: place, summary_index: summary }: Fields,
) {
  if (typeof delta === 'string') {
    const form = forms[type]
    if (item.open) item.open.text += delta
    else if (form) item.open = { form, place: summary ?? place ?? item.parts.length, text: delta }
    else if (type in callMembers) item.open = { form: type, text: delta }
  } else if (type === 'response.content_part.done' || type === 'response.reasoning_summary_part.done') {
    item.open = undefined
    if (isObject(part)) item.parts.push(part)
  }
}

/** An item that was cut, with the parts or the text that came of it. */
function closedItem(item: Fields, parts: readonly Fields[], text: string): Fields {
  const status = 'incomplete'
  switch (item.type) {
    case 'reasoning': {
      const { encrypted_content: _, ...rest } = item
      const isRaw = ({ type }: Fields) => type === 'reasoning_text'
      const raw = parts.filter(isRaw)
      return {
        ...rest,
        summary: parts.filter((part) => !isRaw(part)),
        ...(raw.length > 0 && { content: raw }),
      }
    }
    case 'message':
      return { ...item, status, content: parts }
    case 'function_call':
      return { ...item, status: isJson(text) ? 'completed' : status, arguments: text }
    case 'custom_tool_call':
      return { ...item, status, input: text }
  }
  return { ...item, status }
}
