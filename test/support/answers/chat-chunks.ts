// A strict reader of chat completion streams: a stream begins with a role, calls come one after another, one chunk has the finish
// reason, usage follows only if it was requested, and the stream closes. Throws at the first misplaced chunk.

import type { Json } from '../scenario'

interface ReadCompletion {
  id: string
  model: string
  answer: string
  thinking: string
  calls: { id: string; name: string; arguments: string }[]
  /** Undefined if an error replaces the end. */
  finish: string | undefined
  /** Undefined if no figures were requested. */
  usage: Json
  error: Json
}

const CLOSING = 'data: [DONE]'
/** A keep-alive of the gateway while a vendor is silent, as on a busy machine. */
const KEEP_ALIVE = ': keep-alive'

/** The chunks of a stream, and whether it was closed. */
export function chunksOf(stream: string): { chunks: Json[]; closed: boolean } {
  const frames = stream.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream ends within an event')
  const closed = frames.at(-1) === CLOSING
  const filled = (closed ? frames.slice(0, -1) : frames).filter((frame) => frame !== KEEP_ALIVE)
  const chunks = filled.map((frame) => {
    const [, data] = /^data: (\{[^\n]*\})$/.exec(frame) ?? []
    if (data === undefined) throw new Error(`not a chunk: ${frame}`)
    return JSON.parse(data)
  })
  return { chunks, closed }
}

/** The completion assembled from the chunks. */
export function readChunks(stream: string, showsUsage: boolean): ReadCompletion {
  const { chunks, closed } = chunksOf(stream)
  const last = chunks.at(-1)
  const error = last?.error
  if ((error === undefined) !== closed) throw new Error('closed after an error, or not closed without one')
  const rest = error === undefined ? chunks : chunks.slice(0, -1)
  const { id = '', model = '' } = rest[0] ?? {}
  const usage = showsUsage && closed ? readFigures(rest.pop()) : undefined
  const completion = { id, model, answer: '', thinking: '', calls: [], finish: undefined, usage, error }
  for (const [place, chunk] of rest.entries()) {
    readHead(chunk, rest[0], showsUsage)
    readDelta(chunk.choices[0], place === 0, completion)
  }
  if (closed && completion.finish === undefined) throw new Error('no reason to stop')
  return completion
}

function readFigures(chunk: Json): Json {
  if (chunk?.choices?.length !== 0 || !chunk.usage) throw new Error('no figures at the end')
  return chunk.usage
}

/** Every chunk belongs to the same completion, has one choice, and has no figures yet. */
function readHead(chunk: Json, first: Json, showsUsage: boolean): void {
  const { id, object, created, model, choices, usage } = chunk
  const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
  const { id: firstId, created: firstCreated, model: firstModel } = first
  const expected = { id: firstId, object, created: firstCreated, model: firstModel }
  if (head !== JSON.stringify(expected) || !id || !model || !Number.isSafeInteger(created))
    throw new Error(`another head: ${head}`)
  if (choices.length !== 1 || choices[0].index !== 0) throw new Error('not one choice')
  if (usage !== (showsUsage ? null : undefined)) throw new Error(`figures in the middle: ${usage}`)
}

function readDelta({ delta, finish_reason: finish }: Json, isFirst: boolean, into: ReadCompletion): void {
  if (into.finish !== undefined) throw new Error('a chunk follows the end')
  if ((delta.role === 'assistant') !== isFirst) throw new Error('a role that is late or repeated')
  if (finish !== null) {
    if (Object.keys(delta).length > 0) throw new Error('the end has content')
    into.finish = finish
    return
  }
  const { content, reasoning_content: thinking, tool_calls: calls } = delta
  if (!isFirst && [content, thinking, calls].filter((part) => part !== undefined).length !== 1)
    throw new Error(`not exactly one member: ${JSON.stringify(delta)}`)
  if (!isFirst && (content === '' || thinking === '')) throw new Error('an empty piece')
  into.answer += content ?? ''
  into.thinking += thinking ?? ''
  for (const call of calls ?? []) readCall(call, into.calls)
}

function readCall({ index, id, type, function: called }: Json, calls: ReadCompletion['calls']): void {
  if (index === calls.length) {
    if (!id || type !== 'function' || !called.name || typeof called.arguments !== 'string')
      throw new Error('a call without a beginning')
    calls.push({ id, name: called.name, arguments: called.arguments })
    return
  }
  const last = calls.at(-1)
  if (!last || index !== calls.length - 1) throw new Error(`a piece of call ${index} of ${calls.length}`)
  if (id !== undefined || called.name !== undefined) throw new Error('a call that begins twice')
  last.arguments += called.arguments
}
