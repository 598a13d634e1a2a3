// The console in a second language: selected by the browser or its user, loaded only when it is used, and complete: no
// page shows an English text that has a German translation.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { keyTexts, sellingTexts, texts } from '../../src/console/texts'
import { german } from '../../src/console/texts/german'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, makeAdminToken, type Visit, visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '1234.5',
    config: { artifacts: { keep: '1h' }, log: { bodies: { keep: '1h' } } },
  })
  browser = await openBrowser()
  await (await gateway.chat({ messages: [{ role: 'user', content: 'Guten Tag' }] })).text()
  await (await gateway.chat({ model: 'nothing-of-that-name' })).text()
  await gateway.post('/v1/videos', { model: 'test-long-video', prompt: 'Ein Fuchs' })
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

/** All texts of a language, by key. Sentences with figures are functions, which are not included. */
function listOf(words: object, place = ''): [place: string, text: string][] {
  return Object.entries(words).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string'
      ? [[`${place}.${name}`, value]]
      : typeof value === 'object' && value !== null
        ? listOf(value, `${place}.${name}`)
        : [],
  )
}

/**
 * English texts whose German text differs. Words in lower case only are left out: they are also names, such as `chat`
 * and `failed`.
 */
function translated(): Set<string> {
  const english = new Map(listOf({ texts, sellingTexts, keyTexts }))
  const own = listOf(german)
  const isSame = new Set(own.map(([, text]) => text))
  return new Set(
    own.flatMap(([place, text]) => {
      const before = english.get(place) ?? ''
      return before !== text && /[A-Z ]/.test(before) && !isSame.has(before) ? [before] : []
    }),
  )
}

/** All texts of a page, including those of its fields, buttons and pictures. */
const SHOWN = `[...document.querySelectorAll('body *')].flatMap((each) => [
  ...[...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()),
  ...['title', 'aria-label', 'placeholder', 'alt'].map((name) => each.getAttribute(name) ?? ''),
]).filter((text) => text !== '')`

async function englishOn({ page }: Visit): Promise<string[]> {
  const english = translated()
  expect(english.size).toBeGreaterThan(400)
  // Programs and bodies are not translated.
  const shown = await page.evaluate<string[]>(SHOWN)
  return [...new Set(shown)].filter((text) => english.has(text))
}

const visitInGerman = (token?: string, width = 1280) =>
  visitConsole(browser, gateway, { locale: 'de-AT', width, ...(token !== undefined && { token }) })

test('every page for operators is in German', async () => {
  const visit = await visitInGerman()
  const { page, open, faults, tooWide } = visit
  const ask = askAs(gateway, await makeAdminToken(gateway, 'viewer'))
  const { data: keys } = (await (await ask('GET', '/keys')).json()) as { data: { name: string }[] }
  const key = keys[0]?.name
  const first = async (path: string): Promise<string> => {
    const { data } = (await (await ask('GET', path)).json()) as { data: { id: string }[] }
    return data[0]?.id ?? `nothing at ${path}`
  }
  for (const address of [
    'overview',
    'accounts',
    'accounts/alice',
    'keys',
    `keys/${key}`,
    'keys/new',
    'plans',
    'codes',
    'codes/new',
    'requests',
    `requests/${await first('/requests?status=failed')}`,
    `requests/${await first('/requests?status=2xx')}`,
    'usage?by=day&and=model',
    'usage?by=model',
    'statements',
    'statements/new',
    'tasks',
    `tasks/${await first('/tasks')}`,
    'models',
    'models/test-chat',
    'upstreams',
    'upstreams/openai',
    'upstreams?part=reconciliation',
    ...['keys', 'requests', 'money', 'access', 'settings'].map((part) => `accounts/alice?part=${part}`),
    'settings',
    'settings?part=events',
    'settings?part=sessions',
    'settings?part=backups',
    'settings?part=retention',
    'settings?part=admins',
    'settings?part=audit',
  ]) {
    await open(address)
    expect({ address, english: await englishOn(visit), tooWide: await tooWide() }).toEqual({
      address,
      english: [],
      tooWide: [],
    })
  }
  expect(await page.locator('html').getAttribute('lang')).toBe('de')
  expect(await page.title()).toBe('Einstellungen · Gateway')
  expect(faults).toEqual([])
  await page.context().close()
})

test('every page for holders of keys is in German, with amounts in German format', async () => {
  const visit = await visitInGerman(gateway.secret)
  const { page, open, faults, axe, tooWide } = visit
  for (const address of [
    'home',
    'activity',
    `activity/${(await gateway.requestLog()).at(-1)?.id}`,
    'activity?show=tasks',
    'activity?show=results',
    'models',
    'models/test-chat',
    'statements',
    'connect',
    'playground',
    'playground?kind=video',
    'playground?kind=rerank',
  ]) {
    await open(address)
    const found = { english: await englishOn(visit), axe: await axe(), tooWide: await tooWide() }
    expect({ address, ...found }).toEqual({ address, english: [], axe: [], tooWide: [] })
  }
  await open('home')
  expect(await page.locator('.figure').first().textContent()).toMatch(
    /^Verfügbar1\.23\d,\d+\s\$reicht bei diesem Verbrauch noch über ein Jahr$/,
  )
  expect(faults).toEqual([])
  await page.context().close()
})

test('a selected language is kept, and its texts are loaded only when it is used', async () => {
  const visit = await visitConsole(browser, gateway, { token: gateway.secret })
  const { page, settled, faults } = visit
  const scripts: string[] = []
  page.on('response', async (response) => {
    if (response.url().endsWith('.js')) scripts.push(await response.text().catch(() => ''))
  })
  const germans = () => scripts.filter((text) => text.includes('Wird geladen')).length
  await page.reload()
  await settled()
  await waitFor(() => scripts.some((text) => text.includes('Try again')))
  expect(germans()).toBe(0)
  await page.getByLabel('Language').selectOption('de')
  await page.getByRole('button', { name: 'Abmelden' }).waitFor()
  await settled()
  expect(germans()).toBe(1)
  expect(new URL(page.url()).hash).toMatch(/^(#\/home)?$/)
  await page.reload()
  await settled()
  expect(await page.getByLabel('Sprache').inputValue()).toBe('de')
  await page.getByRole('button', { name: 'Abmelden' }).click()
  await page.getByRole('button', { name: 'Anmelden' }).waitFor()
  expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  await page.getByLabel('Sprache').selectOption('en')
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(faults).toEqual([])
  await page.context().close()
})
