// Simulates Google's exchange of signed assertions for tokens, for a service account of its own. It must never give a token for an
// assertion that is not signed by that account, or has expired.

import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto'
import { asNumber, asObject, asString, parseJson } from '../json'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'

const EMAIL = 'gateway@sandbox-project.iam.gserviceaccount.com'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LIFE_SECONDS = 3_600
/** Issued tokens, each with its expiry. The oldest are removed first. */
const given = new Map<string, number>()
const MAX_TOKENS = 1_000

let pair: { privateKey: string; publicKey: string } | undefined

/** The key pair of the account, created on first use. */
function keys() {
  pair ??= generateKeyPairSync('rsa', {
    // A short key, because it protects nothing and is created again in every process.
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return pair
}

/** The JSON of a service account whose tokens are issued below an address. */
export function serviceAccount(address: string): string {
  return JSON.stringify({
    type: 'service_account',
    project_id: 'sandbox-project',
    private_key_id: 'sandbox-key-1',
    private_key: keys().privateKey,
    client_email: EMAIL,
    token_uri: `${address}/token`,
  })
}

/** Whether a token was issued and has not expired. */
export function isGiven(token: string | undefined): boolean {
  return token !== undefined && (given.get(token) ?? 0) > Date.now()
}

/** Revokes all tokens, as when an account loses its rights. */
export function takeTokensBack(): void {
  given.clear()
}

export function giveToken({ text, filesUrl }: VendorRequest): Reply {
  const form = new URLSearchParams(text)
  const fault = findFault(form, filesUrl.replace(/\/files$/, '/token'))
  if (fault !== undefined) return jsonReply(400, { error: 'invalid_grant', error_description: fault })
  const token = `ya29.sandbox-${crypto.randomUUID()}`
  given.set(token, Date.now() + LIFE_SECONDS * 1_000)
  const [oldest = ''] = given.keys()
  if (given.size > MAX_TOKENS) given.delete(oldest)
  return jsonReply(200, { access_token: token, expires_in: LIFE_SECONDS, token_type: 'Bearer' })
}

function findFault(form: URLSearchParams, audience: string): string | undefined {
  if (form.get('grant_type') !== GRANT) return 'Unsupported grant type.'
  const [head = '', body = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const read = (part: string) => asObject(parseJson(Buffer.from(part, 'base64url').toString())) ?? {}
  const { alg, kid } = read(head)
  if (alg !== 'RS256' || kid !== 'sandbox-key-1') return 'Invalid JWT: unknown key.'
  const isSigned = createVerify('RSA-SHA256')
    .update(`${head}.${body}`)
    .verify(createPublicKey(keys().publicKey), signature, 'base64url')
  if (!isSigned) return 'Invalid JWT Signature.'
  const { iss, aud, scope, iat, exp } = read(body)
  if (iss !== EMAIL || aud !== audience) return 'Invalid JWT: wrong issuer or audience.'
  if (!asString(scope)?.includes('/auth/cloud-platform')) return 'Invalid OAuth scope.'
  const now = Date.now() / 1_000
  const [from = Number.NaN, to = Number.NaN] = [asNumber(iat), asNumber(exp)]
  const isTimely = from <= now + 60 && to > now && to - from <= LIFE_SECONDS
  return isTimely ? undefined : 'Invalid JWT: Token must be a short-lived token.'
}
