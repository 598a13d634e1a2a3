// The events of a streamed response in OpenAI's recorded order, with the oddities that directives request. It must never decide
// what is answered: the items are made before.

import { interleaved } from '../interleaved'
import { asObject, type JsonObject } from '../json'
import { hexId, jsonFrame } from '../replies'
import type { EventFrame } from '../simulator'
import type { SimulatedResponse } from './responses'

/** An item of the output, and the pieces of its text. */
export interface BuiltItem {
  kind: 'reasoning' | 'message' | 'function' | 'custom' | 'search'
  pieces: readonly string[]
  whole: JsonObject
}

/** An event without its number. */
interface Step extends JsonObject {
  type: string
}

export function framesOf(simulated: SimulatedResponse): {
  frames: Iterable<EventFrame>
  failure: readonly EventFrame[]
} {
  const writer = new Writer(simulated)
  const frames = {
    *[Symbol.iterator]() {
      for (const step of stepsOf(simulated)) yield* writer.write(step)
    },
  }
  const error = {
    type: 'server_error',
    code: 'server_error',
    message: 'The server had an error while processing your request. Sorry about that!',
    param: null,
  }
  const { code, message } = error
  const failed = simulated.response('failed', [], { code, message })
  return {
    frames,
    failure: [
      jsonFrame({ type: 'error', sequence_number: 0, error }, 'error'),
      jsonFrame({ type: 'response.failed', sequence_number: 0, response: failed }, 'response.failed'),
    ],
  }
}

class Writer {
  #sequence = 0
  readonly #simulated: SimulatedResponse

  constructor(simulated: SimulatedResponse) {
    this.#simulated = simulated
  }

  *write(step: Step): Generator<EventFrame> {
    const { keepalive, rotateIds } = this.#simulated.request.directives
    const { type, ...fields } = rotateIds ? withOtherIds(step) : step
    yield jsonFrame({ type, sequence_number: this.#sequence++, ...fields, ...this.#padding(step) }, type)
    if (!keepalive) return
    yield jsonFrame({ type: 'keepalive', sequence_number: this.#sequence++ }, 'keepalive')
  }

  /** Random padding against eavesdroppers who measure lengths. */
  #padding({ type }: Step): JsonObject {
    const options = asObject(this.#simulated.body.stream_options)
    if (!type.endsWith('.delta') || options?.include_obfuscation === false) return {}
    return { obfuscation: 'x'.repeat(1 + (this.#sequence % 16)) }
  }
}

/** The step with another id of its item. */
function withOtherIds(step: Step): Step {
  const item = asObject(step.item)
  if (item) return { ...step, item: { ...item, id: otherId(item.id) } }
  return step.item_id === undefined ? step : { ...step, item_id: otherId(step.item_id) }
}

function otherId(id: unknown): string {
  return `${String(id).replace(/_.*/, '')}_${hexId()}`
}

function* stepsOf(simulated: SimulatedResponse): Generator<Step> {
  const { items, isIncomplete } = simulated
  const { emptyOutput, interleave } = simulated.request.directives
  yield { type: 'response.created', response: simulated.response('in_progress', []) }
  yield { type: 'response.in_progress', response: simulated.response('in_progress', []) }
  const lists = items.map((item, place) => itemSteps(item, place))
  if (interleave) yield* interleaved(lists)
  else for (const list of lists) yield* list
  const output = emptyOutput ? [] : items.map(({ whole }) => whole)
  const status = isIncomplete ? 'incomplete' : 'completed'
  yield { type: `response.${status}`, response: simulated.response(status, output) }
}

function* itemSteps({ kind, pieces, whole }: BuiltItem, place: number): Generator<Step> {
  const at = { item_id: whole.id, output_index: place }
  yield { type: 'response.output_item.added', output_index: place, item: added(kind, whole) }
  const text = pieces.join('')
  if (kind === 'reasoning' && pieces.length > 0) yield* summarySteps(pieces, at)
  if (kind === 'search') {
    for (const state of ['in_progress', 'searching', 'completed']) {
      yield { type: `response.web_search_call.${state}`, ...at }
    }
  }
  if (kind === 'message') {
    const part = { ...at, content_index: 0 }
    const empty = { type: 'output_text', annotations: [], logprobs: [], text: '' }
    yield { type: 'response.content_part.added', ...part, part: empty }
    for (const delta of pieces) yield { type: 'response.output_text.delta', ...part, delta, logprobs: [] }
    yield { type: 'response.output_text.done', ...part, text, logprobs: [] }
    yield { type: 'response.content_part.done', ...part, part: { ...empty, text } }
  }
  if (kind === 'function') {
    for (const delta of pieces) yield { type: 'response.function_call_arguments.delta', ...at, delta }
    yield { type: 'response.function_call_arguments.done', ...at, arguments: text }
  }
  if (kind === 'custom') {
    for (const delta of pieces) yield { type: 'response.custom_tool_call_input.delta', ...at, delta }
    yield { type: 'response.custom_tool_call_input.done', ...at, input: text }
  }
  yield { type: 'response.output_item.done', output_index: place, item: whole }
}

function* summarySteps(pieces: readonly string[], at: JsonObject): Generator<Step> {
  const part = { ...at, summary_index: 0 }
  const text = pieces.join('')
  yield {
    type: 'response.reasoning_summary_part.added',
    ...part,
    part: { type: 'summary_text', text: '' },
  }
  for (const delta of pieces) yield { type: 'response.reasoning_summary_text.delta', ...part, delta }
  yield { type: 'response.reasoning_summary_text.done', ...part, text }
  yield { type: 'response.reasoning_summary_part.done', ...part, part: { type: 'summary_text', text } }
}

/** An item as it is added, before its content. Sealed content comes at its end. */
function added(
  kind: BuiltItem['kind'],
  { status: _, encrypted_content: _sealed, ...whole }: JsonObject,
): JsonObject {
  switch (kind) {
    case 'reasoning':
      return { ...whole, summary: [] }
    case 'message':
      return { ...whole, status: 'in_progress', content: [] }
    case 'function':
      return { ...whole, status: 'in_progress', arguments: '' }
    case 'custom':
      return { ...whole, status: 'in_progress', input: '' }
    case 'search':
      return { ...whole, status: 'in_progress' }
  }
}
