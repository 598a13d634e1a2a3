// How long a caller wants to wait for a task to end: `wait=true` or `wait=30`, in the address or the body, or the header
// `Prefer: wait=30` (RFC 7240).

/** Longer than that no proxy keeps a silent connection. */
const MAX_WAIT_MS = 300_000

/** A value of `wait`: true for the longest, or a number of seconds. Anything else is no wish to wait. */
export function waitOf(value: unknown): number {
  if (value === true || value === 'true') return MAX_WAIT_MS
  const seconds =
    typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : 0
  return seconds > 0 ? Math.min(seconds * 1000, MAX_WAIT_MS) : 0
}

/** The longest wish in the address and the `Prefer` header of a request. */
export function waitOfRequest(url: string, prefer: string | null): number {
  const query = url.indexOf('?')
  const inAddress = query === -1 ? 0 : waitOf(new URLSearchParams(url.slice(query)).get('wait'))
  const preferred = /(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])/.exec(prefer ?? '')?.[1]
  return Math.max(inAddress, waitOf(preferred))
}
