// A vendor that takes requests and keeps them waiting until the test lets them go.

import { completion, type OddVendor, startVendor } from './vendor'

export interface HeldVendor extends OddVendor {
  /** Answers all that are waiting, and from now on at once. */
  letGo(): void
}

/** Reports 10 tokens of input and 20 of output, unless told otherwise. */
export function startHeldVendor(
  answer: () => Response = () => Response.json(completion('Hello!', 10, 20)),
): HeldVendor {
  const gate = Promise.withResolvers<void>()
  const vendor = startVendor()
  vendor.answer = async () => {
    await gate.promise
    return answer()
  }
  // Not a copy: the vendor counts its requests on itself.
  return Object.assign(vendor, { letGo: gate.resolve })
}
