// Measures how soon the models of routes begin to answer: a moving average of the times to the first output of streams, in this
// process. Conversations of routes that prefer the fastest are also sent to models without a recent figure, so that every figure
// stays accurate. It must never send more than a few conversations elsewhere just to measure.

/** A model of a route at one upstream, by its name. */
type Name = string

interface Pace {
  meanMs: number
  /** Number of times in the average. */
  samples: number
  /** How often it was chosen only to be measured. */
  tries: number
  /** The route's count of conversations at the last time or attempt. */
  seenAt: number
}

interface RoutePaces {
  paces: Map<Name, Pace>
  /** Requests that could go to any model. */
  conversations: number
}

/** Number of times before an average is used. */
const MIN_SAMPLES = 3
/** Weight of the newest time in the average. */
const NEWEST_SHARE = 1 / 5
/** One in this many conversations goes to the model whose figure is the oldest. */
const MEASURE_EVERY = 20
/** The time that a failed call counts as, in milliseconds: its caller waited for it, and then for another model. */
export const FAILED_MS = 5_000

export class Paces {
  private readonly routes = new Map<string, RoutePaces>()

  /** The average time to the first output of a model, in milliseconds; undefined if it was measured too rarely. */
  meanMs(route: string, name: Name): number | undefined {
    const pace = this.routes.get(route)?.paces.get(name)
    return pace && pace.samples >= MIN_SAMPLES ? pace.meanMs : undefined
  }

  /** Adds the time to a first output, in milliseconds. */
  add(route: string, name: Name, ms: number): void {
    const paces = this.pacesOf(route)
    const pace = paceIn(paces, name)
    pace.samples++
    pace.meanMs += (ms - pace.meanMs) * Math.max(NEWEST_SHARE, 1 / pace.samples)
    pace.seenAt = paces.conversations
  }

  /**
   * Counts a conversation that may go to any of these models. Returns the model that it should measure; undefined if it should
   * measure none.
   */
  toMeasure(route: string, names: readonly Name[]): Name | undefined {
    const paces = this.pacesOf(route)
    paces.conversations++
    const known = names.map((name) => ({ name, pace: paceIn(paces, name) }))
    // A failing model has no times: attempts are counted too, so that it is not tried forever.
    const effort = ({ samples, tries }: Pace) => Math.max(samples, tries)
    let next = known.reduce((one, other) => (effort(other.pace) < effort(one.pace) ? other : one))
    if (effort(next.pace) >= MIN_SAMPLES) {
      if (paces.conversations % MEASURE_EVERY !== 0) return undefined
      next = known.reduce((one, other) => (other.pace.seenAt < one.pace.seenAt ? other : one))
    }
    next.pace.tries++
    next.pace.seenAt = paces.conversations
    return next.name
  }

  private pacesOf(route: string): RoutePaces {
    let paces = this.routes.get(route)
    if (!paces) {
      paces = { paces: new Map(), conversations: 0 }
      this.routes.set(route, paces)
    }
    return paces
  }
}

function paceIn({ paces }: RoutePaces, name: Name): Pace {
  let pace = paces.get(name)
  if (!pace) {
    pace = { meanMs: 0, samples: 0, tries: 0, seenAt: 0 }
    paces.set(name, pace)
  }
  return pace
}
