// The address at which callers reach this gateway: as the operator sets it, or else as this caller called it. It must
// never depend on headers such as X-Forwarded-Host: every caller can send them.

export function gatewayUrlOf(
  publicUrl: string | undefined,
  request: Request,
  server: { url: URL } | null,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  // A request without a usable Host has no address but its path.
  return (URL.parse(request.url) ?? server?.url)?.origin ?? ''
}
