// Random price lists as people write them, and the cost of quantities, computed from the text in fractions of bigints, without the
// program's own rules.

import type { Amounts, PriceConfig } from '../../../src/config/models/prices'
import type { Random } from '../random'

/** Keys of a list, each with its unit and the key whose price applies if it is missing. */
const rows: Record<string, { key: string; per: bigint; instead?: string; input?: true; flat?: true }> = {
  request: { key: 'per_request', per: 1n, flat: true },
  input_token: { key: 'per_1m_input_tokens', per: 1_000_000n, input: true },
  cached_input_token: {
    key: 'per_1m_cached_input_tokens',
    per: 1_000_000n,
    instead: 'input_token',
    input: true,
  },
  cache_write_token: {
    key: 'per_1m_cache_write_tokens',
    per: 1_000_000n,
    instead: 'input_token',
    input: true,
  },
  cache_write_1h_token: {
    key: 'per_1m_cache_write_1h_tokens',
    per: 1_000_000n,
    instead: 'cache_write_token',
    input: true,
  },
  input_audio_token: {
    key: 'per_1m_input_audio_tokens',
    per: 1_000_000n,
    instead: 'input_token',
    input: true,
  },
  cached_input_audio_token: {
    key: 'per_1m_cached_input_audio_tokens',
    per: 1_000_000n,
    instead: 'input_audio_token',
    input: true,
  },
  output_token: { key: 'per_1m_output_tokens', per: 1_000_000n },
  output_audio_token: { key: 'per_1m_output_audio_tokens', per: 1_000_000n, instead: 'output_token' },
  web_search: { key: 'per_1k_web_searches', per: 1_000n, flat: true },
  grounded_prompt: { key: 'per_1k_grounded_prompts', per: 1_000n, flat: true },
  search_source: { key: 'per_1k_search_sources', per: 1_000n, flat: true },
}

/** Thresholds that requests of a fast test can reach. */
const LENGTHS = ['above_100', 'above_700', 'above_1k', 'above_2k']

export function randomPrice(random: Random): PriceConfig {
  const optional = ['per_1m_cached_input_tokens', 'per_1m_cache_write_tokens', 'per_1m_cache_write_1h_tokens']
  const sound = [
    'per_1m_input_audio_tokens',
    'per_1m_output_audio_tokens',
    ...(random.chance(0.5) ? ['per_1m_cached_input_audio_tokens'] : []),
  ]
  const flat = ['per_request', 'per_1k_web_searches', 'per_1k_grounded_prompts', 'per_1k_search_sources']
  const tokens = [
    'per_1m_input_tokens',
    'per_1m_output_tokens',
    ...optional.filter(() => random.chance(0.5)),
    ...(random.chance(0.5) ? sound : []),
  ]
  const lengths = LENGTHS.filter(() => random.chance(0.3))
  const table = (): Amounts => Object.fromEntries(tokens.map((key) => [key, randomAmount(random, 6)]))
  const ranges = () => ({ ...table(), ...Object.fromEntries(lengths.map((key) => [key, table()])) })
  const flats = Object.fromEntries(
    flat.filter(() => random.chance(0.4)).map((key) => [key, randomAmount(random, 9)]),
  )
  const tiers = ['flex', 'priority', 'scale'].filter(() => random.chance(0.4))
  return {
    ...ranges(),
    ...flats,
    ...(random.chance(0.3) && { minimum: `0.0000${random.below(1_000)}` }),
    ...(tiers.length > 0 && {
      service_tiers: Object.fromEntries(
        tiers.map((tier) => [
          tier,
          random.chance(0.5) ? random.pick(['0.5', '2', '1.75', '0.333333', '3.000001']) : ranges(),
        ]),
      ),
    }),
  } as PriceConfig
}

function randomAmount(random: Random, decimals: number): string {
  const whole = random.pick([0, 0, 0, 1, 3, 15, 75])
  const length = random.below(decimals + 1)
  const fraction = Array.from({ length }, () => random.below(10)).join('')
  return fraction === '' ? `${whole}` : `${whole}.${fraction}`
}

/** Price of quantities in nano-dollars, at the service tier that the vendor reports. */
export function costOf(price: PriceConfig, quantities: Record<string, number>, tier: string | null): number {
  const { service_tiers: tiers = {}, minimum = '0', ...base } = price
  const named = tier === null ? undefined : tiers[tier]
  const factor = typeof named === 'string' ? fraction(named) : { parts: 1n, of: 1n }
  const ranges = (typeof named === 'object' ? named : base) as Record<string, unknown>
  const inputTokens = Object.entries(quantities).reduce(
    (sum, [unit, count]) => sum + (rows[unit]?.input ? count : 0),
    0,
  )
  const [above] = Object.keys(ranges)
    .filter((key) => key.startsWith('above_') && inputTokens > tokensOfLength(key))
    .sort((one, other) => tokensOfLength(other) - tokensOfLength(one))
  const own = (above === undefined ? ranges : ranges[above]) as Record<string, string>
  let pico = 0n
  for (const [unit, count] of Object.entries(quantities)) {
    if (count > 0) pico += BigInt(count) * picoOf(unit, own, base as Record<string, string>, factor)
  }
  const least = fraction(minimum)
  const leastPico = (least.parts * 10n ** 12n) / least.of
  return Number(upTo(pico < leastPico ? leastPico : pico, 1_000n))
}

function picoOf(
  unit: string,
  own: Record<string, string>,
  base: Record<string, string>,
  factor: Fraction,
): bigint {
  const row = rows[unit]
  if (!row) throw new Error(`no row for ${unit}`)
  const text = own[row.key] ?? (row.flat ? base[row.key] : undefined)
  if (text === undefined) {
    if (!row.instead) throw new Error(`no price for ${unit}`)
    return picoOf(row.instead, own, base, factor)
  }
  const { parts, of } = fraction(text)
  const times = row.flat ? { parts: 1n, of: 1n } : factor
  return upTo(parts * 10n ** 12n * times.parts, of * row.per * times.of)
}

interface Fraction {
  parts: bigint
  of: bigint
}

function fraction(text: string): Fraction {
  const [whole = '0', decimals = ''] = text.split('.')
  return { parts: BigInt(whole + decimals), of: 10n ** BigInt(decimals.length) }
}

function upTo(parts: bigint, of: bigint): bigint {
  return (parts + of - 1n) / of
}

function tokensOfLength(key: string): number {
  const [, count, factor] = /^above_(\d+)(k?)$/.exec(key) ?? []
  return Number(count) * (factor === 'k' ? 1_000 : 1)
}
