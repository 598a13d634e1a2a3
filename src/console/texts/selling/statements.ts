// The console's words for the page of statements. A page must not have words of its own.

import { numberText } from '../../language'

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
    `${name} ${percent} %, ${included ? 'included' : 'added'}`,
  model: 'Model',
  requests: 'Requests',
  paid: 'Paid',
  total: 'Total',
  nothingUsed: 'Nothing was used in this month.',
  transfers: 'Payments and corrections',
  kind: 'Movement',
  amount: 'Amount',
  note: 'Note',
  noTransfers: 'No payments or corrections in this month.',
  hash: 'SHA-256',
  open: 'Open to print',
  issue: 'Issue a month',
  issueAction: 'Issue statements',
  monthHint: 'A past month in UTC, such as 2026-10',
  accountHint: 'Empty: all with a balance or a movement',
  issueMeans:
    'Statements are numbered without gaps and never change once issued. Accounts that have one for this month keep it.',
  issuedCount: (count: number, month: string) =>
    count === 0
      ? `Nothing to issue for ${month}: each account with a balance or a movement has its statement.`
      : `${count === 1 ? '1 statement' : `${numberText(count)} statements`} of ${month} issued.`,
  verify: 'Verify all',
  verified: (count: number) =>
    count === 1 ? '1 statement is unchanged.' : `${numberText(count)} statements are unchanged.`,
  noneOfHolder: 'No statements yet. Your operator can issue them after the end of a month.',
  empty: 'No matching statements. Issue those of a past month.',
}
