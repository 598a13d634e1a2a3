// Helpers for tests of speech: models at prices that are easy to add up, one request with all its effects, and a vendor that sends
// sound in any way that a test chooses.

import type { SandboxCall } from '../../sandbox'
import { samplesPerSecond, type Tone, toneBytes } from '../../sandbox/sounds'
import type { ModelConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { type TestGateway, waitFor } from './gateway'
import type { Json } from './scenario'
import { eventStream, type OddVendor, startVendor } from './vendors/vendor'

/** Nano-dollars per character. */
export const CHARACTER = 1_000

export const speechModels: Record<string, ModelConfig> = {
  'qnx3-tts-flash': speechModel('dashscope', 'qwen3-tts-flash'),
  'qnx3-tts-instruct-flash': speechModel('dashscope', 'qwen3-tts-instruct-flash'),
  'odd-flash': speechModel('odd', 'qwen3-tts-flash'),
}

function speechModel(upstream: string, upstreamModel: string): ModelConfig {
  return { family: 'dashscope-speech', upstream, upstreamModel, price: { per_1m_characters: '1.00' } }
}

export interface Spoken {
  response: Response
  /** All received bytes, also of an answer that stopped early. */
  bytes: Buffer
  /** The answer did not end as it should. */
  isBroken: boolean
  /** Undefined when the answer is not JSON. */
  json: Json
  calls: SandboxCall[]
  charges: Row[]
  logRows: Row[]
}

/** Requests speech, and collects the effects as soon as the last byte has arrived. Nothing else uses the gateway meanwhile. */
export async function speak(
  gateway: TestGateway,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Spoken> {
  const calls = gateway.sandbox.calls.length
  const before = await gateway.newest()
  const request = { model: 'qnx3-tts-flash', input: 'Hello!', ...body }
  const response = await gateway.post('/v1/audio/speech', request, headers)
  const { bytes, isBroken } = await collect(response)
  const isJson = response.headers.get('content-type') === 'application/json'
  return {
    response,
    bytes,
    isBroken,
    json: isJson ? JSON.parse(bytes.toString()) : undefined,
    calls: gateway.sandbox.calls.slice(calls),
    charges: await gateway.charges(before.charge),
    logRows: await gateway.requestLog(before.logRow),
  }
}

async function collect(response: Response): Promise<{ bytes: Buffer; isBroken: boolean }> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of response.body ?? []) pieces.push(piece as Uint8Array)
    return { bytes: Buffer.concat(pieces), isBroken: false }
  } catch {
    return { bytes: Buffer.concat(pieces), isBroken: true }
  }
}

/** The charge and the log row of the newest request, as soon as both have ended. */
export async function endOf(
  gateway: TestGateway,
): Promise<{ charge: Row | undefined; entry: Row | undefined }> {
  const newest = () => gateway.newestCharge()
  await waitFor(async () => (await newest())?.state !== 'held')
  const charge = await newest()
  const find = async () => (await gateway.requestLog()).find(({ id }) => id === charge?.id)
  await waitFor(async () => (await find()) !== undefined)
  return { charge, entry: await find() }
}

/** The tone that the simulated vendor sends, also in its files. */
export const tone: Tone = { hertz: 500, samples: 2 * samplesPerSecond }
export const toneSamples = Buffer.from(toneBytes(tone, 0, tone.samples))

export interface OddSpeech {
  vendor: OddVendor
  upstream: UpstreamConfig
  /** Requests for files, each with its headers. */
  files: Request[]
  /** Answers calls from now on, and requests for each file: by default no file exists. */
  answer(call: () => Response, file?: (request: Request) => Response): void
}

export function startOddSpeech(): OddSpeech {
  const vendor = startVendor()
  const odd: OddSpeech = {
    vendor,
    upstream: { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'sk-odd-secret' },
    files: [],
    answer(call, file = () => new Response('gone', { status: 404 })) {
      odd.files.length = 0
      vendor.answer = (request) => {
        if (request.method === 'POST') return call()
        odd.files.push(request)
        return file(request)
      }
    },
  }
  return odd
}

/** An event as the vendor writes it. */
export function event(value: unknown, { status = 200, name = 'result' } = {}): string {
  return `id:1\nevent:${name}\n:HTTP_STATUS/${status}\ndata:${JSON.stringify(value)}\n\n`
}

/** An event with a piece of sound. */
export function piece(bytes: Uint8Array, finishReason = 'null'): string {
  const audio = { data: Buffer.from(bytes).toString('base64'), url: '' }
  return event({ output: { finish_reason: finishReason, audio }, request_id: 'r' })
}

/** The last event: without sound, with the address of the whole sound. */
export function last(url = ''): string {
  return event({
    output: { finish_reason: 'stop', audio: { data: '', url } },
    usage: { characters: 6 },
    request_id: 'r',
  })
}

export function events(...list: string[]): Response {
  return eventStream(list.join(''))
}

/** A reply that is not a stream. */
export function whole(audio: { data?: string; url?: string }, more: object = {}): Response {
  return Response.json({ code: '', output: { finish_reason: 'stop', audio }, ...more })
}

/** A stream that the test controls. */
export function heldEvents() {
  const encoder = new TextEncoder()
  let output: ReadableStreamDefaultController<Uint8Array>
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      output = controller
    },
    cancel() {
      isCancelled = true
    },
  })
  return {
    response: () => eventStream(body),
    send: (text: string) => output.enqueue(encoder.encode(text)),
    close: () => output.close(),
    cut: () => output.error(new Error('cut')),
    isCancelled: () => isCancelled,
  }
}
