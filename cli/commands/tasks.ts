// gateway tasks: shows video tasks and lets an operator stop and settle them. It must never call a vendor: a running
// server does that, and finds its orders in the database.

import { defineCommand } from 'citty'
import { gatewayTime } from '../../src/app/clock'
import { newId } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { findTask, listTasks, type TaskFilter } from '../../src/tasks/find'
import { endNotBegun } from '../../src/tasks/finish'
import { askAgain } from '../../src/tasks/late-success'
import { requestCancel } from '../../src/tasks/leases'
import { acceptTask } from '../../src/tasks/rows'
import type { Task } from '../../src/tasks/task'
import { deliveryJson, taskJson, taskStateOf } from '../../src/tasks/task-json'
import { UNKNOWN } from '../../src/tasks/transitions'
import { redeliver as redeliverWebhook, webhookOf } from '../../src/webhooks/rows'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { isServed } from '../lib/serve-lock'
import { commandArgs, dataDirOf, type SettingsFlags, withDatabase } from '../lib/settings'
import { parseCount, parseWord } from '../lib/values'
import { createStatus, print, printJson, say } from '../view/output'
import { taskBlock, taskLine, taskTable } from '../view/task'
import { parseDurationMs } from '../view/times'

const DEFAULT_LIMIT = 50
const LOOK_MS = 500
/** How long a command waits for the server to do what was requested, in milliseconds. */
const ANSWER_MS = 60_000
const STATES = ['submitted', 'succeeded', 'failed', UNKNOWN] as const

const idArg = {
  type: 'positional',
  required: true,
  description: "The task, by our id or the vendor's",
} as const

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List tasks, newest first.',
    examples: [
      'gateway tasks list',
      'gateway tasks list --state unknown',
      'gateway tasks list --account alice --since 24h --json | jq -r .[].id',
    ],
  },
  args: {
    state: { type: 'string', valueHint: STATES.join('|'), description: 'Only tasks in this state' },
    model: { type: 'string', valueHint: 'MODEL', description: 'Only tasks of this model' },
    account: { type: 'string', valueHint: 'A', description: 'Only tasks of this account' },
    since: { type: 'string', valueHint: '24h', description: 'Only tasks that are not older' },
    limit: { type: 'string', valueHint: 'N', description: `How many (default ${DEFAULT_LIMIT})` },
    ...commandArgs,
  },
  async run({ args }) {
    const now = Date.now()
    const filter: TaskFilter = {
      limit: args.limit === undefined ? DEFAULT_LIMIT : parseCount('limit', args.limit),
      ...(args.state !== undefined && { state: parseWord('state', args.state, STATES) }),
      ...(args.model !== undefined && { model: args.model }),
      ...(args.account !== undefined && { account: args.account }),
      ...(args.since !== undefined && { since: now - parseDurationMs('since', args.since) }),
    }
    await withDatabase(args, async (db) => {
      const tasks = await listTasks(db, filter)
      if (args.json) return printJson(tasks.map(taskJson))
      if (tasks.length === 0) return say('There are no such tasks.')
      print(taskTable(tasks, now))
    })
  },
})

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show a task, its cost, and the deliveries of its webhook.',
    examples: ['gateway tasks show video_01a1…', 'gateway tasks show video_01a1… --json | jq .webhook'],
  },
  args: { id: idArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db) => showOne(db, await requireTask(db, args.id), args.json === true))
  },
})

const watch = defineCommand({
  meta: {
    name: 'watch',
    description: 'Follow a task until it ends. Fails if the task fails.',
    examples: ['gateway tasks watch video_01a1…'],
  },
  args: { id: idArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db, config) => {
      const { id, state } = await requireTask(db, args.id)
      if (state === 'submitted' && isIdle(args, config))
        say(`No server is running, so nothing asks the vendor about ${id} now.`)
      await watchOne(db, id, args.json === true)
    })
  },
})

const cancel = defineCommand({
  meta: {
    name: 'cancel',
    description:
      'Ask the vendor to stop a task, and release its hold. Vendors stop only tasks that have not begun.',
    examples: ['gateway tasks cancel video_01a1…'],
  },
  args: { id: idArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db, config) => {
      const { id, upstreamId } = requireOpen(await requireTask(db, args.id))
      if (upstreamId === null) {
        throw new CommandFailed(
          `The vendor's id of ${id} is not known, so it cannot be stopped: see \`tasks reconcile\`.`,
        )
      }
      // Has no effect on a task that has ended meanwhile; the check below finds that.
      await requestCancel(db, id, Date.now())
      if (isIdle(args, config)) throw new CommandFailed(notYet(id))
      const until = Date.now() + ANSWER_MS
      const task = await follow(
        db,
        id,
        (task) => task.cancelAt === null || task.state !== 'submitted' || Date.now() > until,
      )
      if (task.state === 'submitted' && task.cancelAt !== null) {
        throw new CommandFailed(notYet(id))
      }
      if (task.state === 'submitted') throw new CommandFailed(`${id} continues: ${task.cancelAnswer}`)
      await showOne(db, task, args.json === true)
      if (task.state === 'succeeded') throw new CommandFailed(`${id} had succeeded already.`)
    })
  },
})

const redeliver = defineCommand({
  meta: {
    name: 'redeliver',
    description: 'Send the webhook of an ended task again, with the same id, from the start of its schedule.',
    examples: ['gateway tasks redeliver video_01a1…'],
  },
  args: { id: idArg, ...commandArgs },
  async run({ args }) {
    await withDatabase(args, async (db, config) => {
      const task = await requireTask(db, args.id)
      const done = await redeliverWebhook(db, task.id)
      if (!done) {
        const why =
          task.webhookUrl === null ? 'it was submitted without a webhook_url' : 'it has not ended yet'
        throw new CommandFailed(`${task.id} has no webhook to deliver: ${why}.`)
      }
      if (args.json) return showOne(db, task, true)
      const when = isIdle(args, config) ? 'as soon as a server runs' : 'by the running server'
      print(`The webhook of ${task.id} is delivered again ${when}.`)
    })
  },
})

const reconcile = defineCommand({
  meta: {
    name: 'reconcile',
    description:
      'Settle a task whose submit got no answer: under the id that the vendor lists, or as never begun. Or ask the vendor about a failed task once more.',
    examples: [
      'gateway tasks list --state unknown',
      'gateway tasks reconcile video_01a1… --upstream-id 0385dc79-5ff8-4d82',
      'gateway tasks reconcile video_01a1… --not-begun',
      'gateway tasks reconcile video_01a1… --ask-again',
    ],
  },
  args: {
    id: idArg,
    'upstream-id': {
      type: 'string',
      valueHint: 'ID',
      description: 'The vendor has the task under this id: follow it',
    },
    'not-begun': { type: 'boolean', description: 'The vendor does not have the task: release the hold' },
    'ask-again': {
      type: 'boolean',
      description: 'Ask the vendor about a failed task once more; a finished video is charged',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const upstreamId = args['upstream-id']
    const findings = [upstreamId !== undefined, args['not-begun'] === true, args['ask-again'] === true]
    if (findings.filter(Boolean).length !== 1) {
      throw new WrongUsage(
        'Give one of --upstream-id ID, --not-begun and --ask-again, as you found the task at the vendor.',
      )
    }
    await withDatabase(args, async (db, config) => {
      const task = await requireTask(db, args.id)
      if (args['ask-again']) {
        await reopen(db, task, isIdle(args, config))
        return watchOne(db, task.id, args.json === true)
      }
      requireOpen(task)
      if (task.upstreamId !== null) {
        throw new CommandFailed(`${task.id} already has the vendor's id ${task.upstreamId}.`)
      }
      const now = Date.now()
      const done =
        upstreamId === undefined
          ? await endNotBegun(db, task, { now, webhookId: newId('msg') })
          : await acceptTask(db, task.id, upstreamId, now)
      if (!done)
        throw new CommandFailed(
          `${task.id} was not changed: it has changed meanwhile, or the id belongs to another task.`,
        )
      await showOne(db, await requireTask(db, task.id), args.json === true)
    })
  },
})

export const tasks = defineCommand({
  meta: { name: 'tasks', description: 'Video tasks: follow, stop and settle them.' },
  subCommands: { list, show, watch, cancel, redeliver, reconcile },
})

/** Makes the server ask the vendor about a failed task once more. */
async function reopen(db: Db, task: Task, idle: boolean): Promise<void> {
  if (task.state !== 'failed')
    throw new CommandFailed(`${task.id} has not failed: its state is ${taskStateOf(task)}.`)
  if (idle)
    throw new CommandFailed(`No server is running to ask the vendor about ${task.id}: start one first.`)
  if (await askAgain(db, task, await gatewayTime(db, Date.now()))) return
  throw new CommandFailed(
    `${task.id} was not changed: it was cancelled, its id at the vendor is unknown, or it has changed meanwhile.`,
  )
}

/** Shows the progress of a task until it ends, then its result. Fails if the task failed. */
async function watchOne(db: Db, id: string, json: boolean): Promise<void> {
  const status = createStatus()
  let shown = ''
  const task = await follow(db, id, (task) => {
    const line = taskLine(task)
    if (line !== shown) status.show(line)
    shown = line
    return task.state !== 'submitted'
  })
  status.clear()
  await showOne(db, task, json)
  if (task.state === 'failed')
    throw new CommandFailed(`The task failed: ${task.errorMessage ?? task.errorCode}`)
}

async function showOne(db: Db, task: Task, json: boolean): Promise<void> {
  const delivery = await webhookOf(db, task.id)
  if (json) {
    const document = task.document === null ? null : JSON.parse(task.document)
    return printJson({
      ...taskJson(task),
      document,
      webhook: delivery ? deliveryJson(delivery) : null,
    })
  }
  print(task.id)
  print(taskBlock(task, delivery, Date.now()))
}

/** Whether it is certain that no server runs. For a shared database it never is. */
function isIdle(flags: SettingsFlags, config: Config): boolean {
  return config.database === undefined && !isServed(dataDirOf(flags))
}

function notYet(id: string): string {
  return `No server has stopped ${id} yet: a running one does, unless the task has ended by then.`
}

/** Reads a task again and again until `isDone`. */
async function follow(db: Db, id: string, isDone: (task: Task) => boolean): Promise<Task> {
  for (;;) {
    const task = await requireTask(db, id)
    if (isDone(task)) return task
    await Bun.sleep(LOOK_MS)
  }
}

async function requireTask(db: Db, id: string): Promise<Task> {
  const task = await findTask(db, null, id)
  if (!task) throw new CommandFailed(`There is no task "${id}"; \`tasks list\` shows the newest.`)
  return task
}

function requireOpen(task: Task): Task {
  if (task.state === 'submitted') return task
  throw new CommandFailed(`${task.id} has ended: it ${taskStateOf(task)}.`)
}
