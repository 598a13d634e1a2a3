// A real browser, from the npm registry with the libraries that it needs, so that no test needs one installed.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium as launcher } from 'playwright-core'

/**
 * Unpacks the browser of the package into the folder for temporary files, unless it exists there, and returns its path. Two
 * processes must not do so at the same time.
 */
export async function unpackBrowser(): Promise<string> {
  // Makes the package unpack its own libraries, which a minimal system lacks.
  process.env.AWS_LAMBDA_JS_RUNTIME ??= 'nodejs22.x'
  const { default: chromium } = await import('@sparticuz/chromium')
  const path = await chromium.executablePath()
  nameFonts(join(tmpdir(), 'fonts'))
  return path
}

/**
 * Lets the browser find the fonts of the package, whose own settings search folders with fixed names. A browser without fonts ends
 * at the first character that it cannot draw.
 */
function nameFonts(folder: string): void {
  const settings = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${folder}/cache</cachedir></fontconfig>
`
  const file = join(folder, 'fonts.conf')
  if (readFileSync(file, 'utf8') === settings) return
  // Written in one step, because other processes read it.
  writeFileSync(`${file}.${process.pid}`, settings)
  renameSync(`${file}.${process.pid}`, file)
}

/** A browser that was started as a trial, for the first test that needs one. */
let started: Browser | undefined

/** Time limit of a page for each step of a test: it only bounds hangs and measures no speed. */
const STEP_MS = 100_000

/** Starts a headless Chromium; outside Linux, the installed Chrome. */
export async function openBrowser(): Promise<Browser> {
  const browser = started ?? (await launch())
  started = undefined
  const newContext = browser.newContext.bind(browser)
  // Pages that are opened without a context also get one from here.
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(STEP_MS)
    return context
  }
  return browser
}

/** Why no browser starts on this machine; undefined if one starts. The run of all tests checks this once. */
export async function browserFault(): Promise<string | undefined> {
  const known = process.env.TEST_BROWSER_FAULT
  if (known !== undefined) return known === '' ? undefined : known
  try {
    started = await launch()
    return undefined
  } catch (error) {
    const lines = String(error).trim().split('\n')
    // The browser's own output follows the first line.
    const reason = lines.find((line) => /shared librar|exist|No such file/.test(line)) ?? lines[0]
    return reason?.replace(/^Error: (\S+: )?/, '').trim()
  }
}

/** Unpacks the browser for all tests, because two processes cannot do so at once. Returns why it does not start, if so. */
export async function prepareBrowser(): Promise<string | undefined> {
  const fault = await browserFault()
  await started?.close()
  started = undefined
  return fault
}

async function launch(): Promise<Browser> {
  const { TEST_BROWSER: own } = process.env
  if (own === undefined && process.platform !== 'linux') return launcher.launch({ channel: 'chrome' })
  // Replaces the package's own arguments, which disable the isolation of origins. Pages of tests live for seconds: fewer processes
  // and threads, and no optimizing compilation, take a fifth less processor time.
  return launcher.launch({
    executablePath: own ?? (await unpackBrowser()),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--in-process-gpu',
      '--renderer-process-limit=1',
      '--num-raster-threads=1',
      // A microphone that beeps, which every page may use.
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--js-flags=--no-opt --no-maglev --single-threaded-gc',
    ],
  })
}
