// Price lists in simple terms, and the price of a typical use. An example is rounded and says so; a price never is.

import type { DescribedPrices } from '../config/models/prices'
import type { PricedModel } from './key-api'
import { moneyText } from './parts/money'
import { keyTexts } from './texts'

const words = keyTexts.models

export interface PriceLine {
  /** The unit in words: `1M input tokens`, `second at 720p`. */
  what: string
  usd: string
}

/** The lines of a price list, including those of longer prompts and service tiers. */
export function priceLines(prices: DescribedPrices, when = ''): PriceLine[] {
  return Object.entries(prices).flatMap(([name, value]): PriceLine[] => {
    if (name === 'service_tiers' && typeof value !== 'string')
      return Object.entries(value).flatMap(([tier, list]) =>
        typeof list === 'string' ? [] : priceLines(list, `${when}, ${tier}`),
      )
    const above = /^above_(.+)$/.exec(name)?.[1]
    if (above && typeof value !== 'string')
      return priceLines(value, `${when}, ${words.above(above.toUpperCase())}`)
    const unit = words.unit(name)
    if (typeof value === 'string') return [{ what: `${unit}${when}`, usd: value }]
    return Object.entries(value).flatMap(([variant, usd]) =>
      typeof usd === 'string' ? [{ what: `${unit}, ${variant}${when}`, usd }] : [],
    )
  })
}

const CONVERSATIONS: readonly string[] = ['chat', 'messages', 'responses', 'contents', 'completions']
/** Approximate number of tokens in a thousand English words. */
const TOKENS_OF_WORDS = 1_333
const TOKENS_OF_PAGES = 66_700
const CHARACTERS_OF_PAGE = 3_000

/** A sentence about the price of a typical use; undefined for a model without such an example. */
export function exampleOf({ operations, prices }: PricedModel): string | undefined {
  if (!prices) return undefined
  const { examples } = words
  const each = (name: string): number | undefined => {
    const value = prices[name]
    if (value === undefined) return undefined
    const amounts = typeof value === 'string' ? [value] : Object.values(value).filter(isText)
    return amounts.length > 0 ? Math.min(...amounts.map(Number)) : undefined
  }
  const from = (name: string) => (typeof prices[name] === 'string' ? '' : words.from)
  const [input, output] = [each('per_1m_input_tokens'), each('per_1m_output_tokens')]
  if (operations.includes('embeddings') && input !== undefined)
    return examples.embedded(roughUsd((input * TOKENS_OF_PAGES) / 1e6))
  const second = each('per_second')
  if (operations.includes('video') && second !== undefined)
    return examples.seconds(from('per_second') + roughUsd(second * 5))
  const picture = each('per_image')
  if (picture !== undefined) return examples.picture(from('per_image') + roughUsd(picture))
  const characters = each('per_1m_characters')
  if (characters !== undefined) return examples.spoken(roughUsd((characters * CHARACTERS_OF_PAGE) / 1e6))
  const minute = each('per_audio_minute') ?? (second === undefined ? undefined : second * 60)
  if (minute !== undefined) return examples.minutes(roughUsd(minute))
  if (operations.some((name) => CONVERSATIONS.includes(name)) && input !== undefined && output !== undefined)
    return examples.words(roughUsd(((input + output) * TOKENS_OF_WORDS) / 1e6))
  return undefined
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Dollars to two figures, never as a power of ten. */
function roughUsd(dollars: number): string {
  if (dollars === 0) return moneyText('0')
  const places = Math.max(2, 1 - Math.floor(Math.log10(dollars)))
  return moneyText(dollars.toFixed(Math.min(places, 9)))
}
