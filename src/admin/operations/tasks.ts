// Tasks, their webhooks and their kept results over the admin API. A vendor must never be called here: the poller does
// that, and finds its orders in the database.

import { Type } from '@sinclair/typebox'
import { listArtifacts } from '../../artifacts/rows'
import { isoTime } from '../../db/iso-time'
import { timeOfQuery } from '../../http/query-time'
import { findTask, listTasks } from '../../tasks/find'
import { endNotBegun } from '../../tasks/finish'
import { askAgain } from '../../tasks/late-success'
import { requestCancel } from '../../tasks/leases'
import { acceptTask } from '../../tasks/rows'
import type { Task } from '../../tasks/task'
import { deliveryJson, taskJson, taskStateOf } from '../../tasks/task-json'
import { UNKNOWN } from '../../tasks/transitions'
import { listWebhooks, redeliver, webhookOf } from '../../webhooks/rows'
import {
  type Asked,
  changing,
  closedBody,
  conflict,
  limitOf,
  notFound,
  open,
  operation,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  Text,
  timedCursor,
} from '../operation'

const tag = 'Tasks'
const TaskReply = Type.Object({ id: Type.String(), state: Type.String(), account: Type.String() }, open)
const STATES = ['submitted', 'succeeded', 'failed', UNKNOWN] as const

async function requireTask({ world, params }: Asked): Promise<Task> {
  const task = await findTask(world.db, null, params.task ?? '')
  if (!task) throw notFound('task', params.task)
  return task
}

function requireRunning(task: Task): Task {
  if (task.state === 'submitted') return task
  throw conflict('task_ended', `${task.id} has ended: it ${taskStateOf(task)}.`)
}

async function withDelivery({ world }: Asked, task: Task): Promise<object> {
  const delivery = await webhookOf(world.db, task.id)
  const document = task.document === null ? null : JSON.parse(task.document)
  return {
    ...taskJson(task),
    cancel_requested_at: isoTime(task.cancelAt),
    cancel_answer: task.cancelAnswer,
    document,
    webhook: delivery ? deliveryJson(delivery) : null,
  }
}

/** The state of a task for the audit trail. */
const stateJson = (task: Task) => ({ state: taskStateOf(task), upstream_id: task.upstreamId })

const list = operation({
  id: 'listTasks',
  method: 'GET',
  path: '/tasks',
  role: 'viewer',
  tag,
  summary: 'Tasks, newest first',
  query: Type.Object({
    state: Type.Optional(
      Type.Union(
        STATES.map((word) => Type.Literal(word)),
        { description: 'Only tasks in this state.' },
      ),
    ),
    model: optionalText('Only tasks of this model.'),
    account: optionalText('Only tasks of this account.'),
    since: periodQuery.since,
    ...pageQuery,
  }),
  reply: PageOf(TaskReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const since = timeOfQuery('since', query.since)
    const place = query.after === undefined ? undefined : timedCursor(query.after)
    const rows = await listTasks(world.db, {
      limit: limit + 1,
      ...(query.state !== undefined && { state: query.state }),
      ...(query.model !== undefined && { model: query.model }),
      ...(query.account !== undefined && { account: query.account }),
      ...(since !== undefined && { since }),
      ...(place && { after: { createdAt: place.at, id: place.id } }),
    })
    return pageOf(rows, limit, taskJson, ({ createdAt, id }) => `${createdAt}.${id}`)
  },
})

const show = operation({
  id: 'getTask',
  method: 'GET',
  path: '/tasks/{task}',
  role: 'viewer',
  tag,
  summary: "One task by our id or the vendor's, with the deliveries of its webhook",
  reply: TaskReply,
  run: async (asked) => withDelivery(asked, await requireTask(asked)),
})

const cancel = operation({
  id: 'cancelTask',
  method: 'POST',
  path: '/tasks/{task}/cancel',
  role: 'operator',
  tag,
  summary:
    'Ask the vendor to stop a task. The answer shows it as it stands; `cancel_answer` says why a vendor did not',
  reply: TaskReply,
  async run(asked) {
    const task = requireRunning(await requireTask(asked))
    if (task.upstreamId === null)
      throw conflict(
        'task_unknown',
        `The vendor's id of ${task.id} is not known, so it cannot be stopped: reconcile it.`,
      )
    const db = changing(asked, { action: 'task.cancel', target: `task:${task.id}`, before: stateJson(task) })
    // Has no effect on a task that has ended meanwhile; the answer shows that.
    await requestCancel(db, task.id, asked.world.now())
    return withDelivery(asked, await requireTask(asked))
  },
})

const reconcile = operation({
  id: 'reconcileTask',
  method: 'POST',
  path: '/tasks/{task}/reconcile',
  role: 'operator',
  tag,
  summary: 'Settle a task whose submit got no answer, or have the vendor asked about a failed one once more',
  body: Type.Object(
    {
      finding: Type.Union(
        ['found', 'not_begun', 'ask_again'].map((word) => Type.Literal(word as 'found')),
        {
          description:
            '`found`: the vendor has it under `upstream_id`, so follow it. `not_begun`: the vendor does not have it, so release the hold. `ask_again`: ask about a failed one once more; a finished video is charged.',
        },
      ),
      upstream_id: Type.Optional(Text("The vendor's id, with `found`.")),
    },
    closedBody,
  ),
  reply: TaskReply,
  async run(asked, _query, body) {
    const { finding, upstream_id: upstreamId } = body as { finding: string; upstream_id?: string }
    const task = await requireTask(asked)
    if ((finding === 'found') !== (upstreamId !== undefined))
      throw conflict(
        'upstream_id_missing',
        "'upstream_id' goes with the finding `found`, and only with that.",
      )
    if (finding === 'ask_again' && task.state !== 'failed')
      throw conflict('task_not_failed', `${task.id} has not failed: its state is ${taskStateOf(task)}.`)
    if (finding !== 'ask_again' && requireRunning(task).upstreamId !== null)
      throw conflict('task_known', `${task.id} already has the vendor's id ${task.upstreamId}.`)
    const { world } = asked
    const now = world.now()
    const db = changing(asked, {
      action: 'task.reconcile',
      target: `task:${task.id}`,
      before: stateJson(task),
      after: { finding, ...(upstreamId !== undefined && { upstream_id: upstreamId }) },
    })
    const isDone =
      finding === 'ask_again'
        ? await askAgain(db, task, now)
        : upstreamId === undefined
          ? await endNotBegun(db, task, { now, webhookId: world.newId('msg') })
          : await acceptTask(db, task.id, upstreamId, now)
    if (isDone) return withDelivery(asked, await requireTask(asked))
    throw conflict(
      'task_not_changed',
      `${task.id} was not changed: it has changed meanwhile, or the id belongs to another task.`,
    )
  },
})

const redeliverWebhook = operation({
  id: 'redeliverWebhook',
  method: 'POST',
  path: '/tasks/{task}/redeliver',
  role: 'operator',
  tag,
  summary: 'Send the webhook of an ended task again, with the same id, from the start of its schedule',
  reply: TaskReply,
  async run(asked) {
    const task = await requireTask(asked)
    const db = changing(asked, {
      action: 'task.redeliver',
      target: `task:${task.id}`,
      before: stateJson(task),
    })
    if (await redeliver(db, task.id)) return withDelivery(asked, task)
    const why = task.webhookUrl === null ? 'it was submitted without a webhook_url' : 'it has not ended yet'
    throw conflict('webhook_missing', `${task.id} has no webhook to deliver: ${why}.`)
  },
})

const webhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  role: 'viewer',
  tag,
  summary: 'Webhooks, newest first, with how their delivery stands',
  query: Type.Object({
    state: Type.Optional(
      Type.Union(
        ['pending', 'delivered', 'failed'].map((word) => Type.Literal(word as 'pending')),
        { description: 'Only those in this state.' },
      ),
    ),
    account: optionalText('Only those of this account.'),
    ...pageQuery,
  }),
  reply: PageOf(Type.Object({ id: Type.String(), task: Type.String(), state: Type.String() }, open)),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { state, account, after } = query
    const rows = await listWebhooks(world.db, { state, account, after, limit: limit + 1 })
    const json = (webhook: (typeof rows)[number]) => ({
      id: webhook.id,
      task: webhook.task,
      account: webhook.account,
      key_id: webhook.keyId,
      url: webhook.url,
      state: webhook.state,
      attempts: webhook.attempts,
      next_at: webhook.state === 'pending' ? isoTime(webhook.nextAt) : null,
      created_at: isoTime(webhook.createdAt),
      ended_at: isoTime(webhook.endedAt),
    })
    return pageOf(rows, limit, json, ({ id }) => id)
  },
})

const artifacts = operation({
  id: 'listArtifacts',
  method: 'GET',
  path: '/artifacts',
  role: 'viewer',
  tag,
  summary: 'Kept results, newest first',
  query: Type.Object({ account: optionalText('Only those of this account.'), ...pageQuery }),
  reply: PageOf(Type.Object({ id: Type.String(), account: Type.String(), bytes: Type.Integer() }, open)),
  async run({ world }, query) {
    const limit = limitOf(query)
    const rows = await listArtifacts(world.db, {
      account: query.account,
      after: query.after,
      limit: limit + 1,
    })
    const json = (artifact: (typeof rows)[number]) => ({
      id: artifact.id,
      account: artifact.account,
      charge: artifact.charge,
      content_type: artifact.contentType,
      bytes: artifact.bytes,
      created_at: isoTime(artifact.createdAt),
      expires_at: isoTime(artifact.expiresAt),
    })
    return pageOf(rows, limit, json, ({ id }) => id)
  },
})

export const taskOperations = [list, show, cancel, reconcile, redeliverWebhook, webhooks, artifacts]
