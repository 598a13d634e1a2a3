// How the console loads: below a path of a proxy, and what is shown before anything is there.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser'
import { afterAll, beforeAll, test } from '../support/browser-test'
import { visitConsole } from '../support/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(120_000)

const PREFIX = '/ai'

let gateway: TestGateway
let proxy: Bun.Server<undefined>
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway({ balance: '1' })
  proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch({ url, method, headers, body }) {
      const { pathname, search } = new URL(url)
      if (!pathname.startsWith(`${PREFIX}/`)) return new Response('not of the gateway', { status: 404 })
      const target = gateway.url + pathname.slice(PREFIX.length) + search
      return fetch(target, { method, headers, body, decompress: false, redirect: 'manual' })
    },
  })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await proxy.stop(true)
  await gateway.close()
})

test('below a path of a proxy it loads, signs in, asks and signs out', async () => {
  const visit = await visitConsole(browser, gateway, { url: `${proxy.url.origin}${PREFIX}` })
  await visit.open('accounts/alice')
  await visit.page.getByRole('heading', { name: 'Account alice' }).waitFor()
  const context = visit.page.context()
  const paths = async () => (await context.cookies()).map(({ path }) => path).sort()
  expect(await paths()).toEqual([`${PREFIX}/admin/v1`, `${PREFIX}/console`])
  await visit.page.getByRole('button', { name: 'Sign out' }).click()
  await waitFor(async () => (await paths()).length === 0)
  expect(visit.faults).toEqual([])
  await context.close()
})

test('the first paint waits for no script, and the page for no answer on who looks', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  const held = Promise.withResolvers<void>()
  const asked: string[] = []
  let isHolding = true
  // The script at first, and then who looks: what is asked meanwhile does not wait for it.
  await page.route('**/*.js', async (route) => {
    if (isHolding) await held.promise
    await route.continue()
  })
  await page.reload({ waitUntil: 'commit' })
  const painted = `performance.getEntriesByName('first-contentful-paint').length > 0`
  await waitFor(() => page.evaluate<boolean>(painted))
  expect(await page.locator('.header').textContent()).toBe('Gateway')
  expect(await page.locator('nav').count()).toBe(0)
  const answered = Promise.withResolvers<void>()
  await page.route('**/console/session', async (route) => {
    await answered.promise
    await route.continue()
  })
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  isHolding = false
  held.resolve()
  await waitFor(() => asked.includes('/console/session') && asked.some((path) => path.endsWith('.js')))
  expect(await page.locator('nav').count()).toBe(0)
  answered.resolve()
  await visit.settled()
  expect(visit.faults).toEqual([])
  await page.context().close()
})
