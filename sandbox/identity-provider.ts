// A simulated identity provider (OpenID Connect): a page with people to choose from, who have no passwords. It must never be
// mistaken for a real one: it signs in anybody, and forgets everything when it stops.

import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** People and their groups. */
export const sandboxPeople: Readonly<Record<string, string>> = {
  ada: 'owners',
  vic: 'viewers',
  ben: 'callers',
}

const ID_TOKEN_SECONDS = 300
const MAX_KEPT = 1_000
const ALGORITHM = 'ES256'

interface SignIn {
  person: string
  clientId: string
  redirectUri: string
  nonce: string | null
  challenge: string | null
}

/** Answers requests below the address of the provider. */
export type IdentityProvider = (request: Request) => Promise<Response>

/** Creates the provider whose address is `issuer`. */
export function createIdentityProvider(issuer: string, now: () => number): IdentityProvider {
  const keys = generateKeyPair(ALGORITHM)
  const codes = new Map<string, SignIn>()
  const refreshTokens = new Map<string, SignIn>()

  async function tokensFor(signIn: SignIn): Promise<Response> {
    const { person, clientId, nonce } = signIn
    const at = Math.floor(now() / 1_000)
    const claims = { preferred_username: person, groups: [sandboxPeople[person]], ...(nonce && { nonce }) }
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, kid: 'sandbox' })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setSubject(person)
      .setIssuedAt(at)
      .setExpirationTime(at + ID_TOKEN_SECONDS)
      .sign((await keys).privateKey)
    const refreshToken = keep(refreshTokens, signIn)
    const body = {
      access_token: refreshToken,
      token_type: 'Bearer',
      id_token: idToken,
      refresh_token: refreshToken,
    }
    return Response.json(body, { headers: { 'cache-control': 'no-store' } })
  }

  async function exchange(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const isRefresh = form.get('grant_type') === 'refresh_token'
    const store = isRefresh ? refreshTokens : codes
    const secret = form.get(isRefresh ? 'refresh_token' : 'code') ?? ''
    const signIn = store.get(secret)
    store.delete(secret)
    const isProven = isRefresh || (await challengeOf(form.get('code_verifier') ?? '')) === signIn?.challenge
    if (signIn && isProven && (isRefresh || form.get('redirect_uri') === signIn.redirectUri))
      return tokensFor(signIn)
    return Response.json({ error: 'invalid_grant' }, { status: 400 })
  }

  const pages: Record<string, (request: Request, query: URLSearchParams) => Response | Promise<Response>> = {
    '/.well-known/openid-configuration': () => Response.json(metadataOf(issuer)),
    '/keys': async () => Response.json({ keys: [await publicKey((await keys).publicKey)] }),
    '/authorize': (_, query) => choicePage(query),
    '/choose': (_, query) => {
      const redirect = loopbackAddress(query.get('redirect_uri'))
      const person = query.get('person') ?? ''
      if (!redirect || !Object.hasOwn(sandboxPeople, person))
        return new Response('Bad request', { status: 400 })
      const signIn = {
        person,
        clientId: query.get('client_id') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        nonce: query.get('nonce'),
        challenge: query.get('code_challenge'),
      }
      redirect.searchParams.set('code', keep(codes, signIn))
      redirect.searchParams.set('state', query.get('state') ?? '')
      return Response.redirect(redirect.href, 303)
    },
    '/token': (request) => exchange(request),
    '/end': () => page('<h1>You are signed out of the simulated identity provider.</h1>'),
  }

  return async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    const answer = pages[pathname.slice(new URL(issuer).pathname.length)]
    return answer ? answer(request, searchParams) : new Response('There is nothing here.', { status: 404 })
  }
}

/** Stores a sign-in under a random secret; if there are too many, the oldest is removed. */
function keep(store: Map<string, SignIn>, signIn: SignIn): string {
  if (store.size >= MAX_KEPT) store.delete(store.keys().next().value as string)
  const secret = crypto.randomUUID()
  store.set(secret, signIn)
  return secret
}

/** Codes are sent only to this machine. */
function loopbackAddress(text: string | null): URL | undefined {
  const url = URL.parse(text ?? '')
  return url && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname) ? url : undefined
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return Buffer.from(digest).toString('base64url')
}

async function publicKey(key: CryptoKey) {
  return { ...(await exportJWK(key)), kid: 'sandbox', alg: ALGORITHM, use: 'sig' }
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    end_session_endpoint: `${issuer}/end`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [ALGORITHM],
    code_challenge_methods_supported: ['S256'],
  }
}

function choicePage(query: URLSearchParams): Response {
  const links = Object.entries(sandboxPeople).map(([person, group]) => {
    const address = `choose?${new URLSearchParams([...query, ['person', person]])}`.replaceAll('&', '&amp;')
    return `<li><a href="${address}">${person}</a>, of the group ${group}</li>`
  })
  return page(`<h1>Simulated identity provider</h1><p>Who are you?</p><ul>${links.join('')}</ul>`)
}

function page(body: string): Response {
  return new Response(
    `<!doctype html><html lang="en"><title>Simulated identity provider</title>${body}</html>`,
    {
      headers: { 'content-type': 'text/html; charset=utf-8' },
    },
  )
}
