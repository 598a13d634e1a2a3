// gateway prices: fetches a vendor's list of models with their prices into a file, for an operator to review. It must never
// change what is charged by itself: the configuration names the file, and the operator decides when to load it.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { defineCommand } from 'citty'
import { readVendorList } from '../../src/config/models/list-faults'
import type { ModelList } from '../../src/config/models/model-lists'
import { priceLeaps } from '../../src/config/models/price-leaps'
import type { ListedModels } from '../../src/contract/upstream'
import { lineOf } from '../../src/lib/error-line'
import { parseForeign } from '../../src/lib/json/json'
import { isObject } from '../../src/lib/objects'
import { baseUrlOf } from '../../src/upstreams/connection'
import { fetchModelList } from '../../src/upstreams/listing'
import { commandArgs, loadConfig, openDataDir } from '../configuration/settings'
import { installList, listInForce, revertList } from '../configuration/updated-lists'
import { CommandFailed } from '../lib/errors'
import { readList } from '../lib/list-text'
import { openUpstream, within } from '../lib/upstreams'
import { counted } from '../view/counted'
import { print, printJson, say } from '../view/output'
import { renderTable, tableOf } from '../view/table'

const TIMEOUT_MS = 120_000
/** Maximum number of changed models that are shown one by one. */
const MAX_SHOWN = 40

const fetchPrices = defineCommand({
  meta: {
    name: 'fetch',
    description: "Write a vendor's models with their prices to a file, and show the changes.",
    examples: [
      'gateway prices fetch openrouter',
      "gateway prices fetch openrouter --only 'anthropic/*' --to claude.models.json",
      'gateway prices fetch ollama',
    ],
  },
  args: {
    upstream: { type: 'positional', required: true, description: 'Name of an upstream of the configuration' },
    to: {
      type: 'string',
      valueHint: 'FILE',
      description: 'The file to write (default: UPSTREAM.models.json next to the configuration)',
    },
    only: {
      type: 'string',
      valueHint: 'PATTERN',
      description: "Only models with this name; a star matches anything: 'anthropic/*'",
    },
    ...commandArgs,
  },
  async run({ args }) {
    const { config, file: configFile } = await loadConfig(args, { mayLackLists: true })
    const folder = configFile === undefined ? process.cwd() : dirname(configFile)
    const file = resolve(args.to || `${folder}/${args.upstream}.models.json`)
    const { name, kind, entry, upstream, close } = await openUpstream(config, args.upstream, args)
    const listed = await within(TIMEOUT_MS, (signal) => fetchModelList(upstream, kind, signal))
      .catch((error) => {
        throw new CommandFailed(`The list of ${name} cannot be read: ${lineOf(error)}.`)
      })
      .finally(close)
    if (!listed)
      throw new CommandFailed(`An upstream of the kind ${kind.kind} has no list of models with prices.`)
    const list: ModelList = {
      kind: kind.kind,
      source: `${baseUrlOf(kind, entry)}${kind.prefix[kind.listing?.call.protocol ?? 'openai']}${kind.listing?.call.path}`,
      fetchedAt: new Date().toISOString(),
      ...only(listed, args.only),
    }
    const before = readBefore(file)
    const changes = changesOf(before, list)
    writeWhole(file, `${JSON.stringify(list, null, 2)}\n`)
    if (args.json) {
      return printJson({ file, models: Object.keys(list.models), refused: list.refused, ...changes })
    }
    show(file, list, changes, before === undefined)
    showRefused(list)
    if (args.sandbox) say('These are the models and prices of a simulator.')
    say(`Review it. It takes effect when an entry of models names it and is loaded:`)
    say(
      `  '${name}/*': { family: 'openai-chat', upstream: '${name}', list: '${args.to || `${name}.models.json`}' }`,
    )
  },
})

function only({ models, refused }: ListedModels, pattern: string | undefined): ListedModels {
  if (!pattern) return { models, refused }
  const form = new RegExp(`^${pattern.split('*').map(RegExp.escape).join('.*')}$`)
  const matching = <Value>(all: Record<string, Value>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => form.test(name)))
  return { models: matching(models), refused: matching(refused) }
}

/** The list in the file; undefined if the file does not exist. A file with other content is never overwritten. */
function readBefore(file: string): ListedModels | undefined {
  if (!existsSync(file)) return undefined
  try {
    const before = parseForeign(readFileSync(file, 'utf8')) as ModelList
    if (typeof before.models === 'object' && typeof before.refused === 'object') return before
  } catch {
    // Said below.
  }
  throw new CommandFailed(
    `${file} is not a list of models, and is not overwritten: choose another with --to.`,
  )
}

interface Changes {
  added: string[]
  removed: string[]
  changed: { model: string; before: string; now: string }[]
}

function changesOf(before: ListedModels | undefined, { models }: ListedModels): Changes {
  const old = before?.models ?? {}
  return {
    added: Object.keys(models).filter((name) => !Object.hasOwn(old, name)),
    removed: Object.keys(old).filter((name) => !Object.hasOwn(models, name)),
    changed: Object.entries(models).flatMap(([model, settings]) => {
      const was = Object.hasOwn(old, model) ? old[model] : undefined
      if (!was || Bun.deepEquals(was, settings)) return []
      const [before, now] = [placesIn(was), placesIn(settings)]
      const places = [...new Set([...before.keys(), ...now.keys()])].filter(
        (at) => before.get(at) !== now.get(at),
      )
      const shown = (all: ReadonlyMap<string, string>) =>
        places.flatMap((at) => (all.has(at) ? `${at.replace(/^price\./, '')} ${all.get(at)}` : [])).join(', ')
      return [{ model, before: shown(before), now: shown(now) }]
    }),
  }
}

/** Every single value of a model's settings by its path: `price.above_200k.per_1m_input_tokens`. */
function placesIn(value: object, place = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, each]): [string, string][] => {
      const at = place === '' ? key : `${place}.${key}`
      return isObject(each) ? [...placesIn(each, at)] : [[at, String(each)]]
    }),
  )
}

/** Replaces a file atomically: a reader has the old list or the new one. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.part`
  writeFileSync(part, text)
  renameSync(part, file)
}

function show(name: string, list: ModelList, { added, removed, changed }: Changes, isNew: boolean): void {
  const count = Object.keys(list.models).length
  print(`${name}: ${counted(count, 'model')}`)
  if (!isNew) print(`${added.length} new, ${removed.length} gone, ${changed.length} changed`)
  if (changed.length > 0) {
    const table = tableOf(changed.slice(0, MAX_SHOWN), [
      ['CHANGED', ({ model }) => model],
      ['BEFORE', ({ before }) => before, { flexible: true }],
      ['NOW', ({ now }) => now, { flexible: true }],
    ])
    print(`\n${table}`)
    if (changed.length > MAX_SHOWN) print(`and ${changed.length - MAX_SHOWN} more, see --json`)
  }
}

/** The models of a list that cannot be served. */
function showRefused(list: ModelList): void {
  const refused = Object.entries(list.refused)
  if (refused.length > 0) {
    const rows = refused.slice(0, MAX_SHOWN)
    print(`\n${renderTable([{ title: 'NOT SERVED' }, { title: 'BECAUSE', flexible: true }], rows)}`)
    if (refused.length > MAX_SHOWN) print(`and ${refused.length - MAX_SHOWN} more, see the file`)
  }
}

const update = defineCommand({
  meta: {
    name: 'update',
    description:
      'Use a newer price list of a vendor instead of the built-in one. Shows what would change; --yes applies it.',
    examples: [
      'gateway prices update --from openai.json',
      'gateway prices update --from https://example.com/prices/openai.json --yes',
      'gateway prices update --undo openai',
    ],
  },
  args: {
    from: {
      type: 'string',
      valueHint: 'FILE|URL',
      description: 'The list, in the form of the files in prices/ of the source',
    },
    yes: { type: 'boolean', description: 'Install the list. It takes effect at the next start or reload' },
    'accept-leaps': {
      type: 'boolean',
      description: 'Accept it even if a price falls to zero or changes by more than three times',
    },
    undo: {
      type: 'string',
      valueHint: 'KIND',
      description: 'Undo the last list of this kind of upstream',
    },
    ...commandArgs,
  },
  async run({ args }) {
    if ((args.from === undefined) === (args.undo === undefined))
      throw new CommandFailed('Name a list with --from, or a kind with --undo.')
    const dataDir = openDataDir(args)
    if (args.undo !== undefined) return undo(dataDir, args.undo, args.json)
    const text = await readList(args.from as string)
    const read = readVendorList(text)
    if ('faults' in read)
      throw new CommandFailed(`${args.from} is not taken:`, read.faults.slice(0, MAX_SHOWN))
    const { list } = read
    const before = listInForce(dataDir, list.kind)
    const changes = changesOf(before, list)
    const leaping = before ? priceLeaps(list.kind, before, list) : []
    const isTaken = args.yes === true && (leaping.length === 0 || args['accept-leaps'] === true)
    if (isTaken) installList(dataDir, list)
    if (args.json) {
      printJson({
        kind: list.kind,
        taken: isTaken,
        models: Object.keys(list.models),
        ...changes,
        leaps: leaping,
      })
    } else show(`${list.kind} of ${list.fetchedAt}`, list, changes, before === undefined)
    if (leaping.length > 0 && !args['accept-leaps'])
      throw new CommandFailed(
        'Nothing was written. Check these prices at the vendor, then add --accept-leaps:',
        leaping.slice(0, MAX_SHOWN),
      )
    if (!isTaken) return say('Nothing was written. Add --yes to install this list.')
    say('Installed. It takes effect with gateway config reload. Existing charges keep their prices.')
    say(`Undo it with: gateway prices update --undo ${list.kind}`)
  },
})

function undo(dataDir: string, kind: string, json: boolean | undefined): void {
  const isTakenBack = revertList(dataDir, kind)
  if (!isTakenBack)
    throw new CommandFailed(`No list of the kind ${kind} was taken: the one that ships is in force.`)
  const { fetchedAt = null } = listInForce(dataDir, kind) ?? {}
  if (json) printJson({ kind, fetched_at: fetchedAt })
  else say(`Undone: the list of ${fetchedAt ?? 'no vendor'} takes effect with gateway config reload.`)
}

export const prices = defineCommand({
  meta: {
    name: 'prices',
    description: "Fetch vendors' prices into files, and install newer lists of models.",
  },
  subCommands: { fetch: fetchPrices, update },
})
