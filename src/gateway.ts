// THE LINE: one request, straight from key to reply. HTTP routes, tools and commands all go through `handle`.
// Steps never go back and know no vendor. Nothing is sent to a vendor without a durable hold, and whatever happens
// then, the charge is settled or released, and before the last byte of the answer is sent.

import { DatabaseUnavailable, type Statement } from './db/db'
import type { Call, Model } from './family'
import { priceNano } from './family'
import {
  answerAgain,
  freeKey,
  type IdempotencyKey,
  idempotencyKeyOf,
  MAX_SAVED_LENGTH,
  type SavedAnswer,
  saveAnswer,
  takeKey,
} from './idempotency'
import type { JournalEntry } from './journal'
import type { Key } from './keys'
import { balanceOf, type Charge, type EndedBy, hold, release, settle } from './ledger'
import { errorBody, GatewayError } from './lib/errors'
import { editObject, scanObject } from './lib/json'
import { formatUsd } from './lib/money'
import { fromLatin1 } from './lib/sse'
import { conditionsOf, countersOf, rateHeadersOf, refusalOf } from './limits'
import { type Measure, measure, type Outcome, quoteNano, sumUsage, tokensOf } from './metering'
import type { Operation } from './operations'
import { relayEvents } from './relay'
import { type CheckedRequest, checkRequest } from './request'
import type { World } from './world'

/** What a caller sends, free of HTTP. */
export interface Incoming {
  operation: Operation
  requestId: string
  authorization: string | null
  idempotencyKey: string | null
  /** Reads the body; throws 413. Not called before the key is known. */
  body(): Promise<Uint8Array>
  /** Fires when the caller leaves. A function, because making one costs time and few requests need it. */
  signal(): AbortSignal
}

export interface Gateway {
  /** Answers a request; throws GatewayError. */
  handle(incoming: Incoming): Promise<Response>
  /** Requests that have been admitted and have not ended. */
  running(): number
  /** Refuses new requests, waits for the running ones, then cuts and settles the rest. Answers how many were cut. */
  drain(graceMs: number): Promise<number>
  /** Tries again to end the charges that could not be ended because the database was not available. */
  endLater(): Promise<void>
}

/** A request whose price is held. */
interface Flight extends CheckedRequest {
  incoming: Incoming
  charge: Charge
  idempotencyKey: IdempotencyKey | null
  entry: JournalEntry
  /** Cuts the calls to the vendor; the reason is the error that the caller then gets. */
  controller: AbortController
  ended: boolean
}

/** What a flight came to, for the caller's headers. */
interface Ended {
  paidNano: number
  measured: Measure | undefined
}

/** How much longer than the longest request a hold lives. */
const HOLD_MARGIN_MS = 60_000
const MAX_REPLY_BYTES = 256 * 1024 * 1024
/** Parts of a batch that are sent to a vendor at a time. */
const PARALLEL_CALLS = 4
/** How long `drain` waits for cut requests to be settled. */
const SETTLE_MS = 5_000
/** The status that the journal gives a request whose caller left before the answer. */
const CALLER_LEFT_STATUS = 499

export function createGateway(world: World): Gateway {
  const flights = new Set<Flight>()
  let draining = false
  let unended: (() => Promise<unknown>)[] = []

  async function handle(incoming: Incoming): Promise<Response> {
    const entry = newEntry(incoming, world.now())
    try {
      if (draining) throw shuttingDown()
      const key = await world.authenticator.authenticate(incoming.authorization)
      entry.keyId = key.id
      entry.account = key.account
      const checked = checkRequest(world.catalogue, key, incoming.operation, await incoming.body())
      entry.model = checked.model.id
      entry.upstream = checked.model.upstream.name
      entry.stream = (checked.ask.body as { stream?: unknown }).stream === true
      const admitted = await admit(incoming, checked, entry)
      if ('status' in admitted) return replay(admitted, entry)
      flights.add(admitted)
      return await serve(admitted)
    } catch (error) {
      const shown = error instanceof DatabaseUnavailable ? databaseDown(error) : error
      entry.status = shown instanceof GatewayError ? shown.status : 500
      entry.errorCode = shown instanceof GatewayError ? shown.code : 'internal_error'
      write(entry)
      throw shown
    }
  }

  /** Takes the request's worst price out of the account, or finds the answer that its idempotency key has already. */
  async function admit(
    incoming: Incoming,
    checked: CheckedRequest,
    entry: JournalEntry,
  ): Promise<Flight | SavedAnswer> {
    const { key, model, ask, text } = checked
    const now = world.now()
    const idempotencyKey = idempotencyKeyOf(
      key.account,
      incoming.idempotencyKey,
      incoming.operation.path,
      text,
    )
    const saved = idempotencyKey && (await answerAgain(world.db, idempotencyKey))
    if (saved) return saved
    const charge: Charge = {
      id: incoming.requestId,
      account: key.account,
      keyId: key.id,
      model: model.id,
      operation: incoming.operation.name,
      heldNano: quoteNano(ask, model),
      pricesJson: model.pricesJson,
      createdAt: now,
      expiresAt: now + model.upstream.maxDurationMs + HOLD_MARGIN_MS,
      ...countersOf(key, estimateTokens(checked), now),
    }
    const conditions = conditionsOf(key, charge)
    if (idempotencyKey) conditions.push(takeKey(idempotencyKey, charge.id, now))
    const result = await hold(world.db, charge, conditions)
    if ('held' in result) {
      return {
        ...checked,
        incoming,
        charge,
        idempotencyKey,
        entry,
        controller: new AbortController(),
        ended: false,
      }
    }
    if (result.refusedBy === 'balance') throw await notPaid(key, charge)
    if (result.refusedBy !== 'idempotency' || !idempotencyKey) {
      throw await refusalOf(world.db, result.refusedBy, key, now)
    }
    // Somebody took the key between our look and our hold; by now they may even have their answer.
    const twin = await answerAgain(world.db, idempotencyKey)
    if (twin) return twin
    return admit(incoming, checked, entry)
  }

  /** Calls the vendor and brings its answer back. The flight ends here, or with the stream that is returned. */
  async function serve(flight: Flight): Promise<Response> {
    try {
      const calls = [flight.family.call(flight.ask, flight.model)].flat()
      if (flight.family.reply) return await serveBatch(flight, calls)
      return await serveSingle(flight, calls[0] as Call)
    } catch (error) {
      await giveUp(flight, error)
      throw error
    }
  }

  /** The vendor's answer goes to the caller as it is. */
  async function serveSingle(flight: Flight, call: Call): Promise<Response> {
    const stopListening = call.stream ? listen(flight) : () => {}
    const { response, done } = await send(flight, call).finally(stopListening)
    try {
      const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
      if (isStream && response.body) return await stream(flight, response.body, done)
      const { text, json } = await readReply(flight, response)
      done()
      const body = withModel(text, json, flight.model)
      const reading = flight.family.read(json)
      if (reading.failed) throw flight.model.upstream.errorOf(400, json)
      const outcome: Outcome = {
        endedBy: 'done',
        usage: reading.usage,
        usageJson: usageJsonOf(json),
        text: reading.usage === undefined || reading.usage === 'invalid' ? (reading.text ?? '') : '',
        textOmitted: 0,
        failed: false,
      }
      const ended = await end(flight, outcome, { status: 200, contentType: 'application/json', body })
      return await answer(flight, body, ended)
    } catch (error) {
      done()
      throw error
    }
  }

  /** The family makes one answer out of the vendor's answers to the parts of a batch. */
  async function serveBatch(flight: Flight, calls: Call[]): Promise<Response> {
    const { family, ask, model } = flight
    const replies: unknown[] = []
    const queue = [...calls.entries()]
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { response, done } = await send(flight, next[1])
        replies[next[0]] = (await readReply(flight, response).finally(done)).json
      }
    }
    await Promise.all(Array.from({ length: PARALLEL_CALLS }, work))
    const outcome: Outcome = {
      endedBy: 'done',
      usage: readVendor(flight, () => sumUsage(replies.map((reply) => family.read(reply).usage))),
      usageJson: JSON.stringify(replies.map((reply) => JSON.parse(usageJsonOf(reply) ?? 'null'))),
      text: '',
      textOmitted: 0,
      failed: false,
    }
    const measured = await measure(outcome, ask, model, world.tokenCounter)
    const body = readVendor(flight, () =>
      JSON.stringify(family.reply?.(replies, ask, model, measured?.quantities ?? {})),
    )
    const ended = await end(flight, outcome, { status: 200, contentType: 'application/json', body }, measured)
    return answer(flight, body, ended)
  }

  async function stream(
    flight: Flight,
    source: ReadableStream<Uint8Array>,
    done: () => void,
  ): Promise<Response> {
    const { family, ask, model, incoming } = flight
    let captured = ''
    const body = relayEvents(source, {
      model,
      hideUsage: family.stream?.showsUsage(ask.body) !== true,
      drain: model.upstream.onAbort === 'drain' || flight.idempotencyKey !== null,
      startedAt: flight.entry.at,
      pulse: world.pulse,
      now: world.now,
      abort: () => flight.controller.abort(),
      whyCut: () => (draining ? 'shutdown' : 'upstream'),
      errorEvent: (endedBy) => errorEvent(cutError(endedBy), flight),
      ...(flight.idempotencyKey && {
        capture: (text: string) => {
          if (captured.length <= MAX_SAVED_LENGTH) captured += text
        },
      }),
      async finish(outcome) {
        done()
        const saved = { status: 200, contentType: 'text/event-stream', body: fromLatin1(captured) }
        try {
          await end(flight, outcome, saved)
        } catch (error) {
          world.log('charge_not_ended', { request: flight.charge.id, error: String(error) })
          throw error
        }
      },
    })
    flight.entry.firstByteMs = world.now() - flight.entry.at
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // Proxies such as nginx would collect the stream otherwise.
      'x-accel-buffering': 'no',
      ...(await rateHeadersOf(world.db, flight.key, flight.charge, world.now())),
    }
    return new Response(body, { headers: { ...headers, 'x-request-id': incoming.requestId } })
  }

  /** One call to the vendor, with its time limit until the answer begins. */
  async function send(flight: Flight, call: Call) {
    const { model, controller, text, scanned } = flight
    const body =
      'edit' in call.body ? editObject(text, scanned, call.body.edit) : JSON.stringify(call.body.json)
    const deadline = setTimeout(() => controller.abort(timedOut(model)), model.upstream.timeoutMs)
    try {
      return await model.upstream.send(call, body, controller.signal)
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Cuts the call to the vendor when the caller of a stream leaves before it begins. */
  function listen(flight: Flight): () => void {
    if (flight.model.upstream.onAbort === 'drain' || flight.idempotencyKey) return () => {}
    const signal = flight.incoming.signal()
    const leave = () => flight.controller.abort(callerLeft())
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    return () => signal.removeEventListener('abort', leave)
  }

  /** Ends the charge of a request that has been answered, and the answer is complete from then on. */
  async function end(flight: Flight, outcome: Outcome, saved: SavedAnswer, known?: Measure): Promise<Ended> {
    if (flight.ended) throw new Error('a flight ended twice')
    flight.ended = true
    const { charge, model, ask, entry, idempotencyKey } = flight
    const measured = known ?? (await measure(outcome, ask, model, world.tokenCounter))
    const endedAt = world.now()
    const { endedBy, usageJson } = outcome
    let paidNano = 0
    await safely(flight, async () => {
      if (!measured) {
        await release(world.db, charge, { endedBy, endedAt }, freeKeyOf(flight))
        return
      }
      const keep =
        outcome.failed || outcome.endedBy === 'upstream' ? freeKey(charge.id) : saveAnswer(charge.id, saved)
      const settled = await settle(
        world.db,
        charge,
        {
          priceNano: priceNano(measured.quantities, model.prices),
          usageSource: measured.source,
          usageJson,
          endedBy,
          endedAt,
          tokens: tokensOf(measured.quantities),
        },
        idempotencyKey ? [keep] : [],
      )
      paidNano = settled?.paidNano ?? 0
    })
    if (outcome.usage === 'invalid') {
      world.log('upstream_usage_invalid', {
        request: charge.id,
        upstream: model.upstream.name,
        usage: usageJson,
      })
    }
    entry.status = entry.status || 200
    entry.endedBy = endedBy
    entry.usageSource = measured?.source ?? null
    entry.amountNano = paidNano
    entry.inputTokens = measured ? tokensOf({ ...measured.quantities, output_token: 0 }) : null
    entry.outputTokens = measured?.quantities.output_token ?? null
    write(entry)
    return { paidNano, measured }
  }

  /** Ends the charge of a request that failed before there was an answer. The error goes on to the caller. */
  async function giveUp(flight: Flight, error: unknown): Promise<void> {
    flight.controller.abort(error)
    if (flight.ended) return
    flight.ended = true
    const endedBy: EndedBy = endedByOf(error)
    flight.entry.endedBy = endedBy
    await safely(flight, () =>
      release(world.db, flight.charge, { endedBy, endedAt: world.now() }, freeKeyOf(flight)),
    )
  }

  /** Runs the end of a charge; when the database cannot take it now, it is tried again until it can. */
  async function safely(flight: Flight, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      world.log('charge_not_ended_yet', { request: flight.charge.id, reason: error.message })
      unended.push(work)
    } finally {
      flights.delete(flight)
    }
  }

  async function answer(flight: Flight, body: string, { paidNano }: Ended): Promise<Response> {
    const { entry, key, charge, incoming } = flight
    entry.firstByteMs = world.now() - entry.at
    const headers = {
      'content-type': 'application/json',
      'x-request-id': incoming.requestId,
      'x-gateway-cost-usd': formatUsd(paidNano),
      ...(charge.windowMinute === null ? {} : await rateHeadersOf(world.db, key, charge, world.now())),
    }
    return new Response(body, { headers })
  }

  function replay(saved: SavedAnswer, entry: JournalEntry): Response {
    entry.status = saved.status
    entry.amountNano = 0
    write(entry)
    return new Response(saved.body, {
      status: saved.status,
      headers: { 'content-type': saved.contentType, 'x-request-id': entry.id, 'idempotent-replayed': 'true' },
    })
  }

  function write(entry: JournalEntry): void {
    entry.durationMs = world.now() - entry.at
    world.journal.write(entry)
  }

  async function notPaid(key: Key, charge: Charge): Promise<GatewayError> {
    const balance = await balanceOf(world.db, key.account)
    const inFlight = balance !== undefined && balance.balanceNano >= charge.heldNano
    const needed = `This request may cost up to $${formatUsd(charge.heldNano)}`
    const available = `the account has $${formatUsd(balance?.availableNano ?? 0)} available`
    return new GatewayError(402, {
      code: inFlight ? 'in_flight' : 'insufficient_balance',
      message: inFlight
        ? `${needed}; ${available} while running requests hold $${formatUsd(balance.heldNano)}. Try again when they have ended.`
        : `${needed}; ${available}. Add money to the account or ask for less output.`,
      headers: inFlight ? { 'retry-after': '1' } : { 'x-should-retry': 'false' },
    })
  }

  async function drain(graceMs: number): Promise<number> {
    draining = true
    await waitUntil(() => flights.size === 0, graceMs)
    const cut = flights.size
    for (const flight of flights) flight.controller.abort(shuttingDown())
    await waitUntil(() => flights.size === 0, SETTLE_MS)
    await endLater()
    return cut
  }

  async function endLater(): Promise<void> {
    const work = unended
    unended = []
    for (const attempt of work) {
      try {
        await attempt()
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error
        unended.push(attempt)
      }
    }
  }

  return { handle, running: () => flights.size, drain, endLater }
}

function newEntry(incoming: Incoming, now: number): JournalEntry {
  return {
    id: incoming.requestId,
    at: now,
    operation: incoming.operation.name,
    account: null,
    keyId: null,
    model: null,
    upstream: null,
    stream: false,
    status: 0,
    errorCode: null,
    firstByteMs: null,
    durationMs: 0,
    inputTokens: null,
    outputTokens: null,
    amountNano: null,
    usageSource: null,
    endedBy: null,
  }
}

/** A usual request's tokens, for the key's token limit until the true figure is known. */
function estimateTokens({ family, ask, model }: CheckedRequest): number {
  const quote = family.quote(ask, model)
  return Math.ceil((quote.input_token ?? 0) / 4) + (quote.output_token ?? 0)
}

async function readReply(flight: Flight, response: Response): Promise<{ text: string; json: unknown }> {
  const { model, controller } = flight
  const deadline = setTimeout(() => controller.abort(timedOut(model)), model.upstream.idleTimeoutMs)
  try {
    if (Number(response.headers.get('content-length')) > MAX_REPLY_BYTES) throw garbage(model, 'too large')
    const text = await response.text()
    const json: unknown = JSON.parse(text)
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw garbage(model, 'not a JSON object')
    return { text, json }
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    if (error instanceof GatewayError) throw error
    if (!(error instanceof SyntaxError)) throw garbage(model, 'cut off', error)
    // Only its name: the parser's message quotes the text, which may repeat the caller's, and the log shows it.
    throw garbage(model, 'not JSON', error.name)
  } finally {
    clearTimeout(deadline)
  }
}

/** Vendors send what they like: what a family cannot read is the vendor's fault, not ours. */
function readVendor<Result>({ model }: Flight, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    throw garbage(model, 'not of the expected form', error)
  }
}

/** The reply with the gateway's id in the place of the vendor's model name. */
function withModel(text: string, json: unknown, model: Model): string {
  const named = (json as { model?: unknown } | null)?.model
  if (typeof named !== 'string' || named === model.id) return text
  // Nearly all vendors write it like this; inside a string the quotes would be escaped.
  const usual = `"model":${JSON.stringify(named)}`
  const at = text.indexOf(usual)
  if (at !== -1) return `${text.slice(0, at)}"model":"${model.id}"${text.slice(at + usual.length)}`
  const scanned = scanObject(text)
  return 'members' in scanned ? editObject(text, scanned, { set: { model: `"${model.id}"` } }) : text
}

function usageJsonOf(reply: unknown): string | null {
  const usage = (reply as { usage?: unknown } | null)?.usage
  return usage === undefined ? null : JSON.stringify(usage)
}

function freeKeyOf({ idempotencyKey, charge }: Flight): Statement[] {
  return idempotencyKey ? [freeKey(charge.id)] : []
}

function errorEvent(error: GatewayError, { family, incoming }: Flight): string {
  const data = JSON.stringify(errorBody(error, family.dialect, incoming.requestId))
  return family.dialect === 'anthropic' ? `event: error\ndata: ${data}\n\n` : `data: ${data}\n\n`
}

function cutError(endedBy: EndedBy): GatewayError {
  if (endedBy === 'shutdown') return shuttingDown()
  if (endedBy === 'timeout') {
    return new GatewayError(504, {
      code: 'upstream_timeout',
      message: 'The upstream was silent for too long, so the answer ends here.',
    })
  }
  return new GatewayError(502, {
    code: 'upstream_cut',
    message: 'The upstream broke off, so the answer ends here, incomplete.',
  })
}

function timedOut(model: Model): GatewayError {
  return new GatewayError(504, {
    code: 'upstream_timeout',
    message: `The upstream ${model.upstream.name} did not answer in time.`,
  })
}

function garbage(model: Model, what: string, cause?: unknown): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_garbage',
    message: `The answer of the upstream ${model.upstream.name} was ${what}.`,
    cause,
  })
}

function callerLeft(): GatewayError {
  return new GatewayError(CALLER_LEFT_STATUS, {
    code: 'caller_left',
    message: 'The caller left before the answer.',
  })
}

function shuttingDown(): GatewayError {
  return new GatewayError(503, {
    code: 'shutting_down',
    message: 'The gateway is shutting down. Try again in a moment.',
    headers: { 'retry-after': '1' },
  })
}

function databaseDown(error: DatabaseUnavailable): GatewayError {
  return new GatewayError(503, {
    code: 'database_unavailable',
    message: 'The gateway cannot write to its database now, so it sends nothing on. Try again in a moment.',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

function endedByOf(error: unknown): EndedBy {
  if (!(error instanceof GatewayError)) return 'upstream'
  const words: Record<string, EndedBy> = {
    caller_left: 'client',
    upstream_timeout: 'timeout',
    shutting_down: 'shutdown',
  }
  return words[error.code] ?? 'upstream'
}

async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition() && performance.now() < deadline) await Bun.sleep(20)
}
