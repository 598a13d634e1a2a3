// The part of the load generator with a steady rate: one request per interval, whether the last one was answered or not, so that a
// slow answer does not delay the next request and hide its latency. Every reply is checked. A latency must always be measured from
// the moment when its request was due.
import type { SteadyJob, SteadyReport } from './load-job'
import { checkWhole } from './reply-check'

const MAX_FAULTS = 5

export async function runSteady(job: SteadyJob): Promise<SteadyReport> {
  const report: SteadyReport = { latenciesMs: [], errors: 0, faults: [] }
  const startedAt = performance.now()
  const count = Math.round((job.durationMs * job.perSecond) / 1000)
  const requests: Promise<void>[] = []
  for (let index = 0; index < count; index++) {
    const dueAt = startedAt + (index * 1000) / job.perSecond
    const waitMs = dueAt - performance.now()
    if (waitMs > 0) await Bun.sleep(waitMs)
    requests.push(sendOne(job, dueAt, report))
  }
  await Promise.all(requests)
  return report
}

async function sendOne(job: SteadyJob, dueAt: number, report: SteadyReport): Promise<void> {
  const fault = await faultOf(job)
  report.latenciesMs.push(performance.now() - dueAt)
  if (fault === undefined) return
  report.errors += 1
  if (report.faults.length < MAX_FAULTS) report.faults.push(fault)
}

async function faultOf({ port, headers, body }: SteadyJob): Promise<string | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const text = await response.text()
    return response.status === 200
      ? checkWhole(text).fault
      : `status ${response.status}: ${text.slice(0, 200)}`
  } catch (error) {
    return String(error)
  }
}
