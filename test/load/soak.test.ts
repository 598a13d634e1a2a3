// The compiled executable for as many minutes as SOAK_MINUTES says, on SQLite and on PostgreSQL: streams, tasks with webhooks
// and requests, on connections of their own and on kept ones, while an operator reloads, restarts and backs up, and
// PostgreSQL goes away again and again. In the end the books, the webhooks and the backups are proven.
// SOAK_MINUTES=60 bun test test/load/soak.test.ts

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseKind } from '../support/databases/databases'
import { openAddress, temporaryFolder } from '../support/databases/databases'
import { type PostgresServer, startPostgres } from '../support/databases/postgres'
import { whenTestsEnd } from '../support/ending'
import { say, waitFor } from '../support/gateway'
import { ask, executable, type Installation, install, type Running } from '../support/processes/executable'
import { freePort } from '../support/processes/free-port'
import {
  idsOf,
  RECEIVER_NETWORK,
  startReceiver,
  type WebhookReceiver,
} from '../support/servers/webhook-receiver'
import { videoBody } from '../support/vendors/task'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 0)
const MAX_END_MS = 300_000
setDefaultTimeout(MINUTES * 60_000 + 2 * MAX_END_MS)

const STREAM = { stream: true, messages: say('[sandbox tokens=160 token_delay_ms=50] Hello!') }
/** Callers in turn: one that uses a connection again, and one that opens a new one for each request. */
type Connection = { connection?: string }
const connectionOf = (caller: number): Connection => (caller % 2 === 0 ? {} : { connection: 'close' })
const TASK = '[sandbox task_ms=5000] A river.'
const [WHOLE_CALLERS, STREAM_CALLERS, TASK_CALLERS] = [4, 4, 2]
const [WHOLE_PAUSE_MS, TASK_PAUSE_MS] = [100, 1_000]
/** Pauses between two actions of the operator, and between two outages of the database. */
const [OPERATOR_PAUSE_MS, PRESENT_MS, AWAY_MS] = [10_000, 45_000, 6_000]
/** How long after an absence failures may still come of it: what began in it, and the calls that find the server again. */
const AFTERMATH_MS = 20_000

interface Failure {
  at: number
  what: string
}

/** A gateway under load, and its confirmed answers to callers. */
interface Place {
  kind: DatabaseKind
  installation: Installation
  receiver: WebhookReceiver
  server: Running
  secret: string
  answered: number
  streamed: number
  tasks: string[]
  failures: Failure[]
  /** The processes that served, oldest first. */
  pids: number[]
  acts: Record<string, number>
}

async function prepare(kind: DatabaseKind, database?: string): Promise<Place> {
  const receiver = startReceiver()
  whenTestsEnd(() => receiver[Symbol.dispose]())
  const installation = await install({
    config: {
      ...(database && { database }),
      webhooks: { allow: [RECEIVER_NETWORK] },
      backup: { every: '1m', keep: 3 },
    },
  })
  const secret = await installation.makeKey('alice', '100000')
  const server = await installation.serve({ port: await freePort() })
  const none = { answered: 0, streamed: 0, tasks: [], failures: [], pids: [server.pid], acts: {} }
  return { kind, installation, receiver, server, secret, ...none }
}

async function repeat(until: number, pauseMs: number, act: () => Promise<void>): Promise<void> {
  while (performance.now() < until) {
    await act()
    await Bun.sleep(pauseMs)
  }
}

/** Runs one request and notes how it went. */
async function attempt(place: Place, work: () => Promise<string | undefined>): Promise<void> {
  const what = await work().catch((error) => String((error as { code?: string }).code ?? error))
  if (what === undefined) place.answered++
  else place.failures.push({ at: performance.now(), what })
}

function load(place: Place, until: number): Promise<unknown> {
  const { server, secret, receiver } = place
  const whole = (headers: Connection) =>
    attempt(place, async () => {
      const response = await ask(server, secret, {}, { headers })
      const text = await response.text()
      return response.status === 200 ? undefined : `${response.status} ${text.slice(0, 200)}`
    })
  const stream = (headers: Connection) =>
    attempt(place, async () => {
      const response = await ask(server, secret, STREAM, { headers })
      const text = await response.text()
      if (!text.trimEnd().endsWith('data: [DONE]')) return `stream ${response.status} ${text.slice(-200)}`
      place.streamed++
      return undefined
    })
  const task = (headers: Connection) =>
    attempt(place, async () => {
      const response = await fetch(`${server.url}/v1/videos/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(videoBody(TASK, { webhook_url: receiver.url })),
      })
      const text = await response.text()
      if (response.status >= 300) return `task ${response.status} ${text.slice(0, 200)}`
      place.tasks.push(text)
      return undefined
    })
  const callers = (count: number, pauseMs: number, act: (headers: Connection) => Promise<void>) =>
    Array.from({ length: count }, (_, caller) => repeat(until, pauseMs, () => act(connectionOf(caller))))
  return Promise.all([
    ...callers(WHOLE_CALLERS, WHOLE_PAUSE_MS, whole),
    ...callers(STREAM_CALLERS, 0, stream),
    ...callers(TASK_CALLERS, TASK_PAUSE_MS, task),
  ])
}

/** Reloads, restarts and backs up in turn. */
async function operate(place: Place, until: number): Promise<void> {
  const { installation, failures, acts } = place
  const { configFile } = installation
  const original = readFileSync(configFile, 'utf8')
  let turn = 0
  await repeat(until, OPERATOR_PAUSE_MS, async () => {
    const price = turn % 2 === 0 ? '1.00' : '3.00'
    const all: [string, string[]][] = [
      ['reload', ['config', 'reload']],
      ['restart', ['restart', '--json']],
      ['backup', ['backup', join(installation.dataDir, `${turn}.zst`)]],
    ]
    const [name, words] = all[turn++ % all.length] as (typeof all)[number]
    if (name === 'reload')
      writeFileSync(
        configFile,
        original.replace('"per_1m_input_tokens":"1.00"', `"per_1m_input_tokens":"${price}"`),
      )
    const { code, signal, stdout, stderr } = await installation.command(words)
    if (code !== 0) failures.push({ at: performance.now(), what: `${name}: ${signal ?? code} ${stderr}` })
    else acts[name] = (acts[name] ?? 0) + 1
    if (name === 'restart' && code === 0) place.pids.push(JSON.parse(stdout).pid)
  })
}

/** Makes the database unreachable repeatedly. Returns the times in which it was. */
async function takeAway(postgres: PostgresServer, until: number): Promise<[from: number, to: number][]> {
  const absences: [number, number][] = []
  while (performance.now() + PRESENT_MS + AWAY_MS < until) {
    await Bun.sleep(PRESENT_MS)
    const from = performance.now()
    await postgres.stop()
    await Bun.sleep(AWAY_MS)
    await postgres.start()
    absences.push([from, performance.now()])
  }
  return absences
}

/** Stops a gateway and checks what it leaves. Returns the faults. */
async function faultsOf(place: Place, database: string): Promise<unknown[]> {
  const faults: unknown[] = []
  for (const check of [checkWebhooks, checkEnd, checkBooks, checkBackups]) {
    await check(place, database).catch((error) => faults.push(`${place.kind}: ${check.name}: ${error}`))
  }
  return faults
}

async function checkWebhooks({ receiver, tasks }: Place): Promise<void> {
  await waitFor(() => idsOf(receiver).length >= tasks.length, MAX_END_MS)
}

/** Whether a process of this place lives: the system may have given its number to another one since. */
function serves(pid: number, { installation }: Place): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(installation.dataDir)
  } catch {
    // It has ended.
    return false
  }
}

async function checkEnd(place: Place): Promise<void> {
  const { pids } = place
  process.kill(pids.at(-1) as number, 'SIGTERM')
  // Those that were replaced drain by themselves.
  await waitFor(() => !pids.some((pid) => serves(pid, place)), MAX_END_MS)
}

async function checkBooks({ installation, answered, failures }: Place, database: string): Promise<void> {
  const db = openAddress(database)
  const [charges] = await db.query({
    sql: `select count(*) as count from charges where state = 'settled'`,
  })
  const open = await db.query({ sql: 'select id from open_charges' })
  await db.close()
  expect(open).toEqual([])
  // Answers that a caller saw end were paid; those cut on their way may have been, too.
  const settled = Number(charges?.count)
  expect(settled).toBeGreaterThanOrEqual(answered)
  expect(settled).toBeLessThanOrEqual(answered + failures.length)
  const { code, stdout, stderr } = await installation.command(['balance', 'verify', '--whole'])
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
}

/** The newest of the scheduled backups, restored next to the database, has correct books. */
async function checkBackups({ installation: { json, configFile } }: Place): Promise<void> {
  const backups: { name: string }[] = await json('backup', '--list')
  expect(backups.length).toBeGreaterThan(0)
  const dir = temporaryFolder()
  const config = join(dir, 'gateway.config.ts')
  writeFileSync(config, readFileSync(configFile, 'utf8').replace(/"database":"[^"]*",/, ''))
  const file = join(configFile, '..', 'data', 'backups', backups.at(-1)?.name ?? '')
  for (const words of [
    ['restore', file],
    ['balance', 'verify', '--whole'],
  ]) {
    const child = Bun.spawn(
      [await executable(), ...words, '--config', config, '--data-dir', join(dir, 'data')],
      { stdout: 'pipe', stderr: 'pipe' },
    )
    const stderr = await new Response(child.stderr).text()
    expect({ words, code: await child.exited, stderr }).toMatchObject({ words, code: 0 })
  }
}

/** The figures of a gateway, with the warnings and errors of its log. */
function figuresOf({ kind, answered, streamed, tasks, failures, acts, pids, server }: Place) {
  const lines = server.stderr().split('\n')
  const log = lines.flatMap(
    (line) => /^\{"at":"[^"]*","level":"(?:warn|error)","event":"(\w+)"/.exec(line)?.[1] ?? [],
  )
  const scheduled = lines.filter((line) => line.includes('"event":"backup_made"')).length
  return {
    kind,
    answered,
    streamed,
    tasks: tasks.length,
    processes: pids.length,
    acts: { ...acts, scheduledBackup: scheduled },
    failures: countsOf(failures.map(({ what }) => what)),
    log: countsOf(log),
  }
}

function countsOf(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  // Ids differ from one to the next.
  for (const word of words.map((each) => each.replaceAll(/\w*\d\w*/g, '#')))
    counts[word] = (counts[word] ?? 0) + 1
  return counts
}

test.skipIf(MINUTES === 0)(
  `${MINUTES} minutes under load, with an operator and a database that goes away`,
  async () => {
    const postgres = await startPostgres(temporaryFolder(), { durable: true })
    whenTestsEnd(() => postgres.stop())
    const onSqlite = await prepare('sqlite')
    const onPostgres = await prepare('postgres', postgres.url)
    const places = [onSqlite, onPostgres]
    whenTestsEnd(() => {
      for (const place of places)
        for (const pid of place.pids) if (serves(pid, place)) process.kill(pid, 'SIGKILL')
    })
    const until = performance.now() + MINUTES * 60_000
    const [absences] = await Promise.all([
      takeAway(postgres, until),
      ...places.flatMap((place) => [load(place, until), operate(place, until)]),
    ])
    console.log(`PostgreSQL was away ${absences.length} times`)
    for (const place of places) console.log(JSON.stringify(figuresOf(place)))
    const isExcused = ({ at }: Failure) =>
      absences.some(([from, to]) => at >= from && at <= to + AFTERMATH_MS)
    const failures = [
      ...onSqlite.failures,
      ...onPostgres.failures.filter((failure) => !isExcused(failure)),
    ].map(({ what }) => what)
    const faults = [
      ...(await faultsOf(onSqlite, join(onSqlite.installation.dataDir, 'gateway.sqlite'))),
      ...(await faultsOf(onPostgres, postgres.url)),
    ]
    expect({ faults, failures: countsOf(failures) }).toEqual({ faults: [], failures: {} })
  },
)
