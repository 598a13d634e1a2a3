// Cleans up when all tests have run. Loaded before the tests (bunfig.toml), because a hook of a shared module belongs to the test
// file that happened to load it first, and would run after that file.

import { afterAll, setDefaultTimeout } from 'bun:test'

/** The time limit of tests without their own. It only bounds hangs, also on a busy machine. */
setDefaultTimeout(180_000)

const works: (() => unknown)[] = []

/**
 * Runs an action once, after the last test of the calling file or of the whole run, in reverse order. It must be called whenever
 * there is something to clean up, not once per module: files in one process share their modules.
 */
export function whenTestsEnd(work: () => unknown): void {
  works.unshift(work)
}

afterAll(async () => {
  for (const work of works.splice(0)) await work()
})
