// The cost of following thousands of open tasks, and whether each is polled when it is due. The times are the mock's: when a poll
// reached the vendor. It must never leave out a task that was due and not polled.
import type { PollsFigures } from './figures'
import { type GatewaySetup, startGateway } from './gateway'
import { planPolls, submitTasks, type TaskPlan } from './open-tasks'
import type { Amounts } from './options'
import { cpuMs } from './process-meter'
import { Samples } from './statistics'
import type { Target } from './targets'
import type { Poll } from './vendor-videos'

/** Ages of the tasks, spread evenly, as if as many tasks began as ended. */
export const OLDEST_MS = 10 * 60_000
/** Time from the plan to the first due tasks: the start of the process is not measured. */
const START_MS = 3000
/** Time from then to the first reading, in which the runtime compiles hot code. */
const WARM_UP_MS = 5000
/** How long after the last reading a due poll may still arrive and be measured at its true time. */
const GRACE_MS = 2000
/** Spreads any number of tasks evenly over their pauses, whatever their order. */
const GOLDEN_SHARE = 0.618034

export async function measurePolls(
  setup: GatewaySetup,
  mock: Target,
  amounts: Amounts,
): Promise<PollsFigures> {
  const tasks = amounts.openTasks
  await submitTasks(setup, tasks, () => undefined)
  const firstDueAt = Date.now() + START_MS
  const plans = planPolls(setup, (index) => {
    const ageMs = Math.round((index * OLDEST_MS) / tasks)
    const waitMs = Math.round(((index * GOLDEN_SHARE) % 1) * pauseOf(ageMs))
    return { createdAt: firstDueAt - ageMs, dueAt: firstDueAt + waitMs }
  })
  // Polls from the time of the submits, before the plan.
  await takePolls(mock)
  const { target, child } = await startGateway(setup)
  await Bun.sleep(firstDueAt + WARM_UP_MS - Date.now())
  const [fromAt, fromCpuMs] = [Date.now(), cpuMs(target.pid)]
  await Bun.sleep(amounts.pollingMs)
  const [untilAt, untilCpuMs] = [Date.now(), cpuMs(target.pid)]
  await Bun.sleep(GRACE_MS)
  const polls = await takePolls(mock)
  const givenUpAt = Date.now()
  await child.stop()
  const elapsedMs = untilAt - fromAt
  return {
    tasks,
    pollsPerSecond: (polls.filter(({ at }) => at >= fromAt && at < untilAt).length * 1000) / elapsedMs,
    coreShare: (untilCpuMs - fromCpuMs) / elapsedMs,
    ...judge(polls, plans, { fromAt, untilAt, givenUpAt }),
  }
}

async function takePolls(mock: Target): Promise<Poll[]> {
  const response = await fetch(`http://127.0.0.1:${mock.port}/polls`)
  return (await response.json()) as Poll[]
}

/** Figures of all polls that were due within the time. A missing poll counts with the time until the run gave up. */
function judge(
  polls: Poll[],
  plans: Map<string, TaskPlan>,
  { fromAt, untilAt, givenUpAt }: { fromAt: number; untilAt: number; givenUpAt: number },
): Pick<PollsFigures, 'polled' | 'unpolled' | 'latenessMs'> {
  const latenessMs = new Samples()
  let polled = 0
  let unpolled = 0
  for (const { upstreamId, at } of polls) {
    const plan = plans.get(upstreamId)
    if (plan === undefined) throw new Error(`nobody submitted ${upstreamId}`)
    const { createdAt, dueAt } = plan
    plans.set(upstreamId, { createdAt, dueAt: at + pauseOf(at - createdAt) })
    if (dueAt < fromAt || dueAt >= untilAt) continue
    polled += 1
    latenessMs.add(at - dueAt)
  }
  for (const { dueAt } of plans.values()) {
    if (dueAt >= untilAt) continue
    unpolled += 1
    latenessMs.add(givenUpAt - dueAt)
  }
  return { polled, unpolled, latenessMs: latenessMs.summary() }
}

/** The gateway's own rule: a tenth of a task's age, from three to thirty seconds. */
function pauseOf(ageMs: number): number {
  return Math.min(30_000, Math.max(3000, ageMs * 0.1))
}
