// A task as a video of OpenAI's API. It must never show more than the task's own document and row.

import { showTask, type Task } from '../../tasks/task'

/** A task in the gateway's own form. */
export interface TaskDocument {
  id: string
  model: string
  status: Task['state']
  created_at: number
  progress?: number
  video_url?: string
  error?: { code: string; message: string }
}

const statuses = { submitted: 'queued', succeeded: 'completed', failed: 'failed' } as const

export function videoOfTask(task: Task) {
  return videoOf(JSON.parse(showTask(task)), task)
}

export function videoOf(document: TaskDocument, task: Task | undefined) {
  const { id, model, status, error } = document
  const isBegun = status === 'submitted' && typeof task?.document === 'string'
  return {
    id,
    object: 'video',
    model,
    status: isBegun ? 'in_progress' : statuses[status],
    progress: status === 'succeeded' ? 100 : Math.round(document.progress ?? 0),
    created_at: document.created_at,
    completed_at: secondsOf(task?.endedAt),
    expires_at: expiryOf(document, task),
    seconds: lengthOf(task),
    size: task?.size ?? null,
    prompt: null,
    remixed_from_video_id: task?.pollContext.remixOf ?? null,
    error: status === 'failed' && error ? error : null,
  }
}

/** The billed length, or the requested one if the vendor bills something else. */
function lengthOf(task: Task | undefined): string | null {
  const seconds = task?.quantities.second ?? task?.pollContext.seconds
  return seconds === undefined ? null : String(seconds)
}

/** When a video expires. Known only for a video that is stored here: vendors do not report it. */
function expiryOf({ video_url: url }: TaskDocument, task: Task | undefined): number | null {
  if (url === undefined || !task || url === task.videoUrl) return null
  return Number(URL.parse(url)?.searchParams.get('expires')) || null
}

function secondsOf(at: number | null | undefined): number | null {
  return typeof at === 'number' ? Math.floor(at / 1000) : null
}
