// The documented answers of each video vendor to a poll for a task, and what the gateway makes of them. They must never be made by
// the code under test.

import type { Json } from '../scenario'
import { geminiVideo } from './gemini-video-replies'
import { hailuoVideo, minimaxVideo } from './minimax-video-replies'

export type VideoVendor = 'dashscope' | 'xai' | 'ark' | 'fal' | 'runway' | 'minimax' | 'hailuo' | 'google'

export interface VideoVendorForm {
  family: string
  kind: string
  /** The vendor's name of the model. */
  model: string
  /** A request of five seconds, which costs five cents. */
  body(prompt: string): Record<string, Json>
  /** The answer to a submit. */
  submitted(id: string): Record<string, Json>
  /** The answer for a finished task. */
  succeeded(id: string): Record<string, Json>
  /** The result of such a task, if another call fetches it. */
  result?: Record<string, Json>
  rows: readonly [name: string, row: VideoRow][]
}

export interface VideoRow {
  /** Default 200. */
  status?: number
  /** JSON, or text unchanged. */
  reply: Json
  /** The answer to the call for the result; absent: that of a task with a result. */
  result?: { status?: number; reply: Json }
  becomes: 'submitted' | 'succeeded' | 'failed'
  /** The error of a failed task. */
  error?: { code: string; message: string }
  /** Further fields that readers see; null: must be absent. */
  shows?: Record<string, Json>
}

const VIDEO = 'https://files.example.com/video.mp4'

function flat(status: string, more: object = {}, others: object = {}) {
  return { request_id: 'r', output: { task_id: 'ID', task_status: status, ...more }, ...others }
}

const flatUsage = { duration: 5, input_video_duration: 0, output_video_duration: 5, video_count: 1, SR: 720 }
const NO_REASON = 'The upstream gave no reason.'
const NO_VIDEO = 'The upstream calls the task done but gave no video. Nothing was charged.'
const BLOCKED = {
  code: 'content_policy_violation',
  message:
    'The video was held back by the content moderation of the upstream. Nothing was charged; change the prompt or the image.',
}

const arkTask = {
  id: 'ID',
  model: 'seedance-2-0-260128',
  created_at: 1_765_510_475,
  updated_at: 1_765_510_559,
  error: null,
}
const arkDone = {
  ...arkTask,
  status: 'succeeded',
  content: { video_url: VIDEO, last_frame_url: 'https://files.example.com/last.png' },
  seed: 58_944,
  resolution: '720p',
  ratio: '16:9',
  duration: 5,
  framespersecond: 24,
  usage: { completion_tokens: 108_900, total_tokens: 108_900 },
}

/** The task of a call, and whether the call fetches its result rather than its state. */
export function taskIn({ pathname, searchParams }: URL): { id: string; isResult: boolean } {
  const [file, asked] = [searchParams.get('file_id'), searchParams.get('task_id')]
  if (file !== null) return { id: file, isResult: true }
  if (asked !== null) return { id: asked, isResult: false }
  const [, queued, what] = /\/requests\/([^/]+)(\/\w+)?$/.exec(pathname) ?? []
  if (queued) return { id: queued, isResult: what === undefined }
  return { id: pathname.split('/').at(-1) ?? '', isResult: false }
}

const falDone = { status: 'COMPLETED', request_id: 'ID', logs: [], metrics: { inference_time: 41.2 } }
const falVideo = { video: { url: VIDEO, content_type: 'video/mp4', file_size: 2_048 }, seed: 7 }
const falFault = (type: string, msg: string) => ({
  status: 422,
  reply: { detail: [{ loc: ['body', 'prompt'], msg, type, input: 'x' }] },
})

const runwayTask = { id: 'ID', createdAt: '2026-11-20T10:00:00.000Z' }
const runwayDone = { ...runwayTask, status: 'SUCCEEDED', output: [VIDEO], cost: { credits: 150 } }

export const videoVendors: Record<VideoVendor, VideoVendorForm> = {
  minimax: minimaxVideo,
  hailuo: hailuoVideo,
  google: geminiVideo,
  runway: {
    family: 'runway-video',
    kind: 'runway',
    model: 'seedance2_5',
    body: (prompt) => ({ promptText: prompt, duration: 5, ratio: '1280:720' }),
    submitted: (id) => ({ id, estimatedCost: { credits: 150 } }),
    succeeded: () => runwayDone,
    rows: [
      [
        'PENDING',
        {
          reply: { ...runwayTask, status: 'PENDING', estimatedCost: { credits: 150 } },
          becomes: 'submitted',
          shows: { estimatedCost: null, createdAt: runwayTask.createdAt },
        },
      ],
      ['THROTTLED', { reply: { ...runwayTask, status: 'THROTTLED' }, becomes: 'submitted' }],
      [
        'RUNNING',
        {
          reply: { ...runwayTask, status: 'RUNNING', progress: 0.42 },
          becomes: 'submitted',
          shows: { progress: 42 },
        },
      ],
      ['a status that nobody knows', { reply: { ...runwayTask, status: 'DREAMING' }, becomes: 'submitted' }],
      ['an empty object', { reply: {}, becomes: 'submitted' }],
      [
        'a complaint with the status 200',
        { reply: { error: 'secret trouble' }, becomes: 'submitted', shows: { error: null } },
      ],
      [
        'SUCCEEDED',
        {
          reply: { ...runwayDone, usage: { cost: 1.5 } },
          becomes: 'succeeded',
          // The operator's cost is not shown to the caller.
          shows: { 'content.video_url': VIDEO, video_url: VIDEO, output: [VIDEO], cost: null, usage: {} },
        },
      ],
      [
        'SUCCEEDED without a video',
        {
          reply: { ...runwayDone, output: [] },
          becomes: 'failed',
          error: { code: 'no_video', message: NO_VIDEO },
        },
      ],
      [
        'FAILED',
        {
          reply: {
            ...runwayTask,
            status: 'FAILED',
            failure: 'It broke.',
            failureCode: 'INTERNAL.BAD_OUTPUT.CODE01',
          },
          becomes: 'failed',
          error: { code: 'INTERNAL.BAD_OUTPUT.CODE01', message: 'It broke.' },
        },
      ],
      [
        'FAILED by moderation',
        {
          reply: {
            ...runwayTask,
            status: 'FAILED',
            failure: 'secret trouble',
            failureCode: 'SAFETY.OUTPUT.VIDEO',
          },
          becomes: 'failed',
          error: BLOCKED,
          shows: { failure: null },
        },
      ],
      [
        'FAILED without a reason',
        {
          reply: { ...runwayTask, status: 'FAILED' },
          becomes: 'failed',
          error: { code: 'failed', message: 'The upstream ended the task as FAILED.' },
        },
      ],
      [
        'CANCELLED',
        {
          reply: { ...runwayTask, status: 'CANCELLED', cost: { credits: 0 } },
          becomes: 'failed',
          error: { code: 'cancelled', message: 'The upstream ended the task as CANCELLED.' },
        },
      ],
    ],
  },

  fal: {
    family: 'fal-video',
    kind: 'fal',
    model: 'fal-ai/kling-video/o3/pro/text-to-video',
    body: (prompt) => ({ prompt, duration: '5', resolution: '720p' }),
    submitted: (id) => ({
      status: 'IN_QUEUE',
      request_id: id,
      response_url: `https://queue.fal.run/fal-ai/kling-video/requests/${id}`,
      queue_position: 0,
    }),
    succeeded: () => falDone,
    result: falVideo,
    rows: [
      [
        'IN_QUEUE',
        {
          status: 202,
          reply: {
            status: 'IN_QUEUE',
            queue_position: 3,
            cancel_url: 'https://queue.fal.run/secret trouble',
          },
          becomes: 'submitted',
          shows: { queue_position: 3, cancel_url: null },
        },
      ],
      [
        'IN_PROGRESS, with logs',
        {
          status: 202,
          reply: { status: 'IN_PROGRESS', logs: [{ message: 'secret trouble', level: 'INFO' }] },
          becomes: 'submitted',
          shows: { logs: null },
        },
      ],
      ['a status that nobody knows', { reply: { status: 'DREAMING' }, becomes: 'submitted' }],
      ['an empty object', { reply: {}, becomes: 'submitted' }],
      [
        'a complaint with the status 200',
        { reply: { detail: 'secret trouble' }, becomes: 'submitted', shows: { detail: null } },
      ],
      [
        'COMPLETED',
        {
          reply: falDone,
          becomes: 'succeeded',
          shows: { 'content.video_url': VIDEO, video_url: VIDEO, 'video.file_size': 2_048, seed: 7 },
        },
      ],
      [
        'COMPLETED, with a list of videos',
        {
          reply: falDone,
          result: { reply: { videos: [{ url: VIDEO }] } },
          becomes: 'succeeded',
          shows: { video_url: VIDEO },
        },
      ],
      [
        'COMPLETED without a video',
        {
          reply: falDone,
          result: { reply: { video: null } },
          becomes: 'failed',
          error: { code: 'no_video', message: NO_VIDEO },
        },
      ],
      [
        'COMPLETED, refused by the model',
        {
          reply: falDone,
          result: falFault('literal_error', "Input should be '5' or '10'"),
          becomes: 'failed',
          error: { code: 'literal_error', message: "body.prompt: Input should be '5' or '10'" },
        },
      ],
      [
        'COMPLETED, but moderated',
        {
          reply: falDone,
          result: falFault('content_policy_violation', 'Flagged by a content checker.'),
          becomes: 'failed',
          error: { code: 'content_policy_violation', message: 'body.prompt: Flagged by a content checker.' },
        },
      ],
      [
        'COMPLETED with an error',
        {
          reply: { ...falDone, error: 'Request timed out', error_type: 'request_timeout' },
          result: { status: 504, reply: { detail: 'secret trouble', error_type: 'request_timeout' } },
          becomes: 'failed',
          error: { code: 'request_timeout', message: 'Request timed out' },
        },
      ],
      [
        'COMPLETED, while its result cannot be read',
        {
          reply: falDone,
          result: { status: 503, reply: { detail: 'secret trouble' } },
          becomes: 'submitted',
        },
      ],
      [
        'COMPLETED, while the operator is refused',
        {
          reply: falDone,
          result: { status: 403, reply: { detail: 'secret trouble' } },
          becomes: 'submitted',
        },
      ],
      [
        'COMPLETED, while too much is asked',
        {
          reply: falDone,
          result: { status: 429, reply: { detail: 'secret trouble' } },
          becomes: 'submitted',
        },
      ],
    ],
  },

  dashscope: {
    family: 'dashscope-video',
    kind: 'dashscope',
    model: 'wan2.6-t2v',
    body: (prompt) => ({
      duration: 5,
      resolution: '720p',
      input: { prompt },
      parameters: { size: '1280*720', duration: 5, seed: 42 },
    }),
    submitted: (id) => ({ request_id: 'r', output: { task_status: 'PENDING', task_id: id } }),
    succeeded: () => flat('SUCCEEDED', { video_url: VIDEO }, { usage: flatUsage }),
    rows: [
      [
        'PENDING',
        { reply: flat('PENDING', { submit_time: '2026-08-01 10:00:00.123' }), becomes: 'submitted' },
      ],
      [
        'RUNNING',
        { reply: flat('RUNNING'), becomes: 'submitted', shows: { 'output.task_status': 'RUNNING' } },
      ],
      ['SUSPENDED', { reply: flat('SUSPENDED'), becomes: 'submitted' }],
      ['UNKNOWN', { reply: flat('UNKNOWN'), becomes: 'submitted' }],
      ['a status that nobody knows', { reply: flat('DREAMING'), becomes: 'submitted' }],
      ['nothing at all', { reply: '', becomes: 'submitted' }],
      ['an empty object', { reply: {}, becomes: 'submitted' }],
      [
        'a complaint with the status 200',
        {
          reply: { code: 'Arrearage', message: 'secret trouble', request_id: 'r' },
          becomes: 'submitted',
          shows: { message: null, code: null },
        },
      ],
      [
        'SUCCEEDED',
        {
          reply: flat(
            'SUCCEEDED',
            { video_url: VIDEO, end_time: '2026-08-01 10:02:00.123' },
            { usage: flatUsage },
          ),
          becomes: 'succeeded',
          shows: { 'content.video_url': VIDEO, video_url: VIDEO, usage: flatUsage, seed: 42 },
        },
      ],
      [
        'SUCCEEDED without a video',
        {
          reply: flat('SUCCEEDED', {}, { usage: flatUsage }),
          becomes: 'failed',
          error: { code: 'no_video', message: NO_VIDEO },
        },
      ],
      [
        'FAILED',
        {
          reply: flat('FAILED', { code: 'InvalidParameter', message: 'Field required: input.media' }),
          becomes: 'failed',
          error: { code: 'InvalidParameter', message: 'Field required: input.media' },
        },
      ],
      [
        'FAILED, with usage',
        {
          reply: flat('FAILED', { code: 'InternalError', message: 'No.' }, { usage: flatUsage }),
          becomes: 'failed',
          error: { code: 'InternalError', message: 'No.' },
          shows: { usage: flatUsage, seed: 42 },
        },
      ],
      [
        'FAILED without a reason',
        { reply: flat('FAILED'), becomes: 'failed', error: { code: 'failed', message: NO_REASON } },
      ],
      [
        'CANCELED',
        { reply: flat('CANCELED'), becomes: 'failed', error: { code: 'canceled', message: NO_REASON } },
      ],
    ],
  },

  xai: {
    family: 'xai-video',
    kind: 'xai',
    model: 'grok-imagine-video',
    body: (prompt) => ({ prompt, duration: 5, resolution: '720p' }),
    submitted: (id) => ({ request_id: id }),
    succeeded: () => ({ status: 'done', video: { url: VIDEO, duration: 5, respect_moderation: true } }),
    rows: [
      ['202 without a body', { status: 202, reply: '', becomes: 'submitted' }],
      [
        '202 with progress',
        {
          status: 202,
          reply: { status: 'pending', progress: 40, model: 'grok-imagine-video' },
          becomes: 'submitted',
          shows: { progress: 40 },
        },
      ],
      ['202 that is not JSON', { status: 202, reply: 'queued', becomes: 'submitted' }],
      ['pending', { reply: { status: 'pending' }, becomes: 'submitted' }],
      ['a status that nobody knows', { reply: { status: 'dreaming' }, becomes: 'submitted' }],
      [
        'a complaint with the status 200',
        { reply: { error: 'secret trouble' }, becomes: 'submitted', shows: { error: null } },
      ],
      [
        'done',
        {
          reply: {
            status: 'done',
            video: { url: VIDEO, duration: 5, respect_moderation: true },
            model: 'grok-imagine-video',
            usage: { cost_in_usd_ticks: 4_000_000_000 },
            progress: 100,
          },
          becomes: 'succeeded',
          shows: {
            'content.video_url': VIDEO,
            video_url: VIDEO,
            'video.url': VIDEO,
            // The operator's cost is not shown to the caller.
            usage: {},
          },
        },
      ],
      [
        'done, without a status',
        { reply: { video: { url: VIDEO, duration: 5 } }, becomes: 'succeeded', shows: { video_url: VIDEO } },
      ],
      [
        'done, but held back',
        {
          reply: { status: 'done', video: { url: VIDEO, respect_moderation: false } },
          becomes: 'failed',
          error: BLOCKED,
        },
      ],
      [
        'done, without an address',
        { reply: { status: 'done', video: { url: '' } }, becomes: 'failed', error: BLOCKED },
      ],
      [
        'done, without a video',
        { reply: { status: 'done', video: null }, becomes: 'failed', error: BLOCKED },
      ],
      [
        'failed',
        {
          reply: { status: 'failed', error: { code: 'invalid_argument', message: 'Unsupported image.' } },
          becomes: 'failed',
          error: { code: 'invalid_argument', message: 'Unsupported image.' },
        },
      ],
      [
        'failed, with usage and a seed',
        {
          reply: {
            status: 'failed',
            error: { code: 'internal', message: 'No.' },
            usage: { output_tokens: 3 },
            seed: 7,
          },
          becomes: 'failed',
          error: { code: 'internal', message: 'No.' },
          shows: { 'usage.output_tokens': 3, seed: 7 },
        },
      ],
      [
        'failed, with words alone',
        {
          reply: { status: 'failed', error: 'Out of luck.' },
          becomes: 'failed',
          error: { code: 'failed', message: 'Out of luck.' },
        },
      ],
      [
        'failed, without a reason',
        { reply: { status: 'failed' }, becomes: 'failed', error: { code: 'failed', message: NO_REASON } },
      ],
      [
        'expired',
        {
          reply: { status: 'expired' },
          becomes: 'failed',
          error: { code: 'expired', message: 'The upstream let the task expire.' },
        },
      ],
    ],
  },

  ark: {
    family: 'ark-video',
    kind: 'ark',
    model: 'seedance-2-0-260128',
    body: (prompt) => ({ content: [{ type: 'text', text: prompt }], duration: 5, resolution: '720p' }),
    submitted: (id) => ({ id }),
    succeeded: () => arkDone,
    rows: [
      ['queued', { reply: { ...arkTask, status: 'queued' }, becomes: 'submitted' }],
      ['running', { reply: { ...arkTask, status: 'running' }, becomes: 'submitted' }],
      ['a status that nobody knows', { reply: { ...arkTask, status: 'dreaming' }, becomes: 'submitted' }],
      ['an empty object', { reply: {}, becomes: 'submitted' }],
      [
        'a complaint with the status 200',
        {
          reply: { error: { code: 'AccountOverdueError', message: 'secret trouble' } },
          becomes: 'submitted',
          shows: { error: null },
        },
      ],
      [
        'succeeded',
        {
          reply: arkDone,
          becomes: 'succeeded',
          shows: { content: arkDone.content, video_url: VIDEO, usage: arkDone.usage, seed: 58_944 },
        },
      ],
      [
        'succeeded, without a video',
        {
          reply: { ...arkDone, content: null },
          becomes: 'failed',
          error: { code: 'no_video', message: NO_VIDEO },
        },
      ],
      [
        'failed',
        {
          reply: {
            ...arkTask,
            status: 'failed',
            error: { code: 'OutputVideoSensitiveContentDetected', message: 'It may be sensitive.' },
          },
          becomes: 'failed',
          error: { code: 'OutputVideoSensitiveContentDetected', message: 'It may be sensitive.' },
        },
      ],
      [
        'failed, with usage and a seed',
        {
          reply: {
            ...arkTask,
            status: 'failed',
            error: { code: 'InternalServiceError', message: 'No.' },
            usage: arkDone.usage,
            seed: 58_944,
          },
          becomes: 'failed',
          error: { code: 'InternalServiceError', message: 'No.' },
          shows: { usage: arkDone.usage, seed: 58_944 },
        },
      ],
      [
        'failed, without a reason',
        {
          reply: { ...arkTask, status: 'failed' },
          becomes: 'failed',
          error: { code: 'failed', message: 'The upstream ended the task as failed.' },
        },
      ],
      [
        'cancelled',
        {
          reply: { ...arkTask, status: 'cancelled' },
          becomes: 'failed',
          error: { code: 'cancelled', message: 'The upstream ended the task as cancelled.' },
        },
      ],
      [
        'expired',
        {
          reply: { ...arkTask, status: 'expired' },
          becomes: 'failed',
          error: { code: 'expired', message: 'The upstream ended the task as expired.' },
        },
      ],
    ],
  },
}
