// The official OpenAI SDK against the compiled executable: images made and edited, whole and as streams, and the errors
// that its users catch.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import shipped from '../../gateway.config'
import { type PictureFormat, picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { temporaryFolder } from '../support/databases/databases'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const others = ['qnx-image-2.0', 'seedream-4.5', 'gmx-3.1-flash-image', 'gkx-imagine-image']
const ids = ['pgt-image-2', 'pgt-image-1', 'dle-2', 'qnx-image-edit', ...others]

let installation: Installation
let server: Running
let client: OpenAI
let poor: OpenAI

beforeAll(async () => {
  const entries = ids.map((id) => [id, catalogue[id] as ModelConfig])
  installation = await install({ models: Object.fromEntries(entries) })
  const secret = await installation.makeKey('alice', '100')
  const poorSecret = await installation.makeKey('poor', '0.01')
  server = await installation.serve()
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: secret })
  poor = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: poorSecret })
})

afterAll(() => stopWell(installation, server))

const vendorCalls = () => installation.sandbox.calls.length

function upload(format: PictureFormat, width = 64, height = 64): Promise<File> {
  const { bytes, contentType } = picture(format, width, height)
  return toFile(bytes, `photo.${format}`, { type: contentType })
}

function sizeOf(base64: string | undefined): string {
  const bytes = Buffer.from(base64 ?? '', 'base64')
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

/** Body of the last call to the vendor. */
function lastForm(): string[] {
  const { form = [] } = installation.sandbox.calls.at(-1) ?? {}
  return form.map(([name, value]) =>
    typeof value === 'string' ? `${name}=${value}` : `${name}: ${value.name}`,
  )
}

describe('images.generate', () => {
  test('makes images of free sizes, with their price', async () => {
    const { data: images, response } = await client.images
      .generate({ model: 'pgt-image-2', prompt: 'a red fox', size: '1536x864', quality: 'low', n: 2 })
      .withResponse()
    expect(images.data?.map(({ b64_json }) => sizeOf(b64_json))).toEqual(['1536x864', '1536x864'])
    expect(images.usage?.output_tokens).toBeGreaterThan(0)
    expect(images.size).toBe('1536x864')
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBeGreaterThan(0)
  })

  test('takes the words of older models', async () => {
    const images = await client.images.generate({
      model: 'pgt-image-1',
      prompt: 'a red fox',
      quality: 'hd',
      response_format: 'b64_json',
    })
    expect(images.quality).toBe('high')
    expect(images.usage?.output_tokens).toBe(4160)
  })

  test('streams unfinished images and the whole one', async () => {
    const stream = await client.images.generate({
      model: 'pgt-image-2',
      prompt: 'a red fox',
      size: '1024x1024',
      quality: 'low',
      stream: true,
      partial_images: 2,
    })
    const events: OpenAI.ImageGenStreamEvent[] = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    for (const { b64_json } of events) expect(sizeOf(b64_json)).toBe('1024x1024')
    const last = events.at(-1)
    expect(last?.type === 'image_generation.completed' && last.usage.output_tokens).toBe(396)
  })

  test('gives addresses from the legacy model', async () => {
    const images = await client.images.generate({
      model: 'dle-2',
      prompt: 'a red fox',
      size: '256x256',
      response_format: 'url',
    })
    const file = await fetch(images.data?.[0]?.url ?? '')
    expect(sizeOf(Buffer.from(await file.bytes()).toString('base64'))).toBe('256x256')
  })

  test('fails with errors that name the field, without asking the vendor', async () => {
    const before = vendorCalls()
    const failed = client.images.generate({ model: 'pgt-image-2', prompt: 'a red fox', size: '1000x1000' })
    const error = await failed.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ param: 'size', message: expect.stringContaining('multiples of 16') })
    const unpaid = poor.images.generate({ model: 'pgt-image-2', prompt: 'a red fox' })
    expect(await unpaid.catch((error: unknown) => error)).toMatchObject({
      status: 402,
      code: 'insufficient_balance',
    })
    expect(vendorCalls()).toBe(before)
  })

  test('fails in a stream with the vendor’s own error', async () => {
    const stream = await client.images.generate({
      model: 'pgt-image-2',
      prompt: '[sandbox error_after=1] a red fox',
      stream: true,
      partial_images: 2,
    })
    const types: string[] = []
    const failed = (async () => {
      for await (const { type } of stream) types.push(type)
    })()
    expect(await failed.catch((error: unknown) => error)).toMatchObject({ code: 'image_generation_failed' })
    expect(types).toEqual(['image_generation.partial_image'])
  })
})

describe('images.edit', () => {
  test('edits one file', async () => {
    const images = await client.images.edit({
      model: 'pgt-image-2',
      image: await upload('png'),
      prompt: 'a red scarf',
    })
    expect(sizeOf(images.data?.[0]?.b64_json)).toBe('1024x1024')
    expect(images.usage?.input_tokens_details.image_tokens).toBe(4354)
    expect(lastForm()).toEqual(['model=gpt-image-2', 'prompt=a red scarf', 'image: photo.png'])
  })

  test('edits a file from the disk', async () => {
    const path = join(temporaryFolder(), 'fox.png')
    writeFileSync(path, picture('png', 64, 64).bytes)
    const images = await client.images.edit({
      model: 'pgt-image-1',
      image: createReadStream(path),
      prompt: 'a red scarf',
      size: '1024x1536',
      input_fidelity: 'high',
    })
    expect(sizeOf(images.data?.[0]?.b64_json)).toBe('1024x1536')
    expect(lastForm()).toContain('image: fox.png')
  })

  test('edits several files', async () => {
    const image = [await upload('png'), await upload('jpeg'), await upload('webp')]
    const images = await client.images.edit({ model: 'pgt-image-2', image, prompt: 'all together', n: 2 })
    expect(images.data).toHaveLength(2)
    expect(lastForm().slice(-3)).toEqual(['image[]: photo.png', 'image[]: photo.jpeg', 'image[]: photo.webp'])
  })

  test('edits with a mask', async () => {
    for (const model of ['pgt-image-2', 'dle-2']) {
      const mask = await toFile(picture('png', 64, 64).bytes, 'mask.png', { type: 'image/png' })
      const image = await upload('png')
      const images = await client.images.edit({
        model,
        image,
        mask,
        prompt: 'a red scarf',
        size: '1024x1024',
      })
      expect(sizeOf(images.data?.[0]?.b64_json)).toBe('1024x1024')
      expect(lastForm().at(-1)).toBe('mask: mask.png')
    }
  })

  test('streams', async () => {
    const stream = await client.images.edit({
      model: 'pgt-image-2',
      image: await upload('png'),
      prompt: 'a red scarf',
      size: '1024x1024',
      quality: 'low',
      stream: true,
      partial_images: 1,
    })
    const events: OpenAI.ImageEditStreamEvent[] = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual(['image_edit.partial_image', 'image_edit.completed'])
    const last = events.at(-1)
    expect(last?.type === 'image_edit.completed' && last.usage.output_tokens).toBe(296)
  })

  test('fails with errors that say what to do, without asking the vendor', async () => {
    const before = vendorCalls()
    const image = await upload('png')
    const mask = await upload('png', 32, 32)
    const wrongMask = client.images.edit({ model: 'pgt-image-2', image, mask, prompt: 'x' })
    const error = await wrongMask.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ code: 'invalid_mask', param: 'mask' })
    const text = await toFile(Buffer.from('not a picture'), 'fox.png', { type: 'image/png' })
    const wrongImage = client.images.edit({ model: 'pgt-image-2', image: text, prompt: 'x' })
    expect(await wrongImage.catch((error: unknown) => error)).toMatchObject({
      status: 400,
      code: 'unsupported_image_format',
      param: 'image',
    })
    const unpaid = poor.images.edit({ model: 'pgt-image-2', image, prompt: 'x' })
    expect(await unpaid.catch((error: unknown) => error)).toMatchObject({
      status: 402,
      code: 'insufficient_balance',
    })
    expect(vendorCalls()).toBe(before)
  })
})

describe('models whose vendors have other forms', () => {
  test.each(others)('%s makes images, as bytes and as addresses', async (model) => {
    const asked = { model, prompt: 'a red fox', n: 2, size: '1024x1024', quality: 'standard' } as const
    const bytes = await client.images.generate({ ...asked, response_format: 'b64_json' })
    expect(bytes.data?.map(({ b64_json }) => (b64_json ?? '').length > 100)).toEqual([true, true])
    const { data: links, response } = await client.images
      .generate({ ...asked, response_format: 'url' })
      .withResponse()
    for (const { url } of links.data ?? []) expect((await fetch(url ?? '')).ok).toBe(true)
    expect(links.data).toHaveLength(2)
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBeGreaterThan(0)
  })

  test.each(['qnx-image-edit', ...others.slice(1)])('%s edits', async (model) => {
    const images = await client.images.edit({
      model,
      image: [await upload('png'), await upload('jpeg')],
      prompt: 'a red scarf',
      response_format: 'b64_json',
    })
    expect(images.data?.[0]?.b64_json?.length).toBeGreaterThan(100)
    const masked = client.images.edit({
      model,
      image: await upload('png'),
      mask: await upload('png'),
      prompt: 'x',
    })
    expect(await masked.catch((error: unknown) => error)).toMatchObject({ status: 400, param: 'mask' })
  })
})
