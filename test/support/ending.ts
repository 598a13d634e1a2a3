// What is to be cleared away when all tests have run. Loaded before the tests (bunfig.toml), because a hook that a
// shared module registers counts for the test file that happened to load it first, and would run after that file.

import { afterAll, setDefaultTimeout } from 'bun:test'

/** The time limit of tests without their own. It only bounds what hangs, also on a busy machine. */
setDefaultTimeout(180_000)

const works: (() => unknown)[] = []

/**
 * Runs once, after the last test of the file that asks for it or of the whole run; what came last goes first. Is to be called
 * where there is something to clear away, not once by a module: files that run in one process share their modules.
 */
export function whenTestsEnd(work: () => unknown): void {
  works.unshift(work)
}

afterAll(async () => {
  for (const work of works.splice(0)) await work()
})
