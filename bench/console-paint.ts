// `bun bench/console-paint.ts [RUNS]`: starts the executable a number of times and measures in a real browser when the console is
// first painted, for the first request of a process and for a later one, and the memory of the process before the first request and
// after its pages were used. It must never fail because something was slow: it only reports.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { unpackBrowser } from '../test/support/browser/browser'
import { killAll, stopAll } from './children'
import { type GatewaySetup, setUpGateway, startGateway } from './gateway'
import { rssMb } from './process-meter'
import { median } from './statistics'
import { startMock } from './targets'

/** Pause before memory is read, in which a runtime compiles and collects. */
const IDLE_PAUSE_MS = 3_000
const PAGES = [
  'overview',
  'accounts',
  'keys',
  'requests',
  'usage',
  'tasks',
  'models',
  'upstreams',
  'settings',
]
const PAINT = `new Promise((done) => {
  const look = () => {
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    if (paint) done(paint.startTime)
    else setTimeout(look, 5)
  }
  look()
})`

interface Figures {
  coldPaintMs: number
  warmPaintMs: number
  idleMb: number
  usedMb: number
}

function makeToken({ command, flags }: GatewaySetup): string {
  const words = ['admins', 'create', `bench-${Bun.randomUUIDv7()}`, '--role', 'owner', '--json', ...flags]
  const created = Bun.spawnSync([...command, ...words])
  if (!created.success) throw new Error(`cannot create an admin: ${created.stderr}`)
  return (JSON.parse(created.stdout.toString()) as { token: string }).token
}

/** Milliseconds to the first contentful paint, in a browser without cached files of the console. */
async function paintMs(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage()
  // The browser itself is running by now.
  await page.goto('about:blank')
  await page.goto(url, { waitUntil: 'commit' })
  const paintedMs = Number(await page.evaluate(PAINT))
  await page.close()
  return paintedMs
}

/** Signs in and opens each page, as an operator would. */
async function usePages(context: BrowserContext, url: string, token: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(url)
  await page.getByLabel('Token or key').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation').first().waitFor()
  for (const each of PAGES) {
    await page.evaluate(`location.hash = '#/${each}'`)
    await page.locator('main h1').waitFor({ state: 'attached' })
    await Bun.sleep(300)
  }
  await page.close()
}

async function measureOnce(setup: GatewaySetup, token: string, browser: Browser): Promise<Figures> {
  const { child, target } = await startGateway(setup)
  const url = `http://127.0.0.1:${target.port}/console`
  await Bun.sleep(IDLE_PAUSE_MS)
  const idleMb = rssMb(child.pid)
  const [first, second] = [await browser.newContext(), await browser.newContext()]
  const coldPaintMs = await paintMs(first, url)
  const warmPaintMs = await paintMs(second, url)
  await usePages(second, url, token)
  await first.close()
  await second.close()
  await Bun.sleep(IDLE_PAUSE_MS)
  const usedMb = rssMb(child.pid)
  await child.stop()
  return { coldPaintMs, warmPaintMs, idleMb, usedMb }
}

const runs = Number(process.argv[2] ?? 9)
const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
// Without the switches that make tests cheap.
const browser = await chromium.launch({ executablePath: await unpackBrowser(), args: ['--no-sandbox'] })
try {
  const mock = await startMock(directory)
  const setup = setUpGateway(['dist/gateway'], directory, mock.port)
  const token = makeToken(setup)
  const all: Figures[] = []
  for (let run = 0; run < runs; run++) all.push(await measureOnce(setup, token, browser))
  const rows = (Object.keys(all[0] ?? {}) as (keyof Figures)[]).map((name) => {
    const values = all.map((figures) => figures[name]).sort((one, other) => one - other)
    const shown = [values[0] ?? Number.NaN, median(values), values.at(-1) ?? Number.NaN].map(Math.round)
    return `${name}: least ${shown[0]}, median ${shown[1]}, most ${shown[2]}`
  })
  console.log([`${runs} starts, load average ${loadavg()[0]?.toFixed(1)}`, ...rows].join('\n'))
  await stopAll()
} finally {
  await browser.close()
  killAll()
  rmSync(directory, { recursive: true, force: true })
}
