// What the program takes from the system that it runs on: clocks, timers, ids, chance, the log. Types only. A function
// names the few that it needs, `Pick<System, 'now' | 'log'>`, so that a test can give it just these.

/** Runs something once, so many milliseconds from now, unless the returned function is called before. */
export type After = (milliseconds: number, run: () => void) => () => void

/** Writes one line to the operator's log. */
export type Log = (event: string, fields: Record<string, unknown>) => void

export interface System {
  /** Milliseconds since 1970 by the gateway's own clock, which never jumps: for all that is stored. */
  now: () => number
  /** Milliseconds by a clock that cannot be set: for waits and deadlines inside this process. */
  monotonic: () => number
  /** Milliseconds since 1970 by the machine's clock: only for others, who compare it with theirs. */
  wall: () => number
  after: After
  newId: (prefix: string) => string
  random: () => number
  log: Log
}
