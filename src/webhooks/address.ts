// Decides whether a webhook may go to an address, and where exactly it connects: the one thing between callers and the
// operator's own network. It must never let a name be looked up twice, once for the check and once for the connection.

import ipaddr from 'ipaddr.js'
import { invalidRequest } from '../lib/errors'

/** An address as a decision: where to connect, the best first, or why not. */
export type Target = { url: URL; host: string; addresses: string[] } | { refused: string }

export interface AddressRules {
  /** Networks that are allowed though they are private, as CIDR: receivers in the operator's own house. */
  allow: readonly string[]
  lookup: Lookup
  /** How long a look-up may take. */
  lookupTimeoutMs?: number
}

/** All addresses of a host name. */
export type Lookup = (host: string) => Promise<string[]>

const MAX_URL_LENGTH = 2048
const LOOKUP_TIMEOUT_MS = 5_000
/** Where web servers listen. Anything else is as likely a mail server or a database. */
const PORTS = new Set(['', '80', '443', '8080', '8443'])
/** The only part of IPv6 that is given out to the public; the rest leads to translators and to what is to come. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** A public address that stands for the inside of a cloud: the agent that serves its machines their settings. */
const CLOUD_AGENT = '168.63.129.16'

/** Where to connect. All addresses of a name must be allowed: which one is used is not the caller's choice. */
export async function resolveTarget(text: string, rules: AddressRules): Promise<Target> {
  // Some databases cannot store a NUL, and no address needs line breaks, which parsers silently leave out.
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

/** Refuses a request whose webhook could not be delivered. Names are looked up again for each delivery. */
export async function checkWebhook(body: unknown, rules: AddressRules): Promise<void> {
  const { webhook_url: url } = body as { webhook_url?: string | null }
  if (url === undefined || url === null) return
  const target = await resolveTarget(url, rules)
  if ('refused' in target) throw invalidRequest('webhook_url', `Invalid 'webhook_url': it ${target.refused}.`)
}

/** Without the brackets of IPv6, and without the dot that ends a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** None where there is no answer in time: a name server may be as slow as its owner likes. */
async function lookUp(host: string, rules: AddressRules): Promise<string[]> {
  const late = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => late.resolve([]), rules.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS)
  const found = rules.lookup(host).catch(() => [])
  return await Promise.race([found, late.promise]).finally(() => clearTimeout(timer))
}

/** One IPv4 and one IPv6 address: a machine may have only one of the two, and more would let callers scan with our help. */
function firstOfEachKind(addresses: readonly string[]): string[] {
  return addresses.filter((address, index) => {
    return index === addresses.findIndex((other) => other.includes(':') === address.includes(':'))
  })
}

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // `process` unpacks IPv4 inside IPv6.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(PUBLIC_IPV6) : parsed.toString() !== CLOUD_AGENT
}

function isAllowed(address: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network)
    return parsed.kind() === base.kind() && parsed.match([base, bits] as never)
  })
}
