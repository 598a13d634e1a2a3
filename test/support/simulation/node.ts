// One node of the simulation: the real gateway, poller, webhook sender and store of results over a database and a network that can
// fail at any moment. After a crash the process has no memory, receives none of its awaited results, and sends nothing.

import { createAuthenticator } from '../../../src/accounts/authenticator'
import { BearerTokens } from '../../../src/admin/bearer-tokens'
import { followDatabase, openClock } from '../../../src/app/clock'
import { putInForce } from '../../../src/app/in-force'
import { makePendingEnd, takeOver } from '../../../src/app/takeover'
import type { World } from '../../../src/app/world'
import { createAddresses } from '../../../src/artifacts/addresses'
import { createArtifacts } from '../../../src/artifacts/artifacts'
import { releaseExpired } from '../../../src/billing/ledger/ledger'
import { ReceiptKeys } from '../../../src/billing/receipts/receipt-keys'
import type { Config } from '../../../src/config/schema'
import { Notices } from '../../../src/events/notices'
import type { HttpRequest, Transport } from '../../../src/http-client/transport'
import { BackgroundResponses } from '../../../src/kept-responses/background'
import { LateAppends } from '../../../src/kept-responses/late-appends'
import { createSealer, KEY_BYTES } from '../../../src/lib/sealing'
import { createGateway, type Gateway } from '../../../src/request/line'
import { Backlog } from '../../../src/request/stream/backlog'
import { Issuers } from '../../../src/sign-in/issuers'
import { createPoller } from '../../../src/tasks/poller'
import { createWebhookSender } from '../../../src/webhooks/sender'
import type { Random } from '../random'
import { type CrashPlan, processDatabase, type SharedDatabase } from './database'
import { type FileStore, openFiles } from './files'
import { createLife, type Life } from './life'
import type { VirtualTime } from './time'
import type { SimulatedVendor } from './vendor'

interface NodeParts {
  number: number
  time: VirtualTime
  random: Random
  config: Config
  /** The database shared by all nodes, and whether it can be reached now. */
  database: SharedDatabase
  store: FileStore
  /** The disk of its machine, which survives a crash: ends of charges that the database refused. */
  disk: Map<number, string>
  vendor: SimulatedVendor
  newId(prefix: string): string
  log(event: string, fields: Record<string, unknown>): void
  trace(text: string): void
  count(what: string): void
  alone: boolean
  crash: CrashPlan
}

export interface SimulatedNode {
  number: number
  world: World
  gateway: Gateway
  life: Life
  /** The jobs of the scheduler that are due. */
  beat(): void
  /** Stops as a server does; afterwards the process is dead. */
  stop(graceMs: number): Promise<void>
}

const ADDRESS_SECRET = 'of the addresses of results'
/** Encrypted texts are the same in every run, so that a seed repeats it. */
const sealer = createSealer([new Uint8Array(KEY_BYTES)], 'simulation', (count) => new Uint8Array(count))
const DAY_MS = 86_400_000
const STORE_BYTES = 1e6

/** An encoder that records the amount of its input. */
const mp3Encoder: World['mp3Encoder'] = {
  open: () => ({
    encode: async (samples) => Buffer.from(`${samples.length};`),
    finish: async () => Buffer.from('end'),
    close() {},
  }),
  close() {},
}

const requestLog: World['requestLog'] = {
  bodiesOf: async () => undefined,
  storeFigures: async () => {},
  write() {},
  bodies: null,
  recent: async () => [],
  list: async () => ({ rows: [], next: null, looked: null }),
  find: async () => undefined,
  scan: async () => true,
  lostRows: () => 0,
  trim: async () => {},
  flush: async () => {},
  close: async () => {},
}

const tokenCounter: World['tokenCounter'] = {
  count: async (text) => ({ tokens: Math.ceil(text.length / 4), exact: true }),
  close() {},
}

/** There are no identity providers, because callers of the simulation have keys. */
function signInOf(parts: NodeParts, from: Pick<World, 'db' | 'transport' | 'now' | 'monotonic' | 'newId'>) {
  const issuers = new Issuers(parts, from)
  const randomBytes = (count: number) => new Uint8Array(count)
  return { issuers, bearerTokens: new BearerTokens({ ...from, issuers, randomBytes }) }
}

async function openWorld(parts: NodeParts, life: Life): Promise<{ world: World; beats: Beats }> {
  const { time, random, database, number, log, vendor, newId } = parts
  const db = processDatabase({ ...parts, name: `node ${number}` }, life)
  const beats: Beats = new Set()
  const ticker: World['ticker'] = {
    watch(beat) {
      beats.add(beat)
      return () => beats.delete(beat)
    },
    stop: () => beats.clear(),
  }
  const { monotonic } = time
  const reference = await followDatabase(async () => time.wall(), monotonic)
  const { now, followTime } = await openClock(database.db, reference, { monotonic, log })
  const transport = transportOf(vendor, life)
  const { uploads, blobStore } = openFiles(parts, life)
  const artifacts = createArtifacts({
    db,
    stores: [blobStore],
    addresses: createAddresses(ADDRESS_SECRET),
    keepMs: DAY_MS,
    maxBytes: STORE_BYTES,
    uploads,
    ticker,
    now,
    monotonic,
    newId,
    log,
  })
  const backgroundResponses = new BackgroundResponses({ db, now, after: life.after, log })
  const outside = { transport, wall: time.wall, monotonic, log, lookup: async () => [] }
  const world: World = Object.assign(putInForce(withReceivers(parts.config), outside), {
    ...{ db, pendingEnds: pendingOn(parts.disk, life) },
    reportSource: async () => ({ db, requestLog }),
    dataDir: '',
    metrics: null,
    tracer: null,
    process: null,
    requestLog,
    authenticator: createAuthenticator(db, { now, monotonic }),
    tokenCounter,
    audioReader: { read: async () => undefined, close() {} },
    mp3Encoder,
    ticker,
    backlog: new Backlog(log),
    uploads,
    artifacts,
    sealer,
    drills: { faultFor: () => undefined, follow: async () => {} } as never,
    receiptKeys: new ReceiptKeys({ db, now, monotonic, randomBytes: (count) => new Uint8Array(count) }),
    ...{ backgroundResponses, lateAppends: new LateAppends(db) },
    ...signInOf(parts, { db, transport, now, monotonic, newId }),
    notices: new Notices(),
    sendEvent: async () => ({ status: 200, text: '', retryAfterMs: 0 }),
    randomBytes: (count: number) => Uint8Array.from({ length: count }, () => random.below(256)),
    now,
    monotonic,
    wall: time.wall,
    after: life.after,
    followTime,
    newId,
    random: () => random.below(1_000_000) / 1_000_000,
    transport,
    log,
    close: async () => {},
  })
  return { world, beats }
}

/** The file of pending ends of a process, written to its disk while it lives. */
function pendingOn(disk: NodeParts['disk'], life: Life): World['pendingEnds'] {
  return {
    name: '',
    get count() {
      return disk.size
    },
    add(text) {
      if (life.isDead()) return undefined
      const place = Math.max(0, ...disk.keys()) + 1
      disk.set(place, text)
      return place
    },
    remove: (place) => void disk.delete(place),
  }
}

/** A configuration whose webhooks may go to the simulated receivers. */
function withReceivers(config: Config): Config {
  return { ...config, webhooks: { allow: ['10.0.0.0/8'] } }
}

/** The network of a node, which reaches vendors only while the node lives. */
function transportOf(vendor: SimulatedVendor, life: Life): Transport {
  return {
    open: (url) => ({
      async send(request: HttpRequest) {
        await life.alive(Promise.resolve())
        return life.alive(vendor.send(request, life, new URL(url).host))
      },
      close() {},
    }),
  }
}

type Beats = Set<(at: number) => void>

export async function startNode(parts: NodeParts): Promise<SimulatedNode> {
  const { time, number, trace } = parts
  const life = createLife(time, trace, `node ${number}`)
  const { world, beats } = await openWorld(parts, life)
  const poller = createPoller(world)
  const gateway = createGateway(world)
  const webhooks = createWebhookSender(world)
  const jobs: [everyMs: number, run: () => Promise<unknown>][] = [
    [0, () => poller.beat()],
    [0, () => webhooks.beat()],
    [2_000, () => gateway.endLater()],
    [5_000, () => releaseExpired(world.db, world.now(), gateway)],
    [15_000, () => world.followTime()],
    [10_000, () => gateway.renewTasks()],
    [30_000, () => gateway.renewTasks().then(() => poller.sweep())],
    [60_000, async () => world.artifacts?.sweep()],
  ]
  const lastAt = jobs.map(() => 0)
  for (const [place, text] of parts.disk) {
    if (!(await makePendingEnd(world, text))) continue
    parts.disk.delete(place)
    parts.count('pending end made')
  }
  await takeOver(world, poller, { alone: parts.alone })
  return {
    number,
    world,
    gateway,
    life,
    beat() {
      if (life.isPaused()) return
      for (const beat of [...beats]) if (!life.isDead()) beat(time.monotonic())
      for (const [place, [everyMs, run]] of jobs.entries()) {
        if (life.isDead() || time.monotonic() - (lastAt[place] as number) < everyMs) continue
        lastAt[place] = time.monotonic()
        run().catch((error: unknown) => parts.log('job_failed', { reason: String(error) }))
      }
    },
    async stop(graceMs) {
      await gateway.drain(graceMs)
      await Promise.all([poller.stop(), webhooks.stop()])
      await world.followTime().catch(() => {})
      life.crash()
    },
  }
}
