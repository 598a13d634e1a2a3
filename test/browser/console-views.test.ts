// Saved views and the header in a real browser: a page is saved under a name and opened by it, the search field keeps
// its width next to a long name, and every page can be reached on a phone.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

/** Minimum width of a usable text field, in pixels. */
const MIN_WIDTH = 150
const LONG_NAME = 'an-operator-whose-name-is-longer-than-most-names-of-operators'

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10' })
  browser = await openBrowser()
  await (await gateway.chat()).text()
  await (await gateway.chat({ model: 'gpt-99' })).text()
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

test('a page is saved under a name, opened from the palette and the list, and removed', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page, open, settled, axe } = visit
  await open('requests?status=failed&range=7d')
  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await page.getByLabel('Name of this view').fill('failures of the week')
  expect(await axe()).toEqual([])
  await page.getByRole('button', { name: 'Save this view' }).click()
  await settled()
  expect(page.url()).toContain('view=failures+of+the+week')
  await page.locator('.header', { hasText: 'failures of the week' }).waitFor()
  // A different filter makes another view.
  await page.getByLabel('Time range').selectOption('30d')
  await settled()
  expect(page.url()).not.toContain('view=')
  await open('overview')
  await page.reload()
  await settled()
  await page.locator('#search').fill('failures of')
  await page.getByRole('option', { name: 'failures of the week view' }).click()
  await settled()
  expect(page.url()).toMatch(/status=failed.*range=7d/)
  expect(await page.locator('main tbody tr').count()).toBe(1)
  await page.getByRole('button', { name: 'Views', exact: true }).click()
  await page.getByRole('button', { name: 'Remove the view failures of the week' }).click()
  await page.getByText('A view saves the filters').waitFor()
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('the search field keeps its width next to a long name, and the header is not cut off', async () => {
  const token = await makeAdminToken(gateway, 'owner', LONG_NAME)
  for (const width of [400, 768, 1024, 1280]) {
    const visit = await visitConsole(browser, gateway, { token, width })
    for (const address of ['overview', 'usage']) {
      await visit.open(address)
      const search = await visit.page.locator('#search').boundingBox()
      const end = await visit.page.getByRole('button', { name: 'Sign out' }).boundingBox()
      expect({ width, address, isWide: (search?.width ?? 0) >= MIN_WIDTH }).toEqual({
        width,
        address,
        isWide: true,
      })
      expect({ width, address, isWithin: (end?.x ?? 0) + (end?.width ?? 0) <= width }).toEqual({
        width,
        address,
        isWithin: true,
      })
    }
    expect(await visit.tooWide()).toEqual([])
    await visit.page.context().close()
  }
})

test('on a narrow screen, holders of keys find the documentation under More, as operators do', async () => {
  const { secret } = await gateway.makeKey('holder', '1')
  const visit = await visitConsole(browser, gateway, { token: secret, width: 400 })
  const link = visit.page.getByRole('link', { name: 'API documentation' })
  expect(await link.isVisible()).toBe(false)
  await visit.page.getByRole('button', { name: 'More' }).click()
  expect(await link.isVisible()).toBe(true)
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('the overview has no gap among its figures', async () => {
  const visit = await visitConsole(browser, gateway, { width: 768 })
  await visit.open('overview')
  const colours = (await visit.page.evaluate(
    `['.figures', 'body'].map((part) => getComputedStyle(document.querySelector(part)).backgroundColor)`,
  )) as string[]
  expect(['rgba(0, 0, 0, 0)', colours[1]]).toContain(colours[0])
  await visit.page.context().close()
})

test('the accessible name of a row’s link has the request and its result', async () => {
  const visit = await visitConsole(browser, gateway)
  await visit.open('requests')
  const names = await visit.page
    .getByRole('row')
    .getByRole('link', { name: /req_\S+ \d{3}/ })
    .allTextContents()
  expect(names).toHaveLength(2)
  expect(names.filter((name) => name.includes('model_not_found'))).toHaveLength(1)
  expect(await visit.axe()).toEqual([])
  await visit.page.context().close()
})

test('a form names an invalid field by its label, and reports what it saved', async () => {
  const { id } = await gateway.makeKey('formed', '1')
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open(`keys/${id}`)
  const panel = page.locator('.panel')
  await panel.getByLabel('Budget', { exact: true }).fill('much')
  await panel.getByRole('button', { name: 'Save' }).click()
  const alert = panel.getByRole('alert')
  await alert.waitFor()
  expect(await alert.textContent()).toContain('“Budget”')
  expect(await alert.textContent()).not.toContain('budget_usd')
  await panel.getByLabel('Budget', { exact: true }).fill('2')
  await panel.getByLabel('Budget period').selectOption('day')
  await panel.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('Saved', { exact: true }).waitFor()
  await panel.getByText('$0.00 of $2.00 today').waitFor()
  await panel.getByRole('button', { name: 'Revoke…' }).click()
  const buttons = page.locator('dialog button')
  // The second button does not repeat the question, and both buttons are in one line.
  expect(await buttons.allTextContents()).toEqual(['Revoke', 'Go back'])
  const tops = await buttons.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
  expect(new Set(tops).size).toBe(1)
  expect(visit.faults.filter((fault) => !/400/.test(fault))).toEqual([])
  await page.context().close()
})

/** In the page: the positions of labels and controls in each form row with several kinds of fields, in pixels. */
const FIELDS = `[...document.querySelectorAll('.fields')].flatMap((group) => {
  const rows = Map.groupBy([...group.querySelectorAll('.field')], (field) => Math.round(field.getBoundingClientRect().top))
  return [...rows.values()].map((fields) => fields.map((field) => [field.querySelector('span'), field.querySelector('input, select')]
    .map((part) => part.getBoundingClientRect().top - field.getBoundingClientRect().top).join()))
}).filter((row) => row.length > 1)`

/** In the page: the left edges of the blocks of its content, in pixels, each only once. */
const LEFTS = `[...new Set([...document.querySelectorAll('main > :not(.hidden, .panel, dialog)')]
  .filter((each) => each.getClientRects().length > 0).map((each) => each.getBoundingClientRect().left))]`
/** In the page: where the texts of the shares and of the table begin, in pixels, each only once. */
const TEXT_LEFTS = `[...new Set([...document.querySelectorAll('.shares li > :first-child, main tbody td:first-child')].map((each) => {
  const text = document.createTreeWalker(each, NodeFilter.SHOW_TEXT).nextNode()
  const range = document.createRange()
  range.selectNodeContents(text)
  return Math.round(range.getBoundingClientRect().left)
}))]`

test('labels are aligned, and the content of all pages has the same left edge and maximum width', async () => {
  const { id } = await gateway.makeKey('aligned', '1')
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  for (const address of [`keys/${id}`, 'accounts/new']) {
    await visit.open(address)
    const rows = (await page.evaluate(FIELDS)) as string[][]
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter((row) => new Set(row).size > 1)).toEqual([])
  }
  const tops: Record<string, number> = {}
  const lefts: Record<string, number[]> = {}
  for (const name of [
    ...['overview', 'accounts', 'keys', 'plans', 'codes', 'requests', 'usage?by=model'],
    ...['statements', 'tasks', 'models', 'upstreams', 'playground', 'settings', 'accounts/alice'],
  ]) {
    await visit.open(name)
    tops[name] = await page.evaluate(
      `Math.min(...[...document.querySelectorAll('main > :not(.hidden)')].map((each) => each.getBoundingClientRect().top))`,
    )
    lefts[name] = await page.evaluate(LEFTS)
  }
  expect(Object.entries(tops).filter(([, top]) => top !== tops.overview)).toEqual([])
  const [left] = lefts.overview ?? []
  expect(Object.entries(lefts).filter(([, all]) => all.some((each) => each !== left))).toEqual([])
  await visit.open('usage?by=model')
  expect(await page.evaluate(TEXT_LEFTS)).toHaveLength(1)
  await page.setViewportSize({ width: 2560, height: 900 })
  await visit.open('requests')
  const ends = (await page.evaluate(
    `['header.header', 'main'].map((part) => Math.max(...[...document.querySelector(part).children].map((each) => each.getBoundingClientRect().right)))`,
  )) as number[]
  expect(Math.abs((ends[0] as number) - (ends[1] as number))).toBeLessThanOrEqual(1)
  await page.context().close()
})
