// Stores the files of artifacts: in a folder of this machine, or in a bucket of an S3-compatible store. It must never serve an
// incomplete file, or hold a whole file in memory.

import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readableOf } from '../http-client/body-stream'
import type { HttpResponse } from '../http-client/response'
import type { Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import type { System } from '../lib/system'
import { type Bucket, S3Store } from './s3-store'

export interface BlobStore {
  name: 'disk' | 's3'
  /** Takes over the file at `path`, which may be gone afterwards. */
  take(path: string, id: string, contentType: string): Promise<void>
  /** The bytes from `start` to before `end`; undefined if the file is gone. */
  read(id: string, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>
  /** Removes a file; does nothing if it is gone. */
  remove(id: string): Promise<void>
  /** Ids of all stored files, for stores that can list them. */
  ids?(): Promise<string[]>
}

/** Everything that reading from a bucket needs from outside. */
export interface BucketNetwork extends Pick<System, 'after'> {
  transport: Transport
}

/** How long the signed address of one read is valid, and how long the store may take to begin its answer. */
const SIGNED_FOR_SECONDS = 300
const ANSWER_MS = 30_000
/** Number of parts of one upload that are in memory at once. */
const PARTS_AT_A_TIME = 2

export function openFolder(folder: string): BlobStore {
  // Ids begin with the time; their last letters are random and spread the files.
  const subfolderOf = (id: string) => join(folder, id.slice(-2))
  const pathOf = (id: string) => join(subfolderOf(id), id)
  return {
    name: 'disk',
    async take(path, id) {
      await mkdir(subfolderOf(id), { recursive: true, mode: 0o700 })
      // Without the sync a power failure could leave a name without its bytes.
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
      const subfolders = await readdir(folder, { withFileTypes: true }).catch(() => [])
      const names = subfolders.flatMap((subfolder) =>
        subfolder.isDirectory() ? [readdir(join(folder, subfolder.name))] : [],
      )
      return (await Promise.all(names)).flat()
    },
  }
}

export function openBucket(bucket: Bucket, network: BucketNetwork): BlobStore {
  const store = new S3Store(bucket)
  return {
    name: 's3',
    take: (path, id, type) => store.put(path, id, { type, queueSize: PARTS_AT_A_TIME }),
    async read(id, start, end) {
      const response = await requestRange(store.addressOf(id, SIGNED_FOR_SECONDS), start, end, network)
      if (response.status === 206)
        return readableOf(response.body, () => new Error('the store stopped early'))
      response.body.cancel()
      if (response.status === 404) return undefined
      throw new Error(`the store answered a request for a file with ${response.status}`)
    },
    remove: (id) => store.remove(id),
  }
}

/**
 * Reads with our own client. Bun's is limited to 256 requests at a time, and a slow caller holds one of them until
 * everything is read.
 */
async function requestRange(
  url: URL,
  start: number,
  end: number,
  { transport, after }: BucketNetwork,
): Promise<HttpResponse> {
  const origin = transport.open(url.href)
  const cancelToken = new CancelToken()
  const late = () => cancelToken.abort(new Error('the store did not answer in time'))
  const cancelTimer = after(ANSWER_MS, late)
  try {
    return await origin.send({
      method: 'GET',
      path: url.pathname + url.search,
      headers: { range: `bytes=${start}-${end - 1}`, 'accept-encoding': 'identity' },
      body: null,
      signal: cancelToken,
      decompress: false,
    })
  } finally {
    cancelTimer()
    // The connection ends with the file.
    origin.close()
  }
}
