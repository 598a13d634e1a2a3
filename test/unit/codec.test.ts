// How texts are stored in the database with and without an encryption key, and which keys a configuration may contain.

import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultsOf } from '../../src/config/schema'
import { masterKeysOf } from '../../src/config/secrets'
import { createCodec, storedBy, UnreadableText } from '../../src/db/encryption/codec'
import { KEY_BYTES, sealingKeyId } from '../../src/lib/sealing'
import { temporaryFolder } from '../support/databases/databases'
import { createRandom, seedOf } from '../support/random'

const random = createRandom(seedOf('CODEC_SEED'))
const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const [older, newer, foreign] = [1, 2, 3].map(() => randomBytes(KEY_BYTES)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const codecOf = (current: Uint8Array | undefined, ...more: Uint8Array[]) =>
  createCodec({ current, older: more }, randomBytes)

const clear = codecOf(undefined)
const [before, during, after] = [codecOf(older), codecOf(newer, older), codecOf(newer)]
const PLACE = 'webhooks.body msg_1'

test('any text is restored under any key, also one that looks like a stored text', () => {
  const pieces = ['gw1.', 'gw0.', 'gw2.', before.encode('x', PLACE), 'clear', '{"a":1}', '\n', 'é', '']
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: random.below(4) }, () => random.pick(pieces)).join('')
    for (const codec of [clear, before, during, codecOf(undefined, older)]) {
      const stored = codec.encode(text, PLACE)
      expect(codec.decode(stored, PLACE)).toBe(text)
      expect(storedBy(stored)).toBe(codec.currentId)
    }
    // Texts stored before the first key was set.
    expect(during.decode(clear.encode(text, PLACE), PLACE)).toBe(text)
  }
})

test('the newest key encrypts, and older keys still decrypt', () => {
  const stored = before.encode('text', PLACE)
  expect(during.decode(stored, PLACE)).toBe('text')
  expect(storedBy(during.encode('text', PLACE))).toBe(sealingKeyId(newer))
  expect(codecOf(undefined, older).decode(stored, PLACE)).toBe('text')
  expect(
    [sealingKeyId(newer), sealingKeyId(older), sealingKeyId(foreign), 'clear'].map(during.knows),
  ).toEqual([true, true, false, true])
})

test('an unreadable text is reported with its place and the missing key, but without its content', () => {
  const stored = before.encode('canary', PLACE)
  for (const [codec, place] of [
    [after, PLACE],
    [clear, PLACE],
    [before, 'webhooks.body msg_2'],
    [before, 'tasks.document msg_1'],
  ] as const) {
    const read = () => codec.decode(stored, place)
    expect(read).toThrow(UnreadableText)
    expect(read).toThrow(`${place} cannot be read: it was encrypted with the key ${sealingKeyId(older)}`)
    expect(read).not.toThrow('canary')
  }
})

const hex = Buffer.from(newer).toString('hex')
const base64 = Buffer.from(newer).toString('base64')
const KEY_FORM = 'not a key: 32 random bytes in base64 or hex'
const rest = { upstreams: {}, models: {} }
const folder = temporaryFolder()

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const rows: [what: string, secrets: object, faults: string[]][] = [
  ['base64', { key: base64 }, []],
  ['base64 without padding', { key: base64.replace('=', '') }, []],
  ['base64url', { key: Buffer.from(newer).toString('base64url') }, []],
  ['hex', { key: hex }, []],
  ['hex in upper case', { key: hex.toUpperCase() }, []],
  ['no current key', { key: null, olderKeys: [hex] }, []],
  ['older keys', { key: base64, olderKeys: [hex, base64] }, []],
  ['a file', { keyFile: file('key', `${base64}\n`) }, []],
  ['a file with older keys', { keyFile: file('keys', `\n${base64}\r\n${hex}\n`) }, []],
  ['an unset variable', { key: undefined }, ['secrets.key: missing; is its environment variable set?']],
  ['nothing', {}, ['secrets.key: missing']],
  ['an unset older key', { key: hex, olderKeys: [undefined] }, ['secrets.olderKeys.0: missing; is its']],
  ['an empty text', { key: '' }, [`secrets.key: ${KEY_FORM}`]],
  ['a password', { key: 'correct horse battery staple' }, [`secrets.key: ${KEY_FORM}`]],
  ['31 bytes', { key: hex.slice(2) }, [`secrets.key: ${KEY_FORM}`]],
  ['33 bytes', { key: `${hex}00` }, [`secrets.key: ${KEY_FORM}`]],
  ['a second line', { key: `${hex}\n` }, [`secrets.key: ${KEY_FORM}`]],
  ['a bad older key', { key: hex, olderKeys: [hex, 'old'] }, [`secrets.olderKeys.1: ${KEY_FORM}`]],
  ['a missing file', { keyFile: join(folder, 'none') }, ['secrets.keyFile: ', 'ENOENT']],
  ['a folder', { keyFile: folder }, ['secrets.keyFile: ', 'EISDIR']],
  ['an empty file', { keyFile: file('empty', '\n') }, ['secrets.keyFile: ', 'is empty']],
  ['a file with something else', { keyFile: file('else', 'canary-text') }, [`secrets.keyFile: ${KEY_FORM}`]],
  ['both', { key: hex, keyFile: file('both', hex) }, ['secrets.keyFile: give either key or keyFile']],
  ['a number', { key: 5 }, ['secrets.key: ']],
  ['a typing error', { kye: hex }, ['secrets.kye: ']],
]

test.each(rows)('a configured key: %s', (_what, secrets, [fault, ...words]) => {
  const faults = faultsOf({ ...rest, secrets })
  expect(faults.map((each) => each.slice(0, fault?.length))).toEqual(fault === undefined ? [] : [fault])
  for (const word of words) expect(faults.join()).toContain(word)
  for (const secret of [hex.slice(2), base64.slice(0, 40), 'canary', 'horse'])
    expect(faults.join()).not.toContain(secret)
})

test('a file and the environment give the same keys in the same order', () => {
  const older64 = Buffer.from(older).toString('base64')
  expect(masterKeysOf({ keyFile: file('two', `${hex}\n${older64}\n`) })).toEqual(
    masterKeysOf({ key: base64, olderKeys: [older64] }),
  )
  expect(masterKeysOf(undefined)).toEqual({ current: undefined, older: [] })
  expect(masterKeysOf({ key: null, olderKeys: [hex] })).toEqual({
    current: undefined,
    older: [Buffer.from(newer)],
  })
})
