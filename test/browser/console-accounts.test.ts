// Customers and keys in a real browser: create, top up, correct, limit, pause, replace secrets and revoke, and a ledger
// with the correct balance after each movement. Clicks are counted: each job takes at most four.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Config } from '../../src/config/schema'
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
import { dayIn } from '../support/days'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'{{7*7}}`

const config: Partial<Config> = {
  plans: { team: { priceFactor: '0.9', budget: { usd: '40', per: 'month' } } },
  events: { to: { ops: { slack: 'http://127.0.0.1:1/' } }, lowBalanceUsdOf: { northwind: '7.5' } },
}

let gateway: TestGateway
let browser: Browser
// biome-ignore lint/suspicious/noExplicitAny: answers of many forms
let admin: (method: string, path: string, body?: object) => Promise<any>

beforeAll(async () => {
  gateway = await startTestGateway({ config })
  browser = await openBrowser()
  const token = await makeAdminToken(gateway, 'owner', 'seeder')
  const ask = askAs(gateway, token)
  admin = async (method, path, body) => {
    const response = await ask(method, path, body)
    return response.json()
  }
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const visiting = (...given: Journey) => journeyAs([browser, gateway], ...given)

test('neither a key press nor a link loses a secret that is shown only once', () =>
  visiting('operator', async ({ page, open, axe }) => {
    await open('keys')
    await page.getByRole('link', { name: 'New key' }).click()
    await page.getByLabel('Name', { exact: true }).fill('kept')
    await page.getByRole('button', { name: 'New key' }).click()
    const secret = await page.locator('.secret code').first().textContent()
    const question = page.getByRole('dialog', { name: 'The secret is not saved' })
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => page.getByRole('link', { name: 'Requests' }).first().click(),
      () => page.getByRole('link', { name: 'Close' }).click(),
      () => page.goBack(),
      () => page.getByRole('button', { name: 'Sign out' }).click(),
      async () => {
        await page.keyboard.press('g')
        await page.keyboard.press('t')
      },
      async () => {
        await page.keyboard.press('Control+k')
        await page.keyboard.type('stmts')
        await page.getByRole('option', { name: 'Statements' }).first().waitFor()
        await page.keyboard.press('Enter')
      },
    ]) {
      await leave()
      await question.waitFor()
      await question.getByRole('button', { name: 'Stay' }).click()
      // Keys pressed while the dialog is open do not reach the page.
      await question.waitFor({ state: 'detached' })
      expect(await page.locator('.secret code').first().textContent()).toBe(secret)
      expect(page.url()).toContain('#/keys/new')
    }
    // On a reload, the browser shows its own question.
    const asked = await page.evaluate(`!dispatchEvent(new Event('beforeunload', { cancelable: true }))`)
    expect(asked).toBe(true)
    await page.keyboard.press('Escape')
    await question.waitFor()
    expect(await axe()).toEqual([])
    const downloading = page.waitForEvent('download')
    await question.getByRole('button', { name: 'Download and leave' }).click()
    const text = await Bun.file((await (await downloading).path()) as string).text()
    expect(text).toContain(`${secret}\n`)
    expect(text).toContain('whsec_')
    await page.locator('.panel').waitFor({ state: 'detached' })
    // The page does not ask if there is nothing to lose.
    await page.getByRole('link', { name: 'Requests' }).first().click()
    expect(await question.count()).toBe(0)
    expect(page.url()).toContain('#/requests')
  }))

test('a secret is copied without the clipboard API, and the page can then be left', () =>
  visiting('operator', async ({ page, open }) => {
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await open('keys')
    await page.getByRole('link', { name: 'New key' }).click()
    await page.getByLabel('Name', { exact: true }).fill('copied')
    await page.getByRole('button', { name: 'New key' }).click()
    for (const place of [0, 1])
      await page.locator('.secret').nth(place).getByRole('button', { name: 'Copy' }).click()
    expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(2)
    await page.keyboard.press('Escape')
    await page.locator('.panel').waitFor({ state: 'detached' })
  }))

test('one form creates a customer: account, plan, first money, and first key with its limits', () =>
  visiting(
    'operator',
    async ({ page, open, settled, axe }) => {
      await open('overview')
      const { click, clicks } = counted(page)
      await click('link', 'Customers')
      await click('link', 'New customer')
      const panel = page.locator('.panel')
      await panel.getByLabel('Name', { exact: true }).fill('northwind')
      await panel.getByLabel('Display name').fill(SCRIPT)
      await panel.getByLabel('Plan').selectOption('team')
      await panel.getByLabel('Opening balance in dollars').fill('25.5')
      await panel.getByText('Limits of the key').press('Enter')
      await panel.getByLabel('Requests per minute').fill('30')
      expect(await axe()).toEqual([])
      await click('button', 'Create customer')
      const secret = (await page.locator('.secret code').first().textContent()) ?? ''
      expect(clicks()).toBe(3)
      const answer = await gateway.chat({ max_tokens: 1 }, { authorization: `Bearer ${secret}` })
      expect(answer.status).toBe(200)
      await answer.text()
      expect(await admin('GET', '/keys/northwind')).toMatchObject({ requests_per_minute: 30 })
      expect(await admin('GET', '/accounts/northwind')).toMatchObject({
        plan: 'team',
        display_name: SCRIPT,
      })
      const [, entry] = (await admin('GET', '/audit?limit=2')).data
      expect(entry).toMatchObject({ action: 'account.create', after: { plan: 'team', key: 'northwind' } })
      expect(JSON.stringify(entry)).not.toContain(secret)
      // The name is already in use: nothing is created, and the form says so.
      for (const place of [0, 1])
        await page.locator('.secret').nth(place).getByRole('button', { name: 'Copy' }).click()
      await page.getByRole('link', { name: 'Open northwind' }).click()
      await page.getByRole('heading', { name: 'Customer northwind' }).waitFor()
      await settled()
      await open('accounts/new')
      await panel.getByLabel('Name', { exact: true }).fill('northwind')
      await panel.getByLabel('Name of the key').fill('another')
      await panel.getByLabel('Opening balance in dollars').fill('9')
      await panel.getByRole('button', { name: 'Create customer' }).click()
      await page.getByRole('alert').getByText('An account named northwind already exists').waitFor()
      expect((await gateway.balance('northwind')).balanceNano).toBeLessThanOrEqual(25.5e9)
    },
    [409],
  ))

test('a customer is found by any part of its name, and one page shows its money, keys, requests and history', () =>
  visiting('operator', async ({ page, open, settled, axe }) => {
    const { key } = await admin('POST', '/customers', {
      account: 'seaside',
      display_name: 'Seaside & Daughters',
      plan: 'team',
      balance_usd: '12',
    })
    for (let count = 0; count < 2; count++)
      await (await gateway.chat({}, { authorization: `Bearer ${key}` })).text()
    await gateway.server.world.requestLog.flush()
    const today = dayIn(0)
    await open('accounts')
    await page.getByRole('searchbox', { name: 'Name' }).fill('daughters')
    await page.keyboard.press('Enter')
    await settled()
    const row = page.getByRole('table', { name: 'Customers' }).locator('tbody tr')
    expect(await row.count()).toBe(1)
    // Midnight may have passed.
    expect(await row.textContent()).toMatch(new RegExp(`${today}|${dayIn(0)}`))
    const { click, clicks } = counted(page)
    await row.getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Customer seaside' }).waitFor()
    await page.getByText(/^over a year at this rate$/).waitFor()
    await page.getByText('of $40.00 this month').waitFor()
    await settled()
    expect(await page.getByRole('table', { name: 'Last requests' }).locator('tbody tr').count()).toBe(2)
    expect(await axe()).toEqual([])
    await click('button', 'Add money')
    await page.getByLabel('Dollars', { exact: true }).fill('3')
    await click('button', 'Add dollars')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(clicks() + 1).toBeLessThanOrEqual(4)
    expect((await admin('GET', '/accounts/seaside')).balance_usd).toStartWith('14.9')
    for (const [tab, shown] of [
      ['Keys', 'sk-'],
      ['Requests', 'test-chat'],
      ['Money', 'Issue statements'],
      ['Events and history', 'account.create'],
      ['Settings', 'Operators are notified when nothing is left: ops.'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Customer seaside' }).getByText(tab, { exact: true }).click()
      await settled()
      expect({ tab, text: await page.locator('main').textContent() }).toMatchObject({
        tab,
        text: expect.stringContaining(shown),
      })
      expect({ tab, axe: await axe() }).toEqual({ tab, axe: [] })
    }
    await open('accounts/northwind?part=settings')
    await page.getByText('Operators are notified when the available balance is below $7.50: ops.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('table', { name: 'Customers' }).waitFor()
  }))

test('the page of a customer shows a holder’s session, which an operator ends', () =>
  visiting('operator', async ({ page, open, settled }) => {
    const { key } = await admin('POST', '/customers', { account: 'signed-in' })
    const visit = await visitConsole(browser, gateway, { token: key })
    await open('accounts/signed-in?part=access')
    await page.getByRole('button', { name: 'End session' }).click()
    await settled()
    await page.getByRole('table', { name: 'Console sessions' }).getByText('ended').waitFor()
    await visit.page.getByRole('link', { name: 'Models' }).first().click()
    await visit.page.getByLabel('Token or key').waitFor()
    await visit.page.context().close()
  }))

test('keys and accounts are created, topped up, corrected, limited, paused and revoked', () =>
  visiting(
    'operator',
    async ({ page, open, settled }) => {
      await open('keys')
      await page.getByRole('link', { name: 'New key' }).click()
      await page.getByLabel('Name', { exact: true }).fill('shop')
      await page.getByLabel('Requests per minute').fill('7')
      await page.getByRole('button', { name: 'New key' }).click()
      const secret = await page.locator('.secret code').first().textContent()
      expect(secret).toStartWith('sk-')
      expect(await admin('GET', '/keys/shop')).toMatchObject({ requests_per_minute: 7, concurrency: null })

      await open('accounts/shop?part=money')
      await page.getByRole('button', { name: 'Add money' }).click()
      await page.getByLabel('Dollars', { exact: true }).fill('nothing')
      await page.getByRole('button', { name: 'Add dollars' }).click()
      await page.getByRole('alert').waitFor()
      expect(await page.locator('[name=amount_usd]:focus').count()).toBe(1)
      await page.getByLabel('Dollars', { exact: true }).fill('2.000000001')
      await page.getByRole('button', { name: 'Add dollars' }).click()
      await page.getByRole('cell', { name: '$2.000000001' }).first().waitFor()
      await page.getByRole('button', { name: 'Adjust balance' }).click()
      await page.getByLabel('Amount in dollars (negative to deduct)').fill('-0.5')
      await page.getByLabel('Reason').fill(SCRIPT)
      await page.getByRole('button', { name: 'Adjust', exact: true }).click()
      await page.getByRole('cell', { name: '−$0.50' }).waitFor()
      expect(await admin('GET', '/accounts/shop')).toMatchObject({ balance_usd: '1.500000001' })

      await open('keys/shop')
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByRole('button', { name: 'Resume' }).waitFor()
      await page.getByRole('button', { name: 'Revoke…' }).click()
      await page.getByText('It has never been used.').waitFor()
      await page.getByLabel('Type shop to confirm').fill('shap')
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      await page.getByRole('alert').waitFor()
      expect(await admin('GET', '/keys/shop')).toMatchObject({ status: 'paused' })
      await page.getByLabel('Type shop to confirm').fill('shop')
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await settled()
      expect(await admin('GET', '/keys/shop')).toMatchObject({ status: 'revoked' })
    },
    [400],
  ))

test('forms and filters suggest accounts by any part of their names, and the keyboard selects one', () =>
  visiting('operator', async ({ page, open, settled, axe }) => {
    await admin('POST', '/customers', {
      account: 'acme-north',
      display_name: 'Northern Star',
      key: { name: 'north' },
    })
    await open('keys/new')
    const field = page.locator('.panel').getByLabel('Account', { exact: true })
    const offered = page.locator('main [role=option]')
    expect(await offered.count()).toBe(0)
    await field.pressSequentially('ern st')
    await page.getByRole('option', { name: 'acme-north Northern Star', exact: true }).waitFor()
    // The suggestions for the previous letters stay until the new ones arrive.
    await waitFor(async () => (await offered.count()) === 1)
    await page.keyboard.press('ArrowDown')
    expect(await axe()).toEqual([])
    await page.keyboard.press('Enter')
    expect([await field.inputValue(), await offered.count()]).toEqual(['acme-north', 0])
    await page.getByLabel('Name', { exact: true }).fill('north-2')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.locator('.secret').first().waitFor()
    expect(await admin('GET', '/keys/north-2')).toMatchObject({ account: 'acme-north' })
    await open('keys')
    const filter = page.getByRole('search').getByLabel('Account')
    await filter.pressSequentially('north')
    await page.getByRole('option', { name: 'acme-north' }).waitFor()
    expect(await filter.inputValue()).toBe('north')
    await page.getByRole('option', { name: 'acme-north' }).click()
    expect(await filter.inputValue()).toBe('acme-north')
    await settled()
    expect(page.url()).toContain('account=acme-north')
    expect(await page.locator('main tbody tr').count()).toBe(2)
  }))

test('a key: limits are changed, a paused key is refused, and a new secret replaces the old one', () =>
  visiting('operator', async ({ page, open }) => {
    const { key: old } = await admin('POST', '/keys', { name: 'rolled', account: 'alice' })
    const statusOf = async (secret: string) =>
      (await gateway.chat({ max_tokens: 1 }, { authorization: `Bearer ${secret}` })).status
    await open('keys/rolled')
    const limits: [label: string, value: string][] = [
      ['Models', 'test-chat, test-google'],
      ['Requests per minute', '90'],
      ['Tokens per minute', '9000'],
      ['Concurrent requests', '2'],
      ['Budget', '3.5'],
      ['Expires, UTC', '2031-10-01T12:30'],
    ]
    for (const [label, value] of limits)
      await page.locator('.panel').getByLabel(label, { exact: true }).fill(value)
    await page.getByLabel('Budget period').selectOption('month')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('$0.00 of $3.50 this month').waitFor()
    expect(await admin('GET', '/keys/rolled')).toMatchObject({
      models: ['test-chat', 'test-google'],
      requests_per_minute: 90,
      tokens_per_minute: 9_000,
      concurrency: 2,
      budget_usd: '3.50',
      budget_period: 'month',
      expires_at: '2031-10-01T12:30:00.000Z',
    })
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await waitFor(async () => (await statusOf(old)) === 403)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await waitFor(async () => (await statusOf(old)) === 200)
    await page.getByRole('button', { name: 'Roll…' }).click()
    await page.getByRole('dialog').getByText('is refused at once').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const made = (await page.locator('.secret code').textContent()) ?? ''
    expect([await statusOf(made), made === old]).toEqual([200, false])
    await waitFor(async () => (await statusOf(old)) === 401)
    // The audit trail has each change with its author, its object, and the values before and after, but no secret.
    await open('settings?part=audit&target=key:rolled')
    const lines = await page.getByRole('table', { name: 'Audit trail' }).locator('tbody tr').all()
    const trail = await Promise.all(lines.map((line) => line.locator('td').allTextContents()))
    expect(trail.map(([, , action]) => action)).toEqual([
      'key.roll',
      'key.resume',
      'key.pause',
      'key.update',
      'key.create',
    ])
    const [, who, , target, , after] = trail[3] ?? []
    expect([who, target]).toEqual([expect.stringMatching(/^operator_/), 'key:rolled'])
    expect(after).toContain('requests_per_minute 90')
    expect(trail.flat().join()).not.toContain(made)
  }))

test('the ledger of a customer shows the balance after each movement, and links to requests', () =>
  visiting('viewer', async ({ page, open, settled }) => {
    const { key } = await admin('POST', '/keys', { name: 'ledgered' })
    await admin('POST', '/accounts/ledgered/credits', { amount_usd: '2', note: 'invoice 7' })
    for (let count = 0; count < 2; count++)
      await (await gateway.chat({}, { authorization: `Bearer ${key}` })).text()
    // Movements in the same millisecond have no order in a ledger.
    await Bun.sleep(2)
    await admin('POST', '/accounts/ledgered/adjustments', { amount_usd: '-0.25', note: 'too much' })
    await gateway.server.world.requestLog.flush()
    await open('accounts/ledgered?part=money')
    const nano = (text = '') => Math.round(Number(text.replace('−', '-').replace(/[$,]/g, '')) * 1e9)
    const lines = await page.getByRole('table', { name: 'Ledger' }).locator('tbody tr').all()
    const cells = await Promise.all(lines.map((line) => line.locator('td').allTextContents()))
    expect(cells.map(([, kind]) => kind)).toEqual([
      'adjust: too much',
      'charge',
      'charge',
      'credit: invoice 7',
    ])
    let balance = 0
    for (const [, , amount, after] of cells.toReversed()) {
      balance += nano(amount)
      expect({ amount, after: nano(after) }).toEqual({ amount, after: balance })
    }
    expect((await gateway.balance('ledgered')).balanceNano).toBe(balance)
    const download = page.waitForEvent('download')
    await page.locator('main').getByRole('link', { name: 'CSV' }).click()
    expect((await download).suggestedFilename()).toContain('.csv')
    await page.getByRole('link', { name: 'request', exact: true }).first().click()
    await page.getByRole('heading', { name: /^req_/ }).waitFor()
    await page.getByText('settled').waitFor()
    await open('accounts/ledgered?part=money')
    await page.locator('main').getByText('No statements yet.').waitFor()
    await settled()
  }))

test('a customer is frozen, reopened, named, and closed permanently', () =>
  visiting('owner', async ({ page, open, settled }) => {
    const { key } = await admin('POST', '/keys', { name: 'closing' })
    await admin('POST', '/accounts/closing/credits', { amount_usd: '1' })
    const statusOf = async () =>
      (await gateway.chat({ max_tokens: 1 }, { authorization: `Bearer ${key}` })).status
    const confirm = async (action: string, consequence: string, name?: string) => {
      await page.getByRole('button', { name: action }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(consequence).waitFor()
      if (name) await dialog.getByLabel(`Type ${name} to confirm`).fill(name)
      await dialog.getByRole('button', { name: action.replace('…', ''), exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await settled()
    }
    await open('accounts/closing?part=settings')
    await confirm('Freeze…', '0 running requests end as usual and are charged.')
    await waitFor(async () => (await statusOf()) === 403)
    await page.getByRole('button', { name: 'Unfreeze' }).click()
    await waitFor(async () => (await statusOf()) === 200)
    await page.getByLabel('Display name').fill('Closing & Sons')
    await page
      .locator('main form', { has: page.getByLabel('Display name') })
      .getByRole('button')
      .click()
    await page.locator('.facts-line').getByText('Closing & Sons').waitFor()
    await confirm('Close…', '$0.00 is held now', 'closing')
    await waitFor(async () => (await statusOf()) === 403)
    expect(await admin('GET', '/accounts/closing')).toMatchObject({
      status: 'closed',
      display_name: 'Closing & Sons',
    })
    await page.locator('.facts-line').getByText('closed').waitFor()
    expect(await page.getByRole('button', { name: 'Add money' }).count()).toBe(0)
  }))
