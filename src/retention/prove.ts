// Verifies the archives of closed charges: each is in its place, matches its name, and adds up to what its month left in the books.
// It must never write.

import type { BackupPlace } from '../backup/place'
import { type Closing, closingsOf } from '../billing/proofs/closings'
import type { Db } from '../db/db'
import { archiveFault } from './archive'

/** One sentence for each faulty archive. */
export async function faultsOfArchives(
  db: Db,
  place: BackupPlace,
  { scratch, onArchive = () => {} }: { scratch: string; onArchive?: (closing: Closing) => void },
): Promise<string[]> {
  const faults: string[] = []
  for (const closing of await closingsOf(db)) {
    onArchive(closing)
    const fault = await archiveFault(place, closing, { scratch })
    if (fault !== undefined) faults.push(`the archive ${closing.archive} of ${closing.month} ${fault}`)
  }
  return faults
}
