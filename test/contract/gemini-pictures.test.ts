// generateContent with models that make only images, from the shipped catalogue: the vendor's request, the answer,
// the same cost as in OpenAI's form, and refusals.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { GoogleGenAI, Modality } from '@google/genai'
import shipped from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'

setDefaultTimeout(60_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const makers = ['pgt-image-2', 'qnx-image-2.0', 'seedream-4.5', 'gmx-3.1-flash-image', 'gkx-imagine-image']
const editors = ['pgt-image-2', 'qnx-image-edit', 'seedream-4.5', 'gmx-3.1-flash-image', 'gkx-imagine-image']
const PNG = Buffer.from(picture('png', 64, 64).bytes).toString('base64')

let gateway: TestGateway
let client: GoogleGenAI

beforeAll(async () => {
  const ids = [...makers, ...editors, 'pgt-image-1', 'dle-2']
  gateway = await startTestGateway({
    balance: '100',
    models: Object.fromEntries(ids.map((id) => [id, catalogue[id] as ModelConfig])),
  })
  client = new GoogleGenAI({ apiKey: gateway.secret, httpOptions: { baseUrl: gateway.url } })
})
afterAll(() => gateway.close())

interface PictureOptions {
  config?: Json
  parts?: Json[]
  method?: string
}

const fox = { text: 'a red fox' }
const photo = { inlineData: { mimeType: 'image/png', data: PNG } }

/** The number of calls for a number of images. Those of Qwen are at URLs, from which each is fetched. */
const callsOf = (model: string, count = 1) => (model.startsWith('qnx') ? 2 * count : 1)

function draw(model: string, asked: PictureOptions = {}, expected: Partial<Scenario> = {}): Promise<Played> {
  const { config = {}, parts = [fox], method = 'generateContent' } = asked
  const body = {
    contents: [{ role: 'user', parts }],
    generationConfig: { responseModalities: ['IMAGE'], ...config },
  }
  const path = `/v1beta/models/${model}:${method}`
  const vendorCalls = callsOf(model, config.candidateCount)
  return play(gateway, { name: model, path, body, status: 200, vendorCalls, charges: 1, ...expected })
}

const FREE = { vendorCalls: 0, charges: 0 }

async function refuse(
  model: string,
  asked: PictureOptions,
  field: string,
  words: string[] = [],
): Promise<void> {
  const { json } = await draw(model, asked, { status: 400, words, ...FREE })
  expect(json.error.status).toBe('INVALID_ARGUMENT')
  const [violation] = json.error.details.flatMap((detail: Json) => detail.fieldViolations ?? [])
  expect(violation.field).toBe(field)
}

function picturesOf(answer: Json): Json[] {
  return answer.candidates.flatMap(({ content }: Json) =>
    content.parts.map(({ inlineData }: Json) => inlineData),
  )
}

function isPicture({ mimeType, data }: Json): void {
  expect(mimeType).toMatch(/^image\/(?:png|jpeg|webp)$/)
  const begin = { 'image/png': 'iVBOR', 'image/jpeg': '/9j/', 'image/webp': 'UklGR' }[mimeType as string]
  expect(data).toStartWith(begin as string)
}

describe.each(makers)('%s', (model) => {
  test('makes an image at the same price as in OpenAI’s form', async () => {
    const { json, charges, response } = await draw(model, {}, { logRows: 1 })
    const [made] = picturesOf(json)
    isPicture(made)
    expect(json).toMatchObject({ modelVersion: model, candidates: [{ finishReason: 'STOP', index: 0 }] })
    expect(response.headers.get('x-gateway-model')).toBe(model)
    const other = await play(gateway, {
      name: model,
      path: '/v1/images/generations',
      body: { model, prompt: fox.text, n: 1, response_format: 'b64_json' },
      status: 200,
      vendorCalls: callsOf(model),
      charges: 1,
    })
    expect(charges[0]).toMatchObject({ state: 'settled', amount: other.charges[0]?.amount })
    expect((await gateway.newestLogged())?.operation).toBe('image')
    const tokens = other.json.usage?.total_tokens
    if (other.json.usage?.input_tokens > 0) expect(json.usageMetadata.totalTokenCount).toBe(tokens)
    else expect(json.usageMetadata).toEqual({})
  })

  test('by @google/genai, whole, streamed and listed', async () => {
    const config = { responseModalities: [Modality.IMAGE], candidateCount: 1 }
    const whole = await client.models.generateContent({ model, contents: 'a red fox', config })
    isPicture(whole.candidates?.[0]?.content?.parts?.[0]?.inlineData)
    const chunks: Json[] = []
    for await (const chunk of await client.models.generateContentStream({ model, contents: 'a fox', config }))
      chunks.push(chunk)
    expect(chunks).toHaveLength(1)
    isPicture(picturesOf(chunks[0])[0])
    const { supportedActions } = await client.models.get({ model })
    expect(supportedActions).toContain('generateContent')
  })
})

describe.each(editors)('%s', (model) => {
  test('edits an image, like the edits operation', async () => {
    const { json, charges } = await draw(model, { parts: [photo, { text: 'Make it night' }] }, { logRows: 1 })
    isPicture(picturesOf(json)[0])
    expect(charges[0]).toMatchObject({ state: 'settled', shortfall: 0 })
    expect((await gateway.newestLogged())?.operation).toBe('image-edit')
  })
})

test('an answer without a requested modality is an image too, and an array without alt=sse', async () => {
  const { json } = await draw('qnx-image-2.0', {
    method: 'streamGenerateContent',
    config: { responseModalities: undefined },
  })
  isPicture(picturesOf(json[0])[0])
})

test('candidates are images, each held and charged', async () => {
  const one = await draw('qnx-image-2.0')
  const { json, charges } = await draw('qnx-image-2.0', { config: { candidateCount: 3 } })
  expect(json.candidates.map(({ index }: Json) => index)).toEqual([0, 1, 2])
  const amount = 3 * Number(one.charges[0]?.amount)
  expect(charges).toMatchObject([{ amount, held: amount }])
})

test('names in the other spelling are accepted, and ignored fields are reported', async () => {
  const path = '/v1beta/models/gkx-imagine-image:generateContent'
  const { response, calls } = await play(gateway, {
    name: 'spelling',
    path,
    body: {
      contents: [{ parts: [fox] }],
      safety_settings: [{ category: 'x' }],
      generation_config: {
        response_modalities: ['TEXT', 'IMAGE'],
        image_config: { aspect_ratio: '16:9' },
        top_p: 0.9,
      },
    },
    status: 200,
    vendorCalls: 1,
    charges: 1,
  })
  expect(response.headers.get('x-gateway-ignored')).toBe('safetySettings, generationConfig.topP')
  expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject({
    aspect_ratio: '16:9',
    resolution: '1k',
    prompt: 'a red fox',
  })
})

const shapes: [model: string, config: Json, sent: Json][] = [
  ['pgt-image-2', { aspectRatio: '3:2' }, { size: '1536x1024' }],
  ['pgt-image-2', { aspectRatio: '16:9' }, { size: '1360x768' }],
  ['pgt-image-2', { imageSize: '2K' }, { size: '2048x2048' }],
  ['pgt-image-1', { aspectRatio: '2:3' }, { size: '1024x1536' }],
  ['qnx-image-2.0', { aspectRatio: '16:9' }, { parameters: { size: '1664*928' } }],
  ['qnx-image-2.0', { aspectRatio: '1:1' }, { parameters: { size: '1024*1024' } }],
  ['gkx-imagine-image', { aspectRatio: '9:16', imageSize: '2K' }, { aspect_ratio: '9:16', resolution: '2k' }],
  [
    'gmx-3.1-flash-image',
    { aspectRatio: '21:9', imageSize: '4K' },
    { response_format: { aspect_ratio: '21:9', image_size: '4K' } },
  ],
  ['seedream-4.5', { aspectRatio: '1:1', imageSize: '2K' }, { size: '2048x2048' }],
]
test.each(shapes)('%s gets the aspect ratio %j in its own fields', async (model, imageConfig, sent) => {
  const { calls } = await draw(model, { config: { imageConfig } })
  expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject(sent)
})

const CONFIG = 'generationConfig'
const refusals: [what: string, model: string, asked: PictureOptions, field: string][] = [
  [
    'an aspect ratio that the model lacks',
    'pgt-image-1',
    { config: { imageConfig: { aspectRatio: '16:9' } } },
    `${CONFIG}.imageConfig.aspectRatio`,
  ],
  [
    'an aspect ratio of another model',
    'gkx-imagine-image',
    { config: { imageConfig: { aspectRatio: '21:9' } } },
    `${CONFIG}.imageConfig.aspectRatio`,
  ],
  [
    'an invalid aspect ratio',
    'pgt-image-2',
    { config: { imageConfig: { aspectRatio: 'wide' } } },
    `${CONFIG}.imageConfig.aspectRatio`,
  ],
  [
    'a size that the model lacks',
    'qnx-image-2.0',
    { config: { imageConfig: { imageSize: '4K' } } },
    `${CONFIG}.imageConfig.imageSize`,
  ],
  [
    'a size above the maximum',
    'gkx-imagine-image',
    { config: { imageConfig: { imageSize: '4K' } } },
    `${CONFIG}.imageConfig`,
  ],
  [
    'a size without an aspect ratio in an edit',
    'seedream-4.5',
    { parts: [photo, fox], config: { imageConfig: { imageSize: '2K' } } },
    `${CONFIG}.imageConfig.imageSize`,
  ],
  ['too many candidates', 'qnx-image-2.0', { config: { candidateCount: 11 } }, `${CONFIG}.candidateCount`],
  ['words', 'pgt-image-2', { config: { responseModalities: ['TEXT'] } }, `${CONFIG}.responseModalities`],
  [
    'speech',
    'pgt-image-2',
    { config: { responseModalities: ['IMAGE', 'AUDIO'] } },
    `${CONFIG}.responseModalities`,
  ],
  ['a schema', 'pgt-image-2', { config: { responseSchema: { type: 'OBJECT' } } }, `${CONFIG}.responseSchema`],
  ['images for a model that accepts none', 'qnx-image-2.0', { parts: [photo, fox] }, 'contents'],
  ['no image to edit', 'qnx-image-edit', {}, 'contents'],
  ['no text', 'pgt-image-2', { parts: [photo] }, 'contents'],
  [
    'an address',
    'pgt-image-2',
    { parts: [fox, { fileData: { fileUri: 'https://example.com/a.png' } }] },
    'contents[0].parts[1]',
  ],
  [
    'sound',
    'seedream-4.5',
    { parts: [fox, { inlineData: { mimeType: 'audio/wav', data: PNG } }] },
    'contents[0].parts[1]',
  ],
  [
    'invalid data as an image',
    'pgt-image-2',
    { parts: [fox, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
    'contents',
  ],
]
test.each(refusals)('%s: rejected with its place (%s)', (_, model, asked, field) =>
  refuse(model, asked, field),
)

test('a conversation, instructions and tools are rejected', async () => {
  const turn = { role: 'user', parts: [fox] }
  const bodies: [Json, string][] = [
    [{ contents: [turn, { role: 'model', parts: [fox] }, turn] }, 'contents'],
    [{ contents: [turn], systemInstruction: { parts: [fox] } }, 'systemInstruction'],
    [{ contents: [turn], tools: [{ googleSearch: {} }] }, 'tools'],
    [{}, 'contents'],
  ]
  for (const [body, field] of bodies) {
    const path = '/v1beta/models/pgt-image-2:generateContent'
    const { json } = await play(gateway, { name: field, path, body, status: 400, ...FREE })
    expect(
      json.error.details[0].fieldViolations?.[0].field ?? json.error.details[1].fieldViolations[0].field,
    ).toBe(field)
  }
})

test('without money: 402 before anything is sent; with a key that may not use the model: 404', async () => {
  const broke = await gateway.makeKey('broke', '0')
  await draw('qnx-image-2.0', {}, { key: broke.secret, status: 402, ...FREE })
  const narrow = await gateway.makeKey('narrow', '1', { models: ['qnx-image-2.0'] })
  await draw('pgt-image-2', {}, { key: narrow.secret, status: 404, ...FREE })
  await draw('pgt-image-2', {}, { key: 'sk-wrong', status: 401, ...FREE })
})

test('a caller without a key learns nothing about a model, whose name is not looked up', async () => {
  const seen: Json[] = []
  for (const model of [makers[0], 'dle-2', 'no-such-model']) {
    for (const authorization of ['', 'Bearer sk-wrong']) {
      const path = `/v1beta/models/${model}:generateContent`
      const response = await gateway.post(path, { contents: 7 }, { authorization })
      const text = (await response.text()).replaceAll(/req_\w+/g, 'its id')
      const logged = await gateway.newestLogged()
      seen.push({ authorization, status: response.status, text, operation: logged?.operation })
    }
  }
  const [none, wrong] = seen
  expect(none).toMatchObject({ status: 401, operation: 'contents' })
  expect(wrong).toMatchObject({ status: 401, operation: 'contents' })
  expect(seen).toEqual([none, wrong, none, wrong, none, wrong])
})

test('a repeat with the same idempotency key is replayed, and charged once', async () => {
  const headers = { 'idempotency-key': 'fox' }
  const first = await draw('qnx-image-2.0', {}, { headers })
  const again = await draw('qnx-image-2.0', {}, { headers, ...FREE })
  expect(picturesOf(again.json)).toEqual(picturesOf(first.json))
})
