// Signs in at an identity provider with the device flow: a person opens a URL on any device and enters a code. The admin API
// accepts the ID token, which is renewed with the refresh token. Neither must ever be printed.

import {
  allowInsecureRequests,
  type Configuration,
  discovery,
  initiateDeviceAuthorization,
  None,
  pollDeviceAuthorizationGrant,
  refreshTokenGrant,
} from 'openid-client'
import { lineOf } from '../../src/lib/error-line'
import { isLoopback } from '../../src/lib/url-host'
import { CommandFailed } from './errors'

/** An identity provider as the gateway names it for commands. */
export interface LoginProvider {
  issuer: string
  clientId: string
  scopes: string
}

/** A sign-in that is in progress. */
export interface Login extends LoginProvider {
  refreshToken: string | undefined
  /** When the token expires, in milliseconds since 1970. */
  expiresAt: number
}

interface LoggedIn {
  token: string
  login: Login
}

/** Signs in; `show` tells the person where. Fails with the provider's message. */
export async function logIn(
  provider: LoginProvider,
  show: (address: string, code: string) => void,
): Promise<LoggedIn> {
  return failing(provider, async () => {
    const config = await configurationOf(provider)
    const device = await initiateDeviceAuthorization(config, { scope: provider.scopes })
    show(plain(device.verification_uri_complete ?? device.verification_uri), plain(device.user_code))
    return loggedIn(provider, await pollDeviceAuthorizationGrant(config, device))
  })
}

/** Renews the token of a sign-in. Fails once the provider has ended it. */
export async function renewLogin(login: Login): Promise<LoggedIn> {
  const { refreshToken } = login
  if (refreshToken === undefined) throw new CommandFailed(`The sign-in has ended. ${AGAIN}`)
  return failing(login, async () => {
    const config = await configurationOf(login)
    const tokens = await refreshTokenGrant(config, refreshToken)
    return loggedIn(login, { ...tokens, refresh_token: tokens.refresh_token ?? refreshToken })
  })
}

/** A text of the provider, made safe for a terminal. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, 1_000)
}

const AGAIN = 'Sign in again: gateway contexts login NAME --server URL'

function configurationOf({ issuer, clientId }: LoginProvider): Promise<Configuration> {
  const url = new URL(issuer)
  const isHere = url.protocol === 'http:' && isLoopback(url.hostname)
  return discovery(url, clientId, undefined, None(), isHere ? { execute: [allowInsecureRequests] } : {})
}

function loggedIn(
  { issuer, clientId, scopes }: LoginProvider,
  { id_token: token, refresh_token: refreshToken }: { id_token?: string; refresh_token?: string },
): LoggedIn {
  const { exp } = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString() || '{}')
  if (token === undefined || typeof exp !== 'number')
    throw new CommandFailed(`${issuer} gave no ID token: add openid to \`scopes\` of \`signIn\`.`)
  return { token, login: { issuer, clientId, scopes, refreshToken, expiresAt: exp * 1_000 } }
}

async function failing<Result>({ issuer }: LoginProvider, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    const { error: code } = error as { error?: unknown }
    throw new CommandFailed(
      `${issuer} refuses the sign-in: ${typeof code === 'string' ? code : lineOf(error)}. ${AGAIN}`,
    )
  }
}
