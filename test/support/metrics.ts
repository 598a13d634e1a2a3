// Reads the text formats of Prometheus and OpenMetrics: names and samples with their labels. A line of neither format, or a sample
// without a preceding type, is a fault.

export interface Scraped {
  names: ReadonlySet<string>
  /** The sum of the samples that have these labels; undefined if there are none. */
  value(name: string, labels: Readonly<Record<string, string>>): number | undefined
  /** The number of values that a histogram has counted. */
  count(name: string, labels: Readonly<Record<string, string>>): number | undefined
}

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const SAMPLE = /^([a-z_]+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/

export function parseMetrics(text: string): Scraped {
  const samples = text.split('\n').flatMap((line): Sample[] => {
    if (line === '' || /^# (HELP|UNIT) [a-z_]+ .*$/.test(line)) return []
    if (/^# TYPE [a-z_]+ (counter|gauge|histogram|info)$/.test(line) || line === '# EOF') return []
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
    if (name === undefined || Number.isNaN(Number(value))) throw new Error(`this is not a sample: ${line}`)
    return [{ name, labels: labelsOf(labels), value: Number(value) }]
  })
  const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  for (const { name } of samples) {
    const family = name.replace(/_(bucket|sum|count|total)$/, '')
    if (!names.has(name) && !names.has(family)) throw new Error(`${name} has no type`)
  }
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
