// What was paid for a request, line by line, so that it can be checked by hand: each quantity at its price, and the rest of the
// amount. Nothing is computed here: the server makes the lines as it makes prices.

import type { Reply } from '../api'
import { Code } from '../parts/code'
import { Money, moneyText, nanoOf, sumUsd } from '../parts/money'
import { Facts } from '../parts/panel'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { texts } from '../texts'

const words = texts.requests

export type ChargeJson = Reply<'getRequest'>['charges'][number]
type Line = NonNullable<ChargeJson['lines']>[number]

const NOTHING = '0.00'

export function Charge({ charge }: { charge: ChargeJson }) {
  const { amount_usd: paid, held_usd: held, cost_usd: cost, margin_usd: margin } = charge
  const { vendor_cost_usd: named, list_cost_usd: listed, vendor_percent: percent } = charge
  const givenBack = charge.state === 'held' ? 0n : nanoOf(held) - nanoOf(paid)
  return (
    <section>
      <h3>{charge.id.endsWith(':late') ? words.late : words.charge}</h3>
      <Facts
        facts={[
          [texts.state, <Status state={charge.state} key="state" />],
          [words.held, <Money usd={held} key="held" />],
          [words.paid, <Money usd={paid} key="paid" />],
          givenBack > 0n && [words.givenBack, <Money usd={sumUsd([held, `-${paid}`])} key="back" />],
          cost !== null && [words.cost, <Money usd={cost} key="cost" />],
          margin !== null && [
            words.margin,
            <>
              <Money usd={margin} /> {shareOf(margin, paid)}
            </>,
          ],
          named !== null && [words.vendorCost, <Money usd={named} key="vendor" />],
          listed !== null && [
            words.listCost,
            <>
              <Money usd={listed} /> {percent !== null && words.vendorApart(percent)}
            </>,
          ],
          charge.shortfall_usd !== NOTHING && [
            words.shortfall,
            <Money usd={charge.shortfall_usd} key="short" />,
          ],
          [words.usageSource, words.usageSources[charge.usage_source ?? ''] ?? charge.usage_source],
          [words.endedBy, charge.ended_by],
        ]}
      />
      {charge.state === 'settled' && <Price charge={charge} />}
      <details>
        <summary>{words.usageAndPrices}</summary>
        <Code
          label={words.usageAndPrices}
          text={JSON.stringify({ usage: charge.usage, prices: charge.prices }, null, 2)}
        />
      </details>
    </section>
  )
}

/** An amount as a share of another, in brackets; empty if the other is zero. */
function shareOf(part: string, all: string): string {
  const share = texts.share(Number(nanoOf(part)), Number(nanoOf(all)))
  return share && `(${share})`
}

function Price({ charge: { lines, amount_usd: paid } }: { charge: ChargeJson }) {
  if (lines === null) return <p class="quiet">{words.noLines}</p>
  const columns: readonly Column<Line>[] = [
    { title: words.quantity, isFirstLine: true, cell: lineText, footer: words.paid },
    {
      title: words.amount,
      isNumber: true,
      isFirstLine: true,
      cell: ({ amount_usd }) => <Money usd={amount_usd} />,
      footer: <Money usd={paid} />,
    },
  ]
  return (
    <Table label={words.price} rows={lines} columns={columns} keyOf={lineText} empty={words.nothingUsed} />
  )
}

function lineText(line: Line): string {
  if (line.kind !== 'quantity') return words.otherAmounts[line.kind]
  return words.quantityAtPrice(line.count, line.unit, moneyText(line.price_usd), line.per)
}
