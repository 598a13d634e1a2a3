// A real browser, from the npm registry with the libraries that it needs, so that no test needs one installed.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium as launcher } from 'playwright-core'

/**
 * Unpacks the browser of the package into the folder for temporary files, where it is not there yet, and answers its path.
 * Two processes that do so at the same time would disturb each other.
 */
export async function unpackBrowser(): Promise<string> {
  // Has the package unpack the libraries of its own, which a bare system lacks.
  process.env.AWS_LAMBDA_JS_RUNTIME ??= 'nodejs22.x'
  const { default: chromium } = await import('@sparticuz/chromium')
  const path = await chromium.executablePath()
  nameFonts(join(tmpdir(), 'fonts'))
  return path
}

/**
 * Has the browser find the fonts of the package, whose own settings look for them in folders with fixed names. A browser
 * that finds none ends at the first sign that its fonts lack.
 */
function nameFonts(folder: string): void {
  const settings = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${folder}/cache</cachedir></fontconfig>
`
  const file = join(folder, 'fonts.conf')
  if (readFileSync(file, 'utf8') === settings) return
  // In one step: other processes read it.
  writeFileSync(`${file}.${process.pid}`, settings)
  renameSync(`${file}.${process.pid}`, file)
}

/** A browser that was started to see whether one starts, for the first who wants one. */
let started: Browser | undefined

/** How long a page may take for each step of a test: a bound for what hangs, not a measure of speed. */
const STEP_MS = 100_000

/** Starts a headless Chromium. Elsewhere than on Linux it is the Chrome that is installed. */
export async function openBrowser(): Promise<Browser> {
  const browser = started ?? (await launch())
  started = undefined
  const newContext = browser.newContext.bind(browser)
  // Pages that are opened without a context get one from here, too.
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(STEP_MS)
    return context
  }
  return browser
}

/** Why no browser starts on this machine; undefined if one does. Whoever runs all tests finds it out once for all. */
export async function browserFault(): Promise<string | undefined> {
  const known = process.env.TEST_BROWSER_FAULT
  if (known !== undefined) return known === '' ? undefined : known
  try {
    started = await launch()
    return undefined
  } catch (error) {
    const lines = String(error).trim().split('\n')
    // Behind the first line stands what the browser itself has written.
    const reason = lines.find((line) => /shared librar|exist|No such file/.test(line)) ?? lines[0]
    return reason?.replace(/^Error: (\S+: )?/, '').trim()
  }
}

/** Unpacks the browser for all, which two processes cannot do at once, and finds out why it does not start, if so. */
export async function prepareBrowser(): Promise<string | undefined> {
  const fault = await browserFault()
  await started?.close()
  started = undefined
  return fault
}

async function launch(): Promise<Browser> {
  const { TEST_BROWSER: own } = process.env
  if (own === undefined && process.platform !== 'linux') return launcher.launch({ channel: 'chrome' })
  // Not the package's own arguments: they switch off what keeps pages of different origins apart. Pages of tests live for
  // seconds: fewer processes and threads, and no code that is optimized for longer, take a fifth less processor time.
  return launcher.launch({
    executablePath: own ?? (await unpackBrowser()),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--in-process-gpu',
      '--renderer-process-limit=1',
      '--num-raster-threads=1',
      '--js-flags=--no-opt --no-maglev --single-threaded-gc',
    ],
  })
}
