// What a promise is rejected with. `expect(promise).rejects` must not be used for a promise that is still open: Bun waits for
// it inside of one event, and what others do meanwhile may come a step for each event of the system, or not at all.

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
