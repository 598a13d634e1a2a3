// Sign-in to the console by a certified identity provider (oidc-provider) on both databases: the roles of users, attacks from
// other browsers and pages, and how soon a session ends after the provider has ended it.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { findAccount } from '../../src/accounts/accounts'
import { findKey } from '../../src/accounts/keys'
import { findAdmin, revokeAdmin } from '../../src/admin/admins'
import { checkSessions } from '../../src/admin/session-checks'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { Browser, type IdentityProvider, startIdentityProvider } from '../support/servers/identity-provider'

setDefaultTimeout(60_000)

const NAME = 'company'
const MINUTE_MS = 60_000

const gateways = new Map<DatabaseKind, TestGateway>()
let provider: IdentityProvider
/** How far the clocks of the gateways are ahead. */
let aheadMs = 0

beforeAll(async () => {
  const ports = await Promise.all(databaseKinds.map(freePort))
  provider = await startIdentityProvider({
    redirectUris: ports.map((port) => `http://127.0.0.1:${port}/console/sign-in/${NAME}/callback`),
  })
  const { issuer, clientId, clientSecret } = provider
  for (const [index, database] of databaseKinds.entries())
    gateways.set(
      database,
      await startTestGateway({
        database,
        outside: { now: () => Date.now() + aheadMs },
        config: {
          server: { port: ports[index] as number },
          plans: { staff: { concurrency: 5 } },
          signIn: {
            [NAME]: {
              ...{ issuer, clientId, clientSecret, scopes: 'openid profile groups' },
              groups: {
                'gateway-owners': { role: 'owner' },
                'gateway-viewers': { role: 'viewer' },
                staff: { plan: 'staff' },
                research: { account: 'research', plan: 'staff' },
              },
            },
          },
        },
      }),
    )
})
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
  await provider.stop()
}, 180_000)

const at = (database: DatabaseKind) => gateways.get(database) as TestGateway

/** A page of the console in one browser. */
class Page {
  readonly browser = new Browser()
  csrf = ''

  constructor(private readonly gateway: TestGateway) {}

  async send(method: string, path: string, headers: Record<string, string> = {}) {
    const isSafe = method === 'GET'
    const { url } = this.gateway
    const response = await this.browser.fetch(`${url}${path}`, {
      method,
      headers: { ...(!isSafe && { origin: url, 'x-csrf-token': this.csrf }), ...headers },
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
    const body: any = text.startsWith('{') ? JSON.parse(text) : text
    return { status: response.status, headers: response.headers, body }
  }

  /** Begins a sign-in; resolves with the address to which the browser returns. */
  async leave(person: string): Promise<string> {
    const { status, body } = await this.send('POST', `/console/sign-in/${NAME}`)
    expect(status).toBe(200)
    return this.browser.signIn(body.location, person)
  }

  /** Returns to an address; resolves with the word that the page gets. */
  async comeBack(address: string): Promise<string | undefined> {
    const { pathname, search } = new URL(address)
    const { status, headers } = await this.send('GET', pathname + search)
    expect(status).toBe(303)
    const location = headers.get('location') ?? ''
    expect(location).not.toContain('code=')
    return /^\/console#signed-in=([\w-]+)$/.exec(location)?.[1]
  }

  async signIn(person: string): Promise<string | undefined> {
    const result = await this.comeBack(await this.leave(person))
    const session = await this.send('GET', '/console/session')
    this.csrf = session.body.csrf ?? ''
    return result
  }

  status = async (path: string) => (await this.send('GET', path)).status
}

const unique = (() => {
  let count = 0
  return (name: string) => `${name}${++count}`
})()

async function trailOf({ server: { world } }: TestGateway, target: string) {
  const rows = await world.db.query({
    sql: 'select actor, action, after from audit_trail where target = $1 order by id',
    parameters: [target],
  })
  return rows.map(({ actor, action, after }) => ({
    actor,
    action,
    after: JSON.parse((after as string) ?? 'null'),
  }))
}

for (const database of databaseKinds) {
  test(`an operator signs in with the role of the group, and out of the provider too (${database})`, async () => {
    const gateway = at(database)
    const ada = unique('ada')
    provider.people.set(ada, ['gateway-viewers', 'gateway-owners', 'others'])
    const page = new Page(gateway)
    expect((await page.send('GET', '/console/sign-in')).body).toEqual({ data: [{ name: NAME, title: NAME }] })
    expect(await page.signIn(ada)).toBe('admin')
    expect((await page.send('GET', '/console/session')).body).toMatchObject({
      kind: 'admin',
      name: ada,
      role: 'owner',
    })
    expect(await page.status('/admin/v1/admins')).toBe(200)
    expect(await page.status('/v1/me')).toBe(401)
    const admin = await findAdmin(gateway.server.world.db, ada)
    expect(admin).toMatchObject({ role: 'owner', revokedAt: null })
    const trail = await trailOf(gateway, `admin:${ada}`)
    expect(trail).toMatchObject([
      { actor: `sign-in ${NAME}`, action: 'admin.create', after: { role: 'owner', subject: ada } },
      { actor: ada, action: 'session.begin', after: { by: NAME } },
    ])
    // The same person again is the same admin.
    expect(await new Page(gateway).signIn(ada)).toBe('admin')
    expect((await findAdmin(gateway.server.world.db, ada))?.id).toBe(admin?.id as string)

    const out = await page.send('DELETE', '/console/session')
    expect(out.status).toBe(200)
    const location = new URL(out.body.location)
    expect(location.origin).toBe(provider.issuer)
    expect(location.searchParams.get('post_logout_redirect_uri')).toBe(`${gateway.url}/console`)
    // The ID token names the session, so the provider knows to which address it may send the browser back.
    const hint = location.searchParams.get('id_token_hint') ?? ''
    expect(decodeJwt(hint)).toMatchObject({ sub: ada, aud: provider.clientId })
    expect((await page.browser.fetch(location.href)).status).toBe(200)
    expect(await page.status('/admin/v1/me')).toBe(401)
  })

  test(`the first sign-in of a holder makes an account with its plan, which is nobody else's (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const [ben, cem, dora] = [unique('ben'), unique('cem'), unique('dora')]
    await gateway.makeKey(cem, '7')
    provider.people.set(ben, ['staff']).set(cem, ['staff']).set(dora, ['research', 'staff'])
    const page = new Page(gateway)
    expect(await page.signIn(ben)).toBe('key')
    expect((await page.send('GET', '/v1/me')).body).toMatchObject({ account: ben })
    expect(await findAccount(db, ben)).toMatchObject({ plan: 'staff', balanceNano: 0 })
    expect(await page.status('/admin/v1/me')).toBe(401)
    expect((await trailOf(gateway, `key:${ben}`))[0]).toMatchObject({
      action: 'key.create',
      after: { account: ben, plan: 'staff' },
    })

    // An account with that name existed before: its money stays with its owner.
    const other = new Page(gateway)
    expect(await other.signIn(cem)).toBe('key')
    const { account } = (await other.send('GET', '/v1/me')).body
    expect(account).toMatch(new RegExp(`^${cem}\\.[0-9a-f]{12}$`))
    expect((await gateway.balance(cem)).balanceNano).toBe(7e9)

    const shared = new Page(gateway)
    // The first group of the table that gives an account counts.
    expect(await shared.signIn(dora)).toBe('key')
    expect((await shared.send('GET', '/v1/me')).body.account).toBe(dora)
    provider.people.set(dora, ['research'])
    expect(await new Page(gateway).signIn(dora)).toBe('key')
    expect(await shared.status('/v1/me')).toBe(401)
    const keys = await db.query({
      sql: 'select account from keys where name like $1 order by id',
      parameters: [`${dora}%`],
    })
    expect(keys.map((row) => row.account)).toEqual([dora, 'research'])
  })

  test(`a person without a group, or revoked here, is refused, and the trail has it (${database})`, async () => {
    const gateway = at(database)
    const { db } = gateway.server.world
    const [eve, finn] = [unique('eve'), unique('finn')]
    provider.people.set(eve, ['others', 'gateway-owners-not']).set(finn, ['gateway-owners'])
    const page = new Page(gateway)
    expect(await page.signIn(eve)).toBe('not_a_member')
    expect(await page.status('/console/session')).toBe(401)
    expect((await trailOf(gateway, `issuer:${NAME}`)).at(-1)).toMatchObject({
      action: 'session.refuse',
      after: { code: 'not_a_member' },
    })
    expect(await findAdmin(db, eve)).toBeUndefined()
    expect(await findKey(db, eve)).toBeUndefined()

    const owner = new Page(gateway)
    expect(await owner.signIn(finn)).toBe('admin')
    const admin = await findAdmin(db, finn)
    await revokeAdmin(db, admin?.id ?? '', Date.now() + aheadMs)
    expect(await owner.status('/admin/v1/me')).toBe(401)
    expect(await owner.signIn(finn)).toBe('not_a_member')
  })

  test(`no other browser, page or provider ends a sign-in, and none ends twice (${database})`, async () => {
    const gateway = at(database)
    const [gus, mallory] = [unique('gus'), unique('mallory')]
    provider.people.set(gus, ['gateway-viewers']).set(mallory, ['gateway-viewers'])
    // Login CSRF: the code of somebody else's sign-in, in a browser without a sign-in of its own, or with one.
    const attacker = new Page(gateway)
    const stolen = await attacker.leave(mallory)
    const victim = new Page(gateway)
    expect(await victim.comeBack(stolen)).toBe('sign_in_failed')
    await victim.leave(gus)
    expect(await victim.comeBack(stolen)).toBe('sign_in_failed')
    expect(await victim.status('/console/session')).toBe(401)
    // A code is consumed by its first use, and the browser's own sign-in with it.
    const page = new Page(gateway)
    const back = await page.leave(gus)
    expect(await page.comeBack(back)).toBe('admin')
    expect(await page.comeBack(back)).toBe('sign_in_failed')
    // Another state, no code, an error of the provider.
    for (const change of ['state', 'code', 'iss', 'error']) {
      const changed = new Page(gateway)
      const address = new URL(await changed.leave(gus))
      if (change === 'error')
        address.search = `?error=access_denied&state=${address.searchParams.get('state')}&iss=${encodeURIComponent(provider.issuer)}`
      else address.searchParams.set(change, change === 'iss' ? 'https://evil.example' : 'x')
      expect(await changed.comeBack(address.href)).toBe('sign_in_failed')
    }
    // Only the console's own page begins a sign-in, and it ends only below the console's path.
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect((await page.send('POST', `/console/sign-in/${NAME}`, foreign)).status).toBe(403)
    expect((await page.send('GET', `/console/sign-in/${NAME}`)).status).toBe(405)
    for (const base of ['//evil.example', 'https://evil.example', '/a//b', '/\\evil', '/%2f'])
      expect(
        (await page.send('POST', `/console/sign-in/${NAME}?base=${encodeURIComponent(base)}`)).status,
      ).toBe(400)
    expect((await page.send('GET', '/console/sign-in/other/callback?code=x')).status).toBe(404)
  })

  test(`the provider is sent a challenge, and the code is worth nothing without its verifier (${database})`, async () => {
    const gateway = at(database)
    const hal = unique('hal')
    provider.people.set(hal, ['gateway-viewers'])
    const page = new Page(gateway)
    const { body } = await page.send('POST', `/console/sign-in/${NAME}`)
    const asked = new URL(body.location).searchParams
    expect(asked.get('code_challenge_method')).toBe('S256')
    expect(asked.get('code_challenge')).toMatch(/^[\w-]{43}$/)
    expect([asked.get('state'), asked.get('nonce')].every((word) => /^[\w-]{43}$/.test(word ?? ''))).toBe(
      true,
    )
    const code = new URL(await page.browser.signIn(body.location, hal)).searchParams.get('code') ?? ''
    const { clientId, clientSecret, issuer } = provider
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: asked.get('redirect_uri') ?? '',
      }),
    })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(gateway.log)).not.toContain(code)
  })

  test(`a session ends within a minute of its end at the provider, or of the loss of its group (${database})`, async () => {
    const gateway = at(database)
    const { world } = gateway.server
    const [ida, jan, kim] = [unique('ida'), unique('jan'), unique('kim')]
    provider.people.set(ida, ['gateway-owners', 'staff']).set(jan, ['gateway-viewers']).set(kim, ['staff'])
    const [first, second, third] = [new Page(gateway), new Page(gateway), new Page(gateway)]
    for (const [page, person] of [
      [first, ida],
      [second, jan],
      [third, kim],
    ] as const)
      await page.signIn(person)
    // The condition of every check: nothing is due before half a minute.
    provider.asked.length = 0
    await checkSessions(world)
    expect(provider.asked).toEqual([])
    await pass(45_000)
    await checkSessions(world)
    expect(await first.status('/admin/v1/admins')).toBe(200)
    // Another role counts with the next check, in the same session; a lost group ends it.
    provider.people.set(ida, ['gateway-viewers', 'staff']).set(kim, [])
    await pass(45_000)
    await checkSessions(world)
    expect(await first.status('/admin/v1/me')).toBe(200)
    expect(await first.status('/admin/v1/admins')).toBe(403)
    expect(await third.status('/v1/me')).toBe(401)
    expect(await third.signIn(kim)).toBe('not_a_member')
    provider.people.set(kim, ['staff'])
    // The clock of the provider has not gone on: a token counts from the second that it is of.
    expect(await third.signIn(kim)).toBe('key')
    expect(await third.status('/v1/me')).toBe(200)
    // Somebody is signed out there.
    await provider.endSessions()
    await pass(45_000)
    await checkSessions(world)
    expect(await first.status('/admin/v1/me')).toBe(401)
    expect(await second.status('/admin/v1/me')).toBe(401)
    const rows = await world.db.query({
      sql: "select after from audit_trail where action = 'session.end' and actor = $1",
      parameters: [`sign-in ${NAME}`],
    })
    expect(rows.length).toBeGreaterThanOrEqual(3)
    expect(JSON.stringify(rows)).toContain('the provider has ended it')
  })

  test(`a provider that does not answer ends sessions after ten minutes, and no new one begins (${database})`, async () => {
    const gateway = at(database)
    const { world } = gateway.server
    const lea = unique('lea')
    provider.people.set(lea, ['gateway-viewers'])
    const page = new Page(gateway)
    await page.signIn(lea)
    provider.door = (_, response) => {
      response.writeHead(503).end('down')
      return true
    }
    try {
      await pass(45_000)
      await checkSessions(world)
      expect(await page.status('/admin/v1/me')).toBe(200)
      expect(gateway.log.some(({ event }) => event === 'issuer_unreachable')).toBe(true)
      await pass(10 * MINUTE_MS)
      await checkSessions(world)
      expect(await page.status('/admin/v1/me')).toBe(401)
    } finally {
      provider.door = undefined
    }
    expect(await page.signIn(lea)).toBe('admin')
  })
}

/** Lets time pass for the gateways. */
async function pass(milliseconds: number): Promise<void> {
  aheadMs += milliseconds
}
