// The console's pages for holders of keys in a real browser: a journey for each, everything that the playground makes,
// and links of `gateway console`. On every page: no error, no request to another host, no fault found by axe, no
// horizontal scrolling at 400 pixels, and texts from strangers stay texts.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { createLink, makeSessionToken } from '../../src/accounts/sessions'
import { newId, randomBytes } from '../../src/app/world'
import { createCodes, makeCode } from '../../src/billing/selling/codes'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { dayIn } from '../support/days'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { postMessage, toolMessage } from '../support/mcp'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'`
/** Dates on which models are retired. */
const SOON = dayIn(20)
const LATER = dayIn(200)

let gateway: TestGateway
let browser: Browser

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '10',
    models: {
      'test-image': {
        family: 'dashscope-images',
        upstream: 'dashscope',
        upstreamModel: 'qwen-image-max',
        price: { per_image: '0.075' },
      },
      'test-speech': {
        family: 'dashscope-speech',
        upstream: 'dashscope',
        upstreamModel: 'qwen3-tts-flash',
        price: { per_1m_characters: '10' },
      },
      leaving: { ...testModels['test-chat'], retires: SOON, successor: 'test-chat' },
      staying: { ...testModels['test-chat'], retires: LATER },
    },
    // Pictures at the vendor's own address are not loaded.
    config: { artifacts: { keep: '1h' } },
  })
  browser = await openBrowser()
  await (await gateway.chat({ messages: [{ role: 'user', content: SCRIPT }] })).text()
  await (await gateway.chat({ model: SCRIPT })).text()
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const visit = (width = 1280) =>
  visitConsole(browser, gateway, { width, colours: width < 600 ? 'dark' : 'light', token: gateway.secret })

const textOf = async ({ page }: Visit, place = 'main') =>
  (await page.locator(place).allInnerTexts()).join(' ')

/** Sends the typed text in the playground, and returns its price, its cost and the element of its answer. */
async function play(visited: Visit, kind: string, field: string, text: string): Promise<string> {
  const { page } = visited
  await visited.open(`playground?kind=${kind}`)
  await page.getByRole('textbox', { name: field, exact: true }).fill(text)
  await waitFor(async () => /costs at most \$\d/.test(await textOf(visited)))
  await page.getByRole('button', { name: 'Send' }).click()
  await waitFor(async () => (await page.locator('.reply .cost, .failed').count()) > 0)
  expect(await visited.axe()).toEqual([])
  return textOf(visited, '.reply')
}

for (const width of [400, 768, 1280, 1440]) {
  test(`no page has a fault at ${width} pixels`, async () => {
    const visited = await visit(width)
    const { page, faults } = visited
    const [last] = (await gateway.requestLog()).toReversed()
    for (const place of [
      'home',
      'activity',
      `activity/${last?.id}`,
      'activity?show=tasks',
      'activity?show=results',
      'models',
      'models/test-messages',
      'connect',
      'connect?client=codex',
      'playground',
      'playground?kind=video',
    ]) {
      await visited.open(place)
      expect({ place, axe: await visited.axe() }).toEqual({ place, axe: [] })
      expect({ place, tooWide: await visited.tooWide() }).toEqual({ place, tooWide: [] })
    }
    expect(faults).toEqual([])
    await page.context().close()
  })
}

test('a model that its vendor will retire shows the date and its successor, with a warning if it is soon', async () => {
  const visited = await visit()
  const { page, faults } = visited
  await visited.open('models')
  const signOf = (day: string) => page.locator('.status.warning', { hasText: day })
  const endOf = async (id: string) => {
    const row = page.locator('tbody tr', { has: page.getByRole('link', { name: id, exact: true }) })
    return (await row.locator('td').last().textContent())?.trim()
  }
  expect(await Promise.all(['leaving', 'staying', 'test-chat'].map(endOf))).toEqual([SOON, LATER, ''])
  expect(await signOf(SOON).count()).toBe(1)
  expect(await signOf(LATER).count()).toBe(0)
  expect(await visited.axe()).toEqual([])
  await visited.open('models/leaving')
  expect(await textOf(visited, '.panel')).toContain(SOON)
  expect(await textOf(visited, '.panel')).toContain('Successor\ntest-chat')
  expect(await visited.axe()).toEqual([])
  await visited.open('models/test-chat')
  expect(await textOf(visited, '.panel')).not.toContain('Ends')
  expect(faults).toEqual([])
  await page.context().close()
})

test('a holder sees their balance, spending and requests, and redeems a code', async () => {
  const visited = await visit()
  const { page, faults } = visited
  await visited.open('home')
  expect(await textOf(visited)).toContain('test-chat')
  const { db, now } = gateway.server.world
  const text = makeCode(randomBytes)
  const code = {
    id: newId('code'),
    code: text,
    amountNano: 2_500_000_000,
    note: null,
    expiresAt: null,
    createdAt: now(),
  }
  await createCodes(db, [code])
  await page.getByLabel('Code').fill(text)
  await page.getByRole('button', { name: 'Redeem' }).click()
  await waitFor(async () => (await textOf(visited)).includes('$2.50 was added'))
  // A code can be redeemed only once, so the field is emptied.
  expect(await page.getByLabel('Code').inputValue()).toBe('')
  await page.getByLabel('Code').fill(text)
  await page.getByRole('button', { name: 'Redeem' }).click()
  await waitFor(async () => (await textOf(visited)).includes('was redeemed before'))
  // New events arrive without a reload.
  await visited.open('activity')
  const rows = (await gateway.requestLog()).length
  await waitFor(async () => (await page.locator('tbody tr').count()) === rows)
  await (await gateway.chat()).text()
  await waitFor(async () => (await page.locator('tbody tr').count()) > rows)
  await page.locator('tbody tr a').first().click()
  await waitFor(async () => (await textOf(visited, '.panel')).includes('settled'))
  // The refusal of the code is intended.
  expect(faults.filter((fault) => !/409/.test(fault))).toEqual([])
  await page.context().close()
})

test('the playground makes every kind, shows price and cost, and never runs a text as markup', async () => {
  const visited = await visit()
  const { page, faults } = visited
  const said = await play(visited, 'chat', 'Message', `Say it. ${SCRIPT}`)
  expect(said).toContain(SCRIPT)
  expect(said).toMatch(/cost \$0\.000\d+/)
  await page.getByText('Code', { exact: true }).click()
  const program = await textOf(visited, '.playground-side .code')
  expect(program).toContain('/v1/chat/completions')
  expect(program).not.toContain(gateway.secret)
  for (const language of ['Python', 'TypeScript']) {
    await page.getByRole('button', { name: language }).click()
    expect(await textOf(visited, '.playground-side .code')).toContain('/v1')
  }
  expect(await play(visited, 'image', 'Prompt', 'A cat')).toContain('cost $0.075')
  expect(await play(visited, 'speech', 'Text', 'Hello there')).toContain('cost $0.00011')
  expect(await page.locator('audio').count()).toBe(1)
  expect(await play(visited, 'embeddings', 'Text', 'one\ntwo')).toContain('2 vectors of')
  expect(await play(visited, 'video', 'Prompt', 'A cat [sandbox task_ms=0]')).toContain('cost $0.05')
  expect(await page.locator('video').count()).toBe(1)
  // A vendor's complete error, with what to do.
  const failing = `[sandbox status=500 error_text="${SCRIPT.replaceAll('"', '')}"]`
  await play(visited, 'chat', 'Message', failing)
  expect(await textOf(visited, '.failed')).toContain('It may work if you send it again.')
  await page.getByText('Conversations in this browser').click()
  const history = await textOf(visited, '.tried')
  expect(history).toContain('Hello there')
  // The failure is intended, and pictures and sounds are part of the page.
  expect(faults.filter((fault) => !/^data:|status of 50\d/.test(fault))).toEqual([])
  // Only this browser stores the conversation, and deletes it on request.
  await page.getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('Nothing yet. Conversations are kept only in this browser.').waitFor()
  await page.context().close()
})

test('a holder sees kept pictures and plays kept videos and sounds, page by page', async () => {
  const { secret } = await gateway.makeKey('maker', '5')
  const visited = await visitConsole(browser, gateway, { token: secret })
  const { page, faults } = visited
  await visited.open('activity')
  await page.getByRole('link', { name: 'Kept results' }).click()
  await page.getByText('No pictures, videos or sounds are kept for this key.').waitFor()
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const draw = { model: 'test-image', input: { messages: [{ role: 'user', content: [{ text: 'a fox' }] }] } }
  const drawn = await post('/v1/images/generations', draw)
  expect(drawn.status).toBe(200)
  // This and the next results appear without a reload.
  await page.getByRole('img', { name: 'Kept picture' }).waitFor()
  await waitFor(async () => page.evaluate('document.querySelector(".results img").naturalWidth > 0'))
  await page.getByText('kept until').waitFor()
  await post('/v1/videos/generations', {
    model: 'vidw2.6-t2v',
    input: { prompt: 'A cat [sandbox task_ms=0]' },
  })
  await page.locator('.results video[controls]').waitFor()
  // A speech tool keeps sound that is too long for its answer.
  const speech = { model: 'test-speech', input: 'Hello! '.repeat(80), response_format: 'wav' }
  const spoken = await postMessage(gateway.url, secret, toolMessage('speak', speech))
  expect(await spoken.text()).toContain('resource_link')
  await page.locator('.results audio[controls]').waitFor()
  for (const [medium, type] of [
    ['video', 'video/mp4'],
    ['audio', 'audio/wav'],
  ]) {
    const place = (await page.locator(`.results ${medium}`).getAttribute('src')) ?? ''
    const file = await page.request.get(place, { headers: { range: 'bytes=4-7' } })
    expect([file.status(), file.headers()['content-type']]).toEqual([206, type as string])
  }
  expect(await visited.axe()).toEqual([])
  expect(await visited.tooWide()).toEqual([])
  // All results have the same size, and a picture can be enlarged.
  const heights = await page
    .locator('.gallery :is(img, video)')
    .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().height)))
  expect(new Set(heights).size).toBe(1)
  await page.getByRole('button', { name: 'Enlarge the kept picture' }).click()
  await page.locator('dialog:has(img.large) .facts').getByText('test-image').waitFor()
  await page.keyboard.press('Escape')
  // A picture links to its request, which shows it too.
  await page
    .locator('figure', { has: page.locator('img') })
    .getByRole('link', { name: 'Request', exact: true })
    .click()
  await page.locator('.panel .results img').waitFor()
  expect(await textOf(visited, '.panel')).toContain(drawn.headers.get('x-request-id') ?? 'no id')
  for (let count = 0; count < 12; count++) await (await post('/v1/images/generations', draw)).text()
  await visited.open('activity?show=results')
  expect(await page.locator('.results figure').count()).toBe(12)
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('15 rows').waitFor()
  expect(await page.locator('.results figure').count()).toBe(15)
  // Another key sees no kept results.
  const other = await gateway.makeKey('maker', '5')
  const stranger = await visitConsole(browser, gateway, { token: other.secret })
  await stranger.open('activity?show=results')
  await stranger.page.getByText('No pictures, videos or sounds are kept for this key.').waitFor()
  expect([...faults, ...stranger.faults]).toEqual([])
  await page.context().close()
  await stranger.page.context().close()
})

test('a holder replaces the key and stays signed in; other browsers are signed out', async () => {
  const { secret, id } = await gateway.makeKey('roller', '1')
  const looks = { token: secret }
  const visited = await visitConsole(browser, gateway, looks)
  const other = await visitConsole(browser, gateway, looks)
  const { page } = visited
  await visited.open('connect')
  await page.getByRole('button', { name: 'Replace the key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(`Type ${id}`, { exact: false }).fill(id)
  await dialog.getByRole('button', { name: 'Replace the key' }).click()
  await waitFor(async () => (await page.locator('.secret code').count()) > 0)
  const made = (await page.locator('.secret code').textContent()) ?? ''
  expect(made).toStartWith('sk-')
  const headers = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
  expect((await fetch(`${gateway.url}/v1/me`, headers(made))).status).toBe(200)
  await waitFor(async () => (await fetch(`${gateway.url}/v1/me`, headers(secret))).status === 401)
  await visited.open('home')
  expect(visited.faults).toEqual([])
  await other.page.reload()
  await waitFor(async () => (await other.page.getByLabel('Token or key').count()) > 0)
  await page.context().close()
  await other.page.context().close()
})

test('a holder replaces the webhook secret, which is shown only once', async () => {
  const { secret } = await gateway.makeKey('hooked', '1')
  const visited = await visitConsole(browser, gateway, { token: secret })
  const { page } = visited
  await visited.open('connect?client=webhook')
  await page.getByText('Replace whsec_YOUR-SECRET with your own.').waitFor()
  await page.getByRole('button', { name: 'Replace the webhook secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('For a day, webhooks are signed with both secrets').waitFor()
  expect(await visited.axe()).toEqual([])
  await dialog.getByRole('button', { name: 'Replace the webhook secret' }).click()
  await waitFor(async () => (await page.locator('.secret code').count()) > 0)
  expect(await page.locator('.secret code').textContent()).toMatch(/^whsec_[\w+/=]{20,}$/)
  const made = await page.locator('.secret code').textContent()
  expect(await visited.axe()).toEqual([])
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  expect(await Bun.file((await (await downloading).path()) as string).text()).toContain(`${made}\n`)
  // No other page shows it, nor does this one when it is opened again.
  await page.reload()
  await visited.settled()
  expect(await page.content()).not.toContain(made as string)
  expect(visited.faults).toEqual([])
  await page.context().close()
})

test('a link of gateway console signs in once, and its code is removed from the address', async () => {
  const { db, now } = gateway.server.world
  const { id } = await gateway.makeKey('linked', '1')
  const token = makeSessionToken(randomBytes)
  await createLink(db, { kind: 'key', subject: id }, { token, now: now(), expiresAt: now() + 60_000 })
  for (const isFirst of [true, false]) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${gateway.url}/console#link=${token}`)
    const wanted = isFirst ? page.getByText(id) : page.getByLabel('Token or key')
    await waitFor(async () => (await wanted.count()) > 0)
    expect(page.url()).not.toContain(token)
    await context.close()
  }
})
