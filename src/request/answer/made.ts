// Answers with a body that the family builds from the vendor's answers: one answer to one call, or to the parts of a batch, or one
// stream of several candidates. It must never answer before all parts have arrived.

import { measure, outcomeOfReply, sumOutcomes } from '../../billing/ledger/metering'
import type { Call, MadeFamily } from '../../contract/family'
import { hasFailed } from '../../contract/reading'
import { compactionOf } from '../../kept-responses/compaction'
import { keptAnswer } from '../../kept-responses/content'
import { GatewayError } from '../../lib/errors'
import { callerView } from '../../upstreams/caller-view'
import { isEventStream, readReply, usageJsonOf } from '../../upstreams/reply'
import { mergeStreams } from '../candidates'
import type { Line } from '../ending'
import { dataUrlsOf, filesAsBase64 } from '../inline-files'
import type { Reservation } from '../reservation'
import { startOfStream } from '../route/stream-start'
import { assertWanted } from '../route/unwanted'
import { cutWhenCallerLeaves, readUpstream, send } from '../upstream-call'
import type { Requester, StreamAnswer, WholeAnswer } from './answer'
import { answerStream } from './stream'

/** Number of parts of a batch that are sent to a vendor at once. */
const PARALLEL_CALLS = 4

export async function answerMade(
  line: Line,
  reservation: Reservation,
  family: MadeFamily,
  caller: Requester,
): Promise<WholeAnswer | StreamAnswer> {
  const { parsed, model } = reservation.request
  const uploads = family.uploads?.(parsed.body)
  const called = family.call(parsed, model, uploads && (await dataUrlsOf(uploads)))
  const calls = Array.isArray(called) ? called : [called]
  if (calls[0]?.stream) return answerStreams(line, reservation, family, calls, caller)
  return made(line, reservation, family, await callAll(line, reservation, family, calls), calls.length)
}

/** The replies in order. Throws the first failure, unless the other replies suffice. */
async function callAll(
  line: Line,
  reservation: Reservation,
  family: MadeFamily,
  calls: readonly Call[],
): Promise<object[]> {
  const {
    request: { model },
    cancelToken,
  } = reservation
  const replies: object[] = []
  const failures: unknown[] = []
  const queue = [...calls.entries()]
  const ask = async (call: Call) => {
    const { response, done } = await sendOrInstead(line, reservation, family, call)
    return (await readReply(response, model, cancelToken.signal).finally(done)).json
  }
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      try {
        replies[next[0]] = await ask(next[1])
      } catch (error) {
        if (!family.isSeparable || cancelToken.signal.aborted) throw error
        failures.push(error)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: PARALLEL_CALLS }, work))
    // The replies without the entries of failed calls.
    const made = replies.flat()
    if (made.length === 0) throw failures[0]
    return made
  } catch (error) {
    // The rest is useless: another model of a route makes its own calls.
    queue.length = 0
    throw error
  }
}

/** Sends a call and, if the vendor refuses it, once the family's replacement. */
async function sendOrInstead(
  { world }: Line,
  reservation: Reservation,
  family: MadeFamily,
  call: Call,
): ReturnType<typeof send> {
  try {
    return await send(world, reservation, call)
  } catch (error) {
    const { parsed, model } = reservation.request
    const other = error instanceof GatewayError ? family.callAfter?.(error, parsed, model) : undefined
    if (!other) throw error
    return send(world, reservation, other)
  }
}

/** Streams candidates that the vendor makes one by one: parallel streams become one answer. */
async function answerStreams(
  line: Line,
  reservation: Reservation,
  family: MadeFamily,
  calls: readonly Call[],
  caller: Requester,
): Promise<WholeAnswer | StreamAnswer> {
  const {
    request: { model },
    cancelToken,
  } = reservation
  const sent = calls.map((call) => sendOrInstead(line, reservation, family, call))
  const done = () => {
    for (const each of sent) each.then((one) => one.done()).catch(() => {})
  }
  try {
    const answers = await Promise.all(sent).finally(cutWhenCallerLeaves(reservation, caller))
    const responses = answers.map(({ response }) => response)
    // Some servers omit the type of a stream.
    if (responses.every((each) => isEventStream(each) || each.header('content-type') === null)) {
      const [first, ...others] = responses.map(({ body }) => body)
      const source = first && others.length === 0 ? first : mergeStreams(responses.map(({ body }) => body))
      // Each of several candidates has its own beginning.
      const body = calls.length > 1 ? source : await startOfStream(line, reservation, source, caller)
      return await answerStream(line, reservation, body, done, calls.length)
    }
    // Requested as streams, but answered whole.
    const replies = await Promise.all(responses.map((each) => readReply(each, model, cancelToken.signal)))
    done()
    return await made(
      line,
      reservation,
      family,
      replies.map(({ json }) => json),
      calls.length,
    )
  } catch (error) {
    // The other streams are useless now.
    for (const each of sent) each.then(({ response }) => response.body.cancel()).catch(() => {})
    done()
    throw error
  }
}

/** The family's own answer, made from the vendor's replies to several calls and their measured usage. */
async function made(
  { world }: Line,
  reservation: Reservation,
  family: MadeFamily,
  answered: readonly object[],
  calls: number,
): Promise<WholeAnswer> {
  const {
    request: { parsed, model, toKeep },
    cancelToken,
  } = reservation
  const all = readUpstream(model, () =>
    answered.map((reply) => ({ reply, reading: family.read(reply, parsed, model) })),
  )
  const good = all.filter(({ reading }) => !hasFailed(reading))
  const refusal = all.find(({ reading }) => hasFailed(reading))
  if (refusal && !(family.isSeparable && good.length > 0)) throw model.upstream.errorOf(400, refusal.reply)
  const replies = good.map(({ reply }) => reply)
  const parts = good.map(({ reply, reading }) =>
    outcomeOfReply(reading, usageJsonOf(reply, reading.usage?.reported), parsed, model),
  )
  const outcome = sumOutcomes(parts, parsed, model)
  if (good.length < calls) outcome.isPart = true
  const measured = await measure(outcome, parsed, model, world.tokenCounter)
  const isFiltered = good.every(({ reading }) => reading.isFiltered)
  assertWanted(reservation, outcome, isFiltered, measured)
  const addresses = readUpstream(model, () => family.files?.(replies, parsed.body)) ?? []
  const base64 = await filesAsBase64(addresses, model, cancelToken.signal)
  const reply = readUpstream(model, () => {
    const answer = family.reply([...replies], parsed, model, measured?.quantities ?? {}, base64)
    const compacted = parsed.answer?.compacted
    return parsed.answer && compacted ? compactionOf(answer as object, parsed.answer, compacted) : answer
  })
  const shown = callerView(reply as object)
  if (toKeep) toKeep.answer = keptAnswer(shown)
  const body = JSON.stringify(shown)
  return { kind: 'whole', contentType: 'application/json', outcome, measured, body, replies }
}
