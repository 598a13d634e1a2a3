// gateway requests: lists requests, follows them, and shows everything about one. It must never write, except to record who has
// read bodies.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { isoTime } from '../../src/db/iso-time'
import { PARTIES } from '../../src/request-log/failure'
import { isStatusWord } from '../../src/request-log/filter'
import { WrongUsage } from '../lib/errors'
import { type Gateway, gatewayCommand, withGateway } from '../lib/gateway'
import { gatewayArgs } from '../lib/remote'
import { parseLimit } from '../lib/values'
import { counted } from '../view/counted'
import { print, printJson, printStream, say } from '../view/output'
import { bodiesText, detailsBlock, requestLine, requestTable } from '../view/request'
import { parsePeriod, periodArgs, periodQueryOf } from '../view/times'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1_000
const CHECK_MS = 500
/** Maximum duration of a request that `tail` shows, in milliseconds. */
const TAIL_MS = 3_600_000

const filterArgs = {
  key: { type: 'string', valueHint: 'KEY', description: 'Only those of this key, by name or id' },
  account: { type: 'string', valueHint: 'A', description: 'Only those of this account' },
  model: {
    type: 'string',
    valueHint: 'MODEL',
    description: 'Only those answered by this model, or requested by this name',
  },
  upstream: { type: 'string', valueHint: 'U', description: 'Only those of this upstream' },
  operation: { type: 'string', valueHint: 'OP', description: 'Only this operation, such as chat or image' },
  status: {
    type: 'string',
    valueHint: '429|5xx|failed',
    description: 'Only this status, this class, or all failures, including broken streams',
  },
  'failed-by': {
    type: 'string',
    valueHint: PARTIES.join('|'),
    description:
      'Only those that failed because of the caller, the gateway or the vendor: whoever can cure it',
  },
  spender: {
    type: 'string',
    valueHint: 'NAME',
    description: 'Only those of this token or named spender, by name or id',
  },
  metadata: {
    type: 'string',
    valueHint: 'NAME=VALUE',
    description: 'Only those with this metadata, such as team=search',
  },
} as const

interface FilterFlags {
  key?: string | undefined
  account?: string | undefined
  model?: string | undefined
  upstream?: string | undefined
  operation?: string | undefined
  status?: string | undefined
  'failed-by'?: string | undefined
  spender?: string | undefined
  metadata?: string | undefined
}

const list = gatewayCommand({
  name: 'list',
  description: 'List requests, most recently ended first.',
  examples: [
    'gateway requests list --status failed --since 24h',
    'gateway requests list --failed-by vendor --since 24h',
    'gateway requests list --key alice --model pgt-6-luna --limit 100',
    'gateway requests list --metadata team=search --month 2026-10 --csv > search.csv',
    'gateway requests list --json | jq -r .next',
  ],
  args: {
    ...filterArgs,
    ...periodArgs,
    limit: {
      type: 'string',
      valueHint: 'N',
      description: `How many, at most ${MAX_LIMIT} (default ${DEFAULT_LIMIT}); with --csv any number (default: all)`,
    },
    after: { type: 'string', valueHint: 'NEXT', description: 'Continue a list after its `next`' },
    csv: {
      type: 'boolean',
      description: 'Print all matching rows as comma-separated values with a header line',
    },
  },
  run(args) {
    if (args.csv && args.json) throw new WrongUsage('Choose one of --csv and --json.')
    if (args.csv && args.after !== undefined) throw new WrongUsage('--after cannot be combined with --csv.')
    const last = parseLimit(args, undefined)
    const limit = last ?? DEFAULT_LIMIT
    if (!args.csv && limit > MAX_LIMIT)
      throw new WrongUsage(
        `--limit takes at most ${MAX_LIMIT}: continue with --after, or print all with --csv.`,
      )
    const filter = { ...queryOf(args), ...periodQueryOf(parsePeriod(args, Date.now())) }
    return async (gateway) => {
      if (args.csv) return printStream(await gateway.csv('listRequests', { query: { ...filter, last } }))
      const query = { ...filter, limit, after: args.after }
      const { data: rows, next, looked } = await gateway.call('listRequests', { query })
      if (args.json) return printJson({ rows, next, looked })
      if (rows.length > 0) print(requestTable(rows))
      else if (looked === null) return say('There are no such requests.')
      if (looked !== null) say(`Searched ${counted(looked, 'request')}. Continue: --after ${next}`)
      else if (next !== null) say(`\nMore: --after ${next}`)
    }
  },
})

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show everything about a request: times, money, attempts, task and webhook.',
    examples: [
      'gateway requests show req_01a1…',
      'gateway requests show req_01a1… --json | jq .charges',
      'gateway requests show req_01a1… --bodies',
    ],
  },
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'The id, from the header x-request-id of the answer',
    },
    bodies: { type: 'boolean', description: 'Also show the request and answer, if kept by `log.bodies`' },
    ...gatewayArgs,
  },
  async run({ args }) {
    const { id } = args
    const show = async (gateway: Gateway) => {
      const details = await gateway.call('getRequest', { params: { id } })
      const { bodies } = args.bodies
        ? await gateway.call('getRequestBodies', { params: { id } })
        : { bodies: undefined }
      if (args.json) return printJson({ ...details, ...(args.bodies && { bodies }) })
      print(detailsBlock(details))
      if (bodies) print(bodiesText(bodies))
      else if (bodies === null)
        say('\nIts bodies are not kept: log.bodies sets which are kept, and for how long.')
    }
    // Reading changes nothing, although the audit trail records it.
    await withGateway(args, show, { silent: true })
  },
})

const tail = gatewayCommand({
  name: 'tail',
  description: 'Show requests as they end, until Ctrl-C. With --json one document per line.',
  examples: ['gateway requests tail --status failed', 'gateway requests tail --json | jq .model'],
  args: filterArgs,
  run: (args) => async (gateway) => {
    const filter = queryOf(args)
    const look = async () => {
      const query = { ...filter, since: isoTime(Date.now() - TAIL_MS), limit: MAX_LIMIT }
      return (await gateway.call('listRequests', { query })).data
    }
    const seen = new Set<string>()
    remember(seen, await look())
    say('Requests are shown as they end. Ctrl-C stops it.')
    for (;;) {
      await Bun.sleep(CHECK_MS)
      const rows = await look()
      for (const row of rows.filter(({ id }) => !seen.has(id)).reverse()) {
        print(args.json ? JSON.stringify(row) : requestLine(row))
      }
      remember(seen, rows)
    }
  },
})

export const requests = defineCommand({
  meta: { name: 'requests', description: 'List requests, show one in full, or follow them as they end.' },
  subCommands: { list, show, tail },
})

/** Keeps the ids of the newest rows, which the next query may return again. */
function remember(seen: Set<string>, rows: ReplyOf<'listRequests'>['data']): void {
  if (rows.length > 0 && seen.size > 4 * MAX_LIMIT) seen.clear()
  for (const { id } of rows) seen.add(id)
}

/** The filter of flags, as operations take it. */
function queryOf(flags: FilterFlags) {
  const { key, account, model, upstream, operation, status, spender, metadata } = flags
  const failedBy = PARTIES.find((word) => word === flags['failed-by'])
  if (flags['failed-by'] !== undefined && failedBy === undefined)
    throw new WrongUsage(`--failed-by takes caller, gateway or vendor, not "${flags['failed-by']}".`)
  if (status !== undefined && !isStatusWord(status)) {
    throw new WrongUsage(
      `--status takes a status such as 429, a class such as 5xx, or failed, not "${status}".`,
    )
  }
  return { key, account, model, upstream, operation, status, failed_by: failedBy, spender, metadata }
}
