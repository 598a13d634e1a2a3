// Reads the text form of Prometheus, as far as the tests ask: names and samples with their labels.

export interface Scraped {
  names: ReadonlySet<string>
  /** The sum of the samples that have these labels; undefined if there are none. */
  value(name: string, labels: Readonly<Record<string, string>>): number | undefined
  /** How many values a histogram has seen. */
  count(name: string, labels: Readonly<Record<string, string>>): number | undefined
}

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export function parseMetrics(text: string): Scraped {
  const samples = text.split('\n').flatMap((line): Sample[] => {
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) return []
    return [{ name, labels: labelsOf(labels), value: Number(value) }]
  })
  const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const value: Scraped['value'] = (name, labels) => {
    const found = samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, each]) => sample.labels[key] === each),
    )
    return found.length === 0 ? undefined : found.reduce((sum, sample) => sum + sample.value, 0)
  }
  return { names, value, count: (name, labels) => value(`${name}_count`, labels) }
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]),
  )
}
