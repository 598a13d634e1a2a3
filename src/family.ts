// The central types: what a payload contract is, what can be counted and priced, and what a model is.
// Types and small pure rules only: nothing here may know a vendor, a database or HTTP.

import type { TSchema } from '@sinclair/typebox'
import type { Dialect } from './lib/errors'
import type { Edit } from './lib/json'
import type { OperationName } from './operations'
import type { Upstream } from './upstream'

/** Everything that can be counted and has a price; estimates, vendor usage and price lists share this one vocabulary. */
export const units = [
  'request',
  'input_token',
  'cached_input_token',
  'cache_write_token',
  'output_token',
] as const
export type Unit = (typeof units)[number]

/** How many of each unit. */
export type Quantities = { [unit in Unit]?: number }

/** Nano-dollars for one of each unit. */
export type Prices = { [unit in Unit]?: number }

/** A request to a vendor as a value. Path is relative to the vendor's base URL for that protocol. */
export interface Call {
  path: string
  /** Many vendors offer an OpenAI-compatible API beside their native one, under another prefix and other auth. */
  protocol: 'openai' | 'native'
  /** An edit of the caller's own text, or a fresh JSON value. */
  body: { edit: Edit } | { json: unknown }
  /** Wants a stream of server-sent events as the answer. */
  stream: boolean
}

/** What a caller asked: the parsed body, and its size, which bounds the tokens in it. */
export interface Ask<Body = unknown> {
  body: Body
  byteLength: number
}

/** How a family reads one event of a stream, or a whole reply. */
export interface Reading {
  /** The vendor's own figures, or `invalid` when they are present but absurd. */
  usage?: Quantities | 'invalid'
  /** Text that the model made, to be counted when no usage comes. */
  text?: string
  /** The vendor says that it failed. */
  failed?: boolean
  /** The vendor says that the answer is complete. */
  finished?: boolean
  /** Sent for our accounting only: not shown to a caller who did not ask for usage. */
  usageOnly?: boolean
}

/** One payload contract. Pure: no clock, no fetch, no database. */
export interface Family<Body = unknown> {
  name: string
  operation: OperationName
  /** The units that a model of this family must have a price for. */
  units: readonly Unit[]
  dialect: Dialect
  /** Open objects: unknown fields pass. */
  body: TSchema
  /** Rules that a schema cannot say; throws invalidRequest with the field named. */
  check?(body: Body, model: Model): void
  /** The most that the request can cost. */
  quote(ask: Ask<Body>, model: Model): Quantities
  /** Several: parts of a batch, sent side by side. */
  call(ask: Ask<Body>, model: Model): Call | Call[]
  /** Makes the reply from the vendor's replies and what they were found to cost. Absent: the vendor's bytes go to the caller unchanged. */
  reply?(replies: unknown[], ask: Ask<Body>, model: Model, usage: Quantities): unknown
  /** Reads a whole reply (parsed JSON). */
  read(reply: unknown): Reading
  stream?: {
    /** Reads one event of a stream (parsed JSON). */
    read(event: unknown): Reading
    /** The `data` that closes a complete stream. */
    end: string
    /** True when the caller wants to see the usage event. */
    showsUsage(body: Body): boolean
  }
  /** The texts of the request, to be counted when the vendor reports no usage. */
  texts(body: Body): string[]
}

/** A model as the catalogue has it, ready to use. */
export interface Model {
  id: string
  family: Family
  upstream: Upstream
  /** The vendor's name for it. */
  upstreamModel: string
  ownedBy: string
  prices: Prices
  /** The price list as it is stored with every charge. */
  pricesJson: string
  /** Thinks before it answers, and refuses sampling parameters. */
  reasoning: boolean
  /** Output tokens that are held when the caller sets no limit. */
  reserveOutputTokens: number
  /** Most tokens that a request can have: an upper bound of every hold on input. */
  contextTokens: number | undefined
  /** Dimensions that an embedding model accepts: a list, or every whole number of a range. */
  dimensions: readonly number[] | { min: number; max: number } | undefined
  /** Most inputs that the vendor takes in one call. */
  batchSize: number | undefined
  /** Most tokens that the vendor takes in one call. */
  batchTokens: number | undefined
}

/** The price of quantities, in nano-dollars. Exact: whole counts times whole prices. */
export function priceNano(quantities: Quantities, prices: Prices): number {
  let totalNano = 0
  for (const unit of units) {
    const count = quantities[unit]
    if (count === undefined || count === 0) continue
    const each = prices[unit]
    if (each === undefined) throw new Error(`no price for ${unit}`)
    totalNano += count * each
  }
  if (!Number.isSafeInteger(totalNano) || totalNano < 0) throw new RangeError(`not a price: ${totalNano}`)
  return totalNano
}
