// The page of the API documentation in a real browser, below a proxy's path: what a reader sees, and a request that is
// sent from it. It may not contact another host or violate its own content security policy.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { axeFaults } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const PREFIX = '/ai'

let gateway: TestGateway
let proxy: Bun.Server<undefined>
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway({})
  proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (!pathname.startsWith(`${PREFIX}/`))
        return new Response('not a path of the gateway', { status: 404 })
      const { method, headers, body } = request
      return fetch(gateway.url + pathname.slice(PREFIX.length) + search, {
        method,
        headers,
        body,
        decompress: false,
      })
    },
  })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await proxy.stop(true)
  await gateway.close()
})

interface Visit {
  page: Page
  /** Faults of the page, and requested URLs that are not the gateway's. */
  faults: string[]
}

/** Opens a page only once, because it takes seconds to render. */
async function visit(
  path = '/docs',
  title = 'Unified Model Gateway',
  colours: 'light' | 'dark' = 'light',
): Promise<Visit> {
  const viewport = { width: 400, height: 900 }
  const page = await browser.newPage({ viewport, locale: 'en-GB', colorScheme: colours })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    // The last text is the viewer's message for a document that it does not understand.
    if (/Content Security Policy|Failed to load|validation errors|deprecated/.test(message.text()))
      faults.push(message.text())
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${proxy.url.origin}${PREFIX}/`) && !/^(data|blob):/.test(url)) faults.push(url)
  })
  await page.goto(`${proxy.url.origin}${PREFIX}${path}`)
  await page.getByRole('heading', { name: title }).waitFor()
  return { page, faults }
}

/** Opens an operation by its URL: whether the viewer's list of operations is open at first is random. */
async function openOperation(page: Page, address: string, heading: string): Promise<void> {
  await page.goto(`${page.url().split('#')[0]}#tag/${address}`)
  await page.getByRole('heading', { name: heading }).first().waitFor()
  await page.locator('aside').getByText(heading).first().click()
}

test('a narrow screen needs no horizontal scrolling; a wide one shows guides and operations, and a request tried out with a key is charged', async () => {
  const { page, faults } = await visit()
  const widths = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')
  expect(widths).toEqual([400, 400])

  await page.setViewportSize({ width: 1280, height: 900 })
  for (const guide of ['Authentication', 'Errors', 'Limits', 'Prices', 'Webhooks']) {
    const heading = page.getByRole('heading', { name: guide, exact: true })
    await heading.first().waitFor()
    expect(await heading.count()).toBe(1)
  }
  await openOperation(page, 'text/POST/v1/chat/completions', 'Chat completion')
  await page.getByText('/v1/chat/completions').filter({ visible: true }).first().waitFor()
  await page.getByRole('button', { name: /Test Request.*chat\/completions/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByPlaceholder('Token').fill(gateway.secret)
  await dialog.getByRole('button', { name: /^Send post request/ }).click()
  await dialog.getByText('200 OK').waitFor()
  expect(await gateway.charges()).toHaveLength(1)
  expect(faults).toEqual([])
  await page.close()
})

test('the page declares its language, and the page and the console link to each other', async () => {
  const html = await (await fetch(`${gateway.url}/docs`)).text()
  expect(html).toContain('<html lang="en">')
  const { page, faults } = await visit()
  const reference = page.getByRole('link', { name: 'reference', exact: true })
  expect(await reference.evaluate((link) => (link as unknown as { href: string }).href)).toBe(
    `${proxy.url.origin}${PREFIX}/docs/reference`,
  )
  await page.getByRole('link', { name: 'console', exact: true }).click()
  await page.getByLabel('Token or key').fill(gateway.secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.getByRole('link', { name: 'API documentation' }).click()
  await page.waitForURL(`${proxy.url.origin}${PREFIX}/docs`, { waitUntil: 'commit' })
  expect(faults).toEqual([])
  await page.close()
})

/**
 * Rules broken by the viewer's own elements, which only its developers can fix, with the maximum number of elements at
 * any width on 2026-11-28.
 */
const OF_THE_VIEWER: Record<string, number> = {
  'aria-allowed-attr': 35,
  'aria-allowed-role': 2,
  'aria-required-children': 1,
  'button-name': 45,
  'label-content-name-mismatch': 18,
  'landmark-unique': 7,
  'nested-interactive': 5,
  'scrollable-region-focusable': 11,
}
/**
 * The number of operations that may be added before these figures must be updated: each has a few of these elements.
 */
const FURTHER = 20
/** Fewer buttons than a page with all operations has, and more than one with only the first operations. */
const BUTTONS = 300

// One test for each width, because axe takes more than ten seconds for the 14,000 elements of `/docs`.
for (const [path, colours, width, title] of [
  ['/docs', 'light', 400, 'Unified Model Gateway'],
  ['/docs', 'light', 768, 'Unified Model Gateway'],
  ['/docs', 'light', 1280, 'Unified Model Gateway'],
  ['/docs', 'light', 1440, 'Unified Model Gateway'],
  ['/docs', 'dark', 1280, 'Unified Model Gateway'],
  ['/admin/v1/docs', 'light', 1280, 'Unified Model Gateway: admin API'],
  ['/docs/reference', 'dark', 400, 'Reference'],
  ['/', 'dark', 400, 'AI gateway'],
] as const)
  test(`${path} in ${colours} at ${width} pixels has no fault found by axe, except known ones of the viewer`, async () => {
    const { page, faults } = await visit(path, title, colours)
    // The viewer renders most operations some time after the first ones.
    if (path.endsWith('/docs')) await waitFor(async () => (await page.locator('button').count()) > BUTTONS)
    await page.setViewportSize({ width, height: 900 })
    const known = path.endsWith('/docs') ? OF_THE_VIEWER : {}
    const more = (await axeFaults(page))
      .map(({ rule, elements }) => [rule, elements.length] as const)
      .filter(([rule, count]) => !(rule in known) || count > (known[rule] ?? 0) + FURTHER)
    expect(more).toEqual([])
    expect(faults).toEqual([])
    await page.close()
  })

test('the search of the reference finds error codes, settings, log lines and fields, and only their headings', async () => {
  const { page, faults } = await visit('/docs/reference', 'Reference')
  await page.setViewportSize({ width: 1280, height: 900 })
  const field = page.getByLabel('Search')
  const rows = page.locator('tbody tr:visible')
  const first = () => rows.first().locator('td').first().textContent()
  const headings = page.locator('main').locator('h2:visible, h3:visible')
  const all = await rows.count()
  expect(all).toBeGreaterThan(500)

  await field.fill('insufficient_balance')
  await page.getByText(/^\d+ match(es)?$/).waitFor()
  expect(await first()).toBe('insufficient_balance')
  expect(await headings.allTextContents()).toContain('Error codes')
  expect(await headings.allTextContents()).not.toContain('Events')
  expect(new URL(page.url()).searchParams.get('q')).toBe('insufficient_balance')

  // By the full name, and by words in any order and case.
  await field.fill('log.level')
  expect(await first()).toBe('level')
  expect(await headings.allTextContents()).toContain('log')
  expect(await headings.allTextContents()).not.toContain('server')
  await field.fill('JUMPED clock')
  await page.getByText('1 match', { exact: true }).waitFor()
  expect(await first()).toBe('clock_jumped')

  await field.fill('no such words here')
  await page.getByText('0 matches').waitFor()
  expect(await headings.count()).toBe(0)
  await field.fill('')
  await page.waitForFunction(`document.querySelectorAll('[hidden]').length === 0`)
  expect(await rows.count()).toBe(all)

  await page.goto(`${proxy.url.origin}${PREFIX}/docs/reference?q=balance.low`)
  expect(await field.inputValue()).toBe('balance.low')
  expect(await first()).toBe('balance.low')
  await page.setViewportSize({ width: 400, height: 900 })
  expect(await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')).toEqual([400, 400])
  await page.getByRole('link', { name: 'API', exact: true }).click()
  await page.waitForURL(`${proxy.url.origin}${PREFIX}/docs`, { waitUntil: 'commit' })
  expect(faults).toEqual([])
  await page.close()
})

test('the root page describes the gateway and links to the documentation, and is empty for clients', async () => {
  const { page, faults } = await visit('/', 'AI gateway')
  expect(await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')).toEqual([400, 400])
  const links = await page
    .locator('a')
    .evaluateAll((all) => all.map((link) => (link as { href: string }).href))
  expect(links.map((link) => link.slice(proxy.url.origin.length))).toEqual(
    ['docs', 'console', 'openapi.json', 'health'].map((path) => `${PREFIX}/${path}`),
  )
  await page.getByRole('link', { name: 'Documentation' }).click()
  await page.getByRole('heading', { name: 'Unified Model Gateway' }).waitFor()
  expect(faults).toEqual([])
  await page.close()
  const plain = await fetch(gateway.url)
  expect([plain.status, await plain.text()]).toEqual([200, ''])
})

test('the documentation of the admin API is shown in the same way, and an operation is tried out with a token', async () => {
  const token = makeToken(randomBytes)
  const admin = { id: newId('adm'), name: 'ada', role: 'viewer', expiresAt: null, createdAt: 1 } as const
  expect(await createAdmin(gateway.server.world.db, { ...admin, token })).toBe(true)
  const { page, faults } = await visit('/admin/v1/docs', 'Unified Model Gateway: admin API')
  await page.setViewportSize({ width: 1280, height: 900 })
  await openOperation(page, 'accounts/GET/admin/v1/accounts', 'Accounts by their names')
  await page.getByRole('button', { name: 'Test Request (get /admin/v1/accounts)', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByPlaceholder('Token').fill(token)
  await dialog.getByRole('button', { name: /^Send get request/ }).click()
  await dialog.getByText('200 OK').waitFor()
  expect(faults).toEqual([])
  await page.close()
})
