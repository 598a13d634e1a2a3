// The load generator, a separate process so that its work is not attributed to others: takes one job after the other from the bench
// and answers each with a report. It must never run two jobs at once.
import { runLoop } from './closed-loop'
import { runCuts } from './cut-streams'
import type { LoadJob, LoadReport } from './load-job'
import { runLag } from './probes'
import { runSteady } from './steady-rate'
import { runTurns } from './turns'

process.on('message', async (job: LoadJob) => {
  try {
    process.send?.(await run(job))
  } catch (error) {
    // Without a report the bench would wait forever; it treats the end of this process as a failed job.
    console.error(error)
    process.exit(1)
  }
})

async function run(job: LoadJob): Promise<LoadReport> {
  if (job.kind === 'loop') return await runLoop(job)
  if (job.kind === 'lag') return await runLag(job)
  if (job.kind === 'turns') return await runTurns(job)
  return job.kind === 'cut' ? await runCuts(job) : await runSteady(job)
}

// The bench keeps a channel open to this process; if that breaks, the bench has ended and nobody else would stop this process.
process.on('disconnect', () => process.exit())
