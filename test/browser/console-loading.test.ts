// How the console loads: below a proxy's path, what it shows before data arrives or if none does, its colours, that a
// hidden page sends no requests, and that the executable contains every page.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { emptyFolder, install, stopWell } from '../support/processes/executable'

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
      if (!pathname.startsWith(`${PREFIX}/`))
        return new Response('not a path of the gateway', { status: 404 })
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

test('the console loads, signs in, fetches data and signs out below a proxy’s path', async () => {
  const visit = await visitConsole(browser, gateway, { url: `${proxy.url.origin}${PREFIX}` })
  await visit.open('accounts/alice')
  await visit.page.getByRole('heading', { name: 'Customer alice' }).waitFor()
  const context = visit.page.context()
  const paths = async () => (await context.cookies()).map(({ path }) => path).sort()
  expect(await paths()).toEqual([`${PREFIX}/admin/v1`, `${PREFIX}/console`])
  await visit.page.getByRole('button', { name: 'Sign out' }).click()
  await waitFor(async () => (await paths()).length === 0)
  expect(visit.faults).toEqual([])
  await context.close()
})

test('the first paint does not wait for scripts, and the page does not wait for the session', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  const held = Promise.withResolvers<void>()
  const asked: string[] = []
  let isHolding = true
  // The script is requested first, then the session. Other requests do not wait for the session.
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

test('a submitted form is busy until its answer arrives', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page, settled, faults, axe } = visit
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token or key').fill(await makeAdminToken(gateway, 'viewer'))
  const held = Promise.withResolvers<void>()
  await page.route('**/console/session', async (route) => {
    await held.promise
    await route.continue()
  })
  const button = page.getByRole('button', { name: 'Sign in', exact: true })
  await button.click()
  expect([await button.getAttribute('aria-busy'), await button.isDisabled()]).toEqual(['true', true])
  expect(await axe()).toEqual([])
  held.resolve()
  await settled()
  expect(await page.locator('.frame').count()).toBe(1)
  expect(faults).toEqual([])
  await page.context().close()
})

test('a list shows that it loads, an error that can be retried, and the next step if it is empty', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page, faults, open, axe } = visit
  const rows = page.locator('main tbody tr')
  const held = Promise.withResolvers<void>()
  const script = Promise.withResolvers<void>()
  await page.route('**/*.js', async (route) => {
    await script.promise
    await route.continue()
  })
  await page.route('**/admin/v1/customers?*', async (route) => {
    await held.promise
    const message = 'The database does not answer.'
    await route.fulfill({ status: 503, json: { error: { code: 'database_unavailable', message } } })
  })
  const asked = page.waitForRequest('**/admin/v1/customers?*')
  await page.evaluate(`location.hash = '#/accounts'`)
  const loading = page.getByRole('status', { name: 'Loading' })
  await loading.waitFor()
  expect(await axe()).toEqual([])
  script.resolve()
  await asked
  await loading.waitFor()
  expect(await axe()).toEqual([])
  held.resolve()
  const alert = page.getByRole('alert')
  await alert.getByText('The database does not answer.').waitFor()
  await alert.getByText('database_unavailable').waitFor()
  await page.getByRole('heading', { name: 'Customers' }).waitFor()
  expect([await axe(), await rows.count()]).toEqual([[], 0])
  // Then the server does not answer at all.
  await page.unroute('**/admin/v1/customers?*')
  await page.route('**/admin/v1/customers?*', (route) => route.abort())
  await page.getByRole('button', { name: 'Try again' }).click()
  await alert.getByText('Check that it is running').waitFor()
  await page.unroute('**/admin/v1/customers?*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await rows.first().waitFor()
  expect(await alert.count()).toBe(0)
  for (const [address, next] of [
    ['tasks', 'Videos and deferred requests create tasks'],
    ['keys?account=nobody', 'Search customers by part of the name'],
    ['requests?model=none', 'Choose a longer range'],
    ['accounts?held=true', 'No customers match.'],
  ] as const) {
    await open(address)
    await page.locator('.empty', { hasText: next }).waitFor()
  }
  // The two intended failures.
  expect(faults.map((fault) => /status of 503|ERR_FAILED/.test(fault))).toEqual([true, true])
  await page.context().close()
})

test('the theme follows the system until one is selected, which is kept', async () => {
  const { page } = await visitConsole(browser, gateway, { colours: 'light' })
  const isDark = async () => {
    const colour = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    return (colour.match(/\d+/g) ?? []).slice(0, 3).every((part) => Number(part) < 64)
  }
  expect(await isDark()).toBe(false)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await isDark()).toBe(true)
  const theme = page.getByLabel('Theme')
  await theme.selectOption('light')
  expect(await isDark()).toBe(false)
  await page.reload()
  await theme.waitFor()
  expect([await theme.inputValue(), await isDark()]).toEqual(['light', false])
  await theme.selectOption('auto')
  expect(await isDark()).toBe(true)
  await page.context().close()
})

test('a hidden page closes its event stream and sends no requests', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page, faults } = visit
  const count = { live: 0, overview: 0 }
  let isOpen = true
  page.on('request', (request) => {
    if (request.url().endsWith('/console/live')) count.live++
    if (request.url().includes('/admin/v1/overview')) count.overview++
  })
  page.on('requestfailed', (request) => {
    if (request.url().endsWith('/console/live')) isOpen = false
  })
  const show = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await waitFor(async () => {
    await (await gateway.chat()).text()
    return count.overview > 0
  })
  await show(true)
  await waitFor(() => !isOpen)
  await visit.settled()
  const { overview } = count
  await (await gateway.chat()).text()
  await gateway.server.world.requestLog.flush()
  await visit.settled()
  expect(count).toEqual({ live: 0, overview })
  await show(false)
  await waitFor(async () => count.live === 1 && count.overview > overview)
  expect(faults).toEqual([])
  await page.context().close()
})

/** Scripts that are loaded too late: the browser finds them only after it has read another script. */
async function lateScripts(url: string): Promise<string[]> {
  const html = await (await fetch(`${url}/console`)).text()
  const preloaded = [...html.matchAll(/rel="modulepreload"[^>]* href="console\/([^"]+)"/g)].map(
    ([, name]) => name,
  )
  const [, first = ''] = /<script[^>]* src="console\/([^"]+)"/.exec(html) ?? []
  const texts = new Map<string, string>()
  const late: string[] = []
  const see = async (name: string, together: ReadonlySet<string>) => {
    if (texts.has(name)) return
    const text = await (await fetch(`${url}/console/${name}`)).text()
    texts.set(name, text)
    const known = new Set([...together, name])
    for (const [, other = ''] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) {
      if (!known.has(other)) late.push(`${other} by ${name}`)
      await see(other, known)
    }
    for (const [all] of text.matchAll(/(?:import\("\.\/[\w.-]+\.js"\),?)+/g)) {
      const names = [...all.matchAll(/"\.\/([\w.-]+\.js)"/g)].map(([, each = '']) => each)
      for (const each of names) await see(each, new Set([first, ...preloaded.map(String), ...names]))
    }
  }
  await see(first, new Set(preloaded.map(String)))
  expect(texts.size).toBeGreaterThan(25)
  expect(preloaded).toEqual([...new Set(preloaded)])
  return late
}

test('the scripts of each page are requested at the same time, and only once', async () => {
  expect(await lateScripts(gateway.url)).toEqual([])
  const visit = await visitConsole(browser, gateway)
  await visit.open('usage')
  const loaded = await visit.page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`,
  )
  expect(loaded.length).toBeGreaterThan(12)
  expect(loaded).toEqual([...new Set(loaded)])
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('the executable contains the whole console: every page loads', async () => {
  const installation = await install()
  const server = await installation.serve({ cwd: emptyFolder() })
  expect(await lateScripts(server.url)).toEqual([])
  const { token } = await installation.json('admins', 'create', 'ada', '--role', 'owner')
  const key = await installation.makeKey('alice', '1')
  const opened: string[] = []
  for (const credentials of [token, key]) {
    const visit = await visitConsole(browser, gateway, { url: server.url, token: credentials })
    const links = visit.page.locator('nav a[href^="#/"]')
    const places = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    for (const place of places) {
      await visit.open(place.replace('#/', ''))
      opened.push((await visit.page.title()).split(' · ')[0] ?? '')
    }
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  }
  expect(opened).toHaveLength(19)
  expect(opened.filter((title, index) => opened.indexOf(title) !== index).sort()).toEqual([
    'Models',
    'Playground',
    'Requests',
    'Statements',
  ])
  await stopWell(installation, server)
})
