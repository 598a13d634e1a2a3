// Addresses in requests that lead to the upstream's own machine or to a private network, however they are written.

import { describe, expect, test } from 'bun:test'
import { isPrivatePlace, networkOf } from '../../src/lib/network'

describe('a private place', () => {
  test.each([
    'http://127.0.0.1/cat.png',
    'http://127.1:8080/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[fd00::1]/',
    'http://169.254.169.254/latest/meta-data',
    'http://168.63.129.16/machine',
    'https://10.1.2.3/',
    'https://192.168.1.5/cat.png',
    'https://172.16.0.1/',
    'https://100.64.0.1/',
    'HTTP://LOCALHOST/',
    'http://localhost./',
    'http://a.localhost/',
    'http://user@localhost/',
    'http://printer.local/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://nas.lan/',
    'http://minio:9000/bucket/cat.png',
    ' http://127.0.0.1/',
    'http:127.0.0.1',
    'ftp://127.0.0.1/cat.png',
    'file:///etc/passwd',
    'FILE:/etc/passwd',
    '/etc/passwd',
    '//localhost/cat.png',
    '\\\\server\\share',
    './cat.png',
    '../cat.png',
    '~/cat.png',
    'C:\\cat.png',
    'c:/cat.png',
    `/${'a'.repeat(80)}.png`,
  ])('is %s', (text) => {
    expect(isPrivatePlace(text)).toBe(true)
  })

  test.each([
    'https://example.com/cat.png',
    'http://93.184.216.34/cat.png',
    'http://[2606:2800:220:1:248:1893:25c8:1946]/',
    'https://localhost.example.com/',
    'https://example.com/?from=http://127.0.0.1/',
    'data:image/png;base64,iVBORw0KGgo=',
    'data:text/plain,http://127.0.0.1/',
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
    // A JPEG and an MP3 as base64 without a URL.
    `/9j/${'4AAQSkZJRgABAQAAAQABAAD'.repeat(4)}`,
    `//uQ${'xAAAAAAAAAAAAAAAAAAAAAAA'.repeat(4)}==`,
    'cat.png',
    'oss://bucket/cat.png',
    'a fox in the snow: red',
    '',
  ])('is not %s', (text) => {
    expect(isPrivatePlace(text)).toBe(false)
  })
})

test('a caller’s network is its IPv4 address, or the first 64 bits of its IPv6 address', () => {
  expect(networkOf('192.0.2.1')).toBe('192.0.2.1')
  expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::')
})
