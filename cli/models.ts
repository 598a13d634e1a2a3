// gateway models: what the configuration offers and at what price, and what a request would cost.

import { defineCommand } from 'citty'
import { describePrices } from '../src/config'
import { type Model, priceNano, type Unit } from '../src/family'
import { formatUsd } from '../src/lib/money'
import { availability, findModel, type ListedModel, listModels } from './catalogue'
import { WrongUsage } from './errors'
import { paint, print, printJson, say } from './output'
import {
  type PriceAnswer,
  priceBody,
  priceQuantities,
  priceText,
  quantityArgs,
  readBody,
  readQuantities,
  wordsOf,
} from './price-request'
import { commandArgs, loadConfig } from './settings'
import { type Column, renderBlock, renderTable } from './table'

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List all models of the configuration with their prices, and why some are not available.',
    examples: ['gateway models list', `gateway models list --json | jq -r '.[] | select(.available) | .id'`],
  },
  args: commandArgs,
  async run({ args }) {
    const { config } = await loadConfig(args)
    const models = listModels(config, args)
    if (args.json) return printJson(models.map(modelJson))
    if (models.length === 0) return say('The configuration has no models.')
    const columns: Column[] = [
      { title: 'MODEL' },
      { title: 'FAMILY' },
      { title: 'UPSTREAM' },
      { title: 'READY' },
      { title: 'USD PER 1M TOKENS', flexible: true },
    ]
    print(renderTable(columns, models.map(modelRow)))
    const hidden = models.flatMap(({ model, reason }) => (reason === null ? [] : [{ id: model.id, reason }]))
    if (hidden.length > 0) say(`\n${renderBlock(availability(hidden))}`)
  },
})

const price = defineCommand({
  meta: {
    name: 'price',
    description:
      'Say what a request would cost: of stated quantities, or the most that a text or a body can cost.',
    examples: [
      'gateway models price pgt-5-mini --input-tokens 12000 --output-tokens 800',
      'gateway models price text-embedding-v4 --text "How much is this?"',
      `gateway models price pgt-5-mini --body '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":100}'`,
      'gateway models price pgt-5-mini --body request.json --json | jq -r .amount_usd',
    ],
  },
  args: {
    model: { type: 'positional', required: true, description: 'Id of the model' },
    ...quantityArgs,
    text: { type: 'string', valueHint: 'TEXT', description: 'A message, or the input of an embedding' },
    body: { type: 'string', valueHint: 'FILE|JSON', description: 'A whole request body' },
    ...commandArgs,
  },
  async run({ args }) {
    const { model: id, text, body } = args
    const quantities = readQuantities(args)
    if ([quantities, text, body].filter((way) => way !== undefined).length !== 1) {
      throw new WrongUsage(
        'What is to be priced? Give quantities such as --input-tokens N, or --text, or --body.',
      )
    }
    const { config } = await loadConfig(args)
    const { model } = findModel(config, id)
    const answer =
      text !== undefined
        ? priceText(model, text)
        : body !== undefined
          ? priceBody(model, readBody(body))
          : priceQuantities(model, quantities ?? {})
    if (args.json) return printJson(answerJson(model, answer))
    showAnswer(model, answer)
  },
})

export const models = defineCommand({
  meta: { name: 'models', description: 'Models, their prices, and what a request would cost.' },
  subCommands: { list, price },
})

function modelJson({ model, entry, reason }: ListedModel) {
  return {
    id: model.id,
    family: model.family.name,
    operation: model.family.operation,
    upstream: entry.upstream,
    upstream_model: model.upstreamModel,
    owned_by: model.ownedBy,
    available: reason === null,
    reason,
    price: describePrices(model.priceList),
  }
}

function modelRow({ model, entry, reason }: ListedModel): string[] {
  return [
    model.id,
    model.family.name,
    entry.upstream,
    reason === null ? paint('green', 'yes') : paint('yellow', 'no'),
    entry.free ? 'free' : describeEntry(entry.price ?? {}),
  ]
}

const TOKEN_WORDS: Record<string, string> = { input: 'in', output: 'out', cached_input: 'cached' }

/** The prices of an entry in few words: `0.25 in, 2.00 out`; what is not for tokens says what it is for. */
function describeEntry(price: object): string {
  return Object.entries(price)
    .map(([key, amount]) => {
      const tokens = /^per_1m_(.*)_tokens$/.exec(key)?.[1]
      const words = tokens ? (TOKEN_WORDS[tokens] ?? tokens) : key
      return `${amountText(amount)} ${words.replaceAll('_', ' ')}`
    })
    .join(', ')
}

/** One amount, or one for each size or quality. */
function amountText(amount: unknown): string {
  if (typeof amount !== 'object' || amount === null) return String(amount)
  return Object.entries(amount)
    .map(([tier, each]) => `${tier} ${each}`)
    .join(' / ')
}

function answerJson(model: Model, { quantities, prices, amountNano, isMost }: PriceAnswer) {
  return {
    model: model.id,
    amount_usd: formatUsd(amountNano),
    /** True: the most that it can cost, not what it will cost. */
    at_most: isMost,
    quantities: Object.fromEntries(Object.entries(quantities).map(([unit, count]) => [`${unit}s`, count])),
    price: describePrices(prices),
  }
}

function showAnswer(model: Model, { quantities, prices, amountNano, isMost }: PriceAnswer): void {
  const columns: Column[] = [
    { title: model.id },
    { title: 'COUNT', align: 'right' },
    { title: 'DOLLARS', align: 'decimal' },
  ]
  const rows = Object.entries(quantities).map(([unit, count]) => [
    wordsOf(unit),
    String(count),
    formatUsd(priceNano({ [unit as Unit]: count }, prices)),
  ])
  print(renderTable(columns, [...rows, [isMost ? 'at most' : 'total', '', formatUsd(amountNano)]]))
  if (isMost) {
    say('\nSo much is held when the request comes in; what it really used is paid when it ends.')
  }
}
