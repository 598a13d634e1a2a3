// Tokens for the keys of an upstream that does not send the keys themselves: obtained once for all waiting calls, kept until they
// expire, and renewed in advance. It must never send a key anywhere except to the address that the key itself names, or use an
// expired token.

import type { TokenExchange } from '../contract/upstream'
import type { OpenOptions, Origin, Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import { parseForeign } from '../lib/json/json'
import type { UpstreamKey } from './upstream-keys'

interface Held {
  token: string
  renewAt: number
  endsAt: number
}

/** How long before its expiry a token is renewed, while the old one is still used. */
const RENEW_MS = 300_000
/** How long before its expiry a token is no longer used. */
const MARGIN_MS = 30_000
/** A failed early renewal is retried after this time. */
const RETRY_MS = 10_000
const TIMEOUT_MS = 15_000
const MAX_REPLY_BYTES = 64 * 1024

/** Thrown if a key was not exchanged. The message is for the operator, without the key. */
export class NoToken extends Error {}

export interface ObtainedToken {
  token: string
  lifeMs: number
}

/** Obtains the token of a key. Throws NoToken. */
type Obtain = (secret: string) => Promise<ObtainedToken>

interface Parts {
  monotonic: () => number
  /** Called with each token before it is used, so that no answer can show it. */
  hide(token: string): void
}

export class Tokens {
  private readonly held = new Map<UpstreamKey, Held>()
  private readonly running = new Map<UpstreamKey, Promise<Held>>()

  constructor(
    private readonly obtainFor: Obtain,
    private readonly parts: Parts,
  ) {}

  /** The token of a key, or the key itself if it is one. Throws NoToken. */
  of(key: UpstreamKey): string | Promise<string> {
    const held = this.held.get(key)
    const now = this.parts.monotonic()
    if (held && now < held.endsAt) {
      if (now >= held.renewAt) {
        held.renewAt = now + RETRY_MS
        this.renew(key).catch(() => {})
      }
      return held.token
    }
    return this.renew(key).then(({ token }) => token)
  }

  /** Discards a token that the vendor no longer accepts. */
  forget(key: UpstreamKey): void {
    this.held.delete(key)
  }

  private renew(key: UpstreamKey): Promise<Held> {
    let running = this.running.get(key)
    if (!running) {
      running = this.obtain(key).finally(() => this.running.delete(key))
      this.running.set(key, running)
    }
    return running
  }

  private async obtain(key: UpstreamKey): Promise<Held> {
    const at = this.parts.monotonic()
    const { token, lifeMs } = await this.obtainFor(key.secret ?? '')
    const held = { token, endsAt: at + lifeMs - MARGIN_MS, renewAt: at + lifeMs - RENEW_MS }
    this.parts.hide(token)
    key.headers.clear()
    key.streamHeaders.clear()
    this.held.set(key, held)
    return held
  }
}

interface Exchanging {
  transport: Transport
  options: OpenOptions
  wall: () => number
}

/** Obtains tokens by the exchange of a kind. */
export function exchanged(exchange: TokenExchange, { transport, options, wall }: Exchanging): Obtain {
  return async (secret) => {
    const request = requestFor(exchange, secret, wall())
    if (!request) return { token: secret, lifeMs: Number.POSITIVE_INFINITY }
    return send(exchange, request, transport.open(request.url, options))
  }
}

function requestFor(
  exchange: TokenExchange,
  secret: string,
  atMs: number,
): ReturnType<TokenExchange['request']> {
  try {
    return exchange.request(secret, atMs)
  } catch (error) {
    throw new NoToken(error instanceof Error ? error.message : String(error))
  }
}

async function send(
  exchange: TokenExchange,
  { url, headers, body }: NonNullable<ReturnType<TokenExchange['request']>>,
  origin: Origin,
): Promise<ObtainedToken> {
  const { pathname, search } = new URL(url)
  const cancel = new CancelToken()
  const timer = setTimeout(() => cancel.abort(new NoToken('no token came in time')), TIMEOUT_MS)
  try {
    const path = pathname + search
    const response = await origin.send({ method: 'POST', path, headers, body, signal: cancel.signal })
    const reply = parseForeign(new TextDecoder().decode(await response.body.bytes(MAX_REPLY_BYTES)))
    const read = response.ok ? exchange.read(reply) : undefined
    if (read) return read
    const { error, error_description: why } = (reply ?? {}) as Record<string, unknown>
    throw new NoToken(`the key was not exchanged (HTTP ${response.status}): ${String(why ?? error ?? '')}`)
  } catch (error) {
    throw error instanceof NoToken ? error : new NoToken(`the key was not exchanged: ${String(error)}`)
  } finally {
    clearTimeout(timer)
    origin.close()
  }
}
