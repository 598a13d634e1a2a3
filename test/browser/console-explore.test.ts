// Exploring requests in a real browser: values with counts, several values at once, typed words, sums, a range selected
// on the chart, and Back.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

let gateway: TestGateway
let browser: Browser
let holder = ''
beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10' })
  browser = await openBrowser()
  holder = (await gateway.makeKey('team', '5')).secret
  const bearer = { authorization: `Bearer ${holder}` }
  for (const model of ['test-chat', 'test-chat', 'test-google', 'gpt-99'])
    await (await gateway.chat({ model })).text()
  for (const model of ['test-chat', 'gpt-99']) await (await gateway.chat({ model }, bearer)).text()
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const facet = (page: Page, name: string): Locator => page.getByRole('group', { name, exact: true })
/** The values of a facet with their counts. */
async function counts(page: Page, name: string): Promise<string[]> {
  const labels = await facet(page, name).locator('label').all()
  const texts = labels.map(async (label) => (await label.locator('span').allTextContents()).join(' '))
  return (await Promise.all(texts)).sort()
}
const rows = (page: Page) => page.locator('main tbody tr').count()

test('values are listed with counts, several can be selected, and typed words suggest filters', async () => {
  const visit = await visitConsole(browser, gateway, { width: 1440 })
  const { page } = visit
  await visit.open('requests')
  expect(await counts(page, 'Model')).toEqual(['gpt-99 2', 'test-chat 3', 'test-google 1'])
  await facet(page, 'Model').getByLabel('test-google').check()
  await visit.settled()
  expect(await rows(page)).toBe(1)
  // The other models are still listed, so that a second one can be selected.
  expect(await counts(page, 'Model')).toEqual(['gpt-99 2', 'test-chat 3', 'test-google 1'])
  expect(await counts(page, 'Account')).toEqual(['alice 1'])
  await facet(page, 'Model').getByLabel('gpt-99').check()
  await visit.settled()
  expect(await rows(page)).toBe(3)
  expect(await visit.axe()).toEqual([])
  await page.getByRole('button', { name: 'Clear' }).click()
  const search = page.getByLabel('Search requests')
  for (const [typed, found] of [
    ['error:model_not_found account:team', 1],
    ['GPT-99', 2],
    ['>10min', 0],
    ['>$1000', 0],
    ['>$0.000001', 4],
  ] as const) {
    await visit.open('requests')
    await search.fill(typed)
    await search.press('Enter')
    await visit.settled()
    expect({ typed, rows: await rows(page) }).toEqual({ typed, rows: found })
    expect(await search.inputValue()).toBe('')
    expect(await page.getByRole('list', { name: 'Conditions' }).locator('li').count()).toBeGreaterThan(1)
  }
  await visit.open('requests')
  const suggested = page.locator('#request-values option')
  expect(await suggested.evaluateAll((all) => all.map((each) => each.getAttribute('value')))).toContain(
    'error:model_not_found',
  )
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('a requested model name links to its requests', async () => {
  const visit = await visitConsole(browser, gateway)
  await visit.open('requests?model=gpt-99')
  expect(await rows(visit.page)).toBe(2)
  await visit.page.context().close()
})

test('the sums show who refused requests, and what was paid', async () => {
  const visit = await visitConsole(browser, gateway)
  await visit.open('requests')
  const text = (await visit.page.locator('.sum-line').textContent()) ?? ''
  for (const part of [
    '6 requests',
    '2 failed (33 %): 0 by vendors, 0 by the gateway, 2 by callers',
    'paid',
    'p50',
  ])
    expect(text).toContain(part)
  await visit.page.context().close()
})

test('Back undoes a filter and a range that was selected on the chart', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open('requests')
  const before = page.url()
  await facet(page, 'Status').getByLabel('failed').check()
  await visit.settled()
  expect(await rows(page)).toBe(2)
  const plot = page.locator('figure.chart .u-over').first()
  await plot.waitFor()
  const { x = 0, y = 0, width = 0 } = (await plot.boundingBox()) ?? {}
  await page.mouse.move(x + width * 0.2, y + 20)
  await page.mouse.down()
  await page.mouse.move(x + width * 0.6, y + 20, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/since=/)
  await visit.settled()
  expect(await rows(page)).toBe(0)
  await page.goBack()
  await visit.settled()
  expect(page.url()).toContain('status=failed')
  expect(await rows(page)).toBe(2)
  await page.goBack()
  await visit.settled()
  expect([page.url(), await rows(page)]).toEqual([before, 6])
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('a holder explores only the requests of their own key', async () => {
  const visit = await visitConsole(browser, gateway, { token: holder })
  const { page } = visit
  await visit.open('activity')
  expect(await counts(page, 'Model')).toEqual(['gpt-99 1', 'test-chat 1'])
  expect(await facet(page, 'Account').count()).toBe(0)
  await facet(page, 'Error').getByLabel('model_not_found').check()
  await visit.settled()
  expect(await rows(page)).toBe(1)
  await page.locator('main tbody tr a').first().click()
  await page.locator('.panel').getByText('gpt-99').first().waitFor()
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
  await page.context().close()
})

/** Pages by whether they have a time range: those of operators and those of holders. */
const RANGED = {
  operator: {
    with: [
      ...['overview', 'requests', 'usage', 'models', 'upstreams', 'accounts/alice'],
      'settings?part=audit',
    ],
    without: [
      ...['accounts', 'accounts/new', 'keys', 'plans', 'codes', 'statements', 'tasks', 'playground'],
      ...['upstreams?part=reconciliation', 'settings', 'settings?part=backups', 'settings?part=admins'],
    ],
  },
  holder: {
    with: ['home', 'activity'],
    without: [
      ...['activity?show=tasks', 'activity?show=results', 'models', 'playground', 'statements', 'connect'],
    ],
  },
}

for (const [who, lists] of Object.entries(RANGED))
  test(`the ${who} sees the time range only on pages that it affects`, async () => {
    const visit = await visitConsole(browser, gateway, who === 'holder' ? { token: holder } : {})
    const shown: Record<string, number> = {}
    for (const address of [...lists.with, ...lists.without]) {
      await visit.open(address)
      shown[address] = await visit.page.getByLabel('Time range').count()
    }
    expect(shown).toEqual({
      ...Object.fromEntries(lists.with.map((address) => [address, 1])),
      ...Object.fromEntries(lists.without.map((address) => [address, 0])),
    })
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  })

test('the time range is shown unchanged where it applies, and can be reset', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  const range = page.getByLabel('Time range')
  await visit.open('requests')
  await range.selectOption('month')
  await visit.settled()
  expect(page.url()).toMatch(/since=\d{4}-\d\d-01T00%3A00%3A00.000Z$/)
  expect(await range.inputValue()).toBe('month')
  await range.selectOption('choose')
  await page.getByRole('textbox', { name: 'From' }).fill('2026-01-02T03:04')
  await page.getByRole('textbox', { name: 'To' }).fill('2026-01-01T00:00')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('The range must end after it begins.').waitFor()
  expect(await visit.axe()).toEqual([])
  await page.getByRole('textbox', { name: 'To' }).fill('2026-02-03T04:05')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL(/until=/)
  await visit.settled()
  expect(await range.locator('option:checked').textContent()).toBe('Jan 2, 03:04 – Feb 3, 04:05')
  await page.getByRole('button', { name: 'Back to 24 hours' }).click()
  await visit.settled()
  expect([await range.inputValue(), page.url().includes('since')]).toEqual(['24h', false])
  expect(visit.faults).toEqual([])
  await page.context().close()
})
