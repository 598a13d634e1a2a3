// Makes the HTTP calls of one upstream, each with one of its keys, repeated only if nothing was begun. It must never follow
// a redirect, send a key to another host, or repeat a request that the vendor may have begun.

import type { Call } from '../contract/family'
import type { CallBody, CallSender, SentCall, UpstreamKind, UpstreamPlace } from '../contract/upstream'
import type { HttpResponse } from '../http-client/response'
import { MalformedResponse } from '../http-client/response-parser'
import { NotConnected, type Origin, type Transport } from '../http-client/transport'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'
import { awsCredentials, type Environment } from './aws-credentials'
import { notHttp, unreachable } from './caller-errors'
import { withoutFraming } from './framing'
import { createMask, type Mask } from './key-mask'
import { Refusals } from './refusals'
import { keysOfUpstream, otherSecretsOf, tlsOf } from './secrets'
import type { UpstreamConfig } from './settings'
import { exchanged, NoToken, Tokens } from './tokens'
import { type CallHeaders, type UpstreamKey, UpstreamKeys } from './upstream-keys'

/** The outside world of a connection. `wall` is for times that vendors name. */
export interface UpstreamWorld extends Pick<System, 'wall' | 'monotonic' | 'log'> {
  transport: Transport
  /** Variables that locate credentials, if the operator asks for it. Absent: none are read. */
  environment?: Environment
}

/** Maximum number of attempts: other keys after 401 and 429, and a second attempt if the connection was refused. */
const MAX_ATTEMPTS = 3

/** Number of tokens of each key that are masked: the current and the previous one. */
const SHOWN_TOKENS_OF_EACH = 2

/** A key, and what is sent for it: itself, or its token. */
interface Proof {
  key: UpstreamKey
  secret: string | null
}

export class UpstreamConnection {
  readonly refusals: Refusals
  private readonly name: string
  private readonly kind: UpstreamKind
  private readonly origin: Origin
  private readonly host: string
  private readonly basePath: string
  private readonly place: UpstreamPlace
  private readonly wall: () => number
  private readonly tokens: Tokens | undefined
  /** Sent with every call: some servers require their API's version there. */
  private readonly search: string
  private readonly auth: UpstreamConfig['auth']
  /** The operator's own headers, by lower-case name. */
  private readonly headers: CallHeaders
  private readonly keys: UpstreamKeys
  private readonly mask: Mask
  /** Tokens that answers could still show, the newest last. */
  private shownTokens: string[] = []

  constructor(name: string, kind: UpstreamKind, config: UpstreamConfig, world: UpstreamWorld) {
    const baseUrl = baseUrlOf(kind, config)
    const { host, pathname, search } = new URL(baseUrl)
    const secrets = keysOfUpstream(kind, config) ?? []
    const tls = tlsOf(config)
    const proxied = config.proxy === undefined ? {} : { proxy: config.proxy }
    this.name = name
    this.kind = kind
    this.auth = config.auth
    this.headers = inLowerCase(config.headers ?? {})
    this.origin = world.transport.open(baseUrl, { ...proxied, ...(tls && { tls }) })
    this.host = host
    this.place = config
    this.wall = world.wall
    this.basePath = pathname.replace(/\/+$/, '')
    this.search = withQuery(search, new URLSearchParams(config.query).toString())
    this.keys = new UpstreamKeys(secrets, world.monotonic)
    const parts = secrets.flatMap((secret) => (secret === null ? [] : (kind.secretParts?.(secret) ?? [])))
    const hidden = [...secrets, ...parts, ...otherSecretsOf(config)]
    let mask = createMask(hidden)
    this.mask = { response: (response) => mask.response(response), text: (text) => mask.text(text) }
    const hide = (token: string) => {
      this.shownTokens = [...this.shownTokens, token].slice(-SHOWN_TOKENS_OF_EACH * secrets.length)
      const shownParts = this.shownTokens.flatMap((shown) => kind.secretParts?.(shown) ?? [])
      mask = createMask([...hidden, ...this.shownTokens, ...shownParts])
    }
    const found = { ...world, environment: world.environment ?? {}, options: proxied }
    const obtain =
      config.credentials === 'aws'
        ? () => awsCredentials(found)
        : kind.exchange && exchanged(kind.exchange, { ...world, options: proxied })
    this.tokens = obtain && new Tokens(obtain, { ...world, hide })
    this.refusals = new Refusals(name, kind, this.mask, world)
  }

  /** Resolves with a 2xx answer without keys in it, whose body is still to be read; throws a GatewayError with its key otherwise. */
  async send(
    call: Call,
    body: CallBody,
    signal: CancelSignal,
    { account, session }: CallSender,
    failed?: (error: GatewayError) => void,
  ): Promise<SentCall> {
    for (let attempts = 1; ; attempts++) {
      const { key, resting: restingKeys } = this.keys.choose(session)
      let response: HttpResponse
      try {
        const secret = this.tokens ? await this.tokens.of(key) : key.secret
        response = await this.attempt(call, body, signal, account, { key, secret })
        if (this.kind.framing && response.ok) response = withoutFraming(response, this.kind.framing)
        response = this.mask.response(response)
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (error instanceof GatewayError) throw error
        if (error instanceof NoToken) throw this.refusals.withoutToken(error)
        if (error instanceof MalformedResponse) throw notHttp(this.name, error)
        const unsent = error instanceof NotConnected
        const failure = unreachable(this.name, error, unsent)
        failure.upstreamKey = key.number
        if (attempts >= MAX_ATTEMPTS || !unsent || error.code !== 'ECONNREFUSED') throw failure
        failed?.(failure)
        continue
      }
      if (response.ok) return { response, keyNumber: key.number, restingKeys }
      const refusal = await this.refusals.read(response)
      refusal.error.upstreamKey = key.number
      const isTokenRefused = this.tokens !== undefined && refusal.status === 401
      if (isTokenRefused) this.tokens?.forget(key)
      // A token may have been revoked before its expiry: a new one is tried once.
      const mayHelp = (isTokenRefused && attempts === 1) || this.keys.refused(key, refusal)
      if (!mayHelp || attempts >= MAX_ATTEMPTS) throw refusal.error
      failed?.(refusal.error)
    }
  }

  get hasSeveralKeys(): boolean {
    return this.keys.areSeveral
  }

  close(): void {
    this.origin.close()
  }

  private attempt(
    call: Call,
    body: CallBody,
    signal: CancelSignal,
    account: string,
    proof: Proof,
  ): Promise<HttpResponse> {
    const { origin, basePath, kind, search } = this
    const method = call.method ?? 'POST'
    const path = withQuery(`${basePath}${kind.prefix[call.protocol]}${call.path}`, search.slice(1))
    const headers = this.headersOf(proof, call, body)
    return origin.send({
      method,
      path,
      headers:
        kind.sign && proof.secret !== null ? this.signed(method, path, headers, body, proof.secret) : headers,
      body: body === null || typeof body === 'string' ? body : body.stream(),
      signal,
      partition: account,
    })
  }

  private signed(
    method: string,
    path: string,
    headers: CallHeaders,
    body: CallBody,
    secret: string,
  ): CallHeaders {
    if (body !== null && typeof body !== 'string') throw new Error('a form cannot be signed')
    const { kind, host, place } = this
    const request = { method, host, path, headers, body: body ?? '', at: new Date(this.wall()).toISOString() }
    return { ...headers, ...kind.sign?.(secret, request, place) }
  }

  private headersOf(proof: Proof, call: Call, body: CallBody): CallHeaders {
    const usual = this.usualHeadersOf(proof, call)
    if (typeof body === 'string' && !call.headers) return usual
    const { 'content-type': json, ...others } = usual
    const headers = { ...others, ...call.headers, ...this.headers }
    if (body === null) return headers
    if (typeof body === 'string') return { 'content-type': json as string, ...headers }
    return { ...headers, 'content-type': body.contentType, 'content-length': String(body.byteLength) }
  }

  /** The headers with the key: the kind's own, or those that the operator configures. */
  private authHeaders(secret: string, protocol: Call['protocol']): CallHeaders {
    const usual = this.kind.headers(secret, protocol)
    if (!this.auth) return usual
    const { header = 'authorization', scheme = 'Bearer' } = this.auth
    const others = Object.entries(usual).filter(([, value]) => !value.includes(secret))
    return {
      ...Object.fromEntries(others),
      [header.toLowerCase()]: scheme === '' ? secret : `${scheme} ${secret.trim()}`,
    }
  }

  /** The headers of a kind of call, made once because they never change. */
  private usualHeadersOf({ key, secret }: Proof, { protocol, stream }: Call): CallHeaders {
    const made = stream ? key.streamHeaders : key.headers
    let headers = made.get(protocol)
    if (!headers) {
      headers = {
        'content-type': 'application/json',
        accept: stream ? 'text/event-stream' : 'application/json',
        // The gateway relays bytes: compressed ones would have to be unpacked here.
        'accept-encoding': 'identity',
        // Without a user agent some vendors' firewalls refuse a request.
        'user-agent': 'unified-model-gateway',
        ...(secret === null ? {} : this.authHeaders(secret, protocol)),
        ...this.headers,
      }
      made.set(protocol, headers)
    }
    return headers
  }
}

/** A URL with additional parameters, which are encoded. */
function withQuery(path: string, parameters: string): string {
  if (parameters === '') return path
  return path.includes('?') ? `${path}&${parameters}` : `${path}?${parameters}`
}

/** The base URL of an upstream. */
export function baseUrlOf(kind: UpstreamKind, config: UpstreamConfig): string {
  const baseUrl = config.baseUrl ?? kind.baseUrlFor?.(config) ?? kind.baseUrl
  return kind.hasVersionInPaths ? baseUrl.replace(/\/v\d+\/?$/, '') : baseUrl
}

function inLowerCase(headers: CallHeaders): CallHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
