// A certified identity provider (oidc-provider) over real HTTP, with the users of a test, and a browser that signs in there. A test
// can answer in its place, or stop it from answering.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import * as client from 'openid-client'

export interface IdentityProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The groups of each person by name; nobody else can sign in. */
  people: Map<string, string[]>
  /** The requested paths. */
  asked: string[]
  /** Answers instead of the provider; undefined lets the provider answer. */
  door: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Signs out all sessions of a person, so that none of their refresh tokens works. */
  endSessions(): Promise<void>
  stop(): Promise<void>
}

export const CLI_CLIENT = 'gateway-cli'

interface Options {
  /** Addresses to which it redirects browsers back. */
  redirectUris: string[]
  configuration?: Configuration
}

type Store = Map<string, Record<string, unknown>>

const CLIENT = { clientId: 'gateway', clientSecret: 'a-secret-of-the-test' }

export async function startIdentityProvider({
  redirectUris,
  configuration,
}: Options): Promise<IdentityProvider> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { privateKey: rsa } = await generateKeyPair('RS256', { extractable: true })
  const keys = [
    { ...(await exportJWK(rsa)), alg: 'RS256', use: 'sig', kid: 'first' },
    { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'second' },
  ] as JWK[]
  const server = createServer((request, response) => {
    provider.asked.push(new URL(request.url ?? '', 'http://provider').pathname)
    if (!provider.door?.(request, response)) void answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [people, store]: [Map<string, string[]>, Store] = [new Map(), new Map()]
  const oidc = quiet(
    () => new Provider(issuer, { ...configurationOf(redirectUris, people, store, keys), ...configuration }),
  )
  const callback = oidc.callback()
  const answer = (request: IncomingMessage, response: ServerResponse) => callback(request, response)
  const provider: IdentityProvider = {
    issuer,
    ...CLIENT,
    people,
    asked: [],
    door: undefined,
    async endSessions() {
      for (const name of store.keys()) if (/^(RefreshToken|Grant|Session):/.test(name)) store.delete(name)
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return provider
}

function configurationOf(
  redirectUris: string[],
  people: ReadonlyMap<string, string[]>,
  store: Store,
  keys: JWK[],
): Configuration {
  return {
    adapter: adapterOf(store),
    jwks: { keys } as never,
    cookies: { keys: ['cookies of the test'] },
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris.map((uri) => uri.replace(/\/sign-in\/.*/, '')),
        grant_types: ['authorization_code', 'refresh_token'],
      },
      {
        client_id: CLI_CLIENT,
        token_endpoint_auth_method: 'none',
        redirect_uris: [],
        response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      },
    ],
    scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    claims: {
      openid: ['sub'],
      profile: ['preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    // Claims are in the ID token, as many providers do, contrary to the default of this one.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
    ttl: {
      AccessToken: 300,
      IdToken: 86_400,
      RefreshToken: 3_600,
      Session: 3_600,
      Grant: 3_600,
      Interaction: 600,
      DeviceCode: 600,
      AuthorizationCode: 60,
    },
    findAccount: async (_, id) => {
      const groups = people.get(id)
      if (!groups) return undefined
      const claims = { preferred_username: id, email: `${id}@example.com`, email_verified: true, groups }
      return { accountId: id, claims: async () => ({ sub: id, ...claims }) }
    },
  }
}

/** The storage of the provider in memory, which a test can empty. */
function adapterOf(store: Store) {
  return (kind: string) => {
    const name = (id: string) => `${kind}:${id}`
    const find = async (test: (value: Record<string, unknown>) => boolean) =>
      [...store.entries()].find(([key, value]) => key.startsWith(`${kind}:`) && test(value))?.[1]
    return {
      upsert: async (id: string, payload: Record<string, unknown>) => {
        store.set(name(id), payload)
      },
      find: async (id: string) => store.get(name(id)),
      findByUid: (uid: string) => find((value) => value.uid === uid),
      findByUserCode: (code: string) => find((value) => value.userCode === code),
      consume: async (id: string) => {
        const found = store.get(name(id))
        if (found) store.set(name(id), { ...found, consumed: Math.floor(Date.now() / 1_000) })
      },
      destroy: async (id: string) => {
        store.delete(name(id))
      },
      revokeByGrantId: async (grant: string) => {
        for (const [key, value] of store) if (value.grantId === grant) store.delete(key)
      },
    }
  }
}

/** Without the provider's warnings about a test's settings and about a runtime that it does not know. */
function quiet<Result>(make: () => Result): Result {
  const { warn, info } = console
  Object.assign(console, { warn() {}, info() {} })
  try {
    return make()
  } finally {
    Object.assign(console, { warn, info })
  }
}

/** The cookies of one browser. */
export class Browser {
  private readonly cookies = new Map<string, string>()

  /** Signs in at the provider as this person; resolves with the address of the redirect back, which is not opened. */
  async signIn(address: string, person: string): Promise<string> {
    const { origin } = new URL(address)
    let [url, init]: [string, RequestInit] = [address, {}]
    for (let step = 0; step < 20; step++) {
      if (new URL(url).origin !== origin) return url
      const response = await this.fetch(url, init)
      const next = response.headers.get('location')
      const text = await response.text()
      const action = /action="([^"]+)"/.exec(text)?.[1]
      if (next !== null) [url, init] = [new URL(next, url).href, {}]
      else if (action === undefined)
        throw new Error(`the provider answered ${response.status}: ${text.slice(0, 300)}`)
      else [url, init] = [new URL(action, url).href, formOf(text, person)]
    }
    throw new Error('the provider redirects without an end')
  }

  /** Opens the address of a waiting device, and allows it as this person. */
  async approve(address: string, person: string): Promise<void> {
    let [url, init]: [string, RequestInit] = [address, {}]
    for (let step = 0; step < 30; step++) {
      const response = await this.fetch(url, init)
      const next = response.headers.get('location')
      const text = await response.text()
      const action = /action="([^"]+)"/.exec(text)?.[1]
      if (next !== null) [url, init] = [new URL(next, url).href, {}]
      else if (action === undefined && response.ok) return
      else if (action === undefined) throw new Error(`the provider answered ${response.status}`)
      else [url, init] = [new URL(action, url).href, formOf(text, person)]
    }
    throw new Error('the provider redirects without an end')
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) },
    })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '' || /Max-Age=0/i.test(set)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return response
  }
}

function formOf(page: string, person: string): RequestInit {
  const fields = new URLSearchParams(
    page.includes('name="login"')
      ? { prompt: 'login', login: person, password: 'any' }
      : { prompt: 'consent', confirm: 'yes' },
  )
  for (const [, name, value] of page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
    fields.set(name ?? '', value ?? '')
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: fields.toString(),
  }
}

/** An ID token of a person, as a program that signs in by itself gets it. */
export async function idTokenOf(
  { issuer, clientId, clientSecret }: IdentityProvider,
  redirectUri: string,
  person: string,
): Promise<string> {
  const secret = client.ClientSecretBasic(clientSecret)
  const config = await client.discovery(new URL(issuer), clientId, undefined, secret, {
    execute: [client.allowInsecureRequests],
  })
  const [verifier, state] = [client.randomPKCECodeVerifier(), client.randomState()]
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile groups',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const back = await new Browser().signIn(address.href, person)
  const tokens = await client.authorizationCodeGrant(config, new URL(back), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    idTokenExpected: true,
  })
  return tokens.id_token ?? ''
}
