// Tasks, their webhooks and their stored results over the admin API. A vendor must never be called here: the poller does that, and
// finds its orders in the database.

import { strict as assert } from 'node:assert'
import { Type } from '@sinclair/typebox'
import { OneOf, open } from '../../api-operation/operation'
import { maybeText, text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { findArtifact, type ListedArtifact, listArtifacts } from '../../artifacts/rows'
import { isoTime } from '../../db/iso-time'
import { sendArtifact } from '../../http/kept-files'
import { timeOfQuery } from '../../http/query-time'
import { notFound } from '../../lib/errors'
import { listTasks } from '../../tasks/find'
import { FINDINGS, orderCancel, orderRedelivery, reconcileTask, requireTaskOfAny } from '../../tasks/orders'
import type { Task } from '../../tasks/task'
import { deliveryJson, taskJson, taskStateOf } from '../../tasks/task-json'
import { UNKNOWN } from '../../tasks/transitions'
import { DELIVERY_STATES, listWebhooks, type Webhook, webhookOf } from '../../webhooks/rows'
import {
  changing,
  closedBody,
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  placeOfCursor,
  Text,
  timedCursor,
} from '../operation'

const operation = operationsIn('Tasks')
const TaskReply = Type.Object(
  { id: Type.String(), operation: Type.String(), state: Type.String(), account: Type.String() },
  open,
)
const STATES = ['submitted', 'succeeded', 'failed', UNKNOWN] as const

const taskOf = ({ world, params }: OperationContext) => requireTaskOfAny(world.db, params.task ?? '')

async function withDelivery({ world }: OperationContext, task: Task) {
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
  endpoint: 'GET /tasks',
  role: 'viewer',
  summary: 'Tasks, newest first',
  query: Type.Object({
    state: Type.Optional(OneOf(STATES, 'Only tasks in this state.')),
    model: optionalText('Only tasks of this model.'),
    account: optionalText('Only tasks of this account.'),
    webhook: Type.Optional(OneOf(DELIVERY_STATES, 'Only tasks whose webhook is in this state.')),
    since: periodQuery.since,
    ...pageQuery,
  }),
  reply: PageOf(TaskReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const since = timeOfQuery('since', query.since)
    const place = placeOfCursor(query.after)
    const rows = await listTasks(world.db, {
      limit: limit + 1,
      ...(query.state !== undefined && { state: query.state }),
      ...(query.model !== undefined && { model: query.model }),
      ...(query.account !== undefined && { account: query.account }),
      ...(query.webhook !== undefined && { webhook: query.webhook }),
      ...(since !== undefined && { since }),
      ...(place && { after: { createdAt: place.at, id: place.id } }),
    })
    return pageOf(rows, limit, taskJson, ({ createdAt, id }) => timedCursor(createdAt, id))
  },
})

const show = operation({
  id: 'getTask',
  endpoint: 'GET /tasks/{task}',
  role: 'viewer',
  summary: 'One task',
  description: "By our id or the vendor's, with the deliveries of its webhook.",
  reply: TaskReply,
  run: async (context) => withDelivery(context, await taskOf(context)),
})

const cancel = operation({
  id: 'cancelTask',
  endpoint: 'POST /tasks/{task}/cancel',
  role: 'operator',
  summary: 'Stop a task',
  description:
    'Asks the vendor to stop a video, or stops a request that is answered later and was not sent yet. The answer shows the current task; `cancel_answer` says why a vendor did not.',
  reply: TaskReply,
  async run(context) {
    const task = await taskOf(context)
    const db = changing(context, {
      action: 'task.cancel',
      target: `task:${task.id}`,
      before: stateJson(task),
    })
    const { world } = context
    await orderCancel(db, task, { now: world.now(), newId: world.newId })
    return withDelivery(context, await taskOf(context))
  },
})

const reconcile = operation({
  id: 'reconcileTask',
  endpoint: 'POST /tasks/{task}/reconcile',
  role: 'operator',
  summary: 'Settle a task',
  description: 'One whose submit got no answer. Or has the vendor asked about a failed one once more.',
  body: Type.Object(
    {
      finding: OneOf(
        FINDINGS,
        '`found`: the vendor has it under `upstream_id`, so follow it. `not_begun`: the vendor does not have it, so release the hold. `ask_again`: ask about a failed one once more; a finished video is charged.',
      ),
      upstream_id: Type.Optional(Text("The vendor's id, with `found`.")),
    },
    closedBody,
  ),
  reply: TaskReply,
  async run(context, _query, body) {
    const { finding, upstream_id: upstreamId } = body
    const task = await taskOf(context)
    const { world } = context
    const db = changing(context, {
      action: 'task.reconcile',
      target: `task:${task.id}`,
      before: stateJson(task),
      after: { finding, ...(upstreamId !== undefined && { upstream_id: upstreamId }) },
    })
    await reconcileTask(db, task, { finding, upstreamId }, { now: world.now(), newId: world.newId })
    return withDelivery(context, await taskOf(context))
  },
})

const redeliverWebhook = operation({
  id: 'redeliverWebhook',
  endpoint: 'POST /tasks/{task}/redeliver',
  role: 'operator',
  summary: 'Send a webhook again',
  description: 'That of an ended task, with the same id, from the start of its schedule.',
  reply: TaskReply,
  async run(context) {
    const task = await taskOf(context)
    const db = changing(context, {
      action: 'task.redeliver',
      target: `task:${task.id}`,
      before: stateJson(task),
    })
    await orderRedelivery(db, task)
    return withDelivery(context, task)
  },
})

const webhookView = viewOf<Webhook>()({
  id: [text, ({ id }) => id],
  task: [text, ({ task }) => task],
  account: [text, ({ account }) => account],
  key_id: [text, ({ keyId }) => keyId],
  url: [text, ({ url }) => url],
  state: [OneOf(DELIVERY_STATES), ({ state }) => state],
  attempts: [Type.Integer(), ({ attempts }) => attempts],
  next_at: [maybeText, ({ state, nextAt }) => isoTime(state === 'pending' ? nextAt : null)],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
  ended_at: [maybeText, ({ endedAt }) => isoTime(endedAt)],
})

const webhooks = operation({
  id: 'listWebhooks',
  endpoint: 'GET /webhooks',
  role: 'viewer',
  summary: 'Webhooks',
  description: 'Newest first, with the state of their delivery.',
  query: Type.Object({
    state: Type.Optional(OneOf(DELIVERY_STATES, 'Only those in this state.')),
    account: optionalText('Only those of this account.'),
    ...pageQuery,
  }),
  reply: PageOf(webhookView.reply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { state, account, after } = query
    const rows = await listWebhooks(world.db, { state, account, after, limit: limit + 1 })
    return pageOf(rows, limit, webhookView.show, ({ id }) => id)
  },
})

const artifactView = viewOf<ListedArtifact>()({
  id: [text, ({ id }) => id],
  account: [text, ({ account }) => account],
  key_id: [maybeText, ({ keyId }) => keyId],
  charge: [text, ({ charge }) => charge],
  content_type: [text, ({ contentType }) => contentType],
  bytes: [Type.Integer(), ({ bytes }) => bytes],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
  expires_at: [text, ({ expiresAt }) => isoTime(expiresAt)],
})

const artifacts = operation({
  id: 'listArtifacts',
  endpoint: 'GET /artifacts',
  role: 'viewer',
  summary: 'Kept results, newest first',
  query: Type.Object({
    account: optionalText('Only those of this account.'),
    charge: optionalText('Only those of this charge, by the id of its request.'),
    ...pageQuery,
  }),
  reply: PageOf(artifactView.reply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const rows = await listArtifacts(world.db, {
      account: query.account,
      charge: query.charge,
      after: query.after,
      limit: limit + 1,
    })
    return pageOf(rows, limit, artifactView.show, ({ id }) => id)
  },
})

const artifactContent = operation({
  id: 'getArtifactContent',
  endpoint: 'GET /artifacts/{artifact}/content',
  role: 'viewer',
  summary: 'Bytes of a kept result',
  description: 'Or the part that a Range header asks for.',
  reply: Type.Object({}, open),
  isFile: true,
  async run({ world, params, request, actor }) {
    assert(request, 'a file is asked for over HTTP')
    const artifact = await findArtifact(world.db, params.artifact ?? '', world.now())
    if (!artifact) throw notFound('artifact', params.artifact ?? '')
    return sendArtifact(world, artifact, request, actor.requestId ?? '')
  },
})

export const taskOperations = [
  list,
  show,
  cancel,
  reconcile,
  redeliverWebhook,
  webhooks,
  artifacts,
  artifactContent,
]
