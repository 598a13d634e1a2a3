// Orders the models of a route by a figure of each: the lowest is the best. Pure. A conversation must not move for a small
// difference: its prompt cache at one vendor is worth more than that.

import type { Preference } from '../../config/models/route-entry'
import { drawOf, scoreOf } from '../../lib/rendezvous'
import type { PlaceReason } from '../../request-log/row'

/** The properties of a model at one upstream that determine its position. */
export interface Candidate {
  /** The hash of its name, the same on every node. */
  hash: number
  /** Share among the upstreams of the same model: 1 on average. */
  weight: number
  /** Lower is better; undefined if unknown. */
  figure: number | undefined
}

/** A limit above the best figure: a share of it, and a fixed part. */
interface Margin {
  share: number
  more: number
}

/**
 * `equal`: up to this limit a figure is as good as the best, and the session chooses. `stays`: up to this limit a conversation
 * stays with the model that it began with. It is the wider one, so that a fluctuating figure does not move conversations back and
 * forth. The figure of `cheapest` already includes what the cache of a conversation saves.
 */
const MARGINS: Readonly<Record<Preference, { equal: Margin; stays: Margin }>> = {
  // Nano-dollars.
  cheapest: { equal: { share: 0.05, more: 0 }, stays: { share: 0.05, more: 0 } },
  // Milliseconds.
  fastest: { equal: { share: 0.25, more: 50 }, stays: { share: 1, more: 200 } },
  // Running calls.
  least_busy: { equal: { share: 0.1, more: 2 }, stays: { share: 0.5, more: 8 } },
}

export interface Choice<Each> {
  prefer: Preference
  /** The hash of the conversation; undefined without a conversation. */
  session: number | undefined
  /** The member that has answered the conversation last; undefined if none has. */
  stays: Each | undefined
  /** The member that should be measured; undefined if none should. */
  measured: Each | undefined
  random: () => number
}

/** The members in the order in which they are tried, and why the first one is first. Those without a figure are last. */
export function inOrderOfPreference<Each extends Candidate>(
  members: readonly Each[],
  { prefer, session, stays, measured, random }: Choice<Each>,
): { order: Each[]; reason: PlaceReason } {
  const best = Math.min(...members.map(({ figure }) => figure ?? Number.POSITIVE_INFINITY))
  const isWithin = ({ figure }: Each, { share, more }: Margin) =>
    figure !== undefined && figure <= best + best * share + more
  const margins = MARGINS[prefer]
  const isStaying = stays !== undefined && isWithin(stays, margins.stays)
  // Without a conversation there is no cache to keep: nobody pays more than the lowest price for it.
  const isExact = prefer === 'cheapest' && session === undefined
  const equal = members.filter((each) => isWithin(each, isExact ? { share: 0, more: 0 } : margins.equal))
  const scores = new Map(
    equal.map((each) => {
      const draw = session === undefined ? random() : drawOf(session, each.hash)
      return [each, scoreOf(draw, each.weight)]
    }),
  )
  const firstOfAll = isStaying ? stays : measured
  const scoreOfMember = (each: Each) =>
    each === firstOfAll ? Number.POSITIVE_INFINITY : (scores.get(each) ?? Number.NEGATIVE_INFINITY)
  const order = members.toSorted(
    (one, other) =>
      difference(scoreOfMember(other), scoreOfMember(one)) ||
      difference(one.figure ?? Number.POSITIVE_INFINITY, other.figure ?? Number.POSITIVE_INFINITY),
  )
  if (firstOfAll) return { order, reason: isStaying ? 'conversation' : 'measured' }
  return { order, reason: equal.length > 1 ? 'equal' : 'best' }
}

/** The difference of two numbers, which is 0 if both are infinite. */
function difference(one: number, other: number): number {
  return one === other ? 0 : one - other
}
