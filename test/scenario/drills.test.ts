// Drills: the fault affects the named keys but neither other keys nor the vendor, a drill ends automatically or when it is stopped, and its report has
// the sums of the ledger.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { formatUsd } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { restart, startNodes } from '../support/nodes'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const options = {
  models: { ...testModels, careful: { route: ['test-chat', 'test-messages'] } },
  upstreams: { openai: { timeoutMs: 4_000 } },
}

describe.each(databaseKinds.map((kind) => [kind] as const))('drills on %s', (database) => {
  let gateway: TestGateway
  let others: TestGateway[]
  let owner: string
  let staging: { secret: string; id: string }
  beforeAll(async () => {
    ;[gateway, ...others] = await startNodes(database, 2, options)
    staging = await gateway.makeKey('team', '50')
    owner = makeToken(randomBytes)
    const { db, now } = gateway.server.world
    const expiresAt = now() + 3_600_000
    const admin = {
      id: newId('adm'),
      name: 'ada',
      role: 'owner',
      token: owner,
      createdAt: now(),
      expiresAt,
    } as const
    await createAdmin(db, admin)
  })
  afterAll(async () => {
    for (const other of others) await other.close()
    await gateway.close()
  })

  async function admin(method: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
    const response = await fetch(`${gateway.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${owner}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }

  /** Begins a drill; resolves when all nodes know it. */
  async function begin(fault: object, more: object = {}): Promise<string> {
    const { status, body } = await admin('POST', '/drills', {
      upstream: 'openai',
      keys: [staging.id],
      for: '5m',
      ...fault,
      ...more,
    })
    expect({ status, error: body.error }).toMatchObject({ status: 200 })
    await follow()
    return body.id
  }
  const follow = () => Promise.all([gateway, ...others].map(({ server }) => server.world.drills.follow()))
  const stop = async (id: string) => {
    expect((await admin('POST', `/drills/${id}/stop`)).body.state).toBe('ended')
    await follow()
  }
  const ask = async (node: TestGateway, secret: string, body: Record<string, unknown> = {}) => {
    const response = await node.chat(body, { authorization: `Bearer ${secret}` })
    return { status: response.status, json: (await response.json()) as Json }
  }
  const callsOf = () => gateway.sandbox.calls.length

  test('only the named key gets the status, on each node; the vendor is not called', async () => {
    const id = await begin({ status: 503 })
    const before = callsOf()
    for (const node of [gateway, ...others])
      expect(await ask(node, staging.secret)).toMatchObject({
        status: 503,
        json: { error: { code: 'upstream_error' } },
      })
    expect(callsOf()).toBe(before)
    for (let count = 0; count < 8; count++) expect((await ask(gateway, gateway.secret)).status).toBe(200)
    // More failures in a row than open a breaker.
    for (let count = 0; count < 8; count++) expect((await ask(gateway, staging.secret)).status).toBe(503)
    expect(gateway.server.world.catalogue.upstreams.get('openai')?.health().breaker).toBe('closed')
    expect(await gateway.newestLogged()).toMatchObject({
      status: 503,
      failed_by: 'gateway',
      vendor_status: null,
    })
    const { body } = await admin('GET', `/drills/${id}`)
    expect(body).toMatchObject({
      state: 'running',
      total: { requests: 9 + others.length, charged_usd: '0.00', held_usd: '0.00' },
      endings: [{ ended: 'refused', model: null }],
    })
    await stop(id)
    expect((await ask(gateway, staging.secret)).status).toBe(200)
  })

  test('a route falls back to its next model, and the report matches the sums of the ledger exactly', async () => {
    const id = await begin({ status: 500 }, { share_percent: 50 })
    const from = await gateway.newest()
    for (let count = 0; count < 30; count++) {
      const model = count % 2 === 0 ? 'careful' : 'test-chat'
      expect([200, 502]).toContain((await ask(gateway, staging.secret, { model })).status)
    }
    const { body } = await admin('GET', `/drills/${id}`)
    const { db } = gateway.server.world
    const touched = await db.query({
      sql: 'select request from drilled_requests where drill = $1',
      parameters: [id],
    })
    const ids = new Set(touched.map(({ request }) => request))
    expect(ids.size).toBeGreaterThan(3)
    expect(ids.size).toBeLessThan(27)
    const rows = (await gateway.charges(from.charge)).filter((row) => ids.has(row.id as string))
    const sumOf = (kind: 'amount' | 'held') => rows.reduce((sum, row) => sum + (row[kind] as number), 0)
    expect(body.total).toEqual({
      requests: ids.size,
      charged_usd: formatUsd(sumOf('amount')),
      shortfall_usd: '0.00',
      held_usd: '0.00',
      released_usd: formatUsd(sumOf('held') - sumOf('amount')),
    })
    for (const { ended, model, requests } of body.endings) {
      expect([ended, model]).toEqual(ended === 'served' ? ['served', 'test-messages'] : ['refused', null])
      expect(requests).toBe(rows.filter((row) => (row.state === 'settled') === (ended === 'served')).length)
    }
    await stop(id)
  })

  test('a hang ends at the time limit of the upstream, and nothing is charged', async () => {
    const id = await begin({ hang: true })
    const before = callsOf()
    expect(await ask(gateway, staging.secret)).toMatchObject({
      status: 504,
      json: { error: { code: 'upstream_timeout' } },
    })
    expect(callsOf()).toBe(before)
    await stop(id)
  })

  test('a delayed call is answered normally', async () => {
    const id = await begin({ delay: '1s' })
    expect((await ask(gateway, staging.secret)).status).toBe(200)
    expect((await admin('GET', `/drills/${id}`)).body.endings).toMatchObject([
      { ended: 'served', requests: 1 },
    ])
    await stop(id)
  })

  test('a cut interrupts a stream in the middle, and the delivered part is charged', async () => {
    const id = await begin({ cut: true })
    const body = { stream: true, messages: [{ role: 'user', content: '[sandbox tokens=200] Go on.' }] }
    const streamed = async (secret: string) => {
      const response = await gateway.chat(body, { authorization: `Bearer ${secret}` })
      return response.text()
    }
    const before = await gateway.newest()
    const cut = await streamed(staging.secret)
    expect(cut).toContain('upstream_cut')
    expect(cut).not.toContain('[DONE]')
    const [charge] = await gateway.charges(before.charge)
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'upstream' })
    expect(charge?.amount as number).toBeGreaterThan(0)
    // Another key gets the whole stream, which costs more.
    const whole = await streamed(gateway.secret)
    expect(whole).toContain('[DONE]')
    expect(whole.length).toBeGreaterThan(5 * cut.length)
    expect((await gateway.newestCharge())?.amount as number).toBeGreaterThan(charge?.amount as number)
    expect((await admin('GET', `/drills/${id}`)).body.total).toMatchObject({
      requests: 1,
      charged_usd: formatUsd(charge?.amount as number),
      released_usd: formatUsd((charge?.held as number) - (charge?.amount as number)),
    })
    await stop(id)
  })

  test('a cut non-streaming answer is an error that costs nothing, or the next model of a route answers', async () => {
    const id = await begin({ cut: true })
    const before = callsOf()
    for (let count = 0; count < 8; count++)
      expect(await ask(gateway, staging.secret)).toMatchObject({
        status: 502,
        json: { error: { code: 'upstream_garbage', message: expect.stringContaining('cut off') } },
      })
    expect(callsOf()).toBe(before + 8)
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
    expect(await gateway.newestLogged()).toMatchObject({ status: 502, failed_by: 'gateway' })
    expect(gateway.server.world.catalogue.upstreams.get('openai')?.health()).toMatchObject({
      breaker: 'closed',
      running: 0,
    })
    expect(await ask(gateway, staging.secret, { model: 'careful' })).toMatchObject({
      status: 200,
      json: { model: 'test-messages' },
    })
    await stop(id)
  })

  test('a drill is in the audit trail, and is refused without an end, a fault or known names', async () => {
    const { body } = await admin('GET', '/audit?action=drill.begin')
    expect(body.data[0]).toMatchObject({
      actor: 'ada',
      target: 'upstream:openai',
      after: { upstream: 'openai' },
    })
    const good = { upstream: 'openai', keys: [staging.id], for: '1m', status: 503 }
    const wrong: [object, number][] = [
      [{ ...good, for: '9h' }, 400],
      [{ ...good, for: 'soon' }, 400],
      [{ ...good, status: undefined }, 400],
      [{ ...good, hang: true }, 400],
      [{ ...good, cut: true }, 400],
      [{ ...good, status: 200 }, 400],
      [{ ...good, keys: [] }, 400],
      [{ ...good, keys: ['nobody'] }, 404],
      [{ ...good, upstream: 'nowhere' }, 404],
      [{ ...good, share_percent: 101 }, 400],
      [{ ...good, delay: '6m', status: undefined }, 400],
    ]
    for (const [asked, status] of wrong)
      expect({ asked, status: (await admin('POST', '/drills', asked)).status }).toEqual({ asked, status })
    expect((await admin('GET', '/drills/none')).status).toBe(404)
  })
})

test('a drill survives a restart and ends automatically', async () => {
  const clock = { passedMs: 0 }
  const outside = { now: () => Date.now() + clock.passedMs }
  const first = await startTestGateway({ ...options, outside })
  const { db, now } = first.server.world
  const [row] = await db.query({ sql: 'select id from keys' })
  const share = 1_000_000
  const { beginDrill } = await import('../../src/request/answer/drills')
  const fault = { kind: 'status', status: 503 } as const
  const times = { begunAt: now(), endsAt: now() + 60_000 }
  await beginDrill(db, {
    id: 'drill_1',
    upstream: 'openai',
    fault,
    keyIds: [row?.id as string],
    shareMillionths: share,
    ...times,
  })
  const second = await restart(first, { ...options, outside })
  const status = async () => {
    const response = await second.chat({}, { authorization: `Bearer ${first.secret}` })
    await response.text()
    return response.status
  }
  await second.server.world.drills.follow()
  expect(await status()).toBe(503)
  clock.passedMs = 61_000
  expect(await status()).toBe(200)
  await second.close()
})
