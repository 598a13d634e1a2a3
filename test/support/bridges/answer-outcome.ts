// The whole result of a family for a vendor's answer, as one value: its readings, the reply, and the events of a stream that ends,
// is cut or fails at a place. Streams are driven as the request line drives them.

import type { MadeFamily, Model, ParsedRequest, Quantities, Translator } from '../../../src/contract/family'
import { hasFailed, type Reading } from '../../../src/contract/reading'
import { GatewayError } from '../../../src/lib/errors'
import { callerComplaint } from '../../../src/upstreams/caller-view'
import type { Json } from '../scenario'
import type { AnswerWords } from './answer-samples'
import { attempt } from './request-outcome'

/** Charged if the vendor has not reported usage. */
const USAGE: Quantities = { input_token: 31, output_token: 20 }

const familyOf = ({ family }: Model) => family as unknown as MadeFamily

export function replyOutcome(model: Model, parsed: ParsedRequest, replies: readonly Json[]): Json {
  const family = familyOf(model)
  const readings = replies.map((reply) => attempt(() => family.read(structuredClone(reply), parsed, model)))
  const usage = readings.map(figuresIn).find((figures) => figures !== undefined) ?? USAGE
  const copies = replies.map((reply) => structuredClone(reply))
  return {
    readings,
    reply: attempt(() => family.reply(copies, parsed, model, usage, new Map())),
    unpaid: attempt(() =>
      family.reply(
        replies.map((reply) => structuredClone(reply)),
        parsed,
        model,
        {},
        new Map(),
      ),
    ),
  }
}

/** The course of a stream: to its end, or to a place where the gateway cuts it or it breaks. */
export interface StreamCourse {
  /** Number of events before the end that the gateway makes; absent: all. */
  until?: number
  ending: 'finish' | 'cut' | 'fail'
  /** Whether the vendor pauses after each event. */
  isSlow?: boolean
}

export function streamOutcome(
  model: Model,
  parsed: ParsedRequest,
  streams: readonly (readonly Json[])[],
  { until, ending, isSlow }: StreamCourse,
): Json {
  const contract = familyOf(model).stream
  if (!contract) return { hasStreams: false }
  const translator = contract.translate(parsed, model)
  const readings: Json[] = []
  const pieces: string[] = []
  let reported: Quantities | undefined
  let sentError = false
  const complete = new Set<number>()
  for (const [candidate, data] of merged(streams).slice(0, until)) {
    if (complete.has(candidate) || complete.size === streams.length) break
    if (typeof data !== 'object' || isEnd(data, contract.end)) {
      if (isEnd(data, contract.end)) complete.add(candidate)
      continue
    }
    const event = structuredClone(data)
    const reading: Reading = contract.read(event)
    readings.push(reading)
    const figures = figuresIn(reading)
    // Some vendors report the input first, and the output at the end.
    if (figures) reported = { ...reported, ...figures }
    if (sentError) continue
    sentError = reading.end === 'failed-disguised'
    if (sentError) continue
    const shown = hasFailed(reading) ? callerComplaint(event) : event
    pieces.push(translator.push(shown, candidate, reading))
    if (isSlow) pieces.push(translator.keepAlive?.() ?? '')
    if (contract.end === null && reading.end === 'finished') complete.add(candidate)
  }
  if (!sentError) pieces.push(lastPiece(translator, ending, reported ?? USAGE))
  const text = pieces.join('')
  return {
    readings,
    events: framesOf(text),
    timing: pieces.map((piece) => piece.split('\n\n').length - 1),
    answer: translator.answer?.(),
  }
}

function lastPiece(translator: Translator, ending: StreamCourse['ending'], usage: Quantities): string {
  if (ending === 'cut') return translator.cut(usage)
  if (ending === 'finish') return translator.finish(usage)
  const error = new GatewayError(502, { code: 'upstream_error', message: 'The vendor broke off.' } as never)
  return translator.fail?.(error) ?? ''
}

const isEnd = (data: Json, end: string | null): boolean =>
  end !== null && (typeof data === 'string' ? data : JSON.stringify(data)) === end

/** The events of all candidates in turn, each with its candidate. */
function merged(streams: readonly (readonly Json[])[]): [candidate: number, data: Json][] {
  const longest = Math.max(...streams.map(({ length }) => length))
  return Array.from({ length: longest }, (_, place) => place).flatMap((place) =>
    streams.flatMap((events, candidate): [number, Json][] =>
      place < events.length ? [[candidate, events[place]]] : [],
    ),
  )
}

function figuresIn(reading: Json): Quantities | undefined {
  const figures = reading?.usage?.figures
  return figures === 'invalid' ? undefined : figures
}

/** The events of a caller's stream: name and data. */
function framesOf(text: string): Json[] {
  const frames = text.split('\n\n')
  const rest = frames.pop()
  if (rest !== '') throw new Error(`the stream ends within an event: ${rest}`)
  return frames.map((frame) => {
    const [, name, data] = /^(?:event: ([^\n]*)\n)?data: ([^\n]*)$/.exec(frame) ?? []
    if (data === undefined) return { raw: frame }
    return { ...(name !== undefined && { name }), data: data.startsWith('{') ? JSON.parse(data) : data }
  })
}

/** The texts in a caller's events of any dialect, by kind. */
export function wordsReadIn(events: readonly Json[]): AnswerWords {
  const seen: AnswerWords = { thinking: '', answer: '', calls: [] }
  const byPlace = new Map<string, AnswerWords['calls'][number]>()
  const addCall = (place: string, name: string, text: string) => {
    const call = { name, arguments: text }
    seen.calls.push(call)
    byPlace.set(place, call)
  }
  const goOn = (place: string, text: string) => {
    const call = byPlace.get(place)
    // A reader that begins within a piece gets a wrong text.
    if (call) call.arguments += text
    else addCall(place, '', text)
  }
  for (const { data } of events) {
    if (typeof data !== 'object') continue
    if (data.choices) addDelta(data.choices[0]?.delta ?? {}, seen, addCall, goOn)
    else if (/^(content_block|message)/.test(data.type)) addBlock(data, seen, addCall, goOn)
    else addItem(data, seen, addCall, goOn)
  }
  return seen
}

type AddCall = (place: string, name: string, text: string) => void
type GoOn = (place: string, text: string) => void

function addDelta(
  { content, refusal, reasoning_content: thought, tool_calls: calls }: Json,
  seen: AnswerWords,
  addCall: AddCall,
  goOn: GoOn,
): void {
  seen.answer += (content ?? '') + (refusal ?? '')
  seen.thinking += thought ?? ''
  for (const { index, function: called, custom } of calls ?? []) {
    const { name, arguments: text, input } = called ?? custom
    if (name === undefined) goOn(String(index), text ?? input ?? '')
    else addCall(String(index), name, text ?? input ?? '')
  }
}

function addBlock(
  { type, index, content_block: block, delta }: Json,
  seen: AnswerWords,
  addCall: AddCall,
  goOn: GoOn,
): void {
  if (type === 'content_block_start' && block.type === 'tool_use') addCall(String(index), block.name, '')
  if (type !== 'content_block_delta') return
  seen.answer += delta.text ?? ''
  seen.thinking += delta.thinking ?? ''
  if (delta.partial_json) goOn(String(index), delta.partial_json)
}

function addItem(
  { type, output_index: place, item, delta }: Json,
  seen: AnswerWords,
  addCall: AddCall,
  goOn: GoOn,
): void {
  if (type === 'response.output_item.added' && /^(?:function|custom_tool)_call$/.test(item.type))
    addCall(String(place), item.name, '')
  if (type === 'response.output_text.delta' || type === 'response.refusal.delta') seen.answer += delta
  if (type === 'response.reasoning_summary_text.delta') seen.thinking += delta
  if (/(?:arguments|input)\.delta$/.test(type ?? '')) goOn(String(place), delta)
}
