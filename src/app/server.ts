// A running gateway: opened, listening, and able to stop. A stop must never lose money or cut answers before the grace
// is over.

import { createBackupSchedule } from '../backup/schedule'
import { releaseExpired } from '../billing/ledger'
import type { Config } from '../config/schema'
import { Reencryption } from '../db/reencryption'
import { createGateway } from '../request/line'
import { forgetTaskLeases } from '../tasks/leases'
import { createPoller, type Poller } from '../tasks/poller'
import type { ProcessFigures } from '../telemetry/state-metrics'
import { forgetWebhookLeases } from '../webhooks/rows'
import type { Sockets } from './connection-guard'
import { encodedTables } from './encoded-tables'
import { ListeningSide } from './entrance'
import type { ListenSettings } from './listening'
import { listenForMetrics, type MetricsListener, watchState } from './metrics-listener'
import { type ReadConfig, type Reloaded, Reloads } from './reload'
import { createApp } from './routes'
import { startScheduler } from './scheduler'
import { databaseFile, type Outside, openWorld, outside, type World } from './world'

export interface Server {
  world: World
  readonly url: string
  /** Where metrics are read, if they have a listener of their own. */
  metricsUrl: string | undefined
  /** Tells what a reload would change. */
  compare(): Promise<Reloaded>
  /** Reads the configuration again and puts it in force. `cause` is for the log. */
  reload(cause: string): Promise<Reloaded>
  /**
   * Stops taking requests, waits for running ones up to the grace, settles those that are cut. Returns how many were
   * cut.
   */
  stop(graceMs: number): Promise<number>
}

/** Where a configuration has it listen. */
export type PlaceOf = (config: Config) => Pick<ListenSettings, 'hostname' | 'port' | 'unixSocket'>

interface ServerOptions {
  config: Config
  dataDir: string
  placeOf: PlaceOf
  /** Reads the configuration for a reload. Default: it stays as it is. */
  readConfig?: ReadConfig
  mark?: Readonly<Record<string, string>>
  outside?: Outside
  /** Absent: connections are not counted. */
  sockets?: Sockets | undefined
  /** Absent: they are not shown. */
  processFigures?: () => ProcessFigures
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
  let entrance: ListeningSide
  let metrics: MetricsListener | undefined
  try {
    metrics = listenForMetrics(world)
    entrance = new ListeningSide(app, options, world)
  } catch (error) {
    // An open world keeps the process alive.
    await metrics?.stop()
    await world.close()
    throw error
  }
  const reloads = new Reloads({
    world,
    read: options.readConfig ?? (async () => ({ config: world.config })),
    apply(config) {
      const enforce = world.prepare(config)
      entrance.follow(config)
      enforce()
    },
  })
  const { dataDir } = options
  const configNow = () => world.config
  const backups = createBackupSchedule({
    ...world,
    configNow,
    dataDir,
    databaseFile: databaseFile(dataDir),
  })
  const scheduler = startScheduler(world, { gateway, poller, reencryption, entrance, backups })
  const unwatch = watchState(world, gateway, options.processFigures)
  return {
    world,
    metricsUrl: metrics?.url,
    get url() {
      return entrance.url
    },
    compare: () => reloads.compare(),
    reload: (cause) => reloads.reload(cause),
    async stop(graceMs) {
      const closed = entrance.stop()
      const cut = await gateway.drain(graceMs)
      // Last bytes may still be on their way; a caller who does not take them is not waited for.
      const deadline = setTimeout(() => entrance.cut(), LAST_BYTES_MS)
      await closed
      clearTimeout(deadline)
      unwatch()
      await metrics?.stop()
      await scheduler.stop()
      // The database may be away, and a stop must end all the same.
      await world.followTime().catch(() => {})
      await world.close()
      return cut
    },
  }
}
