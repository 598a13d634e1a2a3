// MiniMax's possible answers to a poll for a video, over both versions of its API, and the gateway's results for them. `ID` is
// replaced by the task's own id. Sources: those of src/families/videos/minimax.ts and hailuo.ts. They must never be made by the
// code under test.

import type { Json } from '../scenario'
import type { VideoVendorForm } from './video-replies'

const VIDEO = 'https://files.example.com/video.mp4'
const NO_VIDEO = 'The upstream calls the task done but gave no video. Nothing was charged.'
const BLOCKED = {
  code: 'content_policy_violation',
  message:
    'The video was held back by the content moderation of the upstream. Nothing was charged; change the prompt or the image.',
}

const task = { id: 'ID', model: 'MiniMax-H3', created_at: 1_785_229_015, updated_at: 1_785_229_102 }
const done = { ...task, status: 'succeeded', content: { url: VIDEO }, resolution: '768P', duration: 5 }
const ended = (status: string, error?: Json) => ({ task: { ...task, status, ...(error && { error }) } })

export const minimaxVideo: VideoVendorForm = {
  family: 'minimax-video',
  kind: 'minimax',
  model: 'MiniMax-H3',
  body: (prompt) => ({ content: [{ type: 'text', text: prompt }], duration: 5, resolution: '720P' }),
  submitted: (id) => ({ task_id: id }),
  succeeded: () => ({ task: done }),
  rows: [
    ['queued', { reply: ended('queued'), becomes: 'submitted' }],
    [
      'running',
      { reply: ended('running'), becomes: 'submitted', shows: { model: 'scripted-minimax-video' } },
    ],
    ['an unknown status', { reply: ended('dreaming'), becomes: 'submitted' }],
    ['an empty object', { reply: {}, becomes: 'submitted' }],
    [
      'an error with the status 200',
      { reply: { type: 'error', error: { message: 'secret trouble' } }, becomes: 'submitted' },
    ],
    [
      'an error about the task, with its status',
      {
        status: 500,
        reply: { type: 'error', error: { type: 'server_error', message: 'secret trouble (1000)' } },
        becomes: 'submitted',
      },
    ],
    [
      'succeeded',
      {
        reply: { task: done },
        becomes: 'succeeded',
        shows: { 'content.video_url': VIDEO, 'content.url': null, video_url: VIDEO, duration: 5 },
      },
    ],
    [
      'succeeded without a video',
      {
        reply: { task: { ...done, content: { prompt: 'x' } } },
        becomes: 'failed',
        error: { code: 'no_video', message: NO_VIDEO },
      },
    ],
    [
      'failed, because of its content',
      {
        reply: ended('failed', { code: '1027', message: 'the generated video contains sensitive content' }),
        becomes: 'failed',
        error: BLOCKED,
      },
    ],
    [
      'failed, because of its content, according to its message only',
      {
        reply: ended('failed', { message: 'video description contains sensitive content (1026)' }),
        becomes: 'failed',
        error: BLOCKED,
      },
    ],
    [
      'failed with a reason',
      {
        reply: ended('failed', { code: '2013', message: 'invalid params, video_url' }),
        becomes: 'failed',
        error: { code: '2013', message: 'invalid params, video_url' },
      },
    ],
    ...['failed', 'cancelled', 'expired'].map((status): VideoVendorForm['rows'][number] => [
      `${status} without a reason`,
      {
        reply: ended(status),
        becomes: 'failed',
        error: { code: status, message: `The upstream ended the task as ${status}.` },
      },
    ]),
  ],
}

const verdict = (code = 0, message = 'success') => ({
  base_resp: { status_code: code, status_msg: message },
})
const state = (status: string, more: Json = {}) => ({ task_id: 'ID', status, ...verdict(), ...more })
const made = state('Success', { file_id: 'ID', video_width: 1_366, video_height: 768 })
const file = (address?: string) => ({ file: { file_id: 'ID', download_url: address }, ...verdict() })

export const hailuoVideo: VideoVendorForm = {
  family: 'hailuo-video',
  kind: 'minimax',
  model: 'MiniMax-Hailuo-2.3',
  body: (prompt) => ({ prompt, duration: 5, resolution: '720P' }),
  submitted: (id) => ({ task_id: id, ...verdict() }),
  succeeded: (id) => ({ ...made, file_id: id }),
  result: file(VIDEO),
  rows: [
    ['Preparing', { reply: state('Preparing', { file_id: '' }), becomes: 'submitted' }],
    ['Queueing', { reply: state('Queueing'), becomes: 'submitted' }],
    [
      'Processing',
      { reply: state('Processing'), becomes: 'submitted', shows: { task_id: null, base_resp: null } },
    ],
    ['an unknown status', { reply: state('Dreaming'), becomes: 'submitted' }],
    ['an empty object', { reply: {}, becomes: 'submitted' }],
    [
      'an error with the status 200',
      { reply: verdict(1_000, 'secret trouble'), becomes: 'submitted', shows: { base_resp: null } },
    ],
    [
      'Success',
      {
        reply: made,
        becomes: 'succeeded',
        shows: { 'content.video_url': VIDEO, video_url: VIDEO, width: 1_366, height: 768, file_id: null },
      },
    ],
    [
      'Success without a file',
      {
        reply: state('Success', { file_id: '' }),
        becomes: 'failed',
        error: { code: 'no_video', message: NO_VIDEO },
      },
    ],
    [
      'Success, and a file without an address',
      {
        reply: made,
        result: { reply: file() },
        becomes: 'failed',
        error: { code: 'no_video', message: NO_VIDEO },
      },
    ],
    [
      'Success, while the file cannot be read',
      { reply: made, result: { reply: verdict(1_000, 'secret trouble') }, becomes: 'submitted' },
    ],
    [
      'Success, while the vendor fails',
      { reply: made, result: { status: 502, reply: verdict(1_000, 'secret trouble') }, becomes: 'submitted' },
    ],
    [
      'Fail, because of its content',
      {
        reply: { ...state('Fail'), ...verdict(1_027, 'video contains sensitive content') },
        becomes: 'failed',
        error: BLOCKED,
      },
    ],
    [
      'Fail with a reason',
      {
        reply: { ...state('Failed'), ...verdict(1_000, 'unknown error') },
        becomes: 'failed',
        error: { code: '1000', message: 'unknown error' },
      },
    ],
  ],
}
