// Whole answers that callers do not read: the total of unsent bytes is bounded, the slowest caller is cut first, and each answer is
// charged.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Backlog } from '../../src/request/stream/backlog'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { parseMetrics } from '../support/metrics'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

const MEBIBYTE = 1024 * 1024
/** More than the system buffers for a caller that reads nothing. */
const LARGE_BYTES = 24 * MEBIBYTE
/** Room for the waiting bytes of two large answers, but not of three. */
const MAX_BYTES = 60 * MEBIBYTE
const SMALL_BYTES = 1_000_000
const TOKEN = 'a-token-for-the-readers'

let vendor: OddVendor
let gateway: TestGateway
beforeAll(async () => {
  vendor = startVendor()
  const { upstream } = vendor
  const models = { 'test-odd': { ...testModels['test-chat'], upstream: 'odd' } }
  gateway = await startTestGateway({
    upstreams: { odd: upstream },
    models,
    config: { metrics: { token: TOKEN } },
  })
  const { world } = gateway.server
  world.backlog = new Backlog(world.log, MAX_BYTES)
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})
beforeEach(() => {
  vendor.answer = () => Response.json(completion('é'.repeat(LARGE_BYTES / 2), 10, 20))
})

const cuts = () => gateway.log.filter(({ event }) => event === 'slow_caller_cut').length
const waitingBytes = () => gateway.server.world.backlog.waitingBytes

async function metrics() {
  const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return parseMetrics(await response.text())
}

/** Requests a large answer, and reads only its first bytes. */
async function askSlowly(): Promise<RawCaller> {
  const caller = await RawCaller.connect(gateway.url)
  caller.send(chatRequest(gateway.secret, { model: 'test-odd', messages: say('Hello!') }))
  await waitFor(() => caller.bytes > 0, 10_000)
  caller.pause()
  return caller
}

/** Reads the rest. True if the answer reached its end. */
async function takesAll(caller: RawCaller): Promise<boolean> {
  caller.resume()
  await waitFor(() => caller.closed || caller.tail().endsWith('0\r\n\r\n'), 20_000)
  return caller.bytes > LARGE_BYTES && caller.tail().endsWith('\r\n0\r\n\r\n')
}

test('of three callers who read nothing of large answers the slowest is cut, and the others get theirs whole', async () => {
  const before = (await gateway.charges()).length
  const [first, second] = [await askSlowly(), await askSlowly()]
  await waitFor(() => waitingBytes() > 1.3 * LARGE_BYTES)
  expect(cuts()).toBe(0)
  const third = await askSlowly()
  await waitFor(() => cuts() === 1)
  expect(waitingBytes()).toBeLessThan(MAX_BYTES)
  const figures = await metrics()
  expect(figures.value('gateway_waiting_bytes', {})).toBe(waitingBytes())
  expect(figures.value('gateway_log_lines_total', { event: 'slow_caller_cut' })).toBe(1)
  expect(await Promise.all([first, second, third].map(takesAll))).toEqual([false, true, true])
  expect(first.closed).toBe(true)
  await waitFor(() => waitingBytes() === 0)
  // All are paid: the vendor has answered, and the first bytes were sent.
  const charges = (await gateway.charges()).slice(before)
  expect(charges.map(({ state }) => state)).toEqual(['settled', 'settled', 'settled'])
  for (const caller of [second, third]) caller.leave('fin')
})

test('a caller who disconnects frees its waiting bytes', async () => {
  const caller = await askSlowly()
  await waitFor(() => waitingBytes() > MEBIBYTE)
  caller.leave('rst')
  await waitFor(() => waitingBytes() === 0)
})

test('callers who read large answers are never cut, however many they are', async () => {
  const before = cuts()
  for (let round = 0; round < 8; round++) {
    const response = await gateway.chat({ model: 'test-odd' })
    expect((await response.bytes()).length).toBeGreaterThan(LARGE_BYTES)
  }
  expect(cuts()).toBe(before)
  expect(waitingBytes()).toBe(0)
})

test('a small answer is sent at once, with its length', async () => {
  vendor.answer = () => Response.json(completion('x'.repeat(SMALL_BYTES), 10, 20))
  const response = await gateway.chat({ model: 'test-odd' })
  const length = Number(response.headers.get('content-length'))
  expect((await response.bytes()).length).toBe(length)
  expect(length).toBeGreaterThan(SMALL_BYTES)
})

test('a large answer is the same when it is repeated, and in every form', async () => {
  const text = 'é'.repeat(1_100_000)
  vendor.answer = () => Response.json(completion(text, 10, 20))
  const key = { 'idempotency-key': 'large' }
  const [asked, again] = [
    await gateway.chat({ model: 'test-odd' }, key),
    await gateway.chat({ model: 'test-odd' }, key),
  ]
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const whole = (await asked.json()) as { choices: { message: { content: string } }[] }
  expect(whole.choices[0]?.message.content).toBe(text)
  expect(await again.json()).toEqual(whole)
  const contents = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] }
  for (const [form, read] of [
    ['streamGenerateContent?alt=sse', (body: string) => JSON.parse(body.replace(/^data: /, ''))],
    ['streamGenerateContent', (body: string) => JSON.parse(body)[0]],
    ['generateContent', JSON.parse],
  ] as const) {
    const response = await gateway.post(`/v1beta/models/test-odd:${form}`, contents)
    const shown = read(await response.text())
    expect(shown.candidates[0].content.parts).toEqual([{ text }])
  }
  for (const response of [asked, again]) expect(response.headers.has('content-length')).toBe(false)
})
