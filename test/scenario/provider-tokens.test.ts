// Tokens of a certified identity provider (oidc-provider) instead of a key and an admin's token, on both databases: off unless the
// configuration permits them, with budgets like any key, and refused once a newer token no longer has the group.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { findKey, updateKey } from '../../src/accounts/keys'
import { findAdmin, revokeAdmin } from '../../src/admin/admins'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { type IdentityProvider, idTokenOf, startIdentityProvider } from '../support/servers/identity-provider'

setDefaultTimeout(60_000)

const gateways = new Map<DatabaseKind, TestGateway>()
let closed: TestGateway
let provider: IdentityProvider
let redirectUri: string
/** How far the clocks of the gateways are ahead. */
let aheadMs = 0

beforeAll(async () => {
  redirectUri = `http://127.0.0.1:${await freePort()}/callback`
  provider = await startIdentityProvider({ redirectUris: [redirectUri] })
  const { issuer, clientId, clientSecret } = provider
  const groups = {
    owners: { role: 'owner' as const },
    viewers: { role: 'viewer' as const },
    staff: { account: 'alice' },
    own: { plan: 'staff' },
  }
  const entry = { issuer, clientId, clientSecret, groups }
  const plans = { staff: { concurrency: 5 } }
  const outside = { now: () => Date.now() + aheadMs }
  for (const database of databaseKinds)
    gateways.set(
      database,
      await startTestGateway({
        database,
        outside,
        config: { plans, signIn: { company: { ...entry, tokens: { adminApi: true, calls: true } } } },
      }),
    )
  closed = await startTestGateway({ config: { plans, signIn: { company: entry } } })
})
afterAll(async () => {
  for (const gateway of [...gateways.values(), closed]) await gateway.close()
  await provider.stop()
}, 180_000)

const at = (database: DatabaseKind) => gateways.get(database) as TestGateway

async function tokenOf(person: string, groups: string[]): Promise<string> {
  provider.people.set(person, groups)
  return idTokenOf(provider, redirectUri, person)
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function chat(gateway: TestGateway, token: string) {
  const response = await gateway.chat({ messages: say('Hello!') }, bearer(token))
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  const body = (await response.json()) as any
  return { status: response.status, code: body.error?.code }
}

async function admin({ url }: TestGateway, token: string, path: string, method = 'GET') {
  const response = await fetch(`${url}/admin/v1${path}`, { method, headers: bearer(token) })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  const body = (await response.json()) as any
  return { status: response.status, code: body.error?.code, body }
}

test('no token is accepted unless the configuration says so', async () => {
  const token = await tokenOf('nobody', ['owners', 'staff'])
  expect(await chat(closed, token)).toEqual({ status: 401, code: 'invalid_api_key' })
  expect(await admin(closed, token, '/me')).toMatchObject({ status: 401, code: 'invalid_admin_token' })
  expect(await findKey(closed.server.world.db, 'nobody')).toBeUndefined()
})

for (const database of databaseKinds) {
  test(`a token calls models with a key of the person, which has budgets as any (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const token = await tokenOf('ben', ['staff'])
    expect((await chat(gateway, token)).status).toBe(200)
    expect((await chat(gateway, token)).status).toBe(200)
    const key = await findKey(db, 'ben')
    expect(key).toMatchObject({ account: 'alice', budgetNano: null })
    const charges = await gateway.charges()
    expect(charges.filter((charge) => charge.key_id === key?.id && charge.account === 'alice').length).toBe(2)
    expect(JSON.stringify(await db.query({ sql: 'select * from audit_trail' }))).not.toContain(token)
    expect(JSON.stringify(gateway.log)).not.toContain(token.split('.')[2])
    await updateKey(db, key?.id ?? '', {
      ...(key as NonNullable<typeof key>),
      budgetNano: 1,
      budgetPeriod: 'day',
    })
    aheadMs += 1_000
    expect(await chat(gateway, token)).toEqual({ status: 402, code: 'budget_exceeded' })
    // Keys of this gateway work as before, and a key with its own account pays for itself.
    expect((await gateway.chat()).status).toBe(200)
    expect(await chat(gateway, await tokenOf('cem', ['own']))).toMatchObject({ status: 402 })
    expect((await findKey(db, 'cem'))?.planName).toBe('staff')
  })

  test(`a token that the provider did not issue for this gateway is refused (${database})`, async () => {
    const gateway = at(database)
    const token = await tokenOf('dora', ['staff'])
    const [head = '', payload = '', signature = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const wrong = [
      `${head}.${payload}.`,
      `${head}.${payload}.${signature.slice(0, -4)}AAAA`,
      `${part({ alg: 'none' })}.${payload}.x`,
      `${head}.${part({ ...claims, sub: 'ben' })}.${signature}`,
      `${head}.${part({ ...claims, iss: 'https://evil.example' })}.${signature}`,
      `${head}.${part([])}.${signature}`,
      `eyJ${'x'.repeat(9_000)}.${payload}.${signature}`,
    ]
    for (const each of wrong) {
      expect(await chat(gateway, each)).toEqual({ status: 401, code: 'invalid_api_key' })
      expect((await admin(gateway, each, '/me')).status).toBe(401)
      aheadMs += 61_000
    }
    expect(await chat(gateway, await tokenOf('eve', ['strangers']))).toEqual({
      status: 403,
      code: 'not_a_member',
    })
    expect(await chat(gateway, await tokenOf('olaf', ['owners']))).toEqual({
      status: 403,
      code: 'sign_in_not_here',
    })
  })

  test(`once a newer token has no group, older ones are refused too (${database})`, async () => {
    const gateway = at(database)
    const old = await tokenOf('finn', ['staff', 'viewers'])
    expect((await chat(gateway, old)).status).toBe(200)
    expect((await admin(gateway, old, '/me')).body).toMatchObject({ role: 'viewer', name: 'finn' })
    await Bun.sleep(1_100)
    const none = await tokenOf('finn', [])
    expect(await chat(gateway, none)).toEqual({ status: 403, code: 'not_a_member' })
    aheadMs += 1_000
    expect(await chat(gateway, old)).toEqual({ status: 401, code: 'invalid_api_key' })
    expect((await admin(gateway, old, '/me')).status).toBe(401)
    await Bun.sleep(1_100)
    const again = await tokenOf('finn', ['staff', 'owners'])
    expect((await chat(gateway, again)).status).toBe(200)
    expect((await admin(gateway, again, '/me')).body).toMatchObject({ role: 'owner' })
  })

  test(`a token calls the admin API with the role of the group (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const [ada, vic] = [await tokenOf('ada', ['owners']), await tokenOf('vic', ['viewers'])]
    expect((await admin(gateway, vic, '/accounts')).status).toBe(200)
    expect(await admin(gateway, vic, '/accounts/alice/freeze', 'POST')).toMatchObject({
      status: 403,
      code: 'role_not_sufficient',
    })
    expect((await admin(gateway, ada, '/accounts/alice/freeze', 'POST')).status).toBe(200)
    expect((await admin(gateway, ada, '/accounts/alice/unfreeze', 'POST')).status).toBe(200)
    const [entry] = (await admin(gateway, ada, '/audit?limit=1')).body.data
    expect(entry).toMatchObject({ actor: 'ada', action: 'account.unfreeze' })
    const { id } = (await findAdmin(db, 'ada')) ?? { id: '' }
    await revokeAdmin(db, id, gateway.server.world.now())
    expect(await admin(gateway, ada, '/me')).toMatchObject({ status: 401, code: 'invalid_admin_token' })
  })
}

// Last: the clock of a gateway does not go back.
test('a token ends at its time', async () => {
  const token = await tokenOf('gus', ['staff'])
  for (const gateway of gateways.values()) expect((await chat(gateway, token)).status).toBe(200)
  aheadMs += 25 * 3_600_000
  for (const gateway of gateways.values())
    expect(await chat(gateway, token)).toEqual({ status: 401, code: 'invalid_api_key' })
})
