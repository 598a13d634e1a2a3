// Usage in a real browser: by any two dimensions and by metadata, for a month, as a chart, as a table with correct
// sums, and as a file.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { calendarPeriod } from '../../src/billing/ledger/limits'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const DAY_MS = 86_400_000
/** The last month. */
const MONTH = new Date(calendarPeriod('month', Date.now()).beginsAt - DAY_MS).toISOString().slice(0, 7)
const DIMENSIONS = ['key', 'account', 'model', 'operation', 'day', 'hour']

let gateway: TestGateway
let browser: Browser
let visit: Visit
/** The gateway's clock. It shows a day of the last month while that month's requests are made. */
let clock = () => Date.parse(`${MONTH}-10T12:00Z`)

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '10',
    config: { usage: { metadata: ['team'] } },
    outside: { now: () => clock() },
  })
  browser = await openBrowser()
  const { secret } = await gateway.makeKey('team', '5')
  await (await gateway.chat()).text()
  clock = Date.now
  const authorization = `Bearer ${secret}`
  for (const model of ['test-chat', 'test-google', 'test-google', 'test-google'])
    await (await gateway.chat({ model })).text()
  const cached = [{ role: 'user', content: 'Why? [sandbox cached=1000]' }]
  await (await gateway.chat({ model: 'test-google', messages: cached })).text()
  await (await gateway.chat({}, { authorization, 'x-gateway-metadata': 'team=search' })).text()
  await gateway.server.world.requestLog.flush()
  visit = await visitConsole(browser, gateway, { role: 'viewer' })
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** Converts dollars as the console displays them to nano-dollars. */
const nanoOf = (usd: string | null) => Math.round(Number((usd ?? '').replace(/[$,]/g, '')) * 1e9)

/** The sum of the charges of this month or of the last one, in nano-dollars. */
async function paid(isLastMonth = false): Promise<number> {
  const charges = await gateway.charges()
  const since = calendarPeriod('month', Date.now()).beginsAt
  return charges
    .filter(({ created_at }) => Number(created_at) < since === isLastMonth)
    .reduce((sum, { amount }) => sum + Number(amount), 0)
}

/** The paid amounts of the table's rows and footer. */
async function table() {
  const texts = await visit.page.locator('main tbody td[data-title="Revenue"]').allTextContents()
  const total = nanoOf(await visit.page.locator('main tfoot td[data-title="Revenue"]').textContent())
  return { rows: texts.length, sum: texts.reduce((sum, text) => sum + nanoOf(text), 0), total }
}

test('the sums are the same for any two dimensions', async () => {
  const total = await paid()
  for (const [index, by] of DIMENSIONS.entries())
    for (const and of ['', 'metadata.team', ...DIMENSIONS.slice(index + 1)]) {
      await visit.open(`usage?by=${by}&and=${and}`)
      const { rows, ...sums } = await table()
      expect({ by, and, isEmpty: rows === 0, ...sums }).toEqual({
        by,
        and,
        isEmpty: false,
        sum: total,
        total,
      })
    }
  await visit.open('usage?by=model&and=account')
  expect((await table()).rows).toBe(3)
  expect(await visit.page.locator('main thead th').allTextContents()).toEqual([
    'Model',
    'Account',
    'Requests',
    'Revenue',
    'Before',
    'Change',
  ])
  const download = visit.page.waitForEvent('download')
  await visit.page.getByRole('link', { name: 'CSV' }).click()
  expect((await download).suggestedFilename()).toBe('usage.csv')
  expect(visit.faults).toEqual([])
})

test('savings by caches are shown on request, and add up', async () => {
  const { page, open, settled } = visit
  await open('usage?by=model')
  await page.getByRole('button', { name: 'Saved' }).click()
  await settled()
  const titles = page.locator('main thead th')
  await waitFor(async () => (await titles.allTextContents()).includes('Saved'))
  const place = (await titles.allTextContents()).indexOf('Saved') + 1
  const shown = await page.locator(`main tbody td:nth-child(${place})`).allTextContents()
  const total = nanoOf(await page.locator(`main tfoot td:nth-child(${place})`).textContent())
  expect(shown.reduce((sum, text) => sum + nanoOf(text), 0)).toBe(total)
  expect(total).toBeGreaterThan(0)
  expect(page.url()).toContain('saved=on')
})

test('a month is selected by name, and is in the URL', async () => {
  const { page, open, settled } = visit
  await open('usage?by=model')
  expect((await table()).total).toBe(await paid())
  await page.getByLabel('Month…').selectOption({ label: MONTH })
  await settled()
  await waitFor(async () => (await table()).rows === 1)
  expect((await table()).total).toBe(await paid(true))
  const until = new Date(calendarPeriod('month', Date.now()).beginsAt).toISOString().slice(0, 7)
  expect(decodeURIComponent(page.url())).toMatch(
    new RegExp(`since=${MONTH}-01T00:00:00.000Z&until=${until}-01T00:00:00.000Z`),
  )
  expect(await page.getByLabel('Time range').inputValue()).toBe('last-month')
})

test('a chart over time names its series, and one without time shows shares', async () => {
  const { page, open, axe } = visit
  await open('usage?by=day&and=model')
  const chart = page.locator('figure.chart')
  expect(await chart.locator('figcaption > span').first().textContent()).toBe(
    'Revenue by day (UTC), in dollars',
  )
  expect((await chart.locator('.legend li').allTextContents()).map((text) => text.trim()).sort()).toEqual([
    'previous period',
    'test-chat',
    'test-google',
  ])
  await chart.locator('canvas').waitFor()
  expect(await axe()).toEqual([])
  await open('usage?by=model')
  const shares = await page.locator('.shares .number').allTextContents()
  expect(shares.map(nanoOf).reduce((sum, nano) => sum + nano, 0)).toBe(await paid())
  const widths = await page
    .locator('.shares i')
    .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width))
  expect(widths).toHaveLength(2)
  expect(widths[0]).toBeGreaterThan(widths[1] as number)
  expect(visit.faults).toEqual([])
})

test('metadata links to its requests, which can be downloaded', async () => {
  const { page, open, settled } = visit
  await open('usage')
  await page.getByLabel('Group by').selectOption('metadata.team')
  await page.getByRole('link', { name: 'search', exact: true }).click()
  await settled()
  expect(page.url()).toContain('metadata=team%3Dsearch')
  await page.getByRole('button', { name: 'Metadata: team=search' }).waitFor()
  await waitFor(async () => (await page.locator('main tbody tr').count()) === 1)
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe('requests.csv')
  expect((await Bun.file(await file.path()).text()).trim().split('\r\n').length).toBe(2)
  await page.locator('main tbody tr a').first().click()
  await page.getByRole('heading', { name: /^req_/ }).waitFor()
  await page.getByRole('link', { name: 'search', exact: true }).waitFor()
  expect(visit.faults).toEqual([])
})

test('usage is compared with an earlier period in rows and as a line, or not at all', async () => {
  const { page, open, settled, axe } = visit
  await open('usage?by=model&range=90d&compare=year')
  const columns = () => page.locator('main thead th').allTextContents()
  expect(await columns()).toContain('A year earlier')
  // The last month from the tenth day on, before a range that begins with this month.
  const since = new Date(calendarPeriod('month', Date.now()).beginsAt).toISOString()
  await open(`usage?by=model&since=${since}`)
  const before = async (model: string) =>
    page.locator('main tbody tr', { hasText: model }).locator('td[data-title="Before"]').textContent()
  const isAfterTenth = Date.now() - Date.parse(since) > 9.5 * DAY_MS
  expect(nanoOf(await before('test-chat'))).toBe(isAfterTenth ? await paid(true) : 0)
  expect(nanoOf(await before('test-google'))).toBe(0)
  expect(
    await page.locator('main tbody tr', { hasText: 'test-google' }).locator('td').last().textContent(),
  ).toBe('new')
  expect(await axe()).toEqual([])
  await page.getByLabel('Compare with').selectOption('none')
  await settled()
  expect(await columns()).not.toContain('Change')
  expect(page.url()).toContain('compare=none')
  await open(`usage?by=day&since=${since}&compare=before`)
  await page.locator('.legend', { hasText: 'previous period' }).waitFor()
  expect(visit.faults).toEqual([])
})

test('failed requests are split by cause, and their rows add up', async () => {
  const { page, open } = visit
  await (await gateway.chat({ model: 'gpt-99' })).text()
  await (await gateway.chat({ messages: [{ role: 'user', content: 'Why? [sandbox status=503]' }] })).text()
  await gateway.server.world.requestLog.flush()
  for (const by of ['model', 'hour', 'day', 'key', 'account']) {
    await open(`usage?by=${by}`)
    await page.getByText('2 failed: 1 by vendors, 0 by the gateway, 1 by callers.').waitFor()
    for (const [title, total] of [
      ['Failed: vendors', '1'],
      ['Failed: gateway', '0'],
      ['Failed: callers', '1'],
    ] as const) {
      const cells = page.locator(`main tbody td[data-title="${title}"]`)
      const sum = (await cells.allTextContents()).reduce((all, text) => all + Number(text), 0)
      expect({
        by,
        title,
        sum,
        total: await page.locator(`main tfoot td[data-title="${title}"]`).textContent(),
      }).toEqual({
        by,
        title,
        sum: Number(total),
        total,
      })
    }
  }
  // The log of failures does not have these dimensions.
  for (const by of ['operation', 'model&account=alice']) {
    await open(`usage?by=${by}`)
    await page.getByText('2 failed: 1 by vendors, 0 by the gateway, 1 by callers.').waitFor()
    expect(await page.locator('main thead th').allTextContents()).not.toContain('Failed: vendors')
  }
  expect(visit.faults).toEqual([])
})

test('amounts are listed in the order of their subtraction', async () => {
  const { page, open } = visit
  const amounts = {
    cost_usd: '0.01',
    margin_usd: '0.02',
    amount_with_cost_usd: '0.03',
    shortfall_usd: '0.04',
  }
  await page.route('**/admin/v1/usage?*', async (route) => {
    const answer = await (await route.fetch()).json()
    await route.fulfill({ json: { ...answer, total: { ...answer.total, ...amounts } } })
  })
  await open('usage?by=account')
  await page.locator('main thead th', { hasText: 'Shortfall' }).waitFor()
  const heads = await page.locator('main thead th').allTextContents()
  const known = ['Revenue', 'Cost', 'Margin', 'Margin %', 'Shortfall']
  expect(heads.filter((head) => known.includes(head))).toEqual(known)
  await page.unroute('**/admin/v1/usage?*')
  expect(visit.faults).toEqual([])
})

test('a range of a few hours is shown by hour, a longer one by day', async () => {
  const { page, open } = visit
  for (const [address, by] of [
    ['usage', 'hour'],
    ['usage?range=30d', 'day'],
  ] as const) {
    await open(address)
    expect(await page.getByLabel('Group by').inputValue()).toBe(by)
  }
})

test('times are in the selected time zone on every page', async () => {
  const tokyo = await visitConsole(browser, gateway, { role: 'viewer', zone: 'Asia/Tokyo' })
  const { page, open } = tokyo
  await open('requests')
  const time = page.locator('main tbody time').first()
  const at = (await time.getAttribute('datetime')) ?? ''
  const hourOf = (hours: number) => new Date(Date.parse(at) + hours * 3_600_000).toISOString().slice(11, 16)
  expect(await time.textContent()).toContain(`${hourOf(9)}:`)
  const zone = page.locator('.header button.zone')
  expect(await zone.textContent()).toBe('GMT+9')
  await zone.click()
  expect(await zone.textContent()).toBe('UTC')
  expect(await time.textContent()).toMatch(new RegExp(`${hourOf(0)}:.* UTC$`))
  await page.reload()
  await tokyo.settled()
  expect(await page.locator('main tbody time').first().textContent()).toContain(`${hourOf(0)}:`)
  await page.getByLabel('Time range').selectOption('choose')
  await page.getByText('In the time zone UTC.').waitFor()
  await page.getByRole('textbox', { name: 'From' }).fill('2026-01-02T03:04')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL(/since=2026-01-02T03%3A04%3A00.000Z/)
  expect(tokyo.faults).toEqual([])
  await page.context().close()
})

test('a browser with a language that Intl refuses draws its charts', async () => {
  const posix = await visitConsole(browser, gateway, { role: 'viewer', language: 'en-US@posix' })
  await posix.open('usage?by=day')
  await posix.page.locator('figure.chart canvas').waitFor()
  expect(posix.faults).toEqual([])
  await posix.page.context().close()
})
