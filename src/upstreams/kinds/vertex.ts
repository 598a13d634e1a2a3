// Google Cloud's Vertex AI: Gemini's chat through its OpenAI-compatible endpoint or its own API, and Claude's messages. A key is
// the JSON of a service account, which is exchanged for tokens:
// https://developers.google.com/identity/protocols/oauth2/service-account,
// https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview,
// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude.

import { createSign } from 'node:crypto'
import { nativeCall } from '../../contract/call'
import type { Call } from '../../contract/family'
import type { UpstreamKind, UpstreamPlace } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'
import { requestedVersion } from './messages-version'

const VERSION = 'vertex-2023-10-16'
const DEFAULT_REGION = 'global'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** Maximum lifetime that may be requested for a token, in seconds. */
const LIFE_SECONDS = 3_600
/** Methods of Gemini's own API, whose model is in the path. */
const CONTENTS = /^\/models\/[^/]+:(?:generateContent|streamGenerateContent|countTokens)(?:\?|$)/
/** Requests a token count, which is free. */
const PROBE = '/probe'

export const vertex: UpstreamKind = {
  kind: 'vertex',
  baseUrl: 'https://aiplatform.googleapis.com/v1',
  chatFamily: 'gemini-contents',
  secretVariable: 'GOOGLE_SERVICE_ACCOUNT',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  baseUrlFor: ({ region = DEFAULT_REGION }) => `https://${hostOf(region)}/v1`,
  headers: (token) => ({ authorization: `Bearer ${token}` }),
  placeOf: (secret) => {
    const { project_id: project } = accountOf(secret)
    return typeof project === 'string' ? { project } : {}
  },
  secretParts: (secret) => {
    const { private_key: key } = accountOf(secret)
    return typeof key === 'string' ? [key, JSON.stringify(key).slice(1, -1)] : []
  },

  exchange: {
    request(secret, atMs) {
      if (!secret.trimStart().startsWith('{')) return undefined
      const { client_email: email, private_key: key, private_key_id: id, token_uri: url } = accountOf(secret)
      if (typeof email !== 'string' || typeof key !== 'string' || typeof url !== 'string') {
        throw new Error('the key is not a service account: it needs client_email, private_key and token_uri')
      }
      const issued = Math.floor(atMs / 1_000)
      const claims = { iss: email, scope: SCOPE, aud: url, iat: issued, exp: issued + LIFE_SECONDS }
      const assertion = tokenOf({ alg: 'RS256', typ: 'JWT', kid: id }, claims, key)
      return {
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ grant_type: GRANT, assertion }).toString(),
      }
    },
    read(reply) {
      const { access_token: token, expires_in: seconds } = asObject(reply)
      if (typeof token !== 'string' || typeof seconds !== 'number' || !(seconds > 0)) return undefined
      return { token, lifeMs: seconds * 1_000 }
    },
  },

  adapt(call, model, place) {
    const { project, region = DEFAULT_REGION } = place as UpstreamPlace
    if (project === undefined) return undefined
    const below = `/projects/${project}/locations/${region}`
    if (call.protocol === 'openai') return { ...call, path: `${below}/endpoints/openapi${call.path}` }
    if (call.path === PROBE) {
      return { ...call, path: `${below}/publishers/google/models/gemini-2.5-flash:countTokens` }
    }
    if (CONTENTS.test(call.path)) return { ...call, path: `${below}/publishers/google${call.path}` }
    const publisher = `${below}/publishers/anthropic/models`
    if (call.path === '/messages') {
      const verb = call.stream ? 'streamRawPredict' : 'rawPredict'
      return predicting(call, `${publisher}/${encodeURIComponent(model)}:${verb}`, ['model'])
    }
    return call.path === '/messages/count_tokens'
      ? predicting(call, `${publisher}/count-tokens:rawPredict`, [])
      : undefined
  },

  probe: nativeCall(PROBE, { json: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] } }),

  error(status, body) {
    const shape = readErrorShape(body)
    const { error } = asObject(Array.isArray(body) ? body[0] : body)
    const { status: word } = asObject(error)
    // A project that lacks the model also answers 400.
    const operator =
      [401, 403, 404].includes(status) ||
      word === 'FAILED_PRECONDITION' ||
      /not servable in region/i.test(shape.message)
    return {
      ...shape,
      code: typeof word === 'string' ? word : shape.code,
      whose: operator ? 'operator' : 'caller',
    }
  },
}

/** The host for a region, a continent, or the whole world. */
function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com'
  return ['us', 'eu'].includes(region)
    ? `aiplatform.${region}.rep.googleapis.com`
    : `${region}-aiplatform.googleapis.com`
}

/** The service account of a key; empty for anything else. */
function accountOf(secret: string): Record<string, unknown> {
  try {
    return asObject(JSON.parse(secret))
  } catch {
    return {}
  }
}

/** A signed JSON Web Token (RFC 7519). */
function tokenOf(header: object, claims: object, privateKey: string): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`
}

/** A call for messages as a prediction: the model is in the path, the version in the body. */
function predicting(call: Call, path: string, drop: readonly string[]): Call {
  const { headers = {}, body, ...rest } = call
  const beta = headers['anthropic-beta']
  const version = requestedVersion(headers) ?? VERSION
  const shown = beta === undefined ? {} : { headers: { 'anthropic-beta': beta } }
  if (body && 'json' in body) {
    const fields = Object.entries(asObject(body.json)).filter(([name]) => !drop.includes(name))
    const json = { ...Object.fromEntries(fields), anthropic_version: version }
    return { ...rest, ...shown, path, body: { json } }
  }
  const edit = body && 'edit' in body ? body.edit : {}
  const set = Object.entries({ ...edit.set, anthropic_version: JSON.stringify(version) })
  const kept = Object.fromEntries(set.filter(([name]) => !drop.includes(name)))
  return {
    ...rest,
    ...shown,
    path,
    body: { edit: { ...edit, set: kept, drop: [...(edit.drop ?? []), ...drop] } },
  }
}
