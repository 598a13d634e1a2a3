// Reads the files of prices to try: a vendor's list, the models of another configuration, and the prices of plans. It must never
// apply any of them.

import { extname, resolve } from 'node:path'
import { readVendorList } from '../../src/config/models/list-faults'
import type { OtherPrices, PlanPrices, PricedEntry } from '../../src/config/rehearsed'
import { isRoute } from '../../src/config/schema'
import { lineOf } from '../../src/lib/error-line'
import { isObject } from '../../src/lib/objects'
import { readConfigFile } from '../configuration/config-file'
import { loadConfig, type SettingsFlags } from '../configuration/settings'
import { CommandFailed } from './errors'
import { readList } from './list-text'
import { parsePairs } from './values'

/** Maximum number of faults that are shown for one file. */
const MAX_SHOWN = 40
/** Formats of files that can only be configurations. */
const CONFIGURATIONS = new Set(['.jsonc', '.yaml', '.yml', '.toml', '.ts', '.mts', '.js', '.mjs'])

/** Reads `--prices`: a list as `prices update` accepts it, or a configuration. */
export async function readPrices(file: string, flags: SettingsFlags): Promise<OtherPrices> {
  const text = await readIfList(file)
  if (text !== undefined) {
    const read = readVendorList(text)
    if ('faults' in read) throw new CommandFailed(`${file} has faults:`, read.faults.slice(0, MAX_SHOWN))
    const { kind, source, fetchedAt, models } = read.list
    const priced = Object.entries(models).map(([name, { price, free }]) => [
      name,
      { ...(price !== undefined && { price }), ...(free !== undefined && { free }) },
    ])
    return { list: { kind, source, fetchedAt, models: Object.fromEntries(priced) } }
  }
  const { config } = await loadConfig({ ...flags, config: resolve(file) })
  const models = Object.entries(config.models).flatMap(([id, entry]): [string, PricedEntry][] => {
    if (isRoute(entry)) return []
    const { free, price, cost } = entry
    return [[id, { ...(free && { free }), ...(price && { price }), ...(cost && { cost }) }]]
  })
  return { models: Object.fromEntries(models) }
}

/**
 * The text of a file that is a list; undefined for a configuration: only that has upstreams, or another format than JSON.
 */
async function readIfList(file: string): Promise<string | undefined> {
  const format = /^https?:\/\//.test(file) ? '' : extname(file).toLowerCase()
  if (CONFIGURATIONS.has(format)) return undefined
  const text = await readList(file)
  return format === '.json' && isConfiguration(text) ? undefined : text
}

function isConfiguration(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && ('upstreams' in value || 'extends' in value)
  } catch {
    // A list that is not JSON is reported by its reader.
    return false
  }
}

/** Reads `--plan`: pairs of a plan and the file with its prices. */
export async function readPlans(text: string): Promise<Record<string, PlanPrices>> {
  const plans: Record<string, PlanPrices> = {}
  for (const [name, file] of readPairs('plan', 'NAME=FILE', text)) {
    await readList(file)
    const { value, faults } = await readConfigFile(resolve(file)).catch((error) => {
      throw error instanceof CommandFailed
        ? error
        : new CommandFailed(`${file} cannot be read: ${lineOf(error)}.`)
    })
    if (faults.length > 0) throw new CommandFailed(`${file} has faults:`, faults.slice(0, MAX_SHOWN))
    const { priceFactor, priceFactors } = isObject(value) ? (value as PlanPrices) : {}
    if (priceFactor === undefined && priceFactors === undefined)
      throw new CommandFailed(
        `${file} has no prices of a plan: it needs priceFactor, such as "0.9", or priceFactors.`,
      )
    plans[name] = {
      ...(priceFactor !== undefined && { priceFactor }),
      ...(priceFactors !== undefined && { priceFactors }),
    }
  }
  return plans
}

/** Reads pairs of names, ignoring spaces around them. */
export function readPairs(flag: string, form: string, text: string): [string, string][] {
  const pairs = parsePairs(flag, `${form}, several separated by commas`, text)
  return pairs.map(([name, value]) => [name.trim(), value.trim()])
}
