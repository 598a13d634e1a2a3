// Limits the stored requests whose key is unknown, so that a caller without a key cannot fill the disk. It must never drop a
// request of a known key.

import { networkOf } from '../lib/network'
import type { Log } from '../lib/system'
import type { RequestLogRow } from './row'

/** Maximum number of rows per network and minute. */
const MAX_ROWS = 10
/** Number of networks that are counted separately per minute. All others share one count. */
const MAX_NETWORKS = 100
const MINUTE_MS = 60_000
const OTHERS = 'others'

export class UnknownCallers {
  private minute = 0
  /** Requests of this minute, by network. */
  private readonly requests = new Map<string, number>()

  constructor(private readonly log: Log) {}

  /** Whether a request is stored. */
  admits({ keyId, clientAddress, at }: Pick<RequestLogRow, 'keyId' | 'clientAddress' | 'at'>): boolean {
    if (keyId !== null) return true
    this.report(at)
    const network = clientAddress === null ? OTHERS : networkOf(clientAddress)
    const counted = this.requests.has(network) || this.requests.size < MAX_NETWORKS ? network : OTHERS
    const count = (this.requests.get(counted) ?? 0) + 1
    this.requests.set(counted, count)
    return count <= MAX_ROWS
  }

  /** Logs how many requests of a past minute were dropped. */
  report(now: number): void {
    const minute = Math.floor(now / MINUTE_MS)
    if (minute <= this.minute) return
    this.minute = minute
    const excess = [...this.requests].filter(([, count]) => count > MAX_ROWS)
    this.requests.clear()
    const omitted = excess.reduce((sum, [, count]) => sum + count - MAX_ROWS, 0)
    const networks = excess.map(([network]) => network).slice(0, MAX_ROWS)
    if (omitted > 0) this.log('unknown_callers_omitted', { requests: omitted, networks: networks.join(' ') })
  }
}
