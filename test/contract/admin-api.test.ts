// The admin API on both databases: every operation by role, refused without a token and audited where it changes
// something; money exactly once; and a fuzz of every operation by its own document, which must never end in a 500.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createAdmin, makeToken, ROLES, type Role } from '../../src/admin/admins'
import { createAdminDocument } from '../../src/admin/document'
import { adminOperations as operations } from '../../src/admin/operations'
import { newId, randomBytes } from '../../src/app/world'
import { audit } from '../../src/billing/audit'
import { databaseKinds } from '../support/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { misfits } from '../support/json-schema'

interface Reply {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  body: any
}

const gateways = new Map<string, TestGateway>()
const tokens = new Map<string, Record<Role, string>>()
const document = createAdminDocument('0.0.0')

beforeAll(async () => {
  for (const database of databaseKinds) {
    const gateway = await startTestGateway({ database, balance: '10' })
    gateways.set(database, gateway)
    const made = {} as Record<Role, string>
    for (const role of ROLES) {
      made[role] = makeToken(randomBytes)
      const admin = { id: newId('adm'), name: role, role, token: made[role], expiresAt: null, createdAt: 1 }
      expect(await createAdmin(gateway.server.world.db, admin)).toBe(true)
    }
    tokens.set(database, made)
  }
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
}, 30_000)

function caller(database: string) {
  const gateway = gateways.get(database) as TestGateway
  return async (
    method: string,
    path: string,
    {
      token,
      role = 'owner',
      body,
      headers = {},
    }: {
      token?: string | null
      role?: Role
      body?: unknown
      headers?: Record<string, string>
    } = {},
  ): Promise<Reply> => {
    const secret = token === undefined ? tokens.get(database)?.[role] : token
    const response = await fetch(`${gateway.url}/admin/v1${path}`, {
      method,
      headers: {
        ...(secret !== null && { authorization: `Bearer ${secret}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, text, body: isJson ? JSON.parse(text) : text }
  }
}

/** A request of each operation that succeeds, in this order; `writes` names what the audit trail says. */
const journey: { id: string; path: string; body?: unknown; writes?: string }[] = [
  { id: 'createKey', path: '/keys', body: { name: 'ann', models: ['test-chat'] }, writes: 'key.create' },
  { id: 'listAccounts', path: '/accounts?limit=1' },
  { id: 'getAccount', path: '/accounts/ann' },
  { id: 'updateAccount', path: '/accounts/ann', body: { note: '<script>' }, writes: 'account.update' },
  { id: 'freezeAccount', path: '/accounts/ann/freeze', writes: 'account.freeze' },
  { id: 'unfreezeAccount', path: '/accounts/ann/unfreeze', writes: 'account.unfreeze' },
  { id: 'creditAccount', path: '/accounts/ann/credits', body: { amount_usd: '5' }, writes: 'account.credit' },
  {
    id: 'adjustAccount',
    path: '/accounts/ann/adjustments',
    body: { amount_usd: '-1.5', note: 'x' },
    writes: 'account.adjust',
  },
  { id: 'listLedger', path: '/accounts/ann/ledger?limit=1' },
  { id: 'listKeys', path: '/keys' },
  { id: 'getKey', path: '/keys/ann' },
  { id: 'updateKey', path: '/keys/ann', body: { concurrency: 3, models: null }, writes: 'key.update' },
  { id: 'pauseKey', path: '/keys/ann/pause', writes: 'key.pause' },
  { id: 'resumeKey', path: '/keys/ann/resume', writes: 'key.resume' },
  { id: 'rollKey', path: '/keys/ann/roll', writes: 'key.roll' },
  { id: 'rollWebhookSecret', path: '/keys/ann/roll-webhook', writes: 'key.roll_webhook' },
  { id: 'revokeKey', path: '/keys/ann/revoke', writes: 'key.revoke' },
  { id: 'listRequests', path: '/requests?status=failed' },
  { id: 'getUsage', path: '/usage?by=model' },
  { id: 'listTasks', path: '/tasks' },
  { id: 'listWebhooks', path: '/webhooks' },
  { id: 'listArtifacts', path: '/artifacts' },
  { id: 'listModels', path: '/models' },
  { id: 'getModel', path: '/models/test-chat' },
  { id: 'listUpstreams', path: '/upstreams' },
  { id: 'getMe', path: '/me' },
  { id: 'getConfiguration', path: '/configuration' },
  { id: 'compareConfiguration', path: '/configuration/changes' },
  { id: 'reloadConfiguration', path: '/configuration/reload', writes: 'configuration.reload' },
  { id: 'listBackups', path: '/backups' },
  { id: 'listAdmins', path: '/admins' },
  { id: 'revokeAdmin', path: '/admins/spare/revoke', writes: 'admin.revoke' },
  { id: 'listAudit', path: '/audit' },
  { id: 'closeAccount', path: '/accounts/ann/close', writes: 'account.close' },
]

test('the document is valid OpenAPI, and names each operation once', async () => {
  const copy = structuredClone(document) as object as Record<string, unknown>
  expect(await new Validator().validate(copy)).toMatchObject({ valid: true })
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  const tried = new Set(journey.map(({ id }) => id))
  // Tested apart: they need a task, a request or a worker.
  const apart = ['getTask', 'cancelTask', 'reconcileTask', 'redeliverWebhook', 'getRequest', 'makeBackup']
  expect(
    operations
      .map(({ id }) => id)
      .filter((id) => !tried.has(id))
      .sort(),
  ).toEqual(apart.sort())
})

for (const database of databaseKinds) {
  test(`each operation is refused without the role, and each change is in the audit trail (${database})`, async () => {
    const call = caller(database)
    const { db } = (gateways.get(database) as TestGateway).server.world
    const spare = { id: newId('adm'), name: 'spare', role: 'viewer' as const, expiresAt: null, createdAt: 1 }
    await createAdmin(db, { ...spare, token: makeToken(randomBytes) })
    const entries = async () => (await call('GET', '/audit?limit=1000')).body.data
    for (const { id, path, body, writes } of journey) {
      const operation = operations.find((each) => each.id === id)
      if (!operation) throw new Error(`there is no operation ${id}`)
      const before = await entries()
      for (const role of ROLES.slice(0, ROLES.indexOf(operation.role))) {
        const refused = await call(operation.method, path, { role, body })
        expect({ id, role, status: refused.status }).toEqual({ id, role, status: 403 })
      }
      expect(await entries()).toEqual(before)
      const { status, body: answer } = await call(operation.method, path, { role: operation.role, body })
      expect({ id, status, answer }).toMatchObject({ id, status: 200 })
      const { responses } = (document.paths[`/admin/v1${operation.path}`]?.[operation.method.toLowerCase()] ??
        {}) as { responses: Record<string, { content: Record<string, { schema: object }> }> }
      const schema = responses['200']?.content['application/json']?.schema ?? {}
      expect({ id, misfits: misfits(document as never, schema as never, answer) }).toEqual({
        id,
        misfits: [],
      })
      const after = await entries()
      const added = after.slice(0, after.length - before.length)
      expect({ id, added: added.map(({ action }: { action: string }) => action) }).toEqual({
        id,
        added: writes ? [writes] : [],
      })
      if (writes)
        expect(added[0]).toMatchObject({ actor: operation.role, request_id: expect.stringMatching(/^req_/) })
    }
    // No secret of a key stands in the trail.
    expect(JSON.stringify(await entries())).not.toMatch(/sk-[0-9A-Za-z]{30}|adm-[0-9A-Za-z]{30}|whsec_/)
  })

  test(`money moves once for each Idempotency-Key (${database})`, async () => {
    const call = caller(database)
    await call('POST', '/keys', { body: { name: 'payer' } })
    const credit = (amount: string, key: string, account = 'payer') =>
      call('POST', `/accounts/${account}/credits`, {
        body: { amount_usd: amount, note: 'invoice' },
        headers: { 'idempotency-key': key },
      })
    const tries = await Promise.all(Array.from({ length: 8 }, () => credit('2.5', `pay-${database}`)))
    expect(tries.map(({ status }) => status)).toEqual(tries.map(() => 200))
    expect(tries.filter(({ body }) => !body.replayed).length).toBe(1)
    expect((await call('GET', '/accounts/payer')).body.balance_usd).toBe('2.50')
    expect((await credit('2.6', `pay-${database}`)).status).toBe(422)
    expect((await credit('2.5', `pay-${database}`, 'alice')).status).toBe(422)
    const down = () =>
      call('POST', '/accounts/payer/adjustments', {
        body: { amount_usd: '-2', note: 'refund' },
        headers: { 'idempotency-key': `refund-${database}` },
      })
    expect((await down()).status).toBe(200)
    expect((await down()).body).toMatchObject({ replayed: true, balance_usd: '0.50' })
    const tooMuch = await call('POST', '/accounts/payer/adjustments', {
      body: { amount_usd: '-2', note: 'x' },
    })
    expect([tooMuch.status, tooMuch.body.error.code]).toEqual([409, 'insufficient_balance'])
    const { body } = await call('GET', '/audit?target=account:payer')
    expect(body.data.length).toBe(2)
    const world = (gateways.get(database) as TestGateway).server.world
    expect((await audit(world.db, world.now())).problems).toEqual([])
  })

  test(`lists go on where a page ends (${database})`, async () => {
    const call = caller(database)
    for (let index = 0; index < 5; index++)
      await call('POST', '/keys', { body: { name: `page-${index}`, account: 'pages' } })
    for (let index = 1; index <= 7; index++)
      await call('POST', '/accounts/pages/credits', { body: { amount_usd: String(index) } })
    for (const path of [
      '/keys?account=pages',
      '/accounts/pages/ledger',
      '/audit?target=account:pages',
      '/models',
      '/accounts',
    ]) {
      const join = path.includes('?') ? '&' : '?'
      const whole = (await call('GET', `${path}${join}limit=1000`)).body.data
      const rows: unknown[] = []
      for (let next: string | null = ''; next !== null; ) {
        const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`
        const { body } = await call('GET', `${path}${join}limit=2${after}`)
        expect(body.data.length).toBeLessThanOrEqual(2)
        rows.push(...body.data)
        next = body.next
      }
      expect(rows).toEqual(whole)
    }
    const csv = await call('GET', '/accounts/pages/ledger?format=csv')
    expect(csv.text.trim().split('\r\n').length).toBe(8)
    expect((await call('GET', '/usage?by=account&format=csv')).text).toStartWith('account,requests')
  })

  test(`nothing that is asked by its document or against it ends in a fault (${database})`, async () => {
    const call = caller(database)
    const texts = [
      '',
      '0',
      '-1',
      'x'.repeat(3_000),
      "'; drop table keys; --",
      '%00',
      '\u{1f600}',
      '../..',
      'null',
    ]
    const values: unknown[] = [null, true, -1, 1e300, 0.5, [], {}, [[]], ...texts, { constructor: 1 }]
    for (const { id, method, path, query, body } of operations) {
      // The others would stop this test, or make a backup of it.
      if (id === 'makeBackup' || id === 'revokeAdmin') continue
      for (const text of texts) {
        const place = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(text || '-'))
        const names = [...Object.keys(query?.properties ?? {}), 'unknown']
        for (const search of ['', ...names.map((name) => `?${name}=${encodeURIComponent(text)}`)]) {
          const { status } = await call(method, `${place}${search}`, body ? { body: {} } : {})
          expect({ id, search, isFault: status >= 500 }).toEqual({ id, search, isFault: false })
        }
      }
      if (!body) continue
      const place = path.replaceAll(/\{\w+\}/g, 'alice')
      for (const name of [...Object.keys(body.properties), 'unknown']) {
        for (const value of values) {
          const others = id === 'adjustAccount' ? { amount_usd: '0.01', note: 'x' } : {}
          const { status } = await call(method, place, { body: { ...others, [name]: value } })
          expect({ id, name, value, isFault: status >= 500 }).toEqual({ id, name, value, isFault: false })
        }
      }
      for (const wrong of ['{', '[]', 'null', '"text"', '\u0000', `{"note":"${'x'.repeat(300_000)}"}`]) {
        const { status } = await call(method, place, { body: wrong })
        expect({ id, isRefused: (status >= 400 && status < 500) || wrong === 'null' }).toEqual({
          id,
          isRefused: true,
        })
        expect(status).toBeLessThan(500)
      }
    }
  }, 60_000)

  test(`a token is refused when it is wrong, and then its address (${database})`, async () => {
    const call = caller(database)
    const gateway = gateways.get(database) as TestGateway
    expect((await call('GET', '/keys', { token: gateway.secret })).status).toBe(401)
    expect((await call('GET', '/nothing', { token: null })).status).toBe(401)
    expect((await call('GET', '/nothing')).status).toBe(404)
    expect((await call('PUT', '/keys')).status).toBe(405)
    // A proxy asks for somebody else, and a page of another site under a name of its own.
    for (const headers of [{ 'x-forwarded-for': '203.0.113.7' }, { host: 'evil.example.com' }])
      expect((await call('GET', '/keys', { headers: headers as Record<string, string> })).status).toBe(404)
    const statuses: number[] = []
    for (let index = 0; index < 12; index++)
      statuses.push((await call('GET', '/keys', { token: makeToken(randomBytes) })).status)
    expect(statuses.slice(-2)).toEqual([429, 429])
    expect(statuses[0]).toBe(401)
  })
}

test('with a listener of its own it is nowhere else, and the viewer loads from there', async () => {
  const gateway = await startTestGateway({ config: { admin: { port: 0 } } })
  try {
    const { adminUrl } = gateway.server
    expect((await fetch(`${gateway.url}/admin/v1/me`)).status).toBe(404)
    expect((await fetch(`${adminUrl}/me`)).status).toBe(401)
    expect((await fetch(`${adminUrl}/openapi.json`)).status).toBe(200)
    const page = await (await fetch(`${adminUrl}/docs`)).text()
    expect(page).toContain('openapi.json')
    expect((await fetch(new URL('/v1/models', adminUrl))).status).toBe(404)
  } finally {
    await gateway.close()
  }
})
