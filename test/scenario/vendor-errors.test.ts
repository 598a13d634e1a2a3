// Streams that end with an error reported by the vendor itself: the caller gets it in the caller's dialect, and the request log has
// that error, whatever its form and whether or not a closing event follows. Errors of the operator's account are in the log of
// events, once, and never in the answer.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { audioFile } from '../support/audio-files'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { chunk, DONE, eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

let vendor: OddVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startVendor()
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
  const audioPrice = { per_audio_minute: '0.01' }
  gateway = await startTestGateway({
    upstreams: {
      odd: vendor.upstream,
      anthropic: { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' },
      bedrock: { kind: 'bedrock', baseUrl: vendor.url, apiKey: 'none' },
    },
    models: {
      odd: { family: 'openai-chat', upstream: 'odd', price },
      'odd-completions': { family: 'openai-completions', upstream: 'odd', price },
      'odd-messages': { family: 'anthropic-messages', upstream: 'anthropic', price },
      'odd-bedrock': { family: 'anthropic-messages', upstream: 'bedrock', price },
      'odd-responses': { family: 'openai-responses', upstream: 'odd', price },
      'odd-transcriptions': { family: 'openai-transcriptions', upstream: 'odd', price: audioPrice },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const failure = (fields: object) => data({ error: { message: 'It broke.', ...fields } })

const cases: [name: string, events: string[], code: string, logged: string[]][] = [
  ['an error with a code', [failure({ code: 'content_filter', type: 'x' })], 'content_filter', []],
  ['an error without a code', [failure({ type: 'api_error' })], 'upstream_error', []],
  ['a failing server', [failure({ code: 'server_error' })], 'upstream_error', []],
  ['too many requests', [failure({ code: 'rate_limit_exceeded' })], 'rate_limit_exceeded', []],
  ['a status', [failure({ code: 503 })], 'upstream_error', []],
  ['an error and a closing event', [failure({ code: 'content_filter' }), DONE], 'content_filter', []],
  ['an error in a form that clients do not know', [data({ detail: 'Out of memory.' })], 'upstream_error', []],
  [
    "the operator's bill",
    [failure({ code: 'insufficient_quota', type: 'insufficient_quota' })],
    'upstream_unavailable',
    ['upstream_refused_operator'],
  ],
  [
    "the operator's bill in a form that clients do not know",
    [data({ code: 'insufficient_quota', message: 'You have no money.' })],
    'upstream_unavailable',
    ['upstream_refused_operator'],
  ],
  ['nothing at all', [], 'upstream_cut', []],
]

/** The events that report an error to the caller. */
function reported(text: string): Json[] {
  const data = text.split('\n').filter((line) => line.startsWith('data: {'))
  const events = data.map((line) => JSON.parse(line.slice('data: '.length)))
  return events.filter(({ error, type }) => error || type === 'error' || type === 'response.failed')
}

const paths = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/messages': { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 },
  '/v1/responses': { input: 'Hi' },
}

for (const [path, body] of Object.entries(paths)) {
  for (const [name, events, code, logged] of cases) {
    test(`${name}, at ${path}`, async () => {
      vendor.answer = () => eventStream(chunk('Hello') + events.join(''))
      const before = gateway.log.length
      const response = await gateway.post(path, { ...body, model: 'odd', stream: true })
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(reported(text).length).toBeGreaterThan(0)
      expect(text).not.toContain('You have no money')
      const id = response.headers.get('x-request-id')
      const [row] = (await gateway.requestLog()).filter((each) => each.id === id)
      expect(row).toMatchObject({ status: 200, error_code: code })
      expect(gateway.log.slice(before).map(({ event }) => event)).toEqual(logged)
    })
  }
}

const audio = new FormData()
audio.append('model', 'odd-transcriptions')
audio.append('stream', 'true')
audio.append('file', await audioFile('wav', 1))

/** Dialects whose events pass as they are: what is sent, and an event of the vendor with output. */
const passing: [path: string, body: object | FormData, output: object][] = [
  ['/v1/completions', { model: 'odd-completions', prompt: 'Hi' }, { choices: [{ index: 0, text: 'Hello' }] }],
  [
    '/v1/messages',
    { ...paths['/v1/messages'], model: 'odd-messages' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  ],
  [
    '/v1/responses',
    { ...paths['/v1/responses'], model: 'odd-responses' },
    {
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'Hello',
    },
  ],
  ['/v1/audio/transcriptions', audio, { type: 'transcript.text.delta', delta: 'Hello' }],
]
const disguised = [
  { detail: 'You have no money.' },
  { detail: [{ loc: ['body'], msg: 'You have no money.' }] },
  { code: 'insufficient_quota', message: 'You have no money.' },
  { message: 'You have no money.', status: 402 },
]

for (const [path, body, output] of passing) {
  for (const error of disguised) {
    test(`${JSON.stringify(error)} after output is an error to who asked ${path}`, async () => {
      vendor.answer = () => eventStream(data(output) + data(error))
      const headers = { authorization: `Bearer ${gateway.secret}` }
      const response = await (body instanceof FormData
        ? fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })
        : gateway.post(path, { ...body, stream: true }))
      const text = await response.text()
      expect(text).toContain('Hello')
      expect(reported(text).length).toBeGreaterThan(0)
      expect(text).not.toContain(JSON.stringify(error))
      const [row] = (await gateway.requestLog()).filter(
        ({ id }) => id === response.headers.get('x-request-id'),
      )
      expect(row?.error_code).toBeString()
      expect(row?.error_code).not.toBe('upstream_cut')
    })
  }
}

test.each(['whole', 'streamed'])(
  'a quota of the account at Bedrock is not a mistake of the caller, %s',
  async (form) => {
    const type = 'ServiceQuotaExceededException:http://internal.amazon.com/coral/com.amazon.bedrock/'
    const message = 'Your request exceeds the service quota for your account.'
    vendor.answer = () => Response.json({ message }, { status: 400, headers: { 'x-amzn-errortype': type } })
    const body = { model: 'odd-bedrock', ...paths['/v1/messages'], stream: form === 'streamed' }
    const response = await gateway.post('/v1/messages', body)
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(1)
    expect(await response.json()).toMatchObject({ error: { type: 'rate_limit_error', message } })
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released' })
  },
)
