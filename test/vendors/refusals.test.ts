// Recorded refusals compared with the rules written from them and with the simulated vendors: both refuse each recorded
// request, and the simulated vendor uses the recorded words.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSign } from 'node:crypto'
import { sign } from 'aws4'
import { type Sandbox, startSandbox } from '../../sandbox'
import { type RecordedRule, type Refusal, recordedRules, requestOf } from './recorded'
import { forbiddenBy, readSent, rules } from './rules'

const recorded = recordedRules()
let sandbox: Sandbox

beforeAll(() => {
  sandbox = startSandbox()
})
afterAll(() => sandbox.stop())

test('each rule has records with sources, and each record has a rule', () => {
  expect(Object.keys(rules).sort()).toEqual(recorded.map(({ name }) => name).sort())
  const unsourced = recorded.filter(
    ({ refusals }) =>
      refusals.length === 0 ||
      refusals.some(({ source, date, message, quote }) => {
        const isSourced = source.startsWith('https://') && /^20\d\d-\d\d/.test(date)
        return !isSourced || (message ?? quote) === undefined
      }),
  )
  expect(unsourced.map(({ name }) => name)).toEqual([])
})

describe.each(recorded)('$name', ({ name, vendor, refusals }) => {
  const cases = refusals.map((refusal): [string, Refusal] => [titleOf(refusal), refusal])

  test.each(cases)('%s is forbidden by its rule', (_title, refusal) => {
    const { path, headers = {} } = refusal
    const sent = readSent(vendor, path, headers, JSON.stringify(requestOf(refusal)))
    expect(forbiddenBy(sent)).toContain(name)
  })

  test.each(cases)('the simulated vendor refuses %s', async (_title, refusal) => {
    const response = await send(vendor, refusal)
    const body = await response.json()
    const { status, message, body: whole } = refusal
    const text = JSON.stringify(body)
    expect([response.status, text]).toEqual([status, expect.stringContaining(inJson(message ?? ''))])
    // If the source has no message, the simulator's message must name the fault.
    if (message === undefined) expect(text).toMatch(new RegExp(namesIn(refusal).join('|'), 'i'))
    if (whole !== undefined) expect(withoutIds(body)).toEqual(whole)
  })
})

function titleOf({ model, request }: Refusal): string {
  return `${model} ${JSON.stringify(request).slice(0, 90)}`
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

function namesIn({ request }: Refusal): string[] {
  return Object.keys(request).flatMap((field) => [field.replace(/s$/, ''), field.replace('_', '[ _.]')])
}

/** A body without the parts that differ in each answer. */
function withoutIds(body: unknown): unknown {
  if (Array.isArray(body) || typeof body !== 'object' || body === null) return body
  const { request_id: _, id: __, ...rest } = body as Record<string, unknown>
  return rest
}

async function send(vendor: RecordedRule['vendor'], refusal: Refusal): Promise<Response> {
  const url = new URL(sandbox.baseUrls[vendor] + refusal.path)
  const body = JSON.stringify(requestOf(refusal))
  const plain = { 'content-type': 'application/json', ...refusal.headers }
  if (vendor === 'bedrock') {
    const [accessKeyId = '', secretAccessKey = '', sessionToken = ''] = sandbox.secrets.bedrock.split(':')
    const { headers } = sign(
      {
        host: url.host,
        path: url.pathname,
        method: 'POST',
        headers: plain,
        body,
        service: 'bedrock',
        region: 'us-east-1',
      },
      { accessKeyId, secretAccessKey, sessionToken },
    )
    return fetch(url, { method: 'POST', body, headers: headers as Record<string, string> })
  }
  const key = vendor === 'vertex' ? await tokenOf(sandbox.secrets.vertex) : sandbox.secrets[vendor]
  const proof =
    vendor === 'anthropic'
      ? { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
      : refusal.path.startsWith('/models/')
        ? { 'x-goog-api-key': key }
        : { authorization: `Bearer ${key}` }
  return fetch(url, { method: 'POST', body, headers: { ...proof, ...plain } })
}

/** Gets a token for a service account with an assertion signed by its key. */
async function tokenOf(account: string): Promise<string> {
  const { client_email: iss, private_key: key, private_key_id: kid, token_uri: aud } = JSON.parse(account)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const iat = Math.floor(Date.now() / 1_000)
  const scope = 'https://www.googleapis.com/auth/cloud-platform'
  const claims = `${part({ alg: 'RS256', kid })}.${part({ iss, aud, scope, iat, exp: iat + 600 })}`
  const signature = createSign('RSA-SHA256').update(claims).sign(key).toString('base64url')
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const body = new URLSearchParams({ grant_type: grant, assertion: `${claims}.${signature}` })
  const response = await fetch(aud, { method: 'POST', body })
  return ((await response.json()) as { access_token: string }).access_token
}
