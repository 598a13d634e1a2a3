// The console's words for the page of usage. A page must not have words of its own.

import { numberText } from '../language'

const count = (number: number) => numberText(number)

export const usage = {
  title: 'Usage',
  by: 'Group by',
  and: 'then by',
  nothingElse: 'nothing else',
  byDimension: (name: string) => `Group by ${name}`,
  andDimension: (name: string) => `then ${name}`,
  dimensions: {
    key: 'Key',
    account: 'Account',
    model: 'Model',
    operation: 'Operation',
    day: 'Day (UTC)',
    hour: 'Hour (UTC)',
  },
  month: 'Month…',
  total: 'Total',
  requests: 'Requests',
  running: 'Running',
  notCharged: 'Not charged',
  failedByVendor: 'Failed: vendors',
  failedByGateway: 'Failed: gateway',
  failedByCaller: 'Failed: callers',
  failed: (vendor: number, gateway: number, caller: number) =>
    `${count(vendor + gateway + caller)} failed: ${count(vendor)} by vendors, ${count(gateway)} by the gateway, ${count(caller)} by callers. Most are not charged.`,
  paid: 'Revenue',
  revenue: 'Revenue',
  marginShare: 'Margin %',
  before: { before: 'Before', year: 'A year earlier', none: '' },
  change: 'Change',
  isNew: 'new',
  changed: (now: string, percent: string, compared: string, before: string) =>
    `${now} is ${percent} vs the ${compared} (${before}).`,
  nothingBefore: (compared: string) => `Nothing was paid in the ${compared}.`,
  tooMany:
    'The result has more than 20,000 rows. Choose a shorter range, days instead of hours, or one dimension.',
  asFile: 'Download all rows as CSV',
  cost: 'Cost',
  margin: 'Margin',
  shortfall: 'Shortfall',
  saved: 'Saved',
  savedHint:
    'Saved by vendor caches: the plain price of cached input minus the price paid. Reads all charges of the period.',
  savedUnknown: (count: number) => `Savings of ${count} requests are unknown and not in the sum.`,
  others: 'others',
  chart: (time: string) => `Revenue by ${time} (UTC), in dollars`,
}
