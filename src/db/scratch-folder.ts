// Folders for temporary files in the data directory. Each has a lock of the process that uses it, which distinguishes files left by
// a killed process from those of a live one. It must never remove a folder that is in use.

import { statSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isLocked, lockFile } from './file-lock'

const PREFIX = 'temporary-'
const LOCK = 'lock'
/** Age in milliseconds below which a folder may not be locked yet, by the clock of the disk. */
const YOUNG_MS = 60_000

/** Runs work in a new folder, which only the owner of the process can read, and removes it. */
export async function withScratchFolder<Result>(
  parent: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(parent, PREFIX))
  let unlock = () => {}
  try {
    unlock = lockFile(join(folder, LOCK))
    await removeLeft(parent, madeAt(folder))
    return await work(folder)
  } finally {
    unlock()
    await remove(folder)
  }
}

/** Removes the folders of ended processes. */
export async function removeAbandoned(parent: string): Promise<void> {
  if ((await foldersIn(parent)).length > 0) await withScratchFolder(parent, async () => {})
}

async function removeLeft(parent: string, now: number): Promise<void> {
  for (const folder of await foldersIn(parent)) {
    if (now - madeAt(folder) < YOUNG_MS || isLocked(join(folder, LOCK))) continue
    await remove(folder)
  }
}

async function foldersIn(parent: string): Promise<string[]> {
  const names = await readdir(parent).catch(() => [])
  return names.filter((name) => name.startsWith(PREFIX)).map((name) => join(parent, name))
}

/** When something was last added to a folder; 0 if it is gone. */
function madeAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Removes a folder. If that fails, it is removed later: the work that was done in it must not fail. */
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {})
}
