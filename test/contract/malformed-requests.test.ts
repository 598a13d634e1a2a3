// Requests that no client of the API sends, as raw bytes on a socket: each row with its whole answer. If a handler sees the
// request, a JSON error and at most one short line in the log; if Bun's parser rejects it, a bare status and the end of the
// connection. No answer shows a line of our source, and the server keeps running. No hook of `Bun.serve` sees what its parser
// rejects (the rows with `bare` and 'closed'): the last test says so, and fails when that changes. Only node:http has
// `clientError`, and it is another server than the one that the application runs on.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { RawCaller } from '../support/servers/raw-caller'

setDefaultTimeout(180_000)

let installation: Installation
let server: Running

beforeAll(async () => {
  installation = await install()
  server = await installation.serve()
})
afterAll(() => stopWell(installation, server))

/** A status with the code of its JSON error, and a line in the log or none; or the status without a body. */
type Expected = { status: number; code?: string; logged?: true } | 'closed'

const bare = (status: number): Expected => ({ status })
const error = (status: number, code: string): Expected => ({ status, code })
const logged = (status: number, code: string): Expected => ({ status, code, logged: true })
const unauthorized = error(401, 'invalid_api_key')
const unknown = error(404, 'unknown_route')
const misleading = logged(400, 'invalid_path')

/** The head of a request line and its Host. */
const to = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: gateway', ...headers, '', ''].join('\r\n')
const from = (host: string, target = '/health') => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
const post = (headers: string[], body: string) => to('POST /v1/chat/completions', ...headers) + body

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${btoa('0123456789abcdef')}`,
]
const long = 'a'.repeat(20_000)

const rows: [name: string, bytes: string, expected: Expected][] = [
  [
    'CONNECT to a host',
    'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
    logged(405, 'method_not_allowed'),
  ],
  ['CONNECT to a path', to('CONNECT /v1/chat/completions'), logged(405, 'method_not_allowed')],
  ['TRACE of a route', to('TRACE /health'), logged(405, 'method_not_allowed')],
  ['TRACE of nothing', to('TRACE /nothing'), logged(404, 'unknown_route')],
  ['a method of another protocol', to('PROPFIND /v1/models'), error(405, 'method_not_allowed')],
  ['an unknown method', to('BREW /health'), 'closed'],
  ['a method in lower case', to('get /health'), 'closed'],
  ['a method that is a property of every object', to('constructor /health'), 'closed'],

  ['no Host', 'GET /health HTTP/1.1\r\n\r\n', bare(400)],
  ['two Hosts', 'GET /health HTTP/1.1\r\nHost: one\r\nHost: two\r\n\r\n', logged(400, 'invalid_host')],
  ['one Host twice', 'GET /nothing HTTP/1.1\r\nHost: one\r\nHost: one\r\n\r\n', logged(400, 'invalid_host')],
  ['a Host with a space', from('a b'), logged(400, 'invalid_host')],
  ['a Host with markup, on no route', from('exa<mple>', '/nothing'), logged(400, 'invalid_host')],
  ['a Host with a path', from('a/b?c', '/nothing'), logged(400, 'invalid_host')],
  ['a Host with a name and password', from('user:password@host', '/nothing'), logged(400, 'invalid_host')],
  ['a Host with an open bracket', from('[::1', '/v1/models'), logged(400, 'invalid_host')],
  ['a Host with bytes that are not text', from('\xff\xfe', '/nothing'), logged(400, 'invalid_host')],
  [
    'an invalid port',
    post(['Host: a:99999', 'Content-Length: 2'], '{}').replace('Host: gateway\r\n', ''),
    logged(400, 'invalid_host'),
  ],
  ['a Host that no address can hold', from('1.2.3.4.5', '/nothing'), unknown],
  ['a Host that is an address', from('[::1]:8080', '/nothing'), unknown],
  ['an empty Host', from('', '/nothing'), unknown],
  ['an empty Host, with the list of models', from('', '/v1/models?limit=1'), unauthorized],
  ['a short Host', from('gw', '/nothing/health'), unknown],
  ['HTTP/1.0 without a Host', 'GET /nothing HTTP/1.0\r\nOrigin: https://example.com\r\n\r\n', unknown],
  [
    'HTTP/1.0 without a Host, with an Origin',
    'POST /v1/chat/completions HTTP/1.0\r\nOrigin: https://example.com\r\nContent-Length: 2\r\n\r\n{}',
    unauthorized,
  ],

  ['another server in the target', to('GET http://elsewhere/nothing'), unknown],
  ['a target in another scheme', to('GET ftp://elsewhere/health'), bare(400)],
  ['a target with a name, a password and half an address', to('GET http://user:password@[/nothing'), unknown],
  ['two slashes', to('GET //v1/models'), unknown],
  ['two slashes and half an address', to('GET //[/health'), unknown],
  ['no slash', to('GET health'), bare(400)],
  ['a backslash', to('GET \\health'), bare(400)],
  ['a star', to('OPTIONS *'), bare(400)],
  ['a space', to('GET /a b'), bare(505)],
  ['a fragment', to('GET /nothing#part'), unknown],
  ['a way up', to('GET /v1/../nothing'), misleading],
  ['a way up to the admin API', to('GET /v1/../admin/v1/me'), misleading],
  ['a way up, encoded', to('GET /v1/%2e%2E/admin/v1/me'), misleading],
  ['a way up, half encoded, as an id', to('GET /v1/videos/.%2e'), misleading],
  ['a way up by backslashes', to('GET /v1/..\\admin\\v1\\me'), misleading],
  ['a way up by backslashes, with a slash at the end', to('GET /v1/..\\admin\\v1\\me/'), misleading],
  ['a way up next to an empty segment', to('GET /v1//../..\\admin/v1/me'), misleading],
  ['a way up with an empty segment behind', to('GET //v1/..\\..\\admin/v1//me'), misleading],
  [
    'a way up from a path of many segments',
    to(`GET /${'a/'.repeat(40)}${'../'.repeat(40)}health`),
    misleading,
  ],
  ['a way up in a whole address', to('GET http://gateway/v1/..\\admin/v1/me'), misleading],
  ['a way that leads nowhere', to('GET /v1/%2e/models'), misleading],
  ['backslashes', to('GET /v1\\models'), misleading],
  ['an encoded backslash', to('GET /v1/videos/..%5C..%5Cadmin'), misleading],
  ['dots in a name', to('GET /v1/models/gpt-4%2e1..mini'), unauthorized],
  ['a backslash in a query', to('GET /v1/models?after=..\\admin'), unauthorized],
  ['%00', to('GET /v1/%00'), unknown],
  ['% without digits', to('GET /v1/%zz'), unknown],
  ['% without digits, as an id', to('GET /v1/videos/generations/%zz'), unauthorized],
  ['bytes that are not UTF-8, as an id', to('GET /v1/videos/%ff%fe'), unauthorized],
  [
    '% without digits, as an artifact',
    to('GET /v1/artifacts/%zz?expires=%zz'),
    error(404, 'artifact_not_found'),
  ],
  ['% without digits, as a query', to('GET /v1/models?limit=%zz%ff'), unauthorized],
  ['bytes above ASCII', to('GET /\xc3\xa9\xff'), unknown],
  ['a property of every object', to('GET /__proto__'), unknown],
  ['a long path', to(`GET /${long.slice(0, 10_000)}`), unknown],
  ['a longer path', to(`GET /${long}`), bare(431)],
  ['a long header', to('GET /health', `X-Long: ${long}`), bare(431)],
  ['many headers', to('GET /health', ...Array(500).fill('X: y')), bare(431)],

  ['HTTP/0.9', 'GET /health\r\n\r\n', bare(505)],
  ['HTTP/1.2', 'GET /health HTTP/1.2\r\nHost: gateway\r\n\r\n', bare(505)],
  ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', bare(400)],
  ['a web socket', to('GET /v1/models', ...upgrade), unauthorized],
  ['a web socket to nowhere', to('GET /nothing', ...upgrade), unknown],
  ['an unknown expectation', post(['Expect: magic', 'Content-Length: 2'], '{}'), unauthorized],
  ['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', bare(400)],
  ['bytes', '\x00\x01\x02\x03 bytes\r\n\r\n', bare(400)],
  ['text', 'hello there\r\n\r\n', bare(400)],
  ['empty lines', '\r\n\r\n\r\n', bare(400)],
  ['lines without CR', 'GET /health HTTP/1.1\nHost: gateway\n\n', bare(505)],
  ['a folded header', to('GET /health', 'X: y\r\n z'), bare(400)],
  ['a header without a colon', to('GET /health', 'X'), bare(400)],
  ['a space before the colon', to('GET /health', 'X : y'), bare(400)],
  ['NUL in a header', to('GET /health', 'X: y\x00z'), bare(400)],
  ['CR in a header', to('GET /health', 'X: y\rz'), bare(400)],

  ['length and chunks', post(['Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'), bare(400)],
  ['two lengths', post(['Content-Length: 2', 'Content-Length: 3'], '{}'), bare(400)],
  ['a length with a sign', post(['Content-Length: +2'], '{}'), bare(400)],
  ['a negative length', post(['Content-Length: -2'], '{}'), bare(400)],
  ['a length beyond numbers', post(['Content-Length: 99999999999999999999'], '{}'), bare(400)],
  ['a length beyond the limit', post(['Content-Length: 999999999999'], '{}'), bare(413)],
  ['an unknown coding', post(['Transfer-Encoding: xchunked'], '0\r\n\r\n'), bare(400)],
  ['two codings', post(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'), bare(400)],
  ['a chunk without a size', post(['Transfer-Encoding: chunked'], 'zz\r\n\r\n'), unauthorized],
]

/** Lines of the log, without those of requests, which come when they have ended. */
function eventLines(): string[] {
  const lines = server.stderr().split('\n')
  return lines.filter((line) => line !== '' && !line.includes('"event":"request"'))
}

for (const [name, bytes, expected] of rows) {
  test(name, async () => {
    const before = eventLines().length
    const caller = await RawCaller.connect(server.url)
    caller.send(Buffer.from(bytes, 'latin1'))
    const wantsBody = expected !== 'closed' && expected.code !== undefined
    await waitFor(() => caller.closed || (wantsBody && /\}(\r\n)?$/.test(caller.head())))
    const [head = ''] = caller.head().split('\r\n\r\n', 1)
    // Chunks, or the bare 400 with which Bun ends a body that breaks off, may stand around it.
    const rest = caller.head().slice(head.length + 4)
    const body = wantsBody ? (/\{.*\}/s.exec(rest)?.[0] ?? '') : rest
    caller.leave('fin')
    if (expected === 'closed') {
      expect(caller.head()).toBe('')
      expect(caller.closed).toBe(true)
    } else {
      expect(head).toStartWith(`HTTP/1.1 ${expected.status} `)
      if (expected.code === undefined)
        expect({ body, closed: caller.closed }).toEqual({ body: '', closed: true })
      else expect(JSON.parse(body)).toMatchObject({ error: { code: expected.code } })
    }
    const lines = expected !== 'closed' && expected.logged ? 1 : 0
    if (lines > 0) await waitFor(() => eventLines().length > before)
    const written = eventLines().slice(before)
    expect(written).toHaveLength(lines)
    for (const line of written) {
      expect(JSON.parse(line)).toMatchObject({ event: 'request_malformed' })
      expect(line.length).toBeLessThan(200)
    }
  })
}

test('100 Continue comes before the body is wanted, and the answer behind it', async () => {
  const caller = await RawCaller.connect(server.url)
  caller.send(post(['Expect: 100-continue', 'Content-Length: 2'], ''))
  await waitFor(() => caller.head().includes('}'))
  expect(caller.head()).toStartWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 ')
  caller.leave('fin')
})

test('after all malformed requests the server still answers, and has printed only log lines', async () => {
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  for (const line of server.stderr().split('\n').filter(Boolean)) expect(() => JSON.parse(line)).not.toThrow()
})

test('a request that the parser rejects reaches no hook of the server, so its answer cannot be ours', async () => {
  let seen = 0
  const see = () => {
    seen++
    return new Response('seen')
  }
  const plain = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: see, error: see })
  const refused = rows.filter(([, , expected]) => expected === 'closed' || expected.code === undefined)
  for (const [name, bytes] of refused) {
    const caller = await RawCaller.connect(plain.url.href)
    caller.send(Buffer.from(bytes, 'latin1'))
    await waitFor(() => caller.closed || caller.head().includes('seen'))
    expect({ name, seen, closed: caller.closed }).toEqual({ name, seen: 0, closed: true })
    expect(caller.head()).not.toContain('{')
  }
  await plain.stop(true)
})
