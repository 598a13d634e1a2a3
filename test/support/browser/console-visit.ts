// A visit to the console in a real browser: it signs in by the form like a person, and records everything that must not happen:
// errors of the page, requests to other hosts, and faults that axe finds.

import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { createAdmin, makeToken } from '../../../src/admin/admins'
import { newId, randomBytes } from '../../../src/app/world'
import type { Role } from '../../../src/contract/roles'
import type { TestGateway } from '../gateway'

export interface Visit {
  page: Page
  /** Errors of the page, and requested addresses outside the gateway. */
  faults: string[]
  /** Opens a page of the console by the text after the `#`, even from an unsaved secret, and waits until it is complete. */
  open(address: string): Promise<void>
  /** Waits until nothing is loading or being sent. */
  settled(): Promise<void>
  /** Faults that axe finds, one sentence each. */
  axe(): Promise<string[]>
  /**
   * Widths between 400 and 2560 pixels at which the page scrolls sideways, or a table from 761 pixels. A visit on a smaller screen
   * tries only its own width.
   */
  tooWide(): Promise<number[]>
}

/** Headers that mark a request from a loopback address as that of another machine, or of a page of another site. */
export const OF_OTHERS: readonly Record<string, string>[] = [
  { 'x-forwarded-for': '203.0.113.7' },
  { 'cf-connecting-ip': '203.0.113.7' },
  { via: '1.0 proxy' },
  // A proxy that speaks HTTP/1.0 and sends no other header.
  { connection: 'close' },
  { host: 'evil.example.com' },
]

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
/**
 * Waits in the page until nothing loads or is being sent, and its tables and texts are in place. Opened parts appear with the next
 * frame, and send their requests from then on.
 */
const SETTLED = `new Promise((done, fail) => {
  const late = setTimeout(() => fail(new Error('the page still loads')), 100_000)
  const look = () => {
    if (document.querySelector('.loading, [aria-busy="true"]') || !document.querySelector('main h1')) {
      setTimeout(look, 10)
      return
    }
    clearTimeout(late)
    done()
  }
  requestAnimationFrame(() => setTimeout(look, 30))
})`

/** Goes to an address in the page, and waits until the console has noticed: on a busy machine the event comes late. */
const GO = `(hash) => new Promise((done) => {
  const before = location.hash
  addEventListener('hashchange', () => done(), { once: true })
  location.hash = hash
  if (location.hash === before) done()
})`

/** A usual screen, in pixels. */
const SCREEN = 1280
/** From this width, in pixels, a table hides columns instead of scrolling. */
const LINES = 761
/** Widths of telephones, tablets and screens, and both sides of each breakpoint, in pixels. */
const WIDTHS = [400, 480, 600, 759, 760, 761, 900, 1024, 1280, 1440, 1920, 2560]
const BEYOND = `new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then(() => Math.max(...[document.documentElement, ...(innerWidth < ${LINES} ? [] : document.querySelectorAll('.table-frame'))]
  .map((each) => each.scrollWidth - each.clientWidth)))`

/** The role of a visitor, the journey, and the error statuses that it causes. */
export type Journey = [role: Role, journey: (visit: Visit) => Promise<void>, refused?: readonly number[]]

interface Looks {
  width?: number
  colours?: 'light' | 'dark'
  role?: Role
  /** Signs in with this token or key. Default: that of a new admin. */
  token?: string
  /** The URL of the gateway, without a slash at the end. */
  url?: string
  /** The time zone of the browser. */
  zone?: string
  /** The language that the browser reports. */
  language?: string
  /** The language of the user. */
  locale?: string
}

/** Creates an admin and returns the token. */
export async function makeAdminToken(
  { server }: TestGateway,
  role: Role,
  name = newId(role),
): Promise<string> {
  const token = makeToken(randomBytes)
  const admin = { id: newId('adm'), name, role, token, expiresAt: null, createdAt: 1 }
  await createAdmin(server.world.db, admin)
  return token
}

/** Calls the admin API like a separate program. */
export function askAs({ url }: TestGateway, token: string) {
  return (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
}

/** Counts the clicks of a task. */
export function counted(page: Page) {
  let clicks = 0
  return {
    async click(role: 'link' | 'button', name: string, within: Pick<Page, 'getByRole'> = page) {
      clicks++
      await within.getByRole(role, { name, exact: true }).first().click()
    },
    clicks: () => clicks,
  }
}

/**
 * A journey through the console by a new admin, in which the page must have no fault. `refused` are the error statuses that it
 * causes: the browser reports each as an error.
 */
export async function journeyAs(
  [browser, gateway]: readonly [Browser, TestGateway],
  ...[role, journey, refused = []]: Journey
): Promise<void> {
  const visit = await visitConsole(browser, gateway, { role })
  await journey(visit)
  const expected = refused.map((status) =>
    expect.stringContaining(`the server responded with a status of ${status}`),
  )
  expect(visit.faults).toEqual(expected)
  await visit.page.context().close()
}

/** Signs in. The fields are found by their names: their labels are in the language of the browser. */
async function signInWith(page: Page, token: string): Promise<void> {
  await page.locator('[name=token]').fill(token)
  await page.locator('form button[type=submit]').click()
}

/** Faults that axe finds on a page, with the elements of each. */
export async function axeFaults(page: Page): Promise<{ rule: string; help: string; elements: string[] }[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(AXE)
  const { violations } = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
    violations: { id: string; help: string; nodes: { html: string }[] }[]
  }
  return violations.map(({ id, help, nodes }) => ({
    rule: id,
    help,
    elements: nodes.map(({ html }) => html),
  }))
}

export async function visitConsole(
  browser: Browser,
  gateway: TestGateway,
  looks: Looks = {},
): Promise<Visit> {
  const { width = 1280, colours = 'light', role = 'owner', token, url = gateway.url } = looks
  const { zone, language, locale = 'en-GB' } = looks
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: colours,
    locale,
    reducedMotion: 'reduce',
    ...(zone && { timezoneId: zone }),
  })
  if (language)
    await context.addInitScript(
      `Object.defineProperty(navigator, 'language', { value: '${language}', configurable: true })`,
    )
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`a script has run: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) faults.push(request.url())
  })
  // Does not use playwright's waiting functions: they evaluate a text, which the policy of the page forbids.
  const settled = async () => {
    await page.evaluate(SETTLED).catch((error) => faults.push(String(error)))
  }
  await page.goto(`${url}/console`)
  await signInWith(page, token ?? (await makeAdminToken(gateway, role)))
  await settled()
  return {
    page,
    faults,
    settled,
    async tooWide() {
      const wide: number[] = []
      for (const each of width === SCREEN ? WIDTHS : [width]) {
        await page.setViewportSize({ width: each, height: 900 })
        if (Number(await page.evaluate(BEYOND)) > 0) wide.push(each)
      }
      await page.setViewportSize({ width, height: 900 })
      return wide
    },
    async open(address) {
      await page.evaluate(`(${GO})(${JSON.stringify(`#/${address}`)})`)
      await settled()
      const leave = page.getByRole('button', { name: 'Leave without it' })
      if ((await leave.count()) === 0) return
      await leave.click()
      await settled()
    },
    async axe() {
      const found = await axeFaults(page)
      return found.map(({ rule, help, elements }) => `${rule}: ${help}: ${elements.join(' ')}`)
    },
  }
}
