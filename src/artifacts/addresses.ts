// Signed URLs of artifacts: anybody with one may read that artifact until it expires, without a key. Only this gateway's secret can
// create one, and a signature must never be valid for another id or another time.

import { timingSafeEqual } from 'node:crypto'

/** Path of artifacts below the origin. */
export const ARTIFACTS_PATH = '/v1/artifacts'

export interface ArtifactAddresses {
  of(origin: string, id: string, expiresAt: number): string
  /** Whether a URL was made here and has not expired. */
  holds(id: string, expires: string, signature: string, now: number): boolean
}

export function createAddresses(secret: string): ArtifactAddresses {
  const sign = (id: string, expires: string) =>
    new Bun.CryptoHasher('sha256', secret).update(`artifact\n${id}\n${expires}`).digest('base64url')
  return {
    of(origin, id, expiresAt) {
      const expires = String(Math.floor(expiresAt / 1000))
      return `${origin}${ARTIFACTS_PATH}/${id}?expires=${expires}&signature=${sign(id, expires)}`
    },
    holds(id, expires, signature, now) {
      // Exactly one spelling is accepted, so that no artifact has two URLs.
      if (!/^art_[0-9a-f]{32}$/.test(id) || !/^[1-9]\d{0,11}$/.test(expires)) return false
      const right = Buffer.from(sign(id, expires))
      const given = Buffer.from(signature)
      if (given.length !== right.length || !timingSafeEqual(given, right)) return false
      return Number(expires) * 1000 > now
    },
  }
}
