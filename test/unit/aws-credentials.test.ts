// AWS credentials from every source on a machine, with simulated endpoints of containers, instances and STS: the order,
// the requests, the failures and their reasons, and that no message contains a secret.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSandbox } from '../../sandbox'
import { directTransport } from '../../src/http-client/origin'
import { awsCredentials, type Environment } from '../../src/upstreams/aws-credentials'
import { NoToken, Tokens } from '../../src/upstreams/tokens'
import { UpstreamKeys } from '../../src/upstreams/upstream-keys'
import { say, startTestGateway } from '../support/gateway'

const folder = mkdtempSync(join(tmpdir(), 'aws-'))
const END = '2026-11-22T18:00:00Z'
const AN_HOUR_MS = 3_600_000
const wall = () => Date.parse(END) - AN_HOUR_MS

interface MetadataRequest {
  method: string
  path: string
  headers: Headers
  body: string
}
let received: MetadataRequest[] = []
/** An answer that the endpoints send instead of credentials. */
let refusal: (() => Response) | undefined

const identity = {
  AccessKeyId: 'ASIAROLE000000001',
  SecretAccessKey: 'role/secret',
  Token: 'role+token==',
  Expiration: END,
}
const session = `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
  <AccessKeyId>ASIAWEB0000000001</AccessKeyId><SecretAccessKey>web/secret</SecretAccessKey>
  <SessionToken>web+token==</SessionToken><Expiration>${END}</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`

const machine = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname: path, search } = new URL(request.url)
    const { method, headers } = request
    received.push({ method, path: path + search, headers, body: await request.text() })
    if (refusal) return refusal()
    if (path === '/latest/api/token') {
      const isTokenRequest = method === 'PUT' && headers.has('x-aws-ec2-metadata-token-ttl-seconds')
      return isTokenRequest ? new Response('session-of-instance') : new Response('', { status: 400 })
    }
    if (path.startsWith('/latest/')) {
      if (headers.get('x-aws-ec2-metadata-token') !== 'session-of-instance') {
        return new Response('', { status: 401 })
      }
      return path.endsWith('/') ? new Response('gateway-role') : Response.json(identity)
    }
    if (path === '/container') {
      const isKnown = headers.get('authorization') === 'pod-token'
      return isKnown ? Response.json(identity) : new Response('role/secret', { status: 403 })
    }
    return new Response(session)
  },
})
const url = `http://127.0.0.1:${machine.port}`
afterAll(async () => {
  await machine.stop(true)
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  received = []
  refusal = undefined
})

const find = (environment: Environment) =>
  awsCredentials({ transport: directTransport, options: {}, environment, wall })

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const shared = file(
  'credentials',
  `# keys
[default]
aws_access_key_id = AKIADEFAULT00001
aws_secret_access_key=default/secret

[team]
aws_access_key_id=AKIATEAM00000001
aws_secret_access_key = team/secret
aws_session_token = team+token==

[role]
role_arn = arn:aws:iam::1:role/x
`,
)
const variables = { AWS_ACCESS_KEY_ID: 'AKIAVAR000000001', AWS_SECRET_ACCESS_KEY: 'var/secret' }
const web = {
  AWS_WEB_IDENTITY_TOKEN_FILE: file('web', 'jwt.of.pod\n'),
  AWS_ROLE_ARN: 'arn:aws:iam::1:role/gateway',
  AWS_ENDPOINT_URL_STS: url,
}
const container = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/container`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file('pod', 'pod-token\n'),
}
const instance = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${url}/` }
const sharedFile = { AWS_SHARED_CREDENTIALS_FILE: shared }

const ROLE = 'ASIAROLE000000001:role/secret:role+token=='
const TEAM = 'AKIATEAM00000001:team/secret:team+token=='
const rows: [string, Environment, string, number][] = [
  [
    'environment variables before all other sources',
    { ...variables, ...web, ...sharedFile, ...container, ...instance },
    'AKIAVAR000000001:var/secret',
    600_000,
  ],
  [
    'environment variables with a session',
    { ...variables, AWS_SESSION_TOKEN: 't+=' },
    'AKIAVAR000000001:var/secret:t+=',
    600_000,
  ],
  [
    'a named profile before environment variables',
    { ...variables, ...sharedFile, AWS_PROFILE: 'team' },
    TEAM,
    600_000,
  ],
  [
    'a web identity before the file',
    { ...web, ...sharedFile, ...container },
    'ASIAWEB0000000001:web/secret:web+token==',
    AN_HOUR_MS,
  ],
  ['the shared file', { ...sharedFile, ...container }, 'AKIADEFAULT00001:default/secret', 600_000],
  ['the role of a container', { ...container, ...instance }, ROLE, AN_HOUR_MS],
  ['the role of an instance', instance, ROLE, AN_HOUR_MS],
]

test.each(rows)('%s', async (_, environment, token, lifeMs) => {
  expect(await find({ HOME: folder, ...environment })).toEqual({ token, lifeMs })
})

test('each endpoint gets the requests that its documentation specifies', async () => {
  await find({ HOME: folder, ...web })
  const form = Object.fromEntries(new URLSearchParams(received[0]?.body))
  expect(form).toEqual({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: web.AWS_ROLE_ARN,
    RoleSessionName: 'unified-model-gateway',
    WebIdentityToken: 'jwt.of.pod',
  })
  received = []
  await find({ HOME: folder, ...instance })
  expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'PUT /latest/api/token',
    'GET /latest/meta-data/iam/security-credentials/',
    'GET /latest/meta-data/iam/security-credentials/gateway-role',
  ])
})

const faults: [string, Environment, string][] = [
  ['no source at all', { AWS_EC2_METADATA_DISABLED: 'true' }, 'no credentials of AWS were found'],
  ['a profile that is missing', { ...sharedFile, AWS_PROFILE: 'nobody' }, 'no profile "nobody"'],
  ['a profile without keys', { ...sharedFile, AWS_PROFILE: 'role' }, 'no profile "role" with keys'],
  [
    'a token that cannot be read',
    { ...web, AWS_WEB_IDENTITY_TOKEN_FILE: '/no/token' },
    'cannot be read (ENOENT)',
  ],
  ['a wrong token', { ...container, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: shared }, 'this container: '],
  [
    'an address on another machine',
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://example.com/keys' },
    'neither of this machine nor one of HTTPS',
  ],
  [
    'an endpoint that cannot be reached',
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:9' },
    'this instance: ',
  ],
]

test.each(faults)('%s is reported', async (_, environment, message) => {
  const error = (await find({ HOME: folder, ...environment }).catch((reason) => reason)) as Error
  expect(error).toBeInstanceOf(NoToken)
  expect(error.message).toContain(message)
  expect(error.message).not.toContain('secret')
})

describe.each([
  ['an error', () => new Response('role/secret', { status: 500 })],
  ['a text that is not JSON', () => new Response('role/secret')],
  ['incomplete credentials', () => Response.json({ AccessKeyId: 'ASIA', Code: 'Success' })],
  ['a redirect', () => new Response('', { status: 302, headers: { location: `${url}/container` } })],
  ['an answer of a megabyte', () => new Response('x'.repeat(1_000_000))],
])('%s from an endpoint', (_, answer) => {
  test.each([web, container, instance])('does not give credentials', async (environment) => {
    refusal = answer
    const error = (await find({ HOME: folder, ...environment }).catch((reason) => reason)) as Error
    expect(error).toBeInstanceOf(NoToken)
    expect(error.message).not.toContain('role/secret')
  })
})

test('a role is requested once for all waiting requests, and again before it expires', async () => {
  let now = 0
  const parts = { transport: directTransport, options: {}, environment: { HOME: folder, ...container }, wall }
  const tokens = new Tokens(() => awsCredentials(parts), { monotonic: () => now, hide() {} })
  const key = new UpstreamKeys([null], () => now).choose(undefined).key
  await Promise.all(Array.from({ length: 20 }, () => tokens.of(key)))
  expect(received.length).toBe(1)
  now += AN_HOUR_MS - 310_000
  expect(tokens.of(key)).toBe(ROLE)
  expect(received.length).toBe(1)
  now += 20_000
  expect(tokens.of(key)).toBe(ROLE)
  await tokens.of(key)
  now += AN_HOUR_MS
  await tokens.of(key)
  expect(received.length).toBeGreaterThan(1)
})

test('a gateway signs with the credentials of its machine, and never shows them', async () => {
  const sandbox = startSandbox({ record: true })
  const [id, secret, token] = sandbox.secrets.bedrock.split(':')
  const environment = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token }
  const model = { family: 'bedrock-converse', upstreamModel: 'us.amazon.nova-lite-v1:0', free: true } as const
  const baseUrl = sandbox.baseUrls.bedrock
  const gateway = await startTestGateway({
    sandbox,
    upstreams: { ours: { kind: 'bedrock', baseUrl, credentials: 'aws' } },
    models: { nova: { ...model, upstream: 'ours' } },
    outside: { environment },
  })
  const answer = await gateway.chat({ model: 'nova', messages: say('hi') })
  expect(answer.status).toBe(200)
  const echoed = await gateway.chat({
    model: 'nova',
    messages: say(`[sandbox status=400 error_text="it was ${secret}"]`),
  })
  expect(echoed.status).toBe(400)
  expect(await echoed.text()).not.toContain(secret as string)
  await gateway.close()

  const nowhere = await startTestGateway({
    sandbox,
    upstreams: { ours: { kind: 'bedrock', baseUrl, credentials: 'aws' } },
    models: { nova: { ...model, upstream: 'ours' } },
    outside: { environment: { AWS_EC2_METADATA_DISABLED: 'true' } },
  })
  const refused = await nowhere.chat({ model: 'nova', messages: say('hi') })
  expect(refused.status).toBe(503)
  await nowhere.close()
  await sandbox.stop()
})
