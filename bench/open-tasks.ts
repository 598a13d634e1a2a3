// Fills a gateway with open video tasks: submits each as a caller would, then sets its age and its next due time. It must never
// change the rows while the gateway runs, or any of their other columns.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { VIDEO } from './exchange'
import { type GatewaySetup, type GatewayStart, startGateway } from './gateway'

const SUBMITS_AT_ONCE = 32

/** A plan in whole milliseconds. */
export interface TaskPlan {
  createdAt: number
  dueAt: number
}

/** Starts a gateway, submits, and stops it. `webhookOf` names the webhook of a task, if any. */
export async function submitTasks(
  setup: GatewaySetup,
  count: number,
  webhookOf: (index: number) => string | undefined,
): Promise<void> {
  const { target, child } = await startGateway(setup)
  let next = 0
  const lane = async () => {
    while (next < count) await submit(target, webhookOf(next++))
  }
  await Promise.all(Array.from({ length: SUBMITS_AT_ONCE }, lane))
  await child.stop()
}

async function submit(target: GatewayStart['target'], webhookUrl: string | undefined): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${target.port}/v1/videos/generations`, {
    method: 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: target.model(VIDEO),
      prompt: 'A red fox crosses a frozen lake at dawn, seen from a low drone.',
      duration: 5,
      ...(webhookUrl !== undefined && { webhook_url: webhookUrl }),
    }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`a task was refused: ${response.status} ${text}`)
}

/** Gives each task, by its index, an age and a due time. */
export function planPolls(setup: GatewaySetup, planOf: (index: number) => TaskPlan): Map<string, TaskPlan> {
  const database = new Database(join(setup.directory, 'data', 'gateway.sqlite'), { strict: true })
  const plans = new Map<string, TaskPlan>()
  const write = database.prepare('update tasks set created_at = ?, poll_at = ? where upstream_id = ?')
  const open = database
    .query<{ id: string }, []>(`select upstream_id as id from tasks where state = 'submitted'`)
    .all()
  database.transaction(() => {
    for (const [index, { id }] of open.entries()) {
      const plan = planOf(index)
      write.run(plan.createdAt, plan.dueAt, id)
      plans.set(id, plan)
    }
  })()
  write.finalize()
  database.close()
  return plans
}

/** Number of open tasks. Only reads, so the gateway may run. */
export function countOpen(setup: GatewaySetup): number {
  const database = new Database(join(setup.directory, 'data', 'gateway.sqlite'), { readonly: true })
  const row = database
    .query<{ open: number }, []>(`select count(*) as open from tasks where state = 'submitted'`)
    .get()
  database.close()
  return row?.open ?? Number.NaN
}
