// The first run in a real browser: the first steps of a new gateway, and a sandbox that is filled with thirty days of
// requests, whose books are correct afterwards and whose videos play.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { makeHistory } from '../../cli/lib/sandbox-history'
import { randomBytes } from '../../src/app/world'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { verify } from '../../src/billing/proofs/verify'
import { usageBy } from '../../src/billing/reports/usage-report'
import { DAY_MS } from '../../src/billing/reports/usage-totals'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { askAs, makeAdminToken, type Visit, visitConsole } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { imageModel, startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const FILL = 'Add 30 days of sample traffic'
/** Fewer requests than in an operator's sandbox: about 260. */
const BUSIEST = 2
const models = { 'test-image': imageModel }

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

const startSandbox = (database: TestGateway['server']['world']['db']['kind']) =>
  startTestGateway({
    database,
    models,
    mark: { 'x-gateway-sandbox': 'true' },
    makeHistory: (world) => makeHistory(world, BUSIEST),
    // With PostgreSQL, kept results need a bucket.
    ...(database === 'sqlite' && { config: { artifacts: { keep: '1h' } } }),
  })

/** The number of videos that have ended. They were just requested, and take some seconds. */
async function endedVideos(db: TestGateway['server']['world']['db']): Promise<number> {
  return (await db.query({ sql: `select id from tasks where state = 'succeeded'` })).length
}

/** Opens a task whose video the browser can play. */
async function seePlaying({ page, open }: Visit): Promise<void> {
  await open('tasks')
  await page.locator('tbody a.row-link').first().click()
  const film = page.locator('.panel video')
  await film.waitFor()
  const seen = () =>
    film.evaluate((each) => {
      const { error, readyState, duration, videoWidth } = each as unknown as Film
      return { error, isReady: readyState > 0, duration, videoWidth }
    })
  await waitFor(async () => {
    const { isReady, error } = await seen()
    return isReady || error !== null
  })
  expect(await seen()).toEqual({ error: null, isReady: true, duration: 2, videoWidth: 160 })
}

/** The properties of a video in the browser. */
interface Film {
  error: object | null
  readyState: number
  duration: number
  videoWidth: number
}

async function refusalOf(response: Response): Promise<[status: number, code: string]> {
  const { error } = (await response.json()) as { error: { code: string } }
  return [response.status, error.code]
}

test('a new gateway shows its first steps, each with a link to its page, until all are done', async () => {
  const gateway = await startTestGateway()
  const visit = await visitConsole(browser, gateway)
  const { page, open, settled, axe } = visit
  await open('overview')
  const part = page.locator('section.part', { has: page.getByRole('heading', { name: 'First steps' }) })
  const stepsDone = () => part.locator('li.done').allTextContents()
  // A test's gateway already has upstreams, models and a key.
  expect(await stepsDone()).toEqual([
    expect.stringContaining('upstream'),
    expect.stringContaining('model'),
    expect.stringContaining('customer'),
  ])
  expect(await part.locator('li').count()).toBe(5)
  // Its vendors are real.
  expect(await page.getByRole('button', { name: FILL }).count()).toBe(0)
  expect(await axe()).toEqual([])
  await part.getByRole('link', { name: 'Open playground' }).click()
  await page.waitForURL(/#\/playground/, { waitUntil: 'commit' })
  await (await gateway.chat()).text()
  await open('overview')
  await waitFor(async () => (await stepsDone()).length === 4)
  await part.getByRole('link', { name: 'Go to backups' }).click()
  await page.getByRole('button', { name: 'Make a backup now' }).click()
  await page.getByRole('cell', { name: /^gateway-/ }).waitFor()
  await open('overview')
  await settled()
  expect(await part.count()).toBe(0)
  const ask = askAs(gateway, await makeAdminToken(gateway, 'owner'))
  const refused = await ask('POST', '/sandbox/history')
  expect(await refusalOf(refused)).toEqual([409, 'not_a_sandbox'])
  expect(visit.faults).toEqual([])
  await page.context().close()
  await gateway.close()
})

for (const database of databaseKinds) {
  test(`a sandbox is filled once with thirty days of requests, its videos play, and its books are correct (${database})`, async () => {
    const gateway = await startSandbox(database)
    const { db, now, requestLog } = gateway.server.world
    const token = await makeAdminToken(gateway, 'owner')
    const ask = askAs(gateway, token)
    const visit = await visitConsole(browser, gateway, { token })
    const { page, open } = visit
    await open('overview?range=30d')
    const viewer = await visitConsole(browser, gateway, { role: 'operator' })
    expect(await viewer.page.getByRole('button', { name: FILL }).count()).toBe(0)
    await viewer.page.context().close()
    const filled = page.waitForResponse(/\/sandbox\/history$/)
    await page.getByRole('button', { name: FILL }).click()
    expect((await filled).status()).toBe(200)
    await page.getByRole('button', { name: FILL }).waitFor({ state: 'detached' })
    await visit.settled()
    expect(await page.locator('figure.chart').first().textContent()).toContain('Spend by day')

    const since = now() - 31 * DAY_MS
    const days = await usageBy(db, 'day', { since, until: now() })
    expect(days.length).toBeWithin(30, 32)
    const requests = days.reduce((sum, day) => sum + day.requests, 0)
    expect(requests).toBeGreaterThan(100)
    const customers = (await usageBy(db, 'account', { since, until: now() })).map(({ name }) => name)
    expect(customers.toSorted()).toEqual(['research', 'search', 'support'])
    // Each request is found by its id, at its time.
    const [first] = (await requestLog.recent(10_000)).toReversed()
    expect(Number(first?.at)).toBeLessThan(now() - 28 * DAY_MS)
    expect(await requestLog.find(first?.id as string)).toMatchObject({ id: first?.id })

    await waitFor(async () => (await endedVideos(db)) === 3)
    if (database === 'sqlite') await seePlaying(visit)
    const key = await signingKey(db, randomBytes, now())
    const { problems } = await verify(db, { now: now(), key, whole: true, onProgress() {} })
    expect(problems).toEqual([])
    const refused = await ask('POST', '/sandbox/history')
    expect(await refusalOf(refused)).toEqual([409, 'history_exists'])
    const { data } = (await (await ask('GET', '/audit?limit=1')).json()) as { data: { action: string }[] }
    expect(data[0]).toMatchObject({ action: 'sandbox.fill', after: { accounts: 3 } })
    expect(visit.faults).toEqual([])
    await page.context().close()
    await gateway.close()
  })
}
