// The servers that receive webhooks, with connections kept open for the next one. A connection must never be used for another name,
// or for another address than the one that was checked.

import type { Origin, Transport } from '../http-client/transport'

/** Number of receivers whose connections are kept; the least recently used is dropped first. */
const MAX_KEPT = 64

export class Receivers {
  private readonly transport: Transport
  private readonly origins = new Map<string, Origin>()

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** The server of an address, by the IP address that was checked for this attempt. */
  at({ origin: name, href }: URL, address: string): Origin {
    const key = `${name} ${address}`
    const origin = this.origins.get(key) ?? this.transport.open(href, { address })
    // A map keeps the order of insertion, so the most recently used is last.
    this.origins.delete(key)
    this.origins.set(key, origin)
    for (const [oldest, unused] of this.origins) {
      if (this.origins.size <= MAX_KEPT) break
      this.origins.delete(oldest)
      unused.close()
    }
    return origin
  }

  /** Closes idle connections at once, and busy ones after their answer. */
  close(): void {
    for (const origin of this.origins.values()) origin.close()
    this.origins.clear()
  }
}
