// Decides whether a webhook may be sent to a URL, and to which IP address it connects. It must never look up a name twice, once for
// the check and once for the connection, because the answers could differ.

import ipaddr from 'ipaddr.js'
import { invalidRequest } from '../lib/errors'
import { hostOf, isPublic } from '../lib/network'

/** The decision on a URL: the addresses to connect to, the best first, or why not. */
export type Target = { url: URL; host: string; addresses: string[] } | { refused: string }

export interface AddressRules {
  /** Allowed private networks, as CIDR: receivers in the operator's own network. */
  allow: readonly string[]
  lookup: Lookup
  /** Maximum time for a look-up. */
  lookupTimeoutMs?: number
}

/** Looks up all addresses of a host name. */
export type Lookup = (host: string) => Promise<string[]>

const MAX_URL_LENGTH = 2048
const LOOKUP_TIMEOUT_MS = 5_000
/** Ports of web servers. Any other port is as likely a mail server or a database. */
const PORTS = new Set(['', '80', '443', '8080', '8443'])

/**
 * Decides where to connect. All addresses of a name must be allowed, because the caller must not choose which one is
 * used.
 */
export async function resolveTarget(text: string, rules: AddressRules): Promise<Target> {
  // Some databases cannot store a NUL, and parsers silently drop line breaks from addresses.
  const url = text.length > MAX_URL_LENGTH || /\p{Cc}/u.test(text) ? null : URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return { refused: `is not an http or https address of at most ${MAX_URL_LENGTH} characters` }
  }
  if (url.username || url.password) return { refused: 'must not have a user name or a password in it' }
  const host = hostOf(url)
  const addresses = ipaddr.isValid(host) ? [host] : await lookUp(host, rules)
  if (addresses.length === 0) return { refused: 'has a host name that cannot be resolved' }
  const target = { url, host, addresses: firstOfEachKind(addresses) }
  if (addresses.every((address) => isAllowed(address, rules.allow))) return target
  if (!PORTS.has(url.port)) {
    return { refused: `has the port ${url.port}; webhooks go to the ports 80, 443, 8080 and 8443` }
  }
  if (!addresses.every((address) => isPublic(address) || isAllowed(address, rules.allow))) {
    return { refused: 'points to a private network, which the operator has not allowed' }
  }
  return target
}

/** Throws 400 for a request whose webhook cannot be delivered. Names are looked up again for each delivery. */
export async function checkWebhook(body: unknown, rules: AddressRules): Promise<void> {
  const { webhook_url: url } = body as { webhook_url?: string | null }
  if (url === undefined || url === null) return
  const target = await resolveTarget(url, rules)
  if ('refused' in target) throw invalidRequest('webhook_url', `Invalid 'webhook_url': it ${target.refused}.`)
}

/** The addresses of a name; empty if there is no answer in time. A name server may be arbitrarily slow. */
async function lookUp(host: string, rules: AddressRules): Promise<string[]> {
  const late = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => late.resolve([]), rules.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS)
  const found = rules.lookup(host).catch(() => [])
  return await Promise.race([found, late.promise]).finally(() => clearTimeout(timer))
}

/** One IPv4 and one IPv6 address: a machine may have only one of the two, and more would let callers scan networks. */
function firstOfEachKind(addresses: readonly string[]): string[] {
  return addresses.filter((address, index) => {
    return index === addresses.findIndex((other) => other.includes(':') === address.includes(':'))
  })
}

function isAllowed(address: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network)
    return parsed.kind() === base.kind() && parsed.match([base, bits] as never)
  })
}
