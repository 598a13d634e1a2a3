// Kept connections to receivers of webhooks: one per host name and address, up to a limit.

import { expect, test } from 'bun:test'
import type { OpenOptions, Transport } from '../../src/http-client/transport'
import { Receivers } from '../../src/webhooks/receivers'

function openReceivers() {
  const opened: { url: string; options: OpenOptions | undefined }[] = []
  const closed: string[] = []
  const transport: Transport = {
    open(url, options) {
      opened.push({ url, options })
      return { send: () => new Promise(() => {}), close: () => closed.push(url) }
    },
  }
  return { receivers: new Receivers(transport), opened, closed }
}

const urlOf = (name: string | number) => new URL(`https://${name}.example/ended?task=1`)

test('a receiver has one connection pool per address, which uses the checked address', () => {
  const { receivers, opened } = openReceivers()
  const first = receivers.at(urlOf('one'), '192.0.2.1')
  expect(receivers.at(new URL('https://one.example/other'), '192.0.2.1')).toBe(first)
  expect(receivers.at(urlOf('one'), '192.0.2.2')).not.toBe(first)
  expect(receivers.at(urlOf('two'), '192.0.2.1')).not.toBe(first)
  expect(receivers.at(new URL('https://one.example:8443/'), '192.0.2.1')).not.toBe(first)
  expect(opened.map(({ options }) => options)).toEqual(
    ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.1'].map((address) => ({ address })),
  )
})

test('the least recently used receiver is closed when the 65th is opened', () => {
  const { receivers, closed } = openReceivers()
  for (let count = 0; count < 64; count++) receivers.at(urlOf(count), '192.0.2.1')
  expect(closed).toEqual([])
  // The first was used again, so the second is the least recently used.
  receivers.at(urlOf(0), '192.0.2.1')
  receivers.at(urlOf(64), '192.0.2.1')
  expect(closed).toEqual([urlOf(1).href])
  receivers.close()
  expect(closed).toHaveLength(65)
})
