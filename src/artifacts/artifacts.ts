// Stores copies of results that vendors delete after a day, and gives out signed URLs for them. A copy is an extra: it must never
// fail a request or make it free, or fill the disk beyond its limit.

import type { FetchFile } from '../contract/upstream'
import type { Db } from '../db/db'
import type { System } from '../lib/system'
import type { Ticker } from '../lib/ticker'
import type { Uploads } from '../media/uploads'
import type { ArtifactAddresses } from './addresses'
import type { BlobStore } from './blob-store'
import { Copying } from './copying'
import { makeRoom, removeExpired, removeOfCharge, removeStrays } from './removal'
import { type Artifact, findArtifact } from './rows'

/** The owner of a result, and how to get it. */
export interface Source {
  account: string
  keyId: string
  charge: string
  fetchFile: FetchFile
  /** Origin at which callers reach this gateway: `https://gateway.example`. */
  gatewayUrl: string
  timeoutMs: number
}

export interface Artifacts {
  /** Copies the file at a vendor's URL. Returns the signed URL of the copy, or throws the reason why there is none. */
  keep(url: string, source: Source): Promise<string>
  /** Copies several files. Returns the new URL of each; files that cannot be copied are logged and omitted. */
  keepAll(urls: readonly string[], source: Source): Promise<Map<string, string>>
  /** The signed URL of an artifact, at the origin where callers reach this gateway. */
  addressOf(artifact: Pick<Artifact, 'id' | 'expiresAt'>, gatewayUrl: string): string
  /** The artifact of a signed URL; undefined for a wrong signature, an expired URL and an unknown id alike. */
  find(id: string, expires: string, signature: string): Promise<Artifact | undefined>
  /** The bytes from `start` to before `end`; undefined if the file is gone. */
  read(artifact: Artifact, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>
  /** Removes expired artifacts, and the oldest beyond the limit. */
  sweep(): Promise<void>
  /** Removes the results of a charge. Throws if one of them cannot be removed. */
  removeOf(charge: string): Promise<void>
  /** Removes files without a row, for example after the database was restored from a backup. */
  removeStrays(): Promise<void>
  /** Waits for running copies, then cuts off the rest. */
  drain(graceMs: number): Promise<void>
}

export interface ArtifactsWorld extends Pick<System, 'now' | 'monotonic' | 'newId' | 'log'> {
  db: Db
  /** The first store takes new files; the others still hold old ones. */
  stores: readonly [BlobStore, ...BlobStore[]]
  addresses: ArtifactAddresses
  keepMs: number
  maxBytes: number
  uploads: Uploads
  ticker: Ticker
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
        // The URL is not logged: anybody with it can read the result.
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

  addressOf({ id, expiresAt }: Pick<Artifact, 'id' | 'expiresAt'>, gatewayUrl: string): string {
    return this.world.addresses.of(gatewayUrl, id, expiresAt)
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

  removeOf(charge: string): Promise<void> {
    return removeOfCharge(this.world, charge)
  }

  removeStrays(): Promise<void> {
    return removeStrays(this.world)
  }

  drain(graceMs: number): Promise<void> {
    return this.copying.drain(graceMs)
  }
}
