// Hosts in URLs: an IPv6 address has brackets. Pure: no name is looked up.

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** A host name or IP address in the form for URLs: `[::1]` for `::1`. */
export function inBrackets(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** The `hostname` of a URL in the form that sockets accept: `::1` for `[::1]`. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** Whether the `hostname` of a URL names this machine itself. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname)
}
