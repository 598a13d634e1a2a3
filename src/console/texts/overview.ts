// The console's words of the overview. A page must not have words of its own.

export const overview = {
  title: 'Overview',
  spend: 'Spend',
  requests: 'Requests',
  errors: 'Errors',
  firstByte: 'First byte, p50',
  held: 'Held now',
  openTasks: 'Open tasks',
  failed: (count: number) => (count === 1 ? '1 failed' : `${count.toLocaleString('en')} failed`),
  p99: (duration: string) => `p99 ${duration}`,
  noAnswers: 'no answers',
  holds: (count: number) => (count === 1 ? '1 hold' : `${count.toLocaleString('en')} holds`),
  change: (percent: number) =>
    `${percent > 0 ? '+' : ''}${percent.toLocaleString('en').replace('-', '−')} % to before`,
  nothingBefore: 'nothing before',
  spanUnit: (milliseconds: number) => (milliseconds >= 86_400_000 ? 'day (UTC)' : 'hour'),
  spendChart: (unit: string) => `Spend by ${unit} and model, in dollars`,
  requestsChart: (unit: string) => `Requests by ${unit}`,
  speedChart: (unit: string) => `Time to the first byte and to the last, by ${unit}`,
  answered: 'answered',
  failedSeries: 'failed',
  firstByteP50: 'first byte p50',
  firstByteP99: 'first byte p99',
  durationP50: 'last byte p50',
  attention: 'Needs attention',
  allWell: 'Nothing needs attention.',
  unknownTasks: (count: number) =>
    count === 1
      ? '1 task is unknown at its vendor: reconcile it'
      : `${count} tasks are unknown at their vendors: reconcile them`,
  down: (upstream: string) => `${upstream} does not answer and is left alone for a while`,
  low: (account: string, available: string, hours: number | null) =>
    `${account} has ${available} left${hours === null ? '' : ` (${hoursText(hours)} at this rate)`}`,
  lowRate: 'Rate: what was spent in the last hour',
  atLimit: (key: string, percent: number, period: string) =>
    `Key ${key} has used ${percent} % of its budget of the ${period}`,
  accountAtLimit: (account: string, percent: number, period: string) =>
    `${account} has used ${percent} % of its budget of the ${period}`,
  planAtLimit: (account: string, percent: number, plan: string, period: string) =>
    `${account} has used ${percent} % of what plan ${plan} lets it spend in a ${period}`,
  failedWebhooks: (count: number) =>
    count === 1 ? '1 webhook was given up' : `${count} webhooks were given up`,
  ending: (model: string, day: string, hasEnded: boolean, successor: string | null) =>
    `${model} ${hasEnded ? 'ended' : 'ends'} at its vendor on ${day}${successor === null ? '' : `; successor: ${successor}`}`,
}

/** Hours as people say them, rounded down: `35 min`, `2 h`, `3 days`. */
function hoursText(hours: number): string {
  if (hours < 1) return `${Math.floor(hours * 60)} min`
  if (hours < 48) return `${Math.floor(hours)} h`
  return `${Math.floor(hours / 24).toLocaleString('en')} days`
}
