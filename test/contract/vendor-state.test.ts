// All callers share the gateway's account at a vendor, so no caller may name objects kept there: an id that belongs to another is
// rejected before anything is sent or held, at every entrance, and an earlier task must belong to the same account.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import { startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { callTool, connect } from '../support/mcp'
import type { Json } from '../support/scenario'
import { endAll, endOf, makeClock, requestFor } from '../support/video-requests'

setDefaultTimeout(180_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const shippedModels = [
  'gmx-3.1-flash-image',
  'gkx-imagine-image',
  'pgt-image-2',
  'qnx3-tts-flash',
  'seedance-1.5-pro',
  'vidw2.6-i2v',
  'gkx-imagine-video',
]
const { price: _, ...unpriced } = catalogue['seedance-1.5-pro'] as ModelConfig
const chatOf = (upstream: string, upstreamModel: string): ModelConfig => ({
  family: 'openai-chat',
  upstream,
  upstreamModel,
  free: true,
})
const models: Record<string, ModelConfig> = {
  ...Object.fromEntries(shippedModels.map((id) => [id, catalogue[id] as ModelConfig])),
  'free-chat': chatOf('openai', 'local-model'),
  'free-reader': chatOf('dashscope', 'qwen-long'),
  'free-responses': { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-4.1', free: true },
  'free-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    free: true,
  },
  // The same kind of account twice, and a model on each or on both.
  'video-east': { ...unpriced, upstream: 'ark', free: true },
  'video-west': { ...unpriced, upstream: 'west', free: true },
  'video-both': { ...unpriced, upstream: { ark: 1, west: 1 }, free: true },
}

const clock = makeClock()
const sandbox = startSandbox({ record: true })
let gateway: TestGateway
let alone: TestGateway
let bob: string

beforeAll(async () => {
  gateway = await startWith(true)
  alone = await startWith(false)
  bob = (await gateway.makeKey('bob', '100')).secret
})
afterAll(async () => {
  for (const each of [gateway, alone]) {
    await endAll(each, clock)
    await each.close()
  }
  await sandbox.stop()
})

function startWith(sharedAccount: boolean): Promise<TestGateway> {
  const kinds = Object.keys(sandbox.baseUrls).map((kind) => [kind, { sharedAccount }])
  const west = { kind: 'ark', baseUrl: sandbox.baseUrls.ark, apiKey: sandbox.secrets.ark, sharedAccount }
  const upstreams = { ...Object.fromEntries(kinds), west }
  return startTestGateway({ balance: '1000', sandbox, upstreams, models, outside: clock })
}

interface Answer {
  status: number
  json: Json
  sent: number
  charges: number
}

/** Polls of tasks continue in parallel. */
const countSent = () => sandbox.calls.filter(({ method }) => method === 'POST').length

async function send(path: string, body: Json, secret?: string, to = gateway): Promise<Answer> {
  const [calls, charges] = [countSent(), (await to.charges()).length]
  const response = await to.post(path, body, secret ? { authorization: `Bearer ${secret}` } : {})
  const text = await response.text()
  return {
    status: response.status,
    json: text.startsWith('{') ? JSON.parse(text) : text,
    sent: countSent() - calls,
    charges: (await to.charges()).length - charges,
  }
}

type Row = [field: string, path: string, body: Json]
const user = (...content: Json[]) => ({ messages: [{ role: 'user', content }] })
const chat = (field: string, more: Json, model = 'free-chat'): Row => [
  field,
  '/v1/chat/completions',
  { model, messages: say('Hi'), ...more },
]
const message = (field: string, more: Json, model = 'free-messages'): Row => [
  field,
  '/v1/messages',
  { model, max_tokens: 9, messages: say('Hi'), ...more },
]
const picture = (field: string, more: Json): Row => [
  field,
  '/v1/images/generations',
  { model: 'gmx-3.1-flash-image', input: 'a fox', ...more },
]
const video = (field: string, body: Json): Row => [field, '/v1/videos/generations', body]

const image = { type: 'image', source: { type: 'file', file_id: 'file_a' } }
const document = { type: 'document', source: { type: 'file', file_id: 'file_a' } }
const result = (content: Json) => ({ type: 'tool_result', tool_use_id: 'toolu_1', content })
const spoken = { role: 'assistant', audio: { id: 'audio_a' } }
const google = 'https://generativelanguage.googleapis.com/v1beta/files/a'
const first = 'messages[0].content[0]'

const rows: Row[] = [
  chat(`${first}.file.file_id`, user({ type: 'file', file: { file_id: 'file-a' } })),
  chat(`${first}.file.file_id`, user({ type: 'file', file: { file_id: 'file-a' } }), 'free-messages'),
  chat(`${first}.file_id`, user({ type: 'file', file_id: 'file-a' })),
  chat(`${first}.image_url.url`, user({ type: 'image_url', image_url: { url: 'oss://a/b.png' } })),
  chat(`${first}.image_url.url`, user({ type: 'image_url', image_url: { url: 'ms://a' } })),
  chat(`${first}.image_url.url`, user({ type: 'image_url', image_url: { url: google } })),
  chat(`${first}.image_url`, user({ type: 'image_url', image_url: ' asset://a' })),
  chat(`${first}.video_url.url`, user({ type: 'video_url', video_url: { url: 'OSS://a' } })),
  chat(`${first}.input_audio.data`, user({ type: 'input_audio', input_audio: { data: 'oss://a' } })),
  chat('messages[0].content', { messages: say('Read fileid://file-fe-a') }, 'free-reader'),
  chat(`${first}.text`, user({ type: 'text', text: 'Read\nfileid://file-fe-a' }), 'free-reader'),
  chat('messages[1].audio.id', { messages: [...say('Hi'), spoken, ...say('And?')] }),
  chat('audio.voice.id', { audio: { voice: { id: 'voice_a' } } }),
  chat('audio.voice', { audio: { voice: 'qwen-omni-vc-a-voice-20250812' } }),
  chat('previous_response_id', { previous_response_id: 'resp_a' }),
  chat('previous_response_id', { previous_response_id: 'resp_a' }, 'free-messages'),
  chat('conversation', { conversation: { id: 'conv_a' } }),
  chat('cached_content', { cached_content: 'cachedContents/a' }),
  chat('extra_body.google.cached_content', {
    extra_body: { google: { cached_content: 'cachedContents/a' } },
  }),
  chat('tools[0].vector_store_ids', { tools: [{ type: 'file_search', vector_store_ids: ['vs_a'] }] }),
  chat('tools[0].container', { tools: [{ type: 'code_interpreter', container: 'cntr_a' }] }),
  message(`${first}.source.file_id`, user(image)),
  message(`${first}.source.file_id`, user(document)),
  message(`${first}.content[0].source.file_id`, user(result([document]))),
  message(
    `${first}.source.content[0].source.file_id`,
    user({ type: 'document', source: { type: 'content', content: [image] } }),
  ),
  message(
    `${first}.content.content.source.file_id`,
    user({
      type: 'web_fetch_tool_result',
      tool_use_id: 'a',
      content: { type: 'web_fetch_result', content: document },
    }),
  ),
  message(`${first}.file_id`, user({ type: 'container_upload', file_id: 'file_a' })),
  message('container', { container: 'container_a' }),
  message('container', { container: { id: 'container_a' } }),
  message('diagnostics.previous_message_id', { diagnostics: { previous_message_id: 'msg_a' } }),
  message('thread', { thread: { type: 'continue', previous_message_id: 'msg_a' } }),
  message(`${first}.source`, user(image), 'free-chat'),
  message(
    `${first}.source.url`,
    user({ type: 'image', source: { type: 'url', url: 'oss://a' } }),
    'free-chat',
  ),
  message('system', { system: 'fileid://file-fe-a' }, 'free-reader'),
  picture('previous_interaction_id', { previous_interaction_id: 'v1_a' }),
  picture('previousInteractionId', { previousInteractionId: 'v1_a' }),
  picture('cached_content', { cached_content: 'cachedContents/a' }),
  picture('continuation_token', { continuation_token: 'a' }),
  picture('environment', { environment: 'environments/a' }),
  picture('environment', { environment: { id: 'a' } }),
  picture('input[0].uri', { input: [{ type: 'image', uri: google }] }),
  picture('input[0].content[0].uri', {
    input: [{ type: 'user_input', content: [{ type: 'image', uri: 'gs://a/b.png' }] }],
  }),
  [
    'image.file_id',
    '/v1/images/generations',
    { model: 'gkx-imagine-image', prompt: 'x', image: { file_id: 'a' } },
  ],
  [
    'images[0].file_id',
    '/v1/images/generations',
    { model: 'gkx-imagine-image', prompt: 'x', images: [{ file_id: 'a' }] },
  ],
  [
    'voice',
    '/v1/audio/speech',
    { model: 'qnx3-tts-flash', input: 'Hi', voice: 'qwen-tts-vc-a-voice-20250812105009984-838b' },
  ],
  video('image.file_id', { model: 'gkx-imagine-video', image: { file_id: 'a' } }),
  video('reference_audios[0].voice_id', {
    model: 'gkx-imagine-video',
    prompt: 'x',
    reference_audios: [{ voice_id: 'nlbqfwie' }],
  }),
  video('last_frame.file_id', { model: 'gkx-imagine-video', prompt: 'x', last_frame: { file_id: 'a' } }),
  video('keyframes[0].image.file_id', {
    model: 'gkx-imagine-video',
    prompt: 'x',
    keyframes: [{ image: { file_id: 'a' }, timestamp_s: 2 }],
  }),
  video('last_frame.url', { model: 'gkx-imagine-video', prompt: 'x', last_frame: { url: 'gs://a/b.png' } }),
  video('content[0].image_url.url', {
    model: 'video-east',
    content: [{ type: 'image_url', image_url: { url: 'asset://asset-a' } }],
  }),
  video('content[0].video_url.url', {
    model: 'video-east',
    content: [{ type: 'video_url', video_url: { url: 'asset://asset-a' }, role: 'reference_video' }],
  }),
  video('input.img_url', { ...requestFor('vidw2.6-i2v'), input: { prompt: 'x', img_url: 'oss://a/b.png' } }),
  ...['reference_url', 'head_frame', 'tail_frame'].map((name) =>
    video(`input.${name}`, { ...requestFor('vidw2.6-i2v'), input: { prompt: 'x', [name]: 'oss://a/b.png' } }),
  ),
  ...[{ tunnel_id: 'tunnel_a' }, { environment: { type: 'local', skills: [{ skill_id: 'skill_a' }] } }].map(
    (more): Row => [
      `tools[0].${'tunnel_id' in more ? 'tunnel_id' : 'environment.skills[0].skill_id'}`,
      '/v1/responses',
      { model: 'free-responses', input: 'Hi', tools: [{ type: 'mcp', server_label: 'a', ...more }] },
    ],
  ),
  video('input.media[0].url', {
    ...requestFor('vidw2.6-i2v'),
    input: { prompt: 'x', media: [{ type: 'first_frame', url: 'oss://a' }] },
  }),
]

describe('an address that leads to the machine of the upstream or to its network', () => {
  const near = 'http://169.254.169.254/latest'
  test.each([
    chat(`${first}.image_url.url`, user({ type: 'image_url', image_url: { url: near } })),
    chat(`${first}.image_url.url`, user({ type: 'image_url', image_url: { url: near } }), 'free-messages'),
    message(`${first}.source.url`, user({ type: 'image', source: { type: 'url', url: near } })),
    message(`${first}.source.url`, user({ type: 'image', source: { type: 'url', url: near } }), 'free-chat'),
    picture('input[0].uri', { input: [{ type: 'image', uri: near }] }),
    [
      'image.url',
      '/v1/images/generations',
      { model: 'gkx-imagine-image', prompt: 'x', image: { url: '/etc/passwd' } },
    ] as Row,
    video('input.img_url', { ...requestFor('vidw2.6-i2v'), input: { prompt: 'x', img_url: near } }),
    video('image.url', { model: 'gkx-imagine-video', image: { url: 'http://localhost/cat.png' } }),
    video('keyframes[0].image.url', {
      model: 'gkx-imagine-video',
      prompt: 'x',
      keyframes: [{ image: { url: near }, timestamp_s: 1 }],
    }),
  ])('is rejected in %s of %s, whoever owns the account', async (field, path, body) => {
    for (const to of [gateway, alone]) {
      const { status, json, sent, charges } = await send(path, body, undefined, to)
      expect({ status, sent, charges }).toEqual({ status: 400, sent: 0, charges: 0 })
      expect(json.error?.message ?? json.message).toContain(`'${field}' is`)
    }
  })
})

describe("what is kept in the vendor's account", () => {
  test.each(rows.map((row, index) => [row[0], index, row] as const))(
    '%s (%i) is rejected before anything is sent or held',
    async (field, _index, [, path, body]) => {
      const { status, json, sent, charges } = await send(path, body, bob)
      expect({ status, sent, charges }).toEqual({ status: 400, sent: 0, charges: 0 })
      // Errors of a flat dialect have the message at the top.
      expect(json.error?.message ?? json.message).toContain(`'${field}`)
    },
  )

  test('an interaction of one customer is continued by no other, and its own by a message with all of it', async () => {
    const [, path, body] = picture('', {})
    const made = await send(path, body)
    expect(made.json.id).toBeString()
    const next = await send(path, { ...body, previous_interaction_id: made.json.id }, bob)
    expect(next).toMatchObject({ status: 400, sent: 0, charges: 0 })
    expect(next.json.error).toMatchObject({ param: 'previous_interaction_id', code: 'unsupported_parameter' })
    expect(next.json.error.message).toContain('send the whole conversation')
  })

  test('is rejected in the options of a tool', async () => {
    const client = await connect(gateway.url, bob)
    try {
      for (const options of [{ previous_response_id: 'a' }, { cached_content: 'a' }]) {
        const { result, calls, charges } = await callTool(gateway, client, 'chat', {
          model: 'free-chat',
          prompt: 'Hi',
          options,
        })
        expect(result.isError).toBe(true)
        expect(JSON.stringify(result.content)).toContain(`'${Object.keys(options)}'`)
        expect([calls, charges.length]).toEqual([0, 0])
      }
    } finally {
      await client.close()
    }
  })

  test('a name without an object there is accepted', async () => {
    const url = 'https://example.com/a.png'
    const taken: Row[] = [
      chat('', user({ type: 'image_url', image_url: { url } })),
      chat('', user({ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } })),
      chat('', { messages: say('What is fileid://file-fe-a?') }),
      chat('', { previous_response_id: null, audio: null }),
      message('', user({ type: 'image', source: { type: 'url', url } })),
      picture('', {
        input: [
          { type: 'image', uri: url },
          { type: 'text', text: 'x' },
        ],
      }),
    ]
    for (const [, path, body] of taken) expect(await send(path, body, bob)).toMatchObject({ sent: 1 })
  })

  test('is taken by an upstream whose account is not shared', async () => {
    const own: Row[] = [
      chat('', user({ type: 'file', file: { file_id: 'file-a' } })),
      chat('', { previous_response_id: 'resp_a' }),
      message('', user(document)),
      message('', { container: 'container_a' }),
      picture('', { previous_interaction_id: 'v1_a' }),
    ]
    for (const [, path, body] of own) {
      expect({ body, ...(await send(path, body, undefined, alone)) }).toMatchObject({ body, sent: 1 })
    }
  })

  test('an earlier interaction is held as all that the model can read', async () => {
    const [, path, body] = picture('', {})
    const heldFor = async (more: Json) => {
      const before = new Set((await alone.charges()).map(({ id }) => id))
      await send(path, { ...body, ...more }, undefined, alone)
      return Number((await alone.charges()).find(({ id }) => !before.has(id))?.held)
    }
    const [next, first] = [await heldFor({ previous_interaction_id: 'v1_a' }), await heldFor({})]
    // 131,072 tokens at 500 nano-dollars.
    expect(next - first).toBeGreaterThan(65_000_000)
  })
})

describe('an earlier video task', () => {
  const PATH = '/v1/videos/generations'
  const text = [{ type: 'text', text: 'x [sandbox task_ms=0]' }]
  const from = (id: unknown) => ({ content: [{ type: 'draft_task', draft_task: { id } }] })
  const make = (model = 'seedance-1.5-pro', to = gateway) =>
    send(PATH, { model, content: text, duration: 4 }, undefined, to)

  async function ended(model?: string): Promise<{ id: string; upstream_id: string }> {
    return endOf(gateway, clock, (await make(model)).json.id)
  }

  test('is named by our id or the vendor’s, and the vendor gets its own', async () => {
    const { id, upstream_id: upstreamId } = await ended()
    for (const each of [id, upstreamId]) {
      const final = await send(PATH, { model: 'seedance-1.5-pro', ...from(each) })
      expect(final).toMatchObject({ status: 202, sent: 1, charges: 1 })
      expect(JSON.parse(sandbox.calls.findLast(({ method }) => method === 'POST')?.body ?? '')).toMatchObject(
        from(upstreamId),
      )
      expect(await endOf(gateway, clock, final.json.id)).toMatchObject({ status: 'succeeded', duration: 4 })
    }
  })

  test('of another account reads like a missing one', async () => {
    const { id, upstream_id: upstreamId } = await ended()
    const words = async (each: unknown) => {
      const { status, json, sent, charges } = await send(
        PATH,
        { model: 'seedance-1.5-pro', ...from(each) },
        bob,
      )
      expect({ status, sent, charges }).toEqual({ status: 400, sent: 0, charges: 0 })
      expect(json.error).toMatchObject({ param: 'content[0].draft_task.id', code: 'task_not_found' })
      return json.error.message
    }
    const none = await words('cgt-20261010-none')
    expect(await words(id)).toBe(none)
    expect(await words(upstreamId)).toBe(none)
    for (const odd of [7, null, [id], { id }, '']) await words(odd)
  })

  test('is also found in a part of another type, or under a name that differs in case', async () => {
    const { id } = await ended()
    for (const item of [
      { type: 'text', text: 'x', draft_task: { id } },
      { type: 'draft_task', Draft_Task: { id } },
      { type: 'draft_task', draft_task: { ID: id } },
    ]) {
      const refused = await send(PATH, { model: 'seedance-1.5-pro', content: [item] }, bob)
      expect(refused).toMatchObject({ status: 400, sent: 0, charges: 0 })
    }
  })

  test('is used only with the upstream that made it', async () => {
    const west = await ended('video-west')
    expect(await send(PATH, { model: 'video-east', ...from(west.id) })).toMatchObject({
      status: 400,
      sent: 0,
    })
    for (let round = 0; round < 8; round++) {
      const { status, json } = await send(PATH, { model: 'video-both', ...from(west.id) })
      expect(status).toBe(202)
      const [row] = await gateway.server.world.db.query({
        sql: 'select upstream from tasks where id = $1',
        parameters: [json.id],
      })
      expect(row).toEqual({ upstream: 'west' })
    }
  })

  test('too many of them are not looked up', async () => {
    const { content } = from('cgt-a')
    const many = { model: 'seedance-1.5-pro', content: Array(9).fill(content[0]) }
    const { status, json } = await send(PATH, many)
    expect([status, json.error.param]).toEqual([400, 'content[8].draft_task.id'])
  })

  test('that is not known here goes to the vendor whose account is not shared', async () => {
    const made = await make('seedance-1.5-pro')
    const { upstream_id: upstreamId } = await endOf(gateway, clock, made.json.id)
    const final = await send(PATH, { model: 'seedance-1.5-pro', ...from(upstreamId) }, undefined, alone)
    expect(final).toMatchObject({ status: 202, sent: 1 })
  })
})
