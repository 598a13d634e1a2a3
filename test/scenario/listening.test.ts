// Where a gateway listens: HTTPS with a renewed certificate, a unix socket, and behind proxies that name their callers.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { outside } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import { faultsOf } from '../../src/config/schema'
import { clientAddressOf } from '../../src/http/client-address'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'

setDefaultTimeout(60_000)

const fixture = (name: string) => join(import.meta.dir, `../fixtures/tls/${name}.pem`)

/** The names in the certificate that a new connection is shown. */
function shownNames({ url }: TestGateway): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().subjectaltname ?? '')
        socket.end()
      },
    )
    socket.on('error', reject)
  })
}

describe('HTTPS', () => {
  test('a renewed certificate is shown to new connections while a stream of an older one runs to its end', async () => {
    const folder = temporaryFolder()
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    copyFileSync(fixture('one.example'), certFile)
    copyFileSync(fixture('key'), keyFile)
    const gateway = await startTestGateway({
      config: { server: { tls: { certFile, keyFile } } },
      tokenDelayMs: 20,
    })
    expect(gateway.url).toStartWith('https://')
    expect(await shownNames(gateway)).toContain('one.example')
    const ask = (body: object) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test-chat', messages: say('[sandbox tokens=20] Hello!'), ...body }),
        tls: { rejectUnauthorized: false },
      })
    const running = await ask({ stream: true })
    copyFileSync(fixture('two.example'), certFile)
    expect(await gateway.server.reload('test')).toEqual({ changes: [] })
    expect(await shownNames(gateway)).toContain('two.example')
    expect(await running.text()).toContain('[DONE]')
    expect((await ask({})).status).toBe(200)
    writeFileSync(keyFile, 'no key')
    expect(await gateway.server.reload('test')).toHaveProperty('faults')
    expect(await shownNames(gateway)).toContain('two.example')
    await gateway.close()
  })

  test('files that change are read again by themselves, and those that cannot be used are not', async () => {
    const folder = temporaryFolder()
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    copyFileSync(fixture('one.example'), certFile)
    copyFileSync(fixture('key'), keyFile)
    const gateway = await startTestGateway({
      config: { server: { tls: { certFile, keyFile } } },
      // A minute of the scheduler is half a second.
      outside: { after: (milliseconds, run) => outside.after(milliseconds / 120, run) },
    })
    const logged = (event: string, job?: string) =>
      gateway.log.some((line) => line.event === event && line.fields.job === job)
    writeFileSync(certFile, 'half a certificate')
    await waitFor(() => logged('job_failed', 'renew the certificate'))
    expect(await shownNames(gateway)).toContain('one.example')
    copyFileSync(fixture('two.example'), certFile)
    await waitFor(() => logged('certificate_renewed'))
    expect(await shownNames(gateway)).toContain('two.example')
    await gateway.close()
  })

  test('a certificate that cannot be used is a fault of the configuration, without its key', () => {
    const faults = (tls: object) => faultsOf({ server: { tls }, upstreams: {}, models: {} })
    expect(faults({ certFile: fixture('one.example'), keyFile: fixture('key') })).toEqual([])
    expect(faults({ certFile: '/none', keyFile: fixture('key') })).toEqual([
      'server.tls.certFile: /none cannot be read (ENOENT)',
    ])
    expect(faults({ certFile: fixture('key'), keyFile: fixture('key') })[0]).toContain('has no certificate')
    expect(faults({ certFile: fixture('one.example'), keyFile: fixture('one.example') })[0]).toContain(
      'no private key',
    )
  })
})

test.each(['HTTP', 'HTTPS'])('by %s the path is found behind every host', async (protocol) => {
  const tls = { certFile: fixture('one.example'), keyFile: fixture('key') }
  const gateway = await startTestGateway({ config: { server: protocol === 'HTTPS' ? { tls } : {} } })
  const statuses: Record<string, number> = {
    '/health/live': 200,
    '/v1/models': 200,
    '/v1/models/test-chat?x=/y': 200,
    '/v1/videos/none': 404,
  }
  const asked = ['x', 'gw', 'gw:1', '[::1]', 'gateway.example'].flatMap((host) =>
    Object.keys(statuses).map(async (path) => {
      const headers = { host, authorization: `Bearer ${gateway.secret}` }
      const tls = { rejectUnauthorized: false }
      const { status } = await fetch(`${gateway.url}${path}`, { headers, tls })
      return { host, path, status }
    }),
  )
  for (const { host, path, status } of await Promise.all(asked)) {
    expect({ host, path, status }).toEqual({ host, path, status: statuses[path] ?? 0 })
  }
  // A wildcard, which Bun's own router does not get.
  const admin = await fetch(`${gateway.url}/admin/v1/accounts`, { tls: { rejectUnauthorized: false } })
  expect(admin.status).toBe(401)
  await gateway.close()
})

test('nothing is kept of a server that has stopped', async () => {
  const before = process.listenerCount('beforeExit')
  const gateway = await startTestGateway()
  await gateway.close()
  expect(process.listenerCount('beforeExit')).toBe(before)
})

test('a unix socket is for the owner and the group, and what is not a socket is not replaced', async () => {
  const path = join(temporaryFolder(), 'http.sock')
  const gateway = await startTestGateway({ config: { server: { unixSocket: path } } })
  expect(gateway.url).toBe(`unix:${path}`)
  expect(statSync(path).mode & 0o777).toBe(0o660)
  expect((await fetch('http://gateway/health', { unix: path })).status).toBe(200)
  await gateway.close()
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  writeFileSync(path, 'a text')
  expect((await rejection(startTestGateway({ config: { server: { unixSocket: path } } }))).message).toContain(
    'is not a socket',
  )
})

test('an answer on a unix socket may take longer than the head of a request', async () => {
  const path = join(temporaryFolder(), 'http.sock')
  const gateway = await startTestGateway({
    balance: '1',
    config: { server: { unixSocket: path, headersTimeoutMs: 10_000 } },
  })
  const ask = async (place: string, options: BunFetchRequestInit = {}): Promise<Json> => {
    const headers = { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' }
    const response = await fetch(`http://gateway/v1/${place}`, { headers, unix: path, ...options })
    return (await response.json()) as Json
  }
  const body = { model: 'vidw2.6-t2v', input: { prompt: 'A cat [sandbox task_ms=15000]' } }
  const { id } = await ask('videos/generations', { method: 'POST', body: JSON.stringify(body) })
  expect(await ask(`videos/generations/${id}?wait=30`)).toMatchObject({ id, status: 'succeeded' })
  await gateway.close()
})

describe('the address of a client', () => {
  const proxies = { trustedProxies: ['10.0.0.0/8', 'fd00::/8'] }
  const rows: [
    name: string,
    server: Config['server'],
    peer: string | null,
    forwarded: string | null,
    client: string | null,
  ][] = [
    ['is the peer', {}, '198.51.100.7', null, '198.51.100.7'],
    ['is the peer, whatever it says', {}, '198.51.100.7', '203.0.113.1', '198.51.100.7'],
    ['is the peer that is not a trusted proxy', proxies, '198.51.100.7', '203.0.113.1', '198.51.100.7'],
    ['is what a trusted proxy says', proxies, '10.0.0.1', '203.0.113.1', '203.0.113.1'],
    [
      'is the last that is not a proxy',
      proxies,
      '10.0.0.1',
      '192.0.2.66, 203.0.113.1, 10.9.9.9',
      '203.0.113.1',
    ],
    [
      'is never taken from before an address that cannot be read',
      proxies,
      '10.0.0.1',
      '192.0.2.66, ?, 10.2.2.2',
      '10.2.2.2',
    ],
    ['is the first proxy if all are trusted', proxies, '10.0.0.1', '10.0.0.9', '10.0.0.9'],
    ['is the proxy itself if it says nothing', proxies, '10.0.0.1', null, '10.0.0.1'],
    ['has no port', proxies, '10.0.0.1', '203.0.113.1:4711', '203.0.113.1'],
    ['is read in IPv6', proxies, 'fd00::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['is IPv4 where a system writes it as IPv6', proxies, '::ffff:10.0.0.1', '203.0.113.1', '203.0.113.1'],
    ['is what the proxy at a unix socket says', { unixSocket: '/run/x' }, null, '203.0.113.1', '203.0.113.1'],
    ['is unknown on a closed connection', proxies, null, '203.0.113.1', null],
  ]
  for (const [name, server = {}, peer, forwarded, client] of rows) {
    test(name, () => {
      const headers = forwarded === null ? {} : { 'x-forwarded-for': forwarded }
      const listener = {
        url: new URL('http://gateway'),
        timeout() {},
        requestIP: () => (peer === null ? null : { address: peer }),
      }
      expect(clientAddressOf(new Request('http://gateway', { headers }), listener, { server })).toBe(client)
    })
  }

  test('is in the request log', async () => {
    const gateway = await startTestGateway({ config: { server: { trustedProxies: ['127.0.0.0/8'] } } })
    await gateway.chat({}, { 'x-forwarded-for': '203.0.113.1' })
    expect(await gateway.requestLog()).toMatchObject([{ client_address: '203.0.113.1' }])
    await gateway.close()
  })
})
