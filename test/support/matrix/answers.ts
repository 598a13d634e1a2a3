// Translates answers of a vendor for a pair of a dialect and a protocol, and reports faults in the caller's answer: lost, invented
// or changed words, wrong figures, violations of the grammar, and wrong ends of streams that are cut or fail.

import type { Model } from '../../../src/contract/family'
import { fixtures } from '../answers/fixtures'
import { streamCases } from '../bridges/answer-cases'
import { replyOutcome, type StreamCourse, streamOutcome } from '../bridges/answer-outcome'
import type { AnswerSamples, AnswerWords, StreamSample, VendorProtocol } from '../bridges/answer-samples'
import { chatAnswers } from '../bridges/chat-answers'
import { converseAnswers } from '../bridges/converse-answers'
import { messagesAnswers } from '../bridges/messages-answers'
import { responsesAnswers } from '../bridges/responses-answers'
import { createRandom, type Random } from '../random'
import type { Json } from '../scenario'
import { wordsInEvents, wordsInReply } from './answer-words'
import { geminiStream, oddGeminiStreams } from './gemini-answers'
import { figuresIn, grammarFaults, reportedStop, reportedTokens } from './grammars'
import { type Meeting, requestOf } from './pairs'
import { vendorAnswers } from './vendor-answers'
import { parsedCalls, type Run } from './words'

const samples: Readonly<Record<string, Pick<AnswerSamples, 'recorded' | 'closing' | 'generated'>>> = {
  chat: chatAnswers,
  messages: messagesAnswers,
  responses: responsesAnswers,
  converse: converseAnswers,
  gemini: { recorded: /^gemini-contents$/, closing: [], generated: geminiStream },
}

/** Recorded streams of a protocol, and random ones from consecutive seeds. */
export function streamsOf(protocol: string, seed: number, count: number): StreamSample[] {
  const { recorded, closing, generated } = samples[protocol] as (typeof samples)[string]
  const known = fixtures.flatMap(({ family, name, events }) =>
    recorded.test(family) && events
      ? [{ label: `recorded ${family}/${name}`, events: [...events, ...closing] }]
      : [],
  )
  const random = Array.from({ length: count }, (_, place) => ({
    ...generated(createRandom(seed + place)),
    label: `random ${seed + place}`,
  }))
  return [...known, ...random]
}

/** Streams of a protocol with one event lost, repeated, moved, changed or added, at one of many places. */
export const oddStreamsOf = (protocol: string, seed: number): StreamSample[] =>
  protocol === 'gemini'
    ? [...oddGeminiStreams]
    : streamCases(protocol as VendorProtocol, { seed, step: 20, generated: 0 })

/** Recorded replies of a protocol. */
export function repliesOf(protocol: string): { label: string; reply: Json }[] {
  return fixtures.flatMap(({ family, name, reply }) =>
    samples[protocol]?.recorded.test(family) && reply !== undefined
      ? [{ label: `recorded ${family}/${name}`, reply }]
      : [],
  )
}

/** Faults of a complete stream, of a cut one, and of one that fails at a random place. */
export function streamFaults(meeting: Meeting, model: Model, stream: StreamSample, random: Random): string[] {
  const { dialect, protocol } = meeting
  const parsed = requestOf(meeting, model, true)
  const read = (course: StreamCourse): Json => streamOutcome(model, parsed, [stream.events], course)
  const { events } = read({ ending: 'finish', isSlow: random.chance(0.2) })
  const vendor = vendorOf(protocol)
  const reply = wholeReply(protocol, stream)
  const reported = withoutSentence(wordsInEvents(events), reply)
  const sent = vendor.wordsOf(reply)
  if (stream.reported && !isReportedBy(sent, stream.reported))
    throw new Error(`${stream.label} is read wrongly here`)
  const until = random.below(stream.events.length + 1)
  return [
    ...grammarFaults(dialect, events, 'whole'),
    ...differing('words', comparable(meeting, reported), comparable(meeting, sent)),
    ...differingTokens(reportedTokens(dialect, figuresIn(dialect, events)), vendor.tokensOf(reply)),
    ...(isWhole(sent) ? wholeFaults : () => [])(meeting, model, reply, {
      words: reported,
      stop: reportedStop(dialect, events),
    }),
    ...(['cut', 'fail'] as const).flatMap((ending) => {
      const { events: some } = read({ ending, until })
      return [
        ...grammarFaults(dialect, some, ending === 'cut' ? 'whole' : 'failed'),
        ...(isBeginning(withoutSentence(wordsInEvents(some), reply), sent)
          ? []
          : [`words that were not sent: ${JSON.stringify(wordsInEvents(some))} of ${JSON.stringify(sent)}`]),
      ].map((fault) => `${ending} at ${until}: ${fault}`)
    }),
  ].map((fault) => `${meeting.name}, ${model.id}, ${stream.label}: ${fault}`)
}

/** Faults of the grammar, for an odd vendor stream whose words cannot be known. A failure may occur anywhere. */
export function oddStreamFaults(meeting: Meeting, model: Model, { label, events }: StreamSample): string[] {
  const outcome = streamOutcome(model, requestOf(meeting, model, true), [events], { ending: 'finish' })
  if (outcome.readings.some(({ end = '' }: Json) => end?.endsWith('failed') || end?.startsWith('failed')))
    return []
  return grammarFaults(meeting.dialect, outcome.events, 'whole').map(
    (fault) => `${meeting.name}, ${model.id}, ${label}: ${fault}`,
  )
}

/** Faults of a whole answer, which must have the same words as the stream. */
function wholeFaults(
  meeting: Meeting,
  model: Model,
  reply: Json,
  stream?: { words: Run[]; stop: string | undefined },
): string[] {
  const { dialect, protocol } = meeting
  const parsed = requestOf(meeting, model, false)
  const { reply: answer } = replyOutcome(model, parsed, [reply])
  if (answer.refused || answer.thrown) return [`whole: ${JSON.stringify(answer)}`]
  const vendor = vendorOf(protocol)
  const reported = byKind(parsedCalls(withoutSentence(wordsInReply(answer), reply)))
  return [
    ...differing('words', reported, byKind(parsedCalls(vendor.wordsOf(reply)))),
    ...differingTokens(reportedTokens(dialect, answer), vendor.tokensOf(reply)),
    ...(stream ? differing('words of the stream', reported, byKind(parsedCalls(stream.words))) : []),
    ...(stream ? differing('end', reportedStop(dialect, answer), stream.stop) : []),
  ].map((fault) => `whole: ${fault}`)
}

export function replyFaults(
  meeting: Meeting,
  model: Model,
  { label, reply }: { label: string; reply: Json },
): string[] {
  return wholeFaults(meeting, model, reply).map((fault) => `${meeting.name}, ${model.id}, ${label}: ${fault}`)
}

/** The reply with the words of a stream. Chat vendors send calls in many styles, which only the sample itself can read. */
function wholeReply(protocol: string, { events, reported }: StreamSample): Json {
  const reply = vendorOf(protocol).wholeOf(events)
  if (protocol !== 'chat' || !reported) return reply
  const calls = reported.calls.map(({ name, arguments: text }, place) => ({
    id: `call_${place}`,
    type: 'function',
    function: { name, arguments: text },
  }))
  const { refusal = null } = reply.choices[0].message
  const message = {
    role: 'assistant',
    content: (refusal ? reported.answer.slice(0, -refusal.length) : reported.answer) || null,
    refusal,
    reasoning_content: reported.thinking || undefined,
  }
  return {
    ...reply,
    choices: [
      { ...reply.choices[0], message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) } },
    ],
  }
}

const vendorOf = (protocol: string) => vendorAnswers[protocol] as (typeof vendorAnswers)[string]

/** The gateway names a refusal, or repeats the vendor's explanation, if a dialect has no other form for it. */
const DECLINED = 'The model declined to answer.'

function withoutSentence(runs: readonly Run[], { stop_details: details }: Json): Run[] {
  const sentence = details?.explanation || DECLINED
  return runs.flatMap((run) => {
    if (run.kind !== 'answer' || !run.text.endsWith(sentence)) return run
    const text = run.text.slice(0, -sentence.length)
    return text === '' ? [] : { ...run, text }
  })
}

/** Whether the words of a vendor's answer are those of the random sample. */
function isReportedBy(runs: readonly Run[], { thinking, answer, calls }: AnswerWords): boolean {
  const known: Run[] = [
    { kind: 'thinking', text: thinking.replaceAll('\n\n', '') },
    { kind: 'answer', text: answer },
    ...calls.map(({ name, arguments: text }): Run => ({ kind: 'call', name, text })),
  ]
  return Bun.deepEquals(byKind(parsedCalls(runs)), byKind(parsedCalls(known)))
}

/** Words grouped by kind: thoughts, texts, and calls in order. */
function byKind(runs: readonly Run[]): Json {
  const textOf = (kind: Run['kind']) => runs.flatMap((run) => (run.kind === kind ? [run.text] : [])).join('')
  return {
    thinking: textOf('thinking'),
    answer: textOf('answer'),
    calls: runs.filter(({ kind }) => kind === 'call'),
  }
}

/** False if a call is cut off, because a whole answer has parsed inputs. */
const isWhole = (runs: readonly Run[]): boolean =>
  parsedCalls(runs).every(({ kind, text }) => kind !== 'call' || !text.startsWith('{"_raw"'))

/** The words in the order that both sides of a pair can express. */
function comparable({ dialect, protocol }: Meeting, runs: readonly Run[]): Json {
  const calls = parsedCalls(runs)
  const hasOrder = dialect !== 'chat' && protocol !== 'chat'
  return hasOrder ? calls : byKind(calls)
}

/** Whether words are the beginning of others, by kind: later items may wait for one that never ends. */
function isBeginning(reported: readonly Run[], sent: readonly Run[]): boolean {
  const [some, all] = [byKind(reported), byKind(sent)]
  // A gap between two thoughts may be cut in the middle.
  const [thought, thinking] = [some, all].map((each) => each.thinking.replaceAll('\n', ''))
  if (!thinking.startsWith(thought) || !all.answer.startsWith(some.answer)) return false
  return some.calls.every(({ name, text }: Run, place: number) => {
    const call = all.calls[place]
    const isWhole = Bun.deepEquals(
      parsedCalls([{ kind: 'call', name, text } as Run]),
      parsedCalls(call ? [call] : []),
    )
    // A call may be cut off before its name.
    return (
      (call?.name === name || name === '') &&
      (isWhole || text === '{}' || call.text.startsWith(text) || text.startsWith('{"_raw"'))
    )
  })
}

function differing(what: string, reported: Json, sent: Json): string[] {
  return Bun.deepEquals(reported, sent)
    ? []
    : [`${what}: ${JSON.stringify(reported)} instead of ${JSON.stringify(sent)}`]
}

/** Without the vendor's figures there is nothing to compare. */
const differingTokens = (reported: Json, sent: readonly (number | undefined)[]): string[] =>
  sent.some((count) => !Number.isSafeInteger(count)) ? [] : differing('tokens', reported, sent)
