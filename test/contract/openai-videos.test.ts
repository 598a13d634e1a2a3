// OpenAI's video API with the official SDK against the real gateway: its users' requests, their form for each vendor, the answers,
// and that it is the same task, at the same price, as in the gateway's own form.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { picture } from '../../sandbox/pictures'
import { VIDEO_FILE } from '../../sandbox/video-jobs'
import type { Model } from '../../src/contract/family'
import { reword } from '../../src/http/routes/video-request'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, videoModels } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'
import { startTaskVendor, succeeded } from '../support/vendors/task'
import { endAll, endOf, makeClock, passUntil, readTask, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const PATH = '/v1/videos'
const IMAGE = 'https://example.com/first.png'
const CENT = 10_000_000
const FAST = '[sandbox task_ms=0]'
const fox = { model: 'gkx-imagine-video', prompt: `a red fox ${FAST}` }

const clock = makeClock()
let gateway: TestGateway
let client: OpenAI
let stranger: OpenAI
let strangerSecret: string
let poorSecret: string

beforeAll(async () => {
  const textOnly = { referenceImages: { min: 0, max: 0 } }
  const needsTwo = { referenceImages: { min: 2, max: 3 } }
  const { 'gkx-imagine-video': imagine } = videoModels
  gateway = await startTestGateway({
    balance: '1000',
    outside: clock,
    models: { 'test-text-only': { ...imagine, ...textOnly }, 'test-needs-two': { ...imagine, ...needsTwo } },
  })
  client = connect(gateway.secret)
  strangerSecret = (await gateway.makeKey('bob', '10')).secret
  stranger = connect(strangerSecret)
  poorSecret = (await gateway.makeKey('poor', '0.01')).secret
})

afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
})

function connect(apiKey: string, to = gateway): OpenAI {
  return new OpenAI({ baseURL: `${to.url}/v1`, apiKey, maxRetries: 0 })
}

/** Body of the last submit to the vendor. */
function lastSubmit(): Json {
  return JSON.parse(gateway.sandbox.calls.findLast(({ method }) => method === 'POST')?.body ?? '')
}

async function makeFox(): Promise<string> {
  const { id } = await client.videos.create(fox)
  await endOf(gateway, clock, id)
  return id
}

async function failureOf(work: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await work.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(OpenAI.APIError)
  return error
}

describe('a video from the request to its bytes', () => {
  test('is queued, completed and downloaded unchanged', async () => {
    const { data: video, response } = await client.videos
      .create({ model: 'gkx-imagine-video', prompt: `a fox ${FAST}`, seconds: '4', size: '1280x720' })
      .withResponse()
    expect(response.status).toBe(200)
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(video).toEqual({
      id: expect.stringMatching(/^video_[0-9a-f]{32}$/),
      object: 'video',
      model: 'gkx-imagine-video' as 'sora-2',
      status: 'queued',
      progress: 0,
      created_at: Math.floor(clock.now() / 1000),
      completed_at: null,
      expires_at: null,
      seconds: '4',
      size: '1280x720',
      prompt: null,
      remixed_from_video_id: null,
      error: null,
    })
    expect(await rowsOf(gateway, video.id)).toMatchObject({ charge_state: 'held', held: 4 * CENT })
    await endOf(gateway, clock, video.id)
    expect(await client.videos.retrieve(video.id)).toMatchObject({
      ...video,
      status: 'completed',
      progress: 100,
      completed_at: expect.any(Number),
    })
    const content = await client.videos.downloadContent(video.id)
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(content.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await content.bytes()).toEqual(new Uint8Array(VIDEO_FILE.bytes))
    const fetched = gateway.sandbox.calls.at(-1)
    expect(fetched?.path).toEndWith('.mp4')
    expect(fetched?.headers.authorization).toBeUndefined()
    expect(await rowsOf(gateway, video.id)).toMatchObject({ charge_state: 'settled', amount: 4 * CENT })
  })

  test('reports its progress', async () => {
    const slow = { ...fox, prompt: 'a fox [sandbox task_ms=600000]' }
    const { id } = await client.videos.create(slow)
    await gateway.server.world.db.batch([
      {
        sql: `update tasks set document = $2 where id = $1`,
        parameters: [id, JSON.stringify({ ...(await readTask(gateway, id)), progress: 41.5 })],
      },
    ])
    expect(await client.videos.retrieve(id)).toMatchObject({ status: 'in_progress', progress: 42 })
    clock.pass(25 * 3_600_000)
    await endAll(gateway, clock)
    expect(await client.videos.retrieve(id)).toMatchObject({
      status: 'failed',
      error: { code: 'timed_out', message: expect.stringContaining('Nothing was charged') },
    })
  })

  test('reports why it failed', async () => {
    const prompt = 'a fox [sandbox task_ms=0 task_end=failed]'
    const { id } = await client.videos.create({ model: 'test-seedance', prompt })
    await endOf(gateway, clock, id)
    const video = await client.videos.retrieve(id)
    expect(video.status).toBe('failed')
    expect(video.completed_at).toBeNumber()
    expect(video.error).toMatchObject({ code: 'OutputVideoSensitiveContentDetected' })
    const error = await failureOf(client.videos.downloadContent(id))
    expect(error).toMatchObject({ status: 404, code: 'video_failed' })
    expect(error.message).toContain('sensitive information')
    expect(await rowsOf(gateway, id)).toMatchObject({ charge_state: 'released', amount: 0 })
  })

  test('can be waited for', async () => {
    const submitted = fetch(`${gateway.url}${PATH}?wait=60`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify(fox),
    })
    let video: Json
    const waiting = submitted.then(async (response) => {
      video = await response.json()
    })
    await passUntil(clock, () => video !== undefined)
    await waiting
    expect(video).toMatchObject({ status: 'completed', progress: 100, completed_at: expect.any(Number) })
  })

  test('reports the vendor’s choices if a request in the other form omitted them', async () => {
    const content = [{ type: 'text', text: `a fox ${FAST}` }]
    const body = { model: 'test-seedance', content, duration: -1 }
    const { id } = (await (await gateway.post('/v1/videos/generations', body)).json()) as Json
    expect(await client.videos.retrieve(id)).toMatchObject({ seconds: '15' })
    await endOf(gateway, clock, id)
    expect(await client.videos.retrieve(id)).toMatchObject({ status: 'completed', seconds: '9' })
  })
})

describe('one request becomes the fields of each family', () => {
  const request = { prompt: `a fox ${FAST}`, seconds: '5' as '4', size: '1280x720' as const }
  const rows: [model: string, vendor: Json][] = [
    [
      'vidw2.6-t2v',
      {
        model: 'wan2.6-t2v',
        input: { prompt: request.prompt },
        parameters: { size: '1280*720', duration: 5 },
      },
    ],
    [
      'gkx-imagine-video',
      {
        model: 'grok-imagine-video',
        prompt: request.prompt,
        duration: 5,
        resolution: '720p',
        aspect_ratio: '16:9',
      },
    ],
    [
      'test-seedance',
      {
        model: 'seedance-2-0-260128',
        content: [{ type: 'text', text: request.prompt }],
        duration: 5,
        resolution: '720p',
        ratio: '16:9',
        execution_expires_after: 86_400,
      },
    ],
  ]
  for (const [model, vendor] of rows) {
    test(model, async () => {
      const { id } = await client.videos.create({ model, ...request })
      expect(lastSubmit()).toEqual(vendor)
      expect(await rowsOf(gateway, id)).toMatchObject({ held: 5 * CENT })
    })
  }

  test('a size in portrait, and the price of many pixels', async () => {
    const { id } = await client.videos.create({ model: 'vidw2.6-t2v', prompt: 'a fox', size: '1024x1792' })
    expect(lastSubmit().parameters).toEqual({ size: '1024*1792', duration: 5 })
    expect(await rowsOf(gateway, id)).toMatchObject({ held: 10 * CENT, size: '1024x1792' })
  })

  test('an absent field is left to the model', async () => {
    const video = await client.videos.create(fox)
    expect(lastSubmit()).toEqual({
      model: 'grok-imagine-video',
      prompt: fox.prompt,
      duration: 8,
      resolution: '480p',
    })
    expect(video).toMatchObject({ seconds: '8', size: null })
  })

  test('an image as a file, as an address, and in JSON', async () => {
    const { bytes, contentType } = picture('jpeg')
    const dataUrl = `data:image/jpeg;base64,${Buffer.from(bytes).toString('base64')}`
    const file = await toFile(bytes, 'first.jpg', { type: contentType })
    await client.videos.create({ ...fox, input_reference: file })
    expect(lastSubmit().image).toEqual({ url: dataUrl })
    await client.videos.create({ ...fox, input_reference: { image_url: IMAGE } })
    expect(lastSubmit().image).toEqual({ url: IMAGE })
    const json = { ...fox, seconds: 3, size: null, input_reference: { image_url: IMAGE } }
    expect((await gateway.post(PATH, json)).status).toBe(200)
    expect(lastSubmit()).toMatchObject({ image: { url: IMAGE }, duration: 3 })
    await client.videos.create({
      model: 'vidw2.7-i2v',
      prompt: 'go',
      size: '1280x720',
      input_reference: file,
    })
    expect(lastSubmit().input.media).toEqual([{ type: 'first_frame', url: dataUrl }])
  })

  test('an alias of a model, in every operation', async () => {
    const config = { aliases: { 'sora-*': 'gkx-imagine-video' } }
    const aliased = await startTestGateway({ config, outside: clock })
    const video = await connect(aliased.secret, aliased).videos.create({ ...fox, model: 'sora-2' })
    expect(video.model).toBe('gkx-imagine-video' as 'sora-2')
    await endAll(aliased, clock)
    await aliased.close()
  })

  test('a webhook too', async () => {
    const answer = await gateway.post(PATH, { ...fox, webhook_url: 'https://192.0.2.1/hook' })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('private network')
  })

  test('a model without a plain form names the other endpoint', () => {
    const model = { id: 'odd', family: {} } as Model
    expect(() => reword({ model: 'odd', prompt: 'a fox' }, model)).toThrow('POST /v1/videos/generations')
  })
})

describe('one request, one task', () => {
  test('an Idempotency-Key replays the answer without a second call', async () => {
    const before = gateway.sandbox.calls.length
    const options = { headers: { 'Idempotency-Key': 'fox-1' } }
    const image = await toFile(picture('png').bytes, 'a.png', { type: 'image/png' })
    const request = { ...fox, seconds: '4', input_reference: image } as const
    const first = await client.videos.create(request, options)
    // Some clients reorder the fields of a form.
    const shuffled = Object.fromEntries(Object.entries(request).reverse()) as unknown as typeof request
    const { data: second, response } = await client.videos.create(shuffled, options).withResponse()
    expect(second).toEqual(first)
    expect(response.headers.get('idempotent-replayed')).toBe('true')
    const submits = gateway.sandbox.calls.slice(before).filter(({ method }) => method === 'POST')
    expect(submits).toHaveLength(1)
  })

  test('is the same in both forms, whichever was used for the request', async () => {
    const { id } = await client.videos.create(fox)
    expect(await readTask(gateway, id)).toMatchObject({ id, model: fox.model, status: 'submitted' })
    const own = await gateway.post('/v1/videos/generations', fox)
    const { id: other } = (await own.json()) as Json
    expect(await client.videos.retrieve(other)).toMatchObject({ id: other, seconds: '8', size: null })
  })
})

test.each(databaseKinds)('the same on %s', async (database) => {
  const shared = await startTestGateway({ database, outside: clock })
  const { videos } = connect(shared.secret, shared)
  const ids: string[] = []
  for (const seconds of ['4', '8', '12'] as const) {
    ids.unshift((await videos.create({ ...fox, seconds, size: '1280x720' })).id)
    await endOf(shared, clock, ids[0] as string)
  }
  const listed: Json[] = []
  for await (const video of videos.list({ limit: 1 })) listed.push(video)
  expect(listed.map(({ id }) => id)).toEqual(ids)
  expect(listed[0]).toMatchObject({ status: 'completed', seconds: '12', size: '1280x720' })
  const content = await videos.downloadContent(ids[0] as string)
  expect(await content.bytes()).toEqual(new Uint8Array(VIDEO_FILE.bytes))
  await shared.close()
})

describe('rejected before anything is held or sent', () => {
  const one = (name: string, body: Json, param: string | null, words: string[], code?: string): Scenario => ({
    name,
    path: PATH,
    body,
    status: 400,
    error: { param, type: 'invalid_request_error', ...(code && { code }) },
    words,
  })
  const form = (entries: [string, string | File][]) => {
    const body = new FormData()
    for (const [name, value] of entries) body.append(name, value)
    return body
  }
  const text = new File(['not a picture'], 'a.txt', { type: 'text/plain' })
  const png = new File([picture('png').bytes], 'a.png', { type: 'image/png' })
  const fields: [string, string][] = [
    ['model', fox.model],
    ['prompt', 'a fox'],
  ]
  const rows: Scenario[] = [
    one('no model', { prompt: 'a fox' }, 'model', ['You must provide a model'], 'missing_required_parameter'),
    one(
      'an unknown model',
      { ...fox, model: 'sora-2' },
      'model',
      ['`sora-2` does not exist'],
      'model_not_found',
    ),
    one('a model of texts', { ...fox, model: 'test-chat' }, 'model', ['for chat'], 'endpoint_model_mismatch'),
    one(
      'no prompt',
      { model: fox.model },
      'prompt',
      ['Missing required parameter'],
      'missing_required_parameter',
    ),
    one('an empty prompt', { ...fox, prompt: '' }, 'prompt', ['empty string'], 'empty_string'),
    one('seconds in words', { ...fox, seconds: 'four' }, 'seconds', ["such as '4'"]),
    one('seconds with a fraction', { ...fox, seconds: '4.5' }, 'seconds', ["such as '4'"]),
    one('the choice of seconds left to the model', { ...fox, seconds: '-1' }, 'seconds', ["such as '4'"]),
    one('too many seconds', { ...fox, seconds: '16' }, 'seconds', ["Invalid 'seconds'", '1 to 15 seconds']),
    one('a size in words', { ...fox, size: 'large' }, 'size', ["such as '1280x720'"]),
    one(
      'a size without a price',
      { model: 'vidw2.7-i2v', prompt: 'go', size: '640x360', input_reference: { image_url: IMAGE } },
      'size',
      ["Invalid value for 'size'", 'no price for 480p', '720p'],
    ),
    one('a field of another form', { ...fox, aspect_ratio: '16:9' }, 'aspect_ratio', [
      "Unknown parameter: 'aspect_ratio'",
      'POST /v1/videos/generations',
    ]),
    one('the id of a file', { ...fox, input_reference: { file_id: 'file-1' } }, 'input_reference.image_url', [
      'File ids are not supported here',
    ]),
    one('an image as a bare text', { ...fox, input_reference: IMAGE }, 'input_reference', [
      'expected an object',
    ]),
    one(
      'an image for a text-only model',
      { ...fox, model: 'test-text-only', input_reference: { image_url: IMAGE } },
      'input_reference',
      ['from text alone'],
    ),
    one(
      'no image for an image-to-video model',
      { ...fox, model: 'gkx-imagine-video-1.5-preview' },
      'input_reference',
      ["Missing required parameter: 'input_reference'", 'makes videos from an image'],
    ),
    one('one image where two are needed', { ...fox, model: 'test-needs-two' }, 'input_reference', [
      'from 2 images',
      'POST /v1/videos/generations',
    ]),
    one('a forbidden webhook address', { ...fox, webhook_url: 'http://127.0.0.1/x' }, 'webhook_url', [
      'private network',
    ]),
    one('broken JSON', '{', null, ['not a JSON object'], 'invalid_json'),
    one(
      'a form with a file that is not an image',
      () => form([...fields, ['input_reference', text]]),
      'input_reference',
      ['not an image'],
    ),
    one(
      'a form with two images',
      () => form([...fields, ['input_reference', png], ['input_reference', png]]),
      'input_reference',
      ['more than one'],
    ),
    one('a form with a file of another name', () => form([...fields, ['mask', png]]), 'mask', [
      "Unknown parameter: 'mask'",
    ]),
    one(
      'a form with the id of a file',
      () => form([...fields, ['input_reference[file_id]', 'file-1']]),
      'input_reference[file_id]',
      ['Unknown parameter'],
    ),
  ]
  for (const row of rows) {
    test(row.name, async () => {
      const isForm = typeof row.body === 'function'
      await play(gateway, { ...row, ...(isForm && (await encoded((row.body as () => FormData)()))) })
    })
  }

  test('with an insufficient balance', async () => {
    const error = { code: 'insufficient_balance' }
    await play(gateway, { name: 'poor', path: PATH, key: poorSecret, body: fox, status: 402, error })
  })

  test('without a key, on every path', async () => {
    for (const path of [PATH, `${PATH}/video_1`, `${PATH}/video_1/content`]) {
      const response = await fetch(`${gateway.url}${path}`)
      expect({ path, status: response.status }).toEqual({ path, status: 401 })
    }
    await play(gateway, { name: 'create', path: PATH, key: null, body: fox, status: 401 })
  })

  /** The form as bytes with its header, as `play` sends it. */
  async function encoded(body: FormData) {
    const response = new Response(body)
    const headers = { 'content-type': response.headers.get('content-type') ?? '' }
    return { headers, body: await response.bytes() }
  }
})

describe('the bytes', () => {
  const read = (id: string, headers: Record<string, string> = {}, query = '') =>
    fetch(`${gateway.url}${PATH}/${id}/content${query}`, {
      headers: { authorization: `Bearer ${gateway.secret}`, ...headers },
    })
  const { length } = VIDEO_FILE.bytes

  test('are sent in parts on request', async () => {
    const id = await makeFox()
    const rows: [range: string, status: number, start: number, end: number][] = [
      ['bytes=0-9', 206, 0, 10],
      ['bytes=100-', 206, 100, length],
      ['bytes=-7', 206, length - 7, length],
      [`bytes=${length - 1}-${length + 500}`, 206, length - 1, length],
    ]
    for (const [range, status, start, end] of rows) {
      const part = await read(id, { range })
      expect({ range, status: part.status }).toEqual({ range, status })
      expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${length}`)
      expect(await part.bytes()).toEqual(new Uint8Array(VIDEO_FILE.bytes.subarray(start, end)))
    }
    const beyond = await read(id, { range: `bytes=${length}-` })
    expect([beyond.status, beyond.headers.get('x-should-retry')]).toEqual([416, 'false'])
    expect(beyond.headers.get('content-range')).toBe(`bytes */${length}`)
  })

  test('are only the video itself', async () => {
    const id = await makeFox()
    expect((await read(id, {}, '?variant=video')).status).toBe(200)
    const error = await failureOf(client.videos.downloadContent(id, { variant: 'thumbnail' }))
    expect(error).toMatchObject({ status: 400, param: 'variant' })
  })

  test('are not available before the end, with an error that clients do not retry', async () => {
    const { id } = await client.videos.create(fox)
    const response = await read(id)
    expect(response.status).toBe(409)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await response.json()).toMatchObject({
      error: { code: 'video_not_ready', message: expect.stringContaining(`GET /v1/videos/${id}`) },
    })
  })

  test('of other accounts are 404, like unknown ones', async () => {
    const id = await makeFox()
    const nobody = `video_${'0'.repeat(32)}`
    for (const ask of [
      (video: string) => stranger.videos.retrieve(video),
      (video: string) => stranger.videos.downloadContent(video),
    ]) {
      const [first, second] = [await failureOf(ask(id)), await failureOf(ask(nobody))]
      expect(first).toMatchObject({ status: 404, code: 'task_not_found' })
      expect(first.message.replace(id, '')).toBe(second.message.replace(nobody, ''))
    }
  })
})

describe('a vendor that does not deliver the video', () => {
  /** A finished task at a vendor whose files the test defines. */
  async function made(videoUrl: (vendor: string) => string, serve: () => Response | Promise<Response>) {
    const files = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: serve })
    const vendor = startTaskVendor()
    const host = `127.0.0.1:${files.port}`
    vendor.answerPoll = async (id) => {
      const body = (await succeeded(id).json()) as Json
      return Response.json({ ...body, output: { ...body.output, video_url: videoUrl(host) } })
    }
    const own = await startTestGateway({
      upstreams: { dashscope: { ...vendor.upstream, fileHosts: [host] } },
      outside: clock,
    })
    const { id } = await connect(own.secret, own).videos.create({ model: 'vidw2.6-t2v', prompt: 'a fox' })
    await endOf(own, clock, id)
    const read = (signal?: AbortSignal) =>
      fetch(`${own.url}${PATH}/${id}/content`, {
        headers: { authorization: `Bearer ${own.secret}` },
        ...(signal && { signal }),
      })
    const close = async () => {
      await own.close()
      vendor[Symbol.dispose]()
      await files.stop(true)
    }
    return { read, close, log: own.log }
  }
  const there = (host: string) => `http://${host}/a.mp4?Signature=secret`

  test('because the file is on a foreign host: that host is not called', async () => {
    let requests = 0
    const { read, close, log } = await made(
      () => 'http://169.254.169.254/a.mp4',
      () => new Response(String(++requests)),
    )
    const response = await read()
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('upstream_file_refused')
    expect(log.filter(({ event }) => event === 'upstream_file_refused')).toHaveLength(1)
    expect(requests).toBe(0)
    await close()
  })

  test('because it is missing: a 502 before it expires, then a 404 that reports the expiry', async () => {
    const { read, close } = await made(there, () => new Response('gone', { status: 403 }))
    const early = await read()
    expect(early.status).toBe(502)
    expect(await early.text()).toContain('HTTP 403')
    clock.pass(25 * 3_600_000)
    const late = await read()
    expect(late.status).toBe(404)
    expect(await late.json()).toMatchObject({ error: { code: 'video_expired' } })
    await close()
  })

  test('completely: the answer breaks off too', async () => {
    const body = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(1_000))
          setTimeout(() => controller.error(new Error('cut')), 20)
        },
      })
    const { read, close, log } = await made(there, () => new Response(body()))
    const response = await read()
    expect(response.status).toBe(200)
    expect(await response.bytes().catch(() => 'cut')).toBe('cut')
    expect(log.filter(({ event }) => event === 'video_cut')).toHaveLength(1)
    // The address alone gives access to the file.
    expect(JSON.stringify(log)).not.toContain('Signature')
    await close()
  })

  test('before the caller disconnects: the call to the vendor is aborted', async () => {
    const gone = Promise.withResolvers<string>()
    const body = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(1_000)),
        cancel: () => gone.resolve('gone'),
      })
    const { read, close } = await made(there, () => new Response(body()))
    const leaver = new AbortController()
    expect((await read(leaver.signal)).status).toBe(200)
    leaver.abort()
    expect(await gone.promise).toBe('gone')
    await close()
  })
})

describe('the list', () => {
  let ids: string[]
  let lister: OpenAI
  beforeAll(async () => {
    lister = connect((await gateway.makeKey('lister', '10')).secret)
    ids = []
    for (let count = 0; count < 5; count++) {
      ids.push((await lister.videos.create(fox)).id)
      // Two of them at the same moment.
      if (count !== 2) clock.pass(1)
    }
  })

  test('contains only this account, newest first, in pages', async () => {
    const listed: string[] = []
    for await (const video of lister.videos.list({ limit: 2 })) listed.push(video.id)
    expect(listed).toEqual([...ids].reverse())
    const oldest: string[] = []
    for await (const video of lister.videos.list({ limit: 3, order: 'asc' })) oldest.push(video.id)
    expect(oldest).toEqual(ids)
  })

  test('reports its first and last id', async () => {
    const page: Json = await lister.videos.list({ limit: 4, after: ids.at(-1) as string })
    expect(page.body ?? page).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: ids[3],
      last_id: ids[0],
    })
    const nobody: Json = await connect((await gateway.makeKey('nobody', '0')).secret).videos.list()
    expect(nobody.data).toEqual([])
    expect(nobody.has_more).toBe(false)
  })

  test('rejects invalid parameters', async () => {
    const rows: [query: string, param: string][] = [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=ten', 'limit'],
      ['order=newest', 'order'],
      ['after=video_1', 'after'],
    ]
    for (const [query, param] of rows) {
      const response = await fetch(`${gateway.url}${PATH}?${query}`, {
        headers: { authorization: `Bearer ${strangerSecret}` },
      })
      const { error } = (await response.json()) as Json
      expect({ query, status: response.status, param: error.param }).toEqual({ query, status: 400, param })
    }
  })

  test('does not affect the paths of operations', async () => {
    for (const path of ['/v1/videos/generations', '/v1/responses/compact']) {
      const response = await fetch(`${gateway.url}${path}`)
      expect({ path, status: response.status }).toEqual({ path, status: 405 })
      expect(response.headers.get('allow')).toBe('POST')
    }
  })
})
