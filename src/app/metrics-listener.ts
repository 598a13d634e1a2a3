// The listener of metrics: a port of its own, which serves nothing else, so that it can stay inside a network while the
// API is outside.

import { version } from '../../package.json'
import { errorResponse } from '../http/errors'
import { metricsAnswer } from '../http/routes/metrics'
import { pathOf } from '../http/target'
import { GatewayError } from '../lib/errors'
import type { Gateway } from '../request/line'
import type { ProcessFigures } from '../telemetry/state-metrics'
import type { World } from './world'

export interface MetricsListener {
  url: string
  stop(): Promise<void>
}

const DEFAULT_HOST = '127.0.0.1'

/** Opens the listener that the configuration asks for; undefined if it asks for none. Throws if its address cannot be used. `canShare` lets another process open it beside this one. */
export function listenForMetrics(world: World, canShare = false): MetricsListener | undefined {
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
  const server = Bun.serve({ hostname: host, port, reusePort: canShare, development: false, fetch: answer })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}/metrics`,
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
  const upstreams = () => world.catalogue.upstreams.values()
  const { lostRows } = requestLog
  const state = { db, now, version, upstreams, runningRequests, lostRows, processFigures }
  return metrics?.watch(state, world) ?? (() => {})
}

function notServed(): GatewayError {
  return new GatewayError(404, { code: 'unknown_route', message: 'This port serves GET /metrics only.' })
}
