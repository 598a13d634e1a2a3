// The console's requests to the server in a real browser: no request is sent twice, Back shows a page immediately, and
// a change reloads everything that is visible.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10' })
  browser = await openBrowser()
  await (await gateway.chat()).text()
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** From now on, records the path of each request for data. */
function asked(page: Page): string[] {
  const paths: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (/\/(admin\/v1|v1)\//.test(pathname)) paths.push(pathname + search.replace(/since=[^&]*/, 'since='))
  })
  return paths
}

test('Overview and a holder’s Home send each request once when they are loaded', async () => {
  const { secret } = await gateway.makeKey('holder', '5')
  for (const token of [undefined, secret]) {
    const visit = await visitConsole(browser, gateway, token ? { token } : {})
    const paths = asked(visit.page)
    const stream = visit.page.waitForRequest((request) => request.url().endsWith('/console/live'))
    await visit.page.reload()
    await stream
    await visit.settled()
    // The stream sends the current figures within a second, and events are collected for half a second.
    await Bun.sleep(2_500)
    expect(paths.length).toBeGreaterThan(0)
    expect(paths).toEqual([...new Set(paths)])
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  }
})

test('Back shows the previous list while it is reloaded', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open('accounts')
  const rows = await page.locator('main tbody tr').count()
  await visit.open('keys')
  const held = Promise.withResolvers<void>()
  await page.route('**/admin/v1/customers?*', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.goBack()
  await page.getByRole('heading', { name: 'Customers' }).waitFor()
  await page.locator('main tbody tr').first().waitFor()
  expect(rows).toBeGreaterThan(0)
  expect(await page.locator('main tbody tr').count()).toBe(rows)
  held.resolve()
  await visit.settled()
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('a change appears in the list and in the panel, without a request for invisible data', async () => {
  const { id } = await gateway.makeKey('paused', '1')
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open('plans')
  await visit.open(`keys/${id}`)
  const paths = asked(page)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  await visit.settled()
  const row = page.locator('main tbody tr', { hasText: id }).first()
  await waitFor(async () => /paused.*paused/.test((await row.textContent()) ?? ''))
  expect(paths.filter((path) => path.startsWith('/admin/v1/keys?'))).toHaveLength(1)
  expect(paths.filter((path) => path.includes('/plans'))).toEqual([])
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('nothing that an operator saw is shown to the next person who signs in', async () => {
  const { secret } = await gateway.makeKey('next', '1')
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open('accounts/alice')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token or key').fill(secret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await visit.settled()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.route('**/admin/v1/customers**', (route) => route.abort())
  await page.getByLabel('Token or key').fill(await makeAdminToken(gateway, 'viewer'))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await visit.open('accounts/alice')
  expect(await page.locator('main').textContent()).not.toContain('$')
  await page.context().close()
})
