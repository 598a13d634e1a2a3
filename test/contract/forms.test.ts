// Forms through the whole gateway: the forwarded form, the answer, the charge, and that no file outlives its request,
// whether it is served, rejected, sent twice or abandoned.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { picture } from '../../sandbox/pictures'
import { openOrigin } from '../../src/http-client/origin'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Played, play, type Scenario } from '../support/scenario'
import { type Leaving, RawCaller } from '../support/servers/raw-caller'
import { type RawPart, rawForm, typeOf } from '../support/servers/raw-form'
import { CERTIFICATE_FILE, type FormVendor, startFormVendor } from '../support/vendors/form'

setDefaultTimeout(180_000)

const PATH = '/v1/images/edits'
const MEBIBYTE = 1024 * 1024

const png = picture('png', 30, 20).bytes
const text = (name: string, content: string): RawPart => ({ name, content })
const file = (name: string, content: string | Uint8Array = png): RawPart => ({
  name,
  content,
  filename: `${name.replace(/\W/g, '')}.png`,
  contentType: 'application/octet-stream',
})
const lion: RawPart[] = [text('model', 'test-edit'), text('prompt', 'A lion 🦁'), file('image')]

const edited = {
  created: 1_700_000_000,
  data: [{ b64_json: 'aGVsbG8=' }],
  usage: {
    input_tokens: 30,
    input_tokens_details: { text_tokens: 10, image_tokens: 20 },
    output_tokens: 100,
    total_tokens: 130,
  },
}

/** A vendor that parses forms as most servers do. */
interface ReadingVendor {
  url: string
  calls: {
    authorization: string | null
    path: string
    length: string | null
    form: [string, string | File][]
  }[]
  answer: (call: number) => Response
  stop(): Promise<void>
}

function startReadingVendor(): ReadingVendor {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      vendor.calls.push({
        authorization: request.headers.get('authorization'),
        path: new URL(request.url).pathname,
        length: request.headers.get('content-length'),
        form: [...(await request.formData())] as [string, string | File][],
      })
      return vendor.answer(vendor.calls.length)
    },
  })
  const vendor: ReadingVendor = {
    url: `http://127.0.0.1:${server.port}`,
    calls: [],
    answer: () => Response.json(edited),
    stop: () => server.stop(true),
  }
  return vendor
}

const early = { answers: 'early' as const, status: 400, json: { error: { message: 'Too many zebras.' } } }
const vendor = startReadingVendor()
const hasty: Record<'http' | 'https', FormVendor> = {
  http: await startFormVendor(early),
  https: await startFormVendor({ ...early, secure: true }),
}
let gateway: TestGateway

beforeAll(async () => {
  const model = (upstream: string) => ({
    family: 'openai-image-edits',
    upstream,
    upstreamModel: 'gpt-image-1.5',
    referenceImages: { min: 1, max: 16 },
    price: {
      per_1m_input_tokens: '1.00',
      per_1m_input_image_tokens: '2.00',
      per_1m_output_tokens: '3.00',
      per_1m_output_image_tokens: '4.00',
    },
  })
  const upstream = (baseUrl: string, apiKey: string | string[] | null) => ({
    kind: 'openai' as const,
    baseUrl,
    apiKey,
  })
  gateway = await startTestGateway({
    upstreams: {
      reading: upstream(vendor.url, ['key-1', 'key-2']),
      http: upstream(hasty.http.url, null),
      https: upstream(hasty.https.url, null),
    },
    models: { 'test-edit': model('reading'), 'test-http': model('http'), 'test-https': model('https') },
    outside: {
      // The test vendor's certificate is not from a public authority.
      transport: { open: (url) => openOrigin(url, { tls: { ca: readFileSync(CERTIFICATE_FILE, 'utf8') } }) },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
  for (const { stop } of Object.values(hasty)) stop()
})
beforeEach(() => {
  vendor.calls = []
  vendor.answer = () => Response.json(edited)
})

const uploaded = () => readdirSync(join(gateway.dataDir, 'uploads'))

/** Runs a row, and checks that no file remains on disk. */
async function edit(parts: readonly RawPart[], expected: Partial<Scenario> = {}): Promise<Played> {
  const { headers = {}, ...rest } = expected
  const played = await play(gateway, {
    name: 'edit',
    path: PATH,
    body: rawForm(parts),
    status: 200,
    charges: 1,
    ...rest,
    headers: { 'content-type': typeOf(), ...headers },
  })
  expect(uploaded()).toEqual([])
  return played
}

describe('a form that is served', () => {
  test('reaches the vendor completely, and is charged', async () => {
    const large = new Uint8Array(3 * MEBIBYTE).fill(7)
    large.set(png)
    const { json, charges, response } = await edit([
      ...lion.slice(0, 2),
      file('image[]'),
      file('image[]', large),
      file('mask'),
      text('n', '1'),
    ])
    expect(json).toEqual(edited)
    // 10 tokens of text at 1,000 nano-dollars, 20 of images at 2,000 and 100 of the answer at 4,000.
    expect(charges).toMatchObject([{ state: 'settled', amount: 450_000, usage_source: 'upstream' }])
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.00045')
    const [call] = vendor.calls
    expect(call?.path).toBe('/images/edits')
    expect(Number(call?.length)).toBeGreaterThan(large.length)
    const form = call?.form ?? []
    expect(form.map(([name]) => name).sort()).toEqual(['image[]', 'image[]', 'mask', 'model', 'n', 'prompt'])
    expect(form.find(([name]) => name === 'model')?.[1]).toBe('gpt-image-1.5')
    expect(form.find(([name]) => name === 'prompt')?.[1]).toBe('A lion 🦁')
    const images = form.flatMap(([name, value]) => (name === 'image[]' ? [value as File] : []))
    expect(images.map(({ name, type, size }) => ({ name, type, size }))).toEqual([
      { name: 'image.png', type: 'image/png', size: png.length },
      { name: 'image.png', type: 'image/png', size: large.length },
    ])
    expect(Buffer.from((await images[1]?.bytes()) ?? []).equals(Buffer.from(large))).toBe(true)
  })

  test('may come from the official SDK, with one image or several', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
    const image = () => toFile(Buffer.from(png), 'lion.png')
    const asked = { model: 'test-edit', prompt: 'A lion', n: 1 }
    const one = await client.images.edit({ ...asked, image: await image(), mask: await image() })
    const several = await client.images.edit({ ...asked, image: [await image(), await image()] })
    for (const { data } of [one, several]) expect(data).toEqual(edited.data)
    const namesOf = vendor.calls.map(({ form }) => form.map(([name]) => name).sort())
    expect(namesOf).toEqual([
      ['image', 'mask', 'model', 'n', 'prompt'],
      ['image[]', 'image[]', 'model', 'n', 'prompt'],
    ])
    expect(uploaded()).toEqual([])
  })

  test('is sent again with another key if the first one is busy', async () => {
    vendor.answer = (call) =>
      call === 1
        ? Response.json({ error: { message: 'Busy.' } }, { status: 429, headers: { 'retry-after': '1' } })
        : Response.json(edited)
    await edit(lion)
    expect(vendor.calls).toHaveLength(2)
    const [first, second] = vendor.calls.map(({ form, authorization }) => ({
      authorization,
      form: form.map(([name, value]) => (typeof value === 'string' ? [name, value] : [name, value.size])),
    }))
    expect(second?.form).toEqual(first?.form as [])
    expect(second?.authorization).not.toBe(first?.authorization as string)
  })

  test('is not served twice under one Idempotency-Key, whatever boundary the retry has', async () => {
    const headers = { 'idempotency-key': 'edit-1' }
    const first = await edit(lion, { headers })
    const retry = await edit(lion, {
      body: rawForm(lion, 'another-boundary'),
      headers: { ...headers, 'content-type': typeOf('another-boundary') },
      charges: 0,
      answers: { 'idempotent-replayed': 'true' },
    })
    expect(retry.text).toBe(first.text)
    expect(vendor.calls).toHaveLength(1)
    const other = [...lion.slice(0, 2), file('image', picture('png', 31, 20).bytes)]
    const refused = await edit(other, { headers, status: 422, charges: 0 })
    expect(refused.json.error.message).toContain('Idempotency-Key')
    expect(vendor.calls).toHaveLength(1)
  })
})

describe('a form that is rejected', () => {
  const rows: (Partial<Scenario> & { name: string; status: number; parts?: RawPart[] })[] = [
    { name: 'without a key', key: null, status: 401 },
    {
      name: 'JSON',
      body: { model: 'test-edit', prompt: 'A lion' },
      headers: { 'content-type': 'application/json' },
      status: 415,
      error: { code: 'unsupported_media_type', param: null },
      words: ['multipart/form-data'],
    },
    {
      name: 'no boundary',
      headers: { 'content-type': 'multipart/form-data' },
      status: 400,
      error: { code: 'invalid_form' },
      words: ['boundary'],
    },
    {
      name: 'an unsupported compression',
      headers: { 'content-encoding': 'br' },
      status: 415,
      error: { code: 'unsupported_encoding' },
    },
    {
      name: 'cut short',
      body: rawForm(lion).slice(0, -40),
      status: 400,
      error: { code: 'invalid_form', param: null },
      words: ['incomplete'],
    },
    ...(
      [
        ['Size', 'size'],
        ['\u017fize', 'size'],
        ['Model', 'model'],
        ['Image[]', 'image'],
      ] as const
    ).map(([name, known]) => ({
      name: `the field ${name}`,
      parts: [...lion, { name, content: '1024x1024' }],
      status: 400,
      error: { code: 'unknown_parameter', param: name.replace('[]', '') },
      words: [`differs from '${known}' only by case`],
    })),
    {
      name: 'no model',
      parts: lion.slice(1),
      status: 400,
      error: { code: 'missing_required_parameter', param: 'model' },
    },
    {
      name: 'a model for another operation',
      parts: [text('model', 'test-chat'), ...lion.slice(1)],
      status: 400,
      error: { code: 'endpoint_model_mismatch', param: 'model' },
    },
    {
      name: 'a model that is a file',
      parts: [file('model'), ...lion.slice(1)],
      status: 400,
      error: { code: 'missing_required_parameter', param: 'model' },
    },
    {
      name: 'a prompt that is a file',
      parts: [text('model', 'test-edit'), file('prompt'), file('image')],
      status: 400,
      error: { param: 'prompt' },
    },
    { name: 'no image', parts: lion.slice(0, 2), status: 400, error: { param: 'image' } },
    {
      name: 'an image that is a text',
      parts: [...lion.slice(0, 2), text('image', 'https://example.com/a.png')],
      status: 400,
      error: { param: 'image' },
      words: ['file'],
    },
    {
      name: 'an invalid number',
      parts: [...lion, text('n', 'many')],
      status: 400,
      error: { param: 'n' },
    },
    {
      name: 'a field called __proto__',
      parts: [file('__proto__'), text('prompt', 'A lion'), file('image')],
      status: 400,
      error: { code: 'missing_required_parameter', param: 'model' },
    },
    {
      name: 'a file that is too large',
      parts: [...lion.slice(0, 2), file('image[]', new Uint8Array(50 * MEBIBYTE + 1))],
      status: 413,
      error: { code: 'file_too_large', param: 'image' },
      words: ["The file 'image' is larger than 50 MiB"],
    },
  ]
  for (const { name, parts = lion, ...expected } of rows) {
    test(name, async () => {
      await edit(parts, { charges: 0, ...expected, name })
      expect(vendor.calls).toEqual([])
    })
  }

  test('if it is too large by its length, before it is read', async () => {
    const caller = await RawCaller.connect(gateway.url)
    caller.send(headOf({ 'content-length': String(256 * MEBIBYTE + 1) }))
    await waitFor(() => caller.head().includes('request_id'))
    expect(caller.head()).toStartWith('HTTP/1.1 413 ')
    expect(caller.head()).toContain('"code":"body_too_large"')
    caller.leave('fin')
  })

  test('by the vendor, in its words, and free', async () => {
    vendor.answer = () => Response.json({ error: { message: 'Too many zebras.' } }, { status: 400 })
    const { charges } = await edit(lion, { status: 400, words: ['Too many zebras.'] })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  for (const protocol of ['http', 'https'] as const) {
    test(`by a vendor that answers before it has read the form, over ${protocol}`, async () => {
      const large = new Uint8Array(20 * MEBIBYTE)
      large.set(png)
      const parts = [text('model', `test-${protocol}`), text('prompt', 'A lion'), file('image', large)]
      const { charges } = await edit(parts, { status: 400, words: ['Too many zebras.'] })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
      expect(hasty[protocol].requests).toBe(1)
      expect(hasty[protocol].bodies).toEqual([])
    })
  }
})

function headOf(headers: Record<string, string>): string {
  const lines = Object.entries({
    host: 'gateway',
    authorization: `Bearer ${gateway.secret}`,
    'content-type': typeOf(),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`
}

describe('a caller who disconnects in the middle of a form', () => {
  const ways: readonly Leaving[] = ['fin', 'rst', 'half']
  const form = rawForm([...lion.slice(0, 2), file('image', new Uint8Array(MEBIBYTE))])
  for (const how of ways) {
    test(`by ${how}: nothing is sent, nothing is held, no file remains`, async () => {
      const [charges, rows] = [await gateway.charges(), await gateway.requestLog()]
      const caller = await RawCaller.connect(gateway.url)
      caller.send(headOf({ 'content-length': String(form.length) }))
      caller.send(form.slice(0, MEBIBYTE / 2))
      await waitFor(() => uploaded().length === 1)
      expect(uploaded()).toHaveLength(1)
      caller.leave(how)
      await waitFor(() => uploaded().length === 0)
      expect(uploaded()).toEqual([])
      await waitFor(async () => (await gateway.requestLog()).length > rows.length)
      const [row, ...others] = (await gateway.requestLog()).slice(rows.length)
      expect(row).toMatchObject({ operation: 'image-edit', status: 499, error_code: 'caller_left' })
      expect(others).toEqual([])
      expect(await gateway.charges()).toEqual(charges)
      expect(vendor.calls).toEqual([])
    })
  }

  test('after the form was complete: it is served and charged, and its files are removed', async () => {
    const before = await gateway.charges()
    const gate = Promise.withResolvers<void>()
    vendor.answer = () => answerAfter(gate.promise)
    const whole = rawForm(lion)
    const caller = await RawCaller.connect(gateway.url)
    caller.send(headOf({ 'content-length': String(whole.length) }))
    caller.send(whole)
    await waitFor(() => vendor.calls.length === 1)
    expect(uploaded()).toHaveLength(1)
    caller.leave('fin')
    gate.resolve()
    await waitFor(() => uploaded().length === 0)
    expect(uploaded()).toEqual([])
    const [charge] = (await gateway.charges()).slice(before.length)
    expect(charge).toMatchObject({ state: 'settled', amount: 450_000 })
  })
})

/** An answer whose body is sent when the gate opens. */
function answerAfter(gate: Promise<void>): Response {
  const body = new ReadableStream({
    async pull(controller) {
      await gate
      controller.enqueue(Buffer.from(JSON.stringify(edited)))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}
