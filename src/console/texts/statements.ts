// The console's words of the page of statements. A page must not have words of its own.

export const statements = {
  title: 'Statements',
  one: (number: string) => `Statement ${number}`,
  number: 'Number',
  account: 'Account',
  calledAs: 'For',
  month: 'Month',
  period: 'Period',
  fromTo: (from: string, to: string) => `${from} to ${to}, UTC`,
  issued: 'Issued',
  before: 'Before',
  earlier: 'Movements of earlier months',
  moved: 'In and out',
  used: 'Used',
  balance: 'Balance',
  balanceBefore: (day: string) => `Balance before ${day}`,
  balanceOn: (day: string) => `Balance on ${day}`,
  seller: 'Seller',
  tax: (name: string, percent: string, included: boolean) =>
    `${name} ${percent} %, ${included ? 'contained' : 'on top'}`,
  model: 'Model',
  requests: 'Requests',
  paid: 'Paid',
  total: 'Total',
  nothingUsed: 'Nothing was used in this month.',
  transfers: 'Payments and corrections',
  kind: 'Movement',
  amount: 'Amount',
  note: 'Note',
  noTransfers: 'No money came or went in this month.',
  hash: 'SHA-256',
  open: 'Open to print',
  issue: 'Issue a month',
  issueAction: 'Issue statements',
  monthHint: 'A month that is over, in UTC, such as 2026-10',
  accountHint: 'Empty: all that moved or had anything',
  issueMeans:
    'Numbers go on without gaps, and what is issued never changes. Accounts that have one of this month keep it.',
  issuedCount: (count: number, month: string) =>
    count === 0
      ? `There was nothing to issue for ${month}: each account that had anything has its statement.`
      : `${count === 1 ? '1 statement' : `${count.toLocaleString('en')} statements`} of ${month} issued.`,
  verify: 'Verify all',
  verified: (count: number) =>
    count === 1
      ? '1 statement is as it was issued.'
      : `${count.toLocaleString('en')} statements are as they were issued.`,
  empty: 'No statements fit. Issue those of a month that is over.',
}
