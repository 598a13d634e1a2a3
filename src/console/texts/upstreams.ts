// The console's words for the page of upstreams. A page must not have words of its own.

import { named, numberText } from '../language'

export const upstreams = {
  title: 'Upstreams',
  parts: { state: 'State', reconciliation: 'Reconciliation' },
  upstream: 'Upstream',
  kind: 'Kind',
  models: 'Models',
  running: 'Running / at most',
  requests: 'Requests',
  failed: 'Failed',
  firstByte: 'First byte, p50',
  slowest: 'p99',
  duration: 'Last byte, p50',
  address: 'Address',
  empty: 'No upstream can be used yet: none has a key.',
  unknown: (name: string) => `There is no upstream ${name} in the configuration in force.`,
  failures: 'Failed requests',
  model: 'Model',
  refusals: 'Refused by vendors',
  refusalsMean:
    'Requests that vendors refused because of their content, by model and field. If a field can be left out, name it in omittedFields.',
  noRefusals: 'No vendor has refused a request because of its content.',
  field: 'Field',
  words: "Vendor's message",
  count: 'Count',
  last: 'Last',
  states: named({ none: 'no key', closed: 'ok', open: 'down', 'half-open': 'trying again' }),
  drills: 'Running drills',
  drill: (upstream: string, fault: string, percent: number, keys: string, ends: string) =>
    `Drill: ${upstream} fails with ${fault} for ${numberText(percent)} % of the requests of ${keys}, until ${ends} UTC`,
  drillKeys: (count: number) => (count === 1 ? '1 key' : `${count} keys`),
  stopDrill: 'End the drill',
  test: 'Test',
  tested: named({ ready: 'answers and accepts the key', reached: 'answers', failed: 'failed' }),
}
