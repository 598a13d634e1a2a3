// `bun bench/console-pages.ts [ROUNDS]`: fills a SQLite database with 200,000 requests, charges and tasks of 1,000 accounts and 3,000
// keys, and measures in a real browser how long each page of the console takes from a click on its link until all of its answers are
// shown. It must never fail because something was slow: it only reports.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { openRequestStore } from '../src/app/request-store'
import { DAY_MS } from '../src/billing/reports/usage-totals'
import { apply } from '../src/db/db'
import { openSqlite } from '../src/db/drivers/sqlite'
import { unpackBrowser } from '../test/support/browser/browser'
import { killAll, stopAll } from './children'
import { fillRequests, fillTasks, type History } from './console-rows'
import { type GatewaySetup, runCommand, setUpGateway, startGateway } from './gateway'
import { addCharges, prepareHistory } from './history-rows'
import { median } from './statistics'
import { startMock } from './targets'

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

async function signIn(browser: Browser, url: string, token: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: WIDTH, height: 900 } })
  const page = await context.newPage()
  await page.goto(url)
  await page.locator('[name=token]').fill(token)
  await page.locator('form button[type=submit]').click()
  await page.getByRole('navigation').first().waitFor()
  return page
}

/** Measures the pages of the side bar, and others. */
async function measurePages(
  page: Page,
  url: string,
  rounds: number,
  others: readonly string[] = [],
): Promise<Map<string, number[]>> {
  const links = page.locator('nav a[href^="#/"]')
  const hashes = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
  const addresses = [...new Set(hashes.map((hash) => hash.slice(2))), ...others]
  const figures = new Map<string, number[]>(addresses.map((address) => [address, []]))
  for (let round = 0; round < rounds; round++)
    for (const address of addresses) figures.get(address)?.push(await openPage(page, url, address))
  return figures
}

function report(kind: string, figures: Map<string, number[]>): void {
  for (const [address, values] of figures) {
    values.sort((one, other) => one - other)
    const shown = [values[0] ?? Number.NaN, median(values), values.at(-1) ?? Number.NaN]
    const [least, middle, most] = shown.map((ms) => ms.toFixed(0).padStart(5))
    console.log(`${`${kind}: ${address}`.padEnd(40)} least ${least}  median ${middle}  most ${most} ms`)
  }
}

const rounds = Number(process.argv[2] ?? 5)
const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
const browser = await chromium.launch({ executablePath: await unpackBrowser(), args: ['--no-sandbox'] })
try {
  const mock = await startMock(directory)
  const setup = setUpGateway(['dist/gateway'], directory, mock.port)
  const admin = JSON.parse(runCommand(setup, ['admins', 'create', 'bench', '--role', 'owner', '--json']))
  await fill(setup)
  const { target } = await startGateway(setup)
  const url = `http://127.0.0.1:${target.port}/console`
  console.log(`${ROWS} requests, ${ACCOUNTS} accounts, load average ${loadavg()[0]?.toFixed(1)}`)
  const customer = `accounts/${encodeURIComponent(`account ${HOLDER}`)}`
  report('operator', await measurePages(await signIn(browser, url, admin.token), url, rounds, [customer]))
  report('holder', await measurePages(await signIn(browser, url, setup.key), url, rounds))
  await stopAll()
} finally {
  await browser.close()
  killAll()
  rmSync(directory, { recursive: true, force: true })
}
