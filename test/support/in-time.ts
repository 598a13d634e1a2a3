// Tests of work that the gateway limits in time. On a machine that is too slow they prove nothing, and are run again; a failure
// within the limit is a fault, and is never repeated.

/** Maximum number of runs of a test before it fails because the machine is too slow. */
const MAX_TRIES = 5

/** A part of a test that must not take longer than the gateway allows. */
export interface Part {
  begin(): void
  end(): void
}

/** Runs a test. Repeats it if it failed and its part took longer than `limitMs`. */
export async function inTime(limitMs: number, run: (part: Part) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    let begun: number | undefined
    let longestMs = 0
    const end = () => {
      if (begun !== undefined) longestMs = Math.max(longestMs, performance.now() - begun)
      begun = undefined
    }
    const begin = () => {
      begun = performance.now()
    }
    try {
      return await run({ begin, end })
    } catch (error) {
      end()
      if (longestMs <= limitMs || tries === MAX_TRIES) throw error
    }
  }
}
