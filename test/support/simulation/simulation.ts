// A seeded run of the whole line: callers, nodes that pause, stop, or crash at any access to the database, vendors and receivers
// that fail in every way, clock changes, and an operator at work. The gateway, its poller, its webhook sender and its store of
// results are the real ones over a real SQLite; time, network and randomness are simulated, so that a seed always gives the same
// run.

import { createKey, makeSecret, revokeKey, unlimited } from '../../../src/accounts/keys'
import { gatewayTime } from '../../../src/app/clock'
import { balanceOf } from '../../../src/billing/ledger/balances'
import { addCredit, adjust } from '../../../src/billing/ledger/ledger'
import type { Db } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { migrate } from '../../../src/db/migrations'
import { stopDeferred } from '../../../src/tasks/deferred'
import { findTask } from '../../../src/tasks/find'
import { askAgain } from '../../../src/tasks/late-success'
import { requestCancel } from '../../../src/tasks/leases'
import type { Task } from '../../../src/tasks/task'
import { redeliver, webhookOf } from '../../../src/webhooks/rows'
import { makeWebhookSecret } from '../../../src/webhooks/secrets'
import { createRandom, type Random } from '../random'
import { ask, type Customer, isStream, type SimulatedRequest, SPENDER_RULE } from './callers'
import { checkAtEnd } from './checks'
import { config } from './config'
import {
  type CrashPlan,
  inTurn,
  type SharedDatabase,
  STATEMENT_CLASSES,
  unwatched,
  watchWrites,
} from './database'
import type { FileStore } from './files'
import { checkNow } from './invariants'
import { MAX_CALM_PAUSE_MS } from './life'
import { type SimulatedNode, startNode } from './node'
import { createVirtualTime, type VirtualTime } from './time'
import { SimulatedVendor } from './vendor'

export interface Simulation {
  time: VirtualTime
  random: Random
  database: SharedDatabase
  store: FileStore
  /** The disk of each machine. */
  disks: Map<number, string>[]
  vendor: SimulatedVendor
  nodes: SimulatedNode[]
  customers: Customer[]
  asked: SimulatedRequest[]
  /** Webhooks that an operator sent again, with the time. */
  redelivered: { id: string; at: number }[]
  /** The state of each task at the last check, and the number of changes then. */
  states: Map<string, string>
  checkedChanges: number
  log: string[]
  /** The number of nodes. A single node is the only process at its database, as on SQLite. */
  size: number
  newId(prefix: string): string
  note(text: string): void
  count(what: string): void
}

export interface SimulationResult {
  /** The hash of all events, equal for equal seeds. */
  trace: string
  events: number
  counts: Record<string, number>
}

const ACTIONS = 22
/** The longest time between two of them. */
const STEPS_MS = [50, 2_000, 12_000, 40_000]
const HOUR = 3_600_000
const DOLLAR = 1_000_000_000
/** Longer than the lifetime of a hold. */
const OUTLIVED_MS = 180_000
/** So that the first crashes of many seeds cover every access to the database. */
const CRASH_POINTS = 500
/** How often a node records the time, with a margin. */
const NOTED_BY_MS = 20_000

/** One of each kind for all seeds of a process, because making one takes longer than emptying it. */
const opened = new Map<string | undefined, Promise<Db>>()

async function openDatabase(url: string | undefined): Promise<Db> {
  const db = url === undefined ? openSqlite(':memory:') : inTurn(openPostgres(url))
  await migrate(db)
  await watchWrites(db)
  return db
}

async function emptyDatabase(url: string | undefined): Promise<Db> {
  const opening = opened.get(url) ?? openDatabase(url)
  opened.set(url, opening)
  const db = await opening
  if (db.kind === 'postgres') {
    await emptyTables(db)
    return db
  }
  const tables = await db.query({
    sql: `select name from sqlite_schema where type = 'table' and name not in ('schema_versions', 'marks')`,
  })
  await db.batch([
    ...tables.map(({ name }) => ({ sql: `delete from ${name}` })),
    { sql: 'update marks set position = 0' },
  ])
  return db
}

async function emptyTables(db: Db): Promise<void> {
  const names = await db.query({
    sql: `select cast(tablename as text) as name from pg_tables where schemaname = current_schema()
      and tablename not in ('schema_versions', 'marks')`,
  })
  await db.batch([
    { sql: `truncate ${names.map(({ name }) => name).join(', ')}` },
    { sql: 'update marks set position = 0' },
  ])
}

/**
 * Throws what the first check finds. With an aim, each process ends at a statement of that class. With an address the database is
 * PostgreSQL, whose functions move the money.
 */
export async function simulate(seed: number, aim?: number, url?: string): Promise<SimulationResult> {
  const random = createRandom(seed)
  const time = createVirtualTime()
  const db = await emptyDatabase(url)
  let trace = 0n
  let ids = 0
  const counts: Record<string, number> = {}
  const size = random.chance(0.4) ? 1 : 2 + random.below(2)
  const database: SharedDatabase = {
    db,
    awayUntil: 0,
    unsureShare: size === 1 ? 0 : random.pick([0, 0.01, 0.05]),
    isCalm: false,
    changes: 0,
    violations: [],
  }
  const simulation: Simulation = {
    time,
    random,
    database,
    store: new Map(),
    disks: Array.from({ length: size }, () => new Map()),
    vendor: new SimulatedVendor(time, random, (id) => sendAgain(simulation, id)),
    nodes: [],
    customers: [],
    asked: [],
    redelivered: [],
    states: new Map(),
    checkedChanges: -1,
    log: [],
    size,
    newId: (prefix) => `${prefix}_${(++ids).toString(16).padStart(32, '0')}`,
    note(text) {
      trace = Bun.hash(text, trace) as bigint
      if (process.env.SIMULATION_LOG) console.log(time.monotonic(), text.slice(0, 400))
    },
    count(what) {
      counts[what] = (counts[what] ?? 0) + 1
    },
  }
  try {
    await run(simulation, seed, aim)
    return { trace: trace.toString(16), events: time.events, counts }
  } finally {
    for (const { life } of simulation.nodes) life.crash()
  }
}

async function run(simulation: Simulation, seed: number, aim: number | undefined): Promise<void> {
  const { time, random, database, vendor, note, count, size } = simulation
  await fund(simulation, hasSpenders(seed))
  count(`${size} nodes`)
  const { supervise, calm } = superviseNodes(simulation, seed, aim)
  supervise()
  await time.runUntil(1_000)
  for (let action = 0; action < ACTIONS; action++) {
    const what = act(simulation)
    note(what)
    count(what)
    await time.runUntil(time.monotonic() + random.below(random.pick(STEPS_MS)))
    await checkNow(simulation)
  }
  calm()
  vendor.heal()
  database.unsureShare = 0
  database.isCalm = true
  for (let minutes = 0; minutes < 20; minutes += 5) {
    await time.runUntil(time.monotonic() + 5 * 60_000)
    await checkNow(simulation, true)
    // Requests of an operator about ended tasks, until shortly before the end.
    for (let works = 0; minutes < 10 && works < 2; works++) operate(simulation)
  }
  await checkAtEnd(simulation)
  countAtEnd(simulation)
}

/** Whether keys have spenders: in three of eight seeds, none of which failed before spenders existed. */
function hasSpenders(seed: number): boolean {
  return seed % 8 > 4
}

function countAtEnd({ asked, log, store, count }: Simulation): void {
  for (const line of log) {
    if (line.includes('"taken over"')) count('webhook taken over')
    if (line.startsWith('{"event":"task_end_lost"')) count('task taken over')
    if (line.startsWith('{"event":"task_succeeded_late"')) count('late success')
  }
  if (store.size > 0) count('artifact kept')
  for (const { kind, status, isReplay, spender, text } of asked) {
    count(`${kind} ${status ?? 'lost'}`)
    if (spender && text.includes(`user \`${spender}\`'s budget`)) count('spender over budget')
    if (isReplay) count(isStream(kind) ? 'stream replayed' : 'replayed')
  }
}

/** Starts the nodes, restarts those that have ended, and lets each run its jobs now and then. */
function superviseNodes(simulation: Simulation, seed: number, aim: number | undefined) {
  const { time, random, database, store, disks, vendor, newId, note, count, size } = simulation
  const starting = new Map<number, number>()
  const isCounted = aim === undefined && seed % 2 === 0
  let crash: CrashPlan = isCounted ? { at: 1 + (seed % CRASH_POINTS) } : drawCrash(random, aim)
  let everyMs = () => 800 + random.below(3_000)

  function log(event: string, fields: object): void {
    const line = JSON.stringify({ event, ...fields })
    simulation.log.push(line)
    count(event)
    note(line)
  }

  function start(number: number): void {
    const parts = {
      number,
      time,
      random,
      config,
      database,
      store,
      disk: disks[number] as Map<number, string>,
      vendor,
      newId,
      trace: note,
      count,
      log,
      crash,
    }
    crash = drawCrash(random, aim)
    startNode({ ...parts, alone: size === 1 }).then(
      (node) => {
        takePlace(simulation, node)
        count('start')
      },
      // The database is unreachable: a supervisor restarts the node.
      () => time.after(1_000, () => start(number)),
    )
    // A start never resolves if a crash ends it.
  }

  function supervise(): void {
    for (const node of simulation.nodes) {
      if (!node.life.isDead()) node.beat()
      else if (!starting.has(node.number)) starting.set(node.number, time.monotonic() + random.below(15_000))
    }
    for (const [number, at] of starting) {
      if (time.monotonic() < at) continue
      starting.set(number, time.monotonic() + 20_000)
      const node = simulation.nodes.find((other) => other.number === number)
      if (!node || node.life.isDead()) start(number)
      else starting.delete(number)
    }
    time.after(everyMs(), supervise)
  }

  for (let number = 0; number < size; number++) {
    start(number)
    starting.set(number, 20_000)
  }
  return {
    supervise,
    calm() {
      const calmAt = time.monotonic()
      everyMs = () => (time.monotonic() - calmAt < 2 * MAX_CALM_PAUSE_MS ? 5_000 : 60_000)
    },
  }
}

/** Replaces the node with the same number, because a slow start may have been repeated. */
function takePlace(simulation: Simulation, node: SimulatedNode): void {
  for (const other of simulation.nodes) if (other.number === node.number) other.life.crash()
  simulation.nodes = [...simulation.nodes.filter((other) => other.number !== node.number), node]
}

/** Where a restarted process ends: with an aim, at a statement of that class. */
function drawCrash(random: Random, aim: number | undefined): CrashPlan {
  if (aim === undefined && random.chance(0.4)) return { at: 1 + random.below(2 * CRASH_POINTS) }
  return { at: random.pick([1, 1, 1, 2, 3, 6]), class: aim ?? random.below(STATEMENT_CLASSES) }
}

async function fund(
  { random, customers, database: { db }, time, newId }: Simulation,
  hasSpenders: boolean,
): Promise<void> {
  const bytes = (length: number) => Uint8Array.from({ length }, () => random.below(256))
  const few = ['test-chat', 'text-embedding-v4', 'vidw2.6-t2v', 'test-image']
  for (const [account, dollars, models] of [
    ['rich', 100, null],
    // Sometimes too poor for the end of a stream.
    ['poor', random.pick([0.2, 0.2, (150 + random.below(400)) / 1e6]), null],
    ['other', 5, few],
  ] as const) {
    const [secret, keyId] = [makeSecret(bytes), newId('key')]
    const concurrency = random.pick([null, 4])
    await createKey(db, {
      id: keyId,
      name: keyId,
      account,
      secret,
      webhookSecret: makeWebhookSecret(bytes),
      createdAt: time.wall(),
      ...unlimited,
      models: models && [...models],
      requestsPerMinute: random.pick([null, 30]),
      tokensPerMinute: random.pick([null, null, 20_000]),
      concurrency,
      budgetNano: random.pick([null, DOLLAR]),
      budgetPeriod: 'day',
      spenders: hasSpenders ? SPENDER_RULE : null,
    })
    const amountNano = Math.round(dollars * DOLLAR)
    await addCredit(db, { id: newId('tr'), account, amountNano, now: time.wall(), note: null })
    const limits = { models: models && [...models], concurrency }
    const revokedAt = Number.POSITIVE_INFINITY
    customers.push({ account, keyId, secret, ...limits, revokedAt, hasSpenders })
  }
}

/** Makes one event happen. Returns its name. */
function act(simulation: Simulation): string {
  const { random, time, database, newId, note, log } = simulation
  const awake = simulation.nodes.filter(({ life }) => !life.isDead() && !life.isPaused())
  const node = awake.length > 0 ? random.pick(awake) : undefined
  const dice = random.below(100)
  if (dice < 74) {
    if (!node) return 'nobody to ask'
    for (let more = 1 + random.below(4); more > 0; more--) ask(simulation, node, newId, note)
    return 'ask'
  }
  if (dice < 78) {
    node?.life.crash()
    return 'crash'
  }
  if (dice < 82) {
    // A single process may find that its own holds have expired meanwhile.
    const longest = simulation.size === 1 ? OUTLIVED_MS : MAX_CALM_PAUSE_MS
    return node?.life.pause(random.pick([5_000, 60_000, longest])) ? 'pause' : 'nothing'
  }
  if (dice < 84) {
    node?.stop(random.pick([0, 3_000, 30_000])).catch((error) => log.push(`stop ${error}`))
    return 'stop'
  }
  if (dice < 88) {
    // A node that starts at this moment cannot know that the others have not followed yet (src/clock.ts).
    const isSeen = awake.length === simulation.size && time.monotonic() >= database.awayUntil
    if (simulation.size > 1 && !isSeen) return 'nothing'
    time.set(random.pick([3 * HOUR, HOUR, 60_000, -60_000, -HOUR, -5 * HOUR]))
    // Every few seconds each node looks at the clock and records the time.
    for (const each of awake) each.world.followTime().catch(() => {})
    return 'set the clock'
  }
  if (dice < 91) {
    database.awayUntil = time.monotonic() + random.below(20_000)
    return 'database away'
  }
  return operate(simulation)
}

/** Commands of an operator next to the gateway. */
function operate(simulation: Simulation): string {
  const { random, database, customers, vendor, time, log, newId, count } = simulation
  if (time.monotonic() < database.awayUntil) return 'nothing'
  const db = unwatched(database.db)
  const customer = random.pick(customers)
  const { account, keyId } = customer
  const upstreamId = random.pick(['none', ...vendor.tasks.keys()])
  const now = time.wall()
  const id = newId('tr')
  const toTask = (work: (task: Task) => Promise<unknown>) => async () => {
    const found = await findTask(db, null, upstreamId)
    if (found) await work(found)
  }
  const works: Record<string, () => Promise<unknown>> = {
    credit: () => addCredit(db, { id, account, amountNano: DOLLAR / 10, now, note: null }),
    adjust: async () => void (account !== 'rich' && (await takeAll(db, { id, account, now }))),
    cancel: async () => {
      await toTask((task) => requestCancel(db, task.id, now))()
      await stopLater(db, { now, webhookId: newId('msg') })
    },
    redeliver: toTask((task) => sendTask(simulation, task.id)),
    'ask again': toTask(async (task) => {
      // By the recorded time of the nodes.
      if (time.monotonic() < database.awayUntil + NOTED_BY_MS) return
      if (!(await askAgain(db, task, await gatewayTime(db, now)))) return
      count('asked again')
      // A success then costs more than the account has.
      if (database.isCalm) await takeAll(db, { id, account: task.account, now })
    }),
    revoke: async () => {
      if (account === 'other' && (await revokeKey(db, keyId, now))) customer.revokedAt = time.monotonic()
    },
  }
  // Requests about tasks, and so about fences and late successes, come more often than the rest.
  const what = random.pick([...Object.keys(works), 'redeliver', 'ask again', 'ask again'])
  time
    .track((works[what] as () => Promise<unknown>)())
    .catch((error) => log.push(`operator failed: ${error}`))
  return 'operate'
}

/** Stops the oldest deferred request, unless it was sent to its vendor. */
async function stopLater(db: Db, options: { now: number; webhookId: string }): Promise<void> {
  const [row] = await db.query({
    sql: `select id from tasks where operation <> 'video' and state = 'submitted' order by id limit 1`,
  })
  const task = row && (await findTask(db, null, row.id as string))
  if (task) await stopDeferred(db, task, options)
}

/** Takes the remaining balance of an account, so that later charges find less than they cost. */
async function takeAll(db: Db, { id, account, now }: { id: string; account: string; now: number }) {
  const amountNano = -((await balanceOf(db, account))?.availableNano ?? 0)
  if (amountNano < 0) await adjust(db, { id, account, amountNano, now, note: 'test' })
}

/** An operator requests the webhook of a task again. */
async function sendTask({ database, redelivered, time, count }: Simulation, task: string): Promise<void> {
  const db = unwatched(database.db)
  if (!(await redeliver(db, task))) return
  const sent = await webhookOf(db, task)
  if (sent) redelivered.push({ id: sent.webhook.id, at: time.monotonic() })
  count('redelivered')
}

/** Delivers a webhook again while an attempt is running, so that the result of that attempt is ignored. */
function sendAgain(simulation: Simulation, id: string): void {
  const { database, time, log } = simulation
  const work = async () => {
    const [row] = await database.db.query({
      sql: 'select task from webhooks where id = $1',
      parameters: [id],
    })
    if (row) await sendTask(simulation, row.task as string)
  }
  time.track(work()).catch((error) => log.push(`operator failed: ${error}`))
}
