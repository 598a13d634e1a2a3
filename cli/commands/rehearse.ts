// gateway rehearse: shows what the charges of a period would have been at other prices. It must never write, or apply a price.

import type { ReplyOf } from '../../src/admin/client'
import { gatewayCommand } from '../lib/gateway'
import { readPairs, readPlans, readPrices } from '../lib/other-prices'
import { print, printJson, say } from '../view/output'
import { printTable, type Shown, tableOf } from '../view/table'
import { parseDurationMs, parsePeriod, periodArgs, periodQueryOf } from '../view/times'

const DEFAULT_SINCE = '30d'

type Rehearsal = ReplyOf<'rehearsePrices'>
type Sums = Rehearsal['total']
type Reason = Rehearsal['kept'][number]['reason']

/** Why requests keep their amount, as the end of a line. */
const REASONS: Record<Reason, string> = {
  usage: 'quantities that are not stored (the request log no longer has them)',
  prices: 'a stored price list that cannot be read',
  cut: 'answers that were cut when the balance ran out',
  model: 'models that are not in the configuration',
  plan: 'accounts with a plan that is not configured',
  unit: 'something for which the new prices have no price',
  variant: 'a size, quality or resolution that is not stored',
  calls: 'several calls of unknown length, priced by length',
  closed: 'months that are closed',
}

export const rehearse = gatewayCommand({
  name: 'rehearse',
  description: 'Show what accounts would have paid at other prices. Changes nothing.',
  examples: [
    'gateway rehearse --prices openai.json',
    'gateway rehearse --month 2026-10 --prices new.config.ts --plan gold=gold.json',
    'gateway rehearse --since 90d --route gpt-4.1-mini=gpt-6-luna --json',
  ],
  args: {
    ...periodArgs,
    since: {
      type: 'string',
      valueHint: '30d',
      description: `How far back, a date, or all (default ${DEFAULT_SINCE})`,
    },
    prices: {
      type: 'string',
      valueHint: 'FILE',
      description:
        'The prices: a list as prices update takes it, or a configuration (default: the configuration in use)',
    },
    plan: {
      type: 'string',
      valueHint: 'NAME=FILE,…',
      description: 'Files with priceFactor or priceFactors that replace those of plans',
    },
    route: {
      type: 'string',
      valueHint: 'MODEL=MODEL,…',
      description: 'Price the use of one model as if another had served it',
    },
    model: {
      type: 'string',
      valueHint: 'MODEL',
      description: 'Only charges of this model, without refusals',
    },
  },
  async run(args) {
    const now = Date.now()
    const { since = now - parseDurationMs('since', DEFAULT_SINCE), until } = parsePeriod(args, now)
    const { list, models } = args.prices === undefined ? {} : await readPrices(args.prices, args)
    const plans = args.plan === undefined ? undefined : await readPlans(args.plan)
    const routes = args.route === undefined ? undefined : readPairs('route', 'MODEL=MODEL', args.route)
    return async (gateway) => {
      const body = {
        ...periodQueryOf({ since, ...(until !== undefined && { until }) }),
        ...(list && { list }),
        ...(models && { models }),
        ...(plans && { plans }),
        ...(routes && { routes: Object.fromEntries(routes) }),
        ...(args.model !== undefined && { model: args.model }),
      }
      const found = await gateway.call('rehearsePrices', { body: body as never })
      if (args.json) printJson(found)
      else show(found)
    }
  },
})

function show({ accounts, total, kept }: Rehearsal): void {
  if (total.requests === 0) {
    say('There were no requests in this period.')
    return
  }
  const hasCost = total.cost_usd !== null
  const columns: Shown<Sums & { account: string }>[] = [
    ['ACCOUNT', ({ account }) => account, { flexible: true }],
    ['REQUESTS', ({ requests }) => String(requests), { align: 'right' }],
    ['PAID', ({ paid_usd }) => paid_usd, { align: 'decimal' }],
    ['WOULD PAY', ({ would_pay_usd }) => would_pay_usd, { align: 'decimal' }],
    ['COST', ({ cost_usd }) => cost_usd ?? '', { align: 'decimal', optional: true }],
    ['MARGIN', ({ margin_usd }) => margin_usd ?? '', { align: 'decimal' }],
    ['REFUSED', ({ refused }) => String(refused), { align: 'right' }],
  ]
  printTable(
    accounts.length > 1 ? [...accounts, { account: 'total', ...total }] : accounts,
    columns.filter(([title]) => hasCost || (title !== 'COST' && title !== 'MARGIN')),
  )
  showKept(kept)
  say(differenceText(total))
  if (total.refused > 0)
    say(
      `Refused: the balance was below the new price, so a request would have met 402, worth $${total.refused_usd}.`,
    )
  if (hasCost && total.amount_with_cost_usd !== total.would_pay_usd)
    say(`The margin covers $${total.amount_with_cost_usd}: the cost of the rest is not known.`)
}

function showKept(kept: Rehearsal['kept']): void {
  if (kept.length === 0) return
  const table = tableOf(kept, [
    ['NOT PRICED', ({ requests }) => String(requests), { align: 'right' }],
    ['PAID', ({ paid_usd }) => paid_usd, { align: 'decimal' }],
    ['THEY KEEP THEIR AMOUNT BECAUSE OF', ({ reason }) => REASONS[reason], { flexible: true, widthMin: 30 }],
  ])
  print(`\n${table}`)
}

function differenceText({ difference_usd: difference }: Sums): string {
  if (Number(difference) === 0) return 'The same as was paid.'
  return difference.startsWith('-')
    ? `$${difference.slice(1)} less than was paid.`
    : `$${difference} more than was paid.`
}
