// Requests through a proxy, over real connections: what the proxy can see, whose certificate is checked, and
// misbehaving proxies. No byte of a request may be sent before the tunnel exists.

import { afterEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { proxyFor, transportBehind } from '../../src/http-client/environment-proxies'
import { type OriginOptions, openOrigin } from '../../src/http-client/origin'
import { readProxy } from '../../src/http-client/proxy'
import type { HttpResponse } from '../../src/http-client/response'
import { type HttpRequest, NotConnected } from '../../src/http-client/transport'
import { CancelToken } from '../../src/lib/cancel-token'
import { waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'
import { startConnectProxy } from '../support/servers/connect-proxy'
import { OK, startScriptedServer } from '../support/vendors/scripted-server'

const pem = (name: string) => readFileSync(join(import.meta.dir, `../fixtures/tls/${name}.pem`), 'utf8')
const certificate = { cert: pem('certificate'), key: pem('key') }
const MEBIBYTE = 1024 * 1024
const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** A server with TLS, and the path to it through a proxy. */
async function start(options: OriginOptions & { credentials?: string; url?: (port: string) => string } = {}) {
  const { credentials, url = (port) => `https://localhost:${port}`, ...rest } = options
  const proxy = await startConnectProxy(credentials)
  const server = await startScriptedServer({ secure: certificate })
  const { port } = new URL(server.url)
  const tls = { ca: certificate.cert, ...rest.tls }
  const origin = openOrigin(url(port), { connectTimeoutMs: 5_000, ...rest, tls, proxy: proxy.address })
  cleanUps.push(origin.close, server.stop, proxy.stop)
  return { proxy, server, origin, port }
}

function post(body: HttpRequest['body'] = '{}', fields: Partial<HttpRequest> = {}): HttpRequest {
  return { method: 'POST', path: '/v1/chat', headers: {}, body, signal: new CancelToken(), ...fields }
}

const textOf = async ({ body }: HttpResponse) => Buffer.from(await body.bytes(64 * MEBIBYTE)).toString()

const failureOf = async (sent: Promise<HttpResponse>) => {
  const error = await sent.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(NotConnected)
  return error as NotConnected
}

describe('a tunnel', () => {
  test('is requested by host name, with the password for the proxy only, and reused', async () => {
    const { proxy, server, origin, port } = await start({ credentials: 'me:p%40ss' })
    for (let count = 0; count < 3; count++) expect(await textOf(await origin.send(post()))).toBe('ok')
    expect(proxy.heads).toEqual([
      `CONNECT localhost:${port} HTTP/1.1\r\nhost: localhost:${port}\r\nproxy-authorization: Basic ${btoa('me:p@ss')}`,
    ])
    expect(server.requests).toHaveLength(3)
    expect(server.requests[0]).toStartWith(`POST /v1/chat HTTP/1.1\r\nhost: localhost:${port}\r\n`)
    expect(server.requests.join()).not.toContain('proxy-authorization')
  })

  test('carries large bodies both ways, also to a reader that pauses', async () => {
    const { server, origin } = await start()
    const large = 'x'.repeat(12 * MEBIBYTE)
    server.answer = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n`)
      socket.write(large)
    }
    const { body } = await origin.send(post(large))
    expect(server.requests[0]?.length).toBeGreaterThan(large.length)
    let length = 0
    for await (const piece of body) {
      if (length < MEBIBYTE) await Bun.sleep(5)
      length += piece.length
    }
    expect(length).toBe(large.length)
  })

  test('shows the server a client certificate', async () => {
    const secure = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: true },
      fetch: () => new Response('known'),
    })
    const proxy = await startConnectProxy()
    cleanUps.push(proxy.stop, () => void secure.stop(true))
    const open = (tls: object) => {
      const origin = openOrigin(`https://localhost:${secure.port}`, { tls, proxy: proxy.address })
      cleanUps.push(origin.close)
      return origin
    }
    const known = open({ ca: certificate.cert, ...certificate })
    expect(await textOf(await known.send(post()))).toBe('known')
    await rejection(open({ ca: certificate.cert }).send(post()))
  })

  test.each([
    ['from an unknown authority', (port: string) => `https://localhost:${port}`, { ca: undefined }],
    ['for another name', (port: string) => `https://127.0.0.1.nip.example:${port}`, {}],
    ['without the IP address', (port: string) => `https://127.0.0.2:${port}`, {}],
  ] as const)('to a server with a certificate %s carries no request', async (_, url, tls) => {
    const { proxy, server, origin, port } = await start({ url, tls: tls as object, address: '127.0.0.1' })
    expect((await failureOf(origin.send(post()))).message).toContain('certificate')
    expect(proxy.heads[0]).toStartWith(`CONNECT 127.0.0.1:${port} `)
    expect(server.requests).toEqual([])
    await waitFor(() => proxy.open() === 0)
  })

  test('to an IP address with a valid certificate is used', async () => {
    const { origin } = await start({ url: (port) => `https://127.0.0.1:${port}` })
    expect(await textOf(await origin.send(post()))).toBe('ok')
  })

  test('connects to the checked IP address, under the host name', async () => {
    const { proxy, server, origin, port } = await start({ address: '127.0.0.1' })
    expect(await textOf(await origin.send(post()))).toBe('ok')
    expect(proxy.heads[0]).toBe(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: 127.0.0.1:${port}`)
    expect(server.requests[0]).toContain(`host: localhost:${port}\r\n`)
  })

  test('ends when its request is canceled', async () => {
    const { proxy, origin } = await start()
    proxy.instead = () => {}
    const signal = new CancelToken()
    const sent = origin.send(post('{}', { signal }))
    await waitFor(() => proxy.heads.length === 1)
    signal.abort(new Error('the caller left'))
    expect((await rejection(sent)).message).toContain('the caller left')
    await waitFor(() => proxy.open() === 0)
  })
})

describe('a proxy that', () => {
  const rows: Record<string, { instead: (socket: Socket) => void; says: string }> = {
    'requires a password': {
      instead: (socket) => void socket.write('HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\n\r\n'),
      says: 'needs a user and a password',
    },
    'refuses to connect': {
      instead: (socket) => void socket.end('HTTP/1.1 502 Bad gateway\r\ncontent-length: 4\r\n\r\nlong'),
      says: 'refused to connect (502)',
    },
    redirects: {
      instead: (socket) => void socket.write('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n'),
      says: 'refused to connect (302)',
    },
    'never answers': { instead: () => {}, says: 'no connection within 300 ms' },
    'answers with half a head': {
      instead: (socket) => void socket.write('HTTP/1.1 200 OK\r\nvia: x\r\n'),
      says: 'no connection within 300 ms',
    },
    'does not speak HTTP': {
      instead: (socket) => void socket.write('220 mail ready\r\n'),
      says: 'other than HTTP',
    },
    'answers with another HTTP version': {
      instead: (socket) => void socket.write('HTTP/1.9 200 OK\r\n\r\n'),
      says: 'other than HTTP',
    },
    'never ends its head': {
      instead: (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`),
      says: 'other than HTTP',
    },
    'sends a body before the tunnel': {
      instead: (socket) => void socket.write(`HTTP/1.1 200 OK\r\n\r\n${OK}`),
      says: 'more than its answer',
    },
    'closes at once': { instead: (socket) => void socket.end(), says: 'closed the connection' },
    resets: { instead: (socket) => void socket.resetAndDestroy(), says: 'closed the connection' },
    'closes after its answer': {
      instead: (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'),
      says: '',
    },
    'sends its own bytes in the tunnel': {
      instead(socket) {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.on('data', () => void socket.write(OK))
      },
      says: '',
    },
  }
  for (const [what, { instead, says }] of Object.entries(rows)) {
    test(`${what} gets no request, and none is repeated`, async () => {
      const { proxy, server, origin } = await start({ connectTimeoutMs: 300 })
      proxy.instead = instead
      const body = 'the secret of the request'
      const error = await failureOf(origin.send(post(body)))
      expect(error.message).toContain(says)
      expect(proxy.heads).toHaveLength(1)
      expect(server.receivedBytes).toBe(0)
      await waitFor(() => proxy.open() === 0)
    })
  }

  test('cannot be reached causes an error without the password', async () => {
    const proxy = `http://me:secret@127.0.0.1:${await freePort()}`
    for (const url of ['https://a.example', 'http://a.example']) {
      const error = await failureOf(openOrigin(url, { proxy }).send(post()))
      expect(error.code).toBe('ECONNREFUSED')
      expect(error.message).toContain('the proxy cannot be reached')
      expect(error.message).not.toContain('secret')
    }
  })
})

describe('without TLS', () => {
  async function startPlain(credentials?: string) {
    const proxy = await startConnectProxy(credentials)
    const server = await startScriptedServer()
    cleanUps.push(server.stop, proxy.stop)
    const open = (url = server.url, options: OriginOptions = {}) => {
      const origin = openOrigin(url, { ...options, proxy: proxy.address })
      cleanUps.push(origin.close)
      return origin
    }
    return { proxy, server, open }
  }

  test('the proxy gets absolute URLs and its password, over reused connections', async () => {
    const { proxy, server, open } = await startPlain('me:secret')
    const origin = open()
    for (let count = 0; count < 2; count++) expect(await textOf(await origin.send(post()))).toBe('ok')
    expect(proxy.heads).toHaveLength(1)
    expect(proxy.heads[0]).toStartWith(
      `POST ${server.url}/v1/chat HTTP/1.1\r\nhost: ${new URL(server.url).host}`,
    )
    expect(proxy.heads[0]).toContain(`proxy-authorization: Basic ${btoa('me:secret')}`)
    expect(server.connections).toBe(1)
  })

  test('the URL has the checked IP address, and the Host header the name', async () => {
    const { proxy, open, server } = await startPlain()
    const { port } = new URL(server.url)
    const origin = open(`http://hook.example:${port}`, { address: '127.0.0.1' })
    expect(await textOf(await origin.send(post()))).toBe('ok')
    expect(proxy.heads[0]).toStartWith(
      `POST http://127.0.0.1:${port}/v1/chat HTTP/1.1\r\nhost: hook.example:${port}\r\n`,
    )
  })

  test('a proxy that requires a password has not forwarded the request', async () => {
    const { proxy, open } = await startPlain()
    proxy.instead = (socket) => void socket.write('HTTP/1.1 407 No\r\ncontent-length: 2\r\n\r\nno')
    expect((await failureOf(open().send(post()))).message).toContain('user and a password')
    await waitFor(() => proxy.open() === 0)
  })
})

describe('the environment', () => {
  const variables = { HTTPS_PROXY: 'http://s.example:1', HTTP_PROXY: 'http://p.example:2' }
  const rows: readonly [url: string, exceptions: string, proxy: string | undefined][] = [
    ['https://a.example/x', '', 'http://s.example:1'],
    ['http://a.example/x', '', 'http://p.example:2'],
    ['http://127.0.0.1:9/x', '', undefined],
    ['http://localhost:9/x', '', undefined],
    ['http://[::1]:9/x', '', undefined],
    ['https://a.example', '*', undefined],
    ['https://a.example', 'a.example', undefined],
    ['https://a.example.', 'A.example', undefined],
    ['https://b.a.example', 'a.example', undefined],
    ['https://b.a.example', '.a.example, other', undefined],
    ['https://b.a.example', '*.a.example', undefined],
    ['https://ba.example', 'a.example', 'http://s.example:1'],
    ['https://a.example', 'a.example:443', undefined],
    ['https://a.example', 'a.example:444', 'http://s.example:1'],
    ['https://10.1.2.3', '10.0.0.0/8', undefined],
    ['https://11.1.2.3', '10.0.0.0/8', 'http://s.example:1'],
    ['https://[fd00::1]', 'fd00::/8', undefined],
    ['https://[fd00::1]', 'fd00::1', undefined],
    ['https://a.example', ', ,', 'http://s.example:1'],
  ]
  test.each(rows)('%s with NO_PROXY=%s', (url, NO_PROXY, proxy) => {
    expect(proxyFor(new URL(url), { ...variables, NO_PROXY })).toBe(proxy as string)
  })

  test('is not used if the upstream sets a proxy, or none', async () => {
    const server = await startScriptedServer()
    const proxy = await startConnectProxy()
    cleanUps.push(server.stop, proxy.stop)
    const behind = transportBehind({ http_proxy: `127.0.0.1:${await freePort()}` })
    const send = async (set: string | null) =>
      textOf(await behind.open(server.url, { proxy: set }).send(post()))
    expect([await send(null), await send(proxy.address)]).toEqual(['ok', 'ok'])
    expect(proxy.heads).toHaveLength(1)
  })

  test('with an invalid proxy is a fault whose message hides the password', () => {
    for (const HTTPS_PROXY of ['https://me:secret@p.example', 'socks5://me:secret@p.example', 'http://']) {
      const open = () => transportBehind({ HTTPS_PROXY })
      expect(open).toThrow('a proxy has an address such as')
      expect(open).not.toThrow('secret')
    }
    expect(readProxy('p.example:3128')).toEqual({
      hostname: 'p.example',
      port: 3128,
      authorization: undefined,
    })
  })
})
