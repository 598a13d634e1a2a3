// GET and HEAD /v1/artifacts/{id}: whole files and ranges with the signed URL, the same 404 for all other requests, and
// nothing that a browser would run.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestGateway, waitFor } from '../support/gateway'
import { RawCaller } from '../support/servers/raw-caller'
import {
  bytesOf,
  drawnUrl,
  type PictureVendor,
  pictureReply,
  png,
  resultUrl,
  startKeeper,
  startPictureVendor,
} from '../support/vendors/picture'

const bytes = bytesOf('the picture', 100_000)
const sha256 = new Bun.CryptoHasher('sha256').update(bytes)
const hash = sha256.digest()
const etag = `"${hash.toString('hex')}"`
const HOUR_MS = 3_600_000

let vendor: PictureVendor
let gateway: TestGateway
let now = Date.now()
/** The signed URL of the image, its id and its query. */
let url: string
let id: string
let query: URLSearchParams

beforeAll(async () => {
  vendor = startPictureVendor()
  vendor.serve = () => png(bytes)
  vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
  gateway = await startKeeper(vendor, { keep: '7d' }, { outside: { now: () => now } })
  url = await drawnUrl(gateway)
  const parsed = new URL(url)
  id = parsed.pathname.split('/').at(-1) as string
  query = parsed.searchParams
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

test('the whole file is served with the headers for players and caches', async () => {
  const response = await fetch(url)
  expect(response.status).toBe(200)
  expect(await response.bytes()).toEqual(bytes)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-length': '100000',
    'content-disposition': `inline; filename="${id}.png"`,
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag,
    'repr-digest': `sha-256=:${hash.toString('base64')}:`,
    'cache-control': expect.stringMatching(/^private, max-age=60\d{4}, immutable$/),
    'x-request-id': expect.stringMatching(/^req_/),
  })
})

test('HEAD returns the same headers without the file', async () => {
  const [get, head] = [await fetch(url), await fetch(url, { method: 'HEAD' })]
  expect(head.status).toBe(200)
  expect((await head.bytes()).length).toBe(0)
  const reported = ({ headers }: Response) => {
    const { 'x-request-id': _, date: __, ...rest } = Object.fromEntries(headers)
    return rest
  }
  expect(reported(head)).toEqual(reported(get))
  expect((await get.bytes()).length).toBe(100_000)
})

describe('ranges', () => {
  const many = `bytes=${Array.from({ length: 1_000 }, (_, index) => `${index}-`).join(',')}`
  const rows: [range: string, start: number, end: number, more?: Record<string, string>][] = [
    ['bytes=0-9', 0, 10],
    ['bytes=99990-', 99_990, 100_000],
    ['bytes=-5', 99_995, 100_000],
    ['bytes=-500000', 0, 100_000],
    ['bytes=50-50', 50, 51],
    ['bytes=99999-200000', 99_999, 100_000],
    ['bytes=0-99999', 0, 100_000],
    ['bytes=10-19', 10, 20, { 'if-range': etag }],
  ]
  for (const [range, start, end, more] of rows) {
    test(`${range}${more ? ' of this version' : ''} is answered with a part`, async () => {
      const response = await fetch(url, { headers: { range, ...more } })
      expect(response.status).toBe(206)
      expect(await response.bytes()).toEqual(bytes.slice(start, end))
      expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/100000`)
      expect(response.headers.get('content-length')).toBe(String(end - start))
    })
  }

  const whole: [range: string, more?: Record<string, string>][] = [
    ['bytes=0-9,20-29'],
    [many],
    ['bytes=9-0'],
    ['bytes=a-b'],
    ['bytes=-'],
    ['lines=0-9'],
    ['bytes=0-9', { 'if-range': '"another"' }],
    ['bytes=0-9', { 'if-range': 'Sat, 21 Nov 2026 04:00:00 GMT' }],
  ]
  for (const [range, more] of whole) {
    test(`${range.slice(0, 20)} ${JSON.stringify(more ?? {})} is answered with the whole file`, async () => {
      const response = await fetch(url, { headers: { range, ...more } })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-range')).toBeNull()
      expect(await response.bytes()).toEqual(bytes)
    })
  }

  for (const range of ['bytes=100000-', 'bytes=9999999999999999-', 'bytes=-0']) {
    test(`${range} is outside the file`, async () => {
      const response = await fetch(url, { headers: { range } })
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([416, 'false'])
      expect(response.headers.get('content-range')).toBe('bytes */100000')
      expect((await response.bytes()).length).toBe(0)
    })
  }

  test('HEAD ignores ranges', async () => {
    const response = await fetch(url, { method: 'HEAD', headers: { range: 'bytes=0-9' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe('100000')
  })

  test('a file in the caller’s cache is not sent again', async () => {
    const response = await fetch(url, { headers: { 'if-none-match': etag } })
    expect(response.status).toBe(304)
    expect((await response.bytes()).length).toBe(0)
    expect((await fetch(url, { headers: { 'if-none-match': '"another"' } })).status).toBe(200)
  })
})

describe('no file is served', () => {
  const changed = (change: (query: URLSearchParams) => void) => () => {
    const copy = new URLSearchParams(query)
    change(copy)
    return `/v1/artifacts/${id}?${copy}`
  }
  const flip = (text: string, at: number) =>
    text.slice(0, at) + (text.at(at) === 'A' ? 'B' : 'A') + (at === -1 ? '' : text.slice(at + 1))
  const signature = () => query.get('signature') as string
  const rows: Record<string, () => string> = {
    'without a signature': changed((copy) => copy.delete('signature')),
    'with an empty signature': changed((copy) => copy.set('signature', '')),
    'with another first letter': changed((copy) => copy.set('signature', flip(signature(), 0))),
    'with another last letter': changed((copy) => copy.set('signature', flip(signature(), -1))),
    'with a longer signature': changed((copy) => copy.set('signature', `${signature()}A`)),
    'with letters of several bytes': changed((copy) => copy.set('signature', 'ä'.repeat(43))),
    'without the time': changed((copy) => copy.delete('expires')),
    'with a later time': changed((copy) => copy.set('expires', String(Number(copy.get('expires')) + 1))),
    'with the same time, written otherwise': changed((copy) =>
      copy.set('expires', `0${copy.get('expires')}`),
    ),
    'with the time as a float': changed((copy) => copy.set('expires', `${copy.get('expires')}.0`)),
    'with two times': () => `/v1/artifacts/${id}?expires=99999999999&${query}`,
    'for another id': () => `/v1/artifacts/${flip(id, 10)}?${query}`,
    'for an invalid id': () => `/v1/artifacts/art_1?${query}`,
    'for an id in capitals': () => `/v1/artifacts/${id.toUpperCase()}?${query}`,
    'with dot segments': () => `/v1/artifacts/..%2f..%2fgateway.sqlite?${query}`,
    'with dot segments, encoded twice': () => `/v1/artifacts/%252e%252e%252fgateway.sqlite?${query}`,
    'with a byte of zero': () => `/v1/artifacts/${id}%00.png?${query}`,
    'with a broken escape': () => `/v1/artifacts/%E0%A4%A?${query}`,
  }
  for (const [title, path] of Object.entries(rows)) {
    test(title, async () => {
      const response = await fetch(`${gateway.url}${path()}`)
      expect(response.status).toBe(404)
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      expect(error).toMatchObject({ code: 'artifact_not_found', type: 'invalid_request_error', param: null })
      expect(error.message).toContain('exactly as received')
    })
  }

  test('even with a key, and with the signed URL no key is needed', async () => {
    const headers = { authorization: `Bearer ${gateway.secret}` }
    expect((await fetch(`${gateway.url}/v1/artifacts/${id}`, { headers })).status).toBe(404)
    expect((await fetch(url, { headers: { authorization: 'Bearer wrong' } })).status).toBe(200)
  })

  test('if it is lost, which is logged', async () => {
    const lost = await drawnUrl(gateway)
    const lostId = new URL(lost).pathname.split('/').at(-1) as string
    unlinkSync(join(gateway.dataDir, 'artifacts', lostId.slice(-2), lostId))
    expect((await fetch(lost)).status).toBe(404)
    expect(gateway.log).toContainEqual({
      event: 'artifact_lost',
      fields: { artifact: lostId, place: 'disk' },
    })
  })

  test('for methods that write', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await fetch(url, { method })).status).toBe(405)
    }
    expect((await fetch(url)).status).toBe(200)
  })

  test('if results are not kept', async () => {
    const plain = await startKeeper(vendor, undefined)
    expect((await fetch(`${plain.url}/v1/artifacts/${id}?${query}`)).status).toBe(404)
    await plain.close()
  })

  test('of another gateway, which has a different secret', async () => {
    const other = await startKeeper(vendor, { keep: '7d' })
    const theirs = new URL(await drawnUrl(other))
    expect((await fetch(theirs)).status).toBe(200)
    expect((await fetch(`${gateway.url}${theirs.pathname}${theirs.search}`)).status).toBe(404)
    await other.close()
  })
})

describe('types', () => {
  const rows: [header: string | null, name: string, type: string, ending: string][] = [
    ['image/png', 'x', 'image/png', 'png'],
    ['IMAGE/JPG; q=1', 'x', 'image/jpeg', 'jpg'],
    ['video/mp4', 'x', 'video/mp4', 'mp4'],
    ['audio/x-wav', 'x', 'audio/wav', 'wav'],
    ['application/octet-stream', 'x.mp4', 'video/mp4', 'mp4'],
    ['binary/octet-stream', 'x.JPEG', 'image/jpeg', 'jpg'],
    [null, 'x.webp', 'image/webp', 'webp'],
    [null, 'x.html', 'application/octet-stream', 'bin'],
    ['image/svg+xml', 'x.png', 'application/octet-stream', 'bin'],
    ['text/html', 'x.png', 'application/octet-stream', 'bin'],
    ['image/png\tx', 'x.html', 'application/octet-stream', 'bin'],
  ]
  for (const [header, name, type, ending] of rows) {
    test(`${header} and ${name} are served as ${type}`, async () => {
      const own = startPictureVendor()
      const keeper = await startKeeper(own, { keep: '1h' })
      own.reply = () => JSON.stringify(pictureReply(resultUrl(own, name)))
      own.serve = () => new Response(bytes, header === null ? {} : { headers: { 'content-type': header } })
      const { headers } = await fetch(await drawnUrl(keeper))
      expect(headers.get('content-type')).toBe(type)
      expect(headers.get('content-disposition')).toEndWith(`.${ending}"`)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      await keeper.close()
      await own.stop()
    })
  }
})

describe('the address begins with', () => {
  async function originOf(keeper: TestGateway, headers: Record<string, string>): Promise<string> {
    return (await drawnUrl(keeper, headers)).split('/v1/artifacts/')[0] as string
  }

  test('the host name that the caller used, whatever a proxy or a caller adds', async () => {
    expect(await originOf(gateway, {})).toBe(gateway.url)
    expect(await originOf(gateway, { host: 'ai.example.com:8443' })).toBe('http://ai.example.com:8443')
    const forwarded = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example;proto=https',
    }
    expect(await originOf(gateway, forwarded)).toBe(gateway.url)
  })

  test('the configured public URL', async () => {
    const publicUrl = 'https://ai.example.com/gateway/'
    const keeper = await startKeeper(vendor, { keep: '1h' }, { config: { server: { publicUrl } } })
    expect(await originOf(keeper, { host: 'evil.example' })).toBe('https://ai.example.com/gateway')
    await keeper.close()
  })

  test('the gateway’s own address, for a request without a usable host', async () => {
    const body = '{"model":"picture","input":{"messages":[{"role":"user","content":[{"text":"a fox"}]}]}}'
    for (const host of ['', 'Host: \r\n']) {
      const caller = await RawCaller.connect(gateway.url)
      caller.send(
        `POST /v1/images/generations HTTP/1.0\r\n${host}Authorization: Bearer ${gateway.secret}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await waitFor(() => caller.head().includes('image_count'))
      expect(caller.head()).toContain(`"${gateway.url}/v1/artifacts/art_`)
      caller.leave('fin')
    }
  })
})

// The following tests move the clock, which never goes back.

test('a URL issued an hour ago tells caches the time until it expires', async () => {
  now += HOUR_MS
  const left = Number(query.get('expires')) - Math.floor(now / 1000)
  const age = /max-age=(\d+)/.exec((await fetch(url)).headers.get('cache-control') ?? '')?.[1]
  expect(Math.abs(Number(age) - left)).toBeLessThanOrEqual(1)
})

test('no file is served from the second of its expiry on', async () => {
  now = Number(query.get('expires')) * 1000 - 1
  expect((await fetch(url)).status).toBe(200)
  now = Number(query.get('expires')) * 1000
  expect((await fetch(url)).status).toBe(404)
})
