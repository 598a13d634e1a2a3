// Limits for the size and depth of a vendor's documents: an answer, an event, an error, a token count. Larger ones are
// rejected with a clear message, and no charge stays open.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import {
  chunk,
  completion,
  DONE,
  eventStream,
  type OddVendor,
  startVendor,
  usageChunk,
} from '../support/vendors/vendor'

const MEBIBYTE = 1024 * 1024
const LEVELS = 50_000
const deep = `${'{"a":'.repeat(LEVELS)}0${'}'.repeat(LEVELS)}`
const deepList = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

let vendor: OddVendor
let gateway: TestGateway
beforeAll(async () => {
  vendor = startVendor()
  gateway = await startTestGateway({
    upstreams: {
      odd: vendor.upstream,
      counting: { ...vendor.upstream, kind: 'anthropic' },
    },
    models: {
      'test-odd': { ...testModels['test-chat'], upstream: 'odd' },
      'test-counting': { ...testModels['test-messages'], upstream: 'counting' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const json = (text: string, status = 200, headers = {}) =>
  new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })

/** An object with one more member. */
const withMember = (object: unknown, member: string) => `${JSON.stringify(object).slice(0, -1)},${member}}`

async function errorOf(response: Response) {
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  return { status: response.status, code: error.code, message: error.message }
}

describe('an answer', () => {
  const rows: [name: string, path: string][] = [
    ['that passes as it is', '/v1/chat/completions'],
    ['that is translated', '/v1/messages'],
  ]
  test.each(rows)('%s and is nested too deeply is rejected, and nothing is paid', async (_name, path) => {
    const before = await gateway.balance()
    vendor.answer = () => json(withMember(completion('Hello!', 10, 20), `"more":${deep}`))
    const response = await gateway.post(path, { model: 'test-odd', max_tokens: 10, messages: say('Hi') })
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('nested too deeply')
    expect(await gateway.balance()).toEqual(before)
  })

  test('whose arguments of a tool are nested too deeply has them as text', async () => {
    const called = { name: 'search', arguments: deep }
    const answer = completion('', 10, 20) as { choices: { message: object }[] }
    Object.assign(answer.choices[0]?.message ?? {}, {
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: called }],
    })
    vendor.answer = () => json(JSON.stringify(answer))
    const body = { model: 'test-odd', max_tokens: 10, messages: say('Hi') }
    const response = await gateway.post('/v1/messages', body)
    expect(response.status).toBe(200)
    const { content } = (await response.json()) as { content: unknown[] }
    expect(content).toEqual([{ type: 'tool_use', id: 'call_1', name: 'search', input: { _raw: deep } }])
  })
})

describe('a stream', () => {
  test('whose usage is nested too deeply ends, and its text is counted', async () => {
    const usage = usageChunk(10, 20).replace('"prompt_tokens"', `"x":${deep},"prompt_tokens"`)
    vendor.answer = () => eventStream(chunk('Hello') + chunk('', 'stop') + usage + DONE)
    const response = await gateway.chat({ model: 'test-odd', stream: true })
    const text = await response.text()
    expect(text).toContain('Hello')
    expect(text).toEndWith(DONE)
    const charge = await gateway.newestCharge()
    expect(charge?.state).not.toBe('held')
  })

  test('with an event that is nested too deeply is translated without it', async () => {
    const event = chunk('never seen').replace('"object"', `"x":${deep},"object"`)
    vendor.answer = () => eventStream(chunk('Hello') + event + chunk('', 'stop') + usageChunk(10, 20) + DONE)
    const body = { model: 'test-odd', max_tokens: 10, messages: say('Hi'), stream: true }
    const text = await (await gateway.post('/v1/messages', body)).text()
    expect(text).toContain('Hello')
    expect(text).toContain('message_stop')
    expect(text).not.toContain('never seen')
  })
})

describe('an error', () => {
  const bodies: [name: string, body: string][] = [
    ['a list of lists', deepList(30_000)],
    ['a detail', `{"detail":[{"loc":["body"],"more":${'{"a":'.repeat(9_000)}0${'}'.repeat(9_000)}}]}`],
    ['an error', `{"error":{"message":"no","more":${deepList(20_000)}}}`],
  ]
  test.each(bodies)('that is nested too deeply says nothing: %s', async (_name, body) => {
    vendor.answer = () => json(body, 400)
    expect(await errorOf(await gateway.chat({ model: 'test-odd' }))).toMatchObject({
      status: 400,
      message: 'The upstream gave no reason.',
    })
  })

  test('that is very large, or unpacks to very much, is read no further than its beginning', async () => {
    const piece = Buffer.alloc(MEBIBYTE, ' ')
    const answers = [
      { bytes: piece, headers: {} },
      { bytes: gzipSync(piece), headers: { 'content-encoding': 'gzip' } },
    ]
    for (const { bytes, headers } of answers) {
      let isCancelled = false
      // This body never ends: a reader that continued would never answer.
      const body = new ReadableStream({
        pull: (controller) => controller.enqueue(bytes),
        cancel() {
          isCancelled = true
        },
      })
      vendor.answer = () => new Response(body, { status: 400, headers })
      expect((await gateway.chat({ model: 'test-odd' })).status).toBe(400)
      await waitFor(() => isCancelled)
      expect(isCancelled).toBe(true)
    }
  })
})

describe('a number of tokens', () => {
  const rows: [name: string, member: string, words: string][] = [
    ['too large', `"more":"${'x'.repeat(2 * MEBIBYTE)}"`, 'too large'],
    ['too deep', `"more":${deep}`, 'nested too deeply'],
  ]
  test.each(rows)('in a document that is %s is rejected', async (_name, member, words) => {
    vendor.answer = () => json(withMember({ input_tokens: 3 }, member))
    const body = { model: 'test-counting', messages: say('Hi') }
    const response = await gateway.post('/v1/messages/count_tokens', body)
    expect(response.status).toBe(502)
    expect(await response.text()).toContain(words)
  })
})
