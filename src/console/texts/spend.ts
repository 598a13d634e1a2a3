// The console's words for spending by time and by model. A page must not have words of its own.

export const spend = {
  spend: (span: 'hour' | 'day') => (span === 'hour' ? 'Spend by hour in dollars' : 'Spend by day in dollars'),
  byModel: 'Spend by model',
  csvByModel: 'CSV by model',
  csvBy: (span: 'hour' | 'day') => (span === 'hour' ? 'CSV by hour' : 'CSV by day'),
  model: 'Model',
  requests: 'Requests',
  share: 'Share',
  amount: 'Amount',
  total: 'Total',
  day: 'Day',
  hour: 'Hour',
}
