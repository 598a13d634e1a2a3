// Which callers count as programs on this machine: by the connection's address, by the requested host, and only if no
// proxy forwards for another caller.

import { expect, test } from 'bun:test'
import type { Listener } from '../../src/http/connection'
import { isLocal } from '../../src/listen/this-machine'

const HERE = '127.0.0.1'

function asks(address: string | null, headers: Record<string, string>): boolean {
  const listener = { requestIP: () => address && { address } } as unknown as Listener
  return isLocal(new Request('http://localhost/admin/v1/me', { headers }), listener)
}

test.each([
  [HERE, { host: '127.0.0.1:8080' }],
  ['::1', { host: '[::1]:8080' }],
  ['::ffff:127.0.0.1', { host: 'localhost' }],
  ['127.0.0.2', { host: 'LOCALHOST:8080' }],
  // What curl, a browser and the command line send.
  [HERE, { host: 'localhost', 'user-agent': 'curl/8.5.0', accept: '*/*' }],
  [
    HERE,
    {
      host: 'localhost',
      connection: 'keep-alive',
      origin: 'http://localhost',
      'sec-fetch-site': 'same-origin',
    },
  ],
  [HERE, { host: 'localhost', authorization: 'Bearer adm-1', 'idempotency-key': 'x', 'x-request-id': 'y' }],
  [HERE, { host: 'localhost', traceparent: '00-1-2-01', 'x-stainless-os': 'Linux', 'x-csrf-token': 'z' }],
])('a request from %s with %j is from this machine', (address, headers) => {
  expect(asks(address, headers)).toBe(true)
})

test.each([
  ['192.0.2.2', { host: 'localhost' }],
  ['::ffff:192.0.2.2', { host: 'localhost' }],
  ['fe80::1', { host: 'localhost' }],
  [null, { host: 'localhost' }],
  [HERE, { host: 'evil.example.com' }],
  [HERE, { host: 'localhost.evil.example.com' }],
  [HERE, { host: '127.0.0.1.evil.example.com' }],
  [HERE, {}],
  [HERE, { host: 'localhost', 'x-forwarded-for': '127.0.0.1' }],
  [HERE, { host: 'localhost', forwarded: 'for=127.0.0.1' }],
  // The HTTP version is not available, but a proxy that uses HTTP/1.0 closes each connection.
  [HERE, { host: '127.0.0.1:8080', connection: 'close' }],
  [HERE, { host: '127.0.0.1:8080', connection: 'keep-alive, Close' }],
  ...[
    ...['x-real-ip', 'forwarded', 'forwarded-for', 'x-forwarded', 'x-forwarded-for', 'x-forwarded-host'],
    ...['x-forwarded-proto', 'x-forwarded-server', 'x-forwarded-anything', 'via', 'max-forwards', 'cdn-loop'],
    ...['x-client-ip', 'client-ip', 'true-client-ip', 'x-cluster-client-ip', 'x-original-forwarded-for'],
    ...[
      'x-original-url',
      'x-remote-addr',
      'x-remote-ip',
      'x-source-ip',
      'x-originating-ip',
      'x-proxyuser-ip',
    ],
    ...['cf-connecting-ip', 'cf-ray', 'cf-visitor', 'fastly-client-ip', 'akamai-origin-hop', 'fly-client-ip'],
    ...[
      'fly-region',
      'x-envoy-external-address',
      'x-amzn-trace-id',
      'x-amz-cf-id',
      'cloudfront-viewer-country',
    ],
    ...['x-azure-clientip', 'x-arr-log-id', 'x-appengine-user-ip', 'x-cloud-trace-context', 'x-vercel-id'],
    ...['x-nf-client-connection-ip', 'tailscale-user-login', 'do-connecting-ip', 'wl-proxy-client-ip'],
    ...['proxy-connection', 'proxy-authorization', 'x-proxy-id', 'x-host', 'x-scheme', 'x-ssl-cipher'],
    ...['x-request-start'],
  ].map((name) => [HERE, { host: 'localhost', [name]: '203.0.113.7' }] as const),
])('a request from %s with %j is not from this machine', (address, headers) => {
  expect(asks(address, headers as Record<string, string>)).toBe(false)
})
