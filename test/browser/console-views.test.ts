// Saved views and the header in a real browser: a page is saved by a name and opened by it, the search keeps its room next to a long
// name, and every page can be reached on a telephone.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

/** The least width of a field in which words can be typed, in pixels. */
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

test('a page is saved by a name, opened by the palette and the list, and removed', async () => {
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
  // Another filter makes another view.
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
  await page.getByText('A view is this page').waitFor()
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('the search keeps its room next to a long name, and nothing of the header is cut off', async () => {
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

test('on a narrow screen holders of keys reach the documentation by More, as operators do', async () => {
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

test('the overview has no empty place among its figures', async () => {
  const visit = await visitConsole(browser, gateway, { width: 768 })
  await visit.open('overview')
  const colours = (await visit.page.evaluate(
    `['.figures', 'body'].map((part) => getComputedStyle(document.querySelector(part)).backgroundColor)`,
  )) as string[]
  expect(['rgba(0, 0, 0, 0)', colours[1]]).toContain(colours[0])
  await visit.page.context().close()
})

test('D31: the link of a row is named by the request and how it ended', async () => {
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

test('D26: a form names a wrong field by its title, and says what it saved', async () => {
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
  // The answer does not ask again, and both are in one line.
  expect(await buttons.allTextContents()).toEqual(['Revoke', 'Go back'])
  const tops = await buttons.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
  expect(new Set(tops).size).toBe(1)
  expect(visit.faults.filter((fault) => !/400/.test(fault))).toEqual([])
  await page.context().close()
})

/** In the page: each row of a form with fields of several kinds: where labels and controls begin, in pixels. */
const FIELDS = `[...document.querySelectorAll('.fields')].flatMap((group) => {
  const rows = Map.groupBy([...group.querySelectorAll('.field')], (field) => Math.round(field.getBoundingClientRect().top))
  return [...rows.values()].map((fields) => fields.map((field) => [field.querySelector('span'), field.querySelector('input, select')]
    .map((part) => part.getBoundingClientRect().top - field.getBoundingClientRect().top).join()))
}).filter((row) => row.length > 1)`

test('D28: labels are level, the content of each page begins at one place, and nothing spans farther than it', async () => {
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
  for (const name of [
    ...['overview', 'accounts', 'keys', 'plans', 'requests', 'usage'],
    ...['statements', 'tasks', 'models', 'upstreams', 'settings'],
  ]) {
    await visit.open(name)
    tops[name] = await page.evaluate(
      `Math.min(...[...document.querySelectorAll('main > :not(.hidden)')].map((each) => each.getBoundingClientRect().top))`,
    )
  }
  expect(Object.entries(tops).filter(([, top]) => top !== tops.overview)).toEqual([])
  await page.setViewportSize({ width: 2560, height: 900 })
  await visit.open('requests')
  const ends = (await page.evaluate(
    `['header.header', 'main'].map((part) => Math.max(...[...document.querySelector(part).children].map((each) => each.getBoundingClientRect().right)))`,
  )) as number[]
  expect(Math.abs((ends[0] as number) - (ends[1] as number))).toBeLessThanOrEqual(1)
  await page.context().close()
})
