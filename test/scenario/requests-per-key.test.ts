// Concurrent requests of one key in one process: every key has this limit, in addition to others. Each possible end of a request
// frees its place, once.

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'

setDefaultTimeout(180_000)

const MAX_REQUESTS = 2
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ config: { server: { maxRequestsPerKey: MAX_REQUESTS } } })
})
afterAll(() => gateway.close())

const callers: RawCaller[] = []
const as = (secret: string) => ({ authorization: `Bearer ${secret}` })
const chat = (secret: string, content = 'Hello!', more: object = {}) =>
  gateway.chat({ messages: say(content), ...more }, as(secret))

/** Begins a stream to which the vendor never says a word, or a body that never ends. */
async function begin(secret: string, what: 'stream' | 'body' = 'stream'): Promise<RawCaller> {
  const caller = await RawCaller.connect(gateway.url)
  callers.push(caller)
  const calls = gateway.sandbox.calls.length
  const body = { model: 'test-chat', stream: true, messages: say('[sandbox hang]') }
  const request = chatRequest(secret, body, what === 'body' ? { 'content-length': '60000' } : {})
  caller.send(request)
  if (what === 'stream') await waitFor(() => gateway.sandbox.calls.length > calls)
  else await Bun.sleep(100)
  return caller
}

/** All places are free: as many requests as may run do run. */
async function expectAllFree(secret: string): Promise<void> {
  await waitFor(async () => {
    const statuses = await Promise.all(
      Array.from({ length: MAX_REQUESTS }, async () => (await chat(secret, '[sandbox delay_ms=100]')).status),
    )
    return statuses.every((status) => status === 200)
  })
  const running = await Promise.all(
    Array.from({ length: MAX_REQUESTS }, () =>
      chat(secret, '[sandbox tokens=9 token_delay_ms=60000]', { stream: true }),
    ),
  )
  expect(running.map(({ status }) => status)).toEqual(Array(MAX_REQUESTS).fill(200))
  expect((await chat(secret)).status).toBe(429)
  for (const response of running) await response.body?.cancel()
}

afterEach(() => {
  for (const caller of callers.splice(0)) caller.leave('rst')
})

test('one request more gets 429; other keys are served, and so is this one when a request ends', async () => {
  const { secret } = await gateway.makeKey('alice', '1')
  const other = await gateway.makeKey('bob', '1')
  await begin(secret)
  const second = await begin(secret)
  const refused = await chat(secret)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('1')
  const message = 'This key may have 2 requests running at a time. Wait for one to end.'
  expect(await refused.json()).toMatchObject({
    code: 'Throttling.ConcurrencyQuota',
    message,
    error: { code: 'Throttling.ConcurrencyQuota', message },
  })
  expect((await chat(other.secret)).status).toBe(200)
  second.leave('rst')
  await waitFor(async () => (await chat(secret)).status === 200)
  expect((await chat(secret)).status).toBe(200)
})

test('requests whose bodies are still arriving count', async () => {
  const { secret } = await gateway.makeKey('alice', '1')
  await begin(secret, 'body')
  await begin(secret, 'body')
  await waitFor(async () => (await chat(secret)).status === 429)
  expect((await chat(secret)).status).toBe(429)
  for (const caller of callers.splice(0)) caller.leave('rst')
  await expectAllFree(secret)
})

test('a key with its own limit may have more', async () => {
  const { secret } = await gateway.makeKey('alice', '1', { concurrency: MAX_REQUESTS + 1 })
  for (let count = 0; count < MAX_REQUESTS + 1; count++) await begin(secret)
  const refused = await chat(secret)
  expect(refused.status).toBe(429)
  expect(await refused.text()).toContain(`This key may have ${MAX_REQUESTS + 1} requests`)
})

test('every end of a request frees its place', async () => {
  const { secret } = await gateway.makeKey('alice', '5')
  const ends: Record<string, () => Promise<unknown>> = {
    whole: async () => (await chat(secret)).json(),
    stream: async () => (await chat(secret, 'Hello!', { stream: true })).text(),
    'stream that is cut': async () => (await chat(secret, '[sandbox cut_after=1]', { stream: true })).text(),
    'error of the vendor': async () => (await chat(secret, '[sandbox status=500]')).text(),
    'no JSON': async () => (await gateway.post('/v1/chat/completions', '{', as(secret))).text(),
    'no such model': async () => (await chat(secret, 'Hello!', { model: 'none' })).text(),
    'too dear': async () => (await chat(secret, 'Hello!', { max_tokens: 2_000_000_000 })).text(),
    task: async () =>
      (
        await gateway.post(
          '/v1/videos/generations',
          { model: 'gkx-imagine-video', prompt: 'A fox', duration: 1, resolution: '480p' },
          as(secret),
        )
      ).text(),
    'answer that is given again': async () => {
      const again = { ...as(secret), 'idempotency-key': 'again' }
      await (await gateway.chat({ messages: say('Hello!') }, again)).text()
      await (await gateway.chat({ messages: say('Hello!') }, again)).text()
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    for (let times = 0; times < MAX_REQUESTS + 1; times++) await end()
    const { status } = await chat(secret)
    expect({ name, status }).toEqual({ name, status: 200 })
  }
  await expectAllFree(secret)
})
