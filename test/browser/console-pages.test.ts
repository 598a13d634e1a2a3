// The console's pages for operators in a real browser: a journey for each, by role. On every page: no error, no request
// to another host, no fault found by axe, no horizontal scrolling at 400 pixels, and texts from strangers stay texts.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { adminOperations } from '../../src/admin/operations'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import {
  askAs,
  type Journey,
  journeyAs,
  makeAdminToken,
  visitConsole,
} from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'{{7*7}}`

let gateway: TestGateway
let browser: Browser
let admin: (method: string, path: string, body?: object) => Promise<Record<string, never>>

beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10', config: { usage: { metadata: ['team'] } } })
  browser = await openBrowser()
  const token = await makeAdminToken(gateway, 'owner', 'seeder')
  const ask = askAs(gateway, token)
  admin = async (method, path, body) => {
    const response = await ask(method, path, body)
    return (await response.json()) as Record<string, never>
  }
  await seed()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** Creates requests, a task, and texts from strangers wherever strangers can enter them. */
async function seed(): Promise<void> {
  await admin('PATCH', '/accounts/alice', { display_name: SCRIPT, note: SCRIPT })
  await admin('POST', '/accounts/alice/adjustments', { amount_usd: '0.5', note: SCRIPT })
  const key = await admin('POST', '/keys', {
    name: 'ci',
    account: 'team',
    budget_usd: '5',
    budget_period: 'day',
  })
  await admin('POST', '/accounts/team/credits', { amount_usd: '5', note: SCRIPT })
  const authorization = { authorization: `Bearer ${key.key}` }
  await gateway.chat({}, { ...authorization, 'x-gateway-metadata': 'team=search' })
  await gateway.chat({}, { 'x-gateway-metadata': JSON.stringify({ team: SCRIPT }) })
  await gateway.chat({ model: SCRIPT })
  const failing = `[sandbox status=500 error_text="${SCRIPT.replaceAll('"', "'")}"]`
  await gateway.chat({ messages: [{ role: 'user', content: failing }] })
  const broken = { stream: true, messages: [{ role: 'user', content: '[sandbox cut_after=3]' }] }
  await (await gateway.chat(broken)).text()
  const task = { model: 'test-long-video', prompt: `${SCRIPT} [sandbox task_end=failed]` }
  await gateway.post('/v1/videos', task)
  await gateway.server.world.requestLog.flush()
}

/** The focused element: its label or text, and whether its style shows the focus. */
const FOCUSED = `(() => {
  const at = document.activeElement
  const text = (at.labels?.[0]?.querySelector('span') ?? at.labels?.[0] ?? at).textContent.trim()
  const shows = (style) => (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none'
  const isSeen = at === document.body || shows(getComputedStyle(at)) || shows(getComputedStyle(at, '::after'))
  return { name: text, isSeen, html: at.outerHTML.slice(0, 120) }
})()`

interface Listed {
  data: { id: string; status?: number; model?: string | null; amount_usd?: string }[]
}

const listed = async (path: string) => ((await admin('GET', path)) as object as Listed).data

/** Every page, and every kind of open row. */
async function addresses(): Promise<string[]> {
  const [failed] = await listed('/requests?status=5xx')
  const [paid] = await listed('/requests?key=ci')
  const [task] = await listed('/tasks')
  return [
    'overview',
    'overview?range=30d',
    'accounts',
    'accounts/alice',
    'keys',
    'keys/ci',
    'keys/new',
    // These pages are empty here; console-selling.test.ts fills them.
    'plans',
    'statements',
    'requests',
    `requests/${failed?.id}`,
    `requests/${paid?.id}`,
    'usage?by=day&and=model',
    'usage?by=model&and=key',
    'usage?by=metadata.team&and=model',
    'requests?metadata=team%3Dsearch',
    'tasks',
    `tasks/${task?.id}`,
    'models',
    'models/test-chat',
    'upstreams',
    'upstreams/openai',
    'settings',
    'settings?part=backups',
    'settings?part=retention',
    'settings?part=admins',
    'settings?part=audit',
  ]
}

test('the console calls operations of the admin API by their paths', async () => {
  const text = await Bun.file(`${import.meta.dir}/../../src/console/api.ts`).text()
  const called = [...text.matchAll(/^ {2}(\w+): '([A-Z]+ \/[^']+)',$/gm)]
  const paths = new Map(adminOperations.map(({ id, method, path }) => [id, `${method} ${path}`]))
  expect(called.length).toBeGreaterThan(40)
  for (const [, id = '', path = ''] of called) expect([id, path]).toEqual([id, paths.get(id) ?? ''])
})

for (const [width, colours] of [
  [400, 'dark'],
  [768, 'light'],
  [1280, 'light'],
  [1440, 'dark'],
] as const) {
  test(`no page has a fault at ${width} pixels in ${colours}`, async () => {
    const visit = await visitConsole(browser, gateway, { width, colours })
    for (const address of await addresses()) {
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

const visiting = (...given: Journey) => journeyAs([browser, gateway], ...given)

test('failed requests are listed together with those whose stream broke', () =>
  visiting('viewer', async ({ page, open }) => {
    await open('requests?status=failed')
    const failed = await listed('/requests?status=failed')
    expect(await page.locator('main tbody tr').count()).toBe(failed.length)
    expect(failed.map(({ status }) => status)).toContain(200)
    expect(await page.locator('main tbody .status.good').count()).toBe(0)
  }))

test('a viewer sees no control that changes anything', () =>
  visiting('viewer', async ({ page, open }) => {
    for (const address of [
      'accounts/alice',
      'keys/ci',
      'keys/new',
      'upstreams/openai',
      'settings',
      'settings?part=backups',
    ]) {
      await open(address)
      const buttons = await page.locator('main button:not(.sort)').allTextContents()
      const customer = ['Overview', 'Keys', 'Requests', 'Money', 'Events and history', 'Settings']
      const tabs = [
        ...customer,
        'State',
        'Reconciliation',
        'Configuration',
        'Events',
        'Backups',
        'Retention',
        'Audit trail',
      ]
      const harmless = [...tabs, 'Check again', 'Clear', 'Show more']
      expect(buttons.filter((text) => !harmless.includes(text))).toEqual([])
    }
  }))

test('requests: filters are in the URL, a row opens with all details, and a refund happens once', () =>
  visiting('operator', async ({ page, open, settled }) => {
    await open('requests')
    await page.getByLabel('Search requests').fill('key:ci')
    await page.getByLabel('Search requests').press('Enter')
    await settled()
    expect(page.url()).toContain('key=ci')
    await waitFor(async () => (await page.locator('main tbody tr').count()) === 1)
    // Leaves the field, and moves to the first row.
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^req_/ }).waitFor()
    await settled()
    const before = await gateway.balance('team')
    const refund = page.getByRole('button', { name: /^Refund \$/ })
    for (let attempt = 0; attempt < 2; attempt++) {
      await refund.first().click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Refund/ })
        .click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    const [charge] = (await gateway.charges()).filter(({ account }) => account === 'team')
    const after = await gateway.balance('team')
    expect(after.balanceNano - before.balanceNano).toBe(charge?.amount as number)
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: /^req_/ }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('key=ci')
    // A filter in the URL is shown, even if the page does not list it.
    await open('requests?status=401')
    expect(await page.getByRole('group', { name: 'Status' }).getByLabel('401').isChecked()).toBe(true)
  }))

test('requests: new ones appear automatically while the list is live', () =>
  visiting('viewer', async ({ page, open }) => {
    await open('requests?key=ci')
    await page.getByRole('button', { name: 'Live: off' }).click()
    expect(page.url()).toContain('live=on')
    const rows = page.locator('main tbody tr')
    const before = await rows.count()
    const [key] = await gateway.server.world.db.query({ sql: `select id from keys where name = 'ci'` })
    expect(key).toBeDefined()
    await gateway.chat()
    await open('requests')
    await page.getByRole('button', { name: 'Live: off' }).click()
    const all = await rows.count()
    expect(all).toBeGreaterThan(before)
    await waitFor(async () => {
      await gateway.chat()
      return (await rows.count()) > all
    })
  }))

test('new rows wait while the reader is further down a list, and are shown on a click', () =>
  visiting('viewer', async ({ page, open, settled }) => {
    const rows = page.locator('main tbody tr')
    const first = () => rows.first().locator('a').first().getAttribute('href')
    const scrolled = () => page.evaluate('Math.round(scrollY)')
    const offer = page.getByRole('button', { name: 'Show new rows' })
    for (let index = 0; index < 60; index++) await (await gateway.chat()).text()
    await gateway.server.world.requestLog.flush()
    await open('requests?live=on')
    await page.getByRole('button', { name: 'Show more' }).click()
    await waitFor(async () => (await rows.count()) > 50)
    const [count, newest] = [await rows.count(), await first()]
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    const place = await scrolled()
    expect(place).toBeGreaterThan(0)
    await (await gateway.chat()).text()
    await offer.waitFor()
    expect({ count: await rows.count(), first: await first(), place: await scrolled() }).toEqual({
      count,
      first: newest,
      place,
    })
    await offer.click()
    await settled()
    await waitFor(async () => (await first()) !== newest)
    expect({ place: await scrolled(), offers: await offer.count() }).toEqual({ place: 0, offers: 0 })
    // At the top, the list updates automatically.
    const before = await first()
    await (await gateway.chat()).text()
    await waitFor(async () => (await first()) !== before)
    expect(await offer.count()).toBe(0)
  }))

test('a search that has found nothing yet offers to continue', () =>
  visiting('viewer', async ({ page, open }) => {
    // As if hundreds of thousands of rows did not match.
    await page.route(/admin\/v1\/requests\?(?!.*after=)/, (route) =>
      route.fulfill({ json: { data: [], next: '1000000', looked: 200_000 } }),
    )
    await open('requests')
    await page.getByText('None so far').waitFor()
    await page.getByRole('button', { name: 'Keep searching' }).click()
    await page.locator('main tbody tr').first().waitFor()
  }))

test('a failed task shows its vendor’s message', () =>
  visiting('operator', async ({ page, open }) => {
    const [task] = await listed('/tasks')
    await waitFor(async () => (await listed('/tasks?state=failed')).length === 1)
    await open(`tasks/${task?.id}`)
    await page.getByRole('button', { name: 'Ask the vendor again' }).waitFor()
  }))

test('settings show what a reload would change, backups, admins and the audit trail', () =>
  visiting('owner', async ({ page, open, settled }) => {
    await open('settings')
    await page.getByText('No pending changes.').waitFor()
    await page.getByRole('button', { name: 'Admins' }).click()
    const token = await makeAdminToken(gateway, 'viewer', 'leaver')
    await open('overview')
    await open('settings?part=admins')
    await page
      .getByRole('row', { name: /leaver/ })
      .getByRole('button')
      .click()
    await page.getByLabel('Type leaver to confirm').fill('leaver')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { status } = await fetch(`${gateway.url}/admin/v1/me`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(status).toBe(401)
    await open('settings?part=audit&target=admin:leaver')
    await settled()
    await page.getByRole('cell', { name: 'admin.revoke' }).waitFor()
  }))

test('the keyboard opens search, help and pages, and goes back', () =>
  visiting('viewer', async ({ page, open, settled }) => {
    await open('overview')
    await page.keyboard.press('/')
    await page.keyboard.type('ali')
    await page.getByRole('option', { name: /alice/ }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Customer alice' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next row').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.waitForURL('**#/tasks*')
    await settled()
  }))

test('an account is found, topped up and left with the keyboard alone, with a visible focus at each step', () =>
  visiting('operator', async ({ page, open, settled }) => {
    await open('overview')
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.waitForURL('**#/accounts*')
    await settled()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Customer alice' }).waitFor()
    await settled()
    const before = (await gateway.balance()).balanceNano
    const unseen: string[] = []
    /** Presses Tab until a field or button has the focus. */
    const tabTo = async (name: string) => {
      for (let presses = 0; presses < 100; presses++) {
        await page.keyboard.press('Tab')
        const focused = (await page.evaluate(FOCUSED)) as { name: string; isSeen: boolean; html: string }
        if (!focused.isSeen) unseen.push(focused.html)
        if (focused.name === name) return
      }
      throw new Error(`no key reaches ${name}`)
    }
    await tabTo('Add money')
    await page.keyboard.press('Enter')
    await tabTo('Dollars')
    await page.keyboard.type('0.25')
    await tabTo('Add dollars')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await settled()
    await tabTo('Money')
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: '$0.25' }).first().waitFor()
    expect((await gateway.balance()).balanceNano - before).toBe(250_000_000)
    expect(unseen).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Customer alice' }).waitFor({ state: 'detached' })
  }))

test('a key that signs in after an operator in the same tab gets the pages for holders', () =>
  visiting('viewer', async ({ page, open, settled }) => {
    await open('models')
    const ofOperators = await page.locator('main').textContent()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token or key').fill(gateway.secret)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await settled()
    expect(page.url()).toEndWith('#/models')
    expect(await page.locator('main').textContent()).not.toBe(ofOperators)
    expect(await page.getByText('You may not see this').count()).toBe(0)
  }))

test('signing out ends the session, and the next sign-in returns to the same page', () =>
  visiting('viewer', async ({ page, open, settled }) => {
    await open('requests?status=failed')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token or key').waitFor()
    await page.getByLabel('Token or key').fill(await makeAdminToken(gateway, 'viewer'))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await settled()
    expect(page.url()).toEndWith('#/requests?status=failed')
  }))

test('at 400 pixels a bar has five entries, and the last one opens the other pages', async () => {
  const { page, open, settled, faults, axe } = await visitConsole(browser, gateway, {
    width: 400,
    role: 'viewer',
  })
  await open('overview')
  const seen = async () => page.locator('nav.side-bar li:visible').allInnerTexts()
  expect((await seen()).map((text) => text.trim())).toEqual([
    'Overview',
    'Customers',
    'Requests',
    'Tasks',
    'More',
  ])
  await page.getByRole('button', { name: 'More' }).click()
  // The pages, More, the documentation and the language.
  expect(await seen()).toHaveLength(16)
  const bar = page.locator('nav.side-bar li:not(.further-entry)')
  const tops = await bar.evaluateAll((entries) =>
    entries.map((entry) => Math.round(entry.getBoundingClientRect().top)),
  )
  expect(new Set(tops).size).toBe(1)
  expect(await axe()).toEqual([])
  await page.getByRole('link', { name: 'Upstreams', exact: true }).first().click()
  await settled()
  expect(page.url()).toContain('#/upstreams')
  expect(await seen()).toHaveLength(5)
  // The same figures, as lines with their titles.
  await open('accounts')
  const title = `getComputedStyle(document.querySelector('main tbody td[data-title="Held"]'), '::before').content`
  expect(await page.evaluate<string>(title)).toContain('Held')
  expect(await page.locator('main tbody tr').first().textContent()).toContain('$')
  expect(faults).toEqual([])
  await page.context().close()
})

test('search finds and opens a request by its id and an account by the beginning of its name', () =>
  visiting('viewer', async ({ page, settled }) => {
    const [{ id = '' } = {}] = await listed('/requests?key=ci')
    const search = page.getByRole('combobox', { name: 'Search or jump to' })
    await search.fill(id)
    await page.getByRole('option', { name: id }).waitFor()
    await search.press('Enter')
    await page.getByRole('heading', { name: id }).waitFor()
    await settled()
    await search.fill('tea')
    await page.getByRole('option', { name: /^team account/ }).click()
    await page.getByRole('heading', { name: 'Customer team' }).waitFor()
    await search.fill('stat')
    await search.press('Enter')
    await page.waitForURL('**#/statements*')
    await settled()
  }))
