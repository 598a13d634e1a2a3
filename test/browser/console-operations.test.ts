// Actions of operators in the console, in a real browser: tasks are canceled and reconciled, webhooks are delivered
// again, kept results are shown, a backup is made, and a configuration is reloaded after its changes were reviewed.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Config } from '../../src/config/schema'
import { markUnknown } from '../../src/tasks/rows'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { readTask, sendTask } from '../support/databases/task-rows'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { RECEIVER_NETWORK, startReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver'
import { startTaskVendor, succeeded, type TaskVendor, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

let vendor: TaskVendor & Disposable
/** A vendor that reports a video's progress, and its answer to a poll. */
let teller: Bun.Server<undefined>
let progress = () => Response.json({ status: 'pending', progress: 41 }, { status: 202 })
let receiver: WebhookReceiver & Disposable
let gateway: TestGateway
let browser: Browser
let visit: Visit
/** The configuration as stored in its file. */
let written: Config | undefined
/** Faults of the configuration; none by default. */
let faults: string[] = []

beforeAll(async () => {
  vendor = startTaskVendor()
  teller = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ method }) => (method === 'POST' ? Response.json({ request_id: 'told-1' }) : progress()),
  })
  receiver = startReceiver()
  gateway = await startTestGateway({
    balance: '10',
    upstreams: {
      slow: vendor.upstream,
      teller: { kind: 'xai', baseUrl: teller.url.origin, apiKey: 'none' },
    },
    models: {
      'test-slow-video': {
        family: 'dashscope-video',
        upstream: 'slow',
        upstreamModel: 'wan2.6-t2v',
        durations: { min: 2, max: 15, default: 5 },
        price: { per_second: { '720p': '0.01' } },
      },
      'test-told-video': {
        family: 'xai-video',
        upstream: 'teller',
        upstreamModel: 'grok-imagine-video',
        durations: { min: 1, max: 15, default: 8 },
        price: { per_second: { '720p': '0.01' } },
      },
    },
    config: { artifacts: { keep: '1h' }, webhooks: { allow: [RECEIVER_NETWORK] } },
    readConfig: async () =>
      faults.length > 0 ? { faults } : { config: written ?? gateway.server.world.config },
  })
  browser = await openBrowser()
  visit = await visitConsole(browser, gateway)
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
  vendor[Symbol.dispose]()
  await teller.stop(true)
  receiver[Symbol.dispose]()
})

const db = () => gateway.server.world.db
const dialog = () => visit.page.getByRole('dialog')

/** Submits a video of the slow vendor. */
async function submit(): Promise<string> {
  const body = { ...videoBody('a fox'), model: 'test-slow-video', webhook_url: receiver.url }
  return ((await (await gateway.post('/v1/videos/generations', body)).json()) as { id: string }).id
}

/** Ends a journey: checks that the page has no fault and that no error occurred. */
async function inOrder(): Promise<void> {
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
}

test('a running task is canceled, and its hold is released once its vendor has stopped it', async () => {
  const { page, open } = visit
  const id = await submit()
  const task = await readTask(db(), id)
  await open(`tasks/${id}`)
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await dialog().getByText('the $0.05 that is held is released').waitFor()
  await dialog().getByRole('button', { name: 'Cancel', exact: true }).click()
  await dialog().waitFor({ state: 'detached' })
  expect((await readTask(db(), id)).cancelAt).not.toBeNull()
  await waitFor(() => vendor.cancels.includes(task.upstreamId ?? ''))
  // The page is not reloaded.
  await page.getByText('canceled: ', { exact: false }).waitFor()
  expect(await page.getByRole('button', { name: 'Cancel…' }).count()).toBe(0)
  expect((await gateway.balance()).heldNano).toBe(0)
  await inOrder()
})

test('the progress of a task is shown in its row and in its details until it ends', async () => {
  const { page, open } = visit
  const body = { model: 'test-told-video', prompt: 'a fox', resolution: '720p' }
  const { request_id: id } = (await (await gateway.post('/v1/videos/generations', body)).json()) as {
    request_id: string
  }
  await open('tasks?model=test-told-video')
  const bars = page.getByRole('progressbar', { name: 'Progress in percent' })
  await bars.waitFor()
  await open(`tasks/${id}?model=test-told-video`)
  await waitFor(async () => (await bars.count()) === 2)
  expect(await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute('value')))).toEqual(['41', '41'])
  await inOrder()
  progress = () => Response.json({ status: 'failed', error: { code: 'internal_error', message: 'It broke' } })
  await page.locator('.panel dd', { hasText: 'It broke' }).waitFor()
  await waitFor(async () => (await bars.count()) === 0)
  await inOrder()
})

test('of two tasks whose submission got no answer, one is followed by the vendor’s id and one released', async () => {
  const { page, open } = visit
  const { now } = gateway.server.world
  const ids: string[] = []
  for (const name of ['found', 'lost']) {
    const { id } = await sendTask(db(), {
      id: `video_${name}`,
      createdAt: now(),
      upstream: 'slow',
      model: 'test-slow-video',
    })
    await db().batch([markUnknown(id)])
    ids.push(id)
  }
  const [found = '', lost = ''] = ids
  await open('overview')
  await page.getByRole('link', { name: /2 tasks are unknown at their vendors/ }).click()
  await page.getByRole('link', { name: found }).click()
  await page.getByText('$0.05 is held. Look it up at the vendor.').waitFor()
  await page.getByLabel("Vendor's id").fill('ds-found')
  await page.getByRole('button', { name: 'The vendor has it: follow it' }).click()
  await waitFor(() => vendor.polls.includes('ds-found'))
  expect(await readTask(db(), found)).toMatchObject({ state: 'submitted', upstreamId: 'ds-found' })
  await open(`tasks/${lost}`)
  await page.getByRole('button', { name: 'The vendor does not have it…' }).click()
  await dialog().getByText('$0.05 is released, and the task fails.').waitFor()
  await dialog().getByRole('button').first().click()
  await dialog().waitFor({ state: 'detached' })
  await page.getByText('not_begun: ').waitFor()
  expect(await readTask(db(), lost)).toMatchObject({ state: 'failed', errorCode: 'not_begun' })
  vendor.answerPoll = succeeded
  await waitFor(async () => (await readTask(db(), found)).state === 'succeeded')
  await inOrder()
})

test('each attempt of a webhook is shown with its answer, and it is delivered again', async () => {
  const { page, open } = visit
  vendor.answerPoll = succeeded
  receiver.answer = () => new Response('<b>closed</b> for today', { status: 410 })
  const before = receiver.deliveries.length
  const id = await submit()
  await waitFor(() => receiver.deliveries.length > before)
  await open(`tasks/${id}`)
  await page.getByRole('cell', { name: '410', exact: true }).waitFor()
  await page.getByText('<b>closed</b> for today').waitFor()
  await page.getByRole('heading', { name: 'Webhook failed' }).waitFor()
  receiver.answer = () => new Response('thanks')
  await page.getByRole('button', { name: 'Deliver again' }).click()
  await waitFor(() => receiver.deliveries.length === before + 2)
  await page.getByRole('heading', { name: 'Webhook delivered' }).waitFor()
  await page.getByRole('cell', { name: '200', exact: true }).waitFor()
  const [first, second] = receiver.deliveries.slice(before)
  expect(second?.id).toBe(first?.id as string)
  await inOrder()
})

test('a kept video plays next to its last frame, in its task and in its request', async () => {
  const { page, open } = visit
  const content = [{ type: 'text', text: 'a fox [sandbox task_ms=0]' }]
  const body = { model: 'test-seedance', content, return_last_frame: true }
  const { id } = (await (await gateway.post('/v1/videos/generations', body)).json()) as { id: string }
  await waitFor(async () => (await readTask(db(), id)).state === 'succeeded')
  const { charge } = await readTask(db(), id)
  for (const place of [`tasks/${id}`, `requests/${charge}`]) {
    await open(place)
    const picture = page.getByRole('img', { name: 'Kept picture' })
    await picture.waitFor()
    // It was loaded, and is a picture.
    await waitFor(async () => page.evaluate('document.querySelector(".results img").naturalWidth > 0'))
    expect(await page.locator('.results video[controls]').count()).toBe(1)
    const address = (await page.locator('.results video').getAttribute('src')) ?? ''
    const file = await page.request.get(address, { headers: { range: 'bytes=4-7' } })
    expect([file.status(), file.headers()['content-type'], await file.text()]).toEqual([
      206,
      'video/mp4',
      'ftyp',
    ])
    await inOrder()
  }
})

test('a request that is answered later is in the list, with its operation, its answer and its price', async () => {
  const { page, open } = visit
  const body = { model: 'test-chat', messages: say('Hello'), async: true, webhook_url: receiver.url }
  const { id } = (await (await gateway.post('/v1/chat/completions', body)).json()) as { id: string }
  await waitFor(async () => (await readTask(db(), id)).state === 'succeeded')
  const { charge } = await readTask(db(), id)
  await open(`tasks/${id}?model=test-chat`)
  const row = page.getByRole('row', { name: id })
  expect(await row.textContent()).toMatch(/succeeded[\s\S]*Chat[\s\S]*test-chat/i)
  const panel = page.locator('.panel')
  await panel.getByText('Task as callers see it').click()
  const document = await page.locator('figure[aria-label="Task as callers see it"]').textContent()
  expect(JSON.parse(document ?? '')).toMatchObject({ id, status: 'succeeded', operation: 'chat' })
  const paid = Number((await gateway.charge(charge))?.amount) / 1e9
  expect(await panel.locator('dd', { hasText: `$${paid}` }).count()).toBeGreaterThan(0)
  expect(await page.getByRole('button', { name: 'Cancel…' }).count()).toBe(0)
  await inOrder()
})

test('a backup made in the settings is listed', async () => {
  const { page, open } = visit
  await open('settings?part=backups')
  await page.getByText('No backups yet.').waitFor()
  await page.getByRole('button', { name: 'Make a backup now' }).click()
  await page.getByRole('cell', { name: /^gateway-.*/ }).waitFor()
  const shown = await page.locator('main tbody code').allTextContents()
  const token = await visit.page.request.get(`${gateway.url}/admin/v1/backups`)
  expect(((await token.json()) as { data: { name: string }[] }).data.map(({ name }) => name)).toEqual(shown)
  await open('settings?part=audit')
  await page.getByRole('cell', { name: 'backup.make' }).waitFor()
  await inOrder()
})

test('a configuration is reloaded after its changes were reviewed, but not if it has faults', async () => {
  const { page, open } = visit
  const { config } = gateway.server.world
  const price = { per_1m_input_tokens: '7.00', per_1m_output_tokens: '2.00' }
  const chat = config.models['test-chat']
  await open('settings')
  await page.getByText('No pending changes.').waitFor()
  expect(await page.getByRole('button', { name: 'Reload…' }).count()).toBe(0)
  written = {
    ...config,
    models: { ...config.models, 'test-chat': { ...chat, price } as typeof chat & object },
  }
  await page.getByRole('button', { name: 'Check again' }).click()
  const row = page.getByRole('row', { name: /models\.test-chat\.price\.per_1m_input_tokens/ })
  await row.getByText('7.00').waitFor()
  await row.getByText('at a reload').waitFor()
  await page.getByRole('button', { name: 'Reload…' }).click()
  await dialog()
    .getByText(/settings? changes? at once/)
    .waitFor()
  await dialog().getByRole('button', { name: 'Reload', exact: true }).click()
  await dialog().waitFor({ state: 'detached' })
  await page.getByText('No pending changes.').waitFor()
  expect(gateway.server.world.config.models['test-chat']).toMatchObject({ price })
  await open('models/test-chat')
  await page.getByText('$7', { exact: false }).first().waitFor()
  faults = ['models.test-chat.price: "<b>" is not an amount']
  await open('settings')
  await page.getByText(faults[0] as string).waitFor()
  expect(await page.getByRole('button', { name: 'Reload…' }).count()).toBe(0)
  await inOrder()
})

test('the configuration in force is shown in folded parts, can be searched, and shows upstream addresses', async () => {
  const { page, open } = visit
  await open('settings')
  expect(await page.locator('main details').count()).toBeGreaterThan(2)
  expect(await page.locator('main details pre').count()).toBe(0)
  await page.locator('main details', { hasText: 'upstreams' }).locator('summary').click()
  await page.locator('main details pre').getByText('baseUrl').first().waitFor()
  await page.getByLabel('Search settings').fill('baseurl')
  const found = (await page.locator('main figure.code pre').textContent()) ?? ''
  expect(found).toMatch(/^upstreams\.\S+\.baseUrl: "http/m)
  expect(found).not.toContain('hidden')
  await page.getByLabel('Search settings').fill('nothing has these words')
  await page.getByText('No matching settings.').waitFor()
  await inOrder()
})

test('the audit trail shows what a change altered on a key, and links to the key', async () => {
  const { page, open } = visit
  // Test keys are named by their ids.
  const { id } = await gateway.makeKey('trailed', '1')
  await open(`keys/${id}`)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('paused').first().waitFor()
  await open('settings?part=audit&action=key.pause')
  const row = page.locator('main tbody tr').first()
  expect(await row.locator('td[data-title="After"]').textContent()).toBe('status paused')
  await row.getByRole('link', { name: `key:${id}` }).click()
  await page.getByRole('heading', { name: id }).waitFor()
  await inOrder()
})
