// The address of the client of a request: the caller's own, or the one that a trusted proxy reports. It must never trust
// `x-forwarded-for` from anybody else, because every caller can send it.

import ipaddr from 'ipaddr.js'
import type { Config } from '../config/schema'
import { isInNetworks } from '../lib/network'
import type { Listener } from './connection'

/** The client's address; null if unknown, such as behind a unix socket whose proxy names none. */
export function clientAddressOf(
  request: Request,
  listener: Listener | null,
  { server = {} }: Pick<Config, 'server'>,
): string | null {
  const { trustedProxies = [], unixSocket } = server
  const peer = listener?.requestIP(request)?.address
  if (peer === undefined && unixSocket === undefined) return null
  let client = peer === undefined ? null : peerOf(peer)
  if (client !== null && !isInNetworks(client, trustedProxies)) return client
  // Starting at the last proxy, each names its client; the first untrusted address is the client.
  for (const named of namedBy(request)) {
    const address = addressOf(named)
    if (address === null) break
    client = address
    if (!isInNetworks(address, trustedProxies)) break
  }
  return client
}

/** Addresses of the last peers: reading one takes longer than the rest of the work here. */
const peers = new Map<string, string | null>()
const MAX_PEERS = 1_024

function peerOf(text: string): string | null {
  const known = peers.get(text)
  if (known !== undefined) return known
  if (peers.size >= MAX_PEERS) peers.clear()
  const address = addressOf(text)
  peers.set(text, address)
  return address
}

/** The addresses of `x-forwarded-for`, in reverse order. */
function namedBy({ headers }: Request): string[] {
  const header = headers.get('x-forwarded-for')
  return header === null ? [] : header.split(',').reverse()
}

/** An address without the port that some proxies add; null for anything else. */
function addressOf(text: string): string | null {
  const bare = text
    .trim()
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return ipaddr.isValid(bare) ? ipaddr.process(bare).toString() : null
}
