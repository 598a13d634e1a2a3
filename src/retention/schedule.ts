// Retention that the server runs automatically, in a worker so that nobody waits for it. Only one of several nodes runs it at a
// time; if that node ends, another continues.

import type { BackupSource } from '../backup/backup'
import { type BackupTask, sourceOf } from '../backup/schedule'
import { parseMonths } from '../config/retention'
import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import { claimTurn } from '../db/job-locks'
import type { System } from '../lib/system'
import { placeOfArchives } from './archive-place'
import { NotClosed } from './close'
import { monthsToClose } from './months'
import { closingsToRemove } from './remove'
import type { RetentionReport } from './run'

/** Everything that a worker needs for one run, as plain data. */
export interface RetentionTask {
  source: BackupSource
  place: BackupTask['place']
  secrets: Config['secrets']
  keepMonths: number
  scratch: string
  now: number
}
/** Stops a worker before its next statement. */
export const STOP = 'stop'
export type RetentionAnswer = RetentionReport | { error: string }

export interface RetentionSchedule {
  /** Begins a run if one is due. */
  beat(): Promise<void>
  /** Runs at once, and resolves when it is done. Rejects with NotClosed if it fails, or if another run is in progress. */
  runNow(keepMonths: number): Promise<RetentionReport>
  stop(): void
}

/** The worker's path: next to this file in a checkout; in an executable the worker keeps its folder. */
const WORKER = import.meta.url.endsWith('/src/retention/schedule.ts')
  ? './retention-worker.ts'
  : './src/retention/retention-worker.ts'
/** The name of the lock that one of several nodes claims, and renews while it runs. */
const TURN = 'retention'
/** When a failed or interrupted run is retried. */
const RETRY_MS = 3_600_000

interface ScheduleParts extends Pick<System, 'now' | 'log'> {
  /** The current configuration. */
  configNow(): Config
  dataDir: string
  databaseFile: string
  db: Db
}

/** Whether there is something to close or to remove. */
async function isDue(db: Db, keepMonths: number, now: number): Promise<boolean> {
  if ((await closingsToRemove(db)).length > 0) return true
  const [month] = await monthsToClose(db, keepMonths, now)
  return month !== undefined && month.open === 0
}

export function createRetentionSchedule(parts: ScheduleParts): RetentionSchedule {
  const { configNow, dataDir, db, now, log } = parts
  let worker: Worker | undefined
  let isStopping = false

  /** Begins a run. Resolves when it has ended. */
  function begin(config: Config, keepMonths: number): Promise<RetentionAnswer> {
    const ended = Promise.withResolvers<RetentionAnswer>()
    const end = (answer: RetentionAnswer) => {
      worker?.terminate()
      worker = undefined
      report(answer)
      ended.resolve(answer)
    }
    worker = new Worker(new URL(WORKER, import.meta.url).href)
    worker.onmessage = ({ data }: MessageEvent<RetentionAnswer>) => end(data)
    worker.onerror = ({ message }) => end({ error: message })
    const task: RetentionTask = {
      source: sourceOf(config, parts.databaseFile),
      place: placeOfArchives(config, dataDir),
      secrets: config.secrets,
      keepMonths,
      scratch: dataDir,
      now: now(),
    }
    worker.postMessage(task)
    return ended.promise
  }

  function report(answer: RetentionAnswer): void {
    if ('error' in answer) {
      if (!isStopping) log('charges_not_closed', { reason: answer.error })
      return
    }
    for (const { month, charges, archive, archiveBytes } of answer.closed)
      log('charges_closed', { month, charges, archive, bytes: archiveBytes })
  }

  /** Ends a run between two statements: interrupted inside one, it would keep the database locked. */
  function stop(): void {
    isStopping = true
    worker?.postMessage(STOP)
    worker?.unref()
  }

  return {
    async beat() {
      if (worker) {
        // Others see that it still runs.
        await claimTurn(db, TURN, 0, now())
        return
      }
      const config = configNow()
      const keepMonths = config.retention && parseMonths(config.retention.charges)
      if (keepMonths === undefined || !(await isDue(db, keepMonths, now()))) return
      if (!(await claimTurn(db, TURN, RETRY_MS, now()))) return
      void begin(config, keepMonths)
    },
    async runNow(keepMonths) {
      // Other nodes see that it runs.
      await claimTurn(db, TURN, 0, now())
      if (worker || isStopping)
        throw new NotClosed('A run is in progress, or the process is stopping. Try again in a minute.')
      const answer = await begin(configNow(), keepMonths)
      if ('error' in answer) throw new NotClosed(answer.error)
      return answer
    },
    stop,
  }
}
