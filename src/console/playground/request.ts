// The request of a turn for each model. Pure. The program that is shown sends exactly the same request.

import type { OperationName } from '../../contract/operations'
import { ApiError } from '../api'
import type { ModelOptions, PricedModel } from '../key-api'
import { keyTexts } from '../texts'
import {
  type Attachment,
  type Conversation,
  type Kind,
  replyOf,
  type Turn,
  type Values,
} from './conversation'
import { DIALECTS, dialectOf, type Step, type Tool } from './dialects'
import { numberOf } from './pieces'

/** A request to price and send. */
export interface PlaygroundRequest {
  operation: OperationName
  path: string
  /** Files are data URLs if the request is sent as a form. */
  body: Record<string, unknown>
  /** Whether the gateway converts it to the form of its model, which is returned with its price. */
  isPlain: boolean
  /** Whether it is sent as a form with files. */
  isForm: boolean
}

/** A conversation and its next turn. */
export interface NextTurn {
  conversation: Conversation
  turn: Pick<Turn, 'text' | 'files' | 'results'>
}

const PATHS = {
  image: '/v1/images/generations',
  'image-edit': '/v1/images/edits',
  speech: '/v1/audio/speech',
  transcription: '/v1/audio/transcriptions',
  translation: '/v1/audio/translations',
  video: '/v1/videos/generations',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  moderation: '/v1/moderations',
} as const

/** Numeric fields of a plain request. */
const NUMBERS = ['n', 'duration']

/** The request of a model; undefined while something is missing. Throws an ApiError for an invalid field. */
export function requestOf(next: NextTurn, model: PricedModel): PlaygroundRequest | undefined {
  const { conversation, turn } = next
  const { kind, values } = conversation
  const text = turn.text.trim()
  if (kind === 'chat') return chatRequest(next, model.id)
  if (kind === 'transcription') return hearing(model, turn.files, values)
  if (text === '') return undefined
  const simple = (operation: keyof typeof PATHS, body: object): PlaygroundRequest => {
    const path = PATHS[operation]
    return { operation, path, body: { model: model.id, ...body }, isPlain: false, isForm: false }
  }
  if (kind === 'speech') {
    const voice = values.voice || model.options.speech?.voices?.[0]
    return simple(kind, {
      input: text,
      ...(voice && { voice }),
      ...(values.instructions?.trim() && { instructions: values.instructions.trim() }),
    })
  }
  if (kind === 'embeddings')
    return simple(kind, { input: linesOf(text), ...numberOf('dimensions', values.dimensions) })
  if (kind === 'moderation') return simple(kind, { input: text })
  if (kind === 'rerank') {
    const documents = linesOf(values.documents ?? '')
    return documents.length === 0 ? undefined : simple(kind, { query: text, documents })
  }
  return made(kind, model, text, turn.files, values)
}

export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

function chatRequest({ conversation, turn }: NextTurn, model: string): PlaygroundRequest | undefined {
  if (turn.text.trim() === '' && !turn.results) return undefined
  const { values, turns } = conversation
  const name = dialectOf(values)
  const { path, body } = DIALECTS[name]
  const steps = stepsOf([...turns, { id: '', replies: [], ...turn }], model)
  const options = {
    values,
    tools: values.tools?.trim() ? toolsOf(values.tools) : [],
    schema: values.schema?.trim() ? schemaOf(values.schema) : null,
  }
  return { operation: name, path, body: body(model, steps, options), isPlain: false, isForm: false }
}

/** The thread of a model: the turns that it, or another model in its place, has answered, and the last one. */
function stepsOf(turns: readonly Turn[], model: string): Step[] {
  let calls: Step['reply']
  return turns.flatMap((turn, index): Step[] => {
    const reply = replyOf(turn, model)
    const isLast = index === turns.length - 1
    // A reply that failed or was stopped before its first word is not part of the thread.
    if (!isLast && (!reply || (reply.text === '' && reply.calls.length === 0))) return []
    const results = (turn.results && calls?.calls) ?? []
    const step: Step = {
      text: turn.text.trim(),
      pictures: turn.files.map(({ url }) => url),
      results: results.map((call) => ({ call, result: turn.results?.[call.id] ?? '' })),
      ...(!isLast && reply && { reply: { text: reply.text, calls: reply.calls } }),
    }
    calls = step.reply
    return [step]
  })
}

function parsed(text: string, field: string, message: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Falls through to the error.
  }
  throw new ApiError(message, 0, null, field)
}

/** A list of tools, or a single one, as chat completions or responses write them. */
function toolsOf(text: string): Tool[] {
  const { toolsInvalid } = keyTexts.playground
  return [parsed(text, 'tools', toolsInvalid)].flat().map((each) => {
    const { function: inner = each, type: _, ...own } = each as { function?: object; type?: string }
    const tool = inner === each ? own : inner
    if (!('name' in tool)) throw new ApiError(toolsInvalid, 0, null, 'tools')
    return tool as Tool
  })
}

function schemaOf(text: string): object {
  return parsed(text, 'schema', keyTexts.playground.schemaInvalid)
}

function hearing(
  { id, operations }: PricedModel,
  files: readonly Attachment[],
  values: Values,
): PlaygroundRequest | undefined {
  const file = files.find(({ type }) => !type.startsWith('image/'))
  if (!file) return undefined
  const operation =
    values.translate === 'true' && operations.includes('translation') ? 'translation' : 'transcription'
  const language = operation === 'transcription' ? values.language?.trim() : ''
  const body = { model: id, file: file.url, ...(language && { language }), response_format: 'json' }
  return { operation, path: PATHS[operation], body, isPlain: false, isForm: true }
}

/** A picture or a video. Pictures are requested as bytes: a URL of the vendor could not be shown here. */
function made(
  kind: Kind & ('image' | 'video'),
  model: PricedModel,
  prompt: string,
  files: readonly Attachment[],
  values: Values,
): PlaygroundRequest {
  const { id, operations, options } = model
  const pictures = files.filter(({ isMask }) => !isMask).map(({ url }) => url)
  const mask = files.find(({ isMask }) => isMask)
  const takes = options[kind]?.fields.includes('images') ?? false
  const isEdit =
    kind === 'image' && pictures.length > 0 && operations.includes('image-edit') && (!takes || mask)
  const operation = isEdit ? 'image-edit' : kind
  const own = fieldsOf(values, options[operation])
  const body = isEdit
    ? { model: id, prompt, image: pictures, ...(mask && { mask: mask.url }), ...own }
    : {
        model: id,
        prompt,
        ...own,
        ...(takes && pictures.length > 0 && { images: pictures }),
        ...(kind === 'image' && { options: { response_format: 'b64_json' } }),
      }
  return { operation, path: PATHS[operation], body, isPlain: !isEdit, isForm: Boolean(isEdit) }
}

function fieldsOf(values: Values, options: ModelOptions | undefined): Record<string, unknown> {
  return Object.fromEntries(
    (options?.fields ?? []).flatMap((name): [string, unknown][] => {
      const value = values[name]?.trim()
      if (!value || name === 'images') return []
      return [[name, NUMBERS.includes(name) ? Number(value) : value]]
    }),
  )
}
