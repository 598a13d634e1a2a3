// Runs retention once in a separate thread, with its own connection: reading a month takes seconds. It must never keep anything
// between two runs.

import { openPlace } from '../backup/schedule'
import { signingKey } from '../billing/proofs/checkpoint'
import { masterKeysOf } from '../config/secrets'
import type { Db } from '../db/db'
import { openPostgres } from '../db/drivers/postgres'
import { openSqlite } from '../db/drivers/sqlite'
import { createCodec } from '../db/encryption/codec'
import { runRetention } from './run'
import { type RetentionAnswer, type RetentionTask, STOP } from './schedule'

declare const self: Worker

let isStopped = false

self.onmessage = async ({ data }: MessageEvent<RetentionTask | typeof STOP>) => {
  if (data === STOP) {
    isStopped = true
    return
  }
  try {
    self.postMessage(await run(data))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    self.postMessage({ error: message } satisfies RetentionAnswer)
  }
}

async function run({
  source,
  place,
  secrets,
  keepMonths,
  scratch,
  now,
}: RetentionTask): Promise<RetentionAnswer> {
  const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
  const codec = createCodec(masterKeysOf(secrets), randomBytes)
  const db = stoppable(
    'url' in source ? openPostgres(source.url, { patient: true, codec }) : openSqlite(source.file, { codec }),
  )
  try {
    const key = await signingKey(db, randomBytes, now)
    const parts = { db, place: openPlace(place), key, scratch, now: () => now }
    const { closed, waiting } = await runRetention(parts, keepMonths)
    return { closed, waiting }
  } finally {
    await db.close()
  }
}

/** A database that executes nothing more once the run should stop, so that none of its changes is interrupted. */
function stoppable(db: Db): Db {
  const requireRunning = () => {
    if (isStopped) throw new Error('the process stops; the rest is done after the next start')
  }
  return {
    ...db,
    async query(statement) {
      requireRunning()
      return db.query(statement)
    },
    async batch(statements) {
      requireRunning()
      return db.batch(statements)
    },
  }
}
