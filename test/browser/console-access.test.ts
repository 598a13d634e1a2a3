// The console without a mouse, in a real browser: the focus never moves behind a panel, the palette finds pages, names
// and actions, and every focus stop of a list has a purpose.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { describeAccount } from '../../src/accounts/accounts'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, journeyAs, makeAdminToken, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

let gateway: TestGateway
let browser: Browser

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '10',
    config: { plans: { team: { priceFactor: '0.9', budget: { usd: '50', per: 'month' } }, solo: {} } },
  })
  browser = await openBrowser()
  await gateway.makeKey('team', '5')
  const details = { displayName: 'Team North', note: null, budget: null, plan: 'team' }
  await describeAccount(gateway.server.world.db, { ...details, account: 'team' })
  for (let count = 0; count < 12; count++) await (await gateway.chat({})).text()
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** In the page: the focused element, and whether its visible part is completely covered by something else. */
const FOCUSED = `(() => {
  const at = document.activeElement
  if (at === document.body) return { name: 'body', isCovered: false, isInPanel: false }
  const box = at.getBoundingClientRect()
  const points = [0.02, 0.5, 0.98].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [box.left + box.width * x, box.top + box.height * y]))
    .filter(([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight)
  const isSeen = points.some(([x, y]) => {
    const hit = document.elementFromPoint(x, y)
    return hit !== null && (at.contains(hit) || hit.contains(at) && !hit.closest('.panel:not(:has(:focus))'))
  })
  return { name: at.outerHTML.slice(0, 80), isCovered: points.length > 0 && !isSeen, isInPanel: at.closest('.panel') !== null }
})()`

/** In the page: focus stops that only scroll, but have nothing to scroll. */
const VAIN_STOPS = `[...document.querySelectorAll('main [tabindex="0"]:not(a, button, input, select, textarea, [role=slider])')]
  .filter((each) => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight)
  .map((each) => each.outerHTML.slice(0, 120))`

for (const width of [400, 768, 1280, 1440])
  test(`Tab never focuses an element covered by a panel at ${width} pixels`, async () => {
    const { page, open, faults } = await visitConsole(browser, gateway, { width })
    for (const address of ['plans/team', 'keys/new', 'overview']) {
      await open(address)
      const stops: { name: string; isCovered: boolean; isInPanel: boolean }[] = []
      for (let count = 0; count < 60; count++) {
        await page.keyboard.press('Tab')
        stops.push((await page.evaluate(FOCUSED)) as (typeof stops)[number])
      }
      expect({ address, covered: stops.filter(({ isCovered }) => isCovered) }).toEqual({
        address,
        covered: [],
      })
      if (address !== 'overview') expect(stops.some(({ isInPanel }) => isInPanel)).toBe(true)
    }
    // When the panel is closed, everything can be focused again.
    expect(await page.locator('[inert]').count()).toBe(0)
    expect(faults).toEqual([])
    await page.context().close()
  })

test('a table is a focus stop only if it scrolls sideways', async () => {
  const { secret } = await gateway.makeKey('holder', '5')
  for (const [token, pages] of [
    [undefined, ['overview', 'requests', 'accounts', 'keys', 'models', 'upstreams', 'usage?by=model']],
    [secret, ['home', 'activity', 'models', 'connect']],
  ] as const) {
    const { page, open } = await visitConsole(browser, gateway, token ? { token } : {})
    for (const address of pages) {
      await open(address)
      expect({ address, stops: await page.evaluate(VAIN_STOPS) }).toEqual({ address, stops: [] })
    }
    await page.context().close()
  }
  // A list that cannot become narrow enough scrolls, so the keyboard must reach it.
  const { page, open } = await visitConsole(browser, gateway)
  await open('requests')
  const frame = page.locator('main .table-frame').first()
  expect(await frame.getAttribute('tabindex')).toBeNull()
  await page.setViewportSize({ width: 1280, height: 900 })
  await frame.evaluate((each) => {
    ;(each as unknown as { style: { width: string } }).style.width = '120px'
  })
  await waitFor(async () => (await frame.getAttribute('tabindex')) === '0')
  await page.context().close()
})

test('on a wide screen, the rows next to an open panel open their own panels', () =>
  journeyAs([browser, gateway], 'viewer', async ({ page, open }) => {
    await open('plans/team')
    await page.getByRole('link', { name: 'solo', exact: true }).click()
    await page.getByRole('heading', { name: 'Plan solo' }).waitFor()
  }))

test('axe finds no fault in a plan with its accounts at 400 pixels', async () => {
  const { page, open, axe } = await visitConsole(browser, gateway, { width: 400 })
  await open('plans/team')
  await page.getByText('Team North').waitFor()
  expect(await axe()).toEqual([])
  await page.context().close()
})

test('Ctrl+K opens the palette, which finds pages, tabs and actions by their letters', () =>
  journeyAs([browser, gateway], 'owner', async ({ page, settled, axe }) => {
    const search = page.getByRole('combobox', { name: /^Search/ })
    const choose = async (typed: string, title: string) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(typed)
      await page.getByRole('option', { name: title }).first().waitFor()
    }
    await choose('stmts', 'Statements')
    await page.keyboard.press('Escape')
    await choose('audit', 'Settings: Audit trail')
    expect(await axe()).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL('**#/settings?part=audit')
    await settled()
    await choose('theme: dark', 'Theme: Dark')
    await page.keyboard.press('Enter')
    await waitFor(async () => (await page.locator('html').getAttribute('data-theme')) === 'dark')
    // The last opened page is offered before anything is typed; a theme has no address.
    await search.focus()
    expect(await page.locator('#hits [role=option]').allTextContents()).toEqual([
      'Settings: Audit trail page',
    ])
  }))

test('the palette runs actions on keys that it finds by name', () =>
  journeyAs([browser, gateway], 'operator', async ({ page }) => {
    const token = await makeAdminToken(gateway, 'owner')
    const ask = askAs(gateway, token)
    await ask('POST', '/keys', { name: 'nightly', account: 'team' })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('pause nigh')
    await page.getByRole('option', { name: 'Pause nightly' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Key nightly' }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(((await (await ask('GET', '/keys/nightly')).json()) as { status: string }).status).toBe('paused')
  }))

test('a holder finds models in the palette, but nothing for operators', async () => {
  const { secret } = await gateway.makeKey('holder', '5')
  const { page, faults } = await visitConsole(browser, gateway, { token: secret })
  await page.keyboard.press('Control+k')
  await page.keyboard.type('test-ch')
  await page
    .getByRole('option', { name: /^test-chat/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'test-chat' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('audit')
  await page.waitForTimeout(300)
  expect(await page.locator('#hits [role=option]').count()).toBe(0)
  expect(faults).toEqual([])
  await page.context().close()
})
