// Google's possible answers to a poll for a video of Gemini, and the gateway's results for them. Sources: the types of
// @google/genai 3.3, and recordings in packages of bike4mind (a withheld video is an answer with text only). They must never be
// made by the code under test.

import type { Json } from '../scenario'
import type { VideoVendorForm } from './video-replies'

const VIDEO = 'https://files.example.com/video.mp4'
const task = {
  id: 'ID',
  object: 'interaction',
  model: 'gemini-omni-1.2-flash',
  created: '2026-11-20T10:00:00Z',
}
const state = (status: string, more: Json = {}) => ({ ...task, status, ...more })
const words = { type: 'text', text: 'secret trouble' }
const answered = (...content: Json[]) => ({
  steps: [
    { type: 'thought', signature: 'secret trouble' },
    { type: 'model_output', content },
  ],
})
const made = answered(words, { type: 'video', mime_type: 'video/mp4', uri: VIDEO })
const failed = (code: string, message: string) => ({ becomes: 'failed' as const, error: { code, message } })

export const geminiVideo: VideoVendorForm = {
  family: 'gemini-video',
  kind: 'google',
  model: 'gemini-omni-1.2-flash',
  body: (prompt) => ({ input: prompt, response_format: { type: 'video', duration: '5s' } }),
  submitted: (id) => ({ ...state('in_progress'), id }),
  succeeded: () => state('completed', made),
  rows: [
    ['queued', { reply: state('queued'), becomes: 'submitted' }],
    ['in progress', { reply: state('in_progress'), becomes: 'submitted', shows: { object: null } }],
    ['an unknown status', { reply: state('dreaming'), becomes: 'submitted' }],
    ['an empty object', { reply: {}, becomes: 'submitted' }],
    [
      'an error with the status 200',
      { reply: { error: { message: 'secret trouble' } }, becomes: 'submitted', shows: { error: null } },
    ],
    [
      'completed',
      {
        reply: state('completed', made),
        becomes: 'succeeded',
        shows: { 'content.video_url': VIDEO, video_url: VIDEO, steps: null },
      },
    ],
    [
      'completed with text only',
      {
        reply: state('completed', answered(words)),
        ...failed(
          'content_policy_violation',
          'The video was held back by the content moderation of the upstream. Nothing was charged; change the prompt or the image.',
        ),
      },
    ],
    [
      'completed with a missing video',
      {
        reply: state('completed', {
          ...answered(words),
          usage: { output_tokens_by_modality: [{ modality: 'video', tokens: 17_376 }] },
        }),
        ...failed('no_video', 'The upstream calls the task done but gave no video. Nothing was charged.'),
      },
    ],
    [
      'failed with a reason',
      {
        reply: state('failed', { error: { code: 'invalid_request', message: 'The image is too small.' } }),
        ...failed('invalid_request', 'The image is too small.'),
      },
    ],
    [
      'failed with a list of reasons',
      {
        reply: state('failed', { errors: [{ code: 'internal', message: 'Try again.' }] }),
        ...failed('internal', 'Try again.'),
      },
    ],
    ...['failed', 'cancelled', 'incomplete', 'budget_exceeded', 'requires_action'].map(
      (status): VideoVendorForm['rows'][number] => [
        `${status} without a reason`,
        { reply: state(status), ...failed(status, `The upstream ended the task as ${status}.`) },
      ],
    ),
  ],
}
