// Charts in a real browser: a model has one colour everywhere, new data and other ranges update the existing drawing,
// series can be hidden, arrow keys work like the pointer, and the table of the figures is created only when it is
// opened.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const MODELS = ['test-chat', 'harbour-large', 'meadow-mini']
let gateway: TestGateway
let browser: Browser
let visit: Visit

beforeAll(async () => {
  const own = Object.fromEntries(MODELS.slice(1).map((name) => [name, testModels['test-chat']]))
  gateway = await startTestGateway({ balance: '10', models: own as typeof testModels })
  browser = await openBrowser()
  for (const model of MODELS) await (await gateway.chat({ model })).text()
  await gateway.server.world.requestLog.flush()
  visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await waitFor(async () => {
    await visit.open('overview')
    return (await visit.page.locator('.legend').first().locator('button').count()) === MODELS.length
  })
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** In the page: colours in the legend of the first chart, by series name. */
const LEGEND = `Object.fromEntries([...document.querySelector('.legend').querySelectorAll('button')].map((entry) =>
  [entry.textContent.trim(), getComputedStyle(entry.querySelector('.swatch')).backgroundColor]))`

async function legend(): Promise<Record<string, string>> {
  return (await visit.page.evaluate(LEGEND)) as Record<string, string>
}

/** Colours of the pixels of the first chart that are clearly not gray, the most frequent first. */
const DRAWN = `(() => {
  const canvas = document.querySelector('figure.chart canvas')
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })
  copy.drawImage(canvas, 0, 0)
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height)
  const counts = new Map()
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue
    const colour = 'rgb(' + [data[at], data[at + 1], data[at + 2]].join(', ') + ')'
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  return [...counts].toSorted(([, one], [, two]) => two - one).map(([colour]) => colour)
})()`

/** Counts the drawings from now on. */
const WATCH = `(() => {
  window.made = 0
  new MutationObserver((records) => {
    for (const { addedNodes } of records)
      for (const node of addedNodes) if (node.classList?.contains('uplot')) window.made++
  }).observe(document.body, { childList: true, subtree: true })
})()`

test('a model has the same colour in charts and legends on all pages and in all ranges', async () => {
  const { page, open, settled } = visit
  await open('overview')
  const colours = await legend()
  expect(Object.keys(colours).toSorted()).toEqual(MODELS.toSorted())
  expect(new Set(Object.values(colours)).size).toBe(MODELS.length)
  await page.locator('figure.chart canvas').first().waitFor()
  expect(await page.evaluate(DRAWN)).toEqual(expect.arrayContaining(Object.values(colours)))
  for (const address of ['overview?range=30d', 'usage?by=day&and=model', 'usage?by=hour&and=model']) {
    await open(address)
    await settled()
    expect({ address, ...(await legend()) }).toEqual({ address, ...colours })
  }
})

test('new data, another range and another theme redraw the existing chart', async () => {
  const { page, open, settled } = visit
  await open('overview')
  const charts = page.locator('figure.chart .uplot')
  await waitFor(async () => (await charts.count()) === 3)
  await page.evaluate(WATCH)
  const before = await page.evaluate(DRAWN)
  const requests = () => page.locator('a.figure', { hasText: 'Requests' }).locator('strong').textContent()
  await (await gateway.chat({ model: 'harbour-large' })).text()
  await gateway.server.world.requestLog.flush()
  await waitFor(async () => (await requests()) === '4')
  await page.getByLabel('Time range').selectOption('7d')
  await settled()
  await page.getByLabel('Theme').selectOption('dark')
  await waitFor(async () => JSON.stringify(await page.evaluate(DRAWN)) !== JSON.stringify(before))
  expect(await page.evaluate(DRAWN)).toEqual(expect.arrayContaining(Object.values(await legend())))
  await page.getByLabel('Theme').selectOption('auto')
  await page.getByLabel('Time range').selectOption('24h')
  await settled()
  expect(await page.evaluate('window.made')).toBe(0)
  expect(await charts.count()).toBe(3)
})

test('clicking a name in the legend hides its series, and shows it again', async () => {
  const { page, open } = visit
  await open('overview')
  const { 'test-chat': colour } = await legend()
  const entry = page.locator('.legend').first().getByRole('button', { name: 'test-chat' })
  await waitFor(async () => ((await page.evaluate(DRAWN)) as string[]).includes(colour ?? ''))
  await entry.click()
  expect(await entry.getAttribute('aria-pressed')).toBe('false')
  await waitFor(async () => !((await page.evaluate(DRAWN)) as string[]).includes(colour ?? ''))
  await entry.click()
  await waitFor(async () => ((await page.evaluate(DRAWN)) as string[]).includes(colour ?? ''))
  expect(await visit.axe()).toEqual([])
})

test('arrow keys select spans of a chart as the pointer does', async () => {
  const { page, open } = visit
  await open('overview')
  const plot = page.getByRole('slider', { name: 'Spend by hour and model, in dollars' })
  await plot.locator('canvas').waitFor()
  await plot.focus()
  await page.keyboard.press('Home')
  const tooltip = page.locator('figure.chart .pointed').first()
  expect(await tooltip.textContent()).toEndWith('nothing ')
  expect(await plot.getAttribute('aria-valuenow')).toBe('0')
  await page.keyboard.press('End')
  // The last hour, or the one before it if an hour has ended meanwhile.
  if (!(await tooltip.textContent())?.includes('Total')) await page.keyboard.press('ArrowLeft')
  const shown = (await tooltip.textContent()) ?? ''
  for (const model of MODELS) expect(shown).toContain(`${model} $0.00`)
  const read = (await plot.getAttribute('aria-valuetext')) ?? ''
  expect(read).toContain('Total $')
  await page.keyboard.press('Escape')
  expect(await tooltip.isHidden()).toBe(true)
  expect(visit.faults).toEqual([])
})

test('the table of a chart’s figures is created only when it is opened', async () => {
  const { page, open } = visit
  await open('overview?range=90d')
  const rows = page.locator('figure.chart details tr')
  expect(await rows.count()).toBe(0)
  await page.getByText('Figures as a table').first().click()
  await waitFor(async () => (await rows.count()) > 90)
  await page.getByText('Figures as a table').first().click()
  await waitFor(async () => (await rows.count()) === 0)
  expect(visit.faults).toEqual([])
})
