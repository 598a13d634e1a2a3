// gateway models: lists the models and prices that the server offers, or a server would by the configuration, and prices
// a request. It must never call a vendor.

import { defineCommand } from 'citty'
import { describePriceList } from '../../src/config/prices'
import { type Config, type ModelConfig, sharesOf } from '../../src/config/schema'
import {
  aliasesOf,
  availability,
  findModel,
  type ListedModel,
  type ListedRoute,
  listModels,
  listRoutes,
} from '../lib/catalogue'
import { offeredConfig } from '../lib/offered-config'
import { questionArgs, readQuestion } from '../lib/price-question'
import { answerQuestion } from '../lib/price-request'
import { commandArgs } from '../lib/settings'
import { paint, print, printJson, say } from '../view/output'
import { answerJson, priceText, showAnswer } from '../view/price'
import { type Column, renderBlock, renderTable } from '../view/table'

/** Columns that are left for prices next to the longest id, on a terminal of 80 columns. */
const PRICE_WIDTH_MIN = 28

const list = defineCommand({
  meta: {
    name: 'list',
    description:
      'List all models and routes with their prices, and why some are not available: those of the running gateway, else those of the configuration.',
    examples: ['gateway models list', `gateway models list --json | jq -r '.[] | select(.available) | .id'`],
  },
  args: commandArgs,
  async run({ args }) {
    const config = await offeredConfig(args)
    const models = listModels(config, args)
    const routes = listRoutes(config, args)
    if (args.json) {
      return printJson([
        ...models.map((listed) => modelJson(listed, config)),
        ...routes.map((route) => routeJson(route, config)),
      ])
    }
    if (models.length === 0) return say('The configuration has no models.')
    const columns: Column[] = [
      { title: 'MODEL' },
      { title: 'SERVES', flexible: true },
      { title: 'UPSTREAM', optional: true },
      { title: 'READY' },
      { title: 'PRICE IN USD', flexible: true, widthMin: PRICE_WIDTH_MIN },
    ]
    print(renderTable(columns, [...models.map(modelRow), ...routes.map(routeRow)]))
    const aliases = Object.entries(config.aliases ?? {})
    if (aliases.length > 0) print(`\n${renderTable([{ title: 'ALIAS' }, { title: 'STANDS FOR' }], aliases)}`)
    const all = [...models.map(({ model, reason }) => ({ id: model.id, reason })), ...routes]
    const hidden = all.filter(({ reason }) => reason !== null)
    if (hidden.length > 0) say(`\n${renderBlock(availability(hidden))}`)
  },
})

const price = defineCommand({
  meta: {
    name: 'price',
    description:
      'Price a request: exactly for stated quantities, or the most that a text or a whole body can cost.',
    examples: [
      'gateway models price pgt-5-mini --input-tokens 12000 --output-tokens 800',
      'gateway models price text-embedding-v4 --text "How much is this?"',
      'gateway models price gkx-imagine-image --n 2 --size 1024x1024',
      'gateway models price pgt-image-2 --operation image-edit --text "Paint it blue" --quality high',
      `gateway models price pgt-5-mini --body '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":100}'`,
      'gateway models price pgt-5-mini --body request.json --json | jq -r .amount_usd',
    ],
  },
  args: {
    model: { type: 'positional', required: true, description: 'Id of the model' },
    operation: {
      type: 'string',
      valueHint: 'NAME',
      description:
        'Operation of a model that serves several, such as image or image-edit (default: the first that fits)',
    },
    ...questionArgs,
    ...commandArgs,
  },
  async run({ args }) {
    const question = readQuestion(args)
    const config = await offeredConfig(args)
    const listed = findModel(config, args.model)
    const answer = answerQuestion(listed, args.operation, question)
    if (args.json) return printJson(answerJson(listed, answer))
    showAnswer(listed, answer)
  },
})

export const models = defineCommand({
  meta: { name: 'models', description: 'Models, their prices, and what a request would cost.' },
  subCommands: { list, price },
})

function modelJson({ model, forms, entry, reason }: ListedModel, config: Config) {
  return {
    id: model.id,
    aliases: aliasesOf(config, model.id),
    operations: operationsOf(forms),
    families: [...new Set(forms.map(({ family }) => family.name))],
    upstream: entry.upstream,
    upstream_model: model.upstreamModel,
    owned_by: model.ownedBy,
    available: reason === null,
    reason,
    price: describePriceList(model.priceList),
    price_source: entry.price?.source ?? null,
    price_as_of: entry.price?.as_of ?? null,
  }
}

function modelRow({ model, forms, entry, reason }: ListedModel): string[] {
  return [model.id, operationsOf(forms).join(', '), upstreamText(entry), readyText(reason), priceText(entry)]
}

function routeJson({ id, models, ownedBy, operations, reason }: ListedRoute, config: Config) {
  return {
    id,
    aliases: aliasesOf(config, id),
    operations,
    route: models,
    owned_by: ownedBy,
    available: reason === null,
    reason,
  }
}

function routeRow({ id, models, operations, reason }: ListedRoute): string[] {
  return [
    id,
    operations.join(', '),
    'route',
    readyText(reason),
    `that of the first model that answers: ${models.join(', ')}`,
  ]
}

/** One connection, or several with the share of each. */
function upstreamText(entry: ModelConfig): string {
  const shares = sharesOf(entry)
  return shares.map(([name, share]) => (shares.length > 1 ? `${name} ${share}` : name)).join(', ')
}

function readyText(reason: string | null): string {
  return reason === null ? paint('green', 'yes') : paint('yellow', 'no')
}

function operationsOf(forms: ListedModel['forms']): string[] {
  return [...new Set(forms.map(({ family }) => family.operation))]
}
