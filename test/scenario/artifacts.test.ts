// Results that vendors delete are kept: the answer has the address of the gateway's copy, no error of the copy fails the request or
// cancels its charge, and no more disk is used than permitted.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { restart } from '../support/nodes'
import type { Json } from '../support/scenario'
import {
  bytesOf,
  draw,
  drawnUrl,
  type PictureVendor,
  pictureReply,
  png,
  resultUrl,
  startKeeper,
  startPictureVendor,
} from '../support/vendors/picture'

const CENT = 10_000_000
const HOUR_MS = 3_600_000
const week = { keep: '7d' }

let vendor: PictureVendor
beforeAll(() => {
  vendor = startPictureVendor()
})
afterAll(() => vendor.stop())

/** Files of the data directory besides the databases. */
function filesIn(gateway: TestGateway, folder: 'artifacts' | 'uploads'): string[] {
  const path = join(gateway.dataDir, folder)
  if (!existsSync(path)) return []
  const all = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return all.map((name) => join(path, name)).filter((name) => statSync(name).isFile())
}

function rowsOf(gateway: TestGateway) {
  return gateway.server.world.db.query({ sql: 'select * from artifacts order by created_at, id' })
}

function events(gateway: TestGateway, name: string) {
  return gateway.log.filter(({ event }) => event === name).map(({ fields }) => fields)
}

/** Without an order, because copies are made concurrently. */
async function hashesAt(urls: string[]): Promise<string[]> {
  return (await Promise.all(urls.map(async (url) => sha256(await bytesAt(url))))).sort()
}

async function bytesAt(url: string): Promise<Uint8Array> {
  const response = await fetch(url)
  expect(response.status).toBe(200)
  return response.bytes()
}

describe('the families whose results are files', () => {
  const catalogue: Record<string, ModelConfig> = shipped.models
  const words = { messages: [{ role: 'user', content: [{ text: 'a fox' }] }] }
  const series = {
    sequential_image_generation: 'auto',
    sequential_image_generation_options: { max_images: 3 },
  }
  const rows: [model: string, body: Json, urlsIn: (json: Json) => string[]][] = [
    ['qnx-image-2.0', { input: words }, (json) => json.output.choices[0].message.content.map(urlOf('image'))],
    ['seedream-4.0', { prompt: 'a fox', ...series }, (json) => json.data.map(urlOf('url'))],
    ['gkx-imagine-image', { prompt: 'a fox', n: 2 }, (json) => json.data.map(urlOf('url'))],
  ]
  let gateway: TestGateway
  beforeAll(async () => {
    const models = rows.map(([id]) => [id, { ...catalogue[id] }])
    gateway = await startTestGateway({ models: Object.fromEntries(models), config: { artifacts: week } })
  })
  afterAll(() => gateway.close())

  for (const [model, body, urlsIn] of rows) {
    test(`${model}: the answer has the gateway's addresses, which serve what the vendor made`, async () => {
      const before = gateway.sandbox.calls.length
      const response = await gateway.post('/v1/images/generations', { model, ...body })
      expect(response.status).toBe(200)
      const urls = urlsIn(await response.json())
      const [call, ...fetched] = gateway.sandbox.calls.slice(before)
      expect(call?.method).toBe('POST')
      expect(fetched.every(({ method, headers }) => method === 'GET' && !headers.authorization)).toBe(true)
      const { origin } = new URL(gateway.sandbox.baseUrls.openai)
      const made = await hashesAt(fetched.map(({ vendor: name, path }) => `${origin}/${name}${path}`))
      expect(await hashesAt(urls)).toEqual(made)
      expect(new Set(urls).size).toBe(fetched.length)
      for (const url of urls) {
        expect(url).toStartWith(`${gateway.url}/v1/artifacts/art_`)
        const row = (await rowsOf(gateway)).find(({ id }) => url.includes(id as string))
        expect(row).toMatchObject({
          account: 'alice',
          charge: response.headers.get('x-request-id'),
          place: 'disk',
        })
      }
      const charge = await gateway.newestCharge()
      expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream' })
    })
  }

  function urlOf(member: string) {
    return (item: Json): string => item[member]
  }
})

describe('keeping', () => {
  test('is off unless the configuration asks for it', async () => {
    const gateway = await startKeeper(vendor, undefined)
    const requests = vendor.requests
    expect(await drawnUrl(gateway)).toStartWith(vendor.url)
    expect(vendor.requests - requests).toBe(1)
    expect(await rowsOf(gateway)).toEqual([])
    await gateway.close()
  })

  test('changes only the addresses in the answer, however they are written', async () => {
    const gateway = await startKeeper(vendor, week)
    const url = resultUrl(vendor)
    const escaped = JSON.stringify(url).replaceAll('/', '\\/').replace('?', '\\u003f')
    const text = (address: string) =>
      `{ "seed": 12345678901234567890, "ratio": 1.0,\n "output": {"choices":[{"message":{"content":[{"image": ${address}}]}}]}, "note": "see ${url}", "usage": {"image_count": 1} }`
    vendor.reply = () => text(escaped)
    const answer = await (await draw(gateway)).text()
    const kept = JSON.parse(answer).output.choices[0].message.content[0].image
    expect(answer).toBe(text(JSON.stringify(kept)))
    expect(await bytesAt(kept)).toEqual(bytesOf(new URL(url).pathname))
    await gateway.close()
  })

  test('keeps files where only the owner can read them, and copies nothing twice', async () => {
    const gateway = await startKeeper(vendor, week)
    const url = resultUrl(vendor)
    vendor.reply = () => JSON.stringify(pictureReply(url, url))
    const json: Json = await (await draw(gateway)).json()
    const [one, other] = json.output.choices[0].message.content
    expect(one.image).toStartWith(gateway.url)
    expect(other.image).toBe(one.image)
    const [file, ...more] = filesIn(gateway, 'artifacts')
    expect(more).toEqual([])
    expect(statSync(file as string).mode & 0o777).toBe(0o600)
    expect(statSync(join(gateway.dataDir, 'artifacts')).mode & 0o777).toBe(0o700)
    expect(filesIn(gateway, 'uploads')).toEqual([])
    await gateway.close()
  })

  test('returns the stored address again for the same idempotency key', async () => {
    const gateway = await startKeeper(vendor, week)
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const key = { 'idempotency-key': 'once' }
    const url = await drawnUrl(gateway, key)
    expect(url).toStartWith(gateway.url)
    expect(await drawnUrl(gateway, key)).toBe(url)
    expect(await gateway.charges()).toHaveLength(1)
    await gateway.close()
  })

  test('survives a restart: the secret is stored too', async () => {
    const gateway = await startKeeper(vendor, week)
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const { pathname, search } = new URL(await drawnUrl(gateway))
    const again = await restart(gateway, { config: { artifacts: week } })
    expect(await bytesAt(`${again.url}${pathname}${search}`)).toHaveLength(1_000)
    await again.close()
    await gateway.sandbox.stop()
  })
})

describe('a result that cannot be stored keeps the address and the price of the vendor', () => {
  const broken = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(100))
          setTimeout(() => controller.error(new Error('cut')), 20)
        },
      }),
    )
  const rows: Record<string, { serve?: () => Response; url?: () => string; reason: string }> = {
    'a file that no longer exists': { serve: () => new Response('no', { status: 404 }), reason: 'HTTP 404' },
    'a redirect': {
      serve: () => Response.redirect(resultUrl(vendor)),
      reason: 'HTTP 302',
    },
    'an empty file': { serve: () => png(new Uint8Array()), reason: 'incomplete' },
    'a file that is cut off': { serve: broken, reason: 'Error' },
    'a file beyond the limit that states its size': {
      serve: () => png(bytesOf('big', 5_000)),
      reason: 'too large',
    },
    'a file beyond the limit that does not state its size': {
      serve: () => new Response(new Blob([bytesOf('big', 5_000)]).stream()),
      reason: 'too large',
    },
    'a file on a foreign host': {
      url: () => 'https://files.example.com/x.png',
      reason: 'not its own',
    },
    'an address of the machine itself': {
      url: () => 'http://127.0.0.1:1/x.png',
      reason: 'not its own',
    },
    'a text that is not an address': { url: () => 'x.png', reason: 'not its own' },
  }
  for (const [title, { serve, url, reason }] of Object.entries(rows)) {
    test(title, async () => {
      const own = startPictureVendor()
      const gateway = await startKeeper(own, { keep: '7d', maxBytes: '4KB' })
      const given = url?.() ?? resultUrl(own)
      if (serve) own.serve = serve
      own.reply = () => JSON.stringify(pictureReply(given))
      expect(await drawnUrl(gateway)).toBe(given)
      const [logged, ...more] = events(gateway, 'artifact_not_kept')
      expect(more).toEqual([])
      expect(logged?.reason).toContain(reason)
      // The address alone gives access to the file.
      expect(JSON.stringify(gateway.log)).not.toContain('Signature')
      expect(await gateway.charges()).toMatchObject([{ state: 'settled', amount: CENT }])
      expect(await rowsOf(gateway)).toEqual([])
      expect([...filesIn(gateway, 'artifacts'), ...filesIn(gateway, 'uploads')]).toEqual([])
      await gateway.close()
      await own.stop()
    })
  }

  test('one of several that fails does not affect the others', async () => {
    const gateway = await startKeeper(vendor, week)
    const [good, bad] = [resultUrl(vendor), 'https://files.example.com/x.png']
    vendor.reply = () => JSON.stringify(pictureReply(bad, good))
    const json: Json = await (await draw(gateway)).json()
    const [one, other] = json.output.choices[0].message.content
    expect(one.image).toBe(bad)
    expect(other.image).toStartWith(gateway.url)
    await gateway.close()
  })

  test('a disk that does not accept it', async () => {
    const dataDir = temporaryFolder()
    // A file in the place of the folder.
    writeFileSync(join(dataDir, 'artifacts'), 'in the way')
    const gateway = await startKeeper(vendor, week, { dataDir })
    const given = resultUrl(vendor)
    vendor.reply = () => JSON.stringify(pictureReply(given))
    expect(await drawnUrl(gateway)).toBe(given)
    expect(events(gateway, 'artifact_not_kept')).toHaveLength(1)
    expect(await gateway.charges()).toMatchObject([{ state: 'settled', amount: CENT }])
    await gateway.close()
  })
})

describe('while a copy is being made', () => {
  /** A vendor that delivers results when the test releases them. */
  function startSlowVendor() {
    const gate = Promise.withResolvers<void>()
    const slow = startPictureVendor()
    const given = resultUrl(slow)
    slow.reply = () => JSON.stringify(pictureReply(given))
    slow.serve = async () => {
      await gate.promise
      return png(bytesOf('slow'))
    }
    return { slow, given, letGo: gate.resolve }
  }

  test('a repeat never gets the address at the vendor, and the result of a caller who disconnects is stored and paid', async () => {
    const { slow, letGo } = startSlowVendor()
    const gateway = await startKeeper(slow, week)
    const key = { 'idempotency-key': 'left' }
    const leaver = new AbortController()
    const left = fetch(`${gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}`, ...key },
      body: '{"model":"picture","input":{"messages":[{"role":"user","content":[{"text":"a fox"}]}]}}',
      signal: leaver.signal,
    }).catch(() => 'left')
    await waitFor(() => slow.requests === 2)
    const early = await draw(gateway, key)
    expect({ status: early.status, body: await early.json() }).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_key_in_use' } },
    })
    leaver.abort()
    expect(await left).toBe('left')
    letGo()
    await waitFor(async () => (await rowsOf(gateway))[0]?.sha256 != null)
    expect(await rowsOf(gateway)).toMatchObject([{ bytes: 1_000, sha256: sha256(bytesOf('slow')) }])
    await waitFor(async () => (await gateway.charges())[0]?.state !== 'held')
    expect(await gateway.charges()).toMatchObject([{ state: 'settled', amount: CENT }])
    expect(await drawnUrl(gateway, key)).toStartWith(gateway.url)
    expect(await gateway.charges()).toHaveLength(1)
    await gateway.close()
    await slow.stop()
  })

  test('the answer does not wait longer than a minute', async () => {
    const { slow, given } = startSlowVendor()
    let now = Date.now()
    const gateway = await startKeeper(slow, week, { outside: { now: () => now } })
    const url = drawnUrl(gateway)
    await waitFor(() => slow.requests === 2)
    now += 61_000
    expect(await url).toBe(given)
    expect(events(gateway, 'artifact_not_kept')[0]?.reason).toContain('too long')
    // The answer arrived as a whole: the first byte cannot be later than the last.
    const [row] = await gateway.requestLog()
    expect(row?.first_byte_ms).toBe(row?.duration_ms as number)
    await gateway.close()
    await slow.stop()
  })

  test('a stopping gateway still answers, and waits no longer than the stop allows', async () => {
    const { slow, given } = startSlowVendor()
    const gateway = await startKeeper(slow, week)
    const url = drawnUrl(gateway)
    await waitFor(() => slow.requests === 2)
    const closing = gateway.server.stop(0)
    expect(await url).toBe(given)
    await closing
    await gateway.sandbox.stop()
    await slow.stop()
  })

  test('a gateway that stops normally finishes it', async () => {
    const { slow, letGo } = startSlowVendor()
    const gateway = await startKeeper(slow, week)
    const url = drawnUrl(gateway)
    await waitFor(() => slow.requests === 2)
    const closing = gateway.server.stop(30_000)
    letGo()
    expect(await url).toStartWith(gateway.url)
    await closing
    await gateway.sandbox.stop()
    await slow.stop()
  })

  test('only a limited number are made at a time, and all eventually', async () => {
    let running = 0
    let most = 0
    const busy = startPictureVendor()
    busy.serve = async (request) => {
      most = Math.max(most, ++running)
      await Bun.sleep(20)
      running--
      return png(bytesOf(request.url))
    }
    busy.reply = () => JSON.stringify(pictureReply(resultUrl(busy)))
    const gateway = await startKeeper(busy, week)
    const urls = await Promise.all(Array.from({ length: 40 }, () => drawnUrl(gateway)))
    expect(urls.every((url) => url.startsWith(gateway.url))).toBe(true)
    expect(await rowsOf(gateway)).toHaveLength(40)
    expect(most).toBeLessThanOrEqual(16)
    await gateway.close()
    await busy.stop()
  })
})

describe('removing', () => {
  test('an artifact is stored longer than at the vendor, and then its file is deleted too', async () => {
    let now = Date.now()
    const gateway = await startKeeper(vendor, { keep: '2d' }, { outside: { now: () => now } })
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const url = await drawnUrl(gateway)
    now += 25 * HOUR_MS
    await gateway.server.world.artifacts?.sweep()
    expect(await bytesAt(url)).toHaveLength(1_000)
    now += 24 * HOUR_MS
    expect((await fetch(url)).status).toBe(404)
    expect(filesIn(gateway, 'artifacts')).toHaveLength(1)
    await gateway.server.world.artifacts?.sweep()
    expect(await rowsOf(gateway)).toEqual([])
    expect(filesIn(gateway, 'artifacts')).toEqual([])
    await gateway.close()
  })

  test('one that cannot be removed does not prevent the removal of others', async () => {
    let now = Date.now()
    const limits = { keep: '2d', maxBytes: '3KB' }
    const gateway = await startKeeper(vendor, limits, { outside: { now: () => now++ } })
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    for (let count = 0; count < 2; count++) await drawnUrl(gateway)
    const [{ id: stuck } = {}] = await rowsOf(gateway)
    const path = filesIn(gateway, 'artifacts').find((file) => file.endsWith(stuck as string)) as string
    rmSync(path)
    mkdirSync(join(path, 'in the way'), { recursive: true })
    // The next oldest file makes room.
    for (let count = 0; count < 2; count++) await drawnUrl(gateway)
    expect((await rowsOf(gateway)).map(({ id }) => id)).toContain(stuck)
    expect(await rowsOf(gateway)).toHaveLength(3)
    now += 49 * HOUR_MS
    await gateway.server.world.artifacts?.sweep()
    expect((await rowsOf(gateway)).map(({ id }) => id)).toEqual([stuck])
    expect(events(gateway, 'artifact_not_removed').length).toBeGreaterThan(0)
    rmSync(path, { recursive: true })
    await gateway.server.world.artifacts?.sweep()
    expect(await rowsOf(gateway)).toEqual([])
    await gateway.close()
  })

  test('the oldest make room for new ones', async () => {
    let now = Date.now()
    const limits = { keep: '7d', maxBytes: '3KB' }
    const gateway = await startKeeper(vendor, limits, { outside: { now: () => now++ } })
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const urls: string[] = []
    for (let count = 0; count < 5; count++) urls.push(await drawnUrl(gateway))
    const statuses = await Promise.all(urls.map(async (url) => (await fetch(url)).status))
    expect(statuses).toEqual([404, 404, 200, 200, 200])
    expect(filesIn(gateway, 'artifacts')).toHaveLength(3)
    expect(events(gateway, 'artifact_removed_early')).toHaveLength(2)
    await gateway.close()
  })

  test('a lowered limit is enforced at the next sweep', async () => {
    const gateway = await startKeeper(vendor, week)
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    for (let count = 0; count < 3; count++) await drawnUrl(gateway)
    const again = await restart(gateway, { config: { artifacts: { keep: '7d', maxBytes: '1KB' } } })
    await again.server.world.artifacts?.sweep()
    expect(await rowsOf(again)).toHaveLength(1)
    expect(filesIn(again, 'artifacts')).toHaveLength(1)
    await again.close()
    await gateway.sandbox.stop()
  })

  test('only the files of a killed process are removed at the next start', async () => {
    let now = Date.now()
    const outside = { now: () => now }
    const gateway = await startKeeper(vendor, week, { outside })
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const { pathname, search } = new URL(await drawnUrl(gateway))
    const [kept] = filesIn(gateway, 'artifacts')
    // Killed during the fetch, and between the end of the copy and the end of its row.
    writeFileSync(join(gateway.dataDir, 'uploads', 'upload_half'), 'half')
    const shelf = join(gateway.dataDir, 'artifacts', 'ff')
    mkdirSync(shelf, { recursive: true })
    const [unknown, unfinished] = [`art_${'0'.repeat(30)}ff`, `art_${'1'.repeat(30)}ff`]
    for (const id of [unknown, unfinished]) writeFileSync(join(shelf, id), 'whole')
    await gateway.server.world.db.batch([
      {
        sql: `insert into artifacts (id, account, charge, content_type, bytes, created_at, expires_at, place)
          values ($1, 'alice', 'req_1', 'image/png', 5, $2, $3, 'disk')`,
        parameters: [unfinished, now, now + HOUR_MS],
      },
    ])
    const again = await restart(gateway, { outside, config: { artifacts: week } })
    expect(filesIn(again, 'uploads')).toEqual([])
    expect(filesIn(again, 'artifacts').sort()).toEqual([kept as string, join(shelf, unfinished)].sort())
    now += 2 * HOUR_MS
    await again.server.world.artifacts?.sweep()
    expect(filesIn(again, 'artifacts')).toEqual([kept as string])
    expect(await bytesAt(`${again.url}${pathname}${search}`)).toHaveLength(1_000)
    await again.close()
    await gateway.sandbox.stop()
  })
})

function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
}
