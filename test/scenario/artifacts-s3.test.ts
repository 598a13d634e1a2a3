// Results in a bucket, for nodes that share a PostgreSQL database: any node serves the results that another
// one stored, and a failing store loses only the copy.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type TestGateway, waitFor } from '../support/gateway'
import { type ObjectStore, startObjectStore, storeKey } from '../support/servers/object-store'
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

const CENT = 10_000_000
const HOUR_MS = 3_600_000
describe('a bucket', () => {
  let vendor: PictureVendor
  let store: ObjectStore
  let now = Date.now()
  let one: TestGateway
  let other: TestGateway

  beforeAll(async () => {
    vendor = startPictureVendor()
    store = startObjectStore()
    vendor.reply = () => JSON.stringify(pictureReply(resultUrl(vendor)))
    const s3 = {
      bucket: 'results',
      endpoint: store.endpoint,
      region: 'eu-central-1',
      accessKeyId: storeKey,
      secretAccessKey: 'secret',
      prefix: 'gateway/',
    }
    const artifacts = { keep: '2d', s3 }
    const outside = { now: () => now }
    one = await startKeeper(vendor, artifacts, { database: 'postgres', outside })
    const { databaseUrl, sandbox } = one
    other = await startKeeper(vendor, artifacts, {
      outside,
      sandbox,
      balance: '0',
      ...(databaseUrl && { databaseUrl }),
    })
  })
  afterAll(async () => {
    await other.close()
    await one.close()
    await vendor.stop()
    await store.stop()
  })

  function rows() {
    return one.server.world.db.query({ sql: 'select * from artifacts order by created_at, id' })
  }

  const sizes: [title: string, bytes: number, calls: string[]][] = [
    ['a small file in one piece', 1_000, ['PUT']],
    ['a large one in parts', 12_000_000, ['POST part', 'PUT part', 'PUT part', 'PUT part', 'POST part']],
  ]
  for (const [title, count, calls] of sizes) {
    test(`takes ${title}, and every node serves it`, async () => {
      const bytes = bytesOf(title, count)
      vendor.serve = () => png(bytes)
      store.calls.length = 0
      const url = await drawnUrl(one)
      expect(store.calls).toEqual(calls)
      const { pathname, search } = new URL(url)
      const id = pathname.split('/').at(-1) as string
      expect(store.objects.get(`results/gateway/${id}`)).toEqual({ bytes, contentType: 'image/png' })
      for (const node of [one, other]) {
        const address = `${node.url}${pathname}${search}`
        expect(await (await fetch(address)).bytes()).toEqual(bytes)
        const part = await fetch(address, { headers: { range: 'bytes=100-199' } })
        expect(part.status).toBe(206)
        expect(await part.bytes()).toEqual(bytes.slice(100, 200))
      }
      expect((await rows()).at(-1)).toMatchObject({ id, bytes: count, place: 's3', account: 'alice' })
    })
  }

  test('that fails loses the copy, not the request', async () => {
    store.broken = true
    const before = await rows()
    expect(await drawnUrl(one)).toStartWith(vendor.url)
    expect(one.log.filter(({ event }) => event === 'artifact_not_kept')).toHaveLength(1)
    expect(await one.newestCharge()).toMatchObject({ state: 'settled', amount: CENT })
    // The row stays for an hour, so that anything that reached the bucket is found again.
    expect(await rows()).toHaveLength(before.length + 1)
    store.broken = false
    now += HOUR_MS
    await one.server.world.artifacts?.sweep()
    expect(await rows()).toEqual(before)
  })

  test('that answers no removal delays an answer by a minute at most', async () => {
    const s3 = {
      bucket: 'full',
      endpoint: store.endpoint,
      region: 'eu-central-1',
      accessKeyId: storeKey,
      secretAccessKey: 'secret',
    }
    vendor.serve = () => png(bytesOf('a'))
    let time = Date.now()
    const artifacts = { keep: '2d', maxBytes: '1KB', s3 }
    const gateway = await startKeeper(vendor, artifacts, { outside: { now: () => time } })
    expect(await drawnUrl(gateway)).toStartWith(gateway.url)
    const removals = Promise.withResolvers<void>()
    store.removals = removals.promise
    const isRemoving = () => store.calls.at(-1) === 'DELETE'
    const url = drawnUrl(gateway)
    await waitFor(isRemoving)
    time += 61_000
    expect(await url).toStartWith(vendor.url)
    store.removals = undefined
    removals.resolve()
    await gateway.close()
  })

  test('that does not answer a request for a file causes a 503 that says so', async () => {
    vendor.serve = () => png(bytesOf('a'))
    const url = await drawnUrl(one)
    store.broken = true
    const response = await fetch(url)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('30')
    expect(await response.text()).toContain('"artifact_unavailable"')
    store.broken = false
    expect((await fetch(url)).status).toBe(200)
  })

  test('is read at the pace of the caller: the gateway buffers nothing of a file for a slow caller', async () => {
    const megabyte = 1_000_000
    vendor.serve = () => png(bytesOf('slow', 40 * megabyte))
    const { pathname, search } = new URL(await drawnUrl(one))
    const before = store.sentBytes
    const callers = await Promise.all(Array.from({ length: 3 }, () => RawCaller.connect(one.url)))
    for (const caller of callers) {
      caller.socket.once('data', () => caller.pause())
      caller.send(`GET ${pathname}${search} HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    }
    await waitFor(() => callers.every((caller) => caller.bytes > 0))
    expect(callers.map((caller) => caller.head().slice(0, 12))).toEqual(Array(3).fill('HTTP/1.1 200'))
    // Until nothing moves any more: the data on its way is in the buffers of four sockets.
    let sent = -1
    while (sent !== store.sentBytes) {
      sent = store.sentBytes
      await Bun.sleep(300)
    }
    expect(sent - before).toBeLessThan(3 * 20 * megabyte)
    for (const caller of callers) caller.leave('rst')
  })

  test('that answers readers slowly delays neither other readers nor new results', async () => {
    vendor.serve = () => png(bytesOf('held'))
    const { pathname, search } = new URL(await drawnUrl(one))
    const release = Promise.withResolvers<void>()
    store.calls.length = 0
    store.reads = release.promise
    // One more than Bun's own client runs at a time.
    const count = 257
    const callers = await Promise.all(Array.from({ length: count }, () => RawCaller.connect(one.url)))
    for (const caller of callers) caller.send(`GET ${pathname}${search} HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    const asked = () => store.calls.filter((call) => call === 'GET').length
    await waitFor(() => asked() === count)
    expect(asked()).toBe(count)
    expect(await drawnUrl(one)).toStartWith(one.url)
    release.resolve()
    await waitFor(() => callers.every((caller) => caller.bytes > 0))
    const heads = new Set(callers.map((caller) => caller.head().slice(0, 12)))
    expect([...heads]).toEqual(['HTTP/1.1 200'])
    for (const caller of callers) caller.leave('fin')
  })

  test('loses expired files, whichever node sweeps, even if both do at once', async () => {
    now += 49 * HOUR_MS
    expect((await rows()).length).toBeGreaterThan(0)
    await Promise.all([one, other].map(({ server }) => server.world.artifacts?.sweep()))
    expect(await rows()).toEqual([])
    expect(store.objects.size).toBe(0)
  })

  test('that lost a file: the answer says that the file does not exist', async () => {
    const url = await drawnUrl(one)
    store.objects.clear()
    expect((await fetch(url)).status).toBe(404)
  })
})
