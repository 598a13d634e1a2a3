// A seeded run of the whole line: callers, nodes that crash at any change of the database, vendors and receivers that fail
// in every way, a clock that is set, an operator at work. The gateway, its poller and its webhook sender are the real ones
// over a real SQLite; time, network and chance are the simulation's, so that a seed always gives the same run.

import { createKey, makeSecret, revokeKey } from '../../src/accounts/keys'
import { addCredit, adjust } from '../../src/billing/ledger'
import type { Config } from '../../src/config/schema'
import { operations } from '../../src/contract/operations'
import { migrate } from '../../src/db/migrations'
import { openSqlite } from '../../src/db/sqlite'
import { GatewayError } from '../../src/lib/errors'
import type { Incoming } from '../../src/request/line'
import { findTask } from '../../src/tasks/find'
import { askAgain } from '../../src/tasks/late-success'
import { requestCancel } from '../../src/tasks/leases'
import { redeliver } from '../../src/webhooks/rows'
import { makeWebhookSecret } from '../../src/webhooks/secrets'
import { createRandom, type Random } from './random'
import { checkAtEnd, checkNow } from './simulation-checks'
import { type SharedDatabase, type SimulatedNode, startNode } from './simulation-node'
import { createVirtualTime, type VirtualTime } from './simulation-time'
import { createVendor, type SimulatedVendor } from './simulation-vendor'
import { videoBody } from './task-vendor'

/** A caller's request, and what became of it as far as the caller knows. */
export interface Asked {
  id: string
  kind: 'chat' | 'stream' | 'embeddings' | 'video'
  mark: string
  account: string
  keyId: string
  idempotencyKey: string | null
  startedAt: number
  /** Undefined: nobody ever heard. */
  status?: number
  code?: string
  text: string
  /** The answer was read to its end. */
  isWhole: boolean
  hasLeft: boolean
  isReplay: boolean
}

interface Customer {
  account: string
  keyId: string
  secret: string
  revokedAt: number
}

export interface Simulation {
  time: VirtualTime
  random: Random
  database: SharedDatabase
  vendor: SimulatedVendor
  nodes: SimulatedNode[]
  customers: Customer[]
  asked: Asked[]
  log: string[]
  isAlone: boolean
}

export interface SimulationResult {
  /** The same for the same seed. */
  trace: string
  events: number
  counts: Record<string, number>
}

export const SECRET_WORD = 'canary-of-a-prompt'
export const VENDOR_SECRET = 'sk-canary-of-a-vendor'
const ACTIONS = 30
const HOUR = 3_600_000
const DOLLAR = 1_000_000_000
/** So that the first crashes of many seeds are at every change of the database. */
const CRASH_POINTS = 250

const upstream = { baseUrl: 'http://vendor.example', apiKey: VENDOR_SECRET, pollsPerSecond: 1_000 }
const limits = { timeoutMs: 20_000, idleTimeoutMs: 10_000, maxDurationMs: 60_000, taskDeadlineMs: 6 * 60_000 }
const config = {
  upstreams: {
    openai: { kind: 'openai', ...upstream, ...limits },
    dashscope: { kind: 'dashscope', ...upstream, ...limits },
  },
  models: {
    'test-chat': {
      family: 'openai-chat',
      upstream: 'openai',
      upstreamModel: 'gpt-4.1-mini',
      price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
    },
    'text-embedding-v4': {
      family: 'openai-embeddings',
      upstream: 'dashscope',
      upstreamModel: 'text-embedding-v4',
      batchSize: 10,
      price: { per_1m_input_tokens: '1.00' },
    },
    'vidw2.6-t2v': {
      family: 'dashscope-video',
      upstream: 'dashscope',
      upstreamModel: 'wan2.6-t2v',
      durations: { min: 2, max: 15, default: 5 },
      price: { per_second: { '720p': '0.01' } },
    },
  },
} satisfies Config

/** Throws what the first check finds. */
export async function simulate(seed: number): Promise<SimulationResult> {
  const random = createRandom(seed)
  const time = createVirtualTime()
  const db = openSqlite(':memory:')
  let trace = 0n
  let ids = 0
  const counts: Record<string, number> = {}
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  const note = (text: string) => {
    trace = Bun.hash(text, trace) as bigint
    if (process.env.SIMULATION_LOG) console.log(time.monotonic(), text.slice(0, 400))
  }
  const newId = (prefix: string) => `${prefix}_${(++ids).toString(16).padStart(32, '0')}`
  const isAlone = random.chance(0.4)
  const database: SharedDatabase = {
    db,
    awayUntil: 0,
    unsureShare: isAlone ? 0 : random.pick([0, 0.01]),
    isCalm: false,
  }
  const vendor = createVendor(time, random)
  const simulation: Simulation = {
    time,
    random,
    database,
    vendor,
    nodes: [],
    customers: [],
    asked: [],
    log: [],
    isAlone,
  }
  let crashAt = 1 + (seed % CRASH_POINTS)

  function start(number: number): void {
    const parts = {
      number,
      time,
      random,
      config,
      database,
      send: vendor.send,
      newId,
      trace: note,
      alone: isAlone,
      crashAt,
      log: (event: string, fields: object) => {
        const line = JSON.stringify({ event, ...fields })
        simulation.log.push(line)
        count(event)
        note(line)
      },
    }
    crashAt = 1 + random.below(4 * CRASH_POINTS)
    startNode(parts).then(
      (node) => {
        simulation.nodes = [...simulation.nodes.filter((other) => other.number !== number), node]
        count('start')
      },
      // The database is away: a supervisor starts it again.
      () => time.after(1_000, () => start(number)),
    )
    // A start that a crash ends never resolves.
  }

  const starting = new Map<number, number>()
  function superviseNodes(): void {
    for (const node of simulation.nodes) {
      if (!node.isDead()) node.beat()
      else if (!starting.has(node.number)) starting.set(node.number, time.monotonic() + random.below(15_000))
    }
    for (const [number, at] of starting) {
      if (time.monotonic() < at) continue
      starting.set(number, time.monotonic() + 20_000)
      const node = simulation.nodes.find((other) => other.number === number)
      if (node?.isDead()) start(number)
      else starting.delete(number)
    }
  }

  try {
    await migrate(db)
    await fund(simulation, newId)
    const nodes = isAlone ? 1 : 2 + random.below(2)
    for (let number = 0; number < nodes; number++) {
      start(number)
      starting.set(number, 5_000)
    }
    const supervise = (everyMs: () => number) => {
      superviseNodes()
      time.after(everyMs(), () => supervise(everyMs))
    }
    let isOver = false
    supervise(() => (isOver ? 40_000 : 700 + random.below(2_500)))
    await time.runUntil(1_000)
    for (let action = 0; action < ACTIONS; action++) {
      const what = act(simulation, newId, note)
      note(what)
      count(what)
      await time.runUntil(time.monotonic() + random.below(random.pick([50, 2_000, 12_000])))
      await checkNow(simulation)
    }
    isOver = true
    vendor.heal()
    database.unsureShare = 0
    database.isCalm = true
    for (let minutes = 0; minutes < 20; minutes += 5) {
      await time.runUntil(time.monotonic() + 5 * 60_000)
      await checkNow(simulation, true)
    }
    await checkAtEnd(simulation)
    for (const { kind, status } of simulation.asked) count(`${kind} ${status ?? 'lost'}`)
    return { trace: trace.toString(16), events: time.events, counts }
  } finally {
    for (const node of simulation.nodes) node.crash()
    await db.close()
  }
}

async function fund({ random, customers, database, time }: Simulation, newId: (prefix: string) => string) {
  const bytes = (length: number) => Uint8Array.from({ length }, () => random.below(256))
  for (const [account, dollars] of [
    ['rich', 100],
    ['poor', 0.2],
    ['other', 5],
  ] as const) {
    const [secret, keyId] = [makeSecret(bytes), newId('key')]
    await createKey(database.db, {
      id: keyId,
      name: keyId,
      account,
      secret,
      webhookSecret: makeWebhookSecret(bytes),
      createdAt: time.wall(),
      models: null,
      requestsPerMinute: random.pick([null, 30]),
      tokensPerMinute: null,
      concurrency: random.pick([null, 4]),
      budgetNano: random.pick([null, DOLLAR]),
      budgetPeriod: 'day',
      expiresAt: null,
    })
    const amountNano = dollars * DOLLAR
    await addCredit(database.db, { id: newId('tr'), account, amountNano, now: time.wall(), note: null })
    customers.push({ account, keyId, secret, revokedAt: Number.POSITIVE_INFINITY })
  }
}

/** One thing that happens. Answers what it was. */
function act(
  simulation: Simulation,
  newId: (prefix: string) => string,
  note: (text: string) => void,
): string {
  const { random, time, database, vendor, isAlone } = simulation
  const living = simulation.nodes.filter((node) => !node.isDead())
  const node = living.length > 0 ? random.pick(living) : undefined
  const dice = random.below(100)
  if (dice < 74) {
    for (let more = 1 + random.below(3); more > 0; more--) if (node) ask(simulation, node, newId, note)
    return 'ask'
  }
  if (dice < 80) {
    node?.crash()
    return 'crash'
  }
  if (dice < 83) {
    node?.stop(random.pick([0, 3_000, 30_000])).catch((error) => simulation.log.push(`stop ${error}`))
    return 'stop'
  }
  if (dice < 88) {
    // Nobody could tell a node that starts right then that the others have not followed yet (src/app/clock.ts).
    if (!isAlone && time.monotonic() < database.awayUntil) return 'nothing'
    time.set(random.pick([3 * HOUR, HOUR, 60_000, -60_000, -HOUR, -5 * HOUR]))
    // Every few seconds each node looks at the clock and notes the time.
    for (const each of living) each.world.followTime().catch(() => {})
    return 'set the clock'
  }
  if (dice < 91) {
    database.awayUntil = time.monotonic() + random.below(20_000)
    return 'database away'
  }
  operate(simulation, newId)
  return vendor.tasks.size > 0 ? 'operate' : 'operate early'
}

/** What an operator does beside the gateway, over the command line. */
function operate(
  { random, database, customers, vendor, time, log }: Simulation,
  newId: (prefix: string) => string,
) {
  const { db } = database
  const customer = random.pick(customers)
  const { account, keyId } = customer
  const task = [...vendor.tasks.keys()].at(-1 - random.below(3)) ?? 'none'
  const now = time.wall()
  const id = newId('tr')
  const works: (() => Promise<unknown>)[] = [
    () => addCredit(db, { id, account, amountNano: DOLLAR / 10, now, note: null }),
    () => adjust(db, { id, account, amountNano: -DOLLAR / 20, now, note: 'test' }),
    async () => {
      const found = await findTask(db, null, task)
      if (found) await requestCancel(db, found.id, now)
    },
    async () => {
      const found = await findTask(db, null, task)
      if (found) await redeliver(db, found.id)
    },
    async () => {
      const found = await findTask(db, null, task)
      if (found) await askAgain(db, found, now)
    },
    async () => {
      if (account !== 'other') return
      if (await revokeKey(db, keyId, now)) customer.revokedAt = time.monotonic()
    },
  ]
  time.track(random.pick(works)()).catch((error) => log.push(`operator failed: ${error}`))
}

function ask(
  simulation: Simulation,
  node: SimulatedNode,
  newId: (prefix: string) => string,
  note: (text: string) => void,
): void {
  const { random, time, customers, asked } = simulation
  const customer = random.pick(customers)
  const kind = random.pick(['chat', 'stream', 'embeddings', 'video', 'video'] as const)
  // A key comes with the same request each time.
  const idempotencyKey = random.chance(0.4) ? `${kind}-${random.below(3)}` : null
  const known = asked.find((one) => idempotencyKey !== null && one.idempotencyKey === idempotencyKey)
  const mark = known?.mark ?? `mark-${asked.length}`
  const one: Asked = {
    id: newId('req'),
    kind,
    mark,
    account: (known && customers.find(({ account }) => account === known.account) ? known : customer).account,
    keyId: '',
    idempotencyKey,
    startedAt: time.monotonic(),
    text: '',
    isWhole: false,
    hasLeft: false,
    isReplay: false,
  }
  const owner = customers.find(({ account }) => account === one.account) as Customer
  one.keyId = owner.keyId
  asked.push(one)
  const leaving = new AbortController()
  const leavesAfter = random.chance(0.15) ? random.below(6_000) : undefined
  if (leavesAfter !== undefined) time.after(leavesAfter, () => leaving.abort())
  const incoming: Incoming = {
    operation: operations.find(({ name }) => name === operationOf(kind)) as Incoming['operation'],
    requestId: one.id,
    authorization: `Bearer ${owner.secret}`,
    idempotencyKey,
    waitMs: kind === 'video' && random.chance(0.3) ? 20_000 : 0,
    headers: {},
    body: async () => Buffer.from(JSON.stringify(bodyOf(kind, mark))),
    signal: () => leaving.signal,
    gatewayUrl: () => 'https://gateway.example',
  }
  // A slow caller waits between the pieces.
  const pauseMs = random.chance(0.2) ? random.below(3_000) : 0
  read(node, incoming, one, { time, leaving: leaving.signal, pauseMs }).then(
    () => note(`${one.id} ${one.status} ${one.code ?? ''} ${one.isWhole} ${one.text.length}`),
    (error) => {
      simulation.log.push(`caller failed: ${error}`)
    },
  )
}

function operationOf(kind: Asked['kind']): string {
  return kind === 'stream' ? 'chat' : kind
}

function bodyOf(kind: Asked['kind'], mark: string): object {
  const text = `${SECRET_WORD} ${mark}`
  if (kind === 'embeddings') {
    const input = Array.from({ length: 23 }, (_none, index) => `${text} number ${index}`)
    return { model: 'text-embedding-v4', input, encoding_format: 'float' }
  }
  if (kind === 'video') {
    const isTold = Number(mark.slice(5)) % 2 === 0
    return videoBody(text, isTold ? { webhook_url: 'http://10.0.0.1/ended' } : {})
  }
  const messages = [{ role: 'user', content: text }]
  return { model: 'test-chat', messages, max_tokens: 40, ...(kind === 'stream' && { stream: true }) }
}

interface Reading {
  time: VirtualTime
  leaving: AbortSignal
  pauseMs: number
}

async function read(
  { gateway, isDead }: SimulatedNode,
  incoming: Incoming,
  one: Asked,
  { time, leaving, pauseMs }: Reading,
) {
  let response: Response
  try {
    response = await gateway.handle(incoming)
  } catch (error) {
    if (isDead()) return
    one.status = error instanceof GatewayError ? error.status : 500
    one.code = error instanceof GatewayError ? error.code : String(error)
    one.isWhole = true
    return
  }
  if (isDead()) return
  one.status = response.status
  one.isReplay = response.headers.get('idempotent-replayed') === 'true'
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  leaving.addEventListener('abort', () => {
    if (one.isWhole) return
    one.hasLeft = true
    reader?.cancel().catch(() => {})
  })
  if (leaving.aborted) {
    one.hasLeft = true
    await reader?.cancel()
  }
  while (!one.hasLeft) {
    const next = await reader?.read().catch(() => undefined)
    if (isDead() || one.hasLeft) return
    if (!next) return
    if (next.done) {
      one.isWhole = true
      return
    }
    one.text += decoder.decode(next.value, { stream: true })
    if (pauseMs > 0) await new Promise<void>((resolve) => void time.after(pauseMs, resolve))
  }
}
