// A configuration that adds to the built-in catalogue: its upstreams, models and aliases are added to those of the catalogue,
// replace them, or remove them. It must never mix two entries of one name.

import { isObject } from '../lib/objects'
import { markupOf } from './models/costs'

/** Parts of the catalogue, each by names. */
const PARTS = ['upstreams', 'models', 'aliases'] as const
type Parts = Record<(typeof PARTS)[number], Record<string, unknown>>

/** The whole configuration instead of one that extends the catalogue, and the faults of the extension. */
export function extended(
  written: unknown,
  catalogue: Readonly<Record<string, unknown>>,
): { value: unknown; faults: string[] } {
  if (!isObject(written) || written.extends === undefined) return { value: written, faults: [] }
  const { extends: base, ...own } = written
  if (base !== 'builtin') {
    return {
      value: own,
      faults: ['extends: only "builtin" can be extended, the catalogue of the executable'],
    }
  }
  const { parts, faults } = withoutRemoved(partsOf(catalogue), own)
  const merged = PARTS.map((part) => [
    part,
    // Anything that is not a record is left unchanged, to be reported by the schema.
    own[part] === undefined || isObject(own[part]) ? { ...parts[part], ...present(own[part]) } : own[part],
  ])
  return { value: { ...own, ...Object.fromEntries(merged) }, faults }
}

/**
 * The parts of the catalogue without the entries that are null in the configuration, and without those that only lead to removed
 * entries.
 */
function withoutRemoved(parts: Parts, own: Record<string, unknown>): { parts: Parts; faults: string[] } {
  const faults: string[] = []
  for (const part of PARTS) {
    for (const [name, entry] of Object.entries(isObject(own[part]) ? own[part] : {})) {
      if (entry !== null) continue
      if (!(name in parts[part]))
        faults.push(
          `${part}.${name}: null removes an entry of the built-in catalogue, which has none of this name`,
        )
      delete parts[part][name]
    }
  }
  const upstreams = { ...parts.upstreams, ...present(own.upstreams) }
  for (const [id, entry] of Object.entries(parts.models)) {
    if (!upstreamsOf(entry).every((name) => name in upstreams)) delete parts.models[id]
  }
  // Prices of the catalogue are the vendors': for anything sold with a markup they are the cost.
  for (const [id, entry] of Object.entries(parts.models)) {
    if (!isObject(entry) || !isObject(entry.price)) continue
    if (markupOf(entry, { markup: own.markup, upstreams }) === undefined) continue
    const { price, ...rest } = entry
    parts.models[id] = { ...rest, cost: price }
  }
  const models = { ...parts.models, ...present(own.models) }
  const patterns = Object.keys(present(own.aliases)).flatMap((name) =>
    name.endsWith('*') ? [name.slice(0, -1)] : [],
  )
  for (const [alias, target] of Object.entries(parts.aliases)) {
    // A model of the configuration takes precedence over an alias of the catalogue, and so does a pattern for the same names.
    if (!(String(target) in models) || alias in models || patterns.some((start) => alias.startsWith(start)))
      delete parts.aliases[alias]
  }
  return { parts, faults }
}

function partsOf(catalogue: Readonly<Record<string, unknown>>): Parts {
  return Object.fromEntries(PARTS.map((part) => [part, { ...present(catalogue[part]) }])) as Parts
}

/** The entries that are not null. */
function present(part: unknown): Record<string, unknown> {
  if (!isObject(part)) return {}
  return Object.fromEntries(Object.entries(part).filter(([, entry]) => entry !== null))
}

function upstreamsOf(entry: unknown): string[] {
  if (!isObject(entry)) return []
  if (typeof entry.upstream === 'string') return [entry.upstream]
  return Object.keys(isObject(entry.upstream) ? entry.upstream : {})
}
