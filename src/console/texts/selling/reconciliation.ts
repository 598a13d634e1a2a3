// The console's words for the page that compares vendors' bills with the charges. A page must not have words of its own.

import { named, numberText } from '../../language'

export const reconciliation = {
  byFile: "Compare a vendor's file with the charges",
  byFileMeans:
    'Export usage or cost by day and model at the vendor, as CSV. The files stay in this browser: only their sums are compared, and nothing is changed.',
  drop: 'Drop CSV files here, or choose them',
  files: (names: string) => `Files: ${names}`,
  upstream: 'Upstream',
  month: 'Month',
  monthHint: 'In UTC, such as 2026-10',
  tolerance: 'Tolerance in percent',
  compare: 'Compare',
  unreadable: (file: string, why: string) => `${file} cannot be compared: ${why}.`,
  nothingOfMonth: (month: string) => `The files contain nothing for ${month}.`,
  noFiles: 'Choose the files that the vendor exported first.',
  same: (compared: number) =>
    compared === 1
      ? 'The figures agree: 1 was compared.'
      : `The figures agree: ${numberText(compared)} were compared.`,
  differ: (count: number, compared: number) =>
    `${numberText(count)} of ${numberText(compared)} figures ${count === 1 ? 'differs' : 'differ'}.`,
  withoutFigures: (count: number) =>
    `${numberText(count)} ${count === 1 ? 'charge has' : 'charges have'} no usage from the vendor and cannot be compared.`,
  shared: (models: string) => `Other upstreams serve these models too: ${models}.`,
  day: 'Day',
  model: 'Model',
  figure: 'Figure',
  figures: named({
    requests: 'requests',
    input_tokens: 'input tokens',
    output_tokens: 'output tokens',
    cost_usd: 'cost',
  }),
  vendor: 'Vendor',
  charges: 'Charges',
  difference: 'Difference',
  differences: 'Differences',
  sums: 'Sums of the month',
  own: 'Prices that vendors reported for single requests',
  ownMeans: 'By model, for the last 30 days, next to the price list.',
  requests: 'Requests',
  ours: 'Price list',
  noReports: 'No vendor reported a price in the last 30 days.',
  notCompared: (count: number) =>
    `${numberText(count)} ${count === 1 ? 'request' : 'requests'} could not be compared: the vendor's figure is unusable.`,
}
