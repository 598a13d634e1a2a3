// The life of one process of the simulation: it can be paused, like a machine that swaps or is moved, and it can end at any moment.
// Its awaited results then come late, or never, and it sends nothing meanwhile.

import type { World } from '../../../src/app/world'
import type { VirtualTime } from './time'

export interface Life {
  isDead(): boolean
  isPaused(): boolean
  wasPausedSince(moment: number): boolean
  crash(): void
  /** False soon after its last pause, because holds and leases need not outlive several pauses. */
  pause(milliseconds: number): boolean
  /** Resolves when the process is awake, and never after it has died. */
  alive<Result>(work: Promise<Result>): Promise<Result>
  after: World['after']
}

/** The longest pause of a process, after which others must take over, and the following time without another pause. */
export const MAX_CALM_PAUSE_MS = 90_000
const UNPAUSED_MS = 150_000

export const never = new Promise<never>(() => {})

export function createLife(time: VirtualTime, trace: (text: string) => void, name: string): Life {
  let dead = false
  let pausedUntil = Number.NEGATIVE_INFINITY

  const isPaused = () => time.monotonic() < pausedUntil

  async function awake(): Promise<void> {
    while (isPaused())
      await new Promise<void>((resolve) => void time.after(pausedUntil - time.monotonic(), resolve))
    if (dead) await never
  }

  function whenAwake(run: () => void): void {
    if (dead) return
    if (isPaused()) time.after(pausedUntil - time.monotonic(), () => whenAwake(run))
    else run()
  }

  return {
    isDead: () => dead,
    isPaused,
    wasPausedSince: (moment) => pausedUntil >= moment,
    crash() {
      if (!dead) trace(`crash ${name}`)
      dead = true
    },
    pause(milliseconds) {
      if (time.monotonic() < pausedUntil + UNPAUSED_MS) return false
      trace(`pause ${name} ${milliseconds}`)
      pausedUntil = time.monotonic() + milliseconds
      return true
    },
    async alive(work) {
      try {
        const result = await work
        if (dead || isPaused()) await awake()
        return result
      } catch (error) {
        if (dead || isPaused()) await awake()
        throw error
      }
    },
    after: (milliseconds, run) => time.after(milliseconds, () => whenAwake(run)),
  }
}
