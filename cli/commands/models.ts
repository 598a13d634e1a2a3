// gateway models: lists the models and prices that the server offers, or would offer with the configuration, and prices a request.
// It must never call a vendor.

import { defineCommand } from 'citty'
import { describeCosts } from '../../src/config/models/costs'
import type { Plan } from '../../src/config/models/plans'
import { describePriceList } from '../../src/config/models/prices'
import { type Config, type ModelConfig, sharesOf } from '../../src/config/schema'
import {
  aliasesOf,
  availability,
  findModel,
  type ListedModel,
  type ListedRoute,
  listModels,
  listRoutes,
} from '../configuration/catalogue'
import { offerFor } from '../configuration/offered-config'
import { CommandFailed } from '../lib/errors'
import { planArg, requirePlan } from '../lib/plan'
import { questionArgs, readQuestion } from '../lib/price-question'
import { answerQuestion } from '../lib/price-request'
import { gatewayArgs } from '../lib/remote'
import { paint, print, printJson, say } from '../view/output'
import { answerJson, priceText, showAnswer } from '../view/price'
import { type Column, renderBlock, renderTable, wordsWidth } from '../view/table'

/** Number of columns that are left for prices next to the longest id, on a terminal of 80 columns. */
const PRICE_WIDTH_MIN = 26

const list = defineCommand({
  meta: {
    name: 'list',
    description:
      'List all models and routes with their prices, and why some are not available: those of the running gateway, else those of the configuration.',
    examples: [
      'gateway models list',
      'gateway models list --vendor openai --mode chat --search gpt-6',
      `gateway models list --json | jq -r '.[] | select(.available) | .id'`,
    ],
  },
  args: {
    vendor: { type: 'string', valueHint: 'NAME', description: 'Only models of this upstream, kind or owner' },
    mode: {
      type: 'string',
      valueHint: 'OPERATION',
      description: 'Only models for this operation, such as chat, embeddings or video',
    },
    search: {
      type: 'string',
      valueHint: 'TEXT',
      description: "Only models with this text in their id or the vendor's name",
    },
    plan: planArg,
    ...gatewayArgs,
  },
  async run({ args }) {
    const { config, ...available } = await offerFor(args)
    const plan = args.plan === undefined ? undefined : requirePlan(config, args.plan)
    const isShown = (id: string) => plan?.mayUse(id) ?? true
    const isWanted = wantedBy(args)
    const models = listModels(config, available)
      .filter(({ model, forms }) => isShown(model.id) && isWanted(model, operationsOf(forms)))
      .map((listed) => atPlan(listed, plan))
    const routes = listRoutes(config, available).filter(
      ({ id, ownedBy, operations }) =>
        isShown(id) &&
        isWanted({ id, ownedBy, upstreamModel: id, upstream: { name: id, kind: 'route' } }, operations),
    )
    if (args.json) {
      return printJson([
        ...models.map((listed) => modelJson(listed, config)),
        ...routes.map((route) => routeJson(route, config)),
      ])
    }
    if (models.length + routes.length === 0)
      return say(
        (args.vendor ?? args.mode ?? args.search) ? 'No model matches.' : 'The configuration has no models.',
      )
    const rows = [...models.map(modelRow), ...routes.map(routeRow)]
    const columns: Column[] = [
      { title: 'MODEL' },
      { title: 'SERVES', flexible: true, widthMin: wordsWidth(rows.map(([, serves = '']) => serves)) },
      { title: 'UPSTREAM', optional: true },
      { title: 'READY' },
      { title: 'CONTEXT', optional: true, align: 'right' },
      { title: 'ENDS', optional: true },
      { title: 'PRICE IN USD', flexible: true, widthMin: PRICE_WIDTH_MIN },
    ]
    print(renderTable(columns, rows))
    const shown = new Set([...models.map(({ model }) => model.id), ...routes.map(({ id }) => id)])
    const aliases = Object.entries(config.aliases ?? {}).filter(([, target]) => shown.has(target))
    if (aliases.length > 0) print(`\n${renderTable([{ title: 'ALIAS' }, { title: 'STANDS FOR' }], aliases)}`)
    const age = ageText(models)
    if (age) print(`\n${age}`)
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
      'gateway models price pgt-6-luna --input-tokens 12000 --output-tokens 800',
      'gateway models price text-embedding-v4 --text "How much is this?"',
      'gateway models price gkx-imagine-image --n 2 --size 1024x1024',
      'gateway models price pgt-image-2 --operation image-edit --text "Paint it blue" --quality high',
      `gateway models price pgt-6-luna --body '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":100}'`,
      'gateway models price pgt-6-luna --body request.json --json | jq -r .amount_usd',
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
    plan: planArg,
    ...questionArgs,
    ...gatewayArgs,
  },
  async run({ args }) {
    const question = readQuestion(args)
    const { config } = await offerFor(args)
    const plan = args.plan === undefined ? undefined : requirePlan(config, args.plan)
    const listed = atPlan(findModel(config, args.model), plan)
    if (plan && !plan.mayUse(listed.model.id))
      throw new CommandFailed(`Accounts of the plan ${plan.name} may not use ${listed.model.id}.`)
    const answer = answerQuestion(listed, args.operation, question)
    if (args.json) return printJson(answerJson(listed, answer))
    showAnswer(listed, answer)
  },
})

type Wanted = Pick<ListedModel['model'], 'id' | 'ownedBy' | 'upstreamModel'> & {
  upstream: { name: string; kind: string }
}

type Filters = { [name in 'vendor' | 'mode' | 'search']?: string | undefined }

/** How old the prices are; undefined if no model states the date of its price. */
function ageText(models: readonly ListedModel[]): string | undefined {
  const days = models.flatMap(({ entry }) => entry.price?.as_of ?? []).sort()
  const [oldest, newest] = [days[0], days.at(-1)]
  if (oldest === undefined) return undefined
  return `Prices as of ${oldest === newest ? oldest : `${oldest} to ${newest}`}.`
}

/** Whether a model is among those that the flags ask for. */
function wantedBy({ vendor, mode, search }: Filters) {
  return ({ id, ownedBy, upstreamModel, upstream }: Wanted, operations: readonly string[]): boolean =>
    (vendor === undefined || [upstream.name, upstream.kind, ownedBy].includes(vendor)) &&
    (mode === undefined || operations.includes(mode)) &&
    (search === undefined ||
      [id, upstreamModel].some((name) => name.toLowerCase().includes(search.toLowerCase())))
}

export const models = defineCommand({
  meta: { name: 'models', description: 'List models and their prices, and price a request.' },
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
    context_tokens: model.contextTokens ?? null,
    max_output_tokens: model.maxOutputTokens ?? null,
    retires: entry.retires ?? null,
    successor: entry.successor ?? null,
    price: describePriceList(model.priceList),
    price_source: entry.price?.source ?? null,
    price_as_of: entry.price?.as_of ?? null,
    cost: describeCosts(
      entry,
      sharesOf(entry).map(([name]) => name),
    ),
  }
}

function modelRow({ model, forms, entry, reason, plan }: PlannedModel): string[] {
  const price = plan && !model.priceList.isFree ? describePriceList(model.priceList) : undefined
  return [
    model.id,
    operationsOf(forms).join(', '),
    upstreamText(entry),
    readyText(reason),
    model.contextTokens === undefined ? '' : String(model.contextTokens),
    entry.retires ?? '',
    priceText(price ? { ...entry, price: price as ModelConfig['price'] & object } : entry),
  ]
}

interface PlannedModel extends ListedModel {
  plan?: Plan | undefined
}

/** The model at the prices of a plan. */
function atPlan(listed: ListedModel, plan: Plan | undefined): PlannedModel {
  if (!plan) return listed
  return { ...listed, plan, model: plan.priced(listed.model), forms: listed.forms.map(plan.priced) }
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
    '',
    '',
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
