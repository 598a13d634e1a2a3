// A caller's request in a form that belongs to no dialect, for models whose vendor speaks another one. Dialects read requests into
// it, and protocols write it for their vendors. It holds only what at least two dialects or two protocols need; what a single
// protocol knows belongs in `extra`. Types only; nothing here must know a dialect, a protocol or a vendor.

import type { ParsedRequest } from '../../contract/family'

type Fields = Readonly<Record<string, unknown>>

export interface Conversation {
  turns: readonly Turn[]
  /** In a dialect with one place for instructions they apply from their position on, otherwise to the whole conversation. */
  instructionsHold: 'everywhere' | 'from_their_place'
  tools: readonly Tool[]
  /** Undefined if the caller does not say. */
  choice: ToolChoice | undefined
  /** Whether several tools may be called at once; undefined if the caller does not say. */
  parallelCalls: boolean | undefined
  settings: Settings
  /** The mark of the whole request: all of it should be kept in the vendor's cache. Absent: it is not marked. */
  cache?: CacheMark
  /** Fields that only one protocol knows, in its own form, for callers who may send them. Absent: none. */
  extra?: Readonly<Partial<Record<ProtocolName, Fields>>>
}

export type ProtocolName = 'chat' | 'messages' | 'responses' | 'converse' | 'gemini'

/** Consecutive words of one side: turns of one side are merged, except instructions. */
export type Turn = InstructionTurn | UserTurn | AssistantTurn

/** Instructions from the operator of the conversation. */
export interface InstructionTurn {
  side: 'system'
  role: 'system' | 'developer'
  parts: readonly TextPart[]
  at: string
}

/** The results of the preceding calls, in the order of the calls, then what the user says. */
export interface UserTurn {
  side: 'user'
  results: readonly ToolResult[]
  parts: readonly Part[]
}

export interface AssistantTurn {
  side: 'assistant'
  steps: readonly AssistantStep[]
}

/** A mark that the vendor should cache the conversation up to here. */
export interface CacheMark {
  /** How long, in the terms of messages: `5m` or `1h`. Absent: the vendor's default. */
  ttl?: unknown
}

/** The place of a part in the caller's request, for errors, and its cache mark, if any. */
interface Placed {
  /** The path as the caller would write it: `messages[2].content[0]`. */
  at: string
  cache?: CacheMark
}

export interface TextPart extends Placed {
  type: 'text'
  text: string
}

/** A file: an address, or a data URL. */
interface FilePart extends Placed {
  /** As the caller wrote it, if that is an address or a data URL; never empty. */
  url: string
  /** The path of the member that holds it. */
  urlAt: string
}

export interface ImagePart extends FilePart {
  type: 'image'
  /** The level of detail: `low`, `high`, `original`, `auto`. */
  detail?: string
}

export interface DocumentPart extends FilePart {
  type: 'document'
  filename?: string
}

export interface AudioPart extends FilePart {
  type: 'audio'
}

export interface VideoPart extends FilePart {
  type: 'video'
}

export type Part = TextPart | ImagePart | DocumentPart | AudioPart | VideoPart

/** One thing that the assistant did, in order. */
export type AssistantStep = ReasoningStep | TextStep | CallStep

/** Reasoning that the caller sends back. */
export interface ReasoningStep extends Placed {
  kind: 'reasoning'
  /** The part of its text that the caller knows; empty if the caller knows none. */
  text: string
  /** A seal made for the caller, or a vendor's signature: opening it shows which. */
  sealed?: string
}

export interface TextStep extends Placed {
  kind: 'text'
  text: string
  /** True for text in which the assistant refused. */
  isRefusal?: true
}

export interface CallStep {
  kind: 'call'
  call: ToolCall
}

export interface ToolCall extends Placed {
  /** The id of the call, unique in the conversation. */
  id: string
  name: string
  /** JSON text of a function; the raw input of a custom tool. */
  input: string
  form: 'function' | 'custom'
}

export interface ToolResult extends Placed {
  call: Pick<ToolCall, 'id' | 'name' | 'form'>
  parts: readonly Part[]
  hasFailed: boolean
}

/** A tool of the caller. */
export interface Tool extends Placed {
  name: string
  description: string | undefined
  /** The JSON schema of its arguments; undefined for a function without any, and for a custom tool. */
  parameters: Fields | undefined
  /** True if the caller requires that arguments always fit the schema. */
  isStrict: boolean
  /**
   * The vendor whose rules the schema of a strict tool follows: the rules differ, and each vendor refuses the other's. Absent:
   * OpenAI.
   */
  strictBy?: 'messages'
  /** A tool that takes a text instead of arguments, and the grammar of the text, in the form of the responses API. Absent: a function. */
  custom?: { format: unknown }
}

export interface ToolChoice {
  mode: 'none' | 'auto' | 'required'
  /** Names of the tools that may be called; undefined if all may. One name with `required` forces that tool. */
  allowed?: readonly string[]
}

/** The format of the answer, if not text. */
export type AnswerFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; description: string | undefined; schema: object; isStrict: boolean }

/** Undefined members leave the decision to the model. */
export interface Settings {
  stream: boolean
  /** Number of candidates; at least 1. */
  candidates: number
  /** Maximum number of output tokens, and the field of the caller that sets it. */
  limit: { tokens: number; at: string } | undefined
  temperature: number | undefined
  topP: number | undefined
  topK: number | undefined
  stop: readonly string[]
  seed: number | undefined
  frequencyPenalty: number | undefined
  presencePenalty: number | undefined
  format: AnswerFormat | undefined
  reasoning: ReasoningOptions
  verbosity: 'low' | 'medium' | 'high' | undefined
  /** True if clients set the verbosity by default: no instruction is written for a model without such a setting. */
  isVerbosityDefault?: true
  /** The number of likeliest tokens to report at each position; undefined if probabilities are not wanted. */
  logprobs: number | undefined
  /** The caller's user, in the form in which vendors get it. */
  user: string | undefined
  /** Conversations with the same key share the vendor's cache. */
  cacheKey: string | undefined
  serviceTier: string | undefined
}

/** How long the model should think, and how much of it is shown. */
export interface ReasoningOptions {
  /** An effort; `none` if the caller wants no thinking. It has not been checked against the model's efforts. */
  effort: string | undefined
  /** The field of the caller that holds the effort, for errors; undefined if the effort was derived from something else. */
  effortAt: string | undefined
  /** Tokens that the caller allows for thinking. */
  budgetTokens: number | undefined
  /** True if the caller wants to see it, false if not; undefined if the caller does not say. */
  isShown: boolean | undefined
  /** True if the caller sends sealed reasoning back with the next request. Absent: the caller has no place for it. */
  isCarried?: true
}

/** Opens what was sealed for the account of a request; absent if a request is only checked or quoted. */
export type Opener = Pick<ParsedRequest, 'answer'>
