// Guarantees of video families beyond their requests: the vendor accepts a plain request, no
// answer of a vendor causes an internal error, and invalid usage is never a credit.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import {
  type Family,
  type Model,
  type PlainRequest,
  type TaskFamily,
  taskOf,
} from '../../src/contract/family'
import { families } from '../../src/families'
import { parseUsd } from '../../src/lib/money'
import { branchesOf, withValue } from '../support/answers/json-paths'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { videoVendors } from '../support/vendors/video-replies'
import { endAll, endOf, makeClock, readTask, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const IMAGE = 'https://example.com/first.png'
const catalogue = Object.entries(shipped.models as Record<string, ModelConfig>)
const videoModels = catalogue.filter(([, { family }]) => families.get(String(family))?.kind === 'task')

const clock = makeClock()
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '1000',
    models: Object.fromEntries(videoModels),
    outside: clock,
  })
})
afterAll(() => gateway.close())

test('inputs of a video are charged as the simulated vendors bill them, at the prices of the catalogue', async () => {
  const url = 'https://example.com/a.mp4'
  const media = (count: number) => ({
    prompt: 'A harbour',
    media: Array.from({ length: count }, () => ({ type: 'reference_video', url })),
  })
  const seedance = (duration: number) => ({
    duration,
    content: [
      { type: 'text', text: 'A harbour' },
      { type: 'video_url', video_url: { url }, role: 'reference_video' },
    ],
  })
  const rows: [model: string, body: Json, heldUsd: string, paidUsd: string][] = [
    // At most five seconds of all references together are billed.
    ['vidw2.7-r2v', { input: media(2) }, '1', '1'],
    ['wan3.0-video', { input: media(1) }, '2', '1'],
    ['wan3.0-video', { input: media(2), duration: -1, resolution: '480p' }, '2.25', '1.1'],
    ['seedance-2.0', seedance(5), '1.88', '0.846'],
    // The model chooses nine seconds.
    ['seedance-2.0', seedance(-1), '2.82', '1.222'],
    ['seedance-2.0', { ...seedance(5), resolution: '1080p' }, '7.54', '3.393'],
  ]
  for (const [model, body, heldUsd, paidUsd] of rows) {
    const response = await gateway.post('/v1/videos/generations', { model, ...body })
    const { id, error } = (await response.json()) as Json
    expect({ model, error }).toEqual({ model, error: undefined })
    expect(await rowsOf(gateway, id)).toMatchObject({ held: parseUsd(heldUsd) as number })
    await endOf(gateway, clock, id)
    expect({ model, ...(await rowsOf(gateway, id)) }).toMatchObject({
      model,
      amount: parseUsd(paidUsd) as number,
      usage_source: 'upstream',
      shortfall: 0,
    })
  }
})

describe('plain requests', () => {
  test('are accepted by the vendor of every model', async () => {
    const tasks: { model: string; asked: object; id: string }[] = []
    for (const [id, entry] of videoModels) {
      const family = families.get(String(entry.family)) as Family
      const model = gateway.server.world.catalogue.models.get(id)?.[0] as Model
      const count = Math.max(entry.referenceImages?.min ?? 0, /i2v|r2v/.test(id) ? 1 : 0)
      const images = Array.from({ length: count }, () => IMAGE)
      const asked: Omit<PlainRequest, 'text'>[] = [
        {},
        { duration: model.durations?.default ?? 5, resolution: '720p' },
        { size: '720x1280' },
      ]
      // An editor needs a video, which a plain prompt lacks.
      if (id === 'runway-aleph2') continue
      for (const about of asked) {
        const body = family.plain.body({ text: 'A harbour', ...about, images }, model)
        const response = await gateway.post('/v1/videos/generations', { model: id, ...body })
        const json = (await response.json()) as Json
        expect({ id, about, error: json.error }).toEqual({ id, about, error: undefined })
        tasks.push({ model: id, asked: about, id: json.id })
      }
    }
    // The simulators reject what the vendors would reject.
    await endAll(gateway, clock)
    for (const { id, ...about } of tasks) {
      const { status, error } = await readTask(gateway, id)
      expect({ ...about, status, error }).toEqual({ ...about, status: 'succeeded', error: undefined })
    }
  })

  test('send the aspect ratio in each vendor’s form', () => {
    const rows: [family: string, upstreamModel: string, images: number, expected: Json][] = [
      ['dashscope-video', 'wan2.6-t2v', 0, { parameters: { size: '720*1280' } }],
      ['dashscope-video', 'wan2.7-t2v', 0, { resolution: '720p', aspect_ratio: '9:16' }],
      ['dashscope-video', 'wan2.7-i2v', 1, { input: { media: [{ type: 'first_frame', url: IMAGE }] } }],
      ['dashscope-video', 'wan2.6-i2v', 1, { input: { img_url: IMAGE } }],
      ['dashscope-video', 'wan2.6-r2v', 1, { input: { reference_urls: [IMAGE] } }],
      ['dashscope-video', 'wan3.0-video', 2, { input: { media: [{ type: 'reference_image' }, {}] } }],
      ['xai-video', 'grok-imagine-video', 1, { image: { url: IMAGE }, aspect_ratio: '9:16' }],
      ['xai-video', 'grok-imagine-video', 2, { reference_images: [{ url: IMAGE }, { url: IMAGE }] }],
      ['ark-video', 'seedance', 1, { ratio: '9:16', content: [{ text: 'x' }, { role: 'first_frame' }] }],
      ['ark-video', 'seedance', 2, { content: [{}, { role: 'reference_image' }, {}], resolution: '720p' }],
    ]
    for (const [family, upstreamModel, count, expected] of rows) {
      const asked = { text: 'x', size: '720x1280', images: Array(count).fill(IMAGE) }
      const body = families.get(family)?.plain?.body(asked, { upstreamModel } as Model)
      expect(body).toMatchObject(expected)
    }
  })
})

const isGiven = <Value>(value: Value | undefined): value is Value => value !== undefined
const ODD = [undefined, null, 7, 'x', [], [null], {}]

describe.each(Object.values(videoVendors))(
  '$family',
  ({ family: name, model, body, rows, submitted, result: whole }) => {
    const family = families.get(name) as Family
    const contract = taskOf(family) as TaskFamily['task']
    const pollContext = { seed: null, vendorChooses: true, app: 'owner/app' }

    test('reads an answer of any form, and reports success only with a video', () => {
      const answers = rows.flatMap(([, { reply, result }]) => [
        { answer: reply, read: (odd: object) => contract.outcome(odd, pollContext) },
        {
          answer: result?.reply ?? whole,
          read: (odd: object) => contract.result?.outcome({ reply: odd }, Object(reply), pollContext),
        },
      ])
      for (const { answer, read } of answers) {
        if (typeof answer !== 'object') continue
        for (const path of branchesOf(answer)) {
          for (const value of ODD) {
            const outcome = read(withValue(answer, path, value))
            if (outcome?.status === 'succeeded') expect(outcome.videoUrl).toMatch(/^(https:|x$)/)
            if (outcome?.status === 'failed') {
              expect(outcome.error).toEqual({
                code: expect.any(String),
                message: expect.stringMatching(/\S/),
              })
            }
          }
        }
      }
    })

    test('finds an id only in an answer of its own form', () => {
      const reply = submitted('task-1')
      expect(contract.id(reply)).toBe('task-1')
      for (const path of branchesOf(reply)) {
        for (const value of ODD) {
          const changed = withValue(reply, path, value)
          // An id may be a number.
          expect(['task-1', 'x', '7', undefined]).toContain(contract.id(changed))
          const { end } = family.read(changed, { body, byteLength: 0, at: 0 }, {} as Model)
          expect([undefined, 'failed']).toContain(end)
        }
      }
    })

    test('stores a small memo of any request, and escapes the vendor’s ids', () => {
      const odd = { ...body(''), seed: 'x'.repeat(10_000), parameters: { seed: ['x'.repeat(10_000)] } }
      const priceList = { isFree: true, tables: [] }
      const of = { upstreamModel: model, priceList } as unknown as Model
      expect(JSON.stringify(contract.pollContext(odd, of)).length).toBeLessThan(200)
      for (const { path } of [
        contract.poll('../a?b#c', { pollContext }),
        contract.cancel?.('../a?b#c', { pollContext }),
      ].filter(isGiven))
        expect(path).toMatch(/[/=]\.\.%2Fa%3Fb%23c/)
    })
  },
)
