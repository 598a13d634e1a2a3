// Checks a simulated run after its end with a second bookkeeper, which knows only what the vendors did and what the callers
// received. It does not use any code that moves money.

import { rehearse } from '../../../src/billing/rehearsal/rehearsal'
import { RehearsedPrices } from '../../../src/billing/rehearsal/rehearsed-prices'
import type { Config } from '../../../src/config/schema'
import type { Row } from '../../../src/db/db'
import { recordedQuantities } from '../../../src/request-log/recorded-quantities'
import { VIDEO_NANO } from '../vendors/task'
import { fileAt } from './answers'
import { isLater, isStream, partsOf, type SimulatedRequest } from './callers'
import { config, FILE_HOST, SECRET_WORD, VENDOR_SECRET } from './config'
import { must } from './invariants'
import type { Simulation } from './simulation'
import type { VendorTask } from './vendor'

/** Events with errors that only an unreachable database may cause. */
const FAULTS = /^\{"event":"(task_poll_failed|task_not_recovered|charge_not_ended|job_failed|internal_error)"/
/** A changed key takes effect within this time. */
const REVOKED_BY_MS = 1_000

export async function checkAtEnd(simulation: Simulation): Promise<void> {
  const { database, asked, log } = simulation
  const { db } = database
  const open = await db.query({ sql: 'select id from open_charges' })
  must(open.length === 0, `charges are open: ${JSON.stringify(open)}`)
  const ended = await db.query({ sql: 'select * from charges' })
  const tasks = await db.query({ sql: 'select * from tasks' })
  const charges = new Map<string, Row[]>()
  for (const row of ended) charges.set(row.id as string, [...(charges.get(row.id as string) ?? []), row])
  checkIntegers([...ended, ...tasks])
  for (const one of asked) {
    if (one.kind === 'video' || isLater(one.kind)) checkVideo(one, tasks)
    else checkAnswer(simulation, one, charges.get(one.id) ?? [], charges.get(`${one.id}:late`) ?? [])
    checkRevoked(simulation, one)
    must(one.status !== 500, `${one.kind} ${one.id} failed with an internal error: ${one.code}`)
    must(!one.text.includes(VENDOR_SECRET), `${one.kind} ${one.id} contains a vendor's key`)
  }
  checkRepeats(asked, ended)
  checkModels(simulation, ended)
  for (const task of tasks) checkTask(simulation, task, ended)
  await checkResults(simulation, tasks)
  await checkBalances(simulation, ended)
  await checkRehearsal(simulation, ended)
  await checkWebhooks(simulation, tasks)
  for (const line of log) {
    must(!line.includes(SECRET_WORD) && !line.includes(VENDOR_SECRET), `the log contains a secret: ${line}`)
    must(!FAULTS.test(line) || line.includes('DatabaseUnavailable'), `an internal error: ${line}`)
  }
}

function checkAnswer(simulation: Simulation, one: SimulatedRequest, charges: Row[], late: Row[]): void {
  const { vendor, disks } = simulation
  const about = `${one.kind} ${one.id} (${one.status} ${one.code ?? ''})`
  must(charges.length <= 1 && late.length <= 1, `${about} has ${charges.length} charges`)
  must(late.length === 0 || charges[0]?.state === 'released', `${about} was charged both in time and late`)
  const charge = late[0] ?? charges[0]
  const isLeft = disks.some((disk) => [...disk.values()].some((text) => text.includes(one.id)))
  must(!isLeft, `${about} still has a pending end on a disk`)
  if (one.isReplay) {
    must(charge === undefined, `${about} is a replay with its own charge`)
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
  // A stream that stops before any output is free, and ends with an error.
  const isBroken = one.text.includes('"error"')
  must(
    charge?.state === 'settled' || (isBroken && charge !== undefined),
    `${about} was answered and is ${JSON.stringify(charge)}`,
  )
  if (isBroken) return
  if (charge?.ended_by === 'balance') {
    checkCut(simulation, one, charge)
    return
  }
  const made = vendor.works.get(one.mark)?.made ?? []
  // The vendor sent a different valid answer, whose cost this check does not know.
  if (made.length === 0) return
  const paid = (charge?.amount as number) + (charge?.shortfall as number)
  const name = upstreamModelOf(charge?.model as string)
  const prices = made.filter(({ model }) => model === name).map(({ nano }) => nano)
  const parts = partsOf(one.kind)
  // Several answers may have the same mark, because a repeat or a lost part is requested again.
  const isRight =
    parts === 1
      ? prices.includes(paid)
      : paid === sum(prices) || (prices.length > parts && paid < sum(prices) && paid > 0)
  must(isRight, `${about} paid ${paid} for ${name}, the vendors reported ${JSON.stringify(made)}`)
}

/** A stream that the account cannot pay to its end ends like an answer at its limit, and costs no more than its hold. */
function checkCut(
  { count }: Simulation,
  { id, kind, text, spender }: SimulatedRequest,
  { held, amount, shortfall }: Row,
): void {
  count('stream cut')
  if (spender) count('stream of a spender cut')
  must(isStream(kind), `${kind} ${id} was cut, and is not a stream`)
  must(/"(length|max_tokens)"/.test(text), `${kind} ${id} was cut without a reason: ${text}`)
  must(/"word 0 "/.test(text), `${kind} ${id} was cut before it began: ${text}`)
  must((amount as number) <= (held as number) && shortfall === 0, `${kind} ${id} cost ${amount} of ${held}`)
}

function upstreamModelOf(id: string): string | undefined {
  return (config.models as Record<string, { upstreamModel?: string }>)[id]?.upstreamModel
}

function checkVideo(one: SimulatedRequest, tasks: Row[]): void {
  const about = `${one.kind} ${one.id} (${one.status} ${one.code ?? ''})`
  const own = tasks.filter(({ charge }) => String(charge).split(':')[0] === one.id)
  if (one.status !== undefined && one.status >= 400) {
    // A stop may answer 503 to a request already sent to a vendor; every other refused request leaves nothing.
    must(own.length === 0 || one.status >= 500, `${about} was refused and left a task`)
    return
  }
  if (one.status === undefined || !one.isWhole) return
  const { id } = JSON.parse(one.text) as { id: string }
  must(
    tasks.some((task) => task.id === id),
    `${about} was answered with ${id}, which does not exist`,
  )
}

function checkTask(simulation: Simulation, task: Row, ended: Row[]): void {
  const { vendor, time } = simulation
  const about = `task ${task.id} (${task.state} ${task.error_code})`
  must(task.state !== 'submitted', `${about} is still open`)
  const charges = ended.filter(({ id }) => id === task.charge)
  const [charge] = charges
  must(charges.length === 1, `${about} has ${charges.length} charges`)
  if (task.operation !== 'video') {
    checkLater(simulation, task, charge)
    return
  }
  if (task.upstream_id === null) {
    must(task.state === 'failed', `${about} has no vendor id`)
    return
  }
  const truth = vendor.tasks.get(task.upstream_id as string)
  if (task.state === 'succeeded') {
    must(truth !== undefined && isMade(truth), `${about} did not succeed`)
    const paid = (charge?.amount as number) + (charge?.shortfall as number)
    must(paid === VIDEO_NANO, `${about} paid ${paid}`)
    return
  }
  must(charge?.state === 'released', `${about} is ${charge?.state}`)
  // A clock that was set while no node ran, or differs from the operator's, moves a deadline closer; repeats continue for a minute.
  if (time.wasSet || String(task.charge).endsWith(':late')) return
  const isDone = truth !== undefined && isMade(truth)
  must(!isDone || task.error_code !== 'timed_out', `${about} succeeded at the vendor`)
}

/** A deferred request is charged for its vendor's only answer, or has failed without a charge. */
function checkLater({ vendor, asked, count }: Simulation, task: Row, charge: Row | undefined): void {
  const about = `task ${task.id} (${task.state} ${task.error_code})`
  const one = asked.find(({ id }) => id === task.charge)
  must(one !== undefined, `${about} belongs to no request`)
  const made = vendor.works.get(one.mark)?.made ?? []
  must(made.length <= 1, `${about} was made ${made.length} times`)
  if (task.state === 'failed') {
    must(charge?.state === 'released', `${about} is ${charge?.state}`)
    count(`later ${task.error_code}`)
    return
  }
  const paid = (charge?.amount as number) + (charge?.shortfall as number)
  must(charge?.model === task.model, `${about} has the model ${task.model}, but ${charge?.model} was charged`)
  must(charge?.state === 'settled' && task.cost === charge.amount, `${about} is ${JSON.stringify(charge)}`)
  must(made.length === 0 || made[0]?.nano === paid, `${about} paid ${paid}: ${JSON.stringify(made)}`)
  count(`${one.kind} succeeded`)
}

/** Whether the vendor finally makes the video, whatever it reported before. */
function isMade({ result, cancelled }: VendorTask): boolean {
  return result !== 'failed' && result !== 'never' && !cancelled
}

/** A request never costs more than its hold, and never uses a model that its key may not use. */
function checkModels({ customers, count }: Simulation, ended: readonly Row[]): void {
  for (const { id, key_id: keyId, model, held, amount, shortfall, state } of ended) {
    if ((shortfall as number) > 0) count('shortfall')
    if (state === 'settled' && String(id).endsWith(':late')) count('late charge')
    const owner = customers.find((customer) => customer.keyId === keyId)
    const isAllowed = owner?.models?.includes(model as string) ?? true
    must(isAllowed, `${id} is a charge of ${model}, which its key may not use`)
    // The hold of a late success was already released.
    const price = (amount as number) + (shortfall as number)
    must(
      price <= (held as number) || String(id).endsWith(':late'),
      `${id} cost ${price}, its hold was ${held}`,
    )
  }
}

const KEPT = /https:\/\/gateway\.example\/v1\/artifacts\/(art_[0-9a-f]{32})/

/** Results reported as kept are stored completely for that account; others have a reason; the store contains nothing else. */
async function checkResults(
  { database, store, asked, log }: Simulation,
  tasks: readonly Row[],
): Promise<void> {
  const rows = await database.db.query({ sql: 'select * from artifacts' })
  const artifacts = new Map(rows.map((row) => [row.id as string, row]))
  const checkKept = (about: string, text: string, account: unknown, path: RegExp) => {
    const id = KEPT.exec(text)?.[1]
    if (id === undefined) return false
    const file = store.get(id)
    must(file !== undefined && path.test(file), `${about} is kept as ${id}, which is ${file}`)
    const row = artifacts.get(id)
    must(row?.account === account && row?.sha256 !== null, `${about} is kept as ${JSON.stringify(row)}`)
    return true
  }
  for (const { kind, id, status, text, account, mark, isWhole, isReplay } of asked) {
    if (kind !== 'image' || status !== 200 || !isWhole) continue
    const isKept = checkKept(`image ${id}`, text, account, new RegExp(`^${fileAt(`/${mark}-\\d+.png`)}$`))
    const isLogged = log.some((line) => line.includes('_not_kept') && line.includes(id))
    must(isKept || isLogged || isReplay, `image ${id} is not kept, for no stated reason: ${text}`)
  }
  for (const { id, operation, document, account, upstream_id: upstreamId, state } of tasks) {
    if (state !== 'succeeded') continue
    if (operation !== 'video') {
      const [kept] = await database.db.query({
        sql: 'select answer from responses where id = $1',
        parameters: [id as string],
      })
      must(typeof kept?.answer === 'string' && kept.answer !== '', `task ${id} has no result`)
      continue
    }
    const path = new RegExp(`^${fileAt(`/${upstreamId}.mp4`)}$`)
    checkKept(`task ${id}`, document as string, account, path)
    must(KEPT.test(document as string) || String(document).includes(FILE_HOST), `task ${id} has no video`)
  }
  for (const id of store.keys()) must(artifacts.has(id), `${id} is in the store, but no row names it`)
}

function checkRevoked({ customers }: Simulation, one: SimulatedRequest): void {
  const owner = customers.find(({ keyId }) => keyId === one.keyId)
  if (!owner || one.startedAt < owner.revokedAt + REVOKED_BY_MS || one.status === undefined) return
  must(one.status === 401 || one.status === 503, `${one.id} was served with a key that is revoked`)
}

/** Repeats of a request with one idempotency key get one answer and are charged once. */
function checkRepeats(asked: readonly SimulatedRequest[], ended: readonly Row[]): void {
  const groups = Map.groupBy(
    asked.filter(({ idempotencyKey }) => idempotencyKey !== null),
    ({ account, idempotencyKey }) => `${account} ${idempotencyKey}`,
  )
  for (const [name, group] of groups) {
    const ids = new Set(group.map(({ id }) => id))
    const paid = ended.filter(
      ({ id, state, ended_by: by }) =>
        ids.has(id as string) && state === 'settled' && (by === 'done' || by === 'balance'),
    )
    must(
      paid.length <= 1 || group.some(({ kind }) => isStream(kind)),
      `${name} was paid ${paid.length} times`,
    )
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

/** At the original prices, a rehearsal agrees with the ledger and refuses no request. */
async function checkRehearsal({ database: { db }, count }: Simulation, ended: readonly Row[]): Promise<void> {
  const prices = new RehearsedPrices({ before: config as Config, after: config as Config, routes: new Map() })
  const requests = { list: async () => ({ rows: [], next: null, looked: null }) }
  const { total } = await rehearse(db, {
    since: 0,
    until: Number.MAX_SAFE_INTEGER,
    prices,
    recorded: (charges) => recordedQuantities({ db, requests }, charges),
  })
  const { requests: seen, paidNano, wouldPayNano, refused, kept } = total
  must(seen === ended.length, `a rehearsal read ${seen} of ${ended.length} charges`)
  must(wouldPayNano === paidNano, `a rehearsal differs by ${wouldPayNano - paidNano}`)
  must(refused === 0, `a rehearsal refused ${refused} requests`)
  if (kept < ended.filter(({ state }) => state === 'settled').length) count('rehearsed')
}

async function checkWebhooks(
  { database, vendor, redelivered }: Simulation,
  tasks: readonly Row[],
): Promise<void> {
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
      String(last?.body).includes(
        `${task.operation === 'video' ? 'video.generation' : 'task'}.${task.state}`,
      ),
      `the last webhook of ${task.id} is ${last?.body}`,
    )
  }
  for (const { id, at } of redelivered) {
    const isSent = vendor.deliveries.some((delivery) => delivery.id === id && delivery.at >= at)
    must(isSent, `${id} should have been sent again, and was not`)
  }
}

function checkIntegers(rows: readonly Row[]): void {
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      must(typeof value !== 'number' || Number.isSafeInteger(value), `${name} is ${value}`)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
