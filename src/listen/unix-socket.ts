// Unix sockets that are created next to their place and then moved there in one step. When a server stops, Bun removes
// the path at which that server was created: it must not be the path of a later server, in this process or another.

import { chmodSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Suffix of the name of a socket that is being moved to its place, with its creator (a process), or away from it, with the number
 * of its file.
 */
const ASIDE = /^(?:[0-9a-f]{1,12}|\d+-removed)$/
/** Age below which a socket may still be on its way to its place, in milliseconds. */
const YOUNG_MS = 60_000

/**
 * Option of a server on a unix socket: connections may be silent for any time. By default Bun closes them after ten seconds, also
 * while a request runs, and `server.timeout` has no effect there (github.com/oven-sh/bun/issues/43816). Only programs of the owner or
 * the group connect. Bun's types omit the option.
 */
export const NO_IDLE_TIMEOUT: object = { idleTimeout: 0 }

/** A socket at its place. `file` is the number of its file, which distinguishes it from a later one. */
export interface PlacedSocket {
  path: string
  file: number
}

/**
 * The path at which a process creates a socket for a place; `maker` identifies the process. Throws if the place contains something
 * else, which must not be lost.
 */
export function prepareTemporaryPath(path: string, maker: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isSocket()) throw new Error(`${path} already exists and is not a socket`)
  const made = temporaryPathOf(path, maker)
  rmSync(made, { force: true })
  return made
}

/**
 * Gives a new socket its permissions and then its place, where it replaces another one. Removes sockets that killed processes left
 * on their way to the same place, or away from it.
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
 * Removes a socket from its place, unless another one has taken it. It is moved away before it is removed: a socket that appears
 * between a check and the removal would be lost, and its process would be unreachable.
 */
export function remove(socket: PlacedSocket): void {
  if (!isPlaced(socket)) return
  const { path, file } = socket
  const removed = `${path}.${file}-removed`
  renameSync(path, removed)
  try {
    // Another socket has taken the place meanwhile and is moved back, unless a third one is there already.
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

/** The path at which a process created a socket. The system keeps this name even after the socket was moved. */
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
      // The file belongs to another user, which is not a reason to fail.
    }
  }
}
