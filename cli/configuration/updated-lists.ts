// Lists of vendors' models that an operator has accepted instead of those that ship with the executable: files in the data
// directory. Nothing here must fetch a list, or accept one automatically.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVendorList } from '../../src/config/models/list-faults'
import type { VendorList, VendorLists } from '../../src/config/models/vendor-lists'
import { CommandFailed } from '../lib/errors'
import { shippedList } from './shipped-lists'

const FOLDER = 'prices'

/** The current lists, each read once, when it is first requested. */
export function listsInForce(dataDir: string): VendorLists {
  const read = new Map<string, VendorList | undefined>()
  return (kind) => {
    if (!read.has(kind)) read.set(kind, listInForce(dataDir, kind))
    return read.get(kind)
  }
}

/** The current list of a kind: the accepted one, otherwise the one that ships. Throws for a file that has faults. */
export function listInForce(dataDir: string, kind: string): VendorList | undefined {
  const file = fileOf(dataDir, kind)
  if (!existsSync(file)) return shippedList(kind)
  const read = readVendorList(readFileSync(file, 'utf8'))
  if ('list' in read) return read.list
  throw new CommandFailed(
    `${file} has faults, the first is: ${read.faults[0]}. Take it back with gateway prices update --undo ${kind}.`,
  )
}

/** Accepts a list, which takes effect at the next start or reload. The previous one is kept. */
export function installList(dataDir: string, list: VendorList): void {
  const file = fileOf(dataDir, list.kind)
  mkdirSync(join(dataDir, FOLDER), { recursive: true, mode: 0o700 })
  if (existsSync(file)) renameSync(file, `${file}.before`)
  else rmSync(`${file}.before`, { force: true })
  writeFileSync(`${file}.part`, `${JSON.stringify(list, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.part`, file)
}

/** Undoes the last acceptance: the previous list is used again, or the one that ships. False if none was accepted. */
export function revertList(dataDir: string, kind: string): boolean {
  const file = fileOf(dataDir, kind)
  if (!existsSync(file)) return false
  rmSync(file)
  if (existsSync(`${file}.before`)) renameSync(`${file}.before`, file)
  return true
}

function fileOf(dataDir: string, kind: string): string {
  return join(dataDir, FOLDER, `${kind}.json`)
}
