// An identity provider as this gateway uses it: its URLs, sending a browser there and back with a code, checking a session, and its
// tokens. It must never accept an unverified token: issuer, audience, signature, time.

import { readFileSync } from 'node:fs'
import type { JWTPayload } from 'jose'
import type { Configuration } from 'openid-client'
import type { SignInEntry } from '../config/sign-in'
import type { Transport } from '../http-client/transport'
import type { System } from '../lib/system'
import { isLoopback } from '../lib/url-host'
import { type IssuerFetch, IssuerUnreachable, issuerFetch } from './issuer-fetch'
import { KeySet } from './key-set'
import { type Claims, hasGroups } from './membership'

export interface IssuerWorld extends Pick<System, 'now' | 'monotonic'> {
  transport: Transport
}

/** Secrets of one sign-in, which identify its answer. */
export interface Expected {
  state: string
  nonce: string
  verifier: string
}

/** The person who signed in, as the identity provider describes them. */
export interface SignedInPerson {
  claims: Claims
  /** Checks whether the session continues; undefined if the provider supports no check. */
  refreshToken: string | undefined
  /** Identifies the session at its end. */
  idToken: string
}

/** Thrown for a token, a code or a session that the identity provider or this gateway refuses. The message has no part of them. */
export class SignInRefused extends Error {}

const DEFAULT_SCOPES = 'openid profile email'
/** How long the URLs of a provider are cached, in milliseconds, and how long it is not asked again if it returned no URLs. */
const ADDRESSES_MS = 3_600_000
const RETRY_MS = 10_000
/** Maximum difference between the two clocks. */
const SKEW_SECONDS = 60
/** A longer ID token is left out of the sign-out URL, whose length servers limit. */
const MAX_HINT_LENGTH = 4_000
/** Signatures with a public key only: a token that is signed with a shared secret, or not at all, is refused. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** Types in the header of tokens of people. A logout token has a different type. */
const TOKEN_TYPES = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt'])

export class Issuer {
  readonly scopes: string
  private readonly fetch: IssuerFetch
  private readonly keys: KeySet
  private addresses: { at: number; found: Promise<Configuration>; hasFailed: boolean } | undefined

  constructor(
    readonly name: string,
    readonly entry: SignInEntry,
    private readonly world: IssuerWorld,
  ) {
    const { tls } = entry
    this.scopes = entry.scopes ?? DEFAULT_SCOPES
    this.fetch = issuerFetch(world.transport, () =>
      tls === undefined ? {} : { tls: { ca: readFileSync(tls.caFile, 'utf8') } },
    )
    this.keys = new KeySet(this.fetch, () => this.keysAddress(), world.monotonic)
  }

  /** The text on its button. */
  get title(): string {
    return this.entry.title ?? this.name
  }

  /** The audiences of tokens that are accepted in place of those of this gateway. */
  get audiences(): string[] {
    const { clientId, tokens: { audience, cliClientId = clientId } = {} } = this.entry
    return audience === undefined ? [clientId, cliClientId] : [audience, cliClientId]
  }

  /** The URL where a browser signs in, and from which it returns to `redirectUri`. */
  async signInAddress(redirectUri: string, { state, nonce, verifier }: Expected): Promise<string> {
    const [config, { buildAuthorizationUrl, calculatePKCECodeChallenge }] = await this.parts()
    const url = buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.scopes,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return url.href
  }

  /** Exchanges the code in the URL that a browser returned to. Rejects with SignInRefused and IssuerUnreachable. */
  async exchange(address: URL, { state, nonce, verifier }: Expected): Promise<SignedInPerson> {
    const [config, { authorizationCodeGrant }] = await this.parts()
    const tokens = await refusing(
      authorizationCodeGrant(config, address, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      }),
    )
    const idToken = tokens.id_token ?? ''
    const claims = await this.verify(idToken, this.entry.clientId)
    return {
      claims: await this.withGroups(claims, tokens.access_token),
      refreshToken: tokens.refresh_token,
      idToken,
    }
  }

  /**
   * Asks whether a session continues. Returns no claims if the provider sends none. Rejects with SignInRefused if it has ended
   * there.
   */
  async refresh(refreshToken: string): Promise<Partial<SignedInPerson>> {
    const [config, { refreshTokenGrant }] = await this.parts()
    const tokens = await refusing(refreshTokenGrant(config, refreshToken))
    const idToken = tokens.id_token
    if (idToken === undefined) return { refreshToken: tokens.refresh_token }
    const claims = await this.verify(idToken, this.entry.clientId)
    return {
      claims: await this.withGroups(claims, tokens.access_token),
      refreshToken: tokens.refresh_token,
      idToken,
    }
  }

  /**
   * The URL where a browser also signs out of the provider; undefined if the provider has none. With the ID token of the session,
   * the provider need not ask which session is meant (OpenID Connect RP-Initiated Logout 1.0, section 2).
   */
  async signOutAddress(backTo: string, idToken: string | undefined): Promise<string | undefined> {
    const [config, { buildEndSessionUrl }] = await this.parts()
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined
    const hint = idToken !== undefined && idToken.length <= MAX_HINT_LENGTH && { id_token_hint: idToken }
    return buildEndSessionUrl(config, { post_logout_redirect_uri: backTo, ...hint }).href
  }

  /** The claims of a token of this provider for an audience. Rejects with SignInRefused and IssuerUnreachable. */
  async verify(
    token: string,
    audience: string | string[],
  ): Promise<Claims & Required<Pick<JWTPayload, 'sub' | 'iat' | 'exp'>>> {
    const [[config], { jwtVerify }] = await Promise.all([this.parts(), import('jose')])
    const { payload, protectedHeader } = await refusing(
      jwtVerify(token, this.keys.keyFor, {
        issuer: config.serverMetadata().issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(this.world.now()),
        requiredClaims: ['sub', 'iat', 'exp'],
      }),
    )
    const { sub, iat, exp } = payload
    if (!TOKEN_TYPES.has(protectedHeader.typ?.toLowerCase()) || payload.events !== undefined)
      throw new SignInRefused('this is not a token of a person')
    if (typeof sub !== 'string' || sub === '' || sub.length > 255)
      throw new SignInRefused('the token names no person')
    if (typeof iat !== 'number' || typeof exp !== 'number') throw new SignInRefused('the token has no time')
    if (iat > this.world.now() / 1_000 + SKEW_SECONDS) throw new SignInRefused('the token is from the future')
    return { ...payload, sub, iat, exp }
  }

  /** The claims, with those of the provider's userinfo endpoint if the token does not list groups. */
  private async withGroups(claims: Claims & { sub: string }, accessToken: string): Promise<Claims> {
    if (hasGroups(claims, this.entry)) return claims
    const [config, { fetchUserInfo }] = await this.parts()
    if (config.serverMetadata().userinfo_endpoint === undefined) return claims
    return { ...(await refusing(fetchUserInfo(config, accessToken, claims.sub))), ...claims }
  }

  private async keysAddress(): Promise<string> {
    const [config] = await this.parts()
    const { jwks_uri: address } = config.serverMetadata()
    if (address === undefined) throw new IssuerUnreachable(`${this.entry.issuer} names no keys`)
    const isSafe = address.startsWith('https:') || isLoopback(new URL(address).hostname)
    if (!isSafe) throw new IssuerUnreachable(`${this.entry.issuer} names keys at an address without TLS`)
    return address
  }

  private async parts(): Promise<[Configuration, typeof import('openid-client')]> {
    return Promise.all([this.discovered(), import('openid-client')])
  }

  /** The addresses of the provider, read once for all callers. */
  private discovered(): Promise<Configuration> {
    const { monotonic } = this.world
    const known = this.addresses
    if (known && monotonic() - known.at < (known.hasFailed ? RETRY_MS : ADDRESSES_MS)) return known.found
    const reading = { at: monotonic(), found: this.discover(), hasFailed: false }
    reading.found.catch(() => {
      reading.hasFailed = true
      reading.at = monotonic()
    })
    this.addresses = reading
    return reading.found
  }

  private async discover(): Promise<Configuration> {
    const client = await import('openid-client')
    const { issuer, clientId, clientSecret } = this.entry
    const url = new URL(issuer)
    const isHere = url.protocol === 'http:' && isLoopback(url.hostname)
    try {
      return await client.discovery(
        url,
        clientId,
        { [client.clockTolerance]: SKEW_SECONDS },
        clientSecret === undefined ? client.None() : provenBy(clientSecret, client),
        {
          [client.customFetch]: this.fetch,
          ...(isHere && { execute: [client.allowInsecureRequests] }),
        },
      )
    } catch (error) {
      if (error instanceof IssuerUnreachable) throw error
      throw new IssuerUnreachable(`${issuer} has no addresses for OpenID Connect: ${reasonOf(error)}`)
    }
  }
}

/** Authenticates the client by its secret in a way that the provider accepts. A provider that does not say accepts Basic. */
function provenBy(secret: string, { ClientSecretBasic, ClientSecretPost }: typeof import('openid-client')) {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  const prove: typeof basic = (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const isPost = !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
    return (isPost ? post : basic)(server, ...rest)
  }
  return prove
}

/** Rejects with IssuerUnreachable if there was no answer, and with SignInRefused otherwise. */
async function refusing<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error instanceof SignInRefused) throw error
    if (unreachableIn(error)) throw new IssuerUnreachable(reasonOf(error))
    throw new SignInRefused(reasonOf(error))
  }
}

/** Whether an error says nothing about the person: there was no answer, or the server failed. */
function unreachableIn(error: unknown): boolean {
  if (error instanceof IssuerUnreachable) return true
  const { cause, status } = error as { cause?: unknown; status?: unknown }
  if (typeof status === 'number') return status === 429 || status >= 500
  if (cause instanceof Response) return cause.status === 429 || cause.status >= 500
  return cause instanceof IssuerUnreachable
}

/** The reason in a library's error, which contains codes and never a token. */
function reasonOf(error: unknown): string {
  const { code, error: oauthError, message } = error as { code?: unknown; error?: unknown; message?: unknown }
  return (
    [oauthError, code, message]
      .find((text) => typeof text === 'string')
      ?.toString()
      .slice(0, 200) ?? 'no reason'
  )
}
