// gateway upstreams: lists the connections to vendors, and tries them with a call that costs nothing. It must never print a key,
// nor an address with one in it.

import { defineCommand } from 'citty'
import { type Config, isRoute, sharesOf } from '../../src/config/schema'
import { baseUrlOf } from '../../src/upstreams/connection'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { keysOfUpstream } from '../../src/upstreams/secrets'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { CommandFailed } from '../lib/errors'
import { type Probed, probeUpstream } from '../lib/probe-upstream'
import { commandArgs, loadConfig } from '../lib/settings'
import { findUpstream } from '../lib/upstreams'
import { paint, print, printJson, say } from '../view/output'
import { renderBlock, renderTable } from '../view/table'

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List the upstreams of the configuration, where they are, and which lack a key.',
    examples: ['gateway upstreams list', 'gateway upstreams list --json'],
  },
  args: commandArgs,
  async run({ args }) {
    const { config } = await loadConfig(args)
    const rows = Object.entries(config.upstreams).map(([name, entry]) =>
      rowOf(config, name, entry, args.sandbox),
    )
    if (args.json) return printJson(rows)
    if (rows.length === 0) return say('The configuration has no upstreams.')
    // The name of a variable is there to be copied.
    const widthMin = Math.max(...rows.map(({ variable }) => variable?.length ?? 0))
    const columns = [
      { title: 'UPSTREAM' },
      { title: 'KIND' },
      { title: 'KEY' },
      { title: 'MODELS', align: 'right' as const },
      { title: 'ADDRESS', flexible: true },
      { title: 'WITH', flexible: true, widthMin, optional: true },
    ]
    print(
      renderTable(
        columns,
        rows.map(({ name, kind, key, variable, models, address, settings }) => [
          name,
          kind,
          key === 'missing' ? paint('yellow', 'no') : key === 'set' ? paint('green', 'yes') : key,
          String(models),
          address,
          key === 'missing' ? `set ${variable}` : settings.join(', '),
        ]),
      ),
    )
  },
})

const test = defineCommand({
  meta: {
    name: 'test',
    description: 'Ask one upstream for something that costs nothing: whether it is there, and takes the key.',
    examples: ['gateway upstreams test openai', 'gateway upstreams test openai --sandbox'],
  },
  args: {
    upstream: { type: 'positional', required: true, description: 'Name of an upstream of the configuration' },
    ...commandArgs,
  },
  async run({ args }) {
    const { config } = await loadConfig(args)
    findUpstream(config, args.upstream)
    const probed = await probeUpstream(config, args.upstream, args)
    if (args.json) printJson(probed)
    else show(probed)
    if (probed.state === 'failed') throw new CommandFailed(`${probed.upstream} cannot be used now.`)
  },
})

const health = defineCommand({
  meta: {
    name: 'health',
    description: 'Ask all upstreams that have a key, side by side. Exit 1 if one cannot be used.',
    examples: ['gateway upstreams health', 'gateway upstreams health --json'],
  },
  args: commandArgs,
  async run({ args }) {
    const { config } = await loadConfig(args)
    const names = Object.entries(config.upstreams)
      .filter(([, entry]) => args.sandbox || hasKey(entry))
      .map(([name]) => name)
    if (names.length === 0 && !args.json)
      return say('No upstream has a key: `upstreams list` says what to set.')
    const all = await Promise.all(names.map((name) => probeUpstream(config, name, args)))
    if (args.json) printJson(all)
    else {
      const columns = [
        { title: 'UPSTREAM' },
        { title: 'STATE' },
        { title: 'TIME', align: 'right' as const },
        { title: 'WHY, AND WHAT TO DO', flexible: true },
      ]
      print(renderTable(columns, all.map(rowOfProbe)))
    }
    const failed = all.filter(({ state }) => state === 'failed').map(({ upstream }) => upstream)
    if (failed.length > 0) throw new CommandFailed(`Cannot be used now: ${failed.join(', ')}.`)
  },
})

function hasKey(entry: UpstreamConfig): boolean {
  return keysOfUpstream(upstreamKinds.get(entry.kind), entry) !== undefined
}

/** An upstream as it is listed. In the sandbox none needs a key. */
function rowOf(config: Config, name: string, entry: UpstreamConfig, isSimulated = false) {
  const { kind } = findUpstream(config, name)
  const keys = keysOfUpstream(kind, entry)
  const isMissing = keys === undefined && !isSimulated
  const { origin, pathname } = new URL(baseUrlOf(kind, entry))
  return {
    name,
    kind: kind.kind,
    key: isSimulated ? 'simulated' : isMissing ? 'missing' : keys?.[0] === null ? 'none' : 'set',
    variable: isMissing ? kind.secretVariable : null,
    models: modelsOf(config, name),
    // Without its query, which may hold a key.
    address: origin + pathname.replace(/\/$/, ''),
    settings: settingsOf(entry),
  }
}

function modelsOf({ models }: Config, name: string): number {
  return Object.values(models).filter(
    (entry) => !isRoute(entry) && sharesOf(entry).some(([upstream]) => upstream === name),
  ).length
}

/** Settings that change how the server is asked, by their names. */
function settingsOf(entry: UpstreamConfig): string[] {
  const named = ['region', 'project', 'apiVersion'] as const
  const present = ['auth', 'headers', 'query', 'defaultBody', 'forcedBody', 'proxy', 'tls'] as const
  return [
    ...named.flatMap((setting) => (entry[setting] === undefined ? [] : [`${setting} ${entry[setting]}`])),
    ...present.filter((setting) => entry[setting]),
  ]
}

function show(probed: Probed): void {
  const { upstream, address, milliseconds, why, advice } = probed
  print(`${upstream}: ${stateText(probed)} in ${milliseconds} ms`)
  const rows: [string, string, 'whole'?][] = [['asked', address, 'whole']]
  if (why !== null) rows.push(['why', why])
  if (advice !== null) rows.push(['what to do', advice])
  print(renderBlock(rows))
}

function rowOfProbe(probed: Probed): string[] {
  const { upstream, milliseconds, why, advice } = probed
  return [upstream, stateText(probed), `${milliseconds} ms`, [why, advice].filter(Boolean).join(' ')]
}

function stateText({ state }: Probed): string {
  if (state === 'ready') return paint('green', 'ready')
  return state === 'reached' ? paint('yellow', 'reached') : paint('red', 'failed')
}

export const upstreams = defineCommand({
  meta: { name: 'upstreams', description: 'List the connections to vendors, and try them.' },
  subCommands: { list, test, health },
})
