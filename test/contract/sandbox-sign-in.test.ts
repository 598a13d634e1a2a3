// The simulated identity provider as the sandbox configures it: each user gets the role of their group, and codes
// are sent to this machine only and accepted once, with their verifier.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { simulated } from '../../cli/configuration/simulated'
import { type Sandbox, startSandbox } from '../../sandbox'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { Browser } from '../support/servers/identity-provider'

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox()
  const { signIn } = simulated({ upstreams: {}, models: {} }, sandbox)
  gateway = await startTestGateway({ sandbox, config: signIn ? { signIn } : {} })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** The sign-in address, with the cookie of the browser that started. */
async function begin(browser: Browser): Promise<URL> {
  const headers = { origin: gateway.url }
  const begun = await browser.fetch(`${gateway.url}/console/sign-in/sandbox`, { method: 'POST', headers })
  return new URL(((await begun.json()) as { location: string }).location)
}

/** Chooses a person on the provider's page. */
async function choose(browser: Browser, address: URL, person: string): Promise<Response> {
  const page = await (await browser.fetch(address.href)).text()
  const link = [...page.matchAll(/href="([^"]+)"/g)].find(([, each]) => each?.includes(`person=${person}`))
  return browser.fetch(new URL((link?.[1] ?? '').replaceAll('&amp;', '&'), address).href)
}

for (const [person, expected] of [
  ['ada', { kind: 'admin', name: 'ada', role: 'owner' }],
  ['vic', { kind: 'admin', name: 'vic', role: 'viewer' }],
  ['ben', { kind: 'key', name: 'ben', account: 'demo' }],
] as const)
  test(`${person} signs in with one click`, async () => {
    const browser = new Browser()
    const chosen = await choose(browser, await begin(browser), person)
    const back = await browser.fetch(chosen.headers.get('location') ?? '')
    expect(back.headers.get('location')).toBe(`/console#signed-in=${expected.kind}`)
    const session = await browser.fetch(`${gateway.url}/console/session`)
    expect(await session.json()).toMatchObject(expected)
  })

test('a code works once, with its verifier, and is sent to this machine only', async () => {
  const browser = new Browser()
  const address = await begin(browser)
  const chosen = await choose(browser, address, 'ada')
  const code = new URL(chosen.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: address.searchParams.get('redirect_uri') ?? '',
  }
  for (const verifier of ['wrong', ''])
    expect(
      (
        await fetch(`${sandbox.issuer}/token`, {
          method: 'POST',
          body: new URLSearchParams({ ...form, code_verifier: verifier }),
        })
      ).status,
    ).toBe(400)
  const foreign = new URL(address)
  foreign.searchParams.set('redirect_uri', 'https://evil.example/callback')
  expect((await choose(browser, foreign, 'ada')).status).toBe(400)
})
