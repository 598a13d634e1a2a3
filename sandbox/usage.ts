// Usage objects with deliberate errors, so that billing can be tested against every bad report. It must never count
// tokens: it only distorts what was counted.

import type { UsageFault } from './directives'
import { asObject, type JsonObject, rawNumber } from './json'

/** The usage to report; undefined leaves the member out. */
export function reportUsage(usage: JsonObject, fault: UsageFault | undefined): JsonObject | undefined {
  if (fault === undefined || fault === 'every_chunk' || fault === 'late') return usage
  if (fault === 'missing') return undefined
  return distort(usage, (count) => distortedCount(count, fault))
}

function distort(usage: JsonObject, change: (count: number) => unknown): JsonObject {
  const entries = Object.entries(usage).map(([name, value]) => {
    if (typeof value === 'number') return [name, change(value)]
    const inner = asObject(value)
    return [name, inner ? distort(inner, change) : value]
  })
  return Object.fromEntries(entries) as JsonObject
}

function distortedCount(
  count: number,
  fault: Exclude<UsageFault, 'missing' | 'every_chunk' | 'late'>,
): unknown {
  switch (fault) {
    case 'negative':
      return -Math.max(count, 1)
    case 'string':
      return String(count)
    case 'huge':
      return rawNumber('9007199254740993')
    case 'overflow':
      return 1e308
    case 'nan':
      return rawNumber('NaN')
  }
}
