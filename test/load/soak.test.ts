// The compiled executable for as many minutes as SOAK_MINUTES says, on SQLite and on PostgreSQL: streams, tasks with webhooks
// and requests on connections of their own, while an operator reloads, restarts and backs up, and PostgreSQL goes away again
// and again. In the end the books, the webhooks and the backups are proven.
// SOAK_MINUTES=60 bun test test/load/soak.test.ts

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseKind } from '../support/databases'
import { openAddress, temporaryFolder } from '../support/databases'
import { whenTestsEnd } from '../support/ending'
import { ask, executable, type Installation, install, isAlive, type Running } from '../support/executable'
import { freePort } from '../support/free-port'
import { say, waitFor } from '../support/gateway'
import { type PostgresServer, startPostgres } from '../support/postgres'
import { videoBody } from '../support/task-vendor'
import { idsOf, RECEIVER_NETWORK, startReceiver, type WebhookReceiver } from '../support/webhook-receiver'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 0)
const LONGEST_END_MS = 300_000
setDefaultTimeout(MINUTES * 60_000 + 2 * LONGEST_END_MS)

const STREAM = { stream: true, messages: say('[sandbox tokens=160 token_delay_ms=50] Hello!') }
/**
 * A client that uses a connection again may do so in the moment in which a process that was replaced closes it, which no
 * server can tell it in time.
 */
const OWN_CONNECTION = { connection: 'close' }
const TASK = '[sandbox task_ms=5000] A river.'
const [WHOLE_CALLERS, STREAM_CALLERS, TASK_CALLERS] = [3, 4, 2]
const [WHOLE_PAUSE_MS, TASK_PAUSE_MS] = [100, 1_000]
/** Between two acts of the operator, and between two absences of the database. */
const [OPERATOR_PAUSE_MS, PRESENT_MS, AWAY_MS] = [10_000, 45_000, 6_000]
/** How long after an absence failures may still come of it: what began in it, and the calls that find the server again. */
const AFTERMATH_MS = 20_000

interface Failure {
  at: number
  what: string
}

/** A gateway under load, and what was promised to its callers. */
interface Place {
  kind: DatabaseKind
  installation: Installation
  receiver: WebhookReceiver
  server: Running
  secret: string
  answered: number
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
  const none = { answered: 0, tasks: [], failures: [], pids: [server.pid], acts: {} }
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
  const whole = () =>
    attempt(place, async () => {
      const response = await ask(server, secret, {}, { headers: OWN_CONNECTION })
      const text = await response.text()
      return response.status === 200 ? undefined : `${response.status} ${text.slice(0, 200)}`
    })
  const stream = () =>
    attempt(place, async () => {
      const response = await ask(server, secret, STREAM, { headers: OWN_CONNECTION })
      const text = await response.text()
      return text.trimEnd().endsWith('data: [DONE]')
        ? undefined
        : `stream ${response.status} ${text.slice(-200)}`
    })
  const task = () =>
    attempt(place, async () => {
      const response = await fetch(`${server.url}/v1/videos/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...OWN_CONNECTION },
        body: JSON.stringify(videoBody(TASK, { webhook_url: receiver.url })),
      })
      const text = await response.text()
      if (response.status >= 300) return `task ${response.status} ${text.slice(0, 200)}`
      place.tasks.push(text)
      return undefined
    })
  const callers = (count: number, pauseMs: number, act: () => Promise<void>) =>
    Array.from({ length: count }, () => repeat(until, pauseMs, act))
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
    const { code, stdout, stderr } = await installation.command(words)
    if (code !== 0) failures.push({ at: performance.now(), what: `${name}: ${stderr}` })
    else acts[name] = (acts[name] ?? 0) + 1
    if (name === 'restart' && code === 0) place.pids.push(JSON.parse(stdout).pid)
  })
}

/** Takes the database away again and again. Returns the times in which it was away. */
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

async function end(place: Place, database: string): Promise<void> {
  const { installation, receiver, tasks, pids } = place
  await waitFor(() => idsOf(receiver).length >= tasks.length, LONGEST_END_MS)
  const last = pids.at(-1) as number
  process.kill(last, 'SIGTERM')
  // Those that were replaced drain by themselves.
  await waitFor(() => !pids.some(isAlive), LONGEST_END_MS)
  const db = openAddress(database)
  const [charges] = await db.query({
    sql: `select count(*) as count from charges where state = 'settled'`,
  })
  const open = await db.query({ sql: 'select id from open_charges' })
  await db.close()
  expect(open).toEqual([])
  // What a caller saw end was paid; what was cut on its way may have been, too.
  const settled = Number(charges?.count)
  const cut = place.failures.length
  expect(settled).toBeGreaterThanOrEqual(place.answered)
  expect(settled).toBeLessThanOrEqual(place.answered + cut)
  expect((await installation.command(['balance', 'verify', '--whole'])).code).toBe(0)
  await restoreLast(place)
}

/** The newest of the scheduled backups, restored beside the database, has right books. */
async function restoreLast({ installation: { json, configFile } }: Place): Promise<void> {
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

test.skipIf(MINUTES === 0)(
  `${MINUTES} minutes under load, with an operator and a database that goes away`,
  async () => {
    const postgres = await startPostgres(temporaryFolder(), { durable: true })
    whenTestsEnd(() => postgres.stop())
    const onSqlite = await prepare('sqlite')
    const onPostgres = await prepare('postgres', postgres.url)
    const places = [onSqlite, onPostgres]
    whenTestsEnd(() => {
      for (const pid of places.flatMap(({ pids }) => pids)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    })
    const until = performance.now() + MINUTES * 60_000
    const [absences] = await Promise.all([
      takeAway(postgres, until),
      ...places.flatMap((place) => [load(place, until), operate(place, until)]),
    ])
    for (const { kind, answered, tasks, failures, acts, pids } of places) {
      const line = {
        kind,
        answered,
        tasks: tasks.length,
        failed: failures.length,
        acts,
        processes: pids.length,
      }
      console.log(JSON.stringify(line))
    }
    console.log(`PostgreSQL was away ${absences.length} times`)
    const isExcused = ({ at }: Failure) =>
      absences.some(([from, to]) => at >= from && at <= to + AFTERMATH_MS)
    await end(onSqlite, join(onSqlite.installation.dataDir, 'gateway.sqlite'))
    await end(onPostgres, postgres.url)
    expect(onSqlite.failures).toEqual([])
    expect(onPostgres.failures.filter((failure) => !isExcused(failure))).toEqual([])
  },
)
