// Answers with the vendor's own JSON or text, or with the stream that a vendor sends instead. The bytes must never be changed,
// except for the model's name, and usage that differs from the charged one.

import { type Measure, measure, outcomeOfReply } from '../../billing/ledger/metering'
import type { JsonFamily } from '../../contract/family'
import { hasFailed, type Reading } from '../../contract/reading'
import { isObject } from '../../lib/objects'
import { isEventStream, readReply, readText, usageJsonOf, withModel } from '../../upstreams/reply'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { startOfStream } from '../route/stream-start'
import { assertWanted } from '../route/unwanted'
import { cutWhenCallerLeaves, readUpstream, send } from '../upstream-call'
import type { Requester, StreamAnswer, WholeAnswer } from './answer'
import { answerStream } from './stream'

export async function answerJson(
  line: Line,
  reservation: Reservation,
  family: JsonFamily,
  caller: Requester,
): Promise<WholeAnswer | StreamAnswer> {
  const {
    request: { parsed, model },
    cancelToken,
  } = reservation
  const call = family.call(parsed, model)
  const sending = send(line.world, reservation, call)
  const { response, done } = await (call.stream
    ? sending.finally(cutWhenCallerLeaves(reservation, caller))
    : sending)
  try {
    if (isEventStream(response)) {
      const body = await startOfStream(line, reservation, response.body, caller)
      return await answerStream(line, reservation, body, done)
    }
    const contentType = family.text?.type(parsed.body)
    const reply =
      contentType === undefined
        ? await readReply(response, model, cancelToken.signal)
        : await readText(response, model, cancelToken.signal)
    done()
    const { text, json } = reply
    if (!json) return textAnswer(reservation, family, text, contentType)
    const reading = readUpstream(model, () => family.read(json, parsed, model))
    if (hasFailed(reading)) throw model.upstream.errorOf(400, json)
    const outcome = outcomeOfReply(reading, usageJsonOf(json, reading.usage?.reported), parsed, model)
    const measured = await measure(outcome, parsed, model, line.world.tokenCounter)
    assertWanted(reservation, outcome, reading.isFiltered, measured)
    const plain = readUpstream(model, () => family.plainAnswer?.(json)) ?? json
    const usage = measured && shownUsage(family, plain, reading, measured)
    return {
      kind: 'whole',
      contentType: 'application/json',
      outcome,
      measured,
      body: withModel({ text, json }, model, plain, usage),
      replies: [json],
    }
  } catch (error) {
    done()
    throw error
  }
}

/** The charged usage, for the caller; undefined if the dialect has none. */
function shownUsage(
  { usage: write }: JsonFamily,
  json: object,
  { usage }: Reading,
  { quantities, source }: Measure,
): object | undefined {
  const { usage: reported } = json as { usage?: unknown }
  // Figures outside the usage are shown unchanged.
  if (source === 'upstream' && usage && usage.figures !== 'invalid')
    return isObject(reported) ? write?.(usage.figures, reported) : undefined
  return write?.(quantities)
}

/** Sends the vendor's text unchanged. It has no figures of usage. */
function textAnswer(
  { request: { parsed, model } }: Reservation,
  { text: contract }: JsonFamily,
  body: string,
  contentType = 'text/plain; charset=utf-8',
): WholeAnswer {
  const reading = readUpstream(model, () => contract?.read(body, parsed) ?? {})
  const outcome = outcomeOfReply(reading, null, parsed, model)
  return { kind: 'whole', contentType, outcome, measured: undefined, body, replies: [] }
}
