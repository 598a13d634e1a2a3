// Sealed texts are restored unchanged, and only for their owner. Any other text from a caller neither opens nor throws.

import { expect, test } from 'bun:test'
import { createSealer, KEY_BYTES, sealedBy, sealingKeyId } from '../../src/lib/sealing'
import { createRandom, seedOf } from '../support/random'

const random = createRandom(seedOf('SEALING_SEED'))
const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const [oldKey, newKey] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)]
const sealer = createSealer([newKey, oldKey], 'test', randomBytes)

const PIECES = ['a', 'Zoë ', '"\\\n', '\u0000', '\ufeff', '日本', '🦊', 'gw1.', '\u2028']

function randomText(): string {
  return Array.from({ length: random.below(40) }, () => random.pick(PIECES)).join('')
}

test('any text is restored, and sealed in characters that JSON, headers and URLs allow', () => {
  for (const plain of ['', ...Array.from({ length: 500 }, randomText)]) {
    const associated = randomText()
    const sealed = sealer.seal(plain, associated)
    expect(sealed).toMatch(/^gw1\.[0-9a-f]{12}\.[A-Za-z0-9_-]+$/)
    expect(sealer.open(sealed, associated)).toBe(plain)
  }
})

test('a text of a million characters is restored, and its sealed form is a third longer', () => {
  for (const character of ['x', 'é']) {
    const plain = character.repeat(1_000_000)
    const sealed = sealer.seal(plain, 'acme')
    expect(sealed.length).toBeLessThan(Buffer.byteLength(plain) * 1.34 + 100)
    expect(sealer.open(sealed, 'acme') === plain).toBe(true)
  }
})

test('the same text is sealed differently each time, and the result reveals nothing', () => {
  const plain = 'a secret thought'
  const sealed = Array.from({ length: 1_000 }, () => sealer.seal(plain, 'acme'))
  expect(new Set(sealed).size).toBe(1_000)
  expect(sealed.some((text) => text.includes(Buffer.from(plain).toString('base64url').slice(2, 10)))).toBe(
    false,
  )
})

test('sealing uses random bytes once per text, and opening none', () => {
  let calls = 0
  const counting = createSealer([newKey], 'test', (count) => {
    calls += 1
    return randomBytes(count)
  })
  const sealed = Array.from({ length: 100 }, () => counting.seal('text', 'acme'))
  for (const text of sealed) counting.open(text, 'acme')
  expect(calls).toBe(100)
})

test('a text with one character changed, removed or added does not open', () => {
  const sealed = sealer.seal('a secret thought', 'acme')
  const characters = 'ABCXYZabcxyz0129._- \n=é'
  for (let place = 0; place < sealed.length; place++) {
    const [before, own, after] = [sealed.slice(0, place), sealed[place], sealed.slice(place + 1)]
    for (const other of characters) {
      if (other !== own) expect(sealer.open(before + other + after, 'acme')).toBeUndefined()
      expect(sealer.open(before + other + own + after, 'acme')).toBeUndefined()
    }
    expect(sealer.open(before + after, 'acme')).toBeUndefined()
  }
  expect(sealer.open(`${sealed}A`, 'acme')).toBeUndefined()
})

test('a text with one changed bit does not open', () => {
  const sealed = sealer.seal('thought', 'acme')
  const head = sealed.slice(0, sealed.lastIndexOf('.') + 1)
  const bytes = Buffer.from(sealed.slice(head.length), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(sealer.open(head + changed.toString('base64url'), 'acme')).toBeUndefined()
  }
})

test('a text opens only with its owner, purpose and keys', () => {
  const sealed = sealer.seal('thought', 'acme')
  for (const other of ['', 'acm', 'acme ', 'Acme', 'other'])
    expect(sealer.open(sealed, other)).toBeUndefined()
  expect(createSealer([newKey], 'another purpose', randomBytes).open(sealed, 'acme')).toBeUndefined()
  expect(createSealer([randomBytes(KEY_BYTES)], 'test', randomBytes).open(sealed, 'acme')).toBeUndefined()
})

test('the newest key seals, and older keys open until they are removed', () => {
  const before = createSealer([oldKey], 'test', randomBytes).seal('thought', 'acme')
  const after = sealer.seal('thought', 'acme')
  expect(sealedBy(before)).toBe(sealingKeyId(oldKey))
  expect(sealedBy(after)).toBe(sealingKeyId(newKey))
  expect(sealer.open(before, 'acme')).toBe('thought')
  const forgetful = createSealer([newKey], 'test', randomBytes)
  expect(forgetful.open(before, 'acme')).toBeUndefined()
  expect(forgetful.open(after, 'acme')).toBe('thought')
})

test('foreign texts do not open', () => {
  const id = sealingKeyId(newKey)
  const foreign = [
    '',
    '.',
    'gw1.',
    `gw1.${id}`,
    `gw1.${id}.`,
    `gw1.${id}.AAAA`,
    `gw1.${id}.${'A'.repeat(59)}`,
    `gw1.${id}.${Buffer.from(randomBytes(44)).toString('base64url')}`,
    `gw1.${'0'.repeat(12)}.${'A'.repeat(100)}`,
    `gw2.${id}.${'A'.repeat(100)}`,
    `gAAAAABo${Buffer.from(randomBytes(600)).toString('base64url')}==`,
    'rs_0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    JSON.stringify({ thinking: 'plain', signature: 'EqQBCgIYAhIM' }),
    'gw1.'.repeat(250_000),
    `gw1.${id}.${'é'.repeat(100_000)}`,
    '\ud800'.repeat(50),
  ]
  for (const text of foreign) expect(sealer.open(text, 'acme')).toBeUndefined()
  for (let round = 0; round < 500; round++) {
    const bytes = randomBytes(random.below(200))
    expect(sealer.open(Buffer.from(bytes).toString('latin1'), 'acme')).toBeUndefined()
    expect(sealer.open(`gw1.${id}.${Buffer.from(bytes).toString('base64url')}`, 'acme')).toBeUndefined()
  }
})
