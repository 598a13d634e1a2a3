// Tables of the console in a real browser: exact times in logs, aligned decimal points, and headers that stay visible.

import { expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, testModels } from '../support/gateway'

setDefaultTimeout(180_000)

/** Enough rows to scroll by one screen. */
const REQUESTS = 45
/** A model with a name as long as those of vendors. */
const LONG_NAME = 'claude-haiku-4-5-20251001'
/** Height of the header of the page, in pixels. */
const HEADER = 48
/** In the page: the text of each amount, and where its decimal point is, in pixels. */
const POINTS = `[...document.querySelectorAll('main tbody td[data-title="Available"] .money')].map((amount) => {
  const whole = [...amount.childNodes].findLast(({ data }) => data?.includes('.'))
  const range = document.createRange()
  range.setStart(whole, whole.data.indexOf('.'))
  range.setEnd(whole, whole.data.indexOf('.') + 1)
  return { text: amount.textContent, left: Math.round(range.getBoundingClientRect().left) }
})`
/** In the page: whether a table's header is in front of the rows below it. */
const COVERS = `(() => {
  const cell = document.querySelector('main thead th')
  const { left, top, height } = cell.getBoundingClientRect()
  return cell.contains(document.elementFromPoint(left + 4, top + height / 2))
})()`
/** In the page: the places of its charts and headings, in pixels. */
const PLACES = `[...document.querySelectorAll('.plot, .legend, main h2')].map((each) => each.getBoundingClientRect().top)`
/** In the page: where the first line of each cell of the first row begins, in pixels. */
const FIRST_LINES = `[...document.querySelectorAll('main tbody tr:first-child td')].flatMap((cell) => {
  const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode()
  const range = document.createRange()
  if (text) range.selectNodeContents(text)
  return [...range.getClientRects()].slice(0, 1).map(({ top }) => top)
})`
/** In the page: the highest number of lines in the cells of each column, by its title. */
const LINES = `[...document.querySelectorAll('main tbody td[data-title]')].reduce((most, cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell.querySelector('.whole, .two-lines') ?? cell)
  const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 10)))
  return { ...most, [cell.dataset.title]: Math.max(most[cell.dataset.title] ?? 0, tops.size) }
}, {})`
/** A folder for screenshots of the pages, to inspect. */
const { CONSOLE_PICTURES: pictures } = process.env

let gateway: TestGateway
let browser: Browser
let holder = ''

beforeAll(async () => {
  const long = { [LONG_NAME]: testModels['test-chat'] } as typeof testModels
  gateway = await startTestGateway({ balance: '10', models: long })
  browser = await openBrowser()
  const { secret } = await gateway.makeKey('team', '5')
  holder = secret
  for (let index = 0; index < REQUESTS; index++)
    await (await gateway.chat({ model: index % 2 ? 'test-chat' : 'test-google' })).text()
  await (await gateway.chat({}, { authorization: `Bearer ${secret}` })).text()
  await gateway.makeKey('untouched', '1234.5')
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

test('lists of requests show each time in milliseconds with its zone, and its age in the tooltip', async () => {
  for (const [page, token] of [['requests'], ['activity', holder]] as const) {
    const visit = await visitConsole(browser, gateway, token ? { token } : {})
    await visit.open(page)
    const time = visit.page.locator('main tbody time').first()
    const [text, at, title] = [
      await time.textContent(),
      (await time.getAttribute('datetime')) ?? '',
      await time.getAttribute('title'),
    ]
    expect(text).toMatch(/^[A-Z][a-z]{2} \d+, \d\d:\d\d:\d\d\.\d{3} \S+$/)
    expect(text).toContain(`.${at.slice(20, 23)} `)
    expect(title).toMatch(new RegExp(`^(now|.* ago)\n${at}$`))
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  }
})

test('the decimal points of a column of amounts are aligned', async () => {
  const visit = await visitConsole(browser, gateway, {})
  await visit.open('accounts')
  const points: { text: string; left: number }[] = await visit.page.evaluate(POINTS)
  expect(new Set(points.map(({ text }) => text.length)).size).toBeGreaterThan(1)
  expect(points.length).toBe(3)
  expect(new Set(points.map(({ left }) => left)).size).toBe(1)
  await visit.page.context().close()
})

test('the first lines of a row’s cells are aligned, whatever their number of lines', async () => {
  const visit = await visitConsole(browser, gateway, { width: 768 })
  await visit.open('requests')
  const time = visit.page.locator('main tbody time').first()
  const LINE = 20
  expect((await time.boundingBox())?.height).toBeGreaterThan(LINE * 1.5)
  const tops = await visit.page.evaluate<number[]>(FIRST_LINES)
  expect(tops.length).toBeGreaterThan(3)
  expect(Math.max(...tops) - Math.min(...tops)).toBeLessThan(LINE / 2)
  await visit.page.context().close()
})

test('the column headers of a list stay below the page header while the list scrolls', async () => {
  const visit = await visitConsole(browser, gateway, {})
  await visit.open('requests')
  await visit.page.mouse.move(640, 600)
  await visit.page.mouse.wheel(0, 700)
  await visit.page.evaluate(`new Promise((done) => setTimeout(done, 100))`)
  const head = visit.page.locator('main thead th').first()
  expect(await visit.page.evaluate('scrollY')).toBeGreaterThan(300)
  expect(await head.evaluate((cell) => Math.round(cell.getBoundingClientRect().top))).toBe(HEADER)
  expect(await visit.page.evaluate(COVERS)).toBe(true)
  expect(await visit.axe()).toEqual([])
  await visit.page.context().close()
})

test('pointing at a chart shows the figures and their total next to the pointer, without moving the page', async () => {
  const visit = await visitConsole(browser, gateway, {})
  await visit.open('overview?range=7d')
  const plot = visit.page.locator('figure.chart .u-over').first()
  await plot.waitFor()
  const before = await visit.page.evaluate(PLACES)
  const { x = 0, width = 0 } = (await plot.boundingBox()) ?? {}
  await plot.hover({ position: { x: width - 4, y: 20 } })
  const tooltip = visit.page.locator('figure.chart .pointed').first()
  await tooltip.waitFor()
  const [, ...figures] = ((await tooltip.textContent()) ?? '').split('\n')
  const usd = figures.map((figure) => Number(figure.split('$')[1]))
  const total = usd.pop() as number
  expect(figures.at(-1)).toStartWith('Total $')
  expect(usd.length).toBe(2)
  expect(total).toBeCloseTo(
    usd.reduce((sum, each) => sum + each, 0),
    9,
  )
  const box = (await tooltip.boundingBox()) ?? { x: 0, width: 0 }
  expect(x + width - 4 - (box.x + box.width)).toBeWithin(11, 14)
  expect(await visit.page.evaluate(PLACES)).toEqual(before)
  await visit.page.mouse.move(2, 2)
  await tooltip.waitFor({ state: 'hidden' })
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

for (const width of [400, 1440])
  test(`lists have no fault at ${width} pixels`, async () => {
    const visit = await visitConsole(browser, gateway, { width })
    for (const page of ['requests', 'accounts', 'usage?by=model', 'overview']) {
      await visit.open(page)
      expect({ page, axe: await visit.axe(), tooWide: await visit.tooWide() }).toEqual({
        page,
        axe: [],
        tooWide: [],
      })
      if (pictures)
        await visit.page.screenshot({ path: join(pictures, `${page.split('?')[0]}-${width}.png`) })
    }
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  })

test('a list hides columns instead of scrolling, and an expanded row shows them', async () => {
  const visit = await visitConsole(browser, gateway, { width: 768 })
  await visit.open('requests')
  const { page } = visit
  const heads = await page.locator('main thead th').allTextContents()
  expect(heads).toContain('Status')
  expect(heads).not.toContain('Upstream')
  await page.getByRole('button', { name: 'More columns' }).first().click()
  const unfolded = page.locator('tr.unfolded')
  expect(await unfolded.locator('dt').allTextContents()).toContain('Upstream')
  expect(await unfolded.textContent()).toMatch(/openai|google/)
  expect(await visit.axe()).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await unfolded.waitFor({ state: 'detached' })
  expect(await page.locator('main thead th').allTextContents()).toContain('Upstream')
  await page.context().close()
})

test('a column header sorts a whole list by amounts, numbers or names, and Back undoes it', async () => {
  const visit = await visitConsole(browser, gateway)
  const { page } = visit
  await visit.open('accounts')
  const balances = async () => {
    const texts = await page.locator('main tbody td[data-title="Available"]').allTextContents()
    return texts.map((text) => Number(text.replace(/[$,]/g, '')))
  }
  const before = await balances()
  const head = page.getByRole('columnheader', { name: 'Available' })
  const click = () => head.getByRole('button').click()
  await click()
  expect(await head.getAttribute('aria-sort')).toBe('descending')
  const descending = await balances()
  expect(descending).toEqual(before.toSorted((one, other) => other - one))
  expect(descending).not.toEqual(before)
  await click()
  expect(await head.getAttribute('aria-sort')).toBe('ascending')
  expect(await balances()).toEqual(descending.toReversed())
  await page.reload()
  await visit.settled()
  expect(await balances()).toEqual(descending.toReversed())
  expect(await visit.axe()).toEqual([])
  await click()
  expect(await head.getAttribute('aria-sort')).toBeNull()
  expect(await balances()).toEqual(before)
  await page.goBack()
  await page.goBack()
  expect(await balances()).toEqual(descending)
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('a partly loaded list cannot be sorted', async () => {
  const visit = await visitConsole(browser, gateway)
  for (let index = 0; index < 10; index++) await (await gateway.chat()).text()
  await gateway.server.world.requestLog.flush()
  await visit.open('requests')
  await visit.page.getByRole('button', { name: 'Show more' }).waitFor()
  expect(await visit.page.locator('main thead button').count()).toBe(0)
  await visit.page.getByRole('button', { name: 'Show more' }).click()
  await visit.page.locator('main thead button').first().waitFor()
  await visit.page.getByRole('button', { name: 'Paid' }).click()
  expect(await visit.page.locator('main th[aria-sort]').textContent()).toBe('Paid')
  await visit.page.context().close()
})

test('a long table is rendered in steps, and sorted by all of its rows', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 250 }, (_, index) => [`many-${index}`, testModels['test-chat']]),
  )
  const large = await startTestGateway({ models: many as typeof testModels })
  const visit = await visitConsole(browser, large)
  const { page } = visit
  await visit.open('models?name=many')
  const rows = page.locator('main tbody tr')
  await page.getByText('200 of 250 rows').waitFor()
  expect(await rows.count()).toBe(200)
  const head = page.locator('main thead th button').first()
  for (let clicks = 0; clicks < 2; clicks++) await head.click()
  // Rows that are not rendered yet are sorted too.
  expect(await rows.first().locator('a').textContent()).toBe('many-249')
  await page.getByRole('button', { name: 'Show more' }).click()
  expect(await rows.count()).toBe(250)
  expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0)
  expect(visit.faults).toEqual([])
  await page.context().close()
  await large.close()
})

test('names and hours take one line, and prices at most two', async () => {
  await (await gateway.chat({ model: LONG_NAME })).text()
  await gateway.server.world.requestLog.flush()
  for (const [width, address, lines] of [
    [1280, 'requests', { Model: 1 }],
    [768, 'requests', { Model: 1 }],
    [768, 'accounts/alice', { Model: 1 }],
    [768, 'usage?by=hour', { 'Hour (UTC)': 1 }],
    [768, 'models', { Price: 2 }],
    [1280, 'models', { Price: 2, Operations: 2 }],
  ] as const) {
    const visit = await visitConsole(browser, gateway, { width })
    await visit.open(address)
    expect({ width, address, lines: await visit.page.evaluate(LINES) }).toEqual({
      width,
      address,
      lines: expect.objectContaining(lines),
    })
    await visit.page.context().close()
  }
})
