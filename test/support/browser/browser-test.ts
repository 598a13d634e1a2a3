// Tests that need a browser. Where none starts they are skipped, under names that say so and why, and nothing is prepared for
// them: a machine without one must never look as if its pages had been tried.

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
