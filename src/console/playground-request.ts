// Requests of the playground: what the form holds, and the request that it stands for. Pure, except for pictures, which are
// read as they are chosen. What is shown as a program is exactly what is sent.

import type { OperationName } from '../contract/operations'
import { ApiError } from './api'
import type { ModelOptions } from './key-api'
import { keyTexts } from './texts'

export const KINDS = ['chat', 'image', 'speech', 'video', 'embeddings'] as const
export type Kind = (typeof KINDS)[number] & OperationName

/** Values of the form by the names of its fields; empty for those that are left to the model. */
export type Values = Readonly<Record<string, string>>

/** A call of a tool, as the model made it. */
export interface ToolCall {
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
}

/** An answer that called tools, and what they answered. */
export interface ToolTurn {
  text: string
  calls: readonly ToolCall[]
  /** One for each call, in their order. */
  results: readonly string[]
}

export interface Draft {
  kind: Kind
  model: string
  values: Values
  /** Pictures as data URLs. */
  pictures: readonly string[]
  /** Answers that called tools, and their results, between the message of a chat and this request. */
  turns: readonly ToolTurn[]
}

/** A request to be priced and sent. In plain words it is put into the form of its model by the gateway, with its price. */
export interface PlaygroundRequest {
  path: string
  body: Record<string, unknown>
  plain: boolean
}

const PATHS: Record<Kind, string> = {
  chat: '/v1/chat/completions',
  image: '/v1/images/generations',
  speech: '/v1/audio/speech',
  video: '/v1/videos/generations',
  embeddings: '/v1/embeddings',
}

/** Fields of a request in plain words that are numbers. */
const NUMBERS = ['n', 'duration']

/** The request of a draft; undefined while it has no text. Throws an ApiError for tools that are no JSON. */
export function requestOf(draft: Draft, options: ModelOptions | undefined): PlaygroundRequest | undefined {
  const { kind, values } = draft
  const text = (values.text ?? '').trim()
  if (text === '') return undefined
  const path = PATHS[kind]
  if (kind === 'chat') return { path, body: chatBody(draft, text), plain: false }
  if (kind === 'speech') return { path, body: speechBody(draft, text, options), plain: false }
  if (kind === 'embeddings') return { path, body: embeddingBody(draft, text), plain: false }
  return { path, body: plainBody(draft, text, options), plain: true }
}

function chatBody({ model, values, pictures, turns }: Draft, text: string): Record<string, unknown> {
  const content =
    pictures.length === 0
      ? text
      : [{ type: 'text', text }, ...pictures.map((url) => ({ type: 'image_url', image_url: { url } }))]
  return {
    model,
    messages: [
      ...(values.system?.trim() ? [{ role: 'system', content: values.system.trim() }] : []),
      { role: 'user', content },
      ...turns.flatMap(messagesOf),
    ],
    ...numberOf('max_tokens', values.max_tokens),
    ...numberOf('temperature', values.temperature),
    ...(values.tools?.trim() && { tools: toolsOf(values.tools) }),
    stream: true,
  }
}

function messagesOf({ text, calls, results }: ToolTurn): object[] {
  const made = calls.map(({ id, name, arguments: text }) => {
    return { id, type: 'function', function: { name, arguments: text } }
  })
  const answers = calls.map(({ id }, index) => {
    return { role: 'tool', tool_call_id: id, content: results[index] ?? '' }
  })
  return [{ role: 'assistant', content: text || null, tool_calls: made }, ...answers]
}

/** A list of tools, or a single one. */
function toolsOf(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return value
    if (typeof value === 'object' && value !== null) return [value]
  } catch {
    // Falls through to the error.
  }
  throw new ApiError(keyTexts.playground.toolsInvalid, 0, null, 'tools')
}

function speechBody({ model, values }: Draft, input: string, options: ModelOptions | undefined) {
  const voice = values.voice || options?.voices?.[0]
  return { model, input, ...(voice && { voice }) }
}

function embeddingBody({ model, values }: Draft, text: string) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return { model, input: lines, ...numberOf('dimensions', values.dimensions) }
}

function plainBody({ model, values, pictures }: Draft, prompt: string, options: ModelOptions | undefined) {
  const fields = (options?.fields ?? []).flatMap((name): [string, unknown][] => {
    if (name === 'images') return pictures.length > 0 ? [[name, [...pictures]]] : []
    const value = values[name]?.trim()
    if (!value) return []
    return [[name, NUMBERS.includes(name) ? Number(value) : value]]
  })
  return { model, prompt, ...Object.fromEntries(fields) }
}

function numberOf(name: string, text: string | undefined): Record<string, number> {
  return text?.trim() ? { [name]: Number(text) } : {}
}

const MOST_PICTURES = 4
const MOST_PICTURE_BYTES = 8_000_000

/** Pictures as data URLs. Rejects with an ApiError for what is no picture, or too large. */
export function readPictures(files: readonly File[]): Promise<string[]> {
  return Promise.all(
    files.slice(0, MOST_PICTURES).map(async (file) => {
      if (!/^image\/(png|jpeg|webp|gif)$/.test(file.type))
        throw new ApiError(keyTexts.playground.notPicture, 0, null, 'pictures')
      if (file.size > MOST_PICTURE_BYTES)
        throw new ApiError(keyTexts.playground.tooLarge, 0, null, 'pictures')
      return dataUrlOf(file)
    }),
  )
}

export function dataUrlOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
