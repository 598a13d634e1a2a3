// The file of pending ends of charges: the next process reads its entries, whatever a crash did to the file, and it
// never grows.

import { afterEach, describe, expect, test } from 'bun:test'
import { closeSync, openSync, readdirSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { deletePending, markPending, PendingFile, pendingFiles, readPending } from '../../src/db/pending-file'
import { temporaryFolder } from '../support/databases/databases'
import { createRandom } from '../support/random'

const NAME = 'one'
const SIZE = 16 * 1024 * 1024
let opened: PendingFile[] = []
afterEach(() => {
  for (const file of opened) file.close()
  opened = []
})

function open(dataDir = temporaryFolder(), name = NAME) {
  const file = new PendingFile(dataDir, name)
  opened.push(file)
  const path = join(dataDir, 'pending-ends', name)
  return { file, dataDir, path, texts: () => readPending(dataDir, name).map(({ text }) => text) }
}

describe('the file of pending ends', () => {
  test('has its full size from the start, is private to its owner, and is removed by a process that leaves no entries', () => {
    const { file, dataDir, path, texts } = open()
    expect(statSync(path).size).toBe(SIZE)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(texts()).toEqual([])
    const place = file.add('an end')
    expect(texts()).toEqual(['an end'])
    file.remove(place as number)
    expect(texts()).toEqual([])
    file.close()
    expect(pendingFiles(dataDir)).toEqual([])
  })

  test('has the entries that were added and not removed, in order, after any sequence of both', () => {
    const random = createRandom(3)
    const { file, texts, path } = open()
    const kept = new Map<number, string>()
    for (let step = 0; step < 120; step++) {
      if (random.chance(0.4) && kept.size > 0) {
        const place = random.pick([...kept.keys()])
        file.remove(place)
        kept.delete(place)
      } else {
        const text = `${step} ${'ä'.repeat(random.below(2_000))}`
        kept.set(file.add(text) as number, text)
      }
      if (random.chance(0.03)) {
        for (const place of kept.keys()) file.remove(place)
        kept.clear()
      }
      expect(texts()).toEqual([...kept.values()])
    }
    expect(statSync(path).size).toBe(SIZE)
  })

  test('accepts entries only up to its size, and the same number again when all were removed', () => {
    const { file, texts, path } = open()
    const text = 'x'.repeat(1024 * 1024)
    for (let round = 0; round < 2; round++) {
      const places: number[] = []
      for (let place = file.add(text); place !== undefined; place = file.add(text)) places.push(place)
      expect(places).toHaveLength(15)
      expect(texts()).toHaveLength(15)
      for (const place of places) file.remove(place)
      expect(texts()).toEqual([])
    }
    expect(statSync(path).size).toBe(SIZE)
    // Entries after a damaged one are not read.
    file.add('short')
    expect(texts()).toEqual(['short'])
  })

  test('keeps all entries before the place where a crash cut it', () => {
    const { file, path, texts } = open()
    const places = ['first', 'second', 'third'].map((text) => file.add(text) as number)
    const end = (places[2] as number) + 9 + 'third'.length
    for (let cut = end - 1; cut > (places[2] as number); cut--) {
      truncateSync(path, cut)
      expect(texts()).toEqual(['first', 'second'])
    }
    const descriptor = openSync(path, 'r+')
    writeSync(descriptor, 'X', (places[1] as number) + 9)
    closeSync(descriptor)
    expect(texts()).toEqual(['first'])
  })

  test('of an ended process keeps ends that could not be applied, and reports them', () => {
    const { file, dataDir, texts } = open()
    const [one, other] = [file.add('one'), file.add('other')] as [number, number]
    file.close()
    expect(texts()).toEqual(['one', 'other'])
    markPending(dataDir, NAME, one, 'done')
    markPending(dataDir, NAME, other, 'failed')
    expect(readPending(dataDir, NAME)).toEqual([{ place: other, text: 'other', hasFailed: true }])
    deletePending(dataDir, NAME)
    expect(readdirSync(join(dataDir, 'pending-ends'))).toEqual([])
  })

  test('that cannot be created accepts nothing', () => {
    const { file } = open('/dev/null')
    expect(file.hasRoom).toBe(false)
    expect(file.add('an end')).toBeUndefined()
  })
})
