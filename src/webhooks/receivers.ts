// The servers that webhooks go to, with the connections to them that are kept open for the next webhook. It must never
// use a connection for another name, or for another address than the one that was checked.

import type { Origin, Transport } from '../http-client/transport'

/** Receivers whose connections are kept; the one that was used longest ago gives way. */
const MOST_KEPT = 64

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
    // The order of a map is that of insertion, so the one that was used last stands last.
    this.origins.delete(key)
    this.origins.set(key, origin)
    for (const [oldest, { close }] of this.origins) {
      if (this.origins.size <= MOST_KEPT) break
      this.origins.delete(oldest)
      close()
    }
    return origin
  }

  /** Closes the connections that wait for a webhook, and the others when theirs has been answered. */
  close(): void {
    for (const { close } of this.origins.values()) close()
    this.origins.clear()
  }
}
