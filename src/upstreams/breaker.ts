// The circuit breaker of one upstream: after consecutive failures it gets no requests for a while, then one request may try and
// decides for the others. Only a missing answer is a failure; a refusal must never count as one.

export type BreakerState =
  | { is: 'closed'; failures: number }
  | { is: 'open'; until: number }
  /** One request tries; `until` is when the breaker was due to allow it. */
  | { is: 'half-open'; until: number }

/**
 * An event of a request: it is about to be sent, or ends with an answer, without one, or without saying anything about the
 * upstream.
 */
export type BreakerEvent = 'attempted' | 'answered' | 'failed' | 'cut'

/** Consecutive failures that open the breaker, and how long it stays open before one request may try. */
export const BREAKER_FAILURES = 5
export const BREAKER_OPEN_MS = 5_000

const CLOSED: BreakerState = { is: 'closed', failures: 0 }
const closed = () => CLOSED
const same = (state: BreakerState) => state
const opened = (_state: BreakerState, now: number): BreakerState => ({
  is: 'open',
  until: now + BREAKER_OPEN_MS,
})

type Step = (state: never, now: number) => BreakerState

/** Every state with every event. Requests that were sent before the breaker opened may still end in any state. */
const STEPS: { [Is in BreakerState['is']]: Record<BreakerEvent, Step> } = {
  closed: {
    attempted: same,
    answered: closed,
    failed: ({ failures }: Extract<BreakerState, { is: 'closed' }>, now) =>
      failures + 1 < BREAKER_FAILURES ? { is: 'closed', failures: failures + 1 } : opened(CLOSED, now),
    cut: same,
  },
  open: {
    attempted: (state: Extract<BreakerState, { is: 'open' }>, now) =>
      now < state.until ? state : { is: 'half-open', until: state.until },
    answered: closed,
    failed: opened,
    cut: same,
  },
  'half-open': {
    attempted: same,
    answered: closed,
    failed: opened,
    // The result is unknown: the next request may try.
    cut: ({ until }: Extract<BreakerState, { is: 'half-open' }>) => ({ is: 'open', until }),
  },
}

/** The state after an event. A request may be sent in the closed state, and if it made the state half-open. */
export function nextBreaker(state: BreakerState, event: BreakerEvent, now: number): BreakerState {
  return STEPS[state.is][event](state as never, now)
}

export class Breaker {
  state: BreakerState = CLOSED
  private readonly monotonic: () => number

  constructor(monotonic: () => number) {
    this.monotonic = monotonic
  }

  /** Whether a request may be sent; if so, its end must be reported. */
  allows(): boolean {
    if (this.state.is === 'closed') return true
    const before = this.state
    this.state = nextBreaker(before, 'attempted', this.monotonic())
    return this.state !== before
  }

  report(end: Exclude<BreakerEvent, 'attempted'>): void {
    // The usual case.
    if (end === 'answered' && this.state === CLOSED) return
    this.state = nextBreaker(this.state, end, this.monotonic())
  }
}
