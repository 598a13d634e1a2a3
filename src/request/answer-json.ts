// Answers with the vendor's own JSON or text, or with the stream that a vendor sends instead. The bytes must never be
// changed, except for the model's name.

import { outcomeOfReply } from '../billing/metering'
import type { JsonFamily } from '../contract/family'
import { hasFailed } from '../contract/reading'
import { isEventStream, readReply, readText, usageJsonOf, withModel } from '../upstreams/reply'
import type { Requester, StreamAnswer, WholeAnswer } from './answer'
import { answerStream } from './answer-stream'
import type { Line } from './ending'
import type { Reservation } from './reservation'
import { cutWhenCallerLeaves, readUpstream, send } from './upstream-call'

export async function answerJson(
  line: Line,
  reservation: Reservation,
  family: JsonFamily,
  caller: Requester,
): Promise<WholeAnswer | StreamAnswer> {
  const { parsed, model, cancelToken } = reservation
  const call = family.call(parsed, model)
  const sending = send(line.world, reservation, call)
  const { response, done } = await (call.stream
    ? sending.finally(cutWhenCallerLeaves(reservation, caller))
    : sending)
  try {
    if (isEventStream(response)) return await answerStream(line, reservation, response.body, done)
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
    return {
      kind: 'whole',
      contentType: 'application/json',
      outcome: outcomeOfReply(reading, usageJsonOf(json), parsed, model),
      measured: undefined,
      body: withModel({ text, json }, model),
      replies: [json],
    }
  } catch (error) {
    done()
    throw error
  }
}

/** Sends the vendor's text unchanged. It has no figures of usage. */
function textAnswer(
  { parsed, model }: Reservation,
  { text: contract }: JsonFamily,
  body: string,
  contentType = 'text/plain; charset=utf-8',
): WholeAnswer {
  const reading = readUpstream(model, () => contract?.read(body, parsed) ?? {})
  const outcome = outcomeOfReply(reading, null, parsed, model)
  return { kind: 'whole', contentType, outcome, measured: undefined, body, replies: [] }
}
