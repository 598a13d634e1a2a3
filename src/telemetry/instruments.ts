// Counters and histograms that cost a few additions to update, with a limited number of label values: whatever callers send, a
// metric never has more series than its limit. They know no format; `exposition.ts` writes them.

/** A metric for output: its name, and how to read it. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The current samples. */
  read(): readonly MetricSample[] | Promise<readonly MetricSample[]>
}

export interface MetricSample {
  /** Follows the metric's name: `_bucket`. */
  suffix?: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** Label values beyond this many combinations become one of this name. */
const MAX_SERIES = 1_000
const OTHER = 'other'

/** Series by their label values. */
class Series<Value> {
  private readonly byKey = new Map<string, { labels: Record<string, string>; value: Value }>()
  private readonly names: readonly string[]
  private readonly create: () => Value

  constructor(names: readonly string[], create: () => Value) {
    this.names = names
    this.create = create
  }

  /** The series of these values, in the order of the names. */
  of(values: readonly string[]): Value {
    const known = this.byKey.get(values.join('\u0000'))
    if (known) return known.value
    const kept = this.byKey.size < MAX_SERIES ? values : values.map(() => OTHER)
    return this.byKey.get(kept.join('\u0000'))?.value ?? this.add(kept)
  }

  all(): Iterable<{ labels: Record<string, string>; value: Value }> {
    return this.byKey.values()
  }

  private add(values: readonly string[]): Value {
    const labels = Object.fromEntries(this.names.map((name, index) => [name, values[index] ?? '']))
    const value = this.create()
    this.byKey.set(values.join('\u0000'), { labels, value })
    return value
  }
}

/** One series of a counter. */
export interface Tally {
  value: number
}

export class Counter implements Metric {
  readonly type = 'counter'
  private readonly series: Series<Tally>

  constructor(
    readonly name: string,
    readonly help: string,
    labels: readonly string[] = [],
  ) {
    this.series = new Series(labels, () => ({ value: 0 }))
  }

  of(...values: readonly string[]): Tally {
    return this.series.of(values)
  }

  read(): MetricSample[] {
    return [...this.series.all()].map(({ labels, value: { value } }) => ({ labels, value }))
  }
}

/** One series of a histogram. */
export class Distribution {
  sum = 0
  /** How many values fell into each bucket, and beyond the last. */
  readonly counts: number[]
  private readonly bounds: readonly number[]

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
  }
}

export class Histogram implements Metric {
  readonly type = 'histogram'
  private readonly series: Series<Distribution>

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly bounds: readonly number[],
    labels: readonly string[] = [],
  ) {
    this.series = new Series(labels, () => new Distribution(bounds))
  }

  of(...values: readonly string[]): Distribution {
    return this.series.of(values)
  }

  read(): MetricSample[] {
    return [...this.series.all()].flatMap(({ labels, value: { counts, sum } }) => {
      let count = 0
      const buckets = counts.map((inBucket, index): MetricSample => {
        count += inBucket
        const le = index < this.bounds.length ? String(this.bounds[index]) : '+Inf'
        return { suffix: '_bucket', labels: { ...labels, le }, value: count }
      })
      return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }]
    })
  }
}

/** A metric that is read from its source on request. */
export function gauge(
  name: string,
  help: string,
  read: () => readonly MetricSample[] | Promise<readonly MetricSample[]>,
): Metric {
  return { name, help, type: 'gauge', read }
}

/** A metric with a single figure and no labels. */
export function figure(name: string, help: string, read: () => number): Metric {
  return gauge(name, help, () => [{ labels: {}, value: read() }])
}
