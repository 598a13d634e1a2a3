// The keys of one upstream, used in turn. A key that the vendor refused rests while others are tried. A single key must
// never rest, because there would be nothing to send.

import type { UpstreamError } from '../contract/upstream'

/** One of an upstream's keys, and the headers of calls with it. */
export class UpstreamKey {
  /** Null if the upstream wants no key. */
  readonly secret: string | null
  /** Place in the configuration, counted from 1; null for a single key. */
  readonly number: number | null
  restsUntil = 0
  /** Headers of calls by protocol, made once because they never change. */
  readonly headers = new Map<string, CallHeaders>()
  /** Headers of calls for a stream, by protocol. */
  readonly streamHeaders = new Map<string, CallHeaders>()

  constructor(secret: string | null, number: number | null) {
    this.secret = secret
    this.number = number
  }
}

export type CallHeaders = Readonly<Record<string, string>>

/** The facts in a refusal about the key that was used. */
export interface KeyRefusal {
  status: number
  whose: UpstreamError['whose']
  /** Wait that the vendor asks for, in milliseconds. */
  retryAfterMs: number | undefined
}

/** How long a key rests that the vendor does not serve, and one over its rate if the vendor names no wait. */
const UNKNOWN_KEY_REST_MS = 300_000
const BUSY_KEY_REST_MS = 5_000
const MAX_KEY_REST_MS = 600_000

export class KeysInTurn {
  private readonly keys: readonly UpstreamKey[]
  private readonly monotonic: () => number
  private turn = 0

  constructor(secrets: readonly (string | null)[], monotonic: () => number) {
    this.keys = secrets.map((secret, index) => new UpstreamKey(secret, secrets.length > 1 ? index + 1 : null))
    this.monotonic = monotonic
  }

  /** The next key that is not resting, or the one that rests for the shortest time. */
  next(): UpstreamKey {
    const { keys, turn } = this
    let earliest = keys[0] as UpstreamKey
    for (let offset = 0; offset < keys.length; offset++) {
      const key = keys[(turn + offset) % keys.length] as UpstreamKey
      if (key.restsUntil <= this.monotonic()) {
        this.turn = (turn + offset + 1) % keys.length
        return key
      }
      if (key.restsUntil < earliest.restsUntil) earliest = key
    }
    return earliest
  }

  /** Lets a key rest if the refusal was about it. True if another key may work. */
  refused(key: UpstreamKey, { status, whose, retryAfterMs }: KeyRefusal): boolean {
    // Some vendors answer 400 to a bad key; a missing model is missing for every key.
    const ofKey = status === 429 || (whose === 'operator' && status !== 404)
    if (!ofKey || this.keys.length === 1) return false
    const now = this.monotonic()
    const restMs = status === 429 ? (retryAfterMs ?? BUSY_KEY_REST_MS) : UNKNOWN_KEY_REST_MS
    key.restsUntil = now + Math.min(restMs, MAX_KEY_REST_MS)
    return this.keys.some(({ restsUntil }) => restsUntil <= now)
  }
}
