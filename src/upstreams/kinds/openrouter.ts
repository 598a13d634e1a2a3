// OpenRouter: many vendors behind OpenAI's API, and messages under the same base URL: https://openrouter.ai/docs/api-reference.
// Its list of models has prices, which can be written to a file for this gateway. It must never let a caller choose anything that
// its price list does not cover.

import { compatibleCall } from '../../contract/call'
import type { ListedModels, ListedSettings, UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { formatDecimal } from '../../lib/money'
import { asObject } from '../../lib/objects'

/** Prices per unit in dollars, by `PublicPricing` of @openrouter/sdk 1.3 (November 2026), each with our key per million. */
const PER_TOKEN: Readonly<Record<string, string>> = {
  prompt: 'per_1m_input_tokens',
  completion: 'per_1m_output_tokens',
  input_cache_read: 'per_1m_cached_input_tokens',
  input_cache_write: 'per_1m_cache_write_tokens',
  input_cache_write_1h: 'per_1m_cache_write_1h_tokens',
  audio: 'per_1m_input_audio_tokens',
  input_audio_cache: 'per_1m_cached_input_audio_tokens',
  audio_output: 'per_1m_output_audio_tokens',
}
/** Our keys that use another key's price if they have none. */
const FALLBACKS: Readonly<Record<string, string>> = {
  per_1m_cached_input_tokens: 'per_1m_input_tokens',
  per_1m_cache_write_tokens: 'per_1m_input_tokens',
  per_1m_cache_write_1h_tokens: 'per_1m_cache_write_tokens',
  per_1m_input_audio_tokens: 'per_1m_input_tokens',
  per_1m_cached_input_audio_tokens: 'per_1m_input_audio_tokens',
  per_1m_output_audio_tokens: 'per_1m_output_tokens',
}
/** Prices of things that a request costs only with fields that callers may not set. */
const OF_REFUSED_FIELDS = ['web_search']
/** Prices that are redundant if they equal another one: their units are counted as that one's. */
const COUNTED_AS: Readonly<Record<string, string>> = {
  internal_reasoning: 'completion',
  image: 'prompt',
  image_token: 'prompt',
}
/** Conditions of an override that depend on the time of the request. */
const TIMES = ['utc_start', 'utc_end', 'utc_days']
/** Number of decimals of a unit price: a pico-dollar, the finest that is billed. */
const DECIMALS = 12
const AMOUNT = /^(\d{1,10})(?:\.(\d{1,30}))?$/

export const openrouter: UpstreamKind = {
  kind: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  secretVariable: 'OPENROUTER_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  refused: [
    { field: 'models', why: 'it lets other models answer', always: true },
    { field: 'route', why: 'it lets other models answer', always: true },
    { field: 'provider', why: 'it chooses vendors, each with its own prices', always: true },
    { field: 'plugins', why: 'it runs tools that are billed separately', always: true },
    { field: 'web_search_options', why: 'it searches the web', always: true },
    { field: 'preset', why: 'it adds settings of the operator', always: true },
  ],
  error(status, body) {
    const shape = readErrorShape(body)
    // 402: no credits. 403 may also be a prompt that was held back.
    const { metadata } = asObject(asObject(body).error)
    const isModerated = status === 403 && Array.isArray(asObject(metadata).reasons)
    const isMissing = /is not a valid model ID|No endpoints found/i.test(shape.message)
    const operator = [401, 402, 403, 404].includes(status) || isMissing
    if (isModerated) return { ...shape, code: 'content_policy_violation', whose: 'caller', status: 400 }
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
  // Its list of models is public.
  probe: compatibleCall('/key', null, { method: 'GET' }),
  listing: {
    call: compatibleCall('/models', null, { method: 'GET' }),
    read: readModels,
  },
}

function readModels(list: unknown): ListedModels {
  const listed: ListedModels = { models: {}, refused: {} }
  const { data } = asObject(list)
  for (const entry of Array.isArray(data) ? data : []) {
    const { id, pricing, ...about } = asObject(entry)
    if (typeof id !== 'string') continue
    const price = priceOf(asObject(pricing), asObject(about.architecture))
    if (typeof price === 'string') listed.refused[id] = price
    else listed.models[id] = { ...price, ...settingsOf(about) }
  }
  return listed
}

type Amounts = Record<string, bigint>

/** The price list of a model, or why this gateway cannot bill it. */
function priceOf(
  pricing: Record<string, unknown>,
  architecture: Record<string, unknown>,
): Pick<ListedSettings, 'free' | 'price'> | string {
  const { overrides = [], ...own } = pricing
  if (own.prompt === undefined || own.completion === undefined) return 'it has no price of tokens'
  if (!Array.isArray(overrides)) return `its overrides are ${JSON.stringify(overrides)}, which is not a list`
  const base = amountsOf(own, own, architecture)
  if (typeof base === 'string') return base
  const ranges: { above: number; amounts: Amounts }[] = [{ above: 0, amounts: base }]
  for (const override of overrides) {
    const { min_prompt_tokens: above = 0, ...prices } = asObject(override)
    if (TIMES.some((name) => name in prices)) return 'its prices change with the time of day'
    if (!Number.isSafeInteger(above) || (above as number) < 0) return 'its overrides have no number of tokens'
    const amounts = amountsOf(prices, { ...own, ...prices }, architecture)
    if (typeof amounts === 'string') return amounts
    ranges.push({ above: above as number, amounts })
  }
  return listOf(ranges)
}

/** Amounts in pico-dollars by our keys, or why one cannot be billed. */
function amountsOf(
  prices: Record<string, unknown>,
  all: Record<string, unknown>,
  { output_modalities: made }: Record<string, unknown>,
): Amounts | string {
  const amounts: Amounts = {}
  for (const [name, value] of Object.entries(prices)) {
    if (OF_REFUSED_FIELDS.includes(name) || (name === 'discount' && value === 0)) continue
    const shown = JSON.stringify(value)
    const one = typeof value === 'string' ? picoOf(value) : undefined
    const key = PER_TOKEN[name] ?? (name === 'request' ? 'per_request' : undefined)
    if (one === undefined) return `its price ${name} is ${shown}, which is not an amount`
    if (key !== undefined) amounts[key] = one
    else if (one !== 0n && !isCounted(name, one, all) && !(name === 'image_output' && isText(made))) {
      return `its price ${name} (${shown}) is of a kind that is not billed here`
    }
  }
  return amounts
}

function isCounted(name: string, one: bigint, all: Record<string, unknown>): boolean {
  const other = all[COUNTED_AS[name] ?? '']
  return typeof other === 'string' && picoOf(other) === one
}

function isText(modalities: unknown): boolean {
  return Array.isArray(modalities) && modalities.every((modality) => modality === 'text')
}

/** Pico-dollars of a decimal, rounded up: never less than the vendor charges. */
function picoOf(text: string): bigint | undefined {
  const [, whole, fraction = ''] = AMOUNT.exec(text) ?? []
  if (whole === undefined) return undefined
  const pico = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return /[1-9]/.test(fraction.slice(DECIMALS)) ? pico + 1n : pico
}

/** A price list made from amounts, each range with all that apply to it: later ones take precedence. */
function listOf(
  ranges: readonly { above: number; amounts: Amounts }[],
): Pick<ListedSettings, 'free' | 'price'> {
  const thresholds = [...new Set(ranges.map(({ above }) => above))].sort((one, other) => one - other)
  const tables = thresholds.map(
    (above): Amounts =>
      Object.assign({}, ...ranges.filter((range) => range.above <= above).map(({ amounts }) => amounts)),
  )
  // A price of zero means that nothing is billed separately, as for cache writes: those are counted as input.
  const keys = Object.keys(Object.assign({}, ...tables)).filter((key) => tables.some((table) => table[key]))
  if (keys.length === 0) return { free: true }
  const names = new Set(['per_1m_input_tokens', 'per_1m_output_tokens', ...keys])
  const [usual = {}, ...longer] = tables.map((table) =>
    Object.fromEntries([...names].map((key) => [key, textOf(key, amountFor(table, key))])),
  )
  const above = longer.map((table, index) => [`above_${thresholds[index + 1]}`, withoutFlat(table)])
  return { price: { ...usual, ...Object.fromEntries(above) } }
}

/** The price under a key of a table, or under the key as which it is counted there. */
function amountFor(table: Amounts, key: string): bigint {
  const other = FALLBACKS[key]
  return table[key] ?? (other === undefined ? 0n : amountFor(table, other))
}

/** A request costs the same whatever its length. */
function withoutFlat({ per_request: _, ...table }: Record<string, string>): Record<string, string> {
  return table
}

function textOf(key: string, pico: bigint): string {
  return formatDecimal(key === 'per_request' ? pico : pico * 1_000_000n, DECIMALS)
}

function settingsOf(about: Record<string, unknown>): ListedSettings {
  const { context_length: context, top_provider: top, architecture } = about
  const most = asObject(top).max_completion_tokens
  const modalities = asObject(architecture).input_modalities
  const known = (Array.isArray(modalities) ? modalities : []).filter((name) =>
    ['image', 'file', 'audio', 'video'].includes(name),
  )
  const traits = traitsOf(about)
  return {
    ...(isCount(context) && { contextTokens: context }),
    ...(isCount(most) && { maxOutputTokens: most }),
    ...(known.length > 0 && { inputModalities: known }),
    ...(traits && { traits }),
  }
}

/**
 * The traits of a model that thinks, according to the list: `ModelReasoning` of @openrouter/sdk 1.3.19. Fields that such a model
 * does not support have no effect.
 */
function traitsOf({
  supported_parameters: fields,
  reasoning: listed,
}: Record<string, unknown>): ListedSettings['traits'] {
  if (!Array.isArray(fields) || !fields.includes('reasoning')) return undefined
  const { mandatory, default_enabled: byDefault, supported_efforts: efforts } = asObject(listed)
  return {
    thinking: mandatory === true ? 'always' : 'optional',
    thinksByDefault: mandatory === true || byDefault !== false,
    // The list has the highest first.
    ...(Array.isArray(efforts) && {
      efforts: efforts.filter((effort) => typeof effort === 'string').reverse(),
    }),
    ...(!fields.includes('temperature') && {
      sampling: 'never',
      stop: fields.includes('stop'),
      penalties: fields.includes('frequency_penalty'),
      logitBias: fields.includes('logit_bias'),
      logprobs: fields.includes('logprobs'),
      maxTokens: fields.includes('max_tokens'),
    }),
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}
