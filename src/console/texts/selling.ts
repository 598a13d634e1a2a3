// The console's words of the page of selling: codes, money that came in, and what vendors bill. A page must not have words of its own.

export const selling = {
  title: 'Selling',
  parts: { codes: 'Codes', payments: 'Money in', reconciliation: 'Reconciliation' },
  time: 'Time',
  account: 'Customer',
  note: 'Note',
  amount: 'Amount',
  codes: {
    title: 'Codes',
    create: 'New codes',
    createAction: 'Create codes',
    code: 'Code',
    status: 'Status',
    states: [
      ['open', 'open'],
      ['redeemed', 'redeemed'],
      ['revoked', 'revoked'],
      ['expired', 'expired'],
    ] as const,
    worth: 'Worth',
    worthEach: 'Dollars that each is worth',
    count: 'How many',
    expires: 'Expires',
    expiresUtc: 'Expires, UTC',
    expiresHint: 'Empty: never',
    noteHint: 'Kept in the ledger of who redeems it',
    redeemedBy: 'Redeemed by',
    redeemed: 'Redeemed',
    created: 'Created',
    actions: 'Actions',
    revoke: 'Revoke…',
    revokeTitle: (hint: string) => `Revoke the code ${hint}`,
    revokeMeans: (amount: string) => `It is refused permanently: ${amount} cannot be redeemed with it.`,
    empty: 'No codes yet. Create some: a holder of a key redeems one for money.',
    noneFound: 'No codes are in this state.',
    made: (count: number, amount: string) =>
      count === 1 ? `1 code worth ${amount}` : `${count.toLocaleString('en')} codes worth ${amount} each`,
    all: 'All codes',
  },
  payments: {
    title: 'Money in and out of all customers, except for charges',
    sums: 'Sums',
    kind: 'Kind',
    count: 'Movements',
    kinds: {
      payment: 'payment',
      code: 'code',
      credit: 'credit',
      adjust: 'correction',
      allowance: 'allowance',
      allowance_end: 'end of allowance',
    } as Readonly<Record<string, string>>,
    empty: 'No money moved in this time range. Choose a longer one.',
    notCredited: 'Payments that were not credited',
    reason: 'Reason',
    since: 'Since',
    payment: 'Payment',
  },
  reconciliation: {
    byFile: "Compare a vendor's file with the charges",
    byFileMeans:
      'Export usage or cost by day and model at the vendor, as CSV. The files stay in this browser; only their sums are compared. Nothing is changed.',
    drop: 'Drop CSV files here, or choose them',
    files: (names: string) => `Files: ${names}`,
    upstream: 'Upstream',
    month: 'Month',
    monthHint: 'In UTC, such as 2026-10',
    tolerance: 'Tolerance in percent',
    compare: 'Compare',
    unreadable: (file: string, why: string) => `${file} cannot be compared: ${why}.`,
    nothingOfMonth: (month: string) => `The files have nothing of ${month}.`,
    noFiles: 'Choose the files that the vendor exported first.',
    same: (compared: number) =>
      compared === 1
        ? 'The figures agree: 1 was compared.'
        : `All ${compared.toLocaleString('en')} figures agree.`,
    differ: (count: number, compared: number) =>
      count === 1
        ? `1 of ${compared.toLocaleString('en')} figures differs.`
        : `${count.toLocaleString('en')} of ${compared.toLocaleString('en')} figures differ.`,
    withoutFigures: (count: number) =>
      count === 1
        ? '1 charge has no figures of the vendor and cannot be compared.'
        : `${count.toLocaleString('en')} charges have no figures of the vendor and cannot be compared.`,
    shared: (models: string) => `These models are served by other upstreams too: ${models}.`,
    day: 'Day',
    model: 'Model',
    figure: 'Figure',
    figures: {
      requests: 'requests',
      input_tokens: 'input tokens',
      output_tokens: 'output tokens',
      cost_usd: 'cost',
    } as Readonly<Record<string, string>>,
    vendor: 'Vendor',
    charges: 'Charges',
    differences: 'Differences',
    inAll: 'In all',
    own: 'Prices that vendors reported for single requests',
    ownMeans: 'By model, for the last 30 days, next to the price list.',
    requests: 'Requests',
    ours: 'Price list',
    percent: 'Difference',
    differs: 'differs',
    noReports: 'No vendor reported a price in the last 30 days.',
    notCompared: (count: number) =>
      count === 1
        ? '1 request could not be compared: its figure is unusable.'
        : `${count.toLocaleString('en')} requests could not be compared: their figures are unusable.`,
  },
}
