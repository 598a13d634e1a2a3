// POST /v1/audio/speech: the sound in the requested form, however the vendor sends it, paid for by the character before the last
// byte; wrong requests are rejected by the name of the field, and for nothing.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import { samplesPerSecond, toneFile } from '../../sandbox/sounds'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { play, type Scenario } from '../support/scenario'
import { pitchOf, readMp3, readWav } from '../support/sounds'
import {
  CHARACTER,
  events,
  heldEvents,
  last,
  type OddSpeech,
  piece,
  type Spoken,
  speak,
  speechModels,
  startOddSpeech,
  tone,
  toneSamples,
  whole,
} from '../support/speech'

setDefaultTimeout(180_000)

/** Samples of a character at the simulated vendor, and the pitch of its first voice. */
const SAMPLES_PER_CHARACTER = 1_440
const CHERRY_HERTZ = 440
const SERENA_HERTZ = 460
/** Samples that an encoder may add: its delay, and the rest of its last frame. */
const ADDED_SAMPLES = 1_105 + 2 * 576
const FLASH = 'qnx3-tts-flash'
const INSTRUCT = 'qnx3-tts-instruct-flash'

let odd: OddSpeech
let gateway: TestGateway

beforeAll(async () => {
  odd = startOddSpeech()
  gateway = await startTestGateway({ models: speechModels, upstreams: { odd: odd.upstream } })
})
afterAll(async () => {
  await gateway.close()
  await odd.vendor.stop()
})

const vendorInput = ({ calls }: Spoken) => JSON.parse(calls[0]?.body ?? '{}').input

function expectPaid({ response, charges, logRows, isBroken }: Spoken, characters: number): void {
  const amount = characters * CHARACTER
  expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: false })
  expect(charges).toMatchObject([
    { state: 'settled', amount, held: amount, usage_source: 'counted', ended_by: 'done', shortfall: 0 },
  ])
  const id = response.headers.get('x-request-id')
  expect(logRows).toMatchObject([{ id, operation: 'speech', status: 200, amount, error_code: null }])
  expect(logRows[0]?.first_byte_ms).toBeNumber()
  expect(Number(response.headers.get('x-gateway-cost-usd'))).toBe(amount / 1e9)
}

describe('the sound', () => {
  test('is MP3 by default, as long and as high as the vendor made it', async () => {
    const input = 'How are you today, my dear listener?'
    const spoken = await speak(gateway, { input })
    expectPaid(spoken, input.length)
    expect(spoken.response.headers.get('content-type')).toBe('audio/mpeg')
    expect(spoken.calls).toHaveLength(1)
    const heard = await readMp3(spoken.bytes)
    expect(heard.sampleRate).toBe(samplesPerSecond)
    expect(heard.samples.length - input.length * SAMPLES_PER_CHARACTER).toBeWithin(0, ADDED_SAMPLES)
    expect(Math.abs(pitchOf(heard) - CHERRY_HERTZ)).toBeLessThan(4)
  })

  for (const response_format of ['mp3', null]) {
    test(`is the same MP3 for the format ${response_format}`, async () => {
      const { bytes } = await speak(gateway, {})
      expect((await speak(gateway, { response_format })).bytes).toEqual(bytes)
    })
  }

  test('is a WAV file with exact sizes where that is asked for', async () => {
    const spoken = await speak(gateway, { input: 'Hello there', response_format: 'wav', voice: 'Serena' })
    expectPaid(spoken, 11)
    const samples = 11 * SAMPLES_PER_CHARACTER
    expect(spoken.response.headers.get('content-type')).toBe('audio/wav')
    expect(spoken.response.headers.get('content-length')).toBe(String(44 + 2 * samples))
    expect(Buffer.compare(spoken.bytes, toneFile({ hertz: SERENA_HERTZ, samples }))).toBe(0)
    expect(readWav(spoken.bytes)).toMatchObject({ riffBytes: 36 + 2 * samples, dataBytes: 2 * samples })
  })

  test('is WAV of the model that takes instructions, if a client names the format', async () => {
    const spoken = await speak(gateway, { model: INSTRUCT, response_format: 'wav' })
    expectPaid(spoken, 6)
    expect(spoken.response.headers.get('content-type')).toBe('audio/wav')
    expect(vendorInput(spoken)).toEqual({ text: 'Hello!', voice: 'Cherry' })
  })

  test('is WAV of the model that takes instructions, where no format is named', async () => {
    const body = { model: INSTRUCT, instructions: 'Slowly, and with warmth.' }
    const spoken = await speak(gateway, body)
    expectPaid(spoken, 6)
    expect(spoken.response.headers.get('content-type')).toBe('audio/wav')
    expect(spoken.bytes).toHaveLength(44 + 2 * 6 * SAMPLES_PER_CHARACTER)
    expect(vendorInput(spoken)).toEqual({ text: 'Hello!', voice: 'Cherry', instructions: body.instructions })
  })

  test('begins before the vendor has made all of it', async () => {
    const held = heldEvents()
    odd.answer(held.response)
    held.send(piece(toneSamples))
    const response = await gateway.post('/v1/audio/speech', { model: 'odd-flash', input: 'Hello!' })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value?.length).toBeGreaterThan(0)
    expect(response.headers.get('content-length')).toBeNull()
    expect(await gateway.newestCharge()).toMatchObject({ state: 'held' })
    // Only now does the vendor go on.
    held.send(last())
    held.close()
    for (let done = false; !done; ) done = (await reader.read()).done
    expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', amount: 6 * CHARACTER })
  })
})

describe('before the last byte', () => {
  for (const response_format of ['mp3', 'wav']) {
    test(`${response_format}: the price is paid, however long the database takes`, async () => {
      const { db } = gateway.server.world
      const { move } = db
      db.move = async (movement) => {
        await Bun.sleep(150)
        return move(movement)
      }
      const body = { model: FLASH, input: 'Hello!'.repeat(30), response_format }
      const response = await gateway.post('/v1/audio/speech', body)
      await response.arrayBuffer()
      const charge = await gateway.newestCharge()
      db.move = move
      expect(charge).toMatchObject({ state: 'settled', amount: 180 * CHARACTER })
    })
  }
})

describe('what the vendor is asked', () => {
  test('the model by its own name, for events, and with its key', async () => {
    const spoken = await speak(gateway, { speed: 1.5, user: 'user-1', stream_format: 'audio' })
    const [call] = spoken.calls
    expect(call?.path).toBe('/api/v1/services/aigc/multimodal-generation/generation')
    expect(call?.headers).toMatchObject({ 'x-dashscope-sse': 'enable', accept: 'text/event-stream' })
    expect(JSON.parse(call?.body ?? '')).toEqual({
      model: 'qwen3-tts-flash',
      input: { text: 'Hello!', voice: 'Cherry' },
    })
  })

  test('its own fields go on', async () => {
    const spoken = await speak(gateway, { language_type: 'German' })
    expect(vendorInput(spoken)).toEqual({ text: 'Hello!', voice: 'Cherry', language_type: 'German' })
  })

  const foreign = 'alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar'.split(' ')
  const others = [
    'en-US-JennyNeural',
    'Rachel',
    'Joanna',
    'Kore',
    'Liam',
    '21m00Tcm4TlvDq8ikWAM',
    'af_heart',
    'Fritz-PlayAI',
    'en-US-Chirp3-HD-Kore',
    'ara',
    'c961b81c-a935-4c17-bfb3-ba2239de8c2f',
  ]
  for (const voice of [undefined, null, '', 'Alloy', { id: 'voice_1234' }, ...foreign, ...others]) {
    test(`the voice ${JSON.stringify(voice)} is the default one`, async () => {
      expect(vendorInput(await speak(gateway, { voice })).voice).toBe('Cherry')
    })
  }

  for (const voice of ['Cherry', 'Eldric Sage', 'Kiki']) {
    test(`the voice ${voice} is sent unchanged`, async () => {
      expect(vendorInput(await speak(gateway, { voice })).voice).toBe(voice)
    })
  }

  for (const [voice, own] of [
    ['cherry', 'Cherry'],
    ['ELDRIC sage', 'Eldric Sage'],
  ]) {
    test(`the voice ${voice} is the preset ${own}`, async () => {
      expect(vendorInput(await speak(gateway, { voice })).voice).toBe(own)
    })
  }

  for (const body of [
    { speed: 0.25 },
    { speed: 4 },
    { speed: null },
    { instructions: '' },
    { instructions: null },
  ]) {
    test(`${JSON.stringify(body)} changes nothing`, async () => {
      expect(vendorInput(await speak(gateway, body))).toEqual({ text: 'Hello!', voice: 'Cherry' })
    })
  }
})

describe('the price', () => {
  const rows: [input: string, characters: number][] = [
    ['a', 1],
    ['Hello, world', 12],
    [' a ', 3],
    ['Grüße', 5],
    ['你好世界', 4],
    ['😀', 1],
    ['👩‍👩‍👧‍👦', 7],
    ['e\u0301', 2],
    ['\ud83d a', 3],
    ['line\nbreak\t', 11],
  ]
  test.each(rows)('%j is %d characters, held and paid', async (input, characters) => {
    expectPaid(await speak(gateway, { input }), characters)
    expectPaid(await speak(gateway, { input, response_format: 'wav' }), characters)
  })

  test.each(['missing', 'negative', 'string', 'huge'])('is the same with usage that is %s', async (fault) => {
    const input = `[sandbox usage=${fault}]`
    expectPaid(await speak(gateway, { input }), input.length)
  })

  test('the vendor’s own figures are kept with the charge', async () => {
    const { charges } = await speak(gateway, { input: '你好!' })
    // It counts Chinese characters twice.
    expect(JSON.parse(charges[0]?.usage as string)).toEqual({ characters: 5 })
  })

  test('must be covered by the balance first', async () => {
    const { secret } = await gateway.makeKey('poor', '0.000005')
    const row = { name: 'too dear', path: '/v1/audio/speech', key: secret }
    const played = await play(gateway, {
      ...row,
      body: { model: FLASH, input: 'Hello!' },
      status: 402,
      error: { code: 'insufficient_balance' },
      words: ['$0.000006', '$0.000005'],
    })
    expect(played.calls).toEqual([])
    const headers = { authorization: `Bearer ${secret}` }
    expectPaid(await speak(gateway, { input: 'Hello' }, headers), 5)
    expect(await gateway.balance('poor')).toMatchObject({ balanceNano: 0, heldNano: 0 })
  })

  test('in the catalogue is that of ten thousand characters', async () => {
    const price = (id: string) => (shipped.models as typeof speechModels)[id]?.price
    expect(price(FLASH)).toMatchObject({ per_1m_characters: '10.00' })
    expect(price(INSTRUCT)).toMatchObject({ per_1m_characters: '11.50' })
  })
})

describe('limits of a key', () => {
  test('are in the headers of the sound', async () => {
    const { secret } = await gateway.makeKey('limited', '1', { requestsPerMinute: 60 })
    for (const response_format of ['mp3', 'wav']) {
      const headers = { authorization: `Bearer ${secret}` }
      const { response } = await speak(gateway, { response_format, input: 'Hello!'.repeat(20) }, headers)
      expect(response.status).toBe(200)
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('60')
    }
  })
})

type Refusal = Omit<Scenario, 'name' | 'path' | 'body'>

function refuses(title: string, body: Record<string, unknown>, expected: Refusal): void {
  test(title, async () => {
    const request = { model: FLASH, input: 'Hello!', ...body }
    const played = await play(gateway, { name: title, path: '/v1/audio/speech', body: request, ...expected })
    for (const charge of played.charges) expect(charge).toMatchObject({ state: 'released', amount: 0 })
  })
}

describe('a wrong request is rejected before the vendor is called', () => {
  const rows: [body: Record<string, unknown>, param: string, words: string[]][] = [
    [{ input: undefined }, 'input', ['Missing required parameter']],
    [{ input: '' }, 'input', ['empty string']],
    [{ input: ' \n\t\u3000' }, 'input', ['nothing to speak', 'Send a text']],
    [{ input: 7 }, 'input', ['expected a string, but got a number']],
    [{ input: ['Hello'] }, 'input', ['expected a string, but got an array']],
    [{ input: null }, 'input', ['expected a string']],
    [{ voice: 7 }, 'voice', ['expected a string or an object, but got a number']],
    [{ voice: { name: 'Cherry' } }, 'voice.id', ['Missing required parameter']],
    [{ response_format: 'opus' }, 'response_format', ["'mp3', 'wav'"]],
    [{ response_format: 'pcm' }, 'response_format', ["'mp3', 'wav'"]],
    [{ response_format: 7 }, 'response_format', ["'mp3', 'wav'"]],
    [{ instructions: 'Whisper.' }, 'instructions', ['does not support them', 'Leave them out']],
    [{ instructions: ['Whisper.'] }, 'instructions', ['expected a string']],
    [{ speed: '1.0' }, 'speed', ['expected a number, but got a string']],
    [{ stream_format: 'sse' }, 'stream_format', ["'audio'"]],
    [{ model: INSTRUCT, response_format: 'opus' }, 'response_format', ["'mp3', 'wav'"]],
    [{ model: INSTRUCT, response_format: 'mp3' }, 'response_format', ['makes wav only', 'Leave it out']],
    [{ model: INSTRUCT, input: '' }, 'input', ['empty string']],
    [{ model: 'no-such-model' }, 'model', ['does not exist']],
    [{ model: undefined }, 'model', ['You must provide a model']],
  ]
  for (const [body, param, words] of rows) {
    const error = { param, type: 'invalid_request_error' }
    refuses(`${JSON.stringify(body)} (${param})`, body, { status: 400, error, words })
  }

  refuses(
    'a model that does not speak',
    { model: 'test-chat' },
    {
      status: 400,
      error: { code: 'endpoint_model_mismatch', param: 'model' },
      words: ['/v1/audio/speech'],
    },
  )
  refuses('no key', {}, { status: 401, key: null })
})

describe('the vendor’s own refusal is the caller’s, word by word, for nothing', () => {
  const rows: [body: Record<string, unknown>, code: string, words: string][] = [
    [{ voice: 'Cherry2' }, 'endpoint_model_mismatch', "The requested voice 'Cherry2' is not supported."],
    [
      { voice: 'NoSuchVoice' },
      'endpoint_model_mismatch',
      "The requested voice 'NoSuchVoice' is not supported.",
    ],
    [{ voice: 'Nobody' }, 'endpoint_model_mismatch', "The requested voice 'Nobody' is not supported."],
    [{ voice: 'longxiaochun_v2' }, 'endpoint_model_mismatch', "'longxiaochun_v2' is not supported."],
    [{ model: INSTRUCT, voice: 'Kiki' }, 'endpoint_model_mismatch', "The requested voice 'Kiki' is not"],
    [{ input: 'x'.repeat(601) }, 'InvalidParameter', 'Range of input length should be [1, 600]'],
    [{ language_type: 'Klingon' }, 'InvalidParameter', 'input.language_type'],
    [{ input: '[sandbox status=400 soft error_text="No."]' }, 'InvalidParameter', 'No.'],
  ]
  for (const [body, code, words] of rows) {
    const title = JSON.stringify(body).slice(0, 80)
    refuses(title, body, { status: 400, error: { code }, words: [words], vendorCalls: 1, charges: 1 })
  }
})

test('an unknown voice is answered with the vendor’s own body next to the error', async () => {
  const { response, json, charges } = await speak(gateway, { voice: 'Ethan-9' })
  const message = "The requested voice 'Ethan-9' is not supported."
  expect(response.status).toBe(400)
  expect(json).toEqual({
    code: 'invalid_value',
    message,
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    error: {
      code: 'endpoint_model_mismatch',
      message,
      type: 'invalid_request_error',
      param: null,
      request_id: response.headers.get('x-request-id'),
    },
  })
  expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
})

describe('sound comes from a vendor', () => {
  const file = Buffer.from(toneFile(tone))
  const data = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const asFile = () => new Response(file, { headers: { 'content-type': 'audio/wav' } })
  const url = () => `${odd.vendor.url}/files/x.wav?Signature=1`
  const ways: [name: string, call: () => Response, file?: () => Response][] = [
    ['in one piece', () => events(piece(toneSamples), last())],
    ['in pieces of odd lengths', () => events(...piecesOf(toneSamples, 1_001), last(url()))],
    ['with a header in the first piece', () => events(...piecesOf(file, 5_000), last())],
    [
      'with a header in several pieces',
      () => events(...piecesOf(file.subarray(0, 50), 7), piece(file.subarray(50)), last()),
    ],
    [
      'with the end in the last piece',
      () => events(piece(toneSamples.subarray(0, 4_000)), piece(toneSamples.subarray(4_000), 'stop')),
    ],
    ['with comments between', () => events(':keep\n\n', piece(toneSamples), ': keep\n\n', last())],
    ['without a blank line at the end', () => events(piece(toneSamples), last().trimEnd())],
    ['in a reply that is not a stream', () => whole({ data: data(toneSamples) })],
    ['as a whole file in a reply', () => whole({ data: data(file), url: '' })],
    ['as an address', () => whole({ data: '', url: url() }), asFile],
    ['as an address at the end of events without sound', () => events(last(url())), asFile],
    ['as a file of unknown length', () => whole({ url: url() }), () => new Response(inPieces(file, 999))],
  ]
  for (const [name, call, file] of ways) {
    test(`${name}: the same sound`, async () => {
      odd.answer(call, file)
      const wav = await speak(gateway, { model: 'odd-flash', response_format: 'wav' })
      expectPaid(wav, 6)
      expect(Buffer.compare(wav.bytes, toneFile(tone))).toBe(0)
      const mp3 = await speak(gateway, { model: 'odd-flash' })
      expectPaid(mp3, 6)
      const heard = await readMp3(mp3.bytes)
      expect(heard.samples.length - tone.samples).toBeWithin(0, ADDED_SAMPLES)
      expect(Math.abs(pitchOf(heard) - tone.hertz)).toBeLessThan(4)
      expect(odd.files.length).toBe(file ? 2 : 0)
      // Whoever keeps the vendor's files is not to see its key.
      expect(odd.files.map(({ headers }) => headers.get('authorization'))).toEqual(odd.files.map(() => null))
    })
  }

  test('that leaves its stream open after the end', async () => {
    const held = heldEvents()
    odd.answer(held.response)
    held.send(piece(toneSamples) + last())
    const spoken = await speak(gateway, { model: 'odd-flash', response_format: 'wav' })
    expectPaid(spoken, 6)
    expect(Buffer.compare(spoken.bytes, toneFile(tone))).toBe(0)
  })

  test('as a simulated vendor sends it that answers without events', async () => {
    const input = '[sandbox no_stream] Hello!'
    const spoken = await speak(gateway, { input, response_format: 'wav' })
    expectPaid(spoken, input.length)
    const samples = input.length * SAMPLES_PER_CHARACTER
    expect(Buffer.compare(spoken.bytes, toneFile({ hertz: CHERRY_HERTZ, samples }))).toBe(0)
    expect(spoken.calls.map(({ method }) => method)).toEqual(['POST', 'GET'])
    expect(spoken.calls[1]?.headers).not.toHaveProperty('authorization')
  })
})

describe('the same key', () => {
  for (const response_format of ['mp3', 'wav']) {
    test(`and the same request return the same ${response_format} again, for free`, async () => {
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const body = { response_format, input: 'Hello again, and again. '.repeat(8) }
      const first = await speak(gateway, body, headers)
      expectPaid(first, body.input.length)
      const second = await speak(gateway, body, headers)
      expect(second.response.status).toBe(200)
      expect(second.response.headers.get('idempotent-replayed')).toBe('true')
      expect(second.response.headers.get('content-type')).toBe(first.response.headers.get('content-type'))
      expect(second.response.headers.get('content-length')).toBe(String(first.bytes.length))
      expect(Buffer.compare(second.bytes, first.bytes)).toBe(0)
      expect({ calls: second.calls.length, charges: second.charges.length }).toEqual({ calls: 0, charges: 0 })
      expect(second.logRows).toMatchObject([{ status: 200, amount: 0 }])
    })
  }

  test('and another request do not go together', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    await speak(gateway, {}, headers)
    const other = await speak(gateway, { voice: 'Serena' }, headers)
    expect({ status: other.response.status, code: other.json.error.code }).toEqual({
      status: 422,
      code: 'idempotency_key_reused',
    })
  })

  test('of a sound that is too large to keep says so', async () => {
    const long = Buffer.concat(Array.from({ length: 40 }, () => toneSamples))
    odd.answer(() => events(piece(long), last()))
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { model: 'odd-flash', response_format: 'wav' }
    expectPaid(await speak(gateway, body, headers), 6)
    const again = await speak(gateway, body, headers)
    expect({ status: again.response.status, code: again.json.error.code }).toEqual({
      status: 409,
      code: 'idempotency_answer_too_large',
    })
    expect(again.charges).toEqual([])
  })

  test('is free again after a refusal', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { input: '[sandbox status=500 times=1] Hello once more' }
    expect((await speak(gateway, body, headers)).response.status).toBe(502)
    expectPaid(await speak(gateway, body, headers), body.input.length)
  })
})

function piecesOf(bytes: Uint8Array, length: number): string[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) => {
    return piece(bytes.subarray(index * length, (index + 1) * length))
  })
}

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}
