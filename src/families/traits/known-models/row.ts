// The row of a known model, and traits that models of several vendors share. Types and data.

import type { Model } from '../../../contract/family'
import type { Traits } from '../../../contract/traits'

export interface KnownModel {
  /** Names without a vendor in front. A star matches any ending that does not begin with a digit. */
  names: readonly string[]
  traits: Partial<Traits>
  /** Further traits where an upstream of this kind serves it. */
  at?: Readonly<Record<string, Partial<Traits>>>
  /** Most tokens of a request and its answer together. */
  contextTokens?: number
  maxOutputTokens?: number
  /** Kinds of input that it reads in addition to text. */
  inputModalities?: readonly ('image' | 'file')[]
  /** Lengths of the vectors that may be requested of a model that makes them. */
  dimensions?: Model['dimensions']
  /** Most tokens of one call that makes vectors; more are split. */
  batchTokens?: number
  /** Most inputs of one call that makes vectors; more are split. */
  batchSize?: number
  /** A page of the vendor, or a refusal that someone reported. */
  source: string
  /** Where the limits are from, if `source` does not have them. */
  limitsSource?: string
  /** The month when the source was checked: `2026-11`. */
  asOf: string
}

/**
 * Reasoning models of OpenAI, and models that a configuration only calls `reasoning`. Fields that the vendor refuses have no
 * effect here.
 */
export const reasoning: Partial<Traits> = {
  thinking: 'always',
  thinksByDefault: true,
  sampling: 'never',
  stop: false,
  penalties: false,
  logitBias: false,
  logprobs: false,
  speech: false,
  prediction: false,
  maxTokens: false,
}
export const optional: Partial<Traits> = { thinking: 'optional', thinksByDefault: true }
export const offByDefault: Partial<Traits> = { thinking: 'optional', thinksByDefault: false }

export const UP_TO_HIGH = ['low', 'medium', 'high']
export const UP_TO_XHIGH = [...UP_TO_HIGH, 'xhigh']
export const UP_TO_MAX = [...UP_TO_XHIGH, 'max']
