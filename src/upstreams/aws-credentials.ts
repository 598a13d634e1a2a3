// AWS credentials from where a machine keeps them: variables, the token of a web identity, the shared file, the role of a
// container, the role of an instance, in this order. They are searched only if the operator asks for it (`credentials: 'aws'`), and
// the endpoints are those that the operator's own environment names. A report of a failure must never contain a secret.
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpRequest, OpenOptions, Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import { asObject } from '../lib/objects'
import { NoToken, type ObtainedToken } from './tokens'

export type Environment = Readonly<Record<string, string | undefined>>

interface Parts {
  transport: Transport
  /** How AWS itself is reached; endpoints on the machine are always called directly. */
  options: OpenOptions
  environment: Environment
  wall: () => number
}

interface Keys {
  accessKeyId: unknown
  secretAccessKey: unknown
  sessionToken?: unknown
  /** When they expire, as a date; absent: never. */
  expiration?: unknown
}

/** A file or a variable may be replaced at any time: this is how long its content is used. */
const STATIC_LIFE_MS = 600_000
const LOCAL_TIMEOUT_MS = 2_000
const STS_TIMEOUT_MS = 10_000
const MAX_REPLY_BYTES = 64 * 1024
const CONTAINER_HOST = 'http://169.254.170.2'
/** Hosts that may be called without TLS: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html. */
const LOCAL_HOSTS = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]|169\.254\.170\.(?:2|23)|\[fd00:ec2::23\])$/
const INSTANCE_HOST = 'http://169.254.169.254'
const ROLES = '/latest/meta-data/iam/security-credentials/'

/** The credentials of this machine as one text, and how long they last. Throws NoToken. */
export async function awsCredentials(parts: Parts): Promise<ObtainedToken> {
  const { environment } = parts
  const keys =
    keysInVariables(environment) ??
    (await keysOfWebIdentity(parts)) ??
    keysInSharedFile(environment) ??
    (await keysOfContainer(parts)) ??
    (await keysOfInstance(parts))
  if (!keys) {
    throw new NoToken(
      'no credentials of AWS were found: not in variables, the shared file, or a role of this machine',
    )
  }
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = keys
  const texts = [accessKeyId, secretAccessKey, ...(sessionToken ? [sessionToken] : [])]
  if (!texts.every((text) => typeof text === 'string' && text !== '')) {
    throw new NoToken('the credentials of AWS that were found are not whole')
  }
  const endsAt = typeof expiration === 'string' ? Date.parse(expiration) : Number.NaN
  return { token: texts.join(':'), lifeMs: Number.isNaN(endsAt) ? STATIC_LIFE_MS : endsAt - parts.wall() }
}

/** A named profile takes precedence over variables with keys. */
function keysInVariables(environment: Environment): Keys | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  if (!accessKeyId || !secretAccessKey || environment.AWS_PROFILE) return undefined
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN }
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html. */
async function keysOfWebIdentity(parts: Parts): Promise<Keys | undefined> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, ...others } = parts.environment
  if (!file || !role) return undefined
  const {
    AWS_REGION: region = 'us-east-1',
    AWS_ENDPOINT_URL_STS: endpoint,
    AWS_ROLE_SESSION_NAME: session,
  } = others
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: session || 'unified-model-gateway',
    WebIdentityToken: textIn(file, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  }).toString()
  const answer = await ask(parts, endpoint || `https://sts.${region}.amazonaws.com/`, {
    what: 'the exchange of a web identity',
    options: parts.options,
    timeoutMs: STS_TIMEOUT_MS,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })
  const field = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(answer)?.[1]
  return {
    accessKeyId: field('AccessKeyId'),
    secretAccessKey: field('SecretAccessKey'),
    sessionToken: field('SessionToken'),
    expiration: field('Expiration'),
  }
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html. */
function keysInSharedFile(environment: Environment): Keys | undefined {
  const { AWS_SHARED_CREDENTIALS_FILE: named, AWS_PROFILE: requested, HOME, USERPROFILE } = environment
  const home = HOME ?? USERPROFILE
  const file = named || (home && join(home, '.aws', 'credentials'))
  const profile = requested || 'default'
  const lines = file ? profileIn(file, profile) : undefined
  if (lines) {
    return {
      accessKeyId: lines.get('aws_access_key_id'),
      secretAccessKey: lines.get('aws_secret_access_key'),
      sessionToken: lines.get('aws_session_token'),
    }
  }
  if (requested) throw new NoToken(`the shared file of AWS has no profile "${requested}" with keys`)
  return undefined
}

/** The lines of a profile; undefined if the file or the profile is missing. */
function profileIn(file: string, profile: string): Map<string, string> | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const profiles = new Map<string, Map<string, string>>()
  let current: Map<string, string> | undefined
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line) ?? []
    if (name !== undefined) {
      current = profiles.get(name) ?? new Map()
      profiles.set(name, current)
    }
    const [, key, value] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? []
    if (key !== undefined && value !== undefined) current?.set(key.toLowerCase(), value)
  }
  const found = profiles.get(profile)
  return found?.has('aws_access_key_id') ? found : undefined
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html. */
async function keysOfContainer(parts: Parts): Promise<Keys | undefined> {
  const {
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: full,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
  } = parts.environment
  const url = relative ? URL.parse(relative, CONTAINER_HOST) : full ? URL.parse(full) : undefined
  if (url === undefined) return undefined
  if (!url || (url.protocol !== 'https:' && !LOCAL_HOSTS.test(url.hostname))) {
    throw new NoToken('the address of credentials for containers is neither of this machine nor one of HTTPS')
  }
  const authorization = file ? textIn(file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE') : token
  const answer = await ask(parts, url.href, {
    what: 'the role of this container',
    options: { proxy: null },
    timeoutMs: LOCAL_TIMEOUT_MS,
    method: 'GET',
    headers: { accept: 'application/json', ...(authorization && { authorization }) },
    body: null,
  })
  return keysIn(answer)
}

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html: version 2, which needs a token. */
async function keysOfInstance(parts: Parts): Promise<Keys | undefined> {
  const { AWS_EC2_METADATA_DISABLED: disabled, AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint } =
    parts.environment
  if (disabled?.toLowerCase() === 'true') return undefined
  const base = (endpoint || INSTANCE_HOST).replace(/\/+$/, '')
  const request = {
    what: 'the role of this instance',
    options: { proxy: null },
    timeoutMs: LOCAL_TIMEOUT_MS,
    body: null,
  } as const
  const seconds = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
  const token = await ask(parts, `${base}/latest/api/token`, { ...request, method: 'PUT', headers: seconds })
  const headers = { 'x-aws-ec2-metadata-token': token.trim() }
  const get = (path: string) => ask(parts, `${base}${path}`, { ...request, method: 'GET', headers })
  const [role = ''] = (await get(ROLES)).trim().split(/\s/)
  if (!/^[\w+=,.@-]+$/.test(role)) throw new NoToken('this instance has no role')
  return keysIn(await get(ROLES + role))
}

function keysIn(text: string): Keys {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    throw new NoToken('the answer about credentials of AWS is not JSON')
  }
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = asObject(answer)
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiration: Expiration,
  }
}

function textIn(file: string, variable: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code = 'no such file' } = error as { code?: string }
    throw new NoToken(`the file that ${variable} names cannot be read (${code})`)
  }
}

interface Question extends Pick<HttpRequest, 'method' | 'headers'> {
  /** Name of the request in messages to the operator. */
  what: string
  options: OpenOptions
  timeoutMs: number
  body: string | null
}

/** The text of a successful answer; a refusal may contain a secret, and its text is omitted. */
async function ask({ transport }: Parts, address: string, question: Question): Promise<string> {
  const { what, options, timeoutMs, method, headers, body } = question
  const { pathname, search } = new URL(address)
  const cancel = new CancelToken()
  const timer = setTimeout(() => cancel.abort(new NoToken(`${what}: no answer in time`)), timeoutMs)
  const origin = transport.open(address, options)
  try {
    const path = pathname + search
    const response = await origin.send({ method, path, headers, body, signal: cancel.signal })
    const text = new TextDecoder().decode(await response.body.bytes(MAX_REPLY_BYTES))
    if (response.ok) return text
    throw new NoToken(`${what}: HTTP ${response.status}`)
  } catch (error) {
    if (error instanceof NoToken) throw error
    const { code = 'no answer' } = error as { code?: string }
    throw new NoToken(`${what}: ${code}`)
  } finally {
    clearTimeout(timer)
    origin.close()
  }
}
