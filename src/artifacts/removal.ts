// Removes artifacts: expired ones, the oldest beyond the limit, and files without a row. A row must never be removed before its
// file: a row without a file is found again, a file without a row is not.

import type { ArtifactsWorld } from './artifacts'
import {
  type Artifact,
  artifactsOfCharge,
  bytesOfArtifacts,
  deleteArtifact,
  expiredArtifacts,
  idsAtPlace,
  oldestArtifacts,
} from './rows'

type RemovalWorld = Pick<ArtifactsWorld, 'db' | 'stores' | 'maxBytes' | 'now' | 'log'>

/** Number of rows per read. */
const PAGE = 100

/** Removes the oldest artifacts until all together are within the limit. Throws if none can be removed. */
export async function makeRoom(world: RemovalWorld): Promise<void> {
  const { db, log } = world
  let excessBytes = (await bytesOfArtifacts(db)) - world.maxBytes
  while (excessBytes > 0) {
    const oldest = await oldestArtifacts(db, PAGE)
    if (oldest.length === 0) return
    const before = excessBytes
    for (const artifact of oldest) {
      if (excessBytes <= 0) return
      if (!(await tryRemove(world, artifact))) continue
      excessBytes -= artifact.bytes
      log('artifact_removed_early', {
        artifact: artifact.id,
        reason: 'all artifacts together are too large',
      })
    }
    if (excessBytes === before) throw new Error('no artifact can be removed to make room')
  }
}

export async function removeExpired(world: RemovalWorld): Promise<void> {
  let expired: Artifact[]
  let removed: boolean[]
  do {
    expired = await expiredArtifacts(world.db, world.now(), PAGE)
    removed = []
    for (const artifact of expired) removed.push(await tryRemove(world, artifact))
    // Failed removals appear again. If no removal of a page succeeded, the next page is the same, so the loop ends here.
  } while (expired.length === PAGE && removed.includes(true))
}

/** Removes the artifacts of a charge. Throws if one of them cannot be removed; the next attempt takes the rest. */
export async function removeOfCharge(world: RemovalWorld, charge: string): Promise<void> {
  for (const artifact of await artifactsOfCharge(world.db, charge)) await remove(world, artifact)
}

/** Removes files without a row, for example after the database was restored from a backup. */
export async function removeStrays({ db, stores }: RemovalWorld): Promise<void> {
  for (const store of stores) {
    // Files are listed before rows, because each file has its row before it is stored.
    const ids = (await store.ids?.()) ?? []
    const known = await idsAtPlace(db, store.name)
    for (const id of ids) if (!known.has(id)) await store.remove(id)
  }
}

/** Removes an artifact; a failure is logged, so that it does not block the others. */
async function tryRemove(world: RemovalWorld, artifact: Artifact): Promise<boolean> {
  try {
    await remove(world, artifact)
    return true
  } catch (error) {
    world.log('artifact_not_removed', { artifact: artifact.id, reason: String(error) })
    return false
  }
}

async function remove({ db, stores, log }: RemovalWorld, { id, place: name }: Artifact): Promise<void> {
  const store = stores.find((candidate) => candidate.name === name)
  if (store) await store.remove(id)
  else log('artifact_left_behind', { artifact: id, place: name })
  await deleteArtifact(db, id)
}
