// The lifetime of callers' connections on real sockets: those that send nothing, that never end their headers, or that were
// answered. Uses the shortest permitted limits, to which Bun adds some seconds; no connection may live much longer.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'

setDefaultTimeout(180_000)

/** Delay that Bun and a busy machine may add. */
const PATIENCE_MS = 50_000

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({
    config: { server: { headersTimeoutMs: 10_000, keepAliveTimeoutMs: 1_000 } },
  })
})
afterAll(() => gateway.close())

const connect = () => RawCaller.connect(gateway.url)
const health = 'GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n'
const chat = (content: string, more: object = {}) =>
  chatRequest(gateway.secret, { model: 'test-chat', messages: say(content), ...more })

/** Sends one more byte of an endless header a few times a second, as long as the connection lives. */
function dribble(caller: RawCaller): void {
  caller.send('GET /health HTTP/1.1\r\nHost: gateway\r\nX-Slow: ')
  const timer = setInterval(() => (caller.closed ? clearInterval(timer) : caller.send('x')), 200)
}

describe('is closed', () => {
  const closes = async (begin: (caller: RawCaller) => Promise<void> | void) => {
    const caller = await connect()
    await begin(caller)
    await waitFor(() => caller.closed, PATIENCE_MS)
    expect(caller.closed).toBe(true)
    return caller
  }
  const answered = async (caller: RawCaller, request: string, end: string) => {
    caller.send(request)
    await waitFor(() => caller.closed || caller.tail().endsWith(end), PATIENCE_MS)
    expect(caller.head()).toContain(' 200 ')
    expect(caller.tail()).toEndWith(end)
  }

  test.concurrent('a connection that sends nothing', async () => {
    expect((await closes(() => {})).bytes).toBe(0)
  })
  test.concurrent('headers at five bytes a second', async () => {
    expect((await closes(dribble)).bytes).toBe(0)
  })
  test.concurrent('an idle connection after a list', async () => {
    await closes((caller) => answered(caller, health, '}'))
  })
  test.concurrent('an idle connection after an answer of a vendor', async () => {
    await closes((caller) => answered(caller, chat('Hello!'), '}'))
  })
  test.concurrent('an idle connection after a stream', async () => {
    await closes((caller) => answered(caller, chat('Hello!', { stream: true }), '0\r\n\r\n'))
  })
  test.concurrent('an idle connection after an error', async () => {
    await closes((caller) => caller.send(chatRequest('sk-wrong', {})))
  })
  test.concurrent('an idle connection after a tool call', async () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const headers = [
      'Host: gateway',
      `Authorization: Bearer ${gateway.secret}`,
      'Accept: application/json, text/event-stream',
      'Content-Type: application/json',
      `Content-Length: ${text.length}`,
    ].join('\r\n')
    await closes((caller) => answered(caller, `POST /mcp HTTP/1.1\r\n${headers}\r\n\r\n${text}`, '}'))
  })
  test.concurrent('the second headers of a connection at five bytes a second', async () => {
    await closes(async (caller) => {
      await answered(caller, chat('Hello!'), '}')
      dribble(caller)
    })
  })
})

describe('stays open', () => {
  test.concurrent('while a vendor is silent for long before it answers', async () => {
    const caller = await connect()
    caller.send(chat('[sandbox delay_ms=12000] Hello!'))
    await waitFor(() => caller.tail().endsWith('}'), PATIENCE_MS)
    expect(caller.head()).toContain(' 200 ')
    caller.leave('fin')
  })
  test.concurrent('while the end of a stream waits for its charge to end', async () => {
    const slow = await startTestGateway({ config: { server: { keepAliveTimeoutMs: 1_000 } } })
    const { db } = slow.server.world
    const move = db.move.bind(db)
    let ends = 0
    db.move = async (movement) => {
      if (movement.kind === 'end') {
        ends++
        await Bun.sleep(8_000)
      }
      return move(movement)
    }
    const caller = await RawCaller.connect(slow.url)
    caller.send(chatRequest(slow.secret, { model: 'test-chat', messages: say('Hello!'), stream: true }))
    await waitFor(() => caller.closed || caller.tail().endsWith('0\r\n\r\n'), PATIENCE_MS)
    expect(ends).toBe(1)
    expect(caller.tail()).toEndWith('data: [DONE]\n\n\r\n0\r\n\r\n')
    caller.leave('fin')
    await slow.close()
  })
  test.concurrent('while callers follow a response that is silent for long in the background', async () => {
    const send = (method: string, path: string, body = '') =>
      `${method} ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${gateway.secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const maker = await connect()
    const input = '[sandbox tokens=9 token_delay_ms=60000] Hello!'
    const asked = { model: 'test-chat', input, background: true, stream: true }
    maker.send(send('POST', '/v1/responses', JSON.stringify(asked)))
    await waitFor(() => /"id":"resp_/.test(maker.head()), PATIENCE_MS)
    const [, id] = /"id":"(resp_[^"]+)"/.exec(maker.head()) ?? []
    const follower = await connect()
    follower.send(send('GET', `/v1/responses/${id}?stream=true`))
    for (const caller of [maker, follower]) {
      await waitFor(() => caller.closed || caller.tail().includes(': keep-alive'), PATIENCE_MS)
      expect(caller.tail()).toContain(': keep-alive')
    }
    const stopping = await connect()
    stopping.send(send('POST', `/v1/responses/${id}/cancel`))
    for (const caller of [maker, follower]) {
      await waitFor(() => caller.closed || caller.tail().includes('[DONE]'), PATIENCE_MS)
      expect(caller.tail()).toContain('[DONE]')
    }
    for (const caller of [maker, follower, stopping]) caller.leave('fin')
  })
  test.concurrent('while a stream is silent for long', async () => {
    const caller = await connect()
    caller.send(chat('[sandbox tokens=1 token_delay_ms=5500] Hello!', { stream: true }))
    await waitFor(() => caller.tail().includes('[DONE]'), PATIENCE_MS)
    expect(caller.tail()).toContain('[DONE]')
    caller.leave('fin')
  })
})

test.concurrent('the connections of a thousand callers whose headers never end are closed, and others are served meanwhile', async () => {
  const slow = await Promise.all(Array.from({ length: 1_000 }, connect))
  for (const caller of slow) dribble(caller)
  let served = 0
  while (slow.some(({ closed }) => !closed) && served < 2_000) {
    // On a new connection: a kept one may be closed just as a request is sent.
    expect((await gateway.chat({}, { connection: 'close' })).status).toBe(200)
    served++
    await Bun.sleep(50)
  }
  expect(slow.filter(({ closed }) => !closed)).toHaveLength(0)
  expect(served).toBeGreaterThan(1)
})
