// The console for the holder of a key, in a real browser: the balance, holds and their reasons, spending by time and by
// model, prices of the key's models in plain words, the holder's own requests and tasks only, and settings for every
// known client.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { clientNames, clients } from '../../src/api-document/clients'
import { formatUsd } from '../../src/lib/money'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { type HeldVendor, startHeldVendor } from '../support/vendors/held'

setDefaultTimeout(180_000)

const MODELS = ['test-chat', 'test-google', 'test-held', 'vidw2.6-t2v']

let gateway: TestGateway
let browser: Browser
let visit: Visit
let own: { secret: string; id: string }
let vendor: HeldVendor
let running: Promise<Response>[] = []

/** Sends requests with a key of the account: that of the signed-in holder, or another one. */
const ask = (path: string, body: object, { secret } = own) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const chat = (model: string, content: string, key = own) =>
  ask('/v1/chat/completions', { model, messages: [{ role: 'user', content }], max_tokens: 50 }, key)

beforeAll(async () => {
  vendor = startHeldVendor()
  gateway = await startTestGateway({
    upstreams: { held: vendor.upstream },
    models: { 'test-held': { ...testModels['test-chat'], upstream: 'held' } },
  })
  browser = await openBrowser()
  own = await gateway.makeKey('shared', '5', { models: MODELS })
  const other = await gateway.makeKey('shared', '0')
  for (const model of ['test-chat', 'test-chat', 'test-google']) await (await chat(model, 'Hello')).text()
  await (await chat('test-xai', 'of another key', other)).text()
  const video = { model: 'vidw2.6-t2v', prompt: 'a fox [sandbox task_end=failed task_ms=0]' }
  expect((await ask('/v1/videos', video)).status).toBe(200)
  await waitFor(async () => (await openCharges()).length === 0)
  running = [own, other].map((key) => chat('test-held', 'Hello', key))
  await waitFor(async () => (await openCharges()).length === 2)
  await gateway.server.world.requestLog.flush()
  visit = await visitConsole(browser, gateway, { token: own.secret })
})
afterAll(async () => {
  await browser.close()
  vendor.letGo()
  for (const response of await Promise.all(running)) await response.text()
  await gateway.close()
  await vendor.stop()
})

const openCharges = () => gateway.server.world.db.query({ sql: 'select key_id, held from open_charges' })

/** The cells of a table's rows and footer. */
async function cellsOf(label: string, part = 'tbody'): Promise<string[][]> {
  const rows = await visit.page.getByRole('table', { name: label }).locator(`${part} tr`).all()
  return Promise.all(rows.map((row) => row.locator('td').allTextContents()))
}

const figure = (title: string) =>
  visit.page
    .locator('a.figure', { has: visit.page.getByText(title, { exact: true }) })
    .locator('strong')
    .textContent()

/** Nano-dollars as the console displays them. */
const written = (nano: number) => `$${formatUsd(nano)}`

test('home shows the balance, holds with their reasons, and spending by time and by model', async () => {
  const { page, open, axe } = visit
  await open('home')
  const { availableNano, heldNano } = await gateway.balance('shared')
  const charges = (await gateway.charges()).filter(({ key_id: id }) => id === own.id)
  const paid = (model?: string) =>
    written(
      charges
        .filter((each) => !model || each.model === model)
        .reduce((sum, { amount }) => sum + Number(amount), 0),
    )
  expect(await figure('Available')).toBe(written(availableNano))
  expect(await figure('Held now')).toBe(written(heldNano))
  expect([await figure('Spent today'), await figure('Spent this month')]).toEqual([paid(), paid()])
  const holds = await openCharges()
  const heldFor = (isOwn: boolean) =>
    written(Number(holds.find(({ key_id: id }) => (id === own.id) === isOwn)?.held ?? 0))
  const [hold = [], ...more] = await cellsOf('What is held, and why')
  expect([hold[0], hold[1], hold[3], more]).toEqual(['test-held', 'chat', heldFor(true), []])
  await page.getByText(`Held for other keys of this account: ${heldFor(false)}`).waitFor()
  expect((await cellsOf('Spend by model')).map(([model, , , amount]) => [model, amount])).toEqual([
    ['test-chat', paid('test-chat')],
    ['test-google', paid('test-google')],
    ['test-held', '$0.00'],
    ['vidw2.6-t2v', '$0.00'],
  ])
  expect((await cellsOf('Spend by model', 'tfoot'))[0]?.at(-1)).toBe(paid())
  await page.getByText('Figures as a table').click()
  await page.getByRole('table', { name: 'Spend by hour in dollars' }).locator('tbody tr').first().waitFor()
  const hours = await cellsOf('Spend by hour in dollars')
  const sum = hours.reduce((all, row) => all + Math.round(Number(row.at(-1)?.slice(1)) * 1e9), 0)
  expect(written(sum)).toBe(paid())
  await open('home?range=30d')
  await page.getByText('Spend by day in dollars').first().waitFor()
  expect(await axe()).toEqual([])
  expect(visit.faults).toEqual([])
})

test('models lists only those of the key, each with its price in plain words and an example', async () => {
  const { page, open, axe } = visit
  await open('models')
  const rows = await cellsOf('Models')
  expect(rows.map(([id]) => id).sort()).toEqual([...MODELS].sort())
  expect(rows.find(([id]) => id === 'test-chat')).toEqual([
    'test-chat',
    'chat, messages, responses, contents',
    // Input and output have separate columns, so that neither is omitted.
    '$1.00',
    '$2.00',
    '$0.10 / 1M cached input tokens',
    '1M',
    '1,000 words in and out: about $0.004',
    // This model has no announced end.
    '',
  ])
  await page.getByLabel('Capabilities').selectOption('video')
  expect((await cellsOf('Models')).map(([id]) => id)).toEqual(['vidw2.6-t2v'])
  await page.getByRole('link', { name: 'vidw2.6-t2v' }).click()
  await page.locator('.panel').getByText('five seconds: from $0.05').waitFor()
  expect(await cellsOf('Prices of vidw2.6-t2v')).toEqual([
    ['second, 720p', '$0.01'],
    ['second, 1080p', '$0.02'],
  ])
  expect(await axe()).toEqual([])
  await page.getByRole('link', { name: 'Try it in the playground' }).click()
  expect(page.url()).toContain('kind=video&model=vidw2.6-t2v')
  expect(visit.faults).toEqual([])
})

test('requests and tasks list only those of the key', async () => {
  const { page, open } = visit
  await open('activity')
  const rows = await cellsOf('Requests')
  expect(rows.map(([, , , model]) => model)).toEqual(['vidw2.6-t2v', 'test-google', 'test-chat', 'test-chat'])
  await page.getByRole('group', { name: 'Model' }).getByLabel('test-google').check()
  await waitFor(async () => (await cellsOf('Requests')).length === 1)
  await page.locator('main tbody a').first().click()
  await page.locator('.panel').getByText('settled').waitFor()
  const [charge] = (await gateway.charges()).filter(({ model }) => model === 'test-google')
  await page
    .locator('.panel dd', { hasText: written(Number(charge?.amount)) })
    .first()
    .waitFor()
  await open('activity?show=tasks')
  const [task = [], ...others] = await cellsOf('Tasks')
  expect([task[1]?.trim(), task[2], others]).toEqual(['failed', 'vidw2.6-t2v', []])
  await page.locator('main tbody a').first().click()
  await page.locator('.panel').getByRole('alert').getByText('InvalidParameter').waitFor()
  expect(visit.faults).toEqual([])
})

test('connect shows the address, and settings of every known client with it and without a secret', async () => {
  const { page, open, axe } = visit
  for (const name of clientNames) {
    await open(`connect?client=${name}`)
    const text = (await page.locator('.snippet').allTextContents()).join('\n')
    expect({ name, hasSecret: text.includes(own.secret) }).toEqual({ name, hasSecret: false })
    const secret = name === 'webhook' ? 'whsec_YOUR-SECRET' : 'sk-YOUR-KEY'
    const settings = clients[name].settings({ url: gateway.url, secret, model: 'test-chat' })
    for (const [variable, value] of Object.entries(settings.variables)) {
      expect(text).toContain(variable)
      if (value.includes(gateway.url)) expect(text).toContain(value)
    }
    if (settings.file) expect(text).toContain(settings.file.path)
    if (name !== 'webhook')
      expect({ name, text }).toEqual({ name, text: expect.stringContaining(gateway.url) })
  }
  await open('connect')
  await page.getByText(`${gateway.url}/v1`, { exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Shell' }).selectOption('powershell')
  await page.locator('.snippet').getByText(`$env:OPENAI_BASE_URL`).waitFor()
  expect(await axe()).toEqual([])
  expect(visit.faults).toEqual([])
})
