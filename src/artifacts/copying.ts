// Copies vendors' results into the store: a limited number at once, each with its own time limit. It must never store a file that
// is incomplete, or larger than the limit of all artifacts together.

import type { HttpResponse } from '../http-client/response'
import { safeTypeOf } from '../lib/file-formats/media-types'
import { createSemaphore } from '../lib/semaphore'
import { watchWhileNeeded } from '../lib/ticker'
import type { SavedFile } from '../media/uploads'
import type { ArtifactsWorld, Source } from './artifacts'
import { beginArtifact, finishArtifact } from './rows'

interface Copy {
  controller: AbortController
  deadlineAt: number
  ended: Promise<unknown>
}

/** Number of concurrent copies; others wait, within their own time limit. */
const MAX_COPIES = 16
const MAX_FILE_BYTES = 2 * 1024 ** 3

export class Copying {
  private readonly world: ArtifactsWorld
  /** Called before a file is stored. */
  private readonly makeRoom: () => Promise<void>
  private readonly semaphore = createSemaphore(MAX_COPIES)
  private readonly copies = new Set<Copy>()
  private readonly watch: () => void
  /** Set when the gateway stops: copies that begin later end at this time too. */
  private latestAt = Number.POSITIVE_INFINITY

  constructor(world: ArtifactsWorld, makeRoom: () => Promise<void>) {
    this.world = world
    this.makeRoom = makeRoom
    this.watch = watchWhileNeeded(world.ticker, (at) => this.cutLate(at))
  }

  /** Copies one file. Returns the signed URL of the copy, or throws the reason why there is none. */
  async keep(url: string, source: Source): Promise<string> {
    const controller = new AbortController()
    const { signal } = controller
    const ended = this.semaphore.run(signal, () => this.copy(url, source, signal))
    const deadlineAt = Math.min(this.world.monotonic() + source.timeoutMs, this.latestAt)
    const running: Copy = { controller, deadlineAt, ended }
    this.copies.add(running)
    this.watch()
    return await ended.finally(() => {
      this.copies.delete(running)
      // Releases an answer that was not read to its end.
      controller.abort()
    })
  }

  /** Waits for running copies, then cuts off the rest. */
  async drain(graceMs: number): Promise<void> {
    this.latestAt = this.world.monotonic() + graceMs
    for (const copy of this.copies) {
      copy.deadlineAt = Math.min(copy.deadlineAt, this.latestAt)
      if (graceMs <= 0) copy.controller.abort(tookTooLong())
    }
    await Promise.allSettled([...this.copies].map(({ ended }) => ended))
  }

  private cutLate(at: number): boolean {
    for (const { deadlineAt, controller } of this.copies) {
      if (at >= deadlineAt) controller.abort(tookTooLong())
    }
    return this.copies.size > 0
  }

  /**
   * Always copies via the disk: only at the end is it known whether a file is complete, and only complete files are stored.
   */
  private async copy(url: string, source: Source, signal: AbortSignal): Promise<string> {
    const response = await source.fetchFile(url, signal)
    const contentType = safeTypeOf(response.header('content-type'), URL.parse(url)?.pathname ?? '')
    const announced = Number(response.header('content-length'))
    const mostBytes = Math.min(MAX_FILE_BYTES, this.world.maxBytes)
    const saved = await this.world.uploads.save(limited(response, announced, mostBytes))
    try {
      return await this.store(saved, contentType, source, signal)
    } finally {
      await saved.remove()
    }
  }

  /**
   * Stores a file. If that fails, the remaining row soon expires, and whatever was stored for it is removed then.
   */
  private async store(
    saved: SavedFile,
    contentType: string,
    source: Source,
    signal: AbortSignal,
  ): Promise<string> {
    const { db, stores, addresses, now, newId, keepMs } = this.world
    const { account, keyId, charge, gatewayUrl } = source
    const [store] = stores
    const id = newId('art')
    const createdAt = now()
    const expiresAt = createdAt + keepMs
    const bytes = saved.file.size
    const owner = { account, keyId, charge }
    await beginArtifact(db, { id, ...owner, contentType, bytes, place: store.name, createdAt })
    await orAborted(this.makeRoom(), signal)
    await orAborted(store.take(saved.path, id, contentType), signal)
    await finishArtifact(db, id, { sha256: saved.sha256, expiresAt })
    return addresses.of(gatewayUrl, id, expiresAt)
  }
}

async function* limited(
  { body }: HttpResponse,
  announcedBytes: number,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (Math.max(bytes, announcedBytes) > mostBytes) throw new Error('the file is too large')
    yield piece
  }
  if (bytes === 0 || (announcedBytes > 0 && bytes !== announcedBytes))
    throw new Error('the file arrived incomplete')
}

function tookTooLong(): Error {
  return new Error('it took too long')
}

/** Waits for work that cannot be cut, or for the signal. The work continues after that. */
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
