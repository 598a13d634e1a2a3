// An identity provider that is faulty, hangs, or was taken over: tokens for another gateway, from another issuer, or
// from another time are refused, and the provider's keys are rarely fetched, whatever tokens arrive.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { directTransport } from '../../src/http-client/origin'
import { Issuer, SignInRefused } from '../../src/sign-in/issuer'
import { IssuerUnreachable } from '../../src/sign-in/issuer-fetch'
import { rejection } from '../support/rejection'

const CLIENT = 'gateway'
const EXPECTED = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) }

type Signing = Awaited<ReturnType<typeof generateKeyPair>>

let server: Bun.Server<undefined>
let origin: string
let first: Signing
let second: Signing
let publicKeys: JWK[]
/** The ID token that the provider returns for a code. */
let idToken = ''
/** Answers to send instead of the provider's, by path. */
let answers: Record<string, () => Response | Promise<Response>> = {}
let asked: string[] = []
let clock = Date.now()

beforeAll(async () => {
  ;[first, second] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')])
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    idleTimeout: 0,
    fetch({ url }) {
      const { pathname } = new URL(url)
      asked.push(pathname)
      return answers[pathname]?.() ?? provide(pathname)
    },
  })
  origin = server.url.origin
  publicKeys = [{ ...(await exportJWK(first.publicKey)), kid: 'first', alg: 'RS256', use: 'sig' }]
})
afterAll(() => server.stop(true))

function provide(path: string): Response {
  if (path === '/.well-known/openid-configuration')
    return Response.json({
      issuer: origin,
      authorization_endpoint: `${origin}/auth`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    })
  if (path === '/jwks') return Response.json({ keys: publicKeys })
  if (path === '/token') return Response.json({ access_token: 'a', token_type: 'Bearer', id_token: idToken })
  return new Response('nothing here', { status: 404 })
}

function newIssuer(): Issuer {
  answers = {}
  asked = []
  clock = Date.now()
  const entry = {
    issuer: origin,
    clientId: CLIENT,
    clientSecret: 'secret',
    groups: { a: { role: 'owner' as const } },
  }
  return new Issuer('test', entry, {
    transport: directTransport,
    now: () => clock,
    monotonic: () => clock,
  })
}

function sign(
  claims: JWTPayload = {},
  header: Partial<JWTHeaderParameters> = {},
  { privateKey }: Signing = first,
): Promise<string> {
  const at = Math.floor(clock / 1_000)
  const payload = {
    iss: origin,
    aud: CLIENT,
    sub: 'ada',
    iat: at,
    exp: at + 300,
    nonce: EXPECTED.nonce,
    groups: ['a'],
  }
  return new SignJWT({ ...payload, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'first', ...header })
    .sign(privateKey)
}

/** A token with freely chosen parts. */
function forged(header: object, claims: object, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(claims)}.${signature}`
}

function exchange(issuer: Issuer) {
  return issuer.exchange(new URL(`${origin}/callback?code=c&state=${EXPECTED.state}`), EXPECTED)
}

const at = () => Math.floor(clock / 1_000)
const claims = () => ({
  iss: origin,
  aud: CLIENT,
  sub: 'ada',
  iat: at(),
  exp: at() + 300,
  nonce: EXPECTED.nonce,
})

const LIES: Record<string, () => string | Promise<string>> = {
  'no signature': () => forged({ alg: 'none' }, claims()),
  'no signature, but a key id': () => forged({ alg: 'none', kid: 'first' }, claims()),
  'a signature that is cut off': async () => (await sign()).replace(/[^.]+$/, ''),
  'the public key as a shared secret': async () => {
    const secret = new TextEncoder().encode(JSON.stringify(publicKeys[0]))
    return new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret)
  },
  'another key': () => sign({}, {}, second),
  'a key that the provider does not have': () => sign({}, { kid: 'unknown' }, second),
  'a key in its own header': async () =>
    sign({}, { jwk: await exportJWK(second.publicKey), kid: 'own' }, second),
  'another issuer': () => sign({ iss: 'https://evil.example' }),
  'another audience': () => sign({ aud: 'another-client' }),
  'several audiences, and another authorized party': () => sign({ aud: [CLIENT, 'other'], azp: 'other' }),
  'another nonce': () => sign({ nonce: 'x'.repeat(43) }),
  'no nonce': () => sign({ nonce: undefined as never }),
  'an end in the past': () => sign({ exp: at() - 120, iat: at() - 600 }),
  'a beginning in the future': () => sign({ iat: at() + 600, exp: at() + 900 }),
  'not valid yet': () => sign({ nbf: at() + 600 }),
  'no end': () => sign({ exp: undefined as never }),
  'no subject': () => sign({ sub: undefined as never }),
  'an empty subject': () => sign({ sub: '' }),
  'the type of a logout token': () => sign({}, { typ: 'logout+jwt' }),
  'the event that ends a session': () =>
    sign({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
  'a text that is not a token': () => 'no token',
}

test('a valid token is accepted, also if the clocks differ by a minute', async () => {
  const issuer = newIssuer()
  for (const [iat, exp] of [
    [0, 300],
    [50, 350],
    [-400, -50],
  ] as const) {
    idToken = await sign({ iat: at() + iat, exp: at() + exp })
    expect((await exchange(issuer)).claims).toMatchObject({ sub: 'ada', groups: ['a'] })
  }
  expect(asked.filter((path) => path === '/jwks').length).toBe(1)
})

for (const [name, lie] of Object.entries(LIES))
  test(`a token with ${name} signs nobody in`, async () => {
    const issuer = newIssuer()
    idToken = await lie()
    const error = await rejection(exchange(issuer))
    expect(error).toBeInstanceOf(SignInRefused)
    // The error contains the reason, for the log.
    expect(String(error)).not.toContain(idToken)
    if (!/nonce|party/.test(name))
      expect(await rejection(issuer.verify(idToken, CLIENT))).toBeInstanceOf(SignInRefused)
  })

test('a new key of the provider is fetched, and a removed one is refused', async () => {
  const issuer = newIssuer()
  idToken = await sign()
  await exchange(issuer)
  const before = publicKeys
  publicKeys = [{ ...(await exportJWK(second.publicKey)), kid: 'second', alg: 'RS256', use: 'sig' }]
  try {
    clock += 31_000
    idToken = await sign({}, { kid: 'second' }, second)
    await exchange(issuer)
    idToken = await sign()
    expect(await rejection(exchange(issuer))).toBeInstanceOf(SignInRefused)
  } finally {
    publicKeys = before
  }
})

test('a thousand tokens with unknown keys cause one fetch in half a minute', async () => {
  const issuer = newIssuer()
  await issuer.verify(await sign(), CLIENT)
  clock += 31_000
  const tokens = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => forged({ alg: 'RS256', kid: `k${index}` }, claims(), 'x')),
  )
  for (const token of tokens)
    expect(await rejection(issuer.verify(token, CLIENT))).toBeInstanceOf(SignInRefused)
  await Promise.allSettled(tokens.map((token) => issuer.verify(token, CLIENT)))
  expect(asked.filter((path) => path === '/jwks').length).toBe(2)
})

test('after a failure, keys are fetched once per ten seconds, and known ones stay in use', async () => {
  const issuer = newIssuer()
  answers['/jwks'] = () => new Response('down', { status: 503 })
  for (let attempt = 0; attempt < 20; attempt++)
    expect(await rejection(issuer.verify(await sign(), CLIENT))).toBeInstanceOf(IssuerUnreachable)
  expect(asked.filter((path) => path === '/jwks').length).toBe(1)
  clock += 11_000
  answers = {}
  await issuer.verify(await sign(), CLIENT)
  answers['/jwks'] = () => new Response('down', { status: 503 })
  clock += 11 * 60_000
  await issuer.verify(await sign(), CLIENT)
  clock += 2 * 3_600_000
  expect(await rejection(issuer.verify(await sign(), CLIENT))).toBeInstanceOf(IssuerUnreachable)
})

const BAD_ANSWERS: Record<string, () => Response | Promise<Response>> = {
  'never ends': () => new Promise<Response>(() => {}),
  'arrives byte by byte without an end': () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await Bun.sleep(50)
          controller.enqueue(new TextEncoder().encode(' '))
        },
      }),
    ),
  'is huge': () => Response.json({ keys: [{ kty: 'RSA', n: 'x'.repeat(1_000_000) }] }),
  'has too many keys': () => Response.json({ keys: Array.from({ length: 101 }, () => publicKeys[0]) }),
  'is not JSON': () => new Response('<html>'),
  'is not a key set': () => Response.json({ keys: 'none' }),
  'is a redirect': () => Response.redirect(`${origin}/elsewhere`, 302),
}

for (const [name, answer] of Object.entries(BAD_ANSWERS))
  test(`an answer with keys that ${name} admits no token`, async () => {
    const issuer = newIssuer()
    answers['/jwks'] = answer
    expect(await rejection(issuer.verify(await sign(), CLIENT))).toBeInstanceOf(IssuerUnreachable)
    expect(asked).not.toContain('/elsewhere')
  }, 30_000)

test('endpoints of another issuer, or missing ones, are not used', async () => {
  for (const answer of [
    () => Response.json({ issuer: 'https://evil.example', token_endpoint: `${origin}/token` }),
    () => Response.json([]),
    () => new Response('nothing here', { status: 404 }),
    () => Response.redirect(`${origin}/elsewhere`, 302),
  ]) {
    const issuer = newIssuer()
    answers['/.well-known/openid-configuration'] = answer
    expect(await rejection(issuer.signInAddress('http://localhost/callback', EXPECTED))).toBeInstanceOf(
      IssuerUnreachable,
    )
    expect(await rejection(issuer.signInAddress('http://localhost/callback', EXPECTED))).toBeInstanceOf(
      IssuerUnreachable,
    )
    expect(asked).toEqual(['/.well-known/openid-configuration'])
  }
})
