// The headers with which files of the documentation are sent: they limit what a browser may do with them. A page must load nothing
// from elsewhere.

export function asset(
  body: string | Uint8Array<ArrayBuffer>,
  contentType: string,
  more: Record<string, string> = {},
): Response {
  return new Response(body, {
    headers: {
      'content-type': contentType,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      ...more,
    },
  })
}

/** Sources of scripts in a security policy: each inline script, by its hash. */
export function ownScripts(html: string): string {
  return [...html.matchAll(/<script[^>]*>([^<]+)<\/script>/g)]
    .map(([, text = '']) => `'sha256-${textDigest(text, 'base64')}'`)
    .join(' ')
}

export function textDigest(text: string, encoding: 'hex' | 'base64' = 'hex'): string {
  return new Bun.CryptoHasher('sha256').update(text).digest(encoding)
}
