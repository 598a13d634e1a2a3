// The page of one request, and the overview's warning about a low balance: lines that add up to the price, each
// attempt, and the request and answer if they are kept, which are shown as text whatever they contain.

import { expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Sandbox, startSandbox } from '../../sandbox'
import { adjust } from '../../src/billing/ledger/ledger'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'{{7*7}}`
const PRICE = {
  per_1m_input_tokens: '1.00',
  per_1m_cached_input_tokens: '0.10',
  per_1m_output_tokens: '2.00',
}
/** A folder for screenshots of the pages, to inspect. */
const { CONSOLE_PICTURES: pictures } = process.env

let sandbox: Sandbox
let gateway: TestGateway
let browser: Browser
/**
 * Ids of requests: with two attempts and many details, with a long prompt, without a kept body, failed, and of a route
 * with an order.
 */
let [whole, long, bare, failed, placed] = ['', '', '', '', '']

beforeAll(async () => {
  sandbox = startSandbox()
  const upstream = { kind: 'openai', baseUrl: sandbox.baseUrls.openai }
  gateway = await startTestGateway({
    sandbox,
    balance: '5',
    upstreams: { keyed: { ...upstream, apiKey: ['sk-refused', sandbox.secrets.openai] } },
    models: {
      'two-keys': {
        family: 'openai-chat',
        upstream: 'keyed',
        upstreamModel: 'gpt-4.1-mini',
        price: PRICE,
        cost: { ...PRICE, per_1m_input_tokens: '0.50' },
      },
      house: { route: ['test-chat'] },
      thrift: { route: ['two-keys', 'test-reasoning'], prefer: 'cheapest' },
    },
    config: { log: { bodies: { models: ['two-keys'] } }, affinity: false },
  })
  browser = await openBrowser()
  const ask = async (model: string, content: string) => {
    const response = await gateway.chat({ model, messages: [{ role: 'user', content }] })
    expect({ model, status: response.status }).toEqual({ model, status: 200 })
    await response.text()
    return response.headers.get('x-request-id') as string
  }
  whole = await ask('two-keys', `${SCRIPT} [sandbox cached=28]`)
  long = await ask('two-keys', `Count the stars. ${'* '.repeat(12_000)}`)
  bare = await ask('test-chat', 'Hello')
  const refused = await gateway.chat({ messages: [{ role: 'user', content: '[sandbox status=500]' }] })
  failed = refused.headers.get('x-request-id') as string
  placed = await ask('thrift', 'Hello')
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
  await sandbox.stop()
})

/** The rows of a table on the page, as the texts of their cells. */
async function rowsOf({ page }: Visit, label: string): Promise<string[][]> {
  const rows = await page.getByRole('table', { name: label }).getByRole('row').all()
  return Promise.all(rows.map(async (row) => row.locator('td').allTextContents()))
}

/** Converts dollars such as `$0.0001234` to pico-dollars, exactly. */
function picoOf(usd: string): bigint {
  const [, minus, whole, decimals = ''] = /^(−?)\$([\d,]+)\.(\d+)$/.exec(usd) ?? []
  const pico = BigInt(`${whole?.replaceAll(',', '')}${decimals.padEnd(12, '0')}`)
  return minus ? -pico : pico
}

test('a request to a route with a preference shows the models in order, each with its price', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await visit.open(`requests/${placed}`)
  const [, ...models] = await rowsOf(visit, 'Ordered by price, cheapest first')
  expect(models.map(([upstream, model]) => [upstream, model]).toSorted()).toEqual([
    ['keyed', 'two-keys'],
    ['openai', 'test-reasoning'],
  ])
  const price = String.raw`at most \$0\.00\d+`
  expect(models[0]?.[2]).toMatch(new RegExp(`^(best|equal): ${price}$`))
  expect(models[1]?.[2]).toMatch(new RegExp(`^later: ${price}$`))
  await visit.page.context().close()
})

test('a request shows lines that add up to its price, what was returned, the margin, and each attempt', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await visit.open(`requests/${whole}`)
  const [, ...lines] = await rowsOf(visit, 'How the price was calculated')
  const [paid] = lines.splice(-1)
  const [charge] = (await gateway.charges()).filter(({ id }) => id === whole)
  expect(lines.map(([what]) => what)).toEqual([
    expect.stringMatching(/^\d+ input tokens? × \$1\.00 \/ million$/),
    expect.stringMatching(/^28 cached input tokens × \$0\.10 \/ million$/),
    expect.stringMatching(/^\d+ output tokens? × \$2\.00 \/ million$/),
  ])
  const sum = lines.reduce((total, [, amount = '']) => total + picoOf(amount), 0n)
  expect({ sum, paid: picoOf(paid?.[1] ?? '') }).toEqual({ sum, paid: sum })
  expect(sum).toBe(BigInt(charge?.amount as number) * 1_000n)

  const fact = async (name: string) =>
    (await visit.page.locator('.facts > div', { hasText: name }).last().locator('dd').textContent()) ?? ''
  const [held, back] = [picoOf(await fact('Held')), picoOf(await fact('Released'))]
  expect(held - back).toBe(sum)
  expect(await fact('Margin')).toMatch(/^\$0\.\d+ \(\d.* %\)$/)

  expect(await fact('Key no.')).toBe('2, by rotation: it has no session')

  const [, refused, answered] = await rowsOf(visit, 'Route and attempts')
  expect(refused?.slice(0, 4)).toEqual(['keyed', 'two-keys', '1', expect.stringContaining('upstream_')])
  expect(answered?.slice(0, 4)).toEqual(['keyed', 'two-keys', '2', expect.stringContaining('200')])
  // From the check of the key to the last byte, without a gap.
  const spans = await visit.page.locator('.timeline li').allTextContents()
  const [keyed, tried, waited, ...rest] = spans.map((text) => text.replace(/ \d+ ms$/, '').trim())
  expect([keyed, tried, waited]).toEqual(['key and hold', 'keyed 503', 'keyed until the first byte'])
  expect(rest.filter((title) => title !== 'answer')).toEqual([])
  const bars = await visit.page
    .locator('.timeline-bar i')
    .evaluateAll((parts) =>
      parts.map(({ style }) => [Number.parseFloat(style.left), Number.parseFloat(style.width)]),
    )
  let end = 0
  for (const [left = Number.NaN, width = 0] of bars) {
    expect(left).toBeCloseTo(end, 3)
    end = left + width
  }
  expect(end).toBeCloseTo(100, 3)
  // Links to other requests of the same minute, key and account.
  const asOf = (link: string) =>
    visit.page.getByRole('link', { name: link, exact: true }).getAttribute('href')
  expect(await asOf('Same account')).toBe('#/requests?account=alice')
  expect(await asOf('Same key')).toMatch(/^#\/requests\?key=key_/)
  const { since = '', until = '' } = Object.fromEntries(
    new URLSearchParams((await asOf('Same minute'))?.split('?')[1]),
  )
  expect(Date.parse(until) - Date.parse(since)).toBe(60_000)
  const { at } = JSON.parse(
    await (await visit.page.request.get(`${gateway.url}/admin/v1/requests/${whole}`)).text(),
  ).request
  expect(Date.parse(at)).toBeWithin(Date.parse(since), Date.parse(until))
  // A viewer cannot open texts that people wrote.
  expect(await visit.page.getByText('Request and response').count()).toBe(0)
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('the price that a vendor reports is shown next to our list price, with the difference', async () => {
  const response = await gateway.chat({ model: 'test-xai' })
  await response.text()
  const id = response.headers.get('x-request-id') as string
  await gateway.server.world.requestLog.flush()
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await visit.open(`requests/${id}`)
  const fact = (name: string) =>
    visit.page.locator('.facts > div', { hasText: name }).last().locator('dd').textContent()
  const [vendor, list] = [await fact('Price reported by the vendor'), await fact('Cost by price list')]
  expect(vendor).toMatch(/^\$0\.\d+$/)
  expect(list).toBe(`${vendor} (the vendor: +0.00 %)`)
  await visit.page.context().close()
})

test('a failed request shows its error, and that its hold was released', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await visit.open(`requests/${failed}`)
  const fact = async (name: string) =>
    visit.page
      .locator('.facts > div', { has: visit.page.getByText(name, { exact: true }) })
      .locator('dd')
      .first()
      .textContent()
  expect([(await fact('Status'))?.trim(), await fact('Error')]).toEqual(['502', 'upstream_error'])
  expect(await visit.page.locator('.panel').textContent()).toContain(
    'The vendor of openai refused the request with 500, shown to the caller as 502 (upstream_error): the vendor must act, and a repeat can help.',
  )
  expect(await fact('Reason')).toStartWith('The upstream openai failed (HTTP 500)')
  expect(await fact('Caused by')).toBe('vendor, with status 500')
  const [, attempt] = await rowsOf(visit, 'Route and attempts')
  expect(attempt?.[2]).toContain('502 upstream_error')
  expect((await fact('State'))?.trim()).toBe('released')
  expect([await fact('Paid'), await fact('Released')]).toEqual(['$0.00', await fact('Held')])
  expect(picoOf((await fact('Held')) ?? '')).toBeGreaterThan(0n)
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('the reason of a failed request is two clicks away, and requests are found by the requested name', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  const refused = await gateway.chat({ model: 'house', max_tokens: 'many' })
  const id = refused.headers.get('x-request-id') as string
  await gateway.server.world.requestLog.flush()
  await visit.open('requests?model=house')
  await visit.page.getByRole('group', { name: 'Caused by' }).getByLabel('caller').check()
  await visit.page.getByRole('table', { name: 'Requests' }).getByRole('link').first().click()
  const panel = visit.page.locator('.panel')
  await panel.getByText('The gateway refused the request with 400 (invalid_type)').waitFor()
  expect(visit.page.url()).toContain(id)
  const text = await panel.textContent()
  for (const part of ['Requested modelhouse', 'Fieldmax_tokens', 'Reason', 'Caused bycaller'])
    expect(text).toContain(part)
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('the request and the answer are shown as text, cut if long; if they are not kept, the page says so', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'operator' })
  const { page } = visit
  const show = async (id: string) => {
    await visit.open(`requests/${id}`)
    await page.getByRole('button', { name: 'Show request and response' }).click()
    await visit.settled()
  }
  await show(whole)
  const asked = await page.getByRole('figure', { name: 'Request' }).last().textContent()
  expect(JSON.parse(asked ?? '').messages[0].content).toBe(`${SCRIPT} [sandbox cached=28]`)
  expect(await page.getByRole('figure', { name: 'Response' }).last().textContent()).toContain('"choices"')
  expect(await page.locator('.panel img').count()).toBe(0)

  await show(long)
  await page.getByText(/^Request\. The first 20,000 of 24,\d+ characters\.$/).waitFor()
  expect((await page.getByRole('figure', { name: 'Request' }).last().textContent())?.length).toBe(20_000)

  await show(bare)
  await page.getByText('The bodies of this request are not stored').waitFor()
  const looks = await gateway.server.world.db.query({
    sql: `select target from audit_trail where action = 'request.bodies' order by id`,
  })
  expect(looks.map(({ target }) => target)).toEqual([`request:${whole}`, `request:${long}`])
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

test('a low balance shows how long it lasts at the rate of the last hour', async () => {
  const { db, now } = gateway.server.world
  const { balanceNano } = await gateway.balance('alice')
  const spent = (await gateway.charges()).reduce((sum, { amount }) => sum + (amount as number), 0)
  const left = Math.ceil(spent * 1.5)
  await adjust(db, {
    id: 'spent',
    account: 'alice',
    amountNano: left - balanceNano,
    now: now(),
    note: 'spent elsewhere',
  })
  const visit = await visitConsole(browser, gateway, { role: 'viewer' })
  await visit.open('overview')
  const line = visit.page.getByRole('link', { name: /^alice has \$0\.0\d+ left \(1 h at this rate\)$/ })
  expect(await line.getAttribute('title')).toBe('Rate: spending of the last hour')
  if (pictures)
    await visit.page.screenshot({ path: join(pictures, 'overview-1280-light.png'), fullPage: true })
  expect(visit.faults).toEqual([])
  await visit.page.context().close()
})

for (const [width, colours] of [
  [1280, 'light'],
  [1280, 'dark'],
  [400, 'light'],
  [400, 'dark'],
] as const) {
  test(`the page of a request has no fault at ${width} pixels in ${colours}`, async () => {
    const visit = await visitConsole(browser, gateway, { width, colours, role: 'operator' })
    for (const id of [whole, bare]) {
      await visit.open(`requests/${id}`)
      await visit.page.getByRole('button', { name: 'Show request and response' }).click()
      await visit.settled()
      const tooWide = await visit.tooWide()
      expect({ tooWide, axe: await visit.axe(), faults: visit.faults }).toEqual({
        tooWide: [],
        axe: [],
        faults: [],
      })
      if (pictures)
        await visit.page.screenshot({
          path: join(pictures, `${id === whole ? 'whole' : 'bare'}-${width}-${colours}.png`),
        })
    }
    await visit.page.context().close()
  })
}
