// Unix sockets that are made beside their place and then moved there in one step, because Bun removes the path at which a
// server was made when that server stops: it must not be that of the server that came after, in this process or another.

import { chmodSync, renameSync, rmSync, statSync } from 'node:fs'

/** A socket at its place. `file` is the number of its file, by which it is told from one that came after. */
export interface PlacedSocket {
  path: string
  file: number
}

/**
 * Where a process makes a socket for a place; `maker` tells the processes apart. Throws if something else has the place,
 * which is not to be lost.
 */
export function birthplaceOf(path: string, maker: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isSocket()) throw new Error(`${path} is there already and is no socket`)
  const made = madeAt(path, maker)
  rmSync(made, { force: true })
  return made
}

/** Gives a socket that was made its rights and then its place, where it replaces another one. */
export function place(path: string, maker: string, mode: number): PlacedSocket {
  const made = madeAt(path, maker)
  chmodSync(made, mode)
  const { ino } = statSync(made)
  renameSync(made, path)
  return { path, file: ino }
}

/** Removes a socket from its place, unless another one has taken it. */
export function remove({ path, file }: PlacedSocket): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino === file) rmSync(path)
}

/** The path that a process made a socket at. The system names it so also after it was moved to its place. */
export function madeAt(path: string, maker: string): string {
  return `${path}.${maker}`
}
