// gateway tasks: shows tasks and lets an operator stop and settle them. It must never call a vendor: a running
// server does that, and finds its orders in the database.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { UNKNOWN } from '../../src/tasks/transitions'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { type Gateway, gatewayCommand } from '../lib/gateway'
import { limitArg, parseLimit, parseWord } from '../lib/values'
import { isServed } from '../process/serve-lock'
import { createStatus, print, printJson, say } from '../view/output'
import { isOpenTask, taskBlock, taskLine, taskTable } from '../view/task'
import { timeAgo } from '../view/times'

type TaskReply = ReplyOf<'getTask'>

const DEFAULT_LIMIT = 50
const CHECK_MS = 500
/** How long a command waits for the server to do what was requested, in milliseconds. */
const ANSWER_MS = 60_000
const STATES = ['submitted', 'succeeded', 'failed', UNKNOWN] as const

const idArg = {
  type: 'positional',
  required: true,
  description: "The task, by our id or the vendor's",
} as const

const list = gatewayCommand({
  name: 'list',
  description: 'List tasks, newest first.',
  examples: [
    'gateway tasks list',
    'gateway tasks list --state unknown',
    'gateway tasks list --account alice --since 24h --json | jq -r .[].id',
  ],
  args: {
    state: { type: 'string', valueHint: STATES.join('|'), description: 'Only tasks in this state' },
    model: { type: 'string', valueHint: 'MODEL', description: 'Only tasks of this model' },
    account: { type: 'string', valueHint: 'A', description: 'Only tasks of this account' },
    since: { type: 'string', valueHint: '24h', description: 'Only tasks newer than this' },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const now = Date.now()
    const limit = parseLimit(args, DEFAULT_LIMIT)
    const query = {
      state: args.state === undefined ? undefined : parseWord('state', args.state, STATES),
      model: args.model,
      account: args.account,
      since: timeAgo('since', args.since, now),
    }
    return async (gateway) => {
      const tasks = await gateway.rows('listTasks', { query }, limit)
      if (args.json) return printJson(tasks)
      if (tasks.length === 0) return say('There are no such tasks.')
      print(taskTable(tasks, now))
    }
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Show a task, its cost, and the deliveries of its webhook.',
  examples: ['gateway tasks show video_01a1…', 'gateway tasks show video_01a1… --json | jq .webhook'],
  args: { id: idArg },
  run: (args) => async (gateway) => showOne(await taskOf(gateway, args.id), args.json === true),
})

const watch = gatewayCommand({
  name: 'watch',
  description: 'Follow a task until it ends. Fails if the task fails.',
  examples: ['gateway tasks watch video_01a1…'],
  args: { id: idArg },
  run: (args) => async (gateway) => {
    const task = await taskOf(gateway, args.id)
    if (isOpenTask(task) && isIdle(gateway))
      say(`No server is running, so nothing asks the vendor about ${task.id} now.`)
    await watchOne(gateway, task.id, args.json === true)
  },
})

const cancel = gatewayCommand({
  name: 'cancel',
  description:
    'Stop a task and release its hold, unless its vendor has begun: few vendors stop a video, and none a request that it was sent.',
  examples: ['gateway tasks cancel video_01a1…'],
  args: { id: idArg },
  run: (args) => async (gateway) => {
    // No effect on a task that has ended meanwhile; the check below detects that.
    const { id, operation } = await gateway.call('cancelTask', { params: { task: args.id } })
    if (operation !== 'video') return showOne(await taskOf(gateway, id), args.json === true)
    if (isIdle(gateway)) throw new CommandFailed(notYet(id))
    const until = Date.now() + ANSWER_MS
    const task = await follow(
      gateway,
      id,
      (task) => task.cancel_requested_at === null || !isOpenTask(task) || Date.now() > until,
    )
    if (isOpenTask(task) && task.cancel_requested_at !== null) throw new CommandFailed(notYet(id))
    if (isOpenTask(task)) throw new CommandFailed(`${id} continues: ${task.cancel_answer}`)
    showOne(task, args.json === true)
    if (task.state === 'succeeded') throw new CommandFailed(`${id} has already succeeded.`)
  },
})

const redeliver = gatewayCommand({
  name: 'redeliver',
  description: 'Send the webhook of an ended task again, with the same id, from the start of its schedule.',
  examples: ['gateway tasks redeliver video_01a1…'],
  args: { id: idArg },
  run: (args) => async (gateway) => {
    const task = await gateway.call('redeliverWebhook', { params: { task: args.id } })
    if (args.json) return showOne(task, true)
    const when = isIdle(gateway) ? 'as soon as a server runs' : 'by the running server'
    print(`The webhook of ${task.id} is delivered again ${when}.`)
  },
})

const reconcile = gatewayCommand({
  name: 'reconcile',
  description:
    'Settle a task whose submit got no answer: under the id that the vendor lists, or as never begun. Or ask the vendor about a failed task once more.',
  examples: [
    'gateway tasks list --state unknown',
    'gateway tasks reconcile video_01a1… --upstream-id 0385dc79-5ff8-4d82',
    'gateway tasks reconcile video_01a1… --not-begun',
    'gateway tasks reconcile video_01a1… --ask-again',
  ],
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
      description: 'Ask the vendor about a failed task again; a finished video is charged',
    },
  },
  run(args) {
    const upstreamId = args['upstream-id']
    const findings = [upstreamId !== undefined, args['not-begun'] === true, args['ask-again'] === true]
    if (findings.filter(Boolean).length !== 1) {
      throw new WrongUsage(
        'Give one of --upstream-id ID, --not-begun and --ask-again, as you found the task at the vendor.',
      )
    }
    const finding = args['ask-again'] ? 'ask_again' : upstreamId === undefined ? 'not_begun' : 'found'
    return async (gateway) => {
      const { id, state } = await taskOf(gateway, args.id)
      if (finding === 'ask_again' && state === 'failed' && isIdle(gateway))
        throw new CommandFailed(`No server is running to ask the vendor about ${id}: start one first.`)
      const body = { finding, upstream_id: upstreamId } as const
      const task = await gateway.call('reconcileTask', { params: { task: id }, body })
      if (finding === 'ask_again') return watchOne(gateway, id, args.json === true)
      showOne(task, args.json === true)
    }
  },
})

export const tasks = defineCommand({
  meta: {
    name: 'tasks',
    description: 'Follow, stop and settle videos and requests that are answered later.',
  },
  subCommands: { list, show, watch, cancel, redeliver, reconcile },
})

/** Shows the progress of a task until it ends, then its result. Fails if the task failed. */
async function watchOne(gateway: Gateway, id: string, json: boolean): Promise<void> {
  const status = createStatus()
  let shown = ''
  const task = await follow(gateway, id, (task) => {
    const line = taskLine(task)
    if (line !== shown) status.show(line)
    shown = line
    return !isOpenTask(task)
  })
  status.clear()
  showOne(task, json)
  if (task.state === 'failed')
    throw new CommandFailed(`The task failed: ${task.error?.message ?? task.error?.code}`)
}

function showOne(task: TaskReply, json: boolean): void {
  if (json) {
    printJson(task)
    return
  }
  print(task.id)
  print(taskBlock(task, Date.now()))
}

/** Whether it is certain that no server runs. For a shared database, or another gateway, it never is. */
function isIdle({ local }: Gateway): boolean {
  return local !== null && local.config.database === undefined && !isServed(local.dataDir)
}

function notYet(id: string): string {
  return `No server has stopped ${id} yet: a running one does, unless the task has ended by then.`
}

/** Reads a task again and again until `isDone`. */
async function follow(
  gateway: Gateway,
  id: string,
  isDone: (task: TaskReply) => boolean,
): Promise<TaskReply> {
  for (;;) {
    const task = await taskOf(gateway, id)
    if (isDone(task)) return task
    await Bun.sleep(CHECK_MS)
  }
}

function taskOf(gateway: Gateway, task: string): Promise<TaskReply> {
  return gateway.call('getTask', { params: { task } })
}
