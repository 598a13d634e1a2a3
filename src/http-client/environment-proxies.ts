// The proxies that the environment names, read as most tools do. This machine itself must never be reached through one: the proxy
// would reach its own.

import ipaddr from 'ipaddr.js'
import { isLoopback, withoutBrackets } from '../lib/url-host'
import { openOrigin } from './origin'
import { readProxy } from './proxy'
import type { Transport } from './transport'

/** Variables of the environment. */
export type Variables = Readonly<Record<string, string | undefined>>

const NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/**
 * The transport that uses the proxies of the environment, unless a server's own settings say otherwise. Throws if one of them is
 * not a proxy URL.
 */
export function transportBehind(variables: Variables): Transport {
  for (const name of NAMES) if (variables[name]) readProxy(variables[name])
  return {
    open(url, options = {}) {
      const proxy = options.proxy === undefined ? proxyFor(new URL(url), variables) : options.proxy
      return openOrigin(url, { ...options, proxy: proxy ?? null })
    },
  }
}

/** The proxy that the environment names for a server; undefined if it names none. This machine is never reached through one. */
export function proxyFor(server: URL, variables: Variables): string | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = variables[name.toLowerCase()] || variables[name]
  if (!proxy || isLoopback(server.hostname)) return undefined
  const exceptions = (variables.no_proxy || variables.NO_PROXY || '').split(/[\s,]+/).filter(Boolean)
  return exceptions.some((exception) => isNamed(server, exception)) ? undefined : proxy
}

/** Whether an entry of NO_PROXY names a server: `*`, a host with all below it, an address, or a network; optionally with a port. */
function isNamed(server: URL, exception: string): boolean {
  if (exception === '*') return true
  const host = withoutBrackets(server.hostname).replace(/\.$/, '')
  if (exception.includes('/')) return isInNetwork(host, exception)
  const [, name = '', port] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(exception.toLowerCase()) ?? []
  const usual = server.protocol === 'https:' ? '443' : '80'
  if (port !== undefined && port !== (server.port || usual)) return false
  const bare = withoutBrackets(name).replace(/^\*?\./, '')
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`))
}

function isInNetwork(host: string, network: string): boolean {
  if (!ipaddr.isValid(host) || !ipaddr.isValidCIDR(network)) return false
  const address = ipaddr.process(host)
  const range = ipaddr.parseCIDR(network)
  return address.kind() === range[0].kind() && address.match(range)
}
