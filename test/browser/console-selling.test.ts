// The console's pages for plans, statements, retention and admins, in a real browser: a journey for each, by role.
// Texts from strangers stay texts, also on a printed statement.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { describeAccount } from '../../src/accounts/accounts'
import { addCredit, adjust, hold, settle } from '../../src/billing/ledger/ledger'
import { accountPeriodOf, calendarPeriod } from '../../src/billing/ledger/limits'
import { monthOf } from '../../src/billing/reports/statements'
import { renewAllowances } from '../../src/billing/selling/allowances'
import { plansOf } from '../../src/config/models/plans'
import type { Config } from '../../src/config/schema'
import { claimTurn } from '../../src/db/job-locks'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Journey, journeyAs, makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { makeCharge, makeKey, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'{{7*7}}`
const DAY_MS = 86_400_000
const NOW = Date.now()
/** The last month, and a month long ago. */
const LAST = new Date(calendarPeriod('month', NOW).beginsAt - DAY_MS).toISOString().slice(0, 7)
const OLD = ['2024-01', '2024-02'] as const

const config: Partial<Config> = {
  plans: {
    team: {
      priceFactor: '0.9',
      priceFactors: { 'test-chat': '0.8' },
      models: ['test-*'],
      requestsPerMinute: 60,
      concurrency: 20,
      budget: { usd: '20', per: 'month' },
      allowance: { usd: '5', per: 'month' },
    },
    free: { allowance: { usd: '0.5', per: 'day' } },
  },
  statements: {
    seller: { name: SCRIPT, address: [SCRIPT], taxId: SCRIPT, contact: SCRIPT },
    logo: '<b>G</b>',
    tax: { name: SCRIPT, percent: '19' },
    note: SCRIPT,
  },
  retention: { charges: '12mo' },
}

let gateway: TestGateway
let browser: Browser
let owner: string

beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10', config, mark: { 'x-gateway-sandbox': 'true' } })
  browser = await openBrowser()
  owner = await makeAdminToken(gateway, 'owner', 'seeder')
  await seed()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** Creates accounts with purchases and usage in a month long ago, in the last month, and in this one. */
async function seed(): Promise<void> {
  const { db } = gateway.server.world
  // This process does not issue old months itself, so that the journey can.
  await claimTurn(db, 'retention', 0, NOW)
  const spend = async (amountNano: number, at: number, account: string, model = 'test-chat') => {
    const own = { accountBudget: { amountNano: 20e9, period: 'month' as const } }
    const accountPeriod = accountPeriodOf(makeKey(at > NOW - DAY_MS ? own : {}), at)
    const charge = makeCharge(amountNano, {
      account,
      model,
      createdAt: at,
      expiresAt: at + 1e9,
      accountPeriod,
    })
    const conditions = accountPeriod === null ? [] : [committed(account, accountPeriod, amountNano)]
    expect(await hold(db, charge, conditions)).toEqual({ held: true })
    await settle(db, charge, makeSettlement(amountNano, { endedAt: at }))
  }
  const noon = (month: string) => (monthOf(month)?.since ?? 0) + 10 * DAY_MS
  const credit = { amountNano: 30e9, note: SCRIPT }
  for (const account of ['harbour', 'northern', 'quiet'])
    await addCredit(db, { ...credit, id: account, account, now: noon(OLD[0]) })
  for (const month of OLD) await spend(1_250_000_000, noon(month), 'harbour')
  await spend(2_400_000_068, noon(LAST), 'harbour')
  await spend(310_000_000, noon(LAST), 'harbour', SCRIPT)
  await spend(4_000_000_000, noon(LAST), 'northern', 'test-reasoning')
  await adjust(db, { id: 'corrected', account: 'harbour', amountNano: -1, now: noon(LAST), note: SCRIPT })
  const details = { displayName: SCRIPT, note: null, budget: null }
  await describeAccount(db, { ...details, account: 'harbour', plan: 'team' })
  await describeAccount(db, { ...details, account: 'northern', displayName: null, plan: 'gone' })
  // A configuration cannot contain this name, but a database can.
  await describeAccount(db, { ...details, account: 'quiet', plan: SCRIPT })
  await renewAllowances(db, plansOf(config.plans).values(), NOW)
  await spend(3_500_000_000, NOW, 'harbour')
}

/** Commits an amount to the budget of an account, as a request does. */
function committed(account: string, period: string, amountNano: number) {
  return {
    guard: 'account budget' as const,
    sql: 'insert into budgets (key_id, period, committed) values ($1, $2, $3)',
    parameters: [`account:${account}`, period, amountNano],
  }
}

async function asked(path: string) {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    headers: { authorization: `Bearer ${owner}` },
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  return (await response.json()) as any
}

const visiting = (...given: Journey) => journeyAs([browser, gateway], ...given)

test('the console says that vendors are simulated, before and after signing in', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${gateway.url}/console`)
  await page.getByLabel('Token or key').waitFor()
  await page.getByText('sandbox', { exact: true }).waitFor()
  await page.getByLabel('Token or key').fill(owner)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('seeder').waitFor()
  await page.getByText('sandbox', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token or key').waitFor()
  await page.getByText('sandbox', { exact: true }).waitFor()
  await context.close()
})

test('plans show their members and usage, and an account is moved to another plan', () =>
  visiting(
    'operator',
    async ({ page, open, settled }) => {
      await open('plans')
      await page.getByText('sandbox', { exact: true }).waitFor()
      await page.getByRole('row', { name: /gone/ }).getByText('not configured').waitFor()
      await page.getByRole('link', { name: 'team' }).click()
      await page.getByText('$3.50 of $20.00 this month').waitFor()
      await page.getByText('$3.50 of $5.00').waitFor()
      await page.getByLabel('Account', { exact: true }).fill('nobody')
      await page.getByRole('button', { name: 'Move it to team' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Account', { exact: true }).fill('northern')
      await page.getByRole('button', { name: 'Move it to team' }).click()
      await page.getByRole('cell', { name: 'northern' }).waitFor()
      expect(await asked('/plans/team')).toMatchObject({ accounts: 2, price_factor: '0.9' })

      await open('accounts/northern?part=settings')
      await page.locator('[name=plan]').selectOption('free')
      await page.getByLabel('Account budget').fill('7.5')
      await page.locator('[name=budget_period]').selectOption('week')
      await page.getByRole('button', { name: 'Save' }).first().click()
      await page.getByText('of $7.50 this week').waitFor()
      await settled()
      expect(await asked('/accounts/northern')).toMatchObject({ plan: 'free', budget_usd: '7.50' })
      const [entry] = (await asked('/audit?target=account:northern')).data
      expect(entry).toMatchObject({ before: { plan: 'team' }, after: { plan: 'free', budget_usd: '7.50' } })
    },
    [404],
  ))

test('full budgets on the overview link to the account, or to the plan that sets the budget', async () => {
  const { db } = gateway.server.world
  const day = calendarPeriod('day', NOW).name
  const month = calendarPeriod('month', NOW).name
  const budget = { amountNano: 2e9, period: 'day' as const }
  for (const [account, plan] of [
    ['tight', null],
    ['full', 'team'],
    ['easy', 'team'],
  ] as const) {
    const credit = { id: account, account, amountNano: 1e9, now: NOW, note: null }
    await addCredit(db, credit)
    await describeAccount(db, { account, displayName: null, note: null, plan, budget: plan ? null : budget })
  }
  const used = [
    committed('tight', day, 1_900e6),
    committed('full', month, 19e9),
    committed('easy', month, 5e9),
  ]
  await db.batch(used)
  await visiting('viewer', async ({ page, open, axe }) => {
    await open('overview')
    expect(await axe()).toEqual([])
    await page.getByRole('link', { name: 'tight has used 95 % of its budget per day' }).click()
    await page.getByRole('heading', { name: 'Customer tight' }).waitFor()
    await open('overview')
    expect(await page.getByRole('link', { name: /easy has/ }).count()).toBe(0)
    await page.getByRole('link', { name: 'full has used 95 % of the budget of plan team per month' }).click()
    await page.getByText('$19.00 of $20.00 this month').waitFor()
  })
})

test('statements of a month are issued, and one is opened to print, as a table and as JSON', () =>
  visiting('operator', async ({ page, faults, open, settled, axe }) => {
    await open('statements')
    await page.getByText('Issue those of a past month').waitFor()
    await page.getByRole('link', { name: 'Issue a month' }).click()
    expect(await page.locator('.panel [name=month]').inputValue()).toBe(LAST)
    await page.getByRole('button', { name: 'Issue statements' }).click()
    await page.getByRole('status').getByText(`3 statements of ${LAST} issued.`).waitFor()
    await page.getByRole('button', { name: 'Issue statements' }).click()
    await page.getByRole('status').getByText(`nothing to issue for ${LAST}`).waitFor()
    await page.keyboard.press('Escape')
    await settled()
    await page.getByRole('button', { name: 'Verify all' }).click()
    await page.getByText('3 statements are unchanged.').waitFor()
    const numbers = await page.locator('main tbody td:first-child').allTextContents()
    expect(numbers).toEqual(['3', '2', '1'])
    await open('statements?account=harbour')
    await page.locator('main .row-link').click()
    await page.getByRole('table', { name: 'Balance' }).getByRole('cell', { name: '−$2.710000068' }).waitFor()
    await page.getByRole('cell', { name: SCRIPT }).first().waitFor()

    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Open to print' }).click()
    const printed = await opened
    printed.on('dialog', () => faults.push('a script has run'))
    await printed.getByRole('heading', { name: 'Statement 1' }).waitFor()
    expect(await printed.locator('img, script').count()).toBe(0)
    expect((await printed.locator('body').textContent())?.split(SCRIPT).length).toBeGreaterThan(6)
    await printed.close()
    for (const [name, file] of [
      ['CSV', 'statement-1.csv'],
      ['JSON', 'statement-1.json'],
    ] as const) {
      const download = page.waitForEvent('download')
      await page.getByRole('link', { name, exact: true }).click()
      expect((await download).suggestedFilename()).toBe(file)
    }
    expect(await axe()).toEqual([])
  }))

test('retention lists what would be closed, and an owner closes it', () =>
  visiting('owner', async ({ page, open, settled }) => {
    await open('settings?part=retention')
    await page.getByText('Charges stay 12 months.').waitFor()
    await page.getByText('No month is closed').waitFor()
    expect(await page.locator('main tbody td:first-child').allTextContents()).toEqual([...OLD])
    await page.getByRole('button', { name: 'Close now…' }).click()
    await page.getByText('2 charges of 2 months move from the database').waitFor()
    await page.getByLabel(`Type ${OLD[0]} to confirm`).fill(OLD[0])
    await page.getByRole('dialog').getByRole('button', { name: 'Close now', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('No month with charges is old enough.').waitFor()
    await settled()
    expect((await asked('/retention')).closed).toMatchObject(OLD.map((month) => ({ month, charges: 1 })))
    expect((await asked('/audit?action=retention.close')).data).toHaveLength(1)
  }))

test('an admin is created with a role, and its token is shown once', () =>
  visiting(
    'owner',
    async ({ page, open, settled }) => {
      await open('settings?part=admins')
      await page.getByRole('link', { name: 'New admin' }).click()
      await page.getByLabel('Name', { exact: true }).fill('seeder')
      await page.getByRole('button', { name: 'New admin' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Name', { exact: true }).fill('grace')
      await page.getByLabel('Role').selectOption('operator')
      await page.getByRole('button', { name: 'New admin' }).click()
      const token = (await page.locator('.secret code').textContent()) ?? ''
      const headers = { authorization: `Bearer ${token}` }
      const me = await (await fetch(`${gateway.url}/admin/v1/me`, { headers })).json()
      expect(me).toMatchObject({ name: 'grace', role: 'operator', status: 'active' })
      await page.getByRole('link', { name: 'All admins' }).click()
      await page.getByRole('button', { name: 'Leave without it' }).click()
      await settled()
      expect(await page.content()).not.toContain(token)
      await page.getByRole('row', { name: /grace/ }).getByText('operator').waitFor()
    },
    [409],
  ))

test('a request is copied as curl, without its key', () =>
  visiting('viewer', async ({ page, open }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const id = (await gateway.chat({ model: 'test-chat' })).headers.get('x-request-id')
    await gateway.server.world.requestLog.flush()
    await open(`requests/${id}`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    const text = await page.evaluate('navigator.clipboard.readText()')
    expect(text).toContain(`curl '${gateway.url}/v1/chat/completions' \\\n`)
    expect(text).toContain('with the model "test-chat"')
    expect(text).not.toContain(gateway.secret)
  }))

test('a viewer sees no control that changes plans, statements or retention', () =>
  visiting('viewer', async ({ page, open }) => {
    for (const address of [
      'plans/team',
      'statements',
      'statements/1',
      'statements/new',
      'settings?part=retention',
    ]) {
      await open(address)
      const offered = await page.locator('main button:not(.sort), main a.button').allTextContents()
      const harmless = [
        'Verify all',
        'Clear',
        'Open to print',
        'Configuration',
        'Events',
        'Backups',
        'Retention',
      ]
      expect(offered.filter((text) => ![...harmless, 'Audit trail', ''].includes(text))).toEqual([])
    }
  }))

const pages = [
  'plans',
  'plans/team',
  `plans/${encodeURIComponent(SCRIPT)}`,
  'accounts/harbour',
  'statements',
  'statements/new',
  'statements/1',
  'settings?part=retention',
  'settings/new?part=admins',
]
for (const [width, colours] of [
  [400, 'dark'],
  [768, 'light'],
  [1280, 'light'],
  [1440, 'dark'],
] as const) {
  test(`plans, statements, retention and admins have no fault at ${width} pixels in ${colours}`, async () => {
    const visit = await visitConsole(browser, gateway, { width, colours })
    for (const address of pages) {
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
