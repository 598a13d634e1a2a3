// The keys of one upstream. A session keeps its key, because vendors have a prompt cache per key; requests without a session use
// the keys in turn. A key that the vendor refused rests while others are tried. A single key must never rest, because there would
// be nothing to send.

import type { UpstreamError } from '../contract/upstream'
import { drawOf, hashOf } from '../lib/rendezvous'

/** One of an upstream's keys, and the headers of calls with it. */
export class UpstreamKey {
  /** Null if the upstream needs no key. */
  readonly secret: string | null
  /** Position in the configuration, counted from 1; null for a single key. */
  readonly number: number | null
  /** By the key itself, not its position: reordering the list moves no session. */
  readonly hash: number
  restsUntil = 0
  /** Headers of calls by protocol, made once because they never change. */
  readonly headers = new Map<string, CallHeaders>()
  /** Headers of calls for a stream, by protocol. */
  readonly streamHeaders = new Map<string, CallHeaders>()

  constructor(secret: string | null, number: number | null) {
    this.secret = secret
    this.number = number
    this.hash = hashOf(secret ?? '')
  }
}

export type CallHeaders = Readonly<Record<string, string>>

/** The facts in a refusal about the key that was used. */
export interface KeyRefusal {
  status: number
  whose: UpstreamError['whose']
  /** Wait that the vendor requests, in milliseconds. */
  retryAfterMs: number | undefined
}

/** How long a key rests that the vendor does not serve, and one over its rate if the vendor names no wait. */
const UNKNOWN_KEY_REST_MS = 300_000
const BUSY_KEY_REST_MS = 5_000
const MAX_KEY_REST_MS = 600_000

/** A key for a call. */
interface ChosenKey {
  key: UpstreamKey
  /** The keys that its session prefers and that are resting, by number, the most preferred first; null if none is resting. */
  resting: readonly number[] | null
}

export class UpstreamKeys {
  private readonly keys: readonly UpstreamKey[]
  private readonly monotonic: () => number
  private turn = 0

  constructor(secrets: readonly (string | null)[], monotonic: () => number) {
    this.keys = secrets.map((secret, index) => new UpstreamKey(secret, secrets.length > 1 ? index + 1 : null))
    this.monotonic = monotonic
  }

  get areSeveral(): boolean {
    return this.keys.length > 1
  }

  /**
   * The key of a session, by its hash, or the next one in turn without a session. If it rests, the next one in the order of this
   * session; if all rest, the one with the shortest rest.
   */
  choose(session: number | undefined): ChosenKey {
    const { keys } = this
    if (keys.length === 1) return { key: keys[0] as UpstreamKey, resting: null }
    if (session === undefined) return { key: this.nextInTurn(), resting: null }
    const now = this.monotonic()
    let chosen: UpstreamKey | undefined
    let highest = 0
    for (const key of keys) {
      const draw = key.restsUntil <= now ? drawOf(session, key.hash) : 0
      if (draw > highest) [chosen, highest] = [key, draw]
    }
    chosen ??= this.firstAwake()
    return { key: chosen, resting: restingBefore(keys, session, chosen, now) }
  }

  private nextInTurn(): UpstreamKey {
    const { keys, turn } = this
    for (let offset = 0; offset < keys.length; offset++) {
      const key = keys[(turn + offset) % keys.length] as UpstreamKey
      if (key.restsUntil > this.monotonic()) continue
      this.turn = (turn + offset + 1) % keys.length
      return key
    }
    return this.firstAwake()
  }

  private firstAwake(): UpstreamKey {
    return this.keys.reduce((earliest, key) => (key.restsUntil < earliest.restsUntil ? key : earliest))
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

function restingBefore(
  keys: readonly UpstreamKey[],
  session: number,
  chosen: UpstreamKey,
  now: number,
): readonly number[] | null {
  if (keys.every(({ restsUntil }) => restsUntil <= now)) return null
  const drawOfKey = ({ hash }: UpstreamKey) => drawOf(session, hash)
  const preferred = keys.filter((key) => key.restsUntil > now && drawOfKey(key) > drawOfKey(chosen))
  const numbers = preferred
    .toSorted((one, other) => drawOfKey(other) - drawOfKey(one))
    .flatMap(({ number }) => number ?? [])
  return numbers.length > 0 ? numbers : null
}
