// The included dashboard and alert rules: every query is valid by Prometheus' own grammar, and uses only existing
// metrics, labels and events.

import { describe, expect, test } from 'bun:test'
import { parser } from '@prometheus-io/lezer-promql'
import { YAML } from 'bun'
import dashboard from '../../deploy/grafana/gateway.json'
import { logEvents } from '../../src/lib/log-events'
import { Metrics } from '../../src/telemetry/metrics'

const rules = YAML.parse(await Bun.file('deploy/prometheus/alerts.yml').text()) as {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
}
const alerts = rules.groups.flatMap((group) => group.rules)

const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr }))),
  ...alerts.map(({ alert, expr }) => ({ title: alert, expr })),
].map(({ title, expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '5m') }))

/** The names of metrics in queries. */
function known(): Set<string> {
  const metrics = new Metrics(() => 0)
  const idle = {
    db: { kind: 'sqlite' },
    now: () => 0,
    version: '',
    upstreams: () => [],
    runningRequests: () => 0,
    freeBytes: async () => 0,
    certificateEndsAt: () => 0,
    backupEveryMs: () => 0,
  }
  const figures = () => ({ residentBytes: 0, cpuSeconds: 0 })
  const world = { ...idle, lostRows: () => 0, processFigures: figures }
  metrics.watch(world as never, { monotonic: () => 0, after: () => () => {} })()
  const names = metrics
    .all()
    .flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
  // Prometheus creates it for every target.
  return new Set([...names, 'up'])
}

/** The texts of all nodes with this name in a query. */
function nodes(expr: string, name: string): string[] {
  const found: string[] = []
  parser.parse(expr).iterate({
    enter(node) {
      if (node.name === name) found.push(expr.slice(node.from, node.to))
    },
  })
  return found
}

const faultsIn = (expr: string) => nodes(expr, '⚠').length

describe('queries', () => {
  test('are valid PromQL', () => {
    expect(queries.filter(({ expr }) => faultsIn(expr) > 0)).toEqual([])
    expect(queries.length).toBeGreaterThan(35)
    // The parser does reject invalid queries.
    expect(faultsIn('sum by (x (rate(y[5m]))')).toBeGreaterThan(0)
    expect(faultsIn('rate(y[5m) > ')).toBeGreaterThan(0)
  })

  test('use only existing metrics', () => {
    const names = known()
    const asked = queries.flatMap(({ expr }) =>
      nodes(expr, 'VectorSelector').map((text) => text.replace(/\{.*/s, '')),
    )
    expect(asked.length).toBeGreaterThanOrEqual(queries.length)
    expect(asked.filter((name) => !names.has(name))).toEqual([])
  })

  test('use every metric of the gateway', () => {
    const shown = queries.map(({ expr }) => expr).join('\n')
    const unseen = [...known()].filter((name) => name.startsWith('gateway_') && !/_(sum|count)$/.test(name))
    const quiet = ['gateway_build_info', 'gateway_start_time_seconds']
    expect(unseen.filter((name) => !shown.includes(name) && !quiet.includes(name))).toEqual([])
  })

  test('name only events that are logged', () => {
    const texts = queries.flatMap(({ expr }) => [...expr.matchAll(/event(?:=~|=|!=)"([^"]+)"/g)])
    const events = texts.flatMap(([, text = '']) => text.split('|'))
    expect(events.length).toBeGreaterThan(4)
    expect(events.filter((event) => !Object.hasOwn(logEvents, event))).toEqual([])
  })
})

test('every alert has one description of what is wrong', () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { annotations } of alerts) expect(annotations.summary.length).toBeGreaterThan(10)
})
