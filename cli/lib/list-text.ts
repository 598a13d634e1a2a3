// Reads the text of a vendor's list from a file or a URL. It must never read more than the maximum size of a list.

import { resolve } from 'node:path'
import { MAX_LIST_BYTES } from '../../src/config/models/list-faults'
import { lineOf } from '../../src/lib/error-line'
import { CommandFailed } from './errors'

const TIMEOUT_MS = 120_000
const TOO_LARGE = `it has more than ${MAX_LIST_BYTES / 1024 / 1024} MiB`

/** Reads a list from a file or a URL. Fails if it does not exist or is too large. */
export async function readList(from: string): Promise<string> {
  if (!/^https?:\/\//.test(from)) {
    const file = Bun.file(resolve(from))
    if (!(await file.exists())) throw new CommandFailed(`${from} does not exist.`)
    if (file.size > MAX_LIST_BYTES) throw new CommandFailed(`${from} is not taken: ${TOO_LARGE}.`)
    return file.text()
  }
  try {
    const response = await fetch(from, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of response.body ?? []) {
      bytes += piece.byteLength
      if (bytes > MAX_LIST_BYTES) throw new Error(TOO_LARGE)
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  } catch (error) {
    throw new CommandFailed(`${from} cannot be read: ${lineOf(error)}.`)
  }
}
