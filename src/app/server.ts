// A running gateway: opened, listening, and able to stop. A stop must never lose money, or cut answers before the grace period is
// over.

import { version } from '../../package.json'
import type { AdminApi } from '../admin/api'
import type { HistoryReport } from '../admin/operation'
import { createBackupSchedule } from '../backup/schedule'
import type { Config } from '../config/schema'
import { Reencryption } from '../db/encryption/reencryption'
import { Deadline } from '../lib/deadline'
import type { Sockets } from '../listen/connection-guard'
import { ListeningSide, type Predecessor } from '../listen/entrance'
import { type ListenSettings, type PassedSocket, SETTLE_MS } from '../listen/listening'
import { createGateway, type Gateway } from '../request/line'
import { createRetentionSchedule } from '../retention/schedule'
import { createPoller } from '../tasks/poller'
import type { ProcessFigures } from '../telemetry/state-metrics'
import { type AdminListener, adminAtPort, createAdminApi, listenForAdmins } from './admin-listener'
import { ConsoleEntrance } from './console-entrance'
import { Discovery } from './discovery'
import { encodedTables } from './encoded-tables'
import { listenForMetrics, type MetricsListener, watchState } from './metrics-listener'
import { type ReadConfig, type Reloaded, Reloads } from './reload'
import { createApp } from './routes'
import { type Scheduler, startScheduler } from './scheduler'
import { Takeover } from './takeover'
import { databaseFile, type Outside, openWorld, outside, type Processes, type World } from './world'

export interface Server {
  world: World
  readonly url: string
  /** Where metrics are read, if they have a listener of their own. */
  metricsUrl: string | undefined
  /** Where the admin API is, if it has a listener of its own. */
  adminUrl: string | undefined
  /** Lists what a reload would change. */
  compare(): Promise<Reloaded>
  /** Reads the configuration again and applies it. `cause` is for the log. */
  reload(cause: string): Promise<Reloaded>
  /**
   * Makes way for a newer process that listens at the same time: requests that still arrive are answered as the last on their
   * connection. Resolves when new connections reach only the other process. Until `handOver` this one can take its place back.
   */
  giveWay(): Promise<void>
  /** Serves again after `giveWay`, because the newer process has ended. This also applies if it ended before that. */
  takeBack(): void
  /**
   * Leaves the port to the newer process, after `giveWay`; `stop` must follow, which first waits, up to the grace period, until the
   * callers of this one are gone.
   */
  handOver(): Promise<void>
  /**
   * Stops accepting requests, waits for running ones up to the grace period, and settles those that are cut off. Returns how many
   * were cut off. A second call sets another grace. Ends within ten seconds after the grace period, even if the database is
   * unavailable.
   */
  stop(graceMs: number): Promise<number>
  /** Stops at once: cuts off running requests and settles them within a deadline; the disk stores what the database does not accept. */
  stopNow(): Promise<void>
}

/** Where a configuration makes it listen. */
type PlaceOf = (config: Config) => Pick<ListenSettings, 'hostname' | 'port' | 'unixSocket'>

interface ServerOptions {
  config: Config
  dataDir: string
  placeOf: PlaceOf
  /** Reads the configuration for a reload. Default: it does not change. */
  readConfig?: ReadConfig
  mark?: Readonly<Record<string, string>>
  /** Fills an empty gateway with requests of the last days. Must be absent where vendors are real. */
  makeHistory?: ((world: World) => Promise<HistoryReport>) | undefined
  outside?: Outside
  /** The processes that serve from the data directory; absent if this is the only one. */
  processes?: Processes
  /** The process that this one replaces. */
  predecessor?: Predecessor | undefined
  /** The socket of the gateway that was opened for this process. */
  passed?: PassedSocket | undefined
  /** Absent: connections are not counted. */
  sockets?: Sockets | undefined
  /** Absent: they are not shown. */
  processFigures?: () => ProcessFigures
}

const LAST_BYTES_MS = 3_000
/** Maximum duration of an immediate stop, in milliseconds. */
const STOP_NOW_MS = 2_500
/** How much longer than its grace period a stop may take in total, and how much of it is reserved for its last steps, in milliseconds. */
const STOP_MARGIN_MS = 10_000
const KEPT_FOR_JOBS_MS = 3_000
const KEPT_FOR_CLOSING_MS = 1_500

export async function startServer(options: ServerOptions): Promise<Server> {
  const { config, dataDir, processes, makeHistory } = options
  const world = await openWorld(config, dataDir, options.outside ?? outside, processes)
  const poller = createPoller(world)
  const reencryption = new Reencryption({ ...world, tables: encodedTables })
  const takeover = new Takeover(world, poller, processes)
  if (world.db.kind === 'sqlite' && takeover.isAlone) await reencryption.runAlone()
  await takeover.begin()
  const gateway = createGateway(world)
  const port = { isLeft: false }
  const admin = createAdminApi(world, version)
  const atPort = config.admin?.port === undefined ? adminAtPort(world, admin.api) : undefined
  const console = new ConsoleEntrance(world, options.mark)
  const app = createApp(world, gateway, options.mark, port, {
    admin: atPort,
    console: console.atPort,
  })
  const { entrance, metrics, admins } = await openListeners(app, options, world, admin.api, console)
  const discovery = new Discovery(world)
  const reloads = reloadsOf(options, world, entrance, discovery)
  const copied = { ...world, configNow: () => world.config, dataDir, databaseFile: databaseFile(dataDir) }
  const backups = createBackupSchedule(copied)
  const retention = createRetentionSchedule(copied)
  const work = { gateway, poller, reencryption, entrance, takeover, backups, retention, discovery }
  const scheduler = startScheduler(world, work)
  void discovery.refresh()
  const unwatch = watchState(world, gateway, options.processFigures)
  const ending = new Ending({
    ...{ world, port, gateway, entrance, metrics, admins, console, scheduler, backups, unwatch },
  })
  admin.control({
    compare: () => reloads.compare(),
    reload: (cause) => reloads.reload(cause),
    makeBackup: () => backups.makeNow(),
    closeMonths: (keepMonths) => retention.runNow(keepMonths),
    makeHistory: makeHistory && (() => makeHistory(world)),
  })
  return {
    world,
    metricsUrl: metrics?.url,
    adminUrl: admins?.url,
    get url() {
      return entrance.url
    },
    compare: () => reloads.compare(),
    reload: (cause) => reloads.reload(cause),
    giveWay: () => ending.giveWay(),
    takeBack: () => ending.takeBack(),
    handOver: () => ending.handOver(),
    stop: (graceMs) => ending.stop(graceMs),
    stopNow: () => ending.stopNow(),
  }
}

function reloadsOf(
  options: ServerOptions,
  world: World,
  entrance: ListeningSide,
  discovery: Discovery,
): Reloads {
  return new Reloads({
    world,
    read: options.readConfig ?? (async () => ({ config: world.config })),
    apply(config) {
      const enforce = world.prepare(config)
      entrance.follow(config)
      enforce()
      void discovery.refresh()
    },
  })
}

/** Opens all listeners or none: an open world keeps the process alive. */
async function openListeners(
  app: ReturnType<typeof createApp>,
  options: ServerOptions,
  world: World,
  api: AdminApi,
  console: ConsoleEntrance,
): Promise<{
  entrance: ListeningSide
  metrics: MetricsListener | undefined
  admins: AdminListener | undefined
}> {
  const canShare = options.sockets !== undefined
  let metrics: MetricsListener | undefined
  let admins: AdminListener | undefined
  try {
    metrics = listenForMetrics(world, options)
    admins = listenForAdmins(world, api, console.atAdminPort, canShare)
    return { metrics, admins, entrance: new ListeningSide(app, options, world) }
  } catch (error) {
    await metrics?.stop()
    await admins?.stop()
    await world.close()
    throw error
  }
}

interface Parts {
  world: World
  port: { isLeft: boolean }
  gateway: Gateway
  entrance: ListeningSide
  metrics: MetricsListener | undefined
  admins: AdminListener | undefined
  console: ConsoleEntrance
  scheduler: Scheduler
  backups: { stop(): void }
  unwatch(): void
}

/** The end of a running gateway, which another process may already have replaced. */
class Ending {
  /** Resolves when a process that has handed over has no callers left, or waiting for them has ended. */
  private readonly departure = Promise.withResolvers<void>()
  private givingWay: Promise<void> | undefined
  private hasHandedOver = false
  private stopping: Promise<number> | undefined
  private readonly deadline: Deadline

  constructor(private readonly parts: Parts) {
    this.deadline = new Deadline(parts.world, Number.POSITIVE_INFINITY)
  }

  giveWay(): Promise<void> {
    const { world, port, entrance } = this.parts
    port.isLeft = true
    entrance.freeze()
    this.givingWay ??= new Promise<void>((resolve) => world.after(SETTLE_MS, resolve))
    return this.givingWay
  }

  takeBack(): void {
    const { port, entrance } = this.parts
    if (this.hasHandedOver || this.stopping) return
    this.givingWay = undefined
    port.isLeft = false
    entrance.goOn()
  }

  async handOver(): Promise<void> {
    const { world, entrance, metrics, admins, console, scheduler } = this.parts
    this.hasHandedOver = true
    await this.giveWay()
    // Running polls and deliveries may take longer: they are waited for at the stop.
    void scheduler.leave().catch((error) => world.log('job_failed', { job: 'leave', reason: String(error) }))
    void metrics?.leave()
    void admins?.leave()
    void console.stop()
    void entrance.leave().then(this.departure.resolve)
  }

  stop(graceMs: number): Promise<number> {
    const { port, gateway, console, backups } = this.parts
    void console.stop()
    this.deadline.moveTo(this.parts.world.monotonic() + graceMs + STOP_MARGIN_MS)
    if (this.stopping) {
      this.departure.resolve()
      backups.stop()
      void gateway.drain(graceMs)
    }
    port.isLeft = true
    this.stopping ??= this.end(graceMs)
    return this.stopping
  }

  async stopNow(): Promise<void> {
    const { world, gateway } = this.parts
    const late = Promise.withResolvers<void>()
    world.after(STOP_NOW_MS, late.resolve)
    await Promise.race([this.stop(0), late.promise])
    gateway.saveEnds()
  }

  private async end(graceMs: number): Promise<number> {
    const { world, gateway, entrance, metrics, admins, scheduler, unwatch } = this.parts
    const { deadline } = this
    const endsAt = world.monotonic() + graceMs
    // Connected callers may send another request.
    if (this.hasHandedOver) await this.callersGone(graceMs)
    const closed = entrance.stop()
    const drained = gateway.drain(Math.max(0, endsAt - world.monotonic()))
    const cut = await this.waitFor('requests', drained, KEPT_FOR_JOBS_MS)
    gateway.saveEnds()
    // Last bytes may still be on their way; a caller that does not read them is not waited for.
    const lastBytes = setTimeout(() => entrance.cut(), Math.min(LAST_BYTES_MS, deadline.leftMs()))
    await this.waitFor('connections', closed, KEPT_FOR_JOBS_MS)
    clearTimeout(lastBytes)
    unwatch()
    const jobs = Promise.all([metrics?.stop(), admins?.stop(), scheduler.stop()])
    await this.waitFor('jobs', jobs, KEPT_FOR_CLOSING_MS)
    // The database may be unavailable, and a stop must end anyway.
    await deadline.within(
      world.followTime().catch(() => {}),
      undefined,
      KEPT_FOR_CLOSING_MS,
    )
    await this.waitFor('the database', world.close())
    return cut ?? gateway.cutRequests()
  }

  /** Waits for a part of the stop as long as there is time for it. */
  private async waitFor<Result>(
    part: string,
    work: Promise<Result>,
    keepMs = 0,
  ): Promise<Result | undefined> {
    const late = Symbol(part)
    const result = await this.deadline.within(work, late, keepMs)
    if (result !== late) return result as Result
    this.parts.world.log('stop_not_complete', { part })
    return undefined
  }

  private async callersGone(patienceMs: number): Promise<void> {
    const patience = Promise.withResolvers<void>()
    const cancel = this.parts.world.after(patienceMs, patience.resolve)
    await Promise.race([this.departure.promise, patience.promise])
    cancel()
  }
}
