// Checks that the rules of the sweep find a wrong table of traits. Each trait of each pattern is changed, one at a
// time, and the recorded rules judge what would then be sent for the requests of the sweep. unfound-mutations.ts lists
// the changes that no rule finds. Nothing is sent.

import { expect, test } from 'bun:test'
import type { Key } from '../../src/accounts/keys'
import { outside } from '../../src/app/world'
import { buildCatalogue } from '../../src/catalogue/models'
import type { ModelConfig } from '../../src/config/schema'
import { operationOf } from '../../src/contract/operations'
import { Traits } from '../../src/contract/traits'
import { EFFORTS } from '../../src/families/traits/efforts'
import { knownModel, knownModels } from '../../src/families/traits/known-models'
import type { KnownModel } from '../../src/families/traits/known-models/row'
import { GatewayError } from '../../src/lib/errors'
import { checkRequest, type ReadRequest, readRequest } from '../../src/request/check'
import { textBodyOf } from '../../src/request/upstream-call'
import { sweptModels } from './models'
import { type CallerRequest, dialectNames, requestsOf } from './requests'
import { forbiddenBy, readSent } from './rules'
import { unfound } from './unfound-mutations'

/** A key that may use every model, which is all that the test needs. */
const key = { models: null, plan: null } as unknown as Key
const kinds = [...new Set(Object.values(sweptModels).map(({ upstream }) => upstream as string))]
const upstreams = Object.fromEntries(
  kinds.map((kind) => [
    kind,
    { kind, apiKey: 'none', baseUrl: 'https://vendor.example/v1', region: 'us-east-1', project: 'project' },
  ]),
)

/** A swept model that matches a pattern, with its traits from the table for its upstream. */
interface Place {
  id: string
  /** The pattern, and where it has its own traits. */
  name: string
  row: KnownModel
  upstream: string
  entry: ModelConfig
  traits: Partial<Traits>
}

const found = new Set<string>()
const places: Place[] = Object.entries(sweptModels).flatMap(([id, entry]) => {
  const row = knownModel(entry.upstreamModel ?? id)
  const upstream = entry.upstream as string
  if (!row) return []
  const own = row.at?.[upstream]
  const name = `${row.names[0]}${own ? ` at ${upstream}` : ''}`
  if (found.has(name)) return []
  found.add(name)
  return [{ id, row, name, upstream, entry, traits: own ?? row.traits }]
})

/** The words that a trait's schema permits. The schema does not limit efforts. */
function wordsOf(schema: unknown): unknown[] {
  const { anyOf, items, const: word, type } = schema as Record<string, unknown>
  if (Array.isArray(anyOf)) return anyOf.flatMap(wordsOf)
  if (items) return wordsOf(items)
  if (type === 'boolean') return [true, false]
  return word === undefined ? [...EFFORTS] : [word]
}

/** Values with one wrong word each, and a description of the fault. */
function wrong(trait: keyof Traits, value: unknown): [what: string, value: unknown][] {
  const words = wordsOf(Traits.properties[trait])
  if (!Array.isArray(value)) {
    return words.filter((word) => word !== value).map((word) => [`${value} to ${word}`, word])
  }
  return words
    .map((word): [string, unknown[]] =>
      value.includes(word)
        ? [`without ${word}`, value.filter((each) => each !== word)]
        : [`with ${word}`, words.filter((each) => each === word || value.includes(each))],
    )
    .filter(([, list]) => list.length > 0 || trait === 'efforts')
}

const flips = places.flatMap((place) =>
  (Object.entries(place.traits) as [keyof Traits, unknown][]).flatMap(([trait, value]) =>
    wrong(trait, value).map(([what, next]) => ({
      place,
      trait,
      id: `${place.name}: ${trait} ${what}`,
      traits: { [trait]: next } as Partial<Traits>,
    })),
  ),
)

const catalogue = buildCatalogue(
  {
    upstreams,
    models: Object.fromEntries([
      ...places.map(({ id, entry }) => [id, entry]),
      ...flips.map(({ id, place, traits }) => [id, { ...place.entry, traits }]),
    ]),
  },
  outside,
)
const first = [...catalogue.models.keys()][0] as string
const requests = dialectNames
  .flatMap(requestsOf)
  .filter(({ body }) => body.stream !== true)
  .map((asked) => {
    const read = readRequest(
      catalogue,
      key,
      operationOf(asked.dialect),
      Buffer.from(JSON.stringify({ model: first, ...asked.body })),
      { now: () => 0 },
    )
    return { asked, read }
  })

const TOOLS = /tool|function/
const SAMPLING = /temperature|top_[pk]/
/**
 * Fields of callers that a trait affects, in addition to those that request thinking. If absent: tools and sampling,
 * which depend on thinking.
 */
const about: Partial<Record<keyof Traits, RegExp>> = {
  efforts: TOOLS,
  offEfforts: TOOLS,
  forcedToolChoice: TOOLS,
  toolsBesideEffort: TOOLS,
  parallelCalls: TOOLS,
  strictTools: TOOLS,
  sampling: SAMPLING,
  bothSampling: SAMPLING,
  stop: /stop/,
  penalties: /penalty/,
  logitBias: /logit_bias/,
  logprobs: /logprobs|include/,
  speech: /modalities|audio/,
  prediction: /prediction/,
  verbosity: /verbosity|text/,
  schemas: /format|text/,
  maxTokens: /^max_/,
  prefill: /messages|input/,
}
const USUAL = new RegExp(`${TOOLS.source}|${SAMPLING.source}`)
const THINKING = /thinking|effort|reasoning|output_config/

const isAbout = (trait: keyof Traits, { fields }: CallerRequest): boolean =>
  fields.every((field) => THINKING.test(field) || (about[trait] ?? USUAL).test(field))

const notFound = Object.values(unfound).flat()

/** Whether a rule forbids the vendor's request. Requests that the gateway refuses are not sent. */
function isForbidden(
  id: string,
  { upstream }: Place,
  { asked, read }: { asked: CallerRequest; read: ReadRequest },
): boolean {
  const models = catalogue.models.get(id) ?? []
  const [head, ...others] = models.filter(({ family }) => family.operation === asked.dialect)
  if (!head) return false
  try {
    const request = checkRequest(
      { ...read, candidates: [head, ...others], checks: undefined },
      { headers: asked.headers },
      0,
    )
    const { family, model, parsed } = request
    if (family.kind !== 'made' && family.kind !== 'json') throw new Error(`${family.name} is not swept`)
    return [family.call(parsed, model)].flat().some((call) => {
      const adapted = model.upstream.adapt(call, model.upstreamModel)
      const sent = readSent(upstream, adapted.path, adapted.headers ?? {}, textBodyOf(request, adapted) ?? '')
      return forbiddenBy(sent, asked.body).length > 0
    })
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

test('each line of the list of unfound mutations names a wrong trait', () => {
  const idle = notFound.filter((pattern) => !flips.some(({ id }) => pattern.test(id)))
  expect(idle).toEqual([])
})

test('a swept model matches each pattern', () => {
  const met = new Set(places.map(({ row }) => row))
  const others = knownModels.filter((row) => !met.has(row) && Object.keys(row.traits).length > 0)
  expect(others.map(({ names }) => names[0])).toEqual([])
})

test.each(places)('$name: each wrong trait is found, or the list says why not', (place) => {
  const own = flips.filter((flip) => flip.place === place)
  const missed = own.filter(({ id, trait }) => {
    const asked = requests.filter((each) => isAbout(trait, each.asked))
    // Requests that break a rule even with the correct table would prove nothing.
    return !asked.some((each) => isForbidden(id, place, each) && !isForbidden(place.id, place, each))
  })
  const listed = own.filter(({ id }) => notFound.some((pattern) => pattern.test(id)))
  expect(missed.map(({ id }) => id)).toEqual(listed.map(({ id }) => id))
})
