// `gateway contexts login` as a person runs it: a process that waits while a browser signs in at a certified identity provider
// (oidc-provider), commands that renew the token by themselves, and what is refused.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { PROGRAM } from '../support/processes/command-line'
import {
  Browser,
  CLI_CLIENT,
  type IdentityProvider,
  startIdentityProvider,
} from '../support/servers/identity-provider'

setDefaultTimeout(120_000)

let provider: IdentityProvider
let gateway: TestGateway
const home = temporaryFolder()
const contexts = join(home, 'gateway', 'contexts.json')

beforeAll(async () => {
  provider = await startIdentityProvider({ redirectUris: ['http://127.0.0.1:1/callback'] })
  const { issuer, clientId, clientSecret } = provider
  gateway = await startTestGateway({
    config: {
      signIn: {
        company: {
          ...{ issuer, clientId, clientSecret, scopes: 'openid profile groups offline_access' },
          groups: { owners: { role: 'owner' } },
          tokens: { adminApi: true, cliClientId: CLI_CLIENT },
        },
      },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await provider.stop()
})

function start(...words: string[]) {
  return Bun.spawn([...PROGRAM, ...words], {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', HOME: home, XDG_CONFIG_HOME: home },
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

async function run(...words: string[]) {
  const child = start(...words)
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, stdout, stderr }
}

/** Signs in while the command waits. */
async function logIn(person: string, server = gateway.url, ...flags: string[]) {
  const child = start('contexts', 'login', 'rack', '--server', server, ...flags)
  let shown = ''
  const reading = (async () => {
    for await (const bytes of child.stderr) shown += new TextDecoder().decode(bytes)
  })()
  await waitFor(() => /Open (\S+)/.test(shown) || child.exitCode !== null)
  const address = /Open (\S+)/.exec(shown)?.[1] ?? ''
  await new Browser().approve(address, person)
  const stdout = await new Response(child.stdout).text()
  await reading
  return { code: await child.exited, stdout, stderr: shown }
}

const saved = () => JSON.parse(readFileSync(contexts, 'utf8')).contexts.rack

test('a sign-in in a browser saves a context, whose token is renewed', async () => {
  provider.people.set('ada', ['owners'])
  const { code, stdout, stderr } = await logIn('ada')
  expect([code, stdout]).toEqual([
    0,
    `Commands now work on rack (${gateway.url}), as ada with the role owner.\n`,
  ])
  const { token, login } = saved()
  for (const secret of [token, login.refreshToken]) expect(stdout + stderr).not.toContain(secret)
  expect(statSync(contexts).mode & 0o077).toBe(0)
  const listed = await run('accounts', 'list')
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('alice')])
  expect(saved().token).toBe(token)

  // Shortly before its end it is renewed, once, and kept.
  const file = JSON.parse(readFileSync(contexts, 'utf8'))
  file.contexts.rack.login.expiresAt = Date.now() + 1_000
  writeFileSync(contexts, JSON.stringify(file), { mode: 0o600 })
  expect((await run('accounts', 'list')).code).toBe(0)
  expect(saved().login.expiresAt).toBeGreaterThan(Date.now() + 60_000)
  expect(saved().login.refreshToken).not.toBe(login.refreshToken)

  // The provider has ended it.
  await provider.endSessions()
  const again = JSON.parse(readFileSync(contexts, 'utf8'))
  again.contexts.rack.login.expiresAt = 0
  writeFileSync(contexts, JSON.stringify(again), { mode: 0o600 })
  const ended = await run('accounts', 'list')
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('refuses the sign-in: invalid_grant. Sign in again')
})

test('a person without a group is refused, and nothing is saved', async () => {
  provider.people.set('eve', ['strangers'])
  const { code, stderr } = await logIn('eve')
  expect(code).toBe(1)
  expect(stderr).toContain('none of your groups may use this gateway')
  expect(stderr).toContain('Nothing was saved.')
})

test('a gateway without TLS on another machine is refused, unless the person allows it', async () => {
  provider.people.set('ben', ['owners'])
  // A proxy of the gateway, at an address of this machine that is not a loopback address.
  using front = Bun.serve({
    hostname: '0.0.0.0',
    port: 0,
    fetch({ url, method, headers }) {
      const { pathname, search } = new URL(url)
      const authorization = headers.get('authorization')
      return fetch(`${gateway.url}${pathname}${search}`, {
        method,
        ...(authorization && { headers: { authorization } }),
      })
    },
  })
  const elsewhere = `http://0.0.0.0:${front.port}`
  const refused = await run('contexts', 'login', 'open', '--server', elsewhere)
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--allow-http')])
  const { code, stdout, stderr } = await logIn('ben', elsewhere, '--allow-http')
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringContaining(`rack (${elsewhere}), as ben`),
    expect.any(String),
  ])
  expect((await run('accounts', 'list')).code).toBe(0)
})
