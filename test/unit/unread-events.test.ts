// Bytes kept for streams until they are parsed: each stream gets its own bytes, although the streams share memory.

import { expect, test } from 'bun:test'
import { UnreadEvents } from '../../src/request/stream/unread-events'
import { createRandom } from '../support/random'

test('concurrent and successive streams never get each other’s bytes', () => {
  const random = createRandom(7)
  const streams = Array.from({ length: 20 }, () => ({ unread: new UnreadEvents(), wanted: '' }))
  for (let step = 0; step < 20_000; step++) {
    const stream = random.pick(streams)
    if (random.chance(0.01)) {
      expect(stream.unread.take()).toBe(stream.wanted)
      stream.wanted = ''
    } else if (random.chance(0.02)) {
      stream.unread.forget()
      stream.wanted = ''
    } else {
      const text = `${step} `.repeat(1 + random.below(random.chance(0.05) ? 800 : 60))
      stream.unread.add(Buffer.from(text, 'latin1'))
      stream.wanted += text
    }
    expect(stream.unread.byteLength).toBe(stream.wanted.length)
  }
  for (const { unread, wanted } of streams) expect(unread.take()).toBe(wanted)
})
