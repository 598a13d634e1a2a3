// Unix sockets that are created next to their place and then moved there in one step. When a server stops, Bun removes
// the path at which that server was created: it must not be the path of a later server, in this process or another.

import { chmodSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Suffix of a socket's name on its way to its place, with its creator (a process), or away from it, with the number of its file. */
const ASIDE = /^(?:[0-9a-f]{1,12}|\d+-removed)$/
/** A younger socket may still be on its way to its place, which takes milliseconds; in milliseconds. */
const YOUNG_MS = 60_000

/** A socket at its place. `file` is the number of its file, which distinguishes it from a later one. */
export interface PlacedSocket {
  path: string
  file: number
}

/**
 * Where a process creates a socket for a place; `maker` identifies the process. Throws if something else has the place, which must
 * not be lost.
 */
export function prepareTemporaryPath(path: string, maker: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isSocket()) throw new Error(`${path} already exists and is not a socket`)
  const made = temporaryPathOf(path, maker)
  rmSync(made, { force: true })
  return made
}

/**
 * Gives a socket that was made its rights and then its place, where it replaces another one. Those on their way to the same
 * place, or away from it, whose processes were killed are removed.
 */
export function place(path: string, maker: string, mode: number): PlacedSocket {
  const made = temporaryPathOf(path, maker)
  chmodSync(made, mode)
  const { ino, mtimeMs: now } = statSync(made)
  renameSync(made, path)
  removeAbandoned(path, now)
  return { path, file: ino }
}

/**
 * Removes a socket from its place, unless another one has taken it. It is moved away before it is removed: another that
 * appears between a check and the removal would be lost, and its process would be reached by nobody.
 */
export function remove(socket: PlacedSocket): void {
  if (!isPlaced(socket)) return
  const { path, file } = socket
  const removed = `${path}.${file}-removed`
  renameSync(path, removed)
  try {
    // Another one came in between. Where a third has its place already, it stays away.
    if (statSync(removed).ino !== file) linkSync(removed, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(removed, { force: true })
  }
}

/** Whether a socket still has its place. */
export function isPlaced({ path, file }: PlacedSocket): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === file
}

/** The path that a process made a socket at. The system names it so also after it was moved to its place. */
export function temporaryPathOf(path: string, maker: string): string {
  return `${path}.${maker}`
}

function removeAbandoned(path: string, now: number): void {
  const start = `${basename(path)}.`
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(start) || !ASIDE.test(name.slice(start.length))) continue
    const made = join(dirname(path), name)
    const found = statSync(made, { throwIfNoEntry: false })
    if (!found?.isSocket() || now - found.mtimeMs < YOUNG_MS) continue
    try {
      rmSync(made, { force: true })
    } catch {
      // It is another user's, and no reason to fail.
    }
  }
}
