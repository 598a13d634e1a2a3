// The admin API on both databases: every operation by role, rejected without a token, and audited if it changes
// something; money moves exactly once; and random requests made from its OpenAPI document never cause a 500.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { createAdminDocument } from '../../src/admin/document'
import { adminOperations as operations } from '../../src/admin/operations'
import { newId, randomBytes } from '../../src/app/world'
import { audit } from '../../src/billing/proofs/audit'
import { ROLES, type Role } from '../../src/contract/roles'
import { endTask, STOPPED } from '../../src/tasks/finish'
import { misfits } from '../support/answers/json-schema'
import { OF_OTHERS } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { followTask, readTask, sendTask } from '../support/databases/task-rows'
import { imageModel, startTestGateway, type TestGateway } from '../support/gateway'
import { startObjectStore, storeKey } from '../support/servers/object-store'

interface Reply {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  body: any
}

const gateways = new Map<string, TestGateway>()
const tokens = new Map<string, Record<Role, string>>()
const document = createAdminDocument('0.0.0')
/** A recipient without a listening server, and a plan. */
const config = {
  events: { to: { nobody: { slack: 'http://127.0.0.1:1/' } } },
  // No account has the plan with the allowance, because it would be granted between two steps.
  plans: {
    team: { priceFactor: '0.9' },
    club: { allowance: { usd: '5', per: 'month' as const } },
  },
}
const models = {
  'test-image': imageModel,
}

const store = startObjectStore()
beforeAll(async () => {
  for (const database of databaseKinds) {
    const { endpoint } = store
    const s3 = { bucket: 'results', endpoint, region: 'x', accessKeyId: storeKey, secretAccessKey: 'secret' }
    const artifacts = { keep: '1h', ...(database === 'postgres' && { s3 }) }
    const gateway = await startTestGateway({
      database,
      balance: '10',
      config: { ...config, artifacts, log: { bodies: {} } },
      models,
    })
    gateways.set(database, gateway)
    const made = {} as Record<Role, string>
    for (const role of ROLES) {
      made[role] = makeToken(randomBytes)
      const admin = { id: newId('adm'), name: role, role, token: made[role], expiresAt: null, createdAt: 1 }
      expect(await createAdmin(gateway.server.world.db, admin)).toBe(true)
    }
    tokens.set(database, made)
  }
}, 180_000)
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
  await store.stop()
}, 180_000)

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

/**
 * Creates what the test needs: an ended request, a kept image, a token, and two tasks, one of whose submissions got
 * no answer.
 */
async function makeKnown({ url, secret, server }: TestGateway): Promise<Known> {
  const asked = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await asked.text()
  const drawn = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-image', prompt: 'A fox' }),
  })
  await drawn.text()
  const { db, now, requestLog } = server.world
  await requestLog.flush()
  const fields = { createdAt: now(), webhookUrl: 'http://127.0.0.1:1/', upstream: 'nobody' }
  const followed = await followTask(db, { ...fields, id: newId('video'), charge: newId('req') })
  const sent = await sendTask(db, { ...fields, id: newId('video'), charge: newId('req') })
  const made = await fetch(`${url}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ expires_in_minutes: 5, budget_usd: '0.50' }),
  })
  const { id: token } = (await made.json()) as { id: string }
  return { token, request: asked.headers.get('x-request-id'), followed: followed.id, sent: sent.id }
}

/** Answers by operation id, and ids of objects that existed before. */
type Known = Record<string, Reply['body']>

interface Step {
  id: string
  path: string | ((known: Known) => string)
  body?: unknown
  /** The action in the audit trail; absent if nothing changes. */
  writes?: string
  /** Fields of its entry there. */
  change?: { before?: object; after?: object }
  /** Fields of the answer. */
  answers?: object | ((known: Known) => object)
}

/** A successful request of each operation, in this order. */
const journey: Step[] = [
  { id: 'createKey', path: '/keys', body: { name: 'ann', models: ['test-chat'] }, writes: 'key.create' },
  { id: 'listAccounts', path: '/accounts?limit=1' },
  {
    id: 'createCustomer',
    path: '/customers',
    body: { account: 'bea', display_name: 'Bea & Co', plan: 'team', key: { name: 'bea-1', concurrency: 3 } },
    writes: 'account.create',
    change: { after: { plan: 'team', key: 'bea-1', concurrency: 3, budget_usd: null } },
    answers: { name: 'bea-1', account: 'bea', concurrency: 3, balance_usd: '0.00' },
  },
  {
    id: 'listCustomers',
    path: '/customers?text=%26 co',
    answers: { data: [{ account: 'bea', plan: 'team', keys: 1, spend_usd: '0.00', last_used_on: null }] },
  },
  {
    id: 'getCustomer',
    path: '/customers/bea',
    answers: { keys: 1, budget_in_force_usd: null, low_balance_recipients: ['nobody'] },
  },
  { id: 'getAccount', path: '/accounts/ann' },
  {
    id: 'updateAccount',
    path: '/accounts/ann',
    body: { note: '<script>', plan: 'team' },
    writes: 'account.update',
    change: { before: { note: null, plan: null }, after: { note: '<script>', plan: 'team' } },
    answers: { note: '<script>', plan: 'team' },
  },
  {
    id: 'freezeAccount',
    path: '/accounts/ann/freeze',
    writes: 'account.freeze',
    change: { before: { status: 'open' }, after: { status: 'frozen' } },
    answers: { status: 'frozen' },
  },
  {
    id: 'unfreezeAccount',
    path: '/accounts/ann/unfreeze',
    writes: 'account.unfreeze',
    answers: { status: 'open' },
  },
  {
    id: 'creditAccount',
    path: '/accounts/ann/credits',
    body: { amount_usd: '5' },
    writes: 'account.credit',
    change: { before: { balance_usd: '0.00' }, after: { amount_usd: '5.00' } },
    answers: { balance_usd: '5.00' },
  },
  {
    id: 'adjustAccount',
    path: '/accounts/ann/adjustments',
    body: { amount_usd: '-1.5', note: 'x' },
    writes: 'account.adjust',
    answers: { balance_usd: '3.50' },
  },
  {
    id: 'listLedger',
    path: '/accounts/ann/ledger?limit=1',
    answers: { data: [{ kind: 'adjust', amount_usd: '-1.50', balance_after_usd: '3.50', note: 'x' }] },
  },
  { id: 'listPlans', path: '/plans' },
  { id: 'getPlan', path: '/plans/team' },
  { id: 'listPlanAccounts', path: '/plans/team/accounts' },
  { id: 'listKeys', path: '/keys' },
  { id: 'getKey', path: '/keys/ann' },
  {
    id: 'updateKey',
    path: '/keys/ann',
    body: { concurrency: 3, models: null },
    writes: 'key.update',
    change: {
      before: { concurrency: null, models: ['test-chat'] },
      after: { concurrency: 3, models: null },
    },
    answers: { concurrency: 3, models: null },
  },
  {
    id: 'pauseKey',
    path: '/keys/ann/pause',
    writes: 'key.pause',
    change: { before: { status: 'active' } },
    answers: { status: 'paused' },
  },
  { id: 'resumeKey', path: '/keys/ann/resume', writes: 'key.resume', answers: { status: 'active' } },
  { id: 'rollKey', path: '/keys/ann/roll', writes: 'key.roll' },
  { id: 'rollWebhookSecret', path: '/keys/ann/roll-webhook', writes: 'key.roll_webhook' },
  {
    id: 'listSpenders',
    path: '/spenders?limit=1',
    answers: { data: [{ kind: 'browser', budget_used_usd: '0.00' }] },
  },
  { id: 'getSpender', path: ({ token }) => `/spenders/${token}`, answers: { status: 'active' } },
  {
    id: 'updateSpender',
    path: ({ token }) => `/spenders/${token}`,
    body: { budget_usd: '2', requests_per_minute: 9 },
    writes: 'spender.update',
    change: { before: { budget_usd: '0.50' }, after: { budget_usd: '2.00', requests_per_minute: 9 } },
    answers: { budget_usd: '2.00' },
  },
  {
    id: 'revokeSpender',
    path: ({ token }) => `/spenders/${token}/revoke`,
    writes: 'token.revoke',
    answers: ({ token }) => ({ id: token, status: 'revoked' }),
  },
  {
    id: 'forgetSpender',
    path: ({ token }) => `/spenders/${token}/forget`,
    writes: 'spender.forget',
    answers: { name: null, hint: null },
  },
  { id: 'revokeKey', path: '/keys/ann/revoke', writes: 'key.revoke', answers: { status: 'revoked' } },
  {
    id: 'createCodes',
    path: '/codes',
    body: { amount_usd: '5', count: 2, expires_at: null },
    writes: 'codes.create',
  },
  { id: 'listCodes', path: '/codes?limit=1&status=open' },
  {
    id: 'revokeCode',
    path: ({ createCodes }) => `/codes/${createCodes.data[0].code}/revoke`,
    writes: 'code.revoke',
  },
  {
    id: 'listTransfers',
    path: '/transfers?account=ann&limit=1',
    answers: { data: [{ account: 'ann', kind: 'adjust', amount_usd: '-1.50', note: 'x' }] },
  },
  {
    id: 'sumTransfers',
    path: '/transfers/sums?account=ann',
    answers: {
      data: [
        { kind: 'adjust', transfers: 1, amount_usd: '-1.50' },
        { kind: 'credit', transfers: 1, amount_usd: '5.00' },
      ],
    },
  },
  { id: 'listRequests', path: '/requests?status=failed' },
  {
    id: 'summariseRequests',
    path: '/requests/summary?status=2xx,failed',
    answers: { covered_since: null, facets: { account: [{ value: 'alice' }] } },
  },
  {
    id: 'getRequest',
    path: ({ request }) => `/requests/${request}`,
    answers: ({ request }) => ({ id: request, charges: [{ account: 'alice', model: 'test-chat' }] }),
  },
  {
    id: 'getRequestBodies',
    path: ({ request }) => `/requests/${request}/bodies`,
    writes: 'request.bodies',
  },
  {
    id: 'issueStatements',
    path: '/statements',
    body: { month: '2026-01', account: 'ann' },
  },
  { id: 'listStatements', path: '/statements' },
  { id: 'verifyStatements', path: '/statements/verification' },
  { id: 'listReceiptKeys', path: '/receipts/keys' },
  { id: 'rotateReceiptKey', path: '/receipts/keys/rotation', writes: 'receipts.rotate' },
  { id: 'getRetention', path: '/retention' },
  { id: 'listMonthsToClose', path: '/retention/months?charges=9999mo' },
  { id: 'closeMonths', path: '/retention/closings', body: { charges: '9999mo' } },
  { id: 'getUsage', path: '/usage?by=model' },
  { id: 'listTasks', path: '/tasks' },
  { id: 'getTask', path: ({ followed }) => `/tasks/${followed}` },
  { id: 'cancelTask', path: ({ followed }) => `/tasks/${followed}/cancel`, writes: 'task.cancel' },
  {
    id: 'reconcileTask',
    path: ({ sent }) => `/tasks/${sent}/reconcile`,
    body: { finding: 'not_begun' },
    writes: 'task.reconcile',
  },
  { id: 'redeliverWebhook', path: ({ sent }) => `/tasks/${sent}/redeliver`, writes: 'task.redeliver' },
  {
    id: 'listWebhooks',
    path: '/webhooks?state=pending',
    answers: ({ sent }) => ({ data: [{ task: sent, account: 'alice', state: 'pending' }] }),
  },
  { id: 'listArtifacts', path: '/artifacts' },
  { id: 'getArtifactContent', path: ({ listArtifacts }) => `/artifacts/${listArtifacts.data[0].id}/content` },
  { id: 'listConditions', path: '/conditions' },
  { id: 'testEvent', path: '/events/test', body: { recipient: 'nobody' }, writes: 'event.test' },
  { id: 'listEvents', path: '/events?delivery=pending' },
  {
    id: 'redeliverEvent',
    path: ({ testEvent }) => `/events/${testEvent.id}/redeliver`,
    writes: 'event.redeliver',
  },
  { id: 'listModels', path: '/models' },
  { id: 'getModel', path: '/models/test-chat' },
  { id: 'listUpstreams', path: '/upstreams' },
  { id: 'listRefusals', path: '/upstreams/refusals' },
  { id: 'getMe', path: '/me', answers: { name: 'viewer', role: 'viewer' } },
  { id: 'getConfiguration', path: '/configuration' },
  { id: 'compareConfiguration', path: '/configuration/changes' },
  { id: 'reloadConfiguration', path: '/configuration/reload', writes: 'configuration.reload' },
  { id: 'makeBackup', path: '/backups', writes: 'backup.make' },
  {
    id: 'listBackups',
    path: '/backups',
    answers: ({ makeBackup: { name } }) => ({ data: [{ name }] }),
  },
  { id: 'listSessions', path: '/sessions?kind=admin' },
  { id: 'listAdmins', path: '/admins' },
  { id: 'createAdmin', path: '/admins', body: { name: 'spare', role: 'viewer' }, writes: 'admin.create' },
  {
    id: 'revokeAdmin',
    path: '/admins/spare/revoke',
    writes: 'admin.revoke',
    answers: { status: 'revoked' },
  },
  { id: 'listAudit', path: '/audit' },
  {
    id: 'reconcileUpstream',
    path: '/upstreams/openai/reconciliation',
    body: { month: '2026-01', rows: [{ day: '2026-01-02', model: 'gpt-x', requests: 3, cost_usd: '0.5' }] },
    answers: {
      ok: false,
      differences: [
        { day: '2026-01-02', model: 'gpt-x', figure: 'requests', vendor: 3, charges: 0 },
        { figure: 'cost_usd', vendor: '0.50', charges: '0.00' },
      ],
    },
  },
  {
    id: 'reconcileOwn',
    path: '/reconciliation?since=2026-01-01&upstream=openai',
    answers: { ok: true, models: [], not_compared: 0 },
  },
  {
    id: 'rehearsePrices',
    path: '/rehearsal',
    body: {
      since: '2026-01-01',
      models: { 'test-chat': { free: true } },
      routes: { 'test-dashscope': 'test-chat' },
    },
    answers: { total: { refused: 0 }, kept: [] },
  },
  { id: 'quotePrice', path: '/models/test-chat/quote?quantities=input_token:1000' },
  {
    id: 'testUpstream',
    path: '/upstreams/openai/test',
    answers: { state: 'ready' },
  },
  {
    id: 'beginDrill',
    path: '/drills',
    body: { upstream: 'xai', keys: ['ann'], for: '1m', status: 503 },
    writes: 'drill.begin',
    answers: { state: 'running', share_percent: 100 },
  },
  { id: 'listDrills', path: '/drills' },
  {
    id: 'getDrill',
    path: ({ beginDrill }) => `/drills/${beginDrill.id}`,
    answers: { total: { requests: 0 } },
  },
  {
    id: 'stopDrill',
    path: ({ beginDrill }) => `/drills/${beginDrill.id}/stop`,
    writes: 'drill.stop',
    answers: { state: 'ended' },
  },
  { id: 'getOverview', path: '/overview' },
  { id: 'search', path: '/search?q=an' },
  {
    id: 'closeAccount',
    path: '/accounts/ann/close',
    writes: 'account.close',
    answers: { status: 'closed' },
  },
]

test('the document is valid OpenAPI, and contains each operation once', async () => {
  const copy = structuredClone(document) as object as Record<string, unknown>
  expect(await new Validator().validate(copy)).toMatchObject({ valid: true })
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  const tried = journey.map(({ id }) => id)
  // These are tested with sessions, statements, and the simulation of vendors for operators.
  const apart: string[] = ['getStatement', 'revokeSession', 'fillSandbox']
  expect(operations.map(({ id }) => id).filter((id) => !tried.includes(id))).toEqual(apart)
})

for (const database of databaseKinds) {
  test(`each operation is rejected without the role, and each change is in the audit trail (${database})`, async () => {
    const call = caller(database)
    const known: Known = await makeKnown(gateways.get(database) as TestGateway)
    const entries = async () => (await call('GET', '/audit?limit=1000')).body.data
    for (const { id, path: place, body, writes, change = {}, answers } of journey) {
      const path = typeof place === 'string' ? place : place(known)
      const operation = operations.find((each) => each.id === id)
      if (!operation) throw new Error(`there is no operation ${id}`)
      const before = await entries()
      for (const role of ROLES.slice(0, ROLES.indexOf(operation.role))) {
        const refused = await call(operation.method, path, { role, body })
        expect({ id, role, status: refused.status }).toEqual({ id, role, status: 403 })
      }
      expect(await entries()).toEqual(before)
      const { status, body: answer } = await call(operation.method, path, { role: operation.role, body })
      const answered = typeof answers === 'function' ? answers(known) : answers
      expect({ id, status, answer }).toMatchObject({
        id,
        status: 200,
        ...(answered && { answer: answered }),
      })
      known[id] = answer
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
        expect(added[0]).toMatchObject({
          actor: operation.role,
          request_id: expect.stringMatching(/^req_/),
          ...change,
        })
    }
    // No vendor works on this task, so nothing else ends it.
    const { db, now } = (gateways.get(database) as TestGateway).server.world
    const ending = { state: 'failed', document: {}, error: STOPPED } as const
    const options = { now: now(), webhookId: newId('msg') }
    expect(await endTask(db, await readTask(db, known.followed), ending, options)).toBe(true)
    // No secret of a key is in the trail.
    expect(JSON.stringify(await entries())).not.toMatch(/sk-[0-9A-Za-z]{30}|adm-[0-9A-Za-z]{30}|whsec_/)
  })

  test(`a kept result is served whole and in ranges, with its type, and never that of another account (${database})`, async () => {
    const gateway = gateways.get(database) as TestGateway
    const call = caller(database)
    const drawn = await gateway.post('/v1/images/generations', { model: 'test-image', prompt: 'An owl' })
    const charge = drawn.headers.get('x-request-id')
    const [{ url = '' } = {}] = ((await drawn.json()) as { data: { url?: string }[] }).data
    const whole = await (await fetch(url)).bytes()
    const { body } = await call('GET', `/artifacts?charge=${charge}`)
    expect(body.data).toMatchObject([{ account: 'alice', charge, bytes: whole.length }])
    const [{ id, content_type: type }] = body.data
    const ask = (path: string, headers: Record<string, string> = {}, role: Role = 'viewer') =>
      fetch(`${gateway.url}/admin/v1/artifacts/${path}/content`, {
        headers: { authorization: `Bearer ${tokens.get(database)?.[role]}`, ...headers },
      })
    const file = await ask(id)
    expect(file.headers.get('content-type')).toBe(type)
    // A vendor decides its content, so that no page may run it.
    expect(file.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await file.bytes()).toEqual(whole)
    const part = await ask(id, { range: 'bytes=2-5' })
    expect([part.status, await part.bytes()]).toEqual([206, whole.slice(2, 6)])
    expect((await ask(id, { range: `bytes=${whole.length}-` })).status).toBe(416)
    for (const unknown of ['art_0', '%00', "' or 1=1"]) expect((await ask(unknown)).status).toBe(404)
    expect((await fetch(`${gateway.url}/admin/v1/artifacts/${id}/content`)).status).toBe(401)
  })

  test(`a text that cannot be in a path is rejected as a name (${database})`, async () => {
    const call = caller(database)
    for (const name of ['.', '..']) {
      for (const body of [{ name }, { name: 'dots', account: name }])
        expect((await call('POST', '/keys', { body })).status).toBe(400)
      expect((await call('POST', '/admins', { body: { name, role: 'viewer' } })).status).toBe(400)
    }
    expect((await call('POST', '/keys', { body: { name: '...' } })).status).toBe(200)
    expect((await call('GET', '/accounts/...')).body).toMatchObject({ account: '...' })
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

  test(`the next page of a list continues after the last row (${database})`, async () => {
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
    const ledger = '/accounts/pages/ledger'
    const { body: newest } = await call('GET', `${ledger}?limit=2`)
    expect(newest.data).toMatchObject([
      { amount_usd: '7.00', balance_after_usd: '28.00' },
      { amount_usd: '6.00', balance_after_usd: '21.00' },
    ])
    // New rows do not appear on older pages.
    await call('POST', '/accounts/pages/credits', { body: { amount_usd: '8' } })
    const older = await call('GET', `${ledger}?limit=2&after=${encodeURIComponent(newest.next)}`)
    expect(older.body.data).toMatchObject([
      { amount_usd: '5.00', balance_after_usd: '15.00' },
      { amount_usd: '4.00', balance_after_usd: '10.00' },
    ])
    for (const after of ['1', '1.2', '9999999999999999.1.x', "' or 1=1"])
      expect((await call('GET', `${ledger}?after=${encodeURIComponent(after)}`)).status).toBe(400)
    // The rows are in chronological order.
    const amounts = async (query: string) =>
      (await call('GET', `${ledger}?format=csv${query}`)).text
        .trim()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',')[3])
    expect(await amounts('')).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((dollars) => `${dollars}.00`))
    expect(await amounts('&last=2')).toEqual(['7.00', '8.00'])
    const names = (await call('GET', '/keys?account=pages')).body.data.map(
      ({ name }: { name: string }) => name,
    )
    expect(names).toEqual([4, 3, 2, 1, 0].map((index) => `page-${index}`))
    expect((await call('GET', '/usage?by=account&format=csv')).text).toStartWith('account,requests')
  })

  test(`an invalid query is rejected with a clear message (${database})`, async () => {
    const call = caller(database)
    const wrong = {
      'keys?limit=0': "Invalid 'limit': expected a whole number from 1 to 1000.",
      'keys?limit=1e1': "Invalid 'limit': expected a whole number from 1 to 1000.",
      'keys?after=%00': "Invalid 'after': expected at most 4096 characters, none of them NUL.",
      'keys?account=a&account=b': "Invalid 'account': it is given twice.",
      'keys?acount=a': "Unknown parameter 'acount'. Known here are: limit, after, account.",
      'webhooks?state=gone':
        "Invalid value for 'state'. Supported values are: 'pending', 'delivered', 'failed'.",
    }
    for (const [path, message] of Object.entries(wrong)) {
      const { status, body } = await call('GET', `/${path}`)
      expect({ path, status, message: body.error.message }).toEqual({ path, status: 400, message })
    }
  })

  test(`a period that ends before it begins is rejected (${database})`, async () => {
    const call = caller(database)
    for (const path of ['/usage', '/usage?format=csv', '/requests', '/accounts/ann/ledger', '/overview'])
      for (const until of ['2026-10-01', '2026-10-02T00:00Z']) {
        const join = path.includes('?') ? '&' : '?'
        const { status, body } = await call('GET', `${path}${join}since=2026-10-02&until=${until}`)
        expect({ path, status, message: body.error?.message }).toEqual({
          path,
          status: 400,
          message: "Invalid 'until': expected a time after 'since'.",
        })
      }
    const { body } = await call('GET', '/usage?until=2020-01-01')
    expect(body.error.message).toMatch(
      /^Invalid 'until': expected a time after 'since', which is \d{4}-\d\d-\d\dT\S+Z by default\.$/,
    )
  })

  test(`no valid or invalid request causes an internal error (${database})`, async () => {
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
      // The other operations would stop this test, or make a backup.
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
  }, 180_000)

  test(`a revoked, expired or wrong token is rejected, and after several attempts also its address (${database})`, async () => {
    const call = caller(database)
    const gateway = gateways.get(database) as TestGateway
    const { db, now } = gateway.server.world
    const made = await call('POST', '/admins', { body: { name: 'leaver', role: 'viewer' } })
    const { token } = made.body
    const days = (Date.parse(made.body.expires_at) - now()) / 86_400_000
    expect(Math.round(days)).toBe(90)
    expect((await call('GET', '/me', { token })).body).toMatchObject({ name: 'leaver', role: 'viewer' })
    expect(JSON.stringify(await db.query({ sql: 'select * from admins' }))).not.toContain(token)
    await call('POST', '/admins/leaver/revoke')
    const expired = makeToken(randomBytes)
    const past = { name: 'past', role: 'owner', expiresAt: now() - 1, createdAt: 1 } as const
    expect(await createAdmin(db, { ...past, id: newId('adm'), token: expired })).toBe(true)
    for (const [refused, message] of [
      [token, 'This token has been revoked.'],
      [expired, 'This token has expired.'],
    ]) {
      const { status, body } = await call('GET', '/me', { token: refused })
      expect([status, body.error.message]).toEqual([401, message])
    }
    expect((await call('GET', '/keys', { token: gateway.secret })).status).toBe(401)
    expect((await call('GET', '/nothing', { token: null })).status).toBe(401)
    expect((await call('GET', '/nothing')).status).toBe(404)
    expect((await call('PUT', '/keys')).status).toBe(405)
    // A proxy forwards for other machines, and a page of another site uses its own host name.
    for (const headers of OF_OTHERS) expect((await call('GET', '/keys', { headers })).status).toBe(404)
    // A page of another site can make a browser send requests without a token. They must not block the API for others.
    const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
    const preflight = { origin: 'https://evil.example.com', 'access-control-request-method': 'GET' }
    for (let index = 0; index < 12; index++) {
      expect((await call('GET', '/keys', { token: null, headers: foreign })).status).toBe(401)
      expect((await call('OPTIONS', '/keys', { token: null, headers: preflight })).status).toBe(401)
      expect((await call('GET', '/keys', { token: null })).status).toBe(401)
      const { status, body } = await call('GET', '/keys', { token: makeToken(randomBytes), headers: foreign })
      expect([status, body.error.code]).toEqual([403, 'cross_origin'])
    }
    expect((await call('GET', '/keys')).status).toBe(200)
    const statuses: number[] = []
    for (let index = 0; index < 12; index++)
      statuses.push((await call('GET', '/keys', { token: makeToken(randomBytes) })).status)
    expect(statuses.slice(-2)).toEqual([429, 429])
    expect(statuses[0]).toBe(401)
  })
}

test('with its own listener, the admin API is served only there, and so is its viewer', async () => {
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

test('other machines reach the admin API only if the configuration allows it, and only with a token', async () => {
  const gateway = await startTestGateway({ config: { admin: { allowRemote: true } } })
  try {
    const token = makeToken(randomBytes)
    const admin = {
      id: newId('adm'),
      name: 'ada',
      role: 'viewer',
      token,
      expiresAt: null,
      createdAt: 1,
    } as const
    expect(await createAdmin(gateway.server.world.db, admin)).toBe(true)
    const elsewhere = { 'x-forwarded-for': '203.0.113.7', host: 'gateway.example.com' }
    const ask = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/admin/v1/me`, { headers: { ...elsewhere, ...headers } })
    expect((await ask({})).status).toBe(401)
    expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200)
  } finally {
    await gateway.close()
  }
})
