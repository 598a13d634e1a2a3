// Serves metrics on their own port, which serves nothing else, so that it can stay inside a network while the API is
// public.

import { statfs } from 'node:fs/promises'
import { backupEveryMs } from '../config/backup'
import { certificateEndsAt } from '../config/listening'
import { program } from '../db/schema/program'
import { errorResponse } from '../http/errors'
import { metricsAnswer } from '../http/routes/metrics'
import { pathOf } from '../http/target'
import { GatewayError } from '../lib/errors'
import { inBrackets } from '../lib/url-host'
import type { Sockets } from '../listen/connection-guard'
import type { Predecessor } from '../listen/entrance'
import { assertFree, portOfAddress } from '../listen/listening'
import type { Gateway } from '../request/line'
import type { ProcessFigures } from '../telemetry/state-metrics'
import type { World } from './world'

export interface MetricsListener {
  url: string
  /** Accepts nothing new; running reads are finished. */
  leave(): Promise<void>
  stop(): Promise<void>
}

const DEFAULT_HOST = '127.0.0.1'

interface MetricsListenOptions {
  /** Present if several sockets may listen on one port, so that another process can take it over. */
  sockets?: Sockets | undefined
  /** The process that this one replaces. */
  predecessor?: Predecessor | undefined
}

/** Opens the configured listener; undefined if none is configured. Throws if its address cannot be used. */
export function listenForMetrics(
  world: World,
  { sockets, predecessor }: MetricsListenOptions,
): MetricsListener | undefined {
  const { host = DEFAULT_HOST, port, token } = world.config.metrics ?? {}
  if (port === undefined) return undefined
  const answer = async (request: Request) => {
    try {
      if (request.method !== 'GET' || pathOf(request) !== '/metrics') throw notServed()
      return await metricsAnswer(world, token, request)
    } catch (error) {
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }
  const origin = `http://${inBrackets(host)}`
  // Another gateway there would answer every other request, about its own traffic.
  const canShare = sockets !== undefined
  if (canShare && portOfAddress(predecessor?.metricsUrl ?? '') !== port) assertFree({ hostname: host, port })
  const server = Bun.serve({ hostname: host, port, reusePort: canShare, development: false, fetch: answer })
  return {
    url: `${origin}:${server.port}/metrics`,
    leave: () => server.stop(),
    stop: () => server.stop(true),
  }
}

/** Begins to show the state of a gateway, if somebody may read it. Returns the function that ends that. */
export function watchState(
  world: World,
  { runningRequests }: Gateway,
  processFigures: (() => ProcessFigures) | undefined,
): () => void {
  const { db, now, metrics, requestLog } = world
  const state = {
    ...{ db, now, program: program(), runningRequests, processFigures },
    upstreams: () => world.catalogue.upstreams.values(),
    waitingBytes: () => world.backlog.waitingBytes,
    lostRows: requestLog.lostRows,
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(world.dataDir)
      return bavail * bsize
    },
    certificateEndsAt: () => endOf(world.config.server?.tls),
    backupEveryMs: () => backupEveryMs(world.config.backup),
  }
  return metrics?.watch(state, world) ?? (() => {})
}

/** When a certificate expires; undefined without one, or while its file is incomplete. */
function endOf(tls: { certFile: string } | undefined): number | undefined {
  try {
    return tls && certificateEndsAt(tls.certFile)
  } catch {
    return undefined
  }
}

function notServed(): GatewayError {
  return new GatewayError(404, { code: 'unknown_route', message: 'This port serves GET /metrics only.' })
}
