// gateway drill: makes an upstream fail for named keys for a time, and reports how their requests ended and what they cost.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { WrongUsage } from '../lib/errors'
import { gatewayCommand } from '../lib/gateway'
import { limitArg, parseCount, parseLimit } from '../lib/values'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { parseDurationMs, shortTime } from '../view/times'

type Drill = ReplyOf<'beginDrill'>
const DEFAULT_LIMIT = 20
const idArg = { type: 'positional', required: true, description: 'The id of the drill' } as const

const begin = gatewayCommand({
  name: 'begin',
  description: 'Make an upstream fail for the named keys only.',
  examples: [
    'gateway drill begin --upstream openai --status 503 --for 2m --share 20% --key staging',
    'gateway drill begin --upstream openai --hang --for 1m --key staging,load-test',
    'gateway drill begin --upstream openai --delay 20s --for 5m --key staging',
  ],
  args: {
    upstream: { type: 'string', valueHint: 'NAME', required: true, description: 'The upstream that fails' },
    key: { type: 'string', valueHint: 'A,B', required: true, description: 'The affected keys' },
    for: { type: 'string', valueHint: '2m', required: true, description: 'How long, at most 8h' },
    status: { type: 'string', valueHint: '503', description: 'Refuse requests with this status' },
    delay: { type: 'string', valueHint: '20s', description: 'Delay calls by this time, at most 5m' },
    hang: { type: 'boolean', description: "Leave requests unanswered until the upstream's timeout" },
    cut: { type: 'boolean', description: "Break off the vendor's answers after the first 1,000 bytes" },
    share: { type: 'string', valueHint: '20%', description: 'The share of their requests (default 100%)' },
  },
  run(args) {
    const flags = [args.status, args.delay, args.hang || undefined, args.cut || undefined]
    if (flags.filter((fault) => fault !== undefined).length !== 1)
      throw new WrongUsage('Choose one of --status, --delay, --hang and --cut.')
    parseDurationMs('for', args.for)
    const share = args.share === undefined ? undefined : Number(/^(\d+(?:\.\d+)?)%$/.exec(args.share)?.[1])
    if (Number.isNaN(share)) throw new WrongUsage(`--share takes a part such as 20%, not "${args.share}".`)
    const body = {
      upstream: args.upstream,
      keys: args.key.split(','),
      for: args.for,
      ...(args.status !== undefined && { status: parseCount('status', args.status) }),
      ...(args.delay !== undefined && { delay: args.delay }),
      ...(args.hang && { hang: true }),
      ...(args.cut && { cut: true }),
      ...(share !== undefined && { share_percent: share }),
    }
    return async (gateway) => {
      const drill = await gateway.call('beginDrill', { body })
      if (args.json) return printJson(drill)
      print(drill.id)
      say(`It begins within a second and ends at ${shortTime(Date.parse(drill.ends_at))} UTC.`)
      say(`Report: ${commandLineOf(`drill show ${drill.id}`, args)}`)
      say(`End it now: ${commandLineOf(`drill stop ${drill.id}`, args)}`)
    }
  },
})

const list = gatewayCommand({
  name: 'list',
  description: 'List drills, newest first.',
  examples: ['gateway drill list'],
  args: { limit: limitArg(DEFAULT_LIMIT) },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const drills = await gateway.rows('listDrills', {}, limit)
      if (args.json) return printJson(drills)
      if (drills.length === 0) return say('There were no drills.')
      printTable(drills, [
        ['ID', (drill) => drill.id],
        ['UPSTREAM', (drill) => drill.upstream],
        ['FAULT', faultText],
        ['SHARE', (drill) => `${drill.share_percent}%`, { align: 'right' }],
        ['STATE', (drill) => drill.state],
        ['ENDS (UTC)', (drill) => shortTime(Date.parse(drill.ends_at))],
      ])
    }
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Show the results of requests affected by a drill, with sums from the ledger.',
  examples: ['gateway drill show drill_01'],
  args: { id: idArg },
  run(args) {
    return async (gateway) => {
      const report = await gateway.call('getDrill', { params: { drill: args.id } })
      if (args.json) return printJson(report)
      print(
        `${report.upstream}: ${faultText(report)} for ${report.share_percent}% of requests, ${report.state}\n`,
      )
      const rows = [...report.endings, { ended: 'total', model: null, ...report.total }]
      printTable(rows, [
        ['ENDED', (row) => row.ended],
        ['BY MODEL', (row) => row.model ?? '', { flexible: true }],
        ['REQUESTS', (row) => String(row.requests), { align: 'right' }],
        ['CHARGED', (row) => row.charged_usd, { align: 'decimal' }],
        ['HELD', (row) => row.held_usd, { align: 'decimal' }],
        ['RELEASED', (row) => row.released_usd, { align: 'decimal' }],
      ])
    }
  },
})

const stop = gatewayCommand({
  name: 'stop',
  description: 'End a drill now.',
  examples: ['gateway drill stop drill_01'],
  args: { id: idArg },
  run(args) {
    return async (gateway) => {
      const drill = await gateway.call('stopDrill', { params: { drill: args.id } })
      if (args.json) return printJson(drill)
      say(`The drill has ended. Report: ${commandLineOf(`drill show ${drill.id}`, args)}`)
    }
  },
})

export const drill = defineCommand({
  meta: { name: 'drill', description: 'Make an upstream fail for named keys, as a test.' },
  subCommands: { begin, list, show, stop },
})

function faultText({ fault }: Pick<Drill, 'fault'>): string {
  const { kind, status, delay_ms: delayMs } = fault as { kind: string; status?: number; delay_ms?: number }
  if (kind === 'status') return `status ${status}`
  return delayMs === undefined ? kind : `delay ${delayMs / 1000} s`
}
