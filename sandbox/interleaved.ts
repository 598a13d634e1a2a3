// Mixes the steps of several calls in one stream, as vendors do for parallel calls. Each list must keep its
// own order.

/** One step of each list in turn, until all have ended. */
export function* interleaved<Step>(lists: readonly Generator<Step>[]): Generator<Step> {
  let open = lists
  while (open.length > 0) {
    const still: Generator<Step>[] = []
    for (const list of open) {
      const next = list.next()
      if (next.done) continue
      yield next.value
      still.push(list)
    }
    open = still
  }
}
