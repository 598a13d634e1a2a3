// Tokens of identity providers instead of a token or a key of this gateway, if the configuration accepts them. A verification is
// reused for a minute at most. A token itself must never be stored or logged.

import type { SessionKind } from '../accounts/sessions'
import { GatewayError } from '../lib/errors'
import { isObject } from '../lib/objects'
import type { System } from '../lib/system'
import { type Issuer, SignInRefused } from '../sign-in/issuer'
import { IssuerUnreachable } from '../sign-in/issuer-fetch'
import type { Issuers } from '../sign-in/issuers'
import type { Actor } from './audit-trail'
import { ownerOf, type PeopleWorld } from './people'

export interface BearerWorld extends PeopleWorld, Pick<System, 'monotonic'> {
  issuers: Issuers
}

/** Where a token is used: at the admin API, or for calls of models. */
type TokenUse = 'adminApi' | 'calls'

interface Verified {
  issuer: Issuer
  owner: string
  /** By the monotonic clock. */
  endsAtMs: number
}

const KINDS: Record<TokenUse, SessionKind> = { adminApi: 'admin', calls: 'key' }
const CODES = { adminApi: 'invalid_admin_token', calls: 'invalid_api_key' } as const
/** Three parts in base64url, the first an object in JSON: no secret of this gateway looks like this. */
const FORM = /^eyJ[\w-]+\.([\w-]+)\.[\w-]+$/
const MAX_LENGTH = 8_192
const KEPT_MS = 60_000
const MAX_KEPT = 10_000

export class BearerTokens {
  private readonly verified = new Map<string, Verified>()

  constructor(private readonly world: BearerWorld) {}

  /**
   * The id of the admin or the key for a token, which is created at the first token. Undefined for text without the form of a
   * provider's token, or if such tokens are not accepted. Rejects with 401, 403, and 503 while the provider does not answer.
   */
  async ownerOf(token: string, use: TokenUse, sender?: Omit<Actor, 'name'>): Promise<string | undefined> {
    const takers = [...this.world.issuers.all().values()].filter(({ entry }) => entry.tokens?.[use] === true)
    if (takers.length === 0 || token.length > MAX_LENGTH) return undefined
    const [, payload] = FORM.exec(token) ?? []
    if (payload === undefined) return undefined
    const hash = `${use} ${new Bun.CryptoHasher('sha256').update(token).digest('hex')}`
    const known = this.verified.get(hash)
    if (known && known.endsAtMs > this.world.monotonic() && takers.includes(known.issuer)) return known.owner
    const named = issuerIn(payload)
    const issuer = takers.find(({ entry }) => URL.parse(entry.issuer)?.href === named)
    if (!issuer) throw refused(use, 'This token is not from an identity provider of this gateway.')
    const { owner, leftMs } = await this.verify(token, issuer, use, sender)
    if (this.verified.size >= MAX_KEPT) this.verified.clear()
    this.verified.set(hash, {
      issuer,
      owner,
      endsAtMs: this.world.monotonic() + Math.min(leftMs, KEPT_MS),
    })
    return owner
  }

  private async verify(
    token: string,
    issuer: Issuer,
    use: TokenUse,
    sender: Omit<Actor, 'name'> = { requestId: null, clientAddress: null },
  ): Promise<{ owner: string; leftMs: number }> {
    try {
      const claims = await issuer.verify(token, issuer.audiences)
      const { subject } = await ownerOf(this.world, issuer, claims, [KINDS[use]], sender)
      return { owner: subject, leftMs: Math.max(0, claims.exp * 1_000 - this.world.now()) }
    } catch (error) {
      if (error instanceof SignInRefused)
        throw refused(use, `This token of ${issuer.title} is not valid here: ${error.message}.`)
      if (error instanceof IssuerUnreachable)
        throw new GatewayError(503, {
          code: 'issuer_unavailable',
          message: `${issuer.title} is not answering, so its tokens cannot be verified. Try again in a moment.`,
        })
      throw error
    }
  }
}

/** The issuer in a token, still unverified. */
function issuerIn(payload: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return isObject(claims) && typeof claims.iss === 'string' ? URL.parse(claims.iss)?.href : undefined
  } catch {
    return undefined
  }
}

function refused(use: TokenUse, message: string): GatewayError {
  return new GatewayError(401, {
    code: CODES[use],
    type: 'invalid_request_error',
    message,
    headers: { 'www-authenticate': 'Bearer' },
  })
}
