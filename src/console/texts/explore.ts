// The console's words of how requests are explored, by operators and holders of keys. A part must not have words of its own.

import { timeFormat } from '../zone'

const exactTime = timeFormat({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const count = (number: number) => number.toLocaleString('en')
/** `812`, `41.2k`, `3.1M`. */
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export const explore = {
  search: 'Search requests',
  searchExample: 'Text, error:code, model:name, >5s, >$0.01',
  find: 'Find',
  conditions: 'Conditions',
  remove: 'Remove',
  condition: (name: string, value: string) => {
    if (name === 'slower_ms') return `Longer than ${Number(value) / 1_000} s`
    if (name === 'above_usd') return `Paid more than $${value}`
    return name === 'text' ? `Text: ${value}` : `Metadata: ${value}`
  },
  facets: {
    status: 'Status',
    error: 'Error',
    refused_by: 'Refused by',
    model: 'Model',
    key: 'Key',
    spender: 'Spender',
    account: 'Account',
    upstream: 'Upstream',
    operation: 'Operation',
  },
  ofWhichFailed: (failed: number) => `${count(failed)} of them failed`,
  more: (further: number) => `${further} more`,
  fewer: 'Fewer',
  requestsOverTime: 'Requests over time',
  spendOverTime: 'Paid over time, in dollars',
  spend: 'Spend',
  answered: 'Answered',
  failed: 'Failed',
  paid: 'Paid',
  requests: (requests: number) => (requests === 1 ? '1 request' : `${count(requests)} requests`),
  failedBy: (share: string, failed: number, by: Readonly<Record<'caller' | 'gateway' | 'vendor', number>>) =>
    `${count(failed)} failed (${share}): ${count(by.vendor)} by vendors, ${count(by.gateway)} by the gateway, ${count(by.caller)} by callers who disconnected`,
  paidInAll: (usd: string) => `${usd} paid`,
  tokens: (input: number, output: number) => `${short.format(input)} tokens in, ${short.format(output)} out`,
  firstByte: 'First byte',
  duration: 'Total',
  percentiles: (name: string, p50: string, p99: string) => `${name} p50 ${p50}, p99 ${p99}`,
  covered: (rows: number, since: Date) =>
    `Of the last ${count(rows)} requests, since ${exactTime.format(since)}`,
} as const
