// The load generator, a process of its own so that its work is not counted as anybody else's: takes one job after
// the other from the bench and answers each with a report. It must never run two jobs at once.
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
    // Without a report the bench would wait forever; it takes the end of this process for the failure of the job.
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

// The bench keeps a channel open to this process; when that breaks the bench is gone and nobody is left to stop it.
process.on('disconnect', () => process.exit())
