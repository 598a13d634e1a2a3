// Holds an older family against a newer one of the same dialect and protocol: every request with every model, and every
// answer, whole and as a stream. It must never decide which of the two is right.

import type { MadeFamily, Model, ParsedRequest } from '../../../src/contract/family'
import { GatewayError } from '../../../src/lib/errors'
import type { Json } from '../scenario'
import { answeredRequests, replyCases, type StreamCase, streamCases } from './answer-cases'
import { replyOutcome, type StreamCourse, streamOutcome, toldIn } from './answer-outcome'
import type { ToldWords } from './answer-samples'
import { type Difference, type DifferenceContext, differencesOf, type WantedDifference } from './differences'
import { modelsOfFamily, withFamily } from './models'
import type { Pair } from './pairs'
import { requestCases } from './request-cases'
import { attempt, checked, contractOf, requestOutcome } from './request-outcome'
import { withSeals } from './sealed'

export interface FoundDifference extends Difference {
  kind: CaseKind
  label: string
  model: string
  body: Json
}

export type CaseKind = 'contract' | 'request' | 'reply' | 'stream'

export interface Report {
  pair: string
  /** How often each kind was compared. */
  compared: Record<CaseKind, number>
  /** How many of the requests were accepted by the older family. */
  accepted: number
  /** How many generated streams were told word for word, and the labels of others. */
  faithful: number
  unfaithful: string[]
  /** Cases with a difference that is not wanted. */
  cases: number
  /** How many of them differ at each place, by the kind and the place without numbers. */
  places: Map<string, number>
  /** The first of them. */
  found: FoundDifference[]
  /** How often each wanted difference was found. */
  wanted: Map<WantedDifference, number>
}

export interface CompareOptions {
  seed?: number
  /** Random requests, and random streams. */
  mixtures?: number
  streams?: number
  /** Most models that a request is tried with, in turns; absent: all. */
  models?: number
  /** Every how many changed answers one is compared; absent: all are. */
  step?: number
  wanted?: readonly WantedDifference[]
  /** The only kind that is compared; absent: each is. */
  kind?: CaseKind
  /** The beginning of the places that are told; absent: each is. */
  where?: string
  /** Most cases that are shown. */
  most?: number
}

export function compare(pair: Pair, options: CompareOptions = {}): Report {
  const run = new Comparison(pair.older, pair.newer, options)
  const models = modelsOfFamily(pair.older)
  const { kind } = options
  if (kind === undefined || kind === 'contract') run.contract(models)
  if (kind === undefined || kind === 'request') compareRequests(run, pair, models, options)
  if (kind !== 'contract' && kind !== 'request') compareAnswers(run, pair, models, options)
  return run.report
}

function compareRequests(
  run: Comparison,
  { dialect }: Pair,
  models: readonly Model[],
  { seed = 1, mixtures = 1_500, models: most = 100, step = 1 }: CompareOptions,
): void {
  for (const [place, { label, body, isOfOneModel }] of requestCases(dialect, {
    seed,
    mixtures,
    step,
  }).entries()) {
    for (const model of inTurn(models, place, isOfOneModel ? 1 : most)) run.request(label, body, model)
  }
}

function compareAnswers(
  run: Comparison,
  { dialect, protocol }: Pair,
  models: readonly Model[],
  { seed = 1, streams = 250, models: most = 100, step = 1, kind }: CompareOptions,
): void {
  const asked = answeredBy(models, answeredRequests[dialect], run)
  const replies = kind === 'stream' ? [] : replyCases(protocol, seed, step)
  for (const [place, { label, reply, isOfOneRequest }] of replies.entries()) {
    for (const each of inTurn(asked, place, isOfOneRequest ? 1 : 2 * most)) run.reply(label, reply, each)
  }
  if (kind === 'reply') return
  for (const [place, stream] of streamCases(protocol, { seed, step, generated: streams }).entries()) {
    const tried = inTurn(asked, place, stream.isOfOneRequest ? 1 : 2 * most)
    for (const [number, each] of tried.entries()) {
      for (const course of coursesOf(stream, place + number)) run.stream(stream, each, course)
    }
  }
}

/** So many items of a list, from another one each time. */
function inTurn<Item>(list: readonly Item[], place: number, count: number): Item[] {
  return Array.from(
    { length: Math.min(count, list.length) },
    (_, number) => list[(place * 7 + number) % list.length] as Item,
  )
}

/** The wanted differences that no case needed. */
export function unneededIn({ wanted }: Report): string[] {
  return [...wanted].flatMap(([{ pair, where, reason }, count]) =>
    count === 0 && pair !== undefined ? [`${where}: ${reason}`] : [],
  )
}

/** A request that both families have accepted, by the model of each. */
interface Asked {
  body: Json
  older: readonly [Model, ParsedRequest]
  newer: readonly [Model, ParsedRequest]
}

/** Each request for one model after another: what shows in an answer depends on both. */
function answeredBy(models: readonly Model[], bodies: readonly Json[], run: Comparison): Asked[] {
  const asked = bodies.flatMap((body, place) =>
    models.flatMap((model, number) => {
      // With all models the first two, which most answers are for; others by turns.
      if (place > 1 && (place + number) % 3 !== 0) return []
      run.request(`answered ${place}`, body, model)
      return run.asked(body, model) ?? []
    }),
  )
  if (asked.length === 0) throw new Error('no request for an answer was accepted')
  return asked
}

/** The whole stream, and an early end at a place, which differs from case to case. */
function coursesOf({ events }: StreamCase, place: number): StreamCourse[] {
  const until = place % (events.length + 1)
  const ending = (['cut', 'fail', 'finish'] as const)[place % 3] as StreamCourse['ending']
  return [
    { ending: 'finish', isSlow: place % 4 === 0 },
    { ending, until },
  ]
}

/** Calls by their names and arguments. None at all are as good as an empty object. */
function withFilledCalls({ calls, ...words }: ToldWords): ToldWords {
  return { ...words, calls: calls.map(({ name, arguments: text }) => ({ name, arguments: text || '{}' })) }
}

/** Requests whose answers have other words than the vendor's: summaries that are sealed, and raw texts of custom tools. */
const REWORDED = /compaction_trigger|"custom"/

class Comparison {
  readonly report: Report
  private readonly newerModels = new Map<Model, Model>()

  constructor(
    private readonly older: MadeFamily,
    private readonly newer: MadeFamily,
    private readonly options: CompareOptions,
  ) {
    const wanted = (options.wanted ?? []).filter(({ pair = older.name }) => pair === older.name)
    this.report = {
      pair: older.name,
      compared: { contract: 0, request: 0, reply: 0, stream: 0 },
      accepted: 0,
      faithful: 0,
      unfaithful: [],
      cases: 0,
      places: new Map(),
      found: [],
      wanted: new Map(wanted.map((each) => [each, 0])),
    }
  }

  contract(models: readonly Model[]): void {
    const [older, newer] = [this.older, this.newer].map((family) => contractOf(family, models))
    this.note('contract', older, newer, {
      label: this.older.name,
      model: '',
      body: null,
    })
  }

  request(label: string, members: Json, model: Model): void {
    const text = withSeals(JSON.stringify({ model: model.id, ...members }), model)
    const outcome = requestOutcome(model, text)
    if (outcome.check === 'accepted') this.report.accepted++
    const other = requestOutcome(this.newerModel(model), text)
    this.note('request', outcome, other, { label, model: model.id, body: text })
  }

  /** The request as both accept it; undefined if the older does not. */
  asked(members: Json, model: Model): Asked | undefined {
    const text = JSON.stringify({ model: model.id, ...members })
    try {
      const older = [model, checked(model, text)] as const
      const other = this.newerModel(model)
      return { body: text, older, newer: [other, checked(other, text)] }
    } catch (error) {
      // That one of them refuses it is found among the requests.
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }

  reply(label: string, reply: Json, { body, older, newer }: Asked): void {
    const replies = Array.from({ length: JSON.parse(body).n ?? 1 }, () => reply)
    const outcomes = [older, newer].map(([model, parsed]) => replyOutcome(model, parsed, replies))
    this.note('reply', outcomes[0], outcomes[1], {
      label,
      model: older[0].id,
      body: { request: body, reply },
    })
  }

  stream({ label, events, told }: StreamCase, { body, older, newer }: Asked, course: StreamCourse): void {
    const streams = Array.from({ length: JSON.parse(body).n ?? 1 }, () => events)
    const [outcome, other] = [older, newer].map(([model, parsed]) =>
      attempt(() => streamOutcome(model, parsed, streams, course)),
    )
    const { until = 'all', ending, isSlow } = course
    const how = `${label} (until ${until}, ${ending}${isSlow ? ', slow' : ''})`
    const sent = streams.map((_, candidate) =>
      until === 'all' ? events : events.slice(0, Math.ceil((until - candidate) / streams.length)),
    )
    this.note('stream', outcome, other, {
      label: how,
      model: older[0].id,
      body: { request: body, events, sent },
    })
    if (!told || course.until !== undefined || streams.length > 1 || REWORDED.test(body)) return
    const words = [told, toldIn(other.events ?? [])].map(withFilledCalls)
    if (Bun.deepEquals(words[0], words[1])) this.report.faithful++
    else this.report.unfaithful.push(`${how}: ${JSON.stringify(words)}`)
  }

  private newerModel(model: Model): Model {
    const known = this.newerModels.get(model)
    if (known) return known
    const made = withFamily(model, this.newer)
    this.newerModels.set(model, made)
    return made
  }

  private note(
    kind: CaseKind,
    older: Json,
    newer: Json,
    about: Pick<FoundDifference, 'label' | 'model' | 'body'>,
  ): void {
    const { report } = this
    report.compared[kind]++
    if (Bun.deepEquals(older, newer)) return
    const unwanted = differencesOf(older, newer).filter(
      (difference) =>
        difference.where.startsWith(this.options.where ?? '') &&
        !this.isWanted(difference, { ...about, older, newer }),
    )
    if (unwanted.length === 0) return
    report.cases++
    for (const place of new Set(unwanted.map(({ where }) => `${kind} ${where.replaceAll(/\[\d+/g, '[')}`))) {
      report.places.set(place, (report.places.get(place) ?? 0) + 1)
    }
    if (report.cases > (this.options.most ?? 20)) return
    report.found.push(...unwanted.map((difference) => ({ kind, ...about, ...difference })))
  }

  private isWanted(difference: Difference, about: DifferenceContext): boolean {
    for (const [each, count] of this.report.wanted) {
      const isAt = new RegExp(`^(?:${each.where.source})$`, each.where.flags).test(difference.where)
      if (!isAt || each.matches?.(difference, about) === false) continue
      this.report.wanted.set(each, count + 1)
      return true
    }
    return false
  }
}
