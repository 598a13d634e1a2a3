// Forms with files, received and sent: what is parsed, what is refused, and that no file remains on disk, however a
// form ends. forms-memory.test.ts tests their memory.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type PictureFormat, picture } from '../../sandbox/pictures'
import { newId, outside } from '../../src/app/world'
import type { FormPart, Upload } from '../../src/contract/family'
import type { Form } from '../../src/contract/form'
import { BodyReader, bodyLimitsOf } from '../../src/http/body'
import { readForm } from '../../src/http/form'
import { GatewayError } from '../../src/lib/errors'
import { pictureOf } from '../../src/lib/file-formats/picture'
import { createTicker } from '../../src/lib/ticker'
import { AudioReader } from '../../src/media/audio'
import { openUploads } from '../../src/media/uploads'
import { encodeForm } from '../../src/upstreams/multipart'
import { temporaryFolder } from '../support/databases/databases'
import { waitFor } from '../support/gateway'
import { casesOf, createRandom, seedOf } from '../support/random'
import { rejection } from '../support/rejection'
import { RawCaller } from '../support/servers/raw-caller'
import { BOUNDARY, type RawPart, rawForm, typeOf } from '../support/servers/raw-form'

setDefaultTimeout(180_000)

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE
const MAX_BYTES = 256 * MEBIBYTE

const folder = join(temporaryFolder(), 'uploads')
const uploads = openUploads(folder, newId)
const audioReader = new AudioReader()
const ticker = createTicker(outside)
afterAll(() => {
  ticker.stop()
  audioReader.close()
})

const limitsOf = (maxBytes: number) => ({
  ...bodyLimitsOf({}),
  'image-edit': maxBytes,
})
const bodies = new BodyReader(ticker, () => limitsOf(MAX_BYTES))

const formOf = (request: Request, from = bodies, into = uploads): Promise<Form> =>
  readForm(
    request,
    { uploads: into, audioReader },
    from.pieces(request, 'image-edit', () => {}),
  )

/** A form as a comparable value, with the bytes of its files. */
interface Seen {
  fields: Record<string, string | readonly string[]>
  files: Record<string, { filename: string; contentType: string; picture: string | null; bytes: string }[]>
  textBytes: number
  hash: string
}

async function look({ fields, files, textBytes, hash }: Form): Promise<Seen> {
  const seen: Seen = { fields: Object.fromEntries(fields), files: {}, textBytes, hash }
  for (const [name, all] of files) {
    seen.files[name] = await Promise.all(
      all.map(async ({ filename, contentType, picture, bytes }) => ({
        filename,
        contentType,
        picture: picture ? `${picture.format} ${picture.width}x${picture.height}` : null,
        bytes: Buffer.from(await bytes.bytes()).toString('latin1'),
      })),
    )
  }
  return seen
}

function requestOf(body: Bun.BodyInit, contentType?: string): Request {
  const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType }
  return new Request('http://gateway/', { method: 'POST', headers, body })
}

/** A body that arrives in these pieces. */
function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = [...pieces]
  return new ReadableStream({
    pull(controller) {
      const piece = rest.shift()
      if (piece) controller.enqueue(piece)
      else controller.close()
    },
  })
}

/** Reads a form and releases it. */
async function read(body: Bun.BodyInit, contentType?: string): Promise<Seen> {
  const form = await formOf(requestOf(body, contentType))
  try {
    return await look(form)
  } finally {
    await form.dispose()
    expect(readdirSync(folder)).toEqual([])
  }
}

/** Returns the error that refuses a form, and checks that none of its files remain. */
async function refuse(body: Bun.BodyInit, contentType = typeOf()): Promise<GatewayError> {
  const error = await formOf(requestOf(body, contentType)).then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(GatewayError)
  expect(readdirSync(folder)).toEqual([])
  return error
}

const png = picture('png', 30, 20).bytes
const pngText = Buffer.from(png).toString('latin1')
const text = (name: string, content: string): RawPart => ({ name, content })
const file = (name: string, content: string | Uint8Array = png, more: Partial<RawPart> = {}): RawPart => ({
  name,
  content,
  filename: 'a.png',
  contentType: 'image/png',
  ...more,
})

describe('a form is parsed:', () => {
  test('texts and files, as a browser or an SDK sends them', async () => {
    const form = new FormData()
    form.append('model', 'pgt-image-2')
    form.append('prompt', 'Ein Löwe – 獅子 🦁\r\nin two lines')
    form.append('image', new Blob([png], { type: 'image/png' }), 'löwe.png')
    const { hash, ...seen } = await read(form)
    expect(seen).toEqual({
      fields: { model: 'pgt-image-2', prompt: 'Ein Löwe – 獅子 🦁\r\nin two lines' },
      files: {
        image: [{ filename: 'löwe.png', contentType: 'image/png', picture: 'png 30x20', bytes: pngText }],
      },
      textBytes: Buffer.byteLength('pgt-image-2Ein Löwe – 獅子 🦁\r\nin two lines'),
    })
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
  })

  const orders: [string, string[], string[]][] = [
    ['one image by its name', ['image'], ['0']],
    ['a list of one image', ['image[]'], ['0']],
    ['a repeated name', ['image', 'image', 'image'], ['0', '1', '2']],
    ['a list', ['image[]', 'image[]', 'image[]'], ['0', '1', '2']],
    ['numbers', ['image[0]', 'image[1]', 'image[2]'], ['0', '1', '2']],
    ['numbers out of order', ['image[10]', 'image[2]', 'image[0]'], ['2', '1', '0']],
    ['all forms, those without a number first', ['image[1]', 'image', 'image[]', 'image[0]'], [...'1230']],
  ]
  test('texts of one name with brackets become a list in the order of their numbers', async () => {
    const several = ['include[]', 'include[]', 'at[1]', 'at[0]', 'one[]', 'a[b]']
    const parts = several.map((name, index) => text(name, `${index}`))
    const { fields } = await read(rawForm(parts), typeOf())
    expect(fields).toEqual({ include: ['0', '1'], at: ['3', '2'], one: '4', 'a[b]': '5' })
  })

  for (const [title, names, order] of orders) {
    test(`images are in order: ${title}`, async () => {
      const { files, fields } = await read(
        rawForm(names.map((name, index) => file(name, `${index}`))),
        typeOf(),
      )
      expect(fields).toEqual({})
      expect(Object.keys(files)).toEqual(['image'])
      expect(files.image?.map(({ bytes }) => bytes)).toEqual(order)
    })
  }

  test('other fields may have files too', async () => {
    const { files } = await read(rawForm([file('mask'), file('image[]'), file('a[b]')]), typeOf())
    expect(Object.keys(files)).toEqual(['mask', 'image', 'a[b]'])
  })

  test('an empty part without a file name is a file that was not selected', async () => {
    const nothing = file('mask', '', { filename: '', contentType: 'application/octet-stream' })
    const bare: RawPart = {
      head: ['Content-Disposition: form-data; name="mask"', 'Content-Type: application/octet-stream'],
      content: '',
    }
    for (const part of [nothing, bare]) {
      const { files, hash } = await read(rawForm([file('image'), part]), typeOf())
      expect(Object.keys(files)).toEqual(['image'])
      expect(hash).toBe((await read(rawForm([file('image')]), typeOf())).hash)
    }
  })

  test('an empty text is kept', async () => {
    expect((await read(rawForm([text('user', '')]), typeOf())).fields).toEqual({ user: '' })
  })

  test('a file without a name gets a name that describes it', async () => {
    const parts = [
      file('image', png, { filename: '' }),
      {
        head: ['Content-Disposition: form-data; name="mask"', 'Content-Type: image/png'],
        content: 'no picture',
      },
    ]
    const { files } = await read(rawForm(parts), typeOf())
    expect(files.image?.[0]?.filename).toBe('image.png')
    expect(files.mask?.[0]?.filename).toBe('mask.bin')
  })

  test('a path before a file name is removed', async () => {
    for (const filename of ['../../etc/passwd', '..\\..\\etc\\passwd', '/etc/passwd']) {
      const { files } = await read(rawForm([file('image', png, { filename })]), typeOf())
      expect(files.image?.[0]?.filename).toBe('passwd')
    }
  })

  test('header lines in any case, with a charset, and text around the form', async () => {
    const part: RawPart = {
      head: ['CONTENT-TYPE: text/plain; charset=UTF-8', 'content-disposition: form-data;name=prompt'],
      content: 'ü',
    }
    const form = Buffer.concat([Buffer.from('A preamble.\r\n'), rawForm([part]), Buffer.from('An epilogue.')])
    const type = `Multipart/Form-Data; charset=utf-8; Boundary="${BOUNDARY}"`
    expect((await read(form, type)).fields).toEqual({ prompt: 'ü' })
  })

  test('names of built-in object properties are fields like others', async () => {
    const names = ['__proto__', 'constructor', 'toString']
    const form = await formOf(requestOf(rawForm(names.map((name) => text(name, 'x'))), typeOf()))
    expect([...form.fields.keys()]).toEqual(names)
  })

  test('an empty form is valid', async () => {
    expect((await read(rawForm([]), typeOf())).fields).toEqual({})
  })
})

describe('images are recognized by their content', () => {
  const samples: Record<PictureFormat, Uint8Array> = {
    png: picture('png', 640, 480).bytes,
    jpeg: picture('jpeg').bytes,
    webp: picture('webp').bytes,
  }
  const sizes = { png: '640x480', jpeg: '64x48', webp: '64x48' }
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    test(`${format}, whatever its file name`, async () => {
      const more = { filename: 'file', contentType: 'application/octet-stream' }
      const { files } = await read(rawForm([file('image', samples[format], more)]), typeOf())
      expect(files.image?.[0]).toMatchObject({
        filename: 'file',
        contentType: `image/${format}`,
        picture: `${format} ${sizes[format]}`,
      })
    })
  }

  /** An empty JPEG segment. */
  function segment(length: number): Buffer {
    const bytes = Buffer.alloc(length + 2, 0xff)
    bytes.set([0xff, 0xe1, length >> 8, length & 0xff])
    return bytes
  }

  /** The size is in the frame header, wherever that is. */
  function jpeg(before: readonly Uint8Array[], marker = 0xc0): Blob {
    const frame = [0xff, marker, 0, 17, 8, 0x01, 0x02, 0x03, 0x04, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
    return new Blob([
      new Uint8Array([0xff, 0xd8]),
      ...before.map((part) => new Uint8Array(part)),
      new Uint8Array(frame),
    ])
  }

  const jpegs: [string, Blob, string | undefined][] = [
    ['baseline', jpeg([segment(16)]), '772x258'],
    ['progressive', jpeg([segment(16)], 0xc2), '772x258'],
    ['with the frame first', jpeg([]), '772x258'],
    ['with fill bytes', jpeg([segment(16), Buffer.from([0xff, 0xff, 0xff])]), '772x258'],
    ['with six megabytes before its size', jpeg(Array(100).fill(segment(65_000))), '772x258'],
    ['with endless segments', jpeg(Array(2_000).fill(segment(2))), undefined],
    ['with arithmetic coding, which no decoder supports', jpeg([segment(16)], 0xc9), undefined],
    ['without a frame', new Blob([new Uint8Array([0xff, 0xd8, 0xff, 0xd9])]), undefined],
    ['cut in its frame', jpeg([segment(16)]).slice(0, 25), undefined],
  ]
  for (const [title, blob, size] of jpegs) {
    test(`JPEG ${title}`, async () => {
      const found = await pictureOf(blob)
      expect(found && `${found.width}x${found.height}`).toBe(size)
    })
  }

  const webps: [string, string, string | undefined][] = [
    ['lossy', 'VP8 \x0a\0\0\0\x10\0\0\x9d\x01\x2a\x2c\x01\xc8\x00', '300x200'],
    ['lossless', 'VP8L\x0a\0\0\0\x2f\x2b\xc1\x31\x00\0\0\0\0\0', '300x200'],
    ['extended', 'VP8X\x0a\0\0\0\x10\0\0\0\x2b\x01\x00\xc7\x00\x00', '300x200'],
    ['of an unknown kind', 'VP8Z\x0a\0\0\0\x10\0\0\0\x2b\x01\x00\xc7\x00\x00', undefined],
  ]
  for (const [title, rest, size] of webps) {
    test(`WebP ${title}`, async () => {
      const found = await pictureOf(new Blob([Buffer.from(`RIFF\x20\0\0\0WEBP${rest}`, 'latin1')]))
      expect(found && `${found.width}x${found.height}`).toBe(size)
    })
  }

  const others: Record<string, string> = {
    'a GIF': 'GIF89a\x01\0\x01\0\x80\0\0',
    'an SVG': '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>',
    'a TIFF': 'II*\0\x08\0\0\0',
    'the beginning of a PNG': '\x89PNG\r\n\x1a\n',
    'a PNG without a size': `\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR${'\0'.repeat(17)}`,
    'a sound in a RIFF file': 'RIFF\x24\0\0\0WAVEfmt ',
    'a text': 'no picture',
  }
  for (const [title, content] of Object.entries(others)) {
    test(`${title} is not recognized, and keeps its declared type`, async () => {
      const { files } = await read(rawForm([file('image', Buffer.from(content, 'latin1'))]), typeOf())
      expect(files.image?.[0]).toMatchObject({ picture: null, contentType: 'image/png' })
    })
  }
})

interface Refusal {
  name: string
  body: () => Bun.BodyInit
  contentType?: string
  status: number
  code: string
  param?: string | null
  words: string
}

const copies = (count: number, part: (index: number) => RawPart) =>
  rawForm(Array.from({ length: count }, (_, index) => part(index)))
const closed = rawForm([text('prompt', 'x'), file('image')])

const refusals: Refusal[] = [
  {
    name: 'JSON',
    body: () => '{"prompt":"x"}',
    contentType: 'application/json',
    status: 415,
    code: 'unsupported_media_type',
    words: 'multipart/form-data, as `curl -F',
  },
  {
    name: 'a form without files',
    body: () => 'prompt=x',
    contentType: 'application/x-www-form-urlencoded',
    status: 415,
    code: 'unsupported_media_type',
    words: 'multipart/form-data',
  },
  {
    name: 'another kind of multipart',
    body: () => closed,
    contentType: `multipart/mixed; boundary=${BOUNDARY}`,
    status: 415,
    code: 'unsupported_media_type',
    words: 'multipart/form-data',
  },
  ...[
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    typeOf('x'.repeat(71)),
    typeOf('a"b'),
    typeOf('"a<b>"'),
  ].map(
    (contentType): Refusal => ({
      name: `the header ${contentType}`,
      body: () => closed,
      contentType,
      status: 400,
      code: 'invalid_form',
      words: 'Leave this header to your HTTP client',
    }),
  ),
  ...[0, 5, 40, BOUNDARY.length + 30, closed.length - 40, closed.length - 4].map(
    (bytes): Refusal => ({
      name: `a form that ends after ${bytes} bytes`,
      body: () => closed.slice(0, bytes),
      status: 400,
      code: 'invalid_form',
      words: 'incomplete',
    }),
  ),
  {
    name: 'a boundary other than the declared one',
    body: () => closed,
    contentType: typeOf('another'),
    status: 400,
    code: 'invalid_form',
    words: 'incomplete',
  },
  {
    name: 'a text twice',
    body: () => rawForm([text('model', 'a'), text('model', 'b')]),
    status: 400,
    code: 'duplicate_field',
    param: 'model',
    words: "has the field 'model' twice",
  },
  {
    name: 'a text with brackets and one without',
    body: () => rawForm([text('model[]', 'a'), text('model', 'b')]),
    status: 400,
    code: 'duplicate_field',
    param: 'model',
    words: "has the field 'model' twice",
  },
  {
    name: 'a text and a file of one name',
    body: () => rawForm([text('image', 'a'), file('image[]')]),
    status: 400,
    code: 'duplicate_field',
    param: 'image',
    words: "has the field 'image' twice",
  },
  {
    name: 'a file and a text of one name',
    body: () => rawForm([file('image'), text('image', 'a')]),
    status: 400,
    code: 'duplicate_field',
    param: 'image',
    words: "has the field 'image' twice",
  },
  {
    name: 'a text that is not UTF-8',
    body: () => rawForm([{ name: 'prompt', content: new Uint8Array([0x61, 0xff]) }]),
    status: 400,
    code: 'invalid_value',
    param: 'prompt',
    words: "'prompt' is not valid UTF-8",
  },
  {
    name: 'an empty file with a name',
    body: () => rawForm([file('image', '')]),
    status: 400,
    code: 'empty_file',
    param: 'image',
    words: "'image' is empty",
  },
  {
    name: 'a part without a name',
    body: () => rawForm([{ head: ['Content-Disposition: form-data'], content: 'x' }]),
    status: 400,
    code: 'invalid_form',
    words: 'no name',
  },
  {
    name: 'a part with an endless name',
    body: () => rawForm([text('n'.repeat(129), 'x')]),
    status: 400,
    code: 'invalid_form',
    words: 'more than 128 characters',
  },
  ...['base64', 'Quoted-Printable'].map(
    (encoding): Refusal => ({
      name: `a file in ${encoding}`,
      body: () =>
        rawForm([
          {
            head: [
              'Content-Disposition: form-data; name="image"; filename="a.png"',
              `Content-Transfer-Encoding: ${encoding}`,
            ],
            content: 'aGVsbG8=',
          },
        ]),
      status: 400,
      code: 'unsupported_encoding',
      param: 'image',
      words: 'send its bytes as they are',
    }),
  ),
  {
    name: 'a nested form',
    body: () =>
      rawForm([
        {
          head: [
            'Content-Disposition: form-data; name="image"',
            'Content-Type: multipart/mixed; boundary=inner',
          ],
          content: rawForm([file('image')], 'inner'),
        },
      ]),
    status: 400,
    code: 'unsupported_encoding',
    param: 'image',
    words: 'a nested form',
  },
  {
    name: 'a text of more than 256 KiB',
    body: () => rawForm([text('prompt', 'x'.repeat(256 * KIBIBYTE + 1))]),
    status: 413,
    code: 'field_too_large',
    param: 'prompt',
    words: "The field 'prompt' is larger than 256 KiB",
  },
  {
    name: 'texts of more than 1 MiB together',
    body: () => copies(5, (index) => text(`text${index}`, 'x'.repeat(index < 4 ? 256 * KIBIBYTE : 1))),
    status: 413,
    code: 'fields_too_large',
    param: 'text4',
    words: 'larger than 1 MiB together',
  },
  {
    name: 'more than 100 texts',
    body: () => copies(101, (index) => text(`text${index}`, 'x')),
    status: 400,
    code: 'invalid_form',
    words: 'more than 100 fields',
  },
  {
    name: 'more than 17 files',
    body: () => copies(18, () => file('image[]')),
    status: 400,
    code: 'invalid_form',
    words: 'more than 17 files',
  },
  {
    name: 'a file of more than 50 MiB',
    body: () => rawForm([file('mask', new Uint8Array(50 * MEBIBYTE + 1))]),
    status: 413,
    code: 'file_too_large',
    param: 'mask',
    words: "The file 'mask' is larger than 50 MiB",
  },
  {
    name: 'a text that never ends',
    body: () => rawForm([text('prompt', 'x'.repeat(60 * MEBIBYTE))]),
    status: 413,
    code: 'field_too_large',
    param: 'prompt',
    words: '256 KiB',
  },
  {
    name: 'a hundred thousand empty parts',
    body: () => `--${BOUNDARY}\r\n\r\n\r\n`.repeat(100_000),
    status: 400,
    code: 'invalid_form',
    words: 'more than 117 parts',
  },
  {
    name: 'endless dashes after a boundary, without an end of the form (CVE-2024-8984)',
    body: () => `--${BOUNDARY}\r\n${'-'.repeat(8 * MEBIBYTE)}`,
    status: 400,
    code: 'invalid_form',
    words: 'incomplete',
  },
]

describe('a form is refused:', () => {
  for (const { name, body, contentType, status, code, param = null, words } of refusals) {
    test(name, async () => {
      const error = await refuse(body(), contentType)
      expect(error.message).toContain(words)
      expect({ status: error.status, code: error.code as string, param: error.param }).toEqual({
        status,
        code,
        param,
      })
    })
  }

  test('a form just within the limits is accepted', async () => {
    const parts = [
      ...Array.from({ length: 4 }, (_, index) => text(`text${index}`, 'x'.repeat(256 * KIBIBYTE))),
      ...Array.from({ length: 96 }, (_, index) => text(`empty${index}`, '')),
      ...Array.from({ length: 16 }, () => file('image[]')),
      file('mask', new Uint8Array(50 * MEBIBYTE)),
      { head: ['Content-Disposition: form-data; name="n"; filename="a"'], content: '' },
    ].slice(0, 117)
    const form = await formOf(
      requestOf(rawForm(parts), typeOf('b'.repeat(70)).replace('b'.repeat(70), BOUNDARY)),
    )
    expect(form.fields.size).toBe(100)
    expect(form.textBytes).toBe(MEBIBYTE)
    expect(form.files.get('image')).toHaveLength(16)
    expect(form.files.get('mask')?.[0]?.bytes.size).toBe(50 * MEBIBYTE)
    await form.dispose()
    expect(readdirSync(folder)).toEqual([])
  })

  test('a body is refused that is too large by its Content-Length or by its bytes', async () => {
    for (const body of [closed, new Blob([closed]).stream()]) {
      const work = formOf(requestOf(body, typeOf()), new BodyReader(ticker, () => limitsOf(100)))
      expect(await rejection(work)).toMatchObject({ status: 413, code: 'body_too_large' })
    }
    expect(readdirSync(folder)).toEqual([])
  })

  /** Forms that must cost no more than their bytes; their content is not used. */
  const harmless: [string, string][] = [
    ['endless dashes after the last boundary', `--${BOUNDARY}${'-'.repeat(8 * MEBIBYTE)}`],
    [
      'a header of a megabyte',
      `--${BOUNDARY}\r\nX: ${'x'.repeat(MEBIBYTE)}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${BOUNDARY}--`,
    ],
    [
      'a hundred thousand headers',
      `--${BOUNDARY}\r\n${'X: x\r\n'.repeat(100_000)}Content-Disposition: form-data; name="a"\r\n\r\n1\r\n--${BOUNDARY}--`,
    ],
    [
      'a part of another kind',
      `--${BOUNDARY}\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--${BOUNDARY}--`,
    ],
  ]
  for (const [title, body] of harmless) {
    test(`${title}: no effect`, async () => {
      expect(await read(body, typeOf())).toMatchObject({ fields: {}, files: {} })
    })
  }

  test('a boundary of dashes only, and a body of dashes', async () => {
    const dashes = '-'.repeat(70)
    const { fields } = await read(rawForm([text('prompt', '-'.repeat(60))], dashes), typeOf(dashes))
    expect(fields).toEqual({ prompt: '-'.repeat(60) })
    expect((await read('-'.repeat(8 * MEBIBYTE), typeOf(dashes))).fields).toEqual({})
  })
})

describe('however its bytes arrive,', () => {
  const parts = [
    text('model', 'pgt-image-2'),
    text('prompt', `--almost\r\n--${BOUNDARY.slice(0, 20)}\r\n\r\nÜ🦁`),
    file('image[]', `\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n`),
    file('image[]', png),
    file('mask', '\r\n'),
  ]
  const whole = rawForm(parts)

  test('the form is the same, cut at every byte', async () => {
    const expected = await read(whole, typeOf())
    expect(Object.keys(expected.files)).toEqual(['image', 'mask'])
    for (let at = 1; at < whole.length; at++) {
      const pieces = [whole.slice(0, at), whole.slice(at)]
      expect(await read(streamOf(pieces), typeOf())).toEqual(expected)
    }
  })

  test('the form is the same, byte by byte', async () => {
    const pieces = Array.from(whole, (byte) => new Uint8Array([byte]))
    expect(await read(streamOf(pieces), typeOf())).toEqual(await read(whole, typeOf()))
  })

  test('the form is the same with any boundary and in any pieces', async () => {
    const seed = seedOf('FORMS_SEED')
    const random = createRandom(seed)
    const expected = await read(whole, typeOf())
    for (let round = 0; round < casesOf(300); round++) {
      const characters = random.pick(['-', "abcXYZ0189'()+_,-./:=?"])
      const boundary = Array.from({ length: 1 + random.below(60) }, () => random.pick([...characters])).join(
        '',
      )
      // The boundary must not be in the form.
      const unique = `${boundary}${random.below(2 ** 31).toString(36)}!`.replace('!', 'q')
      const form = rawForm(parts, unique)
      const pieces: Uint8Array[] = []
      for (let at = 0; at < form.length; ) {
        const length = 1 + random.below(random.pick([3, 50, 500]))
        pieces.push(form.slice(at, at + length))
        at += length
      }
      const seen = await read(streamOf(pieces), `multipart/form-data; boundary="${unique}"`)
      expect({ seed, boundary, ...seen }).toEqual({ seed, boundary, ...expected })
    }
  })

  test('the hash depends only on names and contents', async () => {
    const hashOf = async (changed: RawPart[]) => (await read(rawForm(changed), typeOf())).hash
    const expected = await hashOf(parts)
    const [model, prompt, first, second, mask] = parts as [RawPart, RawPart, RawPart, RawPart, RawPart]
    expect(await hashOf([mask, first, prompt, second, model])).toBe(expected)
    expect(
      await hashOf([model, prompt, { ...first, name: 'image' }, { ...second, name: 'image' }, mask]),
    ).toBe(expected)
    const others: RawPart[][] = [
      [model, prompt, second, first, mask],
      [model, prompt, first, second],
      [model, prompt, first, second, { ...mask, content: 'x' }],
      [model, prompt, first, second, { ...mask, name: 'musk' }],
      [model, { ...prompt, content: 'x' }, first, second, mask],
      [model, { ...prompt, name: 'user' }, first, second, mask],
      [model, prompt, text('n', '1'), first, second, mask],
    ]
    const hashes = await Promise.all(others.map((changed) => formOf(requestOf(rawForm(changed), typeOf()))))
    await Promise.all(hashes.map((form) => form.dispose()))
    expect(new Set([expected, ...hashes.map(({ hash }) => hash)]).size).toBe(1 + others.length)
  })

  test('a damaged form is parsed or refused, and never hangs', async () => {
    const seed = seedOf('FORMS_SEED')
    const random = createRandom(seed)
    let refused = 0
    for (let round = 0; round < casesOf(1_000); round++) {
      const damaged = Buffer.from(whole)
      for (let hits = 1 + random.below(4); hits > 0; hits--) {
        const at = random.below(damaged.length)
        if (random.chance(0.5)) damaged[at] = random.below(256)
        else damaged.copyWithin(at, random.below(damaged.length))
      }
      const end = random.chance(0.3) ? random.below(damaged.length) : damaged.length
      const half = random.below(end + 1)
      const pieces = [damaged.subarray(0, half), damaged.subarray(half, end)].filter(
        ({ length }) => length > 0,
      )
      const outcome = await formOf(requestOf(streamOf(pieces), typeOf())).then(
        (form) => form.dispose().then(() => 'read'),
        (error) => (error instanceof GatewayError && error.status < 500 ? 'refused' : error),
      )
      expect({ seed, round, outcome: `${outcome}` }).toEqual({
        seed,
        round,
        outcome: expect.stringMatching(/^(read|refused)$/),
      })
      if (outcome === 'refused') refused++
    }
    expect(refused).toBeGreaterThan(casesOf(100))
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('on disk,', () => {
  test('only the owner has access: the folder is 0700, its files are 0600, and their names reveal nothing', async () => {
    const form = await formOf(requestOf(rawForm([file('image')]), typeOf()))
    const [name = '', ...others] = readdirSync(folder)
    expect(others).toEqual([])
    expect(name).toMatch(/^upload_[0-9a-f]{32}$/)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    await form.dispose()
    // Releasing twice is also correct.
    await form.dispose()
    expect(readdirSync(folder)).toEqual([])
  })

  test('files of a killed process are gone after the next start, and no other files', () => {
    const dataDir = temporaryFolder()
    mkdirSync(join(dataDir, 'uploads'), { mode: 0o755 })
    writeFileSync(join(dataDir, 'uploads', 'upload_1'), 'left behind')
    writeFileSync(join(dataDir, 'gateway.sqlite'), 'not ours')
    openUploads(join(dataDir, 'uploads'), newId)
    expect(readdirSync(join(dataDir, 'uploads'))).toEqual([])
    expect(statSync(join(dataDir, 'uploads')).mode & 0o777).toBe(0o700)
    expect(existsSync(join(dataDir, 'gateway.sqlite'))).toBe(true)
  })

  test('a missing folder is an error of the gateway, with the reason for the log', async () => {
    const lost = join(temporaryFolder(), 'uploads')
    const without = openUploads(lost, newId)
    rmSync(lost, { recursive: true })
    const error = await formOf(requestOf(rawForm([file('image')]), typeOf()), bodies, without).catch(
      (error) => error,
    )
    expect(error).toMatchObject({
      status: 503,
      code: 'uploads_unavailable',
      headers: { 'retry-after': '30' },
    })
    expect(error.message).toContain('its disk is full or not writable')
    expect(error.message).not.toContain(lost)
    expect(String(error.cause)).toContain('ENOENT')
  })

  test('a disk that fills up during a file is an error of the gateway, and the partial file is removed', async () => {
    const full = join(temporaryFolder(), 'uploads')
    const program = `
      import { AudioReader } from '../../src/media/audio'
import { openUploads } from '${resolve('src/media/uploads.ts')}'
      const pieces = async function* () { for (let i = 0; i < 100; i++) yield new Uint8Array(65536) }
      const error = await openUploads(${JSON.stringify(full)}, () => 'a').save(pieces()).catch((error) => error)
      console.log(error.status, error.code, error.cause?.code)`
    // No file may grow beyond a megabyte or two; without the trap, writing beyond it would end the process.
    const shell = `trap '' XFSZ; ulimit -f 2048; exec "$@"`
    const child = Bun.spawn(['sh', '-c', shell, 'sh', process.execPath, '-e', program], {
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [said, complained] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect({ said, complained }).toEqual({ said: '503 uploads_unavailable EFBIG\n', complained: '' })
    expect(readdirSync(full)).toEqual([])
  })
})

describe('an upload that is too slow', () => {
  test('is ended at its deadline, and leaves no file', async () => {
    const outcomes: unknown[] = []
    const pace = { smallMs: 300, windowMs: 300, windowBytes: 64 * KIBIBYTE, totalMs: 60_000 }
    const hasty = new BodyReader(ticker, () => limitsOf(MAX_BYTES), pace)
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      development: false,
      async fetch(request) {
        const error = await formOf(request, hasty).catch((error) => error)
        outcomes.push(error)
        return new Response('', { status: error.status ?? 200 })
      },
    })
    const caller = await RawCaller.connect(`http://127.0.0.1:${server.port}`)
    const form = rawForm([text('prompt', 'x'), file('image', new Uint8Array(10_000))])
    caller.send(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOf()}\r\nContent-Length: ${form.length}\r\n\r\n`,
    )
    caller.send(form.slice(0, 5_000))
    await waitFor(() => readdirSync(folder).length === 1)
    expect(readdirSync(folder)).toHaveLength(1)
    await waitFor(() => caller.head().includes('\r\n'))
    expect(caller.head()).toStartWith('HTTP/1.1 408 ')
    expect(outcomes).toMatchObject([{ status: 408, code: 'body_too_slow' }])
    expect(readdirSync(folder)).toEqual([])
    caller.leave('fin')
    await server.stop(true)
  })
})

describe('forms that are forwarded', () => {
  const upload = (bytes: Uint8Array<ArrayBuffer>, more: Partial<Upload> = {}): Upload => ({
    filename: 'a.png',
    contentType: 'image/png',
    bytes: new Blob([bytes]),
    picture: undefined,
    ...more,
  })
  const bytes = crypto.getRandomValues(new Uint8Array(200_000))

  test('are parsed by other libraries with the same fields in order, any number of times', async () => {
    const encoded = encodeForm(
      [
        { name: 'prompt', value: 'Ein Löwe – 🦁\r\n--boundary' },
        { name: 'image[]', upload: upload(bytes, { filename: 'löwe.png' }) },
        {
          name: 'image[]',
          upload: upload(new Uint8Array([1]), { filename: 'b.webp', contentType: 'image/webp' }),
        },
        { name: 'empty', value: '' },
      ],
      newId('form'),
    )
    for (let time = 0; time < 2; time++) {
      const response = new Response(encoded.stream(), { headers: { 'content-type': encoded.contentType } })
      const form = await response.formData()
      expect([...form.keys()]).toEqual(['prompt', 'image[]', 'image[]', 'empty'])
      expect(form.get('prompt')).toBe('Ein Löwe – 🦁\r\n--boundary')
      expect(form.get('empty')).toBe('')
      const [first, second] = form.getAll('image[]') as unknown as File[]
      expect({ name: first?.name, type: first?.type }).toEqual({ name: 'löwe.png', type: 'image/png' })
      expect(Buffer.from((await first?.bytes()) ?? [])).toEqual(Buffer.from(bytes))
      expect({ type: second?.type, size: second?.size }).toEqual({ type: 'image/webp', size: 1 })
    }
  })

  test('have their declared length, and are produced in small pieces', async () => {
    const encoded = encodeForm([{ name: 'image', upload: upload(bytes) }], newId('form'))
    const lengths: number[] = []
    for await (const piece of encoded.stream()) lengths.push(piece.byteLength)
    expect(lengths.reduce((sum, length) => sum + length)).toBe(encoded.byteLength)
    expect(Math.max(...lengths)).toBeLessThanOrEqual(64 * KIBIBYTE)
  })

  const nasty = ['a"; name="b', 'a\r\nX-Evil: 1', 'a\r\n\r\nevil', 'a\0b\x7f', '"', '\\']
  for (const name of nasty) {
    test(`cannot be broken by the name ${JSON.stringify(name)}`, async () => {
      const contentType = `image/png${name}`
      const parts: FormPart[] = [
        { name, value: 'x' },
        { name: 'image', upload: upload(bytes, { filename: name, contentType }) },
      ]
      const encoded = encodeForm(parts, BOUNDARY)
      const written = Buffer.from(await new Response(encoded.stream()).bytes()).toString('latin1')
      const heads = written.split(`--${BOUNDARY}\r\n`).map((part) => part.split('\r\n\r\n', 1)[0] ?? '')
      expect(heads.map((head) => head.split('\r\n').length)).toEqual([1, 1, 2])
      expect(heads.join()).not.toMatch(CONTROL_CHARACTER)
      // Our parser and others find two parts.
      const { fields, files } = await read(encoded.stream(), encoded.contentType)
      expect([Object.values(fields), files.image?.length]).toEqual([['x'], 1])
    })
  }

  test('a received form is forwarded unchanged', async () => {
    const form = await formOf(requestOf(rawForm([file('image', bytes)]), typeOf()))
    const parts = [...form.files].flatMap(([name, all]) => all.map((upload) => ({ name, upload })))
    const encoded = encodeForm(parts, newId('form'))
    const again = await formOf(requestOf(encoded.stream(), encoded.contentType))
    expect(await look(again)).toEqual(await look(form))
    await Promise.all([form.dispose(), again.dispose()])
  })
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
const CONTROL_CHARACTER = /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]/
