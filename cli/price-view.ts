// How prices read to people and in JSON: those of a model, and what one request comes to.
// It must never compute a price: what it shows is what the line would charge.

import type { ModelConfig } from '../src/config'
import { formatUsd } from '../src/lib/money'
import { describePrices } from '../src/price-config'
import { type Prices, priceNano } from '../src/prices'
import type { Unit } from '../src/units'
import type { ListedModel } from './catalogue'
import { print, say } from './output'
import { wordsOf } from './price-question'
import type { PriceAnswer } from './price-request'
import { type Column, renderTable } from './table'

const TOKEN_WORDS: Record<string, string> = { input: 'in', output: 'out', cached_input: 'cached' }

/** The prices of an entry in few words: `0.25 in, 2.00 out per 1M tokens`, `1k 0.02, 2k 0.07 per image`. */
export function priceText({ free, price = {} }: ModelConfig): string {
  if (free) return 'free'
  const tokens: string[] = []
  const others: string[] = []
  for (const [key, amount] of Object.entries(price)) {
    const kind = /^per_1m_(.*)_tokens$/.exec(key)?.[1]
    if (kind) tokens.push(`${amount} ${TOKEN_WORDS[kind] ?? kind.replaceAll('_', ' ')}`)
    else others.push(`${amountText(amount)} ${key.replace('1m', '1M').replaceAll('_', ' ')}`)
  }
  return [...(tokens.length > 0 ? [`${tokens.join(', ')} per 1M tokens`] : []), ...others].join('; ')
}

/** One amount, or one for each size or quality. */
function amountText(amount: unknown): string {
  if (typeof amount !== 'object' || amount === null) return String(amount)
  return Object.entries(amount)
    .map(([tier, each]) => `${tier} ${each}`)
    .join(', ')
}

export function answerJson({ model }: ListedModel, answer: PriceAnswer) {
  const { operation, quantities, prices, amountNano, isMost } = answer
  return {
    model: model.id,
    operation,
    amount_usd: formatUsd(amountNano),
    /** True: the most that it can cost, not what it will cost. */
    at_most: isMost,
    quantities: Object.fromEntries(Object.entries(quantities).map(([unit, count]) => [`${unit}s`, count])),
    price: describePrices(prices),
  }
}

export function showAnswer({ model, forms }: ListedModel, answer: PriceAnswer): void {
  const { operation, quantities, prices, amountNano, isMost } = answer
  const columns: Column[] = [
    {
      title: forms.some(({ family }) => family.operation !== operation)
        ? `${model.id} ${operation}`
        : model.id,
    },
    { title: 'COUNT', align: 'right' },
    { title: 'PRICE', align: 'right' },
    { title: 'USD', align: 'decimal' },
  ]
  const rows = Object.entries(quantities).map(([unit, count]) => [
    wordsOf(unit),
    String(count),
    unitPrice(unit as Unit, prices),
    formatUsd(priceNano({ [unit as Unit]: count }, prices)),
  ])
  print(renderTable(columns, [...rows, [isMost ? 'at most' : 'total', '', '', formatUsd(amountNano)]]))
  if (isMost) {
    say('\nSo much is held when the request comes in; what it really used is paid when it ends.')
  }
}

/** The price of one unit as the price list has it: `0.25 per 1M`, `0.02`. */
function unitPrice(unit: Unit, prices: Prices): string {
  const [[key, usd] = ['', '']] = Object.entries(describePrices({ [unit]: prices[unit] ?? 0 }))
  return key.startsWith('per_1m_') ? `${usd} per 1M` : String(usd)
}
