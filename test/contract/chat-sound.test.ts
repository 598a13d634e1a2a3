// Audio and video in chat and responses: models that accept them get them, and they are charged. For other models they
// are rejected with the name of the part, before anything is sent.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'

const catalogue: Record<string, ModelConfig> = shipped.models
const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
const local = { family: 'openai-chat', upstream: 'openai', upstreamModel: 'local-model' }

// biome-ignore lint/suspicious/noExplicitAny: answers are read by path
type Json = any

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      'gmx-2.5-flash-lite': catalogue['gmx-2.5-flash-lite'] as ModelConfig,
      'gmx-3.5-flash-lite': catalogue['gmx-3.5-flash-lite'] as ModelConfig,
      compatible: { ...(catalogue['gmx-2.5-flash-lite'] as ModelConfig), family: 'openai-chat' },
      deaf: { ...local, price: { ...price, per_1m_input_audio_tokens: '9' }, inputModalities: ['image'] },
      'free-deaf': { ...local, free: true, inputModalities: ['image'] },
      unpriced: { ...local, price, inputModalities: ['audio', 'video'] },
      'free-any': { ...local, free: true },
    },
  })
})
afterAll(() => gateway.close())

const data = Buffer.alloc(3_200).toString('base64')
/** Tokens that the sandbox counts for a sound. */
const HEARD = 50
const sound = { type: 'input_audio', input_audio: { data, format: 'wav' } }
const film = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }

const asChat = (model: string, part: object) =>
  gateway.chat({ model, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hear this' }, part] }] })
const asResponse = (model: string, part: object) =>
  gateway.post('/v1/responses', {
    model,
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hear this' }, part] }],
  })

describe.each([
  ['chat', asChat],
  ['responses', asResponse],
] as const)('%s', (_, ask) => {
  test.each(['gmx-2.5-flash-lite', 'gmx-3.5-flash-lite'])('%s accepts sound', async (model) => {
    const response = await ask(model, sound)
    expect(response.status).toBe(200)
    const body = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '{}') as Json
    expect(body.contents.at(-1).parts.at(-1)).toEqual({ inlineData: { mimeType: 'audio/wav', data } })
  })

  test('reported sound tokens cost as much as sound', async () => {
    const { usage } = (await (await ask('gmx-2.5-flash-lite', sound)).json()) as Json
    const { prompt_tokens: input = usage.input_tokens, completion_tokens: output = usage.output_tokens } =
      usage
    const { state, amount } = (await gateway.newestCharge()) as Json
    expect([state, Number(amount)]).toEqual(['settled', (input - HEARD) * 100 + HEARD * 300 + output * 400])
  })

  test('the OpenAI-compatible endpoint gets sound unchanged', async () => {
    expect((await ask('compatible', sound)).status).toBe(200)
    const body = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '{}') as Json
    expect(body.messages.at(-1).content.at(-1)).toEqual(sound)
  })

  test('possible sound tokens cost as much as sound if the vendor does not report them', async () => {
    const answer = (await (await ask('compatible', sound)).json()) as Json
    const {
      prompt_tokens: input = answer.usage.input_tokens,
      completion_tokens: output = answer.usage.output_tokens,
    } = answer.usage
    const { state, amount } = (await gateway.newestCharge()) as Json
    expect([state, Number(amount)]).toEqual(['settled', input * 300 + output * 400])
  })

  test.each(['deaf', 'free-deaf'])('sound is rejected for %s, with or without a price', async (model) => {
    const before = gateway.sandbox.calls.length
    const response = await ask(model, sound)
    const { error } = (await response.json()) as Json
    expect([response.status, error.param]).toEqual([400, expect.stringContaining('content[1].type')])
    expect(error.message).toContain('does not read sound')
    expect(gateway.sandbox.calls.length).toBe(before)
  })

  test('a model without a price for sound rejects it', async () => {
    const { error } = (await (await ask('unpriced', sound)).json()) as Json
    expect(error.message).toContain('per_1m_input_audio_tokens')
  })

  test('a free model without known traits accepts every request', async () => {
    expect((await ask('free-any', sound)).status).toBe(200)
  })
})

test.each(['deaf', 'free-deaf'])('video is rejected for %s', async (model) => {
  const response = await asChat(model, film)
  const { error } = (await response.json()) as Json
  expect([response.status, error.param]).toEqual([400, 'messages[0].content[1].type'])
  expect(error.message).toContain('does not read films')
})

test('video is sent to a model that accepts it', async () => {
  expect((await asChat('unpriced', film)).status).toBe(200)
})

test.each([
  { type: 'audio_url', audio_url: { url: 'http://10.0.0.1/a.wav' } },
  { type: 'video_url', video_url: { url: 'http://localhost/a.mp4' } },
  { type: 'input_audio', input_audio: { data: 'file:///etc/passwd', format: 'wav' } },
])('a private address is rejected like that of an image: %j', async (part) => {
  const before = gateway.sandbox.calls.length
  const response = await asChat('free-any', part)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('private network')])
  expect(gateway.sandbox.calls.length).toBe(before)
})
