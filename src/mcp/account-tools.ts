// The free tools: list_models, get_balance and get_price. They must never reveal a model that the key may not use, or state a price
// other than the one that the gateway would hold.

import { Type } from '@sinclair/typebox'
import type { Key } from '../accounts/keys'
import { balanceOf } from '../billing/ledger/balances'
import { quoteOf } from '../billing/ledger/metering'
import { formsFor, idOfName, type ListedModel, modelsOf } from '../catalogue/models'
import { describePriceList } from '../config/models/prices'
import type { Model } from '../contract/family'
import type { OperationName } from '../contract/operations'
import { invalidRequest } from '../lib/errors'
import { formatUsd } from '../lib/money'
import { readRequest } from '../request/check'
import { maxPriceNano } from '../request/reserve'
import { type PaidTool, prepare } from './paid-tool'
import { type FreeTool, isPresent, optionalArgument, type ToolWorld } from './tool'

/** The tool for each operation; undefined for other forms of chat, which share one. */
const toolsByOperation: Record<OperationName, string | undefined> = {
  chat: 'chat',
  messages: undefined,
  responses: undefined,
  contents: undefined,
  completions: undefined,
  embeddings: 'embed',
  rerank: 'rerank',
  moderation: 'moderate',
  speech: 'speak',
  transcription: 'transcribe',
  translation: 'transcribe',
  image: 'generate_image',
  'image-edit': 'edit_image',
  video: 'generate_video',
}

const MADE_IN_PLAIN_WORDS: readonly OperationName[] = ['image', 'image-edit', 'video']

export const listModels: FreeTool = {
  name: 'list_models',
  title: 'List the models',
  description:
    'Lists the models that this key may use: the tools that each serves, the arguments it takes there, and its prices in dollars. With a model, also the schema of its own request, for options.',
  input: Type.Object({
    tool: optionalArgument(Type.String({ description: 'Only models of this tool, such as generate_image.' })),
    model: optionalArgument(Type.String({ description: 'Only this model, with the schema of its request.' })),
  }),
  output: Type.Object({ models: Type.Array(Type.Object({}, { additionalProperties: true })) }),
  async run({ catalogue }, { arguments: args, key }) {
    const { tool, model: name } = args as { tool?: string | null; model?: string | null }
    const id = isPresent(name) ? idOfName(catalogue, name) : undefined
    const listed = modelsOf(catalogue, key)
    if (isPresent(id) && !listed.some((model) => model.id === id)) {
      throw invalidRequest(
        'model',
        `The model \`${String(name).slice(0, 128)}\` does not exist or this key may not use it. Call list_models without 'model' for all.`,
        'model_not_found',
      )
    }
    const models = listed
      .filter((model) => !isPresent(id) || model.id === id)
      .map((model) => describeModel(catalogue, key, model, isPresent(id)))
    return {
      structured: { models: models.filter(({ tools }) => !isPresent(tool) || Object.hasOwn(tools, tool)) },
    }
  },
}

export const getBalance: FreeTool = {
  name: 'get_balance',
  title: 'Show the balance',
  description:
    'Returns the balance of the account of this key, what is held for running requests, and what is available.',
  input: Type.Object({}),
  output: Type.Object({
    account: Type.String(),
    balance_usd: Type.String(),
    held_usd: Type.String(),
    available_usd: Type.String(),
  }),
  async run({ db }, { key }) {
    const balance = await balanceOf(db, key.account)
    const { balanceNano = 0, heldNano = 0, availableNano = 0 } = balance ?? {}
    return {
      structured: {
        account: key.account,
        balance_usd: formatUsd(balanceNano),
        held_usd: formatUsd(heldNano),
        available_usd: formatUsd(availableNano),
      },
    }
  },
}

/** The tool that returns the price of a call of another tool before it is made. */
export function createGetPrice(tools: readonly PaidTool[]): FreeTool {
  return {
    name: 'get_price',
    title: 'Price a call',
    description:
      'Returns the most that a call of a tool can cost, without making it. Only what was really used is charged in the end.',
    input: Type.Object({
      tool: Type.Union(
        tools.map(({ name }) => Type.Literal(name)),
        { description: 'The tool that would be called.' },
      ),
      arguments: Type.Object(
        {},
        { additionalProperties: true, description: 'Its arguments, as they would be sent.' },
      ),
    }),
    output: Type.Object({
      tool: Type.String(),
      model: Type.String(),
      max_cost_usd: Type.String({ description: 'The most that it can cost: what would be held.' }),
      quantities: Type.Record(Type.String(), Type.Number()),
      prices: Type.Object({}, { additionalProperties: true }),
    }),
    async run(world, call, gateway) {
      const { tool: name, arguments: args } = call.arguments as {
        tool: string
        arguments: Record<string, unknown>
      }
      const tool = tools.find((each) => each.name === name) as PaidTool
      const prepared = await prepare(tool, world, { ...call, arguments: args })
      const { operation, content } = prepared
      const read = readRequest(world.catalogue, call.key, operation, content, world)
      const checked = await gateway.checkForQuote(read, { ...prepared, headers: {}, signal: call.signal })
      return {
        structured: {
          tool: name,
          model: checked.model.id,
          max_cost_usd: formatUsd(maxPriceNano(checked)),
          quantities: quoteOf(checked.parsed, checked.model),
          prices: describePriceList(checked.model.priceList),
        },
      }
    },
  }
}

function describeModel(
  catalogue: ToolWorld['catalogue'],
  key: Key,
  { id, ownedBy }: ListedModel,
  withSchemas: boolean,
) {
  const route = catalogue.routes.get(id)?.models
  const forms = (route ?? [id]).flatMap((each) => formsFor(catalogue, key, each))
  const [first] = forms
  const tools: Record<string, { takes?: readonly string[]; request?: object }> = {}
  for (const { family, referenceImages } of forms) {
    const tool = toolsByOperation[family.operation]
    const takes = family.plain.fields.map((field) => (field === 'uploads' ? 'images' : field))
    const described = {
      // The arguments of other tools are the same for every model.
      ...(MADE_IN_PLAIN_WORDS.includes(family.operation) && { takes }),
      ...(withSchemas && { request: family.body }),
    }
    if (tool !== undefined) tools[tool] ??= described
    const edits = takes.includes('images') && (referenceImages?.max ?? 0) > 0
    if (family.operation === 'image' && edits) tools.edit_image ??= described
  }
  return {
    id,
    owned_by: ownedBy,
    tools,
    ...(route ? { route } : first && factsOf(first)),
  }
}

function factsOf({ priceList, sizes, durations, referenceImages, dimensions }: Model) {
  return {
    prices: describePriceList(priceList),
    ...(sizes && { sizes }),
    ...(durations && { durations }),
    ...(referenceImages && { reference_images: referenceImages }),
    ...(dimensions && { dimensions }),
  }
}
