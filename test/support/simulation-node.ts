// One node of the simulation: the real gateway, poller and webhook sender over a database and a network that can fail at
// any moment. A crash takes all that the process knew: nothing that it awaits ever comes, and nothing of it goes out.

import { createAuthenticator } from '../../src/accounts/keys'
import { createClock, followDatabase, latestTime, noteTime } from '../../src/app/clock'
import { takeOver } from '../../src/app/server'
import type { World } from '../../src/app/world'
import { releaseExpired } from '../../src/billing/ledger'
import { buildCatalogue } from '../../src/catalogue/models'
import type { Config } from '../../src/config/schema'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import type { HttpResponse } from '../../src/http-client/response'
import type { HttpRequest, Transport } from '../../src/http-client/transport'
import { createGateway, type Gateway } from '../../src/request/line'
import { createPoller } from '../../src/tasks/poller'
import { createWebhookSender } from '../../src/webhooks/sender'
import type { Random } from './random'
import type { VirtualTime } from './simulation-time'

export interface NodeParts {
  number: number
  time: VirtualTime
  random: Random
  config: Config
  /** The database that all nodes share, and what is wrong with it now. */
  database: SharedDatabase
  send(request: HttpRequest): Promise<HttpResponse>
  newId(prefix: string): string
  log(event: string, fields: Record<string, unknown>): void
  trace(text: string): void
  alone: boolean
  /** The node ends at this change of the database, counted from its start: before it or after it. */
  crashAt: number
}

export interface SharedDatabase {
  db: Db
  /** Until when no statement is taken. */
  awayUntil: number
  /** The share of changes whose confirmation is lost. */
  unsureShare: number
  /** Nothing ends a process any more. */
  isCalm: boolean
}

export interface SimulatedNode {
  number: number
  world: World
  gateway: Gateway
  isDead(): boolean
  crash(): void
  /** The jobs of the scheduler that are due. */
  beat(): void
  /** Stops as a server does; it is dead then. */
  stop(graceMs: number): Promise<void>
}

const never = new Promise<never>(() => {})

/** What a process has as long as it lives. */
interface Life {
  isDead(): boolean
  crash(): void
  /** What is awaited through it never comes to a process that is dead. */
  alive<Result>(work: Promise<Result>): Promise<Result>
  after: World['after']
}

function createLife({ time, trace, number }: NodeParts): Life {
  let dead = false
  return {
    isDead: () => dead,
    crash() {
      if (!dead) trace(`crash ${number}`)
      dead = true
    },
    async alive(work) {
      try {
        const result = await work
        return dead ? await never : result
      } catch (error) {
        if (dead) return await never
        throw error
      }
    },
    after: (milliseconds, run) => time.after(milliseconds, () => !dead && run()),
  }
}

/** The shared database as one process has it: away at times, and the end of the process at one change. */
function failingDatabase(parts: NodeParts, { isDead, crash, alive }: Life): Db {
  const { time, random, database, trace, number } = parts
  let changes = 0

  /** A wait that is often none. */
  const pause = async () => {
    const milliseconds = random.pick([0, 0, 1, 3])
    if (milliseconds > 0) await alive(new Promise<void>((resolve) => void time.after(milliseconds, resolve)))
  }

  async function reached(): Promise<void> {
    if (isDead()) return never
    await pause()
    if (time.monotonic() < database.awayUntil) throw new DatabaseUnavailable('simulated: away')
  }

  return {
    kind: 'sqlite',
    async query(statement) {
      await reached()
      return alive(time.track(database.db.query(statement)))
    },
    async batch(statements) {
      await reached()
      const isLast = ++changes === parts.crashAt && !database.isCalm
      if (isLast && random.chance(0.5)) {
        crash()
        return never
      }
      trace(
        `${number} ${statements.map(({ sql, parameters }) => sql.slice(0, 30) + String(parameters)).join()}`,
      )
      const result = await time.track(database.db.batch(statements))
      if (isLast) crash()
      if (random.chance(database.unsureShare)) throw new DatabaseUnavailable('simulated: confirmation lost')
      await pause()
      return alive(Promise.resolve(result))
    },
    close: async () => {},
  }
}

export async function startNode(parts: NodeParts): Promise<SimulatedNode> {
  const { time, random, database, number } = parts
  const life = createLife(parts)
  const { isDead, crash, alive, after } = life
  const db = failingDatabase(parts, life)
  const beats = new Set<(at: number) => void>()
  const { log } = parts
  const { monotonic } = time
  const reference = await followDatabase(async () => time.wall(), monotonic)
  const now = createClock({ monotonic, reference: reference.at, log, noted: await latestTime(database.db) })
  const origin = {
    send: (request: HttpRequest) => (isDead() ? never : alive(parts.send(request))),
    close() {},
  }
  const transport: Transport = { open: () => origin }
  const world: World = {
    config: parts.config,
    db,
    journal: {
      write() {},
      recent: async () => [],
      trim: async () => {},
      flush: async () => {},
      close: async () => {},
    },
    catalogue: buildCatalogue(parts.config, { transport, wall: time.wall, monotonic, log }),
    authenticator: createAuthenticator(db, { now, monotonic }),
    tokenCounter: {
      count: async (text) => ({ tokens: Math.ceil(text.length / 4), exact: true }),
      close() {},
    },
    audioReader: { read: async () => undefined, close() {} },
    mp3Encoder: { open: absent, close() {} } as unknown as World['mp3Encoder'],
    pulse: {
      watch(beat) {
        beats.add(beat)
        return () => beats.delete(beat)
      },
      stop: () => beats.clear(),
    },
    uploads: { save: absent },
    artifacts: null,
    now,
    monotonic,
    wall: time.wall,
    after,
    async followTime() {
      await reference.look()
      await noteTime(db, { at: now(), reference: Math.floor(reference.at()) })
    },
    newId: parts.newId,
    random: () => random.below(1_000_000) / 1_000_000,
    addressRules: { allow: ['10.0.0.0/8'], lookup: async () => [] },
    transport,
    log,
    close: async () => {},
  }
  const poller = createPoller(world)
  const gateway = createGateway(world)
  const webhooks = createWebhookSender(world)
  const jobs: [everyMs: number, run: () => Promise<unknown>][] = [
    [0, () => poller.beat()],
    [0, () => webhooks.beat()],
    [2_000, () => gateway.endLater()],
    [5_000, () => releaseExpired(db, now(), gateway)],
    [15_000, () => world.followTime()],
    [30_000, () => poller.sweep()],
  ]
  const lastAt = jobs.map(() => 0)
  await takeOver(world, poller, { alone: parts.alone })
  return {
    number,
    world,
    gateway,
    isDead,
    crash,
    beat() {
      for (const beat of [...beats]) if (!isDead()) beat(time.monotonic())
      for (const [place, [everyMs, run]] of jobs.entries()) {
        if (isDead() || time.monotonic() - (lastAt[place] as number) < everyMs) continue
        lastAt[place] = time.monotonic()
        run().catch((error: unknown) => log('job_failed', { reason: String(error) }))
      }
    },
    async stop(graceMs) {
      await gateway.drain(graceMs)
      await Promise.all([poller.stop(), webhooks.stop()])
      await world.followTime().catch(() => {})
      crash()
    },
  }
}

function absent(): never {
  throw new Error('this is not part of the simulation')
}
