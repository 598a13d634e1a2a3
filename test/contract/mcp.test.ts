// The tools for models, called by the official client: their answers, their costs, and refusals before anything is sent. The real
// gateway and real HTTP to the simulated vendors.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { wavOf } from '../../src/lib/file-formats/wav'
import { startTestGateway, type TestGateway, videoModels, waitFor, withinOneMinute } from '../support/gateway'
import { callTool, connect, dataUrl, nano, toolModels } from '../support/mcp'
import { rejection } from '../support/rejection'

setDefaultTimeout(180_000)

let gateway: TestGateway
let client: Client

beforeAll(async () => {
  gateway = await startTestGateway({ models: toolModels, balance: '1000' })
  client = await connect(gateway.url, gateway.secret)
})

afterAll(async () => {
  await client.close()
  await gateway.close()
})

const call = (name: string, args: Record<string, unknown>) => callTool(gateway, client, name, args)
const PICTURE = dataUrl('png')
const samples = wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(48_000)])
const threeSeconds = `data:audio/wav;base64,${Buffer.from(samples).toString('base64')}`

describe('the list of tools', () => {
  const NAMES = [
    'list_models',
    'chat',
    'embed',
    'rerank',
    'moderate',
    'speak',
    'transcribe',
    'generate_image',
    'edit_image',
    'generate_video',
    'get_video',
    'get_balance',
    'get_price',
  ]
  const FREE = ['list_models', 'get_video', 'get_balance', 'get_price']

  test('is the same each time, with schemas, and says which tools cost money', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(NAMES)
    expect((await client.listTools()).tools).toEqual(tools)
    for (const { name, inputSchema, outputSchema, annotations, description } of tools) {
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object'])
      expect(description?.length).toBeGreaterThan(20)
      const isFree = FREE.includes(name)
      expect(annotations).toMatchObject({ readOnlyHint: isFree, destructiveHint: false })
      expect('max_cost_usd' in (inputSchema.properties ?? {})).toBe(!isFree)
    }
    expect(client.getServerVersion()?.name).toBe('unified-model-gateway')
    expect(client.getInstructions()).toContain('list_models')
  })
})

interface Scenario {
  tool: string
  args: Record<string, unknown>
  cost: string
  content: string[]
  structured: object
}

const priced: Record<string, Scenario> = {
  'a chat': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!' },
    cost: '0.000042',
    content: ['text'],
    structured: { text: expect.stringContaining('You said: Hello!'), finish_reason: 'stop' },
  },
  'a chat in messages, with a system prompt, by a model of another form': {
    tool: 'chat',
    args: {
      model: 'test-messages',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello!' }],
      max_tokens: 50,
    },
    cost: '0.000045',
    content: ['text'],
    structured: { text: expect.stringContaining('Hello!') },
  },
  'further members of the request': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', options: { n: 2 } },
    cost: '0.000086',
    content: ['text'],
    structured: { choices: [expect.any(Object), expect.any(Object)] },
  },
  embeddings: {
    tool: 'embed',
    args: { model: 'test-embedding', input: ['one', 'two'], dimensions: 8 },
    cost: '0.000002',
    content: ['text'],
    structured: { dimensions: 8, embeddings: [expect.any(Array), expect.any(Array)] },
  },
  ranks: {
    tool: 'rerank',
    args: { model: 'rerank-v4.0-fast', query: 'red foxes', documents: ['a cat', 'two red foxes'], top_n: 1 },
    cost: '0.002',
    content: ['text'],
    structured: { results: [{ index: 1, relevance_score: expect.any(Number) }] },
  },
  'a judgement': {
    tool: 'moderate',
    args: { model: 'test-moderation', input: ['hello', 'hate'] },
    cost: '0.001',
    content: ['text'],
    structured: { results: [{ flagged: false }, { flagged: true }] },
  },
  'a transcript': {
    tool: 'transcribe',
    args: { model: 'whisper-1', audio: threeSeconds, language: 'en' },
    cost: '0.0003',
    content: ['text'],
    structured: { text: expect.stringContaining('audio.wav'), usage: { type: 'duration', seconds: 3 } },
  },
  'subtitles of a translation': {
    tool: 'transcribe',
    args: { model: 'whisper-1', audio: threeSeconds, translate: true, response_format: 'vtt' },
    cost: '0.0003',
    content: ['text'],
    structured: { text: expect.stringContaining('WEBVTT') },
  },
  speech: {
    tool: 'speak',
    args: { model: 'qnx3-tts-flash', input: 'Hello' },
    cost: '0.000005',
    content: ['text', 'audio'],
    structured: { audio: { mime_type: 'audio/mpeg', inline: true, bytes: expect.any(Number) } },
  },
  'speech as WAV': {
    tool: 'speak',
    args: { model: 'qnx3-tts-flash', input: 'Hello', response_format: 'wav' },
    cost: '0.000005',
    content: ['text', 'audio'],
    structured: { audio: { mime_type: 'audio/wav', inline: true, bytes: expect.any(Number) } },
  },
  'an image at an address': {
    tool: 'generate_image',
    args: { model: 'qnx-image-2.0', prompt: 'a fox' },
    cost: '0.035',
    content: ['text', 'resource_link'],
    structured: { images: [{ url: expect.stringContaining('http'), mime_type: 'image/png' }] },
  },
  'several images': {
    tool: 'generate_image',
    args: { model: 'gkx-imagine-image', prompt: 'a fox', n: 2 },
    cost: '0.04',
    content: ['text', 'resource_link', 'resource_link'],
    structured: { images: [{ url: expect.any(String) }, { url: expect.any(String) }] },
  },
  'an image as bytes': {
    tool: 'generate_image',
    args: { model: 'dle-2', prompt: 'a fox', options: { response_format: 'b64_json' } },
    cost: '0.02',
    content: ['text', 'image'],
    structured: { images: [{ mime_type: 'image/png', inline: true }] },
  },
  'an edit of uploaded files': {
    tool: 'edit_image',
    args: { model: 'dle-2', prompt: 'a hat', images: [PICTURE], mask: PICTURE },
    cost: '0.02',
    content: ['text', 'image'],
    structured: { images: [{ mime_type: 'image/png' }] },
  },
  'an edit of images in the request': {
    tool: 'edit_image',
    args: { model: 'qnx-image-edit', prompt: 'a hat', images: [PICTURE] },
    cost: '0.045',
    content: ['text', 'resource_link'],
    structured: { images: [{ url: expect.any(String) }] },
  },
}

describe('an answer has the exact cost, and is one charge', () => {
  for (const [name, { tool, args, cost, content, structured }] of Object.entries(priced)) {
    test(name, async () => {
      const { result, json, calls, charges, logRows } = await call(tool, args)
      expect(result.isError).toBeUndefined()
      expect(json).toEqual(result.structuredContent)
      expect(result.structuredContent).toMatchObject({ ...structured, cost_usd: cost, model: args.model })
      expect(result.content.map(({ type }) => type)).toEqual(content as never[])
      expect([calls, charges.length, logRows.length]).toEqual([1, 1, 1])
      expect(charges[0]).toMatchObject({
        id: json.request_id,
        state: 'settled',
        amount: nano(cost),
        ended_by: 'done',
      })
    })
  }

  test('an image paid by its tokens', async () => {
    const { json, charges, result } = await call('generate_image', {
      model: 'pgt-image-2',
      prompt: 'a fox',
      quality: 'low',
      size: '1024x1024',
    })
    expect(nano(json.cost_usd)).toBe(Number(charges[0]?.amount))
    expect(nano(json.cost_usd)).toBeGreaterThan(0)
    const [, image] = result.content
    expect(image).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
      data: expect.stringMatching(/^iVBOR/),
    })
  })
})

const refused: Record<
  string,
  { tool: string; args: Record<string, unknown>; status: number; says: string[] }
> = {
  'a quote above the limit': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', max_cost_usd: 0.008 },
    status: 400,
    says: ['max_cost_exceeded', '0.008 USD', 'max_cost_usd', 'Nothing was sent'],
  },
  'a video above the limit': {
    tool: 'generate_video',
    args: { model: 'vidw2.6-t2v', prompt: 'a fox', duration: 5, max_cost_usd: '0.049' },
    status: 400,
    says: ['max_cost_exceeded', '0.05 USD'],
  },
  'a limit that is not money': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', max_cost_usd: 'cheap' },
    status: 400,
    says: ['max_cost_usd', 'such as 0.05'],
  },
  'an unknown model': {
    tool: 'chat',
    args: { model: 'nope', prompt: 'Hello!' },
    status: 400,
    says: ['model_not_found', 'nope'],
  },
  'a model of another tool': {
    tool: 'embed',
    args: { model: 'test-chat', input: 'Hello!' },
    status: 400,
    says: ['endpoint_model_mismatch'],
  },
  'no model': { tool: 'chat', args: { prompt: 'Hello!' }, status: 400, says: ["'model'"] },
  'an argument that no tool has': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', promt: 'x' },
    status: 400,
    says: ['promt', 'The tool chat takes', 'prompt'],
  },
  'a command to run': {
    tool: 'list_models',
    args: { transport: 'stdio', command: 'touch', args: ['/tmp/owned'] },
    status: 400,
    says: ['unknown_parameter', "'transport'"],
  },
  'an argument that the model does not take': {
    tool: 'generate_image',
    args: { model: 'qnx-image-2.0', prompt: 'a fox', quality: 'high' },
    status: 400,
    says: ["'quality'", 'It takes size'],
  },
  'both a prompt and messages': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', messages: [{ role: 'user', content: 'x' }] },
    status: 400,
    says: ["either 'prompt'", "'messages'"],
  },
  'neither a prompt nor messages': {
    tool: 'chat',
    args: { model: 'test-chat' },
    status: 400,
    says: ["either 'prompt'"],
  },
  'a stream': {
    tool: 'chat',
    args: { model: 'test-chat', prompt: 'Hello!', options: { stream: true } },
    status: 400,
    says: ['options.stream'],
  },
  'a model in the options': {
    tool: 'generate_image',
    args: { model: 'dle-2', prompt: 'a fox', options: { model: 'pgt-image-2' } },
    status: 400,
    says: ['options.model'],
  },
  'an address where files are wanted': {
    tool: 'edit_image',
    args: { model: 'dle-2', prompt: 'a hat', images: ['http://169.254.169.254/latest'] },
    status: 400,
    says: ['images[0]', 'data URL'],
  },
  'a mask for a model without masks': {
    tool: 'edit_image',
    args: { model: 'qnx-image-edit', prompt: 'a hat', images: [PICTURE], mask: PICTURE },
    status: 400,
    says: ["'mask'", 'Leave it out'],
  },
  'numbers in another form': {
    tool: 'embed',
    args: { model: 'test-embedding', input: 'x', options: { encoding_format: 'base64' } },
    status: 400,
    says: ['options.encoding_format'],
  },
  'a video that does not exist': {
    tool: 'get_video',
    args: { id: 'video_nope' },
    status: 404,
    says: ['task_not_found'],
  },
  'a wait without end': {
    tool: 'get_video',
    args: { id: 'video_nope', wait_seconds: 100_000 },
    status: 400,
    says: ["'wait_seconds'", '300'],
  },
  'a price of a free tool': {
    tool: 'get_price',
    args: { tool: 'get_balance', arguments: {} },
    status: 400,
    says: ["'tool'", 'generate_video'],
  },
}

describe('is rejected with its status and code: nothing is sent or held', () => {
  for (const [name, { tool, args, status, says }] of Object.entries(refused)) {
    test(name, async () => {
      const { result, json, calls, charges } = await call(tool, args)
      expect(result.isError).toBe(true)
      expect(result.structuredContent).toBeUndefined()
      expect(json).toMatchObject({ status, request_id: expect.stringMatching(/^req_/) })
      for (const word of says) expect(JSON.stringify(json.error)).toContain(word)
      expect([calls, charges.length]).toEqual([0, 0])
    })
  }

  test('a tool that does not exist is an error of the protocol', async () => {
    expect((await rejection(client.callTool({ name: 'rm', arguments: {} }))).message).toMatch(
      /-32602.*Unknown tool: rm/,
    )
  })
})

describe('errors of vendors', () => {
  test('about the request keep their status, and the hold is released', async () => {
    const { result, json, charges, calls } = await call('chat', {
      model: 'test-chat',
      prompt: '[sandbox status=400 error_text=too_spicy error_code=spicy] Hello!',
    })
    expect(result.isError).toBe(true)
    expect(json.status).toBe(400)
    expect(json.error.message).toContain('too_spicy')
    expect(calls).toBe(1)
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('in the middle of a sound leave what has come, with its cost', async () => {
    const args = { model: 'qnx3-tts-flash', input: `[sandbox cut_after=3] ${'Hello! '.repeat(50)}` }
    const { result, json, charges } = await call('speak', args)
    expect(result.isError).toBe(true)
    expect(json.error.code).toBe('sound_cut')
    expect(json.audio.bytes).toBeGreaterThan(0)
    expect(charges).toMatchObject([{ state: 'settled', ended_by: 'upstream', amount: nano(json.cost_usd) }])
  })

  test('of their own are temporary errors, and the hold is released', async () => {
    const { result, json, charges } = await call('chat', {
      model: 'test-chat',
      prompt: '[sandbox status=500] Hello!',
    })
    expect(result.isError).toBe(true)
    expect(json.status).toBeGreaterThanOrEqual(500)
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    expect((await gateway.balance()).heldNano).toBe(0)
  })
})

test('an image given as a data URL goes to the vendor, and is not priced as a text', async () => {
  const args = { model: 'gmx-3-pro-image', prompt: 'a hat', images: [dataUrl('png', 1024, 1024)] }
  const bare = { tool: 'generate_image', arguments: { model: args.model, prompt: args.prompt } }
  const most = nano((await call('get_price', { tool: 'edit_image', arguments: args })).json.max_cost_usd)
  const without = nano((await call('get_price', bare)).json.max_cost_usd)
  expect(most - without).toBeGreaterThan(0)
  expect(most).toBeLessThan(2 * without)
  expect((await call('edit_image', args)).charges).toMatchObject([{ state: 'settled', held: most }])
  expect(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')).toMatchObject({
    input: [
      { type: 'image', mime_type: 'image/png' },
      { type: 'text', text: 'a hat' },
    ],
  })
})

describe('videos', () => {
  test('a task begins at once, is waited for with progress, and ends with its exact cost', async () => {
    const begun = await call('generate_video', {
      model: 'gkx-imagine-video',
      prompt: '[sandbox task_ms=2500] a fox',
      duration: 5,
      max_cost_usd: 0.05,
    })
    expect(begun.json).toMatchObject({ status: 'submitted', held_usd: '0.025', model: 'gkx-imagine-video' })
    expect(begun.charges).toMatchObject([{ state: 'held', held: nano('0.025') }])
    expect((await call('get_video', { id: begun.json.id, wait_seconds: 0 })).json.status).toBe('submitted')
    const ended = await call('get_video', { id: begun.json.id, wait_seconds: 30 })
    expect(ended.json).toMatchObject({ id: begun.json.id, status: 'succeeded', cost_usd: '0.025' })
    expect(ended.result.content[1]).toMatchObject({
      type: 'resource_link',
      uri: ended.json.video_url,
      mimeType: 'video/mp4',
    })
    const figures = ended.progress.map(({ progress }) => progress)
    expect(figures.length).toBeGreaterThan(1)
    expect(figures).toEqual([...new Set(figures)].sort((a, b) => a - b))
    expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', amount: nano('0.025') })
  })

  test('a request that is answered later over HTTP is looked after too, with its answer', async () => {
    const body = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }], async: true }
    const task = (await (await gateway.post('/v1/chat/completions', body)).json()) as {
      id: string
      result_url: string
    }
    const { json } = await call('get_video', { id: task.id, wait_seconds: 30 })
    expect(json).toMatchObject({
      id: task.id,
      status: 'succeeded',
      operation: 'chat',
      result: { object: 'chat.completion' },
      result_url: task.result_url,
    })
  })

  test('a task that fails says why, and costs nothing', async () => {
    const begun = await call('generate_video', {
      model: 'vidw2.6-t2v',
      prompt: '[sandbox task_ms=1 task_end=failed] a fox',
    })
    const { result, json } = await call('get_video', { id: begun.json.id })
    expect(result.isError).toBe(true)
    expect(json).toMatchObject({ status: 'failed', cost_usd: '0.00', error: { code: expect.any(String) } })
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released' })
  })

  test('another account does not see them', async () => {
    const begun = await call('generate_video', { model: 'vidw2.6-t2v', prompt: '[sandbox task_ms=1] a fox' })
    const { secret } = await gateway.makeKey('mallory', '1')
    const other = await connect(gateway.url, secret)
    const { json } = await callTool(gateway, other, 'get_video', { id: begun.json.id })
    expect(json).toMatchObject({ status: 404, error: { code: 'task_not_found' } })
    await other.close()
    await call('get_video', { id: begun.json.id })
  })
})

describe('free tools return', () => {
  test('the balance', async () => {
    const { balanceNano, availableNano } = await gateway.balance()
    const { json, charges } = await call('get_balance', {})
    expect(json.account).toBe('alice')
    expect([nano(json.balance_usd), nano(json.available_usd)]).toEqual([balanceNano, availableNano])
    expect(charges).toEqual([])
  })

  test('the models of a tool, and the schema of one', async () => {
    const all = (await call('list_models', {})).json.models
    expect(all.map(({ id }: { id: string }) => id)).toContain('test-chat')
    const videos = (await call('list_models', { tool: 'generate_video' })).json.models
    expect(videos.map(({ id }: { id: string }) => id).sort()).toEqual(Object.keys(videoModels).sort())
    expect(videos[0]).toMatchObject({ prices: { per_second: expect.any(Object) }, durations: { min: 2 } })
    expect(videos[0].tools.generate_video.takes).toContain('duration')
    const editors = (await call('list_models', { tool: 'edit_image' })).json.models
    const ids = editors.map(({ id }: { id: string }) => id)
    expect(ids).toContain('qnx-image-edit')
    expect(ids).not.toContain('qnx-image-2.0')
    const [one] = (await call('list_models', { model: 'seedream-4.0' })).json.models
    expect(one.tools.generate_image.request.properties).toHaveProperty('sequential_image_generation')
    const unknown = await call('list_models', { model: 'nope' })
    expect(unknown.json).toMatchObject({ status: 400, error: { code: 'model_not_found' } })
  })

  test('a price is what would be held', async () => {
    const args = { model: 'test-chat', prompt: 'Hello!', max_tokens: 10 }
    const { json, charges, calls } = await call('get_price', { tool: 'chat', arguments: args })
    expect([charges.length, calls]).toEqual([0, 0])
    expect(json).toMatchObject({ tool: 'chat', model: 'test-chat', quantities: { output_token: 10 } })
    const made = await call('chat', { ...args, max_cost_usd: json.max_cost_usd })
    expect(made.charges).toMatchObject([{ state: 'settled', held: nano(json.max_cost_usd) }])
    const edit = { model: 'dle-2', prompt: 'a hat', images: [PICTURE] }
    expect((await call('get_price', { tool: 'edit_image', arguments: edit })).json.max_cost_usd).toBe('0.02')
  })
})

describe('keys', () => {
  test('see and use only their own models', async () => {
    const { secret } = await gateway.makeKey('bob', '1', { models: ['test-chat'] })
    const bob = await connect(gateway.url, secret)
    const { json } = await callTool(gateway, bob, 'list_models', {})
    expect(json.models.map(({ id }: { id: string }) => id)).toEqual(['test-chat'])
    const image = { model: 'dle-2', prompt: 'a fox' }
    for (const tool of ['generate_image', 'edit_image']) {
      const args = tool === 'edit_image' ? { ...image, images: [PICTURE] } : image
      const refusal = await callTool(gateway, bob, tool, args)
      expect(refusal.json).toMatchObject({ status: 400, error: { code: 'model_not_found' } })
      expect([refusal.calls, refusal.charges.length]).toEqual([0, 0])
    }
    const price = await callTool(gateway, bob, 'get_price', { tool: 'generate_image', arguments: image })
    expect(price.json.error.code).toBe('model_not_found')
    await bob.close()
  })

  test('without money are rejected before anything is sent', async () => {
    const { secret } = await gateway.makeKey('poor', '0.001')
    const poor = await connect(gateway.url, secret)
    const { json, calls } = await callTool(gateway, poor, 'chat', { model: 'test-chat', prompt: 'Hello!' })
    expect(json).toMatchObject({ status: 402, error: { code: 'insufficient_balance' } })
    expect(calls).toBe(0)
    await poor.close()
  })

  test('are limited as over HTTP', () =>
    withinOneMinute(async () => {
      const { secret } = await gateway.makeKey('slow', '1', { requestsPerMinute: 1 })
      const slow = await connect(gateway.url, secret)
      const args = { model: 'test-chat', prompt: 'Hello!' }
      expect((await callTool(gateway, slow, 'chat', args)).result.isError).toBeUndefined()
      const { json, calls } = await callTool(gateway, slow, 'chat', args)
      expect([json.status, calls]).toEqual([429, 0])
      await slow.close()
    }))
})

test('the same call with the same key is paid once', async () => {
  const args = { model: 'test-chat', prompt: 'Hello!', idempotency_key: 'once-only-please' }
  const first = await call('chat', args)
  const second = await call('chat', { ...args, max_cost_usd: 1 })
  expect(second.json).toMatchObject({ text: first.json.text, replayed: true, cost_usd: '0.00' })
  expect([second.calls, second.charges.length]).toEqual([0, 0])
  const other = await call('chat', { ...args, prompt: 'Something else' })
  expect(other.result.isError).toBe(true)
  await waitFor(async () => (await gateway.balance()).heldNano === 0)
})
