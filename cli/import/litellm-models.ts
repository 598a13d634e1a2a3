// Reads the models of LiteLLM's config.yaml: each entry of `model_list` is a model of a provider with a key, which is
// often the name of a variable. Entries with one name share its requests.

import { type PriceConfig, priceFaults } from '../../src/config/models/prices'
import type { Family } from '../../src/contract/family'
import { rowOf } from '../../src/contract/units'
import { families } from '../../src/families'
import { lineOf } from '../../src/lib/error-line'
import { asObject } from '../../src/lib/objects'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { CommandFailed } from '../lib/errors'
import { builtInPrice } from './built-in-prices'
import { familyOf } from './channels'
import { type Found, type FoundUpstream, Names } from './found'
import { type Entry, priceOf as listedPriceOf, servedEntry, Unbillable } from './litellm-costs'
import { carryOffers, type Offer, variableOf } from './offers'

/** Kinds of upstreams by the providers in names of models, which precede the first slash. */
const kindsByProvider: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  azure: 'azure',
  dashscope: 'dashscope',
  deepseek: 'deepseek',
  gemini: 'google',
  groq: 'groq',
  hosted_vllm: 'openai',
  lm_studio: 'openai',
  mistral: 'mistral',
  moonshot: 'moonshot',
  ollama: 'ollama',
  ollama_chat: 'ollama',
  openai: 'openai',
  openai_like: 'openai',
  openrouter: 'openrouter',
  voyage: 'voyage',
  xai: 'xai',
  zai: 'zai',
}
/** Providers whose address has no default. */
const NEEDS_ADDRESS = new Set(['azure', 'hosted_vllm', 'lm_studio', 'openai_like'])
const VARIABLE = /^os\.environ\/(\w+)$/

type Environment = Readonly<Record<string, string | undefined>>

export interface LitellmModels {
  /** Ids of models by the names that callers use. */
  ids: ReadonlyMap<string, string>
  /** Names of models by the access groups that they are in. */
  groups: ReadonlyMap<string, readonly string[]>
}

interface Given {
  /** Settings in the database, which apply in addition to those of the file. */
  stored: Readonly<Record<string, Record<string, unknown>>>
  /** The entries of a price file. */
  prices: ReadonlyMap<string, Entry> | undefined
  found: Found
  environment: Environment
}

/** Reads a configuration with what the database adds to it. */
export function readLitellmModels(
  text: string,
  { stored, prices, found, environment }: Given,
): LitellmModels {
  const config = asObject(parsed(text))
  const list = Array.isArray(config.model_list) ? config.model_list : []
  const upstreams = new Upstreams(found, environment)
  const offers = new Map<string, Offer[]>()
  const groups = new Map<string, string[]>()
  for (const entry of list) {
    const { model_name: name, litellm_params: params, model_info: info } = asObject(entry)
    if (typeof name !== 'string') continue
    const leave = (why: string) => void found.left.push({ what: `model ${name}`, why })
    const whole = withCredential(asObject(params), config.credential_list, leave)
    const offer = whole && offerOf(name, whole, asObject(info), { upstreams, prices, leave })
    if (offer) offers.set(name, [...(offers.get(name) ?? []), offer])
    const { access_groups: inGroups } = asObject(info)
    for (const group of Array.isArray(inGroups) ? inGroups.map(String) : [])
      groups.set(group, [...new Set([...(groups.get(group) ?? []), name])])
  }
  const sections = [
    config.router_settings,
    config.litellm_settings,
    stored.router_settings,
    stored.litellm_settings,
  ]
  const fallbacks = fallbacksOf(sections.map(asObject), [...offers.keys()])
  const ids = carryOffers(offers, found, fallbacks.all)
  applyFallbacks(fallbacks, ids, found)
  const aliases = { ...stored.router_settings, ...asObject(config.router_settings) }.model_group_alias
  for (const [alias, target] of Object.entries(asObject(aliases))) {
    const id = ids.get(String(typeof target === 'string' ? target : asObject(target).model))
    if (id === undefined) found.left.push({ what: `alias ${alias}`, why: 'its model is not carried over' })
    else if (!ids.has(alias)) {
      ids.set(alias, id)
      found.aliases[alias] = id
    }
  }
  return { ids, groups }
}

/** The parameters of a model with those of its credential; undefined if the file does not have it. */
function withCredential(
  params: Record<string, unknown>,
  credentials: unknown,
  leave: (why: string) => void,
): Record<string, unknown> | undefined {
  const name = params.litellm_credential_name
  if (typeof name !== 'string') return params
  const list = Array.isArray(credentials) ? credentials.map(asObject) : []
  const known = list.find(({ credential_name: each }) => each === name)
  if (known) return { ...asObject(known.credential_values), ...params }
  leave(`its credential ${name} is not in the file: in the database it is encrypted`)
  return undefined
}

function parsed(text: string): unknown {
  try {
    return Bun.YAML.parse(text)
  } catch (error) {
    throw new CommandFailed(`The configuration of LiteLLM cannot be read: ${lineOf(error)}.`)
  }
}

function offerOf(
  name: string,
  params: Record<string, unknown>,
  info: Record<string, unknown>,
  {
    upstreams,
    prices,
    leave,
  }: { upstreams: Upstreams; prices: Given['prices']; leave: (why: string) => void },
): Offer | undefined {
  if (name.includes('*')) return void leave('a star matches many models: name the ones that you want')
  const model = String(params.model ?? '')
  const slash = model.indexOf('/')
  const provider = String(
    params.custom_llm_provider ?? (slash === -1 ? bareProviderOf(model) : model.slice(0, slash)),
  )
  const upstreamModel =
    slash === -1 || params.custom_llm_provider !== undefined ? model : model.slice(slash + 1)
  const kind = kindsByProvider[provider]
  if (!kind)
    return void leave(`its provider ${provider || model} is not known here, or needs more than a key`)
  const family =
    info.mode === undefined || info.mode === 'chat'
      ? familyOf(upstreamModel, kind)
      : modeFamily(info.mode, kind)
  if (!family) return void leave('is neither a chat nor an embedding: add it by hand')
  const upstream = upstreams.take(kind, provider, params, leave)
  if (upstream === undefined) return undefined
  return {
    upstream,
    family,
    upstreamModel,
    priority: -(Number(params.order) || 0),
    weight: Number(params.weight ?? params.rpm) || 1,
    ...priceOf(
      { ...info, ...params },
      { kind, family, upstreamModel, names: [model, `${provider}/${upstreamModel}`] },
      prices,
    ),
  }
}

function bareProviderOf(model: string): string {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-)/.test(model)) return 'openai'
  return /^claude-/.test(model) ? 'anthropic' : ''
}

function modeFamily(mode: unknown, kind: string): string | undefined {
  return mode === 'embedding' ? familyOf('embedding', kind) : undefined
}

/**
 * The price of a model: from its own fields, otherwise from the price file, otherwise from the built-in catalogue. A model of
 * Ollama without any is free.
 */
function priceOf(
  given: Record<string, unknown>,
  {
    kind,
    family,
    upstreamModel,
    names,
  }: { kind: string; family: string; upstreamModel: string; names: readonly string[] },
  prices: Given['prices'],
): Pick<Offer, 'price' | 'unpriced'> {
  const own = Object.entries(given).filter(([name, value]) => isCost(name) && value !== null)
  const listed = [given.base_model, ...names, upstreamModel].map((name) => prices?.get(String(name)))
  const entry =
    own.length > 0
      ? Object.fromEntries(own.map(([name, cost]) => [name, typeof cost === 'number' ? String(cost) : cost]))
      : listed.find((each) => each !== undefined)
  if (!entry)
    return { price: builtInPrice(upstreamModel, family) ?? (kind === 'ollama' ? 'free' : undefined) }
  try {
    return { price: priceOfEntry(entry, family) }
  } catch (error) {
    if (!(error instanceof Unbillable)) throw error
    return { price: undefined, unpriced: `its price there cannot be carried: ${error.message}` }
  }
}

/** Whether a field of a model contains a price. */
function isCost(name: string): boolean {
  return /(^|_)cost_per_|_token_cost|^tiered_pricing$/.test(name)
}

function priceOfEntry(entry: Entry, family: string): PriceConfig | 'free' {
  const serving = families.get(family) as Family
  const needed = serving.units.flat().map((unit) => rowOf(unit).key)
  const mode = family.endsWith('-embeddings') ? 'embedding' : 'chat'
  const price = listedPriceOf(servedEntry({ ...entry, mode }), { needed })
  const [fault] = priceFaults(price, [serving])
  if (fault !== undefined) throw new Unbillable(fault.replace(/^[:.]\s*/, ''))
  const isFree = Object.values(price).every((amount) => typeof amount === 'string' && Number(amount) === 0)
  return isFree ? 'free' : price
}

/** Upstreams by their distinguishing settings: kind, address, version and key. */
class Upstreams {
  private readonly known = new Map<string, string>()
  private readonly names = new Names()

  constructor(
    private readonly found: Found,
    private readonly environment: Environment,
  ) {}

  /** The name of the upstream of a model. */
  take(
    kind: string,
    provider: string,
    params: Record<string, unknown>,
    leave: (why: string) => void,
  ): string | undefined {
    const address = this.textOf(params.api_base ?? params.base_url)
    if (address === null)
      return void leave('its address is a variable that is not set: set it, and run this again')
    if (address === undefined && NEEDS_ADDRESS.has(provider)) return void leave('has no address')
    const key = typeof params.api_key === 'string' ? params.api_key : ''
    const version = this.textOf(params.api_version) ?? undefined
    const identity = JSON.stringify([kind, address, version, key])
    const known = this.known.get(identity)
    if (known !== undefined) return known
    const name = this.names.take(kind, 'upstream')
    this.known.set(identity, name)
    this.found.upstreams.push({
      name,
      kind,
      baseUrl: address === undefined ? undefined : addressOf(kind, address),
      ...(kind === 'azure' && version !== undefined && { apiVersion: version }),
      keys: keysOf(kind, name, key),
    })
    return name
  }

  /** A text, or that of its variable; null for an unset variable. */
  private textOf(value: unknown): string | null | undefined {
    if (typeof value !== 'string' || value === '') return undefined
    const variable = VARIABLE.exec(value)?.[1]
    return variable === undefined ? value : (this.environment[variable] ?? null)
  }
}

function addressOf(kind: string, address: string): string {
  const plain = address.replace(/\/+$/, '')
  return kind === 'anthropic' && !plain.endsWith('/v1') ? `${plain}/v1` : plain
}

function keysOf(kind: string, name: string, key: string): FoundUpstream['keys'] {
  const variable = VARIABLE.exec(key)?.[1]
  if (variable !== undefined) return [{ variable, value: undefined }]
  if (key !== '') return [{ variable: variableOf(name, 0, 1), value: key }]
  const { keyless, secretVariable } = upstreamKinds.get(kind) ?? {}
  return keyless || secretVariable === undefined ? [] : [{ variable: secretVariable, value: undefined }]
}

interface Fallbacks {
  /** Fallback names by the name after which they are tried. */
  all: ReadonlyMap<string, readonly string[]>
  /** Names whose fallback models LiteLLM tries only for the reason of the list. */
  narrow: ReadonlyMap<string, readonly string[]>
  /** Names whose next model is tried if a filter blocks an answer. */
  filtered: ReadonlySet<string>
}

/** The fallbacks for the names of models, from lists such as `[{ a: ['b', 'c'] }]` in sections of the configuration. */
function fallbacksOf(sections: readonly Record<string, unknown>[], names: readonly string[]): Fallbacks {
  const listsOf = (field: string) => {
    const entries = sections.flatMap(({ [field]: list }) => (Array.isArray(list) ? list : []))
    const pairs = entries.flatMap((entry) => Object.entries(asObject(entry)))
    return new Map(pairs.map(([name, others]) => [name, namesIn(others)]))
  }
  const general = listsOf('fallbacks')
  const long = listsOf('context_window_fallbacks')
  const filtered = listsOf('content_policy_fallbacks')
  const usual = sections.flatMap(({ default_fallbacks: list }) => namesIn(list))
  const every = general.get('*') ?? usual
  const all = new Map<string, string[]>()
  const narrow = new Map<string, string[]>()
  for (const name of names) {
    const always = general.get(name) ?? every
    const only = [...(long.get(name) ?? []), ...(filtered.get(name) ?? [])].filter(
      (other) => !always.includes(other),
    )
    const others = [...new Set([...always, ...only])].filter((other) => other !== name)
    if (others.length > 0) all.set(name, others)
    if (only.length > 0) narrow.set(name, only)
  }
  return { all, narrow, filtered: new Set(filtered.keys()) }
}

function namesIn(list: unknown): string[] {
  const items = Array.isArray(list) ? list : []
  return items.flatMap((item) => {
    const name = typeof item === 'string' ? item : asObject(item).model
    return typeof name === 'string' ? [name] : []
  })
}

/**
 * Lets routes continue after a filter if they did so in LiteLLM, and lists fallbacks for other reasons, or without an equivalent.
 */
function applyFallbacks(
  { all, narrow, filtered }: Fallbacks,
  ids: ReadonlyMap<string, string>,
  found: Found,
): void {
  for (const [name, others] of all) {
    const id = ids.get(name)
    const route = id === undefined ? undefined : found.routes[id]
    if (!route) continue
    if (filtered.has(name)) route.fallback = { on: ['too_long', 'empty', 'filtered'] }
    const leave = (why: string) => found.left.push({ what: `fallbacks of ${name}`, why })
    const only = (narrow.get(name) ?? []).filter((other) => ids.has(other))
    if (only.length > 0)
      leave(`${only.join(', ')}: tried there only for long prompts or after a filter, here after errors too`)
    const missing = others.filter((other) => !ids.has(other))
    if (missing.length > 0) leave(`${missing.join(', ')}: not carried over`)
  }
}
