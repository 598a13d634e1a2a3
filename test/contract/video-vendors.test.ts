// Videos of fal and Runway: official clients read the simulator's answers, and the gateway sends valid requests, at the prices of
// its list.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createFalClient } from '@fal-ai/client'
import RunwayML from '@runwayml/sdk'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { families } from '../../src/families'
import { parseUsd } from '../../src/lib/money'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'
import { endAll, endOf, makeClock, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const IMAGE = 'https://example.com/first.png'
const VIDEO = 'https://example.com/a.mp4'
const NEW = ['fal-video', 'runway-video']
const listed = Object.entries(shipped.models as Record<string, ModelConfig>)
const clock = makeClock()
let gateway: TestGateway

/** A model of fal with a price, which the catalogue does not have. */
const falModel = (upstreamModel: string, more: Partial<ModelConfig> = {}) =>
  ({
    family: 'fal-video',
    upstream: 'fal',
    upstreamModel,
    durations: { min: 2, max: 15, default: 5 },
    price: {
      per_second: { '720p': '0.10', '720p silent': '0.05', '1080p': '0.15' },
      per_input_image: '0.01',
    },
    ...more,
  }) as ModelConfig

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '1000',
    outside: clock,
    models: {
      ...Object.fromEntries(listed.filter(([, { family }]) => NEW.includes(String(family)))),
      'wan-t2v': falModel('fal-ai/wan/v2.7/text-to-video'),
      'wan-references': falModel('fal-ai/wan/v2.7/reference-to-video'),
      'wan-edit': falModel('fal-ai/wan/v2.7/edit-video', { durations: { min: 2, max: 10, default: 10 } }),
      'kling-edit': falModel('fal-ai/kling-video/o3/pro/video-to-video/edit', {
        durations: { min: 3, max: 10, default: 10 },
        price: { per_second: '0.1' },
      }),
      'wan-flat': falModel('fal-ai/wan/v2.7/text-to-video', { price: { per_second: '0.1' } }),
    },
  })
})
afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
})

/** Submits a video and returns the body that the vendor received. */
async function submit(model: string, body: Json): Promise<{ status: number; json: Json; sent: Json }> {
  const before = gateway.sandbox.calls.length
  const response = await gateway.post('/v1/videos/generations', { model, ...body })
  const call = gateway.sandbox.calls.slice(before).find(({ method }) => method === 'POST')
  return {
    status: response.status,
    json: (await response.json()) as Json,
    sent: call && JSON.parse(call.body),
  }
}

describe('the client of fal', () => {
  const address = () => gateway.sandbox.baseUrls.fal
  const client = (credentials = gateway.sandbox.secrets.fal) =>
    createFalClient({
      credentials,
      suppressLocalCredentialsWarning: true,
      fetch: ((url: string | URL | Request, init?: RequestInit) =>
        fetch(String(url).replace('https://queue.fal.run', address()), init)) as typeof fetch,
    })

  test('submits, follows and reads the result of the simulator', async () => {
    const endpoint = 'fal-ai/wan/v2.7/text-to-video'
    const { queue } = client()
    const input = { prompt: 'A harbour [sandbox task_ms=0]', duration: '5', resolution: '720p' } as const
    const { request_id: requestId, status } = await queue.submit(endpoint, { input })
    expect(status).toBe('IN_QUEUE')
    expect(await queue.status(endpoint, { requestId })).toMatchObject({ status: 'COMPLETED' })
    const { data } = await queue.result(endpoint, { requestId })
    expect(data.video.url).toStartWith('http')
    expect(data.video.duration).toBe(5)
  })

  test('cancels, and is rejected in the forms that it knows', async () => {
    const endpoint = 'fal-ai/wan/v2.7/text-to-video'
    const { queue } = client()
    const { request_id: requestId } = await queue.submit(endpoint, { input: { prompt: 'x' } })
    await queue.cancel(endpoint, { requestId })
    const unknown = await rejection(queue.result(endpoint, { requestId: 'nobody' }))
    expect(unknown).toMatchObject({ name: 'ApiError', status: 404 })
    const odd = await queue.submit(endpoint, {
      input: { prompt: '[sandbox task_ms=0]', duration: '40' as '5' },
    })
    const refused = await rejection(queue.result(endpoint, { requestId: odd.request_id }))
    expect(refused).toMatchObject({ name: 'ValidationError', status: 422 })
    expect((refused as unknown as { fieldErrors: Json[] }).fieldErrors[0]?.loc).toEqual(['body', 'duration'])
    const stranger = await rejection(client('other:key').queue.submit(endpoint, { input: { prompt: 'x' } }))
    expect(stranger).toMatchObject({ status: 401 })
  })
})

describe('the client of Runway', () => {
  const client = (apiKey = gateway.sandbox.secrets.runway) =>
    new RunwayML({ apiKey, baseURL: gateway.sandbox.baseUrls.runway.replace('/v1', ''), maxRetries: 0 })

  test('submits, follows and reads the result of the simulator', async () => {
    const created = await client().videoToVideo.create({
      model: 'aleph2',
      videoUri: VIDEO,
      promptText: 'Snow [sandbox task_ms=0]',
    })
    expect(created.estimatedCost.credits).toBeGreaterThan(0)
    const task = await client().tasks.retrieve(created.id)
    expect(task).toMatchObject({ status: 'SUCCEEDED', cost: { credits: 112 } })
    if (task.status === 'SUCCEEDED') expect(task.output[0]).toStartWith('http')
  })

  test('cancels, and is rejected in the forms that it knows', async () => {
    const asked = { model: 'gen4.5', promptText: 'x', ratio: '1280:720', duration: 5 } as const
    const { id } = await client().textToVideo.create(asked)
    await client().tasks.delete(id)
    expect(await client().tasks.retrieve(id)).toMatchObject({ status: 'CANCELLED' })
    const odd = await rejection(client().textToVideo.create({ ...asked, duration: 40 }))
    expect(odd).toMatchObject({ status: 400, error: { error: 'Validation of body failed' } })
    expect(await rejection(client('key_other').textToVideo.create(asked))).toMatchObject({ status: 401 })
  })
})

describe('fields for Runway', () => {
  const rows: [name: string, model: string, body: Json, path: string, sent: Json, heldUsd: string][] = [
    [
      'a text',
      'runway-gen4.5',
      { promptText: 'x', wait: 0, webhook_url: null },
      '/v1/text_to_video',
      { model: 'gen4.5', promptText: 'x', duration: 5, ratio: '1280:720' },
      '0.6',
    ],
    [
      'a first frame',
      'veo-3.1',
      { promptText: 'x', promptImage: IMAGE, audio: false },
      '/v1/image_to_video',
      { model: 'veo3.1', promptText: 'x', promptImage: IMAGE, audio: false, duration: 8, ratio: '1280:720' },
      '1.6',
    ],
    [
      'an edit has no length and no ratio',
      'runway-aleph2',
      { promptText: 'x', videoUri: VIDEO },
      '/v1/video_to_video',
      { model: 'aleph2', promptText: 'x', videoUri: VIDEO },
      '8.4',
    ],
    [
      'a video to extend',
      'seedance-2.5',
      { promptText: 'x', promptVideo: VIDEO, duration: 4, ratio: '864:496' },
      '/v1/video_to_video',
      { model: 'seedance2_5', promptText: 'x', promptVideo: VIDEO, duration: 4, ratio: '864:496' },
      '3.8',
    ],
    [
      'a resolution in addition to the ratio',
      'hailuo-3',
      { promptText: 'x', resolution: '2K', ratio: '16:9' },
      '/v1/text_to_video',
      { model: 'hailuo3', promptText: 'x', resolution: '2k', ratio: '16:9', duration: 5 },
      '0.75',
    ],
  ]
  test.each(rows)('%s', async (_name, model, body, path, sent, heldUsd) => {
    const before = gateway.sandbox.calls.length
    const answer = await submit(model, body)
    expect(answer).toMatchObject({ status: 202, sent })
    expect(answer.sent).toEqual(sent)
    const call = gateway.sandbox.calls.slice(before).find(({ method }) => method === 'POST')
    expect(call).toMatchObject({ path, headers: { 'x-runway-version': '2024-11-06' } })
    expect(await rowsOf(gateway, answer.json.id)).toMatchObject({ held: parseUsd(heldUsd) as number })
  })

  const refused: [name: string, model: string, body: Json, param: string, words: string][] = [
    ['an edit without a video', 'runway-aleph2', { promptText: 'x' }, 'videoUri', 'edits'],
    ['a length of an edit', 'runway-aleph2', { videoUri: VIDEO, duration: 5 }, 'duration', 'as long'],
    ['a ratio without a price', 'seedance-2.5', { promptText: 'x', ratio: '3840:2160' }, 'ratio', '1080p'],
    [
      'an aspect ratio instead of a size',
      'seedance-2.5',
      { promptText: 'x', ratio: '16:9' },
      'ratio',
      '1280:720',
    ],
    [
      'a resolution instead of a size',
      'veo-3.1',
      { promptText: 'x', resolution: '1080p' },
      'resolution',
      'ratio',
    ],
    [
      'a length that it chooses, from a video',
      'seedance-2.5',
      { promptText: 'x', promptVideo: VIDEO, duration: 'auto' },
      'duration',
      'length in seconds',
    ],
    [
      'a more expensive format',
      'runway-gen4.5',
      { promptText: 'x', outputFormat: 'hdr10' },
      'outputFormat',
      'mp4',
    ],
    [
      'an edit in place',
      'seedance-2.5',
      { promptVideo: VIDEO, duration: 5, mode: 'edit' },
      'mode',
      'reference',
    ],
    ['an upload of the account', 'runway-aleph2', { videoUri: 'runway://abc' }, 'videoUri', 'account'],
    ['no prompt', 'seedance-2.5', { duration: 5 }, 'promptText', 'promptText'],
  ]
  test.each(refused)(
    '%s is rejected, and nothing is sent or held',
    async (_name, model, body, param, words) => {
      const before = gateway.sandbox.calls.length
      const { status, json } = await submit(model, body)
      expect({ status, param: json.error?.param }).toEqual({ status: 400, param })
      expect(json.error.message).toContain(words)
      expect(
        gateway.sandbox.calls.filter(({ method }, index) => index >= before && method === 'POST'),
      ).toEqual([])
    },
  )

  test('rejections name the field, and the operator’s missing credits are not shown', async () => {
    const odd = await submit('veo-3.1', { promptText: 'x', duration: 5 })
    expect(odd).toMatchObject({ status: 400, json: { error: { param: 'duration' } } })
    expect(odd.json.error.message).toContain('Invalid duration')
    const poor = await submit('runway-gen4.5', { promptText: '[sandbox quota]' })
    expect(poor).toMatchObject({ status: 503, json: { error: { code: 'upstream_unavailable' } } })
    expect(poor.json.error.message).not.toContain('credits')
  })

  test('a video from a video is held at the maximum and charged by the credits', async () => {
    const { json } = await submit('seedance-2.5', {
      promptText: 'x [sandbox task_ms=0]',
      referenceVideos: [{ type: 'video', uri: VIDEO }],
    })
    await endOf(gateway, clock, json.id)
    // Five seconds of output at 30 cents, and four of input at 15.
    expect(await rowsOf(gateway, json.id)).toMatchObject({ held: parseUsd('6'), amount: parseUsd('2.1') })
    const edit = await submit('runway-aleph2', { videoUri: VIDEO, promptText: 'x [sandbox task_ms=0]' })
    const task = await endOf(gateway, clock, edit.json.id)
    expect(JSON.stringify(task)).not.toMatch(/cost|credits/i)
    expect(await rowsOf(gateway, edit.json.id)).toMatchObject({
      held: parseUsd('8.4'),
      amount: parseUsd('1.12'),
    })
  })
})

describe('fields for fal', () => {
  const rows: [name: string, model: string, body: Json, sent: Json, heldUsd: string][] = [
    [
      'length and resolution are always sent',
      'wan-t2v',
      { prompt: 'x' },
      { prompt: 'x', duration: '5', resolution: '720p' },
      '0.5',
    ],
    [
      'fields of the gateway are not sent',
      'wan-t2v',
      { prompt: 'x', duration: 6, wait: 0, webhook_url: null, resolution: '1080P' },
      { prompt: 'x', duration: '6', resolution: '1080p' },
      '0.9',
    ],
    [
      'Luma gets seconds with a unit',
      'luma-ray-3.2',
      { prompt: 'x', duration: 10 },
      { prompt: 'x', duration: '10s', resolution: '540p' },
      '1',
    ],
    [
      'H3 gets seconds as a number',
      'minimax-h3-max',
      { prompt: 'x', duration: '7s' },
      { prompt: 'x', duration: 7, resolution: '768p' },
      '0.56',
    ],
    [
      'the only resolution is not sent',
      'kling-o3-4k-i2v',
      { image_url: IMAGE },
      { image_url: IMAGE, duration: '5' },
      '2.1',
    ],
    [
      'without sound it is cheaper if the price list says so',
      'wan-t2v',
      { prompt: 'x', generate_audio: false },
      { prompt: 'x', generate_audio: false, duration: '5', resolution: '720p' },
      '0.25',
    ],
    [
      'images have their own price if the list has one',
      'wan-references',
      { prompt: 'x', reference_image_urls: [IMAGE, IMAGE] },
      { prompt: 'x', reference_image_urls: [IMAGE, IMAGE], duration: '5', resolution: '720p' },
      '0.52',
    ],
    [
      'a video from references is held for their maximum length',
      'wan-references',
      { prompt: 'x', reference_video_urls: [VIDEO] },
      { prompt: 'x', reference_video_urls: [VIDEO], duration: '5', resolution: '720p' },
      '2',
    ],
    [
      'an edit has the length of its video; the hold covers the maximum',
      'wan-edit',
      { prompt: 'x', video_url: VIDEO },
      { prompt: 'x', video_url: VIDEO, resolution: '720p' },
      '2.5',
    ],
  ]
  test.each(rows)('%s', async (_name, model, body, sent, heldUsd) => {
    const answer = await submit(model, body)
    expect(answer).toMatchObject({ status: 202, sent })
    expect(Object.keys(answer.sent).sort()).toEqual(Object.keys(sent).sort())
    expect(await rowsOf(gateway, answer.json.id)).toMatchObject({ held: parseUsd(heldUsd) as number })
  })

  const refused: [name: string, model: string, body: Json, param: string, words: string][] = [
    ['a resolution without a price', 'wan-t2v', { prompt: 'x', resolution: '4k' }, 'resolution', '720p'],
    [
      'a resolution for a model with only one',
      'wan-flat',
      { prompt: 'x', resolution: '1080p' },
      'resolution',
      'one resolution',
    ],
    [
      'a length of an edit',
      'wan-edit',
      { prompt: 'x', video_url: VIDEO, duration: 5 },
      'duration',
      'as long',
    ],
    ['an unsupported length', 'wan-t2v', { prompt: 'x', duration: '16s' }, 'duration', '2 to 15'],
    ['a length that it chooses', 'wan-t2v', { prompt: 'x', duration: 'auto' }, 'duration', '2 to 15'],
    ['no prompt', 'wan-t2v', { duration: 5 }, 'prompt', 'prompt'],
    ['another length in frames', 'wan-t2v', { prompt: 'x', num_frames: 500 }, 'num_frames', 'duration'],
    [
      'shots that are longer than the video',
      'kling-4.0',
      { multi_prompt: [{ prompt: 'a', duration: '9' }, { prompt: 'b' }], duration: 10 },
      'multi_prompt',
      '14 seconds',
    ],
    ['no first frame', 'kling-4.0-i2v', { prompt: 'x' }, 'image_url', '1 to 10'],
    [
      'an image for a text-only model',
      'luma-ray-3.2',
      { prompt: 'x', image_url: IMAGE },
      'image_url',
      'text alone',
    ],
    ['fields that may cost more', 'kling-4.0', { prompt: 'x', hdr: true }, 'hdr', 'hdr'],
    ['a cloned voice', 'wan-t2v', { prompt: 'x', voice_ids: ['v1'] }, 'voice_ids', 'voice'],
    [
      'an address on this machine',
      'wan-edit',
      { prompt: 'x', video_url: 'http://127.0.0.1/a' },
      'video_url',
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

test('a task of fal reads its state and its result, and hides the vendor’s addresses', async () => {
  const { json } = await submit('wan-t2v', { prompt: 'x [sandbox task_ms=0]', duration: '4' })
  const before = gateway.sandbox.calls.length
  const task = await endOf(gateway, clock, json.id)
  expect(task).toMatchObject({ status: 'succeeded', video: { duration: 4 } })
  expect(JSON.stringify(task)).not.toMatch(/requests\/|_url":"http[^"]*\/requests/)
  const { upstream_id: id, amount } = await rowsOf(gateway, json.id)
  const calls = gateway.sandbox.calls.slice(before).filter(({ path }) => path.includes(id))
  expect(calls.map(({ method, path }) => `${method} ${path.replace(id, 'ID')}`)).toEqual([
    'GET /fal-ai/wan/requests/ID/status',
    'GET /fal-ai/wan/requests/ID',
  ])
  expect(amount).toBe(parseUsd('0.4') as number)
})

test('a video of fal from a video is charged by the length that is reported, otherwise as held', async () => {
  const rows: [model: string, body: Json, heldUsd: string, paidUsd: string][] = [
    // An edit is as long as its original: nine seconds of each at 10 cents, instead of 10 and 15.
    ['wan-edit', { video_url: VIDEO }, '2.5', '1.8'],
    // The length of the references is not reported.
    ['wan-references', { reference_video_urls: [VIDEO], reference_image_urls: [IMAGE] }, '2.01', '2.01'],
    // A file without a length.
    ['kling-edit', { video_url: VIDEO }, '2.5', '2.5'],
  ]
  for (const [model, body, heldUsd, paidUsd] of rows) {
    const { json } = await submit(model, { prompt: 'x [sandbox task_ms=0]', ...body })
    expect({ model, status: (await endOf(gateway, clock, json.id)).status }).toEqual({
      model,
      status: 'succeeded',
    })
    const { held, amount, shortfall } = await rowsOf(gateway, json.id)
    expect({ model, held, amount, shortfall }).toEqual({
      model,
      held: parseUsd(heldUsd) as number,
      amount: parseUsd(paidUsd) as number,
      shortfall: 0,
    })
  }
})

describe('a task of fal that fails', () => {
  const rows: [name: string, prompt: string, more: Json, code: string, words: string][] = [
    ['its runner', 'task_end=failed', {}, 'runner_disconnected', 'disconnected'],
    ['its content', 'task_end=blocked', {}, 'content_policy_violation', 'flagged'],
    ['its fields', '', { duration: 3, reference_image_urls: Array(6).fill(IMAGE) }, 'too_long', 'Too many'],
    ['a missing result', 'task_end=expired', {}, 'task_lost', ''],
    ['a missing task', 'task_end=forgotten', {}, 'task_lost', ''],
  ]
  test.each(rows)('by %s is free', async (_name, directives, more, code, words) => {
    const body = { prompt: `x [sandbox task_ms=0 ${directives}]`, ...more }
    const { json } = await submit('wan-references', { reference_image_urls: [IMAGE], ...body })
    const task = await endOf(gateway, clock, json.id)
    expect(task).toMatchObject({ status: 'failed', error: { code } })
    expect(task.error.message).toContain(words)
    expect(await rowsOf(gateway, json.id)).toMatchObject({ charge_state: 'released', amount: 0 })
  })
})

test('OpenAI’s form is converted for every endpoint', () => {
  const plain = families.get('fal-video')?.plain
  const rows: [model: string, images: number, expected: Json][] = [
    ['wan-t2v', 0, { prompt: 'x', duration: 5, resolution: '720p', aspect_ratio: '9:16' }],
    ['wan-references', 1, { reference_image_urls: [IMAGE] }],
    ['kling-4.0-i2v', 1, { start_image_url: IMAGE, resolution: '720p' }],
    ['kling-o3-4k-i2v', 1, { image_url: IMAGE, resolution: undefined }],
    ['minimax-h3-max', 0, { resolution: '768p' }],
    ['luma-ray-3.2', 2, { image_urls: [IMAGE, IMAGE] }],
  ]
  for (const [id, count, expected] of rows) {
    const model = gateway.server.world.catalogue.models.get(id)?.[0]
    if (!model || !plain) throw new Error(`no ${id}`)
    const asked = { text: 'x', duration: 5, size: '720x1280', images: Array(count).fill(IMAGE) }
    const body = plain.body(asked, model)
    for (const [field, value] of Object.entries(expected))
      expect({ id, field, value: body[field] }).toEqual({ id, field, value })
  }
})
