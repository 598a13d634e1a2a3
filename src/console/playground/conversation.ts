// A conversation of the playground: the turns, the models, and the replies of each. Plain data, as it is stored in the browser and
// exported; nothing here may call the gateway.

import type { OperationName } from '../../contract/operations'

export const KINDS = [
  'chat',
  'image',
  'speech',
  'transcription',
  'video',
  'embeddings',
  'rerank',
  'moderation',
] as const
export type Kind = (typeof KINDS)[number] & OperationName

/** The API forms in which a chat can be sent. */
export const DIALECT_NAMES = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof DIALECT_NAMES)[number]

/** Maximum number of models that answer side by side. */
export const MAX_MODELS = 4

/** Values of fields by name; empty for those that are left to the model. */
export type Values = Readonly<Record<string, string>>

/** A file of a turn, as a data URL. */
export interface Attachment {
  name: string
  type: string
  url: string
  /** Whether it is a mask: it marks the part of a picture that should change. */
  isMask?: boolean
}

/** A call of a tool, as the model made it. */
export interface ToolCall {
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
}

export interface Fault {
  message: string
  status: number
  code: string | null
  param: string | null
}

/** A rank of a document, or a category of a moderation, with its score. */
export interface Score {
  label: string
  score: number
  isHit?: boolean
}

/** The part of a model's answer to a turn that has arrived. */
export interface ModelReply {
  model: string
  state: 'running' | 'done' | 'stopped' | 'failed'
  text: string
  thinking: string
  calls: readonly ToolCall[]
  /** URLs of pictures that can be shown here. */
  pictures: readonly string[]
  /** URLs elsewhere, which this page does not load. */
  elsewhere: readonly string[]
  sound: string | null
  video: string | null
  vectors: readonly (readonly number[])[]
  scores: readonly Score[]
  /** The answer as JSON, if nothing in it could be read. */
  raw: string | null
  taskState: string | null
  requestId: string | null
  /** The maximum price, as it was shown before it was sent. */
  mostUsd: string
  costUsd: string | null
  outputTokens: number | null
  firstMs: number | null
  totalMs: number | null
  fault: Fault | null
}

export interface Turn {
  id: string
  text: string
  files: readonly Attachment[]
  /** Results of tools by the ids of their calls, in a turn that sends only these. */
  results: Readonly<Record<string, string>> | null
  replies: readonly ModelReply[]
}

export interface Conversation {
  id: string
  kind: Kind
  models: readonly string[]
  values: Values
  turns: readonly Turn[]
  /** When it was last changed, in milliseconds since 1970. */
  changedAt: number
}

/** A turn that is being written. */
export interface Draft {
  text: string
  files: readonly Attachment[]
  /** The turn that it replaces, together with all later ones. */
  edits: string | null
}

export const EMPTY_DRAFT: Draft = { text: '', files: [], edits: null }

export function emptyReply(model: string, mostUsd: string): ModelReply {
  return {
    model,
    mostUsd,
    state: 'running',
    text: '',
    thinking: '',
    calls: [],
    pictures: [],
    elsewhere: [],
    sound: null,
    video: null,
    vectors: [],
    scores: [],
    raw: null,
    taskState: null,
    requestId: null,
    costUsd: null,
    outputTokens: null,
    firstMs: null,
    totalMs: null,
    fault: null,
  }
}

const TITLE_LENGTH = 80

/** The first words of a conversation. */
export function titleOf({ turns }: Conversation): string {
  const first = turns.find(({ text }) => text !== '')?.text ?? ''
  const line = first.replace(/\s+/g, ' ').trim()
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line
}

/** The reply of a model to a turn; the first one if that model has none. */
export function replyOf(turn: Turn, model: string): ModelReply | undefined {
  return turn.replies.find((each) => each.model === model) ?? turn.replies[0]
}

/** The calls of tools that wait for their results: those of the last turn, once its replies have ended. */
export function openCalls({ turns }: Conversation): readonly ToolCall[] {
  const replies = turns.at(-1)?.replies ?? []
  return replies.every(({ state }) => state === 'done') ? replies.flatMap(({ calls }) => calls) : []
}

/** Tokens per second after the first one; null if unknown. */
export function tokensPerSecond({ outputTokens, firstMs, totalMs }: ModelReply): number | null {
  if (outputTokens === null || firstMs === null || totalMs === null || totalMs <= firstMs) return null
  return (outputTokens * 1_000) / (totalMs - firstMs)
}
