// THE LINE: one request, straight from key to reply, in nine steps. HTTP routes and tools all go through `handle`.
// Steps never go back and know no vendor. Nothing is sent to a vendor without a hold in the database, and whatever happens then,
// the charge is settled or released before the last byte of the answer is sent.

import { API_TOKENS, type Authorization, assertAwake, type TokenKinds } from '../accounts/authenticator'
import type { Key } from '../accounts/keys'
import { answerAgain, type EarlierAnswer } from '../billing/ledger/idempotency'
import type { Charge } from '../billing/ledger/ledger'
import { rateHeadersOf } from '../billing/ledger/limits'
import { PriceDrifts } from '../billing/proofs/price-drift'
import { resolveModels } from '../catalogue/models'
import { retirementHeaders } from '../catalogue/retirement'
import { shuttingDown } from '../contract/failures'
import type { EarlierVideo } from '../contract/family'
import type { Form } from '../contract/form'
import type { Operation } from '../contract/operations'
import { ignoredStrict } from '../families/traits/strict-tools'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import { createSemaphore } from '../lib/semaphore'
import type { CallerTrace } from '../lib/trace-context'
import { newLogRow, type RequestLogRow } from '../request-log/row'
import { markSent } from '../tasks/rows'
import {
  type Answered,
  answer,
  type FileAnswer,
  type Requester,
  type StreamAnswer,
  type TaskBegun,
  type WholeAnswer,
} from './answer/answer'
import { answerInBackground, DETACHED_CALLER, initialResponse } from './answer/background'
import { cacheHeaders } from './answer/cached'
import { acceptedAnswer, acceptedHeaders } from './answer/deferred'
import { keepResults } from './answer/kept'
import { earlierReceipt, errorHeaders, receiptHeaders } from './answer/receipt'
import { endOfTask } from './answer/task'
import { BodyRecord } from './body-record'
import { holdsAddress } from './cache/cache-rules'
import { ResponseCache } from './cache/response-cache'
import { type CheckedRequest, inDialect, type ReadRequest, type Reword } from './check'
import type { DeferralMode } from './deferral'
import { endFailed, endHandedOver, endReplayed, endWhole, type Line } from './ending'
import { checkForQuote, idempotencyKeyFor, prepareRequest } from './prepare'
import { type Reservation, Reservations } from './reservation'
import { reserve } from './reserve'
import type { Asking } from './route/choice'
import { routeHeaders } from './route/explanation'
import { leftAfter } from './route/fallback'
import { memberNameOf } from './route/order'
import { FAILED_MS, Paces } from './route/pace'
import { unwantedOf } from './route/unwanted'
import { WarmSessions } from './route/warm-sessions'
import { RunningRequests } from './running-requests'
import { wholeAnswer } from './stream/paced-body'
import type { RequestWorld } from './world'

/** A caller's request, independent of HTTP. */
export interface Incoming {
  operation: Operation
  requestId: string
  /** The caller's address for the request log; absent or null if unknown. */
  clientAddress?: string | null
  authorization: Authorization
  /** Tokens that may act for their keys; absent for those of the API. */
  tokens?: TokenKinds
  idempotencyKey: string | null
  /** How long the caller waits for a task to end, by the path or a header of the request, in milliseconds. */
  waitMs: number
  /** Headers for vendors of this operation. */
  headers: Readonly<Record<string, string>>
  /**
   * Reads the body or the form; throws 413. Not called before the key is known. `check` may get the model that a large
   * body names, before the rest of it is read.
   */
  body(check: CheckModel): Promise<Uint8Array | Form>
  /** Fires when the caller disconnects. A function, because creating one takes time and few requests need it. */
  signal(): AbortSignal
  /** The URL at which callers reach this gateway: `https://ai.example.com`. */
  gatewayUrl(): string
  /** The trace that the caller's request is part of. Read only if requests are traced. */
  trace?(): CallerTrace
  /** The caller's metadata for reports of usage. Read only if configured. */
  metadata?(): string | null
  /** A header of the request, by its lower-case name; absent for a tool. Read only if there is a choice of keys or upstreams. */
  header?(name: string): string | null
  /** Whether the answer may arrive later, by the path or a header; undefined if neither says so. */
  deferral?(): DeferralMode | undefined
  /** Called when the answer, or its last bytes, is ready: a silent connection may be closed from then on. */
  rest?(): void
  /** Called instead when the answer is a stream of events that are made in the background. */
  follow?(): void
  /** Rewrites a request that does not have the form of its model's family. */
  reword?: Reword
  /** The video that the request continues or edits. */
  remixOf?: EarlierVideo
  /** Width and height of a video, if the request has a field for them. Not called before `reword`. */
  videoSize?(): string | undefined
  /** Maximum price of the request, in nano-dollars: a request that can cost more is refused before anything is sent. */
  maxCostNano?: number
}

/** Throws for a model that the request may not use. */
export type CheckModel = (model: string) => void

export interface Gateway {
  /** Answers a request; throws GatewayError. */
  handle(incoming: Incoming): Promise<Response>
  /** Checks a request exactly as if it were sent; throws GatewayError. */
  checkForQuote(read: ReadRequest, asking: Asking): Promise<CheckedRequest>
  /** Refuses new requests, waits for the running ones, then cuts off and settles the rest. Returns how many were cut off. */
  drain(graceMs: number): Promise<number>
  /** Writes changes that the database has not accepted yet to the disk, before a process ends immediately. */
  saveEnds(): void
  /** Whether this process still works on a charge. */
  runs(charge: string): boolean
  /** Whether an expired hold shows no sign of a process that works on it. */
  isSilent(charge: Charge): boolean
  /** How many requests this process works on. */
  runningRequests(): number
  /** How many requests were cut off, including those that would be if the process ended now. */
  cutRequests(): number
  /** Retries ends of charges that the database did not accept. */
  endLater(): Promise<void>
  /** Renews the leases of the tasks that this process makes. */
  renewTasks(): Promise<void>
}

/** Number of texts that are counted for holds of requests at once. */
const MAX_TEXT_COUNTS = 2

export function createGateway(world: RequestWorld): Gateway {
  const running = new RunningRequests(world)
  const reservations = new Reservations(world, running)
  const textCounts = createSemaphore(MAX_TEXT_COUNTS)
  const priceDrifts = new PriceDrifts(world)
  const responseCache = new ResponseCache(world)
  const line: Line = {
    world,
    reservations,
    responseCache,
    textCounts,
    priceDrifts,
    paces: new Paces(),
    warmSessions: new WarmSessions(),
  }
  return {
    handle: (incoming) => {
      const logRow = newLogRow(incoming, world)
      const { bodies } = world.requestLog
      if (!bodies) return handle(line, running, incoming, logRow)
      return handleAndKeep(line, running, incoming, logRow, new BodyRecord(bodies, logRow, world.backlog))
    },
    checkForQuote: (read, asking) => checkForQuote(line, read, asking),
    async drain(graceMs) {
      const endsAt = world.monotonic() + graceMs
      const cut = await reservations.drain(graceMs)
      // Paid results may still be copied before they are delivered.
      await world.artifacts?.drain(endsAt - world.monotonic())
      await responseCache.drain()
      return cut
    },
    saveEnds: () => reservations.saveEnds(),
    runs: (charge) => reservations.runs(charge),
    isSilent: (charge) => reservations.isSilent(charge),
    runningRequests: () => reservations.size,
    cutRequests: () => reservations.cutRequests,
    endLater: () => reservations.endLater(),
    renewTasks: () => reservations.renewTasks(),
  }
}

const NO_TRACE: CallerTrace = { parent: null, state: null }

/** Answers a request whose bodies are stored. */
async function handleAndKeep(
  line: Line,
  running: RunningRequests,
  incoming: Incoming,
  logRow: RequestLogRow,
  record: BodyRecord,
): Promise<Response> {
  try {
    return await record.answered(await handle(line, running, incoming, logRow, record))
  } catch (error) {
    record.failed(error, incoming.operation.dialect)
    throw error
  }
}

async function handle(
  line: Line,
  running: RunningRequests,
  incoming: Incoming,
  logRow: RequestLogRow,
  record?: BodyRecord,
): Promise<Response> {
  const { world, reservations } = line
  if (world.tracer) logRow.trace = world.tracer.begin(incoming.trace?.() ?? NO_TRACE)
  /** The key whose request is counted as running until the reservation takes over. */
  let counted: Key | undefined
  let content: Uint8Array | Form | undefined
  let request: CheckedRequest | undefined
  let reservation: Reservation | undefined
  try {
    if (reservations.isDraining) throw shuttingDown()
    // 1. Authenticate the key. 401, 403 for a paused key, and 429 for one with too many requests in this process.
    const key = await authenticate(line, running, incoming, logRow)
    counted = key
    // 2. Read the body. 413, and 400 for an unusable model named by a large body.
    content = await incoming.body((model) => {
      logRow.requestedModel = model
      resolveModels(world.catalogue, key, incoming.operation, model, world)
    })
    record?.requested(content, key)
    // 3. Check the request: operation, model, fields, and the conversation that it continues. 400.
    request = await prepareRequest(line, incoming, key, content, logRow)
    // 4. Replay the answer of an earlier request with the same idempotency key. 409, 422.
    const idempotencyKey = idempotencyKeyFor(request, incoming)
    const saved = idempotencyKey && (await answerAgain(world.db, idempotencyKey))
    if (!saved) await line.responseCache.begin(request, incoming, logRow)
    if (request.cacheUse && reservations.isDraining) throw shuttingDown()
    // 5. Hold the maximum price of the request. 402, 429.
    const reserved = saved ?? (await reserve(line, request, idempotencyKey, logRow, incoming))
    if ('contentType' in reserved) return await replayed(line, reserved, logRow, request)
    counted = undefined
    reservation = reserved
    // For a deferred request, the answer to its caller is recorded, which is the task.
    reservation.record = request.deferral ? undefined : record
    reservations.add(reservation)
    if (request.deferral) {
      const owned = content
      content = undefined
      return await answerLater(line, reservation, incoming, () => makeLater(line, reserved, owned))
    }
    // 6, 7. Call the vendor and read its answer, one model of a route after the other. 502, 504.
    const answered = await answerOfAny(
      line,
      reservation,
      reservation.request.background ? DETACHED_CALLER : incoming,
    )
    // 8, 9. Settle and log, before the last byte of the answer is sent.
    const response = await ended(line, reservation, answered, incoming)
    if (request.route) addRouteHeaders(response.headers, logRow, incoming)
    return response
  } catch (error) {
    if (request) line.responseCache.leave(request)
    const shown = await endFailed(line, logRow, reservation, error)
    if (shown instanceof GatewayError)
      Object.assign(shown.headers, await errorHeaders(world, { request, reservation, logRow }, incoming))
    throw request ? inDialect(shown, request.family.dialect) : shown
  } finally {
    if (counted) running.leave(counted)
    if (reservation && isAnswered(reservation)) reservation.caller = incoming
    else if (reservation?.request.background?.isFollowed) incoming.follow?.()
    else incoming.rest?.()
    // The vendor has received the files, or does not need them any more.
    if (content && !(content instanceof Uint8Array)) await content.dispose()
  }
}

/** Whether the answer of a handled request still goes to its caller. */
function isAnswered({ isEnded, request: { background, deferral } }: Reservation): boolean {
  return !isEnded && !background && !deferral
}

/** Makes the answer of a deferred request while nobody waits, and ends its task. Never throws. */
async function makeLater(line: Line, reservation: Reservation, content: Uint8Array | Form): Promise<void> {
  const { world } = line
  const { task, logRow, charge } = reservation
  try {
    if (!task) throw new Error('a deferred request always has a task')
    await markSent(world.db, task.id, world.now())
    const answered = await answerOfAny(line, reservation, DETACHED_CALLER)
    const from = { ...DETACHED_CALLER, waitMs: 0, gatewayUrl: () => task.gatewayUrl }
    const response = await ended(line, reservation, answered, from)
    // A growing file ends its request itself, when it has been read to its end.
    if (answered.kind === 'stream') await readAll(response)
  } catch (error) {
    await endFailed(line, logRow, reservation, error).catch((fault) =>
      world.log('charge_not_ended', { request: charge.id, error: String(fault) }),
    )
  } finally {
    if (!(content instanceof Uint8Array)) await content.dispose()
  }
}

async function readAll({ body }: Response): Promise<void> {
  try {
    for await (const _ of body ?? []);
  } catch {
    // The request has already ended with the reason.
  }
}

function addRouteHeaders(headers: Headers, logRow: RequestLogRow, incoming: Incoming): void {
  for (const [name, value] of Object.entries(routeHeaders(logRow, incoming))) headers.set(name, value)
}

/** The key of a request, which counts as running from now on. It is a promise only if the key must be looked up. */
function authenticate(
  { world }: Line,
  running: RunningRequests,
  { authorization, clientAddress = null, tokens = API_TOKENS }: Incoming,
  logRow: RequestLogRow,
): Key | Promise<Key> {
  const admit = (key: Key) => {
    logRow.keyId = key.id
    logRow.spenderId = key.spender?.id ?? null
    logRow.account = key.account
    assertAwake(key)
    running.enter(key)
    return key
  }
  const found = world.authenticator.identify(authorization, clientAddress, tokens)
  return found instanceof Promise ? found.then(admit) : admit(found)
}

/** The answer of the first model that can give one. */
async function answerOfAny(line: Line, reservation: Reservation, caller: Requester): Promise<Answered> {
  for (;;) {
    reservation.unwanted = unwantedOf(reservation)
    try {
      const answered = await answer(line, reservation, caller)
      notePace(line, reservation, answered)
      return answered
    } catch (error) {
      const [next, ...others] = leftAfter(error, reservation)
      if (!next || !(error instanceof GatewayError)) throw error
      const { id: from } = reservation.request.model
      if (error.status === 429 || error.status >= 500) notePace(line, reservation, 'failed')
      const fields = { request: reservation.charge.id, from, to: next.id, reason: String(error) }
      line.world.log('route_next', fields)
      reservation.next = others
      line.reservations.moveTo(reservation, next, error)
    }
  }
}

/**
 * Records how soon the first model of a route that prefers the fastest has begun a stream. The last model is not measured: its
 * stream begins before its first output.
 */
function notePace(
  { world, paces }: Line,
  { request: { route, model }, logRow: { attempts, sentAt, stream }, next }: Reservation,
  answered: Answered | 'failed',
): void {
  if (route?.prefer !== 'fastest' || !stream || next.length === 0 || sentAt === null) return
  // Another key of the same model may have been tried before.
  if (attempts?.some((each) => each.model !== model.id || each.upstream !== model.upstream.name)) return
  if (answered === 'failed') paces.add(route.id, memberNameOf(model), FAILED_MS)
  else if (answered.kind === 'stream') paces.add(route.id, memberNameOf(model), world.monotonic() - sentAt)
}

/** The facts about a caller that the end of a request needs. */
type Waiting = Pick<Incoming, 'gatewayUrl' | 'signal' | 'waitMs'>

/** Answers with the task of a request that `make` begins to make: as it begins, or as it has ended if the caller waits. */
async function answerLater(
  line: Line,
  reservation: Reservation,
  incoming: Waiting,
  make: () => Promise<void>,
): Promise<Response> {
  const {
    task,
    request: { deferral },
  } = reservation
  if (!task || !deferral) throw new Error('a deferred request always has a task')
  void make()
  const headers = withIds(acceptedHeaders(task, deferral), reservation)
  const ended = await endOfTask(line, reservation, incoming)
  const { status, body } = ended ?? { status: 202, body: acceptedAnswer(task).body }
  return wholeAnswer(line.world.backlog, body, { status, headers })
}

/** Ends an answered request, and answers its caller. */
function ended(
  line: Line,
  reservation: Reservation,
  answered: Answered,
  incoming: Waiting,
): Response | Promise<Response> {
  switch (answered.kind) {
    case 'whole':
      return endedWhole(line, reservation, answered, incoming)
    case 'task':
      return endedTask(line, reservation, answered, incoming)
    case 'file':
      return endedFile(line, reservation, answered)
    case 'stream':
      return reservation.request.background
        ? begunInBackground(line, reservation, answered)
        : begun(line, reservation, answered)
  }
}

async function endedWhole(
  line: Line,
  reservation: Reservation,
  { contentType, outcome, measured, body, replies }: WholeAnswer,
  incoming: Pick<Incoming, 'gatewayUrl'>,
): Promise<Response> {
  const { world } = line
  const {
    request: { key, family },
    charge,
  } = reservation
  const keeps = world.artifacts && 'links' in family
  const shown = keeps ? await keepResults(world, reservation, body, replies, incoming) : body
  if ('links' in family && holdsAddress(shown)) line.responseCache.forgo(reservation.request)
  const saved = { status: 200, contentType, body: shown }
  const paidNano = await endWhole(line, reservation, outcome, saved, measured)
  const headers = withIds(await receiptHeaders(world, reservation), reservation)
  headers['content-type'] = contentType
  headers['x-gateway-cost-usd'] = formatUsd(paidNano)
  if (charge.windowMinute !== null) {
    // The answer is already paid: if the database is unavailable, only these headers are missing.
    Object.assign(headers, await rateHeadersOf(world.db, key, world.now()).catch(() => undefined))
  }
  return wholeAnswer(world.backlog, shown, { headers })
}

async function endedFile(
  line: Line,
  reservation: Reservation,
  { outcome, measured, saved, headers }: FileAnswer,
): Promise<Response> {
  await endWhole(line, reservation, outcome, saved, measured)
  const withReceipt = { ...headers, ...(await receiptHeaders(line.world, reservation)) }
  return wholeAnswer(line.world.backlog, saved.body, { headers: withIds(withReceipt, reservation) })
}

/** Starts a stream, which ends in the common place after its last event. */
function begun({ world }: Line, reservation: Reservation, { body, headers }: StreamAnswer): Response {
  const { logRow, record } = reservation
  logRow.firstByteMs ??= world.monotonic() - logRow.startedAt
  const shown = record ? record.followed(body, headers['content-type']) : body
  return new Response(shown, { headers: withIds(headers, reservation) })
}

/** Starts a stream that is read here, whoever waits for it. */
function begunInBackground({ world }: Line, reservation: Reservation, answered: StreamAnswer): Response {
  const {
    request: { toKeep, background },
    record,
  } = reservation
  if (!toKeep || !background) throw new Error('a response in the background is always kept')
  const body = record ? record.followed(answered.body, answered.headers['content-type']) : answered.body
  const { isFollowed } = background
  const begun = initialResponse(reservation.request)
  const shown = answerInBackground(world, toKeep, begun, { body, isFollowed })
  const headers = withIds({ 'content-type': shown.contentType, 'cache-control': 'no-cache' }, reservation)
  return new Response(shown.body, { headers })
}

async function endedTask(
  line: Line,
  reservation: Reservation,
  submitted: TaskBegun,
  incoming: Waiting,
): Promise<Response> {
  endHandedOver(line, reservation, submitted.status)
  const { status, body } = (await endOfTask(line, reservation, incoming)) ?? submitted
  const headers = withIds({ 'content-type': 'application/json' }, reservation)
  return wholeAnswer(line.world.backlog, body, { status, headers })
}

async function replayed(
  line: Line,
  saved: EarlierAnswer,
  logRow: RequestLogRow,
  request: CheckedRequest,
): Promise<Response> {
  line.responseCache.leave(request)
  endReplayed(line, logRow, saved)
  const headers = withIds({ 'content-type': saved.contentType }, { request, logRow })
  headers['idempotent-replayed'] = 'true'
  Object.assign(headers, await earlierReceipt(line.world, saved.charge))
  return wholeAnswer(line.world.backlog, saved.body, { status: saved.status, headers })
}

/** Adds the request's id, also under the name that the caller's dialect uses, the model that answered, and what it did not get. */
function withIds(
  headers: Record<string, string>,
  { request, logRow }: Pick<Reservation, 'request' | 'logRow'>,
): Record<string, string> {
  const { family, parsed, model } = request
  headers['x-request-id'] = logRow.id
  if (logRow.model !== null) headers['x-gateway-model'] = logRow.model
  const { body, leftOut = [] } = parsed
  const ignored = leftOut.concat(family.ignored?.(body, model) ?? [], ignoredStrict(body, model))
  if (ignored.length > 0) headers['x-gateway-ignored'] = ignored.join(', ')
  if (model.retirement) Object.assign(headers, retirementHeaders(model.retirement))
  Object.assign(headers, cacheHeaders(request))
  if (family.dialect === 'messages') headers['request-id'] = logRow.id
  return headers
}
