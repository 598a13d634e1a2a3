// Speech that fails: a fault before the first byte is an error and costs nothing; a sound that stops early never ends as if it were
// complete, and is charged as soon as any byte was sent, whichever side stopped it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import { RawCaller } from '../support/servers/raw-caller'
import {
  CHARACTER,
  endOf,
  event,
  events,
  heldEvents,
  last,
  type OddSpeech,
  piece,
  speak,
  speechModels,
  startOddSpeech,
  toneSamples,
  whole,
} from '../support/speech'
import { eventStream } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const PATH = '/v1/audio/speech'
/** The most sounds that are encoded at a time. */
const PLACES = 256

let odd: OddSpeech
let gateway: TestGateway
let clockAheadMs = 0

beforeAll(async () => {
  odd = startOddSpeech()
  gateway = await startTestGateway({
    models: {
      ...speechModels,
      'hasty-flash': { ...speechModels['odd-flash'], upstream: 'hasty' },
      'brief-flash': { ...speechModels['odd-flash'], upstream: 'brief' },
      'dear-flash': { ...speechModels['odd-flash'], price: { per_1m_characters: '5.00' } },
      'any-flash': { route: ['dear-flash', 'qnx3-tts-flash'] },
    },
    upstreams: {
      odd: odd.upstream,
      // Long enough for a first sound on a busy machine.
      hasty: { ...odd.upstream, timeoutMs: 2_000, idleTimeoutMs: 2_000 },
      brief: { ...odd.upstream, maxDurationMs: 3_000 },
    },
    outside: { now: () => Date.now() + clockAheadMs },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.vendor.stop()
})

/** Encoding as much as all buffers hold takes a busy machine a minute. */
const MAX_FILLED_MS = 150_000

/** Endless events whose pieces come as fast as they are read. */
function endless(): { response: () => Response; taken: () => number; isCancelled: () => boolean } {
  const bytes = new TextEncoder().encode(piece(toneSamples))
  let taken = 0
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await Bun.sleep(1)
        taken++
        controller.enqueue(bytes)
      },
      cancel() {
        isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { response: () => eventStream(body), taken: () => taken, isCancelled: () => isCancelled }
}

interface Fault {
  status: number
  code: string
  words?: string
}

async function expectFree(
  body: Record<string, unknown>,
  { status, code, words = '' }: Fault,
  vendorCalls = 1,
) {
  const before = await gateway.balance()
  const { response, json, calls, charges, logRows } = await speak(gateway, body)
  expect({ status: response.status, code: json?.error.code }).toEqual({ status, code })
  expect(json.error.message).toContain(words)
  expect(response.headers.get('x-gateway-cost-usd')).toBeNull()
  if (body.model === undefined) expect(calls).toHaveLength(vendorCalls)
  expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  expect(logRows).toMatchObject([{ status, error_code: code }])
  expect(await gateway.balance()).toEqual(before)
}

describe('a fault before the first byte is an error, for nothing', () => {
  const rows: [directive: string, fault: Fault][] = [
    ['status=400 error_text="No."', { status: 400, code: 'InvalidParameter', words: 'No.' }],
    ['status=401', { status: 503, code: 'upstream_unavailable' }],
    ['status=403', { status: 503, code: 'upstream_unavailable' }],
    ['status=404', { status: 502, code: 'upstream_model_missing' }],
    ['status=429 retry_after=7', { status: 429, code: 'Throttling.RateQuota' }],
    ['status=500', { status: 502, code: 'upstream_error' }],
    ['status=503', { status: 503, code: 'upstream_error' }],
    ['quota', { status: 503, code: 'upstream_unavailable' }],
    ['quota soft', { status: 503, code: 'upstream_unavailable' }],
    ['garbage', { status: 502, code: 'upstream_garbage', words: 'not JSON' }],
    ['redirect=http://127.0.0.1:1/', { status: 502, code: 'upstream_redirect' }],
    ['empty', { status: 502, code: 'upstream_garbage', words: 'without a sound' }],
    ['empty no_stream', { status: 502, code: 'upstream_garbage', words: 'without a sound' }],
    ['cut_after=0', { status: 502, code: 'upstream_unreachable', words: 'Try again' }],
    ['error_after=0', { status: 502, code: 'upstream_error', words: 'internal error' }],
  ]
  for (const [directive, fault] of rows) {
    for (const response_format of ['mp3', 'wav']) {
      test(`${directive}, ${response_format}`, () =>
        expectFree({ input: `[sandbox ${directive}]`, response_format }, fault))
    }
  }

  // A WAV file is sent when it is complete, so none of these have cost anything either.
  const late: [directive: string, fault: Fault][] = [
    ['cut_after=2', { status: 502, code: 'upstream_garbage', words: 'cut off' }],
    ['no_done', { status: 502, code: 'upstream_garbage', words: 'cut off' }],
    ['error_after=2', { status: 502, code: 'upstream_error', words: 'internal error' }],
  ]
  for (const [directive, fault] of late) {
    test(`${directive}, wav`, () =>
      expectFree({ input: `[sandbox ${directive}]`, response_format: 'wav' }, fault))
  }

  test('no place for another MP3: the vendor is not called', async () => {
    const { mp3Encoder } = gateway.server.world
    const sounds = Array.from({ length: PLACES }, () => mp3Encoder.open())
    await expectFree({}, { status: 503, code: 'encoder_busy', words: 'request wav' }, 0)
    expect((await speak(gateway, { response_format: 'wav' })).response.status).toBe(200)
    for (const sound of sounds) sound.close()
  })
})

describe('a vendor’s answer that makes no sense is an error, for nothing', () => {
  const garbage = (words: string): Fault => ({ status: 502, code: 'upstream_garbage', words })
  const failure = (code: string, status: number) =>
    events(event({ code, message: `This is ${code}.` }, { status, name: 'error' }))
  const throttled = { status_code: 429, code: 'Throttling.RateQuota', message: 'Slower, please.' }
  const rows: [name: string, call: () => Response, fault: Fault][] = [
    ['no events', () => events(), garbage('cut off')],
    ['an event that is not JSON', () => events('data:{"output":\n\n', last()), garbage('not JSON')],
    ['an event that is not an object', () => events('data:7\n\n', last()), garbage('not JSON')],
    ['only an end', () => events(last()), garbage('without a sound')],
    ['half a sample', () => events(piece(Buffer.from([1])), last()), garbage('without a sound')],
    [
      'a header without samples',
      () => events(piece(Buffer.from('RIFF....WAVE')), last()),
      garbage('without a sound'),
    ],
    [
      'samples of a kind that is not known',
      () => events(piece(Buffer.from('RIFF....AVI LIST')), last()),
      garbage('cannot be read'),
    ],
    ['a reply without output', () => Response.json({ request_id: 'r' }), garbage('without a sound')],
    [
      'an event of an error',
      () => failure('InvalidParameter', 400),
      { status: 400, code: 'InvalidParameter', words: 'This is InvalidParameter.' },
    ],
    ['an event of a busy vendor', () => failure('Throttling', 429), { status: 429, code: 'Throttling' }],
    ['an event of a failure', () => failure('InternalError', 500), { status: 502, code: 'upstream_error' }],
    [
      'a reply that names its own status',
      () => Response.json(throttled),
      { status: 429, code: throttled.code, words: 'Slower' },
    ],
  ]
  for (const [name, call, fault] of rows) {
    test(name, async () => {
      odd.answer(call)
      await expectFree({ model: 'odd-flash' }, fault)
      await expectFree({ model: 'odd-flash', response_format: 'wav' }, fault)
    })
  }

  test('a sound that is too long for a WAV file', async () => {
    const { response } = endless()
    odd.answer(response)
    const fault = { status: 502, code: 'sound_too_long', words: 'Send a shorter text' }
    await expectFree({ model: 'odd-flash', response_format: 'wav' }, fault)
  })

  test('a vendor that is silent', async () => {
    odd.answer(() => heldEvents().response())
    for (const response_format of ['mp3', 'wav']) {
      const fault = { status: 504, code: 'upstream_timeout' }
      await expectFree({ model: 'hasty-flash', response_format }, fault)
    }
  })
})

describe('a route of speech models', () => {
  test('speaks with the next model if the first fails, at the price of that model', async () => {
    odd.answer(() => new Response('down', { status: 500 }))
    for (const response_format of ['mp3', 'wav']) {
      const { response, bytes, charges } = await speak(gateway, { model: 'any-flash', response_format })
      expect(response.status).toBe(200)
      expect(bytes.length).toBeGreaterThan(0)
      expect(charges).toMatchObject([{ held: 5 * 6 * CHARACTER, amount: 6 * CHARACTER, state: 'settled' }])
      expect(response.headers.get('x-gateway-cost-usd')).toBe('0.000006')
    }
  })

  test('stays with the model whose sound has begun', async () => {
    odd.answer(() => events(piece(toneSamples)))
    const { isBroken, calls, charges } = await speak(gateway, { model: 'any-flash' })
    expect({ isBroken, calls: calls.length }).toEqual({ isBroken: true, calls: 0 })
    expect(charges).toMatchObject([{ amount: 5 * 6 * CHARACTER, ended_by: 'upstream' }])
  })
})

describe('the vendor’s file', () => {
  const at = (url: string) => () => whole({ url })
  const own = (path: string) => `${odd.vendor.url}${path}`
  const foreign = [
    'http://169.254.169.254/latest/meta-data',
    'http://localhost:1/x.wav',
    'https://aliyuncs.com.example.com/x.wav',
    'http://results.aliyuncs.com:8080/x.wav',
    'http://user:secret@results.aliyuncs.com/x.wav',
    'file:///etc/passwd',
    'data:audio/wav;base64,UklGRg==',
    'not an address',
  ]
  test.each(foreign)('is not fetched from %s', async (url) => {
    odd.answer(at(url))
    await expectFree(
      { model: 'odd-flash' },
      { status: 502, code: 'upstream_file_refused', words: 'fileHosts' },
    )
    expect({ files: odd.files.length, calls: odd.vendor.requests }).toMatchObject({ files: 0 })
  })

  test('is not fetched from another port of this machine', async () => {
    const other = startOddSpeech()
    odd.answer(at(`${other.vendor.url}/x.wav`))
    await expectFree({ model: 'odd-flash' }, { status: 502, code: 'upstream_file_refused' })
    expect(other.vendor.requests).toBe(0)
    await other.vendor.stop()
  })

  const short = Buffer.from(
    'RIFF....WAVEfmt \u0010\0\0\0\u0001\0\u0001\0\u00c0\u005d\0\0\0\0\0\0\u0002\0\u0010\0data\u00ff\0\0\0abcd',
    'latin1',
  )
  const rows: [name: string, file: () => Response, code: string, words: string][] = [
    ['is gone', () => new Response('gone', { status: 404 }), 'upstream_file_unavailable', 'HTTP 404'],
    ['is elsewhere', () => Response.redirect('http://127.0.0.1:1/'), 'upstream_file_unavailable', 'HTTP 302'],
    ['is not sound', () => new Response('<html>'), 'upstream_garbage', 'cannot be read'],
    ['is empty', () => new Response(''), 'upstream_garbage', 'without a sound'],
  ]
  test.each(rows)('%s: an error, for nothing', async (_, file, code, words) => {
    odd.answer(() => whole({ url: own('/x.wav') }), file)
    await expectFree({ model: 'odd-flash' }, { status: 502, code, words })
    await expectFree({ model: 'odd-flash', response_format: 'wav' }, { status: 502, code, words })
  })

  test('is shorter than it says: no WAV file is made of it', async () => {
    odd.answer(
      () => whole({ url: own('/x.wav') }),
      () => new Response(short),
    )
    const fault = { status: 502, code: 'upstream_garbage', words: 'cut off' }
    await expectFree({ model: 'odd-flash', response_format: 'wav' }, fault)
    await expectFree({ model: 'odd-flash' }, fault)
  })
})

describe('a sound that breaks off on its way', () => {
  async function expectBroken(body: Record<string, unknown>, endedBy: string, errorCode: string) {
    const { response, bytes, isBroken, charges, logRows } = await speak(gateway, body)
    expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: true })
    expect(bytes.length).toBeGreaterThan(0)
    const amount = String(body.input ?? 'Hello!').length * CHARACTER
    expect(charges).toMatchObject([{ state: 'settled', amount, ended_by: endedBy }])
    expect(logRows).toMatchObject([{ status: 200, amount, ended_by: endedBy, error_code: errorCode }])
  }

  const rows: [directive: string, errorCode: string][] = [
    ['cut_after=4', 'upstream_garbage'],
    ['error_after=4', 'upstream_error'],
    ['no_done', 'upstream_garbage'],
  ]
  test.each(rows)('%s', (directive, errorCode) =>
    expectBroken({ input: `[sandbox ${directive}]`.padEnd(60) }, 'upstream', errorCode),
  )

  test('by an event that is not JSON', () => {
    odd.answer(() => events(piece(toneSamples), 'data:{"out\n\n', last()))
    return expectBroken({ model: 'odd-flash' }, 'upstream', 'upstream_garbage')
  })

  test('by a file that is shorter than it says', () => {
    const header = Buffer.from(
      'RIFF....WAVEfmt \u0010\0\0\0\u0001\0\u0001\0\u00c0\u005d\0\0\0\0\0\0\u0002\0\u0010\0data\0\0\0\u0010',
      'latin1',
    )
    const file = Buffer.concat([header, toneSamples])
    odd.answer(
      () => whole({ url: `${odd.vendor.url}/x.wav` }),
      () => new Response(file),
    )
    return expectBroken({ model: 'odd-flash' }, 'upstream', 'upstream_garbage')
  })

  test('by a vendor that falls silent', () => {
    const held = heldEvents()
    held.send(piece(toneSamples))
    odd.answer(held.response)
    return expectBroken({ model: 'hasty-flash' }, 'timeout', 'upstream_timeout')
  })

  test('by a vendor that takes too long in total', () => {
    odd.answer(endless().response)
    return expectBroken({ model: 'brief-flash' }, 'timeout', 'upstream_timeout')
  })
})

describe('a caller who disconnects', () => {
  /** Asks, waits for the moment, leaves. */
  async function leave(
    body: object,
    moment: (response: Promise<Response>) => Promise<unknown>,
    headers = {},
  ) {
    const caller = new AbortController()
    const response = fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'odd-flash', input: 'Hello!', ...body }),
      signal: caller.signal,
    })
    response.catch(() => {})
    await moment(response)
    caller.abort()
    return endOf(gateway)
  }

  const callsBegun = async (count: number) => waitFor(() => odd.vendor.requests >= count)
  const firstPiece = async (response: Promise<Response>) => (await response).body?.getReader().read()

  for (const response_format of ['mp3', 'wav']) {
    test(`before there is any sound pays nothing, and the vendor is stopped (${response_format})`, async () => {
      const held = heldEvents()
      odd.answer(held.response)
      const calls = odd.vendor.requests + 1
      const body = { model: 'odd-flash', response_format }
      const { charge, entry } = await leave(body, () => callsBegun(calls))
      expect(charge).toMatchObject({ state: 'released', amount: 0, ended_by: 'client' })
      expect(entry).toMatchObject({ status: 499, error_code: 'caller_left', ended_by: 'client' })
      await waitFor(held.isCancelled)
      expect(held.isCancelled()).toBe(true)
    })
  }

  test('in the middle pays in full, and the vendor is stopped', async () => {
    const source = endless()
    odd.answer(source.response)
    const { charge, entry } = await leave({}, firstPiece)
    expect(charge).toMatchObject({ state: 'settled', amount: 6 * CHARACTER, ended_by: 'client' })
    expect(entry).toMatchObject({ status: 200, error_code: null, ended_by: 'client' })
    await waitFor(source.isCancelled)
    expect(source.isCancelled()).toBe(true)
  })

  test('in the middle, while the vendor is silent, does not leave it waiting', async () => {
    const held = heldEvents()
    held.send(piece(toneSamples))
    odd.answer(held.response)
    const { charge } = await leave({}, firstPiece)
    expect(charge).toMatchObject({ state: 'settled', amount: 6 * CHARACTER, ended_by: 'client' })
    await waitFor(held.isCancelled)
    expect(held.isCancelled()).toBe(true)
  })

  test('while a WAV file is being made pays nothing', async () => {
    const held = heldEvents()
    held.send(piece(toneSamples))
    odd.answer(held.response)
    const calls = odd.vendor.requests + 1
    const body = { model: 'odd-flash', response_format: 'wav' }
    const { charge } = await leave(body, () => callsBegun(calls))
    expect(charge).toMatchObject({ state: 'released', ended_by: 'client' })
    await waitFor(held.isCancelled)
    expect(held.isCancelled()).toBe(true)
  })

  test('and has an idempotency key finds the whole sound later', async () => {
    const held = heldEvents()
    held.send(piece(toneSamples))
    odd.answer(held.response)
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { model: 'odd-flash' }
    const leaving = leave(body, firstPiece, headers)
    await waitFor(async () => (await gateway.newestCharge())?.state === 'held')
    // The caller may still be there, but the vendor has more in any case.
    await Bun.sleep(100)
    held.send(piece(toneSamples) + last())
    held.close()
    const { charge, entry } = await leaving
    expect(charge).toMatchObject({ state: 'settled', amount: 6 * CHARACTER, ended_by: 'done' })
    expect(entry).toMatchObject({ status: 200, ended_by: 'done' })
    const again = await speak(gateway, body, headers)
    expect(again.response.headers.get('idempotent-replayed')).toBe('true')
    odd.answer(() => events(piece(toneSamples), piece(toneSamples), last()))
    expect(Buffer.compare(again.bytes, (await speak(gateway, body)).bytes)).toBe(0)
  })

  test('without going away, by taking nothing, pays in full and holds up nothing', async () => {
    const source = endless()
    odd.answer(source.response)
    const caller = await RawCaller.connect(gateway.url)
    caller.pause()
    const text = JSON.stringify({ model: 'odd-flash', input: 'Hello!' })
    const lines = [
      `POST ${PATH} HTTP/1.1`,
      'host: gateway',
      `authorization: Bearer ${gateway.secret}`,
      'content-type: application/json',
      `content-length: ${text.length}`,
    ]
    caller.send(`${lines.join('\r\n')}\r\n\r\n${text}`)
    let seen = -1
    let looks = 0
    // One check is not enough: on a busy machine the encoder itself rests for seconds, and the buffers are not full yet.
    await waitFor(async () => {
      await Bun.sleep(1_000)
      looks = source.taken() > 0 && source.taken() === seen ? looks + 1 : 0
      seen = source.taken()
      return looks === 8
    }, MAX_FILLED_MS)
    expect(await gateway.newestCharge()).toMatchObject({ state: 'held' })
    clockAheadMs += 301_000
    const { charge } = await endOf(gateway)
    expect(charge).toMatchObject({ state: 'settled', amount: 6 * CHARACTER, ended_by: 'client' })
    await waitFor(source.isCancelled)
    expect(source.isCancelled()).toBe(true)
    caller.leave('rst')
  })
})

test('a hundred concurrent sounds are each complete, during a chat', async () => {
  const input = 'One of a hundred voices.'
  const alone = await speak(gateway, { input })
  const chat = gateway.chat({ stream: true, messages: [{ role: 'user', content: '[sandbox tokens=200]' }] })
  const sounds = Array.from({ length: 100 }, async () => {
    const response = await gateway.post(PATH, { model: 'qnx3-tts-flash', input })
    return Buffer.from(await response.arrayBuffer())
  })
  for (const bytes of await Promise.all(sounds)) expect(Buffer.compare(bytes, alone.bytes)).toBe(0)
  expect(await (await chat).text()).toEndWith('data: [DONE]\n\n')
})

test('every place of the encoder is free again', () => {
  const { mp3Encoder } = gateway.server.world
  const sounds = Array.from({ length: PLACES }, () => mp3Encoder.open())
  for (const sound of sounds) sound.close()
  expect(sounds).toHaveLength(PLACES)
})

describe('a shutdown', () => {
  test('cuts what does not end, and settles it first', async () => {
    const own = startOddSpeech()
    const { response: sound } = endless()
    own.answer(sound)
    const closing = await startTestGateway({ models: speechModels, upstreams: { odd: own.upstream } })
    const heard = await closing.post(PATH, { model: 'odd-flash', input: 'Hello!' })
    const reader = (heard.body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value?.length).toBeGreaterThan(0)
    const silent = heldEvents()
    own.answer(silent.response)
    const waiting = closing.post(PATH, { model: 'odd-flash', input: 'Hello!', response_format: 'wav' })
    await waitFor(() => own.vendor.requests === 2)
    const cut = closing.server.stop(0)
    expect((await waiting).status).toBe(503)
    const rest = async () => {
      for (let done = false; !done; ) done = (await reader.read()).done
    }
    await rejection(rest())
    expect(await cut).toBe(2)
    const again = await startTestGateway({
      models: speechModels,
      upstreams: { odd: own.upstream },
      dataDir: closing.dataDir,
    })
    const charges = await again.charges()
    expect(charges).toMatchObject([
      { state: 'settled', amount: 6 * CHARACTER, ended_by: 'shutdown' },
      { state: 'released', amount: 0, ended_by: 'shutdown' },
    ])
    await again.close()
    await closing.sandbox.stop()
    await own.vendor.stop()
  })
})
