// `bun bench/console-paint.ts [RUNS]`: starts the executable a number of times and measures in a real browser when the console is
// first painted, for the first request of a process and for a later one, and the memory of the process before the first request and
// after its pages were used. It must never fail because something was slow: it only reports.

import type { Browser, BrowserContext } from 'playwright-core'
import { loadText, signIn, spreadOf, withBrowser } from './console-browser'
import { type GatewaySetup, startGateway } from './gateway'
import { rssMb } from './process-meter'

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
  const page = await signIn(context, url, token)
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
await withBrowser(async (browser, setup) => {
  const all: Figures[] = []
  for (let run = 0; run < runs; run++) all.push(await measureOnce(setup, setup.token, browser))
  const names = Object.keys(all[0] ?? {}) as (keyof Figures)[]
  const rows = names.map((name) => `${name}: ${spreadOf(all.map((figures) => figures[name]))}`)
  console.log([`${runs} starts, ${loadText()}`, ...rows].join('\n'))
})
