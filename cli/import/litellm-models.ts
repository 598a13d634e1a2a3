// Reads the models of LiteLLM's config.yaml: each entry of `model_list` is a model of a provider with a key, which is
// often the name of a variable. Entries of one name share its requests.

import { lineOf } from '../../src/lib/error-line'
import { asObject } from '../../src/lib/objects'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { CommandFailed } from '../lib/errors'
import { builtInPrice } from './built-in-prices'
import { familyOf } from './channels'
import { type Found, type FoundUpstream, Names, tokenPrice } from './found'
import { carryOffers, type Offer, variableOf } from './offers'

/** Kinds of upstreams by the providers in names of models, which stand before the first slash. */
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
const TOKENS_PER_PRICE = 1_000_000
const VARIABLE = /^os\.environ\/(\w+)$/

type Environment = Readonly<Record<string, string | undefined>>

/** Reads a configuration. Answers the ids of models by the names that callers ask for. */
export function readLitellmModels(text: string, found: Found, environment: Environment): Map<string, string> {
  const config = asObject(parsed(text))
  const list = Array.isArray(config.model_list) ? config.model_list : []
  const upstreams = new Upstreams(found, environment)
  const offers = new Map<string, Offer[]>()
  for (const entry of list) {
    const { model_name: name, litellm_params: params, model_info: info } = asObject(entry)
    if (typeof name !== 'string') continue
    const leave = (why: string) => void found.left.push({ what: `model ${name}`, why })
    const offer = offerOf(name, asObject(params), asObject(info), upstreams, leave)
    if (offer) offers.set(name, [...(offers.get(name) ?? []), offer])
  }
  const router = asObject(config.router_settings)
  const fallbacks = fallbacksOf([router.fallbacks, asObject(config.litellm_settings).fallbacks])
  const ids = carryOffers(offers, found, fallbacks)
  for (const [alias, target] of Object.entries(asObject(router.model_group_alias))) {
    const id = ids.get(String(typeof target === 'string' ? target : asObject(target).model))
    if (id === undefined) found.left.push({ what: `alias ${alias}`, why: 'its model is not carried over' })
    else if (!ids.has(alias)) {
      ids.set(alias, id)
      found.aliases[alias] = id
    }
  }
  return ids
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
  upstreams: Upstreams,
  leave: (why: string) => void,
): Offer | undefined {
  if (name.includes('*')) return void leave('a star stands for many models: name those that are wanted')
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
    price: priceOf({ ...info, ...params }, upstreamModel, family),
  }
}

function bareProviderOf(model: string): string {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-)/.test(model)) return 'openai'
  return /^claude-/.test(model) ? 'anthropic' : ''
}

function modeFamily(mode: unknown, kind: string): string | undefined {
  return mode === 'embedding' ? familyOf('embedding', kind) : undefined
}

function priceOf(given: Record<string, unknown>, upstreamModel: string, family: string): Offer['price'] {
  const usd = (field: string) => {
    const cost = given[field]
    return cost === undefined || cost === null ? undefined : Number(cost) * TOKENS_PER_PRICE
  }
  const input = usd('input_cost_per_token')
  if (input === undefined) return builtInPrice(upstreamModel, family)
  return tokenPrice(family, {
    input,
    output: usd('output_cost_per_token') ?? (family.endsWith('-embeddings') ? 0 : Number.NaN),
    cached: usd('cache_read_input_token_cost'),
    written: usd('cache_creation_input_token_cost'),
  })
}

/** Upstreams by what makes them different: kind, address, version and key. */
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

  /** A text, or that of its variable; null for a variable that is not set. */
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

/** Names that are tried after each name, from lists such as `[{ a: ['b', 'c'] }]`. */
function fallbacksOf(lists: readonly unknown[]): Map<string, string[]> {
  const pairs = lists.flatMap((list) =>
    Array.isArray(list) ? list.flatMap((entry) => Object.entries(asObject(entry))) : [],
  )
  return new Map(pairs.map(([name, others]) => [name, Array.isArray(others) ? others.map(String) : []]))
}
