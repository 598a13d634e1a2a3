// Sign-in with an identity provider on another site, in a real browser: the button, the redirects to the provider and
// back to the requested page, and signing out of both.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { type IdentityProvider, startIdentityProvider } from '../support/servers/identity-provider'

setDefaultTimeout(120_000)

let provider: IdentityProvider
let gateway: TestGateway
let browser: Browser
/** A different site from that of the provider, whose host is an IP address. */
let url: string

beforeAll(async () => {
  const port = await freePort()
  url = `http://localhost:${port}`
  provider = await startIdentityProvider({ redirectUris: [`${url}/console/sign-in/company/callback`] })
  const { issuer, clientId, clientSecret } = provider
  const entry = { issuer, clientId, clientSecret, title: 'Example Inc', scopes: 'openid profile groups' }
  gateway = await startTestGateway({
    config: {
      server: { port },
      signIn: { company: { ...entry, groups: { owners: { role: 'owner' }, others: { account: 'others' } } } },
    },
  })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
  await provider.stop()
})

async function leave(person: string, address = '') {
  const context = await browser.newContext({ locale: 'en-GB' })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  await page.goto(`${url}/console${address}`)
  await page.getByRole('button', { name: 'Sign in with Example Inc' }).click()
  await page.waitForURL(`${provider.issuer}/**`)
  await page.locator('input[name=login]').fill(person)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('button[type=submit]').click()
  await page.waitForURL(`${url}/**`)
  return { page, context, faults }
}

test('signing in with a provider returns to the requested page, and signing out ends both sessions', async () => {
  provider.people.set('ada', ['owners'])
  const { page, context, faults } = await leave('ada', '#/accounts/alice')
  await page.getByRole('heading', { name: 'Customer alice' }).waitFor()
  expect(page.url()).toBe(`${url}/console#/accounts/alice`)
  const cookies = (await context.cookies()).filter(({ name }) => name.startsWith('gateway_'))
  expect(cookies.map(({ name, sameSite }) => [name, sameSite])).toEqual([
    ['gateway_admin', 'Strict'],
    ['gateway_admin', 'Strict'],
  ])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${provider.issuer}/**`)
  expect((await context.cookies()).filter(({ name }) => name.startsWith('gateway_'))).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

test('a person without a group sees the reason of the refusal, and can sign in with a token', async () => {
  provider.people.set('eve', ['strangers'])
  const { page, context, faults } = await leave('eve')
  await page.getByText('None of your groups may use this gateway').waitFor()
  expect(page.url().replace(/#$/, '')).toBe(`${url}/console`)
  await page.getByLabel('Token or key').fill(gateway.secret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  expect(faults).toEqual([])
  await context.close()
})
