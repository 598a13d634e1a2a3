// A strict reader of streams of messages: a message begins, its blocks follow one another without a gap or an overlap, an event has
// the stop reason, and the message ends. Throws at the first misplaced event.

import type { Json } from '../scenario'

export interface ReadMessage {
  id: string
  model: string
  content: Json[]
  stopReason: string
  stopSequence: string | null
  usage: Json
  /** An error instead of the end. */
  error?: Json
}

/** The events of a stream; each has a name, and its data says the same. */
export function eventsOf(stream: string): Json[] {
  const frames = stream.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream ends within an event')
  return frames.map((frame) => {
    const [, name, data] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(frame) ?? []
    if (data === undefined) throw new Error(`not an event: ${frame}`)
    const event = JSON.parse(data)
    if (event.type !== name) throw new Error(`an event ${name} says that it is ${event.type}`)
    return event
  })
}

/** The message assembled from the events. */
export function readEvents(stream: string): ReadMessage {
  const events = eventsOf(stream).filter(({ type }) => type !== 'ping')
  const first = events.shift()
  if (first?.type === 'error') return { ...nothing, error: first.error }
  expectType(first, 'message_start')
  const { id, model, content, stop_reason: early, role, type, usage } = first.message
  if (type !== 'message' || role !== 'assistant' || content.length > 0 || early !== null || !usage)
    throw new Error(`a wrong start: ${JSON.stringify(first)}`)
  const blocks: Json[] = []
  for (;;) {
    const event = events.shift()
    if (event?.type === 'error') {
      if (events.length > 0) throw new Error('an event follows an error')
      return { ...nothing, id, model, content: blocks, error: event.error }
    }
    if (event?.type === 'content_block_start') {
      if (event.index !== blocks.length) throw new Error(`block ${event.index} where ${blocks.length} is due`)
      blocks.push(readBlock(event, events))
      continue
    }
    expectType(event, 'message_delta')
    const { stop_reason: stopReason, stop_sequence: stopSequence } = event.delta
    if (typeof stopReason !== 'string') throw new Error('no reason to stop')
    if (!Number.isSafeInteger(event.usage?.output_tokens)) throw new Error('no figures')
    expectType(events.shift(), 'message_stop')
    if (events.length > 0) throw new Error('an event follows the end')
    return { id, model, content: blocks, stopReason, stopSequence, usage: event.usage }
  }
}

const nothing = { id: '', model: '', content: [], stopReason: '', stopSequence: null, usage: undefined }

const empty: Record<string, Json> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
}

const pieces: Record<string, [delta: string, member: string]> = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
}

/** One block, up to its stop. The arguments of a tool stay text. A signature ends its thinking. */
function readBlock({ index, content_block: block }: Json, events: Json[]): Json {
  const [delta, member] = pieces[block.type] ?? []
  if (delta === undefined || member === undefined) throw new Error(`a block of type ${block.type}`)
  for (const [name, value] of Object.entries(empty[block.type])) {
    if (JSON.stringify(block[name]) !== JSON.stringify(value))
      throw new Error(`a block begins with ${name} ${JSON.stringify(block[name])}`)
  }
  if (block.type === 'tool_use' && !(block.id && typeof block.name === 'string'))
    throw new Error('a call without id or name')
  let text = ''
  let signature: string | undefined
  for (;;) {
    const event = events.shift()
    if (event?.type === 'error') {
      events.unshift(event)
      break
    }
    if (event?.index !== index)
      throw new Error(`${event?.type} of block ${event?.index} within block ${index}`)
    if (event.type === 'content_block_stop') break
    expectType(event, 'content_block_delta')
    if (signature !== undefined) throw new Error(`a ${event.delta.type} after the signature`)
    if (block.type === 'thinking' && event.delta.type === 'signature_delta') {
      signature = event.delta.signature
      continue
    }
    if (event.delta.type !== delta) throw new Error(`a ${event.delta.type} within a block of ${block.type}`)
    text += event.delta[member]
  }
  if (block.type !== 'tool_use') {
    return { type: block.type, [member]: text, ...(signature !== undefined && { signature }) }
  }
  return { type: block.type, id: block.id, name: block.name, arguments: text }
}

function expectType(event: Json, type: string): void {
  if (event?.type !== type) throw new Error(`${event?.type ?? 'the end'} where ${type} is due`)
}
