// The network that an address belongs to, for limits per caller. It must never give one caller of IPv6 many networks.

import ipaddr from 'ipaddr.js'

/** The address itself, or with IPv6 its first 64 bits, because callers choose the rest. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return address
  const { parts } = parsed as ipaddr.IPv6
  return (parsed as ipaddr.IPv6).isIPv4MappedAddress()
    ? (parsed as ipaddr.IPv6).toIPv4Address().toString()
    : `${parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::`
}
