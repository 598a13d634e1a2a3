// Opens artifacts from the configuration: the store, the lifetime, the secret that signs URLs. It must never be called with a
// faulty configuration.

import { join } from 'node:path'
import { artifactLimitsOf } from '../config/artifacts'
import type { Config } from '../config/schema'
import { secretOf } from '../db/encryption/secrets'
import { createAddresses } from './addresses'
import { type Artifacts, type ArtifactsWorld, createArtifacts } from './artifacts'
import { type BlobStore, type BucketNetwork, openBucket, openFolder } from './blob-store'
import type { Bucket } from './s3-store'

const SECRET_BYTES = 32

interface ArtifactParts
  extends Pick<ArtifactsWorld, 'db' | 'uploads' | 'ticker' | 'now' | 'monotonic' | 'newId' | 'log'>,
    BucketNetwork {
  dataDir: string
  randomBytes(count: number): Uint8Array
}

/** The artifacts; null if the configuration turns them off. */
export async function openArtifacts(config: Config, parts: ArtifactParts): Promise<Artifacts | null> {
  const { artifacts } = config
  if (!artifacts) return null
  const makeSecret = () => Buffer.from(parts.randomBytes(SECRET_BYTES)).toString('base64url')
  const secret = await secretOf(parts.db, 'artifact_addresses', makeSecret, parts.now())
  const folder = openFolder(join(parts.dataDir, 'artifacts'))
  const stores: [BlobStore, ...BlobStore[]] = artifacts.s3
    ? [openBucket(artifacts.s3 as Bucket, parts), folder]
    : [folder]
  const opened = createArtifacts({
    ...parts,
    ...artifactLimitsOf(artifacts),
    stores,
    addresses: createAddresses(secret),
  })
  await opened.removeStrays()
  return opened
}
