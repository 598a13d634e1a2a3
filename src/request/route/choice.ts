// Chooses the models of a route that a request may use: those whose condition is met and whose context the prompt fits, in the
// order of the route's preference. Each skipped model is recorded with its reason. A prompt must be counted only if its size in
// bytes does not decide.

import type { Model } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import type { PassedOver, PassedOverReason, RequestLogRow } from '../../request-log/row'
import { metadataOf } from '../caller/metadata'
import { type CheckedRequest, checkRequest, type ReadRequest, type RequestSource } from '../check'
import type { Line } from '../ending'
import { unmetPart, unmetSize } from './conditions'
import { inRouteOrder } from './order'

/** The parts of a caller's request that conditions read. */
export interface Asking extends RequestSource {
  header?(name: string): string | null
  metadata?(): string | null
  signal(): AbortSignal
}

/** The parts of the line that choose among the models of a route. */
export interface RoutingParts extends Pick<Line, 'world' | 'textCounts' | 'warmSessions'> {
  paces: Pick<Line['paces'], 'meanMs' | 'toMeasure'>
}

type Pass = (model: Model, reason: PassedOverReason, detail: string) => void

/** Maximum number of recorded models, and maximum length of a reason, in characters. */
const MAX_RECORDED = 32
const MAX_DETAIL_LENGTH = 200
const NO_LIMIT = Number.POSITIVE_INFINITY

/** The checked request of a route, for the remaining models. Throws 400 if no condition is met. */
export async function checkRoute(
  line: RoutingParts,
  read: ReadRequest,
  asking: Asking,
  logRow: Pick<RequestLogRow, 'at' | 'passedOver' | 'routeOrder'>,
): Promise<CheckedRequest> {
  const passed: PassedOver[] = []
  const pass: Pass = ({ id, upstream }, reason, detail) => {
    if (passed.length >= MAX_RECORDED) return
    passed.push({ model: id, upstream: upstream.name, reason, detail: detail.slice(0, MAX_DETAIL_LENGTH) })
    logRow.passedOver = passed
  }
  const met = read.candidates.filter((model) => {
    const unmet = unmetOf(read, asking, model)
    if (unmet !== undefined) pass(model, 'condition', unmet)
    return unmet === undefined
  })
  const candidates = someOf(met, passed)
  const first = checkRequest({ ...read, candidates }, asking, logRow.at)
  const fitting = someOf(await fittingOf(line, { ...read, candidates }, first, asking, pass), passed)
  const isWhole = fitting.length === candidates.length
  const { prefer } = read.route ?? {}
  const order = prefer && inRouteOrder(line, { ...read, candidates: fitting }, first, prefer, asking)
  const request =
    isWhole && !order
      ? first
      : checkRequest({ ...read, candidates: order?.candidates ?? fitting }, asking, logRow.at)
  const chosen = [request.model, ...request.others]
  // A model with two families is listed twice.
  const isChosen = (name: string, upstreamName: string) =>
    chosen.some(({ id, upstream }) => id === name && upstream.name === upstreamName)
  for (const model of fitting) {
    if (!isChosen(model.id, model.upstream.name)) pass(model, 'request', 'it cannot take the request')
  }
  if (prefer && order) {
    const models = order.places.filter(({ model, upstream }) => isChosen(model, upstream))
    logRow.routeOrder = { prefer, models: models.slice(0, MAX_RECORDED) }
  }
  return request
}

/** The remaining candidates. Throws 400 if there are none. */
function someOf([first, ...others]: readonly Model[], passed: readonly PassedOver[]): [Model, ...Model[]] {
  if (first) return [first, ...others]
  const reasons = passed.map(({ model, detail }) => `${model}: ${detail}`).join('; ')
  throw invalidRequest(
    'model',
    `No model of this route accepts the request (${reasons}). Change the request, or choose another model.`,
    'model_not_found',
  )
}

/** The unmet part of a model's condition, apart from its size. */
function unmetOf({ route, given }: ReadRequest, asking: Asking, { id }: Model): string | undefined {
  const condition = route?.when?.[id]
  if (!condition) return undefined
  return unmetPart(condition, {
    header: (name) => asking.header?.(name),
    tag(name) {
      const found = metadataOf([name], given.body, asking.metadata?.())
      return found === undefined ? undefined : (JSON.parse(found) as Record<string, string>)[name]
    },
  })
}

/** The candidates whose size conditions are met and that the prompt fits. If it fits none, the closest one stays. */
async function fittingOf(
  line: Pick<Line, 'world' | 'textCounts'>,
  { route, candidates }: ReadRequest,
  checked: CheckedRequest,
  asking: Asking,
  pass: Pass,
): Promise<readonly Model[]> {
  const { byteLength } = checked.parsed
  const skipsLong = route?.fallback.has('too_long') === true
  const room = (model: Model, tokens: number) =>
    model.contextTokens === undefined
      ? NO_LIMIT
      : model.contextTokens - tokens - outputLimitOf(checked, model)
  const isOpen = (model: Model) =>
    route?.when?.[model.id]?.promptTokens !== undefined || (skipsLong && room(model, byteLength) < 0)
  if (!candidates.some(isOpen)) return candidates
  const tokens = await promptTokensOf(line, checked, asking.signal())
  const sized = candidates.filter((model) => {
    const unmet = unmetSize(route?.when?.[model.id] ?? {}, tokens)
    if (unmet !== undefined) pass(model, 'condition', unmet)
    return unmet === undefined
  })
  if (!skipsLong) return sized
  const most = Math.max(...sized.map((model) => room(model, tokens)))
  return sized.filter((model) => {
    const left = room(model, tokens)
    const isTried = left >= 0 || left === most
    if (!isTried)
      pass(model, 'context', `${tokens} prompt tokens, ${-left} more than it reads with the output`)
    return isTried
  })
}

/** Copies of models without their output limit. */
const unbounded = new WeakMap<Model, Model>()

/** The output limit of the caller, in tokens; 0 without a limit. */
function outputLimitOf({ parsed, family }: CheckedRequest, model: Model): number {
  const free = unbounded.get(model) ?? { ...model, maxOutputTokens: undefined }
  unbounded.set(model, free)
  const most = family.output?.(parsed.body, free)?.most ?? 0
  return Number.isFinite(most) ? most : 0
}

/** Tokens of the prompt by the gateway's own count. */
async function promptTokensOf(
  { world, textCounts }: Pick<Line, 'world' | 'textCounts'>,
  { parsed, family, model }: CheckedRequest,
  signal: AbortSignal,
): Promise<number> {
  const texts = family.texts?.(parsed.body, model) ?? []
  const { tokens } = await textCounts.run(signal, () => world.tokenCounter.count(texts.join('\n')))
  return tokens + (family.mediaTokens?.(parsed.body, model) ?? 0)
}
