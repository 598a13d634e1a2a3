// Spenders below a key: found wherever clients name them, held like balances on several nodes, limited, counted, and forgotten.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { SpenderRule } from '../../src/accounts/spender-rule'
import { createNamedSpender, forgetSpender, listSpenders, updateSpender } from '../../src/accounts/spenders'
import { newId } from '../../src/app/world'
import { usageBy } from '../../src/billing/reports/usage-report'
import type { ModelConfig } from '../../src/config/schema'
import { NANO_PER_USD } from '../../src/lib/money'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { closeNodes, flood, startNodes, statusesOf } from '../support/nodes'

setDefaultTimeout(180_000)

const CENT = NANO_PER_USD / 100
const NOON = Date.UTC(2026, 2, 10, 12)

const models: Record<string, ModelConfig> = {
  ...testModels,
  // A cent for each request, whatever it says: the hold is the price.
  flat: {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'local-model',
    price: { per_1m_input_tokens: '0', per_1m_output_tokens: '0', per_request: '0.01' },
  },
}

/** A key with a rule, and a function that sends requests with it. */
async function keyOf(gateway: TestGateway, rule: SpenderRule) {
  const { secret, id } = await gateway.makeKey('company', '50', { spenders: rule })
  const bearer = { authorization: `Bearer ${secret}` }
  const ask = (body: object = {}, headers: Record<string, string> = {}, by = gateway) =>
    by.chat({ model: 'flat', ...body }, { ...bearer, ...headers })
  const names = async () =>
    (await listSpenders(gateway.server.world.db, { keyId: id, limit: 100 })).map(
      ({ kind, name }) => `${kind} ${name}`,
    )
  return { id, ask, bearer, names }
}

for (const kind of databaseKinds) {
  describe.concurrent(`spenders on ${kind}`, () => {
    moneyTests(kind)
    nameTests(kind)
    ruleTests(kind)
  })
}

function moneyTests(kind: DatabaseKind): void {
  test('a spender with money for 10 pays for exactly 10 of 1,000 requests over three nodes', async () => {
    const nodes = await startNodes(kind, 3, { models, outside: { now: () => NOON } })
    const [first] = nodes
    const { id, ask } = await keyOf(first, { from: ['user'], budget_usd: '0.10', budget_period: 'day' })
    const answers = await flood(1_000, (index) => ask({ user: 'ann' }, {}, nodes[index % nodes.length]))
    expect(statusesOf(answers)).toEqual({ 200: 10, 402: 990 })
    expect(first.sandbox.calls).toHaveLength(10)
    const late = await ask({ user: 'ann' })
    expect(((await late.json()) as { error: object }).error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining("user `ann`'s budget of $0.10 a day has $0.00 left"),
    })
    // Others, and requests without a spender, have the money of the key.
    expect((await ask({ user: 'bob' })).status).toBe(200)
    expect((await ask()).status).toBe(200)
    await waitFor(async () => (await first.balance('company')).heldNano === 0)
    const { db } = first.server.world
    const spenders = await listSpenders(db, { keyId: id, limit: 9 })
    const used = await usageBy(db, 'metadata.spender', { since: 0, keyId: id })
    const paid = new Map(used.map(({ name, amountNano }) => [name, amountNano]))
    expect(spenders.map((each) => [each.name, paid.get(each.id)]).toSorted()).toEqual([
      ['ann', 10 * CENT],
      ['bob', CENT],
    ])
    await closeNodes(nodes)
  })

  test('its own limits have precedence over those of the rule', async () => {
    const gateway = await startTestGateway({ database: kind, models, outside: { now: () => NOON } })
    const { id, ask } = await keyOf(gateway, { from: ['user'], requests_per_minute: 2 })
    const statuses = async (count: number) => {
      const found = []
      for (let index = 0; index < count; index++) found.push((await ask({ user: 'ann' })).status)
      return found
    }
    expect(await statuses(3)).toEqual([200, 200, 429])
    const { db } = gateway.server.world
    const [ann] = await listSpenders(db, { keyId: id, limit: 1 })
    await updateSpender(db, ann?.id ?? '', {
      models: ['flat'],
      requestsPerMinute: 100,
      budgetNano: CENT,
      budgetPeriod: 'month',
    })
    expect(await statuses(2)).toEqual([200, 402])
    expect((await ask({ user: 'ann', model: 'test-chat' })).status).toBe(400)
    expect((await ask({ user: 'bob', model: 'test-chat' })).status).toBe(200)
    await gateway.close()
  })
}

function nameTests(kind: DatabaseKind): void {
  test('names are found where clients put them, the first of the rule that is present', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const from = ['x-openwebui-user-email', 'tag.team', 'safety_identifier', 'metadata.user_id', 'user']
    const { ask, bearer, names } = await keyOf(gateway, { from })
    const session = '0b6a3c1e-7d2f-4e55-9a10-3f1f5b7c9d21'
    expect((await ask({ user: 'libre' }, { 'x-openwebui-user-email': 'ann@example.com' })).status).toBe(200)
    expect((await ask({ user: 'libre' }, { 'x-gateway-metadata': 'team=search' })).status).toBe(200)
    expect((await ask({ user: 'libre', safety_identifier: 'hash' })).status).toBe(200)
    expect((await ask({ user: '  libre\n\u0007chat  ' })).status).toBe(200)
    for (const of of [session, session.replace('0b', '1c')]) {
      const message = { model: 'test-messages', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
      const metadata = { user_id: `user_4f2a_account_77_session_${of}` }
      expect((await gateway.post('/v1/messages', { ...message, metadata }, bearer)).status).toBe(200)
    }
    const user_id = JSON.stringify({ device_id: 'd', account_uuid: 'account-1', session_id: session })
    expect((await ask({ metadata: { user_id } })).status).toBe(200)
    expect((await names()).toSorted()).toEqual([
      'tag search',
      'user account-1',
      'user ann@example.com',
      'user hash',
      'user libre chat',
      'user user_4f2a_account_77',
    ])
    await gateway.close()
  })

  test('a forgotten spender has no name, keeps the sums, and is new when named again', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { id, ask } = await keyOf(gateway, { from: ['user'] })
    expect((await ask({ user: 'ann' })).status).toBe(200)
    const { db, now } = gateway.server.world
    const [ann] = await listSpenders(db, { keyId: id, limit: 1 })
    await forgetSpender(db, ann?.id ?? '', now())
    const rows = await db.query({ sql: 'select * from spenders' })
    expect(JSON.stringify(rows)).not.toContain('ann')
    expect((await usageBy(db, 'metadata.spender', { since: 0, keyId: id }))[0]).toMatchObject({
      name: ann?.id,
      amountNano: CENT,
    })
    expect((await ask({ user: 'ann' })).status).toBe(200)
    expect(await listSpenders(db, { keyId: id, limit: 9 })).toHaveLength(2)
    await gateway.close()
  })
}

function ruleTests(kind: DatabaseKind): void {
  test('a key creates at most as many spenders a day as its rule permits, or none', async () => {
    let at = NOON
    const gateway = await startTestGateway({ database: kind, models, outside: { now: () => at } })
    const { ask } = await keyOf(gateway, { from: ['user'], most_new_per_day: 2 })
    const statuses = async () => {
      const found = []
      for (const user of ['a', 'b', 'c', 'a']) found.push((await ask({ user })).status)
      return found
    }
    expect(await statuses()).toEqual([200, 200, 429, 200])
    at += 24 * 3_600_000
    expect(await statuses()).toEqual([200, 200, 200, 200])
    const closed = await keyOf(gateway, { from: ['user'], create: false })
    const refused = await closed.ask({ user: 'a' })
    expect(refused.status).toBe(403)
    expect(((await refused.json()) as { error: object }).error).toMatchObject({ code: 'spender_unknown' })
    await gateway.close()
  })

  test('of 1,000 new names at once over three nodes a key makes as many as its rule says', async () => {
    const nodes = await startNodes(kind, 3, { models, outside: { now: () => NOON } })
    const [first] = nodes
    for (const most of [1, 10]) {
      const { id, ask } = await keyOf(first, { from: ['user'], most_new_per_day: most })
      const make = (index: number) => {
        const { db } = (nodes[index % nodes.length] as TestGateway).server.world
        const named = { kind: 'user' as const, name: `user ${index}`, hash: `${most} ${index}` }
        return createNamedSpender(db, { ...named, id: newId('spn'), keyId: id, createdAt: NOON }, most)
      }
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => make(index)))
      expect(await listSpenders(first.server.world.db, { keyId: id, limit: 99 })).toHaveLength(most)
      expect((await ask({ user: 'late' })).status).toBe(429)
    }
    await closeNodes(nodes)
  })

  test('requests of a key without a rule make no spender, and no set of metadata', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { db } = gateway.server.world
    await gateway.chat({ model: 'flat', user: 'ann' })
    expect(await db.query({ sql: 'select * from spenders' })).toEqual([])
    expect(await db.query({ sql: 'select * from usage_metadata' })).toEqual([])
    await gateway.close()
  })
}
