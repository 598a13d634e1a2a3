// Video tasks of simulated vendors. A task's id encodes when it began, how long it takes, and how it ends, so nothing
// has to be stored. The state must never depend on anything but the id and the clock, except for a cancelled task.

import type { Directives, TaskEnd } from './directives'
import { sampleVideo } from './sample-video'

interface VideoJob {
  startedAt: number
  durationMs: number
  end: TaskEnd
  /** Why the task fails. */
  code: string
  message: string
  /** Seconds of the video. */
  seconds: number
  model: string
  /** Values that the vendor repeats in its answers. */
  echo: Record<string, unknown>
  /** Status of polls in the first half of the task's time. */
  pollStatus: number | undefined
}

type VideoPhase = 'queued' | 'running' | TaskEnd

export interface JobState {
  job: VideoJob
  phase: VideoPhase
  /** Progress from 0 to 100. */
  progress: number
  /** The status with which the vendor fails this poll. */
  pollStatus: number | undefined
}

const DEFAULT_DURATION_MS = 3_000
/** The share of its time that a task waits before it runs, and in which failing polls fail. */
const QUEUED_SHARE = 0.3
const FAULTY_SHARE = 0.5
const CANCELLED_MAX = 10_000

const cancelled = new Set<string>()

export function newJob(
  about: Pick<VideoJob, 'seconds' | 'model' | 'echo'>,
  { task = {}, errorCode, errorText }: Directives,
  usual: { code: string; message: string },
): VideoJob {
  return {
    startedAt: Date.now(),
    durationMs: task.durationMs ?? DEFAULT_DURATION_MS,
    end: task.end ?? 'succeeded',
    code: errorCode ?? usual.code,
    message: errorText ?? usual.message,
    pollStatus: task.pollStatus,
    ...about,
  }
}

/** A unique id: the vendor's prefix, random digits, and the job. */
export function jobId(prefix: string, job: VideoJob): string {
  const text = Buffer.from(JSON.stringify(job)).toString('base64url')
  return `${prefix}${crypto.randomUUID().slice(0, 8)}-${text}`
}

/** The state of a job; undefined if the id is not a job of this vendor. */
export function stateOf(prefix: string, id: string, now: number): JobState | undefined {
  const text = id.startsWith(prefix) ? id.slice(prefix.length + 9) : undefined
  if (!text) return undefined
  let job: VideoJob
  try {
    job = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
  const share = job.durationMs === 0 ? 1 : (now - job.startedAt) / job.durationMs
  const phase = share >= 1 ? job.end : share < QUEUED_SHARE ? 'queued' : 'running'
  return {
    job,
    phase: cancelled.has(id) ? 'canceled' : phase,
    progress: Math.min(100, Math.floor(share * 100)),
    pollStatus: share < FAULTY_SHARE ? job.pollStatus : undefined,
  }
}

/** Cancels a job. Only a job that has not begun can be cancelled. */
export function cancel(id: string, state: JobState): boolean {
  if (state.phase !== 'queued') return false
  if (cancelled.size >= CANCELLED_MAX) cancelled.clear()
  cancelled.add(id)
  return true
}

/** A playable file, common to all tasks. */
export const VIDEO_FILE = {
  bytes: sampleVideo(),
  contentType: 'video/mp4',
}
