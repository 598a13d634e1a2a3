// Jobs of operators and holders, each performed in a real browser in at most four clicks from the page after sign-in.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { newId, randomBytes } from '../../src/app/world'
import { createCodes, makeCode } from '../../src/billing/selling/codes'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { type Visit, visitConsole } from '../support/browser/console-visit'
import { type Job, MAX_CLICKS, walk } from '../support/browser/journeys'
import { imageModel, startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

const code = makeCode(randomBytes)
let gateway: TestGateway
let browser: Browser
/** The holder's key, and one of its requests. */
let key = ''
let request = ''

beforeAll(async () => {
  gateway = await startTestGateway({
    models: { 'test-image': imageModel },
    config: { artifacts: { keep: '1h' } },
  })
  browser = await openBrowser()
  const { db, now, requestLog } = gateway.server.world
  await createCodes(db, [
    { id: newId('code'), code, amountNano: 5e9, note: null, expiresAt: null, createdAt: now() },
  ])
  await (await gateway.post('/v1/images/generations', { model: 'test-image', prompt: 'A fox' })).text()
  await (await gateway.chat({ model: 'gpt-99' })).text()
  const answered = await gateway.chat()
  request = answered.headers.get('x-request-id') ?? ''
  await answered.text()
  await requestLog.flush()
  const [found] = await db.query({ sql: 'select id from keys' })
  key = String(found?.id)
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const ROW = 'main tbody a.row-link'
const PANEL = '.panel'
const DIALOG = 'dialog'

/**
 * Jobs of operators, from the overview. This is a function because some values are known only once the gateway runs.
 */
const ofOperators = (): Job[] => [
  {
    job: 'learn why a request failed, and who must act',
    steps: [
      { click: 'link', name: /^Failures/ },
      { clickAt: ROW },
      { see: /model .gpt-99. does not exist/, within: PANEL },
    ],
  },
  {
    job: 'add a customer with a key and money',
    steps: [
      { click: 'link', name: 'Customers' },
      { click: 'link', name: 'New customer' },
      { fill: 'Name', with: 'northwind', within: PANEL },
      { fill: 'Opening balance in dollars', with: '25', within: PANEL },
      { click: 'button', name: 'Create customer' },
      { see: /^sk-/, within: '.secret' },
    ],
  },
  {
    job: 'add money to a customer',
    steps: [
      { click: 'link', name: 'Customers' },
      { click: 'link', name: 'alice' },
      { click: 'button', name: 'Add money' },
      { fill: 'Dollars', with: '3', within: DIALOG },
      { click: 'button', name: 'Add dollars' },
      { see: /\$10[12]\./ },
    ],
  },
  {
    job: 'give a key a limit',
    steps: [
      { click: 'link', name: 'Keys' },
      { clickAt: ROW },
      { fill: 'Requests per minute', with: '600', within: PANEL },
      { click: 'button', name: 'Save' },
      { see: 'Saved', within: PANEL },
    ],
  },
  {
    job: 'stop a key for a while',
    steps: [
      { click: 'link', name: 'Keys' },
      { clickAt: ROW },
      { click: 'button', name: 'Pause' },
      { see: 'Resume', within: PANEL },
      { click: 'button', name: 'Resume' },
      { see: 'Pause', within: PANEL },
    ],
  },
  {
    job: 'see what each model brings in, as a file',
    steps: [
      { click: 'link', name: 'Usage' },
      { choose: 'Group by', option: 'model' },
      { see: 'test-chat', within: 'main table' },
      { see: 'CSV' },
    ],
  },
  {
    job: 'find a request by its id',
    steps: [
      { press: 'Control+k' },
      { type: request },
      { see: request, within: '[role=listbox]' },
      { press: 'Enter' },
      { see: request, within: PANEL },
    ],
  },
  {
    job: 'refund a request',
    steps: [
      { press: 'Control+k' },
      { type: request },
      { see: request, within: '[role=listbox]' },
      { press: 'Enter' },
      { click: 'button', name: /^Refund \$/, within: PANEL },
      { click: 'button', name: /^Refund/, within: DIALOG },
      { see: /gets|Refund/ },
    ],
  },
  {
    job: 'try whether an upstream answers',
    steps: [
      { click: 'link', name: 'Upstreams' },
      { click: 'link', name: 'openai' },
      { click: 'button', name: 'Test' },
      { see: 'answers and accepts the key' },
    ],
  },
  {
    job: 'make a backup',
    steps: [
      { click: 'link', name: 'Settings' },
      { click: 'button', name: 'Backups' },
      { click: 'button', name: 'Make a backup now' },
      { see: /^gateway-/, within: 'main table' },
    ],
  },
  {
    job: 'read a setting that is in force',
    steps: [
      { click: 'link', name: 'Settings' },
      { fill: 'Search settings', with: 'openai.baseurl' },
      { see: /upstreams\.openai\.baseUrl/ },
    ],
  },
  {
    job: 'ask a model as a customer would',
    steps: [
      { click: 'link', name: 'Playground' },
      { fill: 'Account that pays', with: 'alice' },
      { click: 'button', name: 'Create the key and start' },
      { fill: 'Message', with: 'Hello' },
      { see: /costs at most \$/ },
      { click: 'button', name: 'Send' },
      { see: /cost \$/, within: '.reply' },
    ],
  },
]

/** Jobs of holders, from their first page. The last one ends the sessions of all other browsers. */
const ofHolders = (): Job[] => [
  { job: 'see what is left', steps: [{ see: /\$\d+\.\d\d/, within: 'a.figure, .figure' }] },
  {
    job: 'redeem a code',
    steps: [{ fill: 'Code', with: code }, { click: 'button', name: 'Redeem' }, { see: /^\$5\.00 was added/ }],
  },
  {
    job: 'learn why an own request failed',
    steps: [
      { click: 'link', name: 'Requests' },
      { click: 'checkbox', name: /^failed/ },
      { clickAt: ROW },
      { see: /model .gpt-99. does not exist/, within: PANEL },
    ],
  },
  {
    job: 'look at a picture that was made',
    steps: [
      { click: 'link', name: 'Requests' },
      { click: 'link', name: 'Kept results' },
      { see: /kept until/ },
    ],
  },
  {
    job: 'learn what a model costs',
    steps: [
      { click: 'link', name: 'Models' },
      { click: 'link', name: 'test-chat' },
      { see: /1M input/, within: PANEL },
    ],
  },
  {
    job: 'ask a model, with its price before and its cost after',
    steps: [
      { click: 'link', name: 'Playground' },
      { fill: 'Message', with: 'Hello' },
      { see: /costs at most \$/ },
      { click: 'button', name: 'Send' },
      { see: /cost \$/, within: '.reply' },
    ],
  },
  {
    job: 'compare two models',
    steps: [
      { click: 'link', name: 'Playground' },
      { click: 'button', name: 'Add a model to compare' },
      { fill: 'Message', with: 'Hello' },
      { see: /costs at most \$/ },
      { click: 'button', name: 'Send' },
      { see: /cost \$/, within: '.reply:nth-of-type(2)' },
    ],
  },
  {
    job: 'make a picture',
    steps: [
      { click: 'link', name: 'Playground' },
      { choose: 'Kind of work', option: 'image' },
      { fill: 'Prompt', with: 'A fox' },
      { see: /costs at most \$/ },
      { click: 'button', name: 'Send' },
      { see: /cost \$/, within: '.reply' },
    ],
  },
  {
    job: 'set up a client',
    steps: [
      { click: 'link', name: 'Connect' },
      { choose: 'Client', option: 'codex' },
      { see: /codex\/config/, within: 'main' },
    ],
  },
  {
    job: 'replace the secret that signs webhooks',
    steps: [
      { click: 'link', name: 'Connect' },
      { click: 'button', name: 'Replace the webhook secret' },
      { click: 'button', name: 'Replace the webhook secret', within: DIALOG },
      { see: /^whsec_/, within: '.secret' },
    ],
  },
  {
    job: 'replace the key',
    steps: [
      { click: 'link', name: 'Connect' },
      { click: 'button', name: 'Replace the key' },
      { fill: `Type ${key} to confirm`, with: key, within: DIALOG },
      { click: 'button', name: 'Replace the key', within: DIALOG },
      { see: /^sk-/, within: '.secret' },
    ],
  },
]

/** Performs jobs one after another, each from the first page, and returns the number of clicks of each. */
async function walked(visit: Visit, start: string, jobs: readonly Job[]): Promise<Record<string, number>> {
  const clicks: Record<string, number> = {}
  for (const job of jobs) {
    await visit.open(start)
    await visit.page.reload()
    await visit.settled()
    clicks[job.job] = await walk(visit.page, job, visit.settled)
  }
  return clicks
}

for (const [who, jobs, start] of [
  ['operators', ofOperators, 'overview'],
  ['holders', ofHolders, 'home'],
] as const) {
  test(`at least ten jobs of ${who} take at most four clicks each`, async () => {
    const token = who === 'holders' ? { token: gateway.secret } : {}
    const visit = await visitConsole(browser, gateway, token)
    const clicks = await walked(visit, start, jobs())
    expect(Object.keys(clicks).length).toBeGreaterThanOrEqual(10)
    expect(Object.entries(clicks).filter(([, count]) => count > MAX_CLICKS)).toEqual([])
    expect(visit.faults).toEqual([])
    await visit.page.context().close()
  })
}
