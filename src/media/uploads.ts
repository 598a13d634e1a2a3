// The folder for files of a form, or of a vendor, while their request runs: they are too large for memory. It must never keep a
// file beyond its request, or let anybody but the owner of the process read one.

import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from '../lib/errors'

export interface Uploads {
  /** Writes the pieces to a new file, no faster than the disk accepts them. Errors of the pieces pass through. */
  save(pieces: AsyncIterable<Uint8Array>): Promise<SavedFile>
  /** Removes the files of other processes that have been killed. */
  removeAbandoned(): void
}

export interface SavedFile {
  path: string
  /** Reads from the disk on each read. */
  file: Blob
  sha256: string
  remove(): Promise<void>
}

/** The processes that have folders for uploads in one place, by name. */
interface Processes {
  own: string
  others(): string[]
}

/**
 * Opens the folder and deletes everything in it: those files belong to a killed process. With `processes`, each process has its own
 * folder in it, and the folders of other live processes stay.
 */
export function openUploads(
  parent: string,
  newId: (prefix: string) => string,
  processes: Processes = { own: '', others: () => [] },
): Uploads {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  // The folder may exist with another mode.
  chmodSync(parent, 0o700)
  removeAbandoned(parent, processes)
  const folder = join(parent, processes.own)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    async save(pieces) {
      const path = join(folder, newId('upload'))
      // A file that cannot be removed now is removed at the next start: an answer must not fail for it.
      const remove = () => rm(path, { force: true }).catch(() => {})
      const handle = await orUnavailable(open(path, 'wx', 0o600))
      try {
        const sha256 = await write(handle, pieces)
        return { path, file: Bun.file(path), sha256, remove }
      } catch (error) {
        await remove()
        throw error
      }
    },
    removeAbandoned() {
      if (processes.own !== '') removeAbandoned(parent, processes)
    },
  }
}

/** Removes everything that belongs to no live process. */
function removeAbandoned(parent: string, { own, others }: Processes): void {
  // Read first: a process has its name before it has its folder.
  const names = readdirSync(parent)
  const liveProcesses = new Set([own, ...others()])
  for (const name of names)
    if (!liveProcesses.has(name)) rmSync(join(parent, name), { recursive: true, force: true })
}

async function write(handle: FileHandle, pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  try {
    for await (const piece of pieces) {
      hasher.update(piece)
      await orUnavailable(writeAll(handle, piece))
    }
  } finally {
    await orUnavailable(handle.close())
  }
  return hasher.digest('hex')
}

async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (cause) {
    throw new GatewayError(503, {
      code: 'uploads_unavailable',
      message:
        'The gateway cannot store uploaded files now: its disk is full or not writable. Try again later.',
      headers: { 'retry-after': '30' },
      cause,
    })
  }
}

/** Writes a whole piece: a disk that is nearly full may accept only a part at a time. */
async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.byteLength; ) at += (await handle.write(piece, at)).bytesWritten
}
