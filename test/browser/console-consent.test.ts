// The page on which a person allows a program to use the tools, in a real browser: the program's link opens it, it
// names the program and the account that pays, and each button returns to the program. Requests to the gateway's public
// address are routed to its port.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { authorizeUrl, exchange, fetchBehind, PUBLIC_URL, REDIRECT, register } from '../support/oauth'

setDefaultTimeout(120_000)

let gateway: TestGateway
let browser: Browser

beforeAll(async () => {
  const config = { server: { publicUrl: PUBLIC_URL, mcpSignIn: true }, console: { allowRemote: true } }
  gateway = await startTestGateway({ config, balance: '10' })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** Opens the address to which a program sends a person, and signs in with a key. */
async function open(clientId: string) {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 480, height: 800 } })
  const faults: string[] = []
  await context.route(`${PUBLIC_URL}/**`, async (route) => {
    const request = route.request()
    const address = request.url().replace(PUBLIC_URL, gateway.url)
    const body = request.postData()
    const answer = await fetch(address, {
      method: request.method(),
      headers: await request.allHeaders(),
      redirect: 'manual',
      ...(body !== null && { body }),
    })
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'content-encoding'))
    // Several cookies are one header here, with one line each.
    headers['set-cookie'] = answer.headers.getSetCookie().join('\n')
    await route.fulfill({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) })
  })
  await context.route(`${REDIRECT}**`, (route) => route.fulfill({ status: 200, body: 'back' }))
  const page = await context.newPage()
  page.on('pageerror', (error) => faults.push(String(error)))
  // The browser would follow a redirect without the route.
  const led = await fetchBehind(gateway)(authorizeUrl(clientId, { state: 'of the program' }))
  await page.goto(led.headers.get('location') ?? '')
  await page.getByLabel('Token or key').fill(gateway.secret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  return { page, faults, close: () => context.close() }
}

test('a person sees the program and the account that pays, and allows the program a limited amount', async () => {
  const clientId = (await register(gateway, { client_name: 'Desk <b>helper</b>' })).body.client_id as string
  const { page, faults, close } = await open(clientId)
  await page.getByText('Desk <b>helper</b>').waitFor()
  await page.getByText('claude.example').waitFor()
  await page.getByRole('textbox').first().fill('0.50')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${REDIRECT}**`)
  const back = new URL(page.url())
  expect(back.searchParams.get('state')).toBe('of the program')
  const { status } = await exchange(gateway, { clientId, code: back.searchParams.get('code') ?? '' })
  expect(status).toBe(200)
  expect(faults).toEqual([])
  await close()
})

test('a person denies access, and the program gets no code', async () => {
  const clientId = (await register(gateway)).body.client_id as string
  const { page, faults, close } = await open(clientId)
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.waitForURL(`${REDIRECT}**`)
  const back = new URL(page.url())
  expect([back.searchParams.get('error'), back.searchParams.get('code')]).toEqual(['access_denied', null])
  expect(faults).toEqual([])
  await close()
})
