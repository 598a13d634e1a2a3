// Webhooks from the row to the receiver: signed so that receivers can verify them, retried for three days with the same content,
// and never delayed by another receiver.

import { describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { Webhook as Verifier } from 'standardwebhooks'
import { outside } from '../../src/app/world'
import type { Lookup } from '../../src/webhooks/address'
import { signatureHeaders } from '../../src/webhooks/attempt'
import { claimWebhooks, redeliver } from '../../src/webhooks/rows'
import { makeWebhookSecret, rollWebhookSecret, webhookSecretsOf } from '../../src/webhooks/secrets'
import { databaseKinds } from '../support/databases/databases'
import { waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'
import {
  type Delivered,
  makeKey,
  never,
  openSending,
  openSite,
  SECRET,
  type Sending,
  START,
} from '../support/servers/webhook-sending'

const SECOND = 1_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Waits before the attempts after the first one (Standard Webhooks 1.0), in seconds. */
const WAITS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
const OTHER_SECRET = makeWebhookSecret(bytesOf(7))

const urlOf = (site: { port: number }, host = '127.0.0.1') => `http://${host}:${site.port}/ended`

describe('a signature', () => {
  const body =
    '{"type":"video.generation.succeeded","timestamp":"2026-01-02T03:04:05Z","data":{"id":"vid_1"}}'

  test('matches the known signature of these bytes', () => {
    expect(signatureHeaders('msg_test_1', body, [SECRET], 1_767_323_045_999)).toMatchObject({
      'webhook-id': 'msg_test_1',
      'webhook-timestamp': '1767323045',
      'webhook-signature': 'v1,AvWHDR4wNwMvuJ7QjcBmrhPpoe7t3M7LGP4zYqoCsyI=',
    })
  })

  const now = Date.now()
  const rows: [title: string, at: number, secret: string, sent: string, holds: boolean][] = [
    ['now', now, SECRET, body, true],
    ['4 minutes and 50 seconds ago', now - 290 * SECOND, SECRET, body, true],
    ['in 4 minutes and 50 seconds', now + 290 * SECOND, SECRET, body, true],
    ['6 minutes ago', now - 360 * SECOND, SECRET, body, false],
    ['in 6 minutes', now + 360 * SECOND, SECRET, body, false],
    ['now, for another secret', now, OTHER_SECRET, body, false],
    ['now, for another body', now, SECRET, `${body} `, false],
  ]
  for (const [title, at, secret, sent, holds] of rows) {
    test(`of ${title} ${holds ? 'holds' : 'does not hold'} for the reference library and the OpenAI SDK`, async () => {
      const headers = signatureHeaders('msg_1', body, [SECRET], at)
      const reference = () => new Verifier(secret).verify(sent, headers)
      const sdk = new OpenAI({ apiKey: 'unused', webhookSecret: secret }).webhooks.unwrap(sent, headers)
      if (holds) {
        expect(reference()).toEqual(JSON.parse(body))
        expect(await sdk).toEqual(JSON.parse(body))
      } else {
        expect(reference).toThrow()
        await rejection(sdk)
      }
    })
  }

  test('of two secrets holds for the holder of either', () => {
    const headers = signatureHeaders('msg_1', body, [OTHER_SECRET, SECRET], Date.now())
    for (const secret of [SECRET, OTHER_SECRET]) {
      expect(new Verifier(secret).verify(body, headers)).toEqual(JSON.parse(body))
    }
  })
})

/** The signatures of a delivery, and the secrets of which they are. */
function signersOf({ headers, body }: Delivered, secrets: Record<string, string>): string[] {
  const at = Number(headers['webhook-timestamp']) * SECOND
  const signatures = headers['webhook-signature']?.split(' ') ?? []
  return signatures.map((signature) => {
    const found = Object.entries(secrets).find(([, secret]) => {
      return (
        signatureHeaders(headers['webhook-id'] ?? '', body, [secret], at)['webhook-signature'] === signature
      )
    })
    return found?.[0] ?? signature
  })
}

for (const kind of databaseKinds) {
  describe(`on ${kind}`, () => {
    test('a receiver that fails is tried ten times over three days, with the same id and body', async () => {
      using site = openSite((_delivered, count) => new Response(`no ${count}`, { status: 500 }))
      const sending = await openSending(kind)
      const task = await sending.add(urlOf(site))
      await sending.deliver()
      for (const [index, waitSeconds] of WAITS.entries()) {
        const { webhook } = await sending.of(task)
        expect(webhook).toMatchObject({ state: 'pending', attempts: index + 1, endedAt: null })
        expect((webhook.nextAt - sending.clock.now) / SECOND).toBe(waitSeconds)
        sending.clock.now = webhook.nextAt - 1
        await sending.deliver()
        expect(site.received).toHaveLength(index + 1)
        sending.clock.now = webhook.nextAt
        await sending.deliver()
        expect(site.received).toHaveLength(index + 2)
      }
      const { webhook, attempts } = await sending.of(task)
      expect(webhook).toMatchObject({ state: 'failed', attempts: 10, endedAt: sending.clock.now })
      expect(attempts.map(({ status, answer }) => `${status} ${answer}`)).toEqual(
        Array.from({ length: 10 }, (_none, index) => `500 no ${index + 1}`),
      )
      expect((sending.clock.now - START) / HOUR).toBeCloseTo(75.585, 2)
      sending.clock.now += 30 * DAY
      await sending.deliver()
      expect(site.received).toHaveLength(10)
      expect(new Set(site.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(
        1,
      )
      // The time of the attempt, not of the webhook.
      expect(site.received.map(({ headers }) => Number(headers['webhook-timestamp']))).toEqual(
        attempts.map(({ at }) => Math.floor(at / SECOND)),
      )
      await sending.close()
    })

    test('a new secret signs next to the old one for a day', async () => {
      using site = openSite()
      const sending = await openSending(kind)
      const { db, clock } = sending
      const secrets = { old: SECRET, new: OTHER_SECRET, newest: makeWebhookSecret(bytesOf(9)) }
      const signers = async () => {
        await sending.add(urlOf(site))
        await sending.deliver()
        return signersOf(site.received.at(-1) as Delivered, secrets)
      }
      expect(await signers()).toEqual(['old'])
      expect(await rollWebhookSecret(db, 'key_1', secrets.new, clock.now)).toBe(true)
      expect(await signers()).toEqual(['new', 'old'])
      clock.now += DAY - 1
      expect(await signers()).toEqual(['new', 'old'])
      clock.now += 1
      expect(await signers()).toEqual(['new'])
      expect(await rollWebhookSecret(db, 'key_1', secrets.newest, clock.now)).toBe(true)
      expect(await signers()).toEqual(['newest', 'new'])
      expect(await webhookSecretsOf(db, 'no such key', clock.now)).toEqual([])
      expect(await rollWebhookSecret(db, 'no such key', secrets.new, clock.now)).toBe(false)
      await sending.close()
    })

    test('an internal error in an attempt counts as no answer, and does not delay the others', async () => {
      using site = openSite()
      const lookup: Lookup = (host) => {
        if (host === 'faulty.example.com') throw new Error('a fault of our own')
        return Promise.resolve(['127.0.0.1'])
      }
      const sending = await openSending(kind, { lookup })
      const [faulty, sound] = [
        await sending.add(urlOf(site, 'faulty.example.com')),
        await sending.add(urlOf(site)),
      ]
      for (const waitSeconds of [0, ...WAITS]) {
        sending.clock.now += waitSeconds * SECOND
        await sending.deliver()
      }
      expect((await sending.of(sound)).webhook.state).toBe('delivered')
      const { webhook, attempts } = await sending.of(faulty)
      expect(webhook).toMatchObject({ state: 'failed', attempts: 10, endedAt: sending.clock.now })
      expect(attempts[0]?.answer).not.toContain('a fault of our own')
      expect(JSON.stringify(sending.log)).toContain('a fault of our own')
      await sending.close()
    })

    test('each key signs with its own secret', async () => {
      using site = openSite()
      const sending = await openSending(kind)
      await makeKey(sending.db, 'key_2', OTHER_SECRET)
      for (const keyId of ['key_1', 'key_2']) await sending.add(urlOf(site), { keyId })
      await sending.deliver()
      const secrets = { first: SECRET, second: OTHER_SECRET }
      expect(site.received.map((delivered) => signersOf(delivered, secrets).join()).sort()).toEqual([
        'first',
        'second',
      ])
      await sending.close()
    })

    test('a receiver’s answer is kept as a text that can be stored and shown', async () => {
      const euro = '€'.repeat(1_023)
      const answers = ['a\0b\x1b[31m\r\nc\td', `${euro}😀 and more`, '\xff', 'x'.repeat(200_000)]
      using site = openSite((_delivered, count) => {
        const text = answers[count - 1] ?? ''
        return new Response(text === '\xff' ? new Uint8Array([0xff, 0x61]) : text, { status: 500 })
      })
      const sending = await openSending(kind)
      const task = await sending.add(urlOf(site))
      for (const _answer of answers) {
        await sending.deliver()
        sending.clock.now += DAY
      }
      const { attempts } = await sending.of(task)
      expect(attempts.map(({ answer }) => answer)).toEqual([
        'a\ufffdb\ufffd[31m\ufffd\nc\td',
        `${euro}\ufffd`,
        '\ufffda',
        'x'.repeat(1_024),
      ])
      await sending.close()
    })

    test('a process that has lost a webhook to another changes nothing any more', async () => {
      const answers = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()] as const
      using site = openSite((_delivered, count) => answers[count - 1]?.promise ?? new Response('third'))
      const sending = await openSending(kind)
      const task = await sending.add(urlOf(site))
      await sending.sender.beat()
      await waitFor(() => site.received.length === 1)
      expect(await redeliver(sending.db, task)).toBe(true)
      await sending.sender.beat()
      await waitFor(() => site.received.length === 2)
      answers[0].resolve(new Response('late', { status: 410 }))
      await waitFor(() => sending.log.length > 0)
      expect(sending.log).toMatchObject([{ event: 'webhook_attempt', state: 'taken over' }])
      expect(await sending.of(task)).toMatchObject({
        webhook: { state: 'pending', attempts: 0 },
        attempts: [],
      })
      answers[1].resolve(new Response('in time'))
      await waitFor(async () => (await sending.claimed()) === 0)
      const { webhook, attempts } = await sending.of(task)
      expect(webhook).toMatchObject({ state: 'delivered', attempts: 1 })
      expect(attempts).toMatchObject([{ status: 200, answer: 'in time' }])
      await sending.close()
    })

    test('a delivered or failed event is delivered again on an operator’s command, with the next number', async () => {
      using site = openSite(
        (_delivered, count) => new Response(null, { status: [410, 500, 200][count - 1] ?? 200 }),
      )
      const sending = await openSending(kind)
      const task = await sending.add(urlOf(site))
      await sending.deliver()
      expect((await sending.of(task)).webhook.state).toBe('failed')
      await redeliver(sending.db, task)
      await sending.deliver()
      const { webhook } = await sending.of(task)
      // Its schedule begins again.
      expect(webhook).toMatchObject({ state: 'pending', nextAt: sending.clock.now + 5 * SECOND })
      sending.clock.now = webhook.nextAt
      await sending.deliver()
      const end = await sending.of(task)
      expect(end.webhook).toMatchObject({ state: 'delivered', attempts: 3 })
      expect(end.attempts.map(({ status }) => status)).toEqual([410, 500, 200])
      expect(new Set(site.received.map(({ headers, body }) => headers['webhook-id'] + body)).size).toBe(1)
      expect(await redeliver(sending.db, 'video_none')).toBe(false)
      await sending.close()
    })

    test('a process that dies in the middle leaves it to the next one, once its lease is over', async () => {
      using site = openSite()
      const first = await openSending(kind)
      const task = await first.add(urlOf(site))
      const claim = { limit: 8, leaseMs: 60 * SECOND, busyHosts: [], busyAccounts: [] }
      expect(await claimWebhooks(first.db, START, claim)).toHaveLength(1)
      const next = await openSending(kind, { db: first.db })
      next.clock.now = START + 60 * SECOND - 1
      await next.sender.beat()
      expect(await claimWebhooks(first.db, next.clock.now, claim)).toEqual([])
      next.clock.now += 1
      await next.deliver()
      expect(site.received).toHaveLength(1)
      expect((await next.of(task)).webhook).toMatchObject({ state: 'delivered', attempts: 1 })
      await next.close()
    })

    test('each of many is taken by one of two senders', async () => {
      using site = openSite()
      const one = await openSending(kind)
      const two = await openSending(kind, { db: one.db })
      const tasks = await Promise.all(Array.from({ length: 200 }, () => one.add(urlOf(site))))
      const open = async () => {
        const rows = await one.db.query({ sql: `select id from webhooks where state = 'pending'` })
        return rows.length
      }
      await waitFor(async () => {
        await Promise.all([one.sender.beat(), two.sender.beat()])
        return (await open()) === 0
      }, 180_000)
      expect(await open()).toBe(0)
      expect(site.received.map(({ headers }) => headers['webhook-id'] ?? '').sort()).toEqual(
        tasks.map((task) => `msg_${task}`).sort(),
      )
      expect(one.log.length + two.log.length).toBe(tasks.length)
      await two.sender.stop()
      await one.close()
    })
  })
}

function bytesOf(value: number) {
  return (count: number) => new Uint8Array(count).fill(value)
}

describe('an answer', () => {
  interface Row {
    title: string
    answer: () => Response | Promise<Response>
    state: 'delivered' | 'pending' | 'failed'
    /** Seconds until the next attempt. */
    wait?: number
  }
  const status = (code: number, headers: Record<string, string> = {}) => ({
    answer: () => new Response(null, { status: code, headers }),
  })
  const retryAfter = (value: string, code = 429) => status(code, { 'retry-after': value })
  const rows: Row[] = [
    ...[200, 201, 202, 204, 299].map(
      (code): Row => ({ title: `${code}`, ...status(code), state: 'delivered' }),
    ),
    ...[301, 303, 304, 400, 401, 404, 500, 502, 504].map(
      (code): Row => ({ title: `${code}`, ...status(code), state: 'pending', wait: 5 }),
    ),
    { title: '410, which is permanent', ...status(410), state: 'failed' },
    { title: '429 that asks for two minutes', ...retryAfter('120'), state: 'pending', wait: 120 },
    { title: '503 that asks for a minute', ...retryAfter('60', 503), state: 'pending', wait: 60 },
    { title: '429 that asks for a second', ...retryAfter('1'), state: 'pending', wait: 5 },
    {
      title: '429 that names a time',
      ...retryAfter(new Date(START + 90 * SECOND).toUTCString()),
      state: 'pending',
      wait: 90,
    },
    {
      title: '429 that names a time that is past',
      ...retryAfter(new Date(START - DAY).toUTCString()),
      state: 'pending',
      wait: 5,
    },
    { title: '429 that asks for a year', ...retryAfter('31536000'), state: 'pending', wait: 86_400 },
    ...['soon', '-5', '', '1e999', 'NaN'].map(
      (value): Row => ({
        title: `429 that asks for "${value}"`,
        ...retryAfter(value),
        state: 'pending',
        wait: 5,
      }),
    ),
  ]
  for (const { title, answer, state, wait } of rows) {
    test(`of ${title}: ${state}${wait === undefined ? '' : `, again after ${wait} s`}`, async () => {
      using site = openSite(answer)
      const sending = await openSending('sqlite')
      const task = await sending.add(urlOf(site))
      await sending.deliver()
      const { webhook, attempts } = await sending.of(task)
      expect(webhook).toMatchObject({ state, attempts: 1, step: 1 })
      expect(attempts).toHaveLength(1)
      if (wait !== undefined) expect((webhook.nextAt - START) / SECOND).toBe(wait)
      await sending.close()
    })
  }

  test('waits are a little longer by chance, up to a tenth', async () => {
    using site = openSite(() => new Response(null, { status: 500 }))
    const sending = await openSending('sqlite', { random: 0.5 })
    const task = await sending.add(urlOf(site))
    await sending.deliver()
    expect((await sending.of(task)).webhook.nextAt - START).toBe(5_250)
    await sending.close()
  })

  const endless = () => {
    const counted = { bytes: 0, cancelled: false }
    const body = new ReadableStream({
      async pull(controller) {
        counted.bytes += 16_384
        controller.enqueue(new Uint8Array(16_384).fill(0x61))
        await Bun.sleep(0)
      },
      cancel() {
        counted.cancelled = true
      },
    })
    return { counted, response: new Response(body) }
  }

  test('without an end is read for a while only, and counts', async () => {
    const { counted, response } = endless()
    using site = openSite(() => response)
    const sending = await openSending('sqlite')
    const task = await sending.add(urlOf(site))
    await sending.deliver()
    expect(await sending.of(task)).toMatchObject({
      webhook: { state: 'delivered' },
      attempts: [{ status: 200, answer: 'a'.repeat(1_024) }],
    })
    await waitFor(() => counted.cancelled)
    expect(counted.cancelled).toBe(true)
    await sending.close()
  })

  test('that ends after the status 200 counts as 200', async () => {
    const body = () => new ReadableStream({ start: (controller) => controller.enqueue('begun') })
    using site = openSite(() => new Response(body()))
    const begun = Promise.withResolvers<void>()
    const sending = await openSending('sqlite', {
      transport: {
        open(url, options) {
          const origin = outside.transport.open(url, options)
          return { ...origin, send: (request) => origin.send(request).finally(begun.resolve) }
        },
      },
    })
    const task = await sending.add(urlOf(site))
    await sending.sender.beat()
    await begun.promise
    sending.clock.now += 20 * SECOND
    await waitFor(async () => (await sending.claimed()) === 0)
    expect(await sending.of(task)).toMatchObject({
      webhook: { state: 'delivered' },
      attempts: [{ status: 200, durationMs: 20 * SECOND }],
    })
    await sending.close()
  })

  test('that is compressed is not decompressed', async () => {
    const packed = Bun.gzipSync(new Uint8Array(64 << 20))
    using site = openSite(() => new Response(packed, { headers: { 'content-encoding': 'gzip' } }))
    const sending = await openSending('sqlite')
    const task = await sending.add(urlOf(site))
    await sending.deliver()
    expect(site.received[0]?.headers['accept-encoding']).toBe('identity')
    const { attempts } = await sending.of(task)
    expect(attempts[0]?.status).toBe(200)
    expect(attempts[0]?.answer).not.toContain('\0')
    expect(attempts[0]?.answer).not.toBe('\ufffd'.repeat(1_024))
    await sending.close()
  })

  test('is awaited for 20 seconds, while others get theirs', async () => {
    using slow = openSite(never)
    using quick = openSite()
    const sending = await openSending('sqlite')
    const slowTask = await sending.add(urlOf(slow))
    await sending.sender.beat()
    await waitFor(() => slow.received.length === 1)
    const quickTask = await sending.add(urlOf(quick))
    await sending.sender.beat()
    await waitFor(async () => (await sending.claimed()) === 1)
    expect((await sending.of(quickTask)).webhook.state).toBe('delivered')
    expect((await sending.of(slowTask)).attempts).toEqual([])
    sending.clock.now += 20 * SECOND
    await waitFor(async () => (await sending.claimed()) === 0)
    expect(await sending.of(slowTask)).toMatchObject({
      webhook: { state: 'pending', nextAt: sending.clock.now + 5 * SECOND },
      attempts: [{ status: null, answer: 'There was no answer within 20 s.', durationMs: 20 * SECOND }],
    })
    await sending.close()
  })

  test('that is cut off before its status, or is not HTTP, does not count', async () => {
    for (const said of ['', 'SSH-2.0-OpenSSH_9.6\r\n']) {
      using server = Bun.listen({
        hostname: '127.0.0.1',
        port: 0,
        socket: { data: (socket) => void socket.end(said) },
      })
      const sending = await openSending('sqlite')
      const task = await sending.add(urlOf(server))
      await sending.deliver()
      const { webhook, attempts } = await sending.of(task)
      expect(webhook.state).toBe('pending')
      expect(attempts.map(({ status }) => status)).toEqual([null])
      expect(attempts[0]?.answer).toMatch(/\w/)
      expect(attempts[0]?.answer).not.toContain('verbose')
      await sending.close()
    }
  })
})

describe('many webhooks', () => {
  const fill = async (
    sending: Sending,
    count: number,
    urlAt: (index: number) => string,
    account?: string,
  ) => {
    await Promise.all(
      Array.from({ length: count }, (_none, index) =>
        sending.add(urlAt(index), account === undefined ? {} : { account }),
      ),
    )
  }

  test('of one slow host: eight at a time, and the others are not kept waiting', async () => {
    using slow = openSite(never)
    using quick = openSite()
    const sending = await openSending('sqlite')
    await fill(sending, 10_000, () => urlOf(slow))
    sending.clock.now += 1
    const last = await sending.add(urlOf(quick), { account: 'bob' })
    await sending.sender.beat()
    await waitFor(() => slow.received.length === 8)
    await waitFor(async () => (await sending.claimed()) === 8)
    expect(quick.received).toHaveLength(1)
    expect((await sending.of(last)).webhook.state).toBe('delivered')
    for (let beat = 0; beat < 20; beat++) await sending.sender.beat()
    expect({ received: slow.received.length, most: slow.most }).toEqual({ received: 8, most: 8 })
    expect(await sending.claimed()).toBe(8)
    await sending.close()
    expect(slow.received).toHaveLength(8)
  })

  test('of one quick host are sent at its speed, not at that of the beats', async () => {
    using site = openSite()
    const sending = await openSending('sqlite')
    await fill(sending, 100, () => urlOf(site))
    await sending.sender.beat()
    await waitFor(() => sending.log.length === 100)
    expect(site.received).toHaveLength(100)
    expect(site.most).toBeLessThanOrEqual(8)
    await sending.close()
  })

  test('of one account with many slow hosts: 32 at a time, and other accounts are not kept waiting', async () => {
    using slow = openSite(never)
    using quick = openSite()
    const sending = await openSending('sqlite', { lookup: async () => ['127.0.0.1'] })
    // One before them, so that a batch does not end at the limit by chance.
    await fill(sending, 1, () => urlOf(slow, 'first.example'), 'carol')
    sending.clock.now += 1
    await fill(sending, 1_000, (index) => urlOf(slow, `h${index}.example`), 'mallory')
    sending.clock.now += 1
    await fill(sending, 20, () => urlOf(quick), 'bob')
    await sending.sender.beat()
    await waitFor(() => slow.received.length === 33)
    await waitFor(async () => {
      await sending.sender.beat()
      return quick.received.length === 20
    })
    await waitFor(async () => (await sending.claimed()) === 33)
    expect(await sending.claimed()).toBe(33)
    expect({ slow: slow.received.length, quick: quick.received.length }).toEqual({ slow: 33, quick: 20 })
    await sending.close()
  })

  test('of twenty accounts with slow hosts: 256 at a time, the rest is given back', async () => {
    using slow = openSite(never)
    const sending = await openSending('sqlite', { lookup: async () => ['127.0.0.1'] })
    for (let account = 0; account < 20; account++) {
      await fill(sending, 32, (index) => urlOf(slow, `h${index}.a${account}.example`), `a${account}`)
    }
    await sending.sender.beat()
    await waitFor(() => slow.received.length === 256)
    await sending.sender.beat()
    expect(await sending.claimed()).toBe(256)
    expect(slow.received).toHaveLength(256)
    await sending.close()
  })
})

describe('a gateway that stops', () => {
  test('releases running deliveries, and the next process sends them under the same id', async () => {
    using site = openSite((_delivered, count) => (count === 1 ? never() : new Response('ok')))
    const first = await openSending('sqlite')
    const task = await first.add(urlOf(site))
    await first.sender.beat()
    await waitFor(() => site.received.length === 1)
    await first.sender.stop()
    expect(await first.of(task)).toMatchObject({
      webhook: { state: 'pending', attempts: 0, step: 0, leaseUntil: 0 },
      attempts: [],
    })
    const next = await openSending('sqlite', { db: first.db })
    await next.deliver()
    expect(site.received.map(({ headers }) => headers['webhook-id'])).toEqual([`msg_${task}`, `msg_${task}`])
    expect((await next.of(task)).webhook).toMatchObject({ state: 'delivered', attempts: 1 })
    await next.close()
  })

  test('waits for an answer that is on its way', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<Response>()
    using site = openSite(() => {
      asked.resolve()
      return answer.promise
    })
    const sending = await openSending('sqlite')
    const task = await sending.add(urlOf(site))
    await sending.sender.beat()
    await asked.promise
    const stopped = sending.sender.stop()
    answer.resolve(new Response('ok'))
    await stopped
    expect((await sending.of(task)).webhook).toMatchObject({ state: 'delivered', attempts: 1 })
    await sending.close()
  })

  test('starts nothing that it was just about to', async () => {
    using site = openSite()
    const sending = await openSending('sqlite')
    const task = await sending.add(urlOf(site))
    const beat = sending.sender.beat()
    await sending.sender.stop()
    await beat
    expect(site.received).toEqual([])
    expect((await sending.of(task)).webhook).toMatchObject({ state: 'pending', leaseUntil: 0, attempts: 0 })
    await sending.close()
  })
})

describe('a body', () => {
  const bodyOf = async (document: string): Promise<{ text: string; json: Json }> => {
    using site = openSite()
    const sending = await openSending('sqlite')
    await sending.add(urlOf(site), { document })
    await sending.deliver()
    await sending.close()
    const text = site.received[0]?.body ?? ''
    return { text, json: JSON.parse(text) }
  }

  test('contains the task byte for byte, and its fields next to it', async () => {
    const document =
      '{"seed":9007199254740993,"ratio":1.0,"id":"video_1","status":"succeeded","note":"\\u20ac"}'
    const { text, json } = await bodyOf(document)
    expect(text).toStartWith(
      `{"type":"video.generation.succeeded","timestamp":"2026-01-02T03:04:05.000Z","data":${document},`,
    )
    expect(json).toMatchObject({ id: 'video_1', status: 'succeeded', note: '€' })
  })

  test("keeps its own fields where the vendor's have the same names", async () => {
    const document = '{"type":"t","timestamp":1,"data":{"a":2},"__proto__":{"b":3},"id":"video_1"}'
    const { text, json } = await bodyOf(document)
    expect(json.type).toBe('video.generation.succeeded')
    expect(json.timestamp).toBe('2026-01-02T03:04:05.000Z')
    expect(text).toContain(`"data":${document}`)
    expect(json.id).toBe('video_1')
  })

  test('of a task without fields is complete', async () => {
    const { json } = await bodyOf('{}')
    expect(json).toEqual({
      type: 'video.generation.succeeded',
      timestamp: '2026-01-02T03:04:05.000Z',
      data: {},
    })
  })
})
