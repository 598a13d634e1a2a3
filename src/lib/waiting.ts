// Reads whether a caller wants the answer later, and how long it wants to wait for a task: `wait=true` or `wait=30` in the URL or
// the body, or the header `Prefer: wait=30` (RFC 7240). It must never fail a request: unreadable values mean no wait.

/** Maximum wait: proxies cut connections that are silent for longer. */
const MAX_WAIT_MS = 300_000

/** Milliseconds for a value of `wait`: true is the maximum wait, a number is seconds. Other values mean 0. */
export function waitOf(value: unknown): number {
  if (value === true || value === 'true') return MAX_WAIT_MS
  const seconds =
    typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : 0
  return seconds > 0 ? Math.min(seconds * 1000, MAX_WAIT_MS) : 0
}

/** The longer of the waits in the URL and in the `Prefer` header, in milliseconds. */
export function waitOfRequest(url: string, prefer: string | null): number {
  const query = url.indexOf('?')
  const inAddress = query === -1 ? 0 : waitOf(new URLSearchParams(url.slice(query)).get('wait'))
  const preferred = /(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])/.exec(prefer ?? '')?.[1]
  return Math.max(inAddress, waitOf(preferred))
}

/** Whether a `Prefer` header requests a later answer: `respond-async` (RFC 7240, section 4.1). */
export function prefersLater(prefer: string): boolean {
  return /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i.test(prefer)
}
