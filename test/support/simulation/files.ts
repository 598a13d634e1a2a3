// The stores for results of the simulation's vendors: one shared by all nodes, like a bucket, and the folder of one process for
// results that are not uploaded yet.

import type { BlobStore } from '../../../src/artifacts/blob-store'
import type { Uploads } from '../../../src/media/uploads'
import type { Random } from '../random'
import type { Life } from './life'
import type { VirtualTime } from './time'

export type FileStore = Map<string, string>

interface Parts {
  time: VirtualTime
  random: Random
  store: FileStore
  newId(prefix: string): string
}

export function openFiles(
  { time, random, store, newId }: Parts,
  { alive }: Life,
): { uploads: Uploads; blobStore: BlobStore } {
  const folder = new Map<string, string>()
  const pause = () => alive(new Promise<void>((resolve) => void time.after(random.below(500), resolve)))
  return {
    uploads: {
      async save(pieces) {
        const path = newId('upload')
        let text = ''
        for await (const piece of pieces) text += Buffer.from(piece).toString('latin1')
        folder.set(path, text)
        return {
          path,
          file: new Blob([text]),
          sha256: new Bun.CryptoHasher('sha256').update(text).digest('hex'),
          remove: async () => void folder.delete(path),
        }
      },
      removeAbandoned() {},
    },
    blobStore: {
      name: 's3',
      async take(path, id) {
        const text = folder.get(path)
        if (text === undefined) throw new Error(`there is no ${path}`)
        await pause()
        if (random.chance(0.05)) throw new Error('the store cannot be reached')
        store.set(id, text)
        await pause()
      },
      read: async () => undefined,
      async remove(id) {
        await pause()
        store.delete(id)
      },
    },
  }
}
