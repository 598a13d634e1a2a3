// Where the files of artifacts lie: a folder of this machine, or a bucket of an S3-compatible store.
// A place knows files by id only. It must never show one that is not whole, nor hold a whole one in memory.

import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { S3Client } from 'bun'

export interface Place {
  name: 'disk' | 's3'
  /** Takes over the file that lies at `path`, which may be gone then. */
  take(path: string, id: string, contentType: string): Promise<void>
  /** The bytes from `start` to before `end`; undefined where the file is gone. */
  read(id: string, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>
  /** Does nothing where there is no such file. */
  remove(id: string): Promise<void>
  /** All files that lie here, where that is known. */
  ids?(): Promise<string[]>
}

export interface Bucket {
  bucket: string
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Before the id: `gateway/`. */
  prefix?: string
}

/** Parts of one upload that are in memory at a time. */
const PARTS_AT_A_TIME = 2

export function openFolder(folder: string): Place {
  // Ids begin with the time; their last letters are random and spread the files.
  const shelfOf = (id: string) => join(folder, id.slice(-2))
  const pathOf = (id: string) => join(shelfOf(id), id)
  return {
    name: 'disk',
    async take(path, id) {
      await mkdir(shelfOf(id), { recursive: true, mode: 0o700 })
      // Or a loss of power could leave a name without its bytes.
      const handle = await open(path, 'r+')
      await handle.sync().finally(() => handle.close())
      await rename(path, pathOf(id))
    },
    async read(id, start, end) {
      const file = Bun.file(pathOf(id))
      return (await file.exists()) ? file.slice(start, end).stream() : undefined
    },
    remove: (id) => rm(pathOf(id), { force: true }),
    async ids() {
      const shelves = await readdir(folder, { withFileTypes: true }).catch(() => [])
      const names = shelves.flatMap((shelf) =>
        shelf.isDirectory() ? [readdir(join(folder, shelf.name))] : [],
      )
      return (await Promise.all(names)).flat()
    },
  }
}

export function openBucket({ prefix = '', ...connection }: Bucket): Place {
  const client = new S3Client(connection)
  const fileOf = (id: string) => client.file(`${prefix}${id}`)
  return {
    name: 's3',
    async take(path, id, type) {
      await fileOf(id).write(Bun.file(path), { type, queueSize: PARTS_AT_A_TIME })
    },
    async read(id, start, end) {
      const file = fileOf(id)
      // A stream would find out only when the answer has begun.
      return (await file.exists()) ? file.slice(start, end).stream() : undefined
    },
    remove: (id) => fileOf(id).delete(),
  }
}
