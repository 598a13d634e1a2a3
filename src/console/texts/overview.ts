// The console's words for the overview. A page must not have words of its own.

import { numberText } from '../language'

export const overview = {
  title: 'Overview',
  revenue: 'Revenue',
  cost: 'Cost',
  margin: 'Margin',
  costUnknown: 'no model has a cost',
  ofCosted: (usd: string) => `of ${usd} with a known cost`,
  requests: 'Requests',
  charged: (count: number) => `${numberText(count)} charged; refused requests are not`,
  failures: 'Failures',
  failed: (count: number) => `${numberText(count)} failed`,
  failedBy: (vendor: number, gateway: number, caller: number) =>
    [
      `${numberText(vendor)} by vendors`,
      `${numberText(gateway)} by the gateway`,
      `${numberText(caller)} by callers`,
    ].join(' · '),
  errors: 'Errors',
  firstByte: 'First byte, p50',
  held: 'Held now',
  openTasks: 'Open tasks',
  unknownAmong: (count: number) => `${numberText(count)} unknown at vendors`,
  period: 'period',
  spend: 'Spend',
  p99: (duration: string) => `p99 ${duration}`,
  noAnswers: 'no answers',
  holds: (count: number) => (count === 1 ? '1 hold' : `${numberText(count)} holds`),
  previous: (period: string) => `previous ${period}`,
  aYearBefore: 'a year earlier',
  change: (percent: string, period: string) => `${percent} % vs ${period}`,
  nothingBefore: (period: string) => `${period}: nothing`,
  spanUnit: (milliseconds: number) => (milliseconds >= 86_400_000 ? 'day (UTC)' : 'hour'),
  spendChart: (unit: string) => `Spend by ${unit} and model, in dollars`,
  requestsChart: (unit: string) => `Requests by ${unit}`,
  speedChart: (unit: string) => `Time to the first byte and in total, by ${unit}`,
  answered: 'answered',
  failedSeries: 'failed',
  firstByteP50: 'first byte p50',
  firstByteP99: 'first byte p99',
  durationP50: 'total time p50',
  firstSteps: {
    title: 'First steps',
    done: 'Done',
    steps: {
      upstream: { text: 'Give an upstream the API key of its vendor', action: 'See variables' },
      model: { text: 'Offer a model', action: 'See offer' },
      customer: { text: 'Add a customer with a key and money', action: 'Add customer' },
      request: { text: 'Send the first request', action: 'Open playground' },
      backup: { text: 'Make a backup', action: 'Go to backups' },
    },
    fill: 'Add 30 days of sample traffic',
    fillMeans: 'Adds three customers with about 1,300 simulated, charged requests. Takes up to 3 minutes.',
  },
  attention: 'Needs attention',
  allWell: 'Nothing needs attention.',
  unknownTasks: (count: number) =>
    count === 1
      ? '1 task is unknown at its vendor: reconcile it'
      : `${count} tasks are unknown at their vendors: reconcile them`,
  down: (upstream: string) => `${upstream} does not answer and is skipped for a while`,
  low: (account: string, available: string, hours: number | null) =>
    `${account} has ${available} left${hours === null ? '' : ` (${hoursText(hours)} at this rate)`}`,
  lowRate: 'Rate: spending of the last hour',
  atLimit: (key: string, percent: number, period: string) =>
    `Key ${key} has used ${percent} % of its budget per ${period}`,
  accountAtLimit: (account: string, percent: number, period: string) =>
    `${account} has used ${percent} % of its budget per ${period}`,
  planAtLimit: (account: string, percent: number, plan: string, period: string) =>
    `${account} has used ${percent} % of the budget of plan ${plan} per ${period}`,
  failedWebhooks: (count: number) =>
    count === 1 ? '1 webhook delivery failed' : `${count} webhook deliveries failed`,
  loss: (model: string, lost: string) => `${model} loses money: ${lost} in this range`,
  spike: (key: string, hour: string, median: string) =>
    `Key ${key} spent ${hour} in the last hour; ${median} is usual`,
  expiring: (key: string, when: string) => `Key ${key} expires ${when}`,
  lostLogRows: (count: number) =>
    `${numberText(count)} rows of the request log were lost: its disk is full or too slow`,
  pauseKey: 'Pause',
  topUp: 'Top up',
  reconcile: 'Reconcile',
  check: 'Check',
  changeLimit: 'Change limit',
  changePrice: 'See price',
  extend: 'Extend by 30 days',
  seeModel: 'See model',
  seeWebhooks: 'Send again',
  ending: (model: string, day: string, hasEnded: boolean, successor: string | null) =>
    `${model} ${hasEnded ? 'ended' : 'ends'} at its vendor on ${day}${successor === null ? '' : `; successor: ${successor}`}`,
}

/** Hours as people say them, rounded down: `35 min`, `2 h`, `3 days`. */
function hoursText(hours: number): string {
  if (hours < 1) return `${Math.floor(hours * 60)} min`
  if (hours < 48) return `${Math.floor(hours)} h`
  return `${numberText(Math.floor(hours / 24))} days`
}
