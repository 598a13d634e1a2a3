// The words of an answer, whoever tells them: what was thought and said, and the calls of tools, in their order. What a vendor sends and
// what a caller reads must be the same words. It must never use what translates them.

import type { Json } from '../scenario'

export interface Run {
  kind: 'thinking' | 'said' | 'call'
  /** The words; the arguments or the raw input of a call. */
  text: string
  /** The tool of a call. */
  name?: string
}

/** Collects words by the items that they belong to, in the order in which the items begin. */
export class Words {
  private readonly runs: Run[] = []
  private readonly open = new Map<unknown, Run>()

  /** A text or a piece of one. */
  say(kind: 'thinking' | 'said', text: unknown): void {
    if (typeof text !== 'string' || text === '') return
    const last = this.runs.at(-1)
    if (last?.kind === kind) last.text += text
    else this.runs.push({ kind, text })
  }

  call(place: unknown, name: unknown, text: unknown): void {
    const run: Run = { kind: 'call', name: textOr(name), text: inputOf(text) }
    this.runs.push(run)
    this.open.set(place, run)
  }

  /** A piece of the arguments of a call that has begun; one that has not shows as a call without a name. */
  piece(place: unknown, text: unknown): void {
    const run = this.open.get(place)
    if (run) run.text += textOr(text)
    else if (textOr(text) !== '') this.call(place, '', text)
  }

  /** Texts without gaps between thoughts, and calls without arguments as those of an empty object. */
  get all(): Run[] {
    return this.runs.map((run) => {
      if (run.kind === 'thinking') return { ...run, text: run.text.replaceAll('\n\n', '') }
      return run.kind === 'call' && run.text === '' ? { ...run, text: '{}' } : run
    })
  }
}

/** Runs with the inputs of calls as grammars have them that parse them: spaces do not count, and no object is `_raw`. */
export const parsedCalls = (runs: readonly Run[]): Run[] =>
  runs.map((run) => (run.kind === 'call' ? { ...run, text: JSON.stringify(parsedInput(run.text)) } : run))

function parsedInput(text: string): Json {
  try {
    const value = text.trim() === '' ? {} : JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // A raw text.
  }
  return { _raw: text }
}

const textOr = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Some vendors send arguments parsed. */
const inputOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : textOr(value)

export const listOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : []

/** An item of a vendor of responses. */
interface VendorItem {
  id: unknown
  place: unknown
  /** The item as it began, or ended. */
  item: Json
  pieces: string
  hasEnded: boolean
}

/** Events that show an item though its beginning is missing. */
const BEGINNERS: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.reasoning_summary_part.added': 'reasoning',
}
const KINDS = new Set<unknown>(['message', 'reasoning', 'function_call', 'custom_tool_call'])

/** The words that a vendor of responses sends, an item after the other: their pieces, else the item at its end. */
export function wordsOfResponse(events: readonly Json[]): Run[] {
  const items: VendorItem[] = []
  for (const event of events) {
    const { output_index: place, item_id, item, delta } = event ?? {}
    const type = textOr(event?.type)
    const id = item_id ?? item?.id
    const isNew = type === 'response.output_item.added'
    let own = items.findLast((each) => each.place === place && each.id === id)
    if (!isNew) {
      const open = items.filter(({ hasEnded }) => !hasEnded)
      own ??= open.findLast((each) => each.place === place) ?? open.findLast((each) => each.id === id)
    }
    const begun = /item\.(?:added|done)$/.test(type) ? item : { type: BEGINNERS[type] }
    if (!own && KINDS.has(begun?.type)) {
      own = { id, place, item: begun, pieces: '', hasEnded: false }
      items.push(own)
    }
    if (!own || own.hasEnded) continue
    if (type.endsWith('.delta')) own.pieces += textOr(delta)
    if (type === 'response.output_item.done') {
      own.item = { ...own.item, ...item, type: own.item.type, name: textOr(own.item.name) || item?.name }
      own.hasEnded = true
    }
  }
  const words = new Words()
  for (const [place, { item, pieces }] of items.entries()) addItem(words, place, item, pieces)
  return words.all
}

export function wordsOfResponseReply({ output }: Json): Run[] {
  const words = new Words()
  for (const [place, item] of listOf(output).entries()) addItem(words, place, item, '')
  return words.all
}

function addItem(words: Words, place: unknown, item: Json, pieces: string): void {
  switch (item.type) {
    case 'reasoning': {
      const reported = [listOf(item.summary), listOf(item.content)].find(({ length }) => length > 0) ?? []
      words.say('thinking', pieces || reported.map(({ text }) => textOr(text)).join(''))
      break
    }
    case 'message':
      words.say(
        'said',
        pieces ||
          listOf(item.content)
            .map(({ text, refusal }) => textOr(text) + textOr(refusal))
            .join(''),
      )
      break
    case 'function_call':
      words.call(place, item.name, pieces || item.arguments)
      break
    case 'custom_tool_call':
      words.call(place, item.name, pieces || textOr(item.input))
  }
}
