// What is to be cleared away when all tests have run. Loaded before the tests (bunfig.toml), because a hook that a
// shared module registers counts for the test file that happened to load it first, and would run after that file.

import { afterAll, setDefaultTimeout } from 'bun:test'

/** Of a test that does not say: it only bounds what hangs, on a machine that is busy with other things. */
setDefaultTimeout(180_000)

const works: (() => unknown)[] = []

/** Runs after the last test of the whole run; what came last goes first. */
export function whenTestsEnd(work: () => unknown): void {
  works.unshift(work)
}

afterAll(async () => {
  for (const work of works.splice(0)) await work()
})
