// Answers a request later: the caller gets a task at once, and this process makes the answer while nobody waits. The task must end
// in the batch that ends its charge, so that everything delivered is paid and everything paid is delivered.

import type { Artifacts } from '../../artifacts/artifacts'
import type { ChargeEnd } from '../../billing/ledger/charge-ends'
import type { SavedAnswer } from '../../billing/ledger/idempotency'
import type { Charge } from '../../billing/ledger/ledger'
import type { Statement } from '../../db/db'
import { type KeptResult, keepResult } from '../../kept-responses/results'
import type { GatewayError } from '../../lib/errors'
import { DEFERRED_LEASE_MS, endDeferred } from '../../tasks/deferred'
import type { NewTask } from '../../tasks/rows'
import { documentOf } from '../../tasks/task'
import { fileOf } from '../../upstreams/result-file'
import type { CheckedRequest } from '../check'
import type { Deferral } from '../deferral'
import type { RequestWorld } from '../world'

type EndingWorld = Pick<RequestWorld, 'db' | 'now' | 'newId' | 'keptResponses' | 'artifacts' | 'log'>

/** Maximum length of an answer inside the task's webhook, in characters; others are read at their URL. */
const MAX_INLINE_LENGTH = 64 * 1024
/** Maximum time that an answer waits for the copy of its file, in milliseconds. */
const COPY_TIMEOUT_MS = 60_000
/** Seconds after which a caller should poll a running task. */
const RETRY_SECONDS = 3

/** The task of a deferred request. This process makes it, so the lease begins with the row. */
export function deferredTask(
  { operation, key, model, others }: CheckedRequest,
  { webhookUrl }: Deferral,
  charge: Charge,
  from: { gatewayUrl(): string },
  id: string,
): NewTask {
  const longestMs = Math.max(...[model, ...others].map(({ upstream }) => upstream.maxDurationMs))
  return {
    id,
    operation: operation.name,
    account: key.account,
    keyId: key.id,
    spenderId: key.spender?.id ?? null,
    model: model.id,
    upstream: model.upstream.name,
    charge: charge.id,
    pollContext: {},
    quantities: {},
    costNano: charge.heldNano,
    webhookUrl,
    gatewayUrl: from.gatewayUrl(),
    size: null,
    createdAt: charge.createdAt,
    deadlineAt: charge.createdAt + longestMs,
    leaseUntil: charge.createdAt + DEFERRED_LEASE_MS,
  }
}

/** The caller's answer: the new task. */
export function acceptedAnswer(task: NewTask): SavedAnswer & { body: string } {
  return { status: 202, contentType: 'application/json', body: documentOf(task, {}, 'submitted') }
}

/** Headers of an answer that is the task, while it runs. `mode` is that of the request. */
export function acceptedHeaders({ id }: NewTask, { mode }: Deferral): Record<string, string> {
  return {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    location: `/v1/tasks/${id}`,
    'retry-after': String(RETRY_SECONDS),
    ...(mode === 'preferred' && { 'preference-applied': 'respond-async' }),
  }
}

/**
 * Settles the charge of a deferred request in one batch with the end of its task and its result. Nothing is charged if another
 * process has ended the task, because this one was silent for longer than its lease: then the hold is released.
 */
export async function settlementOfDeferred(
  world: EndingWorld,
  task: NewTask,
  end: ChargeEnd,
  answer: SavedAnswer,
  release: ChargeEnd,
): Promise<ChargeEnd> {
  const kept = await keptForm(world, task, answer)
  const { bytes, result } = sizeAndResult(answer)
  const ending = {
    state: 'succeeded' as const,
    shown: { content_type: answer.contentType, bytes },
    ...(result !== undefined && { result }),
    priceNano: end.settlement?.priceNano ?? 0,
  }
  const statements = endDeferred(world.db, task, ending, endOf(world))
  const { charge, settlement, also } = end
  const all: Statement[] = [...statements, ...keepResult(world, task, kept), ...also]
  return { charge, ...(settlement && { settlement }), also: all, orElse: release }
}

/** Releases the charge of a deferred request in one batch with the failure of its task, unless that has ended already. */
export function releaseOfDeferred(
  world: EndingWorld,
  task: NewTask,
  end: ChargeEnd,
  { code, message }: Pick<GatewayError, 'code' | 'message'>,
): ChargeEnd {
  const statements = endDeferred(world.db, task, { state: 'failed', error: { code, message } }, endOf(world))
  return { ...end, also: [...statements, ...end.also], orElse: end }
}

function endOf({ now, newId }: EndingWorld) {
  return { now: now(), webhookId: newId('msg') }
}

function sizeAndResult({ contentType, body }: SavedAnswer): { bytes: number; result?: unknown } {
  if (typeof body !== 'string') return { bytes: body.byteLength }
  const bytes = Buffer.byteLength(body)
  if (contentType !== 'application/json' || body.length > MAX_INLINE_LENGTH) return { bytes }
  return { bytes, result: JSON.parse(body) }
}

/** The answer as it is stored: a file among the artifacts, if enabled, and everything else unchanged. */
async function keptForm(
  { artifacts, log }: EndingWorld,
  task: NewTask,
  { contentType, body }: SavedAnswer,
): Promise<KeptResult> {
  if (typeof body === 'string' || !artifacts) return { contentType, body }
  try {
    return { contentType, url: await keepFile(artifacts, task, contentType, body) }
  } catch (error) {
    log('results_not_kept', { request: task.charge, reason: String(error) })
    return { contentType, body }
  }
}

function keepFile(
  artifacts: Artifacts,
  { account, keyId, charge, gatewayUrl }: NewTask,
  contentType: string,
  body: Uint8Array,
): Promise<string> {
  return artifacts.keep(`${gatewayUrl}/result`, {
    account,
    keyId,
    charge,
    fetchFile: async () => fileOf(body, contentType),
    gatewayUrl,
    timeoutMs: COPY_TIMEOUT_MS,
  })
}
