// The URL at which callers reach this gateway: the operator's setting, or otherwise the one that this caller used. It must never
// depend on headers such as X-Forwarded-Host: every caller can send them.

export function gatewayUrlOf(
  publicUrl: string | undefined,
  request: Request,
  server: { url: URL } | null,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  // Without a usable Host, a request has no URL except its path.
  return (URL.parse(request.url) ?? server?.url)?.origin ?? ''
}
