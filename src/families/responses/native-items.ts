// One item of a vendor's streamed response: the part that has arrived, the events that the vendor omitted, and those that end it
// before the vendor does. Clients check the order of events strictly. It must never change the content of the item.

import { asObject, isObject } from '../../lib/objects'
import { isJson } from './events'
import { wholeItem } from './native-answer'
import type { Fields } from './response-object'

export const ITEM_ADDED = 'response.output_item.added'
export const ITEM_DONE = 'response.output_item.done'

/** A part that is written in pieces. */
interface PartForm {
  /** Type of the item, and the member that holds its parts. */
  item: 'message' | 'reasoning'
  list: 'content' | 'summary'
  type: string
  added: string
  delta: string
  done: string
  partDone: string
  index: 'content_index' | 'summary_index'
  member: 'text' | 'refusal'
  /** Members of the part and of its text events, other than the text. */
  more: Fields
  moreOfText: Fields
}

const content = {
  list: 'content',
  added: 'response.content_part.added',
  partDone: 'response.content_part.done',
  index: 'content_index',
  member: 'text',
  more: {},
  moreOfText: {},
} as const

const forms: readonly PartForm[] = [
  {
    ...content,
    item: 'message',
    type: 'output_text',
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    more: { annotations: [], logprobs: [] },
    moreOfText: { logprobs: [] },
  },
  {
    ...content,
    item: 'message',
    type: 'refusal',
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    member: 'refusal',
  },
  {
    ...content,
    item: 'reasoning',
    type: 'reasoning_text',
    delta: 'response.reasoning_text.delta',
    done: 'response.reasoning_text.done',
  },
  {
    item: 'reasoning',
    list: 'summary',
    type: 'summary_text',
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    partDone: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    member: 'text',
    more: {},
    moreOfText: {},
  },
]
const NONE: readonly Fields[] = []
const formsByEvent = new Map(forms.flatMap((form) => [form.delta, form.done].map((type) => [type, form])))
const formsByPart = new Map(forms.map((form) => [form.type, form]))

/** Calls whose input arrives in pieces, by the type of their item. */
const calls: ReadonlyMap<unknown, { member: string; delta: string; done: string }> = new Map(
  Object.entries({
    function_call: {
      member: 'arguments',
      delta: 'response.function_call_arguments.delta',
      done: 'response.function_call_arguments.done',
    },
    custom_tool_call: {
      member: 'input',
      delta: 'response.custom_tool_call_input.delta',
      done: 'response.custom_tool_call_input.done',
    },
  }),
)

/** Members that clients expect in an added item, for vendors that omit them. */
const ZEROS: ReadonlyMap<unknown, Fields> = new Map(
  Object.entries({
    message: { role: 'assistant', status: 'in_progress', content: [] },
    reasoning: { status: 'in_progress', summary: [] },
    function_call: { status: 'in_progress', arguments: '' },
    custom_tool_call: { status: 'in_progress', input: '' },
  }),
)

/** The type of the item that an event is about, if the event shows it. */
export function itemTypeOf({ type, part }: Fields): string | undefined {
  const form = formsByEvent.get(type as string) ?? formsByPart.get(asObject(part).type as string)
  return form?.item
}

interface OpenPart {
  form: PartForm
  place: number
  text: string
  isTextDone: boolean
}

export class NativeItem {
  /** The item as it was added, or as it was when done. */
  item: Fields
  isDone = false
  private readonly counts = { content: 0, summary: 0 }
  private readonly parts: Fields[] = []
  private open: OpenPart | undefined
  /** The part of a call's input that has arrived. */
  private input = ''
  private hasInput = false

  constructor(
    readonly id: string,
    readonly place: number,
    item: Fields,
  ) {
    this.item = { ...ZEROS.get(item.type), ...item, id }
  }

  /** The event that adds the item, still empty. */
  added(): Fields {
    const { status: _, encrypted_content: _sealed, ...rest } = this.item
    const item = { ...rest, ...ZEROS.get(rest.type) }
    return { type: ITEM_ADDED, output_index: this.place, item }
  }

  /** Receives an event. Returns the events that should have preceded it and did not arrive. */
  take(type: string, fields: Fields): readonly Fields[] {
    const form = formsByEvent.get(type)
    if (form) return this.takeText(form, type, fields)
    const call = calls.get(this.item.type)
    if (call?.delta === type) this.input += typeof fields.delta === 'string' ? fields.delta : ''
    else if (call?.done === type) return this.takeInput(fields[call.member])
    else if (type === 'response.content_part.added' || type === 'response.reasoning_summary_part.added') {
      return this.takePart(asObject(fields.part), fields)
    } else if (type === 'response.content_part.done' || type === 'response.reasoning_summary_part.done') {
      return this.takePartDone(asObject(fields.part), fields)
    } else if (type === ITEM_DONE) return this.takeDone(asObject(fields.item))
    return NONE
  }

  /** Ends the item before the vendor does, with the part that has arrived. */
  close(): Fields[] {
    if (this.isDone) return []
    const events = this.closePart()
    const call = calls.get(this.item.type)
    if (call && !this.hasInput) events.push({ type: call.done, ...this.at(), [call.member]: this.input })
    this.isDone = true
    this.item = this.cut()
    return [...events, { type: ITEM_DONE, output_index: this.place, item: this.item }]
  }

  private takeText(form: PartForm, type: string, fields: Fields): readonly Fields[] {
    const isDelta = type === form.delta
    const text = fields[isDelta ? 'delta' : form.member]
    const place = this.placeIn(form, fields)
    const isOpen = this.open?.form === form && this.open.place === place
    if (form.type === 'output_text') fields.logprobs ??= []
    if (isOpen && isDelta && this.open) {
      // Most events of a stream are deltas.
      if (typeof text === 'string') this.open.text += text
      return NONE
    }
    const events = isOpen ? [] : [...this.closePart(), this.openPart(form, place)]
    const open = this.open as OpenPart
    if (isDelta) open.text += typeof text === 'string' ? text : ''
    else {
      const rest = restOf(text, open.text)
      if (rest !== '') events.push(this.piece(open, rest))
      open.isTextDone = true
    }
    return events
  }

  private takePart({ type }: Fields, fields: Fields): Fields[] {
    const form = formsByPart.get(type as string)
    const events = this.closePart()
    if (form) {
      this.openPart(form, this.placeIn(form, fields))
      fields.part = { ...form.more, ...asObject(fields.part) }
    }
    return events
  }

  private takePartDone(part: Fields, fields: Fields): Fields[] {
    const form = formsByPart.get(part.type as string)
    const events: Fields[] = []
    const place = form && this.placeIn(form, fields)
    if (form && place !== undefined && this.open?.form !== form) {
      events.push(...this.closePart(), this.openPart(form, place))
    }
    if (form) events.push(...this.closeText(part[form.member]))
    if (form) fields.part = { ...form.more, ...part }
    this.count(asObject(fields.part), form)
    return events
  }

  private takeInput(whole: unknown): Fields[] {
    const call = calls.get(this.item.type)
    if (!call || this.hasInput) return []
    this.hasInput = true
    const rest = restOf(whole, this.input)
    if (rest === '') return []
    this.input += rest
    return [{ type: call.delta, ...this.at(), delta: rest }]
  }

  /** The rest of an item that arrives whole. */
  private takeDone(item: Fields): Fields[] {
    this.isDone = true
    this.item = { ...wholeItem(item), id: this.id }
    const events = this.closePart()
    for (const list of ['content', 'summary'] as const) {
      const parts = Array.isArray(this.item[list]) ? this.item[list].filter(isObject) : []
      for (const part of parts.slice(this.counts[list])) {
        const form = formsByPart.get(part.type as string)
        if (form?.list === list)
          events.push(this.openPart(form, this.counts[list]), ...this.closeText(part[form.member]))
        if (form?.list === list) events.push(this.partDone(form, this.counts[list], part))
        this.count(part, form)
      }
    }
    const call = calls.get(item.type)
    if (!call || this.hasInput) return events
    const whole = this.item[call.member]
    events.push(...this.takeInput(whole))
    return [...events, { type: call.done, ...this.at(), [call.member]: whole }]
  }

  /** Opens a part, and returns its event. */
  private openPart(form: PartForm, place: number): Fields {
    this.open = { form, place, text: '', isTextDone: false }
    const part = { type: form.type, ...form.more, [form.member]: '' }
    return { type: form.added, ...this.at(), [form.index]: place, part }
  }

  /** The events that end the text of the open part. `whole` is the final text of the vendor. */
  private closeText(whole: unknown): Fields[] {
    const { open } = this
    if (!open || open.isTextDone) return []
    const rest = restOf(whole, open.text)
    const events = rest === '' ? [] : [this.piece(open, rest)]
    const { form, place } = open
    open.isTextDone = true
    const text = { [form.member]: open.text, ...form.moreOfText }
    return [...events, { type: form.done, ...this.at(), [form.index]: place, ...text }]
  }

  private closePart(): Fields[] {
    const { open } = this
    if (!open) return []
    const { form, place } = open
    const events = this.closeText(undefined)
    const part = { type: form.type, ...form.more, [form.member]: open.text }
    this.count(part, form)
    return [...events, this.partDone(form, place, part)]
  }

  private partDone(form: PartForm, place: number, part: Fields): Fields {
    return { type: form.partDone, ...this.at(), [form.index]: place, part }
  }

  private piece(open: OpenPart, text: string): Fields {
    open.text += text
    const { form, place } = open
    return { type: form.delta, ...this.at(), [form.index]: place, delta: text, ...form.moreOfText }
  }

  private count(part: Fields, form: PartForm | undefined): void {
    this.open = undefined
    this.parts.push(part)
    this.counts[form?.list ?? 'content']++
  }

  /** The index of an event's part, which is added to the event if a vendor such as llama.cpp omits it. */
  private placeIn({ index, list }: PartForm, fields: Fields): number {
    if (!Number.isSafeInteger(fields[index])) fields[index] = this.counts[list]
    return fields[index] as number
  }

  private at(): Fields {
    return { item_id: this.id, output_index: this.place }
  }

  /** The part of the item that has arrived. */
  private cut(): Fields {
    const { item, parts, input, id } = this
    const status = 'incomplete'
    switch (item.type) {
      case 'reasoning': {
        const { encrypted_content: _, ...rest } = item
        const summaries = parts.filter(({ type }) => type === 'summary_text')
        const raw = parts.filter(({ type }) => type === 'reasoning_text')
        return { ...rest, id, status, summary: summaries, ...(raw.length > 0 && { content: raw }) }
      }
      case 'message':
        return { ...item, id, status, content: parts }
      case 'function_call':
        return { ...item, id, status: isJson(input) ? 'completed' : status, arguments: input }
      case 'custom_tool_call':
        return { ...item, id, status, input }
    }
    return { ...item, id, status }
  }
}

/** The rest of a text, after the part that has arrived in pieces. */
function restOf(whole: unknown, come: string): string {
  return typeof whole === 'string' && whole.startsWith(come) ? whole.slice(come.length) : ''
}
