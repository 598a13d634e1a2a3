// Keeps a copy of a vendor's result, which the vendor lets die after a day, and hands out a signed address for it.
// A copy is a courtesy: it must never fail or un-charge a request, nor fill the disk beyond its limit.

import type { FetchFile } from '../contract/upstream'
import type { Db } from '../db/db'
import type { HttpResponse } from '../http-client/response'
import { safeTypeOf } from '../lib/media-types'
import { createTurns } from '../lib/semaphore'
import type { Pulse } from '../lib/ticker'
import type { SavedFile, Uploads } from '../media/uploads'
import type { ArtifactAddresses } from './addresses'
import type { Place } from './blob-store'
import {
  type Artifact,
  beginArtifact,
  bytesOfArtifacts,
  deleteArtifact,
  expiredArtifacts,
  findArtifact,
  finishArtifact,
  idsAtPlace,
  oldestArtifacts,
} from './rows'

/** Whose result it is, and how to get it. */
export interface Source {
  account: string
  charge: string
  fetchFile: FetchFile
  /** Where callers reach this gateway: `https://gateway.example`. */
  gatewayUrl: string
  timeoutMs: number
}

export interface Artifacts {
  /** Copies the file at a vendor's address; answers the signed address of the copy. Throws why there is none. */
  keep(url: string, source: Source): Promise<string>
  /** The same for several, each with its new address. What cannot be copied is logged and left out. */
  keepAll(urls: readonly string[], source: Source): Promise<Map<string, string>>
  /** What a signed address stands for; undefined alike for a wrong signature, an expired one and an unknown id. */
  find(id: string, expires: string, signature: string): Promise<Artifact | undefined>
  /** The bytes from `start` to before `end`; undefined where the file is gone. */
  read(artifact: Artifact, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>
  /** Removes what has expired, and the oldest beyond the limit. */
  sweep(): Promise<void>
  /** Removes files that no row knows, as after the database was restored from a backup. */
  removeStrays(): Promise<void>
  /** Waits for the copies that are being made, then cuts the rest. */
  drain(graceMs: number): Promise<void>
}

export interface ArtifactsWorld {
  db: Db
  /** The first takes new ones; the others still have old ones. */
  places: readonly [Place, ...Place[]]
  addresses: ArtifactAddresses
  keepMs: number
  maxBytes: number
  uploads: Uploads
  pulse: Pulse
  now: () => number
  monotonic: () => number
  newId: (prefix: string) => string
  log: (event: string, fields: Record<string, unknown>) => void
}

interface Copy {
  controller: AbortController
  deadlineAt: number
  ended: Promise<unknown>
}

/** Copies that are made at a time; others wait, within their own time. */
const MOST_COPIES = 16
const MOST_FILE_BYTES = 2 * 1024 ** 3
/** Rows that are looked at in one go when some are to be removed. */
const PAGE = 100

export function createArtifacts(world: ArtifactsWorld): Artifacts {
  const { db, places, addresses, now, log } = world
  const turns = createTurns(MOST_COPIES)
  const copies = new Set<Copy>()
  /** When the gateway stops: copies that begin while it does end with the others. */
  let latestAt = Number.POSITIVE_INFINITY

  world.pulse.watch((at) => {
    for (const { deadlineAt, controller } of copies) if (at >= deadlineAt) controller.abort(tookTooLong())
  })

  async function keep(url: string, source: Source): Promise<string> {
    const controller = new AbortController()
    const { signal } = controller
    const ended = turns.run(signal, () => copy(url, source, signal))
    const running: Copy = {
      controller,
      deadlineAt: Math.min(world.monotonic() + source.timeoutMs, latestAt),
      ended,
    }
    copies.add(running)
    return await ended.finally(() => {
      copies.delete(running)
      // Lets go of an answer that was not read to its end.
      controller.abort()
    })
  }

  /** By way of the disk in any case: whether a file is whole is known at its end, and only whole ones go to a place. */
  async function copy(url: string, source: Source, signal: AbortSignal): Promise<string> {
    const response = await source.fetchFile(url, signal)
    const contentType = safeTypeOf(response.header('content-type'), URL.parse(url)?.pathname ?? '')
    const announced = Number(response.header('content-length'))
    const saved = await world.uploads.save(limited(response, announced))
    try {
      return await store(saved, contentType, source, signal)
    } finally {
      await saved.remove()
    }
  }

  /** A copy that cannot be stored leaves a row that soon expires, and then whatever has come to its place is removed. */
  async function store(saved: SavedFile, contentType: string, source: Source, signal: AbortSignal) {
    const { account, charge, gatewayUrl } = source
    const [place] = places
    const id = world.newId('art')
    const createdAt = now()
    const expiresAt = createdAt + world.keepMs
    const bytes = saved.file.size
    await beginArtifact(db, { id, account, charge, contentType, bytes, place: place.name, createdAt })
    await makeRoom()
    await orAborted(place.take(saved.path, id, contentType), signal)
    await finishArtifact(db, id, { sha256: saved.sha256, expiresAt })
    return addresses.of(gatewayUrl, id, expiresAt)
  }

  async function* limited({ body }: HttpResponse, announcedBytes: number): AsyncGenerator<Uint8Array> {
    const mostBytes = Math.min(MOST_FILE_BYTES, world.maxBytes)
    let bytes = 0
    for await (const piece of body) {
      bytes += piece.byteLength
      if (Math.max(bytes, announcedBytes) > mostBytes) throw new Error('the file is too large')
      yield piece
    }
    if (bytes === 0 || (announcedBytes > 0 && bytes !== announcedBytes))
      throw new Error('the file came incomplete')
  }

  /** The oldest go first. */
  async function makeRoom(): Promise<void> {
    let excessBytes = (await bytesOfArtifacts(db)) - world.maxBytes
    while (excessBytes > 0) {
      const oldest = await oldestArtifacts(db, PAGE)
      if (oldest.length === 0) return
      const before = excessBytes
      for (const artifact of oldest) {
        if (excessBytes <= 0) return
        if (!(await tryRemove(artifact))) continue
        excessBytes -= artifact.bytes
        log('artifact_removed_early', {
          artifact: artifact.id,
          reason: 'all artifacts together are too large',
        })
      }
      if (excessBytes === before) throw new Error('no artifact can be removed to make room')
    }
  }

  /** The file first: a row without a file is found again, a file without a row is not. */
  async function remove({ id, place: name }: { id: string; place: string }): Promise<void> {
    const place = places.find((candidate) => candidate.name === name)
    if (place) await place.remove(id)
    else log('artifact_left_behind', { artifact: id, place: name })
    await deleteArtifact(db, id)
  }

  /** One that cannot be removed now must not keep the others. */
  async function tryRemove(artifact: Artifact): Promise<boolean> {
    try {
      await remove(artifact)
      return true
    } catch (error) {
      log('artifact_not_removed', { artifact: artifact.id, reason: String(error) })
      return false
    }
  }

  return {
    keep,
    async keepAll(urls, source) {
      const kept = new Map<string, string>()
      const keepOne = async (url: string) => {
        try {
          kept.set(url, await keep(url, source))
        } catch (error) {
          // Not the address: whoever has it can read the result.
          log('artifact_not_kept', {
            request: source.charge,
            host: URL.parse(url)?.host.slice(0, 255) ?? null,
            reason: String(error),
          })
        }
      }
      await Promise.all([...new Set(urls)].map(keepOne))
      return kept
    },
    async find(id, expires, signature) {
      return addresses.holds(id, expires, signature, now()) ? findArtifact(db, id, now()) : undefined
    },
    async read({ id, place: name }, start, end) {
      return await places.find((place) => place.name === name)?.read(id, start, end)
    },
    async sweep() {
      let expired: Artifact[]
      let removed: boolean[]
      do {
        expired = await expiredArtifacts(db, now(), PAGE)
        removed = []
        for (const artifact of expired) removed.push(await tryRemove(artifact))
        // Those that could not be removed come again: without one that was, so does the whole page.
      } while (expired.length === PAGE && removed.includes(true))
      await makeRoom()
    },
    async removeStrays() {
      for (const place of places) {
        // Files before rows: each file of ours has its row before it lies there.
        const ids = (await place.ids?.()) ?? []
        const known = await idsAtPlace(db, place.name)
        for (const id of ids) if (!known.has(id)) await place.remove(id)
      }
    },
    async drain(graceMs) {
      latestAt = world.monotonic() + graceMs
      for (const copy of copies) {
        copy.deadlineAt = Math.min(copy.deadlineAt, latestAt)
        if (graceMs <= 0) copy.controller.abort(tookTooLong())
      }
      await Promise.allSettled([...copies].map(({ ended }) => ended))
    },
  }
}

function tookTooLong(): Error {
  return new Error('it took too long')
}

/** For work that cannot be cut: it goes on, but is not waited for. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const cut = Promise.withResolvers<never>()
  const abort = () => cut.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, cut.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
