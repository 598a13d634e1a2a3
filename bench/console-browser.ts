// A real browser and a gateway for measurements of the console, and how their figures are shown.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { unpackBrowser } from '../test/support/browser/browser'
import { killAll, stopAll } from './children'
import { type GatewaySetup, runCommand, setUpGateway } from './gateway'
import { median } from './statistics'
import { startMock } from './targets'

interface ConsoleSetup extends GatewaySetup {
  /** Signs in as an owner. */
  token: string
}

/** Measures the executable with a browser; both, and all files, are gone afterwards. */
export async function withBrowser(
  measure: (browser: Browser, setup: ConsoleSetup) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  // Without the switches that make tests cheap.
  const browser = await chromium.launch({ executablePath: await unpackBrowser(), args: ['--no-sandbox'] })
  try {
    const mock = await startMock(directory)
    const setup = setUpGateway(['dist/gateway'], directory, mock.port)
    const made = runCommand(setup, ['admins', 'create', 'bench', '--role', 'owner', '--json'])
    await measure(browser, { ...setup, token: (JSON.parse(made) as { token: string }).token })
    await stopAll()
  } finally {
    await browser.close()
    killAll()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Opens the console in a new page, as an operator or as the holder of a key. */
export async function signIn(context: BrowserContext, url: string, secret: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.locator('[name=token]').fill(secret)
  await page.locator('form button[type=submit]').click()
  await page.getByRole('navigation').first().waitFor()
  return page
}

/** The smallest, middle and largest of some figures, rounded. */
export function spreadOf(figures: readonly number[]): string {
  const sorted = figures.toSorted((one, other) => one - other)
  const shown = [sorted[0] ?? Number.NaN, median(sorted), sorted.at(-1) ?? Number.NaN].map(Math.round)
  return `least ${shown[0]}, median ${shown[1]}, most ${shown[2]}`
}

/** How busy the machine is. */
export function loadText(): string {
  return `load average ${loadavg()[0]?.toFixed(1)}`
}
