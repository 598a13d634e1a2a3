// Dates relative to today. A test names each once, before it starts a gateway: another call after midnight returns another date.

/** The date this number of days from now, in UTC. */
export function dayIn(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
}
