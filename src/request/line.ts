// THE LINE: one request, straight from key to reply. HTTP routes and tools all go through `handle`.
// Steps never go back and know no vendor. Nothing is sent to a vendor without a durable hold, and whatever happens
// then, the charge is settled or released, and before the last byte of the answer is sent.

import type { Authenticator, Key } from '../accounts/keys'
import { MAX_SAVED_LENGTH, type SavedAnswer } from '../billing/idempotency'
import { rateHeadersOf } from '../billing/limits'
import {
  measure,
  type Outcome,
  outcomeOfReply,
  plausible,
  type ReportedUsage,
  sumOutcomes,
} from '../billing/metering'
import { type Catalogue, resolveModels } from '../catalogue/models'
import {
  callerLeft,
  cutError,
  databaseDown,
  endedByOf,
  garbage,
  shuttingDown,
  timedOut,
} from '../contract/failures'
import { type Call, type Family, streamOf } from '../contract/family'
import type { Form } from '../contract/form'
import type { Operation } from '../contract/operations'
import type { CallBody } from '../contract/upstream'
import { DatabaseUnavailable } from '../db/db'
import type { HttpBody } from '../http-client/response'
import { errorBody, GatewayError } from '../lib/errors'
import { editObject } from '../lib/json'
import { formatUsd } from '../lib/money'
import { fromLatin1 } from '../lib/sse'
import type { System } from '../lib/system'
import { waitOf } from '../lib/waiting'
import { waitForTask } from '../tasks/wait'
import { callerView } from '../upstreams/caller-view'
import { encodeForm } from '../upstreams/multipart'
import { isEventStream, readReply, usageJsonOf, withModel } from '../upstreams/reply'
import { type AddressRules, checkWebhook } from '../webhooks/address'
import { mergeStreams } from './candidates'
import { checkRequest, inDialect, type Reword } from './check'
import { keepResults, type ResultsWorld } from './kept-answer'
import { relayEvents } from './relay'
import { type JournalEntry, newEntry } from './request-log'
import { createFlights, type Flight, type FlightsWorld } from './reservation'
import { type SpeechWorld, serveSound } from './speech'
import { createStreamMeter, createTranslatingMeter, type StreamMeter } from './stream-meter'
import { findEarlierTasks, submitTask } from './submit-task'

/** What a caller sends, free of HTTP. */
export interface Incoming {
  operation: Operation
  requestId: string
  authorization: string | null
  idempotencyKey: string | null
  /** How long the caller waits for a task to end, by the address or a header of the request. */
  waitMs: number
  /** Headers that vendors of this operation want to see. */
  headers: Readonly<Record<string, string>>
  /**
   * Reads the body, or the form that the operation takes; throws 413. Not called before the key is known. `check` may be
   * given the model that a large body names, before the rest of it is read.
   */
  body(check: CheckModel): Promise<Uint8Array | Form>
  /** Fires when the caller leaves. A function, because making one costs time and few requests need it. */
  signal(): AbortSignal
  /** Where callers reach this gateway, for the addresses that it hands out: `https://ai.example.com`. */
  gatewayUrl(): string
  /** The answer is made, or its last bytes are: the connection may be closed where it is silent for long. */
  rest?(): void
  /** For a request that is not in the words of its model's family. */
  reword?: Reword
  /** Width and height of a video, where the request has a place for them. Not called before it was reworded. */
  videoSize?(): string | undefined
  /** Refused before anything is sent where it can cost more. */
  maxCostNano?: number
}

/** Throws for a model that the request cannot have. */
export type CheckModel = (model: string) => void

export interface Gateway {
  /** Answers a request; throws GatewayError. */
  handle(incoming: Incoming): Promise<Response>
  /** Refuses new requests, waits for the running ones, then cuts and settles the rest. Answers how many were cut. */
  drain(graceMs: number): Promise<number>
  /** Whether this process still works on a charge. */
  runs(charge: string): boolean
  /** Tries again to end the charges that could not be ended because the database was not available. */
  endLater(): Promise<void>
}

/** What is sent in silence: a comment, or the event that clients of this dialect know. */
const KEEP_ALIVE = ': keep-alive\n\n'
const PING = 'event: ping\ndata: {"type":"ping"}\n\n'
/** Parts of a batch that are sent to a vendor at a time. */
const PARALLEL_CALLS = 4

interface GatewayWorld extends FlightsWorld, SpeechWorld, ResultsWorld, Pick<System, 'random'> {
  authenticator: Authenticator
  catalogue: Catalogue
  addressRules: AddressRules
}

export function createGateway(world: GatewayWorld): Gateway {
  const flights = createFlights(world)
  let draining = false

  async function handle(incoming: Incoming): Promise<Response> {
    const entry = newEntry(incoming, world)
    let content: Uint8Array | Form | undefined
    let family: Family | undefined
    /** Whose request is counted as a running one, as long as that is not the flight's to end. */
    let counted: Key | undefined
    let flight: Flight | undefined
    try {
      if (draining) throw shuttingDown()
      const key = await world.authenticator.authenticate(incoming.authorization)
      entry.keyId = key.id
      entry.account = key.account
      flights.enter(key)
      counted = key
      content = await incoming.body((model) => {
        resolveModels(world.catalogue, key, incoming.operation, model, world.random)
      })
      const checked = checkRequest(world.catalogue, key, incoming, content, {
        now: entry.at,
        random: world.random,
      })
      family = checked.family
      if (family.kind === 'task') await findEarlierTasks(world, checked)
      entry.model = checked.model.id
      entry.upstream = checked.model.upstream.name
      entry.stream = (checked.ask.body as { stream?: unknown }).stream === true
      if (family.kind === 'task') await checkWebhook(checked.ask.body, world.addressRules)
      const admitted = await flights.admit(checked, entry, incoming)
      if ('status' in admitted) return replay(admitted, checked, entry)
      counted = undefined
      flight = admitted
      return await serve(flight, incoming)
    } catch (error) {
      const shown = error instanceof DatabaseUnavailable ? databaseDown(error) : error
      entry.status = shown instanceof GatewayError ? shown.status : 500
      entry.errorCode = shown instanceof GatewayError ? shown.code : 'internal_error'
      entry.durationMs = world.monotonic() - entry.startedAt
      world.journal.write(entry)
      throw family ? inDialect(shown, family.dialect) : shown
    } finally {
      if (counted) flights.leave(counted)
      if (flight && !flight.ended) flight.onEnd = () => incoming.rest?.()
      else incoming.rest?.()
      // The vendor has had the files, or will not want them any more.
      if (content && !(content instanceof Uint8Array)) await content.dispose()
    }
  }

  /** Calls the vendor and brings its answer back. The flight ends here, or with the stream that is returned. */
  async function serve(flight: Flight, incoming: Incoming): Promise<Response> {
    const others = [...flight.others]
    for (;;) {
      try {
        return await serveOnce(flight, incoming)
      } catch (error) {
        const next = isOthersChance(flight, error) ? others.shift() : undefined
        if (!next) {
          await flights.giveUp(flight, error)
          throw error
        }
        world.log('route_next', {
          request: flight.charge.id,
          from: flight.model.id,
          to: next.id,
          reason: String(error),
        })
        flights.reroute(flight, next)
      }
    }
  }

  function serveOnce(flight: Flight, incoming: Incoming): Promise<Response> {
    const { family } = flight
    const called = family.call(flight.ask, flight.model)
    const calls = Array.isArray(called) ? called : [called]
    const first = calls[0] as Call
    if (family.kind === 'task') return submit(flight, first, incoming)
    if (family.kind === 'speech') return sound(flight, first, incoming)
    if (family.kind === 'made' && !first.stream) return serveBatch(flight, calls, incoming)
    if (calls.length > 1) return serveStreams(flight, calls, incoming)
    return serveSingle(flight, first, incoming)
  }

  /** The vendor begins a task. It is answered at once, or when the task has ended where the caller waits for that. */
  async function submit(flight: Flight, call: Call, incoming: Incoming): Promise<Response> {
    const { key, ask } = flight
    const submitted = await submitTask(world, flights, flight, call, send)
    const waitMs = Math.max(incoming.waitMs, waitOf((ask.body as { wait?: unknown }).wait))
    const leaves = () => draining || incoming.signal().aborted
    const ended =
      flight.task && waitMs > 0
        ? await waitForTask(world, flight.task.id, key.account, world.monotonic() + waitMs, leaves)
        : undefined
    const { status, body } = ended ?? submitted
    return new Response(body, {
      status,
      headers: { 'content-type': 'application/json', ...idHeaders(flight) },
    })
  }

  /** The caller hears the beginning while the vendor still makes the rest. */
  function sound(flight: Flight, call: Call, incoming: Incoming): Promise<Response> {
    return serveSound(world, flights, flight, () => send(flight, call)).finally(listen(flight, incoming))
  }

  /** The vendor's answer goes to the caller as it is. */
  async function serveSingle(flight: Flight, call: Call, incoming: Incoming): Promise<Response> {
    const { family, ask, model, controller } = flight
    const sending = call.stream ? send(flight, call).finally(listen(flight, incoming)) : send(flight, call)
    const { response, done } = await sending
    try {
      if (isEventStream(response)) return await stream(flight, response.body, done, 1)
      const reply = await readReply(response, model, controller.signal)
      done()
      // Asked for as a stream, and answered whole.
      if (family.kind === 'made') return await answerMade(flight, [reply.json], incoming)
      const reading = readVendor(flight, () => family.read(reply.json, ask))
      if (reading.failed) throw model.upstream.errorOf(400, reply.json)
      const outcome = outcomeOfReply(reading, usageJsonOf(reply.json), ask, model)
      const body = withModel(reply, model)
      const paidNano = await flights.land(flight, outcome, jsonAnswer(body))
      const kept = await keepResults(world, flight, body, [reply.json], incoming)
      return await answer(flight, kept, paidNano)
    } catch (error) {
      done()
      throw error
    }
  }

  /** Candidates that the vendor makes one by one: as many streams, side by side, are one answer. */
  async function serveStreams(flight: Flight, calls: Call[], incoming: Incoming): Promise<Response> {
    const { model, controller } = flight
    const sent = calls.map((call) => send(flight, call))
    const end = () => {
      for (const each of sent) each.then(({ done }) => done()).catch(() => {})
    }
    try {
      const responses = (await Promise.all(sent).finally(listen(flight, incoming))).map(
        ({ response }) => response,
      )
      if (responses.every(isEventStream)) {
        return await stream(flight, mergeStreams(responses.map(({ body }) => body)), end, calls.length)
      }
      // Asked for as streams, and answered whole.
      const replies = await Promise.all(responses.map((each) => readReply(each, model, controller.signal)))
      end()
      return await answerMade(
        flight,
        replies.map(({ json }) => json),
        incoming,
      )
    } catch (error) {
      // What the others still say is of no use.
      for (const each of sent) each.then(({ response }) => response.body.cancel()).catch(() => {})
      end()
      throw error
    }
  }

  /** The family makes one answer out of the vendor's answers to the parts of a batch. */
  async function serveBatch(flight: Flight, calls: Call[], incoming: Incoming): Promise<Response> {
    const { model, controller } = flight
    const replies: object[] = []
    const queue = [...calls.entries()]
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { response, done } = await send(flight, next[1])
        replies[next[0]] = (await readReply(response, model, controller.signal).finally(done)).json
      }
    }
    try {
      await Promise.all(Array.from({ length: PARALLEL_CALLS }, work))
    } catch (error) {
      // The rest is of no use: another model of a route is asked anew, with calls of its own.
      queue.length = 0
      throw error
    }
    return answerMade(flight, replies, incoming)
  }

  /** The answer is the family's own, made of what the vendor said. */
  async function answerMade(flight: Flight, replies: object[], incoming: Incoming): Promise<Response> {
    const { family, ask, model } = flight
    const readings = readVendor(flight, () => replies.map((reply) => family.read(reply, ask)))
    const refusal = replies.find((_, index) => readings[index]?.failed)
    if (refusal) throw model.upstream.errorOf(400, refusal)
    const parts = readings.map((reading, index) =>
      outcomeOfReply(reading, usageJsonOf(replies[index] as object), ask, model),
    )
    const outcome = sumOutcomes(parts, ask, model)
    const measured = await measure(outcome, ask, model, world.tokenCounter)
    const quantities = measured?.quantities ?? {}
    const made = readVendor(
      flight,
      () => family.kind === 'made' && family.reply(replies, ask, model, quantities),
    )
    const body = JSON.stringify(callerView(made as object))
    const paidNano = await flights.land(flight, outcome, jsonAnswer(body), measured)
    return answer(flight, await keepResults(world, flight, body, replies, incoming), paidNano)
  }

  async function stream(
    flight: Flight,
    source: HttpBody,
    done: () => void,
    candidates: number,
  ): Promise<Response> {
    const { family, model, entry } = flight
    // From here on the stream watches its own time.
    flight.deadlineAt = Number.POSITIVE_INFINITY
    const rates = await rateHeadersOf(world.db, flight.key, flight.charge, world.now())
    let captured = ''
    const body = relayEvents(source, {
      model,
      meter: meterOf(flight, candidates),
      keepAlive: family.dialect === 'messages' ? PING : KEEP_ALIVE,
      drain: model.upstream.onAbort === 'drain' || flight.idempotencyKey !== null,
      startedAt: entry.startedAt,
      pulse: world.pulse,
      monotonic: world.monotonic,
      after: world.after,
      abort: () => flight.controller.abort(),
      whyCut: () => (draining ? 'shutdown' : 'upstream'),
      errorEvent: (endedBy) => errorEvent(cutError(endedBy), flight),
      ...(flight.idempotencyKey && {
        capture: (bytes: Buffer) => {
          if (captured.length <= MAX_SAVED_LENGTH) captured += bytes.toString('latin1')
        },
      }),
      async finish(outcome) {
        done()
        const saved = { status: 200, contentType: 'text/event-stream', body: fromLatin1(captured) }
        try {
          await flights.land(flight, outcome, saved)
        } catch (error) {
          world.log('charge_not_ended', { request: flight.charge.id, error: String(error) })
          throw error
        }
      },
    })
    entry.firstByteMs = world.monotonic() - entry.startedAt
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // Proxies such as nginx would collect the stream otherwise.
      'x-accel-buffering': 'no',
      ...rates,
    }
    return new Response(body, { headers: { ...headers, ...idHeaders(flight) } })
  }

  /** One call to the vendor, with a time limit until the answer has been read or a stream has begun. */
  function send(flight: Flight, call: Call) {
    const { model, controller, entry } = flight
    const { upstream } = model
    const at = world.monotonic()
    const endsAt = entry.startedAt + upstream.maxDurationMs
    // A process that was suspended may find its hold expired, and others who have released it.
    if (at >= endsAt) throw Object.assign(timedOut(model), { notTaken: true })
    flight.deadlineAt = Math.min(at + upstream.timeoutMs, endsAt)
    return upstream.send(call, callBody(flight, call), controller.signal, flight.charge.account)
  }

  function callBody({ source }: Flight, { body }: Call): CallBody {
    if (body === null) return null
    if ('json' in body) return JSON.stringify(body.json)
    if ('form' in body) return encodeForm(body.form, world.newId('form'))
    if (!source) throw new Error('there is no text to edit')
    return editObject(source.text, source.scanned, body.edit)
  }

  /** Cuts the call to the vendor when the caller of a stream leaves before it begins. */
  function listen(flight: Flight, incoming: Incoming): () => void {
    if (flight.model.upstream.onAbort === 'drain' || flight.idempotencyKey) return () => {}
    const signal = incoming.signal()
    const leave = () => flight.controller.abort(callerLeft())
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    return () => signal.removeEventListener('abort', leave)
  }

  function answer(flight: Flight, body: string, paidNano: number): Response | Promise<Response> {
    const { entry, key, charge } = flight
    entry.firstByteMs = world.monotonic() - entry.startedAt
    const headers = idHeaders(flight)
    headers['content-type'] = 'application/json'
    headers['x-gateway-cost-usd'] = formatUsd(paidNano)
    if (charge.windowMinute === null) return new Response(body, { headers })
    return rateHeadersOf(world.db, key, charge, world.now()).then(
      (rates) => new Response(body, { headers: { ...headers, ...rates } }),
      // It is paid by now: a database that is away takes only the headers from it.
      () => new Response(body, { headers }),
    )
  }

  function replay(saved: SavedAnswer, { family }: { family: Family }, entry: JournalEntry): Response {
    entry.status = saved.status
    entry.amountNano = 0
    entry.durationMs = world.monotonic() - entry.startedAt
    world.journal.write(entry)
    return new Response(saved.body as string | Uint8Array<ArrayBuffer>, {
      status: saved.status,
      headers: {
        'content-type': saved.contentType,
        ...idHeaders({ family, entry }),
        'idempotent-replayed': 'true',
      },
    })
  }

  return {
    handle,
    async drain(graceMs) {
      draining = true
      const endsAt = world.monotonic() + graceMs
      const cut = await flights.drain(graceMs)
      // What has just been paid may still be copied before it is answered.
      await world.artifacts?.drain(endsAt - world.monotonic())
      return cut
    },
    runs: flights.runs,
    endLater: flights.endLater,
  }
}

/**
 * Whether another model may be asked: not a byte has gone to the caller, the vendor could not answer in time, and nothing
 * else has stopped the request. Never for a task: its row names the vendor that it was sent to.
 */
function isOthersChance({ ended, controller, family }: Flight, error: unknown): boolean {
  if (ended || family.kind === 'task' || !(error instanceof GatewayError)) return false
  const { aborted, reason } = controller.signal
  if (aborted && endedByOf(reason) !== 'timeout') return false
  return error.status === 429 || error.status >= 500
}

function jsonAnswer(body: string): SavedAnswer {
  return { status: 200, contentType: 'application/json', body }
}

/** The request's id, under the name that the caller's dialect reads as well. */
function idHeaders({ family, entry }: Pick<Flight, 'family' | 'entry'>): Record<string, string> {
  if (family.dialect !== 'messages') return { 'x-request-id': entry.id }
  return { 'x-request-id': entry.id, 'request-id': entry.id }
}

function meterOf(flight: Flight, candidates: number): StreamMeter {
  const { family, ask, model } = flight
  const options = {
    model,
    hideUsage: streamOf(family)?.showsUsage(ask.body) !== true,
    judge: (usage: ReportedUsage) => plausible(usage, ask, model),
    translateError: (json: object) => errorEvent(model.upstream.errorOf(400, json), flight),
  }
  const translator = family.kind === 'made' ? family.stream?.translate(ask, model) : undefined
  if (!translator) return createStreamMeter(options)
  const total = (outcomes: readonly Outcome[]) => sumOutcomes(outcomes, ask, model)
  return createTranslatingMeter(options, translator, { count: candidates, total })
}

/** Vendors send what they like: what a family cannot read is the vendor's fault, not ours. */
function readVendor<Result>({ model }: Flight, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    // The family's own word for the caller, such as that the vendor held everything back.
    if (error instanceof GatewayError) throw error
    throw garbage(model, 'not of the expected form', error)
  }
}

function errorEvent(error: GatewayError, { family, entry }: Flight): string {
  const data = JSON.stringify(errorBody(error, family.dialect, entry.id))
  return family.dialect === 'messages' ? `event: error\ndata: ${data}\n\n` : `data: ${data}\n\n`
}
