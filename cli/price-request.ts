// What a request to a model would cost: of quantities that the operator states, or the most that a body can cost.
// The same functions as for a real request, so that the answer cannot differ from the bill.

import { existsSync, readFileSync } from 'node:fs'
import {
  type Ask,
  type Model,
  type Prices,
  priceNano,
  type Quantities,
  type Unit,
  units,
} from '../src/family'
import { GatewayError } from '../src/lib/errors'
import { createValidator } from '../src/lib/validate'
import { quoteNano, tariffOf } from '../src/metering'
import type { OperationName } from '../src/operations'
import { CommandFailed, WrongUsage } from './errors'
import { parseCount } from './values'

export interface PriceAnswer {
  quantities: Quantities
  /** Of one of each unit. */
  prices: Prices
  amountNano: number
  /** A quote: the most that it can cost, held until the true price is known. */
  isMost: boolean
}

/** The smallest body with a text in it, for operations whose requests are mostly a text. */
const textBodies: { [name in OperationName]?: (text: string) => object } = {
  chat: (text) => ({ messages: [{ role: 'user', content: text }] }),
  embeddings: (text) => ({ input: text }),
}

/** A flag for each unit: `input-tokens`, `output-tokens` and so on. */
export const quantityArgs = Object.fromEntries(
  units.map((unit) => [
    flagOf(unit),
    { type: 'string', valueHint: 'N', description: `How many ${wordsOf(unit)}` } as const,
  ]),
)

/** A unit in words, as many. */
export function wordsOf(unit: string): string {
  return `${unit.replaceAll('_', ' ')}s`
}

/** The quantities that the flags state; undefined when they state none. */
export function readQuantities(flags: Record<string, unknown>): Quantities | undefined {
  const given = units.flatMap((unit) => {
    const text = flags[flagOf(unit)]
    return typeof text === 'string' ? [[unit, parseCount(flagOf(unit), text, 0)] as const] : []
  })
  return given.length > 0 ? Object.fromEntries(given) : undefined
}

export function priceQuantities(model: Model, stated: Quantities): PriceAnswer {
  const { prices } = tariffOf({ body: {}, byteLength: 0, at: 0 }, model)
  const quantities = prices.request === undefined ? stated : { request: 1, ...stated }
  for (const unit of Object.keys(quantities) as Unit[]) {
    if (prices[unit] !== undefined) continue
    const priced = Object.keys(prices).map(wordsOf).join(', ')
    throw new CommandFailed(`${model.id} has no price for ${wordsOf(unit)}; it has one for ${priced}.`)
  }
  return { quantities, prices, amountNano: priceNano(quantities, prices), isMost: false }
}

export function priceText(model: Model, text: string): PriceAnswer {
  const makeBody = textBodies[model.family.operation]
  if (!makeBody) {
    throw new CommandFailed(
      `${model.id} is a model for ${model.family.operation}: give a request with --body.`,
    )
  }
  return priceBody(model, JSON.stringify({ model: model.id, ...makeBody(text) }))
}

/** The most that a body can cost. Its model is the one that is asked about, whatever it names. */
export function priceBody(model: Model, text: string): PriceAnswer {
  const given = parseObject(text)
  const body = { ...given, model: model.id }
  const sent = given.model === model.id ? text : JSON.stringify(body)
  const ask: Ask = { body, byteLength: Buffer.byteLength(sent), at: 0 }
  try {
    createValidator(model.family.body)(body)
    model.family.check?.(body, model)
    const quantities = model.family.quote(ask, model)
    const { prices } = tariffOf(ask, model)
    return { quantities, prices, amountNano: quoteNano(ask, model), isMost: true }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new CommandFailed(`The gateway would refuse this request: ${error.message}`)
  }
}

/** The text of a body: JSON as it stands, or the content of a file. */
export function readBody(fileOrJson: string): string {
  if (fileOrJson.trimStart().startsWith('{')) return fileOrJson
  if (!existsSync(fileOrJson)) throw new CommandFailed(`There is no file ${fileOrJson}.`)
  return readFileSync(fileOrJson, 'utf8')
}

function flagOf(unit: Unit): string {
  return `${unit.replaceAll('_', '-')}s`
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new WrongUsage('--body takes a JSON object, or a file that holds one.')
  }
  return value as Record<string, unknown>
}
