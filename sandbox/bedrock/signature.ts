// Checks AWS signatures (SigV4) by the steps of its specification, from the request as it arrived:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. It must never use the code that the
// gateway signs with.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

interface SignedCall {
  method: string
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string>>
  text: string
  /** The time of arrival, in milliseconds since 1970. */
  now: number
}

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
const NEEDED = ['host', 'x-amz-date']
const MAX_SKEW_MS = 300_000

/** Why the signature of a request is wrong; undefined if it is correct. */
export function signatureFault(call: SignedCall, known: Credentials): string | undefined {
  const { headers } = call
  const [, id, day, region = '', service, names = '', given = ''] =
    FORM.exec(headers.authorization ?? '') ?? []
  const date = headers['x-amz-date'] ?? ''
  if (day === undefined) return 'Authorization header requires a signature.'
  if (id !== known.accessKeyId) return 'The security token included in the request is invalid.'
  if (known.sessionToken !== headers['x-amz-security-token']) {
    return 'The security token included in the request is invalid.'
  }
  if (service !== 'bedrock' || !date.startsWith(day)) return 'Credential should be scoped to correct service.'
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(call.now - at) <= MAX_SKEW_MS)) return 'Signature expired.'
  const signed = names.split(';')
  const sensitive = Object.keys(headers).filter((name) => name.startsWith('x-amz-'))
  if (![...NEEDED, ...sensitive].every((name) => signed.includes(name))) return 'A header is not signed.'
  const text = [
    'AWS4-HMAC-SHA256',
    date,
    `${day}/${region}/bedrock/aws4_request`,
    hash(canonical(call, signed)),
  ]
  const key = [day, region, 'bedrock', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${known.secretAccessKey}`,
  )
  const expected = createHmac('sha256', key).update(text.join('\n')).digest()
  return timingSafeEqual(expected, Buffer.from(given, 'hex'))
    ? undefined
    : 'The request signature we calculated does not match the signature you provided.'
}

function canonical({ method, path, query, headers, text }: SignedCall, signed: readonly string[]): string {
  const parameters = [...query].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort()
  const lines = signed.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`)
  // Each segment of the path is encoded a second time, for every service except S3.
  const places = path.split('/').map(encode).join('/')
  return [method, places, parameters.join('&'), lines.join(''), signed.join(';'), hash(text)].join('\n')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
