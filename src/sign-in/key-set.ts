// The public keys of an identity provider, fetched when a token needs them and kept for a while. Anybody may send tokens: one with
// an unknown key must never cause more than one fetch in half a minute, and a failed fetch is repeated only after ten seconds.

import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters } from 'jose'
import { type IssuerFetch, IssuerUnreachable } from './issuer-fetch'

/** How long keys are used before they are fetched again, in milliseconds. After that, a withdrawn key is refused. */
const FRESH_MS = 10 * 60_000
/** How long keys are still used while they cannot be fetched, in milliseconds. */
const STALE_MS = 3_600_000
const COOLDOWN_MS = 30_000
const RETRY_MS = 10_000
const MAX_KEYS = 100

type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>

/** Thrown for a token whose key the identity provider does not have. */
export class UnknownKey extends Error {}

export class KeySet {
  private find: FindKey | undefined
  private fetchedAt = Number.NEGATIVE_INFINITY
  private failedAt = Number.NEGATIVE_INFINITY
  private failure: unknown
  private fetching: Promise<void> | undefined

  constructor(
    private readonly fetch: IssuerFetch,
    private readonly address: () => Promise<string>,
    private readonly monotonic: () => number,
  ) {}

  /** The key for the header of a token. Rejects with UnknownKey, and with IssuerUnreachable while there are no keys. */
  readonly keyFor: FindKey = async (header) => {
    if (this.ageMs() >= FRESH_MS) await this.refresh()
    const found = await this.lookUp(header)
    if (found) return found
    if (this.ageMs() >= COOLDOWN_MS) await this.refresh()
    const fetched = await this.lookUp(header)
    if (fetched) return fetched
    throw new UnknownKey('the identity provider has no such key')
  }

  private ageMs(): number {
    return this.monotonic() - this.fetchedAt
  }

  private async lookUp(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    if (!this.find) throw this.failure
    try {
      return await this.find(header)
    } catch {
      return undefined
    }
  }

  /** Fetches the keys, once for all waiting callers. If that fails, known keys stay in use for a while. */
  private refresh(): Promise<void> {
    if (this.fetching) return this.fetching
    if (this.monotonic() - this.failedAt < RETRY_MS) return Promise.resolve()
    this.fetching = this.read()
      .catch((error) => {
        this.failedAt = this.monotonic()
        this.failure = error
        if (this.ageMs() >= STALE_MS) this.find = undefined
      })
      .finally(() => {
        this.fetching = undefined
      })
    return this.fetching
  }

  private async read(): Promise<void> {
    const [{ createLocalJWKSet }, address] = await Promise.all([import('jose'), this.address()])
    const response = await this.fetch(address, { headers: { accept: 'application/json' } })
    const read: unknown = response.ok ? await response.json().catch(() => undefined) : undefined
    const keys = (read as Partial<JSONWebKeySet> | undefined)?.keys
    if (!Array.isArray(keys) || keys.length > MAX_KEYS)
      throw new IssuerUnreachable(`the identity provider gave no set of keys (HTTP ${response.status})`)
    this.find = createLocalJWKSet({ keys })
    this.fetchedAt = this.monotonic()
  }
}
