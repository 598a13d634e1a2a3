// Texts, videos and edits of images as xAI's own clients ask for them: texts by responses, which its SDK checks strictly;
// videos by `request_id` and states of another name, and edits in JSON. The same tasks and the same prices as in the gateway's own form.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createXai } from '@ai-sdk/xai'
import {
  generateImage,
  generateText,
  experimental_generateVideo as generateVideo,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import { z } from 'zod'
import shipped from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import { VIDEO_FILE } from '../../sandbox/video-jobs'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { endAll, endOf, makeClock, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)
// Its advice about deprecated names would hide what the tests say.
globalThis.AI_SDK_LOG_WARNINGS = false

const listed: Record<string, ModelConfig> = shipped.models
/** A model of xAI, and models of other vendors that have responses, messages or chat completions behind them. */
const textIds = ['gkx-4.3', 'pgt-5-mini', 'claude-haiku-4-5', 'qnx3.8-flash']
const ids = [...textIds, 'gkx-imagine-video', 'gkx-imagine-image', 'pgt-image-2', 'dle-2']
const USD = 1_000_000_000

let gateway: TestGateway
const clock = makeClock()

beforeAll(async () => {
  const models = Object.fromEntries(ids.map((id) => [id, listed[id] as ModelConfig]))
  gateway = await startTestGateway({ balance: '100', models, outside: clock })
})
afterAll(async () => {
  clock.pass(25 * 3_600_000)
  await endAll(gateway, clock)
  await gateway.close()
})

const xai = (apiKey = gateway.secret) => createXai({ apiKey, baseURL: `${gateway.url}/v1` })

async function get(path: string): Promise<{ status: number; json: Json }> {
  const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${gateway.secret}` } })
  return { status: response.status, json: await response.json() }
}

async function submit(prompt: string): Promise<Json> {
  const body = { model: 'gkx-imagine-video', prompt, duration: 2 }
  const task = (await (await gateway.post('/v1/videos/generations', body)).json()) as Json
  expect(task.status).toBe('submitted')
  return task
}

describe.each(textIds)('texts of %s by the SDK in its default mode', (id) => {
  const prompt = '[sandbox reasoning=40] Name a town.'

  test('whole, with a thought', async () => {
    const { text, usage } = await generateText({ model: xai()(id), prompt, maxRetries: 0 })
    expect(text).not.toBe('')
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', operation: 'responses' })
  })

  test('streamed', async () => {
    const errors: unknown[] = []
    const { textStream } = streamText({
      model: xai()(id),
      prompt,
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    let text = ''
    for await (const piece of textStream) text += piece
    expect({ errors, isEmpty: text === '' }).toEqual({ errors: [], isEmpty: false })
  })

  test('a tool, there and back', async () => {
    const asked: string[] = []
    const { text, steps } = await generateText({
      model: xai()(id),
      prompt: '[sandbox tool reasoning=40] How is the weather in Lisbon?',
      stopWhen: stepCountIs(2),
      maxRetries: 0,
      tools: {
        weather: tool({
          description: 'Weather of a city',
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => {
            asked.push(city)
            return '21 degrees'
          },
        }),
      },
    })
    expect({ asked: asked.length, steps: steps.length, isEmpty: text === '' }).toEqual({
      asked: 1,
      steps: 2,
      isEmpty: false,
    })
  })
})

describe('videos', () => {
  test('the client of xAI in the Vercel AI SDK makes one', async () => {
    // What it waits for comes with the clock of the gateway.
    const passing = setInterval(() => clock.pass(1_000), 50)
    const { video } = await generateVideo({
      model: xai().video('gkx-imagine-video'),
      prompt: 'a red fox [sandbox task_ms=0]',
      duration: 2,
      // By default it uses nothing from this machine.
      download: async ({ url }) => {
        const file = await fetch(url)
        return { data: await file.bytes(), mediaType: file.headers.get('content-type') ?? undefined }
      },
      poll: { intervalMs: 100 },
      maxRetries: 0,
    }).finally(() => clearInterval(passing))
    expect(video.mediaType).toBe('video/mp4')
    expect(Buffer.compare(video.uint8Array, VIDEO_FILE.bytes)).toBe(0)
    expect(await gateway.newestCharge()).toMatchObject({
      state: 'settled',
      operation: 'video',
      amount: Math.round(0.1 * USD),
    })
  })

  test('and learns why one failed', async () => {
    const passing = setInterval(() => clock.pass(1_000), 50)
    const failed = await generateVideo({
      model: xai().video('gkx-imagine-video'),
      prompt: 'a red fox [sandbox task_ms=0 task_end=failed error_text="Out of foxes."]',
      poll: { intervalMs: 100 },
      maxRetries: 0,
    })
      .catch((error) => error)
      .finally(() => clearInterval(passing))
    expect(String(failed)).toContain('Out of foxes.')
  })

  test('a task has a `request_id`, by which it is read in the words of xAI', async () => {
    const task = await submit('a fox [sandbox task_ms=600000]')
    expect(task.id).toStartWith('video_')
    expect(task.request_id).toBe((await rowsOf(gateway, task.id)).upstream_id)
    const pending = await get(`/v1/videos/${task.request_id}`)
    expect(pending).toMatchObject({ status: 202, json: { status: 'pending', request_id: task.request_id } })
    // By its id here the same path answers in the words of OpenAI.
    expect(await get(`/v1/videos/${task.id}`)).toMatchObject({
      status: 200,
      json: { object: 'video', id: task.id, status: 'queued' },
    })
    expect((await get(`/v1/videos/generations/${task.request_id}`)).json).toMatchObject({ id: task.id })
    clock.pass(25 * 3_600_000)
    await endOf(gateway, clock, task.id)
    expect(await get(`/v1/videos/${task.request_id}`)).toMatchObject({
      status: 200,
      json: { status: 'failed', error: { code: 'timed_out', message: expect.any(String) } },
    })
  })

  test.each([
    [
      'succeeded',
      'done',
      { video: { url: expect.stringContaining('.mp4'), duration: 2, respect_moderation: true } },
    ],
    ['failed', 'failed', { error: { code: expect.any(String), message: expect.any(String) } }],
    ['expired', 'expired', { error: { code: 'expired' } }],
    ['blocked', 'failed', { error: { code: 'content_policy_violation' } }],
  ])('one that has %s is %s', async (end, status, more) => {
    const task = await submit(`a fox [sandbox task_ms=0 task_end=${end}]`)
    await endOf(gateway, clock, task.id)
    const { json } = await get(`/v1/videos/${task.request_id}`)
    expect(json).toMatchObject({ status, model: 'gkx-imagine-video', request_id: task.request_id, ...more })
  })

  test("another account's is none", async () => {
    const { request_id: id } = await submit('a fox [sandbox task_ms=0]')
    const { secret } = await gateway.makeKey('bob', '1')
    const response = await fetch(`${gateway.url}/v1/videos/${id}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(response.status).toBe(404)
  })

  test('a repeated answer has the same `request_id`', async () => {
    const headers = { 'idempotency-key': 'fox-1' }
    const body = { model: 'gkx-imagine-video', prompt: 'a fox [sandbox task_ms=0]' }
    const [first, again] = [
      (await (await gateway.post('/v1/videos/generations', body, headers)).json()) as Json,
      (await (await gateway.post('/v1/videos/generations', body, headers)).json()) as Json,
    ]
    expect(again).toEqual(first)
    expect(first.request_id).toBeString()
  })
})

describe('edits of images', () => {
  const image = { url: 'https://example.com/cat.png', type: 'image_url' }
  const edit = (body: object, headers: Record<string, string> = {}) =>
    gateway.post('/v1/images/edits', { model: 'gkx-imagine-image', prompt: 'a hat', ...body }, headers)
  const lastSent = () => gateway.sandbox.calls.findLast(({ path }) => path.includes('/images/'))

  test('the client of xAI in the Vercel AI SDK edits one', async () => {
    const { image: made } = await generateImage({
      model: xai().image('gkx-imagine-image'),
      prompt: { text: 'a hat on the cat', images: [picture('png', 64, 48).bytes] },
      maxRetries: 0,
    })
    expect(made.uint8Array.length).toBeGreaterThan(100)
    expect(lastSent()).toMatchObject({ path: '/v1/images/edits' })
    expect(JSON.parse(lastSent()?.body ?? '').image.url).toStartWith('data:image/png;base64,')
    expect(await gateway.newestCharge()).toMatchObject({
      state: 'settled',
      operation: 'image',
      amount: Math.round(0.022 * USD),
    })
  })

  test.each([{ image }, { images: [image, image] }])('as JSON: %j', async (references) => {
    const response = await edit(references)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      created: expect.any(Number),
      data: [{ url: expect.any(String) }],
    })
    expect(JSON.parse(lastSent()?.body ?? '')).toEqual({
      model: 'grok-imagine-image',
      prompt: 'a hat',
      ...references,
    })
  })

  test.each([
    [{}, 'image', 400],
    [{ image: 'https://example.com/cat.png' }, 'image', 400],
    [{ images: [] }, 'image', 400],
    [{ image, n: 11 }, 'n', 400],
    [{ image: { url: 'oss://cat.png' } }, 'image.url', 400],
  ])('%j is rejected for %s', async (body, param, status) => {
    const calls = gateway.sandbox.calls.length
    const response = await edit(body)
    expect(response.status).toBe(status)
    expect(((await response.json()) as Json).error.param).toBe(param)
    expect(gateway.sandbox.calls).toHaveLength(calls)
  })

  test.each(['pgt-image-2', 'dle-2', 'test-chat'])('%s is asked by a form', async (model) => {
    const response = await edit({ model, image })
    expect(response.status).toBe(415)
    const { error } = (await response.json()) as Json
    expect(error).toMatchObject({ code: 'unsupported_media_type' })
    expect(error.message).toContain('multipart/form-data')
  })

  test('a key that is used twice is paid once', async () => {
    const headers = { 'idempotency-key': 'hat-1' }
    const [first, again] = [await edit({ image }, headers), await edit({ image }, headers)]
    expect([first.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await again.text()).toBe(await first.text())
  })
})
