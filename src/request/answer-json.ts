// Answers with the vendor's own JSON, or with the stream that a vendor sends in its place: the bytes pass as they came.

import { outcomeOfReply } from '../billing/metering'
import type { JsonFamily } from '../contract/family'
import { isEventStream, readReply, usageJsonOf, withModel } from '../upstreams/reply'
import type { JsonAnswer, Requester, StreamAnswer } from './answer'
import { answerStream } from './answer-stream'
import type { Line } from './ending'
import type { Reservation } from './reservation'
import { cutWhenCallerLeaves, readVendor, send } from './upstream-call'

export async function answerJson(
  line: Line,
  reservation: Reservation,
  family: JsonFamily,
  caller: Requester,
): Promise<JsonAnswer | StreamAnswer> {
  const { ask, model, controller } = reservation
  const call = family.call(ask, model)
  const sending = send(line.world, reservation, call)
  const { response, done } = await (call.stream
    ? sending.finally(cutWhenCallerLeaves(reservation, caller))
    : sending)
  try {
    if (isEventStream(response)) return await answerStream(line, reservation, response.body, done)
    const reply = await readReply(response, model, controller.signal)
    done()
    const reading = readVendor(model, () => family.read(reply.json, ask))
    if (reading.failed) throw model.upstream.errorOf(400, reply.json)
    return {
      kind: 'json',
      outcome: outcomeOfReply(reading, usageJsonOf(reply.json), ask, model),
      measured: undefined,
      body: withModel(reply, model),
      replies: [reply.json],
    }
  } catch (error) {
    done()
    throw error
  }
}
