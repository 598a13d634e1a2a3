// A vendor that takes requests and keeps them waiting until the test releases them.

import { chunk, completion, DONE, eventStream, type OddVendor, startVendor, usageChunk } from './vendor'

export interface HeldVendor extends OddVendor {
  /** Answers all waiting requests, and later ones without a wait. */
  letGo(): void
}

/** Answers with a whole chat or a stream of 10 tokens of input and 20 of output, unless the test answers otherwise. */
export function startHeldVendor(answer = complete): HeldVendor {
  const gate = Promise.withResolvers<void>()
  const vendor = startVendor()
  vendor.answer = async (request) => {
    await gate.promise
    return answer(request)
  }
  // Not a copy, because the vendor counts its requests in this object.
  return Object.assign(vendor, { letGo: gate.resolve })
}

function complete({ headers }: Request): Response {
  if (headers.get('accept') !== 'text/event-stream') return Response.json(completion('Hello!', 10, 20))
  return eventStream(`${chunk('Hello!', 'stop')}${usageChunk(10, 20)}${DONE}`)
}
