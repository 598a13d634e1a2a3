// Limits failed attempts, such as wrong tokens, by the address of the client. A correct token is never refused because of attempts
// from other addresses; attempts must never fill the memory.

import { GatewayError } from '../lib/errors'

const MAX_FAILURES = 10
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

interface Failures {
  count: number
  endsAt: number
}

export class AttemptLimit {
  private readonly failures = new Map<string, Failures>()

  constructor(
    private readonly monotonic: () => number,
    private readonly what = 'attempts with a wrong token',
  ) {}

  /** Throws 429 for an address with too many failures within a minute. */
  check(address: string): void {
    const { count = 0, endsAt = 0 } = this.failures.get(address) ?? {}
    const leftMs = endsAt - this.monotonic()
    if (count < MAX_FAILURES || leftMs <= 0) return
    const seconds = Math.ceil(leftMs / 1000)
    throw new GatewayError(429, {
      code: 'too_many_attempts',
      message: `Too many ${this.what} from this address. Try again in ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    })
  }

  /** Counts a failure. */
  fail(address: string): void {
    const now = this.monotonic()
    const known = this.failures.get(address)
    if (known && known.endsAt > now) {
      known.count++
      return
    }
    // The oldest is removed: entries are in the order of creation.
    this.failures.delete(address)
    if (this.failures.size >= MAX_ADDRESSES) this.failures.delete(this.failures.keys().next().value as string)
    this.failures.set(address, { count: 1, endsAt: now + WINDOW_MS })
  }
}
