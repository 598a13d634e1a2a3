// How a gateway is observed: its log, its metrics, and the rows of its requests with all their readers. Created once at
// start.

import { version } from '../../package.json'
import type { Config } from '../config/schema'
import { Notices } from '../events/notices'
import type { Transport } from '../http-client/transport'
import type { Log, System } from '../lib/system'
import type { KeptBodies } from '../request-log/bodies'
import { FigureKeeper } from '../request-log/figures'
import { KeyFailureKeeper } from '../request-log/key-failures'
import { RefusalKeeper } from '../request-log/refusals'
import { openRequestLog, type ReadRows, type RequestLog } from '../request-log/request-log'
import { Exporter } from '../telemetry/exporter'
import { Metrics } from '../telemetry/metrics'
import { openBodies, openRequestStore, readBodies, type StoreParts } from './request-store'

/** The log, and the metrics that count its lines; null if nobody may read them. */
export interface Observation {
  log: Log
  metrics: Metrics | null
  /** Sends traces and logs; null if nobody collects them. */
  tracer: Exporter | null
  /** Lines of the log that are reported to operators. */
  notices: Notices
}

/** The log of requests, whose figures are kept by hour. */
export interface ObservedRequests extends RequestLog {
  /** Stores the figures of all ended requests. */
  storeFigures(): Promise<void>
  /** Stored bodies of a request, even if the configuration no longer stores bodies; undefined if none are stored. */
  bodiesOf(id: string): Promise<KeptBodies | undefined>
}

/** The outside world of an observation. */
interface ObservedWorld extends Pick<System, 'log' | 'wall' | 'after'> {
  transport: Transport
  randomBytes: (count: number) => Uint8Array
}

export function observe({ metrics: entry, telemetry }: Config, world: ObservedWorld): Observation {
  const metrics = entry ? new Metrics(world.wall) : null
  const counted = metrics ? metrics.counted(world.log) : world.log
  const tracer = telemetry
    ? new Exporter(telemetry, { ...world, version, random: Math.random, log: counted })
    : null
  const notices = new Notices()
  return { metrics, tracer, notices, log: notices.noticing(tracer ? tracer.exported(counted) : counted) }
}

/** Opens the log of requests, whose rows the others read. */
export async function openRequests(
  config: Config,
  { log, metrics, tracer }: Observation,
  parts: StoreParts & { now(): number; logRequests?: ReadRows | undefined; newId(prefix: string): string },
): Promise<ObservedRequests> {
  if (metrics) parts.db.onCommit = metrics.commit
  const source = parts.newId('run')
  const keepers = [
    new FigureKeeper(parts.db, source),
    new KeyFailureKeeper(parts.db, source),
    new RefusalKeeper(parts.db),
  ]
  const isThere = (read: ReadRows | undefined) => read !== undefined
  const readers = {
    counting: [...keepers.map(({ fold }) => fold), metrics?.fold].filter(isThere),
    writing: [tracer?.rows, parts.logRequests].filter(isThere),
  }
  const bodies = await openBodies(config, parts, log)
  const store = await openRequestStore(config, parts, parts.now())
  const requestLog = openRequestLog(store, log, readers, bodies)
  return {
    ...requestLog,
    async trim(now) {
      await requestLog.trim(now)
      for (const keeper of keepers) await keeper.store(now)
    },
    async storeFigures() {
      await requestLog.flush()
      for (const keeper of keepers) await keeper.store(parts.now())
    },
    async bodiesOf(id) {
      await bodies?.flush()
      return readBodies(parts, id)
    },
    async close() {
      await requestLog.flush()
      // The database may be unavailable, and a stop must end anyway.
      for (const keeper of keepers) await keeper.store(parts.now()).catch(() => {})
      await requestLog.close()
      await tracer?.close()
    },
  }
}
