// Makes the list of a vendor from the entries of the first source. A model that cannot be billed, or that has ended, is left out
// with its reason: nothing is guessed.

import {
  type Entry,
  type Price,
  priceOf,
  servedEntry,
  Unbillable,
  withLeast,
} from '../../cli/import/litellm-costs'
import builtIn from '../../gateway.config'
import { priceFaults } from '../../src/config/models/prices'
import { rowOf } from '../../src/contract/units'
import { families as known } from '../../src/families'
import { knownModel } from '../../src/families/traits/known-models'
import { unservedModes, type Vendor } from './vendors'

/** A model of the list: settings of a model of the configuration. */
export interface ListedModel {
  family: readonly string[]
  contextTokens?: number
  maxOutputTokens?: number
  inputModalities?: readonly string[]
  reasoning?: true
  price: Price & { source?: string }
}

/** The day from which the vendor no longer serves a model, and the model that replaces it. */
interface ModelEnd {
  retires: string
  successor?: string
}

export interface VendorList {
  models: Record<string, ListedModel>
  /** The end of each model that has one, including omitted models. */
  ends: Record<string, ModelEnd>
  /** The reasons for omitting models. */
  refused: Record<string, string>
}

/** Why a model of the built-in catalogue is not in a list. */
const BY_HAND = 'kept by hand in gateway.config.ts'
/** Names that a vendor's model can have. */
const NAME = /^[a-z0-9][\w.:@/-]{0,127}$/i
/** Families in whose answers the vendor counts its searches. */
const COUNTS_SEARCHES: ReadonlySet<string> = new Set(['openai-responses', 'anthropic-messages'])
const TRANSCRIPTIONS = '/v1/audio/transcriptions'
/** Modes by the paths of the vendor's API. */
const ENDPOINTS = { '/v1/chat/completions': 'chat', '/v1/responses': 'responses' }
const MODALITIES = { image: 'supports_vision', file: 'supports_pdf_input', audio: 'supports_audio_input' }

/** The list of a vendor on a day such as `2026-11-24`. */
export function listOf(vendor: Vendor, entries: ReadonlyMap<string, Entry>, day: string): VendorList {
  const list: VendorList = { models: {}, ends: {}, refused: {} }
  for (const [name, entry] of [...entries].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const id = idOf(vendor, name, entry)
    if (id === undefined) continue
    const end = endOf(vendor, id, entry)
    if (end) list.ends[id] = end
    const hasEnded = end !== undefined && end.retires <= day
    try {
      if (hasEnded) throw new Unbillable(`ended on ${end.retires}`)
      list.models[id] = modelOf(vendor, id, entry)
    } catch (error) {
      if (!(error instanceof Unbillable)) throw error
      list.refused[id] = !hasEnded && isByHand(vendor.kind, id) ? BY_HAND : error.message
    }
  }
  return list
}

/** The list with a minimum charge of a request, if the vendor bills a minimum of seconds of audio. */
export function withLeastPrices(
  list: VendorList,
  { leastSeconds }: Pick<Vendor, 'leastSeconds'>,
): VendorList {
  if (leastSeconds === undefined) return list
  const models = Object.entries(list.models).map(
    ([id, model]) => [id, { ...model, price: withLeast(model.price, leastSeconds) }] as const,
  )
  return { ...list, models: Object.fromEntries(models) }
}

/** The vendor's own name of a model; undefined for an entry that is not a model of this vendor. */
function idOf(
  { providers, prefix }: Vendor,
  name: string,
  { litellm_provider: provider }: Entry,
): string | undefined {
  if (!providers.includes(String(provider)) || !name.startsWith(prefix)) return undefined
  const id = name.slice(prefix.length)
  if (!NAME.test(id)) return undefined
  // Sizes and qualities of pictures, and fine-tuned models, are not names that a vendor serves.
  return id.startsWith('ft:') || /^(low|medium|high|standard|hd|\d+-x-\d+)\//.test(id) ? undefined : id
}

function modelOf(vendor: Vendor, id: string, entry: Entry): ListedModel {
  const [, reason] = vendor.unserved?.find(([names]) => names.test(id)) ?? []
  if (reason !== undefined) throw new Unbillable(reason)
  const families = familiesOf(vendor, entry)
  const read = servedEntry(entry)
  const serving = families.flatMap((name) => known.get(name) ?? [])
  const needed = serving.flatMap(({ units }) => units.flat().map((unit) => rowOf(unit).key))
  const searchPrice = families.some((name) => COUNTS_SEARCHES.has(name))
    ? vendor.bills?.searchPrice
    : undefined
  const price = priceOf(read, { needed, ...vendor.bills, searchPrice })
  const [fault] = priceFaults(price, serving)
  if (fault !== undefined) throw new Unbillable(`its price${fault}`)
  const context = countOf(entry.max_input_tokens)
  const most = countOf(entry.max_output_tokens)
  const modalities = families.some((name) => /-(?:chat|responses|messages|contents)$/.test(name))
    ? Object.entries(MODALITIES).filter(([, field]) => read[field] === true)
    : []
  return {
    family: families,
    ...(context !== undefined && { contextTokens: context }),
    ...(most !== undefined && { maxOutputTokens: most }),
    ...(modalities.length > 0 && { inputModalities: modalities.map(([modality]) => modality) }),
    // The known facts about a model by its name are more precise.
    ...(vendor.reasonsAlike && entry.supports_reasoning === true && !knownModel(id) && { reasoning: true }),
    price: { ...price, ...sourceOf(entry) },
  }
}

/** The families that serve a model: by the endpoints that the source lists, otherwise by its mode. */
function familiesOf(
  { families }: Vendor,
  { mode, supported_endpoints: endpoints }: Entry,
): readonly string[] {
  const byMode = families[String(mode)]
  if (!byMode) throw new Unbillable(unservedModes[String(mode)] ?? `the mode ${mode} is not known here`)
  if (mode === 'audio_transcription' && Array.isArray(endpoints) && !endpoints.includes(TRANSCRIPTIONS))
    throw new Unbillable(unservedModes.realtime)
  const isTalk = mode === 'chat' || mode === 'responses'
  if (!isTalk || !Array.isArray(endpoints)) return byMode
  const byEndpoint = Object.entries(ENDPOINTS).filter(
    ([endpoint, kind]) => endpoints.includes(endpoint) && families[kind],
  )
  return byEndpoint.length > 0 ? byEndpoint.flatMap(([, kind]) => families[kind] ?? []) : byMode
}

/** True for a model of the built-in catalogue that is not from a list. */
function isByHand(kind: string, id: string): boolean {
  const models = Object.entries<{ upstream: string; upstreamModel?: string }>(builtIn.models)
  return models.some(([own, { upstream, upstreamModel = own }]) => upstream === kind && upstreamModel === id)
}

function endOf({ prefix, ended }: Vendor, id: string, entry: Entry): ModelEnd | undefined {
  const { deprecation_date: retires, successor_model: successor } = entry
  if (typeof retires !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(retires)) return ended?.[id]
  if (typeof successor !== 'string') return { retires }
  return { retires, successor: successor.startsWith(prefix) ? successor.slice(prefix.length) : successor }
}

/** The page of the vendor that the source names. */
function sourceOf({ source }: Entry): { source?: string } {
  return typeof source === 'string' && source.startsWith('https://') ? { source } : {}
}

function countOf(value: unknown): number | undefined {
  const count = Number(value)
  return value !== null && Number.isInteger(count) && count > 0 ? count : undefined
}
