// Decides whether a webhook may go to an address, and where exactly it connects: the one thing between callers and the
// operator's own network. It must never let a name be looked up twice, once for the check and once for the connection.

import ipaddr from 'ipaddr.js'
import { invalidRequest } from './lib/errors'

/** An address as a decision: where to connect, or why not. */
export type Target = { url: URL; address: string } | { refused: string }

export interface AddressRules {
  /** Networks that are allowed though they are private, as CIDR: receivers in the operator's own house. */
  allow: readonly string[]
  lookup: Lookup
}

/** All addresses of a host name. */
export type Lookup = (host: string) => Promise<string[]>

const MAX_URL_LENGTH = 2048
/** Where web servers listen. Anything else is as likely a mail server or a database. */
const PORTS = new Set(['', '80', '443', '8080', '8443'])

/** The address to connect to. All addresses of a name must be allowed: which one is used is not the caller's choice. */
export async function resolveTarget(text: string, rules: AddressRules): Promise<Target> {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return { refused: `is not an http or https address of at most ${MAX_URL_LENGTH} characters` }
  }
  if (url.username || url.password) return { refused: 'must not have a user name or a password in it' }
  const host = hostOf(url)
  const addresses = ipaddr.isValid(host) ? [host] : await rules.lookup(host).catch(() => [])
  const [first] = addresses
  if (first === undefined) return { refused: 'has a host name that cannot be resolved' }
  if (addresses.every((address) => isAllowed(address, rules.allow))) return { url, address: first }
  if (!PORTS.has(url.port)) return { refused: `has the port ${url.port}, which webhooks do not go to` }
  if (!addresses.every((address) => isPublic(address) || isAllowed(address, rules.allow))) {
    return { refused: 'points to a private network, which the operator has not allowed' }
  }
  return { url, address: first }
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

function isPublic(address: string): boolean {
  // `process` unpacks IPv4 inside IPv6.
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast'
}

function isAllowed(address: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network)
    return parsed.kind() === base.kind() && parsed.match([base, bits] as never)
  })
}
