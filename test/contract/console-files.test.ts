// The files of the console as they are sent: how large, with which policy, how long they are kept, and below a path of a
// proxy.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { readConsoleFiles } from '../../src/http/console-files'
import { openBrowser } from '../support/browser'
import { visitConsole } from '../support/console-visit'
import { temporaryFolder } from '../support/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { modulesLoaded } from '../support/modules-loaded'

setDefaultTimeout(120_000)

const PREFIX = '/ai'
const MOST_PACKED_BYTES = 200 * 1024

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

test('all of it is at most 200 KB, packed', async () => {
  const files = await readConsoleFiles()
  const packed = [...files.values()].reduce((sum, file) => sum + file.packed.length, 0)
  expect(files.size).toBeGreaterThan(10)
  expect(packed).toBeLessThan(MOST_PACKED_BYTES)
})

test('nothing of it is loaded before its first request', async () => {
  const { whileServing, byConsole } = await modulesLoaded(temporaryFolder())
  const ofConsole = (paths: readonly string[]) =>
    paths.filter((path) =>
      /src\/(console|console-server)\/|console-files|node_modules\/(@?preact|uplot)/.test(path),
    )
  expect(whileServing.length).toBeGreaterThan(100)
  expect(ofConsole(whileServing)).toEqual([])
  // What is looked for is there once somebody asks.
  for (const name of ['src/console/index.html', 'src/http/console-files.ts', 'console-server.ts'])
    expect(ofConsole(byConsole)).toContainEqual(expect.stringContaining(name))
})

test('the page runs nothing that stands in it, and names no other host', async () => {
  const response = await fetch(`${gateway.url}/console`)
  const html = await response.text()
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  )
  expect(response.headers.get('content-security-policy')).not.toContain('unsafe')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|https?:/)
  for (const [, address = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g))
    expect(address).toMatch(/^console\/[\w.-]+$/)
})

test('files are kept for ever by their names, the page is asked for again, and other paths are not there', async () => {
  const page = await fetch(`${gateway.url}/console`)
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const etag = page.headers.get('etag') ?? ''
  expect((await fetch(`${gateway.url}/console`, { headers: { 'if-none-match': etag } })).status).toBe(304)
  const [, script = ''] = /src="([^"]+)"/.exec(await page.text()) ?? []
  const file = await fetch(`${gateway.url}/${script}`)
  expect(file.headers.get('cache-control')).toContain('immutable')
  expect(file.headers.get('content-encoding')).toBe('gzip')
  const plain = await fetch(`${gateway.url}/${script}`, { headers: { 'accept-encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(await plain.text()).toBe(await file.text())
  const moved = await fetch(`${gateway.url}/console/`, { redirect: 'manual' })
  expect([moved.status, moved.headers.get('location')]).toEqual([308, '../console'])
  for (const path of ['/console/..%2f..%2fpackage.json', '/console/index.html', '/console/constructor'])
    expect((await fetch(gateway.url + path)).status).toBe(404)
  expect((await fetch(`${gateway.url}/console`, { method: 'PUT' })).status).toBe(404)
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
