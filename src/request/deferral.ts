// Decides whether a request is answered later, as a task: `"async": true` in the body, a path that ends with /async, or the
// header `Prefer: respond-async` (RFC 7240). A demand that cannot be met is refused; a preference is ignored in that case. The
// vendor must never see the fields of the gateway.

import { invalidRequest } from '../lib/errors'
import { type AddressRules, checkWebhook } from '../webhooks/address'
import { type CheckedRequest, inDialect, type ReadRequest, withoutFields } from './check'

/** How a caller says that the answer may arrive later: as a preference, or by a path that has no other answers. */
export type DeferralMode = 'preferred' | 'demanded'

/** A request that is answered later. */
export interface Deferral {
  mode: DeferralMode
  /** The URL that is notified of the end; null if the caller polls. */
  webhookUrl: string | null
}

interface DeferralWorld {
  keptResponses: { keepMs: number | undefined }
  addressRules: AddressRules
}

/** Fields of the gateway in a request that is answered later. */
const FIELDS = ['async', 'webhook_url'] as const

/** Whether a request asks for a later answer: most do not. */
export function mayBeDeferred(
  { given }: Pick<ReadRequest, 'given'>,
  mode: DeferralMode | undefined,
): boolean {
  return mode !== undefined || 'async' in given.body
}

/**
 * The deferral of a request, whose fields are removed from its body; undefined if it is answered at once. Throws 400 for a deferral
 * that is demanded but impossible, and for a webhook that cannot be delivered.
 */
export async function takeDeferral(
  world: DeferralWorld,
  read: ReadRequest,
  mode: DeferralMode | undefined,
): Promise<Deferral | undefined> {
  try {
    return await taken(world, read, mode)
  } catch (error) {
    throw inDialect(error, read.candidates[0].family.dialect)
  }
}

async function taken(
  { keptResponses, addressRules }: DeferralWorld,
  read: ReadRequest,
  mode: DeferralMode | undefined,
): Promise<Deferral | undefined> {
  const { operation, given, form } = read
  const { webhook_url: webhookUrl = null } = given.body
  const requested = form ? booleanOf(given.body.async) : given.body.async
  if (!operation.canBeDeferred) {
    if (requested === true) throw notDeferred(instead(operation.name))
    return undefined
  }
  if (requested !== undefined && requested !== null && typeof requested !== 'boolean')
    throw invalidRequest('async', "Invalid 'async': expected true or false.", 'invalid_type')
  const isDemanded = requested === true || mode === 'demanded'
  const canKeep = keptResponses.keepMs !== undefined
  if (isDemanded && !canKeep)
    throw notDeferred("This gateway keeps no answers ('responses.keep' is off), so none can be read later")
  const isDeferred = isDemanded || (mode === 'preferred' && canKeep && !streams(given.body))
  if (isDeferred && streams(given.body)) throw notStreamed(given.body.stream)
  if (!isDeferred) {
    if ('async' in given.body) withoutFields(read, ['async'])
    return undefined
  }
  if (webhookUrl !== null && typeof webhookUrl !== 'string')
    throw invalidRequest('webhook_url', "Invalid 'webhook_url': expected a URL.", 'invalid_type')
  await checkWebhook({ webhook_url: webhookUrl }, addressRules)
  withoutFields(read, FIELDS)
  return { mode: isDemanded ? 'demanded' : 'preferred', webhookUrl }
}

/** A boolean that a form has as text; any other value unchanged. */
function booleanOf(text: unknown): unknown {
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : text
}

/** Whether the answer would arrive as events: such an answer has no body that can be read as a whole. */
function streams({ stream, stream_format: format }: Record<string, unknown>): boolean {
  return booleanOf(stream) === true || format === 'sse'
}

function notStreamed(stream: unknown) {
  const field = booleanOf(stream) === true ? 'stream' : 'stream_format'
  return invalidRequest(
    field,
    `A deferred answer is read as a whole, so it has no events: leave out '${field}', or 'async'.`,
    'unsupported_parameter',
  )
}

function notDeferred(why: string) {
  return invalidRequest('async', `${why}: leave out 'async'.`, 'unsupported_parameter')
}

/** Why an operation is answered at once, and the alternative if there is one. */
function instead(operation: ReadRequest['operation']['name']): string {
  if (operation === 'responses') return "Responses are made later with 'background': true"
  if (operation === 'video') return 'A video is always a task'
  return 'This operation answers at once'
}

/** Distinguishes the request from the same request without deferral, for its Idempotency-Key. */
export function fingerprintOf({ fingerprint }: Pick<CheckedRequest, 'fingerprint'>): string {
  return `async\n${fingerprint}`
}
