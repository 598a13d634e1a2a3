// What requests to vendors of responses, and streams of them, say, for the rows of wanted differences: inputs of both families as
// plain items, and the words of a stream.

import { wordsInEvents } from '../../matrix/told-words'
import { type Run, wordsOfResponse } from '../../matrix/words'
import type { Json } from '../../scenario'
import type { DifferenceContext, WantedDifference } from '../differences'

export type Row = Omit<WantedDifference, 'pair'>

/** Whether one family has refused a request that the other one has accepted. */
export const isOfOne = ({ older, newer }: DifferenceContext): boolean =>
  (older.check === 'accepted') !== (newer.check === 'accepted')

/** The refusal by the newer family of a request that the older one accepted; undefined if it is not so. */
export const refusedNow = ({ older, newer }: DifferenceContext): Json | undefined =>
  older.check === 'accepted' ? newer.check?.refused : undefined

/** The value at a place of an outcome: `limited[1][0].body.json.input`. */
export const valueAt = (outcome: Json, place: string): Json =>
  place.split(/[.[\]]+/).reduce((value, name) => (name === '' ? value : value?.[name]), outcome)

export const CALL = /(?:call\[\d+\]|limited\[\d\]\[\d+\]|callAfter\[\d\])\.body\.json/.source

export const INPUT = new RegExp(`${CALL}\\.input(?:\\[.*)?`)

/** The inputs of the calls at a place. */
export function inputsAt(where: string, { older, newer }: DifferenceContext): [older: Json, newer: Json] {
  const place = where.slice(0, where.indexOf('.input') + '.input'.length)
  return [valueAt(older, place), valueAt(newer, place)]
}

/** The results of each run of results and messages of the user, then the messages. */
export function resultsFirst(items: Json[]): Json[] {
  const sorted: Json[] = []
  let said: Json[] = []
  for (const item of items) {
    if (item.role === 'user') said.push(item)
    else if (item.output !== undefined) sorted.push(item)
    else {
      sorted.push(...said, item)
      said = []
    }
  }
  return [...sorted, ...said]
}

/** Files at addresses as such, and files without a name with that of their type. */
export function namedFiles(items: Json[]): Json[] {
  return items.map(({ ...item }) => {
    for (const member of ['content', 'output']) {
      if (Array.isArray(item[member])) item[member] = item[member].map(namedFile)
    }
    return item
  })
}

export function namedFile(part: Json): Json {
  if (part.type !== 'input_file') return part
  if (/^https?:/.test(part.file_data)) return { type: part.type, file_url: part.file_data }
  const [, type = 'pdf'] = /^data:\w+\/(\w+)/.exec(part.file_data) ?? []
  return part.filename ? part : { ...part, filename: `document.${type}` }
}

/** Without the names of those who say nothing: names are texts before what is said. */
export const withoutSilence = (items: Json[]): Json[] =>
  items.filter(({ role, content }) => {
    const [only, ...others] = role === 'user' ? partsOf(content) : []
    return others.length > 0 || !/^\w+:$/.test(only?.text)
  })

/** Results in the form of the last call of their id. */
export function ofLastCalls(items: Json[]): Json[] {
  const forms = new Map<unknown, string>()
  return items.map((item) => {
    if (item.name !== undefined) forms.set(item.call_id, item.type)
    const form = forms.get(item.call_id)
    return item.output === undefined || form === undefined ? item : { ...item, type: `${form}_output` }
  })
}

/** Items with messages of one role in a row as one, parts that say nothing left out, and results of texts as one text. */
export function plainItems(input: Json): Json[] {
  const items: Json[] = []
  for (const item of typeof input === 'string' ? [{ role: 'user', content: input }] : input) {
    if (item.output !== undefined) items.push({ ...item, output: oneText(item.output) })
    else if (item.role === undefined) items.push(item)
    else {
      const parts = partsOf(item.content)
      const last = items.at(-1)
      if (parts.length === 0) continue
      if (last?.role === item.role && item.role !== 'system' && item.role !== 'developer') {
        last.content.push(...parts)
      } else items.push({ role: item.role, content: parts })
    }
  }
  return items
}

/** The parts of a content that say anything. */
export function partsOf(content: Json): Json[] {
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content
  return parts.filter(({ text }: Json) => text !== '')
}

export function oneText(output: Json): Json {
  if (typeof output === 'string') return output
  const parts = partsOf(output)
  const texts = parts.flatMap(({ type, text }) => (type === 'input_text' ? [text] : []))
  return texts.length < parts.length ? parts : texts.join('\n\n')
}

/** The ids of calls that a vendor sends, by the names of the calls. */
export const idsIn = ({ events }: Json): string[] =>
  [...JSON.stringify(events).matchAll(/"call_id":"([^"]+)"/g)].map(([, id]) => id as string)

/** Nothing is said after the end, or an error. */
export function untilEnd(events: readonly Json[]): readonly Json[] {
  const end = events.findIndex(
    ({ type, error }) => /^(?:error|response\.(?:failed|completed|incomplete))$/.test(type) || error,
  )
  return end === -1 ? events : events.slice(0, end)
}

/** Whether the newer family tells each candidate what the vendor sent, as far as it is looked at. */
export function saysWhatIsSent({ body, newer }: DifferenceContext, seen = (runs: Run[]) => runs): boolean {
  return body.sent.every((events: Json[], candidate: number) =>
    Bun.deepEquals(seen(wordsInEvents(newer.events, candidate)), seen(wordsOfResponse(untilEnd(events)))),
  )
}

/** Whether a call begins without a name. */
export const hasNamelessCalls = ({ events }: Json): boolean =>
  events.some(
    ({ type, item }: Json) =>
      type === 'response.output_item.added' &&
      /_call$/.test(item?.type) &&
      (typeof item.name !== 'string' || item.name === ''),
  )

export const CHECK = /check(?:\.refused\.(?:code|param|message))?/
