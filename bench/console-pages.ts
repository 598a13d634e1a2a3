// `bun bench/console-pages.ts [ROUNDS]`: fills a SQLite database with 200,000 requests, charges and tasks of 1,000 accounts and 3,000
// keys, and measures in a real browser how long each page of the console takes from a click on its link until all of its answers are
// shown. It must never fail because something was slow: it only reports.

import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openRequestStore } from '../src/app/request-store'
import { DAY_MS } from '../src/billing/reports/usage-totals'
import { apply } from '../src/db/db'
import { openSqlite } from '../src/db/drivers/sqlite'
import { loadText, signIn, spreadOf, withBrowser } from './console-browser'
import { fillRequests, fillTasks, type History } from './console-rows'
import { type GatewaySetup, startGateway } from './gateway'
import { addCharges, prepareHistory } from './history-rows'

const ROWS = 200_000
const ACCOUNTS = 1_000
const DAYS = 30
/** The key that signs in as a holder, and the account of which the operator opens the page. */
const HOLDER = 7
const WIDTH = 1440

/** Where each page is opened from: a page of operators and of holders that asks for little. */
const elsewhere = (address: string) => (address === 'statements' ? 'playground' : 'statements')

/** Resolves when a page has replaced the one with another heading, and no part of it waits for an answer. */
const SETTLED = (before: string | undefined) => `new Promise((done) => {
  const look = () => {
    const heading = document.querySelector('main h1')?.textContent
    const waits = !heading || heading === ${JSON.stringify(before)} || document.querySelector('.loading, [aria-busy="true"]')
    if (waits) setTimeout(look, 2)
    else requestAnimationFrame(() => done(performance.now()))
  }
  setTimeout(look)
})`

/** Milliseconds until a page is complete. */
async function openPage(page: Page, url: string, address: string): Promise<number> {
  // Loads the console again, so that no earlier answer can be shown.
  await page.goto('about:blank')
  await page.goto(`${url}#/${elsewhere(address)}`)
  await page.evaluate(SETTLED(undefined))
  const before = await page.evaluate(`document.querySelector('main h1').textContent`)
  const begin = await page.evaluate(`(location.hash = '#/${address}', performance.now())`)
  return Number(await page.evaluate(SETTLED(String(before)))) - Number(begin)
}

async function fill({ directory }: GatewaySetup): Promise<void> {
  const folder = join(directory, 'data')
  const db = openSqlite(join(folder, 'gateway.sqlite'), { durable: false })
  const end = Date.now()
  const history: History = { rows: ROWS, accounts: ACCOUNTS, start: end - DAYS * DAY_MS, end }
  await prepareHistory(db, ACCOUNTS)
  await addCharges(db, ROWS, history.start, history.end - history.start, ACCOUNTS)
  await fillTasks(db, history)
  await apply(db, [
    { sql: `update keys set id = 'key ${HOLDER}', account = 'account ${HOLDER}'` },
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${3 * ACCOUNTS - 1})
        insert into keys (id, name, account, hash, hint, created_at)
        select 'key ' || i, 'key ' || i, 'account ' || (i % ${ACCOUNTS}), 'hash ' || i, 'sk-…' || i, ${history.start}
        from n where i <> ${HOLDER}`,
    },
  ])
  const requests = await openRequestStore({ log: { keep: '365d' } }, { db, dataDir: folder }, end)
  await fillRequests(requests, history)
  await requests.close()
  await db.close()
}

/** Measures the pages of the side bar, and others. */
async function measurePages(page: Page, url: string, others: readonly string[] = []): Promise<string[]> {
  const links = page.locator('nav a[href^="#/"]')
  const hashes = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
  const addresses = [...new Set(hashes.map((hash) => hash.slice(2))), ...others]
  const figures = new Map<string, number[]>(addresses.map((address) => [address, []]))
  for (let round = 0; round < rounds; round++)
    for (const address of addresses) figures.get(address)?.push(await openPage(page, url, address))
  return [...figures].map(([address, values]) => `${address}: ${spreadOf(values)} ms`)
}

const rounds = Number(process.argv[2] ?? 5)
await withBrowser(async (browser, setup) => {
  await fill(setup)
  const { target } = await startGateway(setup)
  const url = `http://127.0.0.1:${target.port}/console`
  console.log(`${ROWS} requests, ${ACCOUNTS} accounts, ${loadText()}`)
  const pageOf = async (secret: string) =>
    signIn(await browser.newContext({ viewport: { width: WIDTH, height: 900 } }), url, secret)
  const customer = `accounts/${encodeURIComponent(`account ${HOLDER}`)}`
  const operator = await measurePages(await pageOf(setup.token), url, [customer])
  console.log(`\nOperator\n${operator.join('\n')}`)
  const holder = await measurePages(await pageOf(setup.key), url)
  console.log(`\nHolder of a key\n${holder.join('\n')}`)
})
