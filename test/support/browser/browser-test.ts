// Tests that need a browser. If none starts they are skipped without any preparation, and their names state the reason: a machine
// without a browser must never look as if the pages had been tested.

import * as bun from 'bun:test'
import { browserFault } from './browser'

const fault = await browserFault()

export function test(name: string, work: () => void | Promise<void>): void {
  if (fault === undefined) bun.test(name, work)
  else bun.test.skip(`${name} (not tested: no browser starts here: ${fault})`, work)
}

export function beforeAll(work: () => void | Promise<void>): void {
  if (fault === undefined) bun.beforeAll(work)
}

export function afterAll(work: () => void | Promise<void>): void {
  if (fault === undefined) bun.afterAll(work)
}
