// Counts the running requests of each key in this process, as soon as the key is known: bodies in transfer use memory and
// connections too. A counted request must be uncounted exactly once.

import type { Key } from '../accounts/keys'
import { tooManyRunning } from '../billing/ledger/limits'
import type { Config } from '../config/schema'

/** Maximum number of requests per key in this process. The key's own limit is in the database, exact on any number of nodes. */
const MAX_REQUESTS_PER_KEY = 2_000

export class RunningRequests {
  private readonly world: { readonly config: Pick<Config, 'server'> }
  private readonly counts = new Map<string, number>()

  constructor(world: { readonly config: Pick<Config, 'server'> }) {
    this.world = world
  }

  /** Counts a request of a key. Throws 429 if the key has too many. */
  enter(key: Key): void {
    const count = this.counts.get(key.id) ?? 0
    const most = Math.max(
      this.world.config.server?.maxRequestsPerKey ?? MAX_REQUESTS_PER_KEY,
      key.concurrency ?? 0,
    )
    if (count >= most) throw tooManyRunning(most)
    this.counts.set(key.id, count + 1)
  }

  leave({ id }: Key): void {
    const count = this.counts.get(id) ?? 0
    if (count > 1) this.counts.set(id, count - 1)
    else this.counts.delete(id)
  }
}
