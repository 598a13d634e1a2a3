// Videos of Gemini: the official client reads the simulator's answers. The gateway sends valid requests, holds the maximum and
// charges by the reported tokens. A file is fetched with the key, which is sent to no other host.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { GoogleGenAI } from '@google/genai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { parseUsd } from '../../src/lib/money'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { endAll, endOf, makeClock, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const MODEL = 'gemini-omni-1.2-flash'
const IMAGE = { type: 'image', data: 'aGVsbG8=', mime_type: 'image/png' }
const VIDEO = { type: 'video', uri: 'https://example.com/a.mp4' }
const text = (words: string) => ({ type: 'text', text: words })
const clock = makeClock()
let gateway: TestGateway
let headers: Record<string, string>

beforeAll(async () => {
  const { [MODEL]: omni } = shipped.models as Record<string, ModelConfig>
  gateway = await startTestGateway({
    balance: '1000',
    outside: clock,
    models: { [MODEL]: omni as ModelConfig },
  })
  headers = { authorization: `Bearer ${gateway.secret}` }
})
afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
})

async function submit(body: Json): Promise<{ status: number; json: Json; sent: Json }> {
  const before = gateway.sandbox.calls.length
  const response = await gateway.post('/v1/videos/generations', { model: MODEL, ...body })
  const call = gateway.sandbox.calls.slice(before).find(({ method }) => method === 'POST')
  return {
    status: response.status,
    json: (await response.json()) as Json,
    sent: call && JSON.parse(call.body),
  }
}

test('the official client polls a video of the simulator', async () => {
  const client = new GoogleGenAI({
    apiKey: gateway.sandbox.secrets.google as string,
    httpOptions: {
      apiVersion: 'v1beta',
      baseUrl: (gateway.sandbox.baseUrls.google as string).replace('/v1beta', ''),
    },
  })
  const { id, status } = await client.interactions.create({
    model: MODEL,
    input: 'A harbour [sandbox task_ms=0]',
    background: true,
    response_format: { type: 'video', delivery: 'uri', duration: '3s', resolution: '720p' },
  })
  expect(['queued', 'in_progress', 'completed']).toContain(status)
  const done = await client.interactions.get(id)
  expect(done).toMatchObject({ status: 'completed', usage: { total_output_tokens: 17_381 } })
})

describe('what is sent and held', () => {
  const format = { type: 'video', delivery: 'uri', resolution: '720p' }
  const rows: [name: string, body: Json, sent: Json, least: string, most: string][] = [
    [
      'a text request gets a length and a resolution',
      { input: 'x', wait: 0 },
      { input: 'x', response_format: { ...format, duration: '8s' } },
      '0.593',
      '0.595',
    ],
    [
      'requested values are kept',
      {
        input: 'x',
        response_format: { type: 'video', duration: '15s', resolution: '4k', aspect_ratio: '9:16' },
      },
      { response_format: { ...format, duration: '15s', resolution: '4k', aspect_ratio: '9:16' } },
      '3.168',
      '3.17',
    ],
    [
      'images are counted as tokens',
      {
        input: [IMAGE, IMAGE, text('x')],
        generation_config: { video_config: { task: 'reference_to_video' } },
      },
      { generation_config: { video_config: { task: 'reference_to_video' } } },
      '0.600',
      '0.603',
    ],
    [
      'an edit has the length of its video; the hold covers the maximum',
      { input: [VIDEO, text('x')] },
      { response_format: format },
      '1.21',
      '1.22',
    ],
  ]
  test.each(rows)('%s', async (_name, body, sent, least, most) => {
    const answer = await submit(body)
    expect(answer).toMatchObject({ status: 202, sent: { model: MODEL, background: true, store: true } })
    expect(answer.sent).toMatchObject(sent)
    if (sent.response_format) expect(answer.sent.response_format).toEqual(sent.response_format)
    const { held } = await rowsOf(gateway, answer.json.id)
    expect(held).toBeGreaterThan(parseUsd(least) as number)
    expect(held).toBeLessThan(parseUsd(most) as number)
  })

  const refused: [name: string, body: Json, param: string, words: string][] = [
    [
      'a length of an edit',
      { input: [VIDEO, text('x')], response_format: { type: 'video', duration: '5s' } },
      'response_format.duration',
      'as long',
    ],
    [
      'an unsupported length',
      { input: 'x', response_format: { type: 'video', duration: '16s' } },
      'response_format.duration',
      '3 to 15',
    ],
    ['a file of the account', { input: [{ type: 'video', uri: 'gs://x/a.mp4' }] }, 'input[0].uri', 'account'],
    [
      'a video of another account',
      { input: 'x', previous_interaction_id: 'v1_x' },
      'previous_interaction_id',
      '',
    ],
    ['a synchronous answer', { input: 'x', background: false }, 'background', 'background'],
    ['a tool', { input: 'x', tools: [{ type: 'google_search' }] }, 'tools', ''],
  ]
  test.each(refused)('%s is rejected, and nothing is sent or held', async (_name, body, param, words) => {
    const before = gateway.sandbox.calls.length
    const { status, json } = await submit(body)
    expect({ status: Math.floor(status / 100), param: json.error?.param }).toEqual({ status: 4, param })
    expect(json.error.message).toContain(words)
    expect(gateway.sandbox.calls.slice(before).filter(({ method }) => method === 'POST')).toEqual([])
  })
})

test('a video is charged by its tokens, fetched with the key, and edited by its id', async () => {
  const { json } = await submit({
    input: 'x [sandbox task_ms=0]',
    response_format: { type: 'video', duration: '5s' },
  })
  const task = await endOf(gateway, clock, json.id)
  expect(task).toMatchObject({ status: 'succeeded' })
  expect(JSON.stringify(task)).not.toContain('signature')
  const { amount, upstream_id: id } = await rowsOf(gateway, json.id)
  // 28,960 tokens of video, 174 of thoughts and text, and the tokens of the prompt.
  expect(amount).toBeGreaterThan(parseUsd('0.349') as number)
  expect(amount).toBeLessThan(parseUsd('0.35') as number)
  const file = await fetch(`${gateway.url}/v1/videos/${json.id}/content`, { headers })
  expect({ status: file.status, type: file.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'video/mp4',
  })
  expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(100)
  const asked = gateway.sandbox.calls.findLast(({ path }) => path.includes('/files/'))
  expect(asked?.headers['x-goog-api-key']).toBe(gateway.sandbox.secrets.google as string)

  const edit = await submit({ input: 'Let it snow [sandbox task_ms=0]', previous_interaction_id: json.id })
  expect(edit).toMatchObject({ status: 202, sent: { previous_interaction_id: id } })
  expect(edit.sent.response_format).not.toHaveProperty('duration')
  expect(await endOf(gateway, clock, edit.json.id)).toMatchObject({ status: 'succeeded' })
  const again = await fetch(`${gateway.url}/v1/videos/${json.id}/remix`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'At night' }),
  })
  expect((await again.json()) as Json).toMatchObject({ object: 'video', remixed_from_video_id: json.id })
})

const failures: [name: string, directives: string, code: string][] = [
  ['its content', 'task_end=blocked', 'content_policy_violation'],
  ['its server', 'task_end=failed', 'internal'],
  ['its limits', 'task_end=expired', 'incomplete'],
]
test.each(failures)('a video that fails because of %s is free', async (_name, directives, code) => {
  const { json } = await submit({ input: `x [sandbox task_ms=0 ${directives}]` })
  expect(await endOf(gateway, clock, json.id)).toMatchObject({ status: 'failed', error: { code } })
  expect(await rowsOf(gateway, json.id)).toMatchObject({ charge_state: 'released', amount: 0 })
})
