// Where callers reach this gateway: as the operator says, or else as this caller called it.
// Headers such as X-Forwarded-Host must not decide it: every caller can send them.

export function gatewayUrlOf(
  publicUrl: string | undefined,
  request: Request,
  server: { url: URL } | null,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  // A request without a usable Host has no address but its path.
  return (URL.parse(request.url) ?? server?.url)?.origin ?? ''
}
