// Where backups and archives are stored: a folder of this machine, or a bucket of an S3-compatible store. It must never overwrite
// one, or give its name to an incomplete one.

import { access, chmod, copyFile, link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Bucket, S3Store, StorageFailed } from '../artifacts/s3-store'

export interface BackupPlace {
  /** The place, as shown to people. */
  title: string
  /** Prepares the place. Throws if that is impossible. */
  prepare(): Promise<void>
  /** Takes over the file at `path` under a name. */
  put(path: string, name: string): Promise<void>
  /** Copies a backup to a new file. Throws if no backup has this name. */
  bring(name: string, path: string): Promise<void>
  has(name: string): Promise<boolean>
  /** Names of all backups, oldest first. */
  names(): Promise<string[]>
  remove(name: string): Promise<void>
}

const NAME = /^gateway-\d{8}T\d{6}Z\.sqlite\.zst$/
const PART_BYTES = 8 * 1024 * 1024
/** The suffix of a file that is being copied from another disk. */
const ON_ITS_WAY = '.part'
/** Such a file of a backup or an archive that has not grown for this time, in milliseconds, belongs to a killed process. */
const ABANDONED_MS = 86_400_000
const ABANDONED = /^(gateway-\d{8}T\d{6}Z\.sqlite|charges-\d{4}-\d\d-[0-9a-f]{64}\.ndjson)\.zst\.part$/

/** The name of a backup that was begun at this time, in milliseconds since 1970. Names sort by time. */
export function nameOfBackup(at: number): string {
  return `gateway-${new Date(at)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')}.sqlite.zst`
}

/** When a backup was made, by its name, in milliseconds since 1970. */
export function timeOfBackup(name: string): number {
  const text = name.slice('gateway-'.length)
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'))
}

/**
 * A folder, which is created if its parent exists. If the parent is missing too, it may be a disk that is not mounted: then only
 * `make` creates it.
 */
export function folderPlace(folder: string, { make = false }: { make?: boolean } = {}): BackupPlace {
  const prepare = async () => {
    await mkdir(folder, { recursive: make, mode: 0o700 }).catch((error) => {
      if (error.code === 'ENOENT') throw new StorageFailed(absent(folder), { cause: error })
      if (error.code !== 'EEXIST') throw error
    })
  }
  return {
    title: folder,
    prepare,
    async put(path, name) {
      await prepare()
      await removeAbandoned(folder, (await stat(path)).mtimeMs)
      await moveNew(path, join(folder, name))
    },
    bring: (name, path) => copyFile(join(folder, name), path),
    has: (name) =>
      access(join(folder, name)).then(
        () => true,
        () => false,
      ),
    async names() {
      const all = await readdir(folder).catch((error) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      return all.filter((name) => NAME.test(name)).sort()
    },
    remove: (name) => rm(join(folder, name), { force: true }),
  }
}

function absent(folder: string): string {
  return `There is no folder ${dirname(folder)} to make ${folder} in. Mount its disk, or create it: mkdir -p ${folder}, or gateway backup --make.`
}

/** Removes incomplete copies that long-killed processes have left. */
async function removeAbandoned(folder: string, now: number): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => ABANDONED.test(each))) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (now - mtimeMs > ABANDONED_MS) await rm(path, { force: true })
  }
}

/**
 * Moves a file to a path where nothing exists, on the same disk or another one, readable only by its owner and synced. Throws
 * EEXIST if something exists there.
 */
export async function moveNew(path: string, to: string): Promise<void> {
  await linkSynced(path, to).catch(async (error) => {
    if (error.code !== 'EXDEV') throw error
    const part = to + ON_ITS_WAY
    try {
      await copyFile(path, part)
      await linkSynced(part, to)
    } finally {
      await rm(part, { force: true })
    }
  })
  await rm(path)
  await syncFolder(dirname(to))
}

/** Gives a file a second name. A link, unlike a rename, replaces nothing. */
async function linkSynced(path: string, to: string): Promise<void> {
  await chmod(path, 0o600)
  const handle = await open(path, 'r+')
  await handle.sync().finally(() => handle.close())
  await link(path, to)
}

/** Makes the names in a folder durable. */
async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folder.
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().finally(() => handle.close())
}

export function bucketPlace(bucket: Bucket): BackupPlace {
  const store = new S3Store(bucket)
  const { prefix = '' } = bucket
  return {
    title: `${bucket.bucket}/${prefix}`,
    // A bucket is not created here, and refuses what it does not accept.
    prepare: async () => {},
    async put(path, name) {
      if (await store.has(name)) throw new Error(`${prefix}${name} is there already`)
      await store.put(path, name, { type: 'application/zstd', partSize: PART_BYTES, queueSize: 2 })
      await rm(path)
    },
    async bring(name, path) {
      if (!(await store.has(name))) throw new Error(`${bucket.bucket} has no ${prefix}${name}`)
      await store.bring(name, path)
    },
    has: (name) => store.has(name),
    names: async () => (await store.names('gateway-')).filter((name) => NAME.test(name)),
    remove: (name) => store.remove(name),
  }
}
