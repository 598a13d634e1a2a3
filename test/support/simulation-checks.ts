// What must be true of a simulated run, by the audit of the gateway and by a second bookkeeper that knows only what the
// vendors did and what the callers heard. It uses no code that moves money.

import { audit } from '../../src/billing/audit'
import type { Db, Row } from '../../src/db/db'
import type { Asked, Simulation } from './simulation'
import { SECRET_WORD, VENDOR_SECRET } from './simulation'
import { VIDEO_NANO } from './task-vendor'

/** Nano-dollars of a token of the test models. */
const INPUT_NANO = 1_000
const OUTPUT_NANO = 2_000
/** A key is read again by then. */
const REVOKED_BY_MS = 1_000

/** After every step: the books are right, and no vendor was asked twice for the same video. */
export async function checkNow(simulation: Simulation, isQuiet = false): Promise<void> {
  const { database, nodes, vendor } = simulation
  // By the time of the nodes: that is what the expiry of a hold was told by.
  const times = nodes.filter((node) => !node.isDead()).map(({ world }) => world.now())
  // Reading the whole file takes longer than the rest; once at the end it is.
  const books: Db = isQuiet ? database.db : { ...database.db, kind: 'postgres' }
  const { problems } = await audit(books, times.length > 0 ? Math.min(...times) : 0)
  // A start after a long time, or an outage, finds holds that have expired, and needs a moment for them.
  const wrong = problems.filter((problem) => isQuiet || !problem.endsWith('still held though it expired'))
  must(wrong.length === 0, wrong.join('; '))
  for (const [mark, { begun }] of vendor.works)
    must(begun <= 1, `the video of ${mark} was begun ${begun} times`)
}

/** When nothing runs any more. */
export async function checkAtEnd(simulation: Simulation): Promise<void> {
  const { database, asked, log } = simulation
  const { db } = database
  const open = await db.query({ sql: 'select id from open_charges' })
  must(open.length === 0, `charges are open: ${JSON.stringify(open)}`)
  const ended = await db.query({ sql: 'select * from ended_charges' })
  const tasks = await db.query({ sql: 'select * from tasks' })
  const charges = new Map<string, Row[]>()
  for (const row of ended) charges.set(row.id as string, [...(charges.get(row.id as string) ?? []), row])
  checkIntegers([...ended, ...tasks])
  for (const one of asked) {
    if (one.kind === 'video') checkVideo(simulation, one, tasks)
    else checkAnswer(simulation, one, charges.get(one.id) ?? [])
    checkRevoked(simulation, one)
    must(one.status !== 500, `${one.kind} ${one.id} met a fault of our own: ${one.code}`)
  }
  checkRepeats(asked, ended)
  for (const task of tasks) checkTask(simulation, task, ended)
  await checkBalances(simulation, ended)
  await checkWebhooks(simulation, tasks)
  for (const line of log) {
    must(!line.includes(SECRET_WORD) && !line.includes(VENDOR_SECRET), `the log tells a secret: ${line}`)
  }
}

function checkAnswer(simulation: Simulation, one: Asked, charges: Row[]): void {
  const { vendor } = simulation
  const about = `${one.kind} ${one.id} (${one.status} ${one.code ?? ''})`
  must(charges.length <= 1, `${about} has ${charges.length} charges`)
  const [charge] = charges
  if (wasPending(simulation, one.id)) return
  if (one.isReplay) {
    must(charge === undefined, `${about} is a replay with a charge of its own`)
    return
  }
  if (one.status === undefined) return
  if (one.status !== 200) {
    must(
      charge === undefined || charge.state === 'released',
      `${about} was charged: ${JSON.stringify(charge)}`,
    )
    return
  }
  if (one.hasLeft || !one.isWhole) return
  must(charge?.state === 'settled', `${about} was answered and is ${JSON.stringify(charge)}`)
  if (one.text.includes('"error"')) return
  const prices = pricesOf(vendor.works.get(one.mark)?.answers ?? [])
  // The vendor said something else in good form: what that costs is not for this check.
  if (prices.length === 0) return
  const paid = (charge?.amount as number) + (charge?.shortfall as number)
  const parts = one.kind === 'embeddings' ? 3 : 1
  // Answers to the same mark may be several, as a repeat or a part that was lost is asked for again.
  const isRight = parts === 1 ? prices.includes(paid) : paid <= sum(prices) && paid > 0
  must(isRight, `${about} paid ${paid}, the vendor said ${prices}`)
}

/** The database could not take its end: that is kept in memory, and lost with the process. */
function wasPending({ log }: Simulation, id: string): boolean {
  return log.some((line) => line.includes('charge_not_ended_yet') && line.includes(id))
}

function pricesOf(answers: readonly { input: number; output: number }[]): number[] {
  return answers.map(({ input, output }) => input * INPUT_NANO + output * OUTPUT_NANO)
}

function checkVideo(simulation: Simulation, one: Asked, tasks: Row[]): void {
  const about = `video ${one.id} (${one.status} ${one.code ?? ''})`
  if (wasPending(simulation, one.id)) return
  const own = tasks.filter(({ charge }) => String(charge).split(':')[0] === one.id)
  if (one.status !== undefined && one.status >= 400) {
    // A stop may answer 503 for what has been sent; anything else that is refused leaves nothing.
    must(own.length === 0 || one.status >= 500, `${about} was refused and left a task`)
    return
  }
  if (one.status === undefined || !one.isWhole) return
  const { id } = JSON.parse(one.text) as { id: string }
  must(
    tasks.some((task) => task.id === id),
    `${about} was answered with ${id}, which is not there`,
  )
}

function checkTask({ vendor, time }: Simulation, task: Row, ended: Row[]): void {
  const about = `task ${task.id} (${task.state} ${task.error_code})`
  must(task.state !== 'submitted', `${about} is still open`)
  const charges = ended.filter(({ id }) => id === task.charge)
  const [charge] = charges
  must(charges.length === 1, `${about} has ${charges.length} charges`)
  if (task.upstream_id === null) {
    must(task.state === 'failed', `${about} has no id of the vendor's`)
    return
  }
  const truth = vendor.tasks.get(task.upstream_id as string)
  if (task.state === 'succeeded') {
    must(truth?.result === 'succeeded' && !truth.cancelled, `${about} did not succeed`)
    const paid = (charge?.amount as number) + (charge?.shortfall as number)
    must(paid === VIDEO_NANO, `${about} paid ${paid}`)
    return
  }
  must(charge?.state === 'released', `${about} is ${charge?.state}`)
  // A clock that was set while nobody ran, or differs from the operator's, brings a deadline nearer.
  if (time.wasSet) return
  const isDone = truth?.result === 'succeeded' && !truth.cancelled
  must(!isDone || task.error_code !== 'timed_out', `${about} succeeded at the vendor`)
}

function checkRevoked({ customers }: Simulation, one: Asked): void {
  const owner = customers.find(({ keyId }) => keyId === one.keyId)
  if (!owner || one.startedAt < owner.revokedAt + REVOKED_BY_MS || one.status === undefined) return
  must(one.status === 401 || one.status === 503, `${one.id} was served with a key that is revoked`)
}

/** One answer, one price, however often it is asked with one key. */
function checkRepeats(asked: readonly Asked[], ended: readonly Row[]): void {
  const groups = Map.groupBy(
    asked.filter(({ idempotencyKey }) => idempotencyKey !== null),
    ({ account, idempotencyKey }) => `${account} ${idempotencyKey}`,
  )
  for (const [name, group] of groups) {
    const ids = new Set(group.map(({ id }) => id))
    const paid = ended.filter(
      ({ id, state, ended_by: by }) => ids.has(id as string) && state === 'settled' && by === 'done',
    )
    must(paid.length <= 1 || group[0]?.kind === 'stream', `${name} was paid ${paid.length} times`)
    const whole = group.filter(
      ({ status, isWhole, isReplay, text }) => status === 200 && isWhole && isReplay && text !== '',
    )
    must(new Set(whole.map(({ text }) => text)).size <= 1, `${name} was answered differently`)
  }
}

async function checkBalances({ database, customers }: Simulation, ended: readonly Row[]): Promise<void> {
  const transfers = await database.db.query({ sql: 'select * from transfers' })
  for (const { account } of customers) {
    const book = `account:${account}`
    const funded = sum(
      transfers.map(({ to_book: to, from_book: from, amount }) =>
        to === book ? (amount as number) : from === book ? -(amount as number) : 0,
      ),
    )
    const spent = sum(ended.filter((row) => row.account === account).map(({ amount }) => amount as number))
    const [row] = await database.db.query({
      sql: 'select * from accounts where name = $1',
      parameters: [account],
    })
    must(
      row?.held === 0 && row.balance === funded - spent,
      `${account}: ${JSON.stringify(row)}, not ${funded} - ${spent}`,
    )
  }
}

async function checkWebhooks({ database, vendor, time }: Simulation, tasks: readonly Row[]): Promise<void> {
  const webhooks = await database.db.query({ sql: 'select * from webhooks order by created_at, id' })
  for (const { id, state, body, attempts } of webhooks) {
    const made = vendor.deliveries.filter((delivery) => delivery.id === id)
    must(
      made.every((delivery) => delivery.body === body),
      `${id} was delivered with different bodies`,
    )
    if (state === 'delivered')
      must(
        made.some(({ accepted }) => accepted),
        `${id} was never delivered`,
      )
    else must(state === 'pending' || (attempts as number) >= 10, `${id} was given up after ${attempts}`)
  }
  for (const task of tasks) {
    const own = webhooks.filter(({ task: id }) => id === task.id)
    if (task.webhook_url === null) continue
    const last = own.at(-1)
    must(
      String(last?.body).includes(`video.generation.${task.state}`),
      `the last webhook of ${task.id} is ${last?.body}`,
    )
  }
  must(time.monotonic() > 0, 'time has passed')
}

function checkIntegers(rows: readonly Row[]): void {
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      must(typeof value !== 'number' || Number.isSafeInteger(value), `${name} is ${value}`)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

function must(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Error(otherwise)
}
