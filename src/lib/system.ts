// The parts of its system that the program uses: clocks, timers, ids, randomness, the log. Types only. A function names the few
// that it needs, `Pick<System, 'now' | 'log'>`, so that a test can pass only these. It must never hold code.

/** Runs `run` once after a number of milliseconds. The returned function cancels it. */
export type After = (milliseconds: number, run: () => void) => () => void

/** Writes one line to the operator's log. */
export type Log = (event: string, fields: Record<string, unknown>) => void

export interface System {
  /** Milliseconds since 1970 by the gateway's own clock, which never jumps: for everything that is stored. */
  now: () => number
  /** Milliseconds by a clock that cannot be set: for waits and deadlines within this process. */
  monotonic: () => number
  /** Milliseconds since 1970 by the machine's clock: only for others, who compare it with theirs. */
  wall: () => number
  after: After
  newId: (prefix: string) => string
  random: () => number
  log: Log
}
