// Tests that need a browser. If none starts they are skipped, with names that state the reason, and nothing is prepared for them: a
// machine without a browser must never look as if the pages had been tested.

import * as bun from 'bun:test'
import { browserFault } from './browser'

const fault = await browserFault()

export function test(name: string, work: () => void | Promise<void>): void {
  if (fault === undefined) bun.test(name, work)
  else bun.test.skip(`${name} (not tried: no browser starts here: ${fault})`, work)
}

export function beforeAll(work: () => void | Promise<void>): void {
  if (fault === undefined) bun.beforeAll(work)
}

export function afterAll(work: () => void | Promise<void>): void {
  if (fault === undefined) bun.afterAll(work)
}
