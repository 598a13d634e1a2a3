// Proxies between this program and servers, as their URLs are written. A password must never appear in an error.

import { withoutBrackets } from '../lib/url-host'

/** A proxy that speaks HTTP without TLS. A server with TLS is reached through a tunnel, which the proxy cannot read. */
export interface HttpProxy {
  hostname: string
  port: number
  /** The field `proxy-authorization`; undefined for a proxy that needs none. */
  authorization: string | undefined
}

const DEFAULT_PORT = 80

/** The code for a proxy's answer if it does not pass a request on. */
export const PROXY_REFUSED = 'EPROXY'

/** The field that authenticates at a proxy, as a line of a head; empty for a proxy that needs none. */
export function authorizationLine({ authorization }: Pick<HttpProxy, 'authorization'>): string {
  return authorization === undefined ? '' : `proxy-authorization: ${authorization}\r\n`
}

/** Reads `http://user:password@proxy.example.com:3128`, also without its scheme. Throws for anything else. */
export function readProxy(text: string): HttpProxy {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url?.protocol !== 'http:' || url.hostname === '') {
    throw new Error('a proxy has an address such as http://proxy.example.com:3128')
  }
  const [user, password] = [url.username, url.password].map(decodeURIComponent)
  return {
    hostname: withoutBrackets(url.hostname),
    port: Number(url.port) || DEFAULT_PORT,
    authorization:
      user || password ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : undefined,
  }
}
