// The ends of tasks: every status of every vendor, its charge, and what readers see meanwhile. The vendors answer over real HTTP as
// a test chooses, and the test moves the clock.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { families } from '../../src/families'
import { requestCancel } from '../../src/tasks/leases'
import { startTestGateway, type TestGateway, videoModels } from '../support/gateway'
import { type Json, play } from '../support/scenario'
import { type OddVendor, startVendor } from '../support/vendors/vendor'
import { taskIn, type VideoRow, type VideoVendorForm, videoVendors } from '../support/vendors/video-replies'
import { endAll, endOf, makeClock, passUntil, readTask, requestFor, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const PATH = '/v1/videos/generations'
const CENT = 10_000_000
const price = { per_second: { '480p': '0.005', '720p': '0.01', '720p silent': '0.004' } }

const clock = makeClock()
let vendor: OddVendor
let gateway: TestGateway
/** The vendor's answers to polls by the task's id; the ids are consecutive numbers. */
let replies: Map<string, () => Response>
let results: Map<string, () => Response>
let polled: Map<string, number>
let form: VideoVendorForm
/** Tasks with a stop request to the vendor. */
let stopped: string[]
let stopReply: () => Response

beforeAll(async () => {
  vendor = startVendor()
  replies = new Map()
  results = new Map()
  polled = new Map()
  stopped = []
  vendor.answer = (request) => {
    const { id, isResult } = taskIn(new URL(request.url))
    if (request.method === 'DELETE' || request.method === 'PUT') {
      stopped.push(id)
      return stopReply()
    }
    if (request.method === 'POST') return Response.json(form.submitted(`task-${vendor.requests}`))
    if (isResult) return results.get(id)?.() ?? Response.json(form.result)
    polled.set(id, (polled.get(id) ?? 0) + 1)
    return replies.get(id)?.() ?? Response.json(form.succeeded(id))
  }
  const kinds = Object.values(videoVendors)
  gateway = await startTestGateway({
    outside: clock,
    upstreams: Object.fromEntries(
      kinds.map(({ kind }) => [
        `scripted-${kind}`,
        { kind, baseUrl: `${vendor.url}/${kind}`, apiKey: 'none' },
      ]),
    ),
    models: {
      ...Object.fromEntries(
        kinds.map(({ family, kind, model }) => [
          `scripted-${family}`,
          {
            family,
            upstream: `scripted-${kind}`,
            upstreamModel: model,
            price,
            durations: { min: 1, max: 15, default: 5, vendorMayChoose: kind !== 'xai' },
          },
        ]),
      ),
      'test-long-video': { ...videoModels['test-long-video'], price },
      'runway-edits': {
        family: 'runway-video',
        upstream: 'scripted-runway',
        upstreamModel: 'aleph2',
        durations: { min: 2, max: 30, default: 30 },
        price: { per_second: '0.01' },
      },
      'edits-video': {
        family: 'fal-video',
        upstream: 'scripted-fal',
        upstreamModel: 'fal-ai/kling-video/o3/pro/video-to-video/edit',
        durations: { min: 3, max: 10, default: 10 },
        price: { per_second: { '720p': '0.01' } },
      },
      'cheaper-of-video': {
        family: 'ark-video',
        upstream: 'scripted-ark',
        upstreamModel: 'seedance-2-0-260128',
        durations: { min: 1, max: 15, default: 5 },
        maxInputSeconds: 6,
        price: {
          per_second: { '720p': '0.01', '720p from video': '0.005', '720p from video silent': '0.0025' },
        },
      },
    },
  })
})
afterAll(async () => {
  await endAll(gateway, clock)
  await gateway.close()
  await vendor.stop()
})

/** Submits one task; also returns the vendor's id. */
async function submit(use: VideoVendorForm, more: Json = {}): Promise<{ id: string; upstreamId: string }> {
  form = use
  const response = await gateway.post(PATH, { model: `scripted-${use.family}`, ...use.body('x'), ...more })
  const json = (await response.json()) as Json
  expect(json).toMatchObject({ status: 'submitted' })
  return { id: json.id, upstreamId: (await rowsOf(gateway, json.id)).upstream_id }
}

function answerOf({ status = 200, reply }: Pick<VideoRow, 'status' | 'reply'>, id = 'ID'): () => Response {
  const text = typeof reply === 'string' ? reply : JSON.stringify(reply).replaceAll('"ID"', `"${id}"`)
  return () => new Response(text, { status, headers: { 'content-type': 'application/json' } })
}

function at(task: Json, path: string): unknown {
  return path.split('.').reduce((value, name) => value?.[name], task)
}

test('every family with tasks is tested', () => {
  const named = Object.values(videoVendors).map(({ family }) => family)
  const all = [...families.values()].filter(({ kind }) => kind === 'task')
  expect(named.sort()).toEqual(all.map(({ name }) => name).sort())
})

describe.each(Object.values(videoVendors))('$family', (use) => {
  test('every status has its documented meaning and payment', async () => {
    const tasks: { name: string; row: VideoRow; id: string; upstreamId: string }[] = []
    for (const [name, row] of use.rows) {
      const task = await submit(use)
      replies.set(task.upstreamId, answerOf(row, task.upstreamId))
      if (row.result) results.set(task.upstreamId, answerOf(row.result, task.upstreamId))
      tasks.push({ name, row, ...task })
    }
    await passUntil(clock, () => tasks.every(({ upstreamId }) => (polled.get(upstreamId) ?? 0) >= 1))
    for (const { name, row, id, upstreamId } of tasks) {
      if (row.becomes !== 'submitted') await endOf(gateway, clock, id)
      // If it continues, it has been polled again, successfully.
      else await passUntil(clock, () => (polled.get(upstreamId) ?? 0) >= 2)
      const task = await readTask(gateway, id)
      expect({ name, task }).toMatchObject({
        name,
        task: { id, model: `scripted-${use.family}`, status: row.becomes, created_at: expect.any(Number) },
      })
      expect({ name, error: task.error }).toEqual({ name, error: row.error })
      // A task that has ended has a seed, whether its vendor knows one or not (spec, Video task).
      expect({ name, hasSeed: 'seed' in task || row.becomes === 'submitted' }).toEqual({
        name,
        hasSeed: true,
      })
      for (const [path, value] of Object.entries(row.shows ?? {})) {
        expect({ name, path, value: at(task, path) }).toEqual({ name, path, value: value ?? undefined })
      }
      expect(JSON.stringify(task)).not.toContain('secret trouble')
      const rows = await rowsOf(gateway, id)
      const paid = {
        submitted: { charge_state: 'held', amount: 0, held: 5 * CENT },
        failed: { charge_state: 'released', amount: 0, usage: null, ended_by: 'upstream' },
        succeeded: {
          charge_state: 'settled',
          amount: 5 * CENT,
          usage_source: 'counted',
          ended_by: 'done',
          usage: row.reply.usage ? JSON.stringify(row.reply.usage) : null,
        },
      }
      expect({ name, ...rows }).toMatchObject({ name, ...paid[row.becomes] })
      replies.delete(upstreamId)
      results.delete(upstreamId)
    }
    await endAll(gateway, clock)
    for (const { id, row } of tasks) {
      if (row.becomes !== 'submitted') continue
      expect(await rowsOf(gateway, id)).toMatchObject({ state: 'succeeded', amount: 5 * CENT })
    }
  })
})

describe('a request to stop a task', () => {
  const running = () => Response.json({ id: 'x', status: 'running', error: null })
  const refusal = { error: { code: 'InvalidAction.RunningTaskDeletion', message: 'It is running.' } }
  const waits = () => Response.json({ status: 'IN_PROGRESS' }, { status: 202 })
  const said =
    (status: string, code = 200) =>
    () =>
      Response.json({ status }, { status: code })
  const { ark, fal } = videoVendors
  const rows: [
    name: string,
    use: VideoVendorForm,
    poll: (() => Response) | undefined,
    stop: () => Response,
    expected: Json,
  ][] = [
    [
      'that the vendor grants: nothing is paid',
      ark,
      running,
      () => Response.json({}),
      { state: 'failed', error_code: 'canceled', charge_state: 'released', amount: 0 },
    ],
    [
      'that the vendor refuses: it continues',
      ark,
      running,
      () => Response.json(refusal, { status: 409 }),
      { state: 'submitted', cancel_answer: 'It is running.', charge_state: 'held' },
    ],
    // The vendor would delete the video.
    [
      'that comes too late is not sent to the vendor',
      ark,
      undefined,
      () => Response.json({}),
      { state: 'succeeded' },
    ],
    [
      'that takes it out of the queue: nothing is paid',
      fal,
      waits,
      said('OK'),
      { state: 'failed', error_code: 'canceled', charge_state: 'released', amount: 0 },
    ],
    [
      'that the vendor only relays: it continues until its state says more',
      fal,
      waits,
      said('CANCELLATION_REQUESTED', 202),
      {
        state: 'submitted',
        cancel_answer: 'The upstream was asked to stop it. Its state says whether it has.',
        charge_state: 'held',
      },
    ],
    [
      'that the vendor ignores: it continues',
      fal,
      waits,
      said('ALREADY_COMPLETED', 400),
      { state: 'submitted', charge_state: 'held' },
    ],
  ]
  test.each(rows)('%s', async (_name, use, poll, stop, expected) => {
    const { id, upstreamId } = await submit(use)
    if (poll) replies.set(upstreamId, poll)
    stopReply = stop
    expect(await requestCancel(gateway.server.world.db, id, clock.now())).toBe(true)
    const hasStopped = async () => (await rowsOf(gateway, id)).polls > 0
    await passUntil(clock, hasStopped)
    expect(await rowsOf(gateway, id)).toMatchObject(expected)
    expect(stopped.includes(upstreamId)).toBe(poll !== undefined)
    replies.delete(upstreamId)
    await endAll(gateway, clock)
  })
})

describe('seconds that the vendor chooses', () => {
  const chosen = { duration: -1, parameters: { size: '1280*720', duration: -1 } }
  const flat = (usage: unknown) => ({
    output: { task_status: 'SUCCEEDED', video_url: 'https://files.example.com/v.mp4' },
    usage,
  })
  const ark = (duration: unknown) => ({ ...videoVendors.ark.succeeded(''), duration })
  const rows: [name: string, use: VideoVendorForm, reply: Json, seconds: number, source: string][] = [
    // The vendor bills `duration`, whatever it says of its parts.
    [
      'what it made',
      videoVendors.dashscope,
      flat({ duration: 12, output_video_duration: 7 }),
      12,
      'upstream',
    ],
    ['its output alone', videoVendors.dashscope, flat({ output_video_duration: 7 }), 7, 'upstream'],
    ['what it bills', videoVendors.dashscope, flat({ duration: 12 }), 12, 'upstream'],
    ['a part of a second', videoVendors.dashscope, flat({ duration: 6.2 }), 7, 'upstream'],
    ['all that is allowed', videoVendors.ark, ark(15), 15, 'upstream'],
    ['less', videoVendors.ark, ark(4), 4, 'upstream'],
    ['text', videoVendors.ark, ark('7'), 15, 'estimated'],
    ['true', videoVendors.ark, ark(true), 15, 'estimated'],
    ['a list', videoVendors.ark, ark([3]), 15, 'estimated'],
    ['nothing', videoVendors.ark, ark(undefined), 15, 'estimated'],
    ['null', videoVendors.dashscope, flat(null), 15, 'estimated'],
    ['no usage', videoVendors.dashscope, flat(undefined), 15, 'estimated'],
    ['none', videoVendors.ark, ark(0), 15, 'estimated'],
    ['a credit', videoVendors.ark, ark(-5), 15, 'estimated'],
    ['more than was held', videoVendors.ark, ark(16), 15, 'estimated'],
    ['more than there is', videoVendors.ark, ark(1e308), 15, 'estimated'],
  ]
  const fal = (duration?: unknown) => ({ video: { url: 'https://files.example.com/v.mp4', duration } })
  const queued: [name: string, body: Json, result: Json, held: number, paid: number, source: string][] = [
    ['auto', { duration: 'auto' }, fal(6.04), 15, 7, 'upstream'],
    ['auto, of unknown length', { duration: -1 }, fal(), 15, 15, 'estimated'],
    ['as asked', { duration: '5' }, fal(9), 5, 5, 'counted'],
    ['from a video', { duration: 5, video_urls: ['https://example.com/a.mp4'] }, fal(5), 20, 20, 'estimated'],
    [
      'an edit',
      { model: 'edits-video', duration: undefined, video_url: 'https://example.com/a.mp4' },
      fal(6.04),
      25,
      14,
      'upstream',
    ],
  ]
  const edit = {
    model: 'runway-edits',
    duration: undefined,
    ratio: undefined,
    videoUri: 'https://example.com/a.mp4',
  }
  const references = { referenceVideos: [{ uri: 'https://example.com/a.mp4' }] }
  const charged: [name: string, body: Json, cost: Json, held: number, paid: number, source: string][] = [
    ['auto', { duration: 'auto' }, { credits: 210 }, 15, 7, 'upstream'],
    ['auto, without a cost', { duration: 'auto' }, undefined, 15, 15, 'estimated'],
    ['as requested, whatever it cost', {}, { credits: 999 }, 5, 5, 'counted'],
    // Five seconds at 30 credits, and four of input at 15, which cost as output does in this list.
    ['from a video', references, { credits: 210 }, 20, 9, 'upstream'],
    ['from a video, of which nothing is billed', references, { credits: 150 }, 20, 5, 'upstream'],
    ['from a video, more than is held', references, { credits: 990 }, 20, 20, 'estimated'],
    ['from a video, a credit', references, { credits: -5 }, 20, 5, 'upstream'],
    ['from a video, in words', references, { credits: '210' }, 20, 20, 'estimated'],
    ['an edit', edit, { credits: 28 * 6 }, 30, 6, 'upstream'],
    ['an edit, a begun second', edit, { credits: 28 * 6 + 1 }, 30, 7, 'upstream'],
    ['an edit, without a cost', edit, null, 30, 30, 'estimated'],
  ]
  /** Ends a task, and compares its hold and its price, in cents. */
  async function expectPaid(
    { id }: { id: string },
    name: string,
    { held, paid, source }: { held: number; paid: number; source: string },
  ): Promise<void> {
    const { held: isHeld } = await rowsOf(gateway, id)
    await endOf(gateway, clock, id)
    const { amount, usage_source, shortfall } = await rowsOf(gateway, id)
    expect({ name, held: isHeld / CENT, paid: amount / CENT, usage_source, shortfall }).toEqual({
      name,
      held,
      paid,
      usage_source: source,
      shortfall: 0,
    })
  }

  test('whose credits the vendor reports are charged accordingly', async () => {
    for (const [name, body, cost, held, paid, source] of charged) {
      const task = await submit(videoVendors.runway, body)
      replies.set(task.upstreamId, () => Response.json({ ...videoVendors.runway.succeeded(''), cost }))
      await expectPaid(task, name, { held, paid, source })
    }
  })

  test('whose length the result reports are charged accordingly', async () => {
    for (const [name, body, result, held, paid, source] of queued) {
      const task = await submit(videoVendors.fal, body)
      results.set(task.upstreamId, () => Response.json(result))
      await expectPaid(task, name, { held, paid, source })
    }
  })

  test('are held as the maximum, and charged as reported if plausible', async () => {
    const tasks: { id: string; row: (typeof rows)[number] }[] = []
    for (const row of rows) {
      const task = await submit(row[1], chosen)
      replies.set(task.upstreamId, () => Response.json(row[2]))
      expect(await rowsOf(gateway, task.id)).toMatchObject({ held: 15 * CENT })
      tasks.push({ id: task.id, row })
    }
    await endAll(gateway, clock)
    const flagged = gateway.log.filter(({ event }) => event === 'upstream_usage_invalid')
    for (const { id, row } of tasks) {
      const [name, , , seconds, source] = row
      const { amount, usage_source, charge_state, shortfall } = await rowsOf(gateway, id)
      expect({ name, amount, usage_source, charge_state, shortfall }).toEqual({
        name,
        amount: seconds * CENT,
        usage_source: source,
        charge_state: 'settled',
        shortfall: 0,
      })
      const isFlagged = flagged.some(({ fields }) => fields.task === id)
      expect({ name, isFlagged }).toEqual({ name, isFlagged: source === 'estimated' })
    }
  })

  test('a final video from a draft is as long as the draft was, whatever the request says', async () => {
    const draft = await submit(videoVendors.ark)
    const content = [{ type: 'draft_task', draft_task: { id: draft.id } }]
    const task = await submit(videoVendors.ark, { content, duration: 4, resolution: '720p' })
    replies.set(task.upstreamId, () => Response.json(ark(12)))
    expect(await rowsOf(gateway, task.id)).toMatchObject({ held: 15 * CENT })
    await endOf(gateway, clock, task.id)
    expect(await rowsOf(gateway, task.id)).toMatchObject({ amount: 12 * CENT, usage_source: 'upstream' })
  })

  test('requests without sound are cheaper if the catalogue says so', async () => {
    const { id } = await submit(videoVendors.ark, { generate_audio: false })
    await endOf(gateway, clock, id)
    expect(await rowsOf(gateway, id)).toMatchObject({ held: 20_000_000, amount: 20_000_000 })
  })
})

describe('a video that is made from others', () => {
  const url = 'https://example.com/a.mp4'
  const picture = 'https://example.com/a.png'
  const flat = (usage: unknown) => ({
    output: { task_status: 'SUCCEEDED', video_url: 'https://files.example.com/v.mp4' },
    usage,
  })
  const media = (...items: [type: string, url: string][]) => ({
    input: { prompt: 'x', media: items.map(([type, url]) => ({ type, url })) },
  })
  const content = (...items: [type: string, url: string][]) => ({
    content: [{ type: 'text', text: 'x' }, ...items.map(([type, url]) => ({ type, [type]: { url } }))],
  })
  /** Tokens of a video with these seconds of input and output, at 720p: 1280 x 720 x 24 / 1024 each. */
  const ark = (seconds: number, more: Json = {}) => ({
    ...videoVendors.ark.succeeded(''),
    usage: { completion_tokens: seconds * 21_600, total_tokens: seconds * 21_600 },
    ...more,
  })
  const [wan, seedance] = [videoVendors.dashscope, videoVendors.ark]
  const split = (input: number, output: number) =>
    flat({ duration: input + output, input_video_duration: input, output_video_duration: output })
  const chosen = { duration: -1, parameters: { size: '1280*720', duration: -1 } }
  const rows: [
    name: string,
    use: VideoVendorForm,
    body: Json,
    reply: Json,
    held: number,
    paid: number,
    source: string,
  ][] = [
    ['Wan, a reference', wan, media(['reference_video', url]), split(5, 5), 20, 10, 'upstream'],
    ['Wan, a first clip', wan, media(['first_clip', url]), split(2.4, 5), 20, 8, 'upstream'],
    [
      'Wan, a video that is edited',
      wan,
      media(['video', url]),
      flat({ duration: 9, output_video_duration: 5 }),
      20,
      9,
      'upstream',
    ],
    ['Wan, of which nothing is billed', wan, media(['reference_video', url]), split(0, 5), 20, 5, 'upstream'],
    [
      'Wan, in the older list',
      wan,
      { input: { prompt: 'x', reference_urls: [picture, url] } },
      split(5, 5),
      20,
      10,
      'upstream',
    ],
    [
      'Wan, pictures in the older list',
      wan,
      { input: { prompt: 'x', reference_urls: [picture, `${picture}?a=b.mp4`] } },
      split(5, 5),
      5,
      5,
      'counted',
    ],
    ['Wan, pictures alone', wan, media(['reference_image', picture]), split(5, 5), 5, 5, 'counted'],
    [
      'Wan, its own length',
      wan,
      { ...media(['reference_video', url]), ...chosen },
      split(5, 7),
      30,
      12,
      'upstream',
    ],
    ['Wan, more than is held', wan, media(['reference_video', url]), split(16, 5), 20, 20, 'estimated'],
    ['Wan, no figures', wan, media(['reference_video', url]), flat(undefined), 20, 20, 'estimated'],
    ['Wan, a credit', wan, media(['reference_video', url]), split(-3, 5), 20, 20, 'estimated'],
    ['Seedance, a reference', seedance, content(['video_url', url]), ark(9), 20, 9, 'upstream'],
    [
      'Seedance, its own length',
      seedance,
      { ...content(['video_url', url]), duration: -1 },
      ark(11, { duration: 7 }),
      30,
      11,
      'upstream',
    ],
    ['Seedance, a picture', seedance, content(['image_url', picture]), ark(9), 5, 5, 'counted'],
    [
      'Seedance, no tokens',
      seedance,
      content(['video_url', url]),
      ark(9, { usage: null }),
      20,
      20,
      'estimated',
    ],
    [
      'Seedance, fewer tokens than its output',
      seedance,
      content(['video_url', url]),
      ark(3),
      20,
      5,
      'upstream',
    ],
    ['Seedance, too many tokens', seedance, content(['video_url', url]), ark(90), 20, 20, 'estimated'],
  ]
  test('holds the maximum, and is charged as the vendor reports if plausible', async () => {
    const tasks: { id: string; row: (typeof rows)[number] }[] = []
    for (const row of rows) {
      const [name, use, body, reply, held] = row
      const task = await submit(use, body)
      replies.set(task.upstreamId, () => Response.json(reply))
      expect({ name, held: (await rowsOf(gateway, task.id)).held }).toEqual({ name, held: held * CENT })
      tasks.push({ id: task.id, row })
    }
    await endAll(gateway, clock)
    for (const { id, row } of tasks) {
      const [name, , , , , paid, source] = row
      const { amount, usage_source, shortfall } = await rowsOf(gateway, id)
      expect({ name, amount, usage_source, shortfall }).toEqual({
        name,
        amount: paid * CENT,
        usage_source: source,
        shortfall: 0,
      })
    }
  })

  test('costs the catalogue’s price of such videos, and is held for their stated seconds', async () => {
    const { id } = await submit(videoVendors.ark, {
      model: 'cheaper-of-video',
      ...content(['video_url', url]),
    })
    expect(await rowsOf(gateway, id)).toMatchObject({ held: ((5 + 6) * CENT) / 2 })
    await endAll(gateway, clock)
    // Five of output, and the tokens of one second more than 21,600 each.
    expect(await rowsOf(gateway, id)).toMatchObject({ amount: (5 * CENT) / 2, usage_source: 'upstream' })
    const silent = { model: 'cheaper-of-video', generate_audio: false, ...content(['video_url', url]) }
    expect(await rowsOf(gateway, (await submit(videoVendors.ark, silent)).id)).toMatchObject({
      held: ((5 + 6) * CENT) / 4,
    })
    await endAll(gateway, clock)
  })
})

describe("the vendor's own words", () => {
  const of = (model: string, text: string, more: Json = {}) => ({
    ...(model.startsWith('vidw') ? requestFor(model, { input: { prompt: text } }) : { model, prompt: text }),
    ...more,
  })
  const seedance = (text: string) => ({ model: 'test-seedance', content: [{ type: 'text', text }] })
  const rows: [name: string, body: Json, status: number, code: string, word: string][] = [
    [
      'a refusal',
      of(
        'vidw2.6-t2v',
        '[sandbox status=400 error_code=InvalidParameter error_text="url error, please check url!"]',
      ),
      400,
      'InvalidParameter',
      'url error, please check url!',
    ],
    [
      'a refusal with the status 200',
      of('vidw2.6-t2v', '[sandbox status=400 soft error_code=DataInspectionFailed error_text="Not nice"]'),
      400,
      'DataInspectionFailed',
      'Not nice',
    ],
    [
      'a field that it does not take',
      of('gkx-imagine-video', 'x', { seed: 7 }),
      400,
      'Client specified an invalid argument',
      'Argument not supported: seed',
    ],
    [
      'frames next to references',
      {
        model: 'test-seedance',
        content: [
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'first_frame' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'reference_image' },
        ],
      },
      400,
      'InvalidParameter',
      'cannot be mixed',
    ],
    [
      'too many requests',
      of('vidw2.6-t2v', '[sandbox status=429 retry_after=7]'),
      429,
      'Throttling.RateQuota',
      'rate',
    ],
    ['too many requests of xAI', of('gkx-imagine-video', '[sandbox status=429]'), 429, '', 'Too many'],
    [
      "the operator's key",
      of('vidw2.6-t2v', '[sandbox status=401]'),
      503,
      'upstream_unavailable',
      'operator',
    ],
    ["the operator's bill", of('vidw2.6-t2v', '[sandbox quota]'), 503, 'upstream_unavailable', 'operator'],
    [
      "the operator's bill with the status 200",
      of('vidw2.6-t2v', '[sandbox quota soft]'),
      503,
      'upstream_unavailable',
      'operator',
    ],
    ["the operator's bill of Ark", seedance('[sandbox quota]'), 503, 'upstream_unavailable', 'operator'],
    [
      'a model that is gone',
      of('vidw2.6-t2v', '[sandbox status=404]'),
      502,
      'upstream_model_missing',
      'GET /v1/models',
    ],
    [
      'a redirect',
      of('vidw2.6-t2v', '[sandbox redirect=https://example.com/]'),
      502,
      'upstream_redirect',
      'redirect',
    ],
    ['a vendor that is too busy', of('vidw2.6-t2v', '[sandbox status=503]'), 503, 'upstream_error', '503'],
  ]
  test.each(rows)('at submit: %s', async (_name, body, status, code, word) => {
    const played = await play(gateway, {
      name: word,
      path: PATH,
      body,
      status,
      vendorCalls: 1,
      charges: 1,
      words: [word],
    })
    if (code !== '') expect(played.json.error.code).toBe(code)
    expect(played.charges[0]).toMatchObject({ state: 'released', amount: 0 })
    // Nothing is left of it.
    expect(await rowsCount(played.charges[0]?.id as string)).toBe(0)
  })

  async function rowsCount(charge: string): Promise<number> {
    const sql = 'select id from tasks where charge = $1'
    return (await gateway.server.world.db.query({ sql, parameters: [charge] })).length
  }

  test('in a task: what the vendor found when it began', async () => {
    const made: [Json, string, string][] = [
      [
        requestFor('vidw2.7-i2v', { input: { prompt: 'x [sandbox task_ms=0]' } }),
        'InvalidParameter',
        'Field required: input.media',
      ],
      [
        requestFor('vidw2.6-t2v', { input: { text: 'x [sandbox task_ms=0]' } }),
        'InvalidParameter',
        'Field required: input.prompt',
      ],
      [
        requestFor('vidw2.5-t2v-preview', {
          duration: 7,
          parameters: { size: '832*480', duration: 7 },
          resolution: '480p',
          input: {
            prompt:
              '[sandbox task_ms=0 task_end=failed error_code=DataInspectionFailed error_text="Not nice"]',
          },
        }),
        'DataInspectionFailed',
        'Not nice',
      ],
      [
        of('gkx-imagine-video', '[sandbox task_ms=0 task_end=blocked]'),
        'content_policy_violation',
        'held back',
      ],
      [of('gkx-imagine-video', '[sandbox task_ms=0 task_end=expired]'), 'expired', 'expire'],
      [seedance('[sandbox task_ms=0 task_end=failed]'), 'OutputVideoSensitiveContentDetected', 'sensitive'],
    ]
    for (const [body, code, word] of made) {
      const response = await gateway.post(PATH, {
        ...body,
        ...(body.parameters && { parameters: body.parameters }),
      })
      const { id, error } = (await response.json()) as Json
      expect(error).toBeUndefined()
      const task = await endOf(gateway, clock, id)
      expect(task).toMatchObject({
        status: 'failed',
        error: { code, message: expect.stringContaining(word) },
      })
      expect(await rowsOf(gateway, id)).toMatchObject({
        charge_state: 'released',
        amount: 0,
        error_code: code,
      })
    }
  })
})

describe('the rules of all requests apply to tasks', () => {
  test('an idempotency key: one task, one call, and the same answer', async () => {
    const headers = { 'idempotency-key': 'a video' }
    const body = requestFor('vidw2.6-t2v')
    const calls = gateway.sandbox.calls.length
    const first = await gateway.post(PATH, body, headers)
    const again = await gateway.post(PATH, body, headers)
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 202, 'true'])
    const { id } = (await first.json()) as Json
    expect(((await again.json()) as Json).id).toBe(id)
    // The path of other gateways is the same one.
    const alias = await gateway.post('/v1/video/generations', body, headers)
    expect([alias.status, ((await alias.json()) as Json).id]).toEqual([202, id])
    expect((await gateway.post(PATH, { ...body, x: 1 }, headers)).status).toBe(422)
    expect(gateway.sandbox.calls.length - calls).toBe(1)
    // A refusal does not use it up.
    const refused = { ...body, input: { prompt: '[sandbox times=1 status=400]' } }
    const other = { 'idempotency-key': 'another video' }
    expect((await gateway.post(PATH, refused, other)).status).toBe(400)
    expect((await gateway.post(PATH, refused, other)).status).toBe(202)
  })

  test('two identical requests at the same moment: one task', async () => {
    const headers = { 'idempotency-key': 'twins' }
    const calls = gateway.sandbox.calls.length
    const body = requestFor('vidw2.6-t2v', { input: { prompt: '[sandbox delay_ms=200]' } })
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.post(PATH, body, headers)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(9)
    expect(gateway.sandbox.calls.length - calls).toBe(1)
  })

  test('a key’s limits: requests a minute, and running tasks are running requests', async () => {
    const slow = await gateway.makeKey('slow', '10', { requestsPerMinute: 2 })
    const body = requestFor('vidw2.6-t2v')
    const statuses: number[] = []
    for (let index = 0; index < 3; index++) {
      statuses.push((await gateway.post(PATH, body, { authorization: `Bearer ${slow.secret}` })).status)
    }
    expect(statuses).toEqual([202, 202, 429])
    const single = await gateway.makeKey('single', '10', { concurrency: 1 })
    const headers = { authorization: `Bearer ${single.secret}` }
    const first = await gateway.post(PATH, body, headers)
    const { id } = (await first.json()) as Json
    const second = await gateway.post(PATH, body, headers)
    expect([first.status, second.status]).toEqual([202, 429])
    expect(await second.json()).toMatchObject({ code: 'Throttling.ConcurrencyQuota', error: {} })
    await passUntil(clock, async () => (await readTask(gateway, id, single.secret)).status !== 'submitted')
    expect((await gateway.post(PATH, body, headers)).status).toBe(202)
  })

  test('a key that may not use the model, and a used-up budget', async () => {
    const narrow = await gateway.makeKey('narrow', '10', { models: ['test-chat'] })
    const body = requestFor('vidw2.6-t2v')
    const refused = await gateway.post(PATH, body, { authorization: `Bearer ${narrow.secret}` })
    expect([refused.status, ((await refused.json()) as Json).error.code]).toEqual([400, 'model_not_found'])
    const frugal = await gateway.makeKey('frugal', '10', { budgetNano: 9 * CENT, budgetPeriod: 'day' })
    const headers = { authorization: `Bearer ${frugal.secret}` }
    const first = await gateway.post(
      PATH,
      requestFor('vidw2.6-t2v', { input: { prompt: '[sandbox task_ms=0 task_end=failed]' } }),
      headers,
    )
    expect((await gateway.post(PATH, body, headers)).status).toBe(402)
    const { id } = (await first.json()) as Json
    await passUntil(clock, async () => (await readTask(gateway, id, frugal.secret)).status === 'failed')
    // A failed task gives its part of the budget back.
    expect((await gateway.post(PATH, body, headers)).status).toBe(202)
  })
})
