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
  others: 'others',
  chart: (time: string) => `Paid by ${time} (UTC), in dollars`,
}
