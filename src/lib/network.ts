// Classifies addresses: the network of a caller, whether a list of networks contains it, and whether it is public. It must never
// give one caller with IPv6 many networks, or look up a name.

import ipaddr from 'ipaddr.js'
import { withoutBrackets } from './url-host'

type Network = ReturnType<typeof ipaddr.parseCIDR>

/** The networks of each list that was read, because a list is the same for many requests. */
const networksOf = new WeakMap<readonly string[], Network[]>()

/** The only part of IPv6 that is assigned to the public; the rest leads to translators or is reserved. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** The bits of IPv6 before an IPv4 address that is inside it. */
const MAPPED_BITS = 96
/** A public address that serves cloud machines their settings (Azure's agent). */
const CLOUD_AGENT = '168.63.129.16'
/** Names that no public name server knows: those of this machine, a local network, or a cloud's metadata service. */
const PRIVATE_NAME = /^[^.]*$|(?:^|\.)(?:localhost|local|lan|internal|home\.arpa)$/i
/** Maximum number of characters of a text in which an address is searched. */
const HEAD_LENGTH = 4096
/** A file path, for servers that accept one instead of a URL. */
const PATH = /^(?:[/\\]|\.{1,2}[/\\]|~|[a-z]:[/\\])/i
/** Plain base64, which may begin with a slash. */
const BASE64 = /^[A-Za-z0-9+/]{64,}={0,2}$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

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

/** Whether an address is in one of the networks (CIDR). */
export function isInNetworks(address: string, networks: readonly string[]): boolean {
  if (networks.length === 0) return false
  const parsed = ipaddr.process(address)
  return parsedNetworks(networks).some(
    ([network, bits]) => parsed.kind() === network.kind() && parsed.match([network, bits] as never),
  )
}

function parsedNetworks(networks: readonly string[]): Network[] {
  let parsed = networksOf.get(networks)
  if (!parsed) {
    parsed = networks.map((network) => ipaddr.parseCIDR(network))
    networksOf.set(networks, parsed)
  }
  return parsed
}

/**
 * The network in CIDR form that a text names, without host bits: `10.1.2.3/8` is `10.0.0.0/8`. A single address is a network of
 * one. Undefined if the text names neither.
 */
export function networkNamed(text: string): string | undefined {
  // A zone such as `%eth0` has a meaning on one machine only.
  if (text.includes('%')) return undefined
  const cidr = ipaddr.isValid(text) ? `${text}/${text.includes(':') ? 128 : 32}` : text
  if (!ipaddr.isValidCIDR(cidr)) return undefined
  const [address, bits] = ipaddr.parseCIDR(cidr)
  if (address.kind() === 'ipv4') return `${ipaddr.IPv4.networkAddressFromCIDR(cidr)}/${bits}`
  // Addresses of callers are compared as IPv4 if they are IPv4 inside IPv6.
  const mapped = address as ipaddr.IPv6
  if (mapped.isIPv4MappedAddress() && bits >= MAPPED_BITS)
    return networkNamed(`${mapped.toIPv4Address()}/${bits - MAPPED_BITS}`)
  return `${ipaddr.IPv6.networkAddressFromCIDR(cidr)}/${bits}`
}

/** Whether an IP address is public. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // `process` unpacks IPv4 inside IPv6.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(PUBLIC_IPV6) : parsed.toString() !== CLOUD_AGENT
}

/** The host of a URL without the brackets of IPv6 and without the trailing dot of a full name. */
export function hostOf(url: URL): string {
  return withoutBrackets(url.hostname).replace(/\.$/, '')
}

/**
 * Whether a text names a file of the machine that reads it, or a host that is not public by its address or name. Host names are
 * not resolved: a public name may still have a private address.
 */
export function isPrivatePlace(text: string): boolean {
  const head = text.slice(0, HEAD_LENGTH).trimStart()
  if (PATH.test(head)) return !BASE64.test(head.trimEnd())
  if (!SCHEME.test(head) || /^data:/i.test(head)) return false
  const url = URL.parse(head)
  if (!url) return false
  if (url.protocol === 'file:') return true
  const host = hostOf(url)
  if (ipaddr.isValid(host)) return !isPublic(host)
  // In other schemes, such as `oss:`, the name is that of a bucket.
  return /^(?:https?|ftp):$/.test(url.protocol) && PRIVATE_NAME.test(host)
}
