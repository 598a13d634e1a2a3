// The overview in a real browser: each figure agrees with the books and the log and links to its rows, each line that
// needs attention links to its subject, and charts show their figures as a table and under the pointer.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { adjust } from '../../src/billing/ledger/ledger'
import { formatUsd } from '../../src/lib/money'
import { markUnknown } from '../../src/tasks/rows'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, journeyAs, makeAdminToken, type Visit, visitConsole } from '../support/browser/console-visit'
import { readTask, sendTask } from '../support/databases/task-rows'
import { dayIn } from '../support/days'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { RECEIVER_NETWORK, startReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver'
import { startTaskVendor, succeeded, type TaskVendor, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

let vendor: TaskVendor & Disposable
let receiver: WebhookReceiver & Disposable
let gateway: TestGateway
let browser: Browser
let visit: Visit
let admin: (method: string, path: string, body: object) => Promise<void>
/** The date on which models are retired. */
const ENDS = dayIn(10)
/** Ids of tasks in an unknown state. */
const unknown = ['video_unknown_1', 'video_unknown_2']

beforeAll(async () => {
  vendor = startTaskVendor()
  receiver = startReceiver()
  gateway = await startTestGateway({
    balance: '10',
    // Nothing listens at this port.
    upstreams: {
      slow: vendor.upstream,
      gone: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null },
    },
    models: {
      'gone-chat': { ...testModels['test-chat'], upstream: 'gone' },
      ending: { ...testModels['test-chat'], retires: ENDS, successor: 'test-chat' },
      // This upstream gets no requests.
      forgotten: { ...testModels['test-chat'], retires: ENDS },
      'test-slow-video': {
        family: 'dashscope-video',
        upstream: 'slow',
        upstreamModel: 'wan2.6-t2v',
        durations: { min: 2, max: 15, default: 5 },
        price: { per_second: { '720p': '0.01' } },
      },
    },
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
  })
  browser = await openBrowser()
  const token = await makeAdminToken(gateway, 'owner', 'seeder')
  const ask = askAs(gateway, token)
  admin = async (method, path, body) => {
    const response = await ask(method, path, body)
    expect({ path, status: response.status }).toEqual({ path, status: 200 })
  }
  await seed()
  visit = await visitConsole(browser, gateway, { role: 'viewer' })
})
afterAll(async () => {
  await browser.close()
  for (const id of unknown) await admin('POST', `/tasks/${id}/reconcile`, { finding: 'not_begun' })
  vendor.answerPoll = succeeded
  await gateway.close()
  vendor[Symbol.dispose]()
  receiver[Symbol.dispose]()
})

/** Creates requests that succeeded and failed, and everything that needs attention. */
async function seed(): Promise<void> {
  const { db, now } = gateway.server.world
  for (const model of ['test-chat', 'test-chat', 'ending']) await (await gateway.chat({ model })).text()
  await (await gateway.chat({ model: 'test-google' })).text()
  await gateway.chat({ messages: [{ role: 'user', content: '[sandbox status=500]' }] })
  // After five requests without an answer, an upstream is not called.
  for (let count = 0; count < 5; count++) await gateway.chat({ model: 'gone-chat' })
  const poor = await gateway.makeKey('poor', '1', { budgetNano: 1_000_000_000, budgetPeriod: 'day' })
  await (await gateway.chat({}, { authorization: `Bearer ${poor.secret}` })).text()
  const { balanceNano } = await gateway.balance('poor')
  const spent = 1_000_000_000 - balanceNano
  const correction = { account: 'poor', now: now(), note: 'spent elsewhere' }
  await adjust(db, { ...correction, id: 'spent', amountNano: Math.ceil(spent * 1.5) - balanceNano })
  const budget = { budget_usd: formatUsd(Math.floor(spent * 1.1)), budget_period: 'day' }
  await admin('PATCH', `/keys/${poor.id}`, budget)
  receiver.answer = () => new Response('closed', { status: 410 })
  vendor.answerPoll = succeeded
  const begin = async (more: object) => {
    const body = { ...videoBody('a fox'), model: 'test-slow-video', ...more }
    return ((await (await gateway.post('/v1/videos/generations', body)).json()) as { id: string }).id
  }
  const ended = await begin({ webhook_url: receiver.url })
  await waitFor(
    async () => (await readTask(db, ended)).state === 'succeeded' && receiver.deliveries.length > 0,
  )
  vendor.answerPoll = (id) => Response.json({ output: { task_id: id, task_status: 'RUNNING' } })
  await begin({})
  for (const id of unknown) {
    await sendTask(db, { id, createdAt: now(), upstream: 'slow', model: 'test-slow-video' })
    await db.batch([markUnknown(id)])
  }
  await gateway.server.world.requestLog.flush()
}

const rows = () => visit.page.locator('main tbody tr')

/** A figure of the overview: its title, its value, and the line below it. */
async function figure(title: string) {
  const box = visit.page.locator('a.figure', { has: visit.page.getByText(title, { exact: true }) })
  const [, note = ''] = await box.locator(':scope > span').allTextContents()
  return { box, text: (await box.locator('strong').textContent()) ?? '', note }
}

/** Opens the overview and follows one of its links. */
async function follow(link: () => Promise<{ click(): Promise<void> }>): Promise<void> {
  await visit.open('overview')
  await (await link()).click()
  await visit.settled()
}

/** Converts dollars as the console displays them to nano-dollars. */
const nanoOf = (usd: string | null) => Math.round(Number((usd ?? '').replace(/[$,]/g, '')) * 1e9)

const sumOf = async (column: number) =>
  (await rows().locator(`td:nth-child(${column})`).allTextContents()).reduce(
    (sum, usd) => sum + nanoOf(usd),
    0,
  )

test('each figure agrees with the books and the log, and links to its rows', async () => {
  const { page, open } = visit
  const log = await gateway.requestLog()
  const failed = log.filter(({ status }) => Number(status) >= 400)
  const charges = await gateway.charges()
  const paid = charges.reduce((sum, { amount }) => sum + Number(amount), 0)
  const holds = await gateway.server.world.db.query({ sql: 'select account, held from open_charges' })
  const held = holds.reduce((sum, row) => sum + Number(row.held), 0)
  expect([failed.length, holds.length]).toEqual([6, 3])
  await open('overview')
  const shown = {
    spend: nanoOf((await figure('Revenue')).text),
    requests: (await figure('Requests')).text,
    failed: (await figure('Failures')).note,
    held: nanoOf((await figure('Held now')).text),
    holds: (await figure('Held now')).note,
    tasks: (await figure('Open tasks')).text,
  }
  expect(shown).toEqual({
    spend: paid,
    requests: String(log.length),
    failed: '6 by vendors · 0 by the gateway · 0 by callers',
    held,
    holds: '3 holds',
    tasks: '3',
  })
  expect((await figure('Failures')).text).toBe(`${Math.round((6 / log.length) * 100)} %`)
  const firstByte = await figure('First byte, p50')
  expect([firstByte.text, firstByte.note]).toEqual([
    expect.stringMatching(/^\d+ ms$/),
    expect.stringMatching(/^p99 \d+ ms$/),
  ])

  await follow(async () => (await figure('Revenue')).box)
  expect(page.url()).toEndWith('#/usage?by=model')
  expect(nanoOf(await page.locator('main tfoot td[data-title="Revenue"]').textContent())).toBe(paid)
  await follow(async () => (await figure('Requests')).box)
  expect(await rows().count()).toBe(log.length)
  await follow(async () => (await figure('Failures')).box)
  expect(await rows().count()).toBe(failed.length)
  await follow(async () => (await figure('First byte, p50')).box)
  await page.getByRole('columnheader', { name: 'First byte, p50' }).waitFor()
  await follow(async () => (await figure('Held now')).box)
  expect(await page.getByLabel('Held').inputValue()).toBe('true')
  const names = await rows().locator('td:first-child').allTextContents()
  expect(names.map((name) => name.trim())).toEqual(['alice'])
  expect(await sumOf(4)).toBe(held)
  await follow(async () => (await figure('Open tasks')).box)
  expect(await rows().count()).toBe(3)
  expect(visit.faults).toEqual([])
})

test('each line that needs attention links to its subject', async () => {
  const { page, open, axe } = visit
  const line = (name: RegExp) => async () => page.getByRole('link', { name })
  // A webhook is abandoned after its receiver has answered, and usage totals are updated after the requests.
  await waitFor(async () => {
    await open('overview')
    return (await page.locator('.attention li').count()) === 6
  })
  expect(await axe()).toEqual([])

  await follow(line(/^2 tasks are unknown at their vendors/))
  expect((await rows().locator('td:first-child').allTextContents()).sort()).toEqual(unknown)
  await follow(line(/^gone does not answer/))
  const panel = page.getByRole('region', { name: 'gone' })
  await panel.getByText('down').waitFor()
  await panel.getByText('100 %').waitFor()
  await follow(line(/^poor has \$0\.0\d+ left \(\d+ \w+ at this rate\)$/))
  await page.getByRole('heading', { name: 'Customer poor' }).waitFor()
  await follow(line(/^Key key_\w+ has used \d+ % of its budget per day$/))
  await page.getByRole('heading', { name: /^Key key_/ }).waitFor()
  await page.getByText(/^\$0\.\d+ of \$0\.\d+ today$/).waitFor()
  await follow(line(new RegExp(`^ending ends at its vendor on ${ENDS}; successor: test-chat$`)))
  await page.getByRole('heading', { name: 'ending' }).waitFor()
  await follow(line(/^1 webhook delivery failed$/))
  expect(await page.getByLabel('Webhook').inputValue()).toBe('failed')
  await rows().locator('a').first().click()
  await page.getByRole('heading', { name: 'Webhook failed' }).waitFor()
  expect(await rows().count()).toBeGreaterThan(0)
  expect(visit.faults).toEqual([])
})

test('upstreams that do not answer are listed first', async () => {
  await visit.open('overview')
  const table = visit.page.getByRole('table', { name: 'Upstreams' })
  const names = await table.locator('tbody td:first-child').allTextContents()
  expect(names.slice(0, 2)).toEqual(['gone', 'openai'])
  await table.getByRole('link', { name: 'gone' }).click()
  await visit.page.getByRole('heading', { name: 'gone' }).waitFor()
})

test('charts by hour show their figures as a table, and exact amounts under the pointer', async () => {
  const { page, open } = visit
  const log = await gateway.requestLog()
  const charges = await gateway.charges()
  await open('overview')
  const charts = page.locator('figure.chart')
  expect(await charts.locator('figcaption > span:first-child').allTextContents()).toEqual([
    'Spend by hour and model, in dollars',
    'Requests by hour',
    'Time to the first byte and in total, by hour',
  ])
  for (const summary of await page.getByText('Figures as a table').all()) await summary.click()
  const paidFor = (model: string) =>
    charges.filter((each) => each.model === model).reduce((sum, { amount }) => sum + Number(amount), 0)
  const spend = page.getByRole('table', { name: 'Spend' })
  const [, ...models] = await spend.locator('thead th').allTextContents()
  expect(models).toContain('test-chat')
  const [, ...sums] = await spend.locator('tfoot td').allTextContents()
  expect(sums.map(nanoOf)).toEqual(models.map(paidFor))
  // Requests, failed, first byte p50 and p99, total time p50.
  const hours = page.getByRole('table', { name: 'Requests' }).first().locator('tbody tr')
  const cells = await Promise.all((await hours.all()).map((row) => row.locator('td').allTextContents()))
  const sumAt = (column: number) => cells.reduce((sum, row) => sum + Number(row[column]), 0)
  expect([sumAt(1), sumAt(2)]).toEqual([log.length, 6])
  const busy = cells.findLast((row) => row[1] !== '0') ?? []
  expect(busy.slice(3)).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^\d+ ms$/)))
  const plot = charts.first().locator('.u-over')
  const { width = 0 } = (await plot.boundingBox()) ?? {}
  // An amount with more than two digits, all of which are shown.
  const exact = `test-chat ${await spend
    .locator('tfoot td')
    .nth(models.indexOf('test-chat') + 1)
    .textContent()}`
  expect(exact).toMatch(/[1-9]\d{2}$/)
  // The last bar, or the one before it if an hour has ended meanwhile.
  let back = 0
  await waitFor(async () => {
    back = 1 - back
    await plot.hover({ position: { x: width * (1 - back / 25) - 4, y: 20 } })
    return ((await charts.first().locator('.pointed').textContent()) ?? '').includes(exact)
  })
  expect(visit.faults).toEqual([])
})

test('a range is selected by name or dragged in a chart, is kept in the URL, and applies to other pages', async () => {
  const { page, open, settled } = visit
  await open('overview')
  await page.getByLabel('Time range').selectOption('7d')
  await settled()
  expect(page.url()).toEndWith('#/overview?range=7d')
  await page.getByText('Spend by day (UTC) and model, in dollars').waitFor()
  await page.getByLabel('Time range').selectOption('24h')
  await settled()
  const box = (await page.locator('figure.chart .u-over').first().boundingBox()) ?? { x: 0, y: 0, width: 0 }
  await page.mouse.move(box.x + box.width / 2, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 })
  await page.mouse.up()
  await settled()
  const { since, until } = Object.fromEntries(new URLSearchParams(page.url().split('?')[1]))
  const HOUR_MS = 3_600_000
  const lengthMs = Date.parse(until ?? '') - Date.parse(since ?? '')
  expect(lengthMs).toBeWithin(11 * HOUR_MS, 14 * HOUR_MS)
  await page
    .getByRole('link', { name: /^Requests/ })
    .first()
    .click()
  await settled()
  expect(Object.fromEntries(new URLSearchParams(page.url().split('?')[1]))).toEqual({
    since: since as string,
    until: until as string,
  })
  await open('overview')
  expect(visit.faults).toEqual([])
})

test('a running drill is shown only on the overview and at its upstream, and an operator ends it', async () => {
  const { id } = await gateway.makeKey('staging', '0')
  await admin('POST', '/drills', { upstream: 'openai', keys: [id], for: '5m', cut: true, share_percent: 20 })
  const says = /^ ?Drill: openai fails with cut for 20 % of the requests of 1 key, until \d\d:\d\d UTC/
  await journeyAs([browser, gateway], 'viewer', async ({ page, open }) => {
    const strip = page.getByRole('region', { name: 'Running drills' })
    for (const place of ['overview', 'upstreams', 'upstreams/openai']) {
      await open(place)
      expect(await strip.textContent()).toMatch(says)
      expect(await strip.getByRole('button').count()).toBe(0)
    }
    await open('upstreams/gone')
    expect(await strip.count()).toBe(0)
  })
  await journeyAs([browser, gateway], 'operator', async ({ page, open, settled, axe }) => {
    const strip = page.getByRole('region', { name: 'Running drills' })
    await open('upstreams/openai')
    expect(await strip.textContent()).toMatch(says)
    expect(await axe()).toEqual([])
    await strip.getByRole('button', { name: 'End the drill' }).click()
    await strip.waitFor({ state: 'detached' })
    await settled()
    await open('overview')
    expect(await strip.count()).toBe(0)
  })
  const rows = await gateway.server.world.db.query({ sql: 'select ends_at from drills' })
  expect(rows).toEqual([{ ends_at: expect.any(Number) }])
  expect(rows[0]?.ends_at as number).toBeLessThanOrEqual(gateway.server.world.now())
})
