// Vendors that frame their answers loosely serve two customers at once through the whole gateway: no customer reads a byte of the
// other's text, and an answer that a strict reader refuses reaches nobody.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { createRandom } from '../support/random'
import { type Extra, extras, type Framing, framings, startLooseVendor } from '../support/vendors/loose'
import { type ScriptedServer, startScriptedServer } from '../support/vendors/scripted-server'
import { chunk, completion, DONE, usageChunk } from '../support/vendors/vendor'

const REQUESTS = 10
const CUSTOMERS = ['alice', 'bob'] as const
const PAUSES_MS = [0, 0, 5, 20, 60, 130]

interface Case {
  model: string
  framing: Framing
  extra: Extra
  name: string
}

const cases = framings.flatMap((framing) =>
  Object.entries(extras).map(
    ([more, extra]): Omit<Case, 'model'> => ({
      framing,
      extra,
      name: `${framing.name}, ${more}`,
    }),
  ),
)

test(`${cases.length} kinds of loose framing let nothing cross`, async () => {
  const vendors = await Promise.all(cases.map(({ framing, extra }) => startLooseVendor(framing, extra)))
  const upstreams: Record<string, UpstreamConfig> = {}
  const models: Record<string, Partial<ModelConfig>> = {}
  for (const [index, { url }] of vendors.entries()) {
    upstreams[`loose-${index}`] = { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'none' }
    models[`loose-${index}`] = { ...testModels['test-chat'], upstream: `loose-${index}` }
  }
  const gateway = await startTestGateway({ upstreams, models })
  const secrets = { alice: gateway.secret, bob: (await gateway.makeKey('bob', '100')).secret }
  const faults: string[] = []
  let proper = 0

  async function ask(customer: (typeof CUSTOMERS)[number], model: string, stream: boolean) {
    const messages = [{ role: 'user', content: `said by ${customer}` }]
    const response = await gateway.post(
      '/v1/chat/completions',
      { model, messages, stream },
      { authorization: `Bearer ${secrets[customer]}` },
    )
    return { status: response.status, text: await response.text() }
  }

  async function run({ model, framing, name }: Case, customer: (typeof CUSTOMERS)[number], seed: number) {
    const random = createRandom(seed)
    const other = customer === 'alice' ? 'bob' : 'alice'
    for (let count = 0; count < REQUESTS; count++) {
      const stream = random.chance(0.3)
      const { status, text } = await ask(customer, model, stream)
      if (text.includes(`said by ${other}`)) faults.push(`${name}: ${customer} reads ${other}`)
      const isWhole = status === 200 && (!stream || text.includes('[DONE]'))
      if (isWhole && !framing.isProper && text.includes('loosely')) faults.push(`${name}: was accepted`)
      if (status !== 200 && status !== 502) faults.push(`${name}: ${status} ${text}`)
      if (status === 200 && text.includes(`said by ${customer}, properly`)) proper++
      await Bun.sleep(random.pick(PAUSES_MS))
    }
  }

  await Promise.all(
    cases.flatMap((each, index) =>
      CUSTOMERS.map((customer, at) => run({ ...each, model: `loose-${index}` }, customer, 2 * index + at)),
    ),
  )
  for (const vendor of vendors) vendor.stop()
  await gateway.close()
  expect(faults).toEqual([])
  // Those that were in order arrived.
  expect(proper).toBeGreaterThan(cases.length * REQUESTS * 0.5)
}, 180_000)

test('an answer that is not proper HTTP is 502 with a text that says so, and does not affect other requests to the vendor', async () => {
  const vendor = await startScriptedServer()
  const upstreams = { loose: { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: 'none' } }
  const models = { 'test-loose': { ...testModels['test-chat'], upstream: 'loose' } }
  const gateway = await startTestGateway({ upstreams, models })
  vendor.answer = (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ')
  for (let count = 0; count < 8; count++) {
    const response = await gateway.chat({ model: 'test-loose' })
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({
      error: {
        code: 'upstream_garbage',
        message: 'The answer of the upstream loose was not valid HTTP, so it was discarded. Try again.',
      },
    })
  }
  const reply = JSON.stringify(completion('Hello!', 10, 20))
  vendor.answer = (socket) =>
    void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${reply.length}\r\n\r\n${reply}`)
  expect((await gateway.chat({ model: 'test-loose' })).status).toBe(200)
  expect(vendor.connections).toBe(9)
  expect(await gateway.balance()).toMatchObject({ heldNano: 0 })
  vendor.stop()
  await gateway.close()
})

describe('bytes after the closing event of a stream', () => {
  let vendor: ScriptedServer
  let gateway: TestGateway
  beforeAll(async () => {
    vendor = await startScriptedServer()
    const upstreams = { long: { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: 'none' } }
    const models = { 'test-long': { ...testModels['test-chat'], upstream: 'long' } }
    gateway = await startTestGateway({ upstreams, models })
  })
  afterAll(async () => {
    vendor.stop()
    await gateway.close()
  })

  const sized = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
  const whole = chunk('Hello') + chunk('', 'stop') + usageChunk(10, 20) + DONE
  const more = chunk(' and what was not asked for')
  const asMessages = { model: 'test-long', max_tokens: 100, messages: say('Hello!'), stream: true }

  /** Whether the connection is kept; null if the answer had ended before its events were read. */
  const rows: [name: string, pieces: string[], kept: boolean | null][] = [
    ['nothing', [sized(whole), sized('\n'), '0\r\n\r\n'], true],
    ['an event in the same piece', [`${sized(whole + more)}0\r\n\r\n`], null],
    ['an event in the same packet', [`${sized(whole)}${sized(more)}0\r\n\r\n`], null],
    ['an event in the next packet', [sized(whole), `${sized(more)}0\r\n\r\n`], false],
    ['half an event', [sized(whole + more.slice(0, 40)), '0\r\n\r\n'], false],
    ['an event without its blank line', [sized(whole), sized(more.trimEnd()), '0\r\n\r\n'], false],
    ['another closing event', [sized(whole + DONE), '0\r\n\r\n'], false],
    ['what cannot be an event', [sized(whole), sized('\0'.repeat(100_000)), '0\r\n\r\n'], false],
  ]
  test.each(rows)('is not relayed: %s', async (_name, pieces, kept) => {
    for (const [path, body, end] of [
      ['/v1/chat/completions', { model: 'test-long', messages: say('Hello!'), stream: true }, DONE],
      ['/v1/messages', asMessages, 'data: {"type":"message_stop"}\n\n'],
    ] as const) {
      vendor.answer = async (socket) => {
        socket.write(head)
        for (const piece of pieces) {
          socket.write(piece)
          await Bun.sleep(10)
        }
      }
      for (let count = 0; count < 2; count++) {
        const text = await (await gateway.post(path, body)).text()
        expect(text).toContain('Hello')
        expect(text).toEndWith(end)
        expect(text).not.toContain('asked for')
        expect(text.split(end)).toHaveLength(2)
        await Bun.sleep(30)
      }
      if (kept === null) continue
      const connections = kept ? 1 : 0
      await waitFor(() => vendor.open() === connections)
      expect(vendor.open()).toBe(connections)
    }
  })
})
