// Distinguishes requests of programs on this machine from those of others: anything for this machine only is hidden from everybody
// else. A proxy on this machine forwards requests of others, so it must never count as this machine.

import type { Listener } from '../http/connection'
import { GatewayError } from '../lib/errors'

const LOCAL_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
/** A page of another site whose name was pointed at this machine sends that name as its host. */
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/**
 * Headers that only proxies, load balancers and content delivery networks send. `Forwarded`: RFC 7239; `Via` and `Max-Forwards`:
 * RFC 9110, 7.6; `CDN-Loop`: RFC 8586; the others are in the documents of nginx, Envoy, Cloudflare, Fastly, Akamai, Fly, Vercel,
 * Tailscale and the large clouds, and of products that send the address of a client under names of their own.
 */
const OF_PROXIES = [
  /^(via|max-forwards|cdn-loop|proxy-.+)$/,
  /^(x-)?(forwarded|original|real|remote|source|client|true-client|cluster-client|proxyuser|coming)(-.+)?$/,
  /^(x-)?(cf|cloudfront|fastly|akamai|fly|envoy|amzn?|arr|appengine|vercel|nf|tailscale|do)-.+/,
  /(client|socket|connecting|remote|user|viewer|peer)-?(ip|addr|address)$/,
  /^(x-(cloud-trace-context|proxy-.+|host|scheme|ssl-.+|request-start|originating-ip|rewrite-url)|wl-proxy-.+|ssl-client-.+)$/,
]

/**
 * Whether the caller is a program on this machine, and neither a proxy for somebody else nor a page of another site. A proxy that
 * speaks HTTP/1.0, as nginx does by default, closes each connection and says so; the version itself is not shown to a handler.
 */
export function isLocal(request: Request, listener: Listener | null): boolean {
  const { headers } = request
  return (
    LOCAL_ADDRESS.test(listener?.requestIP(request)?.address ?? '') &&
    LOCAL_HOST.test(headers.get('host') ?? '') &&
    !/\bclose\b/i.test(headers.get('connection') ?? '') &&
    ![...headers.keys()].some((name) => OF_PROXIES.some((pattern) => pattern.test(name)))
  )
}

/** The error for other machines, which is the same as for a missing path. */
export function notFoundForOthers(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message:
      "This address does not serve other machines, proxies or clients that send 'Connection: close'. GET /openapi.json lists all operations.",
  })
}
