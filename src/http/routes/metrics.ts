// GET /metrics, for a monitoring system. If a token is set, metrics require it; otherwise the configuration allows requests only
// from this machine.

import { createHash, timingSafeEqual } from 'node:crypto'
import { Elysia } from 'elysia'
import { GatewayError } from '../../lib/errors'
import type { System } from '../../lib/system'
import type { Metrics } from '../../telemetry/metrics'

interface MetricsWorld extends Pick<System, 'log'> {
  metrics: Metrics | null
}

/** The route at the port of the API, which exists only if a token is set. */
export function metricsRoutes(world: MetricsWorld, token: string | undefined) {
  const app = new Elysia({ name: 'metrics' })
  if (!world.metrics || token === undefined) return app
  return app.get('/metrics', ({ request }) => metricsAnswer(world, token, request))
}

/** The metrics. Throws 401 for a reader without the token, if there is one. */
export async function metricsAnswer(
  { metrics, log }: MetricsWorld,
  token: string | undefined,
  { headers }: Request,
): Promise<Response> {
  if (!metrics) throw new Error('nobody may read metrics')
  if (token !== undefined && !isToken(headers.get('authorization'), token)) throw unauthorized()
  const { contentType, text } = await metrics.read(headers.get('accept'), log)
  return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
}

function isToken(authorization: string | null, token: string): boolean {
  const sent = authorization?.replace(/^bearer +/i, '') ?? ''
  // Hashes, because only texts of equal length can be compared in constant time.
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(sent), hash(token))
}

function unauthorized(): GatewayError {
  return new GatewayError(401, {
    code: 'metrics_token_missing',
    message: 'Metrics require the token of the configuration: send it as Authorization: Bearer.',
    headers: { 'www-authenticate': 'Bearer' },
  })
}
