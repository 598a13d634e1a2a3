// The row of a known model, and traits that models of several vendors share. Types and data.

import type { Model } from '../../../contract/family'
import type { Traits } from '../../../contract/traits'

export interface KnownModel {
  /** Names without a vendor prefix. A star matches any ending that does not begin with a digit. */
  names: readonly string[]
  traits: Partial<Traits>
  /** Additional traits if an upstream of this kind serves it. */
  at?: Readonly<Record<string, Partial<Traits>>>
  /** Maximum number of tokens of a request and its answer together. */
  contextTokens?: number
  maxOutputTokens?: number
  /** Kinds of input other than text. */
  inputModalities?: readonly ('image' | 'file')[]
  /** Dimensions that may be requested from an embedding model. */
  dimensions?: Model['dimensions']
  /** Maximum number of tokens per embedding call; more are split. */
  batchTokens?: number
  /** Maximum number of inputs per embedding call; more are split. */
  batchSize?: number
  /** A page of the vendor, or a refusal that somebody reported. */
  source: string
  /** The source of the limits, if `source` does not have them. */
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
