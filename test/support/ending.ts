// What is to be cleared away when all tests have run. Loaded before the tests (bunfig.toml), because a hook that a
// shared module registers counts for the test file that happened to load it first, and would run after that file.

import { afterAll, setDefaultTimeout } from 'bun:test'

/** The time limit of tests without their own. It only bounds what hangs, also on a busy machine. */
setDefaultTimeout(180_000)

const works: (() => unknown)[] = []

/** Runs after the last test of the whole run; what came last goes first. */
export function whenTestsEnd(work: () => unknown): void {
  works.unshift(work)
}

afterAll(async () => {
  for (const work of works.splice(0)) await work()
})
