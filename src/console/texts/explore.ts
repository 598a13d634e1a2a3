// The console's words for exploring requests, by operators and holders of keys. A part must not have words of its own.

import { numberText, shortNumberText } from '../language'
import { longTimeText } from '../zone'

export const explore = {
  search: 'Search requests',
  searchExample: 'Text, error:code, model:name, >5s, >$0.01',
  find: 'Find',
  conditions: 'Conditions',
  remove: 'Remove',
  condition: (name: string, value: string) => {
    if (name === 'slower_ms') return `Longer than ${value}`
    if (name === 'above_usd') return `Paid more than ${value}`
    return name === 'text' ? `Text: ${value}` : `Metadata: ${value}`
  },
  facets: {
    status: 'Status',
    error: 'Error',
    failed_by: 'Caused by',
    model: 'Model',
    key: 'Key',
    spender: 'Spender',
    account: 'Account',
    upstream: 'Upstream',
    operation: 'Operation',
  },
  ofWhichFailed: (failed: number) => `${numberText(failed)} of them failed`,
  more: (further: number) => `${further} more`,
  fewer: 'Fewer',
  requestsOverTime: 'Requests over time',
  spendOverTime: 'Paid over time, in dollars',
  spend: 'Spend',
  answered: 'Answered',
  failed: 'Failed',
  paid: 'Paid',
  requests: (requests: number) => (requests === 1 ? '1 request' : `${numberText(requests)} requests`),
  failedBy: (share: string, failed: number, by: Readonly<Record<'caller' | 'gateway' | 'vendor', number>>) =>
    `${numberText(failed)} failed (${share}): ${numberText(by.vendor)} by vendors, ${numberText(by.gateway)} by the gateway, ${numberText(by.caller)} by callers`,
  paidInAll: (usd: string) => `${usd} paid`,
  tokens: (input: number, output: number) =>
    `${shortNumberText(input)} tokens in, ${shortNumberText(output)} out`,
  firstByte: 'First byte',
  duration: 'Total',
  percentiles: (name: string, p50: string, p99: string) => `${name} p50 ${p50}, p99 ${p99}`,
  covered: (rows: number, since: Date) =>
    `Of the last ${numberText(rows)} requests, since ${longTimeText(since)}`,
} as const
