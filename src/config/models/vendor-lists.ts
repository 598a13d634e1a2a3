// Upstreams that serve a vendor's whole list (`listed`): the models and prices that ship with the gateway become entries of the
// configuration. An entry that an operator wrote must take precedence over the list, by its id and by the vendor's name of its
// model; only its retirement date is added.

import { asObject, isObject } from '../../lib/objects'
import { markupOf } from './costs'
import { type ModelList, settingsOf } from './model-lists'

/** A list of models that ships with the gateway. */
export interface VendorList extends ModelList {
  /** The day on which the vendor retires a model, and the model that it names as the replacement. */
  ends: Readonly<Record<string, { retires: string; successor?: string }>>
}

/** The list of the vendor of a kind; undefined if none ships with the gateway. */
export type VendorLists = (kind: string) => VendorList | undefined

/** The configuration with the models of its listed upstreams, and the faults of those settings. */
export function withVendorLists(value: unknown, lists: VendorLists): { value: unknown; faults: string[] } {
  const { upstreams, models, markup } = asObject(value)
  const listed = Object.entries(asObject(upstreams)).filter(([, entry]) => isObject(entry) && entry.listed)
  if (listed.length === 0) return { value, faults: [] }
  const faults: string[] = []
  const all: Record<string, unknown> = {}
  const written = writtenNames(asObject(models))
  for (const [upstream, { kind, listed: pattern }] of listed as [string, Record<string, unknown>][]) {
    const list = lists(String(kind))
    if (!list) {
      faults.push(
        `upstreams.${upstream}.listed: no list of the kind ${kind} ships with the gateway; fetch one (\`gateway prices fetch\`)`,
      )
      continue
    }
    const prefix = typeof pattern === 'string' ? pattern.slice(0, -1) : ''
    const isMarkedUp = markupOf({ upstream }, { markup, upstreams }) !== undefined
    for (const [name, model] of Object.entries(list.models)) {
      if (written.has(`${upstream}/${name}`)) continue
      const id = `${prefix}${name.toLowerCase()}`
      // Two vendors may serve a model with the same name, each at its own prices: the first upstream has the plain name.
      all[id in all ? `${upstream}/${id}` : id] = {
        ...settingsOf(model, list, isMarkedUp),
        ...list.ends[name],
        upstream,
        upstreamModel: name,
      }
    }
  }
  const own = Object.fromEntries(
    Object.entries(asObject(models)).map(([id, entry]) => [
      id,
      withDates(id, entry, asObject(upstreams), lists),
    ]),
  )
  // Configured entries come first, also in lists of models.
  for (const id in own) delete all[id]
  return { value: { ...asObject(value), models: { ...own, ...all } }, faults }
}

/** A configured entry with the retirement of its model, if a list knows it and the entry does not. */
function withDates(
  id: string,
  entry: unknown,
  upstreams: Record<string, unknown>,
  lists: VendorLists,
): unknown {
  const { upstream, upstreamModel = id, retires } = asObject(entry)
  const { kind, listed } = asObject(upstreams[String(upstream)])
  if (retires !== undefined || !listed) return entry
  const end = lists(String(kind))?.ends[String(upstreamModel)]
  return end ? { ...end, ...asObject(entry) } : entry
}

/** The vendor's names of all models that the configuration has by itself, each after the name of its upstream. */
function writtenNames(models: Record<string, unknown>): ReadonlySet<string> {
  return new Set(
    Object.entries(models).flatMap(([id, entry]) => {
      const { upstream, upstreamModel = id } = asObject(entry)
      const names = typeof upstream === 'string' ? [upstream] : Object.keys(asObject(upstream))
      return names.map((name) => `${name}/${upstreamModel}`)
    }),
  )
}
