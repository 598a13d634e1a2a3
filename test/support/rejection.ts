// The reason with which a promise is rejected. `expect(promise).rejects` must not be used for a pending promise: Bun waits for it
// inside one event, and other work may meanwhile advance only one step per event of the system, or not at all.

/** Waits until a promise is rejected, and returns its reason. Fails if it is fulfilled. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  let value: unknown
  try {
    value = await promise
  } catch (reason) {
    return reason as Error
  }
  throw new Error(`it was not rejected, and is ${Bun.inspect(value).slice(0, 200)}`)
}
