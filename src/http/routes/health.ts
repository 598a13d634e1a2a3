// GET /health: the process can do its work; /health/live: it should keep running; /health/ready: it should get requests. They must
// never call a vendor, need a key, or reveal a secret.

import { Elysia } from 'elysia'
import type { Program } from '../../db/schema/program'

/** Whether requests should be sent here, and what was checked, each with `ok` or the fault. */
type Ready = () => Promise<{
  isReady: boolean
  checks: Readonly<Record<'database' | 'disk' | 'configuration', string>>
}>

/** `program` is what `/health` reports about this process. */
export function healthRoutes(ready: Ready, isLive: () => boolean, program: Program) {
  return new Elysia({ name: 'health' })
    .get('/health', async () => {
      const { database, disk } = (await ready()).checks
      if (database !== 'ok')
        return Response.json({ status: 'database unavailable', ...program }, { status: 503 })
      return Response.json(
        { status: disk === 'ok' ? disk : `disk: ${disk}`, ...program },
        { status: disk === 'ok' ? 200 : 503 },
      )
    })
    .get('/health/live', () =>
      isLive() ? Response.json({ status: 'ok' }) : Response.json({ status: 'restart' }, { status: 503 }),
    )
    .get('/health/ready', async () => {
      const { isReady, checks } = await ready()
      return Response.json(
        { status: isReady ? 'ready' : 'not ready', checks },
        { status: isReady ? 200 : 503 },
      )
    })
}
