// Writes metrics in the text forms of Prometheus and OpenMetrics, through the library that knows them. An unreadable metric must
// never hide the others.

import type { Registry } from 'prom-client'
import type { Log } from '../lib/system'
import type { Metric } from './instruments'

/** A metric in the form that the library writes. */
interface Shown {
  name: string
  help: string
  type: string
  get(): Promise<{
    name: string
    help: string
    type: string
    values: { metricName: string; labels: Readonly<Record<string, string>>; value: number }[]
  }>
}

/** Writes all metrics in the form that a reader accepts. The library is loaded with the first request. */
export async function expose(
  metrics: readonly Metric[],
  accept: string | null,
  log: Log,
): Promise<{ contentType: string; text: string }> {
  const { Registry } = await import('prom-client')
  const contentType = wantsOpenMetrics(accept)
    ? Registry.OPENMETRICS_CONTENT_TYPE
    : Registry.PROMETHEUS_CONTENT_TYPE
  // A new one each time: the library permanently renames counters for one form.
  const registry = new Registry() as Registry<typeof contentType>
  registry.setContentType(contentType)
  for (const metric of await Promise.all(metrics.map((each) => shownOf(each, log)))) {
    if (metric) registry.registerMetric(metric as never)
  }
  return { contentType, text: await registry.metrics() }
}

function wantsOpenMetrics(accept: string | null): boolean {
  return accept?.includes('application/openmetrics-text') === true
}

async function shownOf(metric: Metric, log: Log): Promise<Shown | undefined> {
  const { name, help, type } = metric
  try {
    const samples = await metric.read()
    const shown: Shown = {
      name,
      help,
      type,
      async get() {
        // The library has already adapted the name to its output format.
        const values = samples.map(({ suffix = '', labels, value }) => ({
          metricName: shown.name + suffix,
          labels,
          value,
        }))
        return { name: shown.name, help, type, values }
      },
    }
    return shown
  } catch (error) {
    log('metric_not_read', { metric: metric.name, reason: String(error) })
    return undefined
  }
}
