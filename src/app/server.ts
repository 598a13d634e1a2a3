// A running gateway: opened, listening, and able to stop. A stop must never lose money or cut answers before the grace
// is over.

import { releaseExpired } from '../billing/ledger'
import type { Config } from '../config/schema'
import { Reencryption } from '../db/reencryption'
import { createGateway } from '../request/line'
import { forgetTaskLeases } from '../tasks/leases'
import { createPoller, type Poller } from '../tasks/poller'
import { forgetWebhookLeases } from '../webhooks/rows'
import { guardConnections, type Sockets } from './connection-guard'
import { encodedTables } from './encoded-tables'
import { type Listening, listen } from './listening'
import { createApp } from './routes'
import { startScheduler } from './scheduler'
import { type Outside, openWorld, outside, type World } from './world'

export interface Server {
  world: World
  url: string
  /**
   * Stops taking requests, waits for running ones up to the grace, settles those that are cut. Returns how many were
   * cut.
   */
  stop(graceMs: number): Promise<number>
}

interface ServerOptions {
  config: Config
  dataDir: string
  host: string
  port: number
  mark?: Readonly<Record<string, string>>
  outside?: Outside
  /** Absent: connections are not counted. */
  sockets?: Sockets | undefined
}

const LAST_BYTES_MS = 1_000

/** Ends what earlier processes have left. With `alone`, every open hold and lease belongs to a process that died. */
export async function takeOver(world: World, poller: Poller, { alone }: { alone: boolean }): Promise<void> {
  if (alone) {
    await releaseExpired(world.db, world.now(), { all: true })
    await forgetTaskLeases(world.db)
    await forgetWebhookLeases(world.db)
  }
  await world.followTime()
  await poller.sweep({ alone })
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const world = await openWorld(options.config, options.dataDir, options.outside ?? outside)
  const poller = createPoller(world)
  const reencryption = new Reencryption({ ...world, tables: encodedTables })
  // With a database of its own this is the only process that serves.
  const alone = world.db.kind === 'sqlite'
  if (alone) await reencryption.runAlone()
  await takeOver(world, poller, { alone })
  const gateway = createGateway(world)
  const app = createApp(world, gateway, options.mark)
  let listening: Listening
  try {
    listening = listen(app, options.host, options.port)
  } catch (error) {
    // An open world keeps the process alive.
    await world.close()
    throw error
  }
  const scheduler = startScheduler(world, { gateway, poller, reencryption })
  const { sockets, config } = options
  const unguard = sockets && guardConnections({ sockets, door: listening, config, log: world.log })
  return {
    world,
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${listening.port}`,
    async stop(graceMs) {
      unguard?.()
      const closed = listening.stop()
      const cut = await gateway.drain(graceMs)
      // Last bytes may still be on their way; a caller who does not take them is not waited for.
      const deadline = setTimeout(() => listening.cut(), LAST_BYTES_MS)
      await closed
      clearTimeout(deadline)
      await scheduler.stop()
      // The database may be away, and a stop must end all the same.
      await world.followTime().catch(() => {})
      await world.close()
      return cut
    },
  }
}
