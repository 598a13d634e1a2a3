// Shows prices to people and in JSON: those of a model, and that of a request. It must never compute a price: it shows
// what the gateway would charge.

import { quantityLines } from '../../src/billing/reports/bill-lines'
import { aboveKey, describePrices, dollarsOfOne } from '../../src/config/models/prices'
import type { ModelConfig } from '../../src/config/schema'
import { pluralOf, type Unit } from '../../src/contract/units'
import { formatUsd } from '../../src/lib/money'
import type { ListedModel } from '../configuration/catalogue'
import { wordsOf } from '../lib/price-question'
import type { PriceAnswer } from '../lib/price-request'
import { print, say } from './output'
import { type Column, renderTable } from './table'

const TOKEN_WORDS: Record<string, string> = { input: 'in', output: 'out', cached_input: 'cached' }

/** The prices of a model in brief: `0.25 in, 2.00 out per 1M tokens`, `1k 0.02, 2k 0.07 per image`. */
export function priceText({ free, price = {} }: ModelConfig): string {
  if (free) return 'free'
  const { service_tiers: tiers = {}, minimum, source: _, as_of: __, ...base } = price
  return [
    ...rangeTexts(base),
    ...Object.entries(tiers).map(([tier, prices]) =>
      typeof prices === 'string' ? `${tier} x ${prices}` : `${tier}: ${rangeTexts(prices).join('; ')}`,
    ),
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
  ].join('; ')
}

/** Prices, and those of longer prompts. */
function rangeTexts(price: object): string[] {
  const tokens: string[] = []
  const others: string[] = []
  const ranges: string[] = []
  for (const [key, amount] of Object.entries(price)) {
    const above = /^above_(.*)$/.exec(key)?.[1]
    if (above) {
      ranges.push(`above ${above}: ${rangeTexts(amount).join('; ')}`)
      continue
    }
    const kind = /^per_1m_(.*)_tokens$/.exec(key)?.[1]
    if (kind) tokens.push(`${amount} ${TOKEN_WORDS[kind] ?? kind.replaceAll('_', ' ')}`)
    else others.push(`${amountText(amount)} ${keyText(key)}`)
  }
  return [...(tokens.length > 0 ? [`${tokens.join(', ')} per 1M tokens`] : []), ...others, ...ranges]
}

function keyText(key: string): string {
  return key.replace('_1m_', ' 1M ').replace('_1k_', ' 1K ').replaceAll('_', ' ')
}

/** One amount, or one for each size or quality. */
function amountText(amount: unknown): string {
  if (typeof amount !== 'object' || amount === null) return String(amount)
  return Object.entries(amount)
    .map(([tier, each]) => `${tier} ${each}`)
    .join(', ')
}

export function answerJson({ model }: ListedModel, answer: PriceAnswer) {
  const { operation, quantities, amountNano, costNano, isMost } = answer
  return {
    model: model.id,
    operation,
    amount_usd: formatUsd(amountNano),
    /** The vendor's price; null if unknown. */
    cost_usd: costNano === null ? null : formatUsd(costNano),
    /** True: the maximum price of the request, not its actual price. */
    at_most: isMost,
    quantities: Object.fromEntries(
      Object.entries(quantities).map(([unit, count]) => [pluralOf(unit as Unit), count]),
    ),
    price: describePrices(answer.table.listed),
    ...whichTable(answer),
  }
}

export function showAnswer({ model, forms }: ListedModel, answer: PriceAnswer): void {
  const { operation, quantities, prices, amountNano, costNano, isMost } = answer
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
  const rows = quantityLines(quantities, prices).map(({ unit, count, priceUsd, per, amountUsd }) => [
    wordsOf(unit),
    String(count),
    per === '' ? priceUsd : `${priceUsd} per ${per}`,
    amountUsd,
  ])
  const { service_tier: tier, above } = whichTable(answer)
  const which = [tier, above?.replace('_', ' ')].filter((word) => word !== undefined).join(', ')
  const total = `${isMost ? 'at most' : 'total'}${which && ` (${which})`}`
  print(renderTable(columns, [...rows, [total, '', '', formatUsd(amountNano)]]))
  if (costNano !== null)
    say(`\nThe vendor charges ${isMost ? 'at most ' : ''}$${formatUsd(costNano)} for it.`)
  if (answer.table.minimumPico > 0)
    say(`\nA request costs at least ${dollarsOfOne(answer.table.minimumPico)}.`)
  if (isMost) {
    say('\nThis amount is held when the request arrives; its real cost is charged.')
  }
}

/** The service tier or prompt length whose prices apply. */
function whichTable({ table: { tier, above } }: PriceAnswer): { service_tier?: string; above?: string } {
  return { ...(tier !== null && { service_tier: tier }), ...(above > 0 && { above: aboveKey(above) }) }
}
