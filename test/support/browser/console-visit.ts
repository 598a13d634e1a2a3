// A visit to the console in a real browser: signed in by the form as a person would, with all that must not happen noted:
// errors of the page, requests to elsewhere, and faults that axe finds.

import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { createAdmin, makeToken } from '../../../src/admin/admins'
import { newId, randomBytes } from '../../../src/app/world'
import type { Role } from '../../../src/contract/roles'
import type { TestGateway } from '../gateway'

export interface Visit {
  page: Page
  /** Errors of the page, and addresses that are not the gateway's. */
  faults: string[]
  /** Opens a page of the console by what is behind the `#`, also from an unsaved secret, and waits until all of it is there. */
  open(address: string): Promise<void>
  /** Waits until nothing is loading or being sent. */
  settled(): Promise<void>
  /** Faults that axe finds, one sentence each. */
  axe(): Promise<string[]>
  /**
   * Widths between 400 and 2560 pixels at which what is shown scrolls sideways: the page, or on a usual screen a table. A visit
   * on a smaller screen tries its own width only.
   */
  tooWide(): Promise<number[]>
}

/** Headers by which a request from a loopback address is one of another machine, or of a page of another site. */
export const OF_OTHERS: readonly Record<string, string>[] = [
  { 'x-forwarded-for': '203.0.113.7' },
  { 'cf-connecting-ip': '203.0.113.7' },
  { via: '1.0 proxy' },
  // A proxy that speaks HTTP/1.0 and says nothing else.
  { connection: 'close' },
  { host: 'evil.example.com' },
]

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')
/**
 * Waits in the page until nothing loads or is being sent, and its tables and texts are in place. What was opened is put in place
 * with the next frame, and asks from there on.
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

/** A usual screen, in pixels: on a smaller one a table may scroll by itself. */
const SCREEN = 1280
/** Widths of telephones, tablets and screens, and both sides of where the styles change, in pixels. */
const WIDTHS = [400, 480, 600, 759, 760, 761, 900, 1024, 1280, 1440, 1920, 2560]
const BEYOND = `new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then(() => Math.max(...[document.documentElement, ...(innerWidth < ${SCREEN} ? [] : document.querySelectorAll('.table-frame'))]
  .map((each) => each.scrollWidth - each.clientWidth)))`

/** The role of a visitor, the journey, and statuses of answers that it asks for. */
export type Journey = [role: Role, journey: (visit: Visit) => Promise<void>, refused?: readonly number[]]

interface Looks {
  width?: number
  colours?: 'light' | 'dark'
  role?: Role
  /** Signs in with this token or key. Default: that of a new admin. */
  token?: string
  /** Where the gateway is reached, without a slash at the end. */
  url?: string
  /** The time zone of the browser. */
  zone?: string
  /** The language that the browser reports. */
  language?: string
  /** The language that its user reads. */
  locale?: string
}

/** Makes an admin and answers the token. */
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

/** Asks the admin API, as a program next to the console. */
export function askAs({ url }: TestGateway, token: string) {
  return (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
}

/** Counts the clicks of a job. */
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
 * A journey through the console by a new admin, and no fault of the page in it. `refused` are statuses of answers that it asks
 * for: the browser tells each as an error.
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
  // Not by a function of playwright that waits: it would evaluate a text, which the policy of the page forbids.
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
