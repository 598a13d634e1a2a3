// Entries of models that end with a star: they are replaced by all models of a list in a file, which an operator has fetched from the
// vendor and reviewed. Nothing here must call a vendor, or add a model that the list does not name.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import type { ListedModels, ListedSettings } from '../../contract/upstream'
import { asObject, isObject } from '../../lib/objects'
import { requiredSetting } from '../../lib/setting'
import { markupOf } from './costs'

/** A list of models in the form of its file. */
export interface ModelList extends ListedModels {
  /** The vendor's kind, the address of its list, and when it was fetched. */
  kind: string
  source: string
  fetchedAt: string
}

export const ModelListEntry = Type.Object({
  list: requiredSetting(
    'The file of the list, written by `gateway prices fetch`; relative to the folder of the configuration. All other settings of a model may be added, and override those of the list.',
    Type.String({ minLength: 1 }),
  ),
})

const List = Type.Object({
  kind: Type.String(),
  models: Type.Record(Type.String(), Type.Object({})),
  refused: Type.Record(Type.String(), Type.String()),
})

/** The configuration with the models of all lists instead of the entries that name them, and the faults of the lists. */
export function withListedModels(value: unknown, folder: string): { value: unknown; faults: string[] } {
  const { models } = asObject(value)
  const starred = Object.keys(asObject(models)).filter((id) => id.includes('*'))
  if (starred.length === 0) return { value, faults: [] }
  const all: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [id, entry] of Object.entries(asObject(models))) {
    if (!starred.includes(id)) all[id] = entry
    else {
      const listed = modelsOf(id, entry, folder, asObject(value))
      if (typeof listed === 'string') faults.push(`models.${id}${listed}`)
      // A model that has its own entry keeps it, wherever that is.
      else
        for (const [name, model] of Object.entries(listed)) if (!(name in asObject(models))) all[name] = model
    }
  }
  return { value: { ...asObject(value), models: all }, faults }
}

/** The models of a starred entry by their ids here, or its fault. */
function modelsOf(
  id: string,
  entry: unknown,
  folder: string,
  { markup, upstreams }: Record<string, unknown>,
): Record<string, unknown> | string {
  if (!/^[^*]*\*$/.test(id)) return ': a star is allowed only at the end of an id, as in "local/*"'
  if (!Check(ModelListEntry, entry)) return '.list: missing; an id with a star needs a list of models'
  const { list: file, ...settings } = entry as { list: string; upstreamModel?: unknown; price?: unknown }
  if (settings.upstreamModel !== undefined) return '.upstreamModel: the list names the models'
  const list = readList(resolve(folder, file))
  if (typeof list === 'string') return `.list: ${file} ${list}`
  const isMarkedUp = markupOf(settings, { markup, upstreams }) !== undefined
  const models: Record<string, unknown> = {}
  for (const [name, listed] of Object.entries(list.models)) {
    const own = `${id.slice(0, -1)}${name.toLowerCase()}`
    if (own in models) return `.list: ${file} has two models that would be called "${own}"`
    const { free: _, price: __, ...about } = listed
    // A configured price replaces the vendor's.
    const entry = 'price' in settings || 'free' in settings ? about : settingsOf(listed, list, isMarkedUp)
    models[own] = { ...entry, ...settings, upstreamModel: name }
  }
  return models
}

/** The settings of a model of a list. For anything sold with a markup, its price is the cost. */
export function settingsOf(
  listed: ListedSettings,
  { source, fetchedAt }: ModelList,
  isMarkedUp: boolean,
): object {
  const { price, ...settings } = listed
  if (!price) return settings
  return { ...settings, [isMarkedUp ? 'cost' : 'price']: { source, ...price, as_of: fetchedAt.slice(0, 10) } }
}

/** A list from its file, or why it cannot be used. */
function readList(file: string): ModelList | string {
  let list: unknown
  try {
    list = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code } = error as { code?: string }
    if (error instanceof SyntaxError) return 'is not JSON'
    return code === 'ENOENT'
      ? 'does not exist: `gateway prices fetch` writes it'
      : `cannot be read (${code ?? 'no such file'})`
  }
  if (!isObject(list) || !Check(List, list))
    return 'is not a list of models: `gateway prices fetch` writes one'
  return list as unknown as ModelList
}
