// GET /health: the process lives and its database answers; /health/live: the process lives; /health/ready: it should be
// sent requests. They must never call a vendor, need a key, or reveal a secret.

import { Elysia } from 'elysia'
import type { Db } from '../../db/db'
import type { System } from '../../lib/system'

/** Whether requests should be sent here, and what was looked at. */
export type Ready = () => Promise<{ isReady: boolean; checks: Readonly<Record<string, string>> }>

export function healthRoutes(world: Pick<System, 'log'> & { db: Db }, ready: Ready) {
  return new Elysia({ name: 'health' })
    .get('/health', async () => {
      try {
        await world.db.query({ sql: 'select 1 as alive' })
        return Response.json({ status: 'ok' })
      } catch (error) {
        world.log('database_unavailable', { reason: String(error) })
        return Response.json({ status: 'database unavailable' }, { status: 503 })
      }
    })
    .get('/health/live', () => Response.json({ status: 'ok' }))
    .get('/health/ready', async () => {
      const { isReady, checks } = await ready()
      return Response.json(
        { status: isReady ? 'ready' : 'not ready', checks },
        { status: isReady ? 200 : 503 },
      )
    })
}
