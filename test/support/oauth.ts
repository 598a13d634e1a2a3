// A program that connects to the tools by OAuth, and the person who allows it in a browser. The official client runs unchanged:
// requests to the public address of the gateway are sent to its port, as a proxy would do.

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Json } from './scenario'

export const PUBLIC_URL = 'https://ai.example.com'
export const REDIRECT = 'https://claude.example/callback'

interface Place {
  url: string
  secret: string
  /** The public address of the gateway; by default the one above, which no name server resolves. */
  publicUrl?: string
}

/** Fetches from the public address of a gateway, without following redirects. */
export const fetchBehind =
  ({ url }: Place) =>
  (address: string | URL, init: RequestInit = {}): Promise<Response> =>
    fetch(String(address).replace(PUBLIC_URL, url), { ...init, redirect: 'manual' })

/** The storage that the official client needs. */
export class Program implements OAuthClientProvider {
  saved: OAuthTokens | undefined
  authorizationUrl: URL | undefined
  private information: Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0] | undefined
  private verifier = ''

  readonly redirectUrl = REDIRECT
  readonly clientMetadata = { client_name: 'Claude', redirect_uris: [REDIRECT] }

  clientInformation() {
    return this.information
  }
  saveClientInformation(information: typeof this.information & object) {
    this.information = information
  }
  tokens() {
    return this.saved
  }
  saveTokens(tokens: OAuthTokens) {
    this.saved = tokens
  }
  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  state() {
    return 'state of the program'
  }
  get clientId(): string {
    return this.information?.client_id ?? ''
  }
}

export function officialClient(gateway: Place, program: Program) {
  const transport = new StreamableHTTPClientTransport(new URL(`${PUBLIC_URL}/mcp`), {
    authProvider: program,
    fetch: fetchBehind(gateway),
  })
  const client = new Client({ name: 'tests', version: '1' })
  return { client, transport, connect: () => client.connect(transport as unknown as Transport) }
}

/** The holder of a key, signed in to the console in a browser. */
export interface Holder {
  cookie: string
  csrf: string
}

export async function signInHolder(gateway: Place, secret = gateway.secret): Promise<Holder> {
  const { url, publicUrl = PUBLIC_URL } = gateway
  const response = await fetch(`${url}/console/session`, {
    method: 'POST',
    headers: { origin: publicUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ token: secret }),
  })
  const set = response.headers.getSetCookie().find((each) => !each.includes('Max-Age=0')) ?? ''
  const { csrf } = (await response.json()) as { csrf: string }
  return { cookie: set.split(';')[0] ?? '', csrf }
}

/** Sends a decision as the console's page does. */
export async function decide(
  gateway: Place,
  holder: Holder | null,
  body: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Json }> {
  const { url, publicUrl = PUBLIC_URL } = gateway
  const response = await fetch(`${url}/console/consent`, {
    method: 'POST',
    headers: {
      origin: publicUrl,
      'content-type': 'application/json',
      ...(holder && { cookie: holder.cookie, 'x-csrf-token': holder.csrf }),
      ...headers,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

/** Allows the request in an address, as a person does. Returns the address to which the person is sent. */
export async function allow(
  gateway: Place,
  authorizationUrl: URL,
  { limit = '1', days = 30 }: { limit?: string; days?: number } = {},
): Promise<URL> {
  const led = await fetchBehind(gateway)(authorizationUrl)
  const page = led.headers.get('location') ?? ''
  if (led.status !== 302 || !page.startsWith(`${gateway.publicUrl ?? PUBLIC_URL}/console#/allow?`))
    throw new Error(`not led to the console: ${led.status} ${await led.text()}`)
  const holder = await signInHolder(gateway)
  const query = page.split('?').slice(1).join('?')
  const { body } = await decide(gateway, holder, { query, allow: true, limit_usd: limit, days })
  return new URL(body.location)
}

export async function form(gateway: Place, path: string, fields: Record<string, string>) {
  const response = await fetch(`${gateway.url}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Json) }
}

export async function register(gateway: Place, body: object = {}) {
  const response = await fetch(`${gateway.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Other', redirect_uris: [REDIRECT], ...body }),
  })
  return { status: response.status, body: (await response.json()) as Json }
}

export const VERIFIER = 'a-verifier-of-more-than-forty-three-characters-1'
export const CHALLENGE = new Bun.CryptoHasher('sha256').update(VERIFIER).digest('base64url')

/** The address that a program sends a person to. */
export function authorizeUrl(clientId: string, changes: Record<string, string | null> = {}): URL {
  const fields: Record<string, string | null> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'mcp',
    resource: `${PUBLIC_URL}/mcp`,
    ...changes,
  }
  const set = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== null)
  return new URL(`${PUBLIC_URL}/oauth/authorize?${new URLSearchParams(set)}`)
}

/** Registers a program and has it allowed. Returns its id and its code. */
export async function granted(gateway: Place, limit = '1', registration: object = {}) {
  const clientId = (await register(gateway, registration)).body.client_id as string
  const code = (await allow(gateway, authorizeUrl(clientId), { limit })).searchParams.get('code') ?? ''
  return { clientId, code }
}

/** Exchanges a code as its program does, with changes. */
export function exchange(
  gateway: Place,
  { clientId, code }: { clientId: string; code: string },
  changes: Record<string, string> = {},
) {
  return form(gateway, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    resource: `${PUBLIC_URL}/mcp`,
    ...changes,
  })
}

export function refresh(
  gateway: Place,
  clientId: string,
  token: string,
  changes: Record<string, string> = {},
) {
  return form(gateway, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: token,
    client_id: clientId,
    ...changes,
  })
}
