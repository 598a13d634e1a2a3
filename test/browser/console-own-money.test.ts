// The pages about money for the holder of a key, in a real browser: the account's statements, to print and as files,
// usage as a file, budget bars, and a low balance. Clicks are counted: each job takes at most four. No data of another
// account is shown.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { addCredit, adjust, hold, settle } from '../../src/billing/ledger/ledger'
import { calendarPeriod } from '../../src/billing/ledger/limits'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, counted, makeAdminToken, type Visit, visitConsole } from '../support/browser/console-visit'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

const DAY_MS = 86_400_000
const NOW = Date.now()
const LAST = new Date(calendarPeriod('month', NOW).beginsAt - DAY_MS)
const MONTH = LAST.toISOString().slice(0, 7)

let gateway: TestGateway
let browser: Browser
let visit: Visit
let own: { secret: string; id: string }

beforeAll(async () => {
  gateway = await startTestGateway({
    config: {
      plans: { team: { budget: { usd: '40', per: 'month' } } },
      events: { to: { ops: { slack: 'http://127.0.0.1:1/' } }, lowBalanceUsdOf: { harbour: '1' } },
    },
  })
  browser = await openBrowser()
  const { db } = gateway.server.world
  own = await gateway.makeKey('harbour', '5', { budgetNano: 4e9, budgetPeriod: 'month' })
  await gateway.makeKey('pier', '5')
  const at = LAST.getTime()
  for (const account of ['harbour', 'pier']) {
    await addCredit(db, { id: `${account}_credit`, account, amountNano: 3e9, now: at, note: 'transfer 12' })
    const charge = makeCharge(1_250_000_000, {
      account,
      keyId: own.id,
      model: 'test-chat',
      createdAt: at,
      expiresAt: at + 1e9,
    })
    expect(await hold(db, charge)).toEqual({ held: true })
    await settle(db, charge, makeSettlement(1_250_000_000, { endedAt: at }))
  }
  const admin = askAs(gateway, await makeAdminToken(gateway, 'owner', 'seeder'))
  await admin('PATCH', '/accounts/harbour', { plan: 'team' })
  await admin('POST', '/statements', { month: MONTH })
  await (
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }),
    })
  ).text()
  visit = await visitConsole(browser, gateway, { token: own.secret })
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

test('statements lists only those of the account, each to print and as files', async () => {
  const { page, open, settled, axe } = visit
  await open('home')
  const { click, clicks } = counted(page)
  await click('link', 'Statements')
  await settled()
  const rows = page.getByRole('table', { name: 'Statements' }).locator('tbody tr')
  expect(await rows.count()).toBe(1)
  const cells = await rows.locator('td').allTextContents()
  expect(cells.slice(1, 6)).toEqual([MONTH, '$0.00', '$3.00', '−$1.25', '$1.75'])
  expect(await axe()).toEqual([])
  await click('link', cells[0] ?? '')
  await page.getByRole('cell', { name: 'transfer 12' }).waitFor()
  expect(await axe()).toEqual([])
  const opened = page.context().waitForEvent('page')
  await click('link', 'Open to print')
  const printed = await opened
  await printed.getByRole('heading', { name: `Statement ${cells[0]}` }).waitFor()
  expect(clicks()).toBe(3)
  await printed.close()
  for (const format of ['CSV', 'JSON']) {
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: format, exact: true }).click()
    expect((await download).suggestedFilename()).toBe(`statement-${cells[0]}.${format.toLowerCase()}`)
  }
  const authorization = `Bearer ${own.secret}`
  const ask = (number: unknown) =>
    fetch(`${gateway.url}/v1/statements/${number}?format=html`, { headers: { authorization } })
  const others = [1, 2].filter((number) => String(number) !== cells[0])
  for (const number of [...others, 3, 0, 'x']) expect((await ask(number)).status).toBe(404)
  expect((await ask(cells[0])).headers.get('cache-control')).toBe('no-store')
  expect(visit.faults).toEqual([])
})

test('one click downloads usage as a file, by model or by time', async () => {
  const { page, open } = visit
  await open('home?range=90d')
  for (const [name, file, titles] of [
    ['CSV by model', 'usage-by-model.csv', 'model,requests,running,'],
    ['CSV by day', 'usage-by-day.csv', 'day,requests,running,'],
  ] as const) {
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name, exact: true }).click()
    expect((await download).suggestedFilename()).toBe(file)
    const text = await Bun.file(await (await download).path()).text()
    expect(text).toStartWith(titles)
    expect(text).toContain(name.endsWith('model') ? 'test-chat,' : new Date(NOW).toISOString().slice(0, 10))
  }
  expect(visit.faults).toEqual([])
})

test('budgets are shown as bars, and a low balance is reported with a remedy', async () => {
  const { page, open, settled, axe } = visit
  await open('home')
  const bars = page.getByRole('progressbar')
  expect(await Promise.all((await bars.all()).map((bar) => bar.getAttribute('aria-label')))).toEqual([
    'Budget of this key',
    'Budget of the account',
  ])
  await page.getByText('of $4.00 this month').waitFor()
  await page.getByText('of $40.00 this month').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  const { db } = gateway.server.world
  await adjust(db, {
    id: 'taken',
    account: 'harbour',
    amountNano: -6_000_000_000,
    now: NOW,
    note: 'taken back',
  })
  await open('statements')
  await open('home')
  await settled()
  const alert = page.getByRole('alert')
  expect(await alert.textContent()).toContain('The balance is low: $0.74')
  expect(await alert.textContent()).toContain('Top up with a code')
  expect(await axe()).toEqual([])
  expect(await visit.tooWide()).toEqual([])
  expect(visit.faults).toEqual([])
})

for (const width of [400, 1280])
  test(`home and statements have no fault at ${width} pixels in the dark theme`, async () => {
    const small = await visitConsole(browser, gateway, { token: own.secret, width, colours: 'dark' })
    for (const address of ['home', 'statements']) {
      await small.open(address)
      expect({ address, wide: await small.tooWide(), axe: await small.axe(), faults: small.faults }).toEqual({
        address,
        wide: [],
        axe: [],
        faults: [],
      })
    }
    await small.page.context().close()
  })
