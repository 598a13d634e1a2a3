// Requests for videos in the form of each family, as the spec and the vendors' documentation write them, with their costs at the
// prices of the catalogue, and a clock that a test moves.

import { BEAT_MS, REST_MS } from '../../src/app/scheduler'
import { outside } from '../../src/app/world'
import { withWholeUsage } from '../../src/billing/reports/usage-form'
import type { TestGateway } from './gateway'
import type { Json } from './scenario'

/** The model, the body without the model, and the held dollars. */
type VideoRequest = readonly [model: string, body: Record<string, Json>, usd: string]

const IMAGE = 'https://example.com/first.png'
const VIDEO = 'https://example.com/a.mp4'
const frame = { type: 'first_frame', url: IMAGE }
const reference = { type: 'reference_image', url: IMAGE }

function sized(input: object, more: object = {}) {
  const parameters = { size: '1280*720', duration: 5, prompt_extend: true, ...more }
  return { duration: 5, resolution: '720p', aspect_ratio: '16:9', input, parameters }
}

function resolved(input: object, more: object = {}) {
  const parameters = { resolution: '720P', duration: 5, prompt_extend: true, watermark: false, ...more }
  return { duration: 5, resolution: '720p', input, parameters }
}

const prompt = 'A quiet harbour at dawn'
const still = { prompt, img_url: IMAGE }

/** At least one for each model of the catalogue. */
export const videoRequests: readonly VideoRequest[] = [
  ['vidw2.5-t2v-preview', { ...sized({ prompt }, { size: '832*480' }), resolution: '480p' }, '0.25'],
  ['vidw2.5-i2v-preview', { ...resolved(still, { resolution: '480P' }), resolution: '480p' }, '0.25'],
  ['vidw2.6-t2v', sized({ prompt }, { shot_type: 'multi', audio: true }), '0.5'],
  ['vidw2.6-t2v', { ...sized({ prompt }, { size: '1080*1920' }), resolution: '1080P' }, '0.75'],
  ['vidw2.6-i2v', sized({ ...still, audio_url: 'https://example.com/a.mp3' }), '0.5'],
  ['vidw2.6-i2v', resolved(still), '0.5'],
  ['vidw2.6-i2v-flash', sized(still), '0.25'],
  ['vidw2.6-i2v-flash', sized(still, { audio: false }), '0.125'],
  ['vidw2.6-r2v', sized({ prompt, reference_urls: [IMAGE] }), '0.5'],
  ['vidw2.6-r2v-flash', sized({ prompt, reference_urls: [IMAGE] }, { audio: false }), '0.125'],
  ['vidw2.7-t2v', resolved({ prompt }, { ratio: '16:9' }), '0.5'],
  ['vidw2.7-t2v-2026-04-25', { ...resolved({ prompt }, { duration: 15 }), duration: 15 }, '1.5'],
  ['vidw2.7-i2v', resolved({ prompt, media: [frame] }), '0.5'],
  [
    'vidw2.7-i2v-2026-04-25',
    resolved({ media: [frame, { type: 'driving_audio', url: 'https://example.com/a.mp3' }] }),
    '0.5',
  ],
  // At most five seconds of the reference are billed, like the seconds generated from it.
  ['vidw2.7-r2v', resolved({ prompt, media: [reference, { ...reference, type: 'reference_video' }] }), '1'],
  ['wan3.0-video', { ...resolved({ prompt }, { duration: 30 }), duration: 30 }, '3'],
  ['wan3.0-video', { ...resolved({ prompt }, { duration: -1 }), duration: -1 }, '3'],
  ['wan3.0-video-prime', { ...resolved({ prompt }, { duration: 30 }), duration: 30 }, '4.2'],
  ['happyhorse-1.0-t2v', resolved({ prompt }), '0.7'],
  ['happyhorse-1.0-i2v', resolved({ prompt, media: [frame] }), '0.7'],
  ['happyhorse-1.0-r2v', resolved({ prompt, media: Array(9).fill(reference) }), '0.7'],
  ['happyhorse-1.1-t2v', resolved({ prompt }), '0.7'],
  ['happyhorse-1.1-i2v', resolved({ prompt, media: [frame] }), '0.7'],
  ['happyhorse-1.1-r2v', resolved({ prompt, media: Array(9).fill(reference) }), '0.7'],
  ['gkx-imagine-video', { prompt }, '0.4'],
  ['gkx-imagine-video', { prompt, duration: 5, resolution: '720P', aspect_ratio: '9:16' }, '0.35'],
  ['gkx-imagine-video', { image: { url: IMAGE }, duration: 1 }, '0.052'],
  ['gkx-imagine-video', { prompt, reference_images: Array(7).fill({ url: IMAGE }), duration: 2 }, '0.114'],
  ['gkx-imagine-video-1.5-preview', { prompt, image: { url: IMAGE }, resolution: '1080p' }, '2.01'],
  ['gkx-imagine-video-1.5', { prompt, duration: 5, resolution: '1080p' }, '1.25'],
  [
    'gkx-imagine-video-1.5-2026-05-30',
    { prompt, reference_images: Array(7).fill({ url: IMAGE }), duration: 2 },
    '0.23',
  ],
  ['gkx-imagine-video-1.5-lite', { prompt, image: { url: IMAGE }, duration: 10, resolution: '720p' }, '0.31'],
  ['seedance-1.5-pro', { content: [{ type: 'text', text: prompt }] }, '0.265'],
  ['seedance-1.5-pro', { content: [{ type: 'text', text: prompt }], draft: true }, '0.075'],
  [
    'seedance-1.5-pro',
    { content: [{ type: 'text', text: prompt }], generate_audio: false, duration: 4 },
    '0.106',
  ],
  [
    'seedance-2.0',
    {
      content: [
        { type: 'text', text: prompt },
        ...Array(9).fill({ type: 'image_url', image_url: { url: IMAGE }, role: 'reference_image' }),
      ],
      duration: -1,
      resolution: '480p',
      seed: 11,
    },
    '1.065',
  ],
  [
    'seedance-2.0',
    {
      content: [
        { type: 'text', text: prompt },
        { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, role: 'reference_video' },
      ],
    },
    // Fifteen seconds of input, and five of output.
    '1.88',
  ],
  ['kling-4.0', { prompt }, '0.785'],
  ['kling-4.0', { prompt, duration: '10', resolution: '1080P', aspect_ratio: '9:16' }, '2.35'],
  [
    'kling-4.0',
    { prompt: null, multi_prompt: [{ prompt, duration: '3' }, { prompt }], duration: 8 },
    '1.256',
  ],
  [
    'kling-4.0-i2v',
    { prompt, start_image_url: IMAGE, end_image_url: IMAGE, middle_image_urls: [IMAGE], duration: 3 },
    '0.471',
  ],
  ['kling-o3-4k-i2v', { image_url: IMAGE, end_image_url: IMAGE, generate_audio: false }, '2.1'],
  ['luma-ray-3.2', { prompt, loop: true }, '0.5'],
  ['luma-ray-3.2', { prompt, duration: '10s', resolution: '1080p' }, '4'],
  ['seedance-2.0-t2v', { prompt, duration: '4', resolution: '480p', seed: 11 }, '0.5384'],
  ['seedance-2.0-i2v', { prompt, image_url: IMAGE }, '1.517'],
  ['minimax-h3-max', { prompt, duration: 6 }, '0.48'],
  ['runway-gen4.5', { promptText: prompt }, '0.6'],
  ['runway-gen4.5', { promptText: prompt, promptImage: IMAGE, duration: 10, ratio: '960:960' }, '1.2'],
  // As long as its video, of which at most thirty seconds are used.
  ['runway-aleph2', { promptText: prompt, videoUri: VIDEO, keyframes: [{ uri: IMAGE, seconds: 1 }] }, '8.4'],
  ['seedance-2.5', { promptText: prompt, ratio: '864:496', duration: 4 }, '0.8'],
  ['seedance-2.5', { promptText: prompt, duration: 'auto', ratio: '1080:1920' }, '20.4'],
  [
    'seedance-2.5',
    { promptText: prompt, references: [{ uri: IMAGE }], referenceVideos: [{ type: 'video', uri: VIDEO }] },
    // Five seconds of output, and thirty of input.
    '6',
  ],
  [
    'hailuo-3',
    { promptText: prompt, references: [{ uri: IMAGE }, { uri: IMAGE }], resolution: '2K' },
    '0.79',
  ],
  ['veo-3.1', { promptText: prompt, audio: false }, '1.6'],
  [
    'veo-3.1',
    {
      promptText: prompt,
      promptImage: [
        { uri: IMAGE, position: 'first' },
        { uri: IMAGE, position: 'last' },
      ],
      duration: 4,
      ratio: '1080:1920',
    },
    '1.6',
  ],
  ['minimax-h3', { content: [{ type: 'text', text: prompt }] }, '0.4'],
  [
    'minimax-h3',
    {
      content: [
        { type: 'text', text: prompt },
        ...Array(7).fill({ type: 'image_url', image_url: { url: IMAGE }, role: 'reference_image' }),
        { type: 'video_url', video_url: { url: VIDEO }, role: 'reference_video' },
      ],
      duration: 4,
      resolution: '2K',
    },
    // Four seconds, fifteen of input, and two pictures beyond the free ones.
    '2.55',
  ],
  ['hailuo-2.3', { prompt }, '0.28'],
  ['hailuo-2.3', { prompt, duration: 10 }, '0.56'],
  ['hailuo-2.3', { prompt, first_frame_image: IMAGE, resolution: '1080P', prompt_optimizer: false }, '0.49'],
  ['hailuo-2.3-fast', { prompt, first_frame_image: IMAGE }, '0.19'],
  // Five seconds of 5,800 tokens, 4,096 of words, and the bytes of the request.
  [
    'gemini-omni-1.2-flash',
    { input: prompt, response_format: { type: 'video', duration: '5s' } },
    '0.385041',
  ],
]

/** The first request of a model, with other members. */
export function requestFor(model: string, more: Record<string, Json> = {}): Record<string, Json> {
  const found = videoRequests.find(([id]) => id === model)
  if (!found) throw new Error(`no request for ${model}`)
  return { model, ...found[1], ...more }
}

/**
 * A clock that advances only when a test moves it, so that nothing is polled before. With `after`, a gateway checks five times as
 * often for tasks that are due by this clock.
 */
export function makeClock() {
  let nowMs = Date.UTC(2026, 9, 10, 12, 0, 15)
  return {
    now: () => nowMs,
    after: (ms: number, run: () => void) =>
      outside.after(ms === BEAT_MS || ms === REST_MS ? ms / 5 : ms, run),
    pass(milliseconds: number) {
      nowMs += milliseconds
    },
  }
}

export type Clock = ReturnType<typeof makeClock>

/** How often the event loop turns before the clock moves on: a call to a vendor and its answer take fewer turns. */
const TURNS = 12

/** Moves the clock in small steps until a condition is met. However busy the machine is, begun work is finished first. */
export async function passUntil(
  clock: Clock,
  isSo: () => boolean | Promise<boolean>,
  stepMs = 1_000,
): Promise<void> {
  for (let step = 0; step < 400; step++) {
    if (await isSo()) return
    clock.pass(stepMs)
    for (let turn = 0; turn < TURNS; turn++) await Bun.sleep(2)
  }
  throw new Error('the condition was never met')
}

export async function readTask(gateway: TestGateway, id: string, key = gateway.secret): Promise<Json> {
  const headers = { authorization: `Bearer ${key}` }
  return (await fetch(`${gateway.url}/v1/videos/generations/${id}`, { headers })).json()
}

/** Waits for the end of a task while the clock runs fast. */
export async function endOf(gateway: TestGateway, clock: Clock, id: string): Promise<Json> {
  let task: Json
  await passUntil(
    clock,
    async () => {
      task = await readTask(gateway, id)
      return task.status !== 'submitted'
    },
    3_000,
  )
  return task
}

/** Rows of the task and its charge as one. */
export async function rowsOf(gateway: TestGateway, id: string): Promise<Json> {
  const rows = await gateway.server.world.db.query({
    sql: `select t.*, c.state as charge_state, c.held, c.amount, c.usage, c.usage_shape, c.usage_source, c.ended_by, c.shortfall
      from tasks t join charges c on c.id = t.charge where t.id = $1`,
    parameters: [id],
  })
  return rows[0] && withWholeUsage(rows[0])
}

/** Waits until every task that can end has ended, so that the books can be closed. */
export async function endAll(gateway: TestGateway, clock: Clock): Promise<void> {
  const open = () =>
    gateway.server.world.db.query({
      sql: `select id from tasks where state = 'submitted' and upstream_id is not null`,
    })
  await passUntil(clock, async () => (await open()).length === 0, 20_000)
}
