// The keys of one upstream, used in turn. A key that the vendor refused rests while others are tried; a single key never
// rests, because there would be nothing to send.

import type { VendorError } from '../contract/upstream'

/** One of an upstream's keys, and the headers of calls that are made with it. */
export class UpstreamKey {
  /** Null: the upstream wants none. */
  readonly secret: string | null
  restsUntil = 0
  /** Of calls by their protocol: they are the same every time, and written down only once. */
  readonly headers = new Map<string, CallHeaders>()
  /** Of those that want a stream. */
  readonly streamHeaders = new Map<string, CallHeaders>()

  constructor(secret: string | null) {
    this.secret = secret
  }
}

export type CallHeaders = Readonly<Record<string, string>>

/** What a refusal says about the key that was used. */
export interface KeyRefusal {
  status: number
  whose: VendorError['whose']
  /** How long the vendor asks to wait. */
  retryAfterMs: number | undefined
}

/** How long a key rests that the vendor does not serve, and one that is over its rate when the vendor does not say how long. */
const UNKNOWN_KEY_REST_MS = 300_000
const BUSY_KEY_REST_MS = 5_000
const MAX_KEY_REST_MS = 600_000

export class KeysInTurn {
  private readonly keys: readonly UpstreamKey[]
  private readonly monotonic: () => number
  private turn = 0

  constructor(secrets: readonly (string | null)[], monotonic: () => number) {
    this.keys = secrets.map((secret) => new UpstreamKey(secret))
    this.monotonic = monotonic
  }

  /** The next key that is not resting, or the one that wakes first. */
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

  /** Lets a key rest if the refusal was about it. True when another key may do. */
  refused(key: UpstreamKey, { status, whose, retryAfterMs }: KeyRefusal): boolean {
    // Some vendors answer 400 to a bad key; a model that is gone is gone for every key.
    const ofKey = status === 429 || (whose === 'operator' && status !== 404)
    if (!ofKey || this.keys.length === 1) return false
    const now = this.monotonic()
    const restMs = status === 429 ? (retryAfterMs ?? BUSY_KEY_REST_MS) : UNKNOWN_KEY_REST_MS
    key.restsUntil = now + Math.min(restMs, MAX_KEY_REST_MS)
    return this.keys.some(({ restsUntil }) => restsUntil <= now)
  }
}
