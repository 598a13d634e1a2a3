// xAI's official SDK speaks gRPC, which the gateway does not; the fields and words of its messages are those of the REST API except a
// list of names. What the gateway sends and the simulated vendor answers is compared with these messages, and each word that they know
// must get through the gateway.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { named, runOverLines, xaiPackage } from '../support/processes/python-packages'
import type { Json } from '../support/scenario'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(600_000)

const python = await xaiPackage()
const judged = test.skipIf(!python.folder)
const name = (text: string) => named(text, python)
const model = (family: string, upstreamModel: string, upstream = 'xai'): ModelConfig => ({
  family,
  upstream,
  upstreamModel,
  free: true,
})
const models: Record<string, ModelConfig> = {
  chat: model('openai-chat', 'grok-4.6'),
  image: model('xai-images', 'grok-imagine-image'),
  video: model('xai-video', 'grok-imagine-video'),
  'video-of-image': model('xai-video', 'grok-imagine-video-1.5'),
  'any-chat': model('openai-chat', 'grok-4.6', 'odd'),
  'any-image': model('xai-images', 'grok-imagine-image-2.0', 'odd'),
  'any-video': model('xai-video', 'grok-imagine-video', 'odd'),
}

/** Places where the REST API has other names or forms than the messages, by the documentation at docs.x.ai. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  url: 'ImageUrlContent',
  response_format: 'GenerateImageRequest',
  mime_type: 'GeneratedImage',
  revised_prompt: 'GeneratedImage',
  stream: 'GetCompletionsRequest',
  stream_options: 'GetCompletionsRequest',
  prompt_tokens_details: 'SamplingUsage',
  completion_tokens_details: 'SamplingUsage',
}
const address = { url: 'https://example.com/a.png' }

/** A request to the gateway, and the message that corresponds to its vendor's request. */
const requests: Record<string, { path: string; body: Json; message: string; except?: readonly string[] }> = {
  'a video of a text': {
    path: '/v1/videos/generations',
    body: { model: 'video', prompt: 'Waves', duration: 5, resolution: '720p', aspect_ratio: '16:9' },
    message: 'video.GenerateVideoRequest',
  },
  'a video of references': {
    path: '/v1/videos/generations',
    body: { model: 'video', prompt: 'Waves', reference_images: [address], duration: 4 },
    message: 'video.GenerateVideoRequest',
  },
  'a video of an image': {
    path: '/v1/videos/generations',
    body: { model: 'video-of-image', prompt: 'Waves', image: address, last_frame: address },
    message: 'video.GenerateVideoRequest',
  },
  'an image': {
    path: '/v1/images/generations',
    body: {
      model: 'image',
      prompt: 'A fox',
      n: 2,
      aspect_ratio: '19.5:9',
      resolution: '1k',
      response_format: 'url',
    },
    message: 'image.GenerateImageRequest',
  },
  'a chat': {
    path: '/v1/chat/completions',
    body: {
      ...{ model: 'chat', messages: say('Hi'), max_tokens: 20, temperature: 0.5, top_p: 0.9, seed: 7, n: 1 },
      ...{
        reasoning_effort: 'xhigh',
        parallel_tool_calls: false,
        user: 'ann',
        logprobs: true,
        top_logprobs: 2,
      },
    },
    message: 'chat.GetCompletionsRequest',
    // Roles are words of another enumeration, and a text stands for a list of one.
    except: ['$.messages.0.content', '$.messages.0.role'],
  },
}

/** Fields whose words must get through, each with a request that has them. */
const words: [field: string, path: string, body: Json][] = [
  ['video.GenerateVideoRequest.resolution', '/v1/videos/generations', { model: 'any-video', prompt: 'x' }],
  ['video.GenerateVideoRequest.aspect_ratio', '/v1/videos/generations', { model: 'any-video', prompt: 'x' }],
  ['image.GenerateImageRequest.resolution', '/v1/images/generations', { model: 'any-image', prompt: 'x' }],
  ['image.GenerateImageRequest.aspect_ratio', '/v1/images/generations', { model: 'any-image', prompt: 'x' }],
  ['image.GenerateImageRequest.quality', '/v1/images/generations', { model: 'any-image', prompt: 'x' }],
  [
    'chat.GetCompletionsRequest.reasoning_effort',
    '/v1/chat/completions',
    { model: 'any-chat', messages: say('x') },
  ],
]
/** Words that a model of the field does not take. */
const NOT_TAKEN = new Set(['reasoning_effort none'])

describe('by the messages of the Python SDK', () => {
  let sandbox: Sandbox
  let gateway: TestGateway
  let odd: OddVendor
  let received: Json | undefined

  beforeAll(async () => {
    if (!python.folder) return
    sandbox = startSandbox({ record: true })
    odd = startVendor({
      async answer(request) {
        received = (await request.json()) as Json
        return Response.json({ error: 'Read.' }, { status: 400 })
      },
    })
    gateway = await startTestGateway({
      sandbox,
      models,
      upstreams: { odd: { kind: 'xai', baseUrl: odd.url, apiKey: 'none' } },
    })
  })
  afterAll(async () => {
    await gateway?.close()
    await sandbox?.stop()
    await odd?.stop()
  })

  /** The faults of values by their messages, without fields that have another name in the REST API. */
  async function faultsOf(lines: readonly [message: string, value: Json][]): Promise<string[][]> {
    const all = await runOverLines<string[]>(
      python.folder ?? '',
      'xai_messages.py',
      lines.map(([message, value]) => `${message} ${JSON.stringify(value)}`),
    )
    return all.map((faults) => faults.filter((fault) => !isOtherName(fault)))
  }

  for (const [what, { path, body, message, except = [] }] of Object.entries(requests)) {
    judged(name(`what is sent for ${what}`), async () => {
      const before = sandbox.calls.length
      const response = await gateway.post(path, body)
      if (!response.ok) throw new Error(await response.text())
      await response.arrayBuffer()
      const call = sandbox.calls.slice(before).find(({ method }) => method === 'POST')
      const [faults] = await faultsOf([[message, JSON.parse(call?.body ?? '{}')]])
      expect(faults?.filter((fault) => !except.some((place) => fault.startsWith(place)))).toEqual([])
    })
  }

  judged(name('what the simulated vendor answers'), async () => {
    const ask = async (path: string, body?: Json): Promise<Json> => {
      const headers = { authorization: `Bearer ${sandbox.secrets.xai}`, 'content-type': 'application/json' }
      const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
      const text = await (await fetch(sandbox.baseUrls.xai + path, { headers, ...init })).text()
      return text === '' ? {} : JSON.parse(text)
    }
    const ended = async (id: string): Promise<Json> => {
      let answer: Json = {}
      await waitFor(async () => {
        answer = await ask(`/videos/${id}`)
        return ['done', 'failed'].includes(answer?.status)
      })
      return answer
    }
    const prompt = '[sandbox task_ms=1] A fox'
    const pictures = await ask('/images/generations', {
      model: 'grok-imagine-image',
      prompt,
      response_format: 'url',
    })
    const { request_id: id } = await ask('/videos/generations', {
      model: 'grok-imagine-video',
      prompt,
      duration: 3,
    })
    const { status, ...video } = await ended(id)
    expect(status).toBe('done')
    const failing = await ask('/videos/generations', {
      model: 'grok-imagine-video',
      prompt: '[sandbox task_ms=1 task_end=failed] x',
    })
    const { status: end, ...failed } = await ended(failing.request_id)
    expect(end).toBe('failed')
    const chat = await ask('/chat/completions', { model: 'grok-4.6', messages: say('Hi') })
    const { data: images, ...rest } = pictures
    expect(
      await faultsOf([
        ['image.ImageResponse', { images, ...rest }],
        ['video.VideoResponse', video],
        ['video.VideoResponse', failed],
        ['usage.SamplingUsage', chat.usage],
      ]),
    ).toEqual([[], [], [], []])
  })

  judged(name('each word that a field has gets through'), async () => {
    const known = await runOverLines<string[]>(
      python.folder ?? '',
      'xai_messages.py',
      words.map(([field]) => `words:${field} `),
    )
    for (const [index, [field, path, body]] of words.entries()) {
      const member = field.split('.').at(-1) as string
      expect(known[index]?.length).toBeGreaterThan(1)
      for (const word of known[index] ?? []) {
        const value = wordOf(word)
        if (NOT_TAKEN.has(`${member} ${value}`)) continue
        received = undefined
        const response = await gateway.post(path, { ...body, [member]: value })
        expect([field, value, received?.[member], await response.text()]).toEqual([
          field,
          value,
          value,
          expect.any(String),
        ])
      }
    }
  })
})

/** The word of the REST API for a name of an enumeration: `VIDEO_ASPECT_RATIO_16_9` is `16:9`. */
function wordOf(name: string): string {
  const end = /(?:RATIO|RESOLUTION|QUALITY|EFFORT)_(.+)$/.exec(name)?.[1]?.toLowerCase() ?? name
  return end.replace('19_5', '19.5').replace(/^([\d.]+)_([\d.]+)$/, '$1:$2')
}

function isOtherName(fault: string): boolean {
  const [, member = '', message] = /\.(\w+): not in (\w+)$/.exec(fault) ?? []
  return OTHER_NAMES[member] !== undefined && OTHER_NAMES[member] === message
}
