// The simulator of OpenAI's images, called directly: it rejects what the real service rejects, with its messages; otherwise a gateway
// that sends invalid requests would pass its tests.

import { afterAll, describe, expect, test } from 'bun:test'
import { startSandbox } from '../../sandbox'
import { picture } from '../../sandbox/pictures'
import type { Json } from '../support/scenario'

const sandbox = startSandbox()
afterAll(() => sandbox.stop())

async function ask(task: 'generations' | 'edits', body: string | FormData): Promise<Json> {
  const response = await fetch(`${sandbox.baseUrls.openai}/images/${task}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${sandbox.secrets.openai}`,
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
    },
    body,
  })
  return { status: response.status, ...((await response.json()) as object) }
}

const generate = (fields: object) =>
  ask('generations', JSON.stringify({ model: 'gpt-image-2', prompt: 'x', ...fields }))

function edit(model: string, parts: readonly [name: string, value: string | File][]): Promise<Json> {
  const form = new FormData()
  for (const [name, value] of [['model', model], ['prompt', 'x'], ...parts] as const) form.append(name, value)
  return ask('edits', form)
}

function png(width = 32, height = 32): File {
  return new File([picture('png', width, height).bytes as Uint8Array<ArrayBuffer>], 'a.png', {
    type: 'image/png',
  })
}

const wrongGenerations: [fields: object, code: string | null, param: string | null, words: string][] = [
  [{ model: undefined }, null, null, 'you must provide a model'],
  [{ prompt: undefined }, 'missing_required_parameter', 'prompt', "Missing required parameter: 'prompt'."],
  [
    { response_format: 'b64_json' },
    'unknown_parameter',
    'response_format',
    "Unknown parameter: 'response_format'.",
  ],
  [{ input_fidelity: 'high' }, 'unknown_parameter', 'input_fidelity', 'Unknown parameter'],
  [
    { quality: 'standard' },
    'invalid_value',
    'quality',
    "Invalid value: 'standard'. Supported values are: 'low'",
  ],
  [{ model: 'gpt-image-1', quality: 'hd' }, 'invalid_value', 'quality', "Invalid value: 'hd'"],
  [{ model: 'gpt-image-1', size: '512x512' }, 'invalid_value', 'size', "Invalid value: '512x512'"],
  [{ size: '1000x1000' }, 'invalid_value', 'size', 'divisible by 16'],
  [{ size: '4096x2048' }, 'invalid_value', 'size', '3840'],
  [{ size: '3200x640' }, 'invalid_value', 'size', '3:1'],
  [{ size: 'huge' }, 'invalid_value', 'size', 'Supported values'],
  [{ n: 0 }, 'integer_below_min_value', 'n', '>= 1'],
  [{ n: 11 }, 'integer_above_max_value', 'n', '<= 10'],
  [{ n: 1.5 }, 'invalid_type', 'n', 'an integer'],
  [
    { background: 'transparent', output_format: 'jpeg' },
    'invalid_background_output_format',
    'background',
    'JPEG',
  ],
  [{ model: 'dall-e-2', quality: 'standard' }, 'unknown_parameter', 'quality', 'Unknown parameter'],
  [{ model: 'dall-e-2', size: 'auto' }, 'invalid_value', 'size', "Invalid value: 'auto'"],
]

describe('generations', () => {
  test.each(wrongGenerations)('%j is rejected', async (fields, code, param, words) => {
    const { status, error } = await generate(fields)
    expect({ status, ...error }).toMatchObject({ status: 400, code, param, type: 'invalid_request_error' })
    expect(error.message).toContain(words)
  })

  test('an unknown model', async () => {
    expect(await generate({ model: 'gpt-image-9' })).toMatchObject({
      status: 404,
      error: { code: 'model_not_found' },
    })
  })
})

const gif = new File(['GIF89a'], 'a.gif', { type: 'image/gif' })
const wrongEdits: [name: string, model: string, parts: [string, string | File][], words: string][] = [
  ['no image', 'gpt-image-2', [], "Missing required parameter: 'image'."],
  ['a text as an image', 'gpt-image-2', [['image', 'x']], "Unknown parameter: 'image'."],
  ['an unsupported image type', 'gpt-image-2', [['image', gif]], "unsupported mimetype ('image/gif')"],
  [
    'an invalid image',
    'gpt-image-2',
    [['image', new File(['x'], 'a.png', { type: 'image/png' })]],
    'for image 0',
  ],
  [
    'too many images',
    'gpt-image-2',
    Array.from({ length: 17 }, () => ['image[]', png()]),
    'maximum length 16',
  ],
  [
    'an empty mask',
    'gpt-image-2',
    [
      ['image', png()],
      ['mask', new File([], 'm.png', { type: 'image/png' })],
    ],
    'mask',
  ],
  [
    'a mask of another size',
    'gpt-image-2',
    [
      ['image', png()],
      ['mask', png(8, 8)],
    ],
    'does not match image size',
  ],
  [
    'fidelity',
    'gpt-image-2',
    [
      ['image', png()],
      ['input_fidelity', 'high'],
    ],
    "'input_fidelity'",
  ],
  [
    'a response format',
    'gpt-image-1',
    [
      ['image', png()],
      ['response_format', 'url'],
    ],
    'Unknown parameter',
  ],
  [
    'several images for the older model',
    'dall-e-2',
    [
      ['image[]', png()],
      ['image[]', png()],
    ],
    'expected a file',
  ],
  ['a non-square image for the older model', 'dall-e-2', [['image', png(16, 8)]], 'must be square'],
  [
    'a format for the older model',
    'dall-e-2',
    [
      ['image', png()],
      ['output_format', 'png'],
    ],
    'Unknown parameter',
  ],
]

describe('edits', () => {
  test.each(wrongEdits)('%s is rejected', async (_, model, parts, words) => {
    const { status, error } = await edit(model, parts)
    expect({ status, message: error?.message }).toEqual({
      status: 400,
      message: expect.stringContaining(words),
    })
  })

  test('that are JSON are rejected', async () => {
    const { status, error } = await ask('edits', JSON.stringify({ model: 'gpt-image-2', prompt: 'x' }))
    expect({ status, message: error.message }).toEqual({
      status: 400,
      message: "Invalid content type: expected 'multipart/form-data'.",
    })
  })
})
