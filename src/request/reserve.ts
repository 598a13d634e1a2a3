// Reserves the maximum price of a request, in one transaction with the limits of its key, its idempotency key and, for a task, its
// row. Nothing may be sent to a vendor before this has succeeded.

import { isToken, type Key } from '../accounts/keys'
import { balanceOf } from '../billing/ledger/balances'
import {
  answerAgain,
  claimKey,
  type EarlierAnswer,
  type IdempotencyKey,
  saveAnswer,
} from '../billing/ledger/idempotency'
import { type Charge, hold } from '../billing/ledger/ledger'
import {
  accountPeriodOf,
  budgetPeriodOf,
  conditionsOf,
  isCounted,
  refusalOf,
  spenderPeriodOf,
  windowMinuteOf,
} from '../billing/ledger/limits'
import { billOf, type Measure, type Outcome, quoteNano, tariffOf } from '../billing/ledger/metering'
import { OTHER_METADATA, referencesOf } from '../billing/ledger/shared-rows'
import { DEFAULT_MAX_METADATA } from '../config/usage'
import { isBudget, notDelivered, notPaid } from '../contract/failures'
import type { Model, OutputTokens, ParsedRequest, TaskFamily } from '../contract/family'
import { tableNano } from '../contract/prices'
import { inputTokensOf, outputTokensOf, tokensOf } from '../contract/units'
import type { Db, Statement } from '../db/db'
import { insertBackground } from '../kept-responses/background-rows'
import { CancelToken } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import { lastCutOf } from '../request-log/last-cut'
import type { RequestLogRow } from '../request-log/row'
import { guardOpenTasks, MAX_OPEN_TASKS, OPEN_TASKS } from '../tasks/deferred'
import { insertTask, type NewTask } from '../tasks/rows'
import { initialResponse } from './answer/background'
import { acceptedAnswer, deferredTask } from './answer/deferred'
import { areEqual, type CheckedRequest } from './check'
import type { Line } from './ending'
import { availableNanoOf, leanerHold } from './lean-hold'
import type { Reservation } from './reservation'
import { extendCharge, firstStep, firstTokens, withOutput } from './stream/hold'
import type { RequestWorld } from './world'

/** The caller's conditions apart from the request itself. */
interface ReserveOptions {
  gatewayUrl(): string
  videoSize?(): string | undefined
  signal(): AbortSignal
  /** The request is refused if it can cost more, in nano-dollars. */
  maxCostNano?: number
}

/**
 * How much longer a hold lives than the longest request, in milliseconds: the gateway's clock may run slightly faster than real
 * time.
 */
const HOLD_MARGIN_MS = 60_000
const HOLD_MARGIN_SHARE = 0.25

/**
 * Reserves a request. Returns the saved answer if another request took the same idempotency key at the same moment.
 * Throws 402 for an account with too little money, and 429 for a key over its limits.
 */
export async function reserve(
  line: Line,
  request: CheckedRequest,
  idempotencyKey: IdempotencyKey | null,
  logRow: RequestLogRow,
  from: ReserveOptions,
): Promise<Reservation | EarlierAnswer> {
  const { world } = line
  const { db } = world
  const { key } = request
  const now = world.now()
  const charge = chargeOf(request, logRow.id, now, world.process)
  const metadataId = countedBy(world, request)
  if (metadataId) charge.metadataId = typeof metadataId === 'number' ? metadataId : await metadataId
  if (from.maxCostNano !== undefined && maxPriceNano(request) > from.maxCostNano)
    throw tooExpensive(request, from.maxCostNano)
  const conditions = conditionsOf(key, charge)
  if (idempotencyKey) conditions.push(claimKey(idempotencyKey, charge.id, now))
  const task = taskOf(request, charge, from, world.newId)
  const rows = task ? taskRows(world, request, task, idempotencyKey) : backgroundRows(world, request, charge)
  const result = await hold(db, charge, conditions, rows).catch((error) => {
    line.reservations.takeBack(charge, task, error)
    throw error
  })
  if ('held' in result) return reservationOf(request, charge, idempotencyKey, logRow, task)
  const { refusedBy } = result
  if (refusedBy === 'balance' || isBudget(refusedBy)) {
    const lean = await leanerHold(line, request, charge, (parsed) => stepNano(request, parsed), from.signal())
    if (lean) {
      request.parsed.lean = lean
      return reserve(line, request, idempotencyKey, logRow, from)
    }
    const spared = request.family.withoutOffers?.(request.parsed.body)
    if (spared) {
      Object.assign(request.parsed, spared)
      return reserve(line, request, idempotencyKey, logRow, from)
    }
    const outputTokens = world.config.limitToBalance ? await affordableTokens(db, request, charge) : undefined
    if (outputTokens !== undefined) {
      request.parsed.outputTokens = outputTokens
      return reserve(line, request, idempotencyKey, logRow, from)
    }
  }
  const isStep = !request.cacheUse?.hit && firstTokens(request.parsed, request.model) !== undefined
  if ((refusedBy as string) === OPEN_TASKS) throw tooManyOpen()
  if (refusedBy === 'balance') {
    const refusal = notPaid({ heldNano: charge.heldNano, isStep }, await balanceOf(db, key.account))
    throw await asShown(world, refusal, key, now)
  }
  if (refusedBy !== 'idempotency' || !idempotencyKey) {
    const refusal = await refusalOf(db, refusedBy, key, charge, isStep, now)
    throw refusedBy === 'spender budget' ? refusal : await asShown(world, refusal, key, now)
  }
  // Another request claimed the key between the check and the hold, and may even have its answer by now.
  const replayed = await answerAgain(db, idempotencyKey)
  return replayed ?? reserve(line, request, idempotencyKey, logRow, from)
}

/** The set of metadata that the usage of a request counts under, with its spender. */
function countedBy(
  { db, config }: RequestWorld,
  { metadata, key: { spender } }: CheckedRequest,
): number | Promise<number> {
  const most = config.usage?.maxMetadata ?? DEFAULT_MAX_METADATA
  const references = referencesOf(db)
  // There may be as many tokens of web pages as visitors, so they are not counted separately.
  if (!spender || spender.kind === 'browser')
    return metadata === undefined ? 0 : references.metadataId(metadata, most)
  // Other spenders are only as many as the key makes, or as people allow.
  const alone = JSON.stringify({ spender: spender.id })
  const ofSpender = () => references.metadataId(alone, Number.POSITIVE_INFINITY)
  if (metadata === undefined) return ofSpender()
  const both = references.metadataId(JSON.stringify({ ...JSON.parse(metadata), spender: spender.id }), most)
  return Promise.resolve(both).then((id) => (id === OTHER_METADATA ? ofSpender() : id))
}

/** The task of a request whose answer arrives later; undefined for others. */
function taskOf(
  request: CheckedRequest,
  charge: Charge,
  from: ReserveOptions,
  newId: (prefix: string) => string,
): NewTask | undefined {
  const { family, deferral } = request
  if (family.kind === 'task') return newTask(request, family, charge, from, newId('video'))
  return deferral && deferredTask(request, deferral, charge, from, newId('task'))
}

/** The rows of a task. A deferred one is answered at once, so that its answer is saved with the hold. */
function taskRows(
  { db }: RequestWorld,
  { deferral, key }: CheckedRequest,
  task: NewTask,
  idempotencyKey: IdempotencyKey | null,
): Statement[] {
  if (!deferral) return [insertTask(task)]
  const saved = idempotencyKey ? [saveAnswer(db, task.charge, acceptedAnswer(task))] : []
  return [guardOpenTasks(key.account), insertTask(task), ...saved]
}

function tooManyOpen(): GatewayError {
  return new GatewayError(429, {
    code: 'Throttling.ConcurrencyQuota',
    message: `The account may have at most ${MAX_OPEN_TASKS} requests in the background at a time. Wait for one to end.`,
    headers: { 'retry-after': '3' },
  })
}

/** The row of a background response. Its lease is as long as the vendor may take to begin. */
function backgroundRows(
  { db, keptResponses }: RequestWorld,
  request: CheckedRequest,
  { account, createdAt: now, expiresAt: leaseUntil }: Charge,
): Statement[] {
  const { answer: context } = request.parsed
  if (!context?.isInBackground) return []
  const answer = JSON.stringify(initialResponse(request))
  const expiresAt = now + (keptResponses.keepMs ?? 0)
  return [insertBackground(db, { id: context.id, account, answer }, { now, leaseUntil, expiresAt })]
}

/** A refusal without figures of the account, for the owner of a token in a browser. */
function accountCannotPay({ status, code, headers }: GatewayError): GatewayError {
  const message = 'Neither this token nor its account can pay for this request now.'
  return new GatewayError(status, { code, message, headers })
}

/**
 * The refusal with the stream of the key that the lack of money has just ended, if there was one; for a token in a browser, without
 * figures of the account.
 */
async function asShown(
  { requestLog }: Line['world'],
  refusal: GatewayError,
  key: Key,
  now: number,
): Promise<GatewayError> {
  const { status, code, message, headers } = refusal
  if (status === 402 && isToken(key)) return accountCannotPay(refusal)
  if (code !== 'insufficient_balance' && code !== 'budget_exceeded') return refusal
  const cut = await lastCutOf(requestLog, key.id, now)
  if (!cut) return refusal
  const words = `The last answer, of request ${cut.id}, ended early for the same reason.`
  return new GatewayError(status, { code, message: `${message} ${words}`, headers })
}

/**
 * The maximum that is held for a request before it is sent, with any of its models, in nano-dollars; for a cached answer, its
 * price.
 */
function stepNano(request: CheckedRequest, parsed: ParsedRequest): number {
  return (
    request.cacheUse?.hit?.priceNano ?? mostNano(request, (each) => quoteNano(firstStep(parsed, each), each))
  )
}

function chargeOf(request: CheckedRequest, id: string, now: number, process: string | null): Charge {
  const { key, model, parsed, operation } = request
  return {
    id,
    account: key.account,
    keyId: key.id,
    model: model.id,
    operation: operation.name,
    heldNano: stepNano(request, parsed),
    pricesJson: tariffOf(parsed, model).json,
    createdAt: now,
    expiresAt: now + Math.ceil(mostOf(request, longestMs) * (1 + HOLD_MARGIN_SHARE)) + HOLD_MARGIN_MS,
    budgetPeriod: budgetPeriodOf(key, now),
    accountPeriod: accountPeriodOf(key, now),
    spender: spenderPeriodOf(key.spender, now),
    windowMinute: windowMinuteOf(key, now),
    windowTokens: isCounted(key) ? estimateTokens(request) : 0,
    process,
  }
}

/**
 * Holds the rest of the price of an answer that arrived whole and costs more than is held. Resolves with the caller's error if it
 * cannot be held: then nothing of the answer may be delivered.
 */
export function holdRest(
  { db }: Line['world'],
  reservation: Reservation,
  outcome: Outcome,
  { quantities }: Measure,
): Promise<GatewayError | undefined> | undefined {
  const {
    request: { parsed, model },
    charge,
  } = reservation
  const priceNano = tableNano(quantities, billOf(parsed, model, quantities, outcome).table)
  return priceNano > charge.heldNano ? holdUpTo(db, reservation, priceNano) : undefined
}

async function holdUpTo(
  db: Db,
  { request: { key }, charge }: Reservation,
  priceNano: number,
): Promise<GatewayError | undefined> {
  for (;;) {
    const amountNano = priceNano - charge.heldNano
    if (amountNano <= 0) return undefined
    const answer = await extendCharge(db, key, charge, { amountNano, windowTokens: 0 })
    // If the charge has ended, its settlement decides.
    if (answer === 'held' || answer === 'charge') return undefined
    if (answer === 'again') continue
    const { availableNano = 0 } = (await balanceOf(db, key.account)) ?? {}
    const refusal = notDelivered(priceNano, charge.heldNano, isBudget(answer) ? answer : availableNano)
    return isToken(key) ? accountCannotPay(refusal) : refusal
  }
}

function reservationOf(
  request: CheckedRequest,
  charge: Charge,
  idempotencyKey: IdempotencyKey | null,
  logRow: RequestLogRow,
  task: NewTask | undefined,
): Reservation {
  return {
    request,
    charge,
    idempotencyKey,
    logRow,
    cancelToken: new CancelToken(),
    deadlineAt: Number.POSITIVE_INFINITY,
    isEnded: false,
    next: request.others,
    unwanted: undefined,
    unwantedCostNano: 0,
    task,
    caller: undefined,
    end: undefined,
    charged: undefined,
    place: undefined,
    index: -1,
  }
}

/** The maximum price of a request with any of its models, in nano-dollars. */
export function maxPriceNano(request: CheckedRequest): number {
  return request.cacheUse?.hit?.priceNano ?? mostNano(request, (each) => quoteNano(request.parsed, each))
}

/**
 * The output limit per candidate at which the account and the key's budget can pay for a request that is not streamed. Undefined if
 * no useful answer fits.
 */
async function affordableTokens(
  db: Db,
  request: CheckedRequest,
  charge: Charge,
): Promise<number | undefined> {
  const { key, model, others, parsed } = request
  if ((parsed.body as { stream?: unknown }).stream === true) return undefined
  const outputs = [model, ...others].map((each) => ({
    model: each,
    output: each.family.output?.(parsed.body, each),
  }))
  if (outputs.some(({ output }) => output === undefined)) return undefined
  const availableNano = await availableNanoOf(db, key, charge)
  const isPaid = (outputTokens: number) =>
    maxPriceNano({ ...request, parsed: withOutput(parsed, outputTokens) }) <= availableNano
  let fewest = Math.max(...outputs.map(({ output }) => output?.least ?? 0))
  const limits = outputs.map(({ output, model: each }) => limitOf(output, each))
  // If the limit is still refused because others were faster, it is lowered.
  const most = parsed.outputTokens === undefined ? Math.max(...limits) : parsed.outputTokens - 1
  if (most < fewest || !isPaid(fewest)) return undefined
  // The price grows with the output, so each attempt halves the remaining range.
  for (let above = most + 1; above - fewest > 1; ) {
    const middle = Math.floor((fewest + above) / 2)
    if (isPaid(middle)) fewest = middle
    else above = middle
  }
  return fewest
}

/** The output tokens per candidate that a non-streaming request holds. */
function limitOf(output: OutputTokens | undefined, { reserveOutputTokens }: Model): number {
  return output && Number.isFinite(output.most) ? output.most : reserveOutputTokens
}

function tooExpensive(request: CheckedRequest, maxCostNano: number): GatewayError {
  return new GatewayError(400, {
    code: 'max_cost_exceeded',
    message: `This request can cost up to ${formatUsd(maxPriceNano(request))} USD, more than the ${formatUsd(maxCostNano)} USD that you allow. Nothing was sent: allow more, or request less.`,
    param: 'max_cost_usd',
  })
}

/** The highest figure among the models that may answer. */
function mostOf(
  { model, others }: Pick<CheckedRequest, 'model' | 'others'>,
  figure: (model: Model) => number,
): number {
  return others.reduce((most, other) => Math.max(most, figure(other)), figure(model))
}

/** The highest price among the models that may answer, in nano-dollars. Equal connections of a model have one price. */
function mostNano(request: CheckedRequest, priceOf: (model: Model) => number): number {
  const { model } = request
  if (request.others.length === 0) return priceOf(model)
  const others = request.others.filter((other) => !areEqual(model, other))
  return mostOf({ model, others }, priceOf)
}

/** How long the charge of a request may stay open, in milliseconds. */
function longestMs({ family, upstream }: Model): number {
  return family.kind === 'task' ? upstream.taskDeadlineMs : upstream.maxDurationMs
}

/** Tokens of a usual request, for the key's token limit until the true figure is known. */
function estimateTokens({ family, parsed, model, cacheUse }: CheckedRequest): number {
  if (cacheUse?.hit) return tokensOf(cacheUse.hit.measured.quantities)
  const quote = family.quote(firstStep(parsed, model), model)
  return Math.ceil(inputTokensOf(quote) / 4) + outputTokensOf(quote)
}

/** The task of a charge, written with the hold, so that no submission is ever without a row. */
function newTask(
  { parsed, key, model }: CheckedRequest,
  family: TaskFamily,
  charge: Charge,
  from: ReserveOptions,
  id: string,
): NewTask {
  const { webhook_url: webhookUrl } = parsed.body as { webhook_url?: string | null }
  return {
    id,
    operation: 'video',
    account: key.account,
    keyId: key.id,
    spenderId: key.spender?.id ?? null,
    model: model.id,
    upstream: model.upstream.name,
    charge: charge.id,
    leaseUntil: 0,
    pollContext: {
      ...family.task.pollContext(parsed.body, model),
      ...(parsed.remixOf && { remixOf: parsed.remixOf.id }),
    },
    quantities: family.quote(parsed, model),
    costNano: charge.heldNano,
    webhookUrl: webhookUrl ?? null,
    gatewayUrl: from.gatewayUrl(),
    size: from.videoSize?.() ?? null,
    createdAt: charge.createdAt,
    deadlineAt: charge.createdAt + model.upstream.taskDeadlineMs,
  }
}
