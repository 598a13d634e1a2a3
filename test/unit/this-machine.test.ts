// Who counts as a program of this machine: by the address of the connection, by the name that it asks for, and without a proxy
// that asks for somebody else.

import { expect, test } from 'bun:test'
import { isLocal } from '../../src/app/this-machine'
import type { Listener } from '../../src/http/connection'

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
])('from %s with %j it is', (address, headers) => {
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
  [HERE, { host: 'localhost', 'x-real-ip': '203.0.113.7' }],
])('from %s with %j it is not', (address, headers) => {
  expect(asks(address, headers as Record<string, string>)).toBe(false)
})
