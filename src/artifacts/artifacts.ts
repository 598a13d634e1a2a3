// Keeps a copy of a vendor's result, which the vendor lets die after a day, and hands out a signed address for it.
// A copy is a courtesy: it must never fail or un-charge a request, nor fill the disk beyond its limit.

import type { FetchFile } from '../contract/upstream'
import type { Db } from '../db/db'
import type { System } from '../lib/system'
import type { Pulse } from '../lib/ticker'
import type { Uploads } from '../media/uploads'
import type { ArtifactAddresses } from './addresses'
import type { BlobStore } from './blob-store'
import { Copying } from './copying'
import { makeRoom, removeExpired, removeStrays } from './removal'
import { type Artifact, findArtifact } from './rows'

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

export interface ArtifactsWorld extends Pick<System, 'now' | 'monotonic' | 'newId' | 'log'> {
  db: Db
  /** The first takes new ones; the others still have old ones. */
  stores: readonly [BlobStore, ...BlobStore[]]
  addresses: ArtifactAddresses
  keepMs: number
  maxBytes: number
  uploads: Uploads
  pulse: Pulse
}

export function createArtifacts(world: ArtifactsWorld): Artifacts {
  return new KeptArtifacts(world)
}

class KeptArtifacts implements Artifacts {
  private readonly world: ArtifactsWorld
  private readonly copying: Copying

  constructor(world: ArtifactsWorld) {
    this.world = world
    this.copying = new Copying(world, () => makeRoom(world))
  }

  keep(url: string, source: Source): Promise<string> {
    return this.copying.keep(url, source)
  }

  async keepAll(urls: readonly string[], source: Source): Promise<Map<string, string>> {
    const kept = new Map<string, string>()
    const keepOne = async (url: string) => {
      try {
        kept.set(url, await this.keep(url, source))
      } catch (error) {
        // Not the address: whoever has it can read the result.
        this.world.log('artifact_not_kept', {
          request: source.charge,
          host: URL.parse(url)?.host.slice(0, 255) ?? null,
          reason: String(error),
        })
      }
    }
    await Promise.all([...new Set(urls)].map(keepOne))
    return kept
  }

  async find(id: string, expires: string, signature: string): Promise<Artifact | undefined> {
    const { db, addresses, now } = this.world
    return addresses.holds(id, expires, signature, now()) ? findArtifact(db, id, now()) : undefined
  }

  async read(
    { id, place }: Artifact,
    start: number,
    end: number,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return await this.world.stores.find(({ name }) => name === place)?.read(id, start, end)
  }

  async sweep(): Promise<void> {
    await removeExpired(this.world)
    await makeRoom(this.world)
  }

  removeStrays(): Promise<void> {
    return removeStrays(this.world)
  }

  drain(graceMs: number): Promise<void> {
    return this.copying.drain(graceMs)
  }
}
