// gateway prices: fetches a vendor's list of models with their prices into a file, for an operator to review. It must never
// change what is charged by itself: the configuration names the file, and is loaded when its operator says so.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { defineCommand } from 'citty'
import type { ModelList } from '../../src/config/model-lists'
import type { ListedModels, ListedSettings } from '../../src/contract/upstream'
import { lineOf } from '../../src/lib/error-line'
import { parseForeign } from '../../src/lib/json'
import { baseUrlOf } from '../../src/upstreams/connection'
import { fetchModelList } from '../../src/upstreams/listing'
import { CommandFailed } from '../lib/errors'
import { commandArgs, loadConfig } from '../lib/settings'
import { openUpstream, within } from '../lib/upstreams'
import { print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'

const TIMEOUT_MS = 120_000
/** Changed models that are shown one by one. */
const MOST_SHOWN = 40

const fetchPrices = defineCommand({
  meta: {
    name: 'fetch',
    description: "Write a vendor's models with their prices to a file, and show what has changed in it.",
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
      description: 'The file to write (default: UPSTREAM.models.json beside the configuration)',
    },
    only: {
      type: 'string',
      valueHint: 'PATTERN',
      description: "Only models of this name; a star stands for anything: 'anthropic/*'",
    },
    ...commandArgs,
  },
  async run({ args }) {
    const { config, file: configFile } = await loadConfig(args, { mayLackLists: true })
    const folder = configFile === undefined ? process.cwd() : dirname(configFile)
    const file = resolve(args.to || `${folder}/${args.upstream}.models.json`)
    const { name, kind, entry, upstream, close } = openUpstream(config, args.upstream, args)
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
    if (args.sandbox) say('These are the models and prices of a simulator.')
    say(`Review it. It is in force where an entry of models names it, once that is loaded:`)
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

/** The list that the file has; undefined if there is none. A file of anything else is never overwritten. */
function readBefore(file: string): ListedModels | undefined {
  if (!existsSync(file)) return undefined
  try {
    const before = parseForeign(readFileSync(file, 'utf8')) as ModelList
    if (typeof before.models === 'object' && typeof before.refused === 'object') return before
  } catch {
    // Said below.
  }
  throw new CommandFailed(`${file} is no list of models, and is not overwritten: choose another with --to.`)
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
      return [{ model, before: textOf(was), now: textOf(settings) }]
    }),
  }
}

/** Price and context of a model, in a few words. */
function textOf({ free, price, contextTokens }: ListedSettings): string {
  const words = wordsOf(price ?? {})
  const context = contextTokens === undefined ? [] : [`context ${contextTokens}`]
  return [...(free ? ['free'] : words), ...context].join(', ')
}

function wordsOf(price: NonNullable<ListedSettings['price']>): string[] {
  return Object.entries(price).map(([key, amount]) =>
    typeof amount === 'string'
      ? `${key.replace(/^per_/, '')} ${amount}`
      : `${key.replace('_', ' ')}: ${wordsOf(amount).join(', ')}`,
  )
}

/** Replaces a file at once: a reader has the old list or the new one. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.part`
  writeFileSync(part, text)
  renameSync(part, file)
}

function show(file: string, list: ModelList, { added, removed, changed }: Changes, isNew: boolean): void {
  const count = Object.keys(list.models).length
  print(`${file}: ${count} ${count === 1 ? 'model' : 'models'}`)
  if (!isNew) print(`${added.length} new, ${removed.length} gone, ${changed.length} changed`)
  if (changed.length > 0) {
    const rows = changed.slice(0, MOST_SHOWN).map(({ model, before, now }) => [model, before, now])
    const columns = [
      { title: 'CHANGED' },
      { title: 'BEFORE', flexible: true },
      { title: 'NOW', flexible: true },
    ]
    print(`\n${renderTable(columns, rows)}`)
    if (changed.length > MOST_SHOWN) print(`and ${changed.length - MOST_SHOWN} more, see --json`)
  }
  const refused = Object.entries(list.refused)
  if (refused.length > 0) {
    const rows = refused.slice(0, MOST_SHOWN)
    print(`\n${renderTable([{ title: 'NOT SERVED' }, { title: 'BECAUSE', flexible: true }], rows)}`)
    if (refused.length > MOST_SHOWN) print(`and ${refused.length - MOST_SHOWN} more, see the file`)
  }
}

export const prices = defineCommand({
  meta: { name: 'prices', description: "Fetch vendors' prices into files." },
  subCommands: { fetch: fetchPrices },
})
