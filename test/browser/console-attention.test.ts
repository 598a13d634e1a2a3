// Money and things that need attention on the overview, in a real browser: margin, failures by cause, keys that spend
// too fast or expire, and models that lose money, each with its remedy in the same line.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { hold, settle } from '../../src/billing/ledger/ledger'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, journeyAs, makeAdminToken } from '../support/browser/console-visit'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const HOUR_MS = 3_600_000
let gateway: TestGateway
let browser: Browser
let ask: ReturnType<typeof askAs>

beforeAll(async () => {
  const costly = { cost: { per_1m_input_tokens: '2.00', per_1m_output_tokens: '9.00' } }
  gateway = await startTestGateway({
    balance: '10',
    models: { costly: { ...testModels['test-chat'], ...costly } as (typeof testModels)[string] },
  })
  browser = await openBrowser()
  ask = askAs(gateway, await makeAdminToken(gateway, 'owner', 'seeder'))
  await (await gateway.chat({ model: 'costly' })).text()
  // One refused because of the caller's request, and one that failed at the vendor.
  await gateway.chat({ model: 'gpt-99' })
  await gateway.chat({ messages: [{ role: 'user', content: '[sandbox status=500]' }] })
  const expires = new Date(Date.now() + 3 * 24 * HOUR_MS).toISOString().slice(0, 16)
  await ask('POST', '/keys', { name: 'trial', account: 'trials', expires_at: `${expires}Z` })
  await ask('POST', '/keys', { name: 'hurried', account: 'alice' })
  const now = gateway.server.world.now()
  for (let hours = 2; hours <= 7; hours++) await spend(20_000_000, now - hours * HOUR_MS)
  await spend(400_000_000, now - 1_000)
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** Stores a charge of the key `hurried` that ended at this time. */
async function spend(nano: number, endedAt: number): Promise<void> {
  const { db } = gateway.server.world
  const [row] = await db.query({ sql: `select id from keys where name = 'hurried'` })
  const times = { createdAt: endedAt - 1_000, expiresAt: endedAt + 60_000 }
  const charge = makeCharge(nano, { keyId: String(row?.id), model: 'test-chat', ...times })
  await hold(db, charge)
  await settle(db, charge, makeSettlement(nano, { endedAt }))
}

test('revenue, cost and margin are first, failures are shown by cause, and requests with the number charged', () =>
  journeyAs([browser, gateway], 'viewer', async ({ page, open, axe }) => {
    const figures = async () =>
      Object.fromEntries(
        await Promise.all(
          (await page.locator('a.figure').all()).map(async (box) => [
            await box.locator(':scope > span').first().textContent(),
            `${await box.locator('strong').textContent()} | ${await box.locator(':scope > span').nth(1).textContent()}`,
          ]),
        ),
      ) as Record<string, string>
    await waitFor(async () => {
      await open('overview')
      return (await figures()).Failures?.includes('1 by vendors') ?? false
    })
    const shown = await figures()
    expect(Object.keys(shown).slice(0, 5)).toEqual(['Revenue', 'Cost', 'Margin', 'Requests', 'Failures'])
    const [costed] = (await gateway.charges()).filter(({ model }) => model === 'costly')
    const margin = (Number(costed?.amount) - Number(costed?.cost)) / Number(costed?.amount)
    expect(margin).toBeLessThan(0)
    expect(shown.Margin).toStartWith(`−${Math.abs(Math.round(margin * 100))} % | −$0.00`)
    expect(shown.Failures).toEndWith('1 by vendors · 0 by the gateway · 1 by callers')
    // Seven charges were stored without a request, and refused requests have no charge.
    expect(shown.Requests).toBe('3 | 9 charged; refused requests are not')
    expect(await axe()).toEqual([])
  }))

test('a key that spends too fast can be paused in its line', () =>
  journeyAs([browser, gateway], 'operator', async ({ page, open }) => {
    await open('overview')
    const line = page.locator('.attention li', { hasText: 'hurried' })
    expect(await line.getByRole('link').first().textContent()).toBe(
      'Key hurried spent $0.40 in the last hour; $0.02 is usual',
    )
    await line.getByRole('button', { name: 'Pause' }).click()
    await waitFor(async () => {
      const { status } = (await (await ask('GET', '/keys/hurried')).json()) as { status: string }
      return status === 'paused'
    })
  }))

test('a key that expires soon is extended by 30 days in its line', () =>
  journeyAs([browser, gateway], 'operator', async ({ page, open }) => {
    const expiresAt = async () => {
      const { expires_at } = (await (await ask('GET', '/keys/trial')).json()) as { expires_at: string }
      return Date.parse(expires_at)
    }
    await open('overview')
    const before = await expiresAt()
    const line = page.locator('.attention li', { hasText: 'Key trial expires' })
    await line.getByRole('button', { name: 'Extend by 30 days' }).click()
    await line.waitFor({ state: 'detached' })
    expect((await expiresAt()) - before).toBe(30 * 24 * HOUR_MS)
    await open('keys/trial')
    await page.getByRole('heading', { name: 'Key trial' }).waitFor()
  }))

test('a model that loses money links to its price', () =>
  journeyAs([browser, gateway], 'operator', async ({ page, open, settled }) => {
    await open('overview')
    const loss = page.locator('.attention li', { hasText: 'costly loses money: $0.00' })
    await loss.getByRole('link', { name: 'See price' }).click()
    await page.getByRole('heading', { name: 'costly' }).waitFor()
    await settled()
  }))

test('a viewer sees no actions', () =>
  journeyAs([browser, gateway], 'viewer', async ({ page, open }) => {
    await open('overview')
    expect(await page.locator('.attention li').count()).toBeGreaterThan(1)
    expect(await page.locator('.attention .line-action').count()).toBe(0)
  }))
