// How a gateway is observed: its log, its metrics, and the rows of its requests with everybody who reads them. Made once
// at start.

import type { Config } from '../config/schema'
import type { Log } from '../lib/system'
import { openRequestLog, type ReadRows, type RequestLog } from '../request-log/request-log'
import { Metrics } from '../telemetry/metrics'
import { openRequestStore, type StoreParts } from './request-store'

/** The log, and the metrics that count its lines; null if nobody may read them. */
export interface Observation {
  log: Log
  metrics: Metrics | null
}

export function observe(
  { metrics: entry }: Config,
  { log, wall }: { log: Log; wall: () => number },
): Observation {
  const metrics = entry ? new Metrics(wall) : null
  return { metrics, log: metrics ? metrics.counted(log) : log }
}

/** Opens the log of requests, whose rows the metrics read. */
export async function openRequests(
  config: Config,
  { log, metrics }: Observation,
  parts: StoreParts & { logRequests?: ReadRows | undefined },
): Promise<RequestLog> {
  if (metrics) parts.db.onCommit = metrics.commit
  const readers = [metrics?.fold, parts.logRequests].filter((read) => read !== undefined)
  return openRequestLog(await openRequestStore(config, parts), log, readers)
}
