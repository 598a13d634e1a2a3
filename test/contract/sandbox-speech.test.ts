// The simulated vendor of speech on the wire: exact bytes of events, replies with an address that is valid for a day, and
// the errors of the real one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import { samplesPerSecond, toneFile } from '../../sandbox/sounds'
import type { Json } from '../support/scenario'

let sandbox: Sandbox

beforeAll(() => {
  sandbox = startSandbox()
})
afterAll(() => sandbox.stop())

const SAMPLES_PER_CHARACTER = 0.06 * samplesPerSecond

function call(
  input: object,
  headers: Record<string, string> = {},
  model = 'qwen3-tts-flash',
): Promise<Response> {
  const path = '/api/v1/services/aigc/multimodal-generation/generation'
  return fetch(`${sandbox.baseUrls.dashscope}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.secrets.dashscope}`, ...headers },
    body: JSON.stringify({ model, input }),
  })
}

const hello = { text: 'Hello', voice: 'Cherry' }

test('events are numbered, have their status in a comment, and no spaces after the colons', async () => {
  const response = await call(hello, { 'x-dashscope-sse': 'enable' })
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const list = (await response.text()).split('\n\n')
  expect(list.pop()).toBe('')
  const json = list.map((event, index) => {
    const number = index === list.length - 1 ? 1 : index + 1
    const head = `id:${number}\nevent:result\n:HTTP_STATUS/200\ndata:`
    expect(event).toStartWith(head)
    return JSON.parse(event.slice(head.length)) as Json
  })
  const samples = Buffer.concat(json.map(({ output }) => Buffer.from(output.audio.data, 'base64')))
  expect(samples).toHaveLength(2 * 5 * SAMPLES_PER_CHARACTER)
  expect(json.map(({ output }) => output.finish_reason)).toEqual(['null', 'null', 'stop'])
  expect(json.at(-1).usage).toEqual({ characters: 5 })
  expect(json.at(-1).output.audio).toMatchObject({ data: '', url: expect.stringContaining('.wav?Expires=') })
})

test('an error in the stream is a separate event', async () => {
  const input = { ...hello, text: '[sandbox error_after=1] Hello' }
  const text = await (await call(input, { 'x-dashscope-sse': 'enable' })).text()
  expect(text.split('\n\n')[1]).toStartWith(
    'id:1\nevent:error\n:HTTP_STATUS/500\ndata:{"code":"InternalError"',
  )
})

test('a reply without a stream has the address of a public file', async () => {
  const reply = (await (await call({ text: '你好!', voice: 'Ethan' })).json()) as Json
  expect(reply).toMatchObject({
    status_code: 200,
    code: '',
    output: { finish_reason: 'stop', audio: { data: '' } },
    usage: { characters: 5 },
  })
  const { url } = reply.output.audio
  expect(url).toStartWith('http://')
  const file = await fetch(url)
  expect(file.headers.get('content-type')).toBe('audio/wav')
  const tone = { hertz: 480, samples: 3 * SAMPLES_PER_CHARACTER }
  expect(Buffer.compare(Buffer.from(await file.arrayBuffer()), toneFile(tone))).toBe(0)
  for (const wrong of [url.replace(/Expires=\d+/, 'Expires=1000'), url.replace('.wav', '.mp3')]) {
    expect((await fetch(wrong)).status).not.toBe(200)
  }
})

describe('rejects', () => {
  const rows: [
    input: object,
    status: number,
    code: string,
    words: string,
    headers?: Record<string, string>,
  ][] = [
    [{ voice: 'Cherry' }, 400, 'InvalidParameter', 'Field required: input.text'],
    [{ text: 'Hello' }, 400, 'InvalidParameter', 'Field required: input.voice'],
    [{ ...hello, text: '' }, 400, 'InvalidParameter', '[1, 600]'],
    [{ ...hello, text: '😀'.repeat(601) }, 400, 'InvalidParameter', '[1, 600]'],
    [{ ...hello, voice: 'alloy' }, 400, 'invalid_value', "The requested voice 'alloy' is not supported."],
    [{ ...hello, language_type: 'Latin' }, 400, 'InvalidParameter', "'Auto', 'Chinese'"],
    [{ ...hello, instructions: 'Slowly' }, 400, 'InvalidParameter', 'instructions'],
    [hello, 403, 'AccessDenied', 'asynchronous', { 'x-dashscope-async': 'enable' }],
    [hello, 401, 'InvalidApiKey', 'Invalid API-key', { authorization: 'Bearer wrong' }],
  ]
  test.each(rows)('%j: %d %s', async (input, status, code, words, headers = {}) => {
    for (const more of [{}, { 'x-dashscope-sse': 'enable' }]) {
      const response = await call(input, { ...headers, ...more })
      const body = (await response.json()) as Json
      expect({ status: response.status, code: body.code }).toEqual({ status, code })
      expect(body.message).toContain(words)
    }
  })

  test('unknown voices and models', async () => {
    const instruct = 'qwen3-tts-instruct-flash'
    expect((await call({ ...hello, voice: 'Kiki' }, {}, instruct)).status).toBe(400)
    expect((await call({ ...hello, instructions: 'Slowly' }, {}, instruct)).status).toBe(200)
    expect((await call(hello, {}, 'qwen3-tts-flash-2025-11-27')).status).toBe(200)
    expect((await call(hello, {}, 'qwen3-tts')).status).toBe(404)
  })
})
