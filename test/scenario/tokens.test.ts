// Tokens that act for keys: their exact budgets, on several nodes, through streams, tasks, replays and expiry; what they may read;
// and that a token ends when it expires, with its key, or when its holder revokes it.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { revokeKey, rollKey } from '../../src/accounts/keys'
import { forgetTokens } from '../../src/accounts/spenders'
import type { ModelConfig } from '../../src/config/schema'
import { apply } from '../../src/db/db'
import { NANO_PER_USD } from '../../src/lib/money'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, testModels, videoModels, waitFor } from '../support/gateway'
import { inTime } from '../support/in-time'
import { closeNodes, flood, startNodes, statusesOf } from '../support/nodes'

setDefaultTimeout(600_000)

const MINUTE_MS = 60_000
const CENT = NANO_PER_USD / 100
/** How long a stream waits for a database that accepts no step of its hold, in milliseconds: then it ends earlier. */
const STEP_MS = 5_000

const models: Record<string, ModelConfig> = {
  ...testModels,
  ...videoModels,
  // A cent for each request, whatever it says: the hold is the price.
  flat: {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'local-model',
    price: { per_1m_input_tokens: '0', per_1m_output_tokens: '0', per_request: '0.01' },
  },
}

interface MadeToken {
  id: string
  token: string
  status: string
  budget_used_usd: string
  expires_at: string
}

function bearer(secret: string) {
  return { authorization: `Bearer ${secret}` }
}

async function makeToken(
  gateway: TestGateway,
  body: object = {},
  secret = gateway.secret,
): Promise<MadeToken> {
  const asked = { expires_in_minutes: 15, budget_usd: '0.10', ...body }
  const response = await gateway.post('/v1/tokens', asked, bearer(secret))
  const answer = (await response.json()) as MadeToken
  expect({ status: response.status, answer }).toMatchObject({ status: 200 })
  return answer
}

async function listTokens(gateway: TestGateway, secret = gateway.secret): Promise<MadeToken[]> {
  const response = await fetch(`${gateway.url}/v1/tokens`, { headers: bearer(secret) })
  return ((await response.json()) as { data: MadeToken[] }).data
}

const flat = (gateway: TestGateway, token: string, headers = {}) =>
  gateway.chat({ model: 'flat' }, { ...bearer(token), ...headers })

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code
}

async function committed(gateway: TestGateway, { id }: Pick<MadeToken, 'id'>) {
  const rows = await gateway.server.world.db.query({
    sql: 'select period, committed from budgets where key_id = $1',
    parameters: [id],
  })
  return rows[0] ?? null
}

for (const kind of databaseKinds) {
  describe.concurrent(`tokens on ${kind}`, () => {
    spendingTests(kind)
    limitTests(kind)
    accessTests(kind)
    recordTests(kind)
    settingTests(kind)
    endingTests(kind)
  })
}

function spendingTests(kind: DatabaseKind): void {
  test('a token with money for 10 pays for exactly 10 of 1,000 requests over three nodes', async () => {
    const nodes = await startNodes(kind, 3, { models, balance: '100' })
    const [first] = nodes
    const made = await makeToken(first)
    const answers = await flood(1_000, (index) =>
      flat(nodes[index % nodes.length] as TestGateway, made.token),
    )
    expect(statusesOf(answers)).toEqual({ 200: 10, 402: 990 })
    expect(first.sandbox.calls).toHaveLength(10)
    const late = await flat(first, made.token)
    expect(late.headers.get('x-should-retry')).toBe('false')
    expect(((await late.json()) as { error: object }).error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining("this token's budget of $0.10 has $0.00 left. It is not renewed."),
    })
    // The rest of the key's money is not the token's to spend, nor is it touched.
    expect((await flat(first, first.secret)).status).toBe(200)
    await waitFor(async () => (await first.balance()).heldNano === 0)
    expect((await first.balance()).balanceNano).toBe(100 * NANO_PER_USD - 11 * CENT)
    expect(await committed(first, made)).toEqual({ period: 'whole', committed: 10 * CENT })
    expect((await listTokens(first))[0]).toMatchObject({ budget_used_usd: '0.10', status: 'active' })
    await closeNodes(nodes)
  })

  test('the unused part of a hold is released, and a failed request spends nothing', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const made = await makeToken(gateway)
    const answer = await gateway.chat({ max_tokens: 10_000 }, bearer(made.token))
    expect(answer.status).toBe(200)
    const [charge] = await gateway.charges()
    expect(await committed(gateway, made)).toMatchObject({ committed: charge?.amount })
    expect(
      (await gateway.chat({ model: 'flat', messages: say('[sandbox status=500]') }, bearer(made.token))).ok,
    ).toBe(false)
    expect(await committed(gateway, made)).toMatchObject({ committed: charge?.amount })
    await gateway.close()
  })

  test('a stream stops where the budget of its token ends', () =>
    inTime(STEP_MS, async (part) => {
      const gateway = await startTestGateway({ database: kind, models })
      const made = await makeToken(gateway, { budget_usd: '0.012' })
      part.begin()
      const response = await gateway.chat(
        { messages: say('[sandbox tokens=9000]'), stream: true, max_tokens: 9_000 },
        bearer(made.token),
      )
      expect(response.status).toBe(200)
      await response.text()
      part.end()
      await waitFor(async () => (await gateway.charges())[0]?.state === 'settled')
      const [charge] = await gateway.charges()
      expect(charge).toMatchObject({ ended_by: 'balance' })
      expect(charge?.amount).toBeLessThanOrEqual(1.2 * CENT)
      expect(charge?.amount).toBeGreaterThan(CENT)
      expect(await committed(gateway, made)).toMatchObject({ committed: charge?.amount })
      await gateway.close()
    }))
}

function limitTests(kind: DatabaseKind): void {
  test('a repeat with the same Idempotency-Key costs a token nothing, and takes nothing from others', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const [one, other] = [await makeToken(gateway), await makeToken(gateway)]
    const again = { 'idempotency-key': 'once' }
    const texts = []
    for (const token of [one.token, one.token, other.token, gateway.secret]) {
      const response = await flat(gateway, token, again)
      expect(response.status).toBe(200)
      texts.push(await response.text())
    }
    expect(texts[1]).toBe(texts[0] as string)
    expect(gateway.sandbox.calls).toHaveLength(3)
    expect(await committed(gateway, one)).toMatchObject({ committed: CENT })
    await gateway.close()
  })

  test('limits of the key hold for its tokens too', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { secret } = await gateway.makeKey('poor', '5', {
      budgetNano: 2 * CENT,
      budgetPeriod: 'day',
      models: ['flat', 'test-chat'],
    })
    const refused = await gateway.post(
      '/v1/tokens',
      { expires_in_minutes: 1, budget_usd: '1', models: ['test-local'] },
      bearer(secret),
    )
    expect([refused.status, await codeOf(refused)]).toEqual([400, 'invalid_value'])
    const made = await makeToken(gateway, { models: ['flat'], budget_usd: '1' }, secret)
    expect((await gateway.chat({}, bearer(made.token))).status).toBe(400)
    expect((await flat(gateway, made.token)).status).toBe(200)
    expect((await flat(gateway, made.token)).status).toBe(200)
    const last = await flat(gateway, made.token)
    expect(last.status).toBe(402)
    // A visitor of a page learns nothing of the account.
    expect(((await last.json()) as { error: { message: string } }).error.message).not.toContain('$')
    await gateway.close()
  })
}

function accessTests(kind: DatabaseKind): void {
  test('a token sends requests to models and does nothing else', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { token, id } = await makeToken(gateway)
    const allowed = [`/v1/models`, `/v1/models/test-chat`, '/v1/prices']
    for (const path of allowed)
      expect((await fetch(`${gateway.url}${path}`, { headers: bearer(token) })).status).toBe(200)
    const forbidden: [string, string][] = [
      ['GET', '/v1/me'],
      ['POST', '/v1/me/roll'],
      ['POST', '/v1/me/roll-webhook'],
      ['GET', '/v1/usage'],
      ['GET', '/v1/requests'],
      ['GET', '/v1/requests/req_1'],
      ['GET', '/v1/tasks'],
      ['GET', '/v1/videos'],
      ['DELETE', '/v1/videos/video_1'],
      ['GET', '/v1/holds'],
      ['GET', '/v1/artifacts'],
      ['GET', '/v1/responses/resp_1'],
      ['DELETE', '/v1/responses/resp_1'],
      ['GET', '/v1/conversations/conv_1'],
      ['GET', '/v1/dashboard/billing/subscription'],
      ['GET', '/api/v1/credits'],
      ['GET', '/api/v1/key'],
      ['GET', '/v1/tokens'],
      ['POST', '/v1/tokens'],
      ['DELETE', `/v1/tokens/${id}`],
      ['POST', '/v1/conversations'],
      ['POST', '/v1/codes/redeem'],
    ]
    for (const [method, path] of forbidden) {
      const body = method === 'POST' ? { body: '{}' } : {}
      const response = await fetch(`${gateway.url}${path}`, { method, headers: bearer(token), ...body })
      expect({ method, path, status: response.status, code: await codeOf(response) }).toEqual({
        method,
        path,
        status: 403,
        code: 'token_not_allowed',
      })
    }
    const tools = await gateway.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, bearer(token))
    expect(tools.status).toBe(403)
    await gateway.close()
  })
}

function recordTests(kind: DatabaseKind): void {
  test('a token reads its own tasks and no kept responses', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const [one, other] = [await makeToken(gateway, { budget_usd: '1' }), await makeToken(gateway)]
    const video = { model: 'vidw2.6-t2v', duration: 5, resolution: '720p', input: { prompt: 'A fox' } }
    const asked = { ...video, parameters: { duration: 5, size: '1280*720' } }
    const begun = await gateway.post('/v1/videos/generations', asked, bearer(one.token))
    const { id } = (await begun.json()) as { id: string }
    expect(begun.status).toBe(202)
    const read = (secret: string, path: string) => fetch(`${gateway.url}${path}`, { headers: bearer(secret) })
    for (const path of [`/v1/videos/generations/${id}`, `/v1/tasks/${id}`, `/v1/videos/${id}`]) {
      expect((await read(one.token, path)).status).toBe(200)
      expect((await read(gateway.secret, path)).status).toBe(200)
      expect((await read(other.token, path)).status).toBe(404)
    }
    expect((await read(other.token, `/v1/videos/${id}/content`)).status).toBe(404)
    const kept = await gateway.post('/v1/responses', { model: 'test-chat', input: 'Hello' })
    const { id: previous } = (await kept.json()) as { id: string }
    const continued = { model: 'test-chat', input: 'More', previous_response_id: previous }
    expect((await gateway.post('/v1/responses', continued)).status).toBe(200)
    const stolen = await gateway.post('/v1/responses', continued, bearer(one.token))
    expect(await codeOf(stolen)).toBe('previous_response_not_found')
    const own = await gateway.post('/v1/responses', { model: 'test-chat', input: 'Hello' }, bearer(one.token))
    expect(own.status).toBe(200)
    const { id: unkept } = (await own.json()) as { id: string }
    expect((await read(gateway.secret, `/v1/responses/${unkept}`)).status).toBe(404)
    await gateway.close()
  })

  test('a page of another key neither sees nor revokes a token; each change is in the audit trail', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { id, token } = await makeToken(gateway, { name: 'page' })
    const { secret } = await gateway.makeKey('other', '1')
    expect(await listTokens(gateway, secret)).toEqual([])
    const remove = (by: string) =>
      fetch(`${gateway.url}/v1/tokens/${id}`, { method: 'DELETE', headers: bearer(by) })
    const foreign = await remove(secret)
    expect([foreign.status, await codeOf(foreign)]).toEqual([404, 'token_not_found'])
    expect((await flat(gateway, token)).status).toBe(200)
    expect((await remove(gateway.secret)).status).toBe(200)
    expect((await remove(gateway.secret)).status).toBe(200)
    await waitFor(async () => (await flat(gateway, token)).status === 401)
    const trail = await gateway.server.world.db.query({
      sql: `select action, after from audit_trail where action like 'token.%' order by id`,
    })
    expect(trail.map(({ action }) => action)).toEqual(['token.create', 'token.revoke'])
    expect(JSON.parse(String(trail[0]?.after))).toMatchObject({ id, name: 'page', budget_usd: '0.10' })
    expect(JSON.stringify(trail)).not.toContain(token)
    await gateway.close()
  })
}

function settingTests(kind: DatabaseKind): void {
  test('wrong settings are refused', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    for (const wrong of [
      { expires_in_minutes: 0 },
      { expires_in_minutes: 1_441 },
      { expires_in_minutes: 1.5 },
      { budget_usd: '0' },
      { budget_usd: '-1' },
      { budget_usd: 'all' },
      { name: 'two words' },
      { models: [] },
      { kind: 'mcp' },
    ]) {
      const response = await gateway.post('/v1/tokens', { expires_in_minutes: 5, budget_usd: '1', ...wrong })
      expect({ wrong, status: response.status }).toEqual({ wrong, status: 400 })
    }
    expect(await listTokens(gateway)).toEqual([])
    await gateway.close()
  })
}

function endingTests(kind: DatabaseKind): void {
  test('a token ends at its expiry, and with its key or the secret of its key', async () => {
    let passedMs = 0
    const now = () => Date.UTC(2026, 2, 10, 12) + passedMs
    const gateway = await startTestGateway({ database: kind, models, outside: { now } })
    const { db } = gateway.server.world
    const keys = [await gateway.makeKey('a', '1'), await gateway.makeKey('b', '1')] as const
    const short = await makeToken(gateway, { expires_in_minutes: 1 })
    const revoked = await makeToken(gateway, {}, keys[0].secret)
    const rolled = await makeToken(gateway, {}, keys[1].secret)
    for (const { token } of [short, revoked, rolled]) expect((await flat(gateway, token)).status).toBe(200)
    await revokeKey(db, keys[0].id, now())
    await rollKey(db, keys[1].id, `sk-${'a'.repeat(39)}`, now())
    passedMs += MINUTE_MS
    for (const { token } of [short, revoked, rolled]) expect((await flat(gateway, token)).status).toBe(401)
    expect((await listTokens(gateway))[0]).toMatchObject({ id: short.id, status: 'expired' })
    passedMs += 25 * 60 * MINUTE_MS
    await apply(db, forgetTokens(now()))
    expect(await listTokens(gateway)).toEqual([])
    expect(await committed(gateway, short)).toBeNull()
    // Its charges stay those of its key.
    expect((await gateway.charges()).filter(({ account }) => account === 'alice')).toHaveLength(1)
    await gateway.close()
  })
}
