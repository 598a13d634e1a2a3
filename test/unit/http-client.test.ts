// Requests over real connections: which connections are kept and which are closed. No request is ever sent twice, to a server that
// has not proved its identity, or after its cancellation.

import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Socket as BunSocket } from 'bun'
import { Connection, ConnectionBroken } from '../../src/http-client/connection'
import { type OriginOptions, openOrigin } from '../../src/http-client/origin'
import { BodyTooLarge, type HttpResponse } from '../../src/http-client/response'
import { MalformedResponse } from '../../src/http-client/response-parser'
import { type HttpRequest, NotConnected, type Origin } from '../../src/http-client/transport'
import { CancelToken } from '../../src/lib/cancel-token'
import { waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'
import {
  type Certificate,
  OK,
  type ScriptedServer,
  startScriptedServer,
} from '../support/vendors/scripted-server'

const pem = (name: string) => readFileSync(join(import.meta.dir, `../fixtures/tls/${name}.pem`), 'utf8')
const MEBIBYTE = 1024 * 1024
/** A vendor that answers each request twice: immediately, and again some milliseconds later. */
const TWICE = `
  const answer = (word) => 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n' + word.repeat(2)
  const data = (socket, bytes) => {
    const text = answer(bytes.toString().slice(-1))
    socket.write(text)
    setTimeout(() => socket.write(text), 20)
  }
  console.log(Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data } }).port)
`
const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

async function start(
  options: OriginOptions & { secure?: Certificate } = {},
): Promise<{ server: ScriptedServer; origin: Origin }> {
  const server = await startScriptedServer(options)
  const origin = openOrigin(`${server.url}/v1`, options)
  cleanUps.push(origin.close, server.stop)
  return { server, origin }
}

function post(body: HttpRequest['body'] = '{}', fields: Partial<HttpRequest> = {}): HttpRequest {
  return { method: 'POST', path: '/v1/chat', headers: {}, body, signal: new CancelToken(), ...fields }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  return Buffer.from(await body.bytes(64 * MEBIBYTE)).toString()
}

const send = async (origin: Origin, request = post()) => textOf(await origin.send(request))

describe('a request', () => {
  test('is sent as one head followed by the body', async () => {
    const { server, origin } = await start()
    const headers = { authorization: 'Bearer secret', accept: 'application/json' }
    expect(await send(origin, post('{"a":"é"}', { headers }))).toBe('ok')
    const { host } = new URL(server.url)
    expect(Buffer.from(server.requests[0] as string, 'latin1').toString()).toBe(
      `POST /v1/chat HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer secret\r\naccept: application/json\r\ncontent-length: 10\r\n\r\n{"a":"é"}`,
    )
  })

  test('without a body declares a length of 0 where a body is usual', async () => {
    const { server, origin } = await start()
    await send(origin, post(null))
    await send(origin, post(null, { method: 'GET', path: '/v1/tasks/a%20b?c=d' }))
    expect(server.requests[0]).toContain('\r\ncontent-length: 0\r\n\r\n')
    expect(server.requests[1]).toStartWith('GET /v1/tasks/a%20b?c=d HTTP/1.1\r\n')
    expect(server.requests[1]).not.toContain('content-length')
  })

  test('larger than the system’s buffer arrives whole, as text and in pieces', async () => {
    const { server, origin } = await start()
    const text = 'é'.repeat(5 * MEBIBYTE)
    const bytes = Buffer.from(text)
    await send(origin, post(text))
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 700_001) yield bytes.subarray(at, at + 700_001)
    }
    const headers = { 'content-length': String(bytes.length) }
    await send(origin, post(pieces(), { headers }))
    await send(origin, post('after'))
    // Long requests get a new connection, which can then be used like any other.
    expect(server.connections).toBe(2)
    for (const request of server.requests.slice(0, 2)) {
      const body = Buffer.from(request.slice(request.indexOf('\r\n\r\n') + 4), 'latin1')
      expect(body.equals(bytes)).toBe(true)
    }
  })

  test('is sent without the whitespace around header values', async () => {
    const { server, origin } = await start()
    await send(origin, post('{}', { headers: { authorization: 'Bearer secret\n' } }))
    expect(server.requests[0]).toContain('\r\nauthorization: Bearer secret\r\ncontent-length: 2\r\n\r\n{}')
  })

  const injections: [name: string, request: HttpRequest][] = [
    ['a line break in a header', post('', { headers: { accept: 'a\r\nx-admin: true' } })],
    ['a line feed in a header', post('', { headers: { accept: 'a\nb' } })],
    ['a header with a space in its name', post('', { headers: { 'x admin': '1' } })],
    ['a space in the path', post('', { path: '/v1/a b' })],
    ['a line break in the path', post('', { path: '/v1/a\r\nx: y' })],
    ['a path that is a URL', post('', { path: 'http://elsewhere.example/' })],
  ]
  test.each(injections)('with %s is not sent', async (_name, request) => {
    const { server, origin } = await start()
    expect((await rejection(origin.send(request))).message).toMatch(/^not a (header|path)/)
    expect(server.connections).toBe(0)
  })
})

describe('a connection', () => {
  test('serves one request after another, and concurrent requests have one each', async () => {
    const { server, origin } = await start()
    for (let count = 0; count < 10; count++) await send(origin)
    expect(server.connections).toBe(1)
    await Promise.all(Array.from({ length: 300 }, () => send(origin)))
    await Promise.all(Array.from({ length: 300 }, () => send(origin)))
    expect({ connections: server.connections, requests: server.requests.length }).toEqual({
      connections: 300,
      requests: 610,
    })
  })

  const spoiled: [name: string, answer: string][] = [
    ['that the server closes', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['with text after the answer', `${OK}HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n`],
    [
      'with trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nDigest: a\r\n\r\n',
    ],
    [
      'that may be idle for one second',
      `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok`,
    ],
  ]
  test.each(spoiled)('%s is not used again', async (_name, answer) => {
    const { server, origin } = await start()
    server.answer = (socket) => void socket.write(answer)
    expect([await send(origin), await send(origin)]).toEqual(['ok', 'ok'])
    expect(server.connections).toBe(2)
    await waitFor(() => server.open() === 0)
  })

  test('on which bytes arrive without a request is closed', async () => {
    const { server, origin } = await start()
    let idle: Socket | undefined
    server.answer = (socket) => {
      idle = socket
      socket.write(OK)
    }
    await send(origin)
    idle?.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n')
    await waitFor(() => server.open() === 0)
    expect(await send(origin)).toBe('ok')
    expect(server.connections).toBe(2)
  })

  test('with unread bytes is closed, and the request is sent on another one', async () => {
    const { server, origin } = await start()
    const sockets: Socket[] = []
    server.answer = (socket) => {
      sockets.push(socket)
      socket.write(OK)
    }
    await send(origin)
    // They arrive before the request begins, and are read after that.
    sockets[0]?.write(OK.replace('ok', 'no'))
    expect(await send(origin)).toBe('ok')
    expect({ connections: server.connections, requests: server.requests.length }).toEqual({
      connections: 2,
      requests: 2,
    })
  })

  test('with bytes that arrived while the caller blocked the event loop is closed too', async () => {
    const { server, origin } = await start()
    const sockets: Socket[] = []
    server.answer = (socket) => {
      sockets.push(socket)
      socket.write(OK)
    }
    await send(origin)
    await Bun.sleep(10)
    // As after a commit: the event loop has read nothing since they arrived.
    const answer = await new Promise((resolve) =>
      setImmediate(() => {
        sockets[0]?.write(OK.replace('ok', 'no'))
        resolve(send(origin))
      }),
    )
    expect(answer).toBe('ok')
    expect(server.connections).toBe(2)
  })

  test('that answers before it got the whole request is closed, and the answer is not used', async () => {
    let mostBytes = Number.POSITIVE_INFINITY
    let isClosed = false
    // A socket that accepts only as much as a slow network would.
    const socket = {
      readyState: 1,
      write: (text: string) => Math.min(text.length, mostBytes),
      terminate() {
        isClosed = true
      },
    }
    const connection = new Connection(socket as unknown as BunSocket<Connection>, { free() {}, closed() {} })
    const ask = () =>
      new Promise<HttpResponse>((resolve, reject) =>
        connection.begin({
          ...post(),
          head: 'POST / HTTP/1.1\r\n\r\n',
          partition: undefined,
          resolve,
          reject,
        }),
      )
    const first = ask()
    connection.received(Buffer.from(OK))
    expect(await textOf(await first)).toBe('ok')
    mostBytes = 10
    const second = ask()
    connection.received(Buffer.from(OK))
    expect((await rejection(second)).message).toContain('before it had been sent the request')
    expect(isClosed).toBe(true)
  })

  test('is used by another partition only after a pause', async () => {
    const { server, origin } = await start()
    const one = post('{}', { partition: 'one' })
    const two = post('{}', { partition: 'two' })
    let now = 0
    using _clock = spyOn(performance, 'now').mockImplementation(() => now)
    for (let count = 0; count < 5; count++) await send(origin, one)
    expect(server.connections).toBe(1)
    await send(origin, two)
    expect(server.connections).toBe(2)
    now += 150
    await send(origin, two)
    await send(origin, one)
    expect(server.connections).toBe(2)
  })

  test('with a second answer soon after the first delivers it to no other request', async () => {
    const { server, origin } = await start()
    server.answer = (socket, request) => {
      const answer = OK.replace('ok', request.slice(-1).repeat(2))
      setTimeout(() => socket.write(answer), 15)
      // At a time when the connection would be in the middle of the next request.
      setTimeout(() => socket.write(answer), 35)
    }
    // A clock that stops while the machine suspends the process, because the server in this process then answers late
    // too.
    let now = 0
    const ticks = setInterval(() => {
      now += 5
    }, 5)
    using _clock = spyOn(performance, 'now').mockImplementation(() => now)
    const answers: string[] = []
    const ask = async (partition: string, pauseMs: number) => {
      for (let count = 0; count < 20; count++) {
        const text = await send(origin, post(partition, { partition })).catch(() => 'none')
        answers.push(`${partition}:${text}`)
        await Bun.sleep(pauseMs)
      }
    }
    await Promise.all([ask('a', 7), ask('b', 11)])
    clearInterval(ticks)
    expect(answers.filter((answer) => answer === 'a:bb' || answer === 'b:aa')).toEqual([])
    expect(answers.filter((answer) => answer === 'a:aa' || answer === 'b:bb').length).toBeGreaterThan(20)
  })

  test('on which bytes arrived while the process was suspended is not used', async () => {
    // The vendor has its own process, so that it continues meanwhile.
    const vendor = Bun.spawn([process.execPath, '-e', TWICE], { stdout: 'pipe' })
    cleanUps.push(() => vendor.kill())
    const port = new TextDecoder().decode((await vendor.stdout.getReader().read()).value)
    const origin = openOrigin(`http://127.0.0.1:${port.trim()}/v1`, {})
    cleanUps.push(origin.close)
    // In different phases of the event loop.
    for (const phase of [() => Bun.sleep(1), () => new Promise(setImmediate), async () => {}]) {
      expect(await send(origin, post('a', { partition: 'a' }))).toBe('aa')
      await phase()
      Bun.sleepSync(150)
      expect(await send(origin, post('b', { partition: 'b' }))).toBe('bb')
      await phase()
      Bun.sleepSync(150)
    }
  })

  test('that the server closed while it was idle is not used', async () => {
    const { server, origin } = await start()
    server.answer = (socket) => void socket.end(OK)
    await send(origin)
    await waitFor(() => server.open() === 0)
    await Bun.sleep(20)
    expect(await send(origin)).toBe('ok')
  })

  test('that is idle is closed after a while, and when the client is closed', async () => {
    const { server, origin } = await start({ idleMs: 1_500 })
    await Promise.all([send(origin), send(origin)])
    expect(server.open()).toBe(2)
    await waitFor(() => server.open() === 0)
    await Promise.all([send(origin), send(origin), send(origin)])
    expect(server.open()).toBe(3)
    origin.close()
    await waitFor(() => server.open() === 0)
  })

  test('is closed if its answer is not read to the end', async () => {
    const { server, origin } = await start()
    server.answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    const { body } = await origin.send(post())
    body.cancel()
    await waitFor(() => server.open() === 0)
  })
})

describe('a failure after the request was sent is an error, and the request is not repeated', () => {
  const breaks: [name: string, answer: (socket: Socket) => void, error: new () => Error][] = [
    ['closed without an answer', (socket) => socket.end(), ConnectionBroken],
    ['closed inside the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'), ConnectionBroken],
    ['nonsense', (socket) => void socket.write('nonsense\r\n\r\n'), MalformedResponse],
  ]
  test.each(breaks)('%s', async (_name, answer, error) => {
    const { server, origin } = await start()
    await send(origin)
    server.answer = answer
    // Also on a kept connection: the server may have started work.
    expect(await rejection(origin.send(post()))).toBeInstanceOf(error)
    expect(server.requests).toHaveLength(2)
    expect(await rejection(origin.send(post()))).toBeInstanceOf(error)
    expect(server.requests).toHaveLength(3)
    await waitFor(() => server.open() === 0)
  })

  test('a reset', async () => {
    const { server, origin } = await start()
    server.answer = (socket) => void socket.resetAndDestroy()
    const error = await origin.send(post()).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(NotConnected)
    expect(server.requests).toHaveLength(1)
  })

  test('a reset inside a body that only the end of the connection ends', async () => {
    const { server, origin } = await start()
    const packed = gzipSync(Buffer.from('half'))
    const fields = ['', 'Content-Encoding: gzip\r\n']
    for (const field of fields) {
      const answer = Buffer.concat([
        Buffer.from(`HTTP/1.1 200 OK\r\n${field}\r\n`),
        field === '' ? Buffer.from('half') : packed,
      ])
      server.answer = (socket) => {
        socket.write(answer)
        setTimeout(() => socket.resetAndDestroy(), 20)
      }
      expect((await rejection(textOf(await origin.send(post())))).message).toContain('ECONNRESET')
      server.answer = (socket) => {
        socket.write(answer)
        setTimeout(() => socket.end(), 20)
      }
      expect(await textOf(await origin.send(post()))).toBe('half')
    }
  })

  test('inside the body', async () => {
    const { server, origin } = await start()
    for (const answer of [
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n',
    ]) {
      server.answer = (socket) => void socket.end(answer)
      const response = await origin.send(post())
      expect(response.status).toBe(200)
      expect(await rejection(textOf(response))).toBeInstanceOf(ConnectionBroken)
    }
  })
})

describe('without a connection', () => {
  test('nothing is sent to a host that refuses, is unknown or does not answer', async () => {
    const refused = openOrigin(`http://127.0.0.1:${await freePort()}`)
    const unknown = openOrigin('http://no-such-host.invalid')
    // An address from the range for documentation, which no router knows.
    const silent = openOrigin('http://192.0.2.1:81', { connectTimeoutMs: 100 })
    expect(await refused.send(post()).catch((error) => error)).toMatchObject({ code: 'ECONNREFUSED' })
    expect(await unknown.send(post()).catch((error) => error)).toBeInstanceOf(NotConnected)
    expect(await silent.send(post()).catch((error) => error)).toBeInstanceOf(NotConnected)
  })

  test('a host is reached by name, with either kind of address', async () => {
    const { server } = await start()
    const origin = openOrigin(server.url.replace('127.0.0.1', 'localhost'))
    cleanUps.push(origin.close)
    expect(await send(origin)).toBe('ok')
  })

  test.each([
    ['and gets one in time', { freeMs: 100, connectTimeoutMs: 10_000 }, 'here'],
    ['and fails at its deadline', { freeMs: 60_000, connectTimeoutMs: 300 }, 'no connection within 300 ms'],
  ])('a process without a free descriptor waits for one, %s', async (_, times, expected) => {
    const { freeMs, connectTimeoutMs } = times
    const { server } = await start()
    server.answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere')
    const program = `
      import { closeSync, openSync } from 'node:fs'
      import { openOrigin } from ${JSON.stringify(join(import.meta.dir, '../../src/http-client/origin.ts'))}
      import { CancelToken } from ${JSON.stringify(join(import.meta.dir, '../../src/lib/cancel-token.ts'))}
      const origin = openOrigin('${server.url}/v1', { connectTimeoutMs: ${connectTimeoutMs} })
      const taken = []
      try {
        for (;;) taken.push(openSync('/dev/null', 'r'))
      } catch {}
      setTimeout(() => taken.splice(0, 8).forEach(closeSync), ${freeMs})
      const request = { method: 'POST', path: '/', headers: {}, body: '{}', signal: new CancelToken() }
      const text = await origin.send(request).then(
        async ({ body }) => Buffer.from(await body.bytes(1000)).toString(),
        (error) => error.message,
      )
      for (const each of taken) closeSync(each)
      console.log(text)
      process.exit()`
    const shell = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '-e', program]
    const child = Bun.spawn(shell, { stdout: 'pipe', stderr: 'pipe' })
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect({ output, errors }).toEqual({ output: `${expected}\n`, errors: '' })
  })
})

describe('over TLS', () => {
  const ca = pem('certificate')

  test('a server with a certificate of a trusted authority is used', async () => {
    const { server, origin } = await start({
      secure: { cert: pem('certificate'), key: pem('key') },
      tls: { ca },
    })
    expect([await send(origin), await send(origin)]).toEqual(['ok', 'ok'])
    const named = openOrigin(server.url.replace('127.0.0.1', 'localhost'), { tls: { ca } })
    cleanUps.push(named.close)
    expect(await send(named, post('x'.repeat(3 * MEBIBYTE)))).toBe('ok')
    expect(server.connections).toBe(2)
  })

  test('a server with an untrusted certificate gets no byte of the request', async () => {
    const { server, origin } = await start({ secure: { cert: pem('certificate'), key: pem('key') } })
    const error = await origin.send(post()).catch((reason) => reason)
    expect(error).toBeInstanceOf(NotConnected)
    expect(error.message).toContain('not trusted')
    await waitFor(() => server.open() === 0)
    expect(server.receivedBytes).toBe(0)
  })

  test('a server whose certificate is for another name gets no byte of the request', async () => {
    const certificate = { cert: pem('one.example'), key: pem('key') }
    const { server } = await start({ secure: certificate })
    const origin = openOrigin(server.url, { tls: { ca: pem('authority') } })
    cleanUps.push(origin.close)
    const error = await origin.send(post()).catch((reason) => reason)
    expect(error).toBeInstanceOf(NotConnected)
    expect(error.message).toContain('altnames')
    await waitFor(() => server.open() === 0)
    expect(server.receivedBytes).toBe(0)
  })

  test('a server without TLS gets no byte of the request', async () => {
    const { server } = await start()
    const origin = openOrigin(server.url.replace('http:', 'https:'), { connectTimeoutMs: 300 })
    cleanUps.push(origin.close)
    server.answer = () => {}
    expect(await origin.send(post()).catch((reason) => reason)).toBeInstanceOf(NotConnected)
    await waitFor(() => server.open() === 0)
    expect(server.requests).toEqual([])
  })
})

describe('a request that is canceled', () => {
  const why = new Error('the caller left')

  test('before it is sent: nothing is sent', async () => {
    const { server, origin } = await start()
    const cancelToken = new CancelToken()
    cancelToken.abort(why)
    expect(await rejection(origin.send(post('{}', { signal: cancelToken })))).toBe(why)
    expect(server.connections).toBe(0)
  })

  test('during connecting: nothing is sent', async () => {
    const { server, origin } = await start()
    const cancelToken = new CancelToken()
    const sending = origin.send(post('{}', { signal: cancelToken }))
    cancelToken.abort(why)
    expect(await rejection(sending)).toBe(why)
    await Bun.sleep(50)
    await waitFor(() => server.open() === 0)
    expect(server.receivedBytes).toBe(0)
  })

  test('while it waits for the answer, or during the answer: the connection is closed immediately', async () => {
    const { server, origin } = await start()
    server.answer = () => {}
    const cancelToken = new CancelToken()
    const waiting = origin.send(post('{}', { signal: cancelToken }))
    await waitFor(() => server.requests.length === 1)
    cancelToken.abort(why)
    expect(await rejection(waiting)).toBe(why)
    await waitFor(() => server.open() === 0)

    server.answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    const other = new AbortController()
    const response = await origin.send(post('{}', { signal: other.signal }))
    const text = textOf(response)
    other.abort(why)
    expect(await rejection(text)).toBe(why)
    await waitFor(() => server.open() === 0)
  })

  test('after its end: the connection stays open, because another request may use it', async () => {
    const { server, origin } = await start()
    const cancelToken = new CancelToken()
    const response = await origin.send(post('{}', { signal: cancelToken }))
    expect(await textOf(response)).toBe('ok')
    const next = origin.send(post())
    cancelToken.abort(why)
    response.body.cancel()
    expect(await textOf(await next)).toBe('ok')
    expect(server.connections).toBe(1)
  })
})

describe('a body', () => {
  const pieces = 64
  const piece = Buffer.alloc(MEBIBYTE, 'x')

  /** Starts a server that writes as much as the client reads. Returns the number of bytes written. */
  function pour(server: ScriptedServer): () => number {
    let written = 0
    server.answer = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`)
      const more = () => {
        while (written < pieces) {
          written++
          if (!socket.write(piece)) return
        }
      }
      socket.on('drain', more)
      more()
    }
    return () => written
  }

  async function standsStill(written: () => number): Promise<number> {
    let before = -1
    await waitFor(async () => {
      const stands = written() > 0 && written() === before
      before = written()
      await Bun.sleep(500)
      return stands
    })
    return before
  }

  test('is received only while it is read', async () => {
    const { server, origin } = await start()
    const written = pour(server)
    const { body } = await origin.send(post())
    expect(await standsStill(written)).toBeLessThan(pieces / 2)
    let bytes = 0
    for await (const taken of body) bytes += taken.length
    expect(bytes).toBe(pieces * piece.length)
    server.answer = (socket) => void socket.write(OK)
    expect(await send(origin)).toBe('ok')
    expect(server.connections).toBe(1)
  })

  test('is received at the pace of its reader, and ends when the reader stops', async () => {
    const { server, origin } = await start()
    const written = pour(server)
    const { body } = await origin.send(post())
    for await (const taken of body) {
      expect(taken.length).toBeGreaterThan(0)
      expect(await standsStill(written)).toBeLessThan(pieces / 2)
      break
    }
    await waitFor(() => server.open() === 0)
  })

  test('that is larger than the limit is an error', async () => {
    const { server, origin } = await start()
    pour(server)
    const { body } = await origin.send(post())
    expect(await rejection(body.bytes(3 * MEBIBYTE))).toBeInstanceOf(BodyTooLarge)
    await waitFor(() => server.open() === 0)
    server.answer = (socket) => void socket.write(OK)
    const small = await origin.send(post())
    expect(await rejection(small.body.bytes(1))).toBeInstanceOf(BodyTooLarge)
  })

  test('that arrives before the whole request was sent is the answer, and the rest is not sent', async () => {
    const { server, origin } = await start()
    const headers = { 'content-length': String(pieces * piece.length) }
    let taken = 0
    async function* slowly() {
      for (let count = 0; count < pieces; count++) {
        taken++
        yield piece
        await Bun.sleep(1)
      }
    }
    const sending = origin.send(post(slowly(), { headers }))
    await waitFor(() => server.receivedBytes > 0)
    server.say('HTTP/1.1 400 Too Many\r\nContent-Length: 2\r\n\r\nno')
    const response = await sending
    expect({ status: response.status, text: await textOf(response) }).toEqual({ status: 400, text: 'no' })
    await waitFor(() => server.open() === 0)
    expect(taken).toBeLessThan(pieces)
  })

  test('whose source fails makes the request fail', async () => {
    const { server, origin } = await start()
    async function* broken() {
      yield Buffer.from('half')
      throw new Error('the disk is gone')
    }
    const request = post(broken(), { headers: { 'content-length': '100' } })
    expect((await rejection(origin.send(request))).message).toContain('the disk is gone')
    await waitFor(() => server.open() === 0)
    expect(server.requests).toEqual([])
  })

  const packings = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync, 'X-GZIP': gzipSync }
  test.each(Object.entries(packings))('compressed with %s is decompressed', async (coding, pack) => {
    const { server, origin } = await start()
    const text = 'Grüße, 世界. '.repeat(100_000)
    const packed = pack(Buffer.from(text))
    server.answer = (socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${packed.length}\r\n\r\n`,
      )
      socket.write(packed)
    }
    expect(await send(origin)).toBe(text)
    server.answer = (socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${packed.length}\r\n\r\n`,
      )
      socket.end(packed.subarray(0, packed.length / 2))
    }
    await rejection(send(origin))
  })

  test('compressed to very few bytes is decompressed only as far as it is read', async () => {
    const { server, origin } = await start()
    const packed = gzipSync(Buffer.alloc(512 * MEBIBYTE))
    server.answer = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`)
      socket.write(packed)
    }
    const { body } = await origin.send(post())
    expect(await rejection(body.bytes(8 * MEBIBYTE))).toBeInstanceOf(BodyTooLarge)
    await waitFor(() => server.open() === 0)
  })
})

describe('a compressed body', () => {
  test('is never decompressed beyond the limit, however it is read', async () => {
    const { server, origin } = await start()
    const packed = gzipSync(Buffer.alloc(300 * MEBIBYTE))
    server.answer = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`)
      socket.write(packed)
    }
    const { body } = await origin.send(post())
    let bytes = 0
    const reading = (async () => {
      for await (const piece of body) bytes += piece.length
    })()
    expect(await rejection(reading)).toBeInstanceOf(BodyTooLarge)
    expect(bytes).toBeLessThanOrEqual(256 * MEBIBYTE)
    await waitFor(() => server.open() === 0)
  })
})
