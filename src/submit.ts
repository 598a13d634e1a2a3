// Submits a task to a vendor, once. The task's row and its hold are there before; that it is being sent is written down
// before the first byte goes out. Whatever becomes of the answer, nothing here may send it again.

import { garbage } from './failures'
import type { Call } from './family'
import type { Flight, Flights } from './flights'
import { saveAnswer } from './idempotency'
import { GatewayError } from './lib/errors'
import { acceptTask, documentOf, findTask, markSent, markUnknown, showTask } from './tasks'
import { readReply } from './vendor-reply'
import type { World } from './world'

export interface Submitted {
  status: number
  /** The task as JSON. */
  body: string
}

type Send = (flight: Flight, call: Call) => Promise<{ response: Response; done(): void }>

/** From the submit to the first question after it. */
const FIRST_POLL_MS = 2_000
/** Between looks at a task that somebody waits for. */
const LOOK_MS = 250

/** Answers what the caller gets; throws what the vendor refuses, and then nothing was begun. */
export async function submitTask(
  world: World,
  flights: Flights,
  flight: Flight,
  call: Call,
  send: Send,
): Promise<Submitted> {
  const { task, family, idempotencyKey, charge } = flight
  if (!task || !family.task) throw new Error(`${family.name} has no tasks`)
  await markSent(world.db, task.id, world.now())
  const upstreamId = await sendOnce(flight, call, send).catch((error) => {
    if (error instanceof GatewayError && error.notTaken) throw error
    world.log('task_unknown', { task: task.id, upstream: task.upstream, reason: String(error) })
    return undefined
  })
  const status = family.task.submittedStatus
  const body = documentOf(task, {}, 'submitted')
  const saved = saveAnswer(charge.id, { status, contentType: 'application/json', body })
  await flights.persist(flight, async () => {
    const also = idempotencyKey ? [saved] : []
    if (upstreamId === undefined) return world.db.batch([markUnknown(task.id), ...also])
    const accepted = await acceptTask(world.db, task.id, upstreamId, world.now() + FIRST_POLL_MS, also)
    if (!accepted)
      world.log('task_id_refused', { task: task.id, upstream: task.upstream, upstream_id: upstreamId })
    return accepted
  })
  flights.depart(flight, status)
  return { status, body }
}

/** The vendor's id of the task. Every error but a plain refusal leaves open whether the vendor has begun. */
async function sendOnce(flight: Flight, call: Call, send: Send): Promise<string> {
  const { model, family, controller } = flight
  const { response, done } = await send(flight, call)
  const reply = await readReply(response, model, controller.signal).finally(done)
  const id = family.task?.id(reply.json)
  if (id !== undefined) return id
  if (!family.read(reply.json, flight.ask).failed) throw garbage(model, 'without the id of a task')
  // An error in a successful answer is a refusal all the same.
  const refusal = model.upstream.errorOf(400, reply.json)
  refusal.notTaken = true
  throw refusal
}

/** Waits until a task has ended, at most until `until`; answers how it stands then. */
export async function waitForTask(
  world: World,
  id: string,
  account: string,
  until: number,
  leaves: () => boolean,
): Promise<Submitted | undefined> {
  for (;;) {
    const task = await findTask(world.db, account, id)
    if (task && task.state !== 'submitted') return { status: 200, body: showTask(task) }
    if (world.now() >= until || leaves()) return undefined
    await Bun.sleep(LOOK_MS)
  }
}
