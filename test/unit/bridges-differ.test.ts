// Holds each family that translates against the family in its place: requests, replies and streams must be deeply equal, but
// for the differences in test/support/bridges/wanted.ts. The newer families are named in test/support/bridges/pairs.ts.
// One pair, with all models and cases, and its differences in full:
// DIFFER_PAIR=chat-on-messages bun test test/unit/bridges-differ.test.ts
// DIFFER_SEED repeats a run, DIFFER_MIXTURES and DIFFER_STREAMS set how many random requests and streams are tried;
// DIFFER_KIND (request, reply, stream or contract) and DIFFER_WHERE (the beginning of a place) narrow it, and DIFFER_MOST sets
// how many cases are shown.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { MadeFamily, Translator } from '../../src/contract/family'
import { uncoveredRows } from '../support/bridges/covered-fields'
import {
  type CaseKind,
  type CompareOptions,
  compare,
  type Report,
  unneededIn,
} from '../support/bridges/differ'
import { shown, type WantedDifference } from '../support/bridges/differences'
import { type Pair, pairs } from '../support/bridges/pairs'
import { requestCases } from '../support/bridges/request-cases'
import { wantedDifferences } from '../support/bridges/wanted'
import type { Json } from '../support/scenario'

setDefaultTimeout(300_000)

const { DIFFER_PAIR: chosen, DIFFER_KIND, DIFFER_WHERE } = process.env
const numberOf = (name: string) => (process.env[name] === undefined ? undefined : Number(process.env[name]))
const sample: CompareOptions = { mixtures: 150, streams: 50, models: 2, step: 6 }
const given = {
  seed: numberOf('DIFFER_SEED'),
  mixtures: numberOf('DIFFER_MIXTURES'),
  streams: numberOf('DIFFER_STREAMS'),
  most: numberOf('DIFFER_MOST'),
  kind: DIFFER_KIND as CaseKind | undefined,
  where: DIFFER_WHERE,
}
const options: CompareOptions = {
  ...(chosen === undefined && sample),
  ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as CompareOptions),
  wanted: wantedDifferences,
}
const isNarrowed = DIFFER_KIND !== undefined || DIFFER_WHERE !== undefined

/** The differences of a report in lines, the first of each case with its request. */
function linesOf({ pair, cases, found, places }: Report): string {
  let last = ''
  const lines = found.flatMap(({ kind, label, model, body, where, older, newer }) => {
    const head = `\n${kind} ${label} with ${model}\n  ${shown(typeof body === 'string' ? JSON.parse(body) : body, chosen === undefined ? 600 : 4_000)}`
    const isSame = head === last
    last = head
    return [...(isSame ? [] : [head]), `  ${where}`, `    - ${shown(older)}`, `    + ${shown(newer)}`]
  })
  const counts = [...places].sort(([, one], [, other]) => other - one)
  const summary = counts.slice(0, 40).map(([place, count]) => `  ${count} ${place}`)
  return [`${pair}: ${cases} cases differ`, ...summary, '', 'The first:', ...lines].join('\n')
}

const tried = pairs.filter(({ older }) => chosen === undefined || older.name === chosen)

describe('the family in its place does the same as', () => {
  test.each(tried.map((pair): [string, Pair] => [pair.older.name, pair]))('%s', (name, pair) => {
    const report = compare(pair, options)
    if (chosen !== undefined)
      console.log(name, report.compared, { accepted: report.accepted, faithful: report.faithful })
    if (report.cases > 0) throw new Error(linesOf(report))
    expect(report.unfaithful.slice(0, 5)).toEqual([])
    if (isNarrowed) return
    // A sample may miss a case.
    const unneeded =
      unneededIn(report).length > 0 ? unneededIn(compare(pair, { wanted: wantedDifferences })) : []
    expect(unneeded).toEqual([])
    const { compared, accepted, faithful } = report
    const least = Math.min(accepted, compared.request - accepted, compared.reply, compared.stream)
    expect(least).toBeGreaterThan(200)
    expect(faithful).toBeGreaterThan(10)
  })
  test('each that is named', () => expect(tried.length).toBeGreaterThan(0))
})

describe('a request is compared', () => {
  test.each(tried.map((pair): [string, Pair] => [pair.older.name, pair]))(
    'for each field of the schema and the table of %s',
    (_, { dialect, older }) => {
      const bodies = requestCases(dialect, { seed: 1, mixtures: 0, step: 0 })
        .filter(({ isOfOneModel }) => !isOfOneModel)
        .map(({ body }) => body)
      const schema = Object.keys(older.body.properties).map(
        (field) => ({ field, treatment: 'translated', note: '' }) as const,
      )
      const inBody = schema.filter(({ field }) => field !== 'model')
      const tables = [...(older.bridge ?? []), ...(older.fieldRules ?? [])].filter(
        ({ field }) => field !== 'model',
      )
      expect(uncoveredRows([...inBody, ...tables], bodies)).toEqual([])
    },
  )
})

/** A family with a fault. */
type Mutation = (family: MadeFamily) => MadeFamily

const withJson =
  (change: (json: Json) => void): Mutation =>
  (family) => ({
    ...family,
    call(parsed, model) {
      const calls = [family.call(parsed, model)].flat().map((call) => {
        const copy = structuredClone(call)
        if (copy.body && 'json' in copy.body) change(copy.body.json)
        return copy
      })
      return calls.length === 1 ? (calls[0] as (typeof calls)[number]) : calls
    },
  })

const withEvents =
  (change: (frames: string[]) => string[]): Mutation =>
  (family) => ({
    ...family,
    ...(family.stream && {
      stream: {
        ...family.stream,
        translate(parsed, model) {
          const translator = family.stream?.translate(parsed, model) as Translator
          const push = translator.push.bind(translator)
          translator.push = (...event) => {
            const frames = push(...event).split(/(?<=\n\n)/)
            return change(frames).join('')
          }
          return translator
        },
      },
    }),
  })

let pieces = 0
const mutations: Record<CaseKind, Record<string, Mutation>> = {
  request: {
    'a field of the request is dropped': withJson((json) => {
      if (json.tool_choice || json.toolConfig) json.tool_choice = json.toolConfig = undefined
    }),
    'a value of the request is another': withJson((json) => {
      if (json.temperature !== undefined) json.temperature += 0.1
      if (json.inferenceConfig?.temperature !== undefined) json.inferenceConfig.temperature += 0.1
    }),
    'a refusal names another field': (family) => ({
      ...family,
      check(body, model) {
        try {
          family.check?.(body, model)
        } catch (error) {
          throw Object.assign(error as object, { param: 'messages' })
        }
      },
    }),
    'less is held': (family) => ({
      ...family,
      quote: (parsed, model) =>
        Object.fromEntries(
          Object.entries(family.quote(parsed, model)).map(([unit, count]) => [unit, count - 1]),
        ),
    }),
  },
  contract: {
    'a row of the table is lost': (family) => ({ ...family, bridge: family.bridge?.slice(1) }) as MadeFamily,
  },
  stream: {
    'every fiftieth piece is lost': withEvents((frames) => (pieces++ % 50 === 49 ? frames.slice(1) : frames)),
    'two events are swapped': withEvents((frames) => (frames.length > 2 ? frames.toReversed() : frames)),
    'events come late': withLateEvents,
  },
  reply: {
    'the figures of a reply are others': (family) => ({
      ...family,
      reply: (replies, parsed, model, usage, files) =>
        family.reply(
          replies,
          parsed,
          model,
          { ...usage, output_token: (usage.output_token ?? 0) + 1 },
          files,
        ),
    }),
  },
}

/** Each event waits for the next. */
function withLateEvents(family: MadeFamily): MadeFamily {
  let kept = ''
  const late = withEvents((frames) => {
    const now = kept
    kept = frames.join('')
    return [now]
  })(family)
  const translate = late.stream?.translate as NonNullable<MadeFamily['stream']>['translate']
  return {
    ...late,
    ...(late.stream && {
      stream: {
        ...late.stream,
        translate(parsed, model) {
          kept = ''
          const translator = translate(parsed, model)
          const finish = translator.finish.bind(translator)
          translator.finish = (usage) => kept + finish(usage)
          return translator
        },
      },
    }),
  }
}

if (chosen === undefined) {
  describe('a fault is found:', () => {
    const few: CompareOptions = { mixtures: 60, streams: 30, models: 1, step: 20, kind: 'request' }
    const faulty = Object.entries(mutations).flatMap(([kind, ofKind]) =>
      Object.entries(ofKind).map(([fault, mutate]) => ({ kind: kind as CaseKind, fault, mutate })),
    )
    // Each in a pair of its own, so that all pairs are shown to be compared.
    const placed = faulty.map((each, place) => ({ ...each, pair: pairs[place % pairs.length] as Pair }))
    test.each(
      placed.map((each): [string, (typeof placed)[number]] => [
        `${each.fault}, in ${each.pair.older.name}`,
        each,
      ]),
    )('%s', (_, { kind, pair, mutate }) => {
      const { cases, found } = compare({ ...pair, newer: mutate(pair.older) }, { ...few, kind })
      expect(cases).toBeGreaterThan(0)
      expect(found.every((each) => each.kind === kind)).toBe(true)
    })

    test('a difference is wanted only at its places', () => {
      const [pair] = pairs as [Pair]
      const newer = { ...pair, newer: mutations.request['less is held']?.(pair.older) as MadeFamily }
      const wanted: WantedDifference = { pair: pair.older.name, where: /quote.*/, reason: 'a test' }
      const all = compare(newer, { ...few, wanted: [wanted] })
      expect(all.cases).toBe(0)
      expect(unneededIn(all)).toEqual([])
      const absent = { ...wanted, where: /quotes/ }
      expect(unneededIn(compare(pair, { ...few, wanted: [absent] }))).toEqual(['/quotes/: a test'])
      const other = compare(newer, {
        ...few,
        wanted: [{ ...wanted, matches: ({ where }) => where.startsWith('quote[0]') }],
      })
      expect(other.cases).toBeGreaterThan(0)
      expect(other.found.every(({ where }) => !where.startsWith('quote[0]'))).toBe(true)
      expect(linesOf(other)).toContain(
        `The first:\n\nrequest base with ${other.found[0]?.model}\n  {"model":"${other.found[0]?.model}","messages":[{"role":"user","content":"Hi"}]}\n  quote[1].input_token\n    - `,
      )
    })
  })
}
