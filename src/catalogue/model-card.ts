// The facts that GET /v1/models shows about a model: its operations, its kinds of input and output, its limits, and its price, in
// the fields that clients of model lists read. It must never show the name or the cost of the upstream.

import type { Key } from '../accounts/keys'
import { type DescribedPrices, describePriceList, dollarsOfOne } from '../config/models/prices'
import type { Model } from '../contract/family'
import { type OperationName, operationOf } from '../contract/operations'
import type { PriceList } from '../contract/prices'
import type { Retirement } from '../contract/retirement'
import type { Traits } from '../contract/traits'
import { rowOf, type Unit, units } from '../contract/units'
import { isoDay } from '../db/iso-time'
import { canBeOff } from '../families/traits/efforts'
import { type Catalogue, formsFor } from './models'

export interface ModelCard {
  operations: readonly OperationName[]
  architecture: {
    modality: string
    input_modalities: readonly string[]
    output_modalities: readonly string[]
  }
  /** Tokens; null if unknown, 0 for a model that reads none. */
  context_length: number | null
  /** Tokens; null if unknown. */
  max_completion_tokens: number | null
  top_provider: {
    context_length: number | null
    max_completion_tokens: number | null
    is_moderated: boolean
  }
  /** Dollars per unit, as text: the highest if they depend on a size. */
  pricing: Readonly<Record<string, string>>
  /** The day on which the vendor retires it, `2026-12-11`, and the model that replaces it; absent if unknown. */
  shutdown_date?: string
  successor?: string
  /** The whole price list; absent for a route, whose models have their own, and for a free model. */
  prices?: DescribedPrices
  /** Fields of a chat completion; absent for a model without chat. */
  supported_parameters?: readonly string[]
  /** How much the model thinks; absent if it does not think, or if that is unknown. */
  reasoning?: {
    /** True if thinking cannot be turned off. */
    mandatory: boolean
    /** True if the model thinks unless a request turns it off. */
    default_enabled: boolean
    /** Efforts that may be requested, the highest first; null if every one may be. */
    supported_efforts: readonly string[] | null
    /** True if a request may set the number of thinking tokens. */
    supports_max_tokens: boolean
  }
}

/** Names of fields that clients look for. */
const PARAMETERS = [
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'parallel_tool_calls',
  'presence_penalty',
  'reasoning_effort',
  'response_format',
  'seed',
  'stop',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'verbosity',
] as const

/** Operations whose input and output are tokens of a conversation. */
const TALKS: readonly OperationName[] = ['chat', 'messages', 'completions', 'responses']
/** Prices that clients of model lists expect of every model. */
const ALWAYS_PRICED: readonly Unit[] = ['input_token', 'output_token']

/** The card of a model or a route, at the prices of a key; undefined if nothing with that id is available. */
export function cardOf(
  catalogue: Pick<Catalogue, 'models' | 'routes'>,
  key: Key,
  id: string,
): ModelCard | undefined {
  const route = catalogue.routes.get(id)?.models
  const forms = (route ?? [id]).flatMap((each) => formsFor(catalogue, key, each))
  const [first] = forms
  if (!first) return undefined
  const context = contextOf(forms)
  const most = leastOf(forms.map(({ maxOutputTokens }) => maxOutputTokens))
  const parameters = parametersOf(forms)
  return {
    operations: [...new Set(forms.map(({ family }) => family.operation))],
    architecture: architectureOf(forms),
    context_length: context,
    max_completion_tokens: most,
    top_provider: { context_length: context, max_completion_tokens: most, is_moderated: false },
    ...(!route && first.retirement && endOf(first.retirement)),
    pricing: pricingOf([...new Set(forms.map(({ priceList }) => priceList))]),
    ...(!route && !first.priceList.isFree && { prices: describePriceList(first.priceList) }),
    ...(parameters && { supported_parameters: parameters }),
    ...reasoningOf(forms),
  }
}

/** How much a model thinks, in the terms of OpenRouter's list; for a route only what all its models share. */
function reasoningOf(forms: readonly Model[]): Pick<ModelCard, 'reasoning'> {
  const all = forms.flatMap(({ family, traits }) => (TALKS.includes(family.operation) ? [traits] : []))
  if (all.length === 0 || all.some(({ thinking }) => thinking === 'never')) return {}
  const lists = all.flatMap(({ efforts, thinkingForms: forms }) =>
    efforts === undefined || forms.includes('budget') ? [] : [efforts],
  )
  const shared = lists[0]?.filter((effort) => lists.every((efforts) => efforts.includes(effort)))
  const isOptional = all.every(canBeOff)
  const efforts = shared && isOptional && !shared.includes('none') ? ['none', ...shared] : shared
  return {
    reasoning: {
      mandatory: !isOptional,
      default_enabled: all.every(({ thinksByDefault }) => thinksByDefault),
      supported_efforts: efforts?.toReversed() ?? null,
      supports_max_tokens: all.every(({ thinkingForms }) => thinkingForms.includes('budget')),
    },
  }
}

function endOf({ at, successor }: Retirement): Pick<ModelCard, 'shutdown_date' | 'successor'> {
  return { shutdown_date: isoDay(at), ...(successor !== undefined && { successor }) }
}

function architectureOf(forms: readonly Model[]): ModelCard['architecture'] {
  const input = [...new Set(forms.flatMap(inputOf))]
  const output = [...new Set(forms.flatMap(({ family }) => operationOf(family.operation).modalities.output))]
  return {
    modality: `${input.join('+')}->${output.join('+')}`,
    input_modalities: input,
    output_modalities: output,
  }
}

function inputOf({ family, inputModalities = [], referenceImages }: Model): readonly string[] {
  const { input } = operationOf(family.operation).modalities
  if (TALKS.includes(family.operation)) return [...input, ...inputModalities]
  return (referenceImages?.max ?? 0) > 0 ? [...input, 'image'] : input
}

function contextOf(forms: readonly Model[]): number | null {
  const known = leastOf(forms.map(({ contextTokens }) => contextTokens))
  return known ?? (forms.some(({ family }) => TALKS.includes(family.operation)) ? null : 0)
}

function leastOf(figures: readonly (number | undefined)[]): number | null {
  const known = figures.filter((figure) => figure !== undefined)
  return known.length > 0 ? Math.min(...known) : null
}

/** The price per unit, the highest of all lists. Longer prompts and other tiers are left to the list itself. */
function pricingOf(lists: readonly PriceList[]): Record<string, string> {
  return Object.fromEntries(
    units.flatMap((unit) => {
      const { pricing } = rowOf(unit)
      const most = Math.max(0, ...lists.flatMap(({ tables: [base] }) => amountsOf(base?.listed[unit])))
      const isShown = pricing !== undefined && (most > 0 || ALWAYS_PRICED.includes(unit))
      return isShown ? [[pricing, most === 0 ? '0' : dollarsOfOne(most)]] : []
    }),
  )
}

function amountsOf(price: number | { [variant: string]: number } | undefined): number[] {
  if (price === undefined) return []
  return typeof price === 'number' ? [price] : Object.values(price)
}

/** Whether a model is known to accept an effort. */
function takesEffort({ thinking, efforts, thinkingForms }: Traits): boolean {
  return thinking !== 'never' && (efforts ? efforts.length > 0 : thinkingForms.includes('effort'))
}

/** The fields that every chat model among the forms accepts; undefined without chat models. */
function parametersOf(forms: readonly Model[]): string[] | undefined {
  const chats = forms.filter(({ family }) => family.operation === 'chat')
  if (chats.length === 0) return undefined
  const sets = chats.map(fieldsOf)
  const shared = PARAMETERS.filter((name) => sets.every((fields) => fields.has(name)))
  const hasSchemas = chats.every(({ traits }) => traits.schemas)
  return hasSchemas && shared.includes('response_format') ? [...shared, 'structured_outputs'] : shared
}

function fieldsOf({ family, traits }: Model): Set<string> {
  const { bridge, body, fields = [] } = family
  const named = bridge
    ? bridge
        .filter(({ treatment }) => treatment === 'translated')
        .map(({ field }) => field.split(/[.[]/)[0] ?? '')
    : [...Object.keys(body.properties ?? {}), ...fields]
  const ignored = [
    ...(family.ignoredFor?.(traits) ?? []),
    ...(traits.parallelCalls ? [] : ['parallel_tool_calls']),
    ...(bridge || takesEffort(traits) ? [] : ['reasoning_effort']),
    // It is unknown whether a model that accepts the older limit accepts this newer field.
    ...(bridge || !traits.maxTokens ? [] : ['verbosity']),
  ]
  return new Set(named.filter((name) => !ignored.includes(name)))
}
