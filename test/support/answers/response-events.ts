// A strict reader of streamed responses: a response is created, its items are added, filled and completed, one event states how it
// ended, and the stream closes. Throws at the first misplaced event.

import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../scenario'

export interface ReadResponse {
  events: Json[]
  /** The response of the last event. */
  response: Json
  /** Finished items, by their index; undefined for those that a failure has left open. */
  items: Json[]
  /** Text of the deltas of each item, in the order of the items. */
  deltas: string[]
  error?: Json
}

/** An item that is open. */
interface Open {
  item: Json
  /** Parts that are done. */
  parts: Json[]
  /** The part that is open, or the arguments. */
  text: string
  logprobs: Json[]
  isPartOpen: boolean
  /** The type of the part that is open. */
  kind: string
  hasText: boolean
  isFilled: boolean
}

interface State {
  open: Map<number, Open>
  items: Json[]
  deltas: string[]
  ids: Set<string>
  withoutStatus: ReadonlySet<string>
}

/** The events of a stream that closes, each with its name in its data. */
export function responseEventsOf(stream: string): Json[] {
  const frames = stream.split('\n\n')
  expect(frames.pop() === '', 'the stream ends within an event')
  expect(frames.pop() === 'data: [DONE]', 'the stream does not close')
  return frames.map((frame, index) => {
    const [, name, data] = /^event: ([\w.]+)\ndata: ([^\n]*)$/.exec(frame) ?? []
    if (data === undefined) throw new Error(`not an event: ${frame}`)
    const event = JSON.parse(data)
    expect(event.type === name, `an event ${name} says that it is ${event.type}`)
    expect(event.sequence_number === index, `event ${index} has number ${event.sequence_number}`)
    return event
  })
}

/** The response assembled from the events. Items of the types in `withoutStatus` have no status. */
export function readResponse(stream: string, withoutStatus = WITHOUT_STATUS): ReadResponse {
  const events = responseEventsOf(stream)
  const rest = events.filter(({ type }) => type !== 'keepalive')
  const created = rest.shift()
  const begun = rest.shift()
  expect(created?.type === 'response.created' && events[0] === created, 'not created first')
  expect(begun?.type === 'response.in_progress', 'not in progress')
  same(begun.response, created.response, 'in progress is not what was created')
  const { output, usage, status, id } = created.response
  expect(/^resp_\w+$/.test(id), `an id ${id}`)
  expect(output.length === 0 && usage === null && status === 'in_progress', 'something before the beginning')
  const last = rest.pop()
  const error = last?.type === 'response.failed' ? rest.pop() : undefined
  const state: State = { open: new Map(), items: [], deltas: [], ids: new Set(), withoutStatus }
  for (const event of rest) read(event, state)
  readEnd(last, error, created.response, state)
  return { events, response: last.response, items: state.items, deltas: state.deltas, error }
}

function readEnd(last: Json, error: Json, created: Json, { open, items }: State): void {
  const status = String(last?.type).replace('response.', '')
  expect(['completed', 'incomplete', 'failed'].includes(status), `an end ${last?.type}`)
  const { response } = last
  expect(response.status === status, `status ${response.status} at the end ${status}`)
  const { output, usage } = response
  const changing = [
    'status',
    'completed_at',
    'error',
    'incomplete_details',
    'output',
    'usage',
    'service_tier',
  ]
  // The reason is stated only at the end.
  const fixed = ({ gateway: _, ...object }: Json) => ({
    ...object,
    ...Object.fromEntries(changing.map((name) => [name, 0])),
  })
  same(fixed(response), fixed(created), 'settings at the end')
  if (status === 'failed') {
    expect(error?.type === 'error', 'a failure without an error')
    const { code, message } = error
    same(response.error, { code, message }, 'the error of the response')
    expect(error.error.code === code && error.error.message === message, 'two forms of an error')
    for (const [place, item] of items.entries()) if (item) same(output[place], item, 'an item at the end')
    expect(output.length === items.length, 'items at the end')
    return
  }
  for (const [place, { item }] of open) {
    // Clients run such a call once it is done.
    const isCut = status === 'incomplete' && ['custom_tool_call', 'apply_patch_call'].includes(item.type)
    expect(isCut && output[place]?.status !== 'completed', 'an item is open at the end')
    items[place] = output[place]
  }
  same(output, items, 'the output at the end')
  expect(response.error === null, 'an error at a good end')
  expect((response.incomplete_details !== null) === (status === 'incomplete'), 'why it is incomplete')
  expect((response.completed_at !== null) === (status === 'completed'), 'when it was completed')
  const { input_tokens: input, output_tokens: made, total_tokens: total } = usage
  expect(Number.isSafeInteger(total) && input + made === total, 'figures')
  expect(usage.input_tokens_details.cached_tokens <= input, 'cached figures')
  expect(usage.output_tokens_details.reasoning_tokens <= made, 'figures of reasoning')
}

const TEXTS = new Set(['message', 'reasoning'])
/** Items whose completeness follows only from their position. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set(['compaction'])
const zeros: Record<string, Json> = {
  message: { role: 'assistant', content: [] },
  reasoning: { summary: [] },
  function_call: { arguments: '' },
  custom_tool_call: { input: '' },
  compaction: { encrypted_content: '' },
}

function read(event: Json, state: State): void {
  if (event.type === 'response.output_item.added') {
    readAdded(event, state)
    return
  }
  const open = state.open.get(event.output_index)
  if (!open) throw new Error(`${event.type} of an item that is not open`)
  if (event.type === 'response.output_item.done') {
    readDone(event, open, state)
    return
  }
  expect(event.item_id === open.item.id, `an item id ${event.item_id} of item ${open.item.id}`)
  const write = (delta: string) => {
    expect(delta !== '', 'an empty delta')
    open.text += delta
    state.deltas[event.output_index] += delta
  }
  if (TEXTS.has(open.item.type)) readText(event, open, write)
  else readCall(event, open, write)
}

function readAdded({ output_index: place, item }: Json, state: State): void {
  const { open, items, deltas, ids, withoutStatus } = state
  expect(place === deltas.length, `item ${place} where ${deltas.length} is due`)
  expect(/^[A-Za-z]+_\w+$/.test(item.id) && !ids.has(item.id), `an id ${item.id}`)
  ids.add(item.id)
  expect(withoutStatus.has(item.type) || item.status === 'in_progress', `an item begins ${item.status}`)
  expect(!item.encrypted_content, 'sealed content at the beginning')
  for (const [name, value] of Object.entries(zeros[item.type] ?? {})) same(item[name], value, `first ${name}`)
  if (TEXTS.has(item.type)) {
    for (const other of open.values()) expect(!TEXTS.has(other.item.type), 'two texts at once')
  } else if (item.type !== 'compaction') {
    expect(item.call_id !== '' && !ids.has(item.call_id), `a call id ${item.call_id}`)
    ids.add(item.call_id)
  }
  open.set(place, {
    item,
    parts: [],
    text: '',
    logprobs: [],
    isPartOpen: false,
    kind: '',
    hasText: false,
    isFilled: false,
  })
  items.push(undefined)
  deltas.push('')
}

function readText(event: Json, open: Open, write: (delta: string) => void): void {
  const isReasoning = open.item.type === 'reasoning'
  const index = isReasoning ? event.summary_index : event.content_index
  expect(index === open.parts.length, `part ${index} where ${open.parts.length} is due`)
  const name = event.type.replace('response.', '')
  const parts = isReasoning ? 'reasoning_summary_part' : 'content_part'
  if (name === `${parts}.added`) {
    expect(!open.isPartOpen, 'two parts at once')
    Object.assign(open, { isPartOpen: true, hasText: false, text: '', logprobs: [] })
    same(open.parts.length, index, 'a part out of turn')
    open.kind = event.part.type
    const { text = '', refusal = '' } = event.part
    expect(text === '' && refusal === '', 'a part that begins with words')
    return
  }
  expect(open.isPartOpen, `${name} without a part`)
  const { kind: type } = open
  const kind = { summary_text: 'reasoning_summary_text', output_text: 'output_text', refusal: 'refusal' }[
    type
  ]
  if (name === `${kind}.delta`) {
    expect(!open.hasText, 'a delta after the text')
    write(event.delta)
    if (type === 'output_text') open.logprobs.push(...event.logprobs)
  } else if (name === `${kind}.done`) {
    expect(!open.hasText, 'the whole text twice')
    open.hasText = true
    same(type === 'refusal' ? event.refusal : event.text, open.text, 'the whole text')
    if (type === 'output_text') same(event.logprobs, open.logprobs, 'all probabilities')
  } else {
    expect(name === `${parts}.done` && open.hasText, `${name} in a part of type ${type}`)
    same(event.part, wholePart(type, open), 'the whole part')
    open.parts.push(event.part)
    open.isPartOpen = false
  }
}

function wholePart(type: string, { text, logprobs }: Open): Json {
  if (type === 'summary_text') return { type, text }
  if (type === 'refusal') return { type, refusal: text }
  return { type, text, annotations: [], logprobs }
}

function readCall(event: Json, open: Open, write: (delta: string) => void): void {
  const form = { function_call: 'function_call_arguments', custom_tool_call: 'custom_tool_call_input' }[
    open.item.type as string
  ]
  expect(!open.isFilled, 'something after all arguments')
  if (event.type === `response.${form}.delta`) {
    write(event.delta)
    return
  }
  expect(event.type === `response.${form}.done`, `${event.type} in a ${open.item.type}`)
  same(open.item.type === 'function_call' ? event.arguments : event.input, open.text, 'the whole arguments')
  open.isFilled = true
}

function readDone({ output_index: place, item }: Json, open: Open, state: State): void {
  const { open: all, items, withoutStatus } = state
  const { type, id, call_id: callId, name, namespace } = open.item
  same(
    [item.type, item.id, item.call_id, item.name, item.namespace],
    [type, id, callId, name, namespace],
    'the item that is done',
  )
  expect(!open.isPartOpen, 'a part is open at the end of its item')
  if (type === 'message') same(item.content, open.parts, 'the content')
  else if (type === 'reasoning') same(item.summary, open.parts, 'the summary')
  else if (type === 'function_call') expect(open.isFilled && item.arguments === open.text, 'the arguments')
  else if (type === 'custom_tool_call') expect(open.isFilled && item.input === open.text, 'the input')
  expect(
    withoutStatus.has(type) || ['completed', 'incomplete'].includes(item.status),
    `${item.status} at the end`,
  )
  items[place] = item
  all.delete(place)
}

function same(value: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(value, expected)) return
  throw new Error(`${what}: ${JSON.stringify(value)} where ${JSON.stringify(expected)} is due`)
}

function expect(isTrue: boolean, fault: string): asserts isTrue {
  if (!isTrue) throw new Error(fault)
}

/** The events in short, without their ends of texts and parts: `0 + message`, `0 : Hello`, `0 - completed`, `completed`. */
export function outlineOf(events: readonly Json[]): string[] {
  return events.flatMap(({ type, output_index: place, item, delta }) => {
    const name = type.replace('response.', '')
    if (name === 'output_item.added') return [`${place} + ${item.type}`]
    if (name === 'output_item.done') return [`${place} - ${item.status ?? item.type}`]
    if (delta !== undefined) return [`${place} : ${delta}`]
    return place === undefined && name !== 'created' && name !== 'in_progress' ? [name] : []
  })
}
