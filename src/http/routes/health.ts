// GET /health: the process lives and its database answers. Never calls a vendor, never needs a key, tells no secret.

import { Elysia } from 'elysia'
import type { World } from '../../app/world'

export function healthRoutes(world: World) {
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
