// Reads the files of prices to try: a vendor's list, the models of another configuration, and the prices of plans. It must never put
// any of them in force.

import { extname, resolve } from 'node:path'
import { readVendorList } from '../../src/config/models/list-faults'
import type { OtherPrices, PlanPrices, PricedEntry } from '../../src/config/rehearsed'
import { isRoute } from '../../src/config/schema'
import { lineOf } from '../../src/lib/error-line'
import { isObject } from '../../src/lib/objects'
import { readConfigFile } from '../configuration/config-file'
import { loadConfig, type SettingsFlags } from '../configuration/settings'
import { CommandFailed, WrongUsage } from './errors'
import { readList } from './list-text'

/** Faults that are shown of one file. */
const MOST_SHOWN = 40

/** Reads `--prices`: a list as `prices update` takes it, or a configuration. */
export async function readPrices(file: string, flags: SettingsFlags): Promise<OtherPrices> {
  if (await isList(file)) {
    const read = readVendorList(await readList(file))
    if ('faults' in read) throw new CommandFailed(`${file} has faults:`, read.faults.slice(0, MOST_SHOWN))
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

/** Whether a file is a list and not a configuration: only the latter has upstreams, or another format than JSON. */
async function isList(file: string): Promise<boolean> {
  if (/^https?:\/\//.test(file)) return true
  const format = extname(file).toLowerCase()
  if (format !== '.json')
    return !['.jsonc', '.yaml', '.yml', '.toml', '.ts', '.mts', '.js', '.mjs'].includes(format)
  try {
    const value: unknown = JSON.parse(await readList(file))
    return !isObject(value) || !('upstreams' in value || 'extends' in value)
  } catch (error) {
    // A list that is not JSON is reported by its reader.
    if (error instanceof SyntaxError) return true
    throw error
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
    if (faults.length > 0) throw new CommandFailed(`${file} has faults:`, faults.slice(0, MOST_SHOWN))
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

/** Reads pairs such as `a=b,c=d`. */
export function readPairs(flag: string, form: string, text: string): [string, string][] {
  return text.split(',').map((pair) => {
    const [, name, value] = /^\s*([^=]+?)\s*=\s*(.+?)\s*$/.exec(pair) ?? []
    if (name === undefined || value === undefined)
      throw new WrongUsage(`--${flag} takes ${form}, several separated by commas, not "${pair}".`)
    return [name, value]
  })
}
