// Counts the tokens of a request: by the vendor if it can, otherwise here, from the texts. It is free, so it must never crowd out
// paid requests: it counts toward the key's limit of requests, and only a few texts are counted at once.

import type { Key } from '../accounts/keys'
import { countFreeRequest } from '../billing/ledger/limits'
import { type Catalogue, resolveModels } from '../catalogue/models'
import type { Config } from '../config/schema'
import { callerLeft, garbage, timedOut } from '../contract/failures'
import type { Call, Family, Model } from '../contract/family'
import type { Operation } from '../contract/operations'
import type { ContentWorld } from '../kept-responses/content'
import { GatewayError } from '../lib/errors'
import { BODY_LIMITS } from '../lib/json/body'
import { editObject, scanObject } from '../lib/json/json'
import type { Sealer } from '../lib/sealing'
import { createSemaphore } from '../lib/semaphore'
import type { System } from '../lib/system'
import type { TokenCounter } from '../media/token-counter'
import { MAX_DOCUMENT_BYTES, readReply } from '../upstreams/reply'
import { completeInput } from './answer-context'
import { type CheckedRequest, checkRequest, readRequest } from './check'
import { chooseOrder } from './session'

interface CountRequest {
  key: Key
  /** Headers for vendors of the operation. */
  headers: Readonly<Record<string, string>>
  /** Reads the body. `check` may get the model that a large body names, before the rest of it is read. */
  body(check: (model: string) => void): Promise<Uint8Array>
  signal: AbortSignal
}

export type CountTokens = (operation: Operation, request: CountRequest) => Promise<number>

/** Number of texts that are counted at once; a paid count never waits for more than these. */
const MAX_COUNTS = 2
/** Maximum time for a vendor, in milliseconds. */
const TIMEOUT_MS = 30_000

export interface TokenCountWorld extends Pick<System, 'now' | 'after' | 'random'>, ContentWorld {
  config: Pick<Config, 'affinity'>
  sealer: Sealer
  catalogue: Catalogue
  tokenCounter: TokenCounter
}

/** Creates the counter of all operations. */
export function createTokenCount(world: TokenCountWorld): CountTokens {
  const semaphore = createSemaphore(MAX_COUNTS)

  async function count(
    operation: Operation,
    request: CountRequest,
    controller: AbortController,
  ): Promise<number> {
    const { key } = request
    const body = await request.body((model) => {
      resolveModels(world.catalogue, key, operation, model, world)
    })
    const content = operation.name === 'messages' ? withLimit(body) : body
    const read = readRequest(world.catalogue, key, operation, content, world)
    if (operation.keepsAnswers) await completeInput(world, read)
    chooseOrder(world, read, {})
    const checked = checkRequest(read, request, world.now())
    await countFreeRequest(world.db, key, world.now())
    const reported =
      tokenCountOf(checked.model) && (await askUpstreams(world, key.account, checked, controller))
    if (reported !== undefined) return reported
    const { family, parsed, model } = checked
    const texts = family.texts?.(parsed.body, model) ?? []
    const counted = await semaphore.run(controller.signal, () => world.tokenCounter.count(texts.join('\n')))
    return counted.tokens + (family.mediaTokens?.(parsed.body, model) ?? 0)
  }

  return async (operation, request) => {
    const controller = new AbortController()
    const leave = () => controller.abort(callerLeft())
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      return await count(operation, request, controller)
    } finally {
      request.signal.removeEventListener('abort', leave)
    }
  }
}

/** The first answer of the models that may serve the request; undefined if none of them can count. */
async function askUpstreams(
  world: TokenCountWorld,
  account: string,
  checked: CheckedRequest,
  controller: AbortController,
): Promise<number | undefined> {
  let failure: GatewayError | undefined
  for (const model of [checked.model, ...checked.others]) {
    try {
      if (tokenCountOf(model)) return await askUpstream(world, account, checked, model, controller)
    } catch (error) {
      if (!(error instanceof GatewayError) || (error.status < 500 && error.status !== 429)) throw error
      failure = error
    }
  }
  // A server that speaks the protocol may lack this path.
  if (failure && failure.code !== 'upstream_model_missing') throw failure
  return undefined
}

async function askUpstream(
  { after }: TokenCountWorld,
  account: string,
  { parsed, source }: CheckedRequest,
  model: Model,
  controller: AbortController,
): Promise<number | undefined> {
  const { upstream } = model
  const tokenCount = tokenCountOf(model)
  const request = tokenCount?.call(parsed, model)
  const call = request && upstream.adapt(request, model.upstreamModel)
  const text = call && textOf(call, source)
  if (!call || text === undefined) return undefined
  const { signal } = controller
  const cancel = after(TIMEOUT_MS, () => controller.abort(timedOut(model)))
  try {
    const { response, done } = await upstream.send(call, text, signal, { account })
    const document = { mostBytes: MAX_DOCUMENT_BYTES }
    const { json } = await readReply(response, model, signal, document).finally(done)
    const tokens = tokenCount?.read(json)
    if (tokens === undefined) throw garbage(model, 'without a number of tokens')
    return tokens
  } finally {
    cancel()
  }
}

/** The text of a call's body; undefined if the call has no JSON. */
function textOf({ body }: Call, source: CheckedRequest['source']): string | undefined {
  if (body && 'json' in body) return JSON.stringify(body.json)
  return body && 'edit' in body && source ? editObject(source.text, source.scanned, body.edit) : undefined
}

function tokenCountOf({ family }: Model): Family['tokenCount'] {
  return family.tokenCount
}

/** The body with a limit of the answer, which the families of messages require, and a token count may omit. */
function withLimit(content: Uint8Array): Uint8Array {
  // One character per byte: invalid UTF-8 stays invalid, and is refused by the check.
  const text = Buffer.from(content).toString('latin1')
  const scanned = scanObject(text, BODY_LIMITS)
  if (!('members' in scanned) || scanned.members.has('max_tokens')) return content
  return Buffer.from(editObject(text, scanned, { set: { max_tokens: '1' } }), 'latin1')
}
