// Videos of MiniMax: the requests over both versions of its API, the prices, and the ends of tasks. The vendor has no client for
// JavaScript that could check the simulator, so bodies and calls are compared with its pages and its own command line.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { parseUsd } from '../../src/lib/money'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { endAll, endOf, makeClock, passUntil, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const IMAGE = 'https://example.com/first.png'
const VIDEO = 'https://example.com/a.mp4'
const FAMILIES = ['minimax-video', 'hailuo-video']
const listed = Object.entries(shipped.models as Record<string, ModelConfig>)
const clock = makeClock()
let gateway: TestGateway
let headers: Record<string, string>

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '1000',
    outside: clock,
    models: {
      ...Object.fromEntries(listed.filter(([, { family }]) => FAMILIES.includes(String(family)))),
      'hailuo-02': {
        family: 'hailuo-video',
        upstream: 'minimax',
        upstreamModel: 'MiniMax-Hailuo-02',
        durations: { min: 6, max: 10, default: 6 },
        referenceImages: { min: 0, max: 2 },
        price: { per_video: { '768p 6s': '0.28', '512p 6s': '0.10' } },
      },
      'hailuo-by-seconds': {
        family: 'hailuo-video',
        upstream: 'minimax',
        upstreamModel: 'MiniMax-Hailuo-02',
        durations: { min: 6, max: 10, default: 6 },
        price: { per_second: { '768p': '0.05' } },
      },
    },
  })
  headers = { authorization: `Bearer ${gateway.secret}` }
})
afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
})

/** Submits a video and returns the vendor call. */
async function submit(
  model: string,
  body: Json,
): Promise<{ status: number; json: Json; path: string; sent: Json }> {
  const before = gateway.sandbox.calls.length
  const response = await gateway.post('/v1/videos/generations', { model, ...body })
  const call = gateway.sandbox.calls.slice(before).find(({ method }) => method === 'POST')
  return {
    status: response.status,
    json: (await response.json()) as Json,
    path: call?.path ?? '',
    sent: call && JSON.parse(call.body),
  }
}

const text = (words = 'x') => ({ type: 'text', text: words })
const image = (role: string) => ({ type: 'image_url', image_url: { url: IMAGE }, role })
const video = { type: 'video_url', video_url: { url: VIDEO }, role: 'reference_video' }

describe('what is sent and held', () => {
  const rows: [name: string, model: string, body: Json, path: string, sent: Json, heldUsd: string][] = [
    [
      'a request with only text gets an aspect ratio',
      'minimax-h3',
      { content: [text()], wait: 0, webhook_url: null },
      '/v2/video_generation',
      { model: 'MiniMax-H3', content: [text()], duration: 5, resolution: '768P', ratio: '16:9' },
      '0.4',
    ],
    [
      'first and last frame, which set the aspect ratio',
      'minimax-h3',
      { content: [text(), image('first_frame'), image('last_frame')], resolution: '2k', duration: 15 },
      '/v2/video_generation',
      {
        model: 'MiniMax-H3',
        content: [text(), image('first_frame'), image('last_frame')],
        duration: 15,
        resolution: '2K',
      },
      '1.95',
    ],
    [
      'images beyond the free ones',
      'minimax-h3',
      { content: [text(), ...Array(6).fill(image('reference_image'))], ratio: '9:16' },
      '/v2/video_generation',
      {
        model: 'MiniMax-H3',
        content: [text(), ...Array(6).fill(image('reference_image'))],
        ratio: '9:16',
        duration: 5,
        resolution: '768P',
      },
      '0.44',
    ],
    [
      'a video from videos; the hold covers the maximum input',
      'minimax-h3',
      { content: [text(), video] },
      '/v2/video_generation',
      { model: 'MiniMax-H3', content: [text(), video], duration: 5, resolution: '768P' },
      '1.6',
    ],
    [
      'a Hailuo video has a price for its resolution and length',
      'hailuo-2.3',
      { prompt: 'x', duration: 10, wait: 0 },
      '/v1/video_generation',
      { model: 'MiniMax-Hailuo-2.3', prompt: 'x', duration: 10, resolution: '768P' },
      '0.56',
    ],
    [
      'two frames for the model that supports them',
      'hailuo-02',
      { prompt: 'x', first_frame_image: IMAGE, last_frame_image: IMAGE, resolution: '512p' },
      '/v1/video_generation',
      {
        model: 'MiniMax-Hailuo-02',
        prompt: 'x',
        first_frame_image: IMAGE,
        last_frame_image: IMAGE,
        duration: 6,
        resolution: '512P',
      },
      '0.1',
    ],
    [
      'a price per second',
      'hailuo-by-seconds',
      { prompt: 'x', duration: 10 },
      '/v1/video_generation',
      { model: 'MiniMax-Hailuo-02', prompt: 'x', duration: 10, resolution: '768P' },
      '0.5',
    ],
  ]
  test.each(rows)('%s', async (_name, model, body, path, sent, heldUsd) => {
    const answer = await submit(model, body)
    expect(answer).toMatchObject({ status: 202, path })
    expect(answer.sent).toEqual(sent)
    expect(await rowsOf(gateway, answer.json.id)).toMatchObject({ held: parseUsd(heldUsd) as number })
  })

  const refused: [name: string, model: string, body: Json, param: string, words: string][] = [
    ['no text', 'minimax-h3', { content: [image('first_frame')] }, 'content', 'text'],
    [
      'a resolution without a price',
      'minimax-h3',
      { content: [text()], resolution: '4K' },
      'resolution',
      '2k',
    ],
    ['an unsupported length', 'minimax-h3', { content: [text()], duration: 16 }, 'duration', '4 to 15'],
    [
      'an upload of the account',
      'minimax-h3',
      { content: [text(), { type: 'image_url', image_url: { url: 'mm_file://1' } }] },
      'content[1].image_url.url',
      'account',
    ],
    [
      'a webhook of the vendor',
      'minimax-h3',
      { content: [text()], callback_url: IMAGE },
      'callback_url',
      'webhook_url',
    ],
    [
      'ten seconds at 1080p',
      'hailuo-2.3',
      { prompt: 'x', duration: 10, resolution: '1080P' },
      'duration',
      '6 seconds',
    ],
    ['seven seconds', 'hailuo-2.3', { prompt: 'x', duration: 7 }, 'duration', '6 or 10 seconds'],
    ['no first frame', 'hailuo-2.3-fast', { prompt: 'x' }, 'first_frame_image', 'exactly 1'],
    ['no prompt and no image', 'hailuo-2.3', {}, 'prompt', 'prompt'],
    [
      'an address on this machine',
      'hailuo-2.3',
      { prompt: 'x', first_frame_image: 'http://127.0.0.1/a' },
      'first_frame_image',
      '',
    ],
  ]
  test.each(refused)(
    '%s is rejected, and nothing is sent or held',
    async (_name, model, body, param, words) => {
      const before = gateway.sandbox.calls.length
      const { status, json } = await submit(model, body)
      expect({ status, param: json.error?.param }).toEqual({ status: 400, param })
      expect(json.error.message).toContain(words)
      expect(gateway.sandbox.calls.length).toBe(before)
    },
  )
})

describe('a task', () => {
  test('of Hailuo queries its state and its file, and shows neither’s id', async () => {
    const { json } = await submit('hailuo-2.3', { prompt: 'x [sandbox task_ms=0]' })
    const before = gateway.sandbox.calls.length
    const task = await endOf(gateway, clock, json.id)
    expect(task).toMatchObject({ status: 'succeeded', width: 1_366, height: 768 })
    const { upstream_id: id, amount } = await rowsOf(gateway, json.id)
    for (const member of ['task_id', 'file_id', 'file', 'base_resp']) expect(task).not.toHaveProperty(member)
    const random = id.slice('mmv-'.length)
    const calls = gateway.sandbox.calls.slice(before).filter(({ path }) => path.includes(random))
    expect(calls.map(({ method, path }) => `${method} ${path.split('=')[0]}`)).toEqual([
      'GET /v1/query/video_generation?task_id',
      'GET /v1/files/retrieve?file_id',
    ])
    expect(amount).toBe(parseUsd('0.28') as number)
    const shown = (await (await fetch(`${gateway.url}/v1/videos/${json.id}`, { headers })).json()) as Json
    expect(shown).toMatchObject({ status: 'completed', seconds: '6' })
  })

  test('with input videos is charged by the seconds that the vendor reports', async () => {
    const { json } = await submit('minimax-h3', { content: [text('x [sandbox task_ms=0]'), video] })
    const task = await endOf(gateway, clock, json.id)
    expect(task).toMatchObject({ status: 'succeeded', usage: { input_seconds: 4, output_seconds: 5 } })
    expect(await rowsOf(gateway, json.id)).toMatchObject({ held: parseUsd('1.6'), amount: parseUsd('0.72') })
  })

  const failures: [name: string, model: string, directives: string, code: string][] = [
    ['H3’s content', 'minimax-h3', 'task_end=blocked', 'content_policy_violation'],
    ['H3’s time', 'minimax-h3', 'task_end=expired', 'expired'],
    ['H3’s server', 'minimax-h3', 'task_end=failed', '1000'],
    ['Hailuo’s content', 'hailuo-2.3', 'task_end=blocked', 'content_policy_violation'],
    ['Hailuo’s server', 'hailuo-2.3', 'task_end=failed', '1000'],
  ]
  test.each(failures)('that fails because of %s is free', async (_name, model, directives, code) => {
    const words = `x [sandbox task_ms=0 ${directives}]`
    const { json } = await submit(
      model,
      model === 'minimax-h3' ? { content: [text(words)] } : { prompt: words },
    )
    const task = await endOf(gateway, clock, json.id)
    expect(task).toMatchObject({ status: 'failed', error: { code } })
    expect(await rowsOf(gateway, json.id)).toMatchObject({ charge_state: 'released', amount: 0 })
  })

  test('is stopped while queued, and continues if running', async () => {
    const body = (ms: number) => ({ content: [text(`x [sandbox task_ms=${ms}]`)] })
    const waiting = (await submit('minimax-h3', body(600_000))).json.id
    expect(await remove(waiting)).toBe(200)
    expect(gateway.sandbox.calls.at(-1)).toMatchObject({ method: 'DELETE' })
    const stopped = await gateway.charges()
    expect(stopped.at(-1)).toMatchObject({ state: 'released', amount: 0 })
    const running = (await submit('minimax-h3', body(4_000))).json.id
    await Bun.sleep(1_300)
    expect(await remove(running)).toBe(409)
    expect(await endOf(gateway, clock, running)).toMatchObject({ status: 'succeeded' })
  })
})

/** Deletes while the clock runs, which a stop needs, and returns the status of the answer. */
async function remove(id: string): Promise<number> {
  let status = 0
  void fetch(`${gateway.url}/v1/videos/${id}`, { method: 'DELETE', headers }).then((answer) => {
    status = answer.status
  })
  await passUntil(clock, () => status > 0, 100)
  return status
}

test('the caller sees rejections, but not the empty balance of the operator', async () => {
  const both = [
    ['minimax-h3', (words: string) => ({ content: [text(words)] })],
    ['hailuo-2.3', (prompt: string) => ({ prompt })],
  ] as const
  for (const [model, body] of both) {
    const poor = await submit(model, body('[sandbox quota]'))
    expect(poor).toMatchObject({ status: 503, json: { error: { code: 'upstream_unavailable' } } })
    expect(poor.json.error.message).not.toContain('balance')
  }
  // The vendor rejects a first frame together with a reference.
  const mixed = await submit('minimax-h3', {
    content: [text(), image('first_frame'), image('reference_image')],
  })
  expect(mixed).toMatchObject({
    status: 400,
    json: { error: { message: expect.stringContaining('together') } },
  })
  const two = await submit('hailuo-by-seconds', { prompt: 'x', duration: 8 })
  expect(two).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('8s') } } })
})
