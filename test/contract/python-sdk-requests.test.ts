// The same comparison as in vendor-sdks.test.ts with official SDKs in Python: the SDKs and the gateway send the same requests to
// DashScope, ModelArk, Voyage and Cohere. SDKs that callers use with the gateway must also read its answers. xAI's SDK speaks gRPC: python-sdk-xai.test.ts compares its messages with ours.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { named, runOverLines, vendorPackages } from '../support/processes/python-packages'
import { asSent, differencesOf, type SentRequest } from '../support/vendors/wanted-differences'

setDefaultTimeout(600_000)

const python = await vendorPackages()
const free = { free: true } as const
const models: Record<string, ModelConfig> = {
  'qwen-image-2.0': { family: 'dashscope-images', upstream: 'dashscope', ...free },
  'qwen3-tts-flash': { family: 'dashscope-speech', upstream: 'dashscope', ...free },
  'wan2.6-t2v': { family: 'dashscope-video', upstream: 'dashscope', ...free },
  'seedream-4-5-251128': { family: 'ark-images', upstream: 'ark', ...free },
  'seedance-2-0-260128': { family: 'ark-video', upstream: 'ark', ...free },
  'voyage-4': { family: 'voyage-embeddings', upstream: 'voyage', ...free },
  'rerank-2.5': { family: 'voyage-rerank', upstream: 'voyage', ...free },
  'rerank-v3.5': { family: 'cohere-rerank', upstream: 'cohere', ...free },
}

interface Row {
  call: string
  vendor: 'dashscope' | 'ark' | 'voyage' | 'cohere'
  /** The SDK's arguments. */
  arguments: object
  /** Path and body of the same request to the gateway; absent if it uses another API of the vendor. */
  path?: string
  body?: object
  returns: object
  /** The path of the gateway's address for this SDK; absent if the SDK cannot be used with the gateway. */
  ownPath?: string
  /** Wanted differences by their places, each with its reason. */
  wanted?: Readonly<Record<string, string>>
}

const fox = { messages: [{ role: 'user', content: [{ text: 'A fox' }] }] }
const json = { 'header.accept': 'The gateway names the type of answer that it reads.' }
const ranked = { query: 'sky', documents: ['blue sky', 'green grass'] }
const rows: Readonly<Record<string, Row>> = {
  embeddings: {
    call: 'dashscope.embeddings',
    vendor: 'dashscope',
    arguments: { model: 'text-embedding-v4', input: ['a', 'b'], dimension: 256 },
    returns: { embeddings: [{ text_index: 0 }, { text_index: 1 }] },
  },
  'an image of DashScope': {
    call: 'dashscope.generation',
    vendor: 'dashscope',
    arguments: { model: 'qwen-image-2.0', ...fox, size: '1024*1024', n: 1, watermark: false },
    path: '/v1/images/generations',
    body: {
      model: 'qwen-image-2.0',
      input: fox,
      parameters: { size: '1024*1024', n: 1, watermark: false },
    },
    returns: { choices: [{ message: { content: [{ image: expect.any(String) }] } }] },
    wanted: json,
  },
  speech: {
    call: 'dashscope.generation',
    vendor: 'dashscope',
    arguments: { model: 'qwen3-tts-flash', text: 'Hi', voice: 'Cherry', language_type: 'English' },
    path: '/v1/audio/speech',
    body: { model: 'qwen3-tts-flash', input: 'Hi', voice: 'Cherry', language_type: 'English' },
    returns: { audio: { url: expect.any(String) } },
    wanted: { ...json, 'body.parameters': 'The SDK writes an empty object; speech has no parameters.' },
  },
  'a video of DashScope': {
    call: 'dashscope.video',
    vendor: 'dashscope',
    arguments: { model: 'wan2.6-t2v', prompt: 'Waves', size: '1280*720', duration: 5 },
    path: '/v1/videos/generations',
    body: {
      model: 'wan2.6-t2v',
      input: { prompt: 'Waves' },
      parameters: { size: '1280*720', duration: 5 },
    },
    returns: { task_status: 'PENDING' },
    wanted: {
      ...json,
      'body.input.extend_prompt':
        "The SDK adds it for older models; the API's name is parameters.prompt_extend.",
      'body.input.function': 'The SDK adds it for older models; the API has no such field.',
    },
  },
  'an image of ModelArk': {
    call: 'ark.image',
    vendor: 'ark',
    arguments: {
      model: 'seedream-4-5-251128',
      prompt: 'A fox',
      size: '2048x2048',
      response_format: 'url',
      watermark: false,
    },
    path: '/v1/images/generations',
    body: {
      model: 'seedream-4-5-251128',
      prompt: 'A fox',
      size: '2048x2048',
      response_format: 'url',
      watermark: false,
    },
    returns: { usage: { generated_images: 1 } },
  },
  'a video of ModelArk': {
    call: 'ark.video',
    vendor: 'ark',
    arguments: {
      model: 'seedance-2-0-260128',
      content: [{ type: 'text', text: 'Waves' }],
      resolution: '720p',
      duration: 5,
    },
    path: '/v1/videos/generations',
    body: {
      model: 'seedance-2-0-260128',
      content: [{ type: 'text', text: 'Waves' }],
      resolution: '720p',
      duration: 5,
    },
    returns: { id: expect.any(String) },
    wanted: {
      'body.execution_expires_after': 'The task ends at the vendor when the gateway gives it up.',
    },
  },
  'embeddings of Voyage': {
    call: 'voyage.embeddings',
    ownPath: '/v1',
    vendor: 'voyage',
    arguments: { texts: ['a', 'b'], model: 'voyage-4', input_type: 'query', output_dimension: 256 },
    path: '/v1/embeddings',
    body: { model: 'voyage-4', input: ['a', 'b'], input_type: 'query', dimensions: 256, truncation: true },
    returns: { embeddings: [Array(256).fill(expect.any(Number)), Array(256).fill(expect.any(Number))] },
    wanted: {
      ...json,
      'body.encoding_format': 'The SDK asks for base64 and decodes it. The gateway asks for numbers.',
    },
  },
  'reranking of Voyage': {
    call: 'voyage.rerank',
    ownPath: '/v1',
    vendor: 'voyage',
    arguments: { ...ranked, model: 'rerank-2.5', top_k: 1 },
    path: '/v1/rerank',
    body: { ...ranked, model: 'rerank-2.5', top_n: 1, truncation: true },
    returns: { results: [{ index: expect.any(Number), document: expect.any(String) }] },
    wanted: json,
  },
  'reranking of Cohere': {
    call: 'cohere.rerank',
    ownPath: '',
    vendor: 'cohere',
    arguments: { ...ranked, model: 'rerank-v3.5', top_n: 1 },
    path: '/v1/rerank',
    body: { ...ranked, model: 'rerank-v3.5', top_n: 1 },
    returns: { results: [{ index: expect.any(Number), relevance_score: expect.any(Number) }] },
    wanted: json,
  },
}

const ownRows = Object.entries(rows).filter(([, { ownPath }]) => ownPath !== undefined)

describe('called as by its Python SDK', () => {
  let sandbox: Sandbox
  let gateway: TestGateway
  type Answer = { result?: object; error?: string }
  const answers: Answer[] = []
  const direct: SentRequest[] = []
  /** The results of calls to the gateway. */
  const own: Answer[] = []

  beforeAll(async () => {
    if (!python.folder) return
    sandbox = startSandbox({ record: true })
    gateway = await startTestGateway({ sandbox, models })
    const { baseUrls, secrets } = sandbox
    const ofVendors = Object.values(rows).map((row) => lineOf(row, baseUrls[row.vendor], secrets[row.vendor]))
    answers.push(...(await called(python.folder, ofVendors)))
    direct.push(...sandbox.calls.map(asSent))
    const ofGateway = ownRows.map(([, row]) => lineOf(row, gateway.url + row.ownPath, gateway.secret))
    own.push(...(await called(python.folder, ofGateway)))
  })
  afterAll(async () => {
    await gateway?.close()
    await sandbox?.stop()
  })

  for (const [index, [name, row]] of Object.entries(rows).entries()) {
    test.skipIf(!python.folder)(named(name, python), async () => {
      expect(answers[index]).toMatchObject({ result: row.returns })
      expect(direct).toHaveLength(Object.keys(rows).length)
      if (!row.path) return
      const before = sandbox.calls.length
      const response = await gateway.post(row.path, row.body)
      if (!response.ok) throw new Error(await response.text())
      await response.arrayBuffer()
      const [byGateway] = sandbox.calls.slice(before).filter(({ method }) => method === 'POST')
      if (!byGateway) throw new Error('the vendor got no request')
      const differences = differencesOf(withoutNulls(direct[index] as SentRequest), asSent(byGateway))
      const { wanted = {} } = row
      const unwanted = Object.entries(differences).filter(([place]) => !(place in wanted))
      expect(unwanted).toEqual([])
      expect(Object.keys(wanted).filter((place) => !(place in differences))).toEqual([])
    })
  }

  for (const [index, [name, row]] of ownRows.entries()) {
    test.skipIf(!python.folder)(named(`${name}, from the gateway`, python), () => {
      expect(own[index]).toMatchObject({ result: row.returns })
    })
  }

  /** The results of all calls, by one process. */
  function called(folder: string, lines: readonly string[]): Promise<Answer[]> {
    return runOverLines(folder, 'vendor_calls.py', lines)
  }
})

function lineOf({ call, arguments: given }: Row, url: string, key: string): string {
  return JSON.stringify({ call, url, key, arguments: given })
}

/** A request without members that are null, which some SDKs write for every argument that is not given. */
function withoutNulls(request: SentRequest): SentRequest {
  return JSON.parse(JSON.stringify(request), (_, value) => (value === null ? undefined : value))
}
