// Measures the share of the machine that other programs used during the run: readers must know that a large share makes the figures
// unreliable. It must never change a figure.
import { cpus } from 'node:os'

interface Bystanders {
  /** Share of all processor time since the start, from 0 to 1; `ownMs` is the time of the run itself. */
  share(ownMs: number): number
}

export function watchBystanders(): Bystanders {
  const start = totals()
  return {
    share(ownMs) {
      const now = totals()
      const othersMs = now.busyMs - start.busyMs - ownMs
      return Math.max(0, othersMs) / (now.allMs - start.allMs)
    },
  }
}

function totals(): { busyMs: number; allMs: number } {
  let idleMs = 0
  let allMs = 0
  for (const { times } of cpus()) {
    idleMs += times.idle
    allMs += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { busyMs: allMs - idleMs, allMs }
}
