// Archives of closed charges: one line of JSON per charge, compressed, in a file named after its hash. Written and read as a
// stream, so that a month of any size takes little memory.

import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { BackupPlace } from '../backup/place'
import type { ArchivedCharge } from '../billing/ledger/charge-rows'
import { type Closing, hashOfEntries } from '../billing/proofs/closings'
import { withScratchFolder } from '../db/scratch-folder'
import { EntrySums } from './entry-sums'

/** Writes lines to a new file. Returns the hash of the lines. */
export async function writeArchive(path: string, lines: AsyncIterable<string>): Promise<string> {
  const hash = createHash('sha256')
  const packer = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  async function* counted() {
    for await (const text of lines) {
      hash.update(text)
      yield text
    }
  }
  await pipeline(counted, packer, createWriteStream(path, { mode: 0o600 }))
  return hash.digest('hex')
}

/** The name of the archive of a month in a file, and the size of the file. */
export async function nameOfArchive(
  month: string,
  path: string,
): Promise<{ archive: string; archiveBytes: number }> {
  return {
    archive: `charges-${month}-${await hashOfFile(path)}.ndjson.zst`,
    archiveBytes: (await stat(path)).size,
  }
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array)
  return hash.digest('hex')
}

/** The content of an archive: the hash of its lines, and the sums of its charges. */
interface ArchiveContent {
  hash: string
  charges: number
  sums: EntrySums
}

async function readArchive(path: string): Promise<ArchiveContent> {
  const hash = createHash('sha256')
  const sums = new EntrySums()
  let charges = 0
  await pipeline(
    createReadStream(path),
    createZstdDecompress(),
    async (stream: AsyncIterable<Uint8Array>) => {
      const decoder = new TextDecoder()
      let rest = ''
      for await (const bytes of stream) {
        hash.update(bytes)
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
        rest = lines.pop() as string
        for (const line of lines) {
          sums.add(JSON.parse(line) as ArchivedCharge)
          charges++
        }
      }
      if (rest !== '') throw new Error('its last line is cut off')
    },
  )
  return { hash: hash.digest('hex'), charges, sums }
}

/**
 * Why an archive is not what was closed, in words that follow its name; undefined if it is. `linesHash` is the expected hash of its
 * lines, if known.
 */
export async function archiveFault(
  place: BackupPlace,
  closing: Pick<Closing, 'month' | 'archive' | 'charges' | 'entriesHash'>,
  { scratch, linesHash }: { scratch: string; linesHash?: string },
): Promise<string | undefined> {
  return await withScratchFolder(scratch, async (folder) => {
    try {
      const path = join(folder, 'archive.zst')
      const fault = await place.bring(closing.archive, path).catch((error: Error) => error.message)
      if (fault !== undefined) return `cannot be read in ${place.title}: ${fault}`
      if ((await nameOfArchive(closing.month, path)).archive !== closing.archive)
        return 'was changed: its hash is not that of its name'
      const content = await readArchive(path)
      if (linesHash !== undefined && content.hash !== linesHash)
        return 'does not have the charges that were written'
      if (content.charges !== closing.charges) return `has ${content.charges} charges, not ${closing.charges}`
      if (hashOfEntries(content.sums.entries()) !== closing.entriesHash)
        return 'does not add up to the entries of its month'
      return undefined
    } catch (error) {
      return `cannot be unpacked: ${(error as Error).message}`
    }
  })
}
