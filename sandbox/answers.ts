// The answers of a simulated chat model: the same words for the same question, cut to the limits of the request. It must never know
// a wire format: vendors render the answer in their own form.

import type { Directives } from './directives'
import { withoutDirectives } from './directives'
import { asObject, type JsonObject } from './json'
import { cutIntoPieces } from './pieces'
import { exampleOf } from './schema-example'

export interface Tool {
  name: string
  schema: unknown
}

/** Choice of tools. `auto` leaves it to the model; a name requires that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

export interface Question {
  /** The last words of the user. */
  said: string
  /** The result of a tool, if the conversation ends with one. */
  toolResult: string | undefined
  tools: readonly Tool[]
  toolChoice: ToolChoice
  /** Format of the answer: a schema requires JSON that fits it, `json` any JSON object. */
  format: 'text' | 'json' | { schema: unknown }
  choices: number
  /** Stop sequences, which are not part of the answer. */
  stops: readonly string[]
  /** Maximum number of output tokens, including thinking. */
  tokenLimit: number | undefined
  reasoningTokens: number
  directives: Directives
}

export interface ToolCall {
  name: string
  /** Pieces of the text of the arguments. */
  pieces: string[]
}

export interface Choice {
  reasoning: string[]
  pieces: string[]
  calls: ToolCall[]
  end: 'stop' | 'length' | 'tool'
  /** The stop sequence at which the answer ended. */
  stoppedAt?: string
}

const quoteCharacters = 2000
const thoughts = cutIntoPieces(
  ' The user wants an answer, and a simple one will do, so let me put it in order.',
)
const filler = cutIntoPieces(
  ' These words only make the answer as long as it was asked to be, one piece after another.',
)

export function answerTo(question: Question): Choice[] {
  return Array.from({ length: question.choices }, (_none, index) => answerOnce(question, index))
}

export function countOutput(choice: Choice): number {
  return choice.pieces.length + choice.calls.reduce((sum, call) => sum + call.pieces.length, 0)
}

function answerOnce(question: Question, index: number): Choice {
  const { directives, tokenLimit = Number.POSITIVE_INFINITY } = question
  if (directives.empty) return { reasoning: [], pieces: [], calls: [], end: 'stop' }
  const reasoning = repeated(thoughts, Math.min(question.reasoningTokens, tokenLimit))
  let left = tokenLimit - reasoning.length
  const wanted = wantedCalls(question)
  if (wanted.length > 0) {
    const calls = wanted.map((call) => {
      const pieces = call.pieces.slice(0, left)
      left -= pieces.length
      return { name: call.name, pieces }
    })
    const complete = calls.every((call, position) => call.pieces.length === wanted[position]?.pieces.length)
    return { reasoning, pieces: [], calls, end: complete ? 'tool' : 'length' }
  }
  const { words, stoppedAt } = upToStop(wording(question, index), question.stops)
  const pieces = words.slice(0, left)
  if (pieces.length < words.length) return { reasoning, pieces, calls: [], end: 'length' }
  return { reasoning, pieces, calls: [], end: 'stop', ...(stoppedAt !== undefined && { stoppedAt }) }
}

/** The words before the first stop sequence. */
function upToStop(words: string[], stops: readonly string[]): { words: string[]; stoppedAt?: string } {
  const whole = words.join('')
  const found = stops
    .map((stop) => ({ stop, at: stop === '' ? -1 : whole.indexOf(stop) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at)[0]
  if (!found) return { words }
  const kept: string[] = []
  let left = found.at
  for (const word of words) {
    if (left <= 0) break
    kept.push(word.slice(0, left))
    left -= word.length
  }
  return { words: kept, stoppedAt: found.stop }
}

function repeated(pieces: readonly string[], length: number): string[] {
  return Array.from({ length }, (_none, index) => pieces[index % pieces.length] ?? '')
}

function wording(question: Question, index: number): string[] {
  const { format, directives } = question
  if (format === 'text') return stretched(cutIntoPieces(plainText(question, index)), directives.tokens)
  const value = format === 'json' ? jsonAnswer(question, index) : exampleOf(format.schema)
  return cutIntoPieces(JSON.stringify(value))
}

function stretched(pieces: string[], length: number | undefined): string[] {
  if (length === undefined) return pieces
  if (length <= pieces.length) return pieces.slice(0, length)
  return [...pieces, ...repeated(filler, length - pieces.length)]
}

function quote(text: string): string {
  const words = withoutDirectives(text)
  return words.length > quoteCharacters ? `${[...words].slice(0, quoteCharacters).join('')}…` : words
}

function plainText(question: Question, index: number): string {
  const wide = question.directives.wide ? 'Grüße, 世界 🎉👩‍👩‍👧‍👦 ' : ''
  const other = index === 0 ? '' : ` This is choice ${index + 1}.`
  const echo =
    question.toolResult === undefined
      ? `You said: ${quote(question.said)}`
      : `The tool answered: ${quote(question.toolResult)}`
  return `${wide}${echo}\n\nThis is the sandbox: no vendor was called.${other}`
}

function jsonAnswer(question: Question, index: number): JsonObject {
  return {
    you_said: quote(question.said),
    note: 'This is the sandbox: no vendor was called.',
    ...(index === 0 ? {} : { choice: index + 1 }),
  }
}

/** Tools to call: the required ones, otherwise the first whose name shares a word with the user's text. */
function wantedCalls(question: Question): ToolCall[] {
  const { tools, toolChoice, directives } = question
  if (toolChoice === 'none' || tools.length === 0) return []
  let chosen: readonly Tool[] = []
  if (typeof toolChoice === 'object') chosen = tools.filter((tool) => tool.name === toolChoice.name)
  else if (toolChoice === 'required') chosen = tools.slice(0, directives.tool ?? 1)
  // If the result is present, the model has nothing left to call.
  else if (question.toolResult !== undefined) return []
  else if (directives.tool !== undefined) chosen = tools.slice(0, directives.tool)
  else chosen = tools.filter((tool) => isMentioned(tool, question.said)).slice(0, 1)
  return chosen.map((tool) => ({
    name: tool.name,
    pieces: cutIntoPieces(JSON.stringify(exampleOf({ type: 'object', ...asObject(tool.schema) }))),
  }))
}

const wordLengthMin = 4

function isMentioned(tool: Tool, said: string): boolean {
  const words = new Set(said.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  return tool.name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .some((part) => part.length >= wordLengthMin && words.has(part))
}
