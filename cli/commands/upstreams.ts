// gateway upstreams: lists the connections to vendors, and tries them with a call that costs nothing. It must never print a key, or
// a URL with one in it.

import { defineCommand } from 'citty'
import { type ListedUpstream, listUpstreams } from '../../src/catalogue/upstream-list'
import type { ProbeResult } from '../../src/upstreams/probe'
import { loadConfig } from '../configuration/settings'
import { CommandFailed } from '../lib/errors'
import { gatewayCommand, remoteGateway } from '../lib/gateway'
import { type GatewayFlags, gatewayArgs, remoteOf } from '../lib/remote'
import { noSuchUpstream, tryUpstream } from '../lib/upstreams'
import { limitArg, parseLimit } from '../lib/values'
import { paint, print, printJson, say } from '../view/output'
import { printTable, renderBlock } from '../view/table'
import { shortTime } from '../view/times'

const DEFAULT_LIMIT = 50

/** Upstreams that a command works on. */
interface Upstreams {
  /** In the sandbox none needs a key. */
  listed: (Omit<ListedUpstream, 'key'> & { key: ListedUpstream['key'] | 'simulated' })[]
  test(name: string): Promise<ProbeResult>
}

/** The upstreams of this machine's configuration, tested from here; or those of a remote gateway, tested by it. */
async function upstreamsOf(flags: GatewayFlags): Promise<Upstreams> {
  const remote = remoteOf(flags)
  if (remote) {
    const gateway = remoteGateway(remote, flags)
    const rows = await gateway.rows('listUpstreams')
    return {
      listed: rows.map(({ health: _, ...row }) => row),
      test: (upstream) => gateway.call('testUpstream', { params: { upstream } }),
    }
  }
  const { config } = await loadConfig(flags)
  const simulated = { key: 'simulated', variable: null } as const
  return {
    listed: listUpstreams(config).map((row) => (flags.sandbox ? { ...row, ...simulated } : row)),
    test: (name) => tryUpstream(config, name, flags),
  }
}

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List the upstreams of the configuration with their URLs, and which lack a key.',
    examples: ['gateway upstreams list', 'gateway upstreams list --json'],
  },
  args: gatewayArgs,
  async run({ args }) {
    const { listed: rows } = await upstreamsOf(args)
    if (args.json) return printJson(rows)
    if (rows.length === 0) return say('The configuration has no upstreams.')
    // The name of a variable can be copied from here.
    const widthMin = Math.max(...rows.map(({ variable }) => variable?.length ?? 0))
    printTable(rows, [
      ['UPSTREAM', ({ name }) => name],
      ['KIND', ({ kind }) => kind],
      [
        'KEY',
        ({ key }) =>
          key === 'missing' ? paint('yellow', 'no') : key === 'set' ? paint('green', 'yes') : key,
      ],
      ['MODELS', ({ models }) => String(models), { align: 'right' }],
      ['ADDRESS', ({ address }) => address, { flexible: true }],
      [
        'WITH',
        ({ key, variable, settings }) => (key === 'missing' ? `set ${variable}` : settings.join(', ')),
        { flexible: true, widthMin, optional: true },
      ],
    ])
  },
})

const test = defineCommand({
  meta: {
    name: 'test',
    description: 'Test one upstream with a free call: whether it answers and accepts the key.',
    examples: ['gateway upstreams test openai', 'gateway upstreams test openai --sandbox'],
  },
  args: {
    upstream: { type: 'positional', required: true, description: 'Name of an upstream of the configuration' },
    ...gatewayArgs,
  },
  async run({ args }) {
    const { listed, test } = await upstreamsOf(args)
    const names = listed.map(({ name }) => name)
    if (!names.includes(args.upstream)) throw noSuchUpstream(args.upstream, names)
    const probed = await test(args.upstream)
    if (args.json) printJson(probed)
    else show(probed)
    if (probed.state === 'failed') throw new CommandFailed(`${probed.upstream} cannot be used now.`)
  },
})

const health = defineCommand({
  meta: {
    name: 'health',
    description: 'Test all upstreams that have a key, in parallel. Exit 1 if one cannot be used.',
    examples: ['gateway upstreams health', 'gateway upstreams health --json'],
  },
  args: gatewayArgs,
  async run({ args }) {
    const { listed, test } = await upstreamsOf(args)
    const asked = listed.filter(({ key }) => key !== 'missing')
    if (asked.length === 0 && !args.json)
      return say('No upstream has a key: `upstreams list` names the variables to set.')
    const all = await Promise.all(asked.map(({ name }) => test(name)))
    if (args.json) printJson(all)
    else
      printTable(all, [
        ['UPSTREAM', ({ upstream }) => upstream],
        ['STATE', stateText],
        ['TIME', ({ duration_ms }) => `${duration_ms} ms`, { align: 'right' }],
        [
          'WHY, AND WHAT TO DO',
          ({ reason, advice }) => [reason, advice].filter(Boolean).join(' '),
          { flexible: true },
        ],
      ])
    const failed = all.filter(({ state }) => state === 'failed').map(({ upstream }) => upstream)
    if (failed.length > 0) throw new CommandFailed(`Cannot be used now: ${failed.join(', ')}.`)
  },
})

const refusals = gatewayCommand({
  name: 'refusals',
  description: "List vendors' refusals by model and field: rules not yet known here.",
  examples: ['gateway upstreams refusals', "gateway upstreams refusals --json | jq -r '.[].field'"],
  args: { limit: limitArg(DEFAULT_LIMIT) },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const rows = await gateway.rows('listRefusals', {}, limit)
      if (args.json) return printJson(rows)
      if (rows.length === 0) return say('No vendor has refused a request because of its content.')
      printTable(rows, [
        ['LAST (UTC)', ({ last_at }) => shortTime(Date.parse(last_at))],
        ['COUNT', ({ count }) => String(count), { align: 'right' }],
        ['UPSTREAM', ({ upstream }) => upstream],
        ['MODEL', ({ model }) => model, { flexible: true }],
        ['FIELD', ({ field }) => field ?? '', { flexible: true }],
        ['WORDS OF THE VENDOR', ({ message }) => message.replaceAll(/\s+/g, ' '), { flexible: true }],
      ])
    }
  },
})

function show(probed: ProbeResult): void {
  const { upstream, address, duration_ms: durationMs, reason, advice } = probed
  print(`${upstream}: ${stateText(probed)} in ${durationMs} ms`)
  const rows: [string, string, 'whole'?][] = [['asked', address, 'whole']]
  if (reason !== null) rows.push(['why', reason])
  if (advice !== null) rows.push(['what to do', advice])
  print(renderBlock(rows))
}

function stateText({ state }: ProbeResult): string {
  if (state === 'ready') return paint('green', 'ready')
  return state === 'reached' ? paint('yellow', 'reached') : paint('red', 'failed')
}

export const upstreams = defineCommand({
  meta: {
    name: 'upstreams',
    description: 'List connections to vendors, test them, and see their refusals.',
  },
  subCommands: { list, test, health, refusals },
})
