// Reports on spenders on both databases: usage and statements by spender, requests by spender, as JSON and as tables, for operators
// and for the holder of the key; and limits from a plan or the rule of a key.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import type { Config, ModelConfig } from '../../src/config/schema'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const DAY_MS = 86_400_000
/** Longer than a key is cached. */
const SECOND_MS = 1_000
const NOON = Date.UTC(2026, 2, 10, 12)
const BAD_NAME = `=1+1,"<img src=x onerror=alert(1)>"`

const models: Record<string, ModelConfig> = {
  ...testModels,
  flat: {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'local-model',
    price: { per_1m_input_tokens: '0', per_1m_output_tokens: '0', per_request: '0.01' },
  },
}

/** A gateway with a key that names spenders, and a client of its admin API. */
async function open(kind: DatabaseKind, config: Partial<Config> = {}) {
  let at = NOON
  const gateway = await startTestGateway({ database: kind, models, config, outside: { now: () => at } })
  const { db } = gateway.server.world
  const token = makeToken(randomBytes)
  const owner = { id: newId('adm'), name: 'owner', role: 'owner' as const, expiresAt: null, createdAt: 1 }
  await createAdmin(db, { ...owner, token })
  const { secret, id } = await gateway.makeKey('company', '50', { spenders: { from: ['user'] } })
  const get = async (
    path: string,
    by: string,
    init: RequestInit = {},
  ): Promise<{ text: string; body: Json }> => {
    const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
    const response = await fetch(`${gateway.url}${path}`, { ...init, headers })
    const text = await response.text()
    expect({ path, status: response.status, text }).toMatchObject({ path, status: 200 })
    return { text, body: text.startsWith('{') ? JSON.parse(text) : {} }
  }
  return {
    gateway,
    name: id,
    chat: (user?: string) => ask(gateway, secret, user),
    admin: (path: string, method = 'GET', body?: object) =>
      get(`/admin/v1${path}`, token, { method, ...(body && { body: JSON.stringify(body) }) }),
    own: (path: string) => get(path, secret),
    pass: (ms: number) => {
      at += ms
    },
  }
}

type Opened = Awaited<ReturnType<typeof open>>

async function ask(gateway: TestGateway, secret: string, user?: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` }
  const answer = await gateway.chat({ model: 'flat', ...(user !== undefined && { user }) }, headers)
  await answer.text()
  return answer.status
}

const cellsOf = (csv: string) =>
  csv
    .trim()
    .split('\r\n')
    .map((line) => line.split(','))

for (const kind of databaseKinds)
  describe.concurrent(`reports on spenders on ${kind}`, () => {
    reportTests(kind)
    statementTests(kind)
    limitTests(kind)
  })

/** Three requests of one spender, one of another and one of nobody. Returns the ids by their names. */
async function spend({ gateway, name, chat, admin }: Pick<Opened, 'gateway' | 'name' | 'chat' | 'admin'>) {
  for (const user of ['ann', 'ann', 'ann', 'bob', undefined]) expect(await chat(user)).toBe(200)
  await waitFor(async () => (await gateway.balance('company')).heldNano === 0)
  await gateway.server.world.requestLog.flush()
  const { data } = (await admin(`/spenders?key=${name}`)).body
  return Object.fromEntries(data.map((each: Json) => [each.name, each.id])) as Record<'ann' | 'bob', string>
}

function reportTests(kind: DatabaseKind): void {
  test('usage and requests are summed and found by spender', async () => {
    const { gateway, name, chat, admin, own } = await open(kind)
    const ids = await spend({ gateway, name, chat, admin })
    const byName = [
      ['ann', ids.ann, '0.03'],
      ['bob', ids.bob, '0.01'],
      ['(none)', null, '0.01'],
    ]
    const usage = (await admin(`/usage?by=spender&key=${name}&since=2026-03-10`)).body
    const namesOf = (rows: Json[]) =>
      rows
        .map((row) => [row.spender, row.spender_id, row.amount_usd])
        .toSorted((one, other) => (one[0] < other[0] ? 1 : -1))
    expect(namesOf(usage.rows)).toEqual(
      byName.toSorted(([one], [other]) => (String(one) < String(other) ? 1 : -1)) as never,
    )
    expect(namesOf((await own('/v1/usage?by=spender&since=2026-03-10')).body.rows)).toEqual(
      namesOf(usage.rows),
    )
    const pairs = (await admin('/usage?by=account&and=spender&since=2026-03-10')).body.rows
    expect(pairs).toContainEqual(
      expect.objectContaining({ account: 'company', spender: 'ann', spender_id: ids.ann }),
    )
    const [titles, first] = cellsOf(
      (await admin(`/usage?by=spender&key=${name}&since=2026-03-10&format=csv`)).text,
    )
    expect(titles?.slice(0, 3)).toEqual(['spender', 'spender_id', 'requests'])
    expect(first?.slice(0, 3)).toEqual(['ann', ids.ann, '3'])

    for (const spender of ['ann', ids.ann]) {
      const found = (await admin(`/requests?spender=${spender}`)).body.data
      expect(found.map((row: Json) => [row.spender, row.spender_id])).toEqual(Array(3).fill(['ann', ids.ann]))
      expect((await own(`/v1/requests?spender=${spender}`)).body.data).toHaveLength(3)
    }
    expect((await admin('/requests?spender=ann,bob')).body.data).toHaveLength(4)
    expect((await admin('/requests?spender=nobody')).body.data).toEqual([])
    for (const facets of [
      (await admin('/requests/summary')).body.facets,
      (await own('/v1/requests/summary')).body.facets,
    ])
      expect(facets.spender).toEqual([
        { value: 'ann', requests: 3, failed: 0 },
        { value: 'bob', requests: 1, failed: 0 },
      ])
    const [columns, ...lines] = cellsOf((await admin('/requests?spender=bob&format=csv')).text)
    const place = columns?.indexOf('spender') ?? -1
    expect(lines.map((line) => line.slice(place, place + 2))).toEqual([['bob', ids.bob]])
    await gateway.close()
  })
}

function statementTests(kind: DatabaseKind): void {
  test('a statement has usage by spender, and shows names only while they are known', async () => {
    const { gateway, name, chat, admin, pass } = await open(kind)
    const ids = await spend({ gateway, name, chat, admin })
    pass(40 * DAY_MS)
    await admin('/statements', 'POST', { month: '2026-03', account: 'company' })
    const [{ number }] = (await admin('/statements?account=company')).body.data
    const { content } = (await admin(`/statements/${number}`)).body
    expect(content.used_usd).toBe('0.05')
    expect(content.spenders).toEqual([
      { spender: ids.ann, requests: 3, amount_usd: '0.03' },
      { spender: ids.bob, requests: 1, amount_usd: '0.01' },
      { spender: null, requests: 1, amount_usd: '0.01' },
    ])
    expect((await admin(`/statements/${number}?format=html`)).text).toContain('<td>ann</td>')
    expect((await admin('/statements/verification')).body.faults).toEqual([])
    // A forgotten spender has sums but no name.
    await admin(`/spenders/${ids.ann}/forget`, 'POST')
    expect((await admin(`/statements/${number}?format=html`)).text).not.toContain('ann')
    expect((await admin(`/usage?by=spender&key=${name}&since=2026-03-01`)).text).not.toContain('"ann"')
    expect((await admin(`/requests?spender=${ids.ann}`)).body.data[0]).toMatchObject({
      spender: null,
      spender_id: ids.ann,
    })
    await gateway.close()
  })

  test('a name is escaped wherever it is shown', async () => {
    const { gateway, chat, admin, pass } = await open(kind)
    expect(await chat(BAD_NAME)).toBe(200)
    await waitFor(async () => (await gateway.balance('company')).heldNano === 0)
    await gateway.server.world.requestLog.flush()
    const csv = (await admin('/usage?by=spender&since=2026-03-10&format=csv')).text
    expect(csv).toContain(`"'=1+1,""<img src=x onerror=alert(1)>"""`)
    const [value] = (await admin('/requests/summary')).body.facets.spender
    expect(value.value).toStartWith('spn_')
    expect((await admin(`/requests?spender=${value.value}`)).body.data).toMatchObject([{ spender: BAD_NAME }])
    pass(40 * DAY_MS)
    await admin('/statements', 'POST', { month: '2026-03' })
    const statements = (await admin('/statements?account=company')).body.data
    const page = (await admin(`/statements/${statements[0].number}?format=html`)).text
    expect(page).toContain('=1+1,&quot;&lt;img')
    expect(page).not.toContain('<img')
    await gateway.close()
  })
}

function limitTests(kind: DatabaseKind): void {
  test('a plan gives limits to spenders whose rule and who themselves have none', async () => {
    const spenders = { budget: { usd: '0.02', per: 'day' as const }, requestsPerMinute: 50, mostNewPerDay: 2 }
    const { gateway, name, chat, admin, pass } = await open(kind, { plans: { team: { spenders } } })
    expect((await admin('/plans/team')).body.spenders).toEqual({
      budget_usd: '0.02',
      budget_period: 'day',
      requests_per_minute: 50,
      most_new_per_day: 2,
    })
    expect(await chat('ann')).toBe(200)
    const { inherited } = (await admin(`/spenders?key=${name}`)).body.data[0]
    expect(inherited).toEqual([])
    await admin('/accounts/company', 'PATCH', { plan: 'team' })
    const statuses = async (...users: string[]) => {
      const found = []
      for (const user of users) found.push(await chat(user))
      return found
    }
    pass(SECOND_MS)
    expect(await statuses('bob', 'new')).toEqual([200, 429])
    expect(await statuses('ann', 'ann', 'ann')).toEqual([200, 200, 402])
    const find = async () =>
      (await admin(`/spenders?key=${name}`)).body.data.find((each: Json) => each.name === 'ann')
    const ann = await find()
    expect(ann).toMatchObject({
      budget_usd: '0.02',
      budget_period: 'day',
      budget_used_usd: '0.02',
      requests_per_minute: 50,
      inherited: ['budget', 'requests_per_minute'],
    })
    const rule = { from: ['user'], budget_usd: '0.03', budget_period: 'day', most_new_per_day: 3 }
    await admin(`/keys/${name}`, 'PATCH', { spenders: rule })
    pass(SECOND_MS)
    expect(await find()).toMatchObject({ budget_usd: '0.03', inherited: ['budget', 'requests_per_minute'] })
    expect(await chat('new')).toBe(200)
    expect(await statuses('ann', 'ann')).toEqual([200, 402])
    await admin(`/spenders/${ann.id}`, 'PATCH', { budget_usd: '0.04', budget_period: 'day' })
    expect(await find()).toMatchObject({ budget_usd: '0.04', inherited: ['requests_per_minute'] })
    expect(await statuses('ann', 'ann')).toEqual([200, 402])
    await gateway.close()
  })
}
