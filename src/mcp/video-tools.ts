// The tools for videos: generate_video starts a task, get_video reports its state and waits for its end. A wait must end by itself,
// and another account's task must look exactly like one that does not exist.

import { Type } from '@sinclair/typebox'
import { operationOf } from '../contract/operations'
import { formatUsd } from '../lib/money'
import { findTask, requireTask } from '../tasks/find'
import { showWithResult } from '../tasks/result'
import { showTask, type Task } from '../tasks/task'
import { waitForTask } from '../tasks/wait'
import { modelField, optionsField, paidFields, plainFieldsOf, rewordPlain } from './fields'
import { showLink } from './media'
import type { PaidTool } from './paid-tool'
import { type FreeTool, type McpCall, type McpResult, optionalArgument } from './tool'

const DEFAULT_WAIT_SECONDS = 30
/** Maximum wait: proxies cut connections that are silent for longer. */
const MAX_WAIT_SECONDS = 300
/** Interval of reports to a waiting caller, in milliseconds. */
const REPORT_MS = 2_000

const taskOutput = Type.Object({
  id: Type.String({ description: 'For get_video.' }),
  model: Type.String(),
  status: Type.String({ description: 'submitted, succeeded or failed.' }),
  created_at: Type.Optional(Type.Integer()),
  progress: Type.Optional(Type.Number({ description: 'Percent.' })),
  operation: Type.Optional(Type.String({ description: 'Present for a request that is answered later.' })),
  result: Type.Optional(Type.Unknown({ description: 'Its answer, if that is JSON.' })),
  result_url: Type.Optional(Type.String({ description: 'Where its answer is read with a key.' })),
  video_url: Type.Optional(Type.String({ description: 'Where the video lies for a while.' })),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  held_usd: Type.Optional(Type.String({ description: 'Dollars that are held until the task has ended.' })),
  cost_usd: Type.Optional(Type.String({ description: 'Dollars that were paid, once it has ended.' })),
  request_id: Type.String(),
})

export const generateVideo: PaidTool = {
  name: 'generate_video',
  title: 'Begin a video',
  description:
    'Begins to make a video and returns the id of its task at once. Ask get_video for the result. A video that fails costs nothing.',
  input: Type.Object({
    model: modelField,
    prompt: Type.String({ minLength: 1, description: 'Description of the video.' }),
    ...plainFieldsOf('video'),
    options: optionsField,
    ...paidFields,
  }),
  output: taskOutput,
  prepare: (args) => ({
    operation: operationOf('video'),
    content: Buffer.from(JSON.stringify(args)),
    reword: rewordPlain,
  }),
  async answer({ response }, world, call) {
    const { id, model, status, created_at } = (await response.json()) as TaskDocument & { status: string }
    // The vendor has begun: an answer without some fields is better than an error, after which the call would be
    // repeated.
    const task = await findTask(world.db, call.key.account, id).catch(() => undefined)
    if (task) return describe(task, call)
    return { structured: { id, model, status, created_at, request_id: call.requestId } }
  },
}

export const getVideo: FreeTool = {
  name: 'get_video',
  title: 'Look after a task',
  description:
    'Returns the state of the task of a video, or of a request that is answered later, with the address of the video, or the answer. Waits for the end up to wait_seconds; ask again while the status is submitted.',
  input: Type.Object({
    id: Type.String({ minLength: 1, description: 'As generate_video, or a request over HTTP, returned it.' }),
    wait_seconds: optionalArgument(
      Type.Integer({
        minimum: 0,
        maximum: MAX_WAIT_SECONDS,
        description: `How long to wait for the end. Default ${DEFAULT_WAIT_SECONDS}.`,
      }),
    ),
  }),
  output: taskOutput,
  async run(world, call) {
    const { id, wait_seconds: seconds } = call.arguments as { id: string; wait_seconds?: number | null }
    const { key } = call
    const until = world.monotonic() + (seconds ?? DEFAULT_WAIT_SECONDS) * 1000
    const leaves = () => call.signal().aborted
    for (;;) {
      const task = await requireTask(world.db, key, id)
      if (task.state !== 'submitted' || world.monotonic() >= until || leaves())
        return withResult(await showWithResult(world, task), describe(task, call))
      call.report(wordsOf(task))
      await waitForTask(world, task.id, key.account, Math.min(until, world.monotonic() + REPORT_MS), leaves)
    }
  },
}

/** The description of a task, with the members that its JSON has for a request that is answered later. */
function withResult(text: string, described: McpResult): McpResult {
  const { operation, result_url, result } = JSON.parse(text)
  if (operation === undefined) return described
  const more = { operation, result_url, ...(result !== undefined && { result }) }
  return { ...described, structured: { ...described.structured, ...more } }
}

interface TaskDocument {
  id: string
  model: string
  created_at: number
  progress?: unknown
  video_url?: unknown
  error?: { code: string; message: string }
}

function describe(task: Task, call: McpCall): McpResult {
  const { id, model, created_at, progress, video_url: url, error } = documentOf(task)
  const { state, costNano } = task
  const video = state === 'succeeded' && typeof url === 'string' ? showLink(url, 'video') : undefined
  const money = state === 'submitted' ? { held_usd: formatUsd(costNano) } : { cost_usd: formatUsd(costNano) }
  return {
    structured: {
      id,
      model,
      status: state,
      created_at,
      ...(typeof progress === 'number' && { progress }),
      ...(video && { video_url: url }),
      ...(state === 'failed' && error && { error }),
      ...money,
      request_id: call.requestId,
    },
    ...(video && { content: [video.content] }),
    failed: state === 'failed',
  }
}

function documentOf(task: Task): TaskDocument {
  return JSON.parse(showTask(task))
}

function wordsOf(task: Task): string {
  const { progress } = documentOf(task)
  return typeof progress === 'number' ? `It is at ${progress} %.` : 'It is being made.'
}
