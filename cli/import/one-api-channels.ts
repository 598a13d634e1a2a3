// Reads the channels of One API and New API: each is an upstream with its keys, and offers models to groups at the prices in the
// options. Facts from model/channel.go of both, from relay/billing/ratio/model.go of One API, and from setting/ratio_setting and
// setting/billing_setting of New API.

import type { PriceConfig } from '../../src/config/models/prices'
import { asObject } from '../../src/lib/objects'
import { builtInOutputRatio, builtInPrice } from './built-in-prices'
import { type ChannelKind, familyOf } from './channels'
import { type Found, Names, priceText, tokenPrice } from './found'
import type { GroupedOffer } from './groups'
import { type Offer, variableOf } from './offers'
import { jsonIn, listIn, numberIn, type SourceRow, textIn } from './source'

const ENABLED = 1
/** Settings of channels, as text or JSON, that upstreams here do not have. */
const NOT_CARRIED = [
  'system_prompt',
  'param_override',
  'header_override',
  'status_code_mapping',
  'openai_organization',
]

export interface Ratios {
  quotaPerUsd: number
  modelRatio: ReadonlyMap<string, number>
  completionRatio: ReadonlyMap<string, number>
  cacheRatio: ReadonlyMap<string, number>
  writeRatio: ReadonlyMap<string, number>
  modelPrice: ReadonlyMap<string, number>
  /** Models that are priced by an expression. */
  expressions: ReadonlySet<string>
}

/** Reads channels. Returns what they offer by the names that callers use. */
export function readChannels(
  rows: readonly SourceRow[],
  kinds: Readonly<Record<number, ChannelKind>>,
  found: Found,
  ratios: Ratios,
): Map<string, GroupedOffer[]> {
  const names = new Names()
  const offers = new Map<string, GroupedOffer[]>()
  for (const row of rows) {
    const upstream = readChannel(row, kinds, names, found)
    if (!upstream) continue
    const mapping = asObject(jsonIn(row, 'model_mapping'))
    const groups = listIn(row, 'group')
    for (const name of listIn(row, 'models')) {
      const family = familyOf(name, upstream.kind)
      if (!family) {
        const why = 'is paid in another way than by tokens of a chat or an embedding: add it by hand'
        found.left.push({ what: `model ${name} of channel ${upstream.title}`, why })
        continue
      }
      const upstreamModel = typeof mapping[name] === 'string' ? (mapping[name] as string) : name
      const offer = {
        upstream: upstream.name,
        family,
        upstreamModel,
        priority: numberIn(row, 'priority') ?? 0,
        weight: numberIn(row, 'weight') ?? 0,
        groups,
        ...priceOf(name, { upstreamModel, family, kind: upstream.kind, type: textIn(row, 'type') }, ratios),
      }
      offers.set(name, [...(offers.get(name) ?? []), offer])
    }
  }
  return offers
}

function readChannel(
  row: SourceRow,
  kinds: Readonly<Record<number, ChannelKind>>,
  names: Names,
  found: Found,
): { name: string; kind: string; title: string } | undefined {
  const title = textIn(row, 'name') || textIn(row, 'id')
  const leave = (why: string) => {
    found.left.push({ what: `channel ${title}`, why })
    return undefined
  }
  const type = numberIn(row, 'type') ?? 0
  const kind = kinds[type]
  if (numberIn(row, 'status') !== ENABLED) return leave('is switched off there')
  if (!kind) return leave(`its type ${type} is not known here, or needs more than a key: add it by hand`)
  const { keys, disabled } = keysOf(row)
  if (keys.length === 0 && disabled > 0) return leave('all of its keys are switched off there')
  if (disabled > 0) leave(`keys that are switched off there are not carried: ${disabled}`)
  const own = textIn(row, 'base_url').replace(/\/+$/, '')
  const address = (own || (kind.base ?? '')).replace(/\/chat\/completions$/, '')
  if (!URL.canParse(address)) return leave('has no address')
  for (const column of NOT_CARRIED)
    if (!['', '{}', 'null'].includes(textIn(row, column))) leave(`its ${column} is not carried`)
  for (const setting of settingsOf(row)) leave(`its setting ${setting} is not carried`)
  const name = names.take(title, `channel-${textIn(row, 'id')}`).toLowerCase()
  const path = kind.path ?? ''
  const apiVersion = kind.kind === 'azure' ? textIn(row, 'other') : ''
  found.upstreams.push({
    name,
    kind: kind.kind,
    baseUrl: address.endsWith(path) ? address : `${address}${path}`,
    ...(/^[A-Za-z0-9._-]+$/.test(apiVersion) && { apiVersion }),
    keys: keys.map((value, index) => ({ variable: variableOf(name, index, keys.length), value })),
  })
  return { name, kind: kind.kind, title }
}

/** The settings of a New API channel that change the request or its route. */
function settingsOf(row: SourceRow): string[] {
  const settings = Object.entries(asObject(jsonIn(row, 'setting')))
  return settings.flatMap(([name, value]) =>
    value === '' || value === false || value === null ? [] : [name],
  )
}

/**
 * The keys of a channel that are in use, and how many are disabled. New API numbers the keys of a channel by their lines and keeps
 * the states of those that it switched off (ChannelInfo of model/channel.go).
 */
function keysOf(row: SourceRow): { keys: string[]; disabled: number } {
  const info = asObject(jsonIn(row, 'channel_info'))
  const states = info.is_multi_key === true ? asObject(info.multi_key_status_list) : {}
  const lines = textIn(row, 'key').split('\n')
  const inUse = lines.filter((_, index) => Number(states[index] ?? ENABLED) === ENABLED)
  return {
    keys: inUse.map((key) => key.trim()).filter((key) => key !== ''),
    disabled: lines.length - inUse.length,
  }
}

/** The price of a model: per call, otherwise by ratios, otherwise from the built-in catalogue; or why it has none. */
function priceOf(
  name: string,
  {
    upstreamModel,
    family,
    kind,
    type,
  }: { upstreamModel: string; family: string; kind: string; type: string },
  ratios: Ratios,
): Pick<Offer, 'price' | 'unpriced'> {
  if (ratios.expressions.has(name))
    return { price: undefined, unpriced: 'its price there is an expression (billing_expr): add it by hand' }
  const fixed = priceText(ratios.modelPrice.get(name) ?? Number.NaN)
  if (fixed !== undefined) {
    const none = tokenPrice(family, { input: 1, output: 1 }) as PriceConfig
    const amounts = Object.keys(none).map((key) => [key, '0.00'])
    return { price: { ...Object.fromEntries(amounts), per_request: fixed } }
  }
  // One API writes ratios of one type of channel with its number.
  const ratioIn = (map: ReadonlyMap<string, number>) => map.get(`${name}(${type})`) ?? map.get(name)
  const ratio = ratioIn(ratios.modelRatio)
  if (ratio === undefined) {
    const price = builtInPrice(upstreamModel, family)
    return { price: price ?? (kind === 'ollama' ? 'free' : undefined) }
  }
  const input = (ratio * 1_000_000) / ratios.quotaPerUsd
  const times = (map: ReadonlyMap<string, number>) => {
    const factor = ratioIn(map)
    return factor === undefined ? undefined : input * factor
  }
  const dearer = ratioIn(ratios.completionRatio) ?? builtInOutputRatio(upstreamModel, family)
  if (dearer === undefined && !family.endsWith('-embeddings') && input > 0)
    return {
      price: undefined,
      unpriced:
        'its price of input is there, its completion ratio neither there nor in the built-in catalogue: add it by hand',
    }
  const price = tokenPrice(family, {
    input,
    output: input * (dearer ?? 1),
    cached: times(ratios.cacheRatio),
    written: times(ratios.writeRatio),
  })
  return price === undefined
    ? { price, unpriced: 'its ratios there are not a price: a number is missing, negative or too large' }
    : { price }
}
