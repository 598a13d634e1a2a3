// Whether a process is healthy and should receive requests: its database accepts changes, its disk has room, and its
// configuration has a model to serve. Checked at most once every few seconds, because anyone may ask.

import { access, statfs } from 'node:fs/promises'
import type { Db } from '../db/db'
import { databaseFile, type World } from './world'

export interface Readiness {
  /** True if requests should be sent here. */
  isReady: boolean
  /** Everything that was checked, each with `ok` or the fault. Free of secrets: anybody may read it. */
  checks: Readonly<Record<'database' | 'disk' | 'configuration', string>>
}

const FRESH_MS = 2_000
const CHECK_MS = 5_000
/** Free space below which nothing new is begun. */
const MIN_FREE_BYTES = 64e6
const OK = 'ok'
/** How long a process refuses replaced servers before it asks to be restarted, which accepts them. */
const REPLACED_MS = 300_000

type ReadyWorld = Pick<World, 'db' | 'dataDir' | 'followTime' | 'catalogue' | 'monotonic' | 'after' | 'log'>

export function createReadiness(world: ReadyWorld): () => Promise<Readiness> {
  let last: { at: number; answer: Promise<Readiness> } | undefined
  return () => {
    const at = world.monotonic()
    if (!last || at - last.at >= FRESH_MS) last = { at, answer: checkReadiness(world) }
    return last.answer
  }
}

/**
 * Whether the process should keep running. False once it has refused all servers of its database for minutes, because they are older
 * than one that it has used: only a new process accepts them.
 */
export function createLiveness({
  db,
  monotonic,
}: Pick<World, 'monotonic'> & { db: Pick<Db, 'isReplaced'> }): () => boolean {
  let replacedSince: number | undefined
  return () => {
    replacedSince = db.isReplaced?.() ? (replacedSince ?? monotonic()) : undefined
    return replacedSince === undefined || monotonic() - replacedSince < REPLACED_MS
  }
}

async function checkReadiness(world: ReadyWorld): Promise<Readiness> {
  const [database, disk] = await Promise.all([databaseCheck(world), diskCheck(world)])
  const { models, hidden } = world.catalogue
  const configuration = [...models.keys()].some((id) => !hidden.has(id)) ? OK : 'no model can be served'
  const checks = { database, disk, configuration }
  return { isReady: Object.values(checks).every((check) => check === OK), checks }
}

/** Records the time, which is a minimal change. */
async function databaseCheck({ db, followTime, after, log }: ReadyWorld): Promise<string> {
  const late = Promise.withResolvers<never>()
  const cancel = after(CHECK_MS, () => late.reject(new Error('no answer in 5 s')))
  try {
    await Promise.race([followTime(), late.promise])
    return OK
  } catch (error) {
    log('database_unavailable', { reason: String(error) })
    return db.isReplaced?.() ? 'older than one used before: a restart accepts it' : 'takes no changes'
  } finally {
    cancel()
  }
}

async function diskCheck({ dataDir, db }: Pick<ReadyWorld, 'dataDir' | 'db'>): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(dataDir)
    // SQLite continues to write to a deleted file, and all of it is lost with the process.
    if (db.kind === 'sqlite') await access(databaseFile(dataDir))
    return bavail * bsize >= MIN_FREE_BYTES ? OK : 'nearly full'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'data directory or database file missing'

    return 'cannot be looked at'
  }
}
