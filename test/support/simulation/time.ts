// Time that advances only under the simulation's control: events in the order of their times, each followed by everything that it
// causes immediately. Nothing here waits for real time, so the same events always occur in the same order.

export interface VirtualTime {
  monotonic(): number
  /** A clock that can be set. */
  wall(): number
  set(byMs: number): void
  after(milliseconds: number, run: () => void): () => void
  /** Counts running work of the real database, which takes turns of the event loop. */
  track<Result>(work: Promise<Result>): Promise<Result>
  /** Lets time pass up to a moment of the monotonic clock. */
  runUntil(moment: number): Promise<void>
  events: number
  /** Whether the clock was ever set. */
  wasSet: boolean
}

interface Event {
  at: number
  order: number
  run: (() => void) | undefined
}

const START = Date.UTC(2026, 2, 10, 12, 0, 5)

export function createVirtualTime(): VirtualTime {
  const heap: Event[] = []
  let nowMs = 0
  let aheadMs = START
  let order = 0
  let working = 0

  function isBefore(one: Event, other: Event): boolean {
    return one.at < other.at || (one.at === other.at && one.order < other.order)
  }

  function push(event: Event): void {
    let place = heap.push(event) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(event, heap[parent] as Event)) break
      heap[place] = heap[parent] as Event
      place = parent
    }
    heap[place] = event
  }

  function pop(): Event {
    const first = heap[0] as Event
    const last = heap.pop() as Event
    if (heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++
      if (!isBefore(heap[child] as Event, last)) break
      heap[place] = heap[child] as Event
      place = child
    }
    heap[place] = last
    return first
  }

  /** One turn of the event loop runs all promises that are ready; work of the database takes some more turns. */
  async function settle(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve))
    while (working > 0)
  }

  const time: VirtualTime = {
    events: 0,
    wasSet: false,
    monotonic: () => nowMs,
    wall: () => nowMs + aheadMs,
    set(byMs) {
      aheadMs += byMs
      time.wasSet = true
    },
    after(milliseconds, run) {
      const event: Event = { at: nowMs + Math.max(0, Math.round(milliseconds)), order: order++, run }
      push(event)
      return () => {
        event.run = undefined
      }
    },
    async track(work) {
      working++
      try {
        return await work
      } finally {
        working--
      }
    },
    async runUntil(moment) {
      await settle()
      while (heap.length > 0 && (heap[0] as Event).at <= moment) {
        const { at, run } = pop()
        nowMs = at
        if (!run) continue
        time.events++
        run()
        await settle()
      }
      nowMs = moment
    },
  }
  return time
}
