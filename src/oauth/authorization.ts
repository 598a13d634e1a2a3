// Reads the request with which a program sends a person to the gateway. Nothing is sent back to the program before the person has
// decided: anybody may register a program, so an immediate answer could lead people anywhere (RFC 9700, 4.11.2).

import type { Db } from '../db/db'
import { type Client, findClient, matchesRedirect } from './clients'
import { OAuthError } from './error'
import { RESOURCE_PATHS, SCOPE } from './metadata'

export interface AuthorizationRequest {
  client: Client
  redirectUri: string
  state: string | null
  /** The hash of a secret that only the program has (RFC 7636). */
  challenge: string
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const MAX_STATE_LENGTH = 2_000

/** Reads the request of a program. Rejects with `OAuthError` for anything but the one safe form. */
export async function readAuthorization(
  db: Db,
  query: URLSearchParams,
  issuer: string,
): Promise<AuthorizationRequest> {
  const client = await findClient(db, one(query, 'client_id'))
  if (!client)
    throw new OAuthError(
      'invalid_client',
      'This program is not registered here. Connect it again from the start.',
    )
  const redirectUri = one(query, 'redirect_uri')
  if (!matchesRedirect(client, redirectUri))
    throw new OAuthError('invalid_request', 'redirect_uri is not one that the program registered.')
  if (one(query, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  const challenge = one(query, 'code_challenge')
  if (one(query, 'code_challenge_method') !== 'S256' || !CHALLENGE.test(challenge))
    throw new OAuthError('invalid_request', 'A code_challenge with the method S256 is required (PKCE).')
  checkScope(query.get('scope'))
  checkResource(query.getAll('resource'), issuer)
  const state = query.has('state') ? one(query, 'state') : null
  if (state !== null && state.length > MAX_STATE_LENGTH)
    throw new OAuthError('invalid_request', `state has at most ${MAX_STATE_LENGTH} characters.`)
  return { client, redirectUri, state, challenge }
}

/** The one value of a parameter. Throws for several values, which programs in front of this one may read differently. */
export function one(query: URLSearchParams, name: string): string {
  const [value = '', ...others] = query.getAll(name)
  if (others.length > 0) throw new OAuthError('invalid_request', `${name} appears more than once.`)
  return value
}

/** Throws for a scope other than that of the tools. Scopes that OpenID Connect adds are meaningless here and are not granted. */
export function checkScope(scope: string | null): void {
  const wanted = (scope ?? '').split(' ').filter((each) => each !== '')
  const ignored = ['offline_access', 'openid', 'profile', 'email']
  const unknown = wanted.find((each) => each !== SCOPE && !ignored.includes(each))
  if (unknown !== undefined) throw new OAuthError('invalid_scope', `The only scope here is ${SCOPE}.`)
}

/** Throws for a token of another resource (RFC 8707). */
export function checkResource(resources: readonly string[], issuer: string): void {
  const known = RESOURCE_PATHS.map((path) => `${issuer}${path}`)
  const foreign = resources.find((resource) => !known.includes(resource.replace(/\/$/, '')))
  if (foreign !== undefined) throw new OAuthError('invalid_target', `The only resource here is ${known[0]}.`)
}

/** The URL to which the person is sent after a decision, with the result for the program: a code, or an error. */
export function redirectTo(
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  issuer: string,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...answer, iss: issuer })) url.searchParams.set(name, value)
  if (state !== null) url.searchParams.set('state', state)
  return url.href
}
