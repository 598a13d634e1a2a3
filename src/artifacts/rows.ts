// The rows of artifacts. A row must never be missing while its file exists: it is written before the first byte and
// removed after the last, so a crash leaves no unknown file. An artifact that was never finished expires like any
// other, only sooner.

import { Conditions } from '../db/conditions'
import { apply, type Db, type Row, tryApply } from '../db/db'

export type Artifact = ReturnType<typeof toArtifact>

function toArtifact(row: Row) {
  return {
    id: row.id as string,
    contentType: row.content_type as string,
    bytes: row.bytes as number,
    sha256: row.sha256 as string,
    expiresAt: row.expires_at as number,
    place: row.place as string,
  }
}

interface NewArtifact {
  id: string
  account: string
  keyId: string
  charge: string
  contentType: string
  bytes: number
  place: string
  createdAt: number
}

/** Maximum time for storing, with a wide margin. */
const UNFINISHED_MS = 3_600_000

/** Writes the row of an artifact whose file is being stored; its size counts from here on. */
export async function beginArtifact(db: Db, artifact: NewArtifact): Promise<void> {
  const { id, account, keyId, charge, contentType, bytes, place, createdAt } = artifact
  await apply(db, [
    {
      sql: `insert into artifacts (id, account, key_id, charge, content_type, bytes, created_at, expires_at, place)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      parameters: [
        ...[id, account, keyId, charge, contentType, bytes],
        ...[createdAt, createdAt + UNFINISHED_MS, place],
      ],
    },
  ])
}

/** Marks an artifact as stored; it can be read from here on. */
export async function finishArtifact(
  db: Db,
  id: string,
  { sha256, expiresAt }: { sha256: string; expiresAt: number },
): Promise<void> {
  const isFinished = await tryApply(db, [
    {
      sql: 'update artifacts set sha256 = $2, expires_at = $3 where id = $1 and sha256 is null',
      parameters: [id, sha256, expiresAt],
      guard: true,
    },
  ])
  if (!isFinished) throw new Error('its row was gone before it was stored')
}

export async function findArtifact(db: Db, id: string, now: number): Promise<Artifact | undefined> {
  const rows = await db.query({
    sql: 'select * from artifacts where id = $1 and expires_at > $2 and sha256 is not null',
    parameters: [id, now],
  })
  return rows.map(toArtifact)[0]
}

export async function expiredArtifacts(db: Db, now: number, most: number): Promise<Artifact[]> {
  const rows = await db.query({
    sql: 'select * from artifacts where expires_at <= $1 order by expires_at limit $2',
    parameters: [now, most],
  })
  return rows.map(toArtifact)
}

export async function oldestArtifacts(db: Db, most: number): Promise<Artifact[]> {
  const rows = await db.query({
    sql: 'select * from artifacts where sha256 is not null order by created_at, id limit $1',
    parameters: [most],
  })
  return rows.map(toArtifact)
}

/** All artifacts of a charge, stored or not. */
export async function artifactsOfCharge(db: Db, charge: string): Promise<Artifact[]> {
  const rows = await db.query({ sql: 'select * from artifacts where charge = $1', parameters: [charge] })
  return rows.map(toArtifact)
}

export async function bytesOfArtifacts(db: Db): Promise<number> {
  // The sum of integers is a decimal on PostgreSQL.
  const [row] = await db.query({
    sql: 'select cast(coalesce(sum(bytes), 0) as bigint) as bytes from artifacts',
  })
  return Number(row?.bytes)
}

export async function idsAtPlace(db: Db, place: string): Promise<Set<string>> {
  const rows = await db.query({ sql: 'select id from artifacts where place = $1', parameters: [place] })
  return new Set(rows.map(({ id }) => id as string))
}

export async function deleteArtifact(db: Db, id: string): Promise<void> {
  await apply(db, [{ sql: 'delete from artifacts where id = $1', parameters: [id] }])
}

/** A row of a list. */
export type ListedArtifact = ReturnType<typeof listedOfRow>

function listedOfRow(row: Row) {
  return {
    id: row.id as string,
    account: row.account as string,
    /** Null for an artifact that an earlier release stored. */
    keyId: row.key_id as string | null,
    charge: row.charge as string,
    contentType: row.content_type as string,
    bytes: row.bytes as number,
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number,
  }
}

interface ArtifactFilter {
  account?: string | undefined
  keyId?: string | undefined
  charge?: string | undefined
  /** Only those that can be read at this time; default: also those that are being stored or have expired. */
  readableAt?: number
  /** Only those before the one with this id. */
  after?: string | undefined
  limit: number
}

/** Artifacts, newest first. */
export async function listArtifacts(
  db: Db,
  { account, keyId, charge, readableAt, after, limit }: ArtifactFilter,
): Promise<ListedArtifact[]> {
  const list = new Conditions(...(readableAt === undefined ? [] : ['sha256 is not null']))
    .where('account = ?', account)
    .where('key_id = ?', keyId)
    .where('id < ?', after)
    .where('charge = ?', charge)
    .where('expires_at > ?', readableAt)
  const rows = await db.query({
    sql: `select * from artifacts ${list.sql} order by id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(listedOfRow)
}
