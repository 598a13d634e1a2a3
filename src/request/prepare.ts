// The third step of the line: prepares the checked request. It checks the operation, model and fields, adds the conversation that
// the request continues, and completes its row in the request log. It must never send, hold or charge anything.

import { isToken, type Key } from '../accounts/keys'
import { type IdempotencyKey, idempotencyKeyOf } from '../billing/ledger/idempotency'
import { resolveModels } from '../catalogue/models'
import { knownError } from '../contract/error-answer'
import type { Form } from '../contract/form'
import type { RequestLogRow } from '../request-log/row'
import { checkWebhook } from '../webhooks/address'
import { findEarlierTasks } from './answer/submit-task'
import { beginAnswer, beginSealing } from './answer-context'
import { metadataOf } from './caller/metadata'
import { spendingKey } from './caller/spender'
import { type CheckedRequest, checkRequest, inDialect, type ReadRequest, readRequest } from './check'
import { fingerprintOf, mayBeDeferred, takeDeferral } from './deferral'
import type { Incoming } from './line'
import { type Asking, checkRoute, type RoutingParts } from './route/choice'
import { checkSealed } from './sealed-items'
import { chooseOrder, sessionText } from './session'
import type { RequestWorld } from './world'

/** The checked request of a key's body or form. Throws a GatewayError, mostly 400, in the dialect of the model's family. */
export async function prepareRequest(
  line: RoutingParts,
  incoming: Incoming,
  key: Key,
  content: Uint8Array | Form,
  logRow: RequestLogRow,
): Promise<CheckedRequest> {
  const { world } = line
  const read = readRequest(world.catalogue, key, incoming.operation, content, world, logRow)
  if (key.spenders) await noteSpender(world, read, incoming, logRow)
  const wish = incoming.deferral?.()
  const deferral = mayBeDeferred(read, wish) ? await takeDeferral(world, read, wish) : undefined
  const kept = incoming.operation.keepsAnswers
    ? await beginAnswer(world, read, incoming.idempotencyKey)
    : checkCallers(world, read)
  const metadata = wantedMetadata(world, read, incoming)
  logRow.metadata = metadata ?? null
  const request = await checkForModels(line, read, incoming, logRow)
  request.metadata = metadata
  if (deferral) {
    request.deferral = deferral
    request.fingerprint = fingerprintOf(request)
  }
  if (kept) Object.assign(request, kept)
  if (!read.answer) beginSealing(world, request)
  if (request.family.kind === 'task') await checkTask(world, request, logRow)
  else describe(logRow, request)
  return request
}

/** The request, checked for the models that may answer it, in the order in which they are tried. */
function checkForModels(
  line: RoutingParts,
  read: ReadRequest,
  asking: Asking,
  logRow: Parameters<typeof checkRoute>[3],
): CheckedRequest | Promise<CheckedRequest> {
  chooseOrder(line.world, read, asking)
  return read.route ? checkRoute(line, read, asking, logRow) : checkRequest(read, asking, logRow.at)
}

/** The request checked as if it were sent, without side effects: it is not counted among those that measure the models of a route. */
export async function checkForQuote(
  line: RoutingParts,
  read: ReadRequest,
  asking: Asking,
): Promise<CheckedRequest> {
  const { paces, world } = line
  const measured = { meanMs: paces.meanMs.bind(paces), toMeasure: () => undefined }
  return checkForModels({ ...line, paces: measured }, read, asking, {
    at: world.now(),
    passedOver: null,
    routeOrder: null,
  })
}

/** Adds the spender that a request names. Throws 400 for a model that this spender may not use. */
async function noteSpender(
  world: RequestWorld,
  read: ReadRequest,
  incoming: Incoming,
  logRow: RequestLogRow,
): Promise<void> {
  const { body } = read.given
  read.key = await spendingKey(world, read.key, body, incoming)
  logRow.spenderId = read.key.spender?.id ?? null
  if (read.key.spender?.models)
    resolveModels(world.catalogue, read.key, incoming.operation, String(body.model), world)
}

/** The metadata that usage counts under, as JSON; undefined if the request has none, or none is configured. */
function wantedMetadata(
  { config }: RequestWorld,
  { given }: ReadRequest,
  incoming: Incoming,
): string | undefined {
  const wanted = config.usage?.metadata
  return wanted && metadataOf(wanted, given.body, incoming.metadata?.())
}

/** Checks sealed content in a request of an operation that does not store its answers. */
function checkCallers({ sealer }: RequestWorld, { key, operation, given }: ReadRequest): undefined {
  checkSealed({ sealer, account: key.account }, operation, given.body)
}

/** Checks the fields that only tasks have: earlier tasks, and the address of the webhook. */
async function checkTask(world: RequestWorld, request: CheckedRequest, logRow: RequestLogRow): Promise<void> {
  try {
    await findEarlierTasks(world, request)
    describe(logRow, request)
    await checkWebhook(request.parsed.body, world.addressRules)
  } catch (error) {
    throw inDialect(knownError(error), request.family.dialect)
  }
}

function describe(logRow: RequestLogRow, { operation, model, parsed, session }: CheckedRequest): void {
  // A form of request may be for either of two operations, which only the body reveals.
  logRow.operation = operation.name
  logRow.model = model.id
  logRow.upstream = model.upstream.name
  if (session) logRow.session = sessionText(session)
  logRow.stream = (parsed.body as { stream?: unknown }).stream === true
}

/**
 * The key that identifies a repeated request; null if the request has none. A token has its own keys: it sees no answer of another
 * token.
 */
export function idempotencyKeyFor(
  { key, operation, fingerprint }: CheckedRequest,
  { idempotencyKey: sent }: Pick<Incoming, 'idempotencyKey'>,
): IdempotencyKey | null {
  const owner = { account: key.account, prefix: isToken(key) ? `${key.spender?.id} ` : '' }
  return idempotencyKeyOf(owner, sent, operation.path, fingerprint)
}
