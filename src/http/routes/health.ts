// GET /health: the process lives and its database answers. It must never call a vendor, need a key, or reveal a secret.

import { Elysia } from 'elysia'
import type { Db } from '../../db/db'
import type { System } from '../../lib/system'

export function healthRoutes(world: Pick<System, 'log'> & { db: Db }) {
  return new Elysia({ name: 'health' }).get('/health', async () => {
    try {
      await world.db.query({ sql: 'select 1 as alive' })
      return Response.json({ status: 'ok' })
    } catch (error) {
      world.log('database_unavailable', { reason: String(error) })
      return Response.json({ status: 'database unavailable' }, { status: 503 })
    }
  })
}
