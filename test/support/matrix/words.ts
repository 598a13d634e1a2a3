// The words of an answer of any protocol: thoughts, texts and tool calls, in order. The caller must get the words that the vendor
// sent. It must never use the translations.

import type { Json } from '../scenario'

export interface Run {
  kind: 'thinking' | 'answer' | 'call'
  /** The words; the arguments or the raw input of a call. */
  text: string
  /** The tool of a call. */
  name?: string
}

/** Collects words by item, in the order in which the items begin. */
export class Words {
  private readonly runs: Run[] = []
  private readonly open = new Map<unknown, Run>()

  /** A text or a piece of one. */
  say(kind: 'thinking' | 'answer', text: unknown): void {
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

  /** A piece of the arguments of a call; if the call has not begun, it appears as a call without a name. */
  piece(place: unknown, text: unknown): void {
    const run = this.open.get(place)
    if (run) run.text += textOr(text)
    else if (textOr(text) !== '') this.call(place, '', text)
  }

  /** Joins thoughts without gaps, and gives calls without arguments an empty object. */
  get all(): Run[] {
    return this.runs.map((run) => {
      if (run.kind === 'thinking') return { ...run, text: run.text.replaceAll('\n\n', '') }
      return run.kind === 'call' && run.text === '' ? { ...run, text: '{}' } : run
    })
  }
}

/** Runs with the inputs of calls as parsed by grammars: spaces do not count, and an invalid object is `_raw`. */
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

export function wordsOfResponseReply({ output }: Json): Run[] {
  const words = new Words()
  for (const [place, item] of listOf(output).entries()) addItem(words, place, item)
  return words.all
}

function addItem(words: Words, place: unknown, item: Json): void {
  switch (item.type) {
    case 'reasoning': {
      const reported = [listOf(item.summary), listOf(item.content)].find(({ length }) => length > 0) ?? []
      words.say('thinking', reported.map(({ text }) => textOr(text)).join(''))
      break
    }
    case 'message':
      words.say(
        'answer',
        listOf(item.content)
          .map(({ text, refusal }) => textOr(text) + textOr(refusal))
          .join(''),
      )
      break
    case 'function_call':
      words.call(place, item.name, item.arguments)
      break
    case 'custom_tool_call':
      words.call(place, item.name, textOr(item.input))
  }
}
