// Pages for selling other than customers and plans, in a real browser: codes are created, printed and revoked; events,
// also those about one customer; sessions; and a vendor's file compared with the charges. Clicks are counted: each job
// takes at most four.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { insertEvent } from '../../src/webhooks/rows'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import {
  askAs,
  counted,
  type Journey,
  journeyAs,
  makeAdminToken,
  visitConsole,
} from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'{{7*7}}`

let gateway: TestGateway
let browser: Browser
let admin: (method: string, path: string, body?: object) => Promise<Json>
let arrivals = 0
const receiver = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch() {
    arrivals++
    return new Response('ok')
  },
})

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '10',
    config: {
      events: { to: { ops: { slack: String(receiver.url) } } },
      webhooks: { allow: ['127.0.0.0/8'] },
    },
  })
  browser = await openBrowser()
  const ask = askAs(gateway, await makeAdminToken(gateway, 'owner', 'seeder'))
  admin = async (method, path, body) => (await ask(method, path, body)).json() as Promise<Json>
  await gateway.makeKey('other', '5')
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
  await receiver.stop(true)
})

const visiting = (...given: Journey) => journeyAs([browser, gateway], ...given)

/** Stores an event about accounts, as the job that watches balances does. */
async function report(type: string, accounts: readonly string[]): Promise<string> {
  const { db, newId, now } = gateway.server.world
  const id = newId('evt')
  const items = accounts.map((account) => ({
    subject: account,
    account,
    since: new Date(now()).toISOString(),
  }))
  const body = { id, type, timestamp: new Date(now()).toISOString(), data: { state: 'began', items } }
  await db.batch([insertEvent(db, { id, recipient: 'ops', body: JSON.stringify(body) }, now())])
  return id
}

test('codes are created with an expiry, shown once, printed alone, and not lost without a question', () =>
  visiting('operator', async ({ page, open, settled, axe }) => {
    await open('overview')
    const { click, clicks } = counted(page)
    await click('link', 'Codes')
    await page.getByText('No codes yet.').waitFor()
    await click('link', 'New codes')
    await page.getByLabel('Value of each in dollars').fill('2.5')
    await page.getByLabel('How many').fill('3')
    await page.getByLabel('Expires, UTC').fill('2099-12-31T00:00')
    await page.getByLabel('Note').fill(SCRIPT)
    expect(await axe()).toEqual([])
    await click('button', 'Create codes')
    await page.getByText('3 codes worth $2.50 each').waitFor()
    const codes = await page.locator('.codes code').allTextContents()
    expect(codes).toHaveLength(3)
    expect(await axe()).toEqual([])
    // Only the codes are printed.
    await page.emulateMedia({ media: 'print' })
    const seen = (what: string) => page.locator(what).first().isVisible()
    expect([
      await seen('.codes li'),
      await seen('.side-bar'),
      await seen('main table'),
      await seen('main h1'),
    ]).toEqual([true, false, false, false])
    await page.emulateMedia({ media: 'screen' })
    await page.getByRole('link', { name: 'Customers' }).click()
    await page.getByRole('button', { name: 'Stay' }).click()
    await click('button', 'Print')
    expect(clicks()).toBe(4)
    const { data } = await admin('GET', '/codes')
    expect(data).toHaveLength(3)
    expect(data[0]).toMatchObject({
      status: 'open',
      amount_usd: '2.50',
      expires_at: '2099-12-31T00:00:00.000Z',
      note: SCRIPT,
    })
    const redeemed = await fetch(`${gateway.url}/v1/codes/redeem`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ code: codes[0] }),
    })
    expect(redeemed.status).toBe(200)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('3 codes worth').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(codes[0] ?? '')
    await page.getByLabel('Status').selectOption('redeemed')
    await settled()
    const row = page.locator('main tbody tr')
    expect(await row.count()).toBe(1)
    expect(await row.locator('a', { hasText: 'alice' }).getAttribute('href')).toContain('#/accounts/alice')
  }))

test('a code is revoked in three clicks, and a viewer cannot change codes', async () => {
  await visiting('operator', async ({ page, open, settled }) => {
    await open('overview')
    const { click, clicks } = counted(page)
    await click('link', 'Codes')
    await settled()
    await click('button', 'Revoke…')
    await page.getByText('nobody can redeem its $2.50').waitFor()
    await click('button', 'Revoke', page.getByRole('dialog'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(clicks()).toBe(3)
    await settled()
    const states = (await admin('GET', '/codes')).data.map(({ status }: Json) => status)
    expect(states.toSorted()).toEqual(['open', 'redeemed', 'revoked'])
    const file = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).click()
    expect((await file).suggestedFilename()).toBe('codes.csv')
  })
  await visiting('viewer', async ({ page, open }) => {
    await open('codes')
    await page.getByRole('table', { name: 'Codes' }).waitFor()
    expect(await page.getByRole('button', { name: 'Revoke…' }).count()).toBe(0)
    await open('codes/new')
    expect(await page.locator('main form').count()).toBe(0)
  })
})

test('events: deliveries are listed, a test is sent, one is sent again, and a customer’s events are shown', async () => {
  const about = await report('balance.low', ['alice', 'other'])
  await report('budget.reached', ['other'])
  await waitFor(() => arrivals >= 2)
  await visiting('operator', async ({ page, open, settled, axe }) => {
    await open('overview')
    const test = counted(page)
    await test.click('link', 'Settings')
    await test.click('button', 'Events')
    await page.getByRole('cell', { name: 'balance.low' }).waitFor()
    await test.click('button', 'Send a test')
    expect(await axe()).toEqual([])
    await test.click('button', 'Send a test', page.getByRole('dialog'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(test.clicks()).toBe(4)
    await page.getByRole('cell', { name: 'test', exact: true }).waitFor()
    await waitFor(() => arrivals >= 3)
    const before = arrivals
    await page
      .getByRole('row', { name: /balance\.low/ })
      .getByRole('button', { name: 'Send again' })
      .click()
    await waitFor(() => arrivals > before)
    await page.getByLabel('Delivery').selectOption('failed')
    await settled()
    await page.getByText('No events match.').waitFor()
    await open('accounts/alice?part=access')
    const own = page.getByRole('table', { name: 'Sent' })
    await own.waitFor()
    expect(await own.getByRole('row').count()).toBe(2)
    expect(await own.textContent()).toContain('balance.low')
    expect(await own.textContent()).not.toContain('budget.reached')
    expect(await axe()).toEqual([])
  })
  const found = (await admin('GET', '/events?account=alice')).data
  expect(found.map(({ id }: Json) => id)).toEqual([about])
  // A page of an account's events can end early, and can be continued.
  const first = await admin('GET', '/events?account=other&limit=1')
  expect(first.data.map(({ type }: Json) => type)).toEqual(['budget.reached'])
  const second = await admin('GET', `/events?account=other&limit=1&after=${first.next}`)
  expect(second.data.map(({ id }: Json) => id)).toEqual([about])
  expect(await admin('GET', '/events?account=nobody')).toEqual({ data: [], next: null })
})

test('sessions list who is signed in, and one is ended in three clicks', () =>
  visiting('operator', async ({ page, open, settled, axe }) => {
    const holder = await visitConsole(browser, gateway, { token: gateway.secret })
    await open('overview')
    const { click, clicks } = counted(page)
    await click('link', 'Settings')
    await click('button', 'Sessions')
    await settled()
    expect(await axe()).toEqual([])
    await page.getByLabel('Signed in with').selectOption('key')
    await settled()
    await click('button', 'End session')
    await settled()
    expect(clicks()).toBe(3)
    await page.getByRole('cell', { name: 'ended' }).waitFor()
    const [session] = (await admin('GET', '/sessions?kind=key')).data
    expect(session).toMatchObject({ status: 'ended' })
    await holder.page.context().close()
  }))

test('reconciliation compares a dropped file with the charges of its month', async () => {
  await (await gateway.chat({ model: 'test-chat' })).text()
  const day = new Date(gateway.server.world.now()).toISOString().slice(0, 10)
  const month = day.slice(0, 7)
  const model = testModels['test-chat']?.upstreamModel as string
  const rows = [{ day, model, requests: 0, input_tokens: 0, output_tokens: 0 }]
  const { charges } = await admin('POST', '/upstreams/openai/reconciliation', { month, rows })
  expect(charges.requests).toBeGreaterThan(0)
  const file = (requests: number) => ({
    name: 'usage.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(
      `start_time_iso,model,num_model_requests,input_tokens,output_tokens\n${day}T00:00:00+00:00,"${model}",${requests},${charges.input_tokens},${charges.output_tokens}\n`,
    ),
  })
  await visiting('viewer', async ({ page, open, settled, axe }) => {
    await open('overview')
    const { click, clicks } = counted(page)
    await click('link', 'Upstreams')
    await click('button', 'Reconciliation')
    await settled()
    await page.locator('input[type=file]').setInputFiles(file(charges.requests))
    await page.locator('[name=upstream]').selectOption('openai')
    await page.locator('[name=month]').fill(month)
    await click('button', 'Compare')
    // Including the click that selected the file.
    expect(clicks() + 1).toBe(4)
    await page.getByText('The figures agree: 3 were compared.').waitFor()
    expect(await axe()).toEqual([])
    await page.locator('input[type=file]').setInputFiles(file(charges.requests + 5))
    await click('button', 'Compare')
    await page.getByText('1 of 3 figures differs.').waitFor()
    const differences = page.getByRole('table', { name: 'Differences' }).locator('tbody td')
    expect(await differences.allTextContents()).toEqual([
      day,
      model,
      'requests',
      String(charges.requests + 5),
      String(charges.requests),
    ])
    expect(await axe()).toEqual([])
    await page.locator('[name=month]').fill('2024-01')
    await click('button', 'Compare')
    await page.getByText('The files contain nothing for 2024-01.').waitFor()
    await page.locator('input[type=file]').setInputFiles({ ...file(1), buffer: Buffer.from('a,b\n1,2\n') })
    await click('button', 'Compare')
    await page.getByText('usage.csv cannot be compared: its columns are not known: a, b.').waitFor()
    await page.locator('input[type=file]').setInputFiles([])
    await click('button', 'Compare')
    await page.getByText('Choose the files that the vendor exported first.').waitFor()
  })
})

for (const [width, colours] of [
  [400, 'dark'],
  [768, 'light'],
  [1280, 'light'],
  [1440, 'dark'],
] as const) {
  test(`codes, events, sessions and reconciliation have no fault at ${width} pixels in ${colours}`, async () => {
    const visit = await visitConsole(browser, gateway, { width, colours })
    for (const address of [
      'codes',
      'codes/new',
      'settings?part=events',
      'settings?part=sessions',
      'upstreams?part=reconciliation',
      'accounts/alice?part=access',
    ]) {
      await visit.open(address)
      const tooWide = await visit.tooWide()
      expect({ address, tooWide, axe: await visit.axe(), faults: visit.faults }).toEqual({
        address,
        tooWide: [],
        axe: [],
        faults: [],
      })
    }
    await visit.page.context().close()
  })
}
