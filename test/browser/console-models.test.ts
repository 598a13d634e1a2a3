// Models and upstreams in a real browser: which models can be used and why others cannot, their price, cost and margin,
// the share of failed requests, the cost of some usage, and a free test of an upstream.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type Sandbox, startSandbox } from '../../sandbox'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { dayIn } from '../support/days'
import { startTestGateway, type TestGateway, testModels } from '../support/gateway'

setDefaultTimeout(180_000)

/** Dates on which models are retired. */
const SOON = dayIn(20)
const LATER = dayIn(200)

let sandbox: Sandbox
let gateway: TestGateway
let browser: Browser
let visit: Visit

beforeAll(async () => {
  sandbox = startSandbox()
  const east = { kind: 'openai', baseUrl: sandbox.baseUrls.openai, apiKey: sandbox.secrets.openai } as const
  gateway = await startTestGateway({
    sandbox,
    balance: '10',
    upstreams: {
      east,
      west: east,
      keyless: { kind: 'mistral' },
      gone: { ...east, baseUrl: 'http://127.0.0.1:9/v1' },
    },
    models: {
      sold: {
        ...testModels['test-chat'],
        price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
        upstream: { east: 1, west: 1 },
        cost: { upstreams: { east: { per_1m_input_tokens: '0.75', per_1m_output_tokens: '2.10' } } },
      },
      'test-reasoning': { cost: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '1.00' } },
      hidden: { ...testModels['test-chat'], upstream: 'keyless' },
      leaving: {
        ...testModels['test-chat'],
        retires: SOON,
        successor: 'sold',
        onRetirement: 'successor',
      },
      'test-gratis': {
        ...testModels['test-chat'],
        price: { per_1m_input_tokens: '0', per_1m_output_tokens: '0' },
      },
      staying: { ...testModels['test-chat'], retires: LATER },
    },
  })
  browser = await openBrowser()
  for (const content of ['Hello', 'Hello', 'Hello', '[sandbox status=500]'])
    await (await gateway.chat({ messages: [{ role: 'user', content }] })).text()
  await gateway.server.world.requestLog.flush()
  visit = await visitConsole(browser, gateway, { role: 'operator' })
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
  await sandbox.stop()
})

/** The cells of a table's rows. */
async function cellsOf(label: string): Promise<string[][]> {
  const rows = await visit.page.getByRole('table', { name: label }).locator('tbody tr').all()
  return Promise.all(rows.map((row) => row.locator('td').allTextContents()))
}

test('the list shows which models can be used, why one cannot, and how many requests fail', async () => {
  const { page, open } = visit
  await open('models?available=false')
  expect((await cellsOf('Models')).map(([id, state]) => [id, state?.trim()])).toEqual([
    ['hidden', 'not available'],
  ])
  await page.getByRole('link', { name: 'hidden' }).click()
  const panel = page.getByRole('region', { name: 'hidden', exact: true })
  await panel.locator('.facts > div', { hasText: 'Reason' }).getByText('MISTRAL_API_KEY').waitFor()
  await open('models?name=test-chat')
  const [row = []] = await cellsOf('Models')
  expect([row[1]?.trim(), row[4], row[5], row[6], row[7]]).toEqual([
    'ready',
    '$1.00 in, $2.00 out per 1M tokens',
    '4',
    '25 %',
    expect.stringMatching(/^\d+ ms$/),
  ])
  expect(visit.faults).toEqual([])
})

test('a model that its vendor will retire shows the date and its successor, with a warning if it is soon', async () => {
  const { page, open, axe } = visit
  const signOf = (day: string) => page.locator('.status.warning', { hasText: day })
  await open('models')
  const ends = new Map((await cellsOf('Models')).map(([id, ...others]) => [id, others.at(-1)?.trim()]))
  expect(['leaving', 'staying', 'sold'].map((id) => ends.get(id))).toEqual([SOON, LATER, ''])
  expect(await signOf(SOON).count()).toBe(1)
  expect(await signOf(LATER).count()).toBe(0)
  await open('models/leaving')
  const facts = page.getByRole('region', { name: 'leaving', exact: true }).locator('.facts')
  await facts.getByText(SOON).waitFor()
  await facts.getByText('sold, which takes over on that day').waitFor()
  expect(await axe()).toEqual([])
  expect(visit.faults).toEqual([])
})

test('each price is shown with its cost and margin if the cost is known', async () => {
  const { page, open, axe } = visit
  await open('models/sold')
  const columns = page.getByRole('table', { name: 'Price' }).locator('thead th')
  // The cost at the other upstream is unknown.
  expect(await columns.allTextContents()).toEqual(['Unit', 'Price', 'Cost at east', 'Margin at east'])
  expect(await cellsOf('Price')).toEqual([
    ['per 1M input tokens', '$1.00', '$0.75', '25 %'],
    ['per 1M output tokens', '$2.00', '$2.10', '−5.0 %'],
  ])
  expect(await axe()).toEqual([])
  await open('models/test-messages')
  expect(await columns.allTextContents()).toEqual(['Unit', 'Price'])
  expect(visit.faults).toEqual([])
})

test('a model without a price is free, and a price that depends on a size is shown from its minimum', async () => {
  const { open } = visit
  await open('models')
  const price = (model: string) =>
    visit.page.locator('main tbody tr', { hasText: model }).locator('td[data-title="Price"]').textContent()
  expect(await price('test-gratis')).toBe('free')
  expect(await price('vidw2.6-t2v')).toBe('from $0.01 per second')
})

test('the calculator shows the price, cost and margin of some usage', async () => {
  const { page, open } = visit
  await open('models/test-reasoning')
  await page.getByLabel('input token', { exact: true }).fill('1000')
  await page.getByLabel('output token', { exact: true }).fill('7')
  await page.getByRole('button', { name: 'Calculate' }).click()
  const answer = page.getByRole('status')
  for (const usd of ['$0.001014', '$0.000507']) await answer.getByText(usd).first().waitFor()
  expect(await answer.locator('dt').allTextContents()).toEqual(['Price', 'Cost', 'Margin'])
  expect(visit.faults).toEqual([])
})

test('the test of an upstream that does not answer shows the reason, and an unknown upstream is not found', async () => {
  const { page, open, axe } = visit
  await open('upstreams/gone')
  await page.getByRole('button', { name: 'Test' }).click()
  const answer = page.getByRole('status').filter({ hasText: 'failed' })
  await answer.waitFor()
  expect((await answer.textContent())?.replace(/^.*ms/, '').trim()).not.toBe('')
  expect(await axe()).toEqual([])
  for (const address of ['models/nothing', 'upstreams/nothing']) {
    await open(address)
    await page.locator('.panel').getByText('nothing in the configuration in force.').waitFor()
  }
  expect(visit.faults).toEqual([])
})

test('upstreams show their condition, and a test of one is free', async () => {
  const { page, open } = visit
  await open('upstreams')
  const shown = new Map((await cellsOf('Upstreams')).map(([name = '', ...cells]) => [name, cells]))
  expect(shown.get('keyless')?.[0]?.trim()).toBe('no key')
  const [state, kind, , , requests, failed, firstByte] = shown.get('openai') ?? []
  expect([state?.trim(), kind, requests, failed]).toEqual(['ok', 'openai', '4', '25 %'])
  expect(firstByte).toMatch(/^\d+ ms$/)
  await open('upstreams/openai')
  const charges = await gateway.charges()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByRole('status').getByText('answers and accepts the key').waitFor()
  expect(await gateway.charges()).toHaveLength(charges.length)
  expect(visit.faults).toEqual([])
})

test('a vendor’s refusals are listed with its messages', async () => {
  const words = `'house_rule' is not supported with this model.`
  const content = `[sandbox status=400 error_text="${words}"] Hello`
  for (let count = 0; count < 2; count++)
    await (await gateway.chat({ messages: [{ role: 'user', content }] })).text()
  await visit.open('models')
  await visit.open('upstreams')
  await visit.page.getByRole('table', { name: 'Refused by vendors' }).waitFor()
  const [row = []] = await cellsOf('Refused by vendors')
  expect(row.slice(1).map((cell) => cell.trim())).toEqual(['openai', 'test-chat', 'house_rule', '2', words])
})
