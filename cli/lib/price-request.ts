// Prices a request to a model: exactly for stated quantities, otherwise the maximum. It must never compute prices by itself: it
// calls the functions that bill real requests.

import { existsSync, readFileSync } from 'node:fs'
import { quoteNano, quoteOf, requestedTier, tariffOf } from '../../src/billing/ledger/metering'
import type { Model, ParsedRequest, Upload } from '../../src/contract/family'
import { type OperationName, operationOf } from '../../src/contract/operations'
import {
  type BilledTable,
  billByTariff,
  heldNano,
  heldTable,
  isBaseTier,
  type Prices,
  type Tariff,
  tableNano,
  tariffOfVariant,
  variantsOf,
} from '../../src/contract/prices'
import type { Quantities, Unit } from '../../src/contract/units'
import { GatewayError } from '../../src/lib/errors'
import { createValidator } from '../../src/lib/validate'
import type { ListedModel } from '../configuration/catalogue'
import { CommandFailed, WrongUsage } from './errors'
import { flagOfOption, type Options, type Question, wordsOf } from './price-question'

export interface PriceAnswer {
  operation: OperationName
  quantities: Quantities
  /** Price of one of each unit for this request, in pico-dollars. */
  prices: Prices
  /** The table of the model's prices that applies. */
  table: BilledTable
  amountNano: number
  /** The vendor's price for the same; null if unknown. */
  costNano: number | null
  /** True for a quote: the maximum price, held until the true price is known. */
  isMost: boolean
}

/** Operations whose price depends on a text. */
const TEXT_OPERATIONS: readonly OperationName[] = ['chat', 'messages', 'embeddings', 'speech']
/** The shortest prompt, for a request without one. */
const ANY_TEXT = 'x'

export function answerQuestion(
  listed: ListedModel,
  operation: string | undefined,
  question: Question,
): PriceAnswer {
  const model = inItsDialect(formOf(listed, operation, question), listed, question)
  if (question.ask === 'quantities') return priceQuantities(model, question)
  if (question.ask === 'body') return priceBody(model, readBody(question.body), question.images)
  const { text, options } = question
  if (text === undefined && TEXT_OPERATIONS.includes(model.family.operation)) {
    throw new CommandFailed(`The price of ${model.family.operation} depends on its text: give --text too.`)
  }
  return quote(model, plainBody(model, text ?? ANY_TEXT, options))
}

/** The model in the given operation, or in the first that accepts all given options. */
function formOf({ model, forms }: ListedModel, operation: string | undefined, question: Question): Model {
  if (operation === undefined) {
    const given = 'options' in question ? (Object.keys(question.options) as (keyof Options)[]) : []
    return forms.find((form) => given.every((name) => optionsOf(form).includes(name))) ?? model
  }
  const form = forms.find(({ family }) => family.operation === operation)
  if (form) return form
  const served = new Set(forms.map(({ family }) => family.operation))
  throw new CommandFailed(`${model.id} serves ${[...served].join(' and ')}, not ${operation}.`)
}

/** The model in the dialect of the body in question, for operations that it serves in two. */
function inItsDialect(model: Model, { forms }: ListedModel, question: Question): Model {
  if (question.ask !== 'body') return model
  const body = parseObject(readBody(question.body))
  const isIn = ({ family }: Model) =>
    family.operation === model.family.operation && family.takes?.(body, model)
  return forms.find(isIn) ?? model
}

function priceQuantities(model: Model, question: Question & { ask: 'quantities' }): PriceAnswer {
  const tariff = tariffFor(model, question)
  const hasRequests = tariff.tables[0].prices.request !== undefined
  const quantities = hasRequests ? { request: 1, ...question.quantities } : question.quantities
  const tier = serviceTierOf(model, question.serviceTier)
  const { table, cost } = billByTariff(tariff, quantities, tier, undefined)
  const { prices } = table
  for (const unit of Object.keys(quantities) as Unit[]) {
    if (prices[unit] !== undefined) continue
    const priced = (Object.keys(prices) as Unit[]).map(wordsOf).join(', ')
    const options = optionsOf(model).map(flagOfOption).join(', ')
    const instead = options === '' ? '--text' : `--text, ${options}`
    throw new CommandFailed(
      `${model.id} has no price for ${wordsOf(unit)}; it has one for ${priced}. State those, or describe the request with ${instead}.`,
    )
  }
  const { operation } = model.family
  const costNano = cost ? tableNano(quantities, cost) : null
  const amountNano = tableNano(quantities, table)
  return { operation, quantities, prices, table, amountNano, costNano, isMost: false }
}

/** The prices of the named tier, or of the tier that a request with these options has. */
function tariffFor(model: Model, { options, tier }: Question & { ask: 'quantities' }): Tariff {
  const { plain } = model.family
  if (model.tariff && tier === undefined && Object.keys(options).length === 0) return model.tariff
  if (plain && tier === undefined)
    return tariffOf(checkedAsk(model, plainBody(model, ANY_TEXT, options)), model)
  if (model.tariff) throw new CommandFailed(`${model.id} has no price tiers: leave them out.`)
  const names = tier === undefined ? Object.values(options).map(String) : [tier]
  const tariff = tariffOfVariant(model.priceList, names, model.costList)
  if (tariff) return tariff
  const known = variantsOf(model.priceList).join(', ')
  throw new CommandFailed(
    names.length === 0
      ? `${model.id} has a price for each of ${known}: choose one with --tier.`
      : `${model.id} has no tier "${names[0]}"; it has ${known}.`,
  )
}

function priceBody(model: Model, text: string, images: number | undefined): PriceAnswer {
  const given = parseObject(text)
  return quote(model, { ...filesOf(model, images), ...given }, given.model === model.id ? text : undefined)
}

/** The service tier, if the price list has one of this name. */
function serviceTierOf({ id, priceList }: Model, name: string | undefined): string | undefined {
  const known = priceList.tables.flatMap(({ tier }) => tier ?? [])
  if (name === undefined || isBaseTier(name) || known.includes(name)) return name
  throw new CommandFailed(
    known.length === 0
      ? `${id} has no prices by service tier: leave --service-tier out.`
      : `${id} has no service tier "${name}"; it has ${[...new Set(known)].join(', ')}.`,
  )
}

/** The maximum price of a body. */
function quote(model: Model, content: Record<string, unknown>, text?: string): PriceAnswer {
  const parsed = checkedAsk(model, content, text)
  const quantities = quoteOf(parsed, model)
  const tariff = tariffOf(parsed, model)
  const tier = requestedTier(parsed)
  const table = heldTable(tariff, quantities, tier)
  return {
    operation: model.family.operation,
    quantities,
    prices: table.heldPrices,
    table,
    amountNano: quoteNano(parsed, model),
    costNano: tariff.cost ? heldNano(tariff.cost, quantities, tier) : null,
    isMost: true,
  }
}

/** A request that the gateway would accept. Its model is the one in question, whatever the body names. */
function checkedAsk(model: Model, content: Record<string, unknown>, text?: string): ParsedRequest {
  const body = { ...content, model: model.id }
  const parsed: ParsedRequest = { body, byteLength: byteLengthOf(body, model, text), at: 0 }
  const { family } = model
  return asGateway(() => {
    createValidator(family.body)(body)
    family.check?.(body, model)
    tariffOf(parsed, model)
    return parsed
  })
}

/** Checks a request as the gateway does; a refusal is a failure of the command. */
function asGateway<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new CommandFailed(`The gateway would refuse this request: ${error.message}`)
  }
}

function plainBody(model: Model, text: string, options: Options): Record<string, unknown> {
  const { plain, operation } = model.family
  if (!plain) throw new CommandFailed(`${model.id} cannot be priced by such flags: use --body.`)
  const known = optionsOf(model)
  const unknown = (Object.keys(options) as (keyof Options)[]).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const takes = known.length === 0 ? 'only --text' : known.map(flagOfOption).join(', ')
    throw new CommandFailed(
      `${model.id} takes no ${flagOfOption(unknown)} for ${operation}; it takes ${takes}.`,
    )
  }
  const { images, ...rest } = options
  return asGateway(() => plain.body({ text, ...rest, ...references(model, images) }, model))
}

/** Options that a plain request can have. */
function optionsOf({ family }: Model): (keyof Options)[] {
  const fields = family.plain.fields
  return [...new Set(fields.map((field) => (field === 'uploads' ? 'images' : field)))]
}

/** Reference images: `count`, or the minimum of the model. */
function references(model: Model, count: number | undefined): { images?: string[]; uploads?: Upload[] } {
  const fields = model.family.plain.fields
  const least = model.referenceImages?.min ?? 0
  const numbers = (wanted: number) => Array.from({ length: count ?? wanted }, (_, index) => index + 1)
  if (fields.includes('uploads')) return { uploads: numbers(Math.max(least, 1)).map(exampleUpload) }
  const images = numbers(least).map((number) => `https://example.com/reference-${number}.png`)
  return images.length > 0 ? { images } : {}
}

/** Example files for a form. JSON cannot hold files, so `--body` has none. */
function filesOf(model: Model, count: number | undefined): Record<string, unknown> {
  const { uploads } = references(model, count)
  if (uploads) {
    const members = Object.entries(model.family.plain.body({ text: ANY_TEXT, uploads }, model))
    return Object.fromEntries(members.filter(([, value]) => value === uploads))
  }
  if (count === undefined) return {}
  throw new WrongUsage(
    `--reference-images cannot be combined with --body here: the body of ${model.id} names them itself.`,
  )
}

function exampleUpload(number: number): Upload {
  return {
    filename: `reference-${number}.png`,
    contentType: 'image/png',
    bytes: new Blob([]),
    picture: { format: 'png', width: 1024, height: 1024 },
  }
}

/** Bytes of the request as a caller sends it; for a form, the bytes of its texts. */
function byteLengthOf(body: Record<string, unknown>, { family }: Model, text: string | undefined): number {
  const isForm = operationOf(family.operation).body === 'form'
  if (!isForm) return Buffer.byteLength(text ?? JSON.stringify(body))
  const texts = Object.values(body).filter((value) => !Array.isArray(value))
  return texts.reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0)
}

/** The text of a body: JSON as given, or the content of a file. */
function readBody(fileOrJson: string): string {
  if (fileOrJson.trimStart().startsWith('{')) return fileOrJson
  if (!existsSync(fileOrJson)) throw new CommandFailed(`There is no file ${fileOrJson}.`)
  return readFileSync(fileOrJson, 'utf8')
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
