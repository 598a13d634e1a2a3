// The effect of an answer to a poll on its task, and the time of the next poll, as tables.

import { describe, expect, test } from 'bun:test'
import type { TaskOutcome } from '../../src/contract/family'
import {
  endingOf,
  type PollAnswer,
  postponementAfterFault,
  postponementOf,
} from '../../src/tasks/poll-answer'
import type { Task } from '../../src/tasks/task'

const CREATED = Date.UTC(2026, 2, 10, 12)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const DEADLINE = CREATED + 24 * 60 * MINUTE_MS
const VIDEO_URL = 'https://files.example.com/1.mp4'

const task: Task = {
  id: 'video_1',
  operation: 'video',
  account: 'alice',
  keyId: 'key-1',
  spenderId: null,
  model: 'vidw2.6-t2v',
  upstream: 'dashscope',
  charge: 'charge-1',
  upstreamId: 'ds-1',
  state: 'submitted',
  pollContext: {},
  quantities: { second: 5 },
  costNano: 50,
  webhookUrl: null,
  gatewayUrl: 'https://gateway.example.com',
  size: null,
  document: '{"progress":40}',
  videoUrl: null,
  errorCode: null,
  errorMessage: null,
  createdAt: CREATED,
  sentAt: CREATED,
  endedAt: null,
  deadlineAt: DEADLINE,
  pollAt: CREATED,
  polls: 3,
  misses: 0,
  missing: 0,
  cancelAt: null,
  cancelAnswer: null,
  leaseUntil: 0,
  fence: 1,
}

const submitted: PollAnswer = { outcome: { status: 'submitted', document: {} } }
const missing: PollAnswer = { outcome: { status: 'missing' } }
const silent: PollAnswer = { error: 'upstream_timeout' }
const failed: PollAnswer = {
  outcome: { status: 'failed', document: { seed: 7 }, error: { code: 'bad', message: 'It is bad.' } },
}

function succeeded(more: Partial<TaskOutcome & { status: 'succeeded' }> = {}): PollAnswer {
  return { outcome: { status: 'succeeded', document: { seed: 7 }, videoUrl: VIDEO_URL, ...more } }
}

const success = { state: 'succeeded', document: { seed: 7 }, videoUrl: VIDEO_URL, usageJson: null }
const estimated = { ...success, usageSource: 'estimated' }
const bad = { state: 'failed', document: { seed: 7 }, error: { code: 'bad', message: 'It is bad.' } }
const timedOut = { state: 'failed', document: { progress: 40 }, error: { code: 'timed_out' } }
const lost = { state: 'failed', document: { progress: 40 }, error: { code: 'task_lost' } }

const early = DEADLINE - 1
const endings: [string, PollAnswer, { at: number; missing?: number }, object | undefined][] = [
  ['that the task is running', submitted, { at: early }, undefined],
  ['that the task is running, at the deadline', submitted, { at: DEADLINE }, timedOut],
  ['nothing', silent, { at: early }, undefined],
  ['nothing, at the deadline', silent, { at: DEADLINE }, timedOut],
  ['nothing, long after the deadline', silent, { at: DEADLINE + MINUTE_MS }, timedOut],
  ['that there is no such task, once', missing, { at: early }, undefined],
  ['that there is no such task, twice', missing, { at: early, missing: 1 }, undefined],
  ['that there is no such task, three times in a row', missing, { at: early, missing: 2 }, lost],
  ['that there is no such task, once, at the deadline', missing, { at: DEADLINE }, timedOut],
  ['that there is no such task, three times, at the deadline', missing, { at: DEADLINE, missing: 2 }, lost],
  ['that the task has failed', failed, { at: early }, bad],
  ['that the task has failed, at the deadline', failed, { at: DEADLINE }, bad],
  ['that the task has succeeded', succeeded(), { at: early }, success],
  ['that the task has succeeded, at the deadline', succeeded(), { at: DEADLINE }, success],
  [
    'the service tier',
    succeeded({ serviceTier: 'flex' }),
    { at: early },
    { ...success, serviceTier: 'flex' },
  ],
  [
    'the usage',
    succeeded({ document: { usage: { total_tokens: 9 } } }),
    { at: early },
    { ...success, document: { usage: { total_tokens: 9 } }, usageJson: '{"total_tokens":9}' },
  ],
  ...[0, -1, 5.01, 6, 1e308, Number.NaN, Number.POSITIVE_INFINITY, undefined].map(
    (second): (typeof endings)[number] => [
      `${second} seconds of video, of 5`,
      succeeded({ quantities: second === undefined ? {} : { second } }),
      { at: early },
      estimated,
    ],
  ),
  ...[
    [0.2, 1],
    [3, 3],
    [4.1, 5],
    [5, 5],
  ].map(([second = 0, paid]): (typeof endings)[number] => [
    `${second} seconds of video, of 5`,
    succeeded({ quantities: { second } }),
    { at: early },
    { ...success, quantities: { second: paid }, usageSource: 'upstream' },
  ]),
]

describe('a vendor that answers', () => {
  test.each(endings)('%s', (_title, answer, { at, missing = 0 }, expected) => {
    const ending = endingOf({ ...task, missing }, answer, at)
    if (expected === undefined) expect(ending).toBeUndefined()
    else if ('error' in expected) expect(ending).toMatchObject(expected)
    else expect(ending).toEqual(expected as typeof ending)
  })

  test('the history of a task is not loaded for an end that does not need it', () => {
    const unreadable = { ...task, document: 'no JSON' }
    expect(endingOf(unreadable, succeeded(), early)).toEqual(success as ReturnType<typeof endingOf>)
    expect(endingOf(unreadable, silent, early)).toBeUndefined()
  })
})

const waits: [string, PollAnswer, { ageMs: number; misses?: number }, waitMs: number][] = [
  ['works on a young task', submitted, { ageMs: SECOND_MS }, 3 * SECOND_MS],
  ['works on a task of half a minute', submitted, { ageMs: 30 * SECOND_MS }, 3 * SECOND_MS],
  ['works on a task of a minute', submitted, { ageMs: MINUTE_MS }, 6 * SECOND_MS],
  ['works on a task of five minutes', submitted, { ageMs: 5 * MINUTE_MS }, 30 * SECOND_MS],
  ['works on a task of hours', submitted, { ageMs: 300 * MINUTE_MS }, 30 * SECOND_MS],
  ['works on the task after many failed polls', submitted, { ageMs: MINUTE_MS, misses: 9 }, 6 * SECOND_MS],
  ['is silent once', silent, { ageMs: MINUTE_MS }, 5 * SECOND_MS],
  ['is silent twice', silent, { ageMs: MINUTE_MS, misses: 1 }, 10 * SECOND_MS],
  ['is silent six times', silent, { ageMs: MINUTE_MS, misses: 5 }, 160 * SECOND_MS],
  ['is silent seven times', silent, { ageMs: MINUTE_MS, misses: 6 }, 300 * SECOND_MS],
  ['stays silent', silent, { ageMs: MINUTE_MS, misses: 5_000 }, 300 * SECOND_MS],
  ['requests a pause', { error: 'busy', retryAfterMs: 60_000 }, { ageMs: 0 }, 60 * SECOND_MS],
  ['requests a shorter pause than ours', { error: 'busy', retryAfterMs: 1 }, { ageMs: 0 }, 5 * SECOND_MS],
  ['requests a pause of a day', { error: 'busy', retryAfterMs: 86_400_000 }, { ageMs: 0 }, 300 * SECOND_MS],
  ['does not know the task', missing, { ageMs: MINUTE_MS }, 5 * SECOND_MS],
  ['works on the task, just before the deadline', submitted, { ageMs: DEADLINE - CREATED - 7 }, 7],
  ['is silent, just before the deadline', silent, { ageMs: DEADLINE - CREATED - 7 }, 7],
  ['is silent, after the deadline', silent, { ageMs: DEADLINE - CREATED + 7 }, 1],
]

describe('the next poll of a task whose vendor', () => {
  test.each(waits)('%s', (_title, answer, { ageMs, misses = 0 }, waitMs) => {
    const now = CREATED + ageMs
    expect(postponementOf({ ...task, misses }, answer, now).pollAt - now).toBe(waitMs)
  })

  test('depends on the number of failed polls, which a vendor’s answer about the task resets', () => {
    const before = { ...task, misses: 4, missing: 1 }
    const { document } = task
    const counts = (answer: PollAnswer) => {
      const { pollAt: _, ...others } = postponementOf(before, answer, CREATED)
      return others
    }
    expect(counts(silent)).toEqual({ misses: 5, missing: 0, document })
    expect(counts(missing)).toEqual({ misses: 5, missing: 2, document })
    expect(counts(submitted)).toMatchObject({ misses: 0, missing: 0 })
    const fault = postponementAfterFault(before, CREATED)
    expect(fault).toEqual({ misses: 5, missing: 1, document, pollAt: CREATED + 80 * SECOND_MS })
  })

  test('a task shows the progress that its vendor reports', () => {
    const shown = (outcome: TaskOutcome) =>
      JSON.parse(postponementOf(task, { outcome }, CREATED).document ?? '')
    const named = { id: 'video_1', model: 'vidw2.6-t2v', status: 'submitted', upstream_id: 'ds-1' }
    const document = { id: 'ds-1', status: 'RUNNING', seed: 7 }
    expect(shown({ status: 'submitted', document })).toEqual({
      ...named,
      seed: 7,
      created_at: CREATED / 1000,
    })
    expect(shown({ status: 'submitted', document, progress: 60 })).toMatchObject({ ...named, progress: 60 })
  })
})
