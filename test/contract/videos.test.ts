// POST and GET /v1/videos/generations (spec) with the catalogue that the gateway ships: every model and every rule of the
// spec's tables, what the vendor gets of a request, and who may read a task.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { families } from '../../src/families'
import { parseUsd } from '../../src/lib/money'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { postMessage, toolMessage } from '../support/mcp'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import {
  endAll,
  endOf,
  makeClock,
  passUntil,
  readTask,
  requestFor,
  rowsOf,
  videoRequests,
} from '../support/video-requests'

setDefaultTimeout(180_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const isVideo = ({ family }: ModelConfig) =>
  [family].flat().some((name) => families.get(name)?.operation === 'video')
const videoModels = Object.fromEntries(Object.entries(catalogue).filter(([, model]) => isVideo(model)))
const PATH = '/v1/videos/generations'
const IMAGE = 'https://example.com/first.png'

const clock = makeClock()
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ balance: '1000', models: videoModels, outside: clock })
})
afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
})

function submit(body: unknown, expected: Partial<Scenario> = {}): Promise<Played> {
  return play(gateway, {
    name: 'video',
    path: PATH,
    body,
    status: 202,
    vendorCalls: 1,
    charges: 1,
    ...expected,
  })
}

function refuse(body: unknown, param: string | null, words: string[], more: Partial<Scenario> = {}) {
  const error = { param, type: 'invalid_request_error' }
  return submit(body, { status: 400, vendorCalls: 0, charges: 0, error, words, ...more })
}

/** Body that the vendor received. */
function sent({ calls }: Played): Json {
  return JSON.parse(calls[0]?.body ?? 'null')
}

describe('submit', () => {
  test('the catalogue has every model of the spec', () => {
    const asked = new Set(videoRequests.map(([model]) => model))
    expect(Object.keys(videoModels).sort()).toEqual([...asked].sort())
    expect(Object.keys(videoModels)).toContain('vidw2.7-t2v-2026-04-25')
    expect(asked.size).toBe(43)
  })

  test.each(videoRequests.map((request, index) => [request[0], index, request] as const))(
    '%s (%i) is taken, held at its price, and sent to the vendor',
    async (model, _index, [, body, usd]) => {
      const status = model.startsWith('gkx') ? 200 : 202
      const played = await submit({ model, ...body }, { status })
      const at = Math.floor(clock.now() / 1000)
      expect(played.json).toEqual({
        id: expect.stringMatching(/^video_[0-9a-f]{32}$/),
        model,
        status: 'submitted',
        created_at: at,
        // By which clients of its vendor ask.
        ...(model.startsWith('gkx') && { request_id: expect.stringMatching(/^gv-/) }),
      })
      expect(played.charges[0]).toMatchObject({ state: 'held', held: parseUsd(usd) as number, model })
      const { upstreamModel = model, family } = videoModels[model] as ModelConfig
      const { duration: _1, resolution, aspect_ratio: ratio, ...rest } = body
      const vendors = sent(played)
      if (family === 'dashscope-video') {
        const { parameters, ...others } = vendors
        expect(others).toEqual({ ...rest, model: upstreamModel, parameters: undefined })
        expect(parameters).toMatchObject(rest.parameters)
        expect(played.calls[0]?.headers['x-dashscope-async']).toBe('enable')
      } else if (family === 'runway-video') {
        expect(vendors).toMatchObject({ ...rest, model: upstreamModel })
        expect(vendors.duration).toEqual(model === 'runway-aleph2' ? undefined : expect.anything())
      } else if (family === 'gemini-video') {
        const { response_format: format, ...others } = rest
        expect(vendors).toMatchObject({ ...others, background: true, store: true, response_format: format })
      } else if (family === 'hailuo-video' || family === 'minimax-video') {
        expect(vendors).toMatchObject({ ...rest, model: upstreamModel, resolution: resolution ?? '768P' })
        expect(vendors.duration).toBeNumber()
      } else if (family === 'fal-video') {
        // The path is the model.
        expect(played.calls[0]?.path).toBe(`/${upstreamModel}`)
        expect(vendors).toEqual({
          ...rest,
          ...(ratio !== undefined && { aspect_ratio: ratio }),
          duration: expect.anything(),
          ...(model !== 'kling-o3-4k-i2v' && { resolution: expect.any(String) }),
        })
      } else {
        expect(vendors).toMatchObject({ ...rest, model: upstreamModel, resolution: expect.any(String) })
        expect(vendors.duration).toBeNumber()
      }
    },
  )

  test('defaults are five seconds at 720p, and no more is held', async () => {
    const played = await submit({
      model: 'vidw2.7-t2v',
      input: { prompt: 'x' },
      parameters: { resolution: '720P' },
    })
    expect(played.charges[0]).toMatchObject({ held: 500_000_000 })
    const nothing = { duration: null, resolution: null, aspect_ratio: null, webhook_url: null, wait: null }
    const again = await submit(requestFor('vidw2.6-t2v', nothing))
    expect(again.charges[0]).toMatchObject({ held: 500_000_000 })
    // The vendor gets the billed value, because its default is another.
    for (const parameters of [undefined, null, {}]) {
      const silent = await submit({ model: 'vidw2.6-t2v', input: { prompt: 'x' }, parameters })
      expect(silent.charges[0]).toMatchObject({ held: 500_000_000 })
      expect(sent(silent).parameters).toEqual({ duration: 5, size: '1280*720' })
    }
  })

  test.each<[model: string, body: Json, parameters: Json]>([
    // 2.6 and before: sizes, in the requested shape.
    ['vidw2.6-t2v', { duration: 10, resolution: '1080p' }, { duration: 10, size: '1920*1080' }],
    ['vidw2.6-t2v', { aspect_ratio: '9:16' }, { duration: 5, size: '720*1280' }],
    ['vidw2.6-t2v', { aspect_ratio: '4:3', resolution: '1080P' }, { duration: 5, size: '1632*1248' }],
    ['vidw2.5-t2v-preview', { aspect_ratio: '1:1', resolution: '480p' }, { duration: 5, size: '624*624' }],
    ['vidw2.6-r2v', { aspect_ratio: '3:4', duration: 2 }, { duration: 2, size: '832*1088' }],
    // A size of the caller's own stays, and so do all other parameters.
    [
      'vidw2.6-t2v',
      { duration: 3, aspect_ratio: '9:16', parameters: { size: '1280*720', seed: 7 } },
      { size: '1280*720', seed: 7, duration: 3 },
    ],
    ['vidw2.6-t2v', { parameters: { size: null, duration: null } }, { size: '1280*720', duration: 5 }],
    // AnswerPart in a field that the model does not read, it is said again in the one that it does.
    [
      'vidw2.6-t2v',
      { parameters: { resolution: '720P' } },
      { resolution: '720P', duration: 5, size: '1280*720' },
    ],
    [
      'vidw2.7-i2v',
      { parameters: { size: '1280*720' } },
      { size: '1280*720', duration: 5, resolution: '720P' },
    ],
    // Image to video takes a resolution, and has the shape of its image.
    ['vidw2.6-i2v', { aspect_ratio: '9:16', resolution: '1080p' }, { duration: 5, resolution: '1080P' }],
    ['vidw2.5-i2v-preview', { duration: 10, resolution: '480p' }, { duration: 10, resolution: '480P' }],
    ['vidw2.7-i2v', { aspect_ratio: '9:16' }, { duration: 5, resolution: '720P' }],
    // 2.7 and later: a resolution, and a ratio of its own.
    ['vidw2.7-t2v', {}, { duration: 5, resolution: '720P', ratio: '16:9' }],
    [
      'vidw2.7-t2v',
      { aspect_ratio: '9:16', duration: 15 },
      { duration: 15, resolution: '720P', ratio: '9:16' },
    ],
    ['vidw2.7-t2v', { parameters: { ratio: '1:1' } }, { ratio: '1:1', duration: 5, resolution: '720P' }],
    ['vidw2.7-r2v', { aspect_ratio: '3:4' }, { duration: 5, resolution: '720P', ratio: '3:4' }],
    ['vidw2.7-r2v', {}, { duration: 5, resolution: '720P' }],
    ['wan3.0-video', { duration: -1, resolution: '480p' }, { duration: -1, resolution: '480P' }],
    ['happyhorse-1.1-t2v', { aspect_ratio: '9:16' }, { duration: 5, resolution: '720P', ratio: '9:16' }],
  ])('%s: what parameters leave out of %j is said as it is billed', async (model, body, parameters) => {
    const { input } = requestFor(model)
    const played = await submit({ model, input, ...body })
    expect(sent(played).parameters).toEqual(parameters)
  })

  test('what is added changes no other byte of the parameters', async () => {
    const parameters = '{ "seed" : 12345678901234567890,"x":[1.0, 1e2 ] }'
    const text = `{"model":"vidw2.6-t2v","input":{"prompt":"x"},"parameters" : ${parameters},"duration":7}`
    const [call] = (await submit(text)).calls
    const added = '{ "seed" : 12345678901234567890,"x":[1.0, 1e2 ] ,"duration":7,"size":"1280*720"}'
    expect(call?.body).toContain(`"parameters" : ${added}`)
  })

  test('through a tool the options say what plain words do not, and the rest is added', async () => {
    const called = async (args: Json) => {
      const before = { calls: gateway.sandbox.calls.length, charges: (await gateway.charges()).length }
      const message = toolMessage('generate_video', { model: 'vidw2.6-t2v', prompt: 'x', ...args })
      await (await postMessage(gateway.url, gateway.secret, message)).text()
      const calls = gateway.sandbox.calls.slice(before.calls)
      expect([calls.length, (await gateway.charges()).length - before.charges]).toEqual([1, 1])
      return JSON.parse(calls[0]?.body ?? '').parameters
    }
    expect(await called({})).toEqual({ duration: 5, size: '1280*720' })
    expect(await called({ options: { duration: 10, resolution: '1080p' } })).toEqual({
      duration: 10,
      size: '1920*1080',
    })
    expect(await called({ size: '720x1280', options: { parameters: { seed: 3 } } })).toEqual({
      seed: 3,
      duration: 5,
      size: '720*1280',
    })
  })

  test('input, parameters and unknown fields reach the vendor byte for byte', async () => {
    const input =
      '{ "prompt" : "caf\\u00e9 \\ud83d\\ude00",\n\t"big": 9007199254740993, "x": {"a":[1.0, 1e2 , -0]} }'
    const parameters = '{"seed":12345678901234567890,  "size":"1280*720", "duration":5, "odd":null}'
    const text = `\n{ "webhook_url":null,"x_first" : [ 1 ,2 ], "duration":5 ,"model" :"vidw2.6-t2v","input":${input} , "resolution":"720p","parameters" : ${parameters},"wait":false, "x_last":0.10}\r\n`
    const played = await submit(text)
    const body = played.calls[0]?.body ?? ''
    expect(body).toContain(`"input":${input}`)
    expect(body).toContain(`"parameters" : ${parameters}`)
    expect(body).toContain('"x_first" : [ 1 ,2 ]')
    expect(body).toContain('"x_last":0.10')
    expect(Object.keys(JSON.parse(body))).toEqual(['x_first', 'model', 'input', 'parameters', 'x_last'])
    expect(JSON.parse(body).model).toBe('wan2.6-t2v')
  })

  test('duration and resolution are always said to vendors that would choose them', async () => {
    const rows: [Json, Json][] = [
      [
        { model: 'gkx-imagine-video', prompt: 'x', resolution: '720P' },
        { duration: 8, resolution: '720p' },
      ],
      [requestFor('seedance-1.5-pro'), { duration: 5, resolution: '720p' }],
      [requestFor('seedance-1.5-pro', { draft: true }), { duration: 5, resolution: '480p', draft: true }],
    ]
    for (const [body, expected] of rows) {
      expect(sent(await submit(body, { status: body.prompt ? 200 : 202 }))).toMatchObject(expected)
    }
  })

  test.each([
    [5, 5],
    [5.5, 6],
    [1.01, 2],
    [14.2, 15],
  ])('%d seconds are billed and requested as %d', async (duration, seconds) => {
    const played = await submit({ model: 'gkx-imagine-video', prompt: 'x', duration }, { status: 200 })
    expect(sent(played).duration).toBe(seconds)
    expect(played.charges[0]?.held).toBe(seconds * 50_000_000)
  })

  test('"wait" may be written as a text', async () => {
    const body = requestFor('vidw2.6-t2v', { wait: 'false' })
    expect(sent(await submit(body))).not.toHaveProperty('wait')
    await submit(
      { ...body, wait: 'soon' },
      { status: 400, vendorCalls: 0, charges: 0, error: { param: 'wait' } },
    )
  })

  test('also on the path of other gateways, but GET of the collection is not served', async () => {
    const { json } = await submit(requestFor('vidw2.6-t2v'), { path: '/v1/video/generations' })
    const read = await play(gateway, {
      name: 'alias',
      method: 'GET',
      path: `/v1/video/generations/${json.id}`,
      status: 200,
      logRows: 0,
    })
    expect(read.json).toMatchObject(json)
    for (const path of [PATH, '/v1/video/generations']) {
      await play(gateway, {
        name: '405',
        method: 'GET',
        path,
        status: 405,
        answers: { allow: 'POST' },
        logRows: 0,
      })
    }
  })
})

describe('rejected before anything is held', () => {
  const wan = (more: Json) => requestFor('vidw2.6-t2v', more)
  const rows: [name: string, body: Json, param: string | null, words: string[]][] = [
    ['no model', { input: {} }, 'model', ['GET /v1/models']],
    ['an unknown model', { model: 'vidw9' }, 'model', ['does not exist']],
    ['no input', { model: 'vidw2.6-t2v', duration: 5 }, 'input', ['Missing required', 'input']],
    ['input that is text', wan({ input: 'a cat' }), 'input', ['expected an object']],
    ['parameters that are a list', wan({ parameters: [] }), 'parameters', ['expected an object']],
    ['a duration with a point', wan({ duration: 5.5 }), 'duration', ['expected an integer']],
    ['a duration as text', wan({ duration: '5' }), 'duration', ['expected an integer', 'string']],
    ['no seconds at all', wan({ duration: 0 }), 'duration', ['2 to 15 seconds', 'got 0']],
    ['too many seconds', wan({ duration: 16 }), 'duration', ['2 to 15 seconds', 'got 16']],
    ['seconds that nobody chooses', wan({ duration: -1 }), 'duration', ['2 to 15 seconds']],
    ['480p of a 2.6', wan({ resolution: '480p' }), 'parameters.size', ['1280*720', '480p']],
    [
      '480p of a 2.6, said twice',
      wan({ resolution: '480p', parameters: { size: '832*480' } }),
      'resolution',
      ['480p', '720p, 1080p'],
    ],
    [
      '1080p of a 2.7',
      requestFor('vidw2.7-t2v', { resolution: '1080p', parameters: { resolution: '1080P' } }),
      'resolution',
      ['vidw2.7-t2v', '1080p', '720p'],
    ],
    ['another duration inside', wan({ duration: 10 }), 'parameters.duration', ['is 5', 'is 10', 'both']],
    [
      'a shape that the resolution does not have',
      requestFor('vidw2.5-t2v-preview', { resolution: '480p', aspect_ratio: '4:3', parameters: {} }),
      'aspect_ratio',
      ['16:9, 9:16, 1:1', '4:3'],
    ],
    [
      'another size inside',
      wan({ parameters: { size: '1920*1080' } }),
      'parameters.size',
      ['1920*1080, which is 1080p', "'resolution' is 720p"],
    ],
    [
      'another size next to the right resolution',
      wan({ parameters: { size: '1920*1080', resolution: '720P' } }),
      'parameters.size',
      ['which is 1080p'],
    ],
    ...[' 1920 x 1080 ', '1920x1080', '1920 * 1080', '01920*1080', '1920*1080*1', '1.9e3*1080', ''].map(
      (size): [name: string, body: object, param: string, words: string[]] => [
        `the size '${size}', which the vendor may read in its own way`,
        wan({ parameters: { size, resolution: '720P' } }),
        'parameters.size',
        ['expected width*height such as', '1280*720'],
      ],
    ),
    [
      'another resolution where a size is obeyed',
      wan({ parameters: { resolution: '1080P' } }),
      'parameters.resolution',
      ['1080P', '720p'],
    ],
    [
      'another size where a resolution is obeyed',
      requestFor('vidw2.7-i2v', { parameters: { size: '1920*1080' } }),
      'parameters.size',
      ['which is 1080p', '720p'],
    ],
    [
      'too many reference images',
      requestFor('happyhorse-1.1-r2v', {
        input: { prompt: 'x', media: Array(10).fill({ type: 'reference_image', url: IMAGE }) },
      }),
      'input.media',
      ['1 to 9 reference images', 'got 10'],
    ],
    ['a wait that is text', wan({ wait: 'yes' }), 'wait', ['such as true or false']],
    ['a webhook that is a list', wan({ webhook_url: [] }), 'webhook_url', ['expected a string']],
    ['no prompt', { model: 'gkx-imagine-video' }, 'prompt', ['Only a video from an image']],
    ['an empty prompt', { model: 'gkx-imagine-video', prompt: '' }, 'prompt', ['empty']],
    [
      'a bare address of an image',
      { model: 'gkx-imagine-video', image: IMAGE },
      'image',
      ['{\\"url\\": \\"https', 'got a string'],
    ],
    ['an image without address', { model: 'gkx-imagine-video', image: {} }, 'image', ['url']],
    [
      'bare addresses of references',
      { model: 'gkx-imagine-video', prompt: 'x', reference_images: [IMAGE] },
      'reference_images[0]',
      ['url', 'got a string'],
    ],
    [
      'eight references',
      { model: 'gkx-imagine-video', prompt: 'x', reference_images: Array(8).fill({ url: IMAGE }) },
      'reference_images',
      ['0 to 7'],
    ],
    [
      'text alone for a model that needs an image',
      { model: 'gkx-imagine-video-1.5-preview', prompt: 'x' },
      'image',
      ['Missing required', "object with its 'url'"],
    ],
    [
      'references for a model that needs an image',
      { model: 'gkx-imagine-video-1.5-preview', prompt: 'x', reference_images: [{ url: IMAGE }] },
      'image',
      ['Missing required'],
    ],
    [
      '1080p of the first generation',
      { model: 'gkx-imagine-video', prompt: 'x', resolution: '1080p' },
      'resolution',
      ['480p, 720p'],
    ],
    ['half a second', { model: 'gkx-imagine-video', prompt: 'x', duration: 0.5 }, 'duration', ['1 to 15']],
    ['no content', { model: 'seedance-1.5-pro', prompt: 'x' }, 'content', ['Missing required']],
    ['content that is text', requestFor('seedance-1.5-pro', { content: 'x' }), 'content', ['array']],
    ['frames', requestFor('seedance-1.5-pro', { frames: 121 }), 'frames', ["'duration' in seconds"]],
    [
      "the vendor's own callback",
      requestFor('seedance-1.5-pro', { callback_url: IMAGE }),
      'callback_url',
      ["'webhook_url'"],
    ],
    [
      'settings in the prompt',
      requestFor('seedance-1.5-pro', { content: [{ type: 'text', text: 'a cat --dur 12' }] }),
      'content[0].text',
      ['--dur', "'duration'"],
    ],
    [
      'ten references',
      requestFor('seedance-2.0', {
        content: Array(10).fill({ type: 'image_url', image_url: { url: IMAGE } }),
      }),
      'content',
      ['0 to 9', 'got 10'],
    ],
    [
      'a task that outlives our wait for it',
      requestFor('seedance-2.0', { execution_expires_after: 172_800 }),
      'execution_expires_after',
      ['at most 86400 seconds'],
    ],
  ]
  test.each(rows)('%s', async (_name, body, param, words) => {
    await refuse(body, param, words)
  })

  test('a model for images, and this path for one', async () => {
    await refuse(requestFor('vidw2.6-t2v', { model: 'test-chat' }), 'model', ['does not serve'], {
      error: { code: 'endpoint_model_mismatch' },
    })
  })

  test('unpayable requests: nothing reaches the vendor', async () => {
    const poor = await gateway.makeKey('poor', '0.49')
    await submit(requestFor('vidw2.6-t2v'), {
      key: poor.secret,
      status: 402,
      vendorCalls: 0,
      charges: 0,
      error: { code: 'insufficient_balance' },
      words: ['$0.5', '$0.49'],
      answers: { 'x-should-retry': 'false' },
    })
    await submit(requestFor('gkx-imagine-video'), { key: poor.secret, status: 200 })
    await submit(requestFor('gkx-imagine-video'), {
      key: poor.secret,
      status: 402,
      vendorCalls: 0,
      charges: 0,
      error: { code: 'in_flight' },
    })
  })
})

describe('waiting', () => {
  const short = { input: { prompt: 'x [sandbox task_ms=0]' } }
  const ways: [name: string, query: string, more: Json, headers: Record<string, string>][] = [
    ['wait=true in the address', '?wait=true', {}, {}],
    ['wait=60 in the address', '?wait=60', {}, {}],
    ['wait: true in the body', '', { wait: true }, {}],
    ['wait: "true" in the body', '', { wait: 'true' }, {}],
    ['wait: 60 in the body', '', { wait: 60 }, {}],
    ['Prefer: wait=60', '', {}, { prefer: 'respond-async, wait=60' }],
  ]
  test.each(ways)('%s: 200 with the video when it has ended', async (_name, query, more, headers) => {
    const response = await duringWait(
      gateway.post(`${PATH}${query}`, requestFor('vidw2.6-t2v', { ...short, ...more }), headers),
    )
    const json = (await response.json()) as Json
    expect([response.status, json.status]).toEqual([200, 'succeeded'])
    expect(json).toEqual(await readTask(gateway, json.id))
  })

  test('a task that fails while somebody waits is 200 too, with its error', async () => {
    const input = { prompt: 'x [sandbox task_ms=0 task_end=failed error_code=Bad error_text="Not so"]' }
    const response = await duringWait(gateway.post(`${PATH}?wait=true`, requestFor('vidw2.6-t2v', { input })))
    const json = (await response.json()) as Json
    expect([response.status, json.status, json.error]).toEqual([
      200,
      'failed',
      { code: 'Bad', message: 'Not so' },
    ])
  })

  test('no longer than requested: 202, and 200 if the spec says so', async () => {
    const long = { prompt: 'x [sandbox task_ms=600000]' }
    for (const [body, status] of [
      [requestFor('vidw2.6-t2v', { input: long, wait: 2 }), 202],
      [{ model: 'gkx-imagine-video', prompt: long.prompt, wait: 2 }, 200],
    ] as const) {
      const response = await duringWait(gateway.post(PATH, body))
      expect([response.status, ((await response.json()) as Json).status]).toEqual([status, 'submitted'])
    }
    const none = await gateway.post(PATH, requestFor('vidw2.6-t2v', { input: long, wait: false }))
    expect(none.status).toBe(202)
    const { id } = (await none.json()) as Json
    for (const [query, headers] of [['?wait=2', {}] as const, ['', { prefer: 'wait=2' }] as const]) {
      const read = await duringWait(
        fetch(`${gateway.url}${PATH}/${id}${query}`, {
          headers: { authorization: `Bearer ${gateway.secret}`, ...headers },
        }),
      )
      expect([read.status, ((await read.json()) as Json).status]).toEqual([200, 'submitted'])
    }
    await stopAll()
  })

  test('reading waits as well', async () => {
    const { json } = await submit(requestFor('vidw2.6-t2v', short))
    const read = await duringWait(
      fetch(`${gateway.url}${PATH}/${json.id}?wait=true`, {
        headers: { authorization: `Bearer ${gateway.secret}` },
      }),
    )
    expect(((await read.json()) as Json).status).toBe('succeeded')
  })

  async function duringWait(answer: Promise<Response>): Promise<Response> {
    let isHere = false
    void answer.then(() => {
      isHere = true
    })
    await passUntil(clock, () => isHere, 250)
    return answer
  }

  /** Tasks that the vendor would work on for longer than this test: their time is over. */
  async function stopAll(): Promise<void> {
    clock.pass(24 * 3_600_000)
    await endAll(gateway, clock)
  }
})

describe('a draft', () => {
  test('is cheap, and its final video is made from its id and paid by its length', async () => {
    const content = [{ type: 'text', text: 'x [sandbox task_ms=0]' }]
    const draft = await submit({ model: 'seedance-1.5-pro', content, draft: true, duration: 4 })
    const { upstream_id: upstreamId } = await endOf(gateway, clock, draft.json.id)
    expect(await rowsOf(gateway, draft.json.id)).toMatchObject({ amount: parseUsd('0.06') as number })
    const final = await submit({
      model: 'seedance-1.5-pro',
      content: [{ type: 'draft_task', draft_task: { id: draft.json.id } }],
      resolution: '1080p',
      duration: 12,
    })
    expect(sent(final)).not.toHaveProperty('duration')
    expect(sent(final).content).toEqual([{ type: 'draft_task', draft_task: { id: upstreamId } }])
    expect(final.charges[0]).toMatchObject({ held: parseUsd('1.416') as number })
    expect(await endOf(gateway, clock, final.json.id)).toMatchObject({ status: 'succeeded', duration: 4 })
    expect(await rowsOf(gateway, final.json.id)).toMatchObject({
      amount: parseUsd('0.472') as number,
      usage_source: 'upstream',
    })
  })
})

describe('reading', () => {
  test('by our id and by the vendor’s, as JSON with our own fields over the vendor’s', async () => {
    const input = { prompt: 'x [sandbox task_ms=0]' }
    const parameters = { size: '1280*720', duration: 5, seed: 42 }
    const { json } = await submit(requestFor('vidw2.6-t2v', { input, parameters }))
    const task = await endOf(gateway, clock, json.id)
    const { upstream_id: upstreamId } = task
    expect(task).toMatchObject({
      ...json,
      status: 'succeeded',
      upstream_id: expect.stringMatching(/^ds-/),
      output: { task_id: upstreamId, task_status: 'SUCCEEDED' },
      content: { video_url: task.video_url },
      usage: { output_video_duration: 5, video_count: 1, SR: 720 },
      seed: 42,
    })
    expect(task).not.toHaveProperty('error')
    expect((await fetch(task.video_url)).headers.get('content-type')).toBe('video/mp4')
    expect(await readTask(gateway, upstreamId)).toEqual(task)
    expect(await rowsOf(gateway, json.id)).toMatchObject({ usage: JSON.stringify(task.usage) })
  })

  test('the requested seed, also of a failed task; null without one', async () => {
    const failing = { input: { prompt: 'x [sandbox task_ms=0 task_end=failed]' } }
    const sized = { size: '1280*720', duration: 5 }
    const text = [{ type: 'text', text: 'x [sandbox task_ms=0 task_end=failed]' }]
    const rows: [body: Json, seed: number | null][] = [
      [requestFor('vidw2.6-t2v', { ...failing, parameters: { ...sized, seed: 7 } }), 7],
      [requestFor('vidw2.6-t2v', { ...failing, parameters: sized }), null],
      [requestFor('seedance-1.5-pro', { content: text, seed: 8 }), 8],
    ]
    for (const [body, seed] of rows) {
      const { json } = await submit(body)
      expect(await endOf(gateway, clock, json.id)).toMatchObject({ model: body.model, seed })
    }
  })

  test('of another account, by either id, is the same 404 as of none, without a vendor call', async () => {
    const { json } = await submit(requestFor('vidw2.6-t2v'))
    const { upstream_id: upstreamId } = await rowsOf(gateway, json.id)
    const bob = await gateway.makeKey('bob', '1')
    const texts = new Set<string>()
    for (const id of [json.id, upstreamId, 'video_00000000000000000000000000000000', "x' or '1'='1"]) {
      const { text } = await play(gateway, {
        name: id,
        method: 'GET',
        path: `${PATH}/${encodeURIComponent(id)}`,
        key: bob.secret,
        status: 404,
        error: { code: 'task_not_found', param: 'id', type: 'invalid_request_error' },
        words: ['no task', 'on this account'],
        logRows: 0,
      })
      texts.add(text.replace(id.slice(0, 128), 'ID').replace(/req_\w+/, 'REQ'))
    }
    expect(texts.size).toBe(1)
    for (const key of [null, 'sk-nonsense']) {
      await play(gateway, {
        name: 'nobody',
        method: 'GET',
        path: `${PATH}/${json.id}`,
        key,
        status: 401,
        logRows: 0,
      })
    }
  })
})
