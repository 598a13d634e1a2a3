// Thousands of tasks that end at the same moment, with webhooks to a fast and to a slow receiver: the effect on chat, and how soon
// the fast receiver has its webhooks. It must never report a run as done too early.
import { requestBody, WHOLE } from './exchange'
import type { EndingsFigures } from './figures'
import { type GatewaySetup, startGateway } from './gateway'
import type { LoadClient } from './load-client'
import { countOpen, planPolls, submitTasks } from './open-tasks'
import type { Amounts } from './options'
import { Samples } from './statistics'
import { startReceiver, type Target } from './targets'

export const CHATS_PER_SECOND = 100
const SLOW_ANSWER_MS = 5000
/** Time from the plan to the end of all tasks, in addition to the time of chat before it. */
const START_MS = 5000
const WARM_UP_MS = 3000
const AGE_MS = 60_000
const STEP_MS = 500
const DEADLINE_MS = 120_000

export async function measureEndings(
  load: LoadClient,
  setup: GatewaySetup,
  mock: Target,
  amounts: Amounts,
): Promise<EndingsFigures> {
  const tasks = amounts.endingTasks
  const quick = await startReceiver('quick', setup.directory, 0)
  const slow = await startReceiver('slow', setup.directory, SLOW_ANSWER_MS)
  await submitTasks(setup, tasks, (index) => urlOf(index % 2 === 0 ? quick : slow))
  await fetch(`http://127.0.0.1:${mock.port}/end`)
  const endAt = Date.now() + START_MS + WARM_UP_MS + amounts.chatBeforeMs
  planPolls(setup, () => ({ createdAt: endAt - AGE_MS, dueAt: endAt }))
  const { target, child } = await startGateway(setup)
  const chat = async (durationMs: number) => await load.steady(target, steadyJob(target, durationMs))
  await chat(WARM_UP_MS)
  await Bun.sleep(endAt - amounts.chatBeforeMs - Date.now())
  const before = await chat(amounts.chatBeforeMs)
  const during = new Samples()
  let [open, received] = [tasks, 0]
  do {
    for (const latencyMs of await chat(STEP_MS)) during.add(latencyMs)
    open = countOpen(setup)
    received = await receivedBy(quick)
  } while ((open > 0 || received < tasks / 2) && Date.now() < endAt + DEADLINE_MS)
  const figures: EndingsFigures = {
    tasks,
    open,
    chatBeforeMs: summaryOf(before),
    chatDuringMs: during.summary(),
    tookMs: Date.now() - endAt,
    quick: { received, of: Math.ceil(tasks / 2) },
    slow: { received: await receivedBy(slow), of: Math.floor(tasks / 2) },
  }
  await child.stop()
  return figures
}

function steadyJob(target: Target, durationMs: number) {
  const body = requestBody(target.model(WHOLE), false)
  return { body, durationMs, perSecond: CHATS_PER_SECOND }
}

function urlOf({ port }: { port: number }): string {
  return `http://127.0.0.1:${port}/ended`
}

async function receivedBy(receiver: { port: number }): Promise<number> {
  return (await (await fetch(urlOf(receiver))).json()) as number
}

function summaryOf(values: readonly number[]) {
  const samples = new Samples()
  for (const value of values) samples.add(value)
  return samples.summary()
}
