// POST /v1/images/edits with the shipped catalogue: every field of its table, the form that the vendor receives, and charges for input and
// output images by the vendor's own usage.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import shipped from '../../gateway.config'
import { type PictureFormat, picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'

const TEXT_IN = 5_000
const IMAGE_IN = { 'pgt-image-2': 8_000, 'pgt-image-1': 10_000 }
const IMAGE_OUT = { 'pgt-image-2': 30_000, 'pgt-image-1': 40_000 }
const models = ['pgt-image-2', 'pgt-image-1', 'dle-2'] as const

const catalogue: Record<string, ModelConfig> = shipped.models
let gateway: TestGateway

/** A vendor that stores the raw form; the simulator only sees the result of its own parser. */
let wire = ''
const wireVendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    wire = Buffer.from(await request.bytes()).toString('latin1')
    return Response.json({ created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }] })
  },
})

beforeAll(async () => {
  const entry = (id: string) => catalogue[id] as ModelConfig
  const { referenceImages: _, ...single } = entry('pgt-image-1')
  gateway = await startTestGateway({
    upstreams: { wire: { kind: 'openai', baseUrl: wireVendor.url.href, apiKey: 'none' } },
    models: {
      ...Object.fromEntries(models.map((id) => [id, entry(id)])),
      'whole-only': { ...entry('pgt-image-1'), mask: false },
      'one-image': single,
      'wire-image': { ...entry('pgt-image-2'), upstream: 'wire' },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await wireVendor.stop(true)
  expect(readdirSync(join(gateway.dataDir, 'uploads'))).toEqual([])
})

type Part = readonly [name: string, value: string | File]

function file(format: PictureFormat, width = 64, height = 64, name = `photo.${format}`, type?: string): File {
  const { bytes, contentType } = picture(format, width, height)
  return new File([bytes as Uint8Array<ArrayBuffer>], name, { type: type ?? contentType })
}

const fox: Part = ['image', file('png')]
const prompt: Part = ['prompt', 'Put a red scarf on the fox']

/** Sends the parts in the given order. */
async function send(parts: readonly Part[], expected: Partial<Scenario> = {}): Promise<Played> {
  const form = new FormData()
  for (const [name, value] of parts) form.append(name, value)
  const encoded = new Response(form)
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' }
  const body = await encoded.bytes()
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'edit', path: '/v1/images/edits', headers, body, ...rest })
}

/** Sends a prompt, the given parts, and an image if they contain none. */
function edit(model: string, parts: readonly Part[] = [], expected: Partial<Scenario> = {}): Promise<Played> {
  const hasImage = parts.some(([name]) => name.startsWith('image'))
  return send([['model', model], prompt, ...(hasImage ? [] : [fox]), ...parts], expected)
}

/** A request that is rejected before the vendor is called. */
function refuse(
  model: string,
  parts: readonly Part[],
  error: Scenario['error'],
  ...words: string[]
): Promise<Played> {
  return edit(model, parts, { status: 400, vendorCalls: 0, charges: 0, ...(error && { error }), words })
}

/** Fields that the vendor received: texts, and files by their name and type. */
function vendorParts({ calls }: Played): [name: string, value: string][] {
  return (calls[0]?.form ?? []).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : `${value.name} ${value.type}`,
  ])
}

function textsOf(played: Played): Record<string, string> {
  return Object.fromEntries(vendorParts(played).filter(([name]) => !/^(image|mask)/.test(name)))
}

function sizeOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

describe('an edit', () => {
  for (const [model, input] of [
    ['pgt-image-2', 4354],
    ['pgt-image-1', 194],
  ] as const) {
    test(`with ${model} has the documented members, and costs what they define`, async () => {
      const parts: Part[] = [
        ['size', '1024x1536'],
        ['quality', 'medium'],
      ]
      const { json, charges, logRows } = await edit(model, parts)
      expect(Object.keys(json).sort()).toEqual([
        'background',
        'created',
        'data',
        'output_format',
        'quality',
        'size',
        'usage',
      ])
      expect(json).toMatchObject({ background: 'opaque', output_format: 'png', quality: 'medium' })
      expect(json.size).toBe('1024x1536')
      expect(json.data.map(({ b64_json }: Json) => sizeOf(b64_json))).toEqual(['1024x1536'])
      const { input_tokens_details: details, output_tokens: output } = json.usage
      expect(details.image_tokens).toBe(input)
      const amount = details.text_tokens * TEXT_IN + input * IMAGE_IN[model] + output * IMAGE_OUT[model]
      expect(charges).toMatchObject([
        { state: 'settled', usage_source: 'upstream', amount, shortfall: 0, operation: 'image-edit' },
      ])
      expect(Number(charges[0]?.held)).toBeGreaterThanOrEqual(amount)
      expect(logRows).toMatchObject([
        { input_tokens: json.usage.input_tokens, output_tokens: output, amount },
      ])
    })
  }

  test('with dle-2 is priced by its size', async () => {
    for (const [size, made, amount] of [
      ['256x256', '256x256', 16_000_000],
      ['512x512', '512x512', 18_000_000],
      ['1024x1024', '1024x1024', 20_000_000],
      ['auto', '1024x1024', 20_000_000],
    ] as const) {
      const played = await edit('dle-2', [
        ['size', size],
        ['n', '2'],
      ])
      expect(played.json.data.map(({ b64_json }: Json) => sizeOf(b64_json))).toEqual([made, made])
      expect(played.charges).toMatchObject([
        { amount: 2 * amount, held: 2 * amount, usage_source: 'counted' },
      ])
    }
  })
})

describe('the vendor receives', () => {
  test('texts before files and the mask last, in any order of the request', async () => {
    const played = await send([
      ['mask', file('png', 64, 64, 'mask.png')],
      ['n', '1'],
      ['image[]', file('png', 64, 64, 'first.png')],
      ['user', 'u-1'],
      ['image[]', file('jpeg', 64, 48, 'second.jpg')],
      prompt,
      ['quality', 'hd'],
      ['response_format', 'url'],
      ['model', 'pgt-image-2'],
      ['size', 'auto'],
    ])
    expect(vendorParts(played)).toEqual([
      ['model', 'gpt-image-2'],
      ['prompt', 'Put a red scarf on the fox'],
      ['n', '1'],
      ['user', 'u-1'],
      ['quality', 'high'],
      ['size', 'auto'],
      ['image[]', 'first.png image/png'],
      ['image[]', 'second.jpg image/jpeg'],
      ['mask', 'mask.png image/png'],
    ])
    expect(played.json.data[0]).toHaveProperty('b64_json')
  })

  const names: [sent: string, type: string, name: string][] = [
    ['löwe 🦁.webp', 'image/webp', 'löwe 🦁.webp'],
    ['fox.WEBP', 'application/octet-stream', 'fox.WEBP'],
    ['fox.gif', 'image/gif', 'fox.gif.webp'],
    ['blob', '', 'blob.webp'],
  ]
  for (const [sent, type, name] of names) {
    test(`a file unchanged, with its detected type WebP: ${sent} of the type '${type}' as ${name}`, async () => {
      const photo = file('webp', 64, 48, sent, type)
      await edit('wire-image', [['image', photo]], { vendorCalls: 0 })
      const head = `name="image"; filename="${name}"\r\nContent-Type: image/webp\r\n\r\n`
      const bytes = Buffer.from(await photo.bytes()).toString('latin1')
      expect(wire).toContain(`${Buffer.from(head).toString('latin1')}${bytes}\r\n--`)
    })
  }

  const spellings: [names: string[], at: string][] = [
    [['image'], 'image'],
    [['image[]'], 'image'],
    [['image[0]'], 'image'],
    [['image', 'image'], 'image[]'],
    [['image[]', 'image[]', 'image[]'], 'image[]'],
    [['image[0]', 'image[1]'], 'image[]'],
  ]
  for (const [names, at] of spellings) {
    test(`images named ${names.join(' and ')} as ${at}`, async () => {
      const images = names.map((name, index): Part => [name, file('png', 64, 64, `${index}.png`)])
      const played = await edit('pgt-image-2', images)
      expect(vendorParts(played).filter(([name]) => name.startsWith('image'))).toEqual(
        names.map((_, index): [string, string] => [at, `${index}.png image/png`]),
      )
    })
  }

  test('up to sixteen images in their order, and a mask', async () => {
    const images = Array.from(
      { length: 16 },
      (_, index): Part => ['image[]', file('png', 64, 64, `${index}.png`)],
    )
    const played = await edit('pgt-image-2', [...images, ['mask', file('png', 64, 64, 'mask.png')]])
    expect(vendorParts(played).slice(2)).toEqual([
      ...images.map((_, index): [string, string] => ['image[]', `${index}.png image/png`]),
      ['mask', 'mask.png image/png'],
    ])
    expect(played.json.usage.input_tokens_details.image_tokens).toBe(16 * 4354)
    expect(Number(played.charges[0]?.held)).toBeGreaterThan(Number(played.charges[0]?.amount))
  })

  for (const [given, quality] of [
    ['auto', 'auto'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['standard', 'medium'],
    ['hd', 'high'],
  ] as const) {
    test(`the quality ${given} as ${quality}; the legacy model receives none`, async () => {
      const newer = textsOf(await edit('pgt-image-2', [['quality', given]]))
      expect(newer.quality).toBe(quality)
      expect(textsOf(await edit('dle-2', [['quality', given]]))).not.toHaveProperty('quality')
    })
  }

  test('no mask and no quality if the request has none', async () => {
    const played = await edit('pgt-image-2', [['mask', new File([], '')]])
    expect(vendorParts(played).map(([name]) => name)).toEqual(['model', 'prompt', 'image'])
  })

  test('input_fidelity, which the newer model rejects itself', async () => {
    const parts: Part[] = [['input_fidelity', 'high']]
    const older = await edit('pgt-image-1', parts)
    expect(textsOf(older)).toMatchObject({ input_fidelity: 'high' })
    expect(older.json.usage.input_tokens_details.image_tokens).toBe(4354)
    const error = { code: 'invalid_input_fidelity_model', param: 'input_fidelity' }
    await edit('pgt-image-2', parts, { status: 400, error })
  })

  test('unknown fields, which the vendor may reject by name', async () => {
    const played = await edit('pgt-image-2', [['future', 'yes']], {
      status: 400,
      error: { code: 'unknown_parameter', param: 'future' },
    })
    expect(textsOf(played)).toMatchObject({ future: 'yes' })
    expect(played.charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('only fields that the legacy model supports', async () => {
    const played = await edit('dle-2', [
      ['output_format', 'png'],
      ['background', 'auto'],
      ['stream', 'false'],
      ['mask', file('png')],
      ['user', 'u-1'],
    ])
    expect(vendorParts(played).map(([name]) => name)).toEqual([
      'model',
      'prompt',
      'user',
      'size',
      'response_format',
      'image',
      'mask',
    ])
    expect(textsOf(played)).toMatchObject({ size: '1024x1024', response_format: 'b64_json' })
  })
})

describe('images', () => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    test(`are accepted as ${format}`, () => edit('pgt-image-2', [['image', file(format)]]))
  }

  const odd: [name: string, content: string | Uint8Array][] = [
    ['a GIF', 'GIF89a\x01\0\x01\0\0\0\0;'],
    ['a BMP', 'BM\x3a\0\0\0\0\0\0\0'],
    ['a text', 'This is not a picture.'],
    ['half a signature', '\x89PNG'],
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ]
  for (const [name, content] of odd) {
    for (const model of models) {
      test(`that are ${name} are rejected by ${model}, whatever their file name`, async () => {
        const image = new File([Buffer.from(content as string, 'latin1')], 'fox.png', { type: 'image/png' })
        const error = { param: 'image', code: 'unsupported_image_format', type: 'invalid_request_error' }
        await refuse(
          model,
          [['image', image]],
          error,
          'Unsupported image format',
          'fox.png',
          'PNG, JPEG or WebP',
        )
      })
    }
  }

  test('are each checked: an invalid one among valid ones is rejected', async () => {
    const wrong = new File(['GIF89a'], 'second.gif', { type: 'image/gif' })
    const parts: Part[] = [
      ['image[]', file('png')],
      ['image[]', wrong],
    ]
    await refuse('pgt-image-2', parts, { code: 'unsupported_image_format' }, 'second.gif, image/gif')
  })

  test('that are invalid are rejected with the name of the field', async () => {
    const error = { param: 'image', code: 'missing_required_parameter' }
    for (const model of models) {
      const parts: Part[] = [['model', model], prompt]
      await send(parts, { status: 400, vendorCalls: 0, charges: 0, error })
      await refuse(model, [['image', new File([], '')]], error)
    }
  })

  test('that are an address are rejected with a hint', async () => {
    for (const model of models) {
      const parts: Part[] = [['image', 'https://example.com/fox.png']]
      await refuse(
        model,
        parts,
        { param: 'image', code: 'invalid_type' },
        'expected a file',
        'curl -F image=@',
      )
    }
  })

  test('beyond the limit of the model are rejected', async () => {
    const two: Part[] = [
      ['image', file('png')],
      ['image', file('png')],
    ]
    await refuse('dle-2', two, { param: 'image' }, 'dle-2 takes 1 image, but got 2')
    await refuse('one-image', two, { param: 'image' }, 'one-image takes 1 image, but got 2')
    const many = Array.from({ length: 17 }, (): Part => ['image[]', file('png')])
    await refuse('pgt-image-2', many, { param: 'image' }, 'takes 1 to 16 images, but got 17')
  })

  const square: [name: string, image: File, words: string][] = [
    ['not a PNG', file('jpeg'), 'must be a PNG'],
    ['not square', file('png', 64, 32), 'must be square'],
  ]
  for (const [name, image, words] of square) {
    test(`that are ${name} are rejected by the legacy model itself, with its message`, async () => {
      const { charges } = await edit('dle-2', [['image', image]], { status: 400, words: [words] })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    })
  }
})

describe('a mask', () => {
  test('with the size of the first image is accepted', async () => {
    const played = await edit('pgt-image-2', [
      ['image[]', file('png', 48, 32)],
      ['image[]', file('png', 64, 64)],
      ['mask', file('png', 48, 32)],
    ])
    expect(vendorParts(played).at(-1)?.[0]).toBe('mask')
    await edit('pgt-image-1', [
      ['image', file('jpeg')],
      ['mask', file('png', 64, 48)],
    ])
  })

  const wrong: [name: string, masks: File[], words: string][] = [
    ['with another size', [file('png', 32, 64)], 'it is 32x64, and the image 64x64 pixels'],
    ['with swapped width and height', [file('png', 48, 64)], '48x64'],
    ['that is a JPEG', [file('jpeg')], 'must be a PNG'],
    ['that is a WebP', [file('webp')], 'must be a PNG'],
    ['that is not an image', [new File(['mask'], 'mask.png', { type: 'image/png' })], 'must be a PNG'],
    ['that is sent twice', [file('png'), file('png')], 'send one file, but got 2'],
  ]
  for (const [name, masks, words] of wrong) {
    for (const model of models) {
      test(`${name} is rejected by ${model}`, async () => {
        const parts = masks.map((mask): Part => ['mask', mask])
        await refuse(
          model,
          parts,
          { param: 'mask', code: 'invalid_mask', type: 'invalid_request_error' },
          words,
        )
      })
    }
  }

  test('that fits only the second image is rejected', async () => {
    const parts: Part[] = [
      ['image[]', file('png', 48, 32)],
      ['image[]', file('png', 64, 64)],
      ['mask', file('png', 64, 64)],
    ]
    await refuse('pgt-image-2', parts, { code: 'invalid_mask' }, 'the first image 48x32')
  })

  test('that is a text is rejected', () =>
    refuse('pgt-image-2', [['mask', 'none']], { param: 'mask', code: 'invalid_type' }, 'curl -F mask=@'))

  test('is rejected by a model that edits whole images only; without the mask the request succeeds', async () => {
    const error = { param: 'mask', code: 'unsupported_parameter' }
    await refuse('whole-only', [['mask', file('png')]], error, "does not accept a 'mask'", 'Leave it out')
    await edit('whole-only')
  })
})

describe('sizes', () => {
  const all = ['auto', '1024x1024', '1024x1536', '1536x1024', '256x256', '512x512', '2048x2048', '3840x2160']
  const taken: Record<string, string[]> = {
    'pgt-image-2': ['auto', '1024x1024', '1024x1536', '1536x1024'],
    'pgt-image-1': ['auto', '1024x1024', '1024x1536', '1536x1024'],
    'dle-2': ['auto', '256x256', '512x512', '1024x1024'],
  }
  for (const model of models) {
    for (const size of all) {
      const isTaken = taken[model]?.includes(size)
      test(`${model} ${isTaken ? 'accepts' : 'rejects'} ${size}`, async () => {
        if (!isTaken)
          return void (await refuse(model, [['size', size]], { param: 'size' }, model, '1024x1024'))
        const { json } = await edit(model, [['size', size]])
        expect(sizeOf(json.data[0].b64_json)).toBe(size === 'auto' ? '1024x1024' : size)
      })
    }
  }
})

describe('other fields', () => {
  const wrong: [field: string, value: string, ...words: string[]][] = [
    ['n', '0', '>= 1'],
    ['n', '11', '<= 10'],
    ['n', '1.5', 'expected an integer'],
    ['n', 'two', 'expected an integer'],
    ['n', '', 'expected an integer'],
    ['quality', 'ultra', "'standard'"],
    ['response_format', 'file', "'b64_json'"],
    ['output_format', 'gif', "'webp'"],
    ['background', 'blue', "'transparent'"],
    ['stream', 'yes', 'expected a boolean'],
    ['partial_images', '4', '<= 3'],
    ['output_compression', '101', '<= 100'],
  ]
  for (const [field, value, ...words] of wrong) {
    test(`${field} ${value} is rejected`, () =>
      refuse('pgt-image-2', [[field, value]], { param: field, type: 'invalid_request_error' }, ...words))
  }

  test('several output images are returned and charged', async () => {
    const { json, charges } = await edit('pgt-image-2', [
      ['n', '10'],
      ['quality', 'low'],
      ['size', '1024x1024'],
    ])
    expect(json.data).toHaveLength(10)
    expect(json.usage.output_tokens).toBe(1960)
    const { text_tokens: text, image_tokens: image } = json.usage.input_tokens_details
    expect(charges).toMatchObject([{ amount: text * TEXT_IN + image * 8_000 + 1960 * 30_000 }])
  })

  test('formats, and a transparent background if the format supports it', async () => {
    for (const [format, background] of [
      ['png', 'transparent'],
      ['webp', 'transparent'],
      ['jpeg', 'opaque'],
    ] as const) {
      const parts: Part[] = [
        ['output_format', format],
        ['background', background],
      ]
      const { json } = await edit('pgt-image-2', parts)
      expect(json).toMatchObject({ output_format: format, background })
    }
    const parts: Part[] = [
      ['background', 'transparent'],
      ['output_format', 'jpeg'],
    ]
    await refuse('pgt-image-2', parts, { param: 'background' }, 'png or webp')
  })

  test('of newer models are rejected by the legacy one, with a hint', async () => {
    for (const [field, value] of [
      ['output_format', 'webp'],
      ['background', 'transparent'],
      ['stream', 'true'],
    ] as const) {
      const error = { param: field, code: 'unsupported_parameter' }
      await refuse('dle-2', [[field, value]], error, 'dle-2', 'Leave it out')
    }
  })

  test('addresses are returned by the legacy model only', async () => {
    const parts: Part[] = [
      ['response_format', 'url'],
      ['size', '256x256'],
    ]
    const { json } = await edit('dle-2', parts)
    const result = await fetch(json.data[0].url)
    expect(sizeOf(Buffer.from(await result.bytes()).toString('base64'))).toBe('256x256')
    for (const model of ['pgt-image-2', 'pgt-image-1']) {
      const played = await edit(model, parts.slice(0, 1))
      expect(Object.keys(played.json.data[0])).toEqual(['b64_json'])
    }
  })

  test('a prompt and a model are required', async () => {
    const refused = { status: 400, vendorCalls: 0, charges: 0 }
    const model: Part = ['model', 'pgt-image-2']
    await send([model, fox], { ...refused, error: { param: 'prompt', code: 'missing_required_parameter' } })
    await send([model, fox, ['prompt', '']], { ...refused, error: { param: 'prompt' } })
    await send([prompt, fox], { ...refused, error: { param: 'model' }, words: ['/v1/models'] })
    const unknown: Part = ['model', 'pgt-image-9']
    await send([unknown, prompt, fox], { ...refused, error: { param: 'model', code: 'model_not_found' } })
    const chat: Part = ['model', 'test-chat']
    await send([chat, prompt, fox], { ...refused, error: { code: 'endpoint_model_mismatch' } })
  })

  test('a JSON body is rejected with a hint', () =>
    play(gateway, {
      name: 'JSON',
      path: '/v1/images/edits',
      body: { model: 'pgt-image-2', prompt: 'x', image: 'https://example.com/fox.png' },
      status: 415,
      words: ['multipart/form-data'],
    }))
})

describe('money', () => {
  test('is checked before the vendor is called', async () => {
    const { secret } = await gateway.makeKey('poor', '0.1')
    for (const model of ['pgt-image-2', 'pgt-image-1']) {
      await edit(model, [['n', '2']], {
        key: secret,
        status: 402,
        vendorCalls: 0,
        charges: 0,
        error: { code: 'insufficient_balance' },
      })
    }
    await edit('dle-2', [['n', '2']], { key: secret })
  })

  for (const fault of ['missing', 'negative', 'string', 'huge']) {
    test(`is calculated from the images if the usage is ${fault}`, async () => {
      const parts: Part[] = [['model', 'pgt-image-2'], ['prompt', `[sandbox usage=${fault}]`], fox]
      const { json, charges } = await send(parts)
      expect(charges).toMatchObject([{ state: 'settled', usage_source: 'estimated' }])
      const { input_tokens_details: input, output_tokens: output } = json.usage
      // A square within one tile, at the fidelity that newer models always use.
      expect(input.image_tokens).toBe(65 + 129 + 4160)
      const amount = input.text_tokens * TEXT_IN + input.image_tokens * 8_000 + output * 30_000
      expect(charges[0]?.amount).toBe(amount)
      expect(amount).toBeLessThan(charges[0]?.held as number)
    })
  }

  const failures: [directive: string, status: number, code: string][] = [
    ['blocked=1', 400, 'moderation_blocked'],
    ['status=400 error_code=invalid_image_file', 400, 'invalid_image_file'],
    ['status=401', 503, 'upstream_unavailable'],
    ['status=429', 429, 'rate_limit_exceeded'],
    ['status=500', 502, 'upstream_error'],
    ['garbage', 502, 'upstream_garbage'],
    ['empty', 502, 'upstream_empty'],
  ]
  for (const [directive, status, code] of failures) {
    test(`is refunded after ${directive}`, async () => {
      for (const model of models) {
        const parts: Part[] = [['model', model], ['prompt', `[sandbox ${directive}]`], fox]
        const { charges } = await send(parts, { status, error: { code } })
        expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
      }
    })
  }
})

describe('a stream', () => {
  test('returns partial images and the final one, with its price', async () => {
    const played = await edit(
      'pgt-image-2',
      [
        ['stream', 'true'],
        ['partial_images', '2'],
        ['size', '1024x1024'],
        ['quality', 'low'],
      ],
      { answers: { 'content-type': /^text\/event-stream/ } },
    )
    expect(played.text.match(/^event: .*$/gm)).toEqual([
      'event: image_edit.partial_image',
      'event: image_edit.partial_image',
      'event: image_edit.completed',
    ])
    const events: Json[] = (played.text.match(/(?<=^data: ).*$/gm) ?? []).map((data) => JSON.parse(data))
    for (const { b64_json } of events) expect(sizeOf(b64_json)).toBe('1024x1024')
    const { input_tokens_details: details, output_tokens: output } = events.at(-1).usage
    expect(output).toBe(196 + 200)
    const amount = details.text_tokens * TEXT_IN + details.image_tokens * 8_000 + output * 30_000
    expect(played.charges).toMatchObject([
      { state: 'settled', usage_source: 'upstream', amount, shortfall: 0 },
    ])
    expect(textsOf(played)).toMatchObject({ stream: 'true', partial_images: '2' })
  })

  test('that the vendor ends with an error before any image is free', async () => {
    const parts: Part[] = [
      ['model', 'pgt-image-2'],
      ['prompt', '[sandbox error_after=0]'],
      fox,
      ['stream', 'true'],
    ]
    const code = 'image_generation_failed'
    const { charges } = await send(parts, { words: [code], reported: code })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

describe('a field name with a path', () => {
  const refused: [name: string, value: string, param: string, code?: string][] = [
    ['images[0][file_id]', 'file-a', 'images[0].file_id', 'unsupported_parameter'],
    ['images[][file_id]', 'file-a', 'images[0].file_id', 'unsupported_parameter'],
    ['images[0].file_id', 'file-a', 'images[0].file_id', 'unsupported_parameter'],
    ['images[7]["file_id"]', 'file-a', 'images[0].file_id', 'unsupported_parameter'],
    ['images[ 0 ][ file_id ]', 'file-a', 'images[0].file_id', 'unsupported_parameter'],
    ['images', '[{"file_id":"file-a"}]', 'images[0].file_id', 'unsupported_parameter'],
    ['images[0]', '{"file_id":"file-a"}', 'images.file_id', 'unsupported_parameter'],
    ['mask[file_id]', 'file-a', 'mask.file_id', 'unsupported_parameter'],
    ['mask.file_id', 'file-a', 'mask.file_id', 'unsupported_parameter'],
    ['fallbacks[0][model]', 'dearer', 'fallbacks', 'unsupported_parameter'],
    ['provider[order][]', 'dearer', 'provider', 'unsupported_parameter'],
    ['service_tier[name]', 'priority', 'service_tier'],
    ['previous_response_id[id]', 'resp_a', 'previous_response_id'],
    // Other spellings of a known name, at any position.
    ['IMAGES[0][file_id]', 'file-a', 'IMAGES', 'unknown_parameter'],
    ['images[0][FILE_ID]', 'file-a', 'images[0].FILE_ID', 'unknown_parameter'],
    ['images', '[{"File_Id":"file-a"}]', 'images[0].File_Id', 'unknown_parameter'],
    ['Quality[0]', 'high', 'Quality', 'unknown_parameter'],
    ['quality[name]', 'high', 'quality', 'invalid_value'],
    ['n[count]', '9', 'n', 'invalid_type'],
    // Names that parsers read differently, or as the path of another field.
    ['prompt[text]', 'x', 'prompt[text]'],
    ['images', '[{"file_id":null,"file_id":"file-a"}]', 'images'],
    ['images[0', 'file-a', 'images[0'],
    ['images]', 'file-a', 'images]'],
    ['[images]', 'file-a', '[images]'],
    ['images[0]file_id', 'file-a', 'images[0]file_id'],
    ['images..file_id', 'file-a', 'images..file_id'],
    ['image[0][file_id]', 'file-a', 'image'],
  ]
  for (const [name, value, param, code] of refused) {
    test(`is checked at that path: ${name}=${value}`, async () => {
      await send([['model', 'pgt-image-2'], prompt, fox, [name, value]], {
        status: 400,
        vendorCalls: 0,
        charges: 0,
        error: { param, ...(code && { code }) },
      })
    })
  }

  test('is rejected if two fields have the same path', async () => {
    const pairs: Part[][] = [
      [
        ['metadata[a]', '1'],
        ['metadata["a"]', '2'],
      ],
      [
        ['metadata[a]', '1'],
        ['metadata.a', '2'],
      ],
      [
        ['metadata', '1'],
        ['metadata[a]', '2'],
      ],
      [
        ['metadata[a][b]', '1'],
        ['metadata[a]', '2'],
      ],
      [
        ['tags[0][a]', '1'],
        ['tags[first]', '2'],
      ],
    ]
    for (const parts of pairs) await refuse('pgt-image-2', parts, { code: 'invalid_value' })
  })

  test('is sent unchanged if no rule forbids it', async () => {
    const parts: Part[] = [
      ['metadata[team]', 'red'],
      ['metadata[tags][0]', 'a'],
      ['metadata[tags][1]', 'b'],
      ['x.y', 'z'],
      ['note', '{"a":1}'],
    ]
    await edit('wire-image', parts, { vendorCalls: 0 })
    for (const [name, value] of parts) expect(wire).toContain(`name="${name}"\r\n\r\n${value}\r\n`)
  })
})
