// The console's words of the page of usage. A page must not have words of its own.

export const usage = {
  title: 'Usage',
  by: 'Sum by',
  and: 'and by',
  nothingElse: 'alone',
  byDimension: (name: string) => `By ${name}`,
  andDimension: (name: string) => `and ${name}`,
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
  free: 'Free',
  paid: 'Paid',
  cost: 'Cost',
  margin: 'Margin',
  shortfall: 'Shortfall',
  saved: 'Saved',
  savedHint:
    'Saved by caches of vendors: the price of cached input as plain input, less what was paid for it. It reads all charges of the period.',
  savedUnknown: (count: number) =>
    `What caches saved is not known for ${count} requests, which are not in the sum.`,
  others: 'others',
  chart: (time: string) => `Paid by ${time} (UTC), in dollars`,
}
